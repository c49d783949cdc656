"""Which nodes of an FBX file are the joints of its character, and which animations move them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from understudy.base.errors import FileError
from understudy.base.records import record
from understudy.figure.roles import words
from understudy.io.child import Arrays
from understudy.io.matrices import make_unique

SCENE, NO_NODE = 0, -1
"""The scene's root node, which the library adds, and a stand-in for the node of a root that is not in the file."""

END_WORDS = {"end", "nub", "tip", "site", "ende", "endsite"}
"""Last words in the names of bones that only mark the end of a chain."""

NON_JOINT_KINDS = {"CAMERA", "LIGHT", "CAMERA_SWITCHER", "STEREO_CAMERA"}


@record
class FbxJoints:
    """The joints of a character."""

    nodes: tuple[int, ...]
    """The node of each joint, parents before children."""
    parents: np.ndarray
    """(J,) index of each joint's parent."""
    names: tuple[str, ...]
    ends: tuple[tuple[int, int], ...]
    """The joint and the node of each end point."""
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@record
class FbxNodes:
    """The nodes of a file."""

    names: list[str]
    parents: list[int]
    """The parent of each node; -1 for the scene's root."""
    kinds: list[str]
    """The kind of each node's attribute; empty if it has none."""
    skins: list[set[int]]
    """The nodes of each skin."""
    weighted: set[int]
    """The nodes with skin weights above zero."""
    animated: set[int]
    """The nodes with curves of the chosen animation."""


def find_joints(nodes: FbxNodes, file: str) -> FbxJoints:
    """Choose the joints of the character in a file."""
    tree = _NodeTree(nodes.parents)
    members, notes = _find_members(nodes, tree, file)
    members, others = _choose_character(tree, members, nodes.skins)
    roots = [node for node in tree.order if node in members and tree.parent_in(node, members) is None]
    members, root, root_notes = _add_common_root(tree, members, roots, nodes.names)
    order = [node for node in tree.order if node in members]
    ends = {node for node in order[1:] if _is_end(node, tree, members, nodes)}
    order = [node for node in order if node not in ends]
    order = [NO_NODE, *order] if root == NO_NODE else order
    joint_of = {node: joint for joint, node in enumerate(order)}
    parents = {node: joint_of.get(tree.parent_in(node, members, NO_NODE), -1) for node in (*order[1:], *sorted(ends))}
    return FbxJoints(
        nodes=tuple(order),
        parents=np.array([-1, *(parents[node] for node in order[1:])], np.intp),
        names=make_unique(["root" if node == NO_NODE else nodes.names[node] for node in order]),
        ends=tuple((parents[node], node) for node in sorted(ends)),
        notes=(*notes, *root_notes),
        dropped=(f"{others + 1} characters; the one with the most joints is read",) if others else (),
    )


def _find_members(nodes: FbxNodes, tree: _NodeTree, file: str) -> tuple[set[int], list[str]]:
    """The nodes that are joints of any character, and notes."""
    members = {i for i, kind in enumerate(nodes.kinds) if kind == "BONE"}.union(*nodes.skins) - {SCENE}
    if members:
        return members, []
    moving = {node for top in {tree.top(node) for node in nodes.animated} for node in tree.below(top)}
    members = {node for node in moving if nodes.kinds[node] not in NON_JOINT_KINDS} - {SCENE}
    if not members:
        raise FileError(file, None, f"holds no character: of its {len(nodes.names) - 1} nodes none is a bone")
    return members, ["there are no bones; every node of what is animated is a joint"]


class _NodeTree:
    """The nodes of a file as a tree."""

    def __init__(self, parents: list[int]) -> None:
        self.parents = parents
        self.children: list[list[int]] = [[] for _ in parents]
        for node, parent in enumerate(parents):
            if parent >= 0:
                self.children[parent].append(node)
        self.order = self.below(SCENE)

    def below(self, node: int) -> list[int]:
        """A node and all its descendants in depth-first order."""
        nodes, stack = [], [node]
        while stack:
            nodes.append(stack.pop())
            stack += reversed(self.children[nodes[-1]])
        return nodes

    def above(self, node: int) -> list[int]:
        """A node and all its ancestors, the node first, without the scene's root."""
        nodes = []
        while node > SCENE:
            nodes.append(node)
            node = self.parents[node]
        return nodes

    def top(self, node: int) -> int:
        return self.above(node)[-1] if node > SCENE else SCENE

    def parent_in(self, node: int, members: set[int], default: Any = None) -> Any:
        """The nearest ancestor of a node that is a member."""
        return next((ancestor for ancestor in self.above(node)[1:] if ancestor in members), default)


def _choose_character(tree: _NodeTree, members: set[int], skins: Iterable[set[int]]) -> tuple[set[int], int]:
    """The joints of the character with the most joints, and the number of other characters.

    Joints belong to one character if they have a common ancestor below the scene's root, or a common skin.
    """
    groups: list[tuple[set[int], set[int]]] = []
    bundles: list[set[int]] = [{node} for node in members] + [set(skin) & members for skin in skins]
    for bundle in filter(None, bundles):
        tops, joints = {tree.top(node) for node in bundle}, set(bundle)
        for group in [group for group in groups if group[0] & tops]:
            groups.remove(group)
            tops, joints = tops | group[0], joints | group[1]
        groups.append((tops, joints))
    largest = max(groups, key=lambda group: (len(group[1]), -min(group[1])))
    return largest[1], len(groups) - 1


def _add_common_root(
    tree: _NodeTree, members: set[int], roots: list[int], names: list[str]
) -> tuple[set[int], int, list[str]]:
    """Add the nearest common ancestor if there are several roots. Returns the members, the root and a note."""
    if len(roots) == 1:
        return members, roots[0], []
    shared = set(tree.above(roots[0])).intersection(*(tree.above(root) for root in roots[1:]))
    problem = f"{len(roots)} joints hang from no other joint"
    if not shared:
        return members, NO_NODE, [f"{problem}; a root at the origin was made up for them"]
    nearest = next(node for node in tree.above(roots[0]) if node in shared)
    return members | {nearest}, nearest, [f"{problem}; `{names[nearest]}` above them was taken as their root"]


def _is_end(node: int, tree: _NodeTree, members: set[int], nodes: FbxNodes) -> bool:
    """Whether a bone has no weights and no joints below it, and its name says that it ends a chain."""
    unused = node not in nodes.weighted and not any(below in members for below in tree.below(node)[1:])
    name_words = words(nodes.names[node])
    return unused and bool(name_words) and name_words[-1] in END_WORDS


def nodes_of(info: dict[str, Any], arrays: Arrays, animated: set[int]) -> FbxNodes:
    """The nodes of a file as the child process describes them.

    Args:
        info: The child's description of the file.
        arrays: The child's arrays.
        animated: The nodes with curves of the chosen animation.
    """
    skins = [{cluster["node"] for cluster in mesh["clusters"]} for mesh in info["meshes"]]
    weighted = {
        cluster["node"]
        for mesh in info["meshes"]
        for i, cluster in enumerate(mesh["clusters"])
        if np.any(arrays[f"mesh{mesh['number']}_cluster{i}_weights"] > 0.0)
    }
    return FbxNodes(
        names=info["names"], parents=info["parents"], kinds=info["kinds"], skins=skins, weighted=weighted,
        animated=animated,
    )  # fmt: skip


EMPTY, STILL, MOVING = 0, 1, 2
"""What an animation does to the character: nothing, hold it in a pose, move it."""


def effect_of(info: dict[str, Any], arrays: Arrays, driven: set[int], changing: set[int]) -> int:
    """What an animation does to the character of a file: `EMPTY`, `STILL` or `MOVING`.

    Args:
        info: The child's description of the file.
        arrays: The child's arrays.
        driven: The nodes with curves of the animation.
        changing: Those of them whose curves change over time.
    """
    try:
        joints = find_joints(nodes_of(info, arrays, driven), "")
    except FileError:
        return EMPTY
    tree = _NodeTree(info["parents"])
    members = {ancestor for node in joints.nodes for ancestor in tree.above(node)} | {node for _, node in joints.ends}
    return MOVING if changing & members else STILL if driven & members else EMPTY
