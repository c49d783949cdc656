"""Builds the studio's page on the way to a wheel, an sdist or an editable install.

Where it cannot be built, the rest is installed without it.
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
    """The page's own build script, which needs no installation."""
    script = Path(root) / "web" / "build.py"
    spec = importlib.util.spec_from_file_location("understudy_page", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class PageHook(BuildHookInterface[Any]):
    """Builds the page where it is not built from the sources as they are."""

    def dependencies(self) -> list[str]:
        """The package that brings Node, where the machine has none."""
        return builder(self.root).needs()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page; one that cannot be built is a warning, unless it was required."""
        page, wish = builder(self.root), os.environ.get("UNDERSTUDY_PAGE", "")
        if wish == "skip":
            return
        try:
            page.build()
        except page.PageError as error:
            if wish == "require":
                raise
            self.app.display_warning(f"Going on without the studio's page: {error}")
