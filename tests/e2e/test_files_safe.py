"""Files are written whole or not at all, and what is wrong with one is said by its name."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

import understudy.io.clip as files
from understudy.base.errors import FileError, OptionError
from understudy.base.quaternion import identity
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io import read, write
from understudy.io.clip import Clip, Format, WriteOptions, formats

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture
def motion() -> Motion:
    skeleton = Skeleton(names=("a", "b"), parents=np.array([-1, 0]), offsets=np.array([[0, 1.0, 0], [0, 0.5, 0]]))
    return Motion(skeleton=skeleton, fps=30.0, root=np.ones((4, 3)), rotations=identity(4, 2))


def failing_after(count: int, error: BaseException):  # type: ignore[no-untyped-def]
    """A format whose writing breaks off after some bytes."""

    def write_some(clip: Clip, stream, options: WriteOptions) -> tuple[str, ...]:  # type: ignore[no-untyped-def]
        stream.write(b"x" * count)
        raise error

    return Format(name="broken", title="Broken", suffixes=(".broken",), write=write_some)


@pytest.mark.parametrize(
    "error", [RuntimeError("a fault"), KeyboardInterrupt(), OSError(28, "No space left on device")]
)
def test_a_write_that_breaks_off_leaves_the_old_file(
    tmp_path: Path, motion: Motion, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "walk.broken"
    path.write_text("the old file")
    known = {"broken": failing_after(100_000, error)}
    monkeypatch.setattr(files, "formats", lambda: known)
    wanted = FileError if isinstance(error, OSError) else type(error)
    with pytest.raises(wanted) as caught:
        write(motion, path)
    if isinstance(error, OSError):
        assert str(caught.value) == f"{path}: cannot be written: No space left on device"
    assert path.read_text() == "the old file"
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_bvh_replaces_the_old_one_in_one_step(
    tmp_path: Path, motion: Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "walk.bvh"
    path.write_text("the old file")
    seen = []
    replace_file = os.replace

    def watched(source: str, target: str | Path) -> None:
        seen.append((path.read_text(), Path(source).read_bytes().count(b"\n")))
        replace_file(source, target)

    monkeypatch.setattr(os, "replace", watched)
    write(motion, path)
    # Until the very last step the old file stands, and by then the new one is whole.
    assert [old for old, _ in seen] == ["the old file"]
    assert seen[0][1] == path.read_bytes().count(b"\n")
    assert sorted(tmp_path.iterdir()) == [path]
    found = read(path).motion
    assert found is not None
    assert found.num_frames == 4


def test_writing_over_the_file_that_was_read_works(tmp_path: Path, motion: Motion) -> None:
    path = tmp_path / "walk.bvh"
    write(motion, path)
    first = path.read_bytes()
    write(read(path), path)
    assert path.read_bytes() == first


def test_permissions_are_kept(tmp_path: Path, motion: Motion) -> None:
    path = tmp_path / "walk.bvh"
    write(motion, path)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    write(motion, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_what_cannot_be_opened_is_said(tmp_path: Path, motion: Motion) -> None:
    with pytest.raises(FileError, match="there is no such file"):
        read(tmp_path / "none.bvh")
    (tmp_path / "folder.bvh").mkdir()
    with pytest.raises(FileError, match="is a folder, not a file"):
        read(tmp_path / "folder.bvh")
    with pytest.raises(FileError, match="cannot be written"):
        write(motion, tmp_path / "nowhere" / "walk.bvh")
    with pytest.raises(FileError, match="cannot be written"):
        write(motion, tmp_path / "folder.bvh")
    with pytest.raises(FileError, match=r"no format ends in `.xyz`; can be read: .*\.bvh"):
        read(tmp_path / "walk.xyz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.bvh"]


@pytest.mark.skipif(AS_ROOT, reason="the superuser may write anywhere")
def test_a_folder_without_permission_is_said(tmp_path: Path, motion: Motion) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(FileError, match="cannot be written: Permission denied"):
            write(motion, tmp_path / "walk.bvh")
    finally:
        tmp_path.chmod(0o700)


def test_formats_that_only_read_say_so(tmp_path: Path, motion: Motion, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"seen": Format(name="seen", title="Seen", suffixes=(".seen",))}
    monkeypatch.setattr(files, "formats", lambda: known)
    with pytest.raises(OptionError, match="Seen files can be read, not written"):
        write(motion, tmp_path / "walk.seen")
    with pytest.raises(FileError, match="Seen files can be written, not read"):
        read(tmp_path / "walk.seen")


def test_units_and_axes_by_name(tmp_path: Path, motion: Motion) -> None:
    path = tmp_path / "walk.bvh"
    write(motion, path, unit="inch", up="z")
    clip = read(path, unit="inch", up="Z")
    assert clip.motion is not None
    assert np.allclose(clip.motion.root, 1.0, atol=1e-7)
    with pytest.raises(OptionError, match="Expected a unit, one of m, dm"):
        write(motion, path, unit="furlong")
    with pytest.raises(OptionError, match="Expected an up axis, one of X, Y, Z, -X, -Y, -Z; got `W`"):
        read(path, up="W")


def test_every_format_is_found_by_its_file() -> None:
    assert formats()["bvh"].suffixes == (".bvh",)
