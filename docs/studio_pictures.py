"""Takes the pictures of the studio for the documentation, in a headless browser.

    python docs/studio_pictures.py [--only NAME ...] [--folder docs/pictures] [--chrome PROGRAM]

Every picture begins with an empty document of a studio of its own. They are kept in the repository, so they get a
palette of colours.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

FOLDER = Path(__file__).resolve().parent / "pictures"
SIZE = {"width": 1280, "height": 800}
COLOURS = 128
"""Colours of the palette: skins are shaded smoothly."""
FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking")
PATIENCE_MS = 120_000
SETTLED = """() => {
  const { state, result, progress, motions } = window.understudy ?? {};
  const now = state?.value, last = result?.value;
  return now && !progress.value.busy && last?.seq === null && last.version === now.version
    && now.bodies.length > 0 && now.bodies.every((body) => motions.has(body.which));
}"""


class Desk:
    """A page of the studio, and what is done with it."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def at(self, name: str) -> Any:
        return self.page.get_by_test_id(name)

    def settle(self) -> None:
        """Wait for the result, and for skins and plots to be drawn."""
        self.page.wait_for_function(SETTLED)
        self.page.wait_for_timeout(1500)

    def panel(self, name: str) -> None:
        self.at(f"tab-{name}").click()

    def sample(self, name: str, role: str) -> None:
        """Open a sample in a role."""
        self.panel("files")
        self.at("open-role").select_option(role)
        self.at(f"sample-{name}").click()
        self.page.wait_for_function(
            "(name) => JSON.stringify(window.understudy.state.value.document).includes(`sample:${name}`)", arg=name
        )
        self.settle()

    def choose(self, role: str, name: str) -> None:
        """Choose a sample for a part of a transition or an analogy."""
        self.at(f"choose-{role}").click()
        self.at(f"chooser-{role}").get_by_test_id(f"sample-{name}").click()
        self.page.wait_for_timeout(500)

    def go_to(self, seconds: float) -> None:
        self.page.evaluate("(time) => { window.understudy.clock.time.value = time; }", seconds)

    def click_joint(self, joint: str) -> dict[str, float]:
        at: dict[str, float] = self.page.evaluate("(name) => window.understudy.screen('result', name)", joint)
        self.page.mouse.click(at["x"], at["y"])
        self.page.wait_for_timeout(500)
        return at


def show_stage(desk: Desk) -> None:
    desk.sample("walk", "source")
    desk.sample("child", "target")
    desk.go_to(1.2)
    desk.panel("body")


def show_inspector(desk: Desk) -> None:
    desk.sample("walk", "source")
    desk.sample("child", "target")
    desk.go_to(1.2)
    desk.page.wait_for_timeout(500)
    at = desk.click_joint("LeftHand")
    desk.page.mouse.move(at["x"], at["y"])
    desk.page.mouse.down()
    desk.page.mouse.move(at["x"] + 5, at["y"] - 12, steps=8)
    desk.page.mouse.up()
    desk.page.wait_for_function("() => window.understudy.state.value.document.recipe.constraint.length === 1")
    desk.settle()
    desk.panel("inspector")
    # Only rows in sight are there.
    desk.page.evaluate("() => document.querySelector('.timeline .rows').scrollTo(0, 9999)")
    desk.page.locator('[data-path="recipe/constraint/0"]').click()


def show_bones(desk: Desk) -> None:
    desk.at("theme").select_option("dark")
    desk.sample("walk", "source")
    desk.sample("other", "target")
    desk.go_to(1.2)
    desk.panel("correspondence")
    desk.at("bone-source-LeftArm").click()


def show_transition(desk: Desk) -> None:
    desk.at("mode-transition").click()
    desk.choose("first", "walk")
    desk.choose("second", "run")
    desk.settle()
    desk.go_to(3.5)
    desk.at("fit").click()


def show_analogy(desk: Desk) -> None:
    desk.at("mode-analogy").click()
    for role, name in (("a_example", "walk"), ("b_example", "dog_walk"), ("a_new", "march")):
        desk.choose(role, name)
    desk.settle()
    desk.go_to(1.0)
    desk.at("fit").click()


def show_variants(desk: Desk) -> None:
    desk.sample("march", "source")
    desk.sample("giant", "target")
    desk.go_to(1.2)
    desk.panel("variants")
    for name in ("2", "4", "8", "ik", "ik_lowpass", "naive"):
        desk.at(f"variant-{name}").set_checked(name in ("2", "8", "ik"))
    desk.at("solve-variants").click()
    desk.page.wait_for_function("() => window.understudy.result.value?.variants.length >= 4")
    desk.settle()


def show_quality(desk: Desk) -> None:
    desk.at("theme").select_option("dark")
    desk.sample("run", "source")
    desk.sample("child", "target")
    desk.go_to(1.2)
    desk.panel("quality")
    desk.page.wait_for_function("() => window.understudy.quality.value !== null")
    desk.page.evaluate("() => { document.getElementById('panel').scrollTop = 0; }")


SCENES: dict[str, Callable[[Desk], None]] = {
    "studio_stage": show_stage,
    "studio_inspector": show_inspector,
    "studio_bones": show_bones,
    "studio_transition": show_transition,
    "studio_analogy": show_analogy,
    "studio_variants": show_variants,
    "studio_quality": show_quality,
}


@contextmanager
def studio(folder: Path) -> Iterator[str]:
    """A studio of its own in a folder; gives its address."""
    command = [sys.executable, "-m", "understudy", "studio", "--no-browser", "--json", "--session", str(folder / "s")]
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


def take(browser: Any, show: Callable[[Desk], None], path: Path) -> None:
    """Take one picture."""
    with tempfile.TemporaryDirectory() as folder, studio(Path(folder)) as url:
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.set_default_timeout(PATIENCE_MS)
        page.goto(url)
        page.wait_for_function("() => window.understudy?.state.value")
        desk = Desk(page)
        show(desk)
        page.mouse.move(5, 5)
        page.wait_for_timeout(1500)
        picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
        page.close()
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path} ({path.stat().st_size / 1000:.0f} kB)")


def main() -> None:
    """Take the pictures that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(SCENES), default=list(SCENES))
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--chrome", default=os.environ.get("CHROME") or shutil.which("chromium"))
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=given.chrome, args=FLAGS)
        for name in given.only:
            take(browser, SCENES[name], given.folder / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
