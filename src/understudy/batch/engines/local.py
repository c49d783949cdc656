"""Clips done by processes of this machine, which live as long as the run."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import ClassVar

from understudy.batch.engines.base import Engine
from understudy.batch.model import Answer, Job
from understudy.batch.worker import WorkerProcess


@dataclass(frozen=True, eq=False, kw_only=True)
class Local(Engine):
    """Has some worker processes on this machine, one clip each at a time."""

    name: ClassVar[str] = "local"

    def run(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Answer], None, None]:
        waiting = iter(jobs)
        taking = threading.Lock()
        found: queue.Queue[tuple[Job, Answer] | BaseException | None] = queue.Queue()
        hands = [WorkerProcess(self.order, self.limits) for _ in range(self.workers)]

        def serve(hand: WorkerProcess) -> None:
            try:
                while True:
                    with taking:
                        job = next(waiting, None)
                    if job is None:
                        break
                    found.put((job, hand.do(job)))
                found.put(None)
            except BaseException as error:
                found.put(error)
            finally:
                hand.close()

        threads = [threading.Thread(target=serve, args=(hand,), daemon=True) for hand in hands]
        try:
            for thread in threads:
                thread.start()
            left = len(threads)
            while left:
                answer = found.get()
                if isinstance(answer, BaseException):
                    raise answer
                if answer is None:
                    left -= 1
                else:
                    yield answer
        finally:
            with taking:
                waiting = iter(())
            for hand in hands:
                hand.stop()
            for thread in threads:
                thread.join()


ENGINE = Local
