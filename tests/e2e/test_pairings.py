"""Commands as an unlucky user meets them: any file with any other, odd names, damaged input, spoiled results."""

from __future__ import annotations

import json
import os
import stat
import threading
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from understudy import samples
from understudy.analogy import make as analogies
from understudy.app.cli import cli
from understudy.base.files import open_to_write
from understudy.figure.kinematics import fk
from understudy.figure.measures import mirror
from understudy.figure.motion import Motion
from understudy.io import Clip, read, write
from understudy.io.clip import formats
from understudy.retarget.driver import Prepared, Retargeted

HELD = 1e-5
"""Metres within which every format that holds a motion keeps each joint."""

transitions = import_module("understudy.transition")
"""The room; `understudy.transition` is the function of that name."""


def run(*arguments: str | Path | float) -> Result:
    """Run a command in this process; a fault of ours is never taken for a user's."""
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="understudy")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def done(*arguments: str | Path | float) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Short motions and characters as files, and files that are none."""
    folder = tmp_path_factory.mktemp("clips")
    done("samples", "walk", "-o", folder / "walk.bvh", "--seconds", 1)
    done("samples", "child", "-o", folder / "child.bvh")
    done("convert", folder / "walk.bvh", folder / "one.bvh", "--frames", "0:1")
    for suffix in (s for each in formats().values() if each.read for s in each.suffixes):
        (folder / f"empty{suffix}").write_bytes(b"")
        (folder / f"noise{suffix}").write_bytes(bytes(np.random.default_rng(3).integers(0, 256, 900, dtype=np.uint8)))
    (folder / "folder.bvh").mkdir()
    return folder


def places(path: Path) -> Any:
    motion = read(path, unit="cm", up="Y").motion
    assert motion is not None
    return fk(motion).positions


# Formats


@pytest.mark.parametrize("suffix", [".glb", ".gltf", ".npz", ".bvh"])
@pytest.mark.parametrize("name", ["walk", "dog_walk", "swim", "dance"])
def test_every_format_keeps_every_joint(tmp_path: Path, name: str, suffix: str) -> None:
    motion = next(iter(samples.motion(name).actors.values()))[:20]
    done("samples", name, "-o", tmp_path / "in.bvh") if name != "dance" else write(motion, tmp_path / "in.bvh")
    done("convert", tmp_path / "in.bvh", tmp_path / f"mid{suffix}", "--frames", "0:20", "--unit", "cm")
    done("convert", tmp_path / f"mid{suffix}", tmp_path / "out.bvh", *(["--unit", "cm"] if suffix == ".bvh" else []))
    np.testing.assert_allclose(places(tmp_path / "out.bvh"), places(tmp_path / "in.bvh")[:20], atol=2 * HELD)


@pytest.mark.parametrize("kind", ["empty", "noise"])
def test_files_that_are_none_are_refused_in_words(clips: Path, tmp_path: Path, kind: str) -> None:
    for file in sorted(clips.glob(f"{kind}.*")):
        out = tmp_path / "out.bvh"
        for arguments in (
            ("info", file, "--json"),
            ("convert", file, out),
            ("retarget", file, clips / "child.bvh", "-o", out, "--json"),
            ("map", clips / "walk.bvh", file, "--json"),
        ):
            result = run(*arguments)
            assert result.exit_code == 1, (file, result.output)
            assert result.stdout == ""
            assert f"{file.stem}." in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_a_link_stays_one(tmp_path: Path) -> None:
    motion = samples.motion("walk").motion[:4]
    (tmp_path / "deep").mkdir()
    write(motion, tmp_path / "deep" / "walk.bvh")
    (tmp_path / "link.bvh").symlink_to(tmp_path / "deep" / "walk.bvh")
    write(motion[:2], tmp_path / "link.bvh")
    assert (tmp_path / "link.bvh").is_symlink()
    assert "Frames: 2\n" in (tmp_path / "deep" / "walk.bvh").read_text()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["deep", "link.bvh", "walk.bvh"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_or_device_is_written_into_not_replaced(tmp_path: Path) -> None:
    """Whoever may write in its folder would otherwise put a plain file in the place of a device."""
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    with open_to_write(pipe) as stream:
        stream.write(b"a report")
    reader.join(timeout=10.0)
    assert got == [b"a report"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_animations_that_are_left_out_are_told_truly(tmp_path: Path) -> None:
    skeleton = samples.character("child")
    lost = write(Clip(skeleton=skeleton, format="fbx", clips=("Take 001",)), tmp_path / "a.npz")
    assert "no motion is written: the file's animations are left out, 1 of them" in lost
    motion = replace(samples.motion("walk").motion[:3], name="Walk")
    both = Clip(skeleton=motion.skeleton, motion=motion, format="gltf", clips=("Walk", "Run"))
    lost = write(both, tmp_path / "b.npz")
    assert [each for each in lost if "animations" in each] == [
        "only one motion is written; the file's other animations are left out, 1 of them"
    ]


# What can be asked for


@pytest.mark.parametrize("command", ["convert", "retarget", "transition"])
def test_a_rate_with_too_many_zeros_is_refused_before_memory_is_full(clips: Path, tmp_path: Path, command: str) -> None:
    walk, out = clips / "walk.bvh", tmp_path / "out.bvh"
    arguments = ("convert", walk, out) if command == "convert" else (command, walk, walk, "-o", out)
    result = run(*arguments, "--fps", "1e8")
    assert result.exit_code == 2
    assert "Expected at most 10000 frames per second, got 1e+08" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--count", "100000"), 2, "Expected at most 2000 markers on a body; a count of 100000 makes 1e+05"),
        (("--density", "1e9"), 2, "Expected at most 2000 markers on a body; a density of 1e+09"),
        (("--mean-pose", "walk.bvh@x"), 2, "Expected --mean-pose as FILE or FILE@N"),
        (("--picture", "a.xyz"), 2, "Pictures are written as .png or .svg; got `a.xyz`"),
        (("--picture", "nowhere/a.png"), 1, "there is no folder `nowhere` to write it into"),
        (("--report", "nowhere/a.json"), 1, "there is no folder `nowhere` to write it into"),
    ],
)
def test_analogies_refuse_what_cannot_be_had(
    clips: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, str], code: int, said: str
) -> None:
    monkeypatch.chdir(clips)
    result = run("analogy", "walk.bvh", "walk.bvh", "walk.bvh", "-o", "analogous.bvh", "--json", *options)
    assert result.exit_code == code, result.stderr
    assert said in result.stderr
    assert result.stdout == ""
    assert not Path("analogous.bvh").exists()


@pytest.mark.parametrize("option", ["leave", "enter"])
@pytest.mark.parametrize("moment", ["99", "-1", "nan"])
def test_a_transition_at_a_moment_that_there_is_not(clips: Path, tmp_path: Path, option: str, moment: str) -> None:
    walk = clips / "walk.bvh"
    result = run("transition", walk, walk, "-o", tmp_path / "a.bvh", f"--{option}", moment)
    assert result.exit_code == 2
    assert f"Expected --{option} from 0 to 1.00 s, where the motion ends; got {moment} s." in result.stderr


@pytest.mark.parametrize("command", ["retarget", "transition", "analogy", "convert"])
def test_outputs_that_cannot_be_written(clips: Path, command: str) -> None:
    walk = clips / "walk.bvh"
    given = {
        "convert": ("convert", walk),
        "retarget": ("retarget", walk, "--scale", 0.8, "-o"),
        "transition": ("transition", walk, walk, "-o"),
        "analogy": ("analogy", walk, walk, walk, "-o"),
    }[command]
    for out, code in (("folder.bvh", 1), ("nowhere/a.bvh", 1), ("a.xyz", 1), ("a", 1), ("a.urdf", 2)):
        result = run(*given, clips / out)
        assert result.exit_code == code, (out, result.output)
        assert out.rpartition("/")[2] in result.stderr
        assert result.stdout == ""
    assert "the name has no ending to tell its format by; can be written: .amc" in run(*given, clips / "a").stderr
    assert list((clips / "folder.bvh").iterdir()) == []


def test_a_sample_where_a_file_is_wanted_says_how_to_have_one() -> None:
    result = run("info", "sample:walk")
    assert result.exit_code == 1
    assert "hint: samples are written as files by `understudy samples NAME -o FILE`" in result.stderr


def test_names_of_any_script(clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wandern ü 走る.bvh").write_bytes((clips / "walk.bvh").read_bytes())
    Path("gëant#1.bvh").write_bytes((clips / "child.bvh").read_bytes())
    pair = ("wandern ü 走る.bvh", "gëant#1.bvh")
    done("map", *pair, "-o", "kärte.toml")
    done("recipe", *pair, "-o", "rezépt.toml")
    result = done("retarget", *pair, "--map", "kärte.toml", "-o", "aus 走.bvh", "--json", "--report", "berícht.json")
    assert json.loads(result.stdout)["files"] == ["aus 走.bvh"]
    assert json.loads(Path("berícht.json").read_text(encoding="utf-8")) == json.loads(result.stdout)
    done("retarget", "--recipe", "rezépt.toml", "-o", "zweí.bvh")
    np.testing.assert_array_equal(places(Path("zweí.bvh")), places(Path("aus 走.bvh")))


@pytest.mark.parametrize("target", ["sample:child", "sample:dog", "sample:can"])
def test_one_frame_is_a_motion(clips: Path, tmp_path: Path, target: str) -> None:
    data = json.loads(done("retarget", clips / "one.bvh", target, "-o", tmp_path / "a.bvh", "--json").stdout)
    assert data["frames"] == 1
    assert data["faults"] == []
    result = run("transition", clips / "one.bvh", "sample:walk", "-o", tmp_path / "b.bvh", "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "A transition needs motions of 4 frames or more; got 1 and" in result.stderr


def test_an_output_may_be_the_input_if_that_is_asked_for(clips: Path, tmp_path: Path) -> None:
    before = (clips / "walk.bvh").read_bytes()
    (tmp_path / "walk.bvh").write_bytes(before)
    refused = run("convert", tmp_path / "walk.bvh", tmp_path / "walk.bvh")
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    done("convert", tmp_path / "walk.bvh", tmp_path / "walk.bvh", "--force")
    assert (tmp_path / "walk.bvh").read_bytes() == before
    done("retarget", tmp_path / "walk.bvh", clips / "child.bvh", "-o", tmp_path / "walk.bvh", "--force")
    done("retarget", clips / "walk.bvh", clips / "child.bvh", "-o", tmp_path / "apart.bvh")
    np.testing.assert_array_equal(places(tmp_path / "walk.bvh"), places(tmp_path / "apart.bvh"))


# Maps


@pytest.mark.parametrize(
    ("source", "target"),
    [("walk", "child"), ("walk", "dog"), ("walk", "can"), ("walk", "shark"), ("dog_walk", "walk"), ("walk", "spider")],
)
def test_a_map_that_was_written_changes_nothing(tmp_path: Path, source: str, target: str) -> None:
    pair = (f"sample:{source}", f"sample:{target}")
    done("map", *pair, "-o", tmp_path / "map.toml")
    for name, extra in (("bare", ()), ("mapped", ("--map", tmp_path / "map.toml"))):
        done("retarget", *pair, "-o", tmp_path / f"{name}.bvh", "--frames", "0:30", *extra)
    np.testing.assert_array_equal(places(tmp_path / "mapped.bvh"), places(tmp_path / "bare.bvh"))


@pytest.mark.parametrize(("first", "second"), [("walk", "dog_walk"), ("walk", "march")])
def test_a_map_that_was_written_changes_no_transition(tmp_path: Path, first: str, second: str) -> None:
    pair = (f"sample:{first}", f"sample:{second}")
    done("map", *pair, "-o", tmp_path / "map.toml")
    for name, extra in (("bare", ()), ("mapped", ("--map", tmp_path / "map.toml"))):
        done("transition", *pair, "-o", tmp_path / f"{name}.bvh", *extra)
    np.testing.assert_array_equal(places(tmp_path / "mapped.bvh"), places(tmp_path / "bare.bvh"))


def test_a_map_of_the_same_joints_that_says_more_is_followed(tmp_path: Path) -> None:
    """Taking a pair out, or turning a bone, is not what goes without saying."""
    pair = ("sample:walk", "sample:child")
    done("map", *pair, "-o", tmp_path / "map.toml")
    text = (tmp_path / "map.toml").read_text()
    at = text.index('source = "LeftArm"')
    at = text.index("\n", text.index("target", at)) + 1
    (tmp_path / "map.toml").write_text(text[:at] + "twist = 90.0\n" + text[at:])
    for name, extra in (("bare", ()), ("mapped", ("--map", tmp_path / "map.toml"))):
        done("retarget", *pair, "-o", tmp_path / f"{name}.bvh", "--frames", "0:10", *extra)
    bare, mapped = (read(tmp_path / f"{name}.bvh").motion for name in ("bare", "mapped"))
    assert bare is not None
    assert mapped is not None
    arm = bare.skeleton.joint("LeftArm")
    assert np.abs(np.einsum("fi,fi->f", bare.rotations[:, arm], mapped.rotations[:, arm])).max() < 0.9


# Results that are no use


def spoil(motion: Motion, how: str) -> Motion:
    """A result as a fault of ours would leave it."""
    if how == "mirrored":
        return mirror(motion)
    return motion[np.zeros(motion.num_frames, int)]


@pytest.mark.parametrize(
    ("how", "said"), [("mirrored", "is mirrored: its left does"), ("frozen", "stands still while")]
)
def test_a_spoiled_retarget_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, said: str) -> None:
    solve = Prepared.solve

    def spoiled(self: Prepared, *arguments: Any) -> Retargeted:
        found = solve(self, *arguments)
        motions = tuple(spoil(motion, how) for motion in found.motions)
        return replace(found, solution=replace(found.solution, motions=motions))

    monkeypatch.setattr(Prepared, "solve", spoiled)
    result = run("retarget", "sample:walk", "sample:child", "-o", tmp_path / "a.bvh", "--frames", ":60", "--json")
    assert result.exit_code == 1
    (fault,) = json.loads(result.stdout)["faults"]
    assert fault.startswith(f"the result {said}")
    assert f"{fault}: no use; " in result.stderr


@pytest.mark.parametrize(("how", "said"), [("mirrored", "is mirrored: its left does"), ("frozen", "stands still")])
def test_a_spoiled_transition_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, said: str) -> None:
    go_over = transitions.transition

    def spoiled(*arguments: Any, **options: Any) -> transitions.Transition:
        found = go_over(*arguments, **options)
        return replace(found, motion=spoil(found.motion, how))

    monkeypatch.setattr(transitions, "transition", spoiled)
    result = run("transition", "sample:walk", "sample:march", "-o", tmp_path / "a.bvh", "--json")
    assert result.exit_code == 1
    assert any(f"the first part {said}" in fault for fault in json.loads(result.stdout)["faults"])
    assert f"warning: the first part {said}" in result.stderr


@pytest.mark.parametrize(("how", "said"), [("mirrored", "is mirrored: its left does"), ("frozen", "stands still")])
def test_a_spoiled_analogy_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, said: str) -> None:
    make = analogies.analogy

    def spoiled(*arguments: Any, **options: Any) -> analogies.Analogy:
        found = make(*arguments, **options)
        return replace(found, motion=spoil(found.motion, how))

    monkeypatch.setattr(analogies, "analogy", spoiled)
    result = run("analogy", "sample:walk", "sample:dog_walk", "sample:march", "-o", tmp_path / "a.bvh", "--json")
    assert result.exit_code == 1
    (fault,) = json.loads(result.stdout)["faults"]
    assert fault.startswith(f"the result {said}")
    assert f"warning: {fault}" in result.stderr


def test_output_that_cannot_be_printed_is_said(clips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("understudy.app.info.print_json", full)
    result = run("info", clips / "walk.bvh", "--json")
    assert result.exit_code == 1
    assert result.stderr == "error: the output: No space left on device\n"
