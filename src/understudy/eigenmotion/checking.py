"""What an analogy is given, checked before anything is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.eigenmotion.attempt import AnalogyError
from understudy.eigenmotion.marker import spread_markers
from understudy.eigenmotion.pairs import MarkerPair, with_named
from understudy.eigenmotion.settings import Settings
from understudy.eigenmotion.study import parts
from understudy.errors import OptionError, UnknownNameError, nearest_names
from understudy.geometry.quaternion import angle_between
from understudy.motion import Motion
from understudy.skeleton import Point, Skeleton

JUMP = 100.0
"""Degrees that no joint turns within a thirtieth of a second."""
SAME_LENGTH = 0.1
"""Share by which the lengths of two examples may differ."""


def checked_body(
    a_example: Motion | None,
    b_example: Motion | None,
    a_new: Motion,
    target: Skeleton | None,
    pairs: Sequence[MarkerPair],
    settings: Settings,
) -> Skeleton:
    """B's skeleton, if what is given makes sense."""
    if b_example is None and target is None:
        raise OptionError("Expected an example motion of B, or B as a target with marker pairs; got neither")
    if b_example is None and not pairs:
        raise OptionError(
            "B has no example motion, so nothing tells what of it moves with what of A",
            hint="give an example, or pair markers by hand: MarkerPair(b=..., a=..., scale=...), --markers FILE",
        )
    if a_example is None and not pairs:
        raise OptionError("A has no example motion to compare B's with", hint="give one, or pair markers by hand")
    if a_example is not None and a_example.skeleton.names != a_new.skeleton.names:
        only = sorted(set(a_example.skeleton.names) ^ set(a_new.skeleton.names))[:3]
        raise OptionError(
            f"A's example and new motion must be by one body; their joints differ in {only or 'their order'}",
            hint="retarget one of them to the other's body first",
        )
    known = {*a_new.skeleton.names, *(target.names if b_example is None and target else ())}
    known |= set(b_example.skeleton.names) if b_example is not None else set()
    for name in settings.without:
        if name not in known:
            raise UnknownNameError(f"Joint `{name}` is on neither body; {nearest_names(name, sorted(known))}")
    if a_example is not None and b_example is not None and not pairs and not settings.any_length:
        lengths = a_example.duration, b_example.duration
        if abs(lengths[0] - lengths[1]) > SAME_LENGTH * max(lengths):
            raise AnalogyError(
                f"The examples are of different length: A's lasts {lengths[0]:.2f} s ({a_example.num_frames} frames), "
                f"B's {lengths[1]:.2f} s ({b_example.num_frames} frames)",
                hint="cut both to about the same steps, or accept it (any_length=True, --any-length): "
                "matching does not need one timing, only whole strides of one behaviour",
            )
    if b_example is not None:
        return b_example.skeleton
    assert target is not None
    return target


def jumping(motion: Motion) -> list[str]:
    """The joints that flip from frame to frame, as captures have them where markers were taken for each other."""
    if motion.num_frames < 2:
        return []
    steps = np.degrees(angle_between(motion.rotations[:-1], motion.rotations[1:])).max(axis=0)
    limit = JUMP * min(30.0 / motion.fps, 1.0)
    return [name for name, step in zip(motion.skeleton.names, steps, strict=True) if step > limit]


def chosen_markers(
    source: Skeleton,
    body: Skeleton,
    pairs: Sequence[MarkerPair],
    given: tuple[Sequence[Point], Sequence[Point]],
    settings: Settings,
) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """Markers of A and of B: those given, or spread; and what pairs name."""
    spread: dict[str, Any] = {"count": settings.count, "density": settings.density}
    found = [
        tuple(mine) or _without(skeleton, spread_markers(skeleton, **spread), settings)
        for skeleton, mine in zip((source, body), given, strict=True)
    ]
    a = with_named(found[0], source, [name for pair in pairs for name in pair.a])
    return a, with_named(found[1], body, [pair.b for pair in pairs])


def _without(skeleton: Skeleton, markers: Sequence[Point], settings: Settings) -> tuple[Point, ...]:
    """Markers without those on parts that are left out."""
    out = parts(skeleton, settings.without)
    kept = tuple(marker for marker in markers if not out[skeleton.index[marker.joint]])
    if not kept:
        raise OptionError(f"No marker is left on `{skeleton.name}` without {', '.join(settings.without)}")
    return kept
