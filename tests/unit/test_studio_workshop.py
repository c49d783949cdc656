"""Retargets in the studio: bodies, motions, tracks, measurements, clips, skins and errors."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.base.consent import ConsentError, asking, trust_all
from understudy.base.errors import FileError, UnderstudyError
from understudy.base.fields import FieldError
from understudy.base.quaternion import angle_between, rotate
from understudy.correspondence.pairs import CorrespondenceError
from understudy.figure.kinematics import fk
from understudy.figure.skin import Look, Material, Mesh, binds_of_rest, skinned
from understudy.io import Clip
from understudy.studio.document import empty_document
from understudy.studio.performance import RetargetResult
from understudy.studio.scene import convex_outline, shown_frames
from understudy.studio.skins import image_size, surface_table
from understudy.studio.workshop import DocumentSolver


def quiet(_text: str, _share: float) -> None:
    """A progress callback that does nothing."""


def document(*actors: dict[str, Any], **tables: Any) -> dict[str, Any]:
    empty = empty_document()
    return {**empty, "recipe": {**empty["recipe"], "actor": list(actors), **tables}}


def solved(shop: DocumentSolver, wanted: dict[str, Any], base: Path) -> RetargetResult:
    solve_result = shop.solve(wanted, base, watch=quiet)
    assert isinstance(solve_result, RetargetResult)
    return solve_result


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("base")


@pytest.fixture(scope="module")
def shop(base: Path) -> DocumentSolver:
    return DocumentSolver(base / "session")


@pytest.fixture(scope="module")
def walk(shop: DocumentSolver, base: Path) -> RetargetResult:
    """A walk by a body with longer legs, with its contacts listed."""
    return solved(shop, shop.filled(document({"source": "sample:walk", "scale": {"legs": 1.2}}), base), base)


# -------------------------------------------------------------------------------------------------- bodies and motions


def test_nothing_chosen_shows_nothing(shop: DocumentSolver, base: Path) -> None:
    for wanted in (empty_document(), document({"source": "", "target": "sample:child"})):
        assert shop.view(wanted, base)["bodies"] == []
        assert shop.filled(wanted, base) == wanted


def test_a_view_tells_bodies_floor_and_correspondence(shop: DocumentSolver, base: Path) -> None:
    seen = shop.view(document({"source": "sample:walk", "target": "sample:child"}), base)
    source, result = seen["bodies"]
    assert (source["which"], result["which"]) == ("source", "result")
    assert (source["label"], result["label"]) == ("walk", "child")
    skeleton = samples.character("child")
    assert [joint["name"] for joint in result["joints"]] == list(skeleton.names)
    assert [joint["parent"] for joint in result["joints"]] == skeleton.parents.tolist()
    assert [end["joint"] for end in result["ends"]] == [skeleton.index[end.joint] for end in skeleton.ends]
    assert result["height"] < source["height"]
    assert {"hips", "left_hand", "right_foot"} <= {joint["role"] for joint in result["joints"]}
    assert seen["fps"] == 30.0
    assert seen["duration"] == samples.motion("walk").motion.duration
    assert abs(seen["floor"]) < 0.01
    assert not seen["correspondence"]["own"]
    assert len(seen["correspondence"]["pairs"]) == skeleton.num_joints
    json.dumps(seen, allow_nan=False)


def test_a_view_is_the_same_again_and_reads_no_file_twice(shop: DocumentSolver, base: Path) -> None:
    path = base / "once.bvh"
    understudy.write(samples.motion("walk").motion, path)
    wanted = document({"source": "once.bvh", "scale": 0.8})
    first = shop.view(wanted, base)
    kept = path.stat()
    path.write_bytes(b"x" * kept.st_size)
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert shop.view(wanted, base) == first
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns + 10**9))
    with pytest.raises(FileError):
        shop.view(wanted, base)


def test_motions_are_the_frames_of_the_solution(walk: RetargetResult) -> None:
    sent = {header["which"]: (header, arrays) for header, arrays in walk.motions()}
    assert list(sent) == ["source", "result"]
    header, arrays = sent["result"]
    motion = walk.motions_made[0]
    pose = fk(motion)
    assert header["part"] is None
    assert np.allclose(arrays["times"], motion.times)
    assert np.allclose(arrays["positions"][:, : motion.skeleton.num_joints], pose.positions, atol=1e-5)
    assert np.allclose(arrays["positions"][:, motion.skeleton.num_joints :], pose.ends(), atol=1e-5)
    assert np.allclose(np.roll(arrays["rotations"], 1, axis=-1), pose.rotations, atol=1e-6)
    assert arrays["mass"].shape == (motion.num_frames, 3)
    assert np.all(np.abs(arrays["mass"][:, [0, 2]] - motion.root[:, [0, 2]]) < 0.5)


def test_no_more_than_sixty_frames_a_second_are_sent(shop: DocumentSolver, base: Path) -> None:
    moved = samples.motion("walk", fps=144.0, seconds=1.0).motion
    frames = shown_frames(moved)
    assert frames[-1] == moved.num_frames - 1
    assert set(np.diff(frames)[:-1]) == {3}
    understudy.write(moved, base / "fast.bvh")
    solve_result = solved(shop, document({"source": "fast.bvh", "scale": 0.9}, detection={}), base)
    _, arrays = solve_result.motions()[1]
    assert np.allclose(arrays["positions"][:, 0], solve_result.motions_made[0].root[frames], atol=1e-5)


def test_supports_are_between_the_feet_that_stand(walk: RetargetResult) -> None:
    _, arrays = walk.motions()[1]
    starts = arrays["support_from"]
    assert len(starts) == len(arrays["times"]) + 1
    assert starts[-1] == len(arrays["support"])
    counts = np.diff(starts.astype(int))
    assert counts.max() >= 3
    assert counts.min() >= 1
    # A walk's support is on the floor.
    assert arrays["support"][:, 1].max() < 0.12


def test_an_outline_leaves_out_what_is_inside() -> None:
    square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1], [0.5, 0, 0.5], [0.5, 0, 0]])
    corners = convex_outline(square)
    assert sorted(map(tuple, corners)) == sorted(map(tuple, square[:4]))
    assert len(convex_outline(square[:2])) == 2
    line = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
    assert len(convex_outline(line)) == 2


# ------------------------------------------------------------------------------------------------------ the timeline


def test_every_contact_and_constraint_has_a_track(shop: DocumentSolver, base: Path) -> None:
    wanted = shop.filled(document({"source": "sample:walk", "scale": {"legs": 1.2}}), base)
    hand = {"kind": "place", "point": "RightHand", "target": [0.0, 1.2, 2.0], "start": 1.5, "end": 1.8}
    far = {**hand, "target": [0.0, 9.0, 2.0], "start": 3.0, "end": 3.2, "name": "out of reach"}
    wanted["recipe"]["constraint"] = [hand, far]
    solve_result = solved(shop, wanted, base)
    table = solve_result.result(None)
    json.dumps(table, allow_nan=False)
    tracks = table["tracks"]
    contacts = wanted["recipe"]["contact"]
    assert [track["path"] for track in tracks[: len(contacts)]] == [
        ["recipe", "contact", number] for number in range(len(contacts))
    ]
    for track, contact in zip(tracks, contacts, strict=False):
        assert (track["kind"], track["point"]) == ("contact", contact["point"])
        assert (track["start"], track["end"]) == (contact["start"], contact["end"])
        assert track["place"][1] < (0.3 if contact["end"] < 2.0 else 9.0)
        assert track["met"] or contact["end"] > 2.0
    constraint_tracks = tracks[len(contacts) : len(contacts) + 2]
    assert [track["path"] for track in constraint_tracks] == [["recipe", "constraint", 0], ["recipe", "constraint", 1]]
    assert [track["label"] for track in constraint_tracks] == ["place RightHand", "out of reach"]
    assert [track["met"] for track in constraint_tracks] == [True, False]
    assert constraint_tracks[0]["place"] == [0.0, 1.2, 2.0]
    assert constraint_tracks[1]["worst"] > 1.0
    assert 3.0 <= constraint_tracks[1]["worst_time"] <= 3.2
    assert [track["kind"] for track in tracks[-2:]] == ["floor", "limits"]
    assert tracks[-1]["unit"] == "rad"
    assert "out of reach" in " ".join(table["warnings"])


def test_errors_are_shown_where_they_are(shop: DocumentSolver, base: Path) -> None:
    wanted = document({"source": "sample:walk", "scale": 1.1}, constraint=[
        {"kind": "place", "point": "Head", "target": [0.0, 9.0, 0.0], "start": 2.0, "end": 2.5},
    ])  # fmt: skip
    solve_result = solved(shop, wanted, base)
    track = next(track for track in solve_result.result()["tracks"] if track["kind"] == "place")
    seconds = np.arange(len(track["errors"])) / len(track["errors"]) * solve_result.motions_made[0].duration
    inside = [error for time, error in zip(seconds, track["errors"], strict=True) if 2.05 < time < 2.45]
    outside = [error for time, error in zip(seconds, track["errors"], strict=True) if not 1.9 < time < 2.6]
    assert min(inside) > 100.0
    assert set(outside) == {None}


def test_contacts_that_are_found_are_shown_but_are_not_the_documents(shop: DocumentSolver, base: Path) -> None:
    table = solved(shop, document({"source": "sample:walk", "scale": 0.9}), base).result()
    contact_tracks = [track for track in table["tracks"] if track["kind"] == "contact"]
    assert len(contact_tracks) > 20
    assert {track["path"] for track in map(_hashable, contact_tracks)} == {None}


def _hashable(track: dict[str, Any]) -> dict[str, Any]:
    return {**track, "path": None if track["path"] is None else tuple(track["path"])}


def test_filling_lists_contacts_that_solve_to_the_same(shop: DocumentSolver, base: Path) -> None:
    plain = document({"source": "sample:squat", "target": "sample:giant"})
    filled = shop.filled(plain, base)
    assert filled["recipe"]["options"]["contacts"] == "listed"
    assert shop.filled(filled, base) == filled
    one, other = solved(shop, plain, base), solved(shop, filled, base)
    assert np.allclose(one.motions_made[0].rotations, other.motions_made[0].rotations, atol=1e-9)
    cut = {**filled, "recipe": {**filled["recipe"], "contact": []}}
    none = solved(shop, cut, base)
    assert {t["kind"] for t in none.result()["tracks"]} <= {"floor", "limits"}, "the floor holds without contacts too"


# ------------------------------------------------------------------------------------------ actors, props, structures


def test_several_actors_go_by_name(shop: DocumentSolver, base: Path) -> None:
    pair = [{"source": f"sample:dance/{name}", "name": name, "scale": scale} for name, scale in
            (("lead", 1.0), ("follow", 0.85))]  # fmt: skip
    wanted = shop.filled(document(*pair), base)
    seen = shop.view(wanted, base)
    names = ["source:lead", "source:follow", "result:lead", "result:follow"]
    assert [body["which"] for body in seen["bodies"]] == names
    solve_result = solved(shop, wanted, base)
    assert [header["which"] for header, _ in solve_result.motions()] == names
    labels = ["lead: source", "follow: source", "lead: result", "follow: result"]
    assert [body["label"] for body in seen["bodies"]] == labels
    assert [shown_body.label for shown_body in solve_result.shown_bodies] == labels
    table = solve_result.result()
    assert {track["actor"] for track in table["tracks"] if track["kind"] == "contact"} == {"lead", "follow"}
    held = [track for track in table["tracks"] if track["label"].endswith(("on lead", "on follow"))]
    assert held
    assert all(track["met"] for track in held)
    assert solve_result.clip("result:follow").motion is not None
    assert solve_result.quality("result:follow")["which"] == "result:follow"
    with pytest.raises(UnderstudyError, match=r"No body is called `result:folow`; nearest: `result:follow`"):
        solve_result.clip("result:folow")


def test_several_actors_are_told_apart_by_actor_and_file(shop: DocumentSolver, base: Path) -> None:
    pair = [
        {"source": "sample:squat", "name": "one"},
        {"source": "sample:squat", "target": "sample:child", "name": "two"},
    ]
    bodies = shop.view(document(*pair), base)["bodies"]
    assert [body["label"] for body in bodies] == ["one: squat", "two: squat", "one: result", "two: child"]


@pytest.mark.parametrize(
    ("reading", "first", "at_half"),
    [
        ({}, 1, 13),
        ({"keep_reference": True}, 0, 12),
        ({"frames": "5:"}, 5, 17),
        ({"frames": ":40"}, 1, 13),
        ({"frames": "5:", "fps": 60.0}, 5, 17),
        ({"fps": 12.0}, 1, 13),
    ],
)
def test_frames_of_a_source_are_counted_as_its_file_does(
    shop: DocumentSolver, base: Path, reading: dict[str, Any], first: int, at_half: int
) -> None:
    squat = samples.motion("squat", fps=24.0, seconds=2.0).motion
    still = squat.rotations.copy()
    still[0] = squat.skeleton.rest
    understudy.write(replace(squat, rotations=still), base / "stands.bvh")
    source, result = shop.view(document({"source": "stands.bvh"}, reading=reading), base)["bodies"]
    assert source["file"] == {"first_frame": first, "fps": pytest.approx(24.0, rel=1e-4)}
    assert source["file"]["first_frame"] + round(0.5 * source["file"]["fps"]) == at_half
    assert "file" not in result


def test_props_stand_and_move(shop: DocumentSolver, base: Path) -> None:
    ladder = shop.view(document({"source": "sample:ladder", "scale": 0.95}), base)["props"]
    assert [(prop["name"], prop["moves"]) for prop in ladder] == [("ladder", False)]
    wanted = document({"source": "sample:pick_up", "scale": 0.8}, reading={"fps": 60.0, "frames": "30:"})
    seen = shop.view(wanted, base)
    assert [(prop["name"], prop["moves"]) for prop in seen["props"]] == [("box", True)]
    solve_result = solved(shop, shop.filled(wanted, base), base)
    _, arrays = solve_result.motions()[0]
    scene = samples.motion("pick_up")
    (box,) = scene.props
    assert arrays["props"].shape == (len(arrays["times"]), 1, 7)
    # The clip begins a second later and is twice as fast: its frame 60 is the sample's frame 60.
    assert np.allclose(arrays["props"][60, 0, :3], box.positions[60, 0], atol=1e-5)
    assert np.allclose(np.roll(arrays["props"][60, 0, 3:], 1), box.rotations[60, 0], atol=1e-5)


def test_the_result_carries_what_it_picks_up(shop: DocumentSolver, base: Path) -> None:
    wanted = shop.filled(document({"source": "sample:pick_up", "scale": 0.8}), base)
    solve_result = solved(shop, wanted, base)
    (_, before), (_, after) = solve_result.motions()
    hold = next(c for c in wanted["recipe"]["contact"] if c["on"] == "box")
    first, last = round(hold["start"] * 30), round(hold["end"] * 30)
    assert np.allclose(after["props"][: first - 1], before["props"][: first - 1])
    hands = fk(solve_result.motions_made[0]).points(["LeftHand", "RightHand"]).mean(axis=1)
    away = np.linalg.norm(after["props"][first : last + 1, 0, :3] - hands[first : last + 1], axis=-1)
    hands = fk(solve_result.prepared.actors[0].motion).points(["LeftHand", "RightHand"]).mean(axis=1)
    usual = np.linalg.norm(before["props"][first : last + 1, 0, :3] - hands[first : last + 1], axis=-1)
    assert np.abs(away - usual).max() < 0.1
    # The smaller body carries it lower and less far.
    assert after["props"][last, 0, 1] < before["props"][last, 0, 1] - 0.05
    assert np.abs(np.diff(after["props"][:, 0, :3], axis=0)).max() < 0.1


def test_props_of_a_recipe_are_shown(shop: DocumentSolver, base: Path) -> None:
    (base / "cup.csv").write_text("time,x,y,z\n0,0,1,0\n4,4,1,0\n")
    props = [
        {"name": "table", "sizes": [[1.0, 0.1, 1.0]], "positions": [[2.0, 0.7, 0.0]]},
        {"name": "cup", "path": "cup.csv"},
    ]
    wanted = document({"source": "sample:walk", "scale": 0.9}, prop=props)
    seen = shop.view(wanted, base)["props"]
    assert [(prop["name"], prop["moves"]) for prop in seen] == [("table", False), ("cup", True)]
    assert seen[0]["boxes"] == [{"size": [1.0, 0.1, 1.0], "position": [2.0, 0.7, 0.0], "rotation": [0, 0, 0, 1]}]
    _, arrays = solved(shop, wanted, base).motions()[0]
    assert np.allclose(arrays["props"][60, 0, :3], [2.0, 1.0, 0.0], atol=1e-5)


def test_a_body_that_morphs_is_shown_as_it_changes(shop: DocumentSolver, base: Path) -> None:
    solve_result = solved(shop, document({"source": "sample:walk", "scale": 0.7, "morph": [1.0, 3.0]}), base)
    _, arrays = solve_result.motions()[1]
    skeleton = solve_result.motions_made[0].skeleton
    leg, knee = skeleton.index["LeftUpLeg"], skeleton.index["LeftLeg"]
    lengths = np.linalg.norm(arrays["positions"][:, knee] - arrays["positions"][:, leg], axis=-1)
    assert lengths[-1] / lengths[0] == pytest.approx(0.7, abs=1e-4)


def test_another_structure_is_matched_and_can_be_matched_by_hand(shop: DocumentSolver, base: Path) -> None:
    wanted = document({"source": "sample:walk", "target": "sample:dog"})
    seen = shop.view(wanted, base)["correspondence"]
    assert (seen["source"], seen["target"], seen["own"]) == ("source", "result", False)
    assert all(0.0 < pair["confidence"] <= 1.0 and pair["reason"] for pair in seen["pairs"])
    matched = {name for pair in seen["pairs"] for name in _names(pair["target"])}
    assert matched.isdisjoint(seen["target_left"])
    assert "Tail" in seen["target_left"]
    pairs = shop.suggest_pairs(wanted, base)
    assert pairs == seen["pairs"]
    with_pairs = {**wanted, "pairs": pairs}
    assert shop.view(with_pairs, base)["correspondence"]["own"]
    one, other = solved(shop, wanted, base), solved(shop, with_pairs, base)
    assert np.allclose(one.motions_made[0].rotations, other.motions_made[0].rotations)
    twisted = [{**pair, "twist": 30.0} if pair["target"] == "Head" else pair for pair in pairs]
    turned = solved(shop, {**wanted, "pairs": twisted}, base)
    assert not np.allclose(one.motions_made[0].rotations, turned.motions_made[0].rotations, atol=0.1)


def test_a_posed_neutral_pose_is_shown_and_performed(shop: DocumentSolver, base: Path) -> None:
    """A hand that is turned by 40 degrees where both stand alike is turned by 40 degrees in every frame."""
    wanted = document({"source": "sample:walk", "target": "sample:other"})
    pairs = shop.suggest_pairs(wanted, base)
    names = [joint["name"] for joint in shop.view(wanted, base)["bodies"][1]["joints"]]
    head = next(pair["target"] for pair in pairs if pair["source"] == "Head")
    posed = [{**pair, "turn": [0.0, 40.0, 0.0]} if pair["target"] == head else pair for pair in pairs]
    plain, turned = ({**wanted, "pairs": each} for each in (pairs, posed))
    seen = [shop.neutral(each, base) for each in (plain, turned)]
    assert [body["which"] for body in seen[0]] == ["source", "result"]
    assert seen[0][0] == seen[1][0], "the source stays as it is"
    rotations = [np.array(each[1]["rotations"]).reshape(-1, 4)[names.index(head)] for each in seen]
    assert np.degrees(angle_between(*rotations)) == pytest.approx(40.0, abs=1e-3)
    assert min(np.array(seen[0][1]["positions"])[1::3]) == pytest.approx(0.0, abs=1e-6)
    before, after = (solved(shop, each, base).motions_made[0] for each in (plain, turned))
    index = before.skeleton.index[head]
    apart = np.degrees(angle_between(fk(before).rotations[:, index], fk(after).rotations[:, index]))
    assert np.allclose(apart, 40.0, atol=1.5)


def _names(bones: str | list[str]) -> list[str]:
    return [bones] if isinstance(bones, str) else bones


@pytest.mark.parametrize(
    ("pair", "keys", "message"),
    [
        ({"source": "Hips", "target": "Nose"}, ("pairs", 0, "target"), "the target has no bone `Nose`"),
        ({"source": [], "target": "Hips"}, ("pairs", 0, "source"), "expected a bone of the source"),
        ({"source": "Hips", "target": "Hips", "twist": "much"}, ("pairs", 0, "twist"), "expected a number"),
        ({"source": "Hips", "target": "Hips", "turn": [1.0, "a", 0.0]}, ("pairs", 0, "turn"), "expected a number"),
        ({"source": "Hips", "target": "Hips", "turn": [1.0]}, ("pairs", 0), "three finite angles"),
        ({"source": "Hips", "target": "Hips", "twst": 1}, ("pairs", 0, "twst"), "there is no key `twst`"),
        ({"source": "Hips", "target": "Hips", "align": "up"}, ("pairs", 0), "expected alignment"),
        ("Hips", ("pairs", 0), "expected a pair"),
    ],
)
def test_wrong_pairs_are_told_with_their_place(
    shop: DocumentSolver, base: Path, pair: Any, keys: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(FieldError, match=message) as caught:
        shop.view({**document({"source": "sample:walk", "target": "sample:dog"}), "pairs": [pair]}, base)
    assert caught.value.keys == keys


def test_pairs_that_contradict_each_other_are_told(shop: DocumentSolver, base: Path) -> None:
    pairs = [{"source": "Hips", "target": "Hips"}, {"source": "Spine", "target": "Hips"}]
    with pytest.raises(FieldError, match="ambiguous") as caught:
        shop.solve({**document({"source": "sample:walk", "target": "sample:dog"}), "pairs": pairs}, base, watch=quiet)
    assert caught.value.keys == ("pairs", 1)


def test_bodies_of_which_nothing_corresponds_can_still_be_looked_at(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_given: Any) -> None:
        raise CorrespondenceError("Nothing but the root corresponds")

    monkeypatch.setattr("understudy.studio.cache.assign", nothing)
    shop, wanted = DocumentSolver(base / "other"), document({"source": "sample:walk", "target": "sample:spider"})
    seen = shop.view(wanted, base)
    assert seen["correspondence"]["pairs"] == []
    assert seen["correspondence"]["target_left"] == list(samples.character("spider").names)
    assert "Nothing but the root corresponds" in seen["notes"]
    with pytest.raises(CorrespondenceError):
        shop.solve(wanted, base, watch=quiet)


# ----------------------------------------------------------------------------------------------- figures and variants


def test_quality_tells_where_to_look(walk: RetargetResult) -> None:
    table = walk.quality("result")
    json.dumps(table, allow_nan=False)
    by_metric = {row["metric"]: row for row in table["measurements"]}
    assert {"foot_skate", "floor", "joint_limit", "similarity", "smoothness"} <= set(by_metric)
    assert by_metric["foot_skate"]["verdict"] == "good"
    assert by_metric["foot_skate"]["joint"] in walk.motions_made[0].skeleton.names + tuple(
        end.name for end in walk.motions_made[0].skeleton.ends
    )
    assert 0.0 <= by_metric["smoothness"]["time"] <= walk.motions_made[0].duration
    for row in table["measurements"]:
        for curve in row["curves"]:
            assert len(curve["values"]) == len(shown_frames(walk.motions_made[0]))
    assert table["faults"] == []


def test_what_is_met_is_said_of_the_motion_that_is_shown(walk: RetargetResult) -> None:
    assert "constraints are met" in walk.result()["text"]
    assert walk.solution is not None
    (motion,) = walk.motions_made
    # As the motion of a robot, which is changed after the solve so that its motors can follow.
    raised = replace(motion, root=motion.root + np.array([0.0, 0.05, 0.0]))
    changed = replace(walk, motions_made=(raised,))
    said = changed.result()
    assert "constraints are not met" in said["text"]
    assert any(not track["met"] for track in said["tracks"])


def test_advice_is_about_the_page_and_not_about_the_command_line(shop: DocumentSolver, base: Path) -> None:
    walk = solved(shop, document({"source": "sample:walk", "target": "sample:giant"}), base)
    hints = [each["hint"] for each in walk.quality("result")["measurements"]] + walk.result()["warnings"]
    assert any("timeline" in hint or "Inspector" in hint for hint in hints)
    assert not any("--" in hint or "understudy recipe" in hint for hint in hints)


def test_other_ways_to_solve_show_their_faults(shop: DocumentSolver, base: Path) -> None:
    wanted = document({"source": "sample:walk", "scale": {"legs": 0.7}}, options={"plants": "fixed"})
    walk = solved(shop, wanted, base)
    assert walk.result()["variants"] == []
    progress: list[str] = []
    beside = walk.variants(["4", "ik", "naive"], lambda text, _share: progress.append(text))
    assert progress
    table = beside.result()["variants"]
    assert [row["which"] for row in table] == ["result", "variant:4", "variant:ik", "variant:naive"]
    figures = {row["which"]: row["figures"] for row in table}
    assert figures["variant:naive"]["unmet"] > figures["result"]["unmet"] == 0
    assert figures["variant:ik"]["jerk"] > 1.4 * figures["result"]["jerk"]
    assert figures["variant:naive"]["contacts_m"] > 0.1 > 0.001 > figures["variant:4"]["contacts_m"]
    assert [header["which"] for header, _ in beside.motions()][2:] == ["variant:4", "variant:ik", "variant:naive"]
    verdicts = {row["metric"]: row["verdict"] for row in beside.quality("variant:naive")["measurements"]}
    assert verdicts["foot_skate"] == "bad"
    again = beside.variants(["naive"], quiet)
    assert again.solved_variants[0] is beside.solved_variants[2]
    with pytest.raises(UnderstudyError, match="no variant `3`"):
        walk.variants(["3"], quiet)


def test_stopping_a_solve_stops_it(shop: DocumentSolver, base: Path) -> None:
    class StopError(Exception):
        pass

    def stop(_text: str, share: float) -> None:
        if share > 0.05:
            raise StopError

    with pytest.raises(StopError):
        shop.solve(document({"source": "sample:run", "scale": 1.3}), base, watch=stop)


# ------------------------------------------------------------------------------------------------ skins, clips, errors


def _skinned_clip() -> Clip:
    """A character with a thin box of skin around each thigh."""
    skeleton = samples.character("adult")
    positions, _ = skeleton.rest_world
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (0, 1) for z in (-1, 1)], float) * [0.05, 1.0, 0.05]
    parts, joints = [], []
    for name, child in (("LeftUpLeg", "LeftLeg"), ("RightUpLeg", "RightLeg")):
        top, bottom = positions[skeleton.index[name]], positions[skeleton.index[child]]
        parts.append(bottom + corners * [1.0, top[1] - bottom[1], 1.0])
        joints += [skeleton.index[name]] * 8
    faces = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6]])
    mesh = Mesh(
        name="trousers",
        vertices=np.concatenate(parts),
        triangles=np.concatenate([faces, faces + 8]),
        joints=np.array(joints)[:, None],
        weights=np.ones((16, 1)),
        joint_from_mesh=binds_of_rest(skeleton),
    )
    return Clip(skeleton=skeleton, meshes=(mesh,))


def test_a_skin_is_sent_and_moves_with_the_joints(shop: DocumentSolver, base: Path) -> None:
    clip = _skinned_clip()
    understudy.write(clip, base / "dressed.glb")
    understudy.write(samples.motion("walk").motion, base / "bare.bvh")
    wanted = document({"source": "bare.bvh", "target": "dressed.glb"})
    source, result = shop.view(wanted, base)["bodies"]
    assert source["mesh"] is None
    assert result["mesh"].startswith("mesh/result?v=")
    solve_result = solved(shop, wanted, base)
    assert solve_result.mesh("source") is None
    message = solve_result.mesh("result")
    assert message is not None
    header, arrays = message
    assert (header["on"], header["which"]) == ("mesh", "result")
    assert arrays["joints"].dtype == np.uint16
    assert np.allclose(arrays["weights"].sum(axis=1), 1.0)
    assert np.allclose(np.linalg.norm(arrays["normals"], axis=-1), 1.0, atol=1e-5)
    motion = solve_result.motions_made[0]
    pose = fk(motion)
    assert np.allclose(
        _posed(arrays, pose, 40), skinned(solve_result.prepared.actors[0].clip.meshes[0], motion)[40], atol=1e-4
    )


def _posed(arrays: dict[str, np.ndarray], pose: Any, frame: int) -> np.ndarray:
    """The vertices of a skin as the page draws them."""
    binds = arrays["bind"].transpose(0, 2, 1).astype(float)
    points = np.concatenate([arrays["positions"], np.ones((len(arrays["positions"]), 1))], axis=1)
    out = np.zeros((len(points), 3))
    for slot in range(4):
        joint = arrays["joints"][:, slot]
        local = np.einsum("vab,vb->va", binds[joint], points)[:, :3]
        world = pose.positions[frame, joint] + rotate(pose.rotations[frame, joint], local)
        out += arrays["weights"][:, slot, None] * world
    return out


def test_a_skin_grows_with_the_bones(shop: DocumentSolver, base: Path) -> None:
    understudy.write(_skinned_clip(), base / "dressed.glb")
    plain = document({"source": "sample:walk", "target": "dressed.glb"})
    long = document({"source": "sample:walk", "target": "dressed.glb", "scale": {"legs": 1.5}})
    assert shop.view(plain, base)["bodies"][1]["mesh"] != shop.view(long, base)["bodies"][1]["mesh"]
    heights = []
    for wanted in (plain, long):
        solve_result = solved(shop, wanted, base)
        message = solve_result.mesh("result")
        assert message is not None
        skeleton = solve_result.motions_made[0].skeleton
        thigh, knee = (skeleton.index[name] for name in ("LeftUpLeg", "LeftLeg"))
        drawn = _posed(message[1], fk(solve_result.motions_made[0]), 0)
        heights.append(np.ptp(drawn[:8, 1]))
        assert (
            np.linalg.norm(
                drawn[:8].mean(axis=0) - fk(solve_result.motions_made[0]).positions[0, [thigh, knee]].mean(axis=0)
            )
            < 0.05
        )
    assert heights[1] / heights[0] == pytest.approx(1.5, rel=0.05)


def test_clips_are_written_as_their_characters_files_are(
    shop: DocumentSolver, base: Path, walk: RetargetResult
) -> None:
    understudy.write(walk.clip("result"), base / "out.bvh")
    back = understudy.read(base / "out.bvh")
    assert back.motion is not None
    assert np.allclose(fk(back.motion).positions, fk(walk.motions_made[0]).positions, atol=1e-3)
    source = walk.clip("source").motion
    assert source is not None
    assert np.array_equal(source.root, samples.motion("walk").motion.root)


def test_a_function_of_the_users_takes_part(shop: DocumentSolver, base: Path) -> None:
    (base / "mine.py").write_text("def level(points):\n    return points[:, 0, 1] - points[:, 1, 1]\n")
    constraint = {
        "kind": "function",
        "function": "mine:level",
        "points": ["LeftHand", "RightHand"],
        "start": 1.0,
        "end": 1.5,
    }
    recipe = document({"source": "sample:walk", "scale": 0.9}, constraint=[constraint])
    with pytest.raises(ConsentError, match="nobody has agreed"):
        solved(shop, recipe, base)
    with asking(trust_all):
        solve_result = solved(shop, recipe, base)
    track = next(track for track in solve_result.result()["tracks"] if track["kind"] == "function")
    assert track["met"]
    hands = fk(solve_result.motions_made[0]).points(["LeftHand", "RightHand"])[30:46, :, 1]
    assert np.abs(hands[:, 0] - hands[:, 1]).max() < 2e-3


@pytest.mark.parametrize(
    ("tables", "keys", "message"),
    [
        ({"constraint": [{"kind": "plce"}]}, ("constraint", 0, "kind"), "there is no kind `plce`"),
        (
            {"contact": [{"point": "LeftFoot", "start": 1.0}], "options": {"contacts": "listed"}},
            ("contact", 0),
            "`end` is missing",
        ),
        ({"options": {"plants": "frozen"}}, ("options",), "Expected plants"),
        ({"solver": {"name": "guess"}}, ("solver", "name"), "There is no solver `guess`"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    shop: DocumentSolver, base: Path, tables: dict[str, Any], keys: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(FieldError, match=message) as caught:
        shop.solve(document({"source": "sample:walk", "scale": 0.9}, **tables), base, watch=quiet)
    assert caught.value.keys == keys


def test_a_wrong_reference_frame_is_told_with_its_place(shop: DocumentSolver, base: Path) -> None:
    for key in ("source_reference", "target_reference"):
        wanted = document({"source": "sample:walk", "target": "sample:dog_walk", key: 99999})
        with pytest.raises(FieldError, match="no frame 99999 to take the reference pose from") as caught:
            shop.view(wanted, base)
        assert caught.value.keys == ("actor", 0, key)


def test_broken_and_missing_files_are_told(shop: DocumentSolver, base: Path) -> None:
    (base / "broken.bvh").write_text("HIERARCHY\nROOT a\n{\n OFFSET 0 0\n")
    for name in ("broken.bvh", "missing.bvh"):
        for ask in (shop.view, shop.filled):
            with pytest.raises(FileError, match=name):
                ask(document({"source": name, "scale": 1.0}), base)
    with pytest.raises(UnderstudyError, match="`Nose`"):
        solved(
            shop,
            document({"source": "sample:walk", "scale": 0.9}, constraint=[{"kind": "same_place", "point": "Nose"}]),
            base,
        )


PNG_2X1 = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x02\x00\x00\x00\x01\x08\x02\x00\x00\x00"
    b"{@\xe8\xdd\x00\x00\x00\x0fIDATx\xdac\xf8\xcf\xc0\xc0\xf0\x9f\x01\x00\x07\xfe\x01\xff"
)
"""The beginning of an image two pixels wide and one high."""


def _painted_clip() -> Clip:
    """The character of `_skinned_clip` with an image on its first half and two colours on the other."""
    clip = _skinned_clip()
    mesh = clip.meshes[0]
    materials = (
        Material(name="cloth", image=PNG_2X1, colour=(1.0, 1.0, 1.0, 1.0), roughness=0.4),
        Material(name="red", colour=(1.0, 0.0, 0.0, 1.0), metallic=1.0, roughness=0.25),
        Material(name="blue", colour=(0.0, 0.0, 1.0, 1.0), metallic=1.0, roughness=0.25),
    )
    look = Look(
        uvs=np.tile([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], (16, 1, 1)),
        materials=materials,
        material_numbers=np.repeat([1, 0, 2], [4, 8, 4]),
    )
    return replace(clip, meshes=(replace(mesh, look=look),))


def test_a_skin_has_its_materials_and_images(shop: DocumentSolver, base: Path) -> None:
    understudy.write(_painted_clip(), base / "painted.glb")
    solve_result = solved(shop, document({"source": "sample:walk", "target": "painted.glb"}), base)
    message = solve_result.mesh("result")
    assert message is not None
    header, arrays = message
    # Two metals that differ only in colour are one surface, and their colours are on the vertices.
    metal, cloth = sorted(header["surfaces"], key=lambda surface: -surface["metallic"])
    assert (metal["metallic"], metal["roughness"], metal["image"]) == (1.0, 0.25, None)
    assert (metal["count"], cloth["count"]) == (24, 24)
    seen = arrays["faces"].reshape(-1)[metal["start"] : metal["start"] + metal["count"]]
    colours = np.unique(arrays["colours"][seen], axis=0)
    assert colours.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    assert solve_result.image(cloth["image"].removeprefix("image/")) == PNG_2X1
    assert solve_result.image("0" * 32) is None
    # A vertex has two texture coordinates where triangles meet, so it is sent twice, at the same place.
    assert len(arrays["positions"]) > 16
    assert arrays["uvs"].shape == (len(arrays["positions"]), 2)
    assert len(np.unique(arrays["positions"], axis=0)) == 16


def test_an_image_far_too_large_is_not_shown() -> None:
    huge = PNG_2X1[:16] + (1 << 20).to_bytes(4, "big") * 2 + PNG_2X1[24:]
    jpeg = b"\xff\xd8\xff\xe0\x00\x10" + bytes(14) + b"\xff\xc0\x00\x11\x08\x00\x20\x00\x40\x03" + bytes(12)
    assert image_size(PNG_2X1) == (2, 1)
    assert image_size(jpeg) == (64, 32)
    assert image_size(b"\xff\xd8\xff\xff") == (0, 0)
    assert surface_table(Material(image=PNG_2X1))["image"] is not None
    assert surface_table(Material(image=huge))["image"] is None


def test_a_prop_that_is_carried_keeps_its_place_in_the_hand(shop: DocumentSolver, base: Path) -> None:
    crate = {"name": "crate", "shape": "cylinder", "sizes": [[0.2, 0.3, 0.2]], "positions": [[0.4, 1.0, 0.5]]}
    crate |= {"carried_by": "LeftHand", "carried": [0.5, 1.5]}
    wanted = shop.filled(document({"source": "sample:walk"}, prop=[crate]), base)
    made = solved(shop, wanted, base)
    (table,) = shop.view(wanted, base)["props"]
    assert (table["shape"], table["moves"], table["mesh"]) == ("cylinder", True, None)
    header, arrays = made.shown_body("result").message()
    times, course = arrays["times"], arrays["props"][:, 0]
    hand = made.motions_made[0].skeleton.index["LeftHand"]
    held = (times > 0.49) & (times < 1.51)
    # In the hand's own frame the crate does not move while it is carried; before and after it stands.
    turns, places = np.roll(arrays["rotations"][held, hand], 1, axis=-1), arrays["positions"][held, hand]
    grip = rotate(turns * [1, -1, -1, -1], course[held, :3] - places)
    assert np.ptp(grip, axis=0).max() < 1e-4
    assert np.ptp(course[held, :3], axis=0).max() > 0.3
    assert np.allclose(course[times < 0.49, :3], [0.4, 1.0, 0.5], atol=1e-6)
    assert np.ptp(course[times > 1.51, :3], axis=0).max() < 1e-6
    source = made.shown_body("source").message()[1]["props"][:, 0]
    assert np.allclose(source[:, :3], [0.4, 1.0, 0.5], atol=1e-6)
    assert header["which"] == "result"


def test_the_mesh_of_a_prop_fills_its_box(shop: DocumentSolver, base: Path) -> None:
    (base / "tent.obj").write_text("v -1 0 0\nv 3 0 0\nv 0 2 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n")
    tent = {"name": "tent", "mesh": "tent.obj", "positions": [[0.0, 0.5, 1.0]]}
    wanted = shop.filled(document({"source": "sample:walk"}, prop=[tent]), base)
    (table,) = shop.view(wanted, base)["props"]
    assert table["boxes"][0]["size"] == [4.0, 2.0, 1.0]
    message = solved(shop, wanted, base).mesh("prop:tent")
    assert message is not None
    assert table["mesh"].startswith("mesh/prop%3Atent?v=")
    positions = message[1]["positions"]
    assert np.allclose(positions.min(axis=0), -0.5)
    assert np.allclose(positions.max(axis=0), 0.5)


@pytest.mark.parametrize(
    ("entry", "path", "problem"),
    [
        ({"mesh": "nowhere.obj"}, ("prop", 0), "nowhere.obj"),
        ({"mesh": "session"}, ("prop", 0), "is no file of a mesh"),
        ({"carried_by": "LeftHnd"}, ("prop", 0, "carried_by"), "LeftHand"),
    ],
)
def test_a_wrong_prop_is_named(
    entry: dict[str, Any], path: tuple[Any, ...], problem: str, shop: DocumentSolver, base: Path
) -> None:
    prop = {"name": "thing", "positions": [[0.0, 0.0, 0.0]], **entry}
    with pytest.raises(FieldError, match=problem) as caught:
        shop.view(shop.filled(document({"source": "sample:walk"}, prop=[prop]), base), base)
    assert caught.value.keys == path
