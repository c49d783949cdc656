"""A hand: one worker process held within its limits of time and memory, and replaced when it dies."""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import queue
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from importlib.util import module_from_spec, spec_from_file_location
from types import FunctionType
from typing import IO, Any, BinaryIO

from understudy.base.errors import OptionError, UnderstudyError
from understudy.batch.model import ATTEMPTS, Answer, Job, JobSpec, Limits, StopError, failed_row
from understudy.batch.places import Folder, protocol_of

READY = b'{"ready": true}\n'


def main() -> None:
    """Do what is asked for on standard input, a line each, until it ends."""
    # What anything prints goes to stderr: the answers have a way of their own.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    lines = _listen()
    order, limits = unpacked(next(lines))
    from understudy.batch.clip_job import perform

    _limit_memory(limits)
    answers.write(READY)
    for line in lines:
        try:
            answer = perform(order, Job(**json.loads(line)), lambda identity: _send(answers, identity))
        except StopError as error:
            answer = Answer(stop=str(error))
        except MemoryError:
            # What is left of a memory that was full is not to be trusted: the next clip gets a new process.
            os._exit(OUT_OF_MEMORY)
        _send(answers, {"answer": asdict(answer)})


OUT_OF_MEMORY = 77
"""The status that a worker ends with where a clip needs more memory than it may take."""


def _send(answers: BinaryIO, data: dict[str, Any]) -> None:
    rest = json.dumps(data, ensure_ascii=True, allow_nan=False).encode() + b"\n"
    while rest:
        rest = rest[answers.write(rest) :]


def _listen() -> Iterator[bytes]:
    """The lines of standard input; when it ends, so does the process, whatever it is doing."""
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin.buffer:
            waiting.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield waiting.get()


def _limit_memory(limits: Limits) -> None:
    """Let asking for more memory fail; what was loaded so far does not count."""
    if limits.bytes is None or sys.platform != "linux":
        return
    import resource

    with open("/proc/self/statm") as stream:
        now = int(stream.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = now + limits.bytes
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))


class _Pickler(pickle.Pickler):
    """Takes functions of files that cannot be imported by name along by file and name."""

    def reducer_override(self, thing: Any) -> Any:
        if not isinstance(thing, FunctionType):
            return NotImplemented
        loaded = sys.modules.get(thing.__module__)
        if thing.__module__ != "__main__" and getattr(loaded, thing.__qualname__, None) is thing:
            return NotImplemented
        file = thing.__globals__.get("__file__")
        if thing.__module__ == "__main__" or not file or "<" in thing.__qualname__:
            raise OptionError(
                f"The function `{thing.__qualname__}` of the recipe is in no file that a worker could load",
                hint="put it into a module of its own, or choose the engine `inline`",
            )
        return load_function, (thing.__module__, str(file), thing.__qualname__)


def load_function(module: str, file: str, name: str) -> Any:
    """A user's function, from its file."""
    spec = spec_from_file_location(module, file)
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return getattr(found, name)


def packed(order: JobSpec, limits: Limits) -> bytes:
    """What every worker is told first, as one line."""
    made = io.BytesIO()
    _Pickler(made).dump((order, limits))
    return base64.b64encode(made.getvalue()) + b"\n"


def unpacked(line: bytes) -> tuple[JobSpec, Limits]:
    """What `packed` made a line of."""
    found: tuple[JobSpec, Limits] = pickle.loads(base64.b64decode(line))
    return found


if __name__ == "__main__":
    main()

LOOK = 0.05
"""Seconds between two looks at a worker's memory."""

START = 120.0
"""Seconds that a worker may take to be ready."""

COMMAND = "from understudy.batch.worker import main; main()"

THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1")
"""Workers are processes: if each had threads of its own, they would be in each other's way."""


class WorkerError(UnderstudyError):
    """Workers cannot be started at all."""


class WorkerProcess:
    """Does clips in a process of its own, one at a time.

    Args:
        order: What is to be done with every clip.
        limits: What a clip may take.
    """

    def __init__(self, order: JobSpec, limits: Limits) -> None:
        if not hasattr(os, "killpg"):
            raise WorkerError("Worker processes need Linux or macOS", hint="choose the engine `inline`")
        self.order, self.limits = order, limits
        self._told = packed(order, limits)
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._folder = tempfile.mkdtemp(prefix="understudy-") if _fetches(order) else ""
        self._rest = b""
        self._stopped = False

    def do(self, job: Job) -> Answer:
        """What becomes of a job; a worker that dies of itself is replaced and the job tried again."""
        reason, identity, began = "", {}, time.monotonic()
        for _ in range(ATTEMPTS):
            self._begin()
            self._forget()
            self._tell(json.dumps(asdict(job)).encode() + b"\n")
            said, reason, final = self._wait(self.limits.seconds)
            identity = {key: value for key, value in said.items() if key != "answer"}
            if "answer" in said:
                return Answer(**said["answer"])
            self._end()
            if self._stopped:
                return Answer(stop="the run was stopped")
            if final:
                break
        else:
            reason = f"{reason}, {ATTEMPTS} times"
        return Answer(row=failed_row(job, reason, **identity, seconds=round(time.monotonic() - began, 6)))

    def stop(self) -> None:
        """Ask for an end from another thread: `do` gives up within a moment."""
        self._stopped = True

    def close(self) -> None:
        """Stop the worker, whatever it is doing."""
        self._end()
        self._said.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _begin(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._end()
        self._forget()
        self._rest = b""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            bufsize=0,
            env={**os.environ, **THREADS, **({"TMPDIR": self._folder} if self._folder else {})},
            start_new_session=True,
        )
        self._tell(self._told)
        said, reason, _ = self._wait(START)
        if not said and not self._stopped:
            self._end()
            raise WorkerError(f"A worker could not be started: {reason}")

    def _forget(self) -> None:
        """Throw away what the worker said on stderr about other clips."""
        self._said.seek(0)
        self._said.truncate()

    def _tell(self, line: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            while line:
                line = line[self._process.stdin.write(line) :]

    def _wait(self, seconds: float | None) -> tuple[dict[str, Any], str, bool]:
        """All that the worker says up to an answer; or why there is none, and whether that is the clip's own doing."""
        process = self._process
        heard: dict[str, Any] = {}
        assert process is not None
        assert process.stdout is not None
        until = None if seconds is None else time.monotonic() + seconds
        while not self._stopped:
            if select.select([process.stdout], [], [], LOOK)[0]:
                block = os.read(process.stdout.fileno(), 1 << 20)
                if not block:
                    return heard, *self._cause(process)
                *lines, self._rest = (self._rest + block).split(b"\n")
                for line in lines:
                    heard |= json.loads(line)
                if "answer" in heard or "ready" in heard:
                    return heard, "", False
            if until is not None and time.monotonic() > until:
                return heard, f"took longer than {seconds:g} s, and was given up", True
            if self.limits.bytes is not None and resident(process.pid) > self.limits.bytes:
                return heard, self._too_large(), True
        return heard, "the run was stopped", True

    def _cause(self, process: subprocess.Popen[bytes]) -> tuple[str, bool]:
        """Why a worker is gone, and whether that is the clip's own doing."""
        try:
            status = process.wait(10.0)
        except subprocess.TimeoutExpired:
            return "its worker does not answer any more", False
        if status == OUT_OF_MEMORY:
            return (self._too_large() if self.limits.bytes is not None else "needs more memory than there is"), True
        if status < 0:
            return f"its worker was ended by {signal.Signals(-status).name}", False
        self._said.seek(0)
        said = [line for line in self._said.read()[-4000:].decode("utf-8", "replace").splitlines() if line.strip()]
        return f"its worker ended with status {status}{': ' + said[-1].strip() if said else ''}", False

    def _too_large(self) -> str:
        assert self.limits.bytes is not None
        return f"needs more than {self.limits.bytes / 1e6:g} MB of memory, and was given up"

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            # Its own children too: readers of some formats have one.
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _fetches(order: JobSpec) -> bool:
    """Whether a worker puts files into a folder for passing things, which is then to be removed after it."""
    return not isinstance(order.output, Folder) or bool(protocol_of(order.recipe.actors[0].target or ""))


def resident(process: int) -> int:
    """Bytes of memory that a process holds; 0 where that cannot be told."""
    try:
        with open(f"/proc/{process}/statm", "rb") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def share_of_memory(workers: int) -> int | None:
    """Bytes that each of some workers may take without the machine running out; None where that cannot be told."""
    known: Any = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in known:
        return None
    return int(0.9 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / workers)
