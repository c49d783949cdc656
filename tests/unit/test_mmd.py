"""MikuMikuDance: the skeleton of a PMX model, and motions for it as VMD, played here as MikuMikuDance plays them."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy import fk, retarget, samples, write
from understudy.base.errors import FileError, OptionError, UnderstudyError
from understudy.base.quaternion import Array, multiply, rotate
from understudy.figure.measures import height
from understudy.figure.roles import roles
from understudy.io import read

MIDDLE = (
    ("全ての親", "", (0, 0, 0)), ("センター", "全ての親", (0, 8.0, 0)), ("グルーブ", "センター", (0, 8.2, 0)),
    ("腰", "グルーブ", (0, 12.5, 0.1)), ("下半身", "腰", (0, 12.6, 0)), ("上半身", "腰", (0, 12.8, 0)),
    ("上半身2", "上半身", (0, 14.3, 0.1)), ("首", "上半身2", (0, 16.5, 0.3)), ("頭", "首", (0, 17.3, 0.1)),
)  # fmt: skip
SIDED = (
    ("肩", "上半身2", (0.4, 16.1, 0.2)), ("腕", "肩", (1.4, 16.0, 0.3)), ("ひじ", "腕", (3.2, 14.2, 0.3)),
    ("手首", "ひじ", (4.9, 12.6, 0.1)), ("足", "下半身", (0.9, 11.6, 0)), ("ひざ", "足", (0.95, 6.6, -0.1)),
    ("足首", "ひざ", (0.95, 1.2, 0.3)), ("つま先", "足首", (0.95, 0.1, -1.3)),
)  # fmt: skip
"""Bones of the usual tree: name, parent and place in units, left-handed, looking along -Z, arms in an A-pose."""


def bones() -> list[tuple[str, str, tuple[float, float, float], bool]]:
    out = [(name, parent, place, False) for name, parent, place in MIDDLE]
    for side, sign in (("左", 1.0), ("右", -1.0)):
        for name, parent, (x, y, z) in SIDED:
            above = parent if any(parent == other for other, *_ in MIDDLE) else side + parent
            out.append((side + name, above, (sign * x, y, z), False))
        out.append((f"{side}足ＩＫ", "全ての親", (0.95 * sign, 1.2, 0.3), True))
        out.append((f"{side}つま先ＩＫ", f"{side}足ＩＫ", (0.95 * sign, 0.1, -1.3), True))
    return out


def text(words: str) -> bytes:
    raw = words.encode("utf-16-le")
    return struct.pack("<i", len(raw)) + raw


def pmx(kinds: tuple[int, ...] = (0, 1, 2, 3, 4)) -> bytes:
    """A model of one triangle, with vertices of some kinds of weights, a material and the bones above."""
    data = struct.pack("<4sfB8B", b"PMX ", 2.0, 8, 0, 1, 1, 1, 1, 2, 1, 1)
    data += text("試作") + text("Trial") + text("") + text("")
    data += struct.pack("<i", len(kinds))
    for kind in kinds:
        count, numbers = ((1, 0), (2, 1), (4, 4), (2, 10), (4, 4))[kind]
        data += struct.pack(f"<12fB{count}h{numbers}ff", *range(12), kind, *[0] * count, *[0.5] * numbers, 1.0)
    data += struct.pack("<i3B", 3, 0, 1, 2)
    data += struct.pack("<i", 1) + text("skin.png")
    data += struct.pack("<i", 1) + text("肌") + text("skin") + struct.pack("<11fB5f", *[1.0] * 11, 0, *[1.0] * 5)
    data += struct.pack("<bbBBb", 0, -1, 0, 0, -1) + text("") + struct.pack("<i", 3)
    found = bones()
    number = {name: i for i, (name, *_) in enumerate(found)}
    data += struct.pack("<i", len(found))
    for name, parent, place, is_ik in found:
        data += text(name) + text("") + struct.pack("<3fhi", *place, number.get(parent, -1), 0)
        flags = 0x0020 if is_ik else 0x0400 if name.endswith("ひじ") else 0
        tails = {"手首": (0.6 if place[0] > 0 else -0.6, -0.6, -0.1), "つま先": (0.0, 0.0, -0.8)}
        data += struct.pack("<H3f", flags, *tails.get(name[1:], (0.0, 0.5, 0.0)))
        if flags & 0x0400:
            data += struct.pack("<3f", 0.0, 1.0, 0.0)
        if is_ik:
            data += struct.pack("<hifi", number[name[0] + "足首"], 40, 2.0, 2)
            data += struct.pack("<hB6f", number[name[0] + "ひざ"], 1, *[0.0] * 6) + struct.pack("<hB", 0, 0)
    return data + struct.pack("<3i", 0, 0, 0) + struct.pack("<2i", 0, 0)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model.pmx").write_bytes(pmx())
    return tmp_path / "model.pmx"


def parse_vmd(data: bytes) -> tuple[dict[str, dict[int, tuple[Array, Array]]], dict[str, bool]]:
    """By bone and frame: (3,) its shift and (4,) its rotation (w, x, y, z) in the file; and which IK is on."""
    assert data[:25] == b"Vocaloid Motion Data 0002"
    (count,) = struct.unpack_from("<I", data, 50)
    keys: dict[str, dict[int, tuple[Array, Array]]] = {}
    for i in range(count):
        raw, frame, *values = struct.unpack_from("<15sI7f", data, 54 + 111 * i)
        name = raw.split(b"\0")[0].decode("shift_jis")
        keys.setdefault(name, {})[frame] = (np.array(values[:3]), np.array([values[6], *values[3:6]]))
    place = 54 + 111 * count
    assert struct.unpack_from("<4I", data, place) == (0, 0, 0, 0)
    frames, _, shown, count = struct.unpack_from("<IIBI", data, place + 16)
    assert (frames, shown) == (1, 1)
    switches = {}
    for i in range(count):
        raw, on = struct.unpack_from("<20sB", data, place + 29 + 21 * i)
        switches[raw.split(b"\0")[0].decode("shift_jis")] = bool(on)
    assert len(data) == place + 29 + 21 * count
    return keys, switches


def played(data: bytes, frame: int) -> dict[str, Array]:
    """Where the bones of the model are at a frame, in its own units and axes."""
    keys, _ = parse_vmd(data)
    at, turned = {}, {}
    places = {name: np.array(place, float) for name, _, place, _ in bones()}
    for name, parent, place, is_ik in bones():
        if is_ik:
            continue
        shift, turn = keys.get(name, {}).get(frame, (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])))
        if not parent:
            at[name], turned[name] = place + shift, turn
            continue
        away = np.array(place) - places[parent] + shift
        at[name] = at[parent] + rotate(turned[parent], away)
        turned[name] = multiply(turned[parent], turn)
    return at


def test_the_skeleton_of_a_model_is_read(model: Path) -> None:
    clip = read(model)
    assert clip.skeleton.name == "試作"
    assert clip.skeleton.num_joints == len(MIDDLE) + 2 * len(SIDED)
    assert "左足ＩＫ" not in clip.skeleton.names
    assert any("4 bones of inverse kinematics" in note for note in clip.notes)
    assert any("not read" in sentence for sentence in clip.dropped)
    assert height(clip.skeleton) == pytest.approx(0.08 * 17.8, rel=0.1)
    # It looks along +Z, with its left at +X.
    places = dict(zip(clip.skeleton.names, clip.skeleton.rest_world[0]))
    assert places["左つま先"][2] == pytest.approx(0.08 * 1.3)
    assert places["左手首"][0] == pytest.approx(0.08 * 4.9)
    names = {role: clip.skeleton.names[joint] for role, joint in roles(clip.skeleton).items()}
    assert names["left_upper_leg"] == "左足"
    assert names["right_lower_arm"] == "右ひじ"
    assert names["head"] == "頭"


def test_a_walk_is_written_as_the_model_plays_it(model: Path, tmp_path: Path) -> None:
    result = retarget(samples.motion("walk").motion[:60], model)
    out = tmp_path / "walk.vmd"
    write(result.clip, out)
    keys, switches = parse_vmd(out.read_bytes())
    assert switches == {"左足ＩＫ": False, "左つま先ＩＫ": False, "右足ＩＫ": False, "右つま先ＩＫ": False}
    assert max(keys["左ひざ"]) == 59
    pose = fk(result.motion)
    for frame in (0, 17, 42, 59):
        for name, place in played(out.read_bytes(), frame).items():
            if name in ("センター", "グルーブ"):
                # They carry the body, and have no place of their own in it.
                continue
            ours = pose[name][frame] * [1.0, 1.0, -1.0] / 0.08
            assert np.abs(ours - place).max() < 1e-4, (frame, name)
    # Only bones that MikuMikuDance moves leave their places, and wrists do not turn round.
    moved = {name for name, frames in keys.items() if max(np.abs(shift).max() for shift, _ in frames.values()) > 0.0}
    assert moved <= {"全ての親", "センター", "グルーブ"}
    assert min(turn[0] for _, turn in keys["左手首"].values()) > 0.7
    # The walk is a walk: it goes on.
    travel = played(out.read_bytes(), 59)["頭"] - played(out.read_bytes(), 0)["頭"]
    assert abs(travel[2]) > 10.0


def test_other_rates_are_resampled_and_other_rigs_refused(model: Path, tmp_path: Path) -> None:
    result = retarget(samples.motion("walk").motion[:30].resampled(60.0), model)
    notes = write(result.clip, tmp_path / "walk.vmd")
    assert any("30 frames a second: 60 are resampled" in note for note in notes)
    assert max(parse_vmd((tmp_path / "walk.vmd").read_bytes())[0]["左ひざ"]) in (28, 29)
    with pytest.raises(OptionError, match="Japanese names") as caught:
        write(samples.motion("walk").motion, tmp_path / "x.vmd")
    assert ".pmx" in caught.value.hint
    with pytest.raises(FileError, match="can be written, not read"):
        read(tmp_path / "walk.vmd")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"PMD " + data[4:], "does not begin with `PMX `"),
        (lambda data: data[:4] + struct.pack("<f", 1.0) + data[8:], "version 1.0"),
        (lambda data: data[:200], "ends at byte 200"),
        (lambda data: data[:9] + b"\x07" + data[10:], "impossible sizes"),
    ],
)
def test_damaged_models_are_refused(model: Path, change: Any, message: str) -> None:
    model.write_bytes(change(pmx()))
    with pytest.raises(FileError, match=message):
        read(model)


@pytest.mark.parametrize("seed", range(3))
def test_mutated_models_end_in_an_error_in_words_or_a_body(model: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = pmx()
    for _ in range(100):
        mutant = bytearray(data)
        for place in rng.integers(0, len(data), 3):
            mutant[place] = int(rng.integers(256))
        model.write_bytes(mutant)
        try:
            clip = read(model)
        except UnderstudyError:
            continue
        assert np.isfinite(clip.skeleton.offsets).all()


PARSE = """
import pkg from 'mmd-parser'; import fs from 'fs';
const {Parser} = pkg, parser = new Parser();
const buffer = file => new Uint8Array(fs.readFileSync(file)).buffer;
const pmx = parser.parsePmx(buffer(process.argv[2]), true), vmd = parser.parseVmd(buffer(process.argv[3]), true);
console.log(JSON.stringify({
  bones: pmx.bones.map(b => [b.name, b.position, b.parentIndex]),
  keys: vmd.motions.filter(m => m.frameNum === 17).map(m => [m.boneName, m.position, m.rotation]),
}));
"""


def test_another_parser_reads_the_same(model: Path, tmp_path: Path) -> None:
    folders = [Path(each) for each in os.environ.get("NODE_PATH", "").split(os.pathsep) if each]
    packages = next((folder for folder in folders if (folder / "mmd-parser").is_dir()), None)
    if packages is None or shutil.which("node") is None:
        pytest.skip("needs node and `npm install mmd-parser`, named by NODE_PATH")
    # That parser does not know the last kind of weights, which came with PMX 2.1.
    model.write_bytes(pmx((0, 1, 2, 3)))
    result = retarget(samples.motion("walk").motion[:30], model)
    write(result.clip, tmp_path / "walk.vmd")
    (tmp_path / "node_modules").symlink_to(packages)
    (tmp_path / "script.mjs").write_text(PARSE)
    command = ["node", "script.mjs", str(model), str(tmp_path / "walk.vmd")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [name for name, *_ in found["bones"]] == [name for name, *_ in bones()]
    keys, _ = parse_vmd((tmp_path / "walk.vmd").read_bytes())
    theirs = {name: (place, turn) for name, place, turn in found["keys"]}
    assert set(theirs) == set(keys)
    # That parser mirrors: what it gives is in a right-handed world, as ours is.
    joint = result.motion.skeleton.joint("左ひざ")
    ours = result.motion.rotations[17, joint]
    assert abs(abs(float(np.dot(np.array(theirs["左ひざ"][1])[[3, 0, 1, 2]], ours))) - 1.0) < 1e-5
