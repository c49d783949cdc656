"""The characters of a page: a motion with its name, its stick figure and its contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.contacts import Contact, contact_points, detect_contacts
from understudy.geometry.quaternion import Array
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.picture.pen import PALETTES, Palette
from understudy.picture.stick import Stick, joint_sides, stick
from understudy.roles import roles
from understudy.skeleton import Point, Skeleton

MOST_FEET = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class Shown:
    """A character that a page shows."""

    label: str
    motion: Motion
    figure: Stick
    contacts: tuple[Contact, ...]
    palette: Palette


@dataclass(frozen=True, eq=False, kw_only=True)
class Foot:
    """How a foot goes over the floor, by the lowest of its contact points at each frame."""

    name: str
    side: int
    """LEFT, MIDDLE or RIGHT."""
    height: Array
    """(F,) metres."""
    speed: Array
    """(F,) metres a second, along the floor."""
    path: Array
    """(F, 3) metres, world: the middle of its points."""
    contacts: tuple[Contact, ...]


def show(motion: Motion, label: str, number: int, contacts: Sequence[Contact] | None = None) -> Shown:
    """A motion made ready for a page; its contacts are found where they are not given."""
    found = detect_contacts(motion) if contacts is None else tuple(contacts)
    # File names may hold line breaks and bytes that are no letters.
    label = " ".join(label.encode("utf-8", "replace").decode("utf-8").split())
    return Shown(
        label=label,
        motion=motion,
        figure=stick(motion, label),
        contacts=found,
        palette=PALETTES[number % len(PALETTES)],
    )


def feet_of(shown: Shown) -> tuple[Foot, ...]:
    """The feet of a character, in the order of its skeleton."""
    motion, skeleton = shown.motion, shown.motion.skeleton
    # Known contacts may be on other points than those watched by default; both tell where a foot is.
    points = {point.name: point for point in contact_points(motion)}
    standing = {c.point.name: c.point for c in shown.contacts if c.on == "floor" and c.point.joint in skeleton.index}
    groups = limbs_of(skeleton, list((standing or points).values()))[:MOST_FEET]
    pose, found = fk(motion), []
    sides = joint_sides(skeleton, roles(skeleton))
    for name, group in groups:
        places = pose.points(group)
        lowest = np.argmin(places[..., 1], axis=1)
        names = {point.name for point in group}
        found.append(
            Foot(
                name=name,
                side=int(sides[skeleton.index[group[0].joint]]),
                height=places[..., 1].min(axis=1),
                speed=np.take_along_axis(_speeds(places, motion.fps), lowest[:, None], axis=1)[:, 0],
                path=places.mean(axis=1),
                contacts=tuple(c for c in shown.contacts if c.point.name in names),
            )
        )
    return tuple(found)


def limbs_of(skeleton: Skeleton, points: Sequence[Point]) -> list[tuple[str, list[Point]]]:
    """Points put together by limb, each limb under the name of its highest joint: those on or below one another."""
    tops: list[int] = []
    for joint in sorted({skeleton.index[point.joint] for point in points}):
        # Points on the joint that carries whole limbs are limbs of their own.
        if not any(top in skeleton.chain(joint) for top in tops if top > 0):
            tops.append(joint)
    found: list[tuple[str, list[Point]]] = []
    for top in tops:
        below = skeleton.below(top)
        mine = [p for p in points if (skeleton.index[p.joint] == top if top == 0 else below[skeleton.index[p.joint]])]
        if top == 0:
            found += [(point.name, [point]) for point in mine]
        else:
            found.append((skeleton.names[top], mine))
    return found


def _speeds(places: Array, fps: float) -> Array:
    """(F, P) horizontal speeds of places (F, P, 3), from one frame before to one after."""
    if len(places) < 2:
        return np.zeros(places.shape[:2])
    steps = np.gradient(places[..., [0, 2]], 1.0 / fps, axis=0)
    return np.linalg.norm(steps, axis=-1)
