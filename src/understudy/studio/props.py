"""Props on the page: what they look like, where they are at each frame, and who carries them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zlib import crc32

import numpy as np

from understudy.base.errors import UnderstudyError, UnknownNameError, nearest_names
from understudy.base.fields import FieldError
from understudy.base.quaternion import Array, conjugate, multiply, rotate, slerp, unrotate
from understudy.figure.contacts import Contact
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skin import smooth_normals
from understudy.io.surface import Surface, read_surface
from understudy.recipe.props import load_prop_path
from understudy.retarget.actor import SAMPLE, ActorData, sample_scene
from understudy.retarget.driver import Problem
from understudy.retarget.spec import PropEntry
from understudy.samples import Prop
from understudy.studio.cache import file_stamp
from understudy.studio.skins import Message, xyzw

PROP = "prop:"
"""Prefix of the name of a prop in place of a body, in the address of its mesh."""

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])

DEFAULT_PROP_SIZE_METRES = 0.1
"""Edge length at which a prop without a size is shown."""


def load_props(actors: Sequence[ActorData], entries: Sequence[PropEntry], folder: Path) -> tuple[Prop, ...]:
    """All props at the frames of the first actor's motion; a recipe's prop replaces a sample's of the same name."""
    props: dict[str, Prop] = {}
    for number, entry in enumerate(entries):
        try:
            props[entry.name] = _recipe_prop(entry, folder, actors[0].motion.times)
        except UnderstudyError as error:
            raise FieldError(error.message, ("prop", number), hint=error.hint) from None
        names = (*actors[0].target.names, *(end.name for end in actors[0].target.ends))
        if entry.carried_by and entry.carried_by not in names:
            message = f"the target has no joint `{entry.carried_by}`; {nearest_names(entry.carried_by, names)}"
            raise FieldError(message, ("prop", number, "carried_by"))
    for actor in actors:
        for prop in actor.props:
            if prop.name not in props:
                props[prop.name] = _sample_prop(prop, actor)
    return tuple(props.values())


def _sample_prop(prop: Prop, actor: ActorData) -> Prop:
    """A sample's prop at the frames of the motion, which may be cut and resampled."""
    if prop.positions.ndim == 2 or not actor.spec.source.startswith(SAMPLE):
        return prop
    times = np.arange(len(prop.positions)) / _sample_fps(actor.spec.source)
    positions, rotations = resample_course(times, prop.positions, prop.rotations, actor.start + actor.motion.times)
    return replace(prop, positions=positions, rotations=rotations)


@lru_cache(maxsize=64)
def _sample_fps(source: str) -> float:
    """Frame rate of a sample before resampling."""
    return sample_scene(source)[0].motion.fps


def _recipe_prop(entry: PropEntry, folder: Path, frame_times: Array) -> Prop:
    """A prop of the recipe: all its boxes if it stays, its first box if it moves."""
    sizes = np.atleast_2d(_default_size(entry, folder) if entry.sizes is None else entry.sizes)
    shape = entry.shape if entry.mesh is None else "mesh"
    if entry.path is None:
        positions = np.atleast_2d(entry.positions)  # type: ignore[arg-type]
        rotations = np.broadcast_to(IDENTITY, (len(positions), 4)) if entry.rotations is None else entry.rotations
        # A prop that the result carries stays where it is until then, and beside the source.
        frames = (len(frame_times),) if entry.carried_by else ()
        return Prop(
            name=entry.name,
            shape=shape,
            sizes=np.broadcast_to(sizes, positions.shape) if len(sizes) == 1 else sizes[: len(positions)],
            positions=np.broadcast_to(positions, (*frames, *positions.shape)),
            rotations=np.broadcast_to(np.atleast_2d(rotations), (*frames, len(positions), 4)),
        )
    course = load_prop_path(entry, folder)
    times = np.zeros(1) if course.times is None else course.times
    rotations = np.broadcast_to(IDENTITY, (len(times), 4)) if course.rotations is None else course.rotations
    positions, resampled = resample_course(times, course.positions[:, None], rotations[:, None], frame_times)
    return Prop(name=entry.name, shape=shape, sizes=sizes[:1], positions=positions, rotations=resampled)


def _default_size(entry: PropEntry, folder: Path) -> Array:
    """(3,) metres: the size of a prop whose entry gives none."""
    if entry.mesh is None:
        return np.full(3, DEFAULT_PROP_SIZE_METRES)
    low, high = _surface(entry.mesh, folder).bounds
    return np.asarray(high - low)


def _surface(name: str, folder: Path) -> Surface:
    return _read_surface(folder / name, file_stamp(name, folder))


@lru_cache(maxsize=8)
def _read_surface(path: Path, stamp: object) -> Surface:
    """The surface of a file that was last changed as its stamp says."""
    return read_surface(path)


def prop_message(which: str, entries: Sequence[PropEntry], folder: Path) -> Message:
    """The mesh of a prop, scaled into a box of edge length 1 around the origin."""
    meshes = {entry.name: entry.mesh for entry in entries if entry.mesh is not None}
    name = which.removeprefix(PROP)
    if name not in meshes:
        raise UnknownNameError(f"No prop with a mesh is called `{name}`; {nearest_names(name, meshes)}")
    surface = _surface(meshes[name], folder)
    low, high = surface.bounds
    vertices = (surface.vertices - 0.5 * (low + high)) / np.maximum(high - low, 1e-9)
    arrays = {
        "positions": vertices.astype(np.float32),
        "normals": smooth_normals(vertices, surface.triangles).astype(np.float32),
        "faces": surface.triangles.astype(np.uint32),
    }
    return {"on": "mesh", "which": which, "surfaces": []}, arrays


def is_moving(prop: Prop) -> bool:
    """Whether a prop moves over time."""
    return prop.positions.ndim == 3


def prop_tables(props: Sequence[Prop], entries: Sequence[PropEntry], folder: Path) -> list[dict[str, Any]]:
    """Props as the page receives them, at the first frame; `entries` and `folder` tell the files of their meshes."""
    meshes = {entry.name: entry.mesh for entry in entries if entry.mesh is not None}
    tables = []
    for prop in props:
        positions, rotations = prop.positions, xyzw(prop.rotations)
        if is_moving(prop):
            positions, rotations = positions[0], rotations[0]
        boxes = [
            {"size": size.tolist(), "position": position.tolist(), "rotation": rotation.tolist()}
            for size, position, rotation in zip(prop.sizes, positions, rotations, strict=True)
        ]
        table = {"name": prop.name, "boxes": boxes, "moves": is_moving(prop), "shape": prop.shape, "mesh": None}
        if prop.shape == "mesh":
            # The address changes with the file, so that browsers do not show a cached mesh.
            version = crc32(repr((meshes[prop.name], file_stamp(meshes[prop.name], folder))).encode())
            table["mesh"] = f"mesh/{quote(PROP + prop.name, safe='')}?v={version:08x}"
        tables.append(table)
    return tables


def prop_courses(props: Sequence[Prop], frames: np.ndarray) -> dict[str, np.ndarray]:
    """Positions and rotations (N, B, 7) of all boxes of moving props, at some frames."""
    moving = [prop for prop in props if is_moving(prop)]
    if not moving:
        return {}
    courses = []
    for prop in moving:
        prop_frames = np.minimum(frames, len(prop.positions) - 1)
        courses.append(np.concatenate([prop.positions[prop_frames], xyzw(prop.rotations[prop_frames])], axis=-1))
    return {"props": np.concatenate(courses, axis=1).astype(np.float32)}


def carry_props(
    props: Sequence[Prop],
    entries: Sequence[PropEntry],
    contacts: Sequence[Contact],
    problem: Problem,
    source: Motion,
    result: Motion,
) -> tuple[Prop, ...]:
    """Moving props of the result: carried with its hands, and left where they were last held.

    Args:
        props: Props at the source's frames; the source may keep only every n-th of these frames.
        entries: Those with a carrier go with a point of the result.
        contacts: Those without a place, on a prop, carry that prop.
        problem: The solved problem; its constraints name the points of the target.
        source: Motion of the source.
        result: Motion of the target at the same frames.
    """
    carriers = {entry.name: entry for entry in entries if entry.carried_by}
    carried = []
    for prop in props:
        if not is_moving(prop):
            continue
        if prop.name in carriers:
            carried.append(_carried(prop, carriers[prop.name], result))
            continue
        step = max(round((len(prop.positions) - 1) / max(source.num_frames - 1, 1)), 1)
        positions, rotations = prop.positions[::step][: source.num_frames], prop.rotations[::step][: source.num_frames]
        carrying = [c for c in contacts if c.on == prop.name and c.place is None and c.other is None]
        offset = _carry_offset(carrying, problem, source, result)[: len(positions)]
        carried.append(replace(prop, positions=positions + offset[:, None], rotations=rotations))
    return tuple(carried)


def _carried(prop: Prop, entry: PropEntry, result: Motion) -> Prop:
    """A prop that goes along with a point of the result while it is carried, and stays where it is left."""
    positions = np.repeat(prop.positions[:1], result.num_frames, axis=0)
    rotations = np.repeat(prop.rotations[:1], result.num_frames, axis=0)
    start, end = entry.carried or (0.0, np.inf)
    held = np.flatnonzero((result.times >= start - 1e-6) & (result.times <= end + 1e-6))
    if len(held):
        first, last = int(held[0]), int(held[-1])
        pose = fk(result[first : last + 1])
        skeleton = result.skeleton
        joint = next((end.joint for end in skeleton.ends if end.name == entry.carried_by), entry.carried_by)
        point, turns = pose.points([entry.carried_by]), pose.rotations[:, [skeleton.joint(joint)]]
        grip = unrotate(turns[:1], positions[first] - point[0])
        positions[first : last + 1] = point + rotate(turns, grip)
        rotations[first : last + 1] = multiply(turns, multiply(conjugate(turns[:1]), rotations[first]))
        positions[last:], rotations[last:] = positions[last], rotations[last]
    return replace(prop, positions=positions, rotations=rotations)


def _carry_offset(carrying: Sequence[Contact], problem: Problem, source: Motion, result: Motion) -> Array:
    """(F, 3) metres from the prop's place with the source to that with the result: mean over the hands on it."""
    total, count = np.zeros((source.num_frames, 3)), np.zeros(source.num_frames)
    poses = fk(source), fk(result)
    for contact in carrying:
        name = f"{contact.point.name} picks up {contact.on} at {contact.start:.2f} s"
        grasp = next((c for c in problem.constraints if c.name == name), None)
        frames = contact.frames(source.fps, source.num_frames)
        if grasp is None or len(frames) == 0:
            continue
        _, point = problem.resolve(grasp, grasp.point_refs()[0])
        displacement = poses[1].points([point])[frames, 0] - poses[0].points([contact.point])[frames, 0]
        total[frames] += displacement
        count[frames] += 1
    carried_frames = np.flatnonzero(count)
    if len(carried_frames) == 0:
        return total
    offset = total[carried_frames] / count[carried_frames, None]
    # A prop does not move before it is first held; once put down, it stays there.
    last_carried = np.searchsorted(carried_frames, np.arange(source.num_frames), side="right") - 1
    return np.where(last_carried[:, None] >= 0, offset[np.maximum(last_carried, 0)], 0.0)


def resample_course(times: Array, positions: Array, rotations: Array, frame_times: Array) -> tuple[Array, Array]:
    """Interpolate positions (T, B, 3) and rotations (T, B, 4) at frame times (F,); constant outside `times`."""
    after = np.clip(np.searchsorted(times, frame_times, side="right"), 1, max(len(times) - 1, 1))
    before, after = np.minimum(after - 1, len(times) - 1), np.minimum(after, len(times) - 1)
    gap = np.maximum(times[after] - times[before], 1e-9)
    fraction = np.clip((frame_times - times[before]) / gap, 0.0, 1.0)[:, None]
    interpolated = positions[before] + fraction[..., None] * (positions[after] - positions[before])
    return interpolated, slerp(rotations[before], rotations[after], fraction)
