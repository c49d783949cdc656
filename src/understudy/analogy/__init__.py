"""Motion analogies: a body learns a new motion from one pair of example motions [Analogies].

`understudy.analogy` is a function; this package of its parts has the same name, so it can be called too.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A package that is called as the function of its name."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return import_module("understudy.analogies").analogy(*args, **options)


sys.modules[__name__].__class__ = _Callable
