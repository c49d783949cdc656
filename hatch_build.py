"""Builds the studio's page for a wheel, an sdist or an editable install.

If the page cannot be built, everything else is installed without it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def builder(root: str) -> ModuleType:
    """The build script of the page, as a module."""
    script = Path(root) / "web" / "build.py"
    spec = importlib.util.spec_from_file_location("understudy_page", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # `dataclass` looks up the module of a class by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class PageHook(BuildHookInterface[Any]):
    """Builds the page if it is out of date."""

    def dependencies(self) -> list[str]:
        """The package that brings Node, if the machine has none."""
        return builder(self.root).needs()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page; a failure is a warning, or an error if UNDERSTUDY_PAGE is `require`."""
        page, setting = builder(self.root), os.environ.get("UNDERSTUDY_PAGE", "")
        if setting == "skip":
            return
        try:
            page.build()
        except page.PageError as error:
            if setting == "require":
                raise
            self.app.display_warning(f"Going on without the studio's page: {error}")
