"""[Gleicher98]'s examples on captured motion: walks, a ladder, a dance for two, boxes picked up, and its solvers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from understudy.contacts import contact_points, detect_contacts
from understudy.kinematics import fk
from understudy.papers.base import UNMET, Capture, Cell, Findings, Table, Tell
from understudy.papers.captured import capture, cmu
from understudy.papers.gleicher98_clips import BOXES, WALKS, box, climb, salsa
from understudy.papers.gleicher98_solvers import LADDER, run_solvers
from understudy.papers.scenes import SMALL, changed, spectrum, worst
from understudy.pipeline import Options, naive, retarget
from understudy.solvers.base import Solution, Solver
from understudy.solvers.ik import Ik
from understudy.solvers.ik_lowpass import IkLowpass

CLIMBER = 0.85
METHODS: dict[str, Solver | None] = {"inverse kinematics": Ik(), "low-pass filtered": IkLowpass(), "ours": None}
ENERGY = "energy above 4/8/12 Hz"


def findings(title: str, head: tuple[str, ...], rows: Iterable[tuple[Cell, ...]]) -> Findings:
    """A table, and as worse what says of itself that constraints of ours are not met."""
    made = tuple(rows)
    failed = tuple(
        f"{row[0]}: {cell}" for row in made for cell in row if "ours" in row and isinstance(cell, str) and UNMET in cell
    )
    return Findings(tables=(Table(title=title, head=head, rows=made),), worse=failed)


def walks(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Figures 2 and 3: walks at 60% in the original's footsteps, copied and by each method."""
    rows: list[tuple[Cell, ...]] = []
    for name in WALKS:
        tell(f"the walk {name}")
        walk = capture(data, name)
        small = walk.skeleton.scaled(SMALL)
        rows.append((name, "copied", "-", 1e3 * slide(data, name), spectrum(naive(walk, small), walk), None))
        for method, solver in METHODS.items():
            found = retarget(walk, small, options=Options(plants="fixed"), solver=solver)
            off = worst(found, "place", "same_place")
            rows.append((name, method, found.result, off, spectrum(found.motion, walk), found.seconds))
    head = ("clip", "method", "result", "plants off (mm)", ENERGY, "seconds")
    return findings("Figures 2 and 3 on captures: walks at 60% in the original's footsteps", head, rows)


def slide(data: Path, name: str) -> float:
    """Metres that the worst planted point slides where a walk is copied to a figure 60% as large."""
    walk = capture(data, name)
    pose, far = fk(naive(walk, walk.skeleton.scaled(SMALL))), 0.0
    for contact in detect_contacts(walk, contact_points(walk)):
        point = replace(contact.point, offset=SMALL * contact.point.offset)
        path = pose.points([point])[contact.frames(walk.fps, walk.num_frames), 0]
        far = max(far, float(np.linalg.norm((path - path[0])[:, [0, 2]], axis=-1).max()))
    return far


def ladder(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Figure 4 and section 7.2: the ladder of 13_33 at 85%, on the original's holds and with holds that slide."""
    given = climb(data)
    target = given.motion.skeleton.scaled(CLIMBER)
    floor = [c for c in given.contacts if c.on == "floor"]
    found: dict[tuple[str, str], Solution] = {}
    for method, solver in METHODS.items():
        tell(f"the ladder by {method}")
        found["holds fixed", method] = retarget(given.motion, target, contacts=given.contacts, solver=solver)
    tell("the ladder with holds that slide")
    found["holds slide", "ours"] = retarget(given.motion, target, contacts=floor, constraints=given.sliding())
    rows = [
        (*key, each.result, worst(each, "place", "same_place"), changed(each.motion, given.motion),
         spectrum(each.motion, given.motion), each.seconds)
        for key, each in found.items()
    ]  # fmt: skip
    head = ("holds", "method", "result", "holds off (mm)", "changed by (deg)", ENERGY, "seconds")
    return findings("Figure 4 and section 7.2 on captures: the ladder of 13_33 at 85%", head, rows)


def dance(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Figures 9 and 10: the salsa of 60_10 and 61_10, with a follower 80% as large or one who shrinks to 75%."""
    given = salsa(data)
    plans = {
        "no holds": given.laid_out(0.8, both=False, held=False),
        "only the follower adapted": given.laid_out(0.8, both=False),
        "both adapted": given.laid_out(0.8, both=True),
        "she shrinks, both adapted": given.laid_out(0.75, both=True, share=given.shrinking),
    }
    rows: list[tuple[Cell, ...]] = []
    for name, laid_out in plans.items():
        tell(f"the dance: {name}")
        found = laid_out.solve()
        lead, follow = found.motions
        rows.append((
            name, "ours", found.result, 1e3 * given.broken(found), worst(found, "same_place"),
            changed(lead, given.lead), changed(follow, given.follow), spectrum(follow, given.follow), found.seconds,
        ))  # fmt: skip
    head = ("case", "method", "result", "out of holds (mm)", "plants off (mm)", "leader changed (deg)",
            "follower changed (deg)", f"her {ENERGY}", "seconds")  # fmt: skip
    return findings("Figures 9 and 10 on captures: the salsa of 60_10 and 61_10", head, rows)


def boxes(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Section 1.1 and figure 1: the boxes of 69_70 and 115_06, by figures of 80% and 120%."""
    rows: list[tuple[Cell, ...]] = []
    for name in BOXES:
        given = box(data, name)
        for size in (0.8, 1.2):
            tell(f"the box of {name} at {size:g}")
            target = given.motion.skeleton.scaled(size)
            without = retarget(given.motion, target)
            found = retarget(given.motion, target, constraints=given.constraints)
            before, after = given.measure(without.motion)[0], given.measure(found.motion)
            rows.append((
                name, f"{100 * size:.0f}%", "ours", found.result, 1e3 * before, 1e3 * after[0], 1e3 * after[1],
                spectrum(found.motion, given.motion), found.seconds,
            ))  # fmt: skip
    head = ("clip", "size", "method", "result", "hands off without (mm)", "hands off (mm)", "width off (mm)", ENERGY,
            "seconds")  # fmt: skip
    return findings("Figure 1 on captures: boxes picked up and carried", head, rows)


def solvers(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Sections 6 and 7.2: the solvers on four seconds of the ladder of 13_33 at 90%."""
    return run_solvers(
        climb(data).problem(), LADDER, "Sections 6 and 7.2 on captures: the solvers on the ladder of 13_33 at 90%", tell
    )


CAPTURES = (
    Capture(name="walks", about="walks in the original's footsteps", files=tuple(map(cmu, WALKS)), run=walks),
    Capture(name="ladder_captured", about="a captured ladder", files=(cmu("13_33"),), run=ladder),
    Capture(name="dance_captured", about="a captured dance", files=(cmu("60_10"), cmu("61_10")), run=dance),
    Capture(name="boxes", about="boxes picked up", files=tuple(map(cmu, BOXES)), run=boxes),
    Capture(name="solvers_captured", about="the solvers on a captured ladder", files=(cmu("13_33"),), run=solvers),
)
"""The experiments on captured motion."""
