"""A bank of human rigs, made here from the naming and hierarchy conventions of programs, suits and data sets.

A rig is written as rows of bones. The first row begins at the root, the others at the bone before `>`. Bones of the
left are written, those of the right are made from them. `NAME=PLACE` says where a bone begins, and so which bone of
a human it is:

- `hips`, `neck`, `head`, `collar`, `arm`, `elbow`, `wrist`, `thigh`, `knee`, `ankle`, `ball` are main bones.
- `back.4` is on the back, 0 at the hips and 1 at the neck; the first and last of these are main bones, too;
  `elbow.5` is half way along the bone that begins there.
- `~ankle` is at the ankle and no main bone; `nose`, `jaw`, `eye`, `index2`, `toe` and others are never main bones.
- `~ankle@0,0,.1` is shifted by metres: to the left, up, forward.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from understudy.base.quaternion import (
    Array,
    conjugate,
    from_axis_angle,
    from_matrix,
    identity,
    multiply,
    normalize,
    rotate,
    unrotate,
)
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.io import Clip

PLACES = {
    "floor": (0.0, 0.0, 0.0), "hips": (0.0, 0.95, 0.0), "neck": (0.0, 1.47, -0.02), "head": (0.0, 1.58, 0.0),
    "top": (0.0, 1.80, 0.0), "nose": (0.0, 1.66, 0.12), "jaw": (0.0, 1.62, 0.03), "chin": (0.0, 1.58, 0.11),
    "breast": (0.09, 1.30, 0.10), "eye": (0.03, 1.70, 0.09), "brow": (0.03, 1.73, 0.11), "cheek": (0.05, 1.64, 0.08),
    "ear": (0.08, 1.68, 0.0), "lip": (0.02, 1.62, 0.11),
    "collar": (0.03, 1.43, 0.0), "arm": (0.18, 1.43, -0.02), "elbow": (0.46, 1.43, -0.03), "wrist": (0.71, 1.43, -0.02),
    "thumb1": (0.735, 1.42, 0.02), "thumb2": (0.765, 1.41, 0.045), "thumb3": (0.79, 1.405, 0.06),
    "thumb4": (0.81, 1.40, 0.07),
    "thigh": (0.09, 0.91, 0.0), "knee": (0.09, 0.50, 0.01), "ankle": (0.09, 0.08, -0.02), "ball": (0.095, 0.02, 0.10),
    "toe": (0.10, 0.015, 0.18), "heel": (0.09, 0.0, -0.07),
}  # fmt: skip
"""Metres in a T-pose: the left is +X, up +Y, forward +Z."""
for _number, _finger in enumerate(("index", "middle", "ring", "pinky")):
    _across = 0.03 - 0.023 * _number
    PLACES |= {
        f"{_finger}{_joint}": (0.74 + _shift - 0.006 * _number, 1.43, _across)
        for _joint, _shift in enumerate((0.0, 0.06, 0.10, 0.125, 0.145))
    }

MAIN = ("hips", "neck", "head", "collar", "arm", "elbow", "wrist", "thigh", "knee", "ankle", "ball")

SIDED = {place for place, at in PLACES.items() if at[0] > 0.0}

NEXT = {
    "hips": "neck", "neck": "head", "head": "top", "collar": "arm", "arm": "elbow", "elbow": "wrist",
    "wrist": "middle1", "thigh": "knee", "knee": "ankle", "ankle": "ball", "ball": "toe",
}  # fmt: skip
"""Where the bone that begins at a place ends."""

ARM_PLACES = {"elbow", "wrist"} | {name for name in PLACES if name[-1].isdigit()}

LEFT_RIGHT = (r"Left", "Right")


@dataclass(frozen=True, kw_only=True)
class Rig:
    """A rig of one convention."""

    name: str
    rows: str
    sides: tuple[str, str] = LEFT_RIGHT
    """A pattern in the names of the left, and what stands there in those of the right."""
    pose: str = "T"
    """The pose that it is bound in: T, A (arms lowered by 45 degrees) or I (arms down)."""
    frames: str = "world"
    """Joint frames: along the world's axes, with X along the `bone`, Y along the bone (`blender`), or at `random`."""
    laid_out: bool = False
    """Whether the rest pose says nothing: all rotations zero in these frames. A motion shows the body."""
    moves: bool = False
    """Whether it comes with a motion."""
    ends: bool = False
    """Whether bones without children have end points, as in BVH files."""
    scale: dict[str, float] = field(default_factory=dict)
    """Factors of `legs`, `arms`, `trunk`, `head` and `all`."""
    also: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Further bones that count as right, by the part."""

    def bones(self) -> list[tuple[str, str, str]]:
        """Name, parent (empty for the root) and place of each bone, parents first."""
        found: list[tuple[str, str, str]] = []
        for row in rows_of(self.rows):
            above, _, chain = row.rpartition(" > ")
            bones = [bone.strip().rpartition("=")[::2] for bone in chain.split(", ")]
            sided = _base(bones[-1][1]) in SIDED
            for right in (False, True) if sided else (False,):
                parent = self.mirrored(above) if right else above
                for name, place in bones:
                    if right and _base(place) not in SIDED:
                        parent = name
                        continue
                    made = self.mirrored(name) if right else name
                    if not (right is False and any(made == other for other, _, _ in found)):
                        found.append((made, parent, f"-{place}" if right else place))
                    parent = made
        return found

    def mirrored(self, name: str) -> str:
        return re.sub(*self.sides, name, count=1)

    def table(self) -> dict[str, tuple[str, ...]]:
        """The bones that count as right for each part: hips, spine, chest, neck, head, left arm, right arm, ..."""
        bones = self.bones()
        spine = [name for name, _, place in bones if place.startswith("back")]
        found = {"spine": (spine[0],), "chest": (spine[-1],)} if spine else {}
        for name, _, place in bones:
            part = place.removeprefix("-")
            if part in MAIN:
                side = "" if part not in SIDED else "right " if place.startswith("-") else "left "
                found[side + part] = (name,)
        return {part: names + self.also.get(part, ()) for part, names in found.items()}

    def clip(self, *, seed: int = 0) -> Clip:
        """The rig as a clip, in metres."""
        bones = self.bones()
        names = tuple(name for name, _, _ in bones)
        assert len(set(names)) == len(names), f"{self.name}: {[n for n in names if names.count(n) > 1]}"
        index = {name: j for j, name in enumerate(names)} | {"": -1}
        parents = np.array([index[parent] for _, parent, _ in bones])
        positions = np.array([self._at(place) for _, _, place in bones])
        order = np.array(_parents_first(parents.tolist()))
        place_of = {int(old): new for new, old in enumerate(order)} | {-1: -1}
        names, positions = tuple(names[j] for j in order), positions[order]
        parents = np.array([place_of[int(parents[j])] for j in order])
        places = [bones[j][2] for j in order]
        rotations = self._frames(parents, positions, seed)
        above = parents[1:]
        offsets, rest = positions.copy(), rotations.copy()
        offsets[1:] = unrotate(rotations[above], positions[1:] - positions[above])
        rest[1:] = multiply(conjugate(rotations[above]), rotations[1:])
        skeleton = Skeleton(
            names=names, parents=parents, offsets=offsets, name=self.name,
            rest=identity(len(names)) if self.laid_out else normalize(rest),
            ends=self._ends(names, parents, places, positions, rotations) if self.ends else (),
        )  # fmt: skip
        if not (self.moves or self.laid_out):
            return Clip(skeleton=skeleton)
        local = _walk(places, rest, rotations, parents)
        root = positions[0] + np.linspace(0.0, 1.2, len(local))[:, None] * [0.0, 0.0, 1.0]
        return Clip(skeleton=skeleton, motion=Motion(skeleton=skeleton, fps=10.0, root=root, rotations=local))

    def _at(self, place: str) -> Array:
        """(3,) metres, where a place is."""
        mirror = place.startswith("-")
        place, _, shift = place.removeprefix("-").removeprefix("~").partition("@")
        name, _, share = re.sub(r"(?<=[a-z0-9])\.", " .", place, count=1).partition(" ")
        if name == "back":
            at = np.array([0.0, 0.95 + 0.5 * float(share), -0.03 * np.sin(np.pi * float(share))])
        else:
            at = np.array(PLACES[name])
            if share:
                at = at + float(share) * (np.array(PLACES[NEXT[name]]) - at)
        arm = np.array(PLACES["arm"])
        if name in ARM_PLACES or (name == "arm" and share):
            angle = {"T": 0.0, "A": np.radians(45.0), "I": np.radians(85.0)}[self.pose]
            at = arm + rotate(from_axis_angle([0.0, 0.0, 1.0], -angle), at - arm) * self.scale.get("arms", 1.0)
        at = at + [float(number) for number in shift.split(",")] if shift else at
        legs, trunk = self.scale.get("legs", 1.0), self.scale.get("trunk", 1.0)
        height = min(at[1], 0.95) * legs + max(at[1] - 0.95, 0.0) * trunk
        at = np.array([at[0], height, at[2]])
        if at[1] > PLACES["head"][1] and name not in ARM_PLACES:
            head = np.array([0.0, 0.95 * legs + 0.63 * trunk, 0.0])
            at = head + self.scale.get("head", 1.0) * (at - head)
        return at * self.scale.get("all", 1.0) * ([-1.0, 1.0, 1.0] if mirror else 1.0)

    def _frames(self, parents: np.ndarray, positions: Array, seed: int) -> Array:
        """(J, 4) orientations of the joints in the bind pose."""
        count = len(parents)
        if self.frames == "world":
            return np.tile(identity(), (count, 1)).reshape(count, 4)
        if self.frames == "random":
            return normalize(np.random.default_rng(seed).normal(size=(count, 4)))
        found = np.empty((count, 4))
        for joint in range(count):
            below = np.flatnonzero(parents == joint)
            longest = max(below, key=lambda j: np.linalg.norm(positions[j] - positions[joint]), default=None)
            along = np.zeros(3) if longest is None else positions[longest] - positions[joint]
            if np.linalg.norm(along) < 1e-6:
                found[joint] = identity() if joint == 0 else found[parents[joint]]
                continue
            along /= np.linalg.norm(along)
            aside = np.array([0.0, 0.0, 1.0]) if abs(along[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
            third = np.cross(along, aside)
            third /= np.linalg.norm(third)
            second = np.cross(third, along)
            columns = [along, second, third] if self.frames == "bone" else [third, along, second]
            # Columns of a rotation must be right-handed.
            columns[2] = np.cross(columns[0], columns[1])
            found[joint] = from_matrix(np.stack(columns, axis=-1))
        return found

    def _ends(
        self, names: tuple[str, ...], parents: np.ndarray, places: list[str], positions: Array, rotations: Array
    ) -> tuple[Point, ...]:
        """The end points of bones without children, where the place says how the bone goes on."""
        found = []
        for joint, place in enumerate(places):
            following = NEXT.get(_base(place))
            if joint in parents or following is None:
                continue
            tip = self._at(("-" if place.startswith("-") else "") + following)
            offset = unrotate(rotations[joint], tip - positions[joint])
            found.append(Point(name=f"{names[joint]}_end", joint=names[joint], offset=offset))
        return tuple(found)


def rows_of(text: str) -> list[str]:
    """The rows of a text; a line that ends with a comma goes on in the next."""
    lines = (line.strip() for line in re.sub(r",\s*\n\s*", ", ", text).splitlines())
    return [line for line in lines if line]


def _base(place: str) -> str:
    """The place that a place is said by: `elbow` of `~elbow.5@0,0,.1`."""
    found = re.match(r"-?~?([a-z]+\d?)", place)
    assert found, place
    return found[1]


def _parents_first(parents: list[int]) -> list[int]:
    order = [parents.index(-1)]
    for joint in order:
        order += [j for j, parent in enumerate(parents) if parent == joint]
    # Depth first, as exporters write: a joint is followed by its first child.
    found, waiting = [], [order[0]]
    while waiting:
        found.append(waiting.pop())
        waiting += [j for j in reversed(order) if parents[j] == found[-1]]
    return found


SWINGS = {"thigh": (-25.0, 0.0), "knee": (25.0, 25.0), "arm": (25.0, 0.0), "elbow": (-10.0, -20.0)}
"""Degrees about the axis to the left, of a walk: how far a joint swings, and about which angle."""

DROPS_DEGREES = {"T": 70.0, "A": 30.0, "I": 0.0}


def _walk(places: list[str], rest: Array, rotations: Array, parents: np.ndarray, num_frames: int = 12) -> Array:
    """(F, J, 4) local rotations of two steps, the arms lowered a little."""
    phases = np.linspace(0.0, 2.0 * np.pi, num_frames)
    local = np.tile(rest, (num_frames, 1, 1))
    for joint, place in enumerate(places):
        part = place.removeprefix("-")
        if part not in SWINGS:
            continue
        swing, mean = SWINGS[part]
        right = place.startswith("-")
        angles = mean + swing * np.sin(phases + (np.pi if right else 0.0))
        turn = from_axis_angle(np.array([1.0, 0.0, 0.0]), np.radians(angles))
        if part == "arm":
            drop = from_axis_angle(np.array([0.0, 0.0, 1.0]), np.radians(40.0 if right else -40.0))
            turn = multiply(turn, drop)
        # The turn is about axes of the bind pose, seen from the parent.
        local[:, joint] = multiply(multiply(conjugate(rotations[parents[joint]]), turn), rotations[joint])
    return local


def fingers(pattern: str, names: str = "Thumb Index Middle Ring Pinky", *, first: int = 1, count: int = 3) -> str:
    """Rows of fingers: HAND > bones. The pattern has the hand, then `{finger}` and `{n}` in a bone's name."""
    hand, _, name = pattern.partition(" > ")
    rows = []
    for place, finger in zip(("thumb", "index", "middle", "ring", "pinky"), names.split()):
        bones = [f"{name.format(finger=finger, n=first + k)}={place}{1 + k}" for k in range(count)]
        rows.append(f"{hand} > {', '.join(bones)}")
    return "\n".join(rows)
