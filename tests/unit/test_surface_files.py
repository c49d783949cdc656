"""Meshes of props: OBJ and STL files, and characters' meshes as things."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from understudy import Clip, samples, write
from understudy.base.errors import FileError
from understudy.io.surface import read_surface

PYRAMID = """# a pyramid on a square
v -1 0 -1
v 1 0 -1
v 1 0 1
v -1 0 1
v 0 2 0
f 1 2 3 4
f 1/1 5/2 2/3
f 2//1 5//1 3//1
f -3 -1 -2
f 4 5 1
"""


def test_an_obj_file_is_cut_into_triangles(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(PYRAMID)
    surface = read_surface(tmp_path / "a.obj")
    assert len(surface.vertices) == 5
    assert surface.triangles.tolist() == [[0, 1, 2], [0, 2, 3], [0, 4, 1], [1, 4, 2], [2, 4, 3], [3, 4, 0]]
    low, high = surface.bounds
    assert low.tolist() == [-1, 0, -1]
    assert high.tolist() == [1, 2, 1]


CORNERS = [[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[1, 0, 0], [1, 1, 0], [0, 1, 0]]]


def binary_stl() -> bytes:
    rows = [struct.pack("<12fH", 0, 0, 1, *np.ravel(corners), 0) for corners in CORNERS]
    return bytes(80) + struct.pack("<I", len(rows)) + b"".join(rows)


def text_stl() -> bytes:
    lines = ["solid square"]
    for corners in CORNERS:
        lines += ["facet normal 0 0 1", "outer loop", *(f"vertex {x} {y} {z}" for x, y, z in corners)]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid square"]).encode()


@pytest.mark.parametrize("content", [binary_stl(), text_stl()])
def test_equal_corners_of_an_stl_file_are_one_vertex(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.stl").write_bytes(content)
    surface = read_surface(tmp_path / "a.stl")
    assert surface.vertices.shape == (4, 3)
    assert np.array_equal(surface.vertices[surface.triangles], np.array(CORNERS, float))


def test_a_character_is_a_thing_as_it_stands(tmp_path: Path) -> None:
    can = samples.character("can")
    write(Clip(skeleton=can, meshes=samples.skin(can)), tmp_path / "can.glb")
    low, high = read_surface(tmp_path / "can.glb").bounds
    assert 0.05 < high[1] - low[1] < 2.0


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.obj", b"v 0 0 0\nf 1 2 3\n", "2: expected a face of known vertices"),
        ("a.obj", b"v 0 zero 0\n", "1: expected numbers after `v`"),
        ("a.obj", b"# nothing\n", "holds no triangles"),
        ("a.obj", b"v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "not finite"),
        ("a.stl", b"solid x\nvertex 0 0\n", "2: expected three numbers"),
        ("a.stl", b"solid x\nvertex 0 0 0\n", "no whole number of triangles"),
        ("a.stl", binary_stl()[:-1], "neither a binary STL"),
        ("a.stl", bytes(80) + b"\xff\xff\xff\xff", "neither a binary STL"),
        ("a.txt", b"", "is no file of a mesh"),
        ("a.glb", b"glTF", "no mesh can be read from it"),
    ],
)
def test_bad_files_are_refused(name: str, content: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=problem):
        read_surface(tmp_path / name)
