"""A captured walk on a robot: the whole motion at once, and frame by frame by mink and mujoco as GMR sets it up."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from peers_aims import Aim, aims, strayed
from peers_measures import COLUMNS, EXPLAINED, Figures, Missing, Yardstick, packages, row, shaken
from retarget_cases import CAPTURES, Table, best, captures, clock, data_folder, made

from understudy.figure.motion import Motion
from understudy.io import read
from understudy.io.clip import Clip
from understudy.io.robot.trajectory import Trajectory, motion_of, trajectory_of
from understudy.retarget.actor import match_actor
from understudy.retarget.plan import Plan, plan
from understudy.solve.solvers.ik import Ik

OURS = "spacetime (ours)"
MINK = {"mink, aimed by ankles": "ankle", "mink, aimed by balls": "ball"}
"""Rows of per-frame IK, and what of the feet it aims at."""
SOLVER, DAMPING, ROUNDS, GAIN = "daqp", 0.5, 10, 1e-3
"""GMR's: the solver of its quadratic programs, damping, steps on a frame for each of the two sets of tasks, and the
gain in summed error below which it goes on to the next."""
COSTS = {"root": ((100, 10), (100, 5)), "foot": ((100, 10), (100, 50)), "trunk": ((0, 10), (0, 10)),
         "limb": ((0, 10), (10, 5))}  # fmt: skip
"""GMR's costs of place and orientation for each kind of link, in its first and its second set of tasks."""
QUICKER, LESS_SKATE = 1.5, 10.0
"""How many times the frames a second, and how many times less skate, ours must have than mink."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Act:
    """A human's motion and the robot that is to do it."""

    name: str
    motion: Motion
    robot: Clip
    file: Path

    def plan(self) -> Plan:
        return plan([match_actor(self.motion, self.robot.skeleton)])


def act() -> Act:
    """The captured walk on the Unitree G1 where both are at hand, else the sample walk on a small robot of ours."""
    real, folder = captures(), data_folder()
    g1 = None if folder is None else folder.parent / "robots" / "unitree_g1.xml"
    if real and g1 is not None and g1.is_file():
        return Act(name=f"{CAPTURES[0]}, Unitree G1", motion=real[CAPTURES[0]], robot=read(g1), file=g1)
    stickbot = Path(__file__).resolve().parents[1] / "tests" / "data" / "stickbot.xml"
    return Act(name="sample walk, stickbot", motion=made("walk"), robot=read(stickbot), file=stickbot)


def without_meshes(file: Path) -> str:
    """A robot's file without what needs mesh files, which nobody asks for when only the joints move."""
    tree = ElementTree.parse(file).getroot()
    for parent in list(tree.iter()):
        for child in list(parent):
            drawn = child.tag == "geom" and (child.get("type") == "mesh" or child.get("mesh") is not None)
            if drawn or child.tag == "mesh" or child.tag in ("actuator", "sensor", "keyframe", "contact"):
                parent.remove(child)
            elif child.tag == "geom" and child.get("type") is None and parent.tag == "default":
                child.set("type", "sphere")
    compiler = tree.find("compiler")
    if compiler is None:
        compiler = ElementTree.SubElement(tree, "compiler")
    # Links whose weight was that of their mesh would be refused.
    compiler.set("boundmass", "1e-3")
    compiler.set("boundinertia", "1e-6")
    return ElementTree.tostring(tree, encoding="unicode")


def by_mink(mink: ModuleType, model: Any, one: Act, whole: Plan, wanted: Sequence[Aim]) -> Motion:
    """The robot's motion by inverse kinematics frame by frame, each starting from the last, inside joint limits."""
    first = trajectory_of(whole.starts[0], one.robot.layout)
    layout = [model.joint(name).qposadr[0] for name in first.joint_names]
    start = np.zeros(model.nq)
    start[:3], start[3:7], start[layout] = first.root_position[0], first.root_quaternion[0], first.joint_values[0]
    configuration = mink.Configuration(model, q=start)
    sets = [[_task(mink, model, aim, one, which) for aim in wanted] for which in (0, 1)]
    limits = [mink.ConfigurationLimit(model)]
    values = np.empty((one.motion.num_frames, model.nq))
    for frame in range(one.motion.num_frames):
        for number, aim in enumerate(wanted):
            place = mink.SE3.from_rotation_and_translation(mink.SO3(aim.turns[frame]), aim.places[frame])
            for tasks in sets:
                tasks[number].set_target(place)
        for tasks in sets:
            _settle(mink, configuration, tasks, limits, model.opt.timestep)
        values[frame] = configuration.q
    trajectory = Trajectory(
        fps=one.motion.fps, root_position=values[:, :3], root_quaternion=values[:, 3:7],
        joint_names=first.joint_names, joint_values=values[:, layout],
    )  # fmt: skip
    return motion_of(trajectory, one.robot, "mink")[0]


def _task(mink: ModuleType, model: Any, aim: Aim, one: Act, which: int) -> Any:
    root = aim.joint == one.robot.skeleton.names[0]
    link = aim.joint if root else model.body(model.joint(aim.joint).bodyid[0]).name
    place, turn = COSTS[aim.kind][which]
    return mink.FrameTask(link, "body", position_cost=place, orientation_cost=turn, lm_damping=1.0)


def _settle(mink: ModuleType, configuration: Any, tasks: list[Any], limits: list[Any], step: float) -> None:
    """Steps on one frame until the summed error falls no more."""

    def error() -> float:
        return float(np.linalg.norm(np.concatenate([task.compute_error(configuration) for task in tasks])))

    before = error()
    for _ in range(ROUNDS + 1):
        speed = mink.solve_ik(configuration, tasks, step, SOLVER, damping=DAMPING, limits=limits)
        configuration.integrate_inplace(speed, step)
        after = error()
        if before - after <= GAIN:
            return
        before = after


def ways(one: Act, whole: Plan) -> tuple[dict[str, Callable[[], Motion]], list[str]]:
    """Every way from the human's motion to the robot's, and what there is to say of those that are left out."""
    found: dict[str, Callable[[], Motion]] = {
        OURS: lambda: one.plan().solve().motion,
        "ik": lambda: one.plan().solve(Ik()).motion,
        "angles carried over": lambda: one.plan().starts[0],
    }
    loaded = packages(("mink", "mujoco", SOLVER))
    if isinstance(loaded, Missing):
        return found, [f"mink: skipped; {loaded.note}"]
    mink, mujoco = loaded[:2]
    model = mujoco.MjModel.from_xml_string(without_meshes(one.file))
    for name, by in MINK.items():
        wanted = aims(whole, by)
        found[name] = lambda wanted=wanted: by_mink(mink, model, one, whole, wanted)  # type: ignore[misc]
    return found, []


def compare(one: Act) -> Table:
    """The robot moved by every way there is, by the same measures."""
    whole = one.plan()
    yardstick, rows = Yardstick.of(whole), []
    chosen, notes = ways(one, whole)
    wanted = {name: aims(whole, by) for name, by in MINK.items()}
    found: dict[str, Figures] = {}
    rates: dict[str, float] = {}
    for name, way in chosen.items():
        motion = way()
        found[name] = yardstick.measure(motion)
        if name in wanted:
            notes.append(
                f"{name}: its feet are {1e3 * strayed(motion, wanted[name]):.2g} mm from their aims on average."
            )
        rates[name] = one.motion.num_frames / best(lambda way=way: (clock(way),))[0]  # type: ignore[misc]
        rows.append(row(name, rates[name], found[name]))
    return Table(
        title=f"On a robot: {one.name}, {one.motion.num_frames} frames at {one.motion.fps:g} Hz",
        columns=("way", "frames/s", *COLUMNS),
        rows=tuple(rows),
        notes=(*EXPLAINED, yardstick.own, *HOW, *notes),
        missed=tuple(missed(found, rates)),
    )


HOW = (
    "frames/s of ours: everything, the map of bones found included. mink: as GMR sets it up, two sets of tasks (first",
    f"orientations, then places as well) with its costs for this kind of robot, {SOLVER}, damping {DAMPING:g}, at most",
    f"{ROUNDS} further steps for each set, joint limits. Its aims are ours, made before the clock starts: orientations",
    "as carried over, ankles or balls of the feet where the human's went, scaled; it starts in the first pose carried",
    "over. Nothing in it knows of contacts: it keeps what its aims keep. `angles carried over`: where all start.",
)


def missed(found: dict[str, Figures], rates: dict[str, float]) -> list[str]:
    """What of the figures is not as it should be beside one another."""
    ours, said = found[OURS], []
    for name in (name for name in MINK if name in found):
        if rates[OURS] < QUICKER * rates[name]:
            said.append(f"{name}: {rates[name]:.0f} frames/s, ours {rates[OURS]:.0f}: not {QUICKER:g} times as many")
        if found[name].skate < LESS_SKATE * ours.skate:
            said.append(f"{name}: skates {found[name].skate:.2g} cm/s, ours {ours.skate:.2g}: not {LESS_SKATE:g} times")
    return said + shaken(ours, found["ik"])


def tables() -> list[Table]:
    return [compare(act())]
