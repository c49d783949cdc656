"""Transitions, analogies and forms in the studio."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.base.fields import FieldError, build
from understudy.constraints import kinds
from understudy.constraints.base import Constraint, ConstraintInput, PointRef, Residuals, Unit
from understudy.figure.kinematics import fk
from understudy.solve.solvers import solvers
from understudy.studio.analogies import AnalogyResult
from understudy.studio.document import empty_document
from understudy.studio.forms import form, formats, forms, plain_note
from understudy.studio.transitions import TransitionResult
from understudy.studio.workshop import DocumentSolver


def quiet(_text: str, _share: float) -> None:
    """A progress callback that does nothing."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("modes")


@pytest.fixture(scope="module")
def shop(base: Path) -> DocumentSolver:
    return DocumentSolver(base / "session")


def passage(**choice: Any) -> dict[str, Any]:
    empty = empty_document()
    return {**empty, "mode": "transition", "transition": {**empty["transition"], **choice}}


def likeness(**choice: Any) -> dict[str, Any]:
    empty = empty_document()
    clips = {"a_example": "sample:walk", "b_example": "sample:dog_walk", "a_new": "sample:march"}
    return {**empty, "mode": "analogy", "analogy": {**empty["analogy"], **clips, **choice}}


# --------------------------------------------------------------------------------------------------------- transitions


def test_clips_of_a_transition_are_shown_before_and_the_result_after(shop: DocumentSolver, base: Path) -> None:
    assert shop.view(passage(), base)["bodies"] == []
    one = shop.view(passage(second="sample:run"), base)
    assert [body["which"] for body in one["bodies"]] == ["second"]
    wanted = passage(first="sample:walk", second="sample:dog_walk")
    seen = shop.view(wanted, base)
    assert [body["which"] for body in seen["bodies"]] == ["first", "second"]
    assert len(seen["correspondence"]["pairs"]) > 10
    solve_result = shop.solve(wanted, base, watch=quiet)
    assert isinstance(solve_result, TransitionResult)
    after = shop.view(wanted, base)
    assert [body["which"] for body in after["bodies"]] == ["first", "second", "result"]
    assert after["duration"] == solve_result.transition.motion.duration
    assert len(after["bodies"][2]["joints"]) == solve_result.transition.motion.skeleton.num_joints
    table = solve_result.result(None)
    json.dumps([after, table], allow_nan=False)
    blend = table["blend"]
    assert 0.0 < blend["start"] < blend["end"] < after["duration"]
    assert blend["leave"] == pytest.approx(solve_result.transition.match.leave)
    assert table["faults"] == []
    plants = [track for track in table["tracks"] if track["kind"] == "contact"]
    assert plants
    assert all(track["met"] for track in plants)
    assert all(blend["start"] - 0.1 < track["start"] <= track["end"] < blend["end"] + 0.1 for track in plants)
    understudy.write(solve_result.clip("result"), base / "man_into_dog.bvh")
    back = understudy.read(base / "man_into_dog.bvh").motion
    assert back is not None
    assert np.allclose(fk(back).positions, fk(solve_result.transition.motion).positions, atol=1e-3)
    assert solve_result.quality("result")["measurements"]
    assert after["bodies"][2]["mesh"] is None, "a body that becomes another wears the skin of neither"
    assert not any("--" in warning for warning in table["warnings"])


def test_a_transition_of_one_body_wears_its_skin(shop: DocumentSolver, base: Path) -> None:
    wanted = passage(first="sample:walk", second="sample:run")
    solve_result = shop.solve(wanted, base, watch=quiet)
    first, _, result = shop.view(wanted, base)["bodies"]
    assert first["mesh"]
    assert result["mesh"]
    worn, own = solve_result.mesh("result"), solve_result.mesh("first")
    assert worn is not None
    assert own is not None
    assert np.array_equal(worn[1]["faces"], own[1]["faces"])


def test_the_moments_of_a_transition_can_be_chosen_and_dragged(shop: DocumentSolver, base: Path) -> None:
    wanted = passage(first="sample:walk", second="sample:run", leave=2.0, enter=1.0, seconds=1.0)
    solve_result = shop.solve(wanted, base, watch=quiet)
    blend = solve_result.result()["blend"]
    assert blend["end"] - blend["start"] == pytest.approx(1.0, abs=0.05)
    assert (blend["leave"], blend["enter"]) == (pytest.approx(2.0, abs=0.05), pytest.approx(1.0, abs=0.05))
    moved = {**wanted, "transition": {**wanted["transition"], "leave": 2.5}}
    live = shop.solve(moved, base, watch=quiet, before=solve_result, live=True)
    assert [header["which"] for header, _ in live.motions(True)] == ["result"]
    assert live.result(4)["blend"]["leave"] == pytest.approx(2.5, abs=0.05)
    for key, moment in (("leave", 99.0), ("enter", -1.0)):
        wrong = {**wanted, "transition": {**wanted["transition"], key: moment}}
        with pytest.raises(FieldError, match="expected a time from 0 to") as caught:
            shop.solve(wrong, base, watch=quiet)
        assert caught.value.keys == ("transition", key)
    for key in ("leave", "enter", "seconds"):
        wrong = {**wanted, "transition": {**wanted["transition"], key: "soon"}}
        with pytest.raises(FieldError, match="expected a number, got the text 'soon'") as caught:
            shop.solve(wrong, base, watch=quiet)
        assert caught.value.keys == ("transition", key)


def test_pairs_of_a_transition_are_used_where_they_are_of_its_bodies(shop: DocumentSolver, base: Path) -> None:
    wanted = passage(first="sample:walk", second="sample:dog_walk")
    pairs = shop.suggest_pairs(wanted, base)
    assert shop.view({**wanted, "pairs": pairs}, base)["correspondence"]["own"]
    other = {**wanted, "pairs": [{"source": "NoSuchBone", "target": "Hips"}]}
    assert not shop.view(other, base)["correspondence"]["own"]
    solve_result = shop.solve(other, base, watch=quiet)
    assert isinstance(solve_result, TransitionResult)
    assert any("are ignored" in note for note in solve_result.notes)
    with pytest.raises(understudy.UnderstudyError, match="Only a retarget"):
        solve_result.variants(["4"], quiet)


# ----------------------------------------------------------------------------------------------------------- analogies


def test_an_analogy_shows_its_clips_and_matched_markers(shop: DocumentSolver, base: Path) -> None:
    wanted = likeness()
    solve_result = shop.solve(wanted, base, watch=quiet)
    assert isinstance(solve_result, AnalogyResult)
    seen = shop.view(wanted, base)
    assert [body["which"] for body in seen["bodies"]] == ["a_example", "b_example", "a_new", "result"]
    table = solve_result.result()
    json.dumps([seen, table], allow_nan=False)
    by_body: dict[str, set[int]] = {}
    for marker in table["markers"]:
        body = next(body for body in seen["bodies"] if body["which"] == marker["which"])
        assert marker["joint"] in {joint["name"] for joint in body["joints"]}
        by_body.setdefault(marker["which"], set()).add(marker["pair"])
    assert by_body["result"] == by_body["b_example"]
    assert by_body["a_new"] == by_body["a_example"]
    assert by_body["a_new"] <= by_body["result"]
    assert solve_result.clip("result").motion is not None
    assert table["faults"] == []
    assert shop.solve(wanted, base, watch=quiet) is solve_result


def test_a_pose_is_made_by_dragging_a_paw(shop: DocumentSolver, base: Path) -> None:
    plain = shop.solve(likeness(), base, watch=quiet)
    assert isinstance(plain, AnalogyResult)
    lifted = fk(plain.motion).points(["LeftForePaw"])[:, 0]
    frame = int(np.argmax(lifted[20:-20, 1])) + 20
    place = (lifted[frame] + [0.0, 0.08, 0.05]).tolist()
    wanted = likeness(poses=[{"frame": frame, "drags": {"LeftForePaw": place}}])
    live = shop.solve(wanted, base, watch=quiet, before=plain, live=True)
    assert isinstance(live, AnalogyResult)
    ((header, arrays),) = live.motions(True)
    assert header["which"] == "result"
    shown = fk(live.motion).points(["LeftForePaw"])[:, 0]
    assert np.linalg.norm(shown[frame] - place) < 1e-3
    far = np.abs(np.arange(len(shown)) - frame) > 20
    assert np.allclose(shown[far], lifted[far])
    assert len(arrays["positions"]) == live.motion.num_frames
    full = shop.solve(wanted, base, watch=quiet)
    assert isinstance(full, AnalogyResult)
    reached = fk(full.motion).points(["LeftForePaw"])[frame, 0]
    assert np.linalg.norm(reached - place) < 0.005
    assert all(track["met"] for track in full.result()["tracks"] if track["kind"] != "contact")
    track = next(track for track in full.result()["tracks"] if track["kind"] == "pose")
    assert track["path"] == ["analogy", "poses", 0]
    assert track["worst"] == pytest.approx(np.linalg.norm(reached - place))
    assert sum(error is not None for error in track["errors"]) == 1


@pytest.mark.parametrize(
    ("choice", "keys", "message"),
    [
        ({"settings": {"eigenvectors": 0}}, ("analogy", "settings"), "at least one eigenvector"),
        ({"settings": {"kolour": 1}}, ("analogy", "settings", "kolour"), "there is no key `kolour`"),
        ({"poses": [{"frame": 9999, "drags": {}}]}, ("analogy", "poses", 0, "frame"), "there is no frame 9999"),
        ({"poses": [{"frame": 3, "drags": {"Wing": [0, 0, 0]}}]}, ("analogy", "poses", 0), "`Wing`"),
        (
            {"poses": [{"frame": 3, "drags": {"Head": [0, 0]}}]},
            ("analogy", "poses", 0, "drags", "Head"),
            "three finite numbers",
        ),
        (
            {"poses": [{"frame": 3, "drags": {"Head": ["up", 0, 0]}}]},
            ("analogy", "poses", 0, "drags", "Head"),
            "three finite numbers",
        ),
        ({"poses": ["up"]}, ("analogy", "poses", 0), "expected a pose"),
        ({"poses": [{"frame": True, "drags": {}}]}, ("analogy", "poses", 0), "expected a pose"),
    ],
)
def test_what_is_wrong_with_an_analogy_is_told_with_its_place(
    shop: DocumentSolver, base: Path, choice: dict[str, Any], keys: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(FieldError, match=message) as caught:
        shop.solve(likeness(**choice), base, watch=quiet)
    assert caught.value.keys == keys


# --------------------------------------------------------------------------------------------------------------- forms


def test_every_kind_and_solver_has_a_form() -> None:
    table = forms()
    json.dumps(table, allow_nan=False)
    assert set(table["constraint"]) == set(kinds())
    assert set(table["solver"]) == set(solvers())
    for group in (*table["constraint"].values(), *table["solver"].values(), table["options"], table["actor"]):
        assert group["about"]
        for field in group["fields"]:
            assert field["type"] in (
                "number", "whole", "text", "flag", "choice", "vector", "point", "points", "names", "numbers", "other",
            )  # fmt: skip
            assert field["type"] != "choice" or len(field["choices"]) > 1


def _fields(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {field["name"]: field for field in table["fields"]}


def test_fields_are_told_as_they_are_edited() -> None:
    table = forms()
    place = _fields(table["constraint"]["place"])
    assert (place["point"]["type"], place["point"]["required"]) == ("point", True)
    assert (place["target"]["type"], place["target"]["gizmo"]) == ("vector", "place")
    assert (place["start"]["type"], place["start"]["default"]) == ("number", None)
    assert place["priority"]["type"] == "whole"
    assert list(place)[:2] == ["point", "target"]
    region = _fields(table["constraint"]["region"])
    assert region["shape"]["choices"] == ["above", "half_space", "box", "sphere", "outside_sphere"]
    assert (region["normal"]["gizmo"], region["size"]["gizmo"], region["centre"]["gizmo"]) == (
        "direction", "size", "place",
    )  # fmt: skip
    assert _fields(table["constraint"]["follow"])["path"]["gizmo"] == "path"
    assert "gizmo" not in _fields(table["constraint"]["follow"])["offset"]
    assert _fields(table["constraint"]["pose"])["posed"]["type"] == "points"
    assert _fields(table["options"])["plants"]["choices"] == ["free", "fixed", "none"]
    assert _fields(table["options"])["keep"]["type"] == "names"
    assert _fields(table["options"])["spacing"]["default"] == "auto"
    assert _fields(table["actor"])["align"]["choices"] == ["direction", "stance"]
    assert _fields(table["actor"])["scale"]["type"] == "other"
    assert _fields(table["reading"])["lenient"]["type"] == "flag"


@dataclass(frozen=True, eq=False, kw_only=True)
class Wiggle(Constraint):
    """A point wiggles."""

    kind: ClassVar[str] = "wiggle"
    unit: ClassVar[Unit] = Unit.METRE

    point: PointRef
    how: str = "fast"
    """`fast` or `slow`."""
    towards: np.ndarray
    """(3,) metres, world: where to."""

    def point_refs(self) -> tuple[PointRef, ...]:
        return (self.point,)

    def rows(self, view: ConstraintInput) -> Residuals:
        return Residuals(values=view.points[:, 0] - self.towards)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Wiggle:
        return cls(point=PointRef(point="tip"), towards=rng.normal(size=3))


def test_a_new_kind_gets_a_form_by_its_fields_alone() -> None:
    table = _fields(form(Wiggle))
    assert table["how"]["choices"] == ["fast", "slow"]
    assert (table["towards"]["type"], table["towards"]["gizmo"], table["towards"]["required"]) == (
        "vector",
        "place",
        True,
    )


def test_forms_state_units_and_cite_nothing() -> None:
    table = forms()
    every = [form for kind in ("constraint", "solver") for form in table[kind].values()]
    every += [form for kind, form in table.items() if "fields" in form]
    texts = [text for form in every for text in (form["about"], *(field["note"] for field in form["fields"]))]
    assert not [text for text in texts if "Gleicher" in text or "sec. " in text or "Lommers" in text]
    assert not [text for text in texts if text.startswith("(")]
    place = {field["name"]: field for field in table["constraint"]["place"]["fields"]}
    assert (place["target"]["unit"], place["target"]["note"]) == ("m", "Metres, world.")
    assert (place["start"]["unit"], place["tolerance"]["unit"]) == ("s", "m")
    assert "unit" not in place["weight"]
    direction = {field["name"]: field for field in table["constraint"]["direction"]["fields"]}
    assert (direction["angle"]["unit"], direction["tolerance"]["unit"]) == ("rad", "rad")
    detection = {field["name"]: field.get("unit") for field in table["detection"]["fields"]}
    assert (detection["speed"], detection["radius"], detection["window"]) == ("legs/s", "legs", "s")
    assert plain_note("Kept [Gleicher98, fig. 7] (see `[[prop]]`).") == "Kept (see `[[prop]]`)."


def test_defaults_of_forms_make_what_they_are_the_defaults_of() -> None:
    from understudy.figure.contacts import Detection

    table = forms()["detection"]
    values = {field["name"]: field["default"] for field in table["fields"]}
    assert build(Detection, values) == Detection()


def test_formats_are_those_that_can_be_written(tmp_path: Path) -> None:
    endings = {each["ending"] for each in formats()}
    assert {".bvh", ".glb", ".npz", ".csv"} <= endings
    assert ".fbx" in endings
    assert ".urdf" not in endings
    understudy.write(samples.motion("walk").motion, tmp_path / "a.glb")
