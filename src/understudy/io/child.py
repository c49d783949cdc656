"""Runs third-party readers in a child process, so that a crash, hang or memory leak does not affect the parent.

The parent sends a request and, for some formats, the file's bytes. The child answers with named arrays and a JSON text
for everything else. Neither side unpickles anything.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from understudy.base.errors import FileError, MissingPackageError, MotionError, SkeletonError

MAX_SECONDS = 120.0
"""Time limit of a child."""

MAX_BYTES = 4 << 30
"""Limit of a child's address space, on systems that support one."""

REFUSED_STATUS = 3
"""Exit status of a child that cannot read the file; its message is on stderr."""

MAX_MESSAGE_CHARACTERS = 300
"""A longer message of a child is cut."""

Arrays = dict[str, np.ndarray]


class RefusedError(Exception):
    """A child's report of what is wrong with a file. It may start with `line 7: `. The parent raises a `FileError`."""


def ask(
    module: str, request: dict[str, Any], data: bytes, name: str, *, seconds: float | None = None
) -> tuple[dict[str, Any], Arrays]:
    """Let a module of this package read a file in a child process.

    Args:
        module: The module, which ends in a call of `answer`.
        request: What to read, in JSON types.
        data: The bytes to read; empty if the request names a file.
        name: The file as the user named it, for errors.
        seconds: Time limit; `MAX_SECONDS` if not given.

    Returns:
        The child's description of the file, and its arrays by name.
    """
    seconds = MAX_SECONDS if seconds is None else seconds
    head = json.dumps(request).encode()
    command = [sys.executable, "-P", "-m", module]
    try:
        process = subprocess.run(
            command,
            input=struct.pack("<Q", len(head)) + head + data,
            capture_output=True,
            timeout=seconds,
            env=_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FileError(name, None, f"was not read within {seconds:g} s, and was given up") from None
    if process.returncode == 0:
        with np.load(io.BytesIO(process.stdout), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files if key != "info"}
            return json.loads(bytes(archive["info"])), arrays
    problem = _describe_failure(process.returncode, process.stderr.decode(errors="replace"))
    line = re.match(r"line (\d+): ", problem)
    raise FileError(name, int(line[1]) if line else None, problem[line.end() if line else 0 :])


@contextmanager
def refuse_bodies_of_bad_numbers(name: str) -> Iterator[None]:
    """Raise a `FileError` on the file `name` if the numbers that a child read make no body."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (SkeletonError, MotionError) as error:
        raise FileError(name, None, f"the numbers make no body: {error.message}") from None
    except np.linalg.LinAlgError:
        raise FileError(name, None, "the numbers make no body: a transform cannot be worked out") from None


def answer(read: Callable[[dict[str, Any], bytes], tuple[dict[str, Any], Arrays]]) -> None:
    """The child's side: read a request from stdin, answer on stdout, and exit without cleanup."""
    _limit_memory()
    # What a reader prints must not get into the answer.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    source = sys.stdin.buffer.read()
    length = struct.unpack("<Q", source[:8])[0]
    request, data = json.loads(source[8 : 8 + length]), source[8 + length :]
    del source
    try:
        info, arrays = read(request, data)
        text = np.frombuffer(json.dumps(info).encode(), np.uint8)
        memory = io.BytesIO()
        np.savez(memory, info=text, **arrays)  # type: ignore[arg-type]
        out.write(memory.getbuffer())
        out.flush()
        status = 0
    except RefusedError as refusal:
        sys.stderr.write(f"\n{refusal}")
        status = REFUSED_STATUS
    except MemoryError:
        sys.stderr.write(f"\nneeds more than {MAX_BYTES >> 30} GiB of memory")
        status = REFUSED_STATUS
    sys.stderr.flush()
    os._exit(status)


def need(package: str, distribution: str, extra: str, purpose: str) -> None:
    """Raise an error with the install command if a package is missing. The package is not imported."""
    if importlib.util.find_spec(package) is None:
        raise MissingPackageError(distribution, extra, purpose)


def _environment() -> dict[str, str]:
    """The child's environment: the parent's packages, one thread, and none of the user's USD plug-ins and paths."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PXR_", "USD_", "TF_"))}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    # Each thread reserves address space, which is limited.
    environment |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "PXR_WORK_THREAD_LIMIT"), "1")
    environment["MALLOC_ARENA_MAX"] = "2"
    return environment


def _limit_memory() -> None:
    """Limit the child's memory and turn off core dumps."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform.startswith("linux"):
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        limit = MAX_BYTES if hard == resource.RLIM_INFINITY else min(MAX_BYTES, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _describe_failure(status: int, errors: str) -> str:
    """Why a child gave no answer."""
    last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "")[:MAX_MESSAGE_CHARACTERS]
    if status == REFUSED_STATUS:
        return last
    if status < 0:
        try:
            how = signal.Signals(-status).name
        except ValueError:
            how = f"signal {-status}"
        return f"the reader crashed on it ({how}); the file is damaged, or holds what the reader cannot take"
    return f"the reader failed on it: {last or f'status {status}'}"
