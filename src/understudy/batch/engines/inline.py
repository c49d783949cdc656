"""Jobs run in this process, one after another, without isolation: for debugging and for tests."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import ClassVar

from understudy.base.records import record
from understudy.batch.clip_job import perform
from understudy.batch.engines.base import Engine
from understudy.batch.model import Answer, Job, StopError, failed_row


@record
class Inline(Engine):
    """Runs jobs in this process; limits of time and memory do not apply."""

    name: ClassVar[str] = "inline"
    processes: ClassVar[bool] = False

    def run(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Answer], None, None]:
        for job in jobs:
            try:
                answer = perform(self.spec, job)
            except StopError as error:
                answer = Answer(stop=str(error))
            except MemoryError:
                answer = Answer(row=failed_row(job, "needs more memory than there is"))
            yield job, answer


ENGINE = Inline
