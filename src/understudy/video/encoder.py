"""Frames into a file: MP4 by the ffmpeg that imageio-ffmpeg brings, GIF by Pillow."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from understudy.errors import FileError, MissingPackageError
from understudy.io.files import open_to_write
from understudy.video.stage import Film

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

    from understudy.video.brush import colours_of

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
