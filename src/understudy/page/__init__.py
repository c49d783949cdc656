"""A report as one page that needs nothing else: verdicts, plots, a filmstrip and a player, in a single HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.contacts import Contact
    from understudy.motion import Motion
    from understudy.page.errors import ErrorCurve


def write_page(
    path: str | Path,
    result: Motion,
    source: Motion | None = None,
    report_data: Mapping[str, Any] | None = None,
    *,
    title: str = "",
    labels: Sequence[str] = ("source", "result"),
    contacts: Sequence[Contact] | None = None,
    source_contacts: Sequence[Contact] | None = None,
    errors: Sequence[ErrorCurve] = (),
    picture: bool = True,
) -> tuple[str, ...]:
    """Write the report on a motion; the old file stays until the new one is whole.

    Args:
        path: Where to: `.html` or `.htm`.
        result: The motion that the report is on.
        source: The motion that it was made from, to be shown beside it.
        report_data: What was measured, as `evaluate(...).data()` gives it. With `curves` in it, they are plotted.
        title: The heading; made from the labels if not given.
        labels: What source and result are called.
        contacts: The result's contacts; found if not given.
        source_contacts: The source's contacts; found if not given.
        errors: How far constraints are from being met, as `page.errors.constraint_errors(solution)` gives it.
        picture: Whether to draw a filmstrip, which needs matplotlib; without that package the page says so instead.

    Returns:
        What the page leaves out, a sentence each.
    """
    from understudy.errors import OptionError
    from understudy.io.files import open_to_write
    from understudy.page.document import compose
    from understudy.page.showing import show

    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"A report is written as .html; got `{path}`")
    if len(labels) != 2:
        raise OptionError(f"Expected two labels, of source and result; got {len(labels)}")
    shown = show(result, labels[1], 1 if source is not None else 0, contacts)
    other = None if source is None else show(source, labels[0], 0, source_contacts)
    text, missing = compose(shown, other, report_data or {}, errors, title=title, picture=picture)
    with open_to_write(path) as stream:
        stream.write(text.encode("utf-8", "replace"))
    return missing
