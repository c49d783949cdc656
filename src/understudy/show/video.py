"""Videos of motions: stick figures side by side over a floor, drawn without a display."""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from understudy.base.errors import FileError, MissingPackageError, OptionError, refuse_unknown_keywords
from understudy.base.files import open_to_write
from understudy.base.quaternion import Array
from understudy.base.records import cached, record
from understudy.figure.contacts import Contact, detect_contacts
from understudy.figure.motion import Motion
from understudy.figure.skin import Mesh
from understudy.figure.stick import PALETTES, Palette, Stick, stick, view_of

if TYPE_CHECKING:
    from PIL.Image import Image


PITCH_RADIANS = np.radians(12.0)
"""How far the camera looks down on the floor."""

CAMERA_SMOOTHING_SECONDS = 1.0
"""Window over which the camera's path is averaged, so that it does not sway with every step."""

MIN_CLIMB = 0.6
"""Body sizes that the root must rise or sink for the camera to follow it vertically."""

MAX_SIZE_RATIO = 3.0
"""Figures whose sizes differ by a larger factor are drawn at different scales."""


class SlidingFoot(Protocol):
    """A foot and how far it has slid up to each frame."""

    @property
    def joints(self) -> tuple[int, ...]: ...

    @property
    def slid(self) -> Array: ...


@record
class FilmPanel:
    """A character in its part of the picture, and its camera."""

    label: str
    figure: Stick
    contacts: tuple[Contact, ...]
    palette: Palette
    eye: Array
    """(3, 3) rows: the camera's right, up and backward axes."""
    middle: Array
    """(F, 3) metres, world: the point that the camera looks at."""
    motion: Motion | None = None
    """The motion, for a panel with a skin."""
    meshes: tuple[Mesh, ...] = ()
    """The skin; sticks are drawn without one."""
    feet: tuple[SlidingFoot, ...] = ()
    """Feet that are painted red while they slide."""

    @property
    def climbs(self) -> bool:
        """Whether the camera follows the figure vertically."""
        return bool(np.any(self.middle[:, 1]))

    @cached
    def seen(self) -> Array:
        """(F, P, 3) metres: the figure's points in the camera's axes."""
        return (self.figure.points - self.middle[:, None]) @ self.eye.T

    @cached
    def box(self) -> tuple[Array, Array]:
        """(2,) and (2,) metres: lower left and upper right corner of the figure over all frames."""
        flat = self.seen[:, self.figure.drawn_points, :2].reshape(-1, 2)
        edge = max(self.figure.head_radius, 0.03 * self.figure.size)
        return flat.min(axis=0) - edge, flat.max(axis=0) + edge


@record
class Film:
    """A video that can be drawn frame by frame."""

    panels: tuple[FilmPanel, ...]
    scales: tuple[float, ...]
    """Pixels per metre, by panel."""
    levels: tuple[float, ...]
    """Pixels from the top to the point that the camera looks at, by panel."""
    steps: tuple[float, ...]
    """Metres between the grid lines of the floor, by panel."""
    fps: float
    size: tuple[int, int]
    speed: float
    num_frames: int

    @property
    def times(self) -> Array:
        """(N,) seconds of the motion that each frame of the video shows."""
        return np.arange(self.num_frames, dtype=float) * (self.speed / self.fps)

    def frames(self) -> Iterator[Image]:
        """Draw the pictures one after another."""
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
    skins: Sequence[tuple[Mesh, ...]] = (),
    sliding: Sequence[Sequence[SlidingFoot]] = (),
) -> Film:
    """Prepare a video of motions. It is as long as the longest motion; the others stay in their last pose."""
    marked = list(contacts) or [None] * len(motions)
    names = list(labels) or [""] * len(motions)
    panels = tuple(_make_panel(motion, names[i], i, marked[i], view) for i, motion in enumerate(motions))
    if skins:
        feet = list(sliding) or [()] * len(motions)
        panels = tuple(
            replace(panel, motion=motion, meshes=meshes, feet=tuple(slides))
            for panel, motion, meshes, slides in zip(panels, motions, skins, feet, strict=True)
        )
    duration = max(motion.duration for motion in motions)
    scales, levels, steps = _fit_panels(panels, size)
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


def _make_panel(motion: Motion, label: str, number: int, contacts: Sequence[Contact] | None, view: str) -> FilmPanel:
    figure = stick(motion, label)
    mean = figure.facing.mean(axis=0)
    # A body that spins has no mean facing direction; then that of the middle frame is used.
    facing = mean if np.linalg.norm(mean) > 0.3 else figure.facing[len(figure.facing) // 2]
    right, up, out = view_of(view, facing).page_from_world
    cosine, sine = np.cos(PITCH_RADIANS), np.sin(PITCH_RADIANS)
    tilted = np.stack([right, cosine * up - sine * out, cosine * out + sine * up])
    middle = _smooth_path(motion.root, CAMERA_SMOOTHING_SECONDS * motion.fps)
    if np.ptp(middle[:, 1]) < MIN_CLIMB * figure.size:
        middle = middle * [1.0, 0.0, 1.0]
    marked = detect_contacts(motion) if contacts is None else tuple(contacts)
    return FilmPanel(
        label=figure.name or "motion",
        figure=figure,
        contacts=marked,
        palette=PALETTES[number % len(PALETTES)],
        eye=tilted,
        middle=middle,
    )


def _smooth_path(path: Array, frames: float) -> Array:
    """A path (F, 3) averaged over a window of frames, which is shorter near the ends to stay symmetric."""
    half = np.minimum(np.arange(len(path)), np.arange(len(path))[::-1])
    half = np.minimum(half, round(0.5 * frames))
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(path, axis=0)])
    at = np.arange(len(path))
    return (sums[at + half + 1] - sums[at - half]) / (2 * half + 1)[:, None]


def _fit_panels(panels: Sequence[FilmPanel], size: tuple[int, int]) -> tuple[tuple[float, ...], ...]:
    """Scales, levels and floor steps by panel: the same for all, unless figures differ too much in size."""
    wide, tall = 0.9 * size[0] / len(panels), 0.78 * size[1]
    if max(p.figure.size for p in panels) > MAX_SIZE_RATIO * min(p.figure.size for p in panels):
        groups = [[panel] for panel in panels]
    else:
        groups = [list(panels)]
    layouts = []
    for group in groups:
        boxes = [_shared_box([other for other in group if other.climbs == panel.climbs]) for panel in group]
        # The camera follows the root, so the farthest point on either side determines the width.
        half = max(float(np.abs([low[0], high[0]]).max()) for low, high in boxes)
        scale = min(wide / (2.0 * half), tall / max(float(high[1] - low[1]) for low, high in boxes))
        step = grid_step(max(panel.figure.size for panel in group))
        layouts += [(scale, 0.52 * size[1] + 0.5 * scale * float(low[1] + high[1]), step) for low, high in boxes]
    return tuple(zip(*layouts, strict=True))


def _shared_box(panels: Sequence[FilmPanel]) -> tuple[Array, Array]:
    """The common box of several figures, so that they stand on the same level."""
    return np.min([panel.box[0] for panel in panels], axis=0), np.max([panel.box[1] for panel in panels], axis=0)


def grid_step(size: float) -> float:
    """The largest round number of metres up to a third of a body's size."""
    power = 10.0 ** math.floor(math.log10(size / 3.0))
    return next(power * k for k in (5.0, 2.0, 1.0) if power * k <= size / 3.0 * (1.0 + 1e-9))


Watch = Callable[[str, float], None] | None


def find_encoder() -> str:
    """The path of the ffmpeg program; an error says how to install it."""
    try:
        package = import_module("imageio_ffmpeg")
    except ImportError:
        raise MissingPackageError("imageio-ffmpeg", "video", "Writing MP4 videos") from None
    try:
        return str(package.get_ffmpeg_exe())
    except RuntimeError:
        raise MissingPackageError("imageio-ffmpeg", "video", "Writing MP4 videos (its ffmpeg program)") from None


def nearest_gif_fps(fps: float) -> float:
    """The nearest frame rate that a GIF can have: a frame lasts whole hundredths of a second, at least two."""
    return 100.0 / max(round(100.0 / fps), 2)


def write_mp4(film: Film, path: str | Path, watch: Watch = None) -> None:
    """Write a film as MP4 (H.264), which all browsers play."""
    encoder = find_encoder()
    with open_to_write(path) as stream, tempfile.TemporaryDirectory() as folder:
        encoded = Path(folder) / "film.mp4"
        command = [
            encoder, "-loglevel", "error", "-y",
            "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{film.size[0]}x{film.size[1]}", "-r", f"{film.fps:.6f}",
            "-i", "-", "-an", "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p",
            "-movflags", "+faststart", str(encoded),
        ]  # fmt: skip
        with tempfile.TemporaryFile() as log:
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log) as process:
                _feed(film, process, watch)
            if process.returncode:
                log.seek(0)
                lines = log.read().decode("utf-8", "replace").strip().splitlines()
                raise FileError(str(path), None, f"ffmpeg could not make the video: {lines[-1] if lines else ''}")
        with encoded.open("rb") as video:
            shutil.copyfileobj(video, stream)


def join_frames(pattern: Path, path: str | Path, fps: float) -> None:
    """Join pictures of the same size to an MP4 (H.264), a frame each.

    Args:
        pattern: Their names with `%06d` in place of the number, which begins at 0.
        path: The video.
        fps: Frames a second.
    """
    encoder = find_encoder()
    with open_to_write(path) as stream, tempfile.TemporaryDirectory() as folder:
        encoded = Path(folder) / "film.mp4"
        command = [
            encoder, "-loglevel", "error", "-y", "-framerate", f"{fps:.6f}", "-i", str(pattern), "-an",
            # Half of the colours are kept, so that the size must be even.
            "-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-c:v", "libx264", "-preset", "veryfast", "-crf", "18",
            "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(encoded),
        ]  # fmt: skip
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise FileError(str(path), None, f"ffmpeg could not make the video: {lines[-1] if lines else ''}")
        with encoded.open("rb") as video:
            shutil.copyfileobj(video, stream)


def _feed(film: Film, process: subprocess.Popen[bytes], watch: Watch) -> None:
    assert process.stdin is not None
    try:
        for number, frame in enumerate(film.frames(), start=1):
            process.stdin.write(frame.tobytes())
            if watch is not None:
                watch("drawing the video", number / film.num_frames)
    except BrokenPipeError:
        # ffmpeg has stopped; the caller reads its error messages.
        pass
    except BaseException:
        process.kill()
        raise


def write_gif(film: Film, path: str | Path, watch: Watch = None) -> None:
    """Write a film as a GIF that loops forever."""
    from PIL import Image

    from understudy.show.brush import colours_of

    # One palette for all frames: a palette per frame would flicker, and take longer to compute than the drawing.
    if any(panel.meshes for panel in film.panels):
        colours = next(film.frames()).quantize(colors=256, method=Image.Quantize.MEDIANCUT)
    else:
        colours = Image.new("P", (1, 1))
        colours.putpalette([value for colour in colours_of(film) for value in colour])
    frames = []
    for number, frame in enumerate(film.frames(), start=1):
        frames.append(frame.quantize(palette=colours, dither=Image.Dither.NONE))
        if watch is not None:
            watch("drawing the video", number / film.num_frames)
    delay = round(1000.0 / film.fps)
    with open_to_write(path) as stream:
        frames[0].save(
            stream, format="GIF", save_all=True, append_images=frames[1:], duration=delay, loop=0, optimize=False
        )


SIZE = (960, 540)

DEFAULT_MAX_FPS = {".mp4": 30.0, ".gif": 20.0}
"""Highest frame rate unless one is given: every frame makes a GIF larger."""

MAX_SIZE_PIXELS = 4096


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
    skin: bool = False,
    sliding: Sequence[Sequence[SlidingFoot]] = (),
    watch: Callable[[str, float], None] | None = None,
) -> Film:
    """Write a video of motions side by side. An existing file is replaced only when the new one is complete.

    Args:
        motions: The motions, one panel each, from left to right.
        path: The file, `.mp4` or `.gif`.
        labels: A name for each; their own names if not given.
        contacts: The contacts to mark for each, or None to detect them; detected for all if not given.
        fps: Frame rate of the video; the first motion's, up to 30 (a GIF 20), if not given. Frames of a GIF last whole
            hundredths of a second: the nearest such rate is taken.
        size: Width and height in pixels, even numbers.
        view: "side" (walking goes left to right) or "front" (at the face); the camera follows the body.
        speed: Seconds of the motion per second of video.
        skin: Whether sample characters are drawn with their skins; others stay stick figures.
        sliding: For each motion, feet to paint red while they slide (joints, and metres slid up to each frame).
        watch: Called with the current step and the share of the work done.

    Returns:
        The film: frames, rate and size.
    """
    from understudy.samples import skin as sample_skin

    suffix = Path(path).suffix.lower()
    if suffix not in DEFAULT_MAX_FPS:
        raise OptionError(f"Videos are written as {' or '.join(DEFAULT_MAX_FPS)}; got `{path}`")
    from understudy.figure.motion import Motion

    listed = [motions] if isinstance(motions, Motion) else list(motions)
    _check(listed, labels, contacts, fps, size, view, speed)
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise MissingPackageError("pillow", "video", "Drawing videos") from None

    if suffix == ".mp4":
        find_encoder()
    rate = fps or min(listed[0].fps, DEFAULT_MAX_FPS[suffix])
    rate = rate if suffix == ".mp4" else nearest_gif_fps(rate)
    skins = [sample_skin(motion.skeleton) for motion in listed] if skin else []
    video = film(
        listed,
        labels=labels,
        contacts=contacts,
        fps=rate,
        size=size,
        view=view,
        speed=speed,
        skins=skins,
        sliding=sliding,
    )
    (write_mp4 if suffix == ".mp4" else write_gif)(video, path, watch)
    return video


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
    for items, noun in ((labels, "labels"), (contacts, "lists of contacts")):
        if items and len(items) != len(motions):
            raise OptionError(f"Expected {len(motions)} {noun}, one for each motion; got {len(items)}")
    if fps is not None and not 0.0 < fps <= 240.0:
        raise OptionError(f"Expected a rate above 0 and up to 240 frames a second; got {fps:g}")
    if not 0.0 < speed <= 100.0:
        raise OptionError(f"Expected a speed above 0 and up to 100; got {speed:g}")
    if view not in ("side", "front"):
        raise OptionError(f"Expected a view, one of side, front; got `{view}`")
    if any(n % 2 or not 64 <= n <= MAX_SIZE_PIXELS for n in size):
        raise OptionError(f"Expected a size of even numbers from 64 to {MAX_SIZE_PIXELS}; got {size[0]}x{size[1]}")
