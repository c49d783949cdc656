"""What comes of a solve, whatever the mode: motions to show, figures to tell, clips to write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from understudy.errors import OptionError, UnknownNameError, nearest_names
from understudy.io import Clip
from understudy.solvers.base import Watch
from understudy.studio.scene import Message, Performer, skin_message

Table = dict[str, Any]


EMPTY: Table = {
    "fps": 30.0, "duration": 0.0, "bodies": [], "props": [], "floor": 0.0, "correspondence": None, "notes": [],
}  # fmt: skip
"""What the page is told of where nothing is chosen."""


class Work(ABC):
    """A finished solve of a document."""

    @property
    @abstractmethod
    def performers(self) -> tuple[Performer, ...]:
        """Everybody on the stage: sources first, then the results."""

    @abstractmethod
    def result(self, seq: int | None = None) -> Table:
        """What came of it, as the page is told; the drag that it answers, if it does."""

    @abstractmethod
    def clip(self, which: str) -> Clip:
        """A motion as it is written to a file."""

    @abstractmethod
    def quality(self, which: str) -> Table:
        """A result measured."""

    def variants(self, names: Sequence[str], watch: Watch) -> Work:
        """The same work with other ways to solve it beside the result."""
        raise OptionError("Only a retarget can be solved in other ways", hint="choose the mode `retarget`")

    def motions(self, live: bool = False) -> list[Message]:
        """Every motion to be shown; while something is dragged only those that may have changed."""
        return [performer.message() for performer in self.performers]

    def mesh(self, which: str) -> Message | None:
        """The skin of a character; None for a stick body."""
        performer = self.performer(which)
        return skin_message(which, performer.meshes, performer.motion.skeleton, performer.bound)

    def performer(self, which: str) -> Performer:
        """Somebody on the stage, by what motions go by."""
        found = {performer.which: performer for performer in self.performers}
        if which not in found:
            raise UnknownNameError(f"Nobody on the stage is called `{which}`; {nearest_names(which, found)}")
        return found[which]

    def bodies(self) -> list[Table]:
        """Everybody's body, variants apart: they are shown on the result's."""
        return [each.body() for each in self.performers if not each.which.startswith("variant:")]


def empty_result(seq: int | None, text: str, seconds: float) -> Table:
    """A result of which nothing is known yet but a sentence."""
    return {
        "seq": seq,
        "text": text,
        "seconds": seconds,
        "tracks": [],
        "conflicts": [],
        "faults": [],
        "warnings": [],
        "keys": [],
        "variants": [],
    }
