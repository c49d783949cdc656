"""The table of pairs in mapping.md: every humanoid file of the real data onto one CMU skeleton.

    python docs/mapping_table.py            make it anew
    python docs/mapping_table.py --check    change nothing; fail if the page is out of date

The data lies beside the repository or where UNDERSTUDY_DATA says; without it there is nothing to make. Files of FBX and
USD need the packages that read them.
"""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from understudy import read
from understudy.correspondence.by_name import convention
from understudy.correspondence.pairs import Correspondence
from understudy.correspondence.suggest import suggest
from understudy.figure.roles import side

HOME = Path(__file__).resolve().parents[1]
PAGE = HOME / "docs" / "mapping.md"
DATA = Path(os.environ.get("UNDERSTUDY_DATA", HOME.parent / "shared" / "data"))
TARGET = "cmu_bvh/02_01.bvh"
PATTERNS = ("cmu_bvh/*.bvh", "cmu_asfamc/*.asf", "humans/*.bvh", "bvh_conformance/univrm_hierarchy_*.bvh",
            "bvh_conformance/bvhio_example.bvh", "bvh_conformance/bvhpython_test_mocapbank.bvh",
            "bvh_conformance/bvhtoolbox_walk01.bvh", "gltf/CesiumMan.glb", "gltf/RiggedFigure.glb",
            "gltf/RobotExpressive.glb", "gltf/m2m_*human*.glb", "gltf/quaternius_man_Casual.glb",
            "fbx_usd/maya_*.fbx", "fbx_usd/100style_character.fbx", "fbx_usd/RiggedFigure.usdz",
            "robots/*humanoid*.xml", "robots/unitree_g1*", "robots/unitree_h1.xml")  # fmt: skip
"""The files that hold humans."""
BLOCK = re.compile(r"(<!-- mapping table -->\n)(.*?)(<!-- /mapping table -->)", re.DOTALL)


def groups(data: Path) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """The files by what they map to: the convention and the pairs, of the middle and the left, a line each."""
    target = read(data / TARGET)
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for pattern in PATTERNS:
        for path in sorted(data.glob(pattern)):
            clip = read(path)
            whole = suggest(clip.skeleton, target.skeleton, source_motion=clip.motion, target_motion=target.motion)
            key = (convention(clip.skeleton), rows(whole))
            found.setdefault(key, []).append(path.relative_to(data).as_posix())
    return found


def rows(whole: Correspondence) -> tuple[str, ...]:
    """The pairs as rows of a table; those of the right, which must be those of the left, are left out."""
    shown = [pair for pair in whole.pairs if side(pair.source[0]) != "right"]
    lefts = [pair for pair in shown if side(pair.source[0]) == "left"]
    rights = [pair for pair in whole.pairs if side(pair.source[0]) == "right"]
    if [(p.confidence, len(p.source), len(p.target)) for p in lefts] != [
        (p.confidence, len(p.source), len(p.target)) for p in rights
    ]:
        raise SystemExit(f"{whole.source.name}: the right side is mapped otherwise than the left")
    return tuple(
        f"| {_said(pair.source)} | {_said(pair.target)} | {pair.confidence:.2f} | {pair.reason.partition(' (')[0]} |"
        for pair in shown
    )


def _said(bones: tuple[str, ...]) -> str:
    return ", ".join(f"`{bone}`" for bone in bones)


def table(data: Path) -> str:
    """A table for each group of files."""
    parts = []
    for (names, lines), files in groups(data).items():
        folders: dict[str, list[str]] = {}
        for file in files:
            folder, _, name = file.rpartition("/")
            folders.setdefault(folder, []).append(name)
        listed = "; ".join(f"{folder}: {', '.join(those)}" for folder, those in folders.items())
        head = "| source | CMU | sure | why |\n| --- | --- | --- | --- |"
        parts.append(f"### {names}: {len(files)} {'file' if len(files) == 1 else 'files'}\n\n{listed}\n\n{head}\n"
                     + "\n".join(lines))  # fmt: skip
    return _numbered(parts)


def _numbered(parts: list[str]) -> str:
    """Headings that are the same are told apart by a number."""
    seen: dict[str, int] = {}
    out = []
    for part in parts:
        head, _, rest = part.partition("\n")
        seen[head] = seen.get(head, 0) + 1
        out.append(f"{head} ({seen[head]})\n{rest}" if seen[head] > 1 else part)
    return "\n\n".join(out)


def filled(text: str, data: Path) -> str:
    """The text of the page with its table made anew."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{table(data)}\n\n{block[3]}", text)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true", help="change nothing; fail if the page is out of date")
    chosen = options.parse_args()
    if not DATA.is_dir():
        print(f"there is no folder of real data at `{DATA}`; UNDERSTUDY_DATA can name another")
        return 1
    text = PAGE.read_text(encoding="utf-8")
    new = filled(text, DATA)
    if new == text:
        return 0
    if chosen.check:
        print("out of date: mapping.md")
        return 1
    PAGE.write_text(new, encoding="utf-8")
    print("filled: mapping.md")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
