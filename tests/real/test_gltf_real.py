"""Real glTF characters: all load as their makers meant them, are written without an error, and others agree."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from understudy.app.cli import cli
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing
from understudy.figure.skin import skinned
from understudy.io import Clip, read, write
from understudy.io.gltf.document import parse

JOINTS = {
    "animals/m2m_bird-eagle.glb": 55, "animals/m2m_bird_animated.glb": 55, "animals/m2m_fox-dog.glb": 48,
    "animals/m2m_fox_animated.glb": 49, "animals/m2m_horse_animated.glb": 56, "animals/m2m_spider_animated.glb": 56,
    "animals/quaternius_Fish1.glb": 8, "animals/quaternius_Husky.glb": 49, "animals/quaternius_Wasp.glb": 29,
    "gltf/CesiumMan.glb": 19, "gltf/Fox.glb": 24, "gltf/RiggedFigure.glb": 19, "gltf/RobotExpressive.glb": 43,
    "gltf/SimpleSkin.gltf": 2, "gltf/m2m_human_male.glb": 66, "gltf/m2m_rig_human.glb": 66,
    "gltf/quaternius_man_Casual.glb": 49,
}  # fmt: skip
"""How many joints each file has, as its manifest says."""
VERTICES = {
    "gltf/CesiumMan.glb": 3273, "gltf/Fox.glb": 1728, "gltf/RiggedFigure.glb": 370, "gltf/RobotExpressive.glb": 7214,
    "gltf/m2m_human_male.glb": 7399, "gltf/m2m_rig_human.glb": 0, "gltf/quaternius_man_Casual.glb": 12516,
    "animals/m2m_horse_animated.glb": 2146, "animals/quaternius_Wasp.glb": 7472,
}  # fmt: skip
CLIPS = {"gltf/RobotExpressive.glb": 14, "gltf/Fox.glb": 3, "animals/quaternius_Husky.glb": 12, "gltf/CesiumMan.glb": 1}


@pytest.mark.parametrize("name", JOINTS)
def test_every_character_loads(name: str, data: Path) -> None:
    clip = read(data / name)
    wanted = JOINTS[name]
    if name.endswith("Husky.glb"):
        # Four joints for inverse kinematics stand beside the body: the armature is taken along as their root.
        wanted += 1
        assert clip.skeleton.names[0] == "AnimalArmature"
    assert clip.skeleton.num_joints == wanted
    assert len(clip.clips) == CLIPS.get(name, len(clip.clips))
    total = sum(mesh.num_vertices for mesh in clip.meshes)
    assert total == VERTICES.get(name, total)
    size = np.ptp(clip.skeleton.rest_world[0], axis=0).max()
    assert 0.5 < size < 7.0
    for mesh in clip.meshes:
        assert np.abs(skinned(mesh, clip.skeleton)[0] - mesh.vertices).max() < 5e-6


def test_all_files_are_listed(data: Path) -> None:
    found = {str(path.relative_to(data)) for path in data.rglob("*.gl*") if path.suffix in (".glb", ".gltf")}
    assert found == set(JOINTS)


def test_every_animation_reads_and_stays_with_the_mesh(data: Path) -> None:
    for name in JOINTS:
        for clip_name in read(data / name).clips:
            clip = read(data / name, clip=clip_name)
            assert clip.motion is not None
            height = np.ptp(np.concatenate([mesh.vertices for mesh in clip.meshes])[:, 1])
            vertices = [skinned(mesh, clip.motion, slice(0, None, 10)) for mesh in clip.meshes]
            lowest = min(float(each[..., 1].min()) for each in vertices)
            assert lowest > -0.75 * height, (name, clip_name)


@pytest.mark.parametrize(
    "name",
    ["cmu_bvh/02_01.bvh", "humans/rokoko_jesse_dance.bvh", "humans/milad_all_position_channels.bvh",
     "humans/makehuman_walk1.bvh", "animals/dog_walk_30fps.bvh", "bvh_conformance/dali_test.bvh"],
)  # fmt: skip
def test_bvh_to_gltf_and_back_keeps_every_place(name: str, data: Path, tmp_path: Path) -> None:
    clip = read(data / name)
    write(clip, tmp_path / "there.glb")
    there = read(tmp_path / "there.glb")
    write(there, tmp_path / "back.bvh", unit=clip.unit, up=clip.up)
    back = read(tmp_path / "back.bvh", unit=clip.unit, up=clip.up)
    assert clip.motion is not None
    for found in (there, back):
        assert found.motion is not None
        assert found.motion.fps == pytest.approx(clip.motion.fps, rel=1e-9)
        mine = [found.skeleton.joint(joint) for joint in clip.skeleton.names]
        assert np.abs(fk(found.motion).positions[:, mine] - fk(clip.motion).positions).max() < 1e-5


@pytest.mark.parametrize("name", [name for name in JOINTS if name != "gltf/SimpleSkin.gltf"])
def test_a_motion_goes_into_the_file_and_nothing_else_changes(name: str, data: Path, tmp_path: Path) -> None:
    clip = _moving(read(data / name))
    write(clip, tmp_path / "new.glb")
    before, after = (parse(path.read_bytes(), str(path)) for path in (data / name, tmp_path / "new.glb"))
    old, new = copy.deepcopy(before.tree), copy.deepcopy(after.tree)
    assert new["animations"].pop(0)["name"] == "new"
    for key in ("accessors", "bufferViews"):
        assert new[key][: len(old[key])] == old[key]
    assert after.buffers[0].startswith(before.buffers[0])
    for tree in (old, new):
        for key in ("accessors", "bufferViews", "buffers"):
            del tree[key]
    old.setdefault("animations", [])
    assert new == old
    back = read(tmp_path / "new.glb").motion
    assert back is not None
    assert clip.motion is not None
    assert np.abs(fk(back).positions - fk(clip.motion).positions).max() < 1e-5


def _moving(clip: Clip) -> Clip:
    """A clip with another motion than its file's: turned about, and on its way."""
    from understudy.base.quaternion import exp, multiply
    from understudy.figure.motion import rest_motion

    motion = rest_motion(clip.skeleton, num_frames=20)
    rng = np.random.default_rng(2)
    phase = rng.uniform(0, 6, (1, clip.skeleton.num_joints, 3))
    swing = exp(0.2 * np.sin(np.linspace(0, 5, 20)[:, None, None] + phase))
    root = motion.root + np.linspace(0, 1, 20)[:, None]
    return replace(clip, motion=replace(motion, rotations=multiply(motion.rotations, swing), root=root, name="new"))


@pytest.mark.parametrize(
    "name",
    [
        "gltf/CesiumMan.glb",
        "gltf/m2m_human_male.glb",
        "gltf/quaternius_man_Casual.glb",
        "gltf/Fox.glb",
    ],
)
def test_a_walk_is_performed_by_the_character_in_its_own_file(name: str, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "walk.glb"
    arguments = ["retarget", str(data / "cmu_bvh" / "02_01.bvh"), str(data / name), "-o", str(out), "--fps", "30"]
    result = CliRunner().invoke(cli, [*arguments, "--json"], prog_name="understudy")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["unmet"] == []
    clip = read(out)
    assert clip.motion is not None
    assert clip.clips == ("02_01", *read(data / name).clips)
    # The mesh walks upright on the floor, and where it looks.
    vertices = np.concatenate([skinned(mesh, clip.motion) for mesh in clip.meshes], axis=1)
    height = np.ptp(np.concatenate([mesh.vertices for mesh in clip.meshes])[:, 1])
    assert np.abs(vertices[..., 1].min(axis=1)).max() < 0.08 * height
    assert np.all(np.abs(np.ptp(vertices[..., 1], axis=1) / height - 1.0) < 0.25)
    travel = (clip.motion.root[-1] - clip.motion.root[0]) * [1.0, 0.0, 1.0]
    assert np.linalg.norm(travel) > height
    assert np.mean(facing(clip.motion) @ travel) > 0.9 * np.linalg.norm(travel)


def modules() -> Path:
    """The folder of node packages: `node_modules` in the repository or what NODE_PATH names; skips without."""
    here = Path(__file__).resolve().parents[2] / "node_modules"
    folders = [here, *(Path(each) for each in os.environ.get("NODE_PATH", "").split(os.pathsep) if each)]
    found = next((folder for folder in folders if (folder / "gltf-validator").is_dir()), None)
    if shutil.which("node") is None or found is None:
        pytest.skip("needs node and `npm install gltf-validator three` in the repository, or NODE_PATH")
    return found


def run_node(script: str, folder: Path, *arguments: str) -> Any:
    """Run a script with the node packages; what it prints is JSON."""
    packages = modules()
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(packages)
    (folder / "script.mjs").write_text(script)
    done = subprocess.run(["node", "script.mjs", *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


VALIDATE = """
import validator from 'gltf-validator'; import fs from 'fs';
const out = {};
for (const file of process.argv.slice(2)) {
  const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)), {maxIssues: 50});
  out[file] = report.issues.messages.filter(m => m.severity < 2).map(m => [m.severity, m.code, m.message, m.pointer]);
}
console.log(JSON.stringify(out));
"""


def test_what_is_written_passes_the_khronos_validator(data: Path, tmp_path: Path) -> None:
    modules()
    own = {}
    for name in JOINTS:
        suffix = ".gltf" if name in ("gltf/SimpleSkin.gltf", "gltf/RiggedFigure.glb") else ".glb"
        path = tmp_path / (Path(name).stem + suffix)
        write(_moving(read(data / name)), path)
        own[str(path)] = str(data / name)
    made = []
    for name in ("cmu_bvh/02_01.bvh", "humans/milad_all_position_channels.bvh", "bvh_conformance/dali_test.bvh"):
        made.append(str(tmp_path / f"{Path(name).stem}.glb"))
        write(read(data / name), made[-1])
    found = run_node(VALIDATE, tmp_path, *own, *made, *own.values())
    for path in made:
        assert found[path] == []
    for path, original in own.items():
        # The files have faults of their own, which are theirs to keep: only what is new would be ours.
        known = {(code, pointer) for _, code, _, pointer in found[original]}
        assert [issue for issue in found[path] if (issue[1], issue[3]) not in known] == [], path


PLAY = """
import fs from 'fs'; import * as THREE from 'three';
import {GLTFLoader} from 'three/examples/jsm/loaders/GLTFLoader.js';
globalThis.self = globalThis;
const [file, name, times] = [process.argv[2], process.argv[3], JSON.parse(process.argv[4])];
const data = fs.readFileSync(file);
new GLTFLoader().parse(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength), '', gltf => {
  const mixer = new THREE.AnimationMixer(gltf.scene);
  const action = mixer.clipAction(name ? gltf.animations.find(a => a.name === name) : gltf.animations[0]);
  action.setLoop(THREE.LoopOnce); action.clampWhenFinished = true; action.play();
  const frames = [];
  for (const time of times) {
    mixer.setTime(time); gltf.scene.updateMatrixWorld(true);
    const nodes = {}, skins = [];
    gltf.scene.traverse(object => {
      const at = gltf.parser.associations.get(object);
      if (at && at.nodes !== undefined && !(at.nodes in nodes))
        nodes[at.nodes] = new THREE.Vector3().setFromMatrixPosition(object.matrixWorld).toArray();
      if (object.isSkinnedMesh && skins.length === 0) {
        object.skeleton.update();
        for (let i = 0; i < Math.min(100, object.geometry.attributes.position.count); i++)
          skins.push(object.getVertexPosition(i, new THREE.Vector3()).applyMatrix4(object.matrixWorld).toArray());
      }
    });
    frames.push({nodes, skins});
  }
  console.log(JSON.stringify(frames));
}, error => { console.error(error); process.exit(1); });
"""


@pytest.mark.parametrize(
    ("name", "clip_name"),
    [
        ("gltf/RiggedFigure.glb", None),
        ("gltf/RobotExpressive.glb", "Walking"),
        ("animals/quaternius_Husky.glb", "AnimalArmature|Gallop"),
        ("animals/quaternius_Wasp.glb", None),
        ("humans/milad_all_position_channels.bvh", None),
        ("cmu_bvh/02_01.bvh", None),
    ],
)
def test_three_js_plays_it_as_we_read_it(name: str, clip_name: str | None, data: Path, tmp_path: Path) -> None:
    if not (modules() / "three").is_dir():
        pytest.skip("needs `npm install three`")
    path = data / name
    if name.endswith(".bvh"):
        path = tmp_path / "made.glb"
        write(read(data / name), path)
    clip = read(path, clip=clip_name)
    motion = clip.motion
    assert motion is not None
    frames = np.unique(np.linspace(0, motion.num_frames - 1, 6).astype(int))
    times = (clip.layout.start + frames / motion.fps).tolist()
    played = run_node(PLAY, tmp_path, str(path), clip_name or "", json.dumps(times))
    nodes = clip.layout.character.joints.nodes
    theirs = np.array([[each["nodes"][str(node)] for node in nodes] for each in played])
    assert np.abs(theirs - fk(motion).positions[frames]).max() < 1e-5
    mesh = next(mesh for mesh in clip.meshes if mesh.weights.shape[1] > 1)
    count = min(100, mesh.num_vertices, len(played[0]["skins"]))
    theirs = np.array([each["skins"][:count] for each in played])
    assert np.abs(theirs - skinned(mesh, motion, frames)[:, :count]).max() < 1e-5
