"""The tree of nodes of a glTF file: local transforms, world matrices, and rotations taken out of matrices.

Source: Khronos glTF 2.0 specification, section 3.5 (scenes, nodes and hierarchy, transformations).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from understudy.geometry.quaternion import Array, from_matrix, normalize, to_matrix
from understudy.io.gltf_document import Document, Json
from understudy.records import remembered

SKEW = 1e-3
"""How far from right angles the axes of a matrix may be before the nearest rotation is searched."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Nodes:
    """The nodes of a file as parallel arrays, with the transforms they have while nothing is animated."""

    names: tuple[str, ...]
    """As the file has them; empty where a node has none."""
    parents: np.ndarray
    """(N,) number of each node's parent; -1 for a root."""
    order: tuple[int, ...]
    """All nodes, each right before all that hangs from it."""
    translations: Array
    """(N, 3)"""
    rotations: Array
    """(N, 4) scalar first."""
    scales: Array
    """(N, 3)"""
    locals: Array
    """(N, 4, 4) parent from node; as given, where a node has a matrix."""
    has_matrix: np.ndarray
    """(N,) whether the node's transform is given as a matrix."""

    @property
    def count(self) -> int:
        return len(self.names)

    @remembered
    def worlds(self) -> Array:
        """(N, 4, 4) file's world from node."""
        out = np.empty((self.count, 4, 4))
        for node in self.order:
            parent = self.parents[node]
            out[node] = self.locals[node] if parent < 0 else out[parent] @ self.locals[node]
        return out

    @remembered
    def children(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in range(self.count)]
        for node in self.order:
            if self.parents[node] >= 0:
                found[self.parents[node]].append(node)
        return tuple(tuple(each) for each in found)

    @remembered
    def depths(self) -> np.ndarray:
        """(N,) how many nodes stand above each."""
        out = np.zeros(self.count, np.intp)
        for node in self.order:
            out[node] = out[self.parents[node]] + 1 if self.parents[node] >= 0 else 0
        return out

    def with_above(self, members: Iterable[int]) -> set[int]:
        """Some nodes and all that stand above them."""
        found: set[int] = set()
        for node in members:
            while node >= 0 and node not in found:
                found.add(int(node))
                node = int(self.parents[node])
        return found

    def above(self, node: int) -> list[int]:
        """The nodes from a node up to its root, the node first."""
        found = []
        while node >= 0:
            found.append(int(node))
            node = self.parents[node]
        return found


def read_nodes(document: Document) -> Nodes:
    """The nodes of a file, their tree checked: one parent each and no circles."""
    nodes = document.objects(document.list_of("nodes"), "nodes")
    count = len(nodes)
    parents = np.full(count, -1, np.intp)
    children: list[list[int]] = []
    for i, node in enumerate(nodes):
        below = document.indices(node.get("children", []), count, f"nodes[{i}].children")
        children.append(below)
        for child in below:
            if parents[child] >= 0:
                raise document.error(f"nodes[{i}].children", f"node {child} is also a child of node {parents[child]}")
            parents[child] = i
    order, waiting = [], [i for i in reversed(range(count)) if parents[i] < 0]
    while waiting:
        node_number = waiting.pop()
        order.append(node_number)
        waiting += reversed(children[node_number])
    if len(order) < count:
        left = min(set(range(count)) - set(order))
        raise document.error(f"nodes[{left}]", "is its own ancestor; the nodes must be a tree")
    translations, rotations, scales, locals_ = _transforms(document, nodes)
    return Nodes(
        names=tuple(document.text(node, "name") for node in nodes),
        parents=parents,
        order=tuple(order),
        translations=translations,
        rotations=rotations,
        scales=scales,
        locals=locals_,
        has_matrix=np.array(["matrix" in node for node in nodes], bool),
    )


def _transforms(document: Document, nodes: list[Json]) -> tuple[Array, Array, Array, Array]:
    """Translations (N, 3), rotations (N, 4), scales (N, 3) and matrices (N, 4, 4) of nodes."""
    count = len(nodes)
    translations, rotations, scales, locals_ = np.zeros((count, 3)), np.zeros((count, 4)), np.ones((count, 3)), []
    for i, node in enumerate(nodes):
        where = f"nodes[{i}]"
        if "matrix" in node:
            matrix = document.numbers(node, "matrix", tuple(np.eye(4).ravel()), where).reshape(4, 4).T
            translations[i], rotations[i], scales[i] = taken_apart(matrix)
            locals_.append(matrix)
            continue
        translations[i] = document.numbers(node, "translation", (0.0, 0.0, 0.0), where)
        turn = document.numbers(node, "rotation", (0.0, 0.0, 0.0, 1.0), where)
        rotations[i] = normalize(turn[[3, 0, 1, 2]])
        scales[i] = document.numbers(node, "scale", (1.0, 1.0, 1.0), where)
        locals_.append(composed(translations[i], rotations[i], scales[i]))
    return translations, rotations, scales, np.array(locals_).reshape(count, 4, 4)


def composed(translations: Array, rotations: Array, scales: Array) -> Array:
    """(..., 4, 4) matrices that scale, then turn, then move."""
    return affine(to_matrix(rotations) * scales[..., None, :], translations)


def affine(linear: Array, places: Array) -> Array:
    """(..., 4, 4) matrices of a linear part (..., 3, 3) and a place (..., 3)."""
    out = np.zeros((*np.broadcast_shapes(linear.shape[:-2], places.shape[:-1]), 4, 4))
    out[..., :3, :3] = linear
    out[..., :3, 3] = places
    out[..., 3, 3] = 1.0
    return out


def taken_apart(matrix: Array) -> tuple[Array, Array, Array]:
    """Translation (3,), rotation (4,) and scale (3,) of a matrix, as nearly as they can make it."""
    turn = polar(matrix[:3, :3])[0]
    scale = np.einsum("ij,ij->j", to_matrix(turn), matrix[:3, :3])
    return matrix[:3, 3].copy(), turn, scale


def polar(linear: Array) -> tuple[Array, Array]:
    """A linear part (..., 3, 3) as a rotation (..., 4) after what is left (..., 3, 3): scale, shear, mirroring."""
    u, _, vt = np.linalg.svd(linear)
    sign = np.where(np.linalg.det(u @ vt) < 0.0, -1.0, 1.0)
    u = u.copy()
    u[..., :, 2] *= sign[..., None]
    turn = u @ vt
    return from_matrix(turn), np.swapaxes(turn, -1, -2) @ linear


def turned(linear: Array) -> Array:
    """(..., 4) the rotations in linear parts (..., 3, 3) that are rotations but for a scale, and nearly so others."""
    size = np.sqrt(np.einsum("...ij,...ij->...j", linear, linear))
    straight = linear / np.where(size > 0.0, size, 1.0)[..., None, :]
    square = np.einsum("...ki,...kj->...ij", straight, straight) - np.eye(3)
    skewed = np.max(np.abs(square), axis=(-2, -1)) > SKEW
    skewed |= np.linalg.det(straight) < 0.0
    out = from_matrix(straight)
    if np.any(skewed):
        out[skewed] = polar(linear[skewed])[0]
    return out
