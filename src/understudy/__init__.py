"""Understudy makes one character perform another's motion."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy import constraints as constraints
    from understudy import samples as samples
    from understudy.analogy.make import analogy as analogy
    from understudy.base.errors import UnderstudyError as UnderstudyError
    from understudy.batch import batch as batch
    from understudy.figure.contacts import Contact as Contact
    from understudy.figure.contacts import detect_contacts as detect_contacts
    from understudy.figure.kinematics import Pose as Pose
    from understudy.figure.kinematics import fk as fk
    from understudy.figure.measures import mirror as mirror
    from understudy.figure.motion import Motion as Motion
    from understudy.figure.motion import join as join
    from understudy.figure.skeleton import JointKind as JointKind
    from understudy.figure.skeleton import Point as Point
    from understudy.figure.skeleton import Skeleton as Skeleton
    from understudy.io import Clip as Clip
    from understudy.io import read as read
    from understudy.io import write as write
    from understudy.metrics.base import Report as Report
    from understudy.metrics.base import evaluate as evaluate
    from understudy.retarget.actor import Reading as Reading
    from understudy.retarget.driver import Retargeted as Retargeted
    from understudy.retarget.driver import morph as morph
    from understudy.retarget.driver import retarget as retarget
    from understudy.retarget.plan import Options as Options
    from understudy.retarget.stream import Stream as Stream
    from understudy.show.picture import draw as picture
    from understudy.show.video import write_video as video
    from understudy.solve.coordinates import Body as Body
    from understudy.solve.solvers.base import Solution as Solution
    from understudy.transition.make import transition as transition

__version__ = "0.1.0"

_EXPORTS = {
    "Body": "understudy.solve.coordinates",
    "Clip": "understudy.io",
    "Contact": "understudy.figure.contacts",
    "JointKind": "understudy.figure.skeleton",
    "Motion": "understudy.figure.motion",
    "Options": "understudy.retarget.plan",
    "Point": "understudy.figure.skeleton",
    "Pose": "understudy.figure.kinematics",
    "Reading": "understudy.retarget.actor",
    "Report": "understudy.metrics.base",
    "Retargeted": "understudy.retarget.driver",
    "Skeleton": "understudy.figure.skeleton",
    "Solution": "understudy.solve.solvers.base",
    "Stream": "understudy.retarget.stream",
    "UnderstudyError": "understudy.base.errors",
    "analogy": "understudy.analogy.make",
    "batch": "understudy.batch",
    "constraints": "",
    "detect_contacts": "understudy.figure.contacts",
    "evaluate": "understudy.metrics.base",
    "fk": "understudy.figure.kinematics",
    "join": "understudy.figure.motion",
    "mirror": "understudy.figure.measures",
    "morph": "understudy.retarget.driver",
    "picture": "understudy.show.picture:draw",
    "read": "understudy.io",
    "retarget": "understudy.retarget.driver",
    "samples": "",
    "transition": "understudy.transition.make",
    "video": "understudy.show.video:write_video",
    "write": "understudy.io",
}
"""Public names and the modules that define them, with the name there if it is another; empty for a room itself."""

__all__ = [
    "Body",
    "Clip",
    "Contact",
    "JointKind",
    "Motion",
    "Options",
    "Point",
    "Pose",
    "Reading",
    "Report",
    "Retargeted",
    "Skeleton",
    "Solution",
    "Stream",
    "UnderstudyError",
    "analogy",
    "batch",
    "constraints",
    "detect_contacts",
    "evaluate",
    "fk",
    "join",
    "mirror",
    "morph",
    "picture",
    "read",
    "retarget",
    "samples",
    "transition",
    "video",
    "write",
]


# Only at run time: a type checker knows the names above, and no others.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Load a name when it is first used, so that `import understudy` costs next to nothing."""
        if name not in _EXPORTS:
            raise AttributeError(f"module `understudy` has no attribute `{name}`")
        if not _EXPORTS[name]:
            return import_module(f"understudy.{name}")
        module, _, defined = _EXPORTS[name].partition(":")
        value = getattr(import_module(module), defined or name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """A package in which `retarget`, `transition`, `analogy` and `batch` stay the functions of these names.

    Python sets a room as an attribute of its package when the room is imported, which would hide the function.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and _EXPORTS.get(name)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
