"""Shows characters in a browser page by three.js and keeps a picture of it: a check by another program's eyes.

    python docs/browser_picture.py FILE.glb ... -o PICTURE.png

Needs chromium, node, and `npm install three puppeteer-core` in the repository or a folder that NODE_PATH names. Every
file is played by three.js' own loader and mixer; a row shows it at evenly spaced times.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
COUNT = 7
"""Poses in a row."""
SIZE = 220
"""Dots across and down a pose."""
PAGE = """<!doctype html><body style="margin:0;background:#fff"><script type="importmap">
{"imports": {"three": "/node_modules/three/build/three.module.js",
 "three/addons/": "/node_modules/three/examples/jsm/"}}</script>
<script type="module">
import * as THREE from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
const files = FILES, count = COUNT, size = SIZE;
const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
renderer.setSize(count * size, files.length * size);
renderer.setScissorTest(true);
document.body.appendChild(renderer.domElement);
for (const [row, file] of files.entries()) {
  const gltf = await new GLTFLoader().loadAsync(file);
  const scene = new THREE.Scene();
  scene.background = new THREE.Color(0xf4f4f4);
  scene.add(gltf.scene, new THREE.HemisphereLight(0xffffff, 0x888888, 3));
  gltf.scene.traverse((node) => { node.frustumCulled = false; });
  const clip = gltf.animations[0], mixer = new THREE.AnimationMixer(gltf.scene);
  mixer.clipAction(clip).play();
  for (let k = 0; k < count; k++) {
    mixer.setTime((k / (count - 1)) * clip.duration * 0.999);
    scene.updateMatrixWorld(true);
    const box = new THREE.Box3();
    gltf.scene.traverse((node) => {
      if (!node.isSkinnedMesh) return;
      node.computeBoundingBox();
      box.union(node.boundingBox.clone().applyMatrix4(node.matrixWorld));
    });
    const middle = box.getCenter(new THREE.Vector3()), reach = box.getSize(new THREE.Vector3()).length();
    const camera = new THREE.PerspectiveCamera(30, 1, reach / 100, reach * 100);
    camera.position.set(middle.x + reach * 1.6, middle.y + reach * 0.3, middle.z + reach * 1.1);
    camera.lookAt(middle);
    renderer.setViewport(k * size, (files.length - 1 - row) * size, size, size);
    renderer.setScissor(k * size, (files.length - 1 - row) * size, size, size);
    renderer.render(scene, camera);
  }
}
document.title = "done";
</script></body>"""


SHOW = """import puppeteer from "puppeteer-core";
const [browser, address, output, width, height] = process.argv.slice(2);
const args = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];
const shown = await puppeteer.launch({ executablePath: browser, args });
const page = await shown.newPage();
await page.setViewport({ width: Number(width), height: Number(height) });
page.on("pageerror", (error) => { console.error(error.message); process.exit(1); });
await page.goto(address);
await page.waitForFunction('document.title === "done"', { timeout: 120000 });
await page.screenshot({ path: output });
await shown.close();
"""


def find_packages() -> Path:
    """The folder of the node packages."""
    named = os.environ.get("NODE_PATH", "").split(os.pathsep)
    for folder in (HOME / "node_modules", *(Path(each) for each in named if each)):
        if (folder / "three").is_dir() and (folder / "puppeteer-core").is_dir():
            return folder
    raise SystemExit("`npm install three puppeteer-core` in the repository, or name the folder of both in NODE_PATH")


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing of it."""

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path):  # type: ignore[no-untyped-def]
    """A web server for a folder, on a port of its own."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("files", nargs="+", type=Path)
    options.add_argument("-o", "--output", type=Path, required=True)
    chosen = options.parse_args()
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("chromium is needed to show the page")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "node_modules").symlink_to(find_packages())
        for number, file in enumerate(chosen.files):
            shutil.copy(file, folder / f"{number}{file.suffix}")
        names = [f"{number}{file.suffix}" for number, file in enumerate(chosen.files)]
        page = PAGE.replace("FILES", repr(names)).replace("COUNT", str(COUNT)).replace("SIZE", str(SIZE))
        (folder / "index.html").write_text(page, encoding="utf-8")
        with served(folder) as port:
            (folder / "show.mjs").write_text(SHOW, encoding="utf-8")
            address = f"http://127.0.0.1:{port}/index.html"
            subprocess.run(
                [
                    "node", "show.mjs", browser, address, str(chosen.output.resolve()),
                    str(COUNT * SIZE), str(len(names) * SIZE),
                ],
                cwd=folder, check=True, timeout=180,
            )  # fmt: skip
    print(chosen.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
