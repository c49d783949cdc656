"""What one row of a picture shows: who moves, at which times, among what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.contacts import Contact
from understudy.errors import OptionError
from understudy.geometry.quaternion import Array, rotate
from understudy.motion import Motion
from understudy.picture.stick import Stick, stick
from understudy.samples.scene import Prop, Scene

_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])

STRIDE = 1.0
"""Seconds over which a body's facing is averaged: hips and shoulders swing with each step."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Act:
    """One or several characters drawn together, at the times of its poses."""

    title: str
    about: str
    """Frames, rate and length, in words."""
    sticks: tuple[Stick, ...]
    times: Array
    """(N,) seconds of the poses."""
    span: tuple[float, float]
    """Seconds between which paths are drawn."""
    floor: float | None
    """Height of the floor, metres; None where there is none."""
    contacts: tuple[Contact, ...] = ()
    props: tuple[Prop, ...] = ()
    fps: float = 30.0
    """The rate at which moving props are given."""

    @property
    def size(self) -> float:
        return max(figure.size for figure in self.sticks)

    @property
    def facing(self) -> Array:
        """(3,) where the first character looks in the middle of what is drawn, on average over a stride's time."""
        figure, middle = self.sticks[0], 0.5 * (self.span[0] + self.span[1])
        first = frame_at(figure, max(middle - STRIDE / 2, self.span[0]))
        last = frame_at(figure, min(middle + STRIDE / 2, self.span[1]))
        mean = figure.facing[first : last + 1].mean(axis=0)
        # A body that spins faces no way on average; then the middle frame says.
        return mean if np.linalg.norm(mean) > 0.3 else figure.facing[frame_at(figure, middle)]

    def spots(self, between: tuple[float, float] | None = None) -> Array:
        """(S, 3) places where something stays planted at some time within the span, or between given seconds."""
        low, high = between or self.span
        found = [c.place for c in self.contacts if c.place is not None and c.end >= low and c.start <= high]
        return np.array(found, float).reshape(-1, 3)

    def boxes(self, prop: Prop, time: float) -> Array:
        """(B, 8, 3) world corners of a prop's boxes at a time."""
        positions, rotations = prop.positions, prop.rotations
        if positions.ndim == 3:
            positions = positions[int(np.clip(round(time * self.fps), 0, len(positions) - 1))]
        if rotations.ndim == 3:
            rotations = rotations[int(np.clip(round(time * self.fps), 0, len(rotations) - 1))]
        corners = _CORNERS * np.asarray(prop.sizes)[:, None]
        return positions[:, None] + rotate(rotations[:, None], corners)


def frame_at(figure: Stick, time: float) -> int:
    """The frame of a figure nearest to a time."""
    return int(np.clip(np.rint(time * figure.fps), 0, len(figure.nodes) - 1))


def moves(prop: Prop) -> bool:
    """Whether a prop has places of its own for each frame."""
    return prop.positions.ndim == 3 or prop.rotations.ndim == 3


def acts_of(
    things: Sequence[Motion | Scene],
    *,
    labels: Sequence[str] = (),
    frames: slice | None = None,
    count: int = 8,
    together: bool = False,
    contacts: Sequence[Contact] = (),
) -> list[Act]:
    """The rows of a picture: one for each motion or scene, or one for all of them together."""
    if not things:
        raise OptionError("Expected at least one motion to draw; got none")
    if count < 1:
        raise OptionError(f"Expected at least one pose to draw; got {count}")
    if labels and len(labels) != len(things):
        raise OptionError(f"Expected {len(things)} labels, one for each motion; got {len(labels)}")
    scenes = [_scene(thing, labels[i] if labels else "", contacts) for i, thing in enumerate(things)]
    if together:
        scenes = [_merged(scenes)]
    return [_act(scene, frames, count) for scene in scenes]


def _scene(thing: Motion | Scene, label: str, contacts: Sequence[Contact]) -> tuple[Scene, bool]:
    """A motion as a scene of one actor, and whether its floor is known."""
    if isinstance(thing, Scene):
        name = label or thing.name
        kept = Scene(
            name=name, actors=thing.actors, contacts=(*thing.contacts, *contacts), props=thing.props, floor=thing.floor
        )
        return kept, True
    name = label or thing.name or thing.skeleton.name or "motion"
    return Scene(name=name, actors={name: thing}, contacts=tuple(contacts)), False


def _merged(scenes: Sequence[tuple[Scene, bool]]) -> tuple[Scene, bool]:
    """Several scenes in one world; actors of one name are told apart by a number."""
    actors: dict[str, Motion] = {}
    for scene, _ in scenes:
        for name, motion in scene.actors.items():
            number, free = 2, name
            while free in actors:
                free, number = f"{name} {number}", number + 1
            actors[free] = motion
    merged = Scene(
        name=", ".join(dict.fromkeys(scene.name for scene, _ in scenes)),
        actors=actors,
        contacts=tuple(contact for scene, _ in scenes for contact in scene.contacts),
        props=tuple(prop for scene, _ in scenes for prop in scene.props),
        floor=scenes[0][0].floor,
    )
    return merged, any(known for _, known in scenes)


def _act(given: tuple[Scene, bool], frames: slice | None, count: int) -> Act:
    scene, floor_known = given
    sticks = tuple(stick(motion, name) for name, motion in scene.actors.items())
    motion = scene.motion
    chosen = np.arange(motion.num_frames)[frames or slice(None)]
    if len(chosen) == 0:
        raise OptionError(f"No frame of `{scene.name}` is in the range asked for; it has {motion.num_frames}")
    longest = max(len(figure.nodes) / figure.fps for figure in sticks)
    first, last = float(chosen[0] / motion.fps), float(chosen[-1] / motion.fps)
    poses = np.unique(np.rint(np.linspace(chosen[0], chosen[-1], min(count, len(chosen)))).astype(int))
    noun = "frame" if len(chosen) == 1 else "frames"
    return Act(
        title=scene.name,
        about=f"{len(chosen)} {noun} at {motion.fps:.4g} fps, {last - first:.2f} s",
        sticks=sticks,
        times=np.minimum(poses / motion.fps, longest),
        span=(first, last),
        floor=scene.floor if floor_known else _guess_floor(sticks),
        contacts=scene.contacts,
        props=scene.props,
        fps=motion.fps,
    )


def _guess_floor(sticks: Sequence[Stick]) -> float | None:
    """Zero where the lowest point of the motion is near it; without that nothing says where a floor would be."""
    lowest = min(float(figure.nodes[:, figure.drawn, 1].min()) for figure in sticks)
    return 0.0 if abs(lowest) < 0.2 * max(figure.size for figure in sticks) else None
