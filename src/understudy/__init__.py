"""Understudy makes one character perform another's motion."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_EXPORTS = {
    "Clip": "understudy.io",
    "Body": "understudy.coordinates",
    "JointKind": "understudy.skeleton",
    "Motion": "understudy.motion",
    "Point": "understudy.skeleton",
    "Pose": "understudy.kinematics",
    "Skeleton": "understudy.skeleton",
    "UnderstudyError": "understudy.errors",
    "analogy": "understudy.analogies",
    "batch": "understudy.batches",
    "Report": "understudy.metrics",
    "evaluate": "understudy.metrics",
    "fk": "understudy.kinematics",
    "join": "understudy.motion",
    "mirror": "understudy.symmetry",
    "morph": "understudy.pipeline",
    "retarget": "understudy.pipeline",
    "Options": "understudy.pipeline",
    "Contact": "understudy.contacts",
    "Solution": "understudy.solvers.base",
    "detect_contacts": "understudy.contacts",
    "read": "understudy.io",
    "write": "understudy.io",
}
__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    """Load a name when it is first used, so that `import understudy` costs next to nothing."""
    if name not in _EXPORTS:
        raise AttributeError(f"module `understudy` has no attribute `{name}`")
    value = getattr(import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
