"""Jobs run by the workers of a Dask cluster, on this machine or on many."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import understudy
from understudy.base.errors import MissingPackageError, OptionError, UnderstudyError
from understudy.base.records import record
from understudy.batch.engines.base import Engine
from understudy.batch.lock import check_lock
from understudy.batch.model import Answer, Job, JobSpec, StopError, failed_row
from understudy.batch.worker import WorkerProcess, pack, unpack

JOBS_PER_WORKER = 2
"""Jobs submitted for each worker at a time, so that no worker waits for its next job."""

MAX_CONNECT_SECONDS = 30
"""Time to wait for a cluster."""

_workers: dict[tuple[str, int], tuple[WorkerProcess, threading.Lock]] = {}
"""By run and thread: the processes that run the jobs of this Dask worker. They live as long as the run."""


@record
class Dask(Engine):
    """Runs jobs on a Dask cluster. Every Dask worker starts a worker process that is held within the limits.

    If a Dask worker is lost, another one repeats its job.
    """

    name: ClassVar[str] = "dask"

    def run(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Answer], None, None]:
        distributed = load()
        packed, waiting = pack(self.spec, self.limits), iter(jobs)
        with self._client(distributed) as client:
            _check_workers(client, packed)
            running = distributed.as_completed(raise_errors=False)
            submitted: dict[Any, Job] = {}

            def submit_next() -> None:
                job = next(waiting, None)
                if job is not None:
                    future = client.submit(run_job, self.spec.run_id, packed, asdict(job), pure=False)
                    submitted[future] = job
                    running.add(future)

            try:
                for _ in range(JOBS_PER_WORKER * max(sum(client.ncores().values()), self.workers)):
                    submit_next()
                for future in running:
                    job = submitted.pop(future)
                    answer = _get_answer(distributed, future, job)
                    submit_next()
                    yield job, answer
            finally:
                with suppress(Exception):
                    # Workers that cannot be reached need no cleaning up.
                    client.cancel(list(submitted))
                    client.run(finish, self.spec.run_id)

    @contextmanager
    def _client(self, distributed: Any) -> Iterator[Any]:
        """A client of the cluster at the address, or of a new cluster on this machine."""
        if self.address:
            try:
                client = distributed.Client(self.address, timeout=MAX_CONNECT_SECONDS)
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
    """Import the package; raises an error that says how to install it."""
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingPackageError("distributed", "dask", "The engine `dask`") from None


def run_job(run_id: str, packed: bytes, job: dict[str, Any]) -> Answer:
    """Run a job; called in a Dask worker."""
    key = (run_id, threading.get_ident())
    if key not in _workers:
        for other_run in {other for other, _ in _workers if other != run_id}:
            finish_if_lost(other_run)
        _workers[key] = (WorkerProcess(*unpack(packed)), threading.Lock())
    worker, busy = _workers[key]
    with busy:
        return worker.do(Job(**job))


def finish(run_id: str) -> None:
    """Stop the worker processes of a run; called in a Dask worker."""
    for key in [key for key in _workers if key[0] == run_id]:
        worker, busy = _workers.pop(key)
        worker.stop()
        with busy:
            worker.close()


def finish_if_lost(run_id: str) -> None:
    """Stop the worker processes of a run that no longer holds its lock."""
    specs = [worker.spec for (other, _), (worker, _) in _workers.items() if other == run_id]
    try:
        check_lock(specs[0])
    except StopError:
        finish(run_id)


def find_problem(packed: bytes) -> str:
    """Why this Dask worker cannot run the jobs; empty if it can. Called in a Dask worker."""
    spec: JobSpec = unpack(packed)[0]
    try:
        check_lock(spec)
        next(iter(spec.source.files()), None)
    except (StopError, UnderstudyError) as error:
        return f"does not see the same folders: {error}"
    return "" if understudy.__version__ == spec.version else f"has understudy {understudy.__version__}"


def _check_workers(client: Any, packed: bytes) -> None:
    """Refuse a cluster whose workers cannot run the jobs, before any job is submitted."""
    for address, problem in sorted(client.run(find_problem, packed).items()):
        if problem:
            raise OptionError(
                f"Worker {address} {problem}",
                hint="every machine needs this version, and folders that all of them see, such as s3://bucket/clips",
            )


def _get_answer(distributed: Any, future: Any, job: Job) -> Answer:
    error = future.exception()
    if isinstance(error, distributed.KilledWorker):
        return Answer(row=failed_row(job, "every Dask worker that ran it was lost"))
    if error is not None:
        raise error
    answer: Answer = future.result()
    return answer


ENGINE = Dask
