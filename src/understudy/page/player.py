"""What the player of a page is given: stick figures packed into few bytes, and their contacts."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.geometry.quaternion import Array
from understudy.page.showing import Shown

RATE = 60.0
"""Frames a second that are kept at most."""
BUDGET = 900_000
"""Bytes that all figures together may take before they are written as text; longer clips keep fewer frames."""
STEPS = 65535
"""The greatest number of 16 bits."""


def player_data(characters: Sequence[Shown]) -> dict[str, Any]:
    """Everything that the player needs, as plain data.

    Places are kept as 16-bit numbers within the box in which the body moves about its root, whose own path is kept in
    full: a body of 2 m is exact to 0.02 mm however far it goes.
    """
    sizes = [shown.motion.num_frames * (shown.figure.nodes.shape[1] * 6 + 12) for shown in characters]
    thin = max(1.0, sum(sizes) / BUDGET)
    return {
        "figures": [_figure(shown, thin) for shown in characters],
        "duration": max(shown.motion.duration for shown in characters),
    }


def _figure(shown: Shown, thin: float) -> dict[str, Any]:
    figure, motion = shown.figure, shown.motion
    step = max(1, int(np.ceil(motion.fps / RATE * (1.0 - 1e-6))), int(np.ceil(thin)))
    kept = np.unique([*range(0, motion.num_frames, step), motion.num_frames - 1])
    nodes, drawn = figure.nodes[kept], figure.drawn
    places = nodes[:, drawn]
    if figure.head is not None:
        places = np.concatenate([places, figure.head[kept][:, None]], axis=1)
    root = motion.root[kept]
    low, scale, packed = pack(places - root[:, None])
    number = {int(node): i for i, node in enumerate(drawn)}
    return {
        "label": shown.label,
        "times": [round(float(t), 5) for t in kept / motion.fps] if not _even(kept) else None,
        "step": step / motion.fps,
        "frames": len(kept),
        "nodes": places.shape[1],
        "low": low.tolist(),
        "scale": scale.tolist(),
        "places": packed,
        "root": base64.b64encode(root.astype("<f4").tobytes()).decode("ascii"),
        "bones": [] if figure.rigid else [[number[int(a)], number[int(b)]] for a, b in figure.bones],
        "sides": [int(side) for side in figure.sides],
        "widths": [round(float(width), 5) for width in figure.widths],
        "head": round(float(figure.head_radius), 5) if figure.head is not None else 0.0,
        "size": float(figure.size),
        "facing": [round(float(v), 4) for v in figure.facing[len(figure.facing) // 2]],
        "colours": [shown.palette.left, shown.palette.middle, shown.palette.right],
        "contacts": _contacts(shown),
    }


def _even(kept: np.ndarray) -> bool:
    return len(kept) < 3 or bool(np.all(np.diff(kept) == kept[1] - kept[0]))


def _contacts(shown: Shown) -> list[list[float]]:
    """Start, end and place of each contact that has a place."""
    return [
        [round(float(value), 4) for value in (contact.start, contact.end, *contact.place)]
        for contact in shown.contacts
        if contact.place is not None
    ]


def pack(places: Array) -> tuple[Array, Array, str]:
    """Places (..., 3) as 16-bit numbers in text: the least (3,), metres for each step (3,), and the text."""
    low = places.reshape(-1, 3).min(axis=0)
    scale = np.maximum(places.reshape(-1, 3).max(axis=0) - low, 1e-9) / STEPS
    numbers = np.rint((places - low) / scale).astype("<u2")
    return low, scale, base64.b64encode(numbers.tobytes()).decode("ascii")


def unpack(low: Array, scale: Array, text: str, shape: tuple[int, ...]) -> Array:
    """Places as they were packed, to half a step."""
    numbers = np.frombuffer(base64.b64decode(text), "<u2").reshape(shape)
    return np.asarray(low) + numbers * np.asarray(scale)
