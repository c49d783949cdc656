"""Cache of files read and values computed, keyed by what they depend on."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from understudy.correspondence.pairs import Correspondence
from understudy.io.clip import split_clip
from understudy.retarget.actor import SAMPLE, ActorData, ActorSpec, Reading, assign, load
from understudy.retarget.plan import Assignment
from understudy.retarget.scale import scale_skeleton

Value = TypeVar("Value")

MAX_ENTRIES = 48
"""The least recently used entries are dropped beyond this number."""


@dataclass(eq=False)
class Cache:
    """Values by the key that they were made from."""

    entries: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)

    def get(self, key: Hashable, make: Callable[[], Value], *sources: object) -> Value:
        """The cached value of a key, made if missing; `sources` whose `id` is in the key are kept alive with it."""
        if key in self.entries:
            self.entries.move_to_end(key)
            value: Value = self.entries[key][0]
            return value
        value = make()
        self.entries[key] = (value, sources)
        while len(self.entries) > MAX_ENTRIES:
            self.entries.popitem(last=False)
        return value

    def load_actor(self, spec: ActorSpec, reading: Reading, folder: Path) -> ActorData:
        """An actor's motion and target; files are read again only if they or the reading options changed."""
        files = [spec.source, spec.target, reading.skeleton, reading.target_skeleton]
        references = spec.source_reference, spec.target_reference
        stamps = tuple(file_stamp(name, folder) for name in files)
        key = ("files", *files, *references, reading, str(folder), stamps)
        unscaled = self.get(key, lambda: load(replace(spec, scale=None), reading, folder))
        return self.get(("scaled", id(unscaled), repr(spec)), lambda: _scale_target(unscaled, spec), unscaled)

    def load_assignment(
        self, actor: ActorData, folder: Path, correspondence: Correspondence | None = None
    ) -> tuple[Assignment, list[str]]:
        """An actor's assignment and its notes, recomputed only if the actor, the map or the pairs changed."""
        spec = actor.spec
        pairs = None if correspondence is None else (correspondence.pairs, correspondence.points)
        map_key = None if spec.map is None else (spec.map, file_stamp(spec.map, folder))
        key = ("assignment", id(actor), pairs, map_key)
        return self.get(key, lambda: assign(actor, folder, correspondence), actor)


def file_stamp(name: str | None, folder: Path) -> tuple[int, int] | None:
    """Time of change and size of a file; None for a sample or a missing file."""
    if not name or name.startswith(SAMPLE):
        return None
    try:
        status = split_clip(folder / name)[0].stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def content_key(*tables: Any) -> str:
    """Tables as JSON with sorted keys, equal for equal content."""
    return json.dumps(tables, sort_keys=True, default=str)


def _scale_target(unscaled: ActorData, spec: ActorSpec) -> ActorData:
    """An actor loaded without a scale, with its target scaled as the spec says."""
    if spec.scale is None:
        return replace(unscaled, spec=spec)
    target = scale_skeleton(unscaled.target, spec.scale)
    target_motion = None if unscaled.target_motion is None else replace(unscaled.target_motion, skeleton=target)
    return replace(unscaled, spec=spec, target=target, target_motion=target_motion)
