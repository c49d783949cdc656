"""Hsieh, Chen and Ouhyoung, "Motion retargetting and transition in different articulated figures" (2005)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from understudy import samples
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.papers.base import Paper, figure
from understudy.papers.hsieh05_captured import CAPTURES
from understudy.papers.scenes import DOTS, drawn
from understudy.pipeline import retarget
from understudy.plan import Options
from understudy.solvers.base import Solution
from understudy.transfer.alignment import align
from understudy.transfer.correspondence import Correspondence, Pair
from understudy.transfer.suggest import suggest
from understudy.transition import transition
from understudy.transition.meta_skeleton import meta_skeleton

TRUNK = ("Hips", "LowerBack", "Spine", "Spine1")


def said(name: str, solution: Solution) -> str:
    """A result's figures in a line."""
    worst = max((o.worst for o in solution.outcomes if o.constraint.kind == "same_place"), default=0.0)
    return f"{name}: {solution.result}; planted points within {1e3 * worst:.3f} mm"


def make_fig06(path: Path | None) -> list[str]:
    """A meta-skeleton of a dog and a human."""
    walk, dog = samples.motion("walk").motion, samples.motion("dog_walk").motion
    found = suggest(walk.skeleton, dog.skeleton)
    meta = meta_skeleton(found, align(found))
    bodies = [meta.from_source(walk[:1]), meta.from_target(dog[:1])]
    drawn(bodies, path, labels=["the human on it", "the dog on it"], style="overlay", views="side", dots_per_inch=DOTS)
    counts = walk.skeleton.num_joints, dog.skeleton.num_joints, meta.skeleton.num_joints, meta.num_shared
    return ["human {} joints, dog {}; the meta-skeleton has {} with ends, {} of them shared".format(*counts)]


def make_fig08a(path: Path | None) -> list[str]:
    """A dog's walk on a man, aligned by stance and by direction."""
    scene = samples.motion("dog_walk")
    man = samples.character("adult")
    rows: list[Motion] = [scene.motion]
    lines = []
    for mode in ("stance", "direction"):
        solution = retarget(scene.motion, man, contacts=scene.contacts, alignment=mode)
        rows.append(solution.motion)
        lines.append(said(f"aligned by {mode}", solution))
    labels = ["a dog walks", "a man does, from his own stance", "a man does, bones pointing as the dog's"]
    drawn(rows, path, labels=labels, style="filmstrip", views="side", count=8, frames=slice(0, 60), dots_per_inch=DOTS)
    return lines


def make_fig08b(path: Path | None) -> list[str]:
    """A shark's motion on a man: the tail fin moves both legs."""
    swim, man = samples.motion("swim").motion, samples.character("adult")
    pairs = (
        Pair(source=("Body",), target=TRUNK),
        Pair(source=("Head",), target=("Neck", "Head")),
        Pair(source=("LeftPectoralFin",), target=("LeftArm",)),
        Pair(source=("RightPectoralFin",), target=("RightArm",)),
        Pair(source=("TailFin",), target=("LeftUpLeg", "RightUpLeg")),
    )
    given = Correspondence(source=swim.skeleton, target=man, pairs=pairs)
    options = Options(plants="none", floor=False, limits=False)
    solution = retarget(swim, man, correspondence=given, alignment="direction", options=options)
    drawn(
        [swim, solution.motion], path, labels=["a shark swims", "a man does: its tail fin moves both his legs"],
        style="filmstrip", views=("side", "top"), count=8, frames=slice(0, 30), dots_per_inch=DOTS,
    )  # fmt: skip
    hip, foot = np.moveaxis(fk(solution.motion).points(["LeftUpLeg", "LeftFoot"]), 1, 0)
    swing = np.ptp(np.arctan2((hip - foot)[:, 0], (hip - foot)[:, 2]))
    rise = np.abs(np.arcsin((foot - hip)[:, 1] / np.linalg.norm(foot - hip, axis=-1))).max()
    found = (
        f"{np.degrees(swing):.0f} degrees from side to side, as the fin does, {np.degrees(rise):.0f} off level at most"
    )
    return [f"the legs swing by {found}"]


def make_fig09(path: Path | None) -> list[str]:
    """A man's walk goes over into a dog's."""
    into = transition(samples.motion("walk").motion, samples.motion("dog_walk").motion)
    drawn(
        into.motion, path, labels=["a man that walks becomes a dog that walks"], style="filmstrip", views="side",
        count=10, frames=slice(into.start - 12, into.end + 12), dots_per_inch=DOTS,
    )  # fmt: skip
    return [
        f"blended over {into.end - into.start} frames; contacts within {1e3 * into.contact_error:.3f} mm",
        f"no bone's length goes back by more than {1e3 * into.relapse:.3f} mm on its way",
    ]


FIGURES = {"hsieh06": make_fig06, "hsieh08a": make_fig08a, "hsieh08b": make_fig08b, "hsieh09": make_fig09}
"""By the name of the picture."""

PAPER = Paper(
    name="hsieh05",
    title="Hsieh, Chen and Ouhyoung: Motion retargetting and transition in different articulated figures (2005)",
    experiments=(
        figure("hsieh06", "a meta-skeleton of a dog and a human", make_fig06),
        figure("hsieh08a", "a dog's walk on a man", make_fig08a),
        figure("hsieh08b", "a shark's motion on a man", make_fig08b),
        figure("hsieh09", "a man's walk goes over into a dog's", make_fig09),
    ),
    captures=CAPTURES,
)
