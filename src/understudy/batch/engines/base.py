"""What an engine is: it takes jobs and gives answers, in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import ClassVar

from understudy.batch.model import Answer, Job, JobSpec, Limits


@dataclass(frozen=True, eq=False, kw_only=True)
class Engine(ABC):
    """A way to have clips done. A class is abstract or final."""

    name: ClassVar[str] = ""
    processes: ClassVar[bool] = True
    """Whether clips are done in other processes than this one."""

    order: JobSpec
    limits: Limits
    workers: int
    address: str = ""
    """Where the workers are, for engines that can be elsewhere; empty for here."""

    @abstractmethod
    def run(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Answer], None, None]:
        """Do the jobs; answers come as they are found. Closing the generator stops all workers at once."""
