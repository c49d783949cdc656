"""Forward kinematics and derivatives of a robot beside pinocchio and mujoco: the same places, and how quick."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from peers_measures import Missing, packages
from peers_robot import Act, act, without_meshes
from retarget_cases import Table, best, clock

from understudy.base.quaternion import Array, unrotate
from understudy.figure.kinematics import fk, move_points
from understudy.figure.motion import Motion
from understudy.io.robot.trajectory import WORLD, Trajectory, trajectory_of
from understudy.solve.coordinates import Body

AGREE = 1e-9
"""Metres, and metres for each radian, that we may differ by."""
QUICKER = 1.0
"""How many times as long as ours the others, asked frame by frame from Python, must take."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """A robot's motion, and the joints whose places and derivatives are asked for: the last of each limb."""

    motion: Motion
    values: Trajectory
    tips: tuple[str, ...]

    @staticmethod
    def of(one: Act) -> Task:
        motion = one.plan().starts[0]
        skeleton = motion.skeleton
        inner = {skeleton.names[parent] for parent in skeleton.parents[1:].tolist()}
        tips = tuple(name for name in one.robot.layout.names if name not in inner)
        return Task(motion=motion, values=trajectory_of(motion, one.robot.layout), tips=tips)

    @property
    def joints(self) -> np.ndarray:
        """(P,)."""
        return np.array([self.motion.skeleton.index[name] for name in self.tips])


Answer = tuple[Array, Array]
"""Places (F, P, 3) of the tips, metres, Z up; and their derivatives (F, P, 3, N) by the values of all hinges."""


def our_places(task: Task) -> Array:
    return fk(task.motion).positions


def our_derivatives(task: Task) -> Array:
    """(F, P, 3, N) how the tips move as the hinges turn, in our own world."""
    motion, joints = task.motion, task.joints
    hinges = tuple(motion.skeleton.index[name] for name in task.values.joint_names)
    body = Body(motion=motion, joints=tuple(sorted(hinges)), root_moves=False)
    posture = body.displaced(np.zeros((motion.num_frames, body.num_coordinates)))
    out = np.zeros((motion.num_frames, len(joints), 3, body.num_coordinates))
    move_points(
        posture.rotations, posture.positions, posture.local_axes, body.joint_of, joints, np.zeros((len(joints), 3)),
        posture.carries(joints), out,
    )  # fmt: skip
    columns = [int(np.flatnonzero(body.joint_of == hinge)[0]) for hinge in hinges]
    return out[..., columns]


def ours(task: Task) -> Answer:
    """What we say."""
    moves = np.moveaxis(unrotate(WORLD, np.moveaxis(our_derivatives(task), 2, -1)), -1, 2)
    return unrotate(WORLD, our_places(task)[:, task.joints]), moves


@dataclass(frozen=True, eq=False, kw_only=True)
class Pinocchio:
    """A robot in pinocchio, asked frame by frame as its users do."""

    package: ModuleType
    model: Any
    configurations: Array
    """(F, nq) with quaternions x, y, z, w."""
    tips: tuple[int, ...]
    columns: tuple[int, ...]
    """The place of each hinge among the velocities."""

    @staticmethod
    def of(package: ModuleType, one: Act, task: Task) -> Pinocchio:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "robot.xml"
            file.write_text(without_meshes(one.file), encoding="utf-8")
            model = package.buildModelFromMJCF(str(file))
        values = task.values
        configurations = np.tile(package.neutral(model), (task.motion.num_frames, 1))
        configurations[:, :7] = np.concatenate(
            [values.root_position, np.roll(values.root_quaternion, -1, axis=1)], axis=1
        )
        numbers = [model.getJointId(name) for name in values.joint_names]
        configurations[:, [model.joints[number].idx_q for number in numbers]] = values.joint_values
        return Pinocchio(
            package=package, model=model, configurations=configurations,
            tips=tuple(model.getJointId(name) for name in task.tips),
            columns=tuple(model.joints[number].idx_v for number in numbers),
        )  # fmt: skip

    def places(self) -> Array:
        data, out = self.model.createData(), np.empty((len(self.configurations), len(self.tips), 3))
        for frame, values in enumerate(self.configurations):
            self.package.forwardKinematics(self.model, data, values)
            for number, tip in enumerate(self.tips):
                out[frame, number] = data.oMi[tip].translation
        return out

    def derivatives(self) -> Array:
        data, aligned = self.model.createData(), self.package.ReferenceFrame.LOCAL_WORLD_ALIGNED
        out = np.empty((len(self.configurations), len(self.tips), 3, len(self.columns)))
        for frame, values in enumerate(self.configurations):
            self.package.computeJointJacobians(self.model, data, values)
            for number, tip in enumerate(self.tips):
                found = self.package.getJointJacobian(self.model, data, tip, aligned)
                out[frame, number] = found[:3, self.columns]
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Mujoco:
    """A robot in mujoco, asked frame by frame as its users do."""

    package: ModuleType
    model: Any
    configurations: Array
    """(F, nq)."""
    tips: tuple[int, ...]
    """Bodies."""
    columns: tuple[int, ...]

    @staticmethod
    def of(package: ModuleType, one: Act, task: Task) -> Mujoco:
        model, values = package.MjModel.from_xml_string(without_meshes(one.file)), task.values
        configurations = np.zeros((task.motion.num_frames, model.nq))
        configurations[:, :7] = np.concatenate([values.root_position, values.root_quaternion], axis=1)
        configurations[:, [model.joint(name).qposadr[0] for name in values.joint_names]] = values.joint_values
        return Mujoco(
            package=package, model=model, configurations=configurations,
            tips=tuple(int(model.joint(name).bodyid[0]) for name in task.tips),
            columns=tuple(int(model.joint(name).dofadr[0]) for name in values.joint_names),
        )  # fmt: skip

    def places(self) -> Array:
        data, out = self.package.MjData(self.model), np.empty((len(self.configurations), len(self.tips), 3))
        for frame, values in enumerate(self.configurations):
            data.qpos[:] = values
            self.package.mj_kinematics(self.model, data)
            out[frame] = data.xpos[list(self.tips)]
        return out

    def derivatives(self) -> Array:
        data, found = self.package.MjData(self.model), np.zeros((3, self.model.nv))
        out = np.empty((len(self.configurations), len(self.tips), 3, len(self.columns)))
        for frame, values in enumerate(self.configurations):
            data.qpos[:] = values
            self.package.mj_kinematics(self.model, data)
            self.package.mj_comPos(self.model, data)
            for number, tip in enumerate(self.tips):
                self.package.mj_jacBody(self.model, data, found, None, tip)
                out[frame, number] = found[:, self.columns]
        return out


PEERS: dict[str, tuple[str, Any]] = {"pinocchio": ("pinocchio", Pinocchio), "mujoco": ("mujoco", Mujoco)}


Way = tuple[Callable[[], Array], Callable[[], Array]]
"""How to get the places, and how the derivatives."""


def peers(one: Act, task: Task) -> tuple[dict[str, Way], list[str]]:
    """The others that are installed, and what there is to say of the rest."""
    found: dict[str, Way] = {}
    notes = []
    for name, (package, kind) in PEERS.items():
        loaded = packages((package,))
        if isinstance(loaded, Missing):
            notes.append(f"{name}: skipped; {loaded.note}")
        else:
            peer = kind.of(loaded[0], one, task)
            found[f"{name}, frame by frame"] = (peer.places, peer.derivatives)
    return found, notes


def timed(way: Way) -> tuple[float, float]:
    """Seconds for the places, and for the derivatives."""
    places, derivatives = best(lambda: (clock(way[0]), clock(way[1])))
    return places, derivatives


def compare(one: Act) -> Table:
    """Times for a whole motion, and how far the others are from us."""
    task = Task.of(one)
    answer, frames = ours(task), task.motion.num_frames
    mine = timed((lambda: our_places(task), lambda: our_derivatives(task)))
    rows: list[tuple[object, ...]] = [
        ("ours, all frames at once", 1e6 * mine[0] / frames, 1.0, 1e6 * mine[1] / frames, 1.0, 0.0, 0.0)
    ]
    missed = []
    found, notes = peers(one, task)
    for name, way in found.items():
        times = timed(way)
        apart = [float(np.abs(theirs() - our).max()) for theirs, our in zip(way, answer, strict=True)]
        ratios = [theirs / our for theirs, our in zip(times, mine, strict=True)]
        rows.append((name, 1e6 * times[0] / frames, ratios[0], 1e6 * times[1] / frames, ratios[1], *apart))
        missed += [f"{name}: places or derivatives differ by {max(apart):.2g}"] if max(apart) > AGREE else []
        missed += [f"{name}: takes {min(ratios):.2g} times as long as ours"] if min(ratios) < QUICKER else []
    hinges = len(task.values.joint_names)
    return Table(
        title=f"Kinematics of {one.name}: {frames} frames, {hinges} hinges, {len(task.tips)} tips",
        columns=("way", "places us", "x ours", "derivatives us", "x ours", "places apart m", "derivatives apart"),
        rows=tuple(rows),
        notes=(
            "us: microseconds a frame. places: of all joints; derivatives: of the tips by all hinges, places included.",
            "The others are called from Python for every frame: what their users pay there is mostly the calls.",
            *notes,
        ),
        missed=tuple(missed),
    )


def tables() -> list[Table]:
    return [compare(act())]
