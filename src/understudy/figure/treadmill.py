"""Motion in place: a body that walks without moving on stands on a floor that moves under it, as on a treadmill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.contacts import Contact, Detection, detect_contacts
from understudy.figure.kinematics import pose_of
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point

MAX_TRAVEL_LEGS = 0.5
"""Leg lengths between the first and the last place of the root within which a motion is in place."""

MAX_HELD_SHARE = 0.1
"""Share of the time with a contact on a floor at rest above which the floor does not move."""

MAX_LOW_LEGS = 0.04
"""Leg lengths above its lowest place within which a point of a foot is on the floor."""

MIN_SPEED_LEGS_PER_S = 0.3
"""Least speed of a moving floor."""

STEADY_SHARE, MIN_STEADY = 0.25, 0.5
"""Share of the floor's speed by which a low foot may be faster or slower and still be steady, and the least share of
the low frames in which it must be."""

LOOSE_RADIUS_FACTOR = 3.0
"""Factor on how far a point may stray from its place on the floor: game loops are keyed by hand, and their feet are
not as steady as captured ones."""


def floor_velocity(motion: Motion, points: Sequence[Point]) -> Array | None:
    """(3,) metres a second, world, horizontal: how the floor moves under a motion in place; None if it does not.

    Args:
        motion: The motion.
        points: The points of the feet.
    """
    if motion.num_frames < 4 or not points:
        return None
    leg = leg_length(motion.skeleton)
    if np.linalg.norm((motion.root[-1] - motion.root[0])[[0, 2]]) > MAX_TRAVEL_LEGS * leg:
        return None
    paths = pose_of(motion, [motion.skeleton.joint(point.joint) for point in points]).points(points)
    lowest = paths[..., 1].min(axis=0)
    standing = lowest < lowest.min() + 2.0 * MAX_LOW_LEGS * leg
    low = (paths[..., 1] < lowest + MAX_LOW_LEGS * leg) & standing
    velocities = (np.gradient(paths, axis=0) * motion.fps)[low] * [1.0, 0.0, 1.0]
    usual: Array = np.median(velocities, axis=0)
    speed = float(np.linalg.norm(usual))
    steady = np.linalg.norm(velocities - usual, axis=-1) < STEADY_SHARE * speed
    if speed < MIN_SPEED_LEGS_PER_S * leg or np.mean(steady) < MIN_STEADY:
        return None
    return np.median(velocities[steady], axis=0)


def detect_on_treadmill(
    motion: Motion, contacts: Sequence[Contact], points: Sequence[Point], how: Detection | None = None
) -> tuple[Contact, ...]:
    """The contacts of a motion with a floor that moves, if it is in place and the floor at rest is hardly touched.

    Args:
        motion: The motion.
        contacts: The contacts with a floor at rest.
        points: The points of the feet.
        how: The thresholds.

    Returns:
        The contacts with the moving floor, or the given ones.
    """
    held = np.zeros(motion.num_frames, bool)
    for contact in contacts:
        held[contact.frames(motion.fps, motion.num_frames)] = True
    velocity = floor_velocity(motion, points) if np.mean(held) < MAX_HELD_SHARE else None
    if velocity is None:
        return tuple(contacts)
    how = how or Detection()
    travelling = replace(motion, root=motion.root - motion.times[:, None] * velocity)
    for radius in (how.radius, LOOSE_RADIUS_FACTOR * how.radius):
        speed = max(how.speed, STEADY_SHARE * float(np.linalg.norm(velocity)) / leg_length(motion.skeleton))
        found = detect_contacts(travelling, points, replace(how, radius=radius, speed=speed))
        on_floor = _on_floor(found, leg_length(motion.skeleton))
        if on_floor:
            return tuple(_moving(contact, velocity) for contact in on_floor)
    return tuple(contacts)


def _on_floor(contacts: Sequence[Contact], leg: float) -> list[Contact]:
    """The contacts near the lowest one: a foot that swings may also move back steadily for a moment."""
    heights = [float(c.place[1]) for c in contacts if c.place is not None]
    highest = min(heights, default=0.0) + 2.0 * MAX_LOW_LEGS * leg
    return [c for c in contacts if c.place is not None and c.place[1] < highest]


def _moving(contact: Contact, velocity: Array) -> Contact:
    """A contact found while travelling, as seen in place."""
    assert contact.place is not None
    return replace(contact, place=contact.place + contact.start * velocity, velocity=velocity)
