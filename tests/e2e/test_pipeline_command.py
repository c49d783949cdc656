"""What pipelines need of the command line: streams, quiet, one kind of error, nothing overwritten unasked."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from tests.vrm_models import model as vrm_model

from understudy import samples
from understudy.app.cli import cli
from understudy.base.errors import OptionError
from understudy.figure.motion import rest_motion
from understudy.io import formats, read, write

studio = importlib.import_module("understudy.app.studio")

RUN = [sys.executable, "-c", "from understudy.app.cli import main; main()"]


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    path = tmp_path / "walk.bvh"
    write(samples.motion("walk").motion[:20], path)
    return path


def test_files_go_through_stdin_and_stdout(walk: Path, tmp_path: Path) -> None:
    command = [*RUN, "convert", "-", "-", "--from", "bvh", "--to", "glb"]
    done = subprocess.run(command, input=walk.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    (tmp_path / "out.glb").write_bytes(done.stdout)
    motion = read(tmp_path / "out.glb").motion
    assert motion is not None
    assert motion.num_frames == 20


def test_a_retarget_stands_in_a_pipe(walk: Path, tmp_path: Path) -> None:
    command = [*RUN, "retarget", "-", "sample:child", "-o", "-", "--from", "bvh", "--to", "bvh"]
    done = subprocess.run(command, input=walk.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"verdict" in done.stderr
    assert done.stdout.startswith(b"HIERARCHY")
    described = subprocess.run([*RUN, "info", "-", "--from", "bvh", "--json"], input=done.stdout, capture_output=True,
                               check=True)  # fmt: skip
    assert json.loads(described.stdout)["frames"] == 20
    measured = subprocess.run([*RUN, "evaluate", "-", "--from", "bvh"], input=done.stdout, capture_output=True,
                              check=True)  # fmt: skip
    assert measured.stdout.startswith(b"-: 20 frames")


@pytest.mark.parametrize("command", ["convert", "retarget"])
def test_what_a_stream_cannot_hold_is_refused(walk: Path, command: str) -> None:
    start = [command, str(walk), *(["-"] if command == "convert" else ["sample:child", "-o", "-"]), "--to", "glb"]
    for option, words in (("--json", "each needs stdout"), ("--in-place", "writes the path beside OUT")):
        result = CliRunner().invoke(cli, [*start, option])
        assert result.exit_code == 2
        assert words in result.output


def test_every_command_can_be_quiet_or_verbose(walk: Path) -> None:
    for name in cli.list_commands(click.Context(cli)):
        text = CliRunner().invoke(cli, [name, "--help"]).output
        assert "-q, --quiet" in text, name
        assert "-v, --verbose" in text, name
    assert "note: took " in CliRunner().invoke(cli, ["info", str(walk), "-v"]).output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("understudy inf", "plain,info"), ("understudy info wa", "file,wa"), ("understudy retarget a b -o x", "file,x"),
        ("understudy retarget sample:wal", "plain,sample:walk"), ("understudy convert a b --preset un", "plain,unity"),
    ],
)  # fmt: skip
def test_shells_complete_commands_files_and_samples(words: str, expected: str) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_UNDERSTUDY_COMPLETE": "bash_complete"}
    done = subprocess.run(RUN, env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert expected in done.stdout.split()


def test_a_stream_needs_a_format(walk: Path) -> None:
    result = CliRunner().invoke(cli, ["convert", str(walk), "-"])
    assert result.exit_code == 2
    assert result.output.startswith("error: `-` has no ending to tell its format by: add --to FORMAT")


def test_quiet_leaves_notes_out_and_keeps_the_result(walk: Path, tmp_path: Path) -> None:
    arguments = ["convert", str(walk), str(tmp_path / "out.bvh"), "--drop-reference"]
    loud = CliRunner().invoke(cli, arguments)
    quiet = CliRunner().invoke(cli, [*arguments, "--quiet"])
    assert "note: no frame looks like a reference pose" in loud.output
    assert quiet.output == f"{tmp_path / 'out.bvh'}: 20 frames, 22 joints\n"


def test_all_errors_begin_alike(walk: Path, tmp_path: Path) -> None:
    for arguments in (
        ["convert", str(walk)],
        ["convert", str(walk), str(tmp_path / "x.xyz")],
        ["convert", str(tmp_path / "none.bvh"), str(tmp_path / "x.glb")],
        ["info", "--nonsense", str(walk)],
        ["retarget", str(walk), "-o", str(tmp_path / "x.bvh")],
        ["wrong"],
    ):
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code in (1, 2), arguments
        assert result.output.startswith("error: "), result.output


def test_what_can_be_written_is_listed(walk: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["retarget", str(walk), "--scale", "0.9", "-o", str(tmp_path / "x.urdf")])
    assert result.exit_code == 2
    assert "files of this kind can be read, not written; written are" in result.output
    assert ".fbx" in result.output


def test_what_is_lost_is_said_before_with_the_format_that_keeps_it(walk: Path, tmp_path: Path) -> None:
    hero = tmp_path / "hero.glb"
    write(samples.motion("walk").motion[:10], hero)
    sentence = "note: BVH will not hold the character's meshes and other animations: `out.glb`, its own format, keeps"
    result = CliRunner().invoke(cli, ["retarget", str(walk), str(hero), "-o", str(tmp_path / "out.bvh")])
    assert result.exit_code == 0, result.output
    assert result.output.startswith(sentence)
    result = CliRunner().invoke(cli, ["retarget", str(walk), str(hero), "-o", str(tmp_path / "out.glb")])
    assert "will not hold" not in result.output


def test_options_that_need_a_new_file_say_what_it_loses(walk: Path, tmp_path: Path) -> None:
    hero, model = tmp_path / "hero.glb", tmp_path / "model.vrm"
    motion = samples.motion("walk").motion[:20]
    write(motion, hero)
    clip = read(hero)
    write(replace(clip, motion=replace(motion, skeleton=clip.skeleton, name="Run")), hero)
    model.write_bytes(vrm_model(1))
    for options, other, bones in (
        (["--root-motion"], "Run", {"root", "Hips"}),
        (["--prefix", "a:"], "Run", {"a:Hips"}),
        (["--preset", "godot"], "Run", {"Root", "Hips"}),
    ):
        out = tmp_path / "out.glb"
        result = CliRunner().invoke(cli, ["retarget", str(walk), str(hero), "-o", str(out), *options])
        assert result.exit_code == 0, result.output
        alone = options[0] == "--preset"
        assert ("animations are left out" in result.output) is alone
        assert (other in read(out).clips) is not alone
        assert bones <= set(read(out).skeleton.names)
        result = CliRunner().invoke(cli, ["convert", f"{hero}#Run", str(out), *options])
        words = f"{' '.join(options) if options[0] == '--preset' else options[0]} makes a new file, without"
        assert f"note: {words} the character's other animations: without it they stay" in result.output
        assert "not kept: only one motion is written; the file's other animations are left out" in result.output
    result = CliRunner().invoke(cli, ["convert", f"{hero}#Run", str(tmp_path / "out.fbx")])
    assert "note: one animation will be written: without a name of one the character's others are" in result.output
    result = CliRunner().invoke(cli, ["convert", str(hero), str(tmp_path / "out.fbx"), "--preset", "unity"])
    assert "note: one animation will be written: without the preset the character's others are" in result.output
    result = CliRunner().invoke(cli, ["retarget", str(walk), str(model), "-o", str(tmp_path / "out.fbx")])
    assert result.output.startswith("note: FBX will not hold the character's licence, expressions, ")
    assert " and spring bones: `out.vrm`, its own format, keeps them" in result.output.partition("\n")[0]
    # A VRM file that cannot be written is refused before the work.
    for arguments, words in (
        ([str(model), "-o", str(tmp_path / "x.vrm"), "--root-motion"], "--root-motion asks for joints that the model"),
        ([str(hero), "-o", str(tmp_path / "x.vrm")], "A VRM file is written only for a character that was read"),
    ):
        result = CliRunner().invoke(cli, ["retarget", str(walk), *arguments])
        assert result.exit_code == 2
        assert result.output.startswith(f"error: {words}")
    # In a .glb file a VRM model keeps all of this.
    result = CliRunner().invoke(cli, ["convert", str(model), str(tmp_path / "model.glb")])
    assert "will not hold" not in result.output
    assert "not kept" not in result.output


def test_files_of_other_kinds_come_with_a_way_out(walk: Path, tmp_path: Path) -> None:
    (tmp_path / "hero.dae").write_text("<COLLADA/>")
    result = CliRunner().invoke(cli, ["info", str(tmp_path / "hero.dae")])
    assert result.exit_code == 1
    assert "no format ends in `.dae`; can be read: " in result.output
    assert "hint: Collada is not read or written: use FBX or glTF" in result.output


def test_samples_have_the_unit_of_their_format(tmp_path: Path) -> None:
    for name, unit in (("walk.glb", 1.0), ("walk.vrma", 1.0), ("adult.gltf", 1.0), ("walk.bvh", 0.01)):
        result = CliRunner().invoke(cli, ["samples", name.partition(".")[0], "-o", str(tmp_path / name)])
        assert result.exit_code == 0, result.output
        assert read(tmp_path / name).unit == unit, name


def test_a_reference_frame_is_no_part_of_a_clip_for_an_engine(walk: Path, tmp_path: Path) -> None:
    motion = samples.motion("walk").motion[:40]
    pose = rest_motion(motion.skeleton, fps=motion.fps)
    capture, out = tmp_path / "capture.bvh", tmp_path / "out.glb"
    write(
        motion.derived(
            root=np.concatenate([pose.root, motion.root + np.array([0.0, 0.0, 2.0])]),
            rotations=np.concatenate([pose.rotations, motion.rotations]),
        ),
        capture,
    )
    for options, frames, words in (
        ([], 41, "frame 0 only shows a reference pose (--drop-reference leaves it out)"),
        (["--keep-reference"], 41, ""),
        (["--drop-reference"], 40, "frame 0 shows a reference pose and was dropped"),
        (["--root-motion"], 40, "frame 0 shows a reference pose and was dropped (--keep-reference keeps it)"),
        (["--root-motion", "--keep-reference"], 41, ""),
    ):
        result = CliRunner().invoke(cli, ["convert", str(capture), str(out), *options])
        assert result.exit_code == 0, result.output
        assert f"out.glb: {frames} frames" in result.output, options
        assert words in result.output
        assert words or "reference pose" not in result.output


def test_an_input_is_not_overwritten_unasked(walk: Path) -> None:
    before = walk.read_bytes()
    result = CliRunner().invoke(cli, ["convert", str(walk), str(walk), "--fps", "15"])
    assert result.exit_code == 2
    assert "is also an input, and would be overwritten" in result.output
    assert walk.read_bytes() == before
    for arguments in (
        ["morph", str(walk), "--scale", "1.1"],
        ["transition", str(walk), "sample:walk"],
        ["analogy", str(walk), "sample:child", "sample:walk"],
    ):
        result = CliRunner().invoke(cli, [*arguments, "-o", str(walk)])
        assert "is also an input, and would be overwritten" in result.output, arguments
    assert walk.read_bytes() == before
    assert CliRunner().invoke(cli, ["convert", str(walk), str(walk), "--fps", "15", "--force"]).exit_code == 0
    assert walk.read_bytes() != before


def test_a_recipe_is_not_overwritten_unasked(walk: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "walk.toml"
    recipe.write_text("# edited")
    arguments = ["recipe", str(walk), "--scale", "0.9", "-o", str(recipe)]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert "what was edited in it would be lost" in result.output
    assert recipe.read_text() == "# edited"
    assert CliRunner().invoke(cli, [*arguments, "--force"]).exit_code == 0


def test_formats_are_listed() -> None:
    text = CliRunner().invoke(cli, ["formats"]).output
    rows = json.loads(CliRunner().invoke(cli, ["formats", "--json"]).output)
    assert {row["name"] for row in rows} == set(formats())
    for item in formats().values():
        assert item.title in text


def test_the_studio_opens_the_animation_that_is_named(walk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, ...]] = []

    def make_session(files: tuple[str, ...], *_: object) -> None:
        opened.append(files)
        raise OptionError("far enough")

    monkeypatch.setattr(studio, "find_page", lambda: walk.parent)
    monkeypatch.setattr(studio, "check_packages", lambda: None)
    monkeypatch.setattr(studio, "make_session", make_session)
    result = CliRunner().invoke(cli, ["studio", "hero.glb", "sample:child", "--clip", "Run", "--no-browser"])
    assert "far enough" in result.output
    assert opened == [("hero.glb#Run", "sample:child")]
    for files in ([], ["sample:walk"], ["walk.toml"]):
        result = CliRunner().invoke(cli, ["studio", *files, "--clip", "Run", "--no-browser"])
        assert result.exit_code == 2
        assert "--clip chooses an animation of a motion's file" in result.output
