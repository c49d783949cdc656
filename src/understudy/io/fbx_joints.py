"""Which nodes of an FBX file are the joints of its character.

Bones, and whatever carries a skin. Nodes between and above them move them but are no joints. A bare bone at the tip
of a chain that is named as an end is an end. Where a file holds several characters, the one with most joints is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from understudy.errors import FileError
from understudy.io.matrices import differing
from understudy.naming import words

SCENE, MADE_UP = 0, -1
"""The node that the library puts above all others, and the node of a root that the file does not have."""
ENDS = {"end", "nub", "tip", "site", "ende", "endsite"}
"""Last words in the names of bones that only mark where a chain ends."""
NO_JOINTS = {"CAMERA", "LIGHT", "CAMERA_SWITCHER", "STEREO_CAMERA"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Joints:
    """The joints of a character."""

    nodes: tuple[int, ...]
    """The node of each joint, parents before children."""
    parents: np.ndarray
    """(J,) number of each joint's parent."""
    names: tuple[str, ...]
    ends: tuple[tuple[int, int], ...]
    """The joint and the node of each end."""
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Nodes:
    """The nodes of a file."""

    names: list[str]
    parents: list[int]
    """The parent of each node; -1 for the scene's."""
    kinds: list[str]
    """What each node is; empty where nothing is attached to it."""
    skins: list[set[int]]
    """The nodes that each skin names."""
    weighted: set[int]
    """The nodes that carry some of a skin."""
    animated: set[int]
    """The nodes with curves of the chosen animation."""


def find_joints(nodes: Nodes, file: str) -> Joints:
    """Choose the joints of the character in a file."""
    tree = _Tree(nodes.parents)
    members, notes = _members(nodes, tree, file)
    members, others = _one_character(tree, members, nodes.skins)
    tops = [node for node in tree.order if node in members and tree.parent_in(node, members) is None]
    members, root, said = _rooted(tree, members, tops, nodes.names)
    order = [node for node in tree.order if node in members]
    ends = {node for node in order[1:] if _is_end(node, tree, members, nodes)}
    order = [node for node in order if node not in ends]
    order = [MADE_UP, *order] if root == MADE_UP else order
    place = {node: joint for joint, node in enumerate(order)}
    above = {node: place.get(_or_root(tree.parent_in(node, members)), -1) for node in (*order[1:], *sorted(ends))}
    return Joints(
        nodes=tuple(order),
        parents=np.array([-1, *(above[node] for node in order[1:])], np.intp),
        names=differing(["root" if node == MADE_UP else nodes.names[node] for node in order]),
        ends=tuple((above[node], node) for node in sorted(ends)),
        notes=(*notes, *said),
        dropped=(f"{others + 1} characters; read is the one with most joints",) if others else (),
    )


def _members(nodes: Nodes, tree: _Tree, file: str) -> tuple[set[int], list[str]]:
    """The nodes that are joints of any character, and what is to be said about it."""
    members = {i for i, kind in enumerate(nodes.kinds) if kind == "BONE"}.union(*nodes.skins) - {SCENE}
    if members:
        return members, []
    moving = {node for top in {tree.top(node) for node in nodes.animated} for node in tree.below(top)}
    members = {node for node in moving if nodes.kinds[node] not in NO_JOINTS} - {SCENE}
    if not members:
        raise FileError(file, None, f"holds no character: of its {len(nodes.names) - 1} nodes none is a bone")
    return members, ["there are no bones; every node of what is animated is a joint"]


class _Tree:
    """The nodes of a file as a tree."""

    def __init__(self, parents: list[int]) -> None:
        self.parents = parents
        self.children: list[list[int]] = [[] for _ in parents]
        for node, parent in enumerate(parents):
            if parent >= 0:
                self.children[parent].append(node)
        self.order = self.below(SCENE)

    def below(self, node: int) -> list[int]:
        """A node and all that hangs from it, each right before all that hangs from it."""
        found, waiting = [], [node]
        while waiting:
            found.append(waiting.pop())
            waiting += reversed(self.children[found[-1]])
        return found

    def above(self, node: int) -> list[int]:
        """The nodes from a node up, the node first, without the scene's."""
        found = []
        while node > SCENE:
            found.append(node)
            node = self.parents[node]
        return found

    def top(self, node: int) -> int:
        return self.above(node)[-1] if node > SCENE else SCENE

    def parent_in(self, node: int, members: set[int]) -> int | None:
        """The nearest node above one that is a member too."""
        return next((above for above in self.above(node)[1:] if above in members), None)


def _or_root(node: int | None) -> int:
    return MADE_UP if node is None else node


def _one_character(tree: _Tree, members: set[int], skins: Iterable[set[int]]) -> tuple[set[int], int]:
    """The joints of the character with most, and how many others there are.

    Joints belong together that hang from one node below the scene's, or that one skin binds.
    """
    groups: list[tuple[set[int], set[int]]] = []
    bundles: list[set[int]] = [{node} for node in members] + [set(skin) & members for skin in skins]
    for bundle in filter(None, bundles):
        tops, mine = {tree.top(node) for node in bundle}, set(bundle)
        for group in [each for each in groups if each[0] & tops]:
            groups.remove(group)
            tops, mine = tops | group[0], mine | group[1]
        groups.append((tops, mine))
    largest = max(groups, key=lambda group: (len(group[1]), -min(group[1])))
    return largest[1], len(groups) - 1


def _rooted(tree: _Tree, members: set[int], tops: list[int], names: list[str]) -> tuple[set[int], int, list[str]]:
    """The members with one root, that root, and what is to be said about it."""
    if len(tops) == 1:
        return members, tops[0], []
    shared = set(tree.above(tops[0])).intersection(*(tree.above(top) for top in tops[1:]))
    said = f"{len(tops)} joints hang from no other joint"
    if not shared:
        return members, MADE_UP, [f"{said}; a root at the origin was made up for them"]
    nearest = next(node for node in tree.above(tops[0]) if node in shared)
    return members | {nearest}, nearest, [f"{said}; `{names[nearest]}` above them was taken as their root"]


def _is_end(node: int, tree: _Tree, members: set[int], nodes: Nodes) -> bool:
    """Whether a bone carries nothing and is named as the end of a chain."""
    bare = node not in nodes.weighted and not any(below in members for below in tree.below(node)[1:])
    said = words(nodes.names[node])
    return bare and bool(said) and said[-1] in ENDS
