"""What comes of a solve, whatever the mode: motions to show, figures to tell, clips to write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from zlib import crc32

import numpy as np

from understudy.base.errors import OptionError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array
from understudy.figure.contacts import Contact
from understudy.figure.kinematics import Pose, fk
from understudy.figure.mass import centre_of_mass
from understudy.figure.measures import height
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import Mesh
from understudy.io import Clip
from understudy.samples import Prop
from understudy.solve.solvers.base import Watch

SHOWN = 60.0
"""Frames a second at most that are sent to be shown."""

CARRIERS = 4
"""Joints that a vertex of a skin is sent with; the rest of its weights are given to these."""

Message = tuple[dict[str, Any], dict[str, np.ndarray]]
"""A header and the arrays that go with it."""

Standing = Sequence[tuple[Point, np.ndarray]]
"""Points of a body that stand, and the frames (n,) in which they do."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Performer:
    """A character on the stage and what it does there."""

    which: str
    """What motions, meshes and overlays of it go by."""
    label: str
    motion: Motion
    meshes: tuple[Mesh, ...] = ()
    skeleton: Skeleton | None = None
    """The one that the meshes were bound to, where the motion's own is of other lengths."""
    standing: Standing = ()
    props: tuple[Prop, ...] = ()
    """Things that move along with this motion."""

    @property
    def bound(self) -> Skeleton:
        """The skeleton that the meshes were bound to."""
        return self.motion.skeleton if self.skeleton is None else self.skeleton

    def body(self) -> dict[str, Any]:
        """The character as the page is told of it."""
        return body_table(self.which, self.label, self.motion.skeleton, self.meshes)

    def message(self, *, part: tuple[int, int] | None = None) -> Message:
        """Its motion, thinned, with overlays; or the frames, counted among all there are, that lie in a part."""
        frames = shown_frames(self.motion)
        span = None
        if part is not None:
            first, last = np.searchsorted(frames, part)
            span, frames = [int(first), int(last)], frames[first:last]
        pose = fk(self.motion[frames]) if len(frames) else fk(self.motion[:1])
        arrays: dict[str, np.ndarray] = {
            "times": (frames / self.motion.fps).astype(np.float32),
            "positions": np.concatenate([pose.positions, pose.ends()], axis=1)[: len(frames)].astype(np.float32),
            "rotations": turned(pose.rotations)[: len(frames)].astype(np.float32),
            "mass": centre_of_mass(pose)[: len(frames)].astype(np.float32),
        }
        if self.standing and part is None:
            # Outlines have as many corners as they happen to have: a part of them could not be put in place.
            arrays |= supports(pose, frames, self.standing)
        arrays |= courses(self.props, frames)
        return {"on": "motion", "which": self.which, "part": span}, arrays


def body_table(which: str, label: str, skeleton: Skeleton, meshes: Sequence[Mesh] = ()) -> dict[str, Any]:
    """A character as the page is told of it."""
    parts = {joint: role for role, joint in roles(skeleton).items()}
    skin = None
    if skinned(meshes, skeleton):
        # A body of other proportions has a skin of its own, which must not be taken for the old one.
        made = crc32(skeleton.lengths.tobytes(), sum(mesh.num_vertices for mesh in meshes))
        skin = f"mesh/{quote(which, safe='')}?v={made:08x}"
    return {
        "which": which,
        "label": label,
        "joints": [
            {"name": name, "parent": int(parent), "role": parts.get(number)}
            for number, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents, strict=True))
        ],
        "ends": [{"name": end.name, "joint": skeleton.index[end.joint]} for end in skeleton.ends],
        "mesh": skin,
        "height": float(height(skeleton)),
    }


def shown_frames(motion: Motion) -> np.ndarray:
    """(N,) the frames of a motion that are shown: every so many, the last always."""
    step = max(int(np.ceil(motion.fps / SHOWN - 1e-3)), 1)
    frames = np.arange(0, motion.num_frames, step)
    return frames if frames[-1] == motion.num_frames - 1 else np.append(frames, motion.num_frames - 1)


def turned(rotations: Array) -> Array:
    """(..., 4) quaternions with their real part last, as the page has them."""
    return np.roll(rotations, -1, axis=-1)


def standing_of(contacts: Sequence[Contact], motion: Motion) -> list[tuple[Point, np.ndarray]]:
    """The points that stand on the floor and when, from contacts."""
    found = []
    for contact in contacts:
        frames = contact.frames(motion.fps, motion.num_frames)
        if contact.on == "floor" and contact.place is not None and len(frames):
            found.append((contact.point, frames))
    return found


def supports(pose: Pose, frames: np.ndarray, standing: Standing) -> dict[str, np.ndarray]:
    """The outline of what a body stands on at each of some frames (N,), of which the pose is."""
    points = list({point.name: point for point, _ in standing}.values())
    column = {point.name: number for number, point in enumerate(points)}
    held = np.zeros((len(frames), len(points)), bool)
    for point, when in standing:
        held[np.isin(frames, when), column[point.name]] = True
    places = pose.points(points)
    corners = [outline(places[number][row]) for number, row in enumerate(held)]
    return {
        "support": np.concatenate([*corners, np.zeros((0, 3))]).astype(np.float32),
        "support_from": np.cumsum([0, *(len(each) for each in corners)]).astype(np.uint32),
    }


def outline(places: Array) -> Array:
    """(K, 3) the corners, in order, of the space between places (N, 3) seen from above; all of one or two places."""
    if len(places) < 3:
        return places
    order = np.lexsort((places[:, 2], places[:, 0]))
    chains = []
    for row in (order, order[::-1]):
        chain: list[int] = []
        for number in row:
            while len(chain) > 1 and _left(places[chain[-2]], places[chain[-1]], places[number]) <= 1e-12:
                chain.pop()
            chain.append(int(number))
        chains += chain[:-1]
    return places[chains] if chains else places[:1]


def _left(a: Array, b: Array, c: Array) -> float:
    """How far to the left of the way from a to b a third place lies, seen from below."""
    return float((b[0] - a[0]) * (c[2] - a[2]) - (b[2] - a[2]) * (c[0] - a[0]))


def moves(prop: Prop) -> bool:
    """Whether a thing is elsewhere at other times."""
    return prop.positions.ndim == 3


def prop_tables(props: Sequence[Prop]) -> list[dict[str, Any]]:
    """Things as the page is told of them, where they are at first."""
    found = []
    for prop in props:
        places, turns = prop.positions, turned(prop.rotations)
        if moves(prop):
            places, turns = places[0], turns[0]
        boxes = [
            {"size": size.tolist(), "position": place.tolist(), "rotation": turn.tolist()}
            for size, place, turn in zip(prop.sizes, places, turns, strict=True)
        ]
        found.append({"name": prop.name, "boxes": boxes, "moves": moves(prop)})
    return found


def courses(props: Sequence[Prop], frames: np.ndarray) -> dict[str, np.ndarray]:
    """The places and rotations (N, B, 7) of all boxes of things that move, at some frames."""
    going = [prop for prop in props if moves(prop)]
    if not going:
        return {}
    parts = []
    for prop in going:
        at = np.minimum(frames, len(prop.positions) - 1)
        parts.append(np.concatenate([prop.positions[at], turned(prop.rotations[at])], axis=-1))
    return {"props": np.concatenate(parts, axis=1).astype(np.float32)}


def skinned(meshes: Sequence[Mesh], skeleton: Skeleton) -> bool:
    """Whether any of the surfaces is one of this skeleton's and has something to show."""
    return any(mesh.num_joints == skeleton.num_joints and len(mesh.triangles) for mesh in meshes)


def skin_message(which: str, meshes: Sequence[Mesh], skeleton: Skeleton, bound: Skeleton) -> Message | None:
    """The skins of a character as one, on a skeleton that may be of other lengths than the one it was bound to."""
    mine = [mesh for mesh in meshes if mesh.num_joints == skeleton.num_joints and len(mesh.triangles)]
    if not mine:
        return None
    counts = np.cumsum([0, *(mesh.num_vertices for mesh in mine)])
    joints, weights = zip(*(_carriers(mesh) for mesh in mine), strict=True)
    vertices = np.concatenate([mesh.vertices for mesh in mine])
    faces = np.concatenate([mesh.triangles + start for mesh, start in zip(mine, counts[:-1], strict=True)])
    # The page has one set of bind matrices: skins bound otherwise are first taken to where the first would have them.
    for mesh, first, last in zip(mine[1:], counts[1:-1], counts[2:], strict=True):
        vertices[first:last] = _rebound(mesh, mine[0])
    arrays: dict[str, np.ndarray] = {
        "positions": vertices.astype(np.float32),
        "normals": normals(vertices, faces).astype(np.float32),
        "faces": faces.astype(np.uint32),
        "joints": np.concatenate(joints).astype(np.uint16),
        "weights": np.concatenate(weights).astype(np.float32),
        "bind": stretched(mine[0].joint_from_mesh, skeleton, bound).transpose(0, 2, 1).astype(np.float32),
    }
    return {"on": "mesh", "which": which}, arrays


def stretched(binds: Array, skeleton: Skeleton, bound: Skeleton) -> Array:
    """(J, 4, 4) bind matrices that let a skin grow with bones longer or shorter than those it was bound to."""
    ratios = np.ones(skeleton.num_joints)
    for joint, children in enumerate(skeleton.children):
        bones = list(children) or [joint]
        length = float(bound.lengths[bones].sum())
        if length > 1e-9:
            ratios[joint] = float(skeleton.lengths[bones].sum()) / length
    grown = binds.copy()
    grown[:, :3] *= ratios[:, None, None]
    return grown


def normals(vertices: Array, faces: np.ndarray) -> Array:
    """(V, 3) unit vectors away from a surface, by the areas of the faces around each vertex."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    out = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(out, faces[:, k], across)
    size = np.linalg.norm(out, axis=-1, keepdims=True)
    return np.where(size > 1e-12, out / np.maximum(size, 1e-12), np.array([0.0, 1.0, 0.0]))


def _carriers(mesh: Mesh) -> tuple[np.ndarray, Array]:
    """(V, 4) the joints that carry each vertex most, and their weights, which sum to one."""
    order = np.argsort(-mesh.weights, axis=1)[:, :CARRIERS]
    joints, weights = np.take_along_axis(mesh.joints, order, 1), np.take_along_axis(mesh.weights, order, 1)
    short = CARRIERS - joints.shape[1]
    if short > 0:
        joints, weights = np.pad(joints, ((0, 0), (0, short))), np.pad(weights, ((0, 0), (0, short)))
    return joints, weights / weights.sum(axis=1, keepdims=True)


def _rebound(mesh: Mesh, like: Mesh) -> Array:
    """(V, 3) a skin's vertices as they would be had it been bound with another's matrices."""
    change = np.linalg.inv(like.joint_from_mesh) @ mesh.joint_from_mesh
    points = np.concatenate([mesh.vertices, np.ones((mesh.num_vertices, 1))], axis=1)
    moved = np.einsum("vkab,vb->vka", change[mesh.joints], points)
    return np.einsum("vk,vka->va", mesh.weights, moved)[:, :3]


Table = dict[str, Any]

EMPTY: Table = {
    "fps": 30.0, "duration": 0.0, "bodies": [], "props": [], "floor": 0.0, "correspondence": None, "notes": [],
}  # fmt: skip
"""What the page is told of where nothing is chosen."""


class Work(ABC):
    """A finished solve of a document."""

    @property
    @abstractmethod
    def performers(self) -> tuple[Performer, ...]:
        """Everybody on the stage: sources first, then the results."""

    @abstractmethod
    def result(self, seq: int | None = None) -> Table:
        """What came of it, as the page is told; the drag that it answers, if it does."""

    @abstractmethod
    def clip(self, which: str) -> Clip:
        """A motion as it is written to a file."""

    @abstractmethod
    def quality(self, which: str) -> Table:
        """A result measured."""

    def variants(self, names: Sequence[str], watch: Watch) -> Work:
        """The same work with other ways to solve it beside the result."""
        raise OptionError("Only a retarget can be solved in other ways", hint="choose the mode `retarget`")

    def motions(self, live: bool = False) -> list[Message]:
        """Every motion to be shown; while something is dragged only those that may have changed."""
        return [performer.message() for performer in self.performers]

    def mesh(self, which: str) -> Message | None:
        """The skin of a character; None for a stick body."""
        performer = self.performer(which)
        return skin_message(which, performer.meshes, performer.motion.skeleton, performer.bound)

    def performer(self, which: str) -> Performer:
        """Somebody on the stage, by what motions go by."""
        found = {performer.which: performer for performer in self.performers}
        if which not in found:
            raise UnknownNameError(f"Nobody on the stage is called `{which}`; {nearest_names(which, found)}")
        return found[which]

    def bodies(self) -> list[Table]:
        """Everybody's body, variants apart: they are shown on the result's."""
        return [each.body() for each in self.performers if not each.which.startswith("variant:")]


def empty_result(seq: int | None, text: str, seconds: float) -> Table:
    """A result of which nothing is known yet but a sentence."""
    return {
        "seq": seq,
        "text": text,
        "seconds": seconds,
        "tracks": [],
        "conflicts": [],
        "faults": [],
        "warnings": [],
        "keys": [],
        "variants": [],
    }
