"""Pictures of the studio for docs/studio.md, taken in a browser of a studio that is started for them.

    python docs/studio_pictures.py [NAME ...]
    python docs/studio_pictures.py --tour FOLDER TARGET ...

Needs the page built (`make page`), playwright and chromium. Without names all pictures are made. With `--tour`, every
panel is taken into a folder, light and dark and in two sizes, while each of the targets (files or samples) performs a
walk.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

PICTURES = Path(__file__).parent / "pictures"
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 1280, "height": 800}
PATIENCE = 90_000
"""Milliseconds that a solve may take on a slow machine."""


@contextmanager
def studio(*files: str) -> Iterator[str]:
    """The address of a studio that runs meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).with_name("understudy")), "studio", *files, "--no-browser", "--json"]
        process = subprocess.Popen([*command, "--session", folder], stdout=subprocess.PIPE, text=True, cwd=folder)
        assert process.stdout is not None
        try:
            said = ""
            while line := process.stdout.readline():
                said += line
                if line.rstrip() == "}":
                    break
            if not said:
                raise SystemExit("the studio did not start")
            yield json.loads(said)["url"]
        finally:
            process.terminate()
            process.wait()


def settled(page: Page) -> None:
    """Wait until everything asked for is solved and shown."""
    page.wait_for_timeout(400)
    page.wait_for_function(
        """() => {
            const { state, result } = window.understudy;
            const busy = document.querySelector("[data-testid=status]").dataset.busy;
            return busy === "false" && result.value && result.value.version === state.value.version;
        }""",
        timeout=PATIENCE,
    )
    page.wait_for_timeout(600)


def panel(page: Page, name: str) -> None:
    page.get_by_test_id(f"tab-{name}").click()


def choose(page: Page, part: str, sample: str) -> None:
    """Give a part of a transition or an analogy its clip."""
    page.get_by_test_id(f"choose-{part}").click()
    page.get_by_test_id(f"chooser-{part}").get_by_test_id(f"sample-{sample}").click()
    page.wait_for_timeout(1500)


def go_to(page: Page, time: float) -> None:
    page.evaluate("time => { window.understudy.clock.time.value = time; }", time)
    page.wait_for_timeout(500)


def beside(page: Page, joint: str, offset: tuple[float, float, float]) -> list[float]:
    """Metres: a place beside where a joint of the result is now."""
    place = page.evaluate(
        """joint => {
            const { state, motions, clock } = window.understudy;
            const body = state.value.bodies.find(each => each.which === "result");
            const number = body.joints.findIndex(each => each.name === joint);
            const { times, points, positions } = motions.get("result");
            const frame = times.findIndex(time => time >= clock.time.value);
            return [...positions.slice((frame * points + number) * 3).slice(0, 3)];
        }""",
        joint,
    )
    return [float(a + b) for a, b in zip(place, offset, strict=True)]


def stage(page: Page) -> None:
    panel(page, "body")
    go_to(page, 1.2)


def inspector(page: Page) -> None:
    panel(page, "inspector")
    go_to(page, 1.2)
    page.get_by_test_id("section-add").locator("summary").click()
    page.get_by_test_id("new-kind").select_option("place")
    page.get_by_test_id("new-point").select_option("LeftHand")
    for axis, value in zip("xyz", beside(page, "LeftHand", (0.08, 0.2, 0.1)), strict=True):
        page.get_by_test_id(f"new-target-{axis}").fill(f"{value:.3f}")
        page.get_by_test_id(f"new-target-{axis}").press("Enter")
    page.get_by_test_id("add-constraint").click()
    settled(page)
    page.get_by_test_id("selected").scroll_into_view_if_needed()


def bones(page: Page) -> None:
    panel(page, "correspondence")
    page.get_by_test_id("bone-source-LeftArm").click()
    go_to(page, 1.2)


def transition(page: Page) -> None:
    page.get_by_test_id("mode-transition").click()
    choose(page, "first", "walk")
    choose(page, "second", "run")
    settled(page)
    blend = page.evaluate("() => window.understudy.result.value.blend")
    if blend:
        go_to(page, (blend["start"] + blend["end"]) / 2)


def analogy(page: Page) -> None:
    page.get_by_test_id("mode-analogy").click()
    for part, sample in (("a_example", "walk"), ("b_example", "dog_walk"), ("a_new", "march")):
        choose(page, part, sample)
    settled(page)
    page.locator("summary", has_text="Poses").click()
    page.locator("summary", has_text="Markers matched").click()
    go_to(page, 1.0)


def variants(page: Page) -> None:
    panel(page, "variants")
    page.get_by_test_id("solve-variants").click()
    page.get_by_test_id("show-b").wait_for(timeout=PATIENCE)
    settled(page)
    page.get_by_test_id("variant-figures").scroll_into_view_if_needed()
    go_to(page, 1.2)


def quality(page: Page) -> None:
    panel(page, "quality")
    page.get_by_test_id("metric-smoothness").wait_for(timeout=PATIENCE)
    page.get_by_test_id("metric-smoothness").locator("summary").click()
    page.get_by_test_id("metric-smoothness").scroll_into_view_if_needed()
    go_to(page, 1.2)


SCENES: dict[str, tuple[tuple[str, ...], Callable[[Page], None], str]] = {
    "stage": (("sample:walk", "sample:child"), stage, "light"),
    "inspector": (("sample:walk", "sample:child"), inspector, "light"),
    "bones": (("sample:walk", "sample:other"), bones, "dark"),
    "transition": ((), transition, "light"),
    "analogy": ((), analogy, "light"),
    "variants": (("sample:march", "sample:giant"), variants, "light"),
    "quality": (("sample:run", "sample:stretched"), quality, "dark"),
}


PANELS = ("files", "inspector", "body", "correspondence", "transition", "analogy", "variants", "quality", "batch")
TOUR_SIZES = ((1440, 900), (1280, 720))


def tour(browser: Browser, folder: Path, targets: list[str]) -> None:
    """Every panel, light and dark and in both sizes, with each target."""
    folder.mkdir(parents=True, exist_ok=True)
    for target in targets:
        name = Path(target.removeprefix("sample:")).stem
        target = target if target.startswith("sample:") else str(Path(target).resolve())
        opened = [] if target.startswith("sample:") else ["--folder", str(Path(target).parent)]
        with studio("sample:walk", target, *opened) as url:
            for width, height in TOUR_SIZES:
                page = browser.new_page(viewport={"width": width, "height": height})
                page.goto(url)
                page.get_by_test_id("tab-files").wait_for()
                settled(page)
                go_to(page, 1.2)
                for theme in ("light", "dark"):
                    page.get_by_test_id("theme").select_option(theme)
                    for each in PANELS:
                        panel(page, each)
                        settled(page)
                        page.screenshot(path=folder / f"{name}_{width}_{theme}_{each}.png")
                page.close()
                print(f"{name} {width}x{height}", flush=True)


def main(names: list[str]) -> None:
    browser_path = os.environ.get("CHROME") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        if names[:1] == ["--tour"]:
            tour(browser, Path(names[1]), names[2:])
            return
        for name in names or SCENES:
            files, act, theme = SCENES[name]
            with studio(*files) as url:
                page = browser.new_page(viewport=SIZE, color_scheme=theme)  # type: ignore[arg-type]
                page.goto(url)
                page.get_by_test_id("tab-files").wait_for()
                page.wait_for_timeout(800)
                if files:
                    settled(page)
                act(page)
                page.screenshot(path=PICTURES / f"studio_{name}.png")
                page.close()
                print(f"studio_{name}.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
