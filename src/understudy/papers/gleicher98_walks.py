"""Figures of [Gleicher98] that show walks: copied, solved frame by frame and as a whole, morphed, in long footsteps."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from understudy.bands import choose_spacing
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.papers.scenes import DOTS, SMALL, drawn, in_scene, plot, save, scene, spectrum, worst
from understudy.pipeline import Options, Part, morph, naive, plan, retarget
from understudy.solvers.base import Solution, Solver
from understudy.solvers.ik import Ik
from understudy.solvers.spacetime import Level, Spacetime


def fixed_walk(name: str, solver: Solver | None = None, factor: float = SMALL) -> Solution:
    """A sample walk by a figure of another size in the original's footsteps."""
    given = scene(name)
    options = Options(plants="fixed")
    target = given.motion.skeleton.scaled(factor)
    return retarget(given.motion, target, contacts=given.contacts, options=options, solver=solver)


def fig02(path: Path | None) -> list[str]:
    """What copying gives: a plane walk and the same angles on a smaller figure."""
    given = scene("walk2d")
    copied = naive(given.motion, given.motion.skeleton.scaled(SMALL))
    pose, slides, heights = fk(copied), [], []
    for contact in given.contacts:
        place = pose.points([contact.point.name])[contact.frames(copied.fps, copied.num_frames), 0]
        if len(place):
            slides.append(float(np.linalg.norm((place - place[0])[:, [0, 2]], axis=-1).max()))
            heights.append(float(place[:, 1].min()))
    drawn(
        [given, in_scene(given, copied, "copied to 60%", marks=False)], path, labels=["original", "copied to 60%"],
        style="overlay", views="side", count=14, frames=slice(0, 100), dots_per_inch=DOTS,
    )  # fmt: skip
    return [
        f"planted points slide by up to {1e3 * max(slides):.0f} mm and float at least {1e3 * min(heights):.0f} mm high"
    ]


def fig03(path: Path | None) -> list[str]:
    """A heel strike, solved frame by frame and as a whole motion."""
    given = scene("walk2d")
    lines, rows = [], []
    for name, solver in {"inverse kinematics": Ik(), "ours": None}.items():
        found = fixed_walk("walk2d", solver)
        held = worst(found, "place", "same_place")
        energy = spectrum(found.motion, given.motion)
        lines.append(f"{name}: plants within {held:.3f} mm, energy above 4/8/12 Hz {energy} of the original's")
        rows.append(in_scene(given, found.motion, name))
    strike = round(2.2 * given.motion.fps)
    drawn(
        rows, path, labels=["inverse kinematics, frame by frame", "ours"], style="filmstrip", views="side", count=10,
        frames=slice(strike - 5, strike + 5), dots_per_inch=DOTS,
    )  # fmt: skip
    return lines


def fig06(path: Path | None) -> list[str]:
    """A walker who shrinks, with footplants fixed and free."""
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
    drawn(
        rows, path, labels=["footplants fixed", "footplants free"], style="overlay", views="side", count=16,
        dots_per_inch=DOTS,
    )  # fmt: skip
    return lines


def fig07(path: Path | None) -> list[str]:
    """Traces of the feet from above, with keys at several spacings."""
    given = scene("walk")
    part = Part(motion=given.motion, target=given.motion.skeleton.scaled(SMALL))
    laid_out = plan([part], contacts=given.contacts, options=Options(plants="fixed"))
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
    if path is not None:
        plot_traces(traces, path)
    return lines


def plot_traces(motions: dict[str, Motion], path: Path) -> None:
    """Draw the ways of the toes of some walks, seen from above."""
    figure = plot(2.6)
    axes = figure.subplots()
    colours = ("purple", "tab:green", "tab:blue", "goldenrod")
    for (name, motion), colour in zip(motions.items(), colours, strict=True):
        for number, side in enumerate(("Left", "Right")):
            trace = fk(motion).points([f"{side}ToeTip"])[:, 0]
            axes.plot(trace[:, 2], trace[:, 0], color=colour, lw=1.4, label=name if number == 0 else None)
    axes.set(aspect="equal", xlabel="along the walk, m", ylabel="to the side, m")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    save(figure, path)


def fig08(path: Path | None) -> list[str]:
    """Short legs in long footsteps."""
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
    drawn(
        [given, in_scene(given, found.motion, "short legs")], path, labels=["original", "legs 60% as long"],
        style="filmstrip", views="side", count=8, frames=slice(15, 75), dots_per_inch=DOTS,
    )  # fmt: skip
    return [f"{found.result}; legs open to {opens[1]:.0f} degrees, the original's to {opens[0]:.0f}"]
