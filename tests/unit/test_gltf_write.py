"""Writing glTF: into the character's own file without other changes, and as a new file."""

from __future__ import annotations

import copy
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import angle_between, exp, multiply
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.figure.skin import skinned
from understudy.io import Clip, read, write
from understudy.io.clip import ReadOptions, WriteOptions
from understudy.io.gltf.document import Accessors, Document, parse
from understudy.io.gltf.reader import read as read_stream
from understudy.io.gltf.writer import Builder
from understudy.io.gltf.writer import write as write_stream

EXTRA = {
    "extras": {"made by": "hand", "numbers": [1, 2, 3]},
    "extensionsUsed": ["VENDOR_thing"],
    "extensions": {"VENDOR_thing": {"deep": {"er": None}}},
    "materials": [{"name": "skin", "pbrMetallicRoughness": {"roughnessFactor": 0.25}}],
    "cameras": [{"type": "perspective", "perspective": {"yfov": 0.5, "znear": 0.1}}],
}
"""Content of a file that the reader ignores."""


@pytest.fixture
def walk() -> Motion:
    return samples.motion("walk").motion[:20]


def to_bytes(clip: Clip, **options: Any) -> bytes:
    stream = io.BytesIO()
    write_stream(clip, stream, WriteOptions(**options))
    return stream.getvalue()


def again(data: bytes, **options: Any) -> Clip:
    return read_stream(io.BytesIO(data), "made.glb", ReadOptions(**options))


def document_of(data: bytes) -> Document:
    return parse(data, "made.glb")


@pytest.fixture
def character(walk: Motion) -> bytes:
    """A file with two animations and other content, under an armature that a matrix scales and rotates."""
    document = document_of(to_bytes(Clip.of(replace(walk, name="Walk"))))
    tree = copy.deepcopy(document.tree) | copy.deepcopy(EXTRA)
    nodes = tree["nodes"]
    for node in nodes:
        node["translation"] = [100.0 * value for value in node["translation"]] if "translation" in node else [0, 0, 0]
    nodes[2] = {key: value for key, value in nodes[2].items() if key not in ("translation", "rotation")}
    nodes[2]["matrix"] = [*np.eye(4).ravel().tolist()[:12], 3.0, 4.0, 5.0, 1.0]
    rig = {"name": "rig", "children": [0], "matrix": [0, 0, -0.01, 0, 0, 0.01, 0, 0, 0.01, 0, 0, 0, 0, 0, 0, 1]}
    nodes += [rig, {"name": "eye", "camera": 0, "extras": 7}]
    tree["scenes"][0]["nodes"] = [len(nodes) - 2, len(nodes) - 1, tree["scenes"][0]["nodes"][1]]
    tree["meshes"][0]["primitives"][0]["material"] = 0
    del tree["skins"][0]["inverseBindMatrices"]
    other = copy.deepcopy(tree["animations"][0]) | {"name": "Look"}
    tree["animations"].append(other)
    walking = tree["animations"][0]
    eye = {"sampler": len(walking["samplers"]), "target": {"node": len(nodes) - 1, "path": "rotation"}}
    walking["channels"].append(eye)
    walking["samplers"].append(dict(walking["samplers"][1]))
    out = io.BytesIO()
    Builder(tree, document.buffers).write(out, text=False)
    return out.getvalue()


def turned(motion: Motion, name: str) -> Motion:
    """Another motion of the same body."""
    rng = np.random.default_rng(5)
    swing = exp(0.3 * np.sin(np.linspace(0, 3, motion.num_frames)[:, None, None] + rng.uniform(0, 6, (1, 1, 3))))
    return replace(motion, rotations=multiply(motion.rotations, swing), root=motion.root + 0.2, name=name)


def without(tree: dict[str, Any], *names: str) -> dict[str, Any]:
    """A file's JSON without some animations and without the parts that only grow at the end."""
    out = copy.deepcopy(tree)
    out["animations"] = [each for each in out["animations"] if each["name"] not in names]
    for key in ("buffers", "accessors", "bufferViews", "nodes"):
        del out[key]
    return out


def values(document: Document, animation: dict[str, Any], node: int, path: str) -> np.ndarray:
    channel = next(c for c in animation["channels"] if c["target"] == {"node": node, "path": path})
    kind = "VEC4" if path == "rotation" else "VEC3"
    return Accessors(document).numbers(animation["samplers"][channel["sampler"]]["output"], kind, "test")


def test_an_unchanged_clip_is_the_same_file(character: bytes) -> None:
    clip = again(character)
    assert document_of(to_bytes(clip)).tree == document_of(character).tree
    assert document_of(to_bytes(clip)).buffers == document_of(character).buffers
    assert to_bytes(replace(clip, motion=None)) == to_bytes(clip)


def test_a_new_animation_leaves_everything_else_alone(character: bytes) -> None:
    clip = again(character)
    assert clip.motion is not None
    motion = turned(clip.motion, "Dance")
    data = to_bytes(replace(clip, motion=motion))
    before, after = document_of(character), document_of(data)
    assert without(after.tree, "Dance") == without(before.tree)
    for key in ("accessors", "bufferViews"):
        assert after.tree[key][: len(before.tree[key])] == before.tree[key]
    assert after.buffers[0].startswith(before.buffers[0])
    nodes = [node for i, node in enumerate(after.tree["nodes"]) if i != 2]
    assert nodes == [node for i, node in enumerate(before.tree["nodes"]) if i != 2]
    # A node that is animated may have no matrix.
    assert "matrix" not in after.tree["nodes"][2]
    assert np.allclose(after.tree["nodes"][2]["translation"], [3, 4, 5])
    assert [each["name"] for each in after.tree["animations"]] == ["Dance", "Walk", "Look"]
    back = again(data)
    assert back.motion is not None
    assert (back.motion.name, back.motion.fps) == ("Dance", motion.fps)
    assert np.abs(fk(back.motion).positions - fk(motion).positions).max() < 2e-6
    assert np.max(angle_between(fk(back.motion).rotations, fk(motion).rotations)) < 2e-6
    old = again(data, clip="Look").motion
    assert old is not None
    assert np.array_equal(old.rotations, again(character, clip="Look").motion.rotations)  # type: ignore[union-attr]


def test_an_animation_of_the_same_name_is_replaced(character: bytes) -> None:
    clip = again(character, clip="Walk")
    assert clip.motion is not None
    motion = turned(clip.motion, "Walk")
    data = to_bytes(replace(clip, motion=motion))
    before, after = document_of(character), document_of(data)
    assert [each["name"] for each in after.tree["animations"]] == ["Walk", "Look"]
    assert without(after.tree, "Walk") == without(before.tree, "Walk")
    # What the old one did to the camera it still does.
    eye = len(after.tree["nodes"]) - 1
    kept = values(after, after.tree["animations"][0], eye, "rotation")
    assert np.array_equal(kept, values(before, before.tree["animations"][0], eye, "rotation"))
    back = again(data).motion
    assert back is not None
    assert np.abs(fk(back).positions - fk(motion).positions).max() < 2e-6


def test_every_channel_has_the_same_keys_and_translations_only_where_needed(character: bytes) -> None:
    clip = again(character)
    assert clip.motion is not None
    still = replace(clip, motion=replace(turned(clip.motion, "Dance"), offsets=None))
    animation = document_of(to_bytes(still)).tree["animations"][0]
    assert len({sampler["input"] for sampler in animation["samplers"]}) == 1
    assert {sampler["interpolation"] for sampler in animation["samplers"]} == {"LINEAR"}
    moved = [c["target"]["node"] for c in animation["channels"] if c["target"]["path"] == "translation"]
    assert moved == [0]
    assert len(animation["channels"]) == 1 + clip.skeleton.num_joints
    longer = clip.skeleton.scaled(np.where(np.arange(clip.skeleton.num_joints) == 5, 1.3, 1.0))
    grown = to_bytes(replace(clip, skeleton=longer, motion=replace(still.motion, skeleton=longer)))  # type: ignore[type-var]
    animation = document_of(grown).tree["animations"][0]
    moved = [c["target"]["node"] for c in animation["channels"] if c["target"]["path"] == "translation"]
    assert sorted(moved) == [0, clip.layout.character.joints.nodes[5]]


def test_places_are_exact_below_uneven_scales(walk: Motion) -> None:
    document = document_of(to_bytes(Clip.of(walk)))
    tree = copy.deepcopy(document.tree)
    tree["nodes"][1]["scale"] = [1.0, 2.0, 0.5]
    tree["nodes"][2]["scale"] = [-1.0, 1.0, 1.0]
    del tree["animations"]
    out = io.BytesIO()
    Builder(tree, document.buffers).write(out, text=False)
    clip = again(out.getvalue())
    assert "joints are scaled unevenly" in clip.notes[0]
    motion = turned(replace(rest_motion(clip.skeleton, num_frames=20)), "Dance")
    back = again(to_bytes(replace(clip, motion=motion))).motion
    assert back is not None
    assert np.abs(fk(back).positions - fk(motion).positions).max() < 5e-6


def test_other_bones_without_a_motion_are_not_kept_and_it_is_said(character: bytes, tmp_path: Path) -> None:
    clip = again(character)
    longer = replace(clip, skeleton=clip.skeleton.scaled(1.5), motion=None)
    assert write(longer, tmp_path / "longer.glb") == (
        "without a motion the character's own file is written as it is: bones of other lengths are not kept",
    )


def test_a_plain_character_comes_back_whole(walk: Motion) -> None:
    data = to_bytes(Clip.of(walk))
    clip = again(data)
    skeleton = walk.skeleton
    assert clip.motion is not None
    mine = [clip.skeleton.joint(name) for name in skeleton.names]
    assert np.abs(fk(clip.motion).positions[:, mine] - fk(walk).positions).max() < 1e-6
    assert np.max(angle_between(clip.skeleton.rest_world[1][mine], skeleton.rest_world[1])) < 1e-6
    assert {(end.name, end.joint) for end in clip.skeleton.ends} == {(end.name, end.joint) for end in skeleton.ends}
    bones = clip.meshes[0]
    assert bones.name == "bones"
    lengths = [*skeleton.lengths[1:], *(np.linalg.norm(end.offset) for end in skeleton.ends)]
    assert bones.num_vertices == 6 * sum(length > 1e-4 for length in lengths)
    # The tips of the bones are the joints: they stay there when the body moves.
    gaps = np.linalg.norm(skinned(bones, clip.motion)[:, :, None] - fk(clip.motion).positions[:, None], axis=-1)
    assert np.all(gaps.min(axis=1) < 1e-6)
    # Faces look outwards: each bone's volume by its corners is above zero.
    a, b, c = (bones.vertices[bones.triangles[:, i]] for i in range(3))
    volumes = np.einsum("ti,ti->t", a - bones.vertices[bones.triangles[:, 0] // 6 * 6], np.cross(b - a, c - a))
    assert np.all(volumes.reshape(-1, 8).sum(axis=1) > 0.0)


def test_text_and_binary_hold_the_same(walk: Motion, tmp_path: Path) -> None:
    for suffix in ("glb", "gltf"):
        write(walk, tmp_path / f"walk.{suffix}")
    assert (tmp_path / "walk.glb").read_bytes()[:4] == b"glTF"
    tree = json.loads((tmp_path / "walk.gltf").read_text())
    assert tree["buffers"][0]["uri"].startswith("data:application/octet-stream;base64,")
    one, other = read(tmp_path / "walk.glb"), read(tmp_path / "walk.gltf")
    assert one.motion is not None
    assert other.motion is not None
    assert np.array_equal(one.motion.rotations, other.motion.rotations)
    write(other, tmp_path / "again.glb")
    assert (
        parse((tmp_path / "again.glb").read_bytes(), "x").buffers
        == parse((tmp_path / "walk.glb").read_bytes(), "x").buffers
    )


def test_meshes_of_other_files_are_written_with_their_weights(walk: Motion) -> None:
    source = again(to_bytes(Clip.of(walk)))
    mesh = source.meshes[0]
    rng = np.random.default_rng(7)
    count = mesh.num_vertices
    soft = replace(
        mesh, joints=rng.integers(0, mesh.num_joints, (count, 6)), weights=rng.uniform(0.05, 1.0, (count, 6))
    )  # fmt: skip
    clip = Clip(skeleton=source.skeleton, motion=source.motion, meshes=(soft,), format="other")
    stream = io.BytesIO()
    notes = write_stream(clip, stream, WriteOptions())
    assert notes == ("of the meshes only the shape and the skin weights are written, no materials",)
    back = again(stream.getvalue())
    assert back.motion is not None
    assert source.motion is not None
    assert back.meshes[0].weights.shape == (count, 8)
    assert np.allclose(skinned(back.meshes[0], back.motion), skinned(soft, source.motion), atol=1e-5)


def test_what_gltf_cannot_hold_is_said(walk: Motion, tmp_path: Path) -> None:
    knee = Skeleton(
        names=("hip", "knee"), parents=[-1, 0], offsets=[[0, 1, 0], [0, -0.5, 0]],
        kinds=(JointKind.FREE, JointKind.HINGE), axes=[np.eye(3), [[1, 0, 0], [0, 0, 0], [0, 0, 0]]],
        limits=np.array([[[-9, 9]] * 3, [[0, 2], [-np.inf, np.inf], [-np.inf, np.inf]]]),
    )  # fmt: skip
    assert write(rest_motion(knee), tmp_path / "knee.glb") == (
        "glTF has no kinds of joints: 1 of hinge kind turn freely",
        "glTF has no limits: those of 2 joints are left out",
    )
    write(walk, tmp_path / "walk.glb")
    clip = read(tmp_path / "walk.glb")
    assert write(clip, tmp_path / "walk.bvh")[-1] == "BVH holds no meshes: one is left out"
    assert write(clip, tmp_path / "again.glb", unit="cm") == (
        "the character's own file keeps its unit (m) and its up axis (Y)",
    )
    several = replace(clip, clips=("a", "b", "c"))
    assert write(several, tmp_path / "walk.bvh")[-1] == (
        "only one motion is written; the file's other animations are left out, 3 of them"
    )


def test_images_left_behind_are_said(walk: Motion, tmp_path: Path) -> None:
    tree = json.loads(to_bytes(Clip.of(walk), path="x.gltf")) | {"images": [{"uri": "skin.png"}]}
    (tmp_path / "walk.gltf").write_text(json.dumps(tree))
    clip = read(tmp_path / "walk.gltf")
    (tmp_path / "else").mkdir()
    assert write(clip, tmp_path / "again.glb") == ()
    assert write(clip, tmp_path / "else" / "walk.glb") == (
        "1 images, from `skin.png`, lie beside the original file and are not copied",
    )


def test_one_joint_and_one_frame_are_enough() -> None:
    dot = Skeleton(names=("dot",), parents=[-1], offsets=[[1, 2, 3]])
    clip = again(to_bytes(Clip.of(rest_motion(dot, fps=7.0))))
    assert clip.motion is not None
    assert (clip.motion.num_frames, clip.motion.fps) == (1, 7.0)
    assert np.allclose(clip.motion.root, [[1, 2, 3]])
    assert clip.meshes[0].num_vertices == 6
