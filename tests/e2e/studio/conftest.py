"""A real studio in a real browser: a server process, Chromium, and a desk at which a user works."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy

PAGE = Path(understudy.__file__).parent / "studio" / "page" / "index.html"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Pictures are drawn by the processor, and nothing is asked of any network.
FLAGS = (
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)
# Generous: the tests share two cores with others. Waiting ends as soon as what is waited for is there.
PATIENCE = 60.0
# The result is of the document as it is; where something is open that is to be solved, there is one.
SETTLED = """() => {
  const { state, result, progress, connected, motions } = window.understudy;
  const now = state.value, last = result.value;
  if (!connected.value || !now || progress.value.busy) return false;
  const { mode, recipe, transition, analogy } = now.document;
  const open = { retarget: recipe.actor.length > 0, transition: transition.first && transition.second,
    analogy: analogy.a_example && analogy.b_example && analogy.a_new }[mode];
  return !open || (last && last.seq === null && last.version === now.version && now.bodies.length > 0
    && now.bodies.every((body) => motions.has(body.which)));
}"""


# The stage is at rest: for a while, and for some turns of the page, no picture of it was drawn.
RESTING = """() => new Promise((resolve) => {
  let drawn = window.understudy.drawn(), since = performance.now(), turns = 0;
  const look = () => {
    if (window.understudy.drawn() !== drawn) {
      [drawn, since, turns] = [window.understudy.drawn(), performance.now(), 0];
    }
    turns += 1;
    if (turns > 5 && performance.now() - since > 200) resolve(true);
    else requestAnimationFrame(look);
  };
  look();
})"""


# What is said of the page when something did not come.
ACCOUNT = """() => {
  const { state, result, progress, connected, motions, troubles } = window.understudy ?? {};
  const now = state?.value, last = result?.value;
  return JSON.stringify({ connected: connected?.value, progress: progress?.value, troubles: troubles?.value,
    state: now && { version: now.version, document: now.document, bodies: now.bodies.map((body) => body.which) },
    result: last && { version: last.version, seq: last.seq, text: last.text }, motions: [...(motions?.keys() ?? [])] });
}"""


def browser_path() -> str:
    """The browser to use; skips, saying why, where there is none that runs."""
    given = os.environ.get("CHROME")
    for name in (given,) if given else BROWSERS:
        path = shutil.which(name)
        # Some systems have a stand-in that only says how to install the real one.
        if path and subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False).returncode == 0:
            return path
    pytest.skip("no browser: install chromium, or name one in the environment variable CHROME")


class Server:
    """A studio's process, with a folder of files and a session that outlives it."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.session = folder / "session"
        self.log = folder / "log.txt"
        self.process: subprocess.Popen[str] | None = None
        self.url = ""
        self.work.mkdir(parents=True)

    def start(self, *files: str, port: int = 0) -> None:
        """Start it and wait until it says where it listens."""
        command = [
            sys.executable,
            "-c",
            "from understudy.app.cli import main; main()",
            "studio",
            "--no-browser",
            "--json",
        ]
        places = ["--session", str(self.session), "--folder", str(self.work), *(["--port", str(port)] if port else [])]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*command, *places, *files], cwd=self.work, stdout=subprocess.PIPE, stderr=log, text=True
            )
        said = self.listen(self.process)
        if not said.startswith("{"):
            self.end(signal.SIGKILL)
            pytest.fail(f"the studio said {said!r}, and then: {self.log.read_text()}")
        self.url = json.loads(said)["url"]

    def listen(self, process: subprocess.Popen[str]) -> str:
        """What it says first, up to the closing brace."""
        assert process.stdout is not None
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        said = ""
        while line := process.stdout.readline():
            said += line
            if line.startswith("}"):
                break
        watchdog.cancel()
        return said

    def view(self) -> dict[str, Any]:
        """What is looked at, as the session's file has it: it is told and written a moment after it changes."""
        kept: dict[str, Any] = json.loads((self.session / "session.json").read_text()).get("view", {})
        return kept

    def end(self, how: signal.Signals) -> int:
        """End it, and wait until it is gone."""
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.process = None
        return code


class Desk:
    """A page of the studio, and what a user does with it."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.url = url
        self.faults: list[str] = []
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", lambda message: message.type in ("error", "warning") and self.faults.append(message.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        # The console tells of what the security policy stopped, too; a listener tells of it before anything is run.
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.error('CSP', e.violatedDirective))"
        )

    def visit(self, url: str | None = None) -> None:
        """Open the page and wait until it has heard from the server."""
        self.page.goto(url or self.url)
        self.wait("() => window.understudy?.state.value")
        self.settle()

    def settle(self) -> None:
        """Wait until what is shown is the result of the document as it is."""
        self.wait(SETTLED)

    def wait(self, function: str) -> None:
        """Wait for a function of the page to be true; what the page shows is told where that does not come."""
        try:
            self.page.wait_for_function(function)
        except Exception as error:
            pytest.fail(f"{error}\nwaiting for {function}\nwhile the page has {self.page.evaluate(ACCOUNT)}")

    def rest(self) -> None:
        """Wait until the stage has come to rest: places of joints on the screen are final then."""
        self.page.evaluate(RESTING)

    def sees(self, what: Callable[[], Any], expected: Any = True) -> None:
        """Wait until something of the page is as expected: the page shows what is done to it a moment later."""
        deadline = time.monotonic() + PATIENCE
        while (found := what()) != expected:
            assert time.monotonic() < deadline, f"expected {expected!r}, the page has {found!r}"
            self.page.wait_for_timeout(20)

    def excuse(self, pattern: str) -> None:
        """Faults that were to be expected."""
        self.faults = [fault for fault in self.faults if not re.search(pattern, fault)]

    def at(self, testid: str) -> Any:
        return self.page.get_by_test_id(testid)

    def value(self, path: str) -> Any:
        """Something of `window.understudy`: `state.value.fps`."""
        return self.page.evaluate(f"() => window.understudy.{path}")

    @property
    def document(self) -> dict[str, Any]:
        return self.value("state.value.document")

    def tracks(self, kind: str = "") -> list[dict[str, Any]]:
        return [track for track in self.value("result.value.tracks") if not kind or track["kind"] == kind]

    def panel(self, name: str) -> Any:
        self.at(f"tab-{name}").click()
        return self.at(f"panel-{name}")

    def unfold(self, title: str) -> None:
        """Open a part of a panel that may be folded."""
        heading = self.page.locator("summary", has_text=title)
        if not heading.evaluate("(element) => element.parentElement.open"):
            heading.click()

    def fresh(self) -> None:
        """Begin with an empty document."""
        self.panel("files")
        self.unfold("Session")
        self.at("fresh").click()
        self.at("fresh-sure").click()
        self.until("state.value.bodies.length === 0")
        self.settle()

    def sample(self, name: str, role: str) -> None:
        """Open a sample as something, and wait for what comes of it."""
        self.panel("files")
        self.at("browse-samples").click()
        self.at("open-role").select_option(role)
        self.at(f"sample-{name}").click()
        self.until(f"JSON.stringify(state.value.document).includes('sample:{name}')")
        self.settle()

    def file(self, name: str, role: str = "source") -> None:
        """Open a file of the server's folder by its button."""
        self.panel("files")
        self.at("browse-files").click()
        self.at("open-role").select_option(role)
        folder = self.value("state.value.folders[0]")
        self.page.locator(f'[data-testid="files"] button[title="{folder}"]').click()
        self.page.locator(f'[data-testid="files"] button[title$="{name}"]').click()

    def until(self, condition: str) -> None:
        """Wait for something that is told in terms of `window.understudy`."""
        self.wait(
            f"() => {{ const {{ state, result, view, selection, clock, quality }} = window.understudy; "
            f"return {condition}; }}"
        )

    def motion(self, which: str = "result") -> tuple[np.ndarray, np.ndarray]:
        """Times (F) and places of joints and ends (F, J + E, 3) of a body's motion, as the page has them."""
        kept = self.page.evaluate(
            """(which) => {
              const motion = window.understudy.motions.get(which);
              return motion && { times: Array.from(motion.times), positions: Array.from(motion.positions) };
            }""",
            which,
        )
        assert kept, f"the page has no motion `{which}`"
        times = np.array(kept["times"])
        return times, np.array(kept["positions"]).reshape(len(times), -1, 3)

    def names(self, which: str = "result") -> list[str]:
        """Of joints and ends, in the order of a motion's places."""
        body = next(body for body in self.value("state.value.bodies") if body["which"] == which)
        return [entry["name"] for entry in (*body["joints"], *body["ends"])]

    def go_to(self, time: float) -> None:
        """Set the playhead."""
        self.page.evaluate("(time) => { window.understudy.clock.time.value = time; }", time)

    def picture(self, name: str) -> None:
        """A screenshot, where the environment names a folder for them."""
        folder = os.environ.get("UNDERSTUDY_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not PAGE.is_file():
        pytest.skip("the studio's page is not built: `make page`")
    path = browser_path()
    api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser: `pip install playwright`")
    with api.sync_playwright() as playwright:
        program = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield program
        program.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("studio"))
    server.start()
    yield server
    if server.process:
        server.end(signal.SIGKILL)


@pytest.fixture
def desk(browser: Any, server: Server) -> Iterator[Desk]:
    """An empty page, which at the end must not have complained."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    desk = Desk(context.new_page(), server.url)
    desk.visit()
    if desk.value("state.value.bodies.length"):
        desk.fresh()
    yield desk
    context.close()
    assert not desk.faults, "\n".join(desk.faults)
