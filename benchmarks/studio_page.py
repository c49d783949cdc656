"""The studio's page in a headless browser that draws by the processor: how soon it shows something, and how smoothly.

    python benchmarks/studio_page.py [--chrome PROGRAM] [--triangles 20000] [--rounds 5] [--json FILE]

The character is the sample adult whose skin is cut into as many triangles, with an image on it. Measured are the
compressed size of the page, the seconds from asking for the page to its first picture with the bodies in it, pictures a
second while a motion of 60 frames a second plays, and updates a second while a hand is dragged in one of 30.
"Processor" is the processor time of browser and server together; on a machine that does other work too, it says more
than the clock does: two processors that are free can draw as many pictures a second as fit into it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import understudy
from understudy import samples
from understudy.figure.skin import Look, Material, Mesh
from understudy.io import Clip

PAGE = Path(understudy.__file__).parent / "studio" / "page"
FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking")
SIZE = {"width": 1280, "height": 720}
PLAYED_SECONDS = 8.0
DRAG_STEPS = 80
IMAGE_PIXELS = 512
# Seconds after which the stage had the bodies in a picture, told by the page itself: a program that asks again and
# again would take the time that it measures.
FIRST = """() => new Promise((resolve) => {
  const look = () => {
    const { drawn, motions } = window.understudy ?? {};
    if (drawn?.() > 0 && motions.has('result')) requestAnimationFrame(() => resolve(performance.now() / 1000));
    else requestAnimationFrame(look);
  };
  look();
})"""
SETTLED = """() => {
  const { state, result, progress, motions } = window.understudy ?? {};
  return state?.value && !progress.value.busy && result.value?.seq === null && motions.has('result')
    && result.value.version === state.value.version;
}"""
PLAYING = """(seconds) => new Promise((resolve) => {
  const { drawn, clock } = window.understudy;
  const [first, began] = [drawn(), performance.now()];
  setTimeout(() => resolve((drawn() - first) / ((performance.now() - began) / 1000)), 1000 * seconds);
})"""
WATCH = """() => {
  const seen = (window.seen = new Set());
  window.understudy.result.subscribe((result) => result && result.seq !== null && seen.add(result.seq));
}"""


def textured(path: Path, triangles: int) -> None:
    """Write the sample adult with a skin of so many triangles and an image on it."""
    skeleton = samples.character("adult")
    (skin,) = samples.skin(skeleton)
    split = (triangles - len(skin.triangles)) // 3
    a, b, c = skin.triangles[:split].T
    count = skin.num_vertices
    middles = [np.arange(count + side * split, count + (side + 1) * split) for side in range(3)]
    d, e, f = middles
    cut = np.concatenate([np.stack(corners, axis=1) for corners in ((a, d, f), (d, b, e), (f, e, c), (d, e, f))])
    faces = np.concatenate([skin.triangles[split:], cut])
    ends = ((a, b), (b, c), (c, a))
    vertices = np.concatenate([skin.vertices, *(0.5 * (skin.vertices[p] + skin.vertices[q]) for p, q in ends)])
    dense = np.zeros((count, skin.num_joints))
    np.add.at(dense, (np.arange(count)[:, None], skin.joints), skin.weights)
    dense = np.concatenate([dense, *(0.5 * (dense[p] + dense[q]) for p, q in ends)])
    joints = np.argsort(-dense, axis=1)[:, :4]
    uvs = (vertices[faces][..., :2] - vertices[:, :2].min(axis=0)) / np.ptp(vertices[:, :2], axis=0)
    image = Material(name="cloth", colour=(1.0, 1.0, 1.0, 1.0), image=checks())
    look = Look(uvs=uvs, materials=(image,), material_numbers=np.zeros(len(faces), int))
    weights = np.take_along_axis(dense, joints, axis=1)
    mesh = Mesh(
        vertices=vertices,
        triangles=faces,
        joints=joints,
        weights=weights,
        joint_from_mesh=skin.joint_from_mesh,
        look=look,
    )
    understudy.write(replace(Clip(skeleton=skeleton), meshes=(mesh,)), path)


def checks() -> bytes:
    """A PNG with squares of several colours."""
    from PIL import Image

    row, column = np.indices((IMAGE_PIXELS, IMAGE_PIXELS)) // 32
    colours = np.array([[224, 122, 95], [61, 64, 91], [129, 178, 154], [242, 204, 143]], np.uint8)
    stream = BytesIO()
    Image.fromarray(colours[(row + 2 * column) % 4]).save(stream, format="PNG")
    return stream.getvalue()


def page_bytes() -> int:
    """The bytes of the page as a server sends them compressed."""
    files = [PAGE / "index.html", *sorted((PAGE / "assets").iterdir())]
    return sum(len(gzip.compress(file.read_bytes(), 9)) for file in files)


def family(pid: int) -> set[int]:
    """A process and all that descend from it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    members = {pid}
    while more := {child for child, parent in parents.items() if parent in members} - members:
        members |= more
    return members


def processor_seconds() -> dict[str, float]:
    """Processor seconds so far of the studio, of the page and of what draws, by name."""
    seconds = dict.fromkeys(("server", "page", "drawing"), 0.0)
    for pid in family(os.getpid()) - {os.getpid()}:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_text()
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        kinds = {"app.cli": "server", "--type=gpu-process": "drawing", "chrom": "page"}
        name = next((name for sign, name in kinds.items() if sign in command), None)
        if name is not None:
            seconds[name] += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def processor_figures(before: dict[str, float], what: str, count: float) -> dict[str, float]:
    """Milliseconds of processor time since then for each of several things, by who spent them and in all."""
    spent = {name: 1000.0 * (now - before[name]) / max(count, 1e-9) for name, now in processor_seconds().items()}
    return {f"processor_ms_{what}": sum(spent.values())} | {f"  of which {name}": ms for name, ms in spent.items()}


@contextmanager
def studio(folder: Path, *files: str) -> Iterator[str]:
    """A studio of its own in a folder; gives its address."""
    command = [sys.executable, "-c", "from understudy.app.cli import main; main()", "studio", "--no-browser", "--json"]
    command += ["--session", str(folder / "session"), "--folder", str(folder), *files]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = ""
    while not said.rstrip().endswith("}") and (line := process.stdout.readline()):
        said += line
    try:
        yield json.loads(said)["url"]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
        process.stdout.close()


def first_picture(page: Any, url: str, rounds: int) -> dict[str, float]:
    """Seconds until the first picture, and processor time; the script of the page is in the cache of the browser."""
    page.goto(url)
    page.wait_for_function(SETTLED)
    clock, before = [], processor_seconds()
    for _ in range(rounds):
        page.reload(wait_until="commit")
        clock.append(page.evaluate(FIRST))
    times = {"first_picture_s": statistics.median(clock), "first_picture_best_s": min(clock)}
    return times | processor_figures(before, "first_picture", rounds)


def playing(page: Any) -> dict[str, float]:
    """Pictures a second while it plays, and the processor time of one."""
    page.wait_for_function(SETTLED)
    page.wait_for_timeout(1500)
    page.keyboard.press("Space")
    page.wait_for_timeout(1000)
    before = processor_seconds()
    rate = page.evaluate(PLAYING, PLAYED_SECONDS)
    used = processor_figures(before, "a_picture", rate * PLAYED_SECONDS)
    page.keyboard.press("Space")
    return {"pictures_per_s": rate, **used}


def dragging(page: Any) -> dict[str, float]:
    """Updates a second while a hand is dragged, and the processor time of one."""
    page.evaluate("() => { window.understudy.clock.time.value = 2.0; }")
    page.wait_for_timeout(500)
    at = page.evaluate("() => window.understudy.screen('result', 'LeftHand')")
    page.mouse.click(at["x"], at["y"])
    page.wait_for_function("() => window.understudy.selection.value.joint === 'LeftHand'")
    page.wait_for_timeout(500)
    page.evaluate(WATCH)
    page.mouse.move(at["x"], at["y"])
    page.mouse.down()
    before, began = processor_seconds(), time.perf_counter()
    for step in range(1, DRAG_STEPS + 1):
        page.mouse.move(at["x"] + 0.5 * step, at["y"] - 0.4 * step)
        page.wait_for_timeout(30)
    lasted = time.perf_counter() - began
    updates = page.evaluate("() => window.seen.size")
    used = processor_figures(before, "an_update", updates)
    page.mouse.up()
    page.wait_for_function(SETTLED)
    return {"updates_per_s": updates / lasted, **used}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chrome", default=os.environ.get("CHROME") or shutil.which("chromium"))
    parser.add_argument("--triangles", type=int, default=20_000)
    parser.add_argument("--target", help="a character's file instead of the one that is made")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0, help="of the walk")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    parser.add_argument("--picture", type=Path, help="also keep a screenshot there")
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    figures: list[tuple[str, float]] = [("page_kb", page_bytes() / 1000.0)]
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place)
        # What plays has more frames than are asked for: one of 30 a second could never show more than 30 pictures.
        for name, fps in (("walk.bvh", 30.0), ("fast.bvh", 60.0)):
            understudy.write(samples.motion("walk", fps=fps, seconds=given.seconds).motion, folder / name)
        target = str(Path(given.target).absolute()) if given.target else "hero.glb"
        if not given.target:
            textured(folder / target, given.triangles)
        browser = playwright.chromium.launch(executable_path=given.chrome, args=FLAGS)
        for motion in ("fast.bvh", "walk.bvh"):
            with studio(folder, motion, target) as url:
                page = browser.new_page(viewport=SIZE)
                page.set_default_timeout(300_000)
                if motion == "walk.bvh":
                    figures += first_picture(page, url, given.rounds).items()
                    figures += dragging(page).items()
                else:
                    page.goto(url)
                    figures += playing(page).items()
                if given.picture:
                    page.screenshot(path=given.picture)
                page.close()
        browser.close()
    for what, value in figures:
        print(f"{what:<28} {value:8.2f}")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
