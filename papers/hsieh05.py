"""Hsieh, Chen and Ouhyoung, "Motion retargetting and transition in different articulated figures" (2005)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from papers.base import (
    DOG,
    DOTS,
    UNMET,
    Capture,
    Cell,
    Findings,
    Paper,
    Table,
    Tell,
    capture,
    cmu,
    drawn,
    figure,
    moving,
)
from papers.hsieh05_kinds import FRESH
from understudy import samples
from understudy.analogy.preparation import find_jumps
from understudy.base.quaternion import Array
from understudy.correspondence.alignment import align
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.correspondence.suggest import suggest
from understudy.figure.contacts import Contact, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing
from understudy.figure.motion import Motion
from understudy.retarget.driver import retarget
from understudy.retarget.plan import Options
from understudy.solve.solvers.base import Solution
from understudy.transition import transition
from understudy.transition.meta_skeleton import meta_skeleton

MARCH = slice(120, 560)
"""Frames of 138_01, at 120 fps, of steady marching."""

WALKED = 135
"""Frames of the dog's clip, at 30 fps, before it starts to run."""

WALKS = ("02_01", "16_15")

NAMED = (("b_Hips", "Hips"), ("b_Spine b_Spine1 b_Spine2 b_Spine3", "LowerBack Spine Spine1"),
         ("b__Neck b__Neck1 b__Neck2", "Neck Neck1"), ("b_Head", "Head"))  # fmt: skip

LIMBS = (("b_{}LegUpper", "{}UpLeg"), ("b_{0}Leg b_{0}Leg1", "{}Leg"), ("b_{}Ankle", "{}Foot"),
         ("b_{}Toe", "{}ToeBase"), ("b_{}Clav", "{}Shoulder"), ("b_{}Arm", "{}Arm"), ("b_{}ForeArm", "{}ForeArm"),
         ("b_{}Hand", "{}Hand"))  # fmt: skip
"""Corresponding bones of the dog and the human, as a user would write them; for both sides."""


def dog_and_human(data: Path) -> tuple[Motion, Motion, Correspondence]:
    """The dog's walk and the march, both at about 30 fps, and the correspondence between them."""
    dog, march = moving(data / DOG), capture(data, "138_01")
    named = [*NAMED, *((a.format(side), b.format(side)) for side in ("Left", "Right") for a, b in LIMBS)]
    pairs = tuple(Pair(source=tuple(a.split()), target=tuple(b.split())) for a, b in named)
    whole = Correspondence(source=dog.skeleton, target=march.skeleton, pairs=pairs)
    return dog[:WALKED], march[MARCH][::4], whole


def swing(motion: Motion, first: str, last: str) -> Array:
    """(F,) swing angle of a limb, radians: 0 is straight down, forward is positive."""
    line = fk(motion).points([last])[:, 0] - fk(motion).points([first])[:, 0]
    return np.asarray(np.unwrap(np.arctan2(np.sum(line * facing(motion), axis=1), -line[:, 1])))


def in_step(source: Motion, result: Motion) -> float:
    """Correlation of the legs' swing with the source's: the lower of both sides."""
    correlations = []
    for side in ("Left", "Right"):
        paths = []
        for motion in (source, result):
            ends = ("b_{}LegUpper", "b_{}Ankle") if "b_Hips" in motion.skeleton.index else ("{}UpLeg", "{}Foot")
            paths.append(swing(motion, *(end.format(side) for end in ends)))
        correlations.append(float(np.corrcoef(paths[0], paths[1])[0, 1]))
    return min(correlations)


def steady_contacts(motion: Motion) -> tuple[Contact, ...] | None:
    """The contacts of a motion without points on joints that flip; None if no joint flips.

    The ankles of 138_01 flip, so that its heels stand up to 17 cm above the floor.
    """
    flipping = find_jumps(motion)
    if not flipping:
        return None
    return tuple(contact for contact in detect_contacts(motion) if contact.point.joint not in flipping)


def played(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Figure 8 (a): a captured dog's walk on a man, and a man's march on the dog, aligned both ways."""
    dog, march, whole = dog_and_human(data)
    rows: list[tuple[Cell, ...]] = []
    pictures: list[Path] = []
    for name, source, target, correspondence in (
        ("a dog's walk on a man", dog, march, whole),
        ("a man's march on a dog", march, dog, whole.reversed()),
    ):
        strips = [source]
        for mode in ("stance", "direction"):
            tell(f"{name}, by {mode}")
            solution = retarget(
                source, target.skeleton, correspondence=correspondence, target_motion=target, align=mode,
                contacts=steady_contacts(source),
            )  # fmt: skip
            held = max((o.worst for o in solution.outcomes if o.constraint.kind == "same_place"), default=0.0)
            rows.append((name, mode, solution.result, 1e3 * held, in_step(source, solution.motion), solution.seconds))
            strips.append(solution.motion)
        if folder is not None:
            pictures.append(folder / f"hsieh08_captured_{'dog' if source is dog else 'march'}.png")
            labels = ["source", f"{name}, by stance", f"{name}, by direction"]
            drawn(
                strips, pictures[-1], labels=labels, style="filmstrip", views="side", count=8, frames=slice(30, 90),
                dots_per_inch=DOTS,
            )  # fmt: skip
    head = ("case", "alignment", "result", "plants off (mm)", "legs in step (correlation)", "seconds")
    worse = tuple(f"{row[0]}, by {row[1]}: {row[2]}" for row in rows if UNMET in str(row[2]))
    table = Table(title="Figure 8 (a) on captures: a dog and a man play each other", head=head, rows=tuple(rows))
    return Findings(tables=(table,), pictures=tuple(pictures), worse=worse)


def turned(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Figure 9: transitions between captured walks of men and the dog's, with suggested correspondences."""
    dog = moving(data / DOG)
    rows: list[tuple[Cell, ...]] = []
    for name in WALKS:
        human = capture(data, name)
        for label, first, second in ((f"{name} into a dog", human, dog), (f"a dog into {name}", dog, human)):
            tell(label)
            result = transition(first, second)
            frames = result.end - result.start
            rows.append((
                label, frames, frames / first.fps, 1e3 * result.contact_error, 1e3 * result.relapse,
                result.steps.over(result.allowed),
            ))  # fmt: skip
    head = ("case", "frames blended", "seconds blended", "contacts off (mm)", "bones go back (mm)",
            "fastest step, of what is allowed")  # fmt: skip
    return Findings(tables=(Table(title="Figure 9 on captures: men and a dog", head=head, rows=tuple(rows)),))


CAPTURES = (
    Capture(name="played", about="A captured dog and man play each other", files=(DOG, cmu("138_01")), run=played),
    Capture(name="turned", about="Captured men become a dog", files=(DOG, *map(cmu, WALKS)), run=turned),
)
"""The experiments on captured motion."""

TRUNK = ("Hips", "LowerBack", "Spine", "Spine1")


def describe(name: str, solution: Solution) -> str:
    """A line that summarises a result."""
    worst = max((o.worst for o in solution.outcomes if o.constraint.kind == "same_place"), default=0.0)
    return f"{name}: {solution.result}; planted points within {1e3 * worst:.3f} mm"


def make_fig06(path: Path | None) -> list[str]:
    """A meta-skeleton of a dog and a human."""
    walk, dog = samples.motion("walk").motion, samples.motion("dog_walk").motion
    correspondence = suggest(walk.skeleton, dog.skeleton)
    meta = meta_skeleton(correspondence, align(correspondence))
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
        solution = retarget(scene.motion, man, contacts=scene.contacts, align=mode)
        rows.append(solution.motion)
        lines.append(describe(f"aligned by {mode}", solution))
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
    correspondence = Correspondence(source=swim.skeleton, target=man, pairs=pairs)
    options = Options(plants="none", floor=False, limits=False)
    solution = retarget(swim, man, correspondence=correspondence, align="direction", options=options)
    drawn(
        [swim, solution.motion], path, labels=["a shark swims", "a man does: its tail fin moves both his legs"],
        style="filmstrip", views=("side", "top"), count=8, frames=slice(0, 30), dots_per_inch=DOTS,
    )  # fmt: skip
    hip, foot = np.moveaxis(fk(solution.motion).points(["LeftUpLeg", "LeftFoot"]), 1, 0)
    swing = np.ptp(np.arctan2((hip - foot)[:, 0], (hip - foot)[:, 2]))
    rise = np.abs(np.arcsin((foot - hip)[:, 1] / np.linalg.norm(foot - hip, axis=-1))).max()
    angles = (
        f"{np.degrees(swing):.0f} degrees from side to side, as the fin does, {np.degrees(rise):.0f} off level at most"
    )
    return [f"the legs swing by {angles}"]


def make_fig09(path: Path | None) -> list[str]:
    """A transition from a man's walk into a dog's."""
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
"""Functions by the name of their picture."""

PAPER = Paper(
    name="hsieh05",
    title="Hsieh, Chen and Ouhyoung: Motion retargetting and transition in different articulated figures (2005)",
    experiments=(
        figure("hsieh06", "a meta-skeleton of a dog and a human", make_fig06),
        figure("hsieh08a", "a dog's walk on a man", make_fig08a),
        figure("hsieh08b", "a shark's motion on a man", make_fig08b),
        figure("hsieh09", "a transition from a man's walk into a dog's", make_fig09),
    ),
    captures=CAPTURES,
    fresh=FRESH,
)
