"""Damaged glTF files: a clear error or a valid result, within limits of time and memory."""

from __future__ import annotations

import copy
import io
import json
import random
import struct
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import FileError
from understudy.figure.motion import Motion
from understudy.io.clip import Clip, ReadOptions, WriteOptions
from understudy.io.gltf.document import parse
from understudy.io.gltf.reader import read
from understudy.io.gltf.writer import write

VALUES: list[Any] = [
    None, True, -1, 0, 1, 3, 1e308, -1e30, 2**31, 2**63, 10**30, 1e-320, 0.5, "", "x", "../x", "data:,", "STEP",
    "CUBICSPLINE", "VEC3", "MAT4", "scale", [], {}, [0], [[]], {"a": 1}, [0, 0, 0], [1e12] * 3, [0] * 4, [1.5] * 16,
    5120, 5121, 5123, 5125, 5126,
]  # fmt: skip
ROUNDS = 1000
SLOWEST = 5.0
"""Time limit for a damaged file of a few hundred kilobytes, in seconds."""
MEMORY = 400 << 20
"""Memory limit for a damaged file of a few hundred kilobytes, in bytes."""


def open_file(data: bytes, **options: Any) -> Clip:
    return read(io.BytesIO(data), "bad.glb", ReadOptions(**options))


@pytest.fixture(scope="module")
def whole() -> bytes:
    """A valid file: joints, a skin, a mesh, an animation."""
    stream = io.BytesIO()
    body, kept = samples.motion("walk").motion.skeleton.pruned([3])
    walk = samples.motion("walk").motion[:6]
    part = Motion(skeleton=body, fps=30.0, root=walk.root, rotations=walk.rotations[:, kept], name="Walk")
    write(Clip.of(part), stream, WriteOptions())
    return stream.getvalue()


def packed(tree: Any, data: bytes) -> bytes:
    head = json.dumps(tree).encode()
    head += b" " * (-len(head) % 4)
    chunks = struct.pack("<II", len(head), 0x4E4F534A) + head + struct.pack("<II", len(data), 0x004E4942) + data
    return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield from places(tree[key], (*path, key))


def mutated(tree: Any, paths: list[tuple[Any, ...]], rng: random.Random) -> Any:
    """The JSON with a few values removed, shifted, swapped or replaced."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 2, 6])):
        *above, last = rng.choice(paths)
        holder = tree
        try:
            for key in above:
                holder = holder[key]
            old, way = holder[last], rng.random()
            if way < 0.15:
                del holder[last]
            elif way < 0.45 and isinstance(old, int | float) and not isinstance(old, bool):
                holder[last] = rng.choice([old + 1, old - 1, old * 1000, -old, old + 0.5])
            else:
                holder[last] = copy.deepcopy(rng.choice(VALUES))
        except (KeyError, IndexError, TypeError):
            continue
    return tree


def survives(data: bytes, rng: random.Random) -> bool:
    """Read a file and write it again. Returns whether it could be read."""
    begin = time.perf_counter()
    try:
        clip = open_file(data)
    except FileError:
        return False
    finally:
        assert time.perf_counter() - begin < SLOWEST
    assert np.all(np.isfinite(clip.skeleton.rest_world[0]))
    if clip.motion is not None and rng.random() < 0.5:
        stream = io.BytesIO()
        write(replace(clip, motion=replace(clip.motion, name="new")), stream, WriteOptions())
        json.dumps(parse(stream.getvalue(), "again.glb").tree, allow_nan=False)
    return True


@pytest.mark.parametrize("seed", range(3))
def test_changed_values_end_in_an_error_or_a_sound_result(seed: int, whole: bytes) -> None:
    rng = random.Random(seed)
    document = parse(whole, "whole.glb")
    paths = list(places(document.tree))
    # The lists of accessors and views are most of the JSON; the rest should be hit as often.
    rare = [path for path in paths if path[0] not in ("accessors", "bufferViews", "nodes")]
    read_well = 0
    for _ in range(ROUNDS):
        tree = mutated(document.tree, rng.choice([paths, rare]), rng)
        read_well += survives(packed(tree, document.buffers[0]), rng)
    assert 0.05 * ROUNDS < read_well < 0.95 * ROUNDS


@pytest.mark.parametrize("seed", range(3))
def test_changed_and_missing_bytes_end_in_an_error_or_a_sound_result(seed: int, whole: bytes) -> None:
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 5, 60])):
            data[rng.randrange(rng.choice([24, 2000, len(data)]))] = rng.randrange(256)
        if rng.random() < 0.4:
            cut = rng.randrange(len(data))
            del data[cut : cut + rng.choice([1, 4, 100, len(data)])]
        survives(bytes(data), rng)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("asset", "version", None), "asset.version: is missing, so this is no glTF 2.0 file"),
        (("nodes", 1, "children", [0]), "nodes[1].children: node 0 is also a child|nodes[0]: is its own ancestor"),
        (("nodes", 0, "rotation", [0, 0, 1]), "nodes[0].rotation: expected 4 finite numbers, got `[0, 0, 1]`"),
        (("nodes", 0, "children", [99]), "nodes[0].children[0]: expected a number from 0 to"),
        (("skins", 0, "joints", []), "skins[0].joints: expected at least one joint"),
        (("skins", 0, "joints", [1, 1]), "skins[0].joints: number 1 is listed twice"),
        (("skins", 0, "inverseBindMatrices", 0), "needs an accessor of type MAT4, got 'VEC3'"),
        (("accessors", 0, "count", 10**9), "accessors[0]: needs 12000000000 bytes of its buffer view"),
        (("bufferViews", 0, "byteLength", 2**40), "bufferViews[0]: ends at byte"),
        (("buffers", 0, "byteLength", 2**40), "buffers[0]: says it has 1099511627776 bytes, and there are"),
        (("animations", 0, "samplers", 0, "interpolation", "SMOOTH"), "expected LINEAR, STEP or CUBICSPLINE"),
        (("animations", 0, "samplers", 0, "input", None), "samplers[0].input: expected a number from 0 to"),
        (("animations", 0, "channels", 0, "target", "node", 500), "expected a number from 0 to"),
        (("meshes", 0, "primitives", 0, "attributes", "JOINTS_0", 0), "JOINTS_0 needs whole numbers"),
        (("nodes", {}), "nodes: expected a list, got `{}`"),
    ],
)  # fmt: skip
def test_damage_is_named_by_its_place(change: tuple[Any, ...], problem: str, whole: bytes) -> None:
    document = parse(whole, "whole.glb")
    tree = copy.deepcopy(document.tree)
    *above, last, value = change
    holder = tree
    for key in above:
        holder = holder[key]
    holder[last] = value
    with pytest.raises(FileError) as caught:
        open_file(packed(tree, document.buffers[0]))
    assert caught.value.message.startswith("bad.glb: ")
    assert any(each in caught.value.message for each in problem.split("|")), caught.value.message


def test_a_container_that_lies_about_its_length_is_refused(whole: bytes) -> None:
    with pytest.raises(FileError, match=f"says it has {len(whole)} bytes, and there are {len(whole) - 1}"):
        open_file(whole[:-1])
    with pytest.raises(FileError, match="the chunk at byte 12 says it has 4294967295 bytes"):
        open_file(whole[:12] + struct.pack("<I", 2**32 - 1) + whole[16:])
    with pytest.raises(FileError, match="is GLB version 1; only version 2 can be read"):
        open_file(whole[:4] + struct.pack("<I", 1) + whole[8:])
    with pytest.raises(FileError, match="expected a JSON chunk first"):
        open_file(whole[:16] + b"BIN\0" + whole[20:])
    with pytest.raises(FileError, match="nested too deep"):
        open_file(b'{"asset":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


@pytest.mark.parametrize("what", ["zeros", "frames", "meshes"])
def test_a_small_file_cannot_ask_for_much_memory(what: str, whole: bytes) -> None:
    document = parse(whole, "whole.glb")
    tree = copy.deepcopy(document.tree)
    data = bytearray(document.buffers[0])
    huge = {"componentType": 5126, "count": 10**8, "type": "VEC3"}
    if what == "zeros":
        tree["accessors"].append(huge)
        tree["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = len(tree["accessors"]) - 1
    elif what == "frames":
        view = tree["bufferViews"][tree["accessors"][tree["animations"][0]["samplers"][0]["input"]]["bufferView"]]
        last = view["byteOffset"] + view["byteLength"] - 4
        data[last : last + 4] = struct.pack("<f", 1e11)
    else:
        tree["accessors"].append({**huge, "count": 100_000})
        tree["meshes"].append({"primitives": [{"attributes": {"POSITION": len(tree["accessors"]) - 1}}]})
        tree["nodes"][0]["children"] += range(len(tree["nodes"]), len(tree["nodes"]) + 2000)
        tree["nodes"] += [{"mesh": 1}] * 2000
    tracemalloc.start()
    try:
        with pytest.raises(
            FileError, match=r"asks for 100000000 zeros|lasts 1e\+11 s|more vertices than any character"
        ):
            open_file(packed(tree, bytes(data)))
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()


def test_a_damaged_mesh_can_be_left_out(whole: bytes) -> None:
    document = parse(whole, "whole.glb")
    tree = copy.deepcopy(document.tree)
    tree["meshes"][0]["primitives"][0]["indices"] = 999
    data = packed(tree, document.buffers[0])
    with pytest.raises(FileError, match=r"meshes\[0\].primitives\[0\].indices"):
        open_file(data)
    clip = open_file(data, lenient=True)
    assert clip.meshes == ()
    assert clip.dropped[-1].startswith("all meshes: meshes[0].primitives[0].indices: expected a number from 0 to")
    assert clip.motion is not None
