"""Videos of motions: stick figures side by side over a floor, made without a window."""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from understudy.base.errors import FileError, MissingPackageError, OptionError, refuse_unknown_keywords
from understudy.base.files import open_to_write
from understudy.base.quaternion import Array
from understudy.base.records import cached
from understudy.figure.contacts import Contact, detect_contacts
from understudy.figure.motion import Motion
from understudy.figure.stick import PALETTES, Palette, Stick, stick, view_of

if TYPE_CHECKING:
    from PIL.Image import Image


PITCH = np.radians(12.0)
"""How far the camera looks down, so that the floor is seen."""

FOLLOW = 1.0
"""Seconds over which the camera's path is averaged, so that it does not sway with every step."""

CLIMB = 0.6
"""Body sizes that a root must rise or sink for the camera to go up and down with it."""

ONE_SCALE = 3.0
"""Times that the sizes of figures may differ and still be drawn to one scale."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FilmPanel:
    """A character in its part of the picture, with everything already seen by the camera."""

    label: str
    figure: Stick
    contacts: tuple[Contact, ...]
    palette: Palette
    eye: Array
    """(3, 3) rows: right, up and towards the reader, of the camera."""
    middle: Array
    """(F, 3) metres, world: what the camera looks at."""

    @property
    def climbs(self) -> bool:
        """Whether the camera goes up and down with the figure."""
        return bool(np.any(self.middle[:, 1]))

    @cached
    def seen(self) -> Array:
        """(F, N, 3) metres: the nodes, then the head's centre if there is one, as the camera sees them."""
        return (self.figure.points - self.middle[:, None]) @ self.eye.T

    @cached
    def box(self) -> tuple[Array, Array]:
        """(2,) and (2,) metres: lowest left and highest right that is ever drawn of the figure."""
        flat = self.seen[:, self.figure.drawn_points, :2].reshape(-1, 2)
        edge = max(self.figure.head_radius, 0.03 * self.figure.size)
        return flat.min(axis=0) - edge, flat.max(axis=0) + edge


@dataclass(frozen=True, eq=False, kw_only=True)
class Film:
    """A video that can be drawn frame by frame."""

    panels: tuple[FilmPanel, ...]
    scales: tuple[float, ...]
    """Dots in a metre, by panel."""
    levels: tuple[float, ...]
    """Dots from the top at which what the camera looks at is, by panel."""
    steps: tuple[float, ...]
    """Metres between the lines of the floor, by panel."""
    fps: float
    size: tuple[int, int]
    speed: float
    num_frames: int

    @property
    def times(self) -> Array:
        """(N,) seconds of the motion that each frame of the video shows."""
        return np.arange(self.num_frames, dtype=float) * (self.speed / self.fps)

    def frames(self) -> Iterator[Image]:
        """The pictures, one after another."""
        from understudy.show.brush import Brush

        brush = Brush(self)
        for time in self.times:
            yield brush.draw(float(time))


def film(
    motions: Sequence[Motion],
    *,
    labels: Sequence[str] = (),
    contacts: Sequence[Sequence[Contact] | None] = (),
    fps: float,
    size: tuple[int, int],
    view: str = "side",
    speed: float = 1.0,
) -> Film:
    """Motions made ready to be filmed; the longest tells the length, the others wait in their last pose."""
    given = list(contacts) or [None] * len(motions)
    panels = tuple(_panel(motion, labels[i] if labels else "", i, given[i], view) for i, motion in enumerate(motions))
    duration = max(motion.duration for motion in motions)
    scales, levels, steps = _framed(panels, size)
    return Film(
        panels=panels,
        scales=scales,
        levels=levels,
        steps=steps,
        fps=fps,
        size=size,
        speed=speed,
        num_frames=int(np.floor(duration / speed * fps * (1.0 + 1e-9) + 1e-6)) + 1,
    )


def _panel(motion: Motion, label: str, number: int, contacts: Sequence[Contact] | None, view: str) -> FilmPanel:
    figure = stick(motion, label)
    mean = figure.facing.mean(axis=0)
    # A body that spins faces no way on average; then the middle frame says.
    facing = mean if np.linalg.norm(mean) > 0.3 else figure.facing[len(figure.facing) // 2]
    right, up, out = view_of(view, facing).page_from_world
    tilted = np.stack([right, np.cos(PITCH) * up - np.sin(PITCH) * out, np.cos(PITCH) * out + np.sin(PITCH) * up])
    middle = _averaged(motion.root, FOLLOW * motion.fps)
    if np.ptp(middle[:, 1]) < CLIMB * figure.size:
        middle = middle * [1.0, 0.0, 1.0]
    found = detect_contacts(motion) if contacts is None else tuple(contacts)
    return FilmPanel(
        label=figure.name or "motion",
        figure=figure,
        contacts=found,
        palette=PALETTES[number % len(PALETTES)],
        eye=tilted,
        middle=middle,
    )


def _averaged(path: Array, frames: float) -> Array:
    """A path (F, 3) averaged over some frames around each, fewer at the ends so that it stays even there."""
    half = np.minimum(np.arange(len(path)), np.arange(len(path))[::-1])
    half = np.minimum(half, round(0.5 * frames))
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(path, axis=0)])
    at = np.arange(len(path))
    return (sums[at + half + 1] - sums[at - half]) / (2 * half + 1)[:, None]


def _framed(panels: Sequence[FilmPanel], size: tuple[int, int]) -> tuple[tuple[float, ...], ...]:
    """Scales, levels and floor steps: one for all, unless a small figure would be lost beside a large one."""
    wide, tall = 0.9 * size[0] / len(panels), 0.78 * size[1]
    if max(p.figure.size for p in panels) > ONE_SCALE * min(p.figure.size for p in panels):
        groups = [[panel] for panel in panels]
    else:
        groups = [list(panels)]
    found = []
    for group in groups:
        boxes = [_shared_box([other for other in group if other.climbs == panel.climbs]) for panel in group]
        # The camera keeps to the root, so what sticks out farthest on either side tells the width.
        half = max(float(np.abs([low[0], high[0]]).max()) for low, high in boxes)
        scale = min(wide / (2.0 * half), tall / max(float(high[1] - low[1]) for low, high in boxes))
        step = grid_step(max(panel.figure.size for panel in group))
        found += [(scale, 0.52 * size[1] + 0.5 * scale * float(low[1] + high[1]), step) for low, high in boxes]
    return tuple(zip(*found, strict=True))


def _shared_box(panels: Sequence[FilmPanel]) -> tuple[Array, Array]:
    """What is ever drawn of several figures, so that they stand on one level."""
    return np.min([panel.box[0] for panel in panels], axis=0), np.max([panel.box[1] for panel in panels], axis=0)


def grid_step(size: float) -> float:
    """Metres: the largest round number up to a third of a body's size."""
    power = 10.0 ** math.floor(math.log10(size / 3.0))
    return next(power * k for k in (5.0, 2.0, 1.0) if power * k <= size / 3.0 * (1.0 + 1e-9))


Watch = Callable[[str, float], None] | None


def find_encoder() -> str:
    """The ffmpeg program, or an error that says how to get it."""
    try:
        package = import_module("imageio_ffmpeg")
    except ImportError:
        raise MissingPackageError("imageio-ffmpeg", "video", "Writing MP4 videos") from None
    try:
        return str(package.get_ffmpeg_exe())
    except RuntimeError:
        raise MissingPackageError("imageio-ffmpeg", "video", "Writing MP4 videos (its ffmpeg program)") from None


def whole_delay(fps: float) -> float:
    """The rate nearest to one wanted at which a GIF plays: frames wait whole hundredths of a second, two at least."""
    return 100.0 / max(round(100.0 / fps), 2)


def write_mp4(film: Film, path: str | Path, watch: Watch = None) -> None:
    """Write a film as MP4 (H.264), which every browser and player shows."""
    encoder = find_encoder()
    with open_to_write(path) as stream, tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "film.mp4"
        command = [
            encoder, "-loglevel", "error", "-y",
            "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{film.size[0]}x{film.size[1]}", "-r", f"{film.fps:.6f}",
            "-i", "-", "-an", "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p",
            "-movflags", "+faststart", str(made),
        ]  # fmt: skip
        with tempfile.TemporaryFile() as said:
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said) as process:
                _feed(film, process, watch)
            if process.returncode:
                said.seek(0)
                words = said.read().decode("utf-8", "replace").strip().splitlines()
                raise FileError(str(path), None, f"ffmpeg could not make the video: {words[-1] if words else ''}")
        with made.open("rb") as whole:
            shutil.copyfileobj(whole, stream)


def _feed(film: Film, process: subprocess.Popen[bytes], watch: Watch) -> None:
    assert process.stdin is not None
    try:
        for number, frame in enumerate(film.frames(), start=1):
            process.stdin.write(frame.tobytes())
            if watch is not None:
                watch("drawing the video", number / film.num_frames)
    except BrokenPipeError:
        # ffmpeg has given up; what it said is read when it has ended.
        pass
    except BaseException:
        process.kill()
        raise


def write_gif(film: Film, path: str | Path, watch: Watch = None) -> None:
    """Write a film as a GIF that repeats for ever."""
    from PIL import Image

    from understudy.show.brush import colours_of

    # One set of colours for all frames: a new one each would flicker, and take longer to find than to draw.
    colours = Image.new("P", (1, 1))
    colours.putpalette([value for colour in colours_of(film) for value in colour])
    shown = []
    for number, frame in enumerate(film.frames(), start=1):
        shown.append(frame.quantize(palette=colours, dither=Image.Dither.NONE))
        if watch is not None:
            watch("drawing the video", number / film.num_frames)
    delay = round(1000.0 / film.fps)
    with open_to_write(path) as stream:
        shown[0].save(
            stream, format="GIF", save_all=True, append_images=shown[1:], duration=delay, loop=0, optimize=False
        )


SIZE = (960, 540)

FASTEST = {".mp4": 30.0, ".gif": 20.0}
"""Frames a second at most, unless more are asked for: every frame makes a GIF larger."""

LARGEST = 4096


@refuse_unknown_keywords
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
    from understudy.figure.motion import Motion

    listed = [motions] if isinstance(motions, Motion) else list(motions)
    _check(listed, labels, contacts, fps, size, view, speed)
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise MissingPackageError("pillow", "video", "Drawing videos") from None

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
