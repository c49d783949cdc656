"""Jobs run in worker processes on this machine, which live as long as the run."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable
from typing import ClassVar

from understudy.base.records import record
from understudy.batch.engines.base import Engine
from understudy.batch.model import Answer, Job
from understudy.batch.worker import WorkerProcess


@record
class Local(Engine):
    """Runs jobs in worker processes on this machine, one job at a time in each."""

    name: ClassVar[str] = "local"

    def run(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Answer], None, None]:
        waiting = iter(jobs)
        waiting_lock = threading.Lock()
        answers: queue.Queue[tuple[Job, Answer] | BaseException | None] = queue.Queue()
        workers = [WorkerProcess(self.spec, self.limits) for _ in range(self.workers)]

        def serve(worker: WorkerProcess) -> None:
            try:
                while True:
                    with waiting_lock:
                        job = next(waiting, None)
                    if job is None:
                        break
                    answers.put((job, worker.do(job)))
                answers.put(None)
            except BaseException as error:
                answers.put(error)
            finally:
                worker.close()

        threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in workers]
        try:
            for thread in threads:
                thread.start()
            num_running = len(threads)
            while num_running:
                answer = answers.get()
                if isinstance(answer, BaseException):
                    raise answer
                if answer is None:
                    num_running -= 1
                else:
                    yield answer
        finally:
            with waiting_lock:
                waiting = iter(())
            for worker in workers:
                worker.stop()
            for thread in threads:
                thread.join()


ENGINE = Local
