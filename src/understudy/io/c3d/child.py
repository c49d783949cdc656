"""Child process that reads a C3D file with `ezc3d`: labels, places of markers, rate and unit."""

from __future__ import annotations

import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from understudy.io.child import Arrays, RefusedError, answer

MAX_VALUES = 200_000_000
"""The largest number of coordinates of all markers at all frames."""


def read(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], Arrays]:
    """The markers of a file, in its own unit and axes; NaN where a marker was not seen."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "markers.c3d"
        path.write_bytes(data)
        try:
            file = import_module("ezc3d").c3d(str(path))
        except (OSError, RuntimeError, ValueError, IndexError, KeyError, MemoryError) as error:
            reason = next(iter(str(error).splitlines()), "damaged")
            raise RefusedError(f"is no C3D that can be read: {reason}") from None
    point = file["parameters"].get("POINT", {})
    places = np.asarray(file["data"]["points"], float)
    if places.size > MAX_VALUES:
        raise RefusedError(f"holds {places.size} numbers; at most {MAX_VALUES} are read")
    labels = [str(label).strip() for key in sorted(point) if key.startswith("LABELS") for label in _value(point, key)]
    seen = np.moveaxis(places[:3], 0, 2).transpose(1, 0, 2)
    labels = labels[: seen.shape[1]]
    info = {
        "labels": labels,
        "rate": float(_first(point, "RATE", file["header"]["points"]["frame_rate"])),
        "unit": str(_first(point, "UNITS", "mm")).strip(),
        "screen_up": str(_first(point, "Y_SCREEN", "")).strip().upper(),
        "measures": _numbers(file["parameters"].get("PROCESSING", {})),
    }
    return info, {"places": np.ascontiguousarray(seen[:, : len(labels)])}


def _value(group: Any, key: str) -> list[Any]:
    return list(np.atleast_1d(group[key]["value"])) if key in group else []


def _numbers(group: Any) -> dict[str, float]:
    """The finite numbers among the parameters of a group; programs for gait keep measures of the subject there."""
    out = {}
    for key in group:
        value = _first(group, key, None) if isinstance(group[key], dict) and "value" in group[key] else None
        if isinstance(value, (int, float, np.number)) and np.isfinite(value):
            out[str(key)] = float(value)
    return out


def _first(group: Any, key: str, default: Any) -> Any:
    return next(iter(_value(group, key)), default)


if __name__ == "__main__":
    answer(read)
