"""Plugins found by a scan of a package folder: adding one is adding one file."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any


def scan(package: str, attribute: str) -> Iterator[tuple[str, Any]]:
    """Yield `(module name, value)` for every module of a package that has the attribute, in name order."""
    folder = importlib.import_module(package)
    for info in sorted(pkgutil.iter_modules(folder.__path__), key=lambda entry: entry.name):
        module = importlib.import_module(f"{package}.{info.name}")
        if hasattr(module, attribute):
            yield info.name, getattr(module, attribute)


def find_module(package: str, name: str) -> ModuleType | None:
    """The module of a package by name, None if there is none."""
    if not name.isidentifier() or find_spec(f"{package}.{name}") is None:
        return None
    return importlib.import_module(f"{package}.{name}")
