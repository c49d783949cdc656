"""A worker: a process that does one clip after another, as it is told on its standard input.

It is started once and does many clips, so that loading the program and the target is paid for once. It ends when its
input ends: whoever started it may die in any way, and no worker goes on alone.
"""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import queue
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import module_from_spec, spec_from_file_location
from types import FunctionType
from typing import Any, BinaryIO

from understudy.batches.model import Answer, Job, Limits, Order, StopError
from understudy.errors import OptionError

READY = b'{"ready": true}\n'


def main() -> None:
    """Do what is asked for on standard input, a line each, until it ends."""
    # What anything prints goes to stderr: the answers have a way of their own.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    lines = _listen()
    order, limits = unpacked(next(lines))
    from understudy.batches.performing import perform

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


def packed(order: Order, limits: Limits) -> bytes:
    """What every worker is told first, as one line."""
    made = io.BytesIO()
    _Pickler(made).dump((order, limits))
    return base64.b64encode(made.getvalue()) + b"\n"


def unpacked(line: bytes) -> tuple[Order, Limits]:
    """What `packed` made a line of."""
    found: tuple[Order, Limits] = pickle.loads(base64.b64decode(line))
    return found


if __name__ == "__main__":
    main()
