"""Consent to run the functions that a recipe names: none is imported before the user has agreed to its file, once."""

from __future__ import annotations

import importlib.machinery
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from understudy.base.errors import UnderstudyError
from understudy.base.files import open_to_write

MAX_SHOWN_LINES = 40
"""Lines of a function's file that are shown."""

CONSENT_FILE = "functions.json"


@dataclass(frozen=True, kw_only=True)
class FunctionSource:
    """A function that a recipe names, and the file that would be run."""

    name: str
    """As the recipe has it: `module:function`."""
    path: Path

    @property
    def digest(self) -> str:
        """The SHA-256 of the file: consent holds until the file changes."""
        import hashlib

        return hashlib.sha256(self._content).hexdigest()

    @property
    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError:
            return b""

    @property
    def text(self) -> str:
        """The first lines of the file, or those of the function where it can be found."""
        lines = self._content.decode("utf-8", "replace").splitlines()
        heading = f"def {self.name.partition(':')[2]}("
        start = next((i for i, line in enumerate(lines) if line.startswith(heading)), 0)
        shown = lines[start : start + MAX_SHOWN_LINES]
        return "\n".join([*shown, *(["..."] if start + len(shown) < len(lines) else [])])

    def table(self) -> dict[str, str]:
        """Plain data for a page."""
        return {"name": self.name, "path": str(self.path), "digest": self.digest, "text": self.text}


class ConsentError(UnderstudyError):
    """A recipe names a function that the user has not agreed to run."""

    def __init__(self, source: FunctionSource) -> None:
        super().__init__(
            f"The recipe would run the function `{source.name}` of {source.path}, and nobody has agreed to that yet",
            hint="read that file; then run the command in a terminal and agree, or agree to all functions with "
            "`understudy --trust ...` (in Python: read_recipe(FILE, trust=True))",
        )
        self.source = source


Ask = Callable[[FunctionSource], bool]

_ask: ContextVar[Ask | None] = ContextVar("ask", default=None)
"""Asks the user for consent inside an `asking` context; None outside of one."""

_default_ask: list[Ask | None] = [None]
"""Asks the user for consent elsewhere, in all threads; None where nobody can be asked."""


@contextmanager
def asking(ask: Ask) -> Iterator[None]:
    """Ask for consent in this way inside the context."""
    token = _ask.set(ask)
    try:
        yield
    finally:
        _ask.reset(token)


def ask_with(ask: Ask | None) -> None:
    """Ask for consent in this way from now on, in all threads; None where nobody can be asked."""
    _default_ask[0] = ask


def stop_asking() -> None:
    """Ask nobody from now on; trust in all functions stays."""
    if _default_ask[0] is not trust_all:
        _default_ask[0] = None


def trust_all(_: FunctionSource) -> bool:
    """Consent to everything."""
    return True


def check_consent(source: FunctionSource) -> None:
    """Raise an error unless the user agrees, or has agreed before, to run the file of a function as it is now."""
    ask = _ask.get() or _default_ask[0]
    if ask is trust_all or source.digest in _agreed():
        return
    if ask is None or not ask(source):
        raise ConsentError(source)
    agree(source)


def agree(source: FunctionSource) -> None:
    """Remember the user's consent to run a file as it is now."""
    folder = state_folder() / "understudy"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    table = {**_agreed(), source.digest: str(source.path)}
    with open_to_write(folder / CONSENT_FILE) as stream:
        stream.write(json.dumps(table, indent=2).encode())


def _agreed() -> dict[str, str]:
    """The files that the user has agreed to, by digest."""
    try:
        table = json.loads((state_folder() / "understudy" / CONSENT_FILE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def find_source(module: str, name: str, folder: Path) -> FunctionSource | None:
    """The file of a function's module, found without running any of it; None if there is no such module.

    Args:
        module: The module, beside the recipe or installed.
        name: The function.
        folder: The recipe's folder.
    """
    beside = folder / f"{module}.py"
    if beside.is_file():
        return FunctionSource(name=f"{module}:{name}", path=beside.absolute())
    locations: list[str] | None = None
    spec = None
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[:count]), locations)
        if spec is None:
            return None
        locations = spec.submodule_search_locations
    path = spec.origin if spec is not None and spec.origin is not None else None
    return None if path is None else FunctionSource(name=f"{module}:{name}", path=Path(path))


def is_standard(module: str) -> bool:
    """Whether a module is part of Python itself."""
    return module.partition(".")[0] in sys.stdlib_module_names


def state_folder() -> Path:
    """The folder for what programs remember about a user."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
