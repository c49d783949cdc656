"""Props of a recipe: a fixed position, or a path over time from a file."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.errors import FileError, OptionError
from understudy.base.files import open_to_read
from understudy.base.quaternion import Array, normalize
from understudy.base.records import record
from understudy.retarget.actor import SAMPLE, sample_scene
from understudy.retarget.spec import PropEntry

COLUMNS = ("time", "x", "y", "z", "qw", "qx", "qy", "qz")
"""Columns of a path in a CSV file: seconds, metres, and an optional rotation."""


@record
class PropPath:
    """The position and rotation of a prop over time."""

    positions: Array
    """(T, 3) metres, world: the centre of its first box."""
    rotations: Array | None = None
    """(T, 4)."""
    times: Array | None = None
    """(T,) seconds; None for a prop that does not move."""
    size: Array | None = None
    """(3,) metres, of its first box."""

    @property
    def middle(self) -> Array | None:
        """(3,) metres: its position if it does not move; None if it moves."""
        return self.positions[0] if self.times is None else None


def load_prop_path(prop: PropEntry, folder: Path) -> PropPath:
    """The path of a prop, from its entry or the file that the entry names."""
    label = f"Prop `{prop.name}`"
    if (prop.positions is None) == (prop.path is None):
        raise OptionError(f"{label}: expected either positions, for a prop that does not move, or the file of its path")
    size = None if prop.sizes is None else _check_rows(np.atleast_2d(prop.sizes), 3, f"{label}: sizes")[0]
    if prop.path is not None:
        times, positions, rotations = _read_path(prop.path, folder, prop.name)
        return PropPath(positions=positions, rotations=rotations, times=times, size=size)
    positions = _check_rows(np.atleast_2d(prop.positions), 3, f"{label}: positions")  # type: ignore[arg-type]
    rotations = None
    if prop.rotations is not None:
        rotations = _check_rotations(np.atleast_2d(prop.rotations), f"{label}: rotations")[:1]
    return PropPath(positions=positions[:1], rotations=rotations, size=size)


def _check_rows(values: Array, width: int, label: str) -> Array:
    if values.ndim != 2 or values.shape[1] != width or not np.all(np.isfinite(values)):
        raise OptionError(f"{label}: expected rows of {width} finite numbers, got shape {values.shape}")
    return values


def _check_rotations(values: Array, label: str) -> Array:
    rotations = _check_rows(values, 4, label)
    if np.any(np.linalg.norm(rotations, axis=-1) < 1e-6):
        raise OptionError(f"{label}: a quaternion has length zero")
    return normalize(rotations)


def _read_path(file: str, folder: Path, name: str) -> tuple[Array, Array, Array | None]:
    """Times (T,), positions (T, 3) and rotations (T, 4) of a moving prop."""
    if file.startswith(SAMPLE):
        scene, _ = sample_scene(file)
        prop = next((prop for prop in scene.props if prop.name == name and prop.positions.ndim == 3), None)
        if prop is None:
            raise OptionError(f"Sample `{scene.name}` has no moving prop `{name}`")
        return np.arange(len(prop.positions)) / scene.motion.fps, prop.positions[:, 0], prop.rotations[:, 0]
    path = folder / file
    with open_to_read(path) as stream:
        text = stream.read().decode("utf-8", errors="replace")
    if path.suffix.lower() == ".json":
        return _parse_scene(text, path, name)
    if path.suffix.lower() == ".csv":
        return _parse_csv(text, path)
    raise FileError(
        str(path), None, "is no file of a prop's path", hint="expected .csv, or the .json that `samples` writes"
    )


def _parse_scene(text: str, path: Path, name: str) -> tuple[Array, Array, Array | None]:
    try:
        data = json.loads(text)
        prop: Any = next(prop for prop in data["props"] if prop["name"] == name)
        positions, rotations = np.array(prop["positions"], float), np.array(prop["rotations"], float)
        fps = float(data["fps"])
    except StopIteration:
        names = [prop.get("name") for prop in data["props"]]
        raise FileError(str(path), None, f"holds no prop `{name}`; it has {names or 'none'}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(str(path), None, f"holds no props in the form that `samples` writes: {error}") from None
    if positions.ndim != 3:
        raise FileError(str(path), None, f"prop `{name}` does not move", hint="give its positions in the recipe")
    return np.arange(len(positions)) / fps, positions[:, 0], rotations[:, 0]


def _parse_csv(text: str, path: Path) -> tuple[Array, Array, Array | None]:
    try:
        rows = list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise FileError(str(path), None, f"is no CSV: {error}", hint="numbers and commas, without quotes") from None
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    if header not in (list(COLUMNS[:4]), list(COLUMNS)):
        needed, optional = ",".join(COLUMNS[:4]), ",".join(COLUMNS[4:])
        raise FileError(str(path), 1, f"expected the columns {needed}, and optionally {optional}")
    samples = []
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        try:
            numbers = np.array(row, float)
        except ValueError:
            raise FileError(str(path), number, f"expected numbers, got `{','.join(row)}`") from None
        if numbers.shape != (len(header),) or not np.all(np.isfinite(numbers)):
            raise FileError(str(path), number, f"expected {len(header)} finite numbers, got {len(row)}")
        samples.append(numbers)
    values = np.array(samples).reshape(-1, len(header))
    if len(values) == 0 or np.any(np.diff(values[:, 0]) <= 0.0):
        raise FileError(str(path), None, "expected at least one row, and increasing times")
    return values[:, 0], values[:, 1:4], _check_rotations(values[:, 4:], str(path)) if len(header) > 4 else None
