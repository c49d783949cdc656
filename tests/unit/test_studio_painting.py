"""Contacts painted in the studio get what they touch, and where, from the source's motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.figure.kinematics import fk
from understudy.retarget.actor import sample_scene
from understudy.studio.document import apply_changes, empty_document
from understudy.studio.folders import Folders
from understudy.studio.opening import open_file
from understudy.studio.painting import lacks_places
from understudy.studio.workshop import DocumentSolver


@pytest.fixture
def solver(tmp_path: Path) -> DocumentSolver:
    return DocumentSolver(tmp_path / "session")


@pytest.fixture
def walk(solver: DocumentSolver, tmp_path: Path) -> dict[str, Any]:
    folders = Folders((tmp_path,), tmp_path / "uploads")
    return open_file(empty_document(), "sample:walk", "source", folders, solver)


def painted(document: dict[str, Any], **contact: Any) -> dict[str, Any]:
    number = len(document["recipe"]["contact"])
    return apply_changes(document, [{"op": "insert", "path": ["recipe", "contact", number], "value": contact}])


def test_a_painted_footplant_stands_where_the_source_stands(
    solver: DocumentSolver, walk: dict[str, Any], tmp_path: Path
) -> None:
    heel = next(c for c in walk["recipe"]["contact"] if c["point"] == "LeftHeel" and c["start"] > 0.5)
    number = walk["recipe"]["contact"].index(heel)
    bare = apply_changes(walk, [{"op": "remove", "path": ["recipe", "contact", number]}])
    again = {key: heel[key] for key in ("point", "joint", "offset", "start", "end")}
    document = painted(bare, **again)
    assert lacks_places(document)
    done = solver.placed(document, tmp_path)
    assert not lacks_places(done)
    contact = done["recipe"]["contact"][-1]
    assert contact["on"] == "floor"
    # The sample's foot does not move at all while it stands.
    assert np.allclose(contact["place"], heel["place"], atol=1e-4)
    # Solved, the heel stands still at the height of the floor; without the place it was a hand's grip on nothing.
    result = solver.solve(done, tmp_path, watch=lambda text, share: None)
    motion = result.clip("result").motion
    assert motion is not None
    frames = np.arange(round(heel["start"] * motion.fps), round(heel["end"] * motion.fps) + 1)
    end = next(end for end in motion.skeleton.ends if end.name == "LeftHeel")
    path = fk(motion[frames]).points([end])[:, 0]
    assert np.ptp(path, axis=0).max() < 2e-3


def test_a_hand_in_the_air_holds_and_a_knee_on_the_floor_stands(
    solver: DocumentSolver, walk: dict[str, Any], tmp_path: Path
) -> None:
    hand = painted(walk, point="LeftPalm", joint="LeftHand", offset=[0.0, 0.0, 0.0], start=1.0, end=1.4)
    toe = painted(hand, point="LeftToeTip", joint="LeftToeBase", offset=[0.0, 0.0, 0.0], start=1.0, end=1.2)
    contacts = solver.placed(toe, tmp_path)["recipe"]["contact"]
    assert [contact["on"] for contact in contacts[-2:]] == ["hold", "floor"]
    motion = sample_scene("sample:walk")[0].motion
    path = fk(motion).points(["LeftHand"])[round(1.0 * motion.fps) : round(1.4 * motion.fps) + 1, 0]
    assert np.allclose(contacts[-2]["place"], np.median(path, axis=0), atol=1e-5)


@pytest.mark.parametrize(
    "contact",
    [
        {"point": "Nobody", "start": 0.0, "end": 1.0},
        {"point": "LeftHeel", "joint": "LeftFoot", "start": 90.0, "end": 91.0},
        {"point": ["a"], "start": 0.0, "end": 1.0, "actor": ["x"]},
        {"point": "LeftFoot", "start": "soon", "end": None},
        {"start": 0.0},
    ],
)
def test_what_cannot_be_placed_stays_as_it_is(
    solver: DocumentSolver, walk: dict[str, Any], tmp_path: Path, contact: dict[str, Any]
) -> None:
    document = painted(walk, **contact)
    assert solver.placed(document, tmp_path) == document


def test_points_to_paint_on_are_named(solver: DocumentSolver, walk: dict[str, Any], tmp_path: Path) -> None:
    source = next(body for body in solver.view(walk, tmp_path)["bodies"] if body["which"] == "source")
    names = [touch["point"] for touch in source["touches"]]
    assert {"LeftHeel", "RightHeel", "LeftToeBase"} <= set(names)
    assert any("Hand" in name or "Palm" in name or "Finger" in name for name in names)
