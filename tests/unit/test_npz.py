"""NPZ: clips come back bit by bit, files of every version are read, and malicious files are refused."""

from __future__ import annotations

import io
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.base.errors import FileError, OptionError
from understudy.base.quaternion import Array, exp
from understudy.figure.kinematics import joint_angles
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.io import Clip, read, write
from understudy.io.npz import archive as npz_archive
from understudy.io.npz.archive import Archive
from understudy.io.npz.clip_file import CLIP, TRAJECTORY_VERSION, VERSION, clip_arrays
from understudy.samples import character, motion

DATA = Path(__file__).parents[1] / "data"


def odd_clip() -> Clip:
    """A clip that uses every field, with numbers that have no short decimal form."""
    rng = np.random.default_rng(9)
    axes = np.zeros((5, 3, 3))
    axes[:2] = np.eye(3)
    axes[2, :2] = np.eye(3)[:2]
    axes[3, 0] = np.array([1.0, 2.0, 2.0]) / 3.0
    limits = np.tile([-np.inf, np.inf], (5, 3, 1))
    limits[3, 0] = [-1.0 / 3.0, np.inf]
    skeleton = Skeleton(
        names=("root", "κόμβος", "b c", "hinge", "still"),
        parents=np.array([-1, 0, 1, 1, 3]),
        offsets=rng.normal(size=(5, 3)),
        rest=exp(rng.normal(size=(5, 3))),
        kinds=(JointKind.FREE, JointKind.BALL, JointKind.UNIVERSAL, JointKind.HINGE, JointKind.FIXED),
        axes=axes,
        limits=limits,
        ends=(Point(name="tip", joint="still", offset=rng.normal(size=3)), Point(name="heel", joint="b c")),
        name="odd one",
    )
    moved = Motion(
        skeleton=skeleton,
        fps=1000.0 / 33.3667,
        root=rng.normal(size=(7, 3)),
        rotations=exp(rng.normal(size=(7, 5, 3))),
        offsets=rng.normal(size=(7, 5, 3)),
        name="wild",
    )
    return Clip(
        skeleton=skeleton, motion=moved, unit=0.0254 / 0.45, unit_reason="cmu: said so", up="X", up_reason="X is up",
        notes=("first", ""), dropped=("last frame",),
    )  # fmt: skip


def saved(arrays: dict[str, object], path: Path) -> Path:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def bits(array: Array) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def test_a_clip_comes_back_to_the_bit(tmp_path: Path) -> None:
    clip = odd_clip()
    assert write(clip, tmp_path / "odd.npz") == ()
    back = read(tmp_path / "odd.npz")
    for key in ("offsets", "rest", "axes", "limits", "parents"):
        assert bits(getattr(back.skeleton, key)) == bits(getattr(clip.skeleton, key)), key
    for key in ("names", "kinds", "name"):
        assert getattr(back.skeleton, key) == getattr(clip.skeleton, key)
    ends = [(end.name, end.joint, bits(end.offset)) for end in back.skeleton.ends]
    assert ends == [(end.name, end.joint, bits(end.offset)) for end in clip.skeleton.ends]
    assert back.motion is not None
    assert clip.motion is not None
    for key in ("root", "rotations", "offsets"):
        assert bits(getattr(back.motion, key)) == bits(getattr(clip.motion, key)), key
    assert (back.motion.fps, back.motion.name) == (clip.motion.fps, clip.motion.name)
    for key in ("unit", "unit_reason", "up", "up_reason", "notes", "dropped"):
        assert getattr(back, key) == getattr(clip, key), key
    assert back.format == "npz"


@pytest.mark.parametrize("name", ["walk", "spider_walk", "swim"])
def test_samples_come_back_to_the_bit(name: str, tmp_path: Path) -> None:
    expected = motion(name).motion
    write(expected, tmp_path / "sample.npz")
    result = read(tmp_path / "sample.npz").motion
    assert result is not None
    assert bits(result.rotations) == bits(expected.rotations)
    assert bits(result.root) == bits(expected.root)
    assert result.offsets is None


def test_a_character_without_motion_and_ends(tmp_path: Path) -> None:
    skeleton = replace(character("can"), ends=())
    write(skeleton, tmp_path / "can.npz")
    back = read(tmp_path / "can.npz")
    assert back.motion is None
    assert back.skeleton.ends == ()
    assert back.notes == ()


def test_the_same_clip_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write(odd_clip(), tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_what_is_not_kept_is_said(tmp_path: Path) -> None:
    clip = replace(odd_clip(), format="bvh", layout={"channels": ()})
    notes = write(clip, tmp_path / "a.npz", unit="mm", up="Z")
    assert notes == (
        "Another unit or up axis: an NPZ clip is in metres with Y up, and only notes what was asked for.",
        "What BVH files hold beside the character: an NPZ clip has no place for it.",
    )
    back = read(tmp_path / "a.npz")
    assert (back.unit, back.up) == (0.001, "Z")
    assert bits(back.skeleton.offsets) == bits(clip.skeleton.offsets)


def test_a_clip_of_version_1() -> None:
    clip = read(DATA / "clip_v1.npz")
    skeleton, moved = clip.skeleton, clip.motion
    assert skeleton.names == ("root", "shoulder", "elbow", "hand é")
    assert [str(kind) for kind in skeleton.kinds] == ["free", "ball", "hinge", "fixed"]
    assert skeleton.parents.tolist() == [-1, 0, 1, 2]
    np.testing.assert_array_equal(skeleton.offsets[1:], [[0.2, 0, 0], [0.3, 0, 0.01], [0.25, 0, 0]])
    np.testing.assert_array_equal(skeleton.axes[1], np.eye(3)[[2, 0, 1]])
    np.testing.assert_array_equal(skeleton.limits[1, 0], [-0.5, 1.25])
    assert skeleton.limits[2, 0].tolist() == [-2.0, np.inf]
    assert [(end.name, end.joint, end.offset.tolist()) for end in skeleton.ends] == [("tip", "hand é", [0.1, 0, 0.02])]
    assert moved is not None
    assert moved.fps == 24000 / 1001
    np.testing.assert_array_equal(moved.root[4], [0.4, 1.5, 4 * (1 / 3)])
    np.testing.assert_allclose(joint_angles(skeleton, moved.rotations)[:, 2, 0], 0.2 * np.arange(5), atol=1e-12)
    assert moved.offsets is not None
    np.testing.assert_allclose(moved.offsets[4, 2], [0.36, 0.0, 0.012])
    assert (clip.unit, clip.up, clip.notes, clip.dropped) == (0.01, "Z", ("one note", "two notes"), ("a frame",))


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_a_trajectory_of_version_1(suffix: str) -> None:
    clip = read(DATA / f"trajectory_v1{suffix}")
    assert clip.skeleton.names == ("base", "swing", "spin")
    assert clip.motion is not None
    assert clip.motion.fps == 50.0
    angles = joint_angles(clip.skeleton, clip.motion.rotations, near=np.array([[0, 0, 0], [0, 0, 0], [3.0, 0, 0]]))
    np.testing.assert_allclose(angles[:, 1, 0], [0.1, 0.2, 0.3, 0.4], atol=1e-12)
    np.testing.assert_allclose(angles[:, 2, 0], [0, 2, 4, 6], atol=1e-12)
    np.testing.assert_allclose(clip.motion.root[3], [0.3, 1.0, -0.6], atol=1e-12)


def test_every_version_has_a_file() -> None:
    for version in range(1, VERSION + 1):
        assert (DATA / f"clip_v{version}.npz").exists()
    for version in range(1, TRAJECTORY_VERSION + 1):
        assert (DATA / f"trajectory_v{version}.npz").exists()


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    arrays = clip_arrays(odd_clip())
    with pytest.raises(FileError, match=r"new.npz: is of version 2; this program reads up to 1") as caught:
        read(saved({**arrays, CLIP: VERSION + 1}, tmp_path / "new.npz"))
    assert caught.value.hint == "install a newer understudy"
    with pytest.raises(FileError, match="expected a version from 1 to 1"):
        read(saved({**arrays, CLIP: 0.5}, tmp_path / "half.npz"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kinds": np.array(["free", "ball"])}, "5 joints, but 2 kinds"),
        ({"kinds": np.array(["free", "gum", "ball", "ball", "ball"])}, "`kinds` names `gum`; expected free, ball"),
        ({"parents": np.zeros(5)}, "`parents`: expected whole numbers, got float64"),
        ({"parents": np.array([-1, 0, 1, 2, 9])}, "Joint 4 `still` has parent 9, not before it"),
        ({"offsets": np.zeros((5, 2))}, "Skeleton offsets: expected shape (5, 3), got (5, 2)"),
        ({"rest": np.zeros((0, 4))}, "`rest`: expected shape (5, 4), got (0, 4)"),
        ({"axes": np.ones((5, 3, 3))}, "expected 3 unit axes"),
        ({"limits": np.full((5, 3, 2), np.nan)}, "has a limit that is not a number"),
        ({"end_joints": np.array(["still"])}, "2 ends, but 1 joints of ends"),
        ({"end_joints": np.array(["still", "gone"])}, "End point `heel` is on joint `gone`, which does not exist"),
        ({"joint_names": np.array(["a"] * 5)}, "`a` is used more than once"),
        ({"fps": -1.0}, "Expected frames per second above zero, got -1.0"),
        ({"fps": np.ones(2)}, "`fps`: expected one number, got shape (2,)"),
        ({"root": np.full((7, 3), np.inf)}, "Motion root path: expected finite numbers"),
        ({"rotations": np.zeros((7, 5, 4))}, "Motion rotations must be unit quaternions"),
        ({"rotations": np.array(["x"])}, "`rotations`: expected numbers, got <U1"),
        ({"unit": np.nan}, "expected a unit above zero and an up axis; got nan"),
        ({"up": "W"}, "expected a unit above zero and an up axis; got 0.0564444 and `W`"),
    ],
)
def test_arrays_that_do_not_fit_are_named(changed: dict[str, object], message: str, tmp_path: Path) -> None:
    path = saved({**clip_arrays(odd_clip()), **changed}, tmp_path / "wrong.npz")
    with pytest.raises(FileError) as caught:
        read(path)
    assert caught.value.message.startswith(f"{path}: ")
    assert message in caught.value.message


@pytest.mark.parametrize("key", [key for key in clip_arrays(odd_clip()) if key not in ("about", "format", CLIP)])
def test_a_missing_array_is_named(key: str, tmp_path: Path) -> None:
    arrays = clip_arrays(odd_clip())
    del arrays[key]
    path = saved(arrays, tmp_path / "part.npz")
    if key in ("rotations", "motion_offsets"):
        back = read(path)
        assert (back.motion is None) == (key == "rotations")
        return
    with pytest.raises(FileError, match=f"has no array `{key}`"):
        read(path)


def test_an_npz_of_something_else_is_refused(tmp_path: Path) -> None:
    path = saved({"weights": np.ones(3), "bias": np.ones(1)}, tmp_path / "net.npz")
    with pytest.raises(FileError, match="holds `bias`, `weights`: neither a clip of ours, nor a robot's trajectory"):
        read(path)


class _Harm:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (_remember, ("ran",))


RAN: list[str] = []


def _remember(what: str) -> str:
    RAN.append(what)
    return what


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    harm = np.empty(1, dtype=object)
    harm[0] = _Harm()
    path = saved({**clip_arrays(odd_clip()), "joint_names": harm}, tmp_path / "harm.npz")
    assert pickle.loads(pickle.dumps(_Harm())) == "ran"
    RAN.clear()
    with pytest.raises(FileError, match=r"`joint_names` holds `\|O`; expected plain numbers or text"):
        read(path)
    assert RAN == []


def lying(shape: str, data: bytes, dtype: str = "<f8") -> bytes:
    """The bytes of an array with the given header, which need not fit the data."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (lying("(1000000000000,)", b"\0" * 8), "says it is (1000000000000,) of float64, but has 8 bytes"),
        (lying("(-1,)", b""), "its shape is `(-1,)`"),
        (lying("(1,)", b""), "says it is (1,) of float64, but has 0 bytes"),
        (lying("(1,)", b"\0" * 8, "|O"), "expected plain numbers or text: nothing is unpickled"),
        (lying("(1,)", b"\0" * 8, "<M8[s]"), "expected plain numbers or text"),
        (lying("(1000000000000,)", b"", "<U0"), "says it is (1000000000000,) of <U0, but has 0 bytes"),
        (lying("(0, 4611686018427387904, 4611686018427387904)", b""), "is no array"),
        (lying("(True,)", b"\0" * 8), "is no array"),
        (lying("(1,)", b"\0" * 8, "f4,f4"), "expected plain numbers or text"),
        (b"\x93NUMPY\x09\x00", "is no array"),
        (b"hello", "is no array"),
        (b"", "is no array"),
        (lying("(" * 60, b""), "is no array"),
    ],
)
def test_arrays_that_lie_are_refused(member: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "lie.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{CLIP}.npy", member)
    with pytest.raises(FileError) as caught:
        read(path)
    assert message in caught.value.message


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz_archive, "MAX_TOTAL_BYTES", 2**26)
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("root.npy", "w") as member:
        block = b"\0" * 2**24
        for _ in range(npz_archive.MAX_TOTAL_BYTES // len(block) + 1):
            member.write(block)
    assert path.stat().st_size < 2**21
    with pytest.raises(FileError, match=r"unpacks to \d+ bytes; at most \d+ are read"):
        read(path)


def test_too_many_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(npz_archive.MAX_ARRAYS + 1):
            archive.writestr(f"{number}.npy", b"")
    with pytest.raises(FileError, match="holds 1001 arrays; at most 1000 are read"):
        read(path)


def test_what_cannot_be_read_again_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz_archive, "MAX_TOTAL_BYTES", 1000)
    with pytest.raises(OptionError, match="NPZ files hold at most 1000"):
        write(odd_clip(), tmp_path / "big.npz")
    assert not (tmp_path / "big.npz").exists()


def test_arrays_laid_out_by_columns_and_other_numbers(tmp_path: Path) -> None:
    arrays = clip_arrays(odd_clip())
    arrays["offsets"] = np.asfortranarray(arrays["offsets"])
    arrays["parents"] = arrays["parents"].astype(np.int8)
    arrays["root"] = np.arange(21).reshape(7, 3)
    arrays["joint_names"] = np.char.encode(arrays["joint_names"], "utf-8")
    back = read(saved(arrays, tmp_path / "other.npz"))
    assert bits(back.skeleton.offsets) == bits(odd_clip().skeleton.offsets)
    assert back.skeleton.names == odd_clip().skeleton.names
    assert back.motion is not None
    assert back.motion.root[6, 2] == 20.0


def test_damaged_files_end_in_an_error_or_a_clip(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.savez(stream, **clip_arrays(odd_clip()))
    whole = np.frombuffer(stream.getvalue(), np.uint8)
    rng = np.random.default_rng(11)
    path = tmp_path / "damaged.npz"
    ended = {"clip": 0, "error": 0}
    for number in range(400):
        damaged = whole.copy()
        if number % 4 == 0:
            damaged = damaged[: rng.integers(len(whole))]
        else:
            at = rng.integers(0, len(whole), rng.integers(1, 20))
            damaged[at] = rng.integers(0, 256, len(at))
        path.write_bytes(damaged.tobytes())
        try:
            read(path)
            ended["clip"] += 1
        except FileError:
            ended["error"] += 1
    assert ended["error"] > 200
    # A checksum of the zip file finds nearly all; what is changed outside of what is read may pass.
    assert sum(ended.values()) == 400


def test_an_archive_names_its_arrays(tmp_path: Path) -> None:
    path = saved({"a": np.ones(2), "b": np.array("text")}, tmp_path / "x.npz")
    with open(path, "rb") as stream:
        archive = Archive.open(stream, "x.npz")
        assert archive.keys == ["a", "b"]
        assert archive.text("b") == "text"
        with pytest.raises(FileError, match=r"x.npz: `b`: expected numbers, got <U4"):
            archive.numbers("b")
        with pytest.raises(FileError, match=r"x.npz: has no array `c`"):
            archive.array("c")
