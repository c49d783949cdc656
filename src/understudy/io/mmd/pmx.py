"""Reads the skeleton of a PMX model (versions 2.0 and 2.1).

Source: the description of PMX that comes with PMX Editor. A PMX bone has a place and no rest rotation. The world is
left-handed with Y up, and models look along -Z: mirrored in Z, they look along +Z with their left at +X, as ours do.
Bones of inverse kinematics are no joints here: a motion is written with it switched off.
"""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import FileError
from understudy.base.records import record
from understudy.figure.skeleton import Point, Skeleton
from understudy.io.child import refuse_bodies_of_bad_numbers
from understudy.io.clip import Clip, ReadOptions, name_unit

UNIT_METRES = 0.08
"""Metres in a unit of MikuMikuDance: models of 20 units are 1.6 m tall."""

MIRROR = np.array([1.0, 1.0, -1.0])
MAX_COUNT = 10_000_000
"""The largest number of entries of a list that is believed."""

TAIL_IS_BONE, INHERITS, FIXED_AXIS, LOCAL_AXES, EXTERNAL, HAS_IK = 0x1, 0x300, 0x400, 0x800, 0x2000, 0x20
"""Flags of a bone."""

WEIGHT_BONES = {0: (1, 0), 1: (2, 1), 2: (4, 4), 3: (2, 10), 4: (4, 4)}
"""Bones and numbers of each kind of vertex weight."""


@record
class PmxLayout:
    """What a VMD file for the model needs."""

    model_name: str
    ik_bones: tuple[str, ...]
    """Bones of inverse kinematics, which a motion switches off."""


class _Bytes:
    """Reads values one after another; a file that ends early is refused."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name, self.place = data, name, 0
        self.encoding = "utf-16-le"

    def take(self, layout: str) -> tuple[Any, ...]:
        size = struct.calcsize(f"<{layout}")
        if self.place + size > len(self.data):
            raise FileError(self.name, None, f"ends at byte {len(self.data)}, within its {self.where}")
        values = struct.unpack_from(f"<{layout}", self.data, self.place)
        self.place += size
        return values

    where = "head"
    """What is being read, for errors."""

    def count(self, what: str) -> int:
        self.where = what
        (value,) = self.take("i")
        if not 0 <= value <= MAX_COUNT:
            raise FileError(self.name, None, f"says that it holds {value} {what}")
        return int(value)

    def text(self) -> str:
        (size,) = self.take("i")
        if not 0 <= size <= len(self.data) - self.place:
            raise FileError(self.name, None, f"holds a text of {size} bytes within its {self.where}")
        raw = self.data[self.place : self.place + size]
        self.place += size
        return raw.decode(self.encoding, errors="replace")

    def skip(self, size: int) -> None:
        self.take(f"{size}x")


@record
class Bone:
    """A bone as the file has it."""

    name: str
    parent: int
    place: np.ndarray
    tail: int | np.ndarray
    """The bone at its tip, or (3,) from its place to its tip."""
    is_ik: bool


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read the skeleton of a model."""
    data = _Bytes(stream.read(), name)
    model_name, bones = read_bones(data)
    unit = UNIT_METRES if options.unit is None else options.unit
    with refuse_bodies_of_bad_numbers(name):
        skeleton, left_out = _skeleton(bones, unit, model_name, name)
    reason = "given" if options.unit is not None else "models of MikuMikuDance are 20 units tall"
    return Clip(
        skeleton=skeleton, format="pmx", unit=unit, unit_reason=f"{name_unit(unit)}: {reason}",
        up_reason="Y is up, by definition of the format",
        notes=(f"{left_out} bones of inverse kinematics are no joints",) if left_out else (),
        dropped=("the mesh, materials, morphs and rigid bodies of PMX are not read",),
        layout=PmxLayout(model_name=model_name, ik_bones=tuple(bone.name for bone in bones if bone.is_ik)),
    )  # fmt: skip


def read_bones(data: _Bytes) -> tuple[str, list[Bone]]:
    """The name and the bones of a model. What lies before them in the file is passed over."""
    magic, version, size = data.take("4sfB")
    if magic != b"PMX ":
        raise FileError(data.name, None, "is no PMX: it does not begin with `PMX `")
    if not 2.0 <= version < 2.2 or size < 8:
        raise FileError(data.name, None, f"is PMX of version {version:.1f}; expected 2.0 or 2.1")
    settings = data.take(f"{size}B")
    encoding, extra, *sizes = settings[:8]
    if encoding > 1 or extra > 4 or any(each not in (1, 2, 4) for each in sizes):
        raise FileError(data.name, None, "is no PMX that can be read: its head holds impossible sizes")
    vertex, texture, _, bone, _, _ = sizes
    data.encoding = "utf-8" if encoding else "utf-16-le"
    model_name = data.text()
    for _ in range(3):
        data.text()
    for _ in range(data.count("vertices")):
        data.skip(32 + 16 * extra)
        (kind,) = data.take("B")
        if kind not in WEIGHT_BONES:
            raise FileError(data.name, None, f"holds a vertex with weights of the unknown kind {kind}")
        bones, numbers = WEIGHT_BONES[kind]
        data.skip(bones * bone + 4 * numbers + 4)
    data.skip(data.count("faces") * vertex)
    for _ in range(data.count("textures")):
        data.text()
    for _ in range(data.count("materials")):
        data.text()
        data.text()
        data.skip(4 * 11 + 1 + 4 * 5 + 2 * texture + 1)
        (shared,) = data.take("B")
        data.skip(1 if shared else texture)
        data.text()
        data.skip(4)
    return model_name, [_bone(data, {1: "b", 2: "h", 4: "i"}[bone]) for _ in range(data.count("bones"))]


def _bone(data: _Bytes, index: str) -> Bone:
    name = data.text()
    data.text()
    place = np.array(data.take("3f"))
    parent, _, flags = data.take(f"{index}iH")
    tail = data.take(index)[0] if flags & TAIL_IS_BONE else np.array(data.take("3f"))
    if flags & INHERITS:
        data.take(f"{index}f")
    data.skip(12 * bool(flags & FIXED_AXIS) + 24 * bool(flags & LOCAL_AXES) + 4 * bool(flags & EXTERNAL))
    if flags & HAS_IK:
        *_, links = data.take(f"{index}ifi")
        if not 0 <= links <= 255:
            raise FileError(data.name, None, f"holds a bone of inverse kinematics with {links} links")
        for _ in range(links):
            _, limited = data.take(f"{index}B")
            data.skip(24 if limited else 0)
    return Bone(name=name, parent=parent, place=place, tail=tail, is_ik=bool(flags & HAS_IK))


def _skeleton(bones: list[Bone], unit: float, model_name: str, name: str) -> tuple[Skeleton, int]:
    """The skeleton of the largest tree without bones of inverse kinematics, and how many of these there are."""
    count = len(bones)
    parents = [bone.parent if 0 <= bone.parent < count else -1 for bone in bones]
    order, roots = _in_order(parents, [bone.is_ik for bone in bones])
    if not order:
        raise FileError(name, None, "holds no bones")
    sizes = {root: sum(1 for bone in order if roots[bone] == root) for root in set(roots.values())}
    largest = max(sizes, key=lambda root: (sizes[root], -root))
    kept = [bone for bone in order if roots[bone] == largest]
    number = {bone: joint for joint, bone in enumerate(kept)}
    places = np.array([bones[bone].place * MIRROR * unit for bone in kept])
    above = np.array([number.get(parents[bone], -1) for bone in kept])
    offsets = places.copy()
    offsets[1:] -= places[above[1:]]
    names = _different([bones[bone].name or f"bone{bone}" for bone in kept])
    branching = set(above.tolist())
    ends = []
    for joint, bone in enumerate(kept):
        tail = bones[bone].tail
        if joint not in branching and not isinstance(tail, int) and np.linalg.norm(tail) > 1e-6:
            ends.append(Point(name=f"{names[joint]}_tip", joint=names[joint], offset=tail * MIRROR * unit))
    skeleton = Skeleton(names=tuple(names), parents=above, offsets=offsets, ends=tuple(ends), name=model_name)
    return skeleton, sum(bone.is_ik for bone in bones)


def _in_order(parents: list[int], left_out: list[bool]) -> tuple[list[int], dict[int, int]]:
    """The bones with parents before children, and the root of each. Those below a bone that is left out are left out,
    and so are those of a circle."""
    children: dict[int, list[int]] = {}
    for bone, parent in enumerate(parents):
        children.setdefault(parent, []).append(bone)
    order: list[int] = []
    roots: dict[int, int] = {}
    stack = [(bone, bone) for bone in reversed(children.get(-1, []))]
    while stack:
        bone, root = stack.pop()
        if left_out[bone]:
            continue
        order.append(bone)
        roots[bone] = root
        stack += [(child, root) for child in reversed(children.get(bone, []))]
    return order, roots


def _different(names: list[str]) -> list[str]:
    """Names of which no two are the same."""
    out: list[str] = []
    used: set[str] = set()
    for name in names:
        new, number = name, 2
        while new in used:
            new, number = f"{name}_{number}", number + 1
        used.add(new)
        out.append(new)
    return out
