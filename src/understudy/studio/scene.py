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
from understudy.figure.skin import Mesh
from understudy.io import Clip
from understudy.retarget.driver import ProgressCallback
from understudy.samples import Prop
from understudy.studio.props import prop_courses
from understudy.studio.skins import Message, find_image, has_skin, skin_message, xyzw

MAX_SHOWN_FPS = 60.0
"""Most frames per second that are sent to the page."""

Standing = Sequence[tuple[Point, np.ndarray]]
"""Points of a body that stand, with the frames (n,) in which they do."""


@record
class ShownBody:
    """A character shown on the page, with its motion."""

    which: str
    """Its name in the protocol, such as `source` or `result:NAME`."""
    label: str
    motion: Motion
    solved: Motion | None = None
    """The motion as it was solved, if it is displayed on joints in another order."""
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

    def image(self, digest: str) -> bytes | None:
        """The image of a displayed skin that has this digest; None if there is none."""
        return find_image([mesh for body in self.shown_bodies for mesh in body.meshes], digest)

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
