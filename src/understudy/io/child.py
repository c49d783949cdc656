"""Readers of other makers, run in a child process: if one crashes, hangs or eats memory, only the child does.

The parent gives a request and perhaps the file's bytes, the child answers with named arrays, and a JSON text of all
that is no array. Nothing is unpickled on either side.
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
from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.base.errors import FileError, MissingPackageError

SECONDS = 120.0
"""How long a child may take."""

MEMORY = 4 << 30
"""Bytes of address space that a child may have, where the system can limit it."""

REFUSED = 3
"""The status a child ends with when it cannot make sense of the file; its message is on stderr."""

LONGEST = 300
"""Letters of a child's message that are passed on."""

Arrays = dict[str, np.ndarray]


class RefusedError(Exception):
    """What is wrong with a file, said by a child, perhaps after `line 7: `; becomes a `FileError` of the parent."""


def ask(
    module: str, request: dict[str, Any], data: bytes, name: str, *, seconds: float | None = None
) -> tuple[dict[str, Any], Arrays]:
    """Let a module of this package read a file in a child process.

    Args:
        module: The module, which ends in a call of `answer`.
        request: What to read, as JSON can hold it.
        data: The bytes to read; empty where the request names a file.
        name: The file as the user named it, for errors.
        seconds: How long it may take; `SECONDS` if not given.

    Returns:
        What the child says about the file, and its arrays by name.
    """
    seconds = SECONDS if seconds is None else seconds
    head = json.dumps(request).encode()
    command = [sys.executable, "-P", "-m", module]
    try:
        done = subprocess.run(
            command,
            input=struct.pack("<Q", len(head)) + head + data,
            capture_output=True,
            timeout=seconds,
            env=_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FileError(name, None, f"was not read within {seconds:g} s, and was given up") from None
    if done.returncode == 0:
        with np.load(io.BytesIO(done.stdout), allow_pickle=False) as found:
            arrays = {key: found[key] for key in found.files if key != "said"}
            return json.loads(bytes(found["said"])), arrays
    problem = _failure(done.returncode, done.stderr.decode(errors="replace"))
    placed = re.match(r"line (\d+): ", problem)
    raise FileError(name, int(placed[1]) if placed else None, problem[placed.end() if placed else 0 :])


def answer(read: Callable[[dict[str, Any], bytes], tuple[dict[str, Any], Arrays]]) -> None:
    """The child's side: take a request from stdin, answer on stdout, and end without cleaning up."""
    _limit()
    # A reader's own prints must not get into the answer.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    source = sys.stdin.buffer.read()
    length = struct.unpack("<Q", source[:8])[0]
    request, data = json.loads(source[8 : 8 + length]), source[8 + length :]
    del source
    try:
        said, arrays = read(request, data)
        text = np.frombuffer(json.dumps(said).encode(), np.uint8)
        memory = io.BytesIO()
        np.savez(memory, said=text, **arrays)  # type: ignore[arg-type]
        out.write(memory.getbuffer())
        out.flush()
        status = 0
    except RefusedError as refusal:
        sys.stderr.write(f"\n{refusal}")
        status = REFUSED
    except MemoryError:
        sys.stderr.write(f"\nneeds more than {MEMORY >> 30} GiB of memory")
        status = REFUSED
    sys.stderr.flush()
    os._exit(status)


def need(package: str, distribution: str, extra: str, purpose: str) -> None:
    """Raise an error with the install line where a package is missing; it is not imported here."""
    if importlib.util.find_spec(package) is None:
        raise MissingPackageError(distribution, extra, purpose)


def _environment() -> dict[str, str]:
    """The parent's, with its packages, one thread and no plug-ins or search paths of the user's."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PXR_", "USD_", "TF_"))}
    kept["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    # More threads would each reserve address space, which is limited.
    kept |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PXR_WORK_THREAD_LIMIT": "1", "MALLOC_ARENA_MAX": "2"}
    return kept


def _limit() -> None:
    """Bound the child's memory, and let it crash without leaving a file."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform.startswith("linux"):
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        most = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _failure(status: int, errors: str) -> str:
    """Why a child gave no answer, in words."""
    last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "")[:LONGEST]
    if status == REFUSED:
        return last
    if status < 0:
        try:
            how = signal.Signals(-status).name
        except ValueError:
            how = f"signal {-status}"
        return f"the reader crashed on it ({how}); the file is damaged, or holds what the reader cannot take"
    return f"the reader failed on it: {last or f'status {status}'}"
