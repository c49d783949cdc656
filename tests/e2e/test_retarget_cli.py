"""`retarget`, `morph`, `recipe` and `demo` on the command line: results, figures, files, exit codes and errors."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from understudy import samples
from understudy.app import output as progress_module
from understudy.app.cli import cli
from understudy.app.output import Progress, bar
from understudy.figure.contacts import contact_points, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.io import read, write
from understudy.metrics.guard import is_frozen
from understudy.recipe import read_recipe
from understudy.retarget.driver import Prepared, Retargeted


def run(*arguments: str | Path | float) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="understudy")


def done(*arguments: str | Path | float) -> Result:
    """Run a command that must succeed."""
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples as files, two seconds of a walk and whole scenes."""
    folder = tmp_path_factory.mktemp("clips")
    done("samples", "walk", "-o", folder / "walk.bvh", "--seconds", 2)
    done("samples", "dance", "-o", folder / "dance.bvh", "--seconds", 4)
    done("samples", "pick_up", "ladder", "child", "-o", folder)
    return folder


def motion_of(path: Path, unit: str = "cm") -> Motion:
    motion = read(path, unit=unit, up="Y").motion
    assert motion is not None
    return motion


def slides(motion: Motion, source: Motion) -> float:
    """Metres that points move at most while the source's contacts hold."""
    worst = 0.0
    ratio = motion.skeleton.lengths.sum() / source.skeleton.lengths.sum()
    for contact in detect_contacts(source, contact_points(source)):
        point = replace(contact.point, offset=contact.point.offset * ratio)
        path = fk(motion).points([point])[contact.frames(source.fps, source.num_frames), 0]
        worst = max(worst, float(np.linalg.norm(path - path.mean(axis=0), axis=-1).max()))
    return worst


# retarget


def test_a_scaled_copy_keeps_its_feet(clips: Path, tmp_path: Path) -> None:
    result = done("retarget", clips / "walk.bvh", "--scale", 0.6, "-o", tmp_path / "small.bvh", "--unit", "cm")
    assert result.stdout.splitlines()[1].startswith("verdict: ")
    assert re.search(r"\n  goal reached +good +all \d+ constraints are met\n", result.stdout)
    assert re.search(r"\n  solver +spacetime, keys every \d+ ms\n", result.stdout)
    for word in ("path jerk", "pops", "standing", "contacts", "floor", "joint limits", "time"):
        assert f"\n  {word} " in result.stdout
    source, small = motion_of(clips / "walk.bvh"), motion_of(tmp_path / "small.bvh")
    assert small.num_frames == source.num_frames
    np.testing.assert_allclose(small.skeleton.lengths, 0.6 * source.skeleton.lengths, atol=1e-6)
    assert slides(small, source) < 1e-3
    assert "0 mm below" in result.stdout


def test_the_file_keeps_the_conventions_of_its_character(clips: Path, tmp_path: Path) -> None:
    text = (clips / "walk.bvh").read_text()
    renamed = re.sub(r"CHANNELS 3 \w+ \w+ \w+", "CHANNELS 3 Yrotation Xrotation Zrotation", text)
    (tmp_path / "target.bvh").write_text(renamed)
    done("retarget", clips / "walk.bvh", tmp_path / "target.bvh", "-o", tmp_path / "out.bvh", "--target-unit", "cm")
    head = (tmp_path / "out.bvh").read_text().partition("MOTION")[0]
    assert "CHANNELS 3 Yrotation Xrotation Zrotation" in head
    assert "CHANNELS 3 Zrotation" not in head
    np.testing.assert_allclose(
        motion_of(tmp_path / "out.bvh").skeleton.lengths, motion_of(clips / "walk.bvh").skeleton.lengths, atol=1e-5
    )


def test_json_and_report(tmp_path: Path) -> None:
    result = done(
        "retarget", "sample:walk", "sample:child", "-o", tmp_path / "a.bvh", "--frames", "0:60", "--json",
        "--report", tmp_path / "report.json",
    )  # fmt: skip
    data = json.loads(result.stdout)
    assert data == json.loads((tmp_path / "report.json").read_text())
    assert data["files"] == [str(tmp_path / "a.bvh")]
    assert data["unmet"] == []
    assert data["frames"] == 60
    assert data["contacts"]["worst"] < 1e-3
    assert data["floor"]["worst"] < 2e-3
    assert data["limits"]["worst"] < np.radians(0.1)
    assert data["verdict"] == data["evaluations"][0]["verdict"]
    assert set(data["evaluations"][0]["metrics"]) == {"goal", "limb_direction", "path_jerk", "pop", "standing"}
    assert "floor" in data["evaluations"][0]["skipped"]
    assert data["real_time_factor"] > 0.0
    done(
        "retarget", "sample:walk", "--scale", 0.8, "-o", tmp_path / "a.bvh", "--report", tmp_path / "report.txt",
        "--frames", ":30",
    )  # fmt: skip
    assert "constraints are met" in (tmp_path / "report.txt").read_text()


def test_all_spacings_make_three_files_and_a_table(tmp_path: Path) -> None:
    result = done(
        "retarget",
        "sample:walk",
        "--scale",
        "legs=1.3",
        "-o",
        tmp_path / "a.bvh",
        "--spacing",
        "all",
        "--frames",
        ":60",
    )
    assert {path.name for path in tmp_path.iterdir()} == {"a_2f.bvh", "a_4f.bvh", "a_8f.bvh"}
    table = result.stdout.partition("keys     verdict")[2]
    assert [line.split()[0] for line in table.splitlines()[1:]] == ["2", "4", "8"]
    one, other = (motion_of(tmp_path / f"a_{n}f.bvh") for n in (2, 8))
    assert np.abs(one.root - other.root).max() > 1e-6
    refused = run(
        "retarget", "sample:walk", "--scale", 0.8, "-o", tmp_path / "a.bvh", "--spacing", "all", "--solver", "ik"
    )
    assert refused.exit_code == 2
    assert "Solver `ik` has no evenly spaced keys" in refused.stderr


@pytest.mark.parametrize("solver", ["spacetime", "ik", "lmult"])
def test_solvers_by_name(solver: str, tmp_path: Path) -> None:
    result = done(
        "retarget", "sample:walk", "--scale", "legs=0.9", "-o", tmp_path / "a.bvh", "--solver", solver, "--json",
        "--frames", ":40",
    )  # fmt: skip
    assert json.loads(result.stdout)["solver"] == solver


def test_fixed_plants_stay_in_the_footsteps(clips: Path, tmp_path: Path) -> None:
    source = motion_of(clips / "walk.bvh")
    ends = {}
    for plants in ("fixed", "free", "none"):
        done(
            "retarget", clips / "walk.bvh", "--scale", 0.9, "-o", tmp_path / "a.bvh", "--unit", "cm", "--plants", plants
        )
        ends[plants] = motion_of(tmp_path / "a.bvh")
    travelled = {key: motion.root[-1, 2] - motion.root[0, 2] for key, motion in ends.items()}
    wanted = source.root[-1, 2] - source.root[0, 2]
    assert abs(travelled["fixed"] / wanted - 1.0) < 0.05
    assert abs(travelled["free"] / wanted - 0.9) < 0.03
    assert slides(ends["fixed"], source) < 1e-3


def test_kept_joints_are_not_turned(clips: Path, tmp_path: Path) -> None:
    kept = ("LeftLeg", "RightLeg")
    done(
        "retarget", clips / "walk.bvh", "--scale", "legs=1.2", "-o", tmp_path / "a.bvh", "--unit", "cm", "--plants",
        "fixed", "--keep", ",".join(kept),
    )  # fmt: skip
    source, result = motion_of(clips / "walk.bvh"), motion_of(tmp_path / "a.bvh")
    change = np.abs(np.einsum("fji,fji->fj", source.rotations, result.rotations))
    turned = {name for name, least in zip(source.skeleton.names, change.min(axis=0)) if least < 1.0 - 1e-9}
    assert not turned & set(kept)
    assert "LeftUpLeg" in turned


def test_frames_and_rate(clips: Path, tmp_path: Path) -> None:
    done(
        "retarget", clips / "walk.bvh", "--scale", 0.8, "-o", tmp_path / "a.bvh", "--unit", "cm", "--frames", "10:40",
        "--fps", 60,
    )  # fmt: skip
    result = motion_of(tmp_path / "a.bvh")
    assert (result.num_frames, round(result.fps, 3)) == (59, 60.0)


def test_a_reference_pose_is_dropped_and_reported(clips: Path, tmp_path: Path) -> None:
    walk = motion_of(clips / "walk.bvh")
    first = rest_motion(walk.skeleton)
    both = replace(
        walk,
        root=np.concatenate([first.root, walk.root]),
        rotations=np.concatenate([first.rotations, walk.rotations]),
    )
    write(both, tmp_path / "both.bvh", unit="cm")
    result = done("retarget", tmp_path / "both.bvh", "--scale", 0.8, "-o", tmp_path / "a.bvh", "--unit", "cm")
    assert "frame 0 only shows a reference pose and is left out" in result.stderr
    assert motion_of(tmp_path / "a.bvh").num_frames == walk.num_frames
    done(
        "retarget", tmp_path / "both.bvh", "--scale", 0.8, "-o", tmp_path / "a.bvh", "--unit", "cm", "--keep-reference"
    )
    assert motion_of(tmp_path / "a.bvh").num_frames == walk.num_frames + 1


def test_a_guessed_unit_is_reported(clips: Path, tmp_path: Path) -> None:
    result = done("retarget", clips / "walk.bvh", "--scale", 0.8, "-o", tmp_path / "a.bvh", "--frames", ":20")
    assert "walk.bvh: unit cm: the body measures" in result.stderr
    result = done(
        "retarget", clips / "walk.bvh", "--scale", 0.8, "-o", tmp_path / "a.bvh", "--frames", ":20", "--unit", "cm"
    )
    assert "the body measures" not in result.stderr


# Recipes


@pytest.mark.parametrize(
    "options", [(), ("--plants", "fixed", "--spacing", "4f", "--keep", "Head", "--frames", "3:50")]
)
def test_a_recipe_run_unchanged_gives_the_same_file(options: tuple[str, ...], clips: Path, tmp_path: Path) -> None:
    pair = (clips / "walk.bvh", "--scale", "legs=1.2", "--unit", "cm", *options)
    done("retarget", *pair, "-o", tmp_path / "plain.bvh")
    (tmp_path / "deeper").mkdir()
    result = done("recipe", *pair, "-o", tmp_path / "deeper" / "r.toml")
    assert re.search(r"r\.toml: 1 actor, \d+ contacts, 0 props\n", result.stdout)
    done("retarget", "--recipe", tmp_path / "deeper" / "r.toml", "-o", tmp_path / "recipe.bvh")
    assert (tmp_path / "plain.bvh").read_bytes() == (tmp_path / "recipe.bvh").read_bytes()


def test_options_change_a_recipe(clips: Path, tmp_path: Path) -> None:
    done("recipe", clips / "walk.bvh", "--scale", 0.8, "-o", tmp_path / "r.toml", "--unit", "cm")
    result = done(
        "retarget", clips / "walk.bvh", "--scale", 0.5, "--recipe", tmp_path / "r.toml", "-o", tmp_path / "a.bvh",
        "--solver", "ik", "--json",
    )  # fmt: skip
    assert json.loads(result.stdout)["solver"] == "ik"
    ratio = motion_of(tmp_path / "a.bvh").skeleton.lengths.sum() / motion_of(clips / "walk.bvh").skeleton.lengths.sum()
    assert round(float(ratio), 4) == 0.5


def test_a_contact_taken_out_of_a_recipe_is_not_kept(clips: Path, tmp_path: Path) -> None:
    done("recipe", clips / "walk.bvh", "--scale", 0.8, "-o", tmp_path / "r.toml", "--unit", "cm")
    text = (tmp_path / "r.toml").read_text()
    count = text.count("\n[[contact]]")
    start = text.index("\n[[contact]]")
    end = text.index("\n[[contact]]", start + 5)
    (tmp_path / "r.toml").write_text(text[:start] + text[end:])
    result = done("retarget", "--recipe", tmp_path / "r.toml", "-o", tmp_path / "a.bvh", "--json")
    assert json.loads(result.stdout)["contacts"]["count"] == count - 1


@pytest.mark.parametrize(("who", "files"), [("same", ["d.bvh"]), ("0.9", ["d_follow.bvh", "d_lead.bvh"])])
def test_a_dance_with_one_or_both_adapted(who: str, files: list[str], clips: Path, tmp_path: Path) -> None:
    done(
        "recipe", clips / "dance_lead.bvh", "--scale", 1.15, "--name", "lead", "--also", "follow",
        clips / "dance_follow.bvh", who, "--contacts", clips / "dance.contacts.json", "-o", tmp_path / "d.toml",
        "--unit", "cm",
    )  # fmt: skip
    result = done("retarget", "--recipe", tmp_path / "d.toml", "-o", tmp_path / "d.bvh", "--json")
    data = json.loads(result.stdout)
    assert sorted(Path(file).name for file in data["files"]) == files
    assert data["unmet"] == []
    lead = motion_of(tmp_path / files[-1])
    follow = motion_of(tmp_path / files[0]) if len(files) > 1 else motion_of(clips / "dance_follow.bvh")
    entries = json.loads((clips / "dance.contacts.json").read_text())["contacts"]
    joined = next(entry for entry in entries if entry["other"])
    frame = round(joined["start"] * lead.fps) + 3
    size = 1.0 if who == "same" else 0.9
    one = hand(lead, joined, 1.15)[frame]
    other = hand(follow, joined["other"], size)[frame]
    assert np.linalg.norm(one - other) < 2e-3


def hand(motion: Motion, entry: dict[str, object], size: float) -> np.ndarray:
    """(F, 3) positions of the point of an entry on a scaled body."""
    from understudy.figure.skeleton import Point

    point = Point(name="p", joint=str(entry["joint"]), offset=size * np.array(entry["offset"], float))
    return fk(motion).points([point])[:, 0]


def test_a_carried_box_keeps_its_size(clips: Path, tmp_path: Path) -> None:
    done(
        "recipe", clips / "pick_up.bvh", "--scale", 0.85, "--contacts", clips / "pick_up.contacts.json", "-o",
        tmp_path / "box.toml", "--unit", "cm",
    )  # fmt: skip
    assert '[[prop]]\nname = "box"' in (tmp_path / "box.toml").read_text()
    result = done("retarget", "--recipe", tmp_path / "box.toml", "-o", tmp_path / "box.bvh", "--json")
    data = json.loads(result.stdout)
    assert data["unmet"] == []
    scene = json.loads((clips / "pick_up.contacts.json").read_text())
    grips = [entry for entry in scene["contacts"] if entry["on"] == "box"]
    motion, source = motion_of(tmp_path / "box.bvh"), motion_of(clips / "pick_up.bvh")
    frame = round(grips[0]["start"] * motion.fps) + 2
    before, after = (
        np.linalg.norm(hand(m, grips[0], s) - hand(m, grips[1], s), axis=-1)[frame:]
        for m, s in ((source, 1.0), (motion, 0.85))
    )
    np.testing.assert_allclose(after, np.median(before), atol=2e-3)


def test_a_ladder_stays_where_it_is(clips: Path, tmp_path: Path) -> None:
    done(
        "recipe", clips / "ladder.bvh", "--scale", 0.9, "--contacts", clips / "ladder.contacts.json", "-o",
        tmp_path / "ladder.toml", "--unit", "cm",
    )  # fmt: skip
    result = done("retarget", "--recipe", tmp_path / "ladder.toml", "-o", tmp_path / "a.bvh", "--json")
    assert json.loads(result.stdout)["unmet"] == []
    entries = json.loads((clips / "ladder.contacts.json").read_text())["contacts"]
    held = [entry for entry in entries if entry["on"] == "ladder" and "Palm" in entry["point"]]
    motion = motion_of(tmp_path / "a.bvh")
    for entry in held:
        frame = round(0.5 * (entry["start"] + entry["end"]) * motion.fps)
        assert np.linalg.norm(hand(motion, entry, 0.9)[frame] - entry["place"]) < 2e-3


def test_contacts_of_a_file_move_with_the_frames_that_are_kept(clips: Path, tmp_path: Path) -> None:
    pair = (clips / "ladder.bvh", "--scale", 0.9, "--contacts", clips / "ladder.contacts.json", "--unit", "cm")
    done("recipe", *pair, "-o", tmp_path / "whole.toml")
    done("recipe", *pair, "-o", tmp_path / "cut.toml", "--frames", "30:")
    whole, cut = (read_recipe(tmp_path / f"{name}.toml").contacts for name in ("whole", "cut"))
    assert whole is not None
    assert cut is not None
    assert cut[-1].end == pytest.approx(whole[-1].end - 1.0)
    assert len(cut) < len(whole)
    done("retarget", "--recipe", tmp_path / "cut.toml", "-o", tmp_path / "a.bvh")


def test_a_sample_box_moves_with_its_path(tmp_path: Path) -> None:
    done("recipe", "sample:pick_up", "--scale", 0.9, "-o", tmp_path / "box.toml")
    text = (tmp_path / "box.toml").read_text()
    assert 'path = "sample:pick_up"' in text
    attach = '\n[[constraint]]\nkind = "attach"\npoint = "LeftHand"\nprop = "box"\nstart = 6.0\nname = "on it"\n'
    (tmp_path / "box.toml").write_text(text + attach)
    result = done("retarget", "--recipe", tmp_path / "box.toml", "-o", tmp_path / "a.bvh", "--json")
    assert json.loads(result.stdout)["asked"]["count"] == 1
    path = samples.motion("pick_up").props[0].positions[:, 0]
    hand_path = fk(motion_of(tmp_path / "a.bvh")).points(["LeftHand"])[:, 0]
    assert np.linalg.norm(hand_path[200] - path[200]) < 0.2, "as near as the palm that holds its side lets it"


def test_samples_bring_their_scene(tmp_path: Path) -> None:
    follower = ("--also", "follow", "sample:dance/follow", "same")
    done("recipe", "sample:dance/lead", "--scale", 1.1, "--name", "lead", *follower, "-o", tmp_path / "d.toml")
    assert 'on = "follow"' in (tmp_path / "d.toml").read_text()
    result = done("retarget", "sample:dance", "--scale", 1.1, "-o", tmp_path / "a.bvh", "--frames", ":40")
    assert "sample:dance: who it holds on to is not among the actors" in result.stderr


# morph


def test_a_body_that_grows(tmp_path: Path) -> None:
    result = done(
        "morph", "sample:walk", "sample:giant", "-o", tmp_path / "grow.bvh", "--from", "1s", "--to", "120", "--json"
    )
    assert json.loads(result.stdout)["unmet"] == []
    motion = motion_of(tmp_path / "grow.bvh")
    assert motion.offsets is not None
    adult, giant = (samples.character(name) for name in ("adult", "giant"))
    lengths = np.linalg.norm(motion.offsets[:, 1:], axis=-1)
    np.testing.assert_allclose(lengths[:31], np.tile(adult.lengths[1:], (31, 1)), atol=1e-5)
    np.testing.assert_allclose(lengths[120:], np.tile(giant.lengths[1:], (len(lengths) - 120, 1)), atol=1e-5)
    assert np.all(np.diff(lengths.sum(axis=1)[30:121]) > 0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "a.amc"), "A body that changes is written as BVH, not as `a.amc`."),
        (("-o", "a.bvh", "--from", "9s"), "The change begins at 9 s, and the motion ends at 5 s."),
        (("-o", "a.bvh", "--from", "90", "--to", "30"), "The change must end after it begins; got 3 to 1 s."),
        (("-o", "a.bvh", "--from", "1.5"), "expected a frame such as 30, or seconds such as 1.5s; got `1.5`"),
    ],
)
def test_morphs_that_cannot_be(arguments: tuple[str, ...], message: str) -> None:
    result = run("morph", "sample:walk", "sample:giant", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


# demo


def test_the_demo_retargets(tmp_path: Path) -> None:
    result = done("demo", "-o", tmp_path / "demo", "--no-open", "--json")
    data = json.loads(result.stdout)
    source = samples.motion("walk").motion
    assert set(data["performed_by"]) == {"child", "giant", "stretched"}
    for name, found in data["performed_by"].items():
        assert found["unmet"] == []
        motion = read(tmp_path / "demo" / f"walk_{name}.glb").motion
        assert motion is not None
        assert motion.num_frames == source.num_frames
        np.testing.assert_allclose(motion.skeleton.lengths, samples.character(name).lengths, atol=1e-5)


# Bad input


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("sample:walk", "sample:dog", "--map", "gone.toml"), 1, "gone.toml: "),
        (
            ("sample:walk", "sample:other", "--source-reference", "500"),
            1,
            "no frame 500 to take the reference pose from",
        ),
        (("sample:walk", "sample:other", "--target-reference", "0"), 1, "it holds no motion"),
        (("sample:walk", "sample:chld"), 2, "There is no sample `chld`; nearest: `child`"),
        (("sample:wlk", "sample:child"), 2, "There is no sample motion `wlk`; nearest: `walk`"),
        (
            ("sample:child", "sample:walk"),
            1,
            "sample:child: is a character without motion; there is nothing to perform",
        ),
        (("sample:dance/leed", "sample:child"), 2, "Sample `dance` has no actor `leed`; nearest: `lead`"),
        (("sample:walk",), 2, "Expected a TARGET file, or --scale such as 0.6 or legs=1.3."),
        ((), 2, "Expected SOURCE and TARGET, SOURCE and --scale, or --recipe FILE."),
        (("gone.bvh", "--scale", "1"), 1, "gone.bvh: there is no such file"),
        (("sample:walk", "--scale", "lags=2"), 2, "Scale `lags` names neither a part of the body nor a joint"),
        (("sample:walk", "--scale", "0"), 2, "Expected a scale above zero, got all = 0"),
        (("sample:walk", "--scale", "1", "--solver", "best"), 2, "There is no solver `best`"),
        (("sample:walk", "--scale", "1", "--spacing", "x"), 2, "Expected a key spacing: auto, all, seconds from"),
        (("sample:walk", "--scale", "1", "--keep", "Hed"), 2, "Option keep: no joint `Hed`; nearest: `Head`"),
        (("sample:walk", "--scale", "1", "--frames", "500:"), 1, "sample:walk: no frame is left of 151"),
        (("sample:walk", "--scale", "1", "--frames", "5-7"), 2, "Expected frames as A:B, such as 10:50, 10: or :50"),
        (("sample:walk", "--scale", "1", "--fps", "0"), 2, "Expected frames per second above zero, got 0"),
        (("--recipe", "gone.toml"), 1, "gone.toml: there is no such file"),
    ],
)
def test_what_cannot_be_retargeted(
    arguments: tuple[str, ...], code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("retarget", *arguments, "-o", "out.bvh")
    assert result.exit_code == code
    assert message in result.stderr
    assert not (tmp_path / "out.bvh").exists()


def test_a_morph_says_which_contacts_slide(tmp_path: Path) -> None:
    """Toes slid by 20 cm while the report told of 0.01 mm."""
    result = run("morph", "sample:walk", "--scale", "0.6", "--plants", "fixed", "-o", tmp_path / "small.bvh", "--json")
    warnings = json.loads(result.stdout)["warnings"]
    slides = [w for w in warnings if re.search(r"Toe\w+ slides by \d+\.\d cm while it stands", w)]
    assert slides
    assert all("of a foot that changes size only" in warning for warning in slides)


@pytest.mark.parametrize("command", ["retarget", "morph", "recipe"])
def test_help_ends_in_an_example(command: str) -> None:
    text = done(command, "--help").stdout
    assert "--json" in text
    assert re.search(rf"\n\n  Example: understudy {command} ", text)
    assert max(map(len, text.splitlines())) <= 100


def test_nothing_is_solved_for_a_folder_that_is_not_there(tmp_path: Path) -> None:
    result = run("retarget", "sample:walk", "--scale", "1", "-o", tmp_path / "no" / "a.bvh")
    assert result.exit_code == 1
    assert f"there is no folder `{tmp_path / 'no'}` to write it into" in result.stderr


def test_a_recipe_is_not_written_over_a_motion(clips: Path) -> None:
    before = (clips / "walk.bvh").read_bytes()
    result = run("recipe", clips / "walk.bvh", "--scale", 0.6, "-o", clips / "walk.bvh")
    assert result.exit_code == 2
    assert "A recipe is written as .toml; got" in result.stderr
    assert (clips / "walk.bvh").read_bytes() == before


def test_an_unknown_format(tmp_path: Path) -> None:
    result = run("retarget", "sample:walk", "--scale", "1", "-o", tmp_path / "a.xyz")
    assert result.exit_code == 1
    assert "no format ends in `.xyz`; can be written: " in result.stderr
    assert ".fbx" in result.stderr
    assert ".pmx" not in result.stderr


@pytest.fixture
def with_recipe(tmp_path: Path) -> Callable[..., Result]:
    """Runs a recipe of the sample walk at 0.8 with something added to it."""

    def perform(text: str, *arguments: str) -> Result:
        path = tmp_path / "r.toml"
        path.write_text('source = "sample:walk"\nscale = 0.8\n[reading]\nframes = ":60"\n' + text)
        return run("retarget", "--recipe", path, "-o", tmp_path / "out.bvh", "--json", *arguments)

    return perform


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[[constraint]]\nkind = "place"\npoint = "LeftHnd"\ntarget = [0, 1, 0]\n',
            "`LeftHnd` is neither a joint nor an end",
        ),
        (
            '[[constraint]]\nkind = "place"\npoint = "Head"\ntarget = [0, nan, 0]\n',
            "r.toml:8: constraint 1, target: expected",
        ),
        (
            '[[constraint]]\nkind = "place"\npoint = "Head"\ntarget = [0, 1, 0]\nstart = 60.0\n',
            "Constraint `place Head` holds at no frame: it spans 60 to inf s, the motion 0 to 1.96667 s",
        ),
        ("[optoins]\n", "r.toml:5: optoins: there is no key `optoins`; nearest: `options`"),
    ],
)
def test_wrong_recipes(text: str, message: str, with_recipe: Callable[..., Result], tmp_path: Path) -> None:
    result = with_recipe(text)
    assert result.exit_code in (1, 2)
    assert message in result.stderr
    assert not (tmp_path / "out.bvh").exists()


def test_contradictory_targets_give_the_best_with_the_reason(
    with_recipe: Callable[..., Result], tmp_path: Path
) -> None:
    head = '[[constraint]]\nkind = "place"\npoint = "LeftHand"\ninstants = [1.0]\n'
    text = f"{head}target = [0.3, 1.0, 0.6]\nname = 'here'\n{head}target = [0.5, 1.0, 0.6]\nname = 'there'\n"
    result = with_recipe(text)
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    assert {outcome["name"] for outcome in data["unmet"]} <= {"here", "there"}
    assert data["asked"]["unmet"] >= 1
    assert "constraints of the recipe are not met" in result.stderr
    assert data["contacts"]["worst"] < 1e-3, "what can be met still is"
    motion = motion_of(tmp_path / "out.bvh")
    place = fk(motion).points(["LeftHand"])[round(1.0 * motion.fps), 0]
    assert np.linalg.norm(place - [0.4, 1.0, 0.6]) < 0.15
    assert with_recipe(text, "--strict").exit_code == 1


def test_an_unreachable_target_gives_the_best_with_the_reason(
    with_recipe: Callable[..., Result], tmp_path: Path
) -> None:
    result = with_recipe('[[constraint]]\nkind = "place"\npoint = "LeftHand"\ntarget = [0, 9, 0]\ninstants = [1.0]\n')
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    assert "place LeftHand" in {outcome["name"] for outcome in data["unmet"]}
    assert "out of reach or against others" in result.stderr
    assert np.all(np.isfinite(motion_of(tmp_path / "out.bvh").rotations))


def test_bones_without_length(tmp_path: Path) -> None:
    adult = samples.character("adult")
    offsets = adult.offsets.copy()
    offsets[[adult.joint("LeftHand"), adult.joint("LeftToeBase")]] = 0.0
    write(replace(adult, offsets=offsets), tmp_path / "stump.bvh", unit="cm")
    result = done(
        "retarget",
        "sample:walk",
        tmp_path / "stump.bvh",
        "-o",
        tmp_path / "a.bvh",
        "--target-unit",
        "cm",
        "--frames",
        ":60",
    )
    assert "the bone to `LeftToeBase`, `LeftHand` has length zero" in result.stderr
    assert np.all(np.isfinite(motion_of(tmp_path / "a.bvh").rotations))
    write(replace(adult, offsets=0.0 * offsets), tmp_path / "dot.bvh", unit="cm")
    result = run("retarget", "sample:walk", tmp_path / "dot.bvh", "-o", tmp_path / "b.bvh", "--target-unit", "cm")
    assert result.exit_code == 1
    assert "The target's bones all have length zero" in result.stderr


def test_one_frame(clips: Path, tmp_path: Path) -> None:
    write(motion_of(clips / "walk.bvh")[:1], tmp_path / "one.bvh", unit="cm")
    result = done("retarget", tmp_path / "one.bvh", "--scale", 0.6, "-o", tmp_path / "a.bvh", "--unit", "cm", "--json")
    assert json.loads(result.stdout)["frames"] == 1
    assert motion_of(tmp_path / "a.bvh").num_frames == 1


def test_a_target_a_thousand_times_larger_is_noticed(clips: Path, tmp_path: Path) -> None:
    result = done(
        "retarget",
        clips / "walk.bvh",
        clips / "walk.bvh",
        "-o",
        tmp_path / "a.bvh",
        "--unit",
        "mm",
        "--target-unit",
        "m",
    )
    assert "its legs are 1e+03 times as long as the source's" in result.stderr
    assert "--target-unit" in result.stderr
    big, small = (motion_of(path, unit) for path, unit in ((tmp_path / "a.bvh", "m"), (clips / "walk.bvh", "mm")))
    assert np.all(np.isfinite(big.root))
    assert slides(big, small) < 1.0, "a millimetre for every metre of its size"


def test_no_contacts_at_all(tmp_path: Path) -> None:
    result = done("retarget", "sample:swim", "--scale", 0.6, "-o", tmp_path / "a.bvh", "--json")
    data = json.loads(result.stdout)
    assert data["contacts"]["count"] == 0
    assert "no contacts are known: nothing is planted" in result.stderr
    source = samples.motion("swim").motion
    np.testing.assert_allclose(motion_of(tmp_path / "a.bvh").root, 0.6 * source.root, atol=1e-5)


def test_a_result_that_stands_still_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = Prepared.solve

    def stop(self: Prepared, *arguments: object) -> Retargeted:
        result = solve(self, *arguments)  # type: ignore[arg-type]
        count = result.motion.num_frames
        still = result.motion[np.zeros(count, int)]
        return replace(result, solution=replace(result.solution, motions=(still,)))

    monkeypatch.setattr(Prepared, "solve", stop)
    result = run("retarget", "sample:walk", "--scale", 0.8, "-o", tmp_path / "a.bvh", "--frames", ":40")
    assert result.exit_code == 1
    assert "the result stands still while the source moves" in result.stderr


def test_what_counts_as_frozen() -> None:
    walk = samples.motion("walk").motion
    still = walk[np.zeros(walk.num_frames, int)]
    assert is_frozen(walk, still)
    assert not is_frozen(walk, walk)
    assert not is_frozen(still, still), "a source that stands still may stand still"


# Progress


class Screen:
    """A stderr that is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None: ...


def test_progress_is_shown_on_a_terminal_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(progress_module.sys, "stderr", screen)
    monkeypatch.setattr(progress_module, "PROGRESS_DELAY_SECONDS", 0.02)
    monkeypatch.setattr(progress_module, "PROGRESS_UPDATE_SECONDS", 0.01)
    with Progress() as progress:
        progress("keys every 67 ms", 0.5)
        time.sleep(0.2)
    assert "\r[############............]  50 %  0 s  keys every 67 ms" in screen.text
    assert screen.text.endswith(" \r")


def test_progress_says_nothing_of_quick_work_or_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = Screen()
    with monkeypatch.context() as patched:
        patched.setattr(progress_module.sys, "stderr", screen)
        with Progress() as progress:
            progress("quick", 0.5)
    assert screen.text == ""
    with Progress() as progress:
        assert not progress.shown
    assert capsys.readouterr().err == ""
    assert bar("all", 1.0, 61.0) == "[########################] 100 %  61 s  all"


def test_the_verdict_is_that_of_evaluate(tmp_path: Path) -> None:
    """The lines of a retarget are those of `evaluate` on the file that it wrote, word by word."""
    result = done("retarget", "sample:walk", "sample:child", "-o", tmp_path / "a.npz")
    evaluated = done("evaluate", tmp_path / "a.npz", "--source", "sample:walk")
    lines = [" ".join(line.split()) for line in evaluated.stdout.splitlines()]
    table = result.stdout.partition("  not measured")[0].splitlines()
    told = " ".join(" ".join(table).split())
    for title in ("path jerk", "pops", "standing"):
        line = next(line for line in lines if line.startswith(f"{title} "))
        verdict = line.removeprefix(title).split()[0]
        assert f" {title} {verdict} " in told


def test_notes_on_widened_ranges_are_folded(tmp_path: Path) -> None:
    from understudy.app.output import fold_notes

    notes = [
        f"`{name}`: the normal range of leaning is widened by 5 degrees: the motion itself goes there."
        for name in "abc"
    ]
    folded = fold_notes(["the file is odd", *notes], verbose=False)
    assert folded == [
        "the file is odd",
        "3 normal ranges of joints are widened, since the motion itself goes there (-v lists them)",
    ]
    assert fold_notes(notes, verbose=True) == notes
    assert fold_notes(notes[:1], verbose=False) == notes[:1]
    assert "-v, --verbose" in done("retarget", "--help").stdout


def test_verdicts_have_colours_on_a_terminal() -> None:
    from understudy.app.output import paint_conclusions

    painted = paint_conclusions(
        "a.bvh\nverdict: bad (pops)\n  pops  bad         it pops; bad luck\n  goal  good        all met"
    )
    assert painted.count("\x1b[0m") == 3
    assert "bad luck" in painted
