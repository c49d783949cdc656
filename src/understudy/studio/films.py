"""Films of the stage: the page draws and sends each frame as it looks, and they are joined to a video."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

from understudy.base.errors import FileError
from understudy.studio.messages import RequestError

MAX_FILMS = 2
"""Films that are being made at a time; an older one is given up."""

MAX_FRAMES = 18_000
"""Ten minutes at 30 frames a second."""

MAX_FRAME_BYTES = 32 << 20

MAX_FILM_BYTES = 4 << 30
"""What all frames of a film may hold together."""

MAX_FPS = 240.0

PNG_START = b"\x89PNG\r\n\x1a\n"


class Films:
    """Frames that pages have sent, by film.

    Args:
        folder: Their folder; emptied at the start.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sizes: dict[str, int] = {}
        """Bytes of the films that are being made, oldest first."""
        shutil.rmtree(folder, ignore_errors=True)

    def begin(self) -> str:
        """Begin a film; returns its name."""
        name = secrets.token_urlsafe(9)
        (self.folder / name).mkdir(parents=True, mode=0o700)
        self._sizes[name] = 0
        for older in list(self._sizes)[:-MAX_FILMS]:
            self.drop(older)
        return name

    async def add(self, name: str, number: str, chunks: AsyncIterator[bytes]) -> None:
        """Keep a frame, a PNG file."""
        self._check(name)
        if not re.fullmatch(r"[0-9]{1,6}", number) or int(number) >= MAX_FRAMES:
            raise RequestError(f"Expected the number of a frame below {MAX_FRAMES}, got `{number[:20]}`")
        frame = b""
        async for chunk in chunks:
            frame += chunk
            if len(frame) > MAX_FRAME_BYTES or self._sizes.get(name, 0) + len(frame) > MAX_FILM_BYTES:
                raise RequestError("The film is too large", hint="make the window smaller, or film a shorter motion")
        if not frame.startswith(PNG_START):
            raise RequestError("A frame of a film must be a PNG file")
        self._check(name)
        self._sizes[name] += len(frame)
        try:
            self._frame_path(name, int(number)).write_bytes(frame)
        except OSError as error:
            raise FileError("frame of a film", None, f"cannot be saved: {error.strerror}") from None

    def write(self, name: str, path: Path, fps: float) -> None:
        """Join all frames of a film to an MP4 file, and forget them."""
        from understudy.show.video import join_frames

        self._check(name)
        if not 0.0 < fps <= MAX_FPS:
            raise RequestError(f"Expected from 0 to {MAX_FPS:g} frames a second, got {fps:g}")
        count = len(list((self.folder / name).glob("*.png")))
        missing = next((number for number in range(count) if not self._frame_path(name, number).is_file()), None)
        if count == 0 or missing is not None:
            raise RequestError(f"Frame {missing or 0} of the film is missing", hint="film again")
        try:
            join_frames(self.folder / name / "%06d.png", path, fps)
        finally:
            self.drop(name)

    def drop(self, name: str) -> None:
        """Forget a film."""
        if self._sizes.pop(name, None) is not None:
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def _frame_path(self, name: str, number: int) -> Path:
        return self.folder / name / f"{number:06d}.png"

    def _check(self, name: str) -> None:
        if name not in self._sizes:
            raise RequestError("This film is not being made any more", hint="film again")
