"""Solves during a drag: fast, local, independent of earlier updates, and close to the finished solve."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.constraints.base import PointRef
from understudy.constraints.follow import Follow
from understudy.constraints.function import Function
from understudy.constraints.place import Place
from understudy.constraints.region import Region
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.retarget import live
from understudy.retarget.live import compare, shift_in_time
from understudy.studio.document import empty_document
from understudy.studio.performance import RetargetResult
from understudy.studio.workshop import DocumentSolver

TIMES = np.arange(301) / 30.0


def quiet(_text: str, _share: float) -> None:
    """A progress callback that does nothing."""


class Stage:
    """A walk, of ten seconds if not said otherwise, with plants and a hand held in place, solved in full."""

    def __init__(self, folder: Path, fps: float = 30.0, seconds: float = 10.0) -> None:
        self.base, self.shop = folder, DocumentSolver(folder / "session")
        understudy.write(samples.motion("walk", fps=fps, seconds=seconds).motion, folder / "walk.bvh")
        empty = empty_document()
        actor = {"source": "walk.bvh", "scale": {"legs": 1.2}}
        plain = self.shop.filled({**empty, "recipe": {**empty["recipe"], "actor": [actor]}}, folder)
        self.plain, self.walk = plain, self.solve(plain)
        motion = self.walk.motions_made[0]
        self.hand = fk(motion).points(["RightHand"])[round(5.0 * motion.fps), 0] + [-0.05, 0.1, 0.0]
        self.document = self.changed(plain, ["recipe", "constraint"], [self.place(self.hand)])
        self.full = self.solve(self.document)

    def place(self, target: np.ndarray) -> dict[str, Any]:
        return {"kind": "place", "point": "RightHand", "target": target.tolist(), "start": 4.7, "end": 5.3}

    def solve(self, document: dict[str, Any], before: Any = None) -> RetargetResult:
        solve_result = self.shop.solve(document, self.base, watch=quiet, before=before, live=before is not None)
        assert isinstance(solve_result, RetargetResult)
        return solve_result

    @staticmethod
    def changed(document: dict[str, Any], path: list[Any], value: Any) -> dict[str, Any]:
        changed_document = copy.deepcopy(document)
        table = changed_document
        for key in path[:-1]:
            table = table[key]
        table[path[-1]] = value
        return changed_document

    def drag(self, start: RetargetResult, documents: list[dict[str, Any]]) -> RetargetResult:
        shown = start
        for document in documents:
            shown = self.solve(document, shown)
        return shown


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("live"))


def apart(live: RetargetResult, full: RetargetResult) -> tuple[float, float]:
    """Metres between the joints of two results: at worst, and the mean over all joints and frames."""
    step = round(full.motions_made[0].fps / live.motions_made[0].fps)
    one, other = fk(live.motions_made[0]).positions, fk(full.motions_made[0][::step]).positions
    away = np.linalg.norm(one - other, axis=-1)
    return float(away.max()), float(away.mean())


def off(solve_result: RetargetResult, kind: str = "place") -> float:
    return max(each.off.max() for each in solve_result.held if each.constraint.kind == kind)


def hand_drag(stage: Stage, to: list[float], steps: int = 6) -> list[dict[str, Any]]:
    ways = np.linspace(0.0, 1.0, steps + 1)[1:, None] * np.array(to)
    return [stage.changed(stage.document, ["recipe", "constraint", 0], stage.place(stage.hand + way)) for way in ways]


# --------------------------------------------------------------------------------------- close to the finished solve


def test_a_dragged_hand_arrives_and_the_live_result_is_close_to_the_full_one(stage: Stage) -> None:
    documents = hand_drag(stage, [0.15, 0.1, 0.05])
    live, full = stage.drag(stage.full, documents), stage.solve(documents[-1])
    assert off(full) < 0.005
    assert off(live) < 0.005
    worst, mean = apart(live, full)
    assert worst < 0.04
    assert mean < 0.005


MOVED_JOINTS = [
    ("walk", "child", "LeftHand", [0.6, 0.75, 0.3]),
    ("walk", "giant", "RightHand", [-0.6, 0.75, 0.3]),
    ("walk", "other", "hand_l", [0.6, 0.75, 0.3]),
    ("squat", "child", "LeftHand", [0.6, 0.75, 0.3]),
    ("walk", "child", "Head", [0.5, -0.6, 0.6]),
    ("walk", "child", "Hips", [0.6, -0.6, 0.5]),
]


@pytest.mark.parametrize(("motion", "target", "joint", "way"), MOVED_JOINTS)
def test_every_picture_of_a_drag_is_within_two_centimetres_of_the_finished_solve(
    tmp_path: Path, motion: str, target: str, joint: str, way: list[float]
) -> None:
    """The hand, head or hips of another body are pulled by a fifth of a leg, in steps of one to four centimetres."""
    shop, empty = DocumentSolver(tmp_path / "session"), empty_document()
    actor = {"source": f"sample:{motion}", "target": f"sample:{target}"}
    plain = shop.filled({**empty, "recipe": {**empty["recipe"], "actor": [actor]}}, tmp_path)
    shown = shop.solve(plain, tmp_path, watch=quiet)
    assert isinstance(shown, RetargetResult)
    start = fk(shown.motions_made[0]).points([joint])[75, 0]
    full_way = 0.2 * leg_length(shown.motions_made[0].skeleton) * np.array(way)
    for share in np.arange(1, 9) / 8:
        target_place = (start + share * full_way).tolist()
        asked = {"kind": "place", "point": joint, "target": target_place, "start": 2.3, "end": 2.7}
        document = Stage.changed(plain, ["recipe", "constraint"], [asked])
        shown = shop.solve(document, tmp_path, watch=quiet, before=shown, live=True)
        full = shop.solve(document, tmp_path, watch=quiet)
        assert isinstance(shown, RetargetResult)
        assert isinstance(full, RetargetResult)
        assert apart(shown, full)[0] < 0.02


def test_a_hand_pulled_in_flight_moves_the_body_less_than_the_hand(tmp_path: Path) -> None:
    """No foot stands then: the body followed a hand that its arm could reach, and its start was that much off."""
    shop, empty = DocumentSolver(tmp_path / "session"), empty_document()
    actor = {"source": "sample:run", "target": "sample:child"}
    plain = shop.filled({**empty, "recipe": {**empty["recipe"], "actor": [actor]}}, tmp_path)
    before = shop.solve(plain, tmp_path, watch=quiet)
    assert isinstance(before, RetargetResult)
    motion = before.motions_made[0]
    stands = np.zeros(motion.num_frames, bool)
    for contact in before.prepared.contacts:
        stands[round(contact.start * motion.fps) : round(contact.end * motion.fps) + 1] = True
    frame = int(np.flatnonzero(~stands & (motion.times > 1.0))[0]) + 1
    place = fk(motion).points(["LeftHand"])[frame, 0] + [0.13, 0.0, 0.04]
    time = float(motion.times[frame])
    asked = {"kind": "place", "point": "LeftHand", "target": place.tolist(), "start": time - 0.05, "end": time + 0.05}
    document = Stage.changed(plain, ["recipe", "constraint"], [asked])
    full = shop.solve(document, tmp_path, watch=quiet)
    live = shop.solve(document, tmp_path, watch=quiet, before=before, live=True)
    for result in (full, live):
        assert isinstance(result, RetargetResult)
        assert off(result) < 0.005
        assert np.linalg.norm(result.motions_made[0].root - motion.root, axis=-1).max() < 0.08


def test_after_a_slow_update_of_many_frames_a_drag_goes_on_with_fewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MAX_UPDATE_SECONDS", 0.0)
    stage = Stage(tmp_path, fps=120.0, seconds=6.0)
    document = stage.changed(stage.plain, ["recipe", "constraint"], [stage.place(stage.hand)])
    first = stage.solve(document, stage.walk)
    assert first.motions_made[0].fps == pytest.approx(120.0)
    second = stage.solve(document, first)
    assert second.motions_made[0].fps == pytest.approx(30.0)
    assert second.span is None
    assert second.motions_made[0].duration == pytest.approx(first.motions_made[0].duration, abs=0.03)
    fewer = fk(second.motions_made[0]).positions
    off = np.linalg.norm(fewer - fk(first.motions_made[0]).positions[::4], axis=-1)
    assert np.median(off) < 0.005
    assert off.max() < 0.1


def test_every_picture_of_a_drag_in_a_long_motion_is_close_to_the_finished_solve(tmp_path: Path) -> None:
    """Only a window is solved, whose ends are those of the motion before."""
    stage = Stage(tmp_path, seconds=16.0)
    shown = stage.walk
    for document in hand_drag(stage, [0.1, 0.15, 0.05], 4):
        shown = stage.solve(document, shown)
        assert shown.span is not None
        assert shown.span[1] < shown.motions_made[0].num_frames
        assert apart(shown, stage.solve(document))[0] < 0.02


@pytest.mark.parametrize(("target", "hand"), [("child", "LeftHand"), ("other", "hand_l")])
def test_the_first_constraint_on_a_hand_may_be_dragged(tmp_path: Path, target: str, hand: str) -> None:
    """Until then no constraint moved the arm: the drag has coordinates that the finished solve had not."""
    shop, empty = DocumentSolver(tmp_path / "session"), empty_document()
    actor = {"source": "sample:walk", "target": f"sample:{target}"}
    plain = shop.filled({**empty, "recipe": {**empty["recipe"], "actor": [actor]}}, tmp_path)
    shown = shop.solve(plain, tmp_path, watch=quiet)
    assert isinstance(shown, RetargetResult)
    place = fk(shown.motions_made[0]).points([hand])[75, 0] + [0.05, 0.05, 0.0]
    asked = {"kind": "place", "point": hand, "target": place.tolist(), "start": 2.3, "end": 2.7}
    document = Stage.changed(plain, ["recipe", "constraint"], [asked])
    live = shop.solve(document, tmp_path, watch=quiet, before=shown, live=True)
    full = shop.solve(document, tmp_path, watch=quiet)
    assert isinstance(live, RetargetResult)
    assert isinstance(full, RetargetResult)
    worst, mean = apart(live, full)
    assert worst < 0.05
    assert mean < 0.01


def test_a_far_pull_takes_the_levels_that_the_finished_solve_takes(tmp_path: Path) -> None:
    """At the frames of the first level the hand arrives, and between them it swings past by 10 cm."""
    shop, empty = DocumentSolver(tmp_path / "session"), empty_document()
    actor = {"source": "sample:walk", "target": "sample:child"}
    plain = shop.filled({**empty, "recipe": {**empty["recipe"], "actor": [actor]}}, tmp_path)
    shown = shop.solve(plain, tmp_path, watch=quiet)
    assert isinstance(shown, RetargetResult)
    hand = fk(shown.motions_made[0]).points(["LeftHand"])[75, 0]
    for height in (0.03, 0.06, 0.09):
        target = (hand + np.array([0.0, height, 0.0])).tolist()
        asked = {"kind": "place", "point": "LeftHand", "target": target, "start": 2.25, "end": 2.75}
        document = Stage.changed(plain, ["recipe", "constraint"], [asked])
        shown = shop.solve(document, tmp_path, watch=quiet, before=shown, live=True)
    full = shop.solve(document, tmp_path, watch=quiet)
    assert isinstance(shown, RetargetResult)
    assert isinstance(full, RetargetResult)
    assert apart(shown, full)[0] < 0.02


def test_a_drag_that_rests_shows_the_finished_solve(stage: Stage) -> None:
    documents = hand_drag(stage, [0.15, 0.1, 0.05], 3)
    live, full = stage.drag(stage.full, documents), stage.solve(documents[-1])
    rested = stage.shop.solve_at_rest(documents[-1], stage.base, watch=quiet, shown=live)
    assert isinstance(rested, RetargetResult)
    assert apart(live, full)[0] > 1e-5
    assert apart(rested, full)[0] < 1e-9
    # It is an update of the same drag: only results are sent, and the next update starts where the drag began.
    assert {header["which"] for header, _ in rested.motions(True)} == {"result"}
    assert rested.base is stage.full
    further = stage.solve(hand_drag(stage, [0.16, 0.1, 0.05], 1)[0], rested)
    assert further.part is None
    assert off(further) < 0.005


def test_a_constraint_that_ends_where_a_window_begins_has_no_negative_length() -> None:
    end = float(np.nextafter(0.4, 0.0))
    moved = shift_in_time(Place(point="Hand", target=[0.0, 0.0, 0.0], start=0.0, end=end), 0.4, 3.0)
    moved.check_times()
    assert len(moved.frames(TIMES)) == 1


def test_a_moved_plant_end_is_close_to_the_full_one(stage: Stage) -> None:
    number = next(i for i, c in enumerate(stage.plain["recipe"]["contact"]) if 4.0 < c["start"] < 6.0)
    end = stage.plain["recipe"]["contact"][number]["end"]
    path = ["recipe", "contact", number, "end"]
    documents = [stage.changed(stage.plain, path, end - change) for change in (0.03, 0.06, 0.1)]
    live, full = stage.drag(stage.walk, documents), stage.solve(documents[-1])
    worst, mean = apart(live, full)
    assert worst < 0.02
    assert mean < 0.001
    assert live.result(1)["tracks"][number]["end"] == pytest.approx(end - 0.1)
    assert live.span is not None


def test_a_changed_leg_length_is_close_to_the_full_one(stage: Stage) -> None:
    path = ["recipe", "actor", 0, "scale"]
    documents = [stage.changed(stage.plain, path, {"legs": legs}) for legs in (1.15, 1.1, 1.05, 1.0, 0.95)]
    live, full = stage.drag(stage.walk, documents), stage.solve(documents[-1])
    worst, mean = apart(live, full)
    assert worst < 0.02
    assert mean < 0.002
    assert live.span is None


def test_a_finished_solve_after_a_drag_is_that_of_a_fresh_workshop(stage: Stage) -> None:
    documents = hand_drag(stage, [0.1, 0.0, 0.0], 2)
    stage.drag(stage.full, documents)
    fresh_one = DocumentSolver(stage.base / "again").solve(documents[-1], stage.base, watch=quiet)
    assert isinstance(fresh_one, RetargetResult)
    assert np.array_equal(stage.solve(documents[-1]).motions_made[0].rotations, fresh_one.motions_made[0].rotations)


def test_the_way_of_a_drag_is_forgotten_while_it_stays(stage: Stage) -> None:
    straight = hand_drag(stage, [0.1, 0.05, 0.0], 8)
    around = [*hand_drag(stage, [-0.3, 0.2, 0.1], 3), *hand_drag(stage, [0.3, -0.1, 0.0], 3)]
    staying = [straight[-1]] * 12
    one, other = stage.drag(stage.full, straight + staying), stage.drag(stage.full, around + staying)
    worst, mean = apart(one, other)
    assert worst < 0.02
    assert mean < 0.001


# ------------------------------------------------------------------------------------------------------------ windows


def test_only_a_window_changes_and_only_that_is_sent(stage: Stage) -> None:
    first, second = hand_drag(stage, [0.1, 0.1, 0.0], 2)
    live = stage.solve(first, stage.full)
    assert live.span is not None
    before, after = live.span
    moved, shown = live.motions_made[0], stage.full.motions_made[0]
    assert np.array_equal(moved.rotations[:before], shown.rotations[:before])
    assert np.array_equal(moved.rotations[after:], shown.rotations[after:])
    assert not np.array_equal(moved.rotations[before:after], shown.rotations[before:after])
    ((header, arrays),) = live.motions(True)
    assert (header["which"], header["part"]) == ("result", [before, after])
    assert len(arrays["positions"]) == after - before
    again = stage.solve(second, live)
    ((header, arrays),) = again.motions(True)
    assert header["part"] == [before, after]
    assert len(live.motions(False)) == 2


def test_updates_of_one_window_share_bodies_and_points_and_end_as_one_that_shares_nothing(stage: Stage) -> None:
    first, second = hand_drag(stage, [0.1, 0.1, 0.0], 2)
    live = stage.solve(first, stage.full)
    session = stage.shop.cache.entries["drags", id(stage.full)][0]
    window = session.window
    again = stage.solve(second, live)
    assert session.window is not window
    assert session.window.bodies is window.bodies
    assert session.window.points is window.points
    assert session.window.constraints != window.constraints
    session.window = None
    alone = stage.solve(second, live)
    assert np.array_equal(again.motions_made[0].rotations, alone.motions_made[0].rotations)
    assert np.array_equal(again.motions_made[0].root, alone.motions_made[0].root)


def test_a_drag_back_to_where_it_began_shows_what_was_there(stage: Stage) -> None:
    (away,) = hand_drag(stage, [0.1, 0.0, 0.0], 1)
    live = stage.solve(away, stage.full)
    back = stage.solve(stage.document, live)
    ((header, arrays),) = back.motions(True)
    assert header["part"] == list(live.span or ())
    first, last = header["part"]
    positions = fk(stage.full.motions_made[0]).positions[first:last]
    assert np.allclose(arrays["positions"][:, : positions.shape[1]], positions, atol=1e-5)


def test_a_change_of_everything_after_one_of_a_part_is_sent_whole(stage: Stage) -> None:
    (away,) = hand_drag(stage, [0.1, 0.0, 0.0], 1)
    live = stage.solve(away, stage.full)
    legs = stage.solve(stage.changed(stage.document, ["recipe", "actor", 0, "scale"], {"legs": 1.1}), live)
    ((header, _),) = legs.motions(True)
    assert header["part"] is None
    ((header, _),) = stage.solve(away, legs).motions(True)
    assert header["part"] is None


def test_a_drag_starts_from_the_constraints_that_it_keeps_and_not_from_others_at_their_place(tmp_path: Path) -> None:
    """Two updates keep one constraint each, at the same index of the list: the hand's, then the head's."""
    stage = Stage(tmp_path)
    head = fk(stage.walk.motions_made[0]).points(["Head"])[150, 0] + [0.0, -0.1, 0.0]
    kept = [stage.place(stage.hand), {**stage.place(head), "point": "Head"}]
    dragged, moved = ({**stage.place(stage.hand + way), "start": 6.0, "end": 6.4} for way in ([1.0, 0, 0], [1.1, 0, 0]))
    path = ["recipe", "constraint"]
    full = stage.solve(stage.changed(stage.plain, path, [*kept, dragged]))
    first, second = (stage.changed(stage.plain, path, [constraint, moved]) for constraint in kept)
    alone = stage.solve(second, full)
    stage.shop = DocumentSolver(tmp_path / "again")
    stage.solve(first, full)
    assert np.array_equal(stage.solve(second, full).motions_made[0].rotations, alone.motions_made[0].rotations)


def test_a_fast_clip_is_dragged_at_its_own_rate_and_sent_at_that_which_is_shown(tmp_path: Path) -> None:
    stage = Stage(tmp_path, fps=120.0)
    (document,) = hand_drag(stage, [0.1, 0.1, 0.0], 1)
    live = stage.solve(document, stage.full)
    assert live.motions_made[0].fps == 120.0
    assert off(live) < 0.005
    assert apart(live, stage.solve(document))[0] < 0.02
    ((header, arrays),) = live.motions(True)
    _, shown = stage.full.motions()[1]
    first, last = header["part"]
    assert np.allclose(arrays["times"], shown["times"][first:last])
    # The ends of a window equal the motion shown before.
    assert np.allclose(arrays["positions"][0], shown["positions"][first], atol=1e-4)
    assert np.allclose(arrays["positions"][-1], shown["positions"][last - 1], atol=1e-4)


# ------------------------------------------------------------------------------------------------------ other changes


def test_what_is_out_of_reach_is_shown_as_near_as_it_gets(stage: Stage) -> None:
    document = hand_drag(stage, [0.0, 3.0, 0.0], 3)
    live = stage.drag(stage.full, document)
    moved = live.motions_made[0]
    assert np.all(np.isfinite(moved.rotations))
    track = next(track for track in live.result(1)["tracks"] if track["kind"] == "place")
    assert not track["met"]
    hand = fk(moved).points(["RightHand"])[150, 0]
    assert hand[1] > fk(stage.full.motions_made[0]).points(["RightHand"])[150, 0, 1] + 0.2


def test_other_things_can_be_dragged_too(stage: Stage) -> None:
    for path, value in (
        (["recipe", "options"], {**stage.document["recipe"]["options"], "plants": "fixed"}),
        (["recipe", "solver"], {"name": "ik"}),
        (["pairs"], [{**pair, "twist": 5.0} for pair in stage.shop.suggest_pairs(stage.document, stage.base)]),
    ):
        live = stage.solve(stage.changed(stage.document, path, value), stage.full)
        assert live.live
        assert live.span is None
        assert np.all(np.isfinite(live.motions_made[0].rotations))


def test_contacts_that_are_found_stay_found_while_dragging(tmp_path: Path) -> None:
    shop, empty = DocumentSolver(tmp_path), empty_document()
    document = {**empty, "recipe": {**empty["recipe"], "actor": [{"source": "sample:squat", "scale": 0.9}]}}
    full = shop.solve(document, tmp_path, watch=quiet)
    live = shop.solve(
        Stage.changed(document, ["recipe", "actor", 0, "scale"], 0.8), tmp_path, watch=quiet, before=full, live=True
    )
    paths = [
        [track["path"] for track in solve_result.result()["tracks"] if track["kind"] == "contact"]
        for solve_result in (full, live)
    ]
    assert paths[0] == paths[1]
    assert set(paths[0]) == {None}


def test_two_dancers_are_dragged_together(tmp_path: Path) -> None:
    shop, empty = DocumentSolver(tmp_path), empty_document()
    actors = [{"source": f"sample:dance/{name}", "name": name, "scale": scale} for name, scale in
              (("lead", 1.0), ("follow", 0.9))]  # fmt: skip
    document = shop.filled({**empty, "recipe": {**empty["recipe"], "actor": actors}}, tmp_path)
    full = shop.solve(document, tmp_path, watch=quiet)
    number = next(i for i, c in enumerate(document["recipe"]["contact"]) if c["on"] == "floor" and c["start"] > 2.0)
    end = document["recipe"]["contact"][number]["end"]
    changed = Stage.changed(document, ["recipe", "contact", number, "end"], end - 0.1)
    live = shop.solve(changed, tmp_path, watch=quiet, before=full, live=True)
    assert [header["which"] for header, _ in live.motions(True)] == ["result:lead", "result:follow"]
    table = live.result(1)
    assert all(track["met"] for track in table["tracks"] if track["label"].endswith(("on lead", "on follow")))


def test_a_driven_body_is_dragged_too(tmp_path: Path) -> None:
    shop, empty = DocumentSolver(tmp_path), empty_document()
    document = {**empty, "recipe": {**empty["recipe"], "actor": [{"source": "sample:walk", "target": "sample:can"}]}}
    full = shop.solve(document, tmp_path, watch=quiet)
    smaller = Stage.changed(document, ["recipe", "actor", 0, "scale"], 0.8)
    live = shop.solve(smaller, tmp_path, watch=quiet, before=full, live=True)
    ((header, arrays),) = live.motions(True)
    assert header["which"] == "result"
    assert np.all(np.isfinite(arrays["positions"]))


def test_what_is_wrong_while_dragging_is_told_and_the_next_update_goes_on(stage: Stage) -> None:
    wrong = stage.changed(stage.document, ["recipe", "constraint", 0, "point"], "Nose")
    with pytest.raises(understudy.UnderstudyError, match="`Nose`"):
        stage.solve(wrong, stage.full)
    (document,) = hand_drag(stage, [0.05, 0.0, 0.0], 1)
    assert off(stage.solve(document, stage.full)) < 0.005


# -------------------------------------------------------------------------------------------- comparing constraints


def place(**values: Any) -> Place:
    return Place(**{"point": PointRef(point="hand"), "target": np.zeros(3), "start": 1.0, "end": 2.0, **values})


def test_constraints_are_compared_by_what_they_ask() -> None:
    kept, other = place(), place(point=PointRef(point="foot"), start=4.0, end=5.0)
    assert compare([kept, other], [kept, other], TIMES) is None
    assert compare([kept, other], [place(name="renamed"), other], TIMES) is None
    assert compare([kept, other], [place(target=np.ones(3)), other], TIMES) == (30, 61)
    assert compare([kept, other], [place(end=3.0), other], TIMES) == (30, 91)
    assert compare([kept], [kept, other], TIMES) == (120, 151)
    assert compare([kept, other], [kept], TIMES) == (120, 151)


def test_a_bound_differs_only_where_it_newly_holds() -> None:
    def above(*pauses: tuple[float, float]) -> Region:
        return Region(point=PointRef(point="toe"), centre=np.zeros(3), pauses=pauses)

    assert compare([above((1.0, 2.0))], [above((1.0, 2.5))], TIMES) == (61, 76)
    assert compare([above()], [above()], TIMES) is None


def test_constraints_are_moved_onto_the_clock_of_a_window() -> None:
    inside = shift_in_time(place(start=1.0, end=9.0), 2.0, 5.0)
    assert (inside.start, inside.end) == (0.0, 3.0)
    instants = shift_in_time(place(start=-np.inf, end=np.inf, instants=(1.0, 2.5, 6.0)), 2.0, 5.0)
    assert instants.instants == (0.5,)
    assert np.array_equal(instants.frames(TIMES[:91]), [15])
    path = Follow(point=PointRef(point="hand"), path=np.array([[0.0, 0, 0], [4, 0, 0]]), times=np.array([0.0, 4.0]))
    assert np.array_equal(shift_in_time(path, 1.0, 3.0).times, [-1.0, 3.0])  # type: ignore[attr-defined]
    timed = Function(
        function=lambda points, times: points[:, 0, 0] - times, points=(PointRef(point="hand"),), timed=True
    )
    moved = shift_in_time(timed, 2.0, 5.0)
    assert isinstance(moved, Function)
    assert np.allclose(moved.function(np.zeros((2, 1, 3)), np.array([0.0, 1.0])), [-2.0, -3.0])
