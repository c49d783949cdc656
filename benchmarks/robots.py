"""Motions of robots measured by MuJoCo from their coordinates: `python benchmarks/robots.py DATA [--gmr FOLDER]`.

DATA holds `robots` and `cmu_bvh`; `--sources` names another folder with BVH files. Results of GMR are measured too if
FOLDER has them, a file ROBOT/CLIP.pkl each. GMR runs in its own environment and is never needed here; what is missing
is named. No measure uses the kinematics of Understudy on the robot: places and forces come from MuJoCo's model of the
robot's file, and only the source's directions and balance come from its own file.
"""

from __future__ import annotations

import argparse
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

import understudy
from understudy.base.quaternion import Array, unrotate
from understudy.figure.kinematics import fk
from understudy.figure.mass import centre_of_mass
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.io import Clip
from understudy.io.robot.trajectory import WORLD, trajectory_of
from understudy.metrics.balance import inside
from understudy.metrics.dynamics import Forces, Machine, has_mujoco
from understudy.retarget.actor import Reading
from understudy.retarget.driver import Retargeted

ROBOTS = ("unitree_g1.xml", "booster_t1.xml", "unitree_h1.xml")

CLIPS = ("02_01", "16_15", "18_01", "55_04", "138_01")

FPS = 30.0

LIMBS = (("upper_leg", "lower_leg"), ("lower_leg", "foot"), ("upper_arm", "lower_arm"), ("lower_arm", "hand"))
"""Joints at the two ends of the bones whose directions are compared."""

MAX_STANCE_SPEED, MAX_STANCE_HEIGHT = 0.15, 0.03
"""Metres a second and metres above its usual level: a slower and lower foot stands."""

MAX_OUTSIDE = 0.02
"""Metres that a centre of pressure may be outside the feet."""

SMOOTHING_SECONDS, SOLE_LEGS = 0.05, 0.05
"""Of a source, whose bones show no soles: low-pass filter of its centre of mass, half the width of a foot."""

MAX_DEPTH = 0.005
"""Metres that two shapes may be in each other."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What MuJoCo says about one motion."""

    limbs: float
    """Degrees: mean angle between bones and the source's."""
    feet: float
    """Leg lengths: middle of the feet ahead of the hips, against the source's, on average."""
    floor: float
    """Millimetres: usual height of a standing sole."""
    floating: float
    """Millimetres above that, in 95 % of the frames at most."""
    sunk: float
    """Millimetres below zero, at worst."""
    tilt: float
    """Degrees: usual tilt of a standing foot."""
    skate: float
    """Millimetres a second: mean speed of standing feet."""
    colliding: float
    """Per cent of the frames with shapes in each other."""
    speed: float
    """Radians a second: fastest joint."""
    torque: float
    """Per cent of the frames with a torque over its limit, by inverse dynamics."""
    jerk: float
    """Thousands of radians per second cubed, 95th percentile."""
    unbalanced: float
    """Per cent of the standing frames with the centre of pressure more than 2 cm outside what touches the floor."""


def model_of(path: Path) -> Any:
    """MuJoCo's model of a robot without its meshes, whose files need not be there."""
    import mujoco

    root = ElementTree.parse(path).getroot()
    for parent in list(root.iter()):
        for child in list(parent):
            drawn = child.tag == "geom" and (child.get("type") == "mesh" or child.get("mesh") is not None)
            if drawn or child.tag in ("mesh", "sensor", "keyframe"):
                parent.remove(child)
    for geom in root.iter("geom"):
        if geom.get("class") in ("visual", "collision") and geom.get("type") is None:
            geom.set("type", "sphere")
            geom.set("size", geom.get("size", "0.001"))
    compiler = root.find("compiler")
    if compiler is None:
        compiler = ElementTree.SubElement(root, "compiler")
    # Links whose weight was that of their mesh would be refused.
    compiler.set("boundmass", "1e-3")
    compiler.set("boundinertia", "1e-6")
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


@dataclass(frozen=True, eq=False, kw_only=True)
class Judge:
    """A robot in MuJoCo, and what to look at."""

    model: Any
    robot: Clip

    @staticmethod
    def of(path: Path) -> Judge:
        return Judge(model=model_of(path), robot=understudy.read(path))

    def measure(self, path: Any, source: Motion) -> Figures:
        """The figures of a trajectory, beside the motion that it was made from."""
        import mujoco

        state, hinges = mujoco.MjData(self.model), [self.model.joint(name).qposadr[0] for name in path.joint_names]
        joints, shapes = self._joints(), self._foot_shapes()
        frames = len(path.root_position)
        places = {name: np.zeros((frames, 3)) for name in joints}
        lowest, tilts = np.zeros((frames, 2)), np.zeros((frames, 2))
        colliding, coordinates = np.zeros(frames, bool), np.zeros((frames, self.model.nq))
        for frame in range(frames):
            state.qpos[:3], state.qpos[3:7] = path.root_position[frame], path.root_quaternion[frame]
            state.qpos[hinges] = path.joint_values[frame]
            coordinates[frame] = state.qpos
            mujoco.mj_kinematics(self.model, state)
            mujoco.mj_comPos(self.model, state)
            mujoco.mj_collision(self.model, state)
            for name, joint in joints.items():
                places[name][frame] = state.xanchor[joint]
            corners = [np.concatenate([_corners(self.model, state, g) for g in geoms]) for geoms in shapes.values()]
            lowest[frame] = [points[:, 2].min() for points in corners]
            tilts[frame] = [np.degrees(np.arccos(np.clip(state.xmat[b][8], -1.0, 1.0))) for b in shapes]
            owners = self.model.geom_bodyid
            colliding[frame] = any(
                contact.dist < -MAX_DEPTH and owners[contact.geom1] and owners[contact.geom2]
                for contact in state.contact[: state.ncon]
            )
        forces = Machine.of(self.model).measure(coordinates, path.fps)
        largest = {self.model.joint(name).dofadr[0] - 6: value for name, value in self.robot.layout.max_torques.items()}
        limits = np.array([largest.get(dof, np.inf) for dof in range(self.model.nv - 6)])
        return _figures(path, source, places, lowest, tilts, forces, limits, colliding)

    def _joints(self) -> dict[str, int]:
        """MuJoCo's joints for the ends of limbs, by role."""
        skeleton, found = self.robot.skeleton, {}
        for role, joint in roles(skeleton).items():
            name = skeleton.names[joint]
            if name in self.robot.layout.names and role.split("_", 1)[-1] in {part for limb in LIMBS for part in limb}:
                found[role] = self.model.joint(name).id
        return found

    def _foot_shapes(self) -> dict[int, list[int]]:
        """The collision shapes of each foot, by body: of the bodies that carry soles."""
        joints = sorted({end.joint for end in self.robot.skeleton.ends if "sole" in end.name})
        bodies = [self.model.jnt_bodyid[self.model.joint(joint).id] for joint in joints][:2]
        solid = [g for g in range(self.model.ngeom) if self.model.geom_contype[g] or self.model.geom_conaffinity[g]]
        return {int(body): [g for g in solid if self.model.geom_bodyid[g] == body] for body in bodies}


def _corners(model: Any, state: Any, geom: int) -> Array:
    """(N, 3) points of the surface of a shape that lie lowest."""
    import mujoco

    size, turn, place = model.geom_size[geom], state.geom_xmat[geom].reshape(3, 3), state.geom_xpos[geom]
    kind, down = model.geom_type[geom], np.array([0.0, 0.0, -1.0])
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        signs = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1]), -1).reshape(-1, 3)
        return place + (signs * size) @ turn.T
    ends = place + np.outer([-1.0, 1.0], turn[:, 2] * (0.0 if kind == mujoco.mjtGeom.mjGEOM_SPHERE else size[1]))
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        across = down - turn[:, 2] * (turn[:, 2] @ down)
        return ends + size[0] * across / max(float(np.linalg.norm(across)), 1e-9)
    return ends + size[0] * down


def _figures(
    path: Any, source: Motion, places: dict[str, Array], lowest: Array, tilts: Array, forces: Forces, limits: Array,
    colliding: np.ndarray,
) -> Figures:  # fmt: skip
    fps = path.fps
    ankles = np.stack([places["left_foot"], places["right_foot"]], axis=1)
    speeds = np.linalg.norm(np.gradient(ankles, 1.0 / fps, axis=0), axis=-1)
    level = float(np.median(np.sort(lowest.min(axis=1))[: max(len(lowest) // 2, 1)]))
    stands = (speeds < MAX_STANCE_SPEED) & (lowest < level + MAX_STANCE_HEIGHT)
    soles = lowest[stands] if stands.any() else lowest.reshape(-1)
    human = {role: unrotate(WORLD, fk(source).positions[:, j]) for role, j in roles(source.skeleton).items()}
    steps = path.joint_values
    count = min(len(steps), source.num_frames)
    margins = forces.inside[np.isfinite(forces.inside)]
    loads = np.nan_to_num(np.abs(forces.torques))
    return Figures(
        limbs=_limb_angle(places, human, count),
        feet=abs(_feet_ahead(places)[:count].mean() - _feet_ahead(human)[:count].mean()),
        floor=1e3 * float(np.median(soles)),
        floating=1e3 * float(np.percentile(soles, 95) - np.median(soles)),
        sunk=1e3 * max(-float(lowest.min()), 0.0),
        tilt=float(np.median(tilts[stands])) if stands.any() else float("nan"),
        skate=1e3 * float(speeds[stands].mean()) if stands.any() else float("nan"),
        colliding=100.0 * float(colliding.mean()),
        speed=float(np.abs(np.diff(steps, axis=0)).max() * fps),
        torque=100.0 * float((loads > limits).any(axis=1).mean()),
        jerk=1e-3 * float(np.percentile(np.abs(np.diff(steps, 3, axis=0)), 95) * fps**3),
        unbalanced=100.0 * float(np.mean(margins < -MAX_OUTSIDE)) if len(margins) else float("nan"),
    )


def source_unbalanced(result: Retargeted) -> float:
    """Per cent of the frames in which a source stands with its own zero moment point outside its feet.

    By the same rule, with the masses of a human, on the contacts and the floor that the retarget found.
    """
    source = result.prepared.actors[0].motion
    pose, fps = fk(source), source.fps
    contacts = [c for c in result.prepared.contacts if c.on == "floor"]
    level = np.median([c.place[1] for c in contacts if c.place is not None]) if contacts else 0.0
    centres = gaussian_filter1d(centre_of_mass(pose), SMOOTHING_SECONDS * fps, axis=0)
    forces = np.gradient(np.gradient(centres, 1.0 / fps, axis=0), 1.0 / fps, axis=0)
    forces[:, 1] += 9.81
    moments = centres - (centres[:, 1:2] - level) * forces / np.maximum(forces[:, 1:2], 1.0)
    points = list({c.point.name: c.point for c in contacts}.values())
    places, touches = pose.points(points), np.zeros((source.num_frames, len(points)), bool)
    for contact in contacts:
        held = (source.times >= contact.start - 1e-6) & (source.times <= contact.end + 1e-6)
        touches[held, [p.name for p in points].index(contact.point.name)] = True
    sole = SOLE_LEGS * leg_length(source.skeleton)
    outside = [
        inside(moments[[f]][:, ::2], places[[f]][:, touches[f], ::2])[0] + sole < -MAX_OUTSIDE
        for f in np.flatnonzero(touches.any(axis=1))
    ]
    return 100.0 * float(np.mean(outside)) if outside else float("nan")


def _limb_angle(robot: dict[str, Array], human: dict[str, Array], count: int) -> float:
    angles = []
    for start, end in LIMBS:
        for side in ("left", "right"):
            names = f"{side}_{start}", f"{side}_{end}"
            if all(name in robot and name in human for name in names):
                one, other = (_unit(body[names[1]][:count] - body[names[0]][:count]) for body in (robot, human))
                angles.append(np.degrees(np.arccos(np.clip(np.einsum("fi,fi->f", one, other), -1.0, 1.0))))
    return float(np.mean(angles))


def _feet_ahead(places: dict[str, Array]) -> Array:
    """(F,) legs: the middle of the ankles ahead of the middle of the hips."""
    left, right = places["left_upper_leg"], places["right_upper_leg"]
    ankles = 0.5 * (places["left_foot"] + places["right_foot"])
    across = _unit((left - right) * [1.0, 1.0, 0.0])
    forward = np.cross(across, [0.0, 0.0, 1.0])
    leg = np.median(np.linalg.norm(places["left_lower_leg"] - left, axis=-1))
    leg += np.median(np.linalg.norm(places["left_foot"] - places["left_lower_leg"], axis=-1))
    return np.einsum("fi,fi->f", ankles - 0.5 * (left + right), forward) / leg


def _unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def line(name: str, values: Sequence[float]) -> str:
    """A row of the table."""
    return f"| {name} | {' | '.join('-' if np.isnan(value) else f'{value:.3g}' for value in values)} |"


def compare(robot: Path, sources: Sequence[Path], gmr: Path | None) -> list[str]:
    """The rows of a robot's table: Understudy, and GMR where its results are at hand."""
    judge, rows = Judge.of(robot), []
    for file in sources:
        clip = file.stem
        begun = time.process_time()
        result = understudy.retarget(file, robot, reading=Reading(fps=FPS))
        rate = result.motion.num_frames / (time.process_time() - begun)
        source = result.prepared.actors[0].motion
        figures = judge.measure(trajectory_of(result.motion, judge.robot.layout), source)
        rows.append(line(clip, [*astuple(figures), source_unbalanced(result), rate]))
        other_file = None if gmr is None else gmr / robot.stem / f"{clip}.pkl"
        if other_file is not None and other_file.is_file():
            other = understudy.read(other_file, skeleton=robot).motion
            assert other is not None
            figures = judge.measure(trajectory_of(other, judge.robot.layout), source)
            rows.append(line(f"{clip}, GMR", [*astuple(figures), np.nan, np.nan]))
    return rows


def main() -> None:
    """Print a table for each robot."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sources", type=Path, help="folder with BVH files [DATA/cmu_bvh]")
    parser.add_argument("--gmr", type=Path, help="folder with results of GMR")
    parser.add_argument("--robots", nargs="+", default=ROBOTS)
    parser.add_argument("--clips", nargs="+", default=CLIPS)
    given = parser.parse_args()
    if not has_mujoco():
        sys.exit("skipped: MuJoCo measures the results, and is not installed (pip install mujoco)")
    if given.gmr is None:
        print("GMR is left out: no folder with its results is given (--gmr)\n")
    names = [*Figures.__dataclass_fields__, "source unbalanced", "frames a second"]
    folder = given.sources or given.data / "cmu_bvh"
    for robot in given.robots:
        print(f"{robot}\n\n| clip | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}")
        files = [folder / f"{clip}.bvh" for clip in given.clips]
        print("\n".join(compare(given.data / "robots" / robot, files, given.gmr)), "\n", flush=True)


if __name__ == "__main__":
    main()
