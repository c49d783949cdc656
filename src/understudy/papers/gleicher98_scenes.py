"""Figures of [Gleicher98] that show more than a walk: a box picked up, a ladder climbed, a dance for two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from understudy.constraints.base import Constraint, Spot
from understudy.constraints.on_line import OnLine
from understudy.constraints.same_place import SamePlace
from understudy.geometry.quaternion import Array
from understudy.papers.scenes import DOTS, SMALL, carried, changed, drawn, in_scene, scene, spectrum, worst
from understudy.pipeline import Part, Plan, plan, retarget
from understudy.samples import Scene
from understudy.solvers.base import Solution
from understudy.solvers.ik import Ik
from understudy.solvers.ik_lowpass import IkLowpass

CLIMBER, PARTNER = 0.85, 0.85
"""Sizes of the climber and the follower, as shares of the original's."""
UPPER = ("LowerBack", "Spine", "Spine1", "Neck", "Head")
ARMS = tuple(f"{side}{part}" for side in ("Left", "Right") for part in ("Shoulder", "Arm", "ForeArm", "Hand"))


def fig01(path: Path | None) -> list[str]:
    """Differently sized figures pick up the same box."""
    given, lines, rows = scene("pick_up"), [], [scene("pick_up")]
    own = given.motion.skeleton
    short = {"Leg": 0.55, "Foot": 0.55, "Toe": 0.55, "Arm": 0.55, "Hand": 0.55, "Spine": 1.5, "LowerBack": 1.5}
    odd = own.scaled(np.array([next((f for k, f in short.items() if k in n), 1.0) for n in own.names]))
    for name, target in {"60% as large": own.scaled(SMALL), "short limbs, long body": odd}.items():
        found = retarget(given.motion, target, contacts=given.contacts)
        lines.append(f"{name}: {found.result}; energy above 4/8/12 Hz {spectrum(found.motion, given.motion)}")
        rows.append(replace(given, name=name, actors={name: found.motion}, contacts=(), props=carried(found.motion)))
    labels = ["original", "60% as large", "short limbs, long body"]
    drawn(
        rows, path, labels=labels, style="filmstrip", views="side", count=7, frames=slice(60, 150), dots_per_inch=DOTS
    )
    return lines


def fig04(path: Path | None) -> list[str]:
    """A handhold on the ladder: frame by frame, filtered, and as a whole motion."""
    given = scene("ladder")
    target = given.motion.skeleton.scaled(CLIMBER)
    lines, rows = [], [given]
    solvers = {"B inverse kinematics": Ik(), "C low-pass filtered": IkLowpass(), "D ours": None}
    for name, solver in solvers.items():
        found = retarget(given.motion, target, contacts=given.contacts, solver=solver)
        energy = spectrum(found.motion, given.motion)
        lines.append(f"{name}: holds within {worst(found, 'place'):.3f} mm, energy above 4/8/12 Hz {energy}")
        rows.append(in_scene(given, found.motion, name))
    grasp = round(2.79 * given.motion.fps)
    drawn(
        rows, path, labels=["A original", *solvers], style="filmstrip", views="side", count=10,
        frames=slice(grasp - 5, grasp + 5), dots_per_inch=0.8 * DOTS,
    )  # fmt: skip
    return lines


def sliding(given: Scene) -> list[Constraint]:
    """Feet anywhere along their rung, hands anywhere along the rail, but still while they hold."""
    half = 0.5 * given.props[0].sizes[0, 0]
    made: list[Constraint] = []
    for contact in (c for c in given.contacts if c.on == "ladder"):
        assert contact.place is not None
        spot, start, end = Spot(point=contact.point.name), contact.start, contact.end
        hand = "Palm" in contact.point.name
        aside, up = np.array([half, 0.0, 0.0]), np.array([0.0, 0.4, 0.0])
        middle = contact.place if hand else contact.place * [0.0, 1.0, 1.0]
        along = up if hand else aside
        made.append(OnLine(spot=spot, first=middle - along, last=middle + along, start=start, end=end))
        made.append(SamePlace(spot=spot, start=start, end=end))
    return made


def ladder(path: Path | None) -> list[str]:
    """The ladder with holds that are fixed, and holds that slide."""
    given = scene("ladder")
    target = given.motion.skeleton.scaled(CLIMBER)
    floor = [c for c in given.contacts if c.on == "floor"]
    found = {
        "holds fixed": retarget(given.motion, target, contacts=given.contacts),
        "holds slide": retarget(given.motion, target, contacts=floor, constraints=sliding(given)),
    }
    rows = [given, *(in_scene(given, each.motion, name, marks=False) for name, each in found.items())]
    drawn(rows, path, labels=["original", *found], style="filmstrip", views="side", count=9, dots_per_inch=0.8 * DOTS)
    return [
        f"{name}: {each.result}; changed by {changed(each.motion, given.motion):.1f} degrees, "
        f"energy above 4/8/12 Hz {spectrum(each.motion, given.motion)}"
        for name, each in found.items()
    ]


def dance_plan(given: Scene, *, both: bool, size: float, share: Array | None = None) -> Plan:
    """A dance whose follower is of another size; her partner adapts too, or stays as he is."""
    lead, follow = given.actors["lead"], given.actors["follow"]
    joints = (*UPPER, *ARMS) if both else None
    leader = Part(motion=lead, target=lead.skeleton, name="lead", moves=both, joints=joints, root_moves=False)
    follower = Part(motion=follow, target=follow.skeleton.scaled(size), name="follow", share=share)
    return plan([leader, follower], contacts=given.contacts)


def pair(found: Solution, name: str) -> Scene:
    """Two dancers as a scene."""
    return Scene(name=name, actors=dict(zip(("lead", "follow"), found.motions, strict=True)), contacts=())


def fig09(path: Path | None) -> list[str]:
    """A dance for two, one or both adapted."""
    given = scene("dance")
    names = {"only the follower adapted": False, "both adapted": True}
    found = {name: dance_plan(given, both=both, size=PARTNER).solve() for name, both in names.items()}
    rows = [given, *(pair(each, name) for name, each in found.items())]
    drawn(
        rows, path, labels=["original", *found], style="filmstrip", views="side", count=7, frames=slice(60, 150),
        dots_per_inch=DOTS,
    )  # fmt: skip
    before = (given.actors["lead"], given.actors["follow"])
    return [
        f"{name}: hands within {worst(each, 'attach'):.3f} mm, changed by "
        + " and ".join(f"{changed(m, b):.1f}" for m, b in zip(each.motions, before, strict=True))
        + " degrees (leader, follower)"
        for name, each in found.items()
    ]


def fig10(path: Path | None) -> list[str]:
    """The follower shrinks during her spin."""
    given = scene("dance")
    share = np.clip((given.motion.times - 2.6) / 2.0, 0.0, 1.0)
    found = dance_plan(given, both=True, size=0.75, share=share * share * (3.0 - 2.0 * share)).solve()
    drawn(
        [given, pair(found, "shrinks")], path, labels=["original", "she shrinks to 75% while she spins"],
        style="filmstrip", views="side", count=9, frames=slice(60, 156), dots_per_inch=DOTS,
    )  # fmt: skip
    return [f"{found.result}; hands within {worst(found, 'attach'):.3f} mm"]
