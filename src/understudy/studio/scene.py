"""The result of a solve in any mode: displayed bodies, result tables, meshes and clips."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote
from zlib import crc32

import numpy as np

from understudy.base.errors import OptionError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.contacts import Contact
from understudy.figure.kinematics import Pose, fk
from understudy.figure.mass import centre_of_mass
from understudy.figure.measures import height
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import Mesh, strongest_joints
from understudy.io import Clip
from understudy.retarget.driver import ProgressCallback
from understudy.samples import Prop

MAX_SHOWN_FPS = 60.0
"""Most frames per second that are sent to the page."""

JOINTS_PER_VERTEX = 4
"""Joints per vertex sent to the page; the weights of the others are distributed over these."""

Message = tuple[dict[str, Any], dict[str, np.ndarray]]
"""A header and the arrays that go with it."""

Standing = Sequence[tuple[Point, np.ndarray]]
"""Points of a body that stand, with the frames (n,) in which they do."""


@record
class ShownBody:
    """A character shown on the page, with its motion."""

    which: str
    """Its name in the protocol, such as `source` or `result:NAME`."""
    label: str
    motion: Motion
    meshes: tuple[Mesh, ...] = ()
    skeleton: Skeleton | None = None
    """The skeleton that the meshes were bound to, if its lengths differ from the motion's."""
    standing: Standing = ()
    props: tuple[Prop, ...] = ()
    """Props that move with this motion."""

    @property
    def bound(self) -> Skeleton:
        """The skeleton that the meshes were bound to."""
        return self.motion.skeleton if self.skeleton is None else self.skeleton

    def table(self) -> dict[str, Any]:
        """The table that the page receives."""
        return body_table(self.which, self.label, self.motion.skeleton, self.meshes)

    def message(self, *, part: tuple[int, int] | None = None) -> Message:
        """Its motion at the displayed frames, with overlays; with `part`, only the frames of that range."""
        frames = shown_frames(self.motion)
        shown_span = None
        if part is not None:
            first, last = np.searchsorted(frames, part)
            shown_span, frames = [int(first), int(last)], frames[first:last]
        pose = fk(self.motion[frames]) if len(frames) else fk(self.motion[:1])
        arrays: dict[str, np.ndarray] = {
            "times": (frames / self.motion.fps).astype(np.float32),
            "positions": np.concatenate([pose.positions, pose.ends()], axis=1)[: len(frames)].astype(np.float32),
            "rotations": xyzw(pose.rotations)[: len(frames)].astype(np.float32),
            "mass": centre_of_mass(pose)[: len(frames)].astype(np.float32),
        }
        if self.standing and part is None:
            # Outlines vary in their number of corners, so that the page cannot replace a part of them.
            arrays |= support_outlines(pose, frames, self.standing)
        arrays |= prop_courses(self.props, frames)
        return {"on": "motion", "which": self.which, "part": shown_span}, arrays


def body_table(which: str, label: str, skeleton: Skeleton, meshes: Sequence[Mesh] = ()) -> dict[str, Any]:
    """A character as the page receives it."""
    role_of_joint = {joint: role for role, joint in roles(skeleton).items()}
    mesh_url = None
    if has_skin(meshes, skeleton):
        # The address changes with the proportions, so that browsers do not show a cached skin.
        version = crc32(skeleton.lengths.tobytes(), sum(mesh.num_vertices for mesh in meshes))
        mesh_url = f"mesh/{quote(which, safe='')}?v={version:08x}"
    return {
        "which": which,
        "label": label,
        "joints": [
            {"name": name, "parent": int(parent), "role": role_of_joint.get(index)}
            for index, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents, strict=True))
        ],
        "ends": [
            {"name": end.name, "joint": skeleton.index[end.joint], "offset": end.offset.tolist()}
            for end in skeleton.ends
        ],
        "mesh": mesh_url,
        "height": float(height(skeleton)),
    }


def shown_frames(motion: Motion) -> np.ndarray:
    """(N,) the displayed frames of a motion: every n-th, and always the last."""
    step = max(int(np.ceil(motion.fps / MAX_SHOWN_FPS - 1e-3)), 1)
    frames = np.arange(0, motion.num_frames, step)
    return frames if frames[-1] == motion.num_frames - 1 else np.append(frames, motion.num_frames - 1)


def xyzw(rotations: Array) -> Array:
    """(..., 4) quaternions in the page's order x, y, z, w."""
    return np.roll(rotations, -1, axis=-1)


def find_standing(contacts: Sequence[Contact], motion: Motion) -> list[tuple[Point, np.ndarray]]:
    """The points that stand on the floor, with their frames, from contacts."""
    points = []
    for contact in contacts:
        frames = contact.frames(motion.fps, motion.num_frames)
        if contact.on == "floor" and contact.place is not None and len(frames):
            points.append((contact.point, frames))
    return points


def support_outlines(pose: Pose, frames: np.ndarray, standing: Standing) -> dict[str, np.ndarray]:
    """The support polygons of a pose at frames (N,): all corners, and where those of each frame start."""
    points = list({point.name: point for point, _ in standing}.values())
    column_of = {point.name: index for index, point in enumerate(points)}
    is_standing = np.zeros((len(frames), len(points)), bool)
    for point, standing_frames in standing:
        is_standing[np.isin(frames, standing_frames), column_of[point.name]] = True
    positions = pose.points(points)
    corners = [convex_outline(positions[index][row]) for index, row in enumerate(is_standing)]
    return {
        "support": np.concatenate([*corners, np.zeros((0, 3))]).astype(np.float32),
        "support_from": np.cumsum([0, *(len(polygon) for polygon in corners)]).astype(np.uint32),
    }


def convex_outline(points: Array) -> Array:
    """(K, 3) corners of the convex hull of points (N, 3) seen from above, in order."""
    if len(points) < 3:
        return points
    order = np.lexsort((points[:, 2], points[:, 0]))
    corners = []
    for direction in (order, order[::-1]):
        chain: list[int] = []
        for index in direction:
            while len(chain) > 1 and _signed_area(points[chain[-2]], points[chain[-1]], points[index]) <= 1e-12:
                chain.pop()
            chain.append(int(index))
        corners += chain[:-1]
    return points[corners] if corners else points[:1]


def _signed_area(a: Array, b: Array, c: Array) -> float:
    """Twice the signed area of the triangle a, b, c in the horizontal plane."""
    return float((b[0] - a[0]) * (c[2] - a[2]) - (b[2] - a[2]) * (c[0] - a[0]))


def is_moving(prop: Prop) -> bool:
    """Whether a prop moves over time."""
    return prop.positions.ndim == 3


def prop_tables(props: Sequence[Prop]) -> list[dict[str, Any]]:
    """Props as the page receives them, at the first frame."""
    tables = []
    for prop in props:
        positions, rotations = prop.positions, xyzw(prop.rotations)
        if is_moving(prop):
            positions, rotations = positions[0], rotations[0]
        boxes = [
            {"size": size.tolist(), "position": position.tolist(), "rotation": rotation.tolist()}
            for size, position, rotation in zip(prop.sizes, positions, rotations, strict=True)
        ]
        tables.append({"name": prop.name, "boxes": boxes, "moves": is_moving(prop)})
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


def has_skin(meshes: Sequence[Mesh], skeleton: Skeleton) -> bool:
    """Whether any mesh fits the skeleton and has triangles."""
    return any(mesh.num_joints == skeleton.num_joints and len(mesh.triangles) for mesh in meshes)


def skin_message(which: str, meshes: Sequence[Mesh], skeleton: Skeleton, bound: Skeleton) -> Message | None:
    """All meshes of a character as one, for a skeleton whose lengths may differ from the bound one."""
    skins = [mesh for mesh in meshes if mesh.num_joints == skeleton.num_joints and len(mesh.triangles)]
    if not skins:
        return None
    starts = np.cumsum([0, *(mesh.num_vertices for mesh in skins)])
    joints, weights = zip(*(strongest_joints(mesh, JOINTS_PER_VERTEX) for mesh in skins), strict=True)
    # The page has one set of bind matrices: meshes bound otherwise are first converted to those of the first.
    vertices = np.concatenate([mesh.rebound(skins[0]) for mesh in skins])
    faces = np.concatenate([mesh.triangles + start for mesh, start in zip(skins, starts[:-1], strict=True)])
    arrays: dict[str, np.ndarray] = {
        "positions": vertices.astype(np.float32),
        "normals": vertex_normals(vertices, faces).astype(np.float32),
        "faces": faces.astype(np.uint32),
        "joints": np.concatenate(joints).astype(np.uint16),
        "weights": np.concatenate(weights).astype(np.float32),
        "bind": stretch_binds(skins[0].joint_from_mesh, skeleton, bound).transpose(0, 2, 1).astype(np.float32),
    }
    colours = [vertex_colours(mesh) for mesh in skins]
    if all(part is not None for part in colours):
        arrays["colours"] = np.concatenate([part for part in colours if part is not None]).astype(np.float32)
    return {"on": "mesh", "which": which}, arrays


def vertex_colours(mesh: Mesh) -> Array | None:
    """(V, 3) linear colours of a mesh's materials at its vertices; None if it has no materials, or images on them."""
    look = mesh.look
    if look is None or not look.materials or any(material.image for material in look.materials):
        return None
    colours = np.full((mesh.num_vertices, 3), 0.8)
    table = np.array([material.colour[:3] for material in look.materials])
    colours[mesh.triangles] = table[look.material_numbers][:, None]
    return colours


def stretch_binds(binds: Array, skeleton: Skeleton, bound: Skeleton) -> Array:
    """(J, 4, 4) bind matrices that scale a skin with the bone lengths."""
    ratios = np.ones(skeleton.num_joints)
    for joint, children in enumerate(skeleton.children):
        bones = list(children) or [joint]
        length = float(bound.lengths[bones].sum())
        if length > 1e-9:
            ratios[joint] = float(skeleton.lengths[bones].sum()) / length
    stretched = binds.copy()
    stretched[:, :3] *= ratios[:, None, None]
    return stretched


def vertex_normals(vertices: Array, faces: np.ndarray) -> Array:
    """(V, 3) unit normals, weighted by the areas of the faces around each vertex."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    face_normals = np.cross(b - a, c - a)
    normals = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(normals, faces[:, k], face_normals)
    length = np.linalg.norm(normals, axis=-1, keepdims=True)
    return np.where(length > 1e-12, normals / np.maximum(length, 1e-12), np.array([0.0, 1.0, 0.0]))


Table = dict[str, Any]

EMPTY_SCENE: Table = {
    "fps": 30.0, "duration": 0.0, "bodies": [], "props": [], "floor": 0.0, "correspondence": None, "notes": [],
}  # fmt: skip
"""The scene of a document in which nothing is chosen."""


class SolveResult(ABC):
    """The result of solving a document."""

    @property
    @abstractmethod
    def shown_bodies(self) -> tuple[ShownBody, ...]:
        """All displayed bodies: sources first, then results."""

    @abstractmethod
    def result(self, seq: int | None = None) -> Table:
        """The result table for the page; `seq` is the number of the drag update that it answers."""

    @abstractmethod
    def clip(self, which: str) -> Clip:
        """The clip that is written to a file for a body."""

    @abstractmethod
    def quality(self, which: str) -> Table:
        """The measurements of a body's motion."""

    def variants(self, names: Sequence[str], watch: ProgressCallback) -> SolveResult:
        """The same result with variants solved beside it."""
        raise OptionError("Only a retarget has variants", hint="choose the mode `retarget`")

    def motions(self, live: bool = False) -> list[Message]:
        """Messages for all displayed motions; with `live`, only for those that a drag changes."""
        return [body.message() for body in self.shown_bodies]

    def mesh(self, which: str) -> Message | None:
        """The skin of a body; None if it has none."""
        body = self.shown_body(which)
        return skin_message(which, body.meshes, body.motion.skeleton, body.bound)

    def shown_body(self, which: str) -> ShownBody:
        """The displayed body of this name."""
        by_name = {body.which: body for body in self.shown_bodies}
        if which not in by_name:
            raise UnknownNameError(f"No body is called `{which}`; {nearest_names(which, by_name)}")
        return by_name[which]

    def bodies(self) -> list[Table]:
        """Tables of all bodies except variants, which are shown on the result's body."""
        return [body.table() for body in self.shown_bodies if not body.which.startswith("variant:")]


def empty_result(seq: int | None, text: str, seconds: float) -> Table:
    """A result table with only a sentence and a duration."""
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
