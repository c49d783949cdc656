"""What was read and worked out before, found again as long as nothing that it came from has changed."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from understudy.correspondence.pairs import Correspondence
from understudy.io.files import split_clip
from understudy.retarget.actor import SAMPLE, ActorData, load, scaled
from understudy.retarget.matching import assign
from understudy.retarget.plan import Assignment
from understudy.retarget.spec import ActorSpec, Reading

Thing = TypeVar("Thing")

LARGEST = 48
"""Things kept; those not looked for longest go first."""


@dataclass(eq=False)
class Cache:
    """Things by what they were made from."""

    things: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)

    def keep(self, key: Hashable, make: Callable[[], Thing], *sources: object) -> Thing:
        """What was made from a key before, else made now; `sources` named in the key by `id` are kept alive with it."""
        if key in self.things:
            self.things.move_to_end(key)
            found: Thing = self.things[key][0]
            return found
        made = make()
        self.things[key] = (made, sources)
        while len(self.things) > LARGEST:
            self.things.popitem(last=False)
        return made

    def loaded(self, cast: ActorSpec, reading: Reading, folder: Path) -> ActorData:
        """An actor's motion and target, read only if a file or how it is read has changed."""
        files = [cast.source, cast.target, reading.skeleton, reading.target_skeleton]
        references = cast.source_reference, cast.target_reference
        stamps = tuple(stamp(name, folder) for name in files)
        key = ("files", *files, *references, reading, str(folder), stamps)
        plain = self.keep(key, lambda: load(replace(cast, scale=None), reading, folder))
        return self.keep(("sized", id(plain), repr(cast)), lambda: _sized(plain, cast), plain)

    def part(
        self, loaded: ActorData, folder: Path, given: Correspondence | None = None
    ) -> tuple[Assignment, list[str]]:
        """An actor's part, matched and aligned only if something about it has changed."""
        cast = loaded.spec
        pairs = None if given is None else (given.pairs, given.points)
        mapped = None if cast.map is None else (cast.map, stamp(cast.map, folder))
        key = ("part", id(loaded), pairs, mapped)
        return self.keep(key, lambda: assign(loaded, folder, given), loaded)


def stamp(name: str | None, folder: Path) -> tuple[int, int] | None:
    """What tells whether a file has changed; None for a sample, and for what is not there."""
    if not name or name.startswith(SAMPLE):
        return None
    try:
        found = split_clip(folder / name)[0].stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def content(*tables: Any) -> str:
    """Tables as a text that is the same for the same content."""
    return json.dumps(tables, sort_keys=True, default=str)


def _sized(plain: ActorData, cast: ActorSpec) -> ActorData:
    """What was loaded without a scale, with the target as large as the actor says."""
    if cast.scale is None:
        return replace(plain, spec=cast)
    target = scaled(plain.target, cast.scale)
    own = None if plain.target_motion is None else replace(plain.target_motion, skeleton=target)
    return replace(plain, spec=cast, target=target, target_motion=own)
