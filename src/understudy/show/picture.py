"""Pictures of motions: filmstrips and overlays of stick figures, after the figures of [Gleicher98]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.base.errors import MissingPackageError, OptionError, refuse_unknown_keywords

if TYPE_CHECKING:
    from understudy.figure.contacts import Contact
    from understudy.figure.motion import Motion
    from understudy.samples.scene import Scene


STYLES = ("filmstrip", "overlay", "both")

SUFFIXES = (".png", ".svg")


def check_picture(path: str | Path) -> str:
    """The ending of a picture's file; refuses other endings, and to draw without matplotlib."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise OptionError(f"Pictures are written as {' or '.join(SUFFIXES)}; got `{path}`")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingPackageError("matplotlib", "picture", "Drawing pictures") from None
    return suffix


@refuse_unknown_keywords
def draw(
    things: Motion | Scene | Sequence[Motion | Scene],
    path: str | Path,
    *,
    labels: Sequence[str] = (),
    frames: slice | None = None,
    count: int = 8,
    views: str | Sequence[str] = ("side", "front", "top"),
    style: str = "both",
    title: str = "",
    together: bool = False,
    contacts: Sequence[Contact] = (),
    dots_per_inch: float = 150.0,
) -> None:
    """Draw motions or scenes into a PNG or SVG file. An existing file is replaced only when the new one is complete.

    Args:
        things: What to draw, one row each. A scene includes its props, floor and contacts.
        path: The file, `.png` or `.svg`.
        labels: A heading for each; their names if not given.
        frames: Which frames of the first character; all if not given.
        count: How many poses, evenly over the frames.
        views: Among "side" (walking goes left to right), "front" (at the face) and "top".
        style: "filmstrip" (poses side by side in every view), "overlay" (poses at their true places) or "both"
            (a filmstrip in the first view and an overlay in all).
        title: A title at the top.
        together: Whether to draw all in one world, instead of a row each.
        contacts: Contacts to mark, in addition to those of scenes.
        dots_per_inch: Resolution of a PNG; the page is 12 inches wide.
    """
    if style not in STYLES:
        raise OptionError(f"Expected a style, one of {', '.join(STYLES)}; got `{style}`")
    suffix = check_picture(path)
    from matplotlib import rc_context

    from understudy.base.files import open_to_write
    from understudy.figure.stick import check_views
    from understudy.show.filmstrip import acts_of
    from understudy.show.pen import compose

    listed = list(things) if isinstance(things, Sequence) else [things]
    chosen = check_views(views)
    acts = acts_of(listed, labels=labels, frames=frames, count=count, together=together, contacts=contacts)
    # A fixed salt and no date, so that the same motion gives the same file.
    settings: dict[Any, Any] = {"svg.hashsalt": "understudy", "svg.fonttype": "none", "font.family": "DejaVu Sans"}
    metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
    with rc_context(settings):
        figure = compose(acts, views=chosen, style=style, title=title)
        with open_to_write(path) as stream:
            figure.savefig(stream, format=suffix[1:], dpi=dots_per_inch, metadata=metadata)
