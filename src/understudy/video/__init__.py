"""Videos of motions: stick figures side by side over a floor, made without a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.errors import MissingPackageError, OptionError

if TYPE_CHECKING:
    from understudy.contacts import Contact
    from understudy.motion import Motion
    from understudy.video.stage import Film

SIZE = (960, 540)
FASTEST = {".mp4": 30.0, ".gif": 20.0}
"""Frames a second at most, unless more are asked for: every frame makes a GIF larger."""
LARGEST = 4096


def write_video(
    motions: Motion | Sequence[Motion],
    path: str | Path,
    *,
    labels: Sequence[str] = (),
    contacts: Sequence[Sequence[Contact] | None] = (),
    fps: float | None = None,
    size: tuple[int, int] = SIZE,
    view: str = "side",
    speed: float = 1.0,
    watch: Callable[[str, float], None] | None = None,
) -> Film:
    """Write a video of motions side by side; the old file stays until the new one is whole.

    Args:
        motions: What to show, a panel each, from left to right.
        path: Where to; `.mp4` or `.gif`.
        labels: A name for each; their own if not given.
        contacts: For each the contacts to mark, or None to find them; found for all if not given.
        fps: Frames a second of the video; the first motion's, up to 30 (a GIF 20), if not given. A GIF can only wait
            whole hundredths of a second between frames: the nearest such rate is taken.
        size: Dots across and down, even numbers.
        view: "side" (walking goes left to right) or "front" (at the face); the camera goes along with the body.
        speed: How many seconds of the motion a second of video shows.
        watch: Told what is being done and the share of it, as it goes.

    Returns:
        What was filmed: frames, rate and size.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FASTEST:
        raise OptionError(f"Videos are written as {' or '.join(FASTEST)}; got `{path}`")
    from understudy.motion import Motion

    listed = [motions] if isinstance(motions, Motion) else list(motions)
    _check(listed, labels, contacts, fps, size, view, speed)
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise MissingPackageError("pillow", "video", "Drawing videos") from None
    from understudy.video.encoder import find_encoder, whole_delay, write_gif, write_mp4
    from understudy.video.stage import film

    if suffix == ".mp4":
        find_encoder()
    rate = fps or min(listed[0].fps, FASTEST[suffix])
    rate = rate if suffix == ".mp4" else whole_delay(rate)
    made = film(listed, labels=labels, contacts=contacts, fps=rate, size=size, view=view, speed=speed)
    (write_mp4 if suffix == ".mp4" else write_gif)(made, path, watch)
    return made


def _check(
    motions: Sequence[Motion],
    labels: Sequence[str],
    contacts: Sequence[Sequence[Contact] | None],
    fps: float | None,
    size: tuple[int, int],
    view: str,
    speed: float,
) -> None:
    if not motions:
        raise OptionError("Expected at least one motion to film; got none")
    for given, what in ((labels, "labels"), (contacts, "lists of contacts")):
        if given and len(given) != len(motions):
            raise OptionError(f"Expected {len(motions)} {what}, one for each motion; got {len(given)}")
    if fps is not None and not 0.0 < fps <= 240.0:
        raise OptionError(f"Expected a rate above 0 and up to 240 frames a second; got {fps:g}")
    if not 0.0 < speed <= 100.0:
        raise OptionError(f"Expected a speed above 0 and up to 100; got {speed:g}")
    if view not in ("side", "front"):
        raise OptionError(f"Expected a view, one of side, front; got `{view}`")
    if any(n % 2 or not 64 <= n <= LARGEST for n in size):
        raise OptionError(f"Expected a size of even numbers from 64 to {LARGEST}; got {size[0]}x{size[1]}")
