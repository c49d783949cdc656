"""Clips done by the workers of a Dask cluster, on this machine or on many."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import understudy
from understudy.base.errors import MissingPackageError, OptionError, UnderstudyError
from understudy.batch.clip_job import check_run
from understudy.batch.engines.base import Engine
from understudy.batch.model import Answer, Job, JobSpec, StopError, failed_row
from understudy.batch.worker import WorkerProcess, packed, unpacked

AHEAD = 2
"""Jobs handed out for each worker, so that none waits for the next."""

PATIENCE = 30
"""Seconds to wait for a cluster."""

_hands: dict[tuple[str, int], tuple[WorkerProcess, threading.Lock]] = {}
"""By run and thread: the processes that do this Dask worker's clips. They live as long as the run."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Dask(Engine):
    """Has the workers of a Dask cluster do clips, each in a process of its own that is held within the limits.

    A Dask worker that is lost costs nothing but time: what it was doing is done by another.
    """

    name: ClassVar[str] = "dask"

    def run(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Answer], None, None]:
        distributed = load()
        told, waiting = packed(self.order, self.limits), iter(jobs)
        with self._client(distributed) as client:
            _check_workers(client, told)
            running = distributed.as_completed(raise_errors=False)
            given: dict[Any, Job] = {}

            def hand_out() -> None:
                job = next(waiting, None)
                if job is not None:
                    future = client.submit(do, self.order.run, told, asdict(job), pure=False)
                    given[future] = job
                    running.add(future)

            try:
                for _ in range(AHEAD * max(sum(client.ncores().values()), self.workers)):
                    hand_out()
                for future in running:
                    job = given.pop(future)
                    answer = _answer(distributed, future, job)
                    hand_out()
                    yield job, answer
            finally:
                with suppress(Exception):
                    # Those that cannot be reached have nothing to be told.
                    client.cancel(list(given))
                    client.run(finish, self.order.run)

    @contextmanager
    def _client(self, distributed: Any) -> Iterator[Any]:
        """A client of the cluster at the address, or of one that is started here."""
        if self.address:
            try:
                client = distributed.Client(self.address, timeout=PATIENCE)
            except (OSError, ValueError, TypeError) as error:
                raise OptionError(f"There is no Dask scheduler at `{self.address}`: {error}") from None
            with client:
                yield client
            return
        with (
            TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            distributed.LocalCluster(
                n_workers=self.workers,
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=None,
                local_directory=folder,
                silence_logs=logging.CRITICAL,
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


def load() -> Any:
    """The package, or an error that says how to get it."""
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingPackageError("distributed", "dask", "The engine `dask`") from None


def do(run: str, told: bytes, job: dict[str, Any]) -> Answer:
    """Do a clip; runs in a Dask worker."""
    key = (run, threading.get_ident())
    if key not in _hands:
        for lost in {other for other, _ in _hands if other != run}:
            finish_if_lost(lost)
        _hands[key] = (WorkerProcess(*unpacked(told)), threading.Lock())
    hand, busy = _hands[key]
    with busy:
        return hand.do(Job(**job))


def finish(run: str) -> None:
    """Stop the processes of a run; runs in a Dask worker."""
    for key in [key for key in _hands if key[0] == run]:
        hand, busy = _hands.pop(key)
        hand.stop()
        with busy:
            hand.close()


def finish_if_lost(run: str) -> None:
    """Stop the processes of a run that has ended without saying so."""
    orders = [hand.order for (other, _), (hand, _) in _hands.items() if other == run]
    try:
        check_run(orders[0])
    except StopError:
        finish(run)


def look(told: bytes) -> str:
    """What keeps a Dask worker from doing its part; runs there."""
    order: JobSpec = unpacked(told)[0]
    try:
        check_run(order)
        next(iter(order.source.files()), None)
    except (StopError, UnderstudyError) as error:
        return f"does not see the same folders: {error}"
    return "" if understudy.__version__ == order.version else f"has understudy {understudy.__version__}"


def _check_workers(client: Any, told: bytes) -> None:
    """Refuse a cluster whose workers cannot do what is asked, before anything is done."""
    for address, said in sorted(client.run(look, told).items()):
        if said:
            raise OptionError(
                f"Worker {address} {said}",
                hint="every machine needs this version, and folders that all of them see, such as s3://bucket/clips",
            )


def _answer(distributed: Any, future: Any, job: Job) -> Answer:
    error = future.exception()
    if isinstance(error, distributed.KilledWorker):
        return Answer(row=failed_row(job, "every Dask worker that it was given to was lost"))
    if error is not None:
        raise error
    answer: Answer = future.result()
    return answer


ENGINE = Dask
