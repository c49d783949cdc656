"""Worker processes: `main` runs in the worker and processes clips; `WorkerProcess` runs in the parent and controls it.

The parent sends the job spec and the limits as one line, then one job a line as JSON. The worker answers with lines of
JSON: `{"ready": true}` once, then for every job the digests of the clip and `{"answer": ...}`.
"""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import queue
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
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import FunctionType
from typing import IO, Any, BinaryIO

from understudy.base.errors import OptionError, UnderstudyError
from understudy.batch.location import Folder, protocol_of
from understudy.batch.model import MAX_ATTEMPTS, Answer, Job, JobSpec, Limits, StopError, failed_row

READY = b'{"ready": true}\n'
"""The line that a worker sends once it can take jobs."""

OUT_OF_MEMORY_STATUS = 77
"""The exit status of a worker whose clip needs more memory than the limit."""

MEMORY_CHECK_SECONDS = 0.05
"""Time between two checks of a worker's memory."""

MAX_START_SECONDS = 120.0
"""Time that a worker may take to be ready."""

START_PAUSE_SECONDS = 0.5
"""Pause after a start that failed, since what ended it, such as a lack of memory, may pass."""

MAX_EXIT_SECONDS = 10.0
"""Time that a worker may take to exit after it has closed its output."""

COMMAND = "from understudy.batch.worker import main; main()"
"""The program that a worker runs."""

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1")
"""Environment of a worker: one thread each for linear algebra, since the workers already use all cores."""


def main() -> None:
    """Process the jobs that arrive on standard input, until it ends."""
    # Answers go to a copy of stdout. Whatever else the process prints goes to stderr.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    lines = _read_stdin()
    spec, limits = unpack(next(lines))
    from understudy.batch.clip_job import perform

    _limit_memory(limits)
    answers.write(READY)
    for line in lines:
        try:
            answer = perform(spec, Job(**json.loads(line)), lambda identity: _send(answers, identity))
        except StopError as error:
            answer = Answer(stop=str(error))
        except MemoryError:
            # The state of a process that ran out of memory is unreliable: the next clip gets a new process.
            os._exit(OUT_OF_MEMORY_STATUS)
        _send(answers, {"answer": asdict(answer)})


def _send(answers: BinaryIO, data: dict[str, Any]) -> None:
    line = json.dumps(data, ensure_ascii=True, allow_nan=False).encode() + b"\n"
    while line:
        line = line[answers.write(line) :]


def _read_stdin() -> Iterator[bytes]:
    """The lines of standard input; when it ends, the process exits at once, even during a job."""
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin.buffer:
            waiting.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield waiting.get()


def _limit_memory(limits: Limits) -> None:
    """Make one huge allocation fail at once. Addresses in use do not count: imports map more than they hold."""
    if limits.bytes is None or sys.platform != "linux":
        return
    import resource

    with open("/proc/self/statm") as stream:
        in_use = int(stream.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    soft = in_use + limits.bytes
    resource.setrlimit(resource.RLIMIT_AS, (soft if hard < 0 else min(soft, hard), hard))


class _Pickler(pickle.Pickler):
    """Pickles functions that cannot be imported by name as a file and a name."""

    def reducer_override(self, value: Any) -> Any:
        if not isinstance(value, FunctionType):
            return NotImplemented
        module = sys.modules.get(value.__module__)
        if value.__module__ != "__main__" and getattr(module, value.__qualname__, None) is value:
            return NotImplemented
        file = value.__globals__.get("__file__")
        if value.__module__ == "__main__" or not file or "<" in value.__qualname__:
            raise OptionError(
                f"The function `{value.__qualname__}` of the recipe is in no file that a worker could load",
                hint="put it into a module of its own, or choose the engine `inline`",
            )
        return load_function, (value.__module__, str(file), value.__qualname__)


def load_function(module_name: str, file: str, name: str) -> Any:
    """Load a user's function from its file."""
    module_spec = spec_from_file_location(module_name, file)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    return getattr(module, name)


def pack(spec: JobSpec, limits: Limits) -> bytes:
    """The first line that every worker receives."""
    buffer = io.BytesIO()
    _Pickler(buffer).dump((spec, limits))
    return base64.b64encode(buffer.getvalue()) + b"\n"


def unpack(line: bytes) -> tuple[JobSpec, Limits]:
    """The inverse of `pack`."""
    content: tuple[JobSpec, Limits] = pickle.loads(base64.b64decode(line))
    return content


class WorkerError(UnderstudyError):
    """No worker can be started."""


class StartError(Exception):
    """A worker ended or was ended before it was ready, for a reason that may pass."""


class WorkerProcess:
    """Processes clips in a process of its own, one at a time, within limits of time and memory.

    The process lives as long as the run. It is replaced when it dies or exceeds a limit.

    Args:
        spec: What all clips share.
        limits: What a clip may use.
    """

    def __init__(self, spec: JobSpec, limits: Limits) -> None:
        self.spec, self.limits = spec, limits
        self._first_line = pack(spec, limits)
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._folder = tempfile.mkdtemp(prefix="understudy-") if _needs_temporary_folder(spec) else ""
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._was_ready = False
        self._stopped = False

    def do(self, job: Job) -> Answer:
        """Process a job. If the worker dies for a reason that may lie outside the clip, a new worker tries again."""
        reason, identity, start = "", {}, time.monotonic()
        for _ in range(MAX_ATTEMPTS):
            try:
                self._start()
            except StartError as error:
                reason = str(error)
                time.sleep(START_PAUSE_SECONDS)
                continue
            if self._stopped:
                return Answer(stop="the run was stopped")
            self._clear_stderr()
            self._send(json.dumps(asdict(job)).encode() + b"\n")
            messages, reason, final = self._receive(self.limits.seconds)
            identity = {key: value for key, value in messages.items() if key != "answer"}
            if "answer" in messages:
                return Answer(**messages["answer"])
            self._kill()
            if self._stopped:
                return Answer(stop="the run was stopped")
            if final:
                break
        else:
            reason = f"{reason}, {MAX_ATTEMPTS} times"
        return Answer(row=failed_row(job, reason, **identity, seconds=round(time.monotonic() - start, 6)))

    def stop(self) -> None:
        """Make `do` return soon; called from another thread."""
        self._stopped = True

    def close(self) -> None:
        """Kill the worker, and remove its temporary files."""
        self._kill()
        self._stderr.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        """Start a worker and wait until it is ready, unless one is running.

        A worker that is killed while it starts raises a `StartError`, and the clip is tried again. One that ends by
        itself raises a `WorkerError` if none was ever ready: no other worker would fare better.
        """
        if self._process is not None and self._process.poll() is None:
            return
        self._kill()
        self._clear_stderr()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", COMMAND],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                bufsize=0,
                env={**os.environ, **ONE_THREAD, **(_temporary_variables(self._folder) if self._folder else {})},
                **GROUP_OPTIONS,
            )
        except OSError as error:
            raise StartError(f"no worker could be started: {error.strerror}") from None
        self._lines = _read_lines(self._process)
        self._send(self._first_line)
        messages, reason, final = self._receive(MAX_START_SECONDS)
        if messages or self._stopped:
            self._was_ready = True
            return
        status = self._process.poll()
        self._kill()
        if self._was_ready or (not final and (status is None or status < 0)):
            raise StartError(f"{reason} while it started")
        over_limit = self.limits.bytes is not None and reason == self._memory_reason()
        hint = "the limit includes what a worker holds before its first clip, about 100 MB" if over_limit else ""
        raise WorkerError(f"A worker could not be started: {reason}", hint=hint)

    def _clear_stderr(self) -> None:
        """Discard what the worker printed for earlier clips."""
        self._stderr.seek(0)
        self._stderr.truncate()

    def _send(self, line: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        # A worker that has ended breaks the pipe; on Windows that is another error.
        with suppress(BrokenPipeError, OSError):
            while line:
                line = line[self._process.stdin.write(line) :]

    def _receive(self, seconds: float | None) -> tuple[dict[str, Any], str, bool]:
        """Read messages up to an answer.

        Returns:
            All messages, merged; why there is no answer; and whether that is final, so that a retry is pointless.
        """
        process = self._process
        messages: dict[str, Any] = {}
        assert process is not None
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self._stopped:
            with suppress(queue.Empty):
                line = self._lines.get(timeout=MEMORY_CHECK_SECONDS)
                if not line.endswith(b"\n"):
                    return messages, *self._explain_exit(process)
                messages |= json.loads(line)
                if "answer" in messages or "ready" in messages:
                    return messages, "", False
            if deadline is not None and time.monotonic() > deadline:
                return messages, f"took longer than {seconds:g} s and was stopped", True
            if self.limits.bytes is not None and resident_bytes(process.pid) > self.limits.bytes:
                return messages, self._memory_reason(), True
        return messages, "the run was stopped", True

    def _explain_exit(self, process: subprocess.Popen[bytes]) -> tuple[str, bool]:
        """Why a worker exited, and whether that is final, so that a retry is pointless."""
        try:
            status = process.wait(MAX_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return "its worker no longer responds", False
        if status == OUT_OF_MEMORY_STATUS:
            reason = self._memory_reason() if self.limits.bytes is not None else "needs more memory than there is"
            return reason, True
        if status < 0:
            return f"its worker was killed by {_signal_name(-status)}", False
        self._stderr.seek(0)
        text = self._stderr.read()[-4000:].decode("utf-8", "replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f"its worker exited with status {status}{': ' + lines[-1] if lines else ''}", False

    def _memory_reason(self) -> str:
        assert self.limits.bytes is not None
        return f"needs more than {self.limits.bytes / 1e6:g} MB of memory and was stopped"

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        _kill_group(process)
        process.wait()
        if process.stdin is not None:
            process.stdin.close()


def _needs_temporary_folder(spec: JobSpec) -> bool:
    """Whether a worker creates temporary files outside the output folder, which the parent must remove."""
    return not isinstance(spec.output, Folder) or bool(protocol_of(spec.recipe.actors[0].target or ""))


GROUP_OPTIONS: dict[str, Any] = (
    {"start_new_session": True}
    if os.name == "posix"
    else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
)
"""Options of `Popen` that put a worker into a process group of its own: Ctrl-C reaches the parent only."""


def _temporary_variables(folder: str) -> dict[str, str]:
    """The environment that makes a process put its temporary files into a folder."""
    return dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder)


def _read_lines(process: subprocess.Popen[bytes]) -> queue.SimpleQueue[bytes]:
    """The lines that a process prints, then an empty one. A thread reads them: pipes cannot be polled on Windows."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    stream = process.stdout
    assert stream is not None

    def read() -> None:
        # When the parent closes the pipe, or what is left of a line has no end, the worker has ended.
        with suppress(OSError, ValueError):
            unread = b""
            while block := stream.read(1 << 20):
                *whole, unread = (unread + block).split(b"\n")
                for line in whole:
                    lines.put(line + b"\n")
        lines.put(b"")
        stream.close()

    threading.Thread(target=read, daemon=True).start()
    return lines


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker and the processes that it has started: readers of some formats start one."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        return
    # Windows has no process groups that could be killed; its own tool kills a process with its children.
    with suppress(OSError):
        command = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    process.kill()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def resident_bytes(process: int) -> int:
    """Resident memory of a process; 0 where the system does not report it and `psutil` is not installed."""
    try:
        with open(f"/proc/{process}/statm", "rb") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        psutil = find_psutil()
    try:
        return 0 if psutil is None else int(psutil.Process(process).memory_info().rss)
    except psutil.Error:
        return 0


def memory_share(workers: int) -> int | None:
    """Bytes that each worker may use before the machine runs out; None where the system does not report its memory."""
    names: Any = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" in names:
        return int(0.9 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / workers)
    psutil = find_psutil()
    return None if psutil is None else int(0.9 * psutil.virtual_memory().total / workers)


def find_psutil() -> Any:
    """The package that measures processes on systems without /proc; None where it is not installed."""
    try:
        return import_module("psutil")
    except ImportError:
        return None
