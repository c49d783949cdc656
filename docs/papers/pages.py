"""Writes what `make papers` found into the papers' pages: tables, figures of pictures, and the pictures.

    python -m docs.papers.pages FOLDER

FOLDER is that of `make papers`, out/papers. The tables of an experiment stand between
`<!-- numbers: PAPER.EXPERIMENT -->` and `<!-- /numbers -->`; one of several tables, without its title, is
`PAPER.EXPERIMENT.NUMBER`. What was not run stays as it is.
"""

from __future__ import annotations

import argparse
import re
from io import BytesIO
from pathlib import Path

import papers
from papers import Findings, Table
from papers.__main__ import saved_results
from papers.claims import claims_table
from PIL import Image, ImageChops

from understudy.base.files import open_to_write

PAGES = Path(__file__).resolve().parent
COLOURS, MARGIN = 64, 16
BLOCK = re.compile(r"(<!-- numbers: (\S+) -->\n).*?(<!-- /numbers -->)", re.DOTALL)


def shrink(picture: Path, target: Path) -> None:
    """Write a PNG with the white at its edges cut off, in few colours."""
    with Image.open(picture) as image:
        plain = image.convert("RGB")
    drawn = ImageChops.difference(plain, Image.new("RGB", plain.size, "white")).getbbox()
    left, top, right, bottom = drawn or (0, 0, *plain.size)
    right, bottom = min(right + MARGIN, plain.width), min(bottom + MARGIN, plain.height)
    plain = plain.crop((max(left - MARGIN, 0), max(top - MARGIN, 0), right, bottom))
    buffer = BytesIO()
    flat = plain.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    flat.save(buffer, format="PNG", optimize=True)
    with open_to_write(target) as stream:
        stream.write(buffer.getvalue())


def block_text(table: Table) -> str:
    """A table with its title; sentences of a figure as a list."""
    if table.head != ("case", "result"):
        return f"{table.title}:\n\n{table.markdown()}"
    return "\n".join("- " + ": ".join(str(cell) for cell in row if cell) for row in table.rows)


def blocks(results: dict[str, Findings]) -> dict[str, str]:
    """The text of every block of the pages, by its name."""
    texts = {"claims": claims_table(results).markdown()}
    for name, findings in results.items():
        texts[name] = "\n\n".join(map(block_text, findings.tables))
        texts |= {f"{name}.{number}": table.markdown() for number, table in enumerate(findings.tables, 1)}
    return texts


def fill_pages(folder: Path, pages: Path = PAGES) -> None:
    """Write the results in a folder into pages, and the pictures that these show beside them."""
    results: dict[str, Findings] = {}
    for paper in papers.papers().values():
        results |= {f"{paper.name}.{name}": found for name, found in saved_results(paper, folder).items()}
    if not results:
        raise SystemExit(f"{folder}: there are no results of `make papers`")
    texts = blocks(results)
    for page in sorted(pages.glob("*.md")):
        old = page.read_text(encoding="utf-8")
        new = BLOCK.sub(lambda b: f"{b[1]}\n{texts[b[2]]}\n\n{b[3]}" if b[2] in texts else b[0], old)
        page.write_text(new, encoding="utf-8")
    shown = "".join(page.read_text(encoding="utf-8") for page in pages.parent.rglob("*.md"))
    for findings in results.values():
        for picture in findings.pictures:
            if f"pictures/{picture.name}" in shown:
                shrink(picture, pages / "pictures" / picture.name)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path, metavar="FOLDER")
    fill_pages(options.parse_args().folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
