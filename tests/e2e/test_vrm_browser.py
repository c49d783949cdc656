"""A walk onto VRM models, shown by three.js with three-vrm in a real browser, and judged by Khronos' validator."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from tests.vrm_models import model

from understudy import fk, retarget, samples, write
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.io.vrm.reader import ROLE_OF_BONE

PACKAGES = ("three", "@pixiv/three-vrm", "@pixiv/three-vrm-animation", "gltf-validator")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
BONES = ("hips", "head", "leftFoot", "rightFoot", "leftHand", "rightHand", "leftLowerLeg", "rightLowerLeg")
FRAMES = (0, 7, 15, 23, 31)
PAGE = """<!doctype html><body style="margin:0;background:#fff"><script type="importmap">
{"imports": {"three": "/node_modules/three/build/three.module.js",
 "three/addons/": "/node_modules/three/examples/jsm/", "three/examples/jsm/": "/node_modules/three/examples/jsm/",
 "@pixiv/three-vrm": "/node_modules/@pixiv/three-vrm/lib/three-vrm.module.js",
 "@pixiv/three-vrm-animation": "/node_modules/@pixiv/three-vrm-animation/lib/three-vrm-animation.module.js"}}</script>
<script type="module">
import * as THREE from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { VRMLoaderPlugin } from "@pixiv/three-vrm";
import { VRMAnimationLoaderPlugin, createVRMAnimationClip } from "@pixiv/three-vrm-animation";
const query = JSON.parse(decodeURIComponent(location.search.slice(1)));
const loader = new GLTFLoader();
loader.register((parser) => new VRMLoaderPlugin(parser));
loader.register((parser) => new VRMAnimationLoaderPlugin(parser));
const gltf = await loader.loadAsync(query.model);
const vrm = gltf.userData.vrm;
const mixer = new THREE.AnimationMixer(vrm.scene);
let clip = gltf.animations[0];
if (query.animation) {
  const other = await loader.loadAsync(query.animation);
  clip = createVRMAnimationClip(other.userData.vrmAnimations[0], vrm);
}
mixer.clipAction(clip).play();
const size = 240, renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
renderer.setSize(size * query.times.length, size);
renderer.setScissorTest(true);
document.body.appendChild(renderer.domElement);
const scene = new THREE.Scene();
scene.background = new THREE.Color(0xf4f4f4);
scene.add(vrm.scene, new THREE.HemisphereLight(0xffffff, 0x888888, 3));
vrm.scene.traverse((node) => { node.frustumCulled = false; });
const places = query.times.map((time, k) => {
  mixer.setTime(time);
  // An animation of the format moves normalized bones; the humanoid carries them over to those of the model.
  if (query.animation) vrm.humanoid.update();
  vrm.scene.updateMatrixWorld(true);
  const found = {};
  for (const bone of query.bones) {
    const node = vrm.humanoid.getRawBoneNode(bone);
    found[bone] = new THREE.Vector3().setFromMatrixPosition(node.matrixWorld).toArray();
  }
  const hips = new THREE.Vector3(...found.hips);
  const camera = new THREE.PerspectiveCamera(30, 1, 0.1, 100);
  camera.position.set(hips.x + 4, 1.2, hips.z + 2);
  camera.lookAt(hips.x, 0.9, hips.z);
  renderer.setViewport(k * size, 0, size, size);
  renderer.setScissor(k * size, 0, size, size);
  renderer.render(scene, camera);
  return found;
});
vrm.expressionManager.setValue("happy", 1.0);
vrm.expressionManager.update();
let weight = 0;
vrm.scene.traverse((node) => { if (node.morphTargetInfluences) weight = node.morphTargetInfluences[0]; });
window.result = {
  places, weight, version: vrm.meta.metaVersion, name: vrm.meta.name ?? vrm.meta.title,
  springs: [...(vrm.springBoneManager?.joints ?? [])].length,
  expressions: Object.keys(vrm.expressionManager.expressionMap),
};
document.title = "done";
</script></body>"""
VALIDATE = """
import validator from 'gltf-validator'; import fs from 'fs';
const out = {};
for (const file of process.argv.slice(2)) {
  const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)), {maxIssues: 50});
  out[file] = report.issues.messages.filter(m => m.severity < 1).map(m => [m.code, m.message, m.pointer]);
}
console.log(JSON.stringify(out));
"""


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder of the node packages."""
    here = Path(__file__).resolve().parents[2] / "node_modules"
    for folder in (here, *(Path(each) for each in os.environ.get("NODE_PATH", "").split(os.pathsep) if each)):
        if all((folder / package).is_dir() for package in PACKAGES):
            return folder
    pytest.skip(f"needs `npm install {' '.join(PACKAGES)}` in the repository, or NODE_PATH")


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing of it."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def page(tmp_path: Path, packages: Path) -> Iterator[Any]:
    """A page of a real browser that shows files of the test's folder."""
    playwright = pytest.importorskip("playwright.sync_api")
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), os.environ.get("CHROME"))
    if browser is None:
        pytest.skip("no browser: install chromium, or name one in the environment variable CHROME")
    (tmp_path / "node_modules").symlink_to(packages)
    (tmp_path / "index.html").write_text(PAGE, encoding="utf-8")
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with playwright.sync_playwright() as program:
            shown = program.chromium.launch(executable_path=browser, args=FLAGS)
            window = shown.new_page(viewport={"width": 1200, "height": 240})
            window.base = f"http://127.0.0.1:{server.server_address[1]}/index.html"
            yield window
            shown.close()
        server.shutdown()


def show(page: Any, picture: Path, **query: Any) -> dict[str, Any]:
    """What the page found of a model, and a picture of it."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{page.base}?{quote(json.dumps(query))}")
    page.wait_for_function('document.title === "done"', timeout=120_000)
    assert errors == []
    page.screenshot(path=str(picture))
    return page.evaluate("window.result")


def distance(motion: Motion, frames: tuple[int, ...], places: list[dict[str, list[float]]]) -> float:
    """Metres between the bones of a motion and those that the page found, at most."""
    joints = roles(motion.skeleton)
    ours = fk(motion).positions
    return max(
        float(np.linalg.norm(ours[frame, joints[ROLE_OF_BONE[bone]]] - found[bone]))
        for frame, found in zip(frames, places)
        for bone in BONES
    )


@pytest.mark.parametrize("version", [0, 1])
def test_three_vrm_shows_a_walk_as_it_was_made(version: int, tmp_path: Path, page: Any) -> None:
    (tmp_path / "model.vrm").write_bytes(model(version, backwards=version == 0))
    result = retarget(samples.motion("walk").motion[:40], tmp_path / "model.vrm")
    write(result.clip, tmp_path / "walk.vrm")
    write(result.clip, tmp_path / "walk.vrma")
    times = [frame / result.motion.fps for frame in FRAMES]
    found = show(page, tmp_path / "walk.png", model="walk.vrm", times=times, bones=BONES)
    assert found["version"] == str(version)
    assert found["name"] == "Sample adult"
    assert distance(result.motion, FRAMES, found["places"]) < 1e-4
    # What else the model holds is still alive: expressions move blend shapes, and springs have their joints.
    assert "happy" in found["expressions"]
    assert found["weight"] == 1.0
    assert found["springs"] > 0
    # The same walk as a VRM animation, on the model without a motion.
    played = show(page, tmp_path / "vrma.png", model="model.vrm", animation="walk.vrma", times=times, bones=BONES)
    assert distance(result.motion, FRAMES, played["places"]) < 0.01


def test_what_is_written_passes_the_validator(tmp_path: Path, packages: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("needs node")
    files = []
    for version in (0, 1):
        (tmp_path / f"model{version}.vrm").write_bytes(model(version, backwards=version == 0))
        result = retarget(samples.motion("walk").motion[:20], tmp_path / f"model{version}.vrm")
        for name in (f"walk{version}.vrm", f"walk{version}.vrma"):
            write(result.clip, tmp_path / name)
            files.append(str(tmp_path / name))
    (tmp_path / "node_modules").symlink_to(packages)
    (tmp_path / "script.mjs").write_text(VALIDATE)
    done = subprocess.run(["node", "script.mjs", *files], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {file: [] for file in files}
