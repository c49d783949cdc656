"""The command line: output, exit codes, files, and modules that must not be imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import understudy
from understudy import samples
from understudy.app.cli import cli
from understudy.figure.kinematics import fk
from understudy.io import read

COMMANDS = ("convert", "demo", "info", "picture", "samples")


def run(*arguments: str | Path) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="understudy")


def run_apart(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, as a shell does."""
    code = "from understudy.app.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample walk as a BVH file: 31 frames at 30 fps."""
    path = tmp_path_factory.mktemp("clips") / "walk.bvh"
    result = run("samples", "walk", "-o", path, "--seconds", "1")
    assert result.exit_code == 0, result.stderr
    return path


# The program as a whole


def test_version() -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout == f"understudy {understudy.__version__}\n"


def test_package_is_a_command_too() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "understudy", "--version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout == f"understudy {understudy.__version__}\n"


def test_help_lists_every_command() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in result.stdout
    assert "..." not in result.stdout.partition("Commands:")[2], "no summary is cut short"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_ends_in_an_example_and_offers_json(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert result.stdout.rstrip().rpartition("\n\n")[2].strip().startswith(f"Example: understudy {command} ")
    assert "--json" in result.stdout


def test_wrong_use_exits_with_2() -> None:
    for arguments in (["inf"], ["info"], ["info", "a.bvh", "--nonsense"], ["convert", "a.bvh"]):
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert result.stdout == "", arguments
        assert "Traceback" not in result.stderr, arguments


def test_unknown_command_names_the_nearest() -> None:
    assert "There is no command `inf`; nearest: `info`" in run("inf").stderr


def test_errors_go_to_stderr_without_traceback() -> None:
    result = run_apart("info", "missing.bvh")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == "error: missing.bvh: there is no such file\n"


def test_hint_follows_the_error(walk: Path, tmp_path: Path) -> None:
    lines = walk.read_text().splitlines()
    short = tmp_path / "short.bvh"
    short.write_text("\n".join(lines[:-5]) + "\n")
    result = run("info", short)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {short}:")
    assert "\n\nhint: " in result.stderr


def test_colour_only_where_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    on_terminal = CliRunner().invoke(cli, ["info", "missing.bvh"], color=True)
    assert on_terminal.stderr.startswith("\x1b[")
    refused = CliRunner(env={"NO_COLOR": "1"}).invoke(cli, ["info", "missing.bvh"], color=True)
    assert refused.stderr == "error: missing.bvh: there is no such file\n"
    assert "\x1b[" not in run_apart("info", "missing.bvh").stderr, "not into a pipe"


def test_interrupt_is_no_traceback(monkeypatch: pytest.MonkeyPatch, walk: Path) -> None:
    def stop(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("understudy.io.read", stop)
    result = run("info", walk)
    assert result.exit_code == 130
    assert result.stderr == "stopped\n"


def test_broken_pipe_is_quiet(walk: Path) -> None:
    code = "from understudy.app.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "info", str(walk)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    process.stderr.close()
    process.wait(timeout=60)
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (["--help"], ("numpy", "scipy", "matplotlib")),
        (["info", "FILE"], ("scipy", "matplotlib")),
        (["convert", "FILE", "OUT"], ("scipy", "matplotlib")),
        (["samples"], ("scipy", "matplotlib")),
        (["picture", "FILE", "-o", "PICTURE"], ("scipy", "matplotlib.pyplot")),
    ],
)
def test_slow_modules_are_not_imported(
    arguments: list[str], absent: tuple[str, ...], walk: Path, tmp_path: Path
) -> None:
    places = {"FILE": str(walk), "OUT": str(tmp_path / "out.bvh"), "PICTURE": str(tmp_path / "out.png")}
    code = (
        "import sys\nfrom understudy.app.cli import main\ntry:\n    main()\nexcept SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        f"print([name for name in {absent!r} if name in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *(places.get(argument, argument) for argument in arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr.splitlines()[-1] == "[]"


# info


def test_info_shows_the_content_of_a_file(walk: Path) -> None:
    result = run("info", walk)
    assert result.exit_code == 0
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines()[:7] if not line.startswith("rest"))
    assert lines["frames"] == "31 at 30 fps, 1.00 s"
    assert lines["unit"].startswith("cm")
    assert lines["up"].startswith("Y")
    assert lines["size"].startswith("height 1.750 m, leg 0.850 m")
    assert "rest pose  T-pose" in result.stdout
    assert "└─ " in result.stdout
    assert "-> " in result.stdout


def test_info_tree_holds_every_joint_once_and_under_its_parent(walk: Path) -> None:
    lines = run("info", walk).stdout.splitlines()[7:]
    skeleton = read(walk).skeleton
    named = {line.replace("│", " ").replace("├─", "  ").replace("└─", "  ").split()[0]: line for line in lines}
    assert set(named) == set(skeleton.names)
    assert len(lines) == skeleton.num_joints
    for joint, name in enumerate(skeleton.names):
        assert named[name].index(name) == 2 + 3 * skeleton.depths[joint]


def test_info_json_is_all_of_stdout(walk: Path) -> None:
    result = run("info", walk, "--json")
    data = json.loads(result.stdout)
    skeleton = read(walk).skeleton
    assert [joint["name"] for joint in data["joints"]] == list(skeleton.names)
    assert data["frames"] == 31
    assert data["fps"] == pytest.approx(30.0)
    assert data["joints"][0]["channels"][:3] == ["Xposition", "Yposition", "Zposition"]
    assert data["up"]["axis"] == "Y"
    assert data["unit"]["metres"] == 0.01
    assert data["height"] == pytest.approx(1.75, abs=1e-3)
    assert sum(len(joint["ends"]) for joint in data["joints"]) == len(skeleton.ends)


def test_info_takes_unit_and_up_as_told(walk: Path) -> None:
    data = json.loads(run("info", walk, "--unit", "inch", "--up", "z", "--json").stdout)
    assert data["unit"]["metres"] == 0.0254
    assert data["up"]["axis"] == "Z"
    refused = run("info", walk, "--unit", "parsec")
    assert refused.exit_code == 2
    assert "Expected a unit, one of m, dm, cm" in refused.stderr


def test_info_reads_damaged_files_when_asked(walk: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.bvh"
    short.write_text("\n".join(walk.read_text().splitlines()[:-5]) + "\n")
    assert run("info", short).exit_code == 1
    result = run("info", short, "--lenient")
    assert result.exit_code == 0
    assert "frames     26 at 30 fps" in result.stdout
    assert "left out: " in result.stderr


def test_info_prints_on_terminals_without_lines(walk: Path) -> None:
    result = run_apart("info", walk, PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    assert "`- " in result.stdout


# convert


def test_convert_changes_nothing_else(walk: Path, tmp_path: Path) -> None:
    out = tmp_path / "same.bvh"
    result = run("convert", walk, out)
    assert result.exit_code == 0
    assert result.stdout == f"{out}: 31 frames, 22 joints\n"
    assert out.read_bytes() == walk.read_bytes()


def test_convert_chooses_frames_and_rate(walk: Path, tmp_path: Path) -> None:
    out = tmp_path / "cut.bvh"
    result = run("convert", walk, out, "--frames", "5:26", "--fps", "15", "--json")
    assert json.loads(result.stdout) == {"file": str(out), "frames": 11, "fps": 15.0, "notes": [], "not_kept": []}
    before, after = read(walk), read(out)
    assert before.motion is not None
    assert after.motion is not None
    assert after.layout.channels == before.layout.channels
    wanted = fk(before.motion).positions[5:26:2]
    assert fk(after.motion).positions == pytest.approx(wanted, abs=1e-6)


def test_convert_changes_unit_and_up_of_the_output(walk: Path, tmp_path: Path) -> None:
    out = tmp_path / "zup.bvh"
    assert run("convert", walk, out, "--to-unit", "m", "--to-up", "Z").exit_code == 0
    before, after = read(walk).motion, read(out, unit="m", up="Z").motion
    assert before is not None
    assert after is not None
    assert fk(after).positions == pytest.approx(fk(before).positions, abs=1e-6)
    converted = read(out, unit="m", up="Y").motion
    assert converted is not None
    assert np.ptp(converted.root[:, 2]) == pytest.approx(np.ptp(before.root[:, 1]), abs=1e-6)


def test_convert_drops_a_reference_frame(walk: Path, tmp_path: Path) -> None:
    lines = walk.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Frame Time")) + 1
    zeros = " ".join("0" for _ in lines[first].split())
    lines[first - 2] = "Frames: 32"
    (tmp_path / "added.bvh").write_text("\n".join([*lines[:first], zeros, *lines[first:]]) + "\n")
    out = tmp_path / "out.bvh"
    result = run("convert", tmp_path / "added.bvh", out, "--drop-reference")
    assert result.exit_code == 0
    assert "frame 0 shows a reference pose and was dropped" in result.stderr
    assert result.stdout.startswith(f"{out}: 31 frames")
    second = run("convert", out, tmp_path / "again.bvh", "--drop-reference")
    assert "no frame looks like a reference pose; none was dropped" in second.stderr


def test_convert_refuses_what_cannot_be_done(walk: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.bvh"
    cases = {
        ("--frames", "5-9"): (2, "expected frames as A:B"),
        ("--frames", "50:60"): (1, "No frame is left to write; the motion has 31"),
        ("--fps", "0"): (2, "Expected frames per second above zero, got 0"),
        ("--to-up", "W"): (2, "Expected an up axis, one of X, Y, Z, -X, -Y, -Z; got `W`"),
    }
    for options, (code, message) in cases.items():
        result = run("convert", walk, out, *options)
        assert result.exit_code == code, options
        assert message in result.stderr, options
    assert run("convert", walk, tmp_path / "out.xyz").exit_code == 1
    assert run("convert", walk, tmp_path / "nowhere" / "out.bvh").exit_code == 1
    assert list(tmp_path.iterdir()) == []


ARM = """:version 1.10
:name arm
:units
  mass 1.0
  length 1.0
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name elbow
    direction 1 0 0
    length 10
    axis 0 0 0 XYZ
    dof rz
    limits (-10 120)
  end
:hierarchy
  begin
    root elbow
  end
"""


def test_convert_says_what_a_format_cannot_hold(tmp_path: Path) -> None:
    (tmp_path / "arm.asf").write_text(ARM)
    result = run("convert", tmp_path / "arm.asf", tmp_path / "arm.bvh", "--json")
    assert result.exit_code == 0, result.stderr
    assert "not kept: BVH has no limits" in result.stderr
    assert any("BVH has no limits" in sentence for sentence in json.loads(result.stdout)["not_kept"])


def test_convert_of_a_character_has_no_frames_to_choose(tmp_path: Path) -> None:
    (tmp_path / "arm.asf").write_text(ARM)
    result = run("convert", tmp_path / "arm.asf", tmp_path / "arm.bvh", "--fps", "30")
    assert result.exit_code == 2
    assert "a character without motion: there are no frames to choose or resample" in result.stderr


def test_info_of_a_character_says_that_it_has_no_motion(tmp_path: Path) -> None:
    (tmp_path / "arm.asf").write_text(ARM)
    result = run("info", tmp_path / "arm.asf")
    assert "frames     none: a character only" in result.stdout
    data = json.loads(run("info", tmp_path / "arm.asf", "--json").stdout)
    assert data["fps"] is None
    assert data["joints"][1]["kind"] == "hinge"
    assert data["joints"][1]["channels"] == ["rz"]


# samples


def test_samples_lists_names_with_what_they_show() -> None:
    result = run("samples")
    assert result.exit_code == 0
    for sample in [*samples.characters().values(), *samples.motions().values()]:
        assert any(sample.name in line and sample.about in line for line in result.stdout.splitlines())
    data = json.loads(run("samples", "--json").stdout)
    assert [entry["name"] for entry in data["motions"]] == list(samples.motions())


def test_samples_say_what_a_format_cannot_hold(tmp_path: Path) -> None:
    result = run("samples", "adult", "-o", tmp_path / "adult.bvh")
    assert "not kept: BVH has no limits" in result.stderr


def test_samples_writes_contacts_beside_the_motion(walk: Path) -> None:
    data = json.loads((walk.parent / "walk.contacts.json").read_text())
    scene = samples.motion("walk", seconds=1.0)
    assert len(data["contacts"]) == len(scene.contacts)
    pose = fk(scene.motion)
    for entry, contact in zip(data["contacts"], scene.contacts, strict=True):
        assert entry["point"] == contact.point.name
        assert entry["joint"] == contact.point.joint
        frames = contact.frames(30.0, scene.motion.num_frames)
        places = pose.points([contact.point])[frames, 0]
        assert places == pytest.approx(np.broadcast_to(entry["place"], places.shape), abs=1e-5)


def test_samples_go_into_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "clips"
    result = run("samples", "walk", "adult", "-o", folder, "--fps", "20", "--seconds", "1", "--json")
    files = json.loads(result.stdout)["files"]
    assert {Path(file).name for file in files} == {"walk.bvh", "walk.contacts.json", "adult.bvh"}
    assert {path.name for path in folder.iterdir()} == {Path(file).name for file in files}
    motion = read(folder / "walk.bvh").motion
    assert motion is not None
    assert motion.num_frames == 21


def test_scenes_of_several_actors_become_several_files(tmp_path: Path) -> None:
    run("samples", "dance", "-o", tmp_path / "pair.bvh")
    actors = samples.motion("dance").actors
    assert len(actors) == 2
    assert {path.name for path in tmp_path.glob("*.bvh")} == {f"pair_{actor}.bvh" for actor in actors}


def test_samples_refuses_wrong_use(tmp_path: Path) -> None:
    assert "Expected -o FILE_OR_DIR" in run("samples", "walk").stderr
    unknown = run("samples", "wlak", "-o", tmp_path)
    assert unknown.exit_code == 2
    assert unknown.stderr.startswith("error: There is no sample `wlak`; nearest: `walk`")
    assert run("samples", "walk", "-o", tmp_path / "a.bvh", "--fps", "-1").exit_code == 2


# picture


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_picture_of_a_file_and_a_sample(suffix: str, walk: Path, tmp_path: Path) -> None:
    out = tmp_path / f"out.{suffix}"
    result = run("picture", walk, "sample:adult", "-o", out, "--count", "3", "--title", "Two", "--views", "side,top")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{out}\n"
    if suffix == "svg":
        words = {"".join(node.itertext()) for node in ElementTree.parse(out).iter("{http://www.w3.org/2000/svg}text")}
        assert {"Two", "walk.bvh", "adult", "side view", "top view"} <= words
        assert "front view" not in words
    else:
        assert out.read_bytes().startswith(b"\x89PNG")


def test_picture_leaves_out_a_reference_frame(walk: Path, tmp_path: Path) -> None:
    lines = walk.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Frame Time")) + 1
    lines[first - 2] = "Frames: 32"
    added = tmp_path / "added.bvh"
    zeros = " ".join("0" for _ in lines[first].split())
    added.write_text("\n".join([*lines[:first], zeros, *lines[first:]]) + "\n")
    result = run("picture", added, "-o", tmp_path / "a.svg", "--count", "2")
    assert "frame 0 only shows a reference pose and is not drawn" in result.stderr
    assert "31 frames" in (tmp_path / "a.svg").read_text()
    chosen = run("picture", added, "-o", tmp_path / "c.svg", "--count", "2", "--frames", "0:10")
    assert chosen.stderr == "", "frames named are counted as in the file"
    assert "10 frames" in (tmp_path / "c.svg").read_text()
    kept = run("picture", added, "-o", tmp_path / "b.svg", "--count", "2", "--keep-reference")
    assert kept.stderr == ""
    assert "32 frames" in (tmp_path / "b.svg").read_text()


BACKWARDS = {
    "point": "toe",
    "joint": "foot",
    "offset": [0, 0, 0],
    "start": 2,
    "end": 1,
    "place": None,
    "actor": "",
    "on": "floor",
    "other": None,
}


def test_picture_marks_contacts_of_a_file(walk: Path, tmp_path: Path) -> None:
    beside = walk.parent / "walk.contacts.json"
    result = run("picture", walk, "-o", tmp_path / "a.svg", "--contacts", beside)
    assert result.exit_code == 0, result.stderr
    assert "planted here" in (tmp_path / "a.svg").read_text()
    run("picture", walk, "-o", tmp_path / "b.svg")
    assert "planted here" not in (tmp_path / "b.svg").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", ":1: is not valid JSON: "),
        ("[]", ": holds no contacts: "),
        ('{"contacts": [{"point": "toe", "joint": "foot"}]}', ": holds no contacts: a contact has no `offset`"),
        (
            json.dumps({"contacts": [BACKWARDS]}),
            ": holds no contacts: A contact must end after it starts; got 2 to 1 s",
        ),
    ],
)
def test_broken_contacts_are_refused(text: str, message: str, walk: Path, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    result = run("picture", walk, "-o", tmp_path / "a.svg", "--contacts", file)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {file}{message}")


def test_picture_refuses_wrong_use(walk: Path, tmp_path: Path) -> None:
    cases = {
        ("-o", str(tmp_path / "a.bmp")): "Pictures are written as .png or .svg",
        ("-o", str(tmp_path / "a.png"), "--views", "back"): "Expected views among side, front, top; got `back`",
        ("-o", str(tmp_path / "a.png"), "--count", "0"): "0 is not in the range 1<=x<=200",
        ("-o", str(tmp_path / "a.png"), "--style", "comic"): "'comic' is not one of",
    }
    for options, message in cases.items():
        result = run("picture", walk, *options)
        assert result.exit_code == 2, options
        assert message in result.stderr, options
    unknown = run("picture", "sample:wlak", "-o", tmp_path / "a.png")
    assert unknown.exit_code == 2
    assert "There is no sample motion `wlak`; nearest: `walk`" in unknown.stderr
    assert list(tmp_path.iterdir()) == []


def test_missing_matplotlib_is_failed_work(walk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("picture", walk, "-o", tmp_path / "a.png")
    assert result.exit_code == 1
    assert result.stderr == (
        "error: Drawing pictures needs the package `matplotlib`, which is not installed\n\n"
        "hint: pip install 'understudy-motion[picture]'\n"
    )


# demo


def test_demo_says_what_it_shows_and_where_the_page_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = str(tmp_path / "demo.html")
    slides = {"copied": {"slid": 0.722}, "retargeted": {"slid": 0.0}}
    report = {"performed_by": {"giant": slides}, "files": [page], "page": page}
    monkeypatch.setattr("understudy.app.demo.perform", lambda *_: report)
    result = run("demo", "-o", tmp_path, "--no-open")
    assert result.exit_code == 0, result.stderr
    first, *_, last = result.stdout.splitlines()
    assert first == "An adult's walk, performed by three other bodies:"
    assert "feet slide 72.2 cm with copied rotations, 0.0 cm with Understudy" in result.stdout
    assert last == f"Open the page in a browser: {page}"


def test_demo_writes_reads_back_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("demo", "-o", tmp_path / "demo", "--no-open", "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert all(Path(file).stat().st_size > 0 for file in report["files"])
    assert {Path(file).suffix for file in report["files"]} == {".bvh", ".json", ".glb", ".html"}
    assert report["contacts"] > 0
    assert report["worst_contact_mm"] < 0.01
    assert report["worst_joint_mm"] < 0.01
    page = Path(report["page"]).read_text(encoding="utf-8")
    assert page.count('name="group"') == 3, "three bodies to choose from"
    assert page.count("data-command=") == 3, "three next commands"
    assert "src=" not in page, "the page needs nothing from elsewhere"
    for data in report["performed_by"].values():
        assert data["copied"]["slid"] > 0.1
        assert data["retargeted"]["slid"] < 0.001
