"""Batches in the page: the document's recipe over a folder of motions, in the background, with a verdict a clip."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from understudy.base.errors import OptionError, UnderstudyError
from understudy.batch.location import Folder
from understudy.batch.model import DEFAULT_TIMEOUT_SECONDS, DONE, STATE_FOLDER
from understudy.batch.run import Batch
from understudy.metrics.base import VERDICT_ORDER, metrics
from understudy.recipe import read_recipe
from understudy.studio import export as exporting
from understudy.studio.document import Document
from understudy.studio.messages import RequestError
from understudy.studio.publisher import error_report

WORSE = tuple(str(verdict) for verdict in VERDICT_ORDER[2:])
"""The verdicts of which the page says what makes them."""

UPDATE_INTERVAL_SECONDS = 0.3
"""Least time between two events about a batch."""

Table = dict[str, Any]


def batch_document(document: Document) -> Document:
    """What of a document holds for every clip: bodies, options and bone pairs, but no contacts or constraints."""
    if document["mode"] != "retarget" or len(document["recipe"]["actor"]) != 1:
        raise RequestError("A batch needs one character", hint="open a motion and the character that is to perform it")
    recipe = document["recipe"]
    options = {key: value for key, value in recipe["options"].items() if key != "contacts"}
    reading = {key: value for key, value in recipe["reading"].items() if key != "frames"}
    kept = {**recipe, "options": options, "reading": reading, "contact": [], "constraint": [], "prop": []}
    return {**document, "recipe": kept}


class BatchRunner:
    """Runs one batch at a time in the background and tells the pages how it goes.

    Args:
        state: A folder for recipes of batches, and for results where no other folder is given.
        send_event: Sends an event to all pages.
    """

    def __init__(self, state: Path, send_event: Callable[[Table], None]) -> None:
        self.state, self.send_event = state, send_event
        self._table: Table | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def table(self) -> Table | None:
        """The last batch as the page receives it; None if there was none."""
        return None if self._table is None else {**self._table, "running": self.running}

    def start(self, document: Document, base: Path, source: Path, output: Path | None) -> None:
        """Start a batch.

        Args:
            document: Its bodies, options and bone pairs are used.
            base: The folder that its file names are relative to.
            source: The folder of motions.
            output: A folder for the results; one of the session's own if not given.
        """
        if self.running:
            raise RequestError("A batch is running already", hint="stop it first")
        output = output or self.state / f"{source.name}-{exporting.title(document)}"
        if output.is_dir() and any(output.iterdir()) and not (output / STATE_FOLDER).exists():
            raise OptionError(f"{output}: holds files that no batch has written", hint="name a new folder")
        self.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        recipe_path = self.state / "recipe.toml"
        exporting.save(batch_document(document), base, recipe_path)
        batch = Batch(
            recipe=read_recipe(recipe_path),
            source=Folder(path=source),
            output=Folder(path=output),
            workers=max((os.cpu_count() or 2) - 1, 1),
            timeout=DEFAULT_TIMEOUT_SECONDS,
        )
        self._stopped.clear()
        self._table = {"folder": str(source), "output": str(output), "total": 0, "rows": [], "error": None}
        loop = asyncio.get_running_loop()
        # The thread ends with the program: results that are finished are kept, and a later run goes on from them.
        self._thread = threading.Thread(target=self._run, args=(batch, self._table, loop), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the clips that are being processed."""
        self._stopped.set()

    def _run(self, batch: Batch, table: Table, loop: asyncio.AbstractEventLoop) -> None:
        steps = batch.run()
        told = 0.0
        try:
            for step in steps:
                table["rows"].append(row_table(step.row))
                table["total"] = step.total
                if self._stopped.is_set():
                    break
                if time.monotonic() - told > UPDATE_INTERVAL_SECONDS:
                    told = time.monotonic()
                    self._tell(table, loop, running=True)
        except (Exception, SystemExit) as error:
            table["error"] = error_report(error)
        finally:
            try:
                steps.close()
            except UnderstudyError as error:
                table["error"] = error_report(error)
            self._tell(table, loop, running=False)

    def _tell(self, table: Table, loop: asyncio.AbstractEventLoop, *, running: bool) -> None:
        event = {"on": "batch", "batch": {**table, "rows": list(table["rows"]), "running": running}}
        try:
            loop.call_soon_threadsafe(self.send_event, event)
        except RuntimeError:
            # The server has ended.
            self._stopped.set()


def row_table(row: Table) -> Table:
    """A clip of a batch as the page receives it: its verdict, and what makes it."""
    done = row["status"] == DONE
    verdict = str(row.get("verdict", "")) if done else "failed"
    graded = {name: str(row.get(f"{name}.verdict", "")) for name in metrics()}
    worst = [metric.title for name, metric in metrics().items() if graded[name] == verdict]
    words = str(row.get("reason", "")) if not done else ", ".join(worst) if verdict in WORSE else ""
    return {
        "clip": row["clip"],
        "verdict": verdict,
        "words": words[:300],
        "seconds": row.get("duration"),
        "output": row.get("output", ""),
    }
