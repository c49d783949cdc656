"""Mutants of files, recipes and messages: damaged at random, but the same for the same seed."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from understudy import samples
from understudy.base.errors import UnderstudyError
from understudy.figure.motion import Motion
from understudy.io import child, read, write
from understudy.io.clip import Clip, WriteOptions, formats
from understudy.io.fbx import document
from understudy.io.fbx.writer import write as write_fbx
from understudy.io.gltf.writer import bone_mesh
from understudy.recipe import read_recipe, recipe_text
from understudy.retarget.actor import ActorSpec
from understudy.retarget.spec import Recipe

NUMBERS = (
    b"0", b"-1", b"1e300", b"-1e300", b"1e-300", b"nan", b"inf", b"1e9", b"99999999999999999999", b"",
    b"0.0000001", b"x", b"2147483648", b"65536",
)  # fmt: skip
"""What takes the place of numbers in texts."""

BYTES = (b"\0", b"\xff", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\n", b'"', b"{", b"]", b"\xc3\x28", b"\x80")
"""What is put between or in place of bytes."""

MAX_SECONDS = 20
"""A mutant that takes longer to be read is a finding."""

TEXT_FBX = ".text.fbx"
"""Stands for the suffix of FBX files that are text."""

TEXT_SUFFIXES = (".bvh", ".asf", ".amc", ".csv", ".xml", ".urdf", ".gltf", ".toml", ".usda", TEXT_FBX)

ASF = """:version 1.10
:name stick
:units
  mass 1.0
  length 0.45
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name thigh
    direction 0 -1 0
    length 7
    axis 0 0 0 XYZ
    dof rx ry rz
    limits (-160.0 20.0)
           (-70.0 70.0)
           (-60.0 70.0)
  end
  begin
    id 2
    name shin
    direction 0 -1 0
    length 7
    axis 0 0 0 XYZ
    dof rx
    limits (-10.0 170.0)
  end
:hierarchy
  begin
    root thigh
    thigh shin
  end
"""

AMC = ":FULLY-SPECIFIED\n:DEGREES\n" + "".join(
    f"{i}\nroot 0 1{i} 0 0 0 0\nthigh {i} 0 0\nshin 2{i}\n" for i in range(1, 5)
)


def mutate(data: bytes, rng: random.Random, *, text: bool) -> bytes:
    """Damage bytes in one to four places."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        data = rng.choice(TEXT_DAMAGES if text else BINARY_DAMAGES)(data, rng)
    return data


def _span(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 2, 4, 8, 30, 200, 2000)))


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _remove(data: bytes, rng: random.Random) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + data[end:]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    start, end = _span(data, rng)
    return data[:end] + data[start:end] * rng.choice((1, 1, 2, 50)) + data[end:]


def _insert(data: bytes, rng: random.Random) -> bytes:
    start, _ = _span(data, rng)
    return data[:start] + rng.choice(BYTES) * rng.choice((1, 1, 4, 300)) + data[start:]


def _overwrite(data: bytes, rng: random.Random) -> bytes:
    start, _ = _span(data, rng)
    new = rng.choice((rng.choice(BYTES), rng.randbytes(rng.choice((1, 2, 4, 8)))))
    return data[:start] + new + data[start + len(new) :]


def _replace_number(data: bytes, rng: random.Random) -> bytes:
    places = list(re.finditer(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?", data))
    if not places:
        return data
    place = rng.choice(places)
    return data[: place.start()] + rng.choice(NUMBERS) + data[place.end() :]


def _swap_words(data: bytes, rng: random.Random) -> bytes:
    places = list(re.finditer(rb"[A-Za-z_]\w*", data))
    if len(places) < 2:
        return data
    one, other = sorted(rng.sample(places, 2), key=lambda place: place.start())
    return data[: one.start()] + other[0] + data[one.end() : other.start()] + one[0] + data[other.end() :]


def _move_line(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        line = lines.pop(rng.randrange(len(lines)))
        lines.insert(rng.randrange(len(lines) + 1), line)
    return b"".join(lines)


Damage = Callable[[bytes, random.Random], bytes]

BINARY_DAMAGES: tuple[Damage, ...] = (_cut, _remove, _repeat, _insert, _overwrite, _overwrite, _overwrite)

TEXT_DAMAGES: tuple[Damage, ...] = (
    *BINARY_DAMAGES[:-2], _replace_number, _replace_number, _replace_number, _swap_words, _move_line,
)  # fmt: skip


def make_seeds(folder: Path) -> dict[str, tuple[bytes, dict[str, bytes]]]:
    """By suffix: a small valid file, and the files that must lie beside it."""
    motion = samples.motion("walk2d").motion.resampled(15.0)[:6]
    out: dict[str, tuple[bytes, dict[str, bytes]]] = {}
    for suffix in (".bvh", ".npz", ".glb", ".fbx"):
        mesh = bone_mesh(motion.skeleton)
        write(Clip(skeleton=motion.skeleton, motion=motion, meshes=(mesh,)), folder / f"seed{suffix}")
        out[suffix] = (folder / f"seed{suffix}").read_bytes(), {}
    out[TEXT_FBX] = text_of(out[".fbx"][0]).encode(), {}
    data = out[".glb"][0]
    length = int.from_bytes(data[12:16], "little")
    tree = json.loads(data[20 : 20 + length])
    tree["buffers"][0]["uri"] = "seed.bin"
    out[".gltf"] = json.dumps(tree, indent=1).encode(), {"seed.bin": data[28 + length :]}
    out[".asf"], out[".amc"] = (ASF.encode(), {}), (AMC.encode(), {"seed.asf": ASF.encode()})
    robot = (Path(__file__).parent.parent / "data" / "stickbot.xml").read_bytes()
    trajectory = (Path(__file__).parent.parent / "data" / "trajectory_v1.csv").read_bytes()
    pendulum = (Path(__file__).parent.parent / "data" / "pendulum.xml").read_bytes()
    out[".xml"], out[".csv"] = (robot, {}), (trajectory, {"pendulum.xml": pendulum})
    recipe = Recipe(actors=(ActorSpec(source="sample:walk2d", scale=0.8),))
    place = '\n[[constraint]]\nkind = "place"\npoint = "LeftFoot"\ntarget = [0.1, 0.2, 0.3]\nstart = 0.1\nend = 0.3\n'
    contact = '\n[[contact]]\npoint = "LeftFoot"\nstart = 0.1\nend = 0.2\n'
    text = recipe_text(recipe).replace('contacts = "detect"', 'contacts = "listed"')
    out[".toml"] = (text + place + contact).encode(), {}
    return out


def text_of(data: bytes) -> str:
    """A binary FBX file as a text file."""
    records = [record for record in document.parse(data).root.children if "R" not in record.codes]
    return "; FBX 7.4.0 project file\n" + "".join(document.to_text(record, 0) for record in records)


SMALL_ONLY = (".toml",)
"""Suffixes that are read as recipes."""


def check_file(path: Path) -> str:
    """What is wrong with how a file is read: an exception of others, or a motion that is none; empty if nothing."""
    try:
        with time_limit(MAX_SECONDS):
            if path.suffix == ".toml":
                read_recipe(path)
                return ""
            clip = read(path)
            if path.suffix == ".fbx":
                _write_into(clip)
            if clip.motion is not None:
                finite = np.all(np.isfinite(clip.motion.root)) and np.all(np.isfinite(clip.motion.rotations))
                return "" if finite else "the motion is not finite"
    except UnderstudyError as error:
        # A child process reads FBX. Where Python fails in it, an error of ours says so.
        return error.message if "failed on it" in error.message else ""
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        inside = [frame for frame in frames if "understudy" in frame.filename] or frames
        return f"{type(error).__name__}: {str(error)[:150]} ({Path(inside[-1].filename).name}:{inside[-1].lineno})"
    return ""


def _write_into(clip: Clip) -> None:
    """Write a motion into the file that a clip was read from."""
    rest = clip.skeleton.rest[None]
    motion = Motion(skeleton=clip.skeleton, fps=30.0, root=clip.skeleton.offsets[:1], rotations=rest, name="written")
    with np.errstate(all="ignore"):
        write_fbx(replace(clip, motion=motion), io.BytesIO(), WriteOptions(path="mutant.fbx"))


def run_forked(command: list[str], *, input: bytes, timeout: float, **_: Any) -> subprocess.CompletedProcess[bytes]:
    """What `subprocess.run` does for the reader of a format, by a fork instead of a new Python: ten times as fast."""
    module = import_module(command[-1])
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        source.write(input)
        source.seek(0)
        number = os.fork()
        if number == 0:
            for place, file in enumerate((source, out, errors)):
                os.dup2(file.fileno(), place)
            sys.stdin, sys.stderr = os.fdopen(0), os.fdopen(2, "w")
            try:
                child.answer(module.read)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            os._exit(1)
        end = time.monotonic() + timeout
        while (status := os.waitpid(number, os.WNOHANG))[0] == 0:
            if time.monotonic() > end:
                os.kill(number, signal.SIGKILL)
                os.waitpid(number, 0)
                raise subprocess.TimeoutExpired(command, timeout)
            time.sleep(0.002)
        out.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(status[1]), out.read(), errors.read())


@contextmanager
def forked_readers() -> Iterator[None]:
    """Let readers that run in a child process be forks of this one, where the system can do that and has `ufbx`."""
    if not hasattr(os, "fork") or importlib.util.find_spec("ufbx") is None:
        yield
        return
    import_module("ufbx")
    original, child.subprocess.run = child.subprocess.run, run_forked  # type: ignore[assignment]
    try:
        yield
    finally:
        child.subprocess.run = original


class TooSlowError(Exception):
    """A mutant took too long."""


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise an error in this thread after some seconds, where the system can do that."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_: object) -> None:
        raise TooSlowError(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def mutants(
    suffix: str, count: int, first: int = 0, seed: Path | None = None
) -> Iterator[tuple[int, bytes, dict[str, bytes]]]:
    """Mutants of a format, or of one file: number, content, and the files beside it, one of which may be damaged."""
    if seed is not None:
        data, beside = seed.read_bytes(), {}
    else:
        with tempfile.TemporaryDirectory() as folder:
            data, beside = make_seeds(Path(folder))[suffix]
    for number in range(first, first + count):
        rng = random.Random(f"{suffix} {number}")
        others = dict(beside)
        if others and rng.random() < 0.3:
            name = rng.choice(sorted(others))
            others[name] = mutate(others[name], rng, text=name.endswith(TEXT_SUFFIXES))
            yield number, data, others
        else:
            yield number, mutate(data, rng, text=suffix in TEXT_SUFFIXES), others


def find_faults(suffix: str, count: int, folder: Path, first: int = 0, seed: Path | None = None) -> dict[int, str]:
    """The numbers of the mutants that are read wrongly, with what is wrong."""
    faults = {}
    path = folder / f"mutant{suffix}"
    for number, data, beside in mutants(suffix, count, first, seed):
        for name, content in beside.items():
            (folder / name).write_bytes(content)
        path.write_bytes(data)
        problem = check_file(path)
        if problem:
            faults[number] = problem
    return faults


def readable_suffixes() -> set[str]:
    """The suffixes of all formats that are read without a package of others."""
    return {suffix for item in formats().values() if item.read is not None for suffix in item.suffixes}


def mutate_value(value: Any, rng: random.Random) -> Any:
    """A JSON value with one part replaced, removed or nested."""
    odd: tuple[Any, ...] = (
        None, True, -1, 1e300, 10**30, "", "x" * 5000, "\ud800", "\0", "../../etc/passwd", [], {}, [[[[]]]], {"a": {}},
        ["recipe"], "recipe", 0, 0.5, "sample:walk2d", "/dev/zero",
    )  # fmt: skip
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        if rng.random() < 0.1:
            return {other: item for other, item in value.items() if other != key}
        return {**value, key: mutate_value(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        index = rng.randrange(len(value))
        if rng.random() < 0.15:
            return [*value[:index], *value[index + 1 :]]
        return [*value[:index], mutate_value(value[index], rng), *value[index + 1 :]]
    return rng.choice(odd)
