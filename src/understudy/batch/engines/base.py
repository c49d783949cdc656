"""The interface of engines: they take jobs and yield answers, in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable
from typing import ClassVar

from understudy.base.records import record
from understudy.batch.model import Answer, Job, JobSpec, Limits


@record
class Engine(ABC):
    """A way to run jobs. Subclasses are final."""

    name: ClassVar[str] = ""
    processes: ClassVar[bool] = True
    """Whether jobs run in other processes than this one."""

    spec: JobSpec
    limits: Limits
    workers: int
    address: str = ""
    """Of the scheduler, for engines that use other machines; empty for this machine."""

    @abstractmethod
    def run(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Answer], None, None]:
        """Run the jobs and yield answers as they arrive. Closing the generator stops all workers at once."""
