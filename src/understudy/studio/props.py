"""Things on the stage: those that samples bring and those of the recipe, on the clock of the motion shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from understudy.contacts import Contact
from understudy.geometry.quaternion import Array, slerp
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.problem import Problem
from understudy.recipe.loading import SAMPLE, Loaded, sample_scene
from understudy.recipe.model import PropEntry
from understudy.recipe.props import load_course
from understudy.samples import Prop

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
SIZE = 0.1
"""Metres: how large a thing is shown that has no size."""


def stage_props(cast: Sequence[Loaded], entries: Sequence[PropEntry], folder: Path) -> tuple[Prop, ...]:
    """Everything that stands or moves around, by the frames of the first actor's motion; each name once."""
    found: dict[str, Prop] = {}
    for entry in entries:
        found[entry.name] = _of_recipe(entry, folder, cast[0].motion.times)
    for loaded in cast:
        for prop in loaded.props:
            if prop.name not in found:
                found[prop.name] = _of_sample(prop, loaded)
    return tuple(found.values())


def _of_sample(prop: Prop, loaded: Loaded) -> Prop:
    """A sample's thing, on the clock of the motion as it was cut and resampled."""
    if prop.positions.ndim == 2 or not loaded.cast.source.startswith(SAMPLE):
        return prop
    times = np.arange(len(prop.positions)) / _fps(loaded.cast.source)
    places, turns = at_times(times, prop.positions, prop.rotations, loaded.start + loaded.motion.times)
    return Prop(name=prop.name, sizes=prop.sizes, positions=places, rotations=turns)


@lru_cache(maxsize=64)
def _fps(source: str) -> float:
    """Frames a second of a sample as it is made, before anybody resamples it."""
    return sample_scene(source)[0].motion.fps


def _of_recipe(entry: PropEntry, folder: Path, clock: Array) -> Prop:
    """A thing of the recipe: its boxes where they stay, or its first box on its way."""
    sizes = np.atleast_2d(np.full(3, SIZE) if entry.sizes is None else entry.sizes)
    if entry.path is None:
        places = np.atleast_2d(entry.positions)  # type: ignore[arg-type]
        turns = np.broadcast_to(IDENTITY, (len(places), 4)) if entry.rotations is None else entry.rotations
        return Prop(
            name=entry.name,
            sizes=np.broadcast_to(sizes, places.shape) if len(sizes) == 1 else sizes[: len(places)],
            positions=places,
            rotations=np.broadcast_to(np.atleast_2d(turns), (len(places), 4)),
        )
    course = load_course(entry, folder)
    times = np.zeros(1) if course.times is None else course.times
    turns = np.broadcast_to(IDENTITY, (len(times), 4)) if course.rotations is None else course.rotations
    places, turned = at_times(times, course.positions[:, None], turns[:, None], clock)
    return Prop(name=entry.name, sizes=sizes[:1], positions=places, rotations=turned)


def carried(
    props: Sequence[Prop], contacts: Sequence[Contact], problem: Problem, source: Motion, result: Motion
) -> tuple[Prop, ...]:
    """Things that move, as the result carries them: with its hands while it does, and where it left them after that.

    Args:
        props: Things on the clock of the source, or of one of which every so many frames are left.
        contacts: What carries them: contacts without a place of their own.
        problem: What was solved, whose constraints name the result's points.
        source: What the source does.
        result: What the target does, at the same frames.
    """
    found = []
    for prop in props:
        if prop.positions.ndim == 2:
            continue
        step = max(round((len(prop.positions) - 1) / max(source.num_frames - 1, 1)), 1)
        places, turns = prop.positions[::step][: source.num_frames], prop.rotations[::step][: source.num_frames]
        holding = [c for c in contacts if c.on == prop.name and c.place is None and c.other is None]
        shift = _shift(holding, problem, source, result)[: len(places)]
        found.append(Prop(name=prop.name, sizes=prop.sizes, positions=places + shift[:, None], rotations=turns))
    return tuple(found)


def _shift(holding: Sequence[Contact], problem: Problem, source: Motion, result: Motion) -> Array:
    """(F, 3) metres by which a thing is elsewhere than with the source: as the hands on it are, on average."""
    total, count = np.zeros((source.num_frames, 3)), np.zeros(source.num_frames)
    poses = fk(source), fk(result)
    for contact in holding:
        name = f"{contact.point.name} picks up {contact.on} at {contact.start:.2f} s"
        grasp = next((c for c in problem.constraints if c.name == name), None)
        frames = contact.frames(source.fps, source.num_frames)
        if grasp is None or len(frames) == 0:
            continue
        _, point = problem.resolve(grasp, grasp.spots()[0])
        away = poses[1].points([point])[frames, 0] - poses[0].points([contact.point])[frames, 0]
        total[frames] += away
        count[frames] += 1
    held = np.flatnonzero(count)
    if len(held) == 0:
        return total
    shift = total[held] / count[held, None]
    # Before anybody takes it a thing stands where it stood; put down, it stays where it was left.
    last = np.searchsorted(held, np.arange(source.num_frames), side="right") - 1
    return np.where(last[:, None] >= 0, shift[np.maximum(last, 0)], 0.0)


def at_times(times: Array, places: Array, turns: Array, clock: Array) -> tuple[Array, Array]:
    """Places (T, B, 3) and rotations (T, B, 4) read at other times (F,), held outside their own."""
    after = np.clip(np.searchsorted(times, clock, side="right"), 1, max(len(times) - 1, 1))
    before, after = np.minimum(after - 1, len(times) - 1), np.minimum(after, len(times) - 1)
    gap = np.maximum(times[after] - times[before], 1e-9)
    share = np.clip((clock - times[before]) / gap, 0.0, 1.0)[:, None]
    mixed = places[before] + share[..., None] * (places[after] - places[before])
    return mixed, slerp(turns[before], turns[after], share)
