"""[Gleicher98] on captures on which nothing was developed: walks in given footsteps, and bodies that change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from papers.base import SMALL, Capture, Cell, Findings, Fresh, Table, Tell, capture, cmu, collected, spectrum, worst
from papers.gleicher98_captured import METHODS
from understudy.app.morph import slide_remarks
from understudy.figure.contacts import contact_points, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.retarget.driver import morph, naive, retarget
from understudy.retarget.plan import Options

WALKS = ("07_05", "16_47", "35_28")
"""Walks of three people, picked by hand from those of the analogies that are fresh."""

MORPHS = ("07_05", "105_33")
"""A walk, and a styled walk of another person."""

SIZES = {"growing": 1.25, "shrinking": 0.75}

RATE = 60.0
"""Frames per second of bodies that change."""

ENERGY = "energy above 4/8/12 Hz"


def walks(collection: Path, data: Path | None, folder: Path | None, tell: Tell) -> Findings:
    """Figures 2 and 3: walks at 60% in the original's footsteps."""
    rows: list[tuple[Cell, ...]] = []
    for name in WALKS:
        tell(f"the walk {name}")
        walk = collected(collection, name)
        small = walk.skeleton.scaled(SMALL)
        rows.append((name, "copied", 1e3 * slide(walk), spectrum(naive(walk, small), walk), None))
        for method, solver in METHODS.items():
            solution = retarget(walk, small, options=Options(plants="fixed"), solver=solver)
            off = worst(solution, "place", "same_place")
            rows.append((name, method, off, spectrum(solution.motion, walk), len(solution.unmet)))
    head = ("clip", "method", "plants off (mm)", ENERGY, "not met")
    title = "Figures 2 and 3 on fresh captures: walks at 60% in the original's footsteps"
    return Findings(tables=(Table(title=title, head=head, rows=tuple(rows)),))


def slide(walk: Motion) -> float:
    """Largest slide of a planted point if a walk is copied to a figure 60% as large, metres."""
    pose, far = fk(naive(walk, walk.skeleton.scaled(SMALL))), 0.0
    for contact in detect_contacts(walk, contact_points(walk)):
        point = replace(contact.point, offset=SMALL * contact.point.offset)
        path = pose.points([point])[contact.frames(walk.fps, walk.num_frames), 0]
        far = max(far, float(np.linalg.norm((path - path[0])[:, [0, 2]], axis=-1).max()))
    return far


MORPH_HEAD = (
    "clip", "body", "plants", "constraints", "not met", "held points off (mm)", "contacts that slide, named",
    "the farthest",
)  # fmt: skip


def morph_rows(name: str, motion: Motion) -> Iterable[tuple[Cell, ...]]:
    """Rows of a motion whose body grows or shrinks, with plants that are free or fixed."""
    for word, size in SIZES.items():
        for plants in ("free", "fixed"):
            result = morph(motion, motion.skeleton.scaled(size), options=Options(plants=plants))
            remarks = [remark for remark in slide_remarks(result) if "slides by" in remark]
            plants_off = [o.worst for o in result.solution.outcomes if o.constraint.kind in ("place", "same_place")]
            yield (
                name, f"{word} to {size:g}", plants, len(result.solution.outcomes), len(result.solution.unmet),
                1e3 * max(plants_off, default=0.0), len(remarks), remarks[0] if remarks else "none",
            )  # fmt: skip


MORPH_TITLE = "Section 5: bodies that grow and shrink while they walk"


def morphs(collection: Path, data: Path | None, folder: Path | None, tell: Tell) -> Findings:
    """Bodies that change on fresh captures."""
    rows: list[tuple[Cell, ...]] = []
    for name in MORPHS:
        tell(f"a body that changes, {name}")
        rows += morph_rows(name, collected(collection, name, rate=RATE)[: round(3.0 * RATE)])
    return Findings(tables=(Table(title=f"{MORPH_TITLE}: fresh captures", head=MORPH_HEAD, rows=tuple(rows)),))


def captured_morphs(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Bodies that change on the walk 02_01."""
    tell("a body that changes, 02_01")
    rows = tuple(morph_rows("02_01", capture(data, "02_01", rate=RATE)))
    return Findings(tables=(Table(title=f"{MORPH_TITLE}: CMU 02_01", head=MORPH_HEAD, rows=rows),))


CAPTURES = (Capture(name="morphs_captured", about="A body that changes", files=(cmu("02_01"),), run=captured_morphs),)

FRESH = (
    Fresh(name="walks_fresh", about="Fresh walks in the original's footsteps", clips=WALKS, run=walks),
    Fresh(name="morphs_fresh", about="Bodies that change on fresh captures", clips=MORPHS, run=morphs),
)
