"""The studio's workshop on real files: captured walks onto skinned characters, shown as they are and while dragged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.base.quaternion import rotate
from understudy.figure.kinematics import Pose, fk
from understudy.figure.skin import skinned
from understudy.studio.document import empty_document
from understudy.studio.performance import RetargetResult
from understudy.studio.workshop import DocumentSolver


def quiet(_text: str, _share: float) -> None:
    """Watches nothing."""


def document(**actor: Any) -> dict[str, Any]:
    made = empty_document()
    return {**made, "recipe": {**made["recipe"], "actor": [actor], "reading": {"frames": "20:320"}}}


def drawn(arrays: dict[str, np.ndarray], pose: Pose, frame: int) -> np.ndarray:
    """A skin as a page draws it."""
    binds = arrays["bind"].transpose(0, 2, 1).astype(float)
    points = np.concatenate([arrays["positions"], np.ones((len(arrays["positions"]), 1))], axis=1)
    out = np.zeros((len(points), 3))
    for slot in range(4):
        joint = arrays["joints"][:, slot]
        local = np.einsum("vab,vb->va", binds[joint], points)[:, :3]
        out += arrays["weights"][:, slot, None] * (
            pose.positions[frame, joint] + rotate(pose.rotations[frame, joint], local)
        )
    return out


@pytest.mark.parametrize("name", ["m2m_human_male.glb", "quaternius_man_Casual.glb", "CesiumMan.glb"])
def test_a_captured_walk_moves_a_characters_skin(data: Path, tmp_path: Path, name: str) -> None:
    shop = DocumentSolver(tmp_path)
    source, target = data / "cmu_bvh" / "02_01.bvh", data / "gltf" / name
    wanted = shop.filled(document(source=str(source), target=str(target)), tmp_path)
    seen = shop.view(wanted, tmp_path)
    assert seen["bodies"][1]["mesh"].startswith("mesh/result")
    work = shop.solve(wanted, tmp_path, watch=quiet)
    assert isinstance(work, RetargetResult)
    told = work.result()
    json.dumps([seen, told], allow_nan=False)
    assert told["faults"] == []
    found = work.mesh("result")
    assert found is not None
    motion = work.motions_made[0]
    frame = motion.num_frames // 2
    own = work.prepared.actors[0].clip.meshes
    shown = [skinned(mesh, motion, np.array([frame]))[0] for mesh in own if len(mesh.triangles)]
    away = np.linalg.norm(drawn(found[1], fk(motion), frame) - np.concatenate(shown), axis=-1)
    assert np.median(away) < 1e-4
    assert away.max() < 0.02


def test_a_captured_walk_is_dragged(data: Path, tmp_path: Path) -> None:
    shop = DocumentSolver(tmp_path)
    source = data / "cmu_bvh" / "02_01.bvh"
    wanted = shop.filled(document(source=str(source), scale={"legs": 0.8}), tmp_path)
    full = shop.solve(wanted, tmp_path, watch=quiet)
    assert isinstance(full, RetargetResult)
    motion = full.motions_made[0]
    hand = fk(motion).points(["RightHand"])[motion.num_frames // 2, 0]
    middle = motion.duration / 2
    asked = {"kind": "place", "point": "RightHand", "start": middle - 0.1, "end": middle + 0.1}

    def placed(share: float) -> dict[str, Any]:
        target = (hand + share * np.array([0.1, 0.1, 0.0])).tolist()
        return {**wanted, "recipe": {**wanted["recipe"], "constraint": [{**asked, "target": target}]}}

    full = shop.solve(placed(0.0), tmp_path, watch=quiet)
    shown = full
    for share in (0.25, 0.5, 0.75, 1.0):
        shown = shop.solve(placed(share), tmp_path, watch=quiet, before=shown, live=True)
    done = shop.solve(placed(1.0), tmp_path, watch=quiet)
    for work in (shown, done):
        assert isinstance(work, RetargetResult)
        off = max(each.off.max() for each in work.held if each.constraint.kind == "place")
        assert off < 0.005
