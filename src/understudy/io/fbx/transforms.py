"""How FBX places a node below its parent, and the local values that give a node a wanted place and rotation.

A node's matrix is T Roff Rp Rpre R Rpost^-1 Rp^-1 Soff Sp S Sp^-1: place, offsets and pivots, a rotation between two
fixed ones, and a scale. Only T, R and S are animated.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.base.quaternion import Array, conjugate, from_euler, multiply, rotate, to_euler_curve, to_matrix
from understudy.base.records import record
from understudy.io.fbx.document import FbxDocument, FbxRecord
from understudy.io.matrices import MIN_DETERMINANT, extract_rotations, make_affine

ORDERS = ("ZYX", "YZX", "XZY", "ZXY", "YXZ", "XYZ")
"""The rotation orders as the format numbers them, in our notation: it names the axis first that turns first."""

SPHERIC = 6
"""A rotation order that programs read differently: as X, Y, Z, or not at all."""

SCALE_BY_PARTS, SCALE_BY_MATRIX, SCALE_NOT_INHERITED = 0, 1, 2
"""How a node gets its parent's scale."""


MAX_SCALE_DIFFERENCE = 1e-5
"""Relative difference up to which two scales count as the same."""


@record
class NodeTransform:
    """The properties that place a node."""

    translation: Array
    """(3,)"""
    angles: Array
    """(3,) degrees about X, Y and Z."""
    scale: Array
    """(3,)"""
    order: str
    """The rotation order in our notation."""
    pre: Array
    """(4,) the fixed rotation before the animated one."""
    post: Array
    """(4,) the fixed rotation after the animated one; its inverse is applied."""
    rotation_offset: Array
    rotation_pivot: Array
    scaling_offset: Array
    scaling_pivot: Array
    inherit: int
    """One of the constants above."""
    spheric: bool = False
    """Whether the rotation order is spheric."""
    ambiguous: bool = False
    """Whether programs read the node's rotation differently: its order is spheric, or its fixed rotations are said to
    count for limits only."""

    def plain(self) -> NodeTransform:
        """The transform with angles about X, then Y, then Z and no fixed rotations, as all programs read it."""
        none = np.array([1.0, 0.0, 0.0, 0.0])
        return replace(self, order=ORDERS[0], pre=none, post=none, spheric=False, ambiguous=False)

    def rotation(self) -> Array:
        """(4,) the node's rotation without an animation."""
        # The reader's library does not turn nodes of spheric order.
        angles = np.zeros(3) if self.spheric else np.radians(self.angles)
        euler = from_euler(_listed(angles, self.order), self.order)
        return multiply(multiply(self.pre, euler), conjugate(self.post))

    def place(self) -> Array:
        """(3,) the node's origin in its parent without an animation."""
        return self.translation + self.shift(self.rotation())

    def shift(self, rotations: Array) -> Array:
        """(..., 3) what offsets and pivots add to the translation, for rotations (..., 4)."""
        inner = -self.rotation_pivot + self.scaling_offset + self.scaling_pivot - self.scale * self.scaling_pivot
        return self.rotation_offset + self.rotation_pivot + rotate(rotations, inner)

    def animated_angles(self, rotations: Array) -> Array:
        """(F, 3) the angles in degrees about X, Y and Z that give the node rotations (F, 4), without leaps."""
        inner = multiply(multiply(conjugate(self.pre), rotations), self.post)
        near = _listed(np.radians(self.angles), self.order)
        angles = to_euler_curve(inner, self.order, near=near)
        return np.degrees(angles[:, [self.order.index(axis) for axis in "XYZ"]])


def _listed(angles: Array, order: str) -> Array:
    """Angles about X, Y and Z in the sequence of an order."""
    return angles[["XYZ".index(axis) for axis in order]]


@record
class Placed:
    """A node in the world, at one time or at many (leading axes)."""

    matrix: Array
    """(..., 4, 4) world from node."""
    rotation: Array
    """(..., 4) the rotations of the node and all nodes above it, without scales."""
    scale: Array
    """(3,) the scale that nodes below inherit by parts."""


WORLD = Placed(matrix=np.eye(4), rotation=np.array([1.0, 0.0, 0.0, 0.0]), scale=np.ones(3))
"""The scene's root."""


def place(node: NodeTransform, parent: Placed, rotation: Array, origin: Array) -> Placed:
    """A node in the world with a rotation (..., 4) and an origin (..., 3) in its parent."""
    turned = multiply(parent.rotation, rotation)
    scale = node.scale if node.inherit == SCALE_NOT_INHERITED else node.scale * parent.scale
    if node.inherit == SCALE_BY_MATRIX:
        linear = parent.matrix[..., :3, :3] @ (to_matrix(rotation) * node.scale)
    else:
        linear = to_matrix(turned) * scale
    position = np.einsum("...ij,...j->...i", parent.matrix[..., :3, :3], origin) + parent.matrix[..., :3, 3]
    return Placed(matrix=make_affine(linear, position), rotation=turned, scale=scale)


def place_still(node: NodeTransform, parent: Placed) -> Placed:
    """A node in the world as the file has it, without an animation."""
    return place(node, parent, node.rotation(), node.place())


def inheriting(node: NodeTransform, parent: Placed) -> NodeTransform | None:
    """The node with its parent's scale inherited and a scale of one, where that puts it at the same place and size.

    Maya's joints need not inherit scale: such a joint repeats its parent's scale as its own. Blender takes every scale
    for inherited, and moves a bone that has a scale of its own by a wrong distance.
    """
    linear = np.asarray(parent.matrix[..., :3, :3]).reshape(-1, 3, 3)[0]
    size = float(np.cbrt(np.linalg.det(linear)))
    repeated = np.allclose(node.scale, size, rtol=MAX_SCALE_DIFFERENCE, atol=0.0)
    even = np.allclose(linear.T @ linear, size**2 * np.eye(3), rtol=0.0, atol=MAX_SCALE_DIFFERENCE * size**2)
    pivots = np.any(node.scaling_pivot) or np.any(node.scaling_offset)
    plain = np.allclose(node.scale, 1.0, rtol=0.0, atol=MAX_SCALE_DIFFERENCE)
    if node.inherit == SCALE_BY_MATRIX or plain or pivots or size <= 0.0 or not (repeated and even):
        return None
    return replace(node, inherit=SCALE_BY_MATRIX, scale=np.ones(3))


def local_values(node: NodeTransform, parent: Placed, wanted: Array) -> tuple[Array, Array]:
    """(F, 4) rotations and (F, 3) origins in the parent with which the node's matrices are those wanted (F, 4, 4)."""
    matrix = parent.matrix
    if np.any(np.abs(np.linalg.det(matrix[..., :3, :3])) < MIN_DETERMINANT):
        # The parent's scale is zero, so nothing below it can be seen to move. Any invertible matrix will do.
        matrix = make_affine(np.eye(3), matrix[..., :3, 3])
    inverse = np.linalg.inv(matrix)
    scale = np.where(np.abs(node.scale) > 1e-12, node.scale, 1.0)
    if node.inherit == SCALE_BY_MATRIX:
        linear = inverse[..., :3, :3] @ wanted[..., :3, :3] / scale
    else:
        inherited = scale if node.inherit == SCALE_NOT_INHERITED else scale * parent.scale
        linear = np.swapaxes(to_matrix(parent.rotation), -1, -2) @ wanted[..., :3, :3] / inherited
    origins = np.einsum("...ij,...j->...i", inverse[..., :3, :3], wanted[..., :3, 3]) + inverse[..., :3, 3]
    return extract_rotations(linear), np.broadcast_to(origins, (*wanted.shape[:-2], 3))


class ModelTable:
    """The nodes of a document by their numbers, with their parents, names and transforms."""

    def __init__(self, document: FbxDocument) -> None:
        objects = document.top("Objects")
        self.models: dict[int, FbxRecord] = {}
        for item in () if objects is None else objects.all("Model"):
            number = item.value(0)
            if isinstance(number, int):
                self.models[number] = item
        self.children: dict[int, list[int]] = {}
        connections = document.top("Connections")
        for link in () if connections is None else connections.all("C"):
            below, above = link.value(1), link.value(2)
            if link.value(0) == "OO" and below in self.models and (above == 0 or above in self.models):
                self.children.setdefault(above, []).append(below)
        self._template = _template(document)

    def match(self, names: list[str], parents: list[int]) -> list[int | None]:
        """The number of each node of a list in which parents come before children; None where there is none.

        Args:
            names: The nodes' names; the first is the scene's root.
            parents: (N,) the parent of each node.
        """
        left = {number: list(below) for number, below in self.children.items()}
        found: list[int | None] = [None] * len(names)
        for i, (name, parent) in enumerate(zip(names, parents)):
            if parent < 0:
                found[i] = 0
                continue
            above = found[parent]
            candidates = [] if above is None else left.get(above, [])
            number = next((number for number in candidates if name_of(self.models[number]) == name), None)
            if number is not None:
                candidates.remove(number)
            found[i] = number
        return found

    def transform(self, number: int, *, active: bool | None = None) -> NodeTransform:
        """The transform of a node.

        Args:
            number: The node's number.
            active: Whether the fixed rotations and the order apply; None as the node says.
        """
        values = {**self._template, **properties_of(self.models[number])}

        def vector(key: str, default: float = 0.0) -> Array:
            numbers = values.get(key, ())
            good = len(numbers) >= 3 and all(isinstance(part, int | float) for part in numbers[:3])
            return np.array(numbers[:3], float) if good else np.full(3, default)

        def whole(key: str, default: int) -> int:
            numbers = values.get(key, ())
            return int(numbers[0]) if numbers and isinstance(numbers[0], int | float) else default

        active = bool(whole("RotationActive", 0)) if active is None else active
        order = whole("RotationOrder", 0) if active else 0
        fixed = [
            from_euler(np.radians(vector(key))[::-1], "ZYX") if active else np.array([1.0, 0.0, 0.0, 0.0])
            for key in ("PreRotation", "PostRotation")
        ]
        return NodeTransform(
            translation=vector("Lcl Translation"), angles=vector("Lcl Rotation"), scale=vector("Lcl Scaling", 1.0),
            order=ORDERS[order] if 0 <= order < len(ORDERS) else ORDERS[0], pre=fixed[0], post=fixed[1],
            rotation_offset=vector("RotationOffset"), rotation_pivot=vector("RotationPivot"),
            scaling_offset=vector("ScalingOffset"), scaling_pivot=vector("ScalingPivot"),
            inherit=whole("InheritType", SCALE_BY_PARTS), spheric=order == SPHERIC,
            ambiguous=order == SPHERIC or bool(active and whole("RotationSpaceForLimitOnly", 0)),
        )  # fmt: skip


def name_of(item: FbxRecord) -> str:
    """The name of an object without its class."""
    text = str(item.value(1) or "")
    if "\x00\x01" in text:
        return text.partition("\x00\x01")[0]
    return text.partition("::")[2] if "::" in text else text


def properties_of(item: FbxRecord) -> dict[str, list[object]]:
    """The values of an object's properties by name."""
    table = item.child("Properties70")
    if table is None:
        return {}
    return {
        str(entry.value(0)): [entry.value(i) for i in range(4, len(entry.codes))]
        for entry in table.all("P")
        if len(entry.codes) > 4
    }


def _template(document: FbxDocument) -> dict[str, list[object]]:
    """The values that properties of nodes have where a node does not give them."""
    definitions = document.top("Definitions")
    for kind in () if definitions is None else definitions.all("ObjectType"):
        template = kind.child("PropertyTemplate") if kind.value(0) == "Model" else None
        if template is not None:
            return properties_of(template)
    return {}
