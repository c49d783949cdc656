"""VRM 0.x and 1.0 and VRM animations: the file's map of bones is used, and everything else in a file is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.vrm_models import model

from understudy import retarget, samples
from understudy.base.errors import FileError, OptionError
from understudy.base.quaternion import multiply
from understudy.correspondence.suggest import suggest
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.io import read, write
from understudy.io.gltf.document import parse
from understudy.io.vrm.reader import ROLE_OF_BONE


@pytest.fixture(params=[0, 1])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    file = tmp_path / f"model{request.param}.vrm"
    file.write_bytes(model(request.param, backwards=request.param == 0))
    return file


def test_the_map_of_the_file_is_used(path: Path) -> None:
    clip = read(path)
    assert clip.format == "vrm"
    expected = roles(samples.character("adult"))
    assert clip.skeleton.roles_given
    assert roles(clip.skeleton) == {role: expected[role] for role in ROLE_OF_BONE.values() if role in expected}
    (path.parent / "other.vrm").write_bytes(model(1, anonymous=False))
    pairs = suggest(clip.skeleton, read(path.parent / "other.vrm").skeleton).pairs
    certain = [pair for pair in pairs if pair.confidence == 1.0]
    assert len(certain) > 12
    assert "both files say so" in certain[0].reason


def test_a_walk_goes_into_the_model_and_all_else_is_kept(path: Path, tmp_path: Path) -> None:
    result = retarget(samples.motion("walk").motion[:40], path)
    out = tmp_path / "out.vrm"
    write(result.clip, out)
    back = read(out)
    assert back.motion is not None
    assert np.abs(fk(back.motion).positions - fk(result.motion).positions).max() < 1e-5
    before, after = (parse(file.read_bytes(), "").tree for file in (path, out))
    assert after["extensions"] == before["extensions"]
    assert after["meshes"] == before["meshes"]
    # The walk moves on, and the knees bend as a human's do.
    assert np.linalg.norm(np.ptp(back.motion.root[:, [0, 2]], axis=0)) > 0.5


def test_an_animation_is_written_for_any_human_and_read_back(path: Path, tmp_path: Path) -> None:
    clip = read(path)
    walk = samples.motion("walk").motion
    moved = Motion(
        skeleton=clip.skeleton, fps=walk.fps, root=walk.root,
        rotations=multiply(np.broadcast_to(clip.skeleton.rest, walk.rotations.shape), walk.rotations), name="walk",
    )  # fmt: skip
    file = tmp_path / "walk.vrma"
    notes = write(replace(clip, motion=moved), file)
    back = read(file)
    assert (back.format, back.clips) == ("vrma", ("walk",))
    assert back.motion is not None
    assert set(roles(back.skeleton)) == set(roles(clip.skeleton))
    assert any("other joints are left out" in note for note in notes)
    joints = [clip.skeleton.joint(name) for name in back.skeleton.names]
    turn = 1.0 if "1" in path.name else -1.0
    expected = fk(moved).positions[:, joints] * [turn, 1.0, turn]
    # Bones between those of the format bend a little: directions are kept, places nearly.
    assert np.abs(fk(back.motion).positions - expected).max() < 5e-3
    tree = parse(file.read_bytes(), "").tree
    assert tree["extensionsUsed"] == ["VRMC_vrm_animation"]
    table = tree["extensions"]["VRMC_vrm_animation"]["humanoid"]["humanBones"]
    assert tree["nodes"][table["leftUpperLeg"]["node"]]["name"] == clip.skeleton.role_joints["left_upper_leg"]
    moves = [c["target"]["node"] for c in tree["animations"][0]["channels"] if c["target"]["path"] == "translation"]
    assert moves == [table["hips"]["node"]]


def test_what_is_no_vrm_is_refused_with_the_way_on(tmp_path: Path) -> None:
    write(samples.motion("walk").motion[:3], tmp_path / "walk.glb")
    (tmp_path / "walk.vrm").write_bytes((tmp_path / "walk.glb").read_bytes())
    with pytest.raises(FileError, match="is glTF without the extension `VRMC_vrm` or `VRM`"):
        read(tmp_path / "walk.vrm")
    with pytest.raises(OptionError, match="only for a character that was read from one") as caught:
        write(samples.motion("walk").motion, tmp_path / "x.vrm")
    assert ".vrma" in caught.value.hint
    with pytest.raises(OptionError, match="the hips of this body are not known"):
        write(samples.character("can"), tmp_path / "x.vrma")
    data = model(1)
    tree = json.loads(json.dumps(parse(data, "").tree))
    tree["extensions"]["VRMC_vrm"]["humanoid"] = {"humanBones": {"hips": {"node": "x"}, "spine": 4}}
    tree["buffers"] = [{**tree["buffers"][0], "uri": "none.bin"}]
    (tmp_path / "none.bin").write_bytes(parse(data, "").buffers[0])
    (tmp_path / "bad.vrm").write_text(json.dumps(tree))
    with pytest.raises(FileError, match="does not say which joint the hips are"):
        read(tmp_path / "bad.vrm")
