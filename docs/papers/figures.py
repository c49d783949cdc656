"""Draws our counterparts of the figures of [Gleicher98] and [Vanderhyde03], and writes their numbers into the pages.

    python docs/papers/figures.py [--only fig02 fig07 ...] [--print]

Everything is made from our own samples. Numbers stand between `<!-- numbers: NAME -->` and `<!-- /numbers -->`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops

from understudy import samples
from understudy.bands import choose_spacing, energy_above
from understudy.constraints.base import Constraint, Spot
from understudy.constraints.on_line import OnLine
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.geometry.quaternion import Array, angle_between
from understudy.io.files import open_to_write
from understudy.kinematics import fk
from understudy.limits import human_limits
from understudy.motion import Motion
from understudy.picture import draw
from understudy.pipeline import Options, Part, morph, naive, plan, retarget
from understudy.problem import Actor, Problem
from understudy.samples import Prop, Scene
from understudy.solvers.base import Solution, Solver
from understudy.solvers.ik import Ik
from understudy.solvers.ik_lowpass import IkLowpass
from understudy.solvers.keyed import Keyed
from understudy.solvers.spacetime import Level, Spacetime

FOLDER = Path(__file__).resolve().parent
DOTS, COLOURS, MARGIN = 84.0, 64, 16
SMALL, CLIMBER, PARTNER = 0.6, 0.85, 0.85
UPPER = ("LowerBack", "Spine", "Spine1", "Neck", "Head")
ARMS = tuple(f"{side}{part}" for side in ("Left", "Right") for part in ("Shoulder", "Arm", "ForeArm", "Hand"))


@cache
def scene(name: str) -> Scene:
    return samples.motion(name)


def spectrum(motion: Motion, source: Motion) -> str:
    """Energy of the rotations above 4, 8 and 12 Hz, as ratios to the source's, in words."""
    bands = (4.0, 8.0, 12.0)
    return " / ".join(f"{x:.2f}" for x in energy_above(motion, bands) / energy_above(source, bands))


def worst(found: Solution, *kinds: str) -> float:
    """Millimetres."""
    return 1e3 * max(o.worst for o in found.outcomes if o.constraint.kind in kinds)


def changed(motion: Motion, source: Motion) -> float:
    """Degrees, root mean square over all joints and frames."""
    return float(np.degrees(np.sqrt((angle_between(motion.rotations, source.rotations) ** 2).mean())))


def in_scene(given: Scene, motion: Motion, name: str, *, marks: bool = True) -> Scene:
    """Another motion among the same things, with the planted places marked if they are the same ones."""
    return replace(given, name=name, actors={name: motion}, contacts=given.contacts if marks else ())


def fixed_walk(name: str, solver: Solver | None = None, factor: float = SMALL) -> Solution:
    given = scene(name)
    options = Options(plants="fixed")
    target = given.motion.skeleton.scaled(factor)
    return retarget(given.motion, target, contacts=given.contacts, options=options, solver=solver)


def carried(motion: Motion) -> tuple[Prop, ...]:
    """The box where it stood until it is picked up, then between the hands that carry it."""
    given = scene("pick_up")
    grip = next(c for c in given.contacts if c.on == "box").frames(motion.fps, motion.num_frames)
    box, middle = given.props[0], fk(motion).points(["LeftPalm", "RightPalm"]).mean(axis=1)
    positions = box.positions.copy()
    positions[grip] = (middle - middle[grip[0]])[grip, None] + box.positions[grip[0]]
    return (replace(box, positions=positions),)


def fig01(path: Path) -> list[str]:
    given, lines, rows = scene("pick_up"), [], [scene("pick_up")]
    own = given.motion.skeleton
    short = {"Leg": 0.55, "Foot": 0.55, "Toe": 0.55, "Arm": 0.55, "Hand": 0.55, "Spine": 1.5, "LowerBack": 1.5}
    odd = own.scaled(np.array([next((f for k, f in short.items() if k in n), 1.0) for n in own.names]))
    for name, target in {"60% as large": own.scaled(SMALL), "short limbs, long body": odd}.items():
        found = retarget(given.motion, target, contacts=given.contacts)
        lines.append(f"{name}: {found.result}; energy above 4/8/12 Hz {spectrum(found.motion, given.motion)}")
        rows.append(replace(given, name=name, actors={name: found.motion}, contacts=(), props=carried(found.motion)))
    labels = ["original", "60% as large", "short limbs, long body"]
    draw(rows, path, labels=labels, style="filmstrip", views="side", count=7, frames=slice(60, 150), dots_per_inch=DOTS)
    return lines


def fig02(path: Path) -> list[str]:
    given = scene("walk2d")
    copied = naive(given.motion, given.motion.skeleton.scaled(SMALL))
    pose, slides, heights = fk(copied), [], []
    for contact in given.contacts:
        place = pose.points([contact.point.name])[contact.frames(copied.fps, copied.num_frames), 0]
        if len(place):
            slides.append(float(np.linalg.norm((place - place[0])[:, [0, 2]], axis=-1).max()))
            heights.append(float(place[:, 1].min()))
    draw(
        [given, in_scene(given, copied, "copied to 60%", marks=False)], path, labels=["original", "copied to 60%"],
        style="overlay", views="side", count=14, frames=slice(0, 100), dots_per_inch=DOTS,
    )  # fmt: skip
    return [
        f"planted points slide by up to {1e3 * max(slides):.0f} mm and float at least {1e3 * min(heights):.0f} mm high"
    ]


def fig03(path: Path) -> list[str]:
    given = scene("walk2d")
    lines, rows = [], []
    for name, solver in {"inverse kinematics": Ik(), "ours": None}.items():
        found = fixed_walk("walk2d", solver)
        held = worst(found, "place", "same_place")
        energy = spectrum(found.motion, given.motion)
        lines.append(f"{name}: plants within {held:.3f} mm, energy above 4/8/12 Hz {energy} of the original's")
        rows.append(in_scene(given, found.motion, name))
    strike = round(2.2 * given.motion.fps)
    draw(
        rows, path, labels=["inverse kinematics, frame by frame", "ours"], style="filmstrip", views="side", count=10,
        frames=slice(strike - 5, strike + 5), dots_per_inch=DOTS,
    )  # fmt: skip
    return lines


def fig04(path: Path) -> list[str]:
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
    draw(
        rows, path, labels=["A original", *solvers], style="filmstrip", views="side", count=10,
        frames=slice(grasp - 5, grasp + 5), dots_per_inch=0.8 * DOTS,
    )  # fmt: skip
    return lines


def fig06(path: Path) -> list[str]:
    given = scene("walk2d")
    lines, rows = [], []
    for plants in ("fixed", "free"):
        options = Options(plants=plants)
        found = morph(given.motion, given.motion.skeleton.scaled(SMALL), contacts=given.contacts, options=options)
        way = (found.motion.root[-1] - found.motion.root[0])[2] / (given.motion.root[-1] - given.motion.root[0])[2]
        held = worst(found, "place", "same_place")
        energy = spectrum(found.motion, given.motion)
        lines.append(f"{plants}: plants within {held:.3f} mm, {100 * way:.0f}% of the way, energy {energy}")
        rows.append(in_scene(given, found.motion, plants, marks=plants == "fixed"))
    draw(
        rows, path, labels=["footplants fixed", "footplants free"], style="overlay", views="side", count=16,
        dots_per_inch=DOTS,
    )  # fmt: skip
    return lines


def fig07(path: Path) -> list[str]:
    from matplotlib.figure import Figure

    given = scene("walk")
    part = Part(motion=given.motion, target=given.motion.skeleton.scaled(SMALL))
    laid_out = plan([part], contacts=given.contacts, options=Options(plants="fixed"))
    figure = Figure(figsize=(12.0, 2.6), layout="constrained")
    axes = figure.subplots()
    traces = {"original": given.motion}
    lines = []
    for frames in (2, 4, 8):
        level = Level(spacing=frames / 30.0, rate=30.0, stiffness=1e5, steps=8)
        found = laid_out.solve(Spacetime(levels=(level,)))
        traces[f"keys every {frames} frames"] = found.motion
        aside = np.ptp(fk(found.motion).points(["LeftToeTip"])[:, 0, 0])
        lines.append(
            f"keys every {frames}: trace {1e3 * aside:.0f} mm wide, plants within "
            f"{worst(found, 'place', 'same_place'):.1f} mm, energy above 4/8/12 Hz "
            f"{spectrum(found.motion, given.motion)}"
        )
    ours = laid_out.solve()
    aside = np.ptp(fk(ours.motion).points(["LeftToeTip"])[:, 0, 0])
    lines.append(
        f"ours (keys every {30 * choose_spacing(given.motion):.0f}, then the finish): trace {1e3 * aside:.0f} mm wide, "
        f"plants within {worst(ours, 'place', 'same_place'):.3f} mm, energy {spectrum(ours.motion, given.motion)}"
    )
    colours = ("purple", "tab:green", "tab:blue", "goldenrod")
    for (name, motion), colour in zip(traces.items(), colours, strict=True):
        for number, side in enumerate(("Left", "Right")):
            trace = fk(motion).points([f"{side}ToeTip"])[:, 0]
            axes.plot(trace[:, 2], trace[:, 0], color=colour, lw=1.4, label=name if number == 0 else None)
    axes.set(aspect="equal", xlabel="along the walk, m", ylabel="to the side, m")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    with open_to_write(path) as stream:
        figure.savefig(stream, format="png", dpi=DOTS, metadata={"Software": None})
    return lines


def fig08(path: Path) -> list[str]:
    given = scene("walk")
    own = given.motion.skeleton
    legs = own.scaled(np.where([any(k in n for k in ("Leg", "Foot", "Toe")) for n in own.names], SMALL, 1.0))
    found = retarget(given.motion, legs, contacts=given.contacts, options=Options(plants="fixed"))
    opens = []
    for motion in (given.motion, found.motion):
        pose = fk(motion)
        ways = pose.points(["LeftFoot", "RightFoot"]) - pose.points(["LeftUpLeg", "RightUpLeg"])
        ways /= np.linalg.norm(ways, axis=-1, keepdims=True)
        opens.append(np.degrees(np.arccos(np.einsum("fi,fi->f", ways[:, 0], ways[:, 1])).max()))
    draw(
        [given, in_scene(given, found.motion, "short legs")], path, labels=["original", "legs 60% as long"],
        style="filmstrip", views="side", count=8, frames=slice(15, 75), dots_per_inch=DOTS,
    )  # fmt: skip
    return [f"{found.result}; legs open to {opens[1]:.0f} degrees, the original's to {opens[0]:.0f}"]


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


def ladder(path: Path) -> list[str]:
    given = scene("ladder")
    target = given.motion.skeleton.scaled(CLIMBER)
    floor = [c for c in given.contacts if c.on == "floor"]
    found = {
        "holds fixed": retarget(given.motion, target, contacts=given.contacts),
        "holds slide": retarget(given.motion, target, contacts=floor, constraints=sliding(given)),
    }
    rows = [given, *(in_scene(given, each.motion, name, marks=False) for name, each in found.items())]
    draw(rows, path, labels=["original", *found], style="filmstrip", views="side", count=9, dots_per_inch=0.8 * DOTS)
    return [
        f"{name}: {each.result}; changed by {changed(each.motion, given.motion):.1f} degrees, "
        f"energy above 4/8/12 Hz {spectrum(each.motion, given.motion)}"
        for name, each in found.items()
    ]


def danced(*, both: bool, size: float, share: Array | None = None) -> Solution:
    given = scene("dance")
    lead, follow = given.actors["lead"], given.actors["follow"]
    joints = (*UPPER, *ARMS) if both else None
    leader = Part(motion=lead, target=lead.skeleton, name="lead", moves=both, joints=joints, root_moves=False)
    follower = Part(motion=follow, target=follow.skeleton.scaled(size), name="follow", share=share)
    return plan([leader, follower], contacts=given.contacts).solve()


def pair(found: Solution, name: str) -> Scene:
    return Scene(name=name, actors=dict(zip(("lead", "follow"), found.motions, strict=True)), contacts=())


def fig09(path: Path) -> list[str]:
    given = scene("dance")
    names = {"only the follower adapted": False, "both adapted": True}
    found = {name: danced(both=both, size=PARTNER) for name, both in names.items()}
    rows = [given, *(pair(each, name) for name, each in found.items())]
    draw(
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


def fig10(path: Path) -> list[str]:
    given = scene("dance")
    share = np.clip((given.motion.times - 2.6) / 2.0, 0.0, 1.0)
    found = danced(both=True, size=0.75, share=share * share * (3.0 - 2.0 * share))
    draw(
        [given, pair(found, "shrinks")], path, labels=["original", "she shrinks to 75% while she spins"],
        style="filmstrip", views="side", count=9, frames=slice(60, 156), dots_per_inch=DOTS,
    )  # fmt: skip
    return [f"{found.result}; hands within {worst(found, 'attach'):.3f} mm"]


def handhold(path: Path) -> list[str]:
    from matplotlib.figure import Figure

    motion = scene("squat").motion[:79]
    arm, hand = ("LeftArm", "LeftForeArm", "LeftHand"), "LeftPalm"
    shoulder, skeleton = fk(motion).points([arm[0]])[:, 0], motion.skeleton
    reach = skeleton.lengths[[skeleton.joint(name) for name in arm[1:]]].sum()
    reach += float(np.linalg.norm(skeleton.point(hand).offset))
    place = 0.5 * (shoulder.max(0) + shoulder.min(0)) + reach * np.array([0.6, 0.0, 0.2])
    limits = [each for each in human_limits(motion)[0] if each.joints()[0].point in arm]
    actor = Actor(motion=motion, joints=arm, root_moves=False)
    hold = Place(spot=Spot(point=hand), target=place, name="hold")
    solvers: dict[str, Solver] = {f"{count} keys": Keyed(count=count) for count in (4, 5, 6)}
    solvers["ours"] = Spacetime(spacing=choose_spacing(motion))
    figure = Figure(figsize=(12.0, 2.8), layout="constrained")
    axes, lines = figure.subplots(), []
    for name, solver in solvers.items():
        # The study left the shoulder without limits; ours has them.
        ranges = limits if name == "ours" else []
        found = solver.solve(Problem(actors=(actor,), constraints=(hold, *ranges)))
        off = 1e3 * np.linalg.norm(fk(found.motion).points([hand])[:, 0] - place, axis=-1)
        axes.plot(motion.times, off, label=name, lw=2.0 if name == "ours" else 1.2)
        lines.append(f"{name}: off by {off.max():.3g} mm at most, {off.mean():.3g} on average")
    axes.set(xlabel="s", ylabel="hand from its hold, mm")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    with open_to_write(path) as stream:
        figure.savefig(stream, format="png", dpi=DOTS, metadata={"Software": None})
    return lines


FIGURES: dict[str, Callable[[Path], list[str]]] = {
    work.__name__: work for work in (fig01, fig02, fig03, fig04, fig06, fig07, fig08, ladder, fig09, fig10, handhold)
}


def shrink(path: Path) -> None:
    """Cut the white off the edges of a PNG and bring it down to few colours, in place."""
    with Image.open(path) as picture:
        plain = picture.convert("RGB")
    drawn = ImageChops.difference(plain, Image.new("RGB", plain.size, "white")).getbbox()
    left, top, right, bottom = drawn or (0, 0, *plain.size)
    right, bottom = min(right + MARGIN, plain.width), min(bottom + MARGIN, plain.height)
    plain = plain.crop((max(left - MARGIN, 0), max(top - MARGIN, 0), right, bottom))
    buffer = BytesIO()
    flat = plain.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    flat.save(buffer, format="PNG", optimize=True)
    with open_to_write(path) as stream:
        stream.write(buffer.getvalue())


def write_numbers(name: str, lines: list[str]) -> None:
    """Put a figure's numbers between its markers, in whichever page has them."""
    block = re.compile(rf"(<!-- numbers: {name} -->\n).*?(<!-- /numbers -->)", re.DOTALL)
    shown = "".join(f"- {line}\n" for line in lines)
    for page in sorted(FOLDER.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        new = block.sub(lambda found: f"{found[1]}\n{shown}\n{found[2]}", text)
        if new != text:
            page.write_text(new, encoding="utf-8")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="+", metavar="NAME", choices=sorted(FIGURES))
    options.add_argument("--print", action="store_true", help="leave the pages as they are")
    chosen = options.parse_args()
    (FOLDER / "pictures").mkdir(exist_ok=True)
    for name in chosen.only or FIGURES:
        path = FOLDER / "pictures" / f"{name}.png"
        lines = FIGURES[name](path)
        shrink(path)
        print(f"{name}: {path.stat().st_size / 1000:.0f} kB", *lines, sep="\n  ")
        if not chosen.print:
            write_numbers(name, lines)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
