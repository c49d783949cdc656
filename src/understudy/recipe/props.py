"""Props of a recipe: where they stay, or the path they take, from the recipe or a file beside it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.errors import FileError, OptionError
from understudy.base.files import open_to_read
from understudy.base.quaternion import Array, normalize
from understudy.retarget.actor import SAMPLE, sample_scene
from understudy.retarget.spec import PropEntry

COLUMNS = ("time", "x", "y", "z", "qw", "qx", "qy", "qz")
"""Of a path in a CSV file: seconds, metres, and perhaps a rotation."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PropPath:
    """Where a prop is over time, as constraints take it."""

    positions: Array
    """(T, 3) metres, world: the middle of its first box."""
    rotations: Array | None = None
    """(T, 4)."""
    times: Array | None = None
    """(T,) seconds; None for a prop that stays."""
    size: Array | None = None
    """(3,) metres, of its first box."""

    @property
    def middle(self) -> Array | None:
        """(3,) metres: where it stays; None where it moves."""
        return self.positions[0] if self.times is None else None


def load_course(prop: PropEntry, folder: Path) -> PropPath:
    """Where a prop is, from its entry or the file that the entry names."""
    where = f"Prop `{prop.name}`"
    if (prop.positions is None) == (prop.path is None):
        raise OptionError(f"{where}: expected either positions, where it stays, or the file of its path")
    size = None if prop.sizes is None else _shaped(np.atleast_2d(prop.sizes), 3, f"{where}: sizes")[0]
    if prop.path is not None:
        times, positions, rotations = _read_path(prop.path, folder, prop.name)
        return PropPath(positions=positions, rotations=rotations, times=times, size=size)
    positions = _shaped(np.atleast_2d(prop.positions), 3, f"{where}: positions")  # type: ignore[arg-type]
    rotations = None
    if prop.rotations is not None:
        rotations = _turns(np.atleast_2d(prop.rotations), f"{where}: rotations")[:1]
    return PropPath(positions=positions[:1], rotations=rotations, size=size)


def _shaped(values: Array, width: int, what: str) -> Array:
    if values.ndim != 2 or values.shape[1] != width or not np.all(np.isfinite(values)):
        raise OptionError(f"{what}: expected rows of {width} finite numbers, got shape {values.shape}")
    return values


def _turns(values: Array, what: str) -> Array:
    out = _shaped(values, 4, what)
    if np.any(np.linalg.norm(out, axis=-1) < 1e-6):
        raise OptionError(f"{what}: a rotation of length zero turns nothing")
    return normalize(out)


def _read_path(file: str, folder: Path, name: str) -> tuple[Array, Array, Array | None]:
    """Times (T,), positions (T, 3) and rotations (T, 4) of a moving prop."""
    if file.startswith(SAMPLE):
        scene, _ = sample_scene(file)
        mine = next((prop for prop in scene.props if prop.name == name and prop.positions.ndim == 3), None)
        if mine is None:
            raise OptionError(f"Sample `{scene.name}` has no prop `{name}` that moves")
        return np.arange(len(mine.positions)) / scene.motion.fps, mine.positions[:, 0], mine.rotations[:, 0]
    path = folder / file
    with open_to_read(path) as stream:
        text = stream.read().decode("utf-8", errors="replace")
    if path.suffix.lower() == ".json":
        return _from_scene(text, path, name)
    if path.suffix.lower() == ".csv":
        return _from_table(text, path)
    raise FileError(str(path), None, "no path is written so", hint="expected .csv, or the .json of `samples`")


def _from_scene(text: str, path: Path, name: str) -> tuple[Array, Array, Array | None]:
    try:
        data = json.loads(text)
        mine: Any = next(prop for prop in data["props"] if prop["name"] == name)
        positions, rotations = np.array(mine["positions"], float), np.array(mine["rotations"], float)
        fps = float(data["fps"])
    except StopIteration:
        known = [prop.get("name") for prop in data["props"]]
        raise FileError(str(path), None, f"holds no prop `{name}`; it has {known or 'none'}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(str(path), None, f"holds no props as `samples` writes them: {error}") from None
    if positions.ndim != 3:
        raise FileError(str(path), None, f"prop `{name}` does not move", hint="give its positions in the recipe")
    return np.arange(len(positions)) / fps, positions[:, 0], rotations[:, 0]


def _from_table(text: str, path: Path) -> tuple[Array, Array, Array | None]:
    rows = list(csv.reader(io.StringIO(text)))
    head = [cell.strip().lower() for cell in rows[0]] if rows else []
    if head not in (list(COLUMNS[:4]), list(COLUMNS)):
        wanted = ",".join(COLUMNS[:4])
        raise FileError(str(path), 1, f"expected the columns {wanted}, and perhaps {','.join(COLUMNS[4:])}")
    found = []
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        try:
            numbers = np.array(row, float)
        except ValueError:
            raise FileError(str(path), number, f"expected numbers, got `{','.join(row)}`") from None
        if numbers.shape != (len(head),) or not np.all(np.isfinite(numbers)):
            raise FileError(str(path), number, f"expected {len(head)} finite numbers, got {len(row)}")
        found.append(numbers)
    values = np.array(found).reshape(-1, len(head))
    if len(values) == 0 or np.any(np.diff(values[:, 0]) <= 0.0):
        raise FileError(str(path), None, "expected at least one row, and times that rise")
    return values[:, 0], values[:, 1:4], _turns(values[:, 4:], str(path)) if len(head) > 4 else None
