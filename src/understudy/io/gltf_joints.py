"""Which nodes of a glTF file are the joints of its character.

With skins, those that a skin names: the nodes between and above them move them but are no joints. Without, every node
of the trees in which something is animated. A skeleton has one root: where the joints have none in common, the nearest
node above all of them is taken along, and where there is none, a root at the origin is made up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.io.gltf_document import Document
from understudy.io.gltf_nodes import Nodes

MADE_UP = -1
"""The node of a joint that is none of the file's."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Skin:
    """A skin: the nodes that carry a mesh, and which accessor says how it was bound to them."""

    number: int
    joints: tuple[int, ...]
    inverse_binds: int | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Joints:
    """The joints of a character."""

    nodes: tuple[int, ...]
    """The node of each joint, parents before children; `MADE_UP` for a root that the file does not have."""
    parents: np.ndarray
    """(J,) number of each joint's parent."""
    names: tuple[str, ...]
    """All different."""
    ends: tuple[tuple[int, int], ...]
    """The joint and the node of each end: a bare node at the tip of a chain."""
    skins: tuple[Skin, ...]
    """Those whose joints are all among these."""
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def read_skins(document: Document, count: int) -> list[Skin]:
    """The skins of a file of that many nodes."""
    found = []
    for i, skin in enumerate(document.objects(document.list_of("skins"), "skins")):
        joints = document.indices(skin.get("joints"), count, f"skins[{i}].joints")
        if not joints:
            raise document.error(f"skins[{i}].joints", "expected at least one joint")
        found.append(Skin(number=i, joints=tuple(joints), inverse_binds=skin.get("inverseBindMatrices")))
    return found


def find_joints(document: Document, nodes: Nodes, animated: set[int]) -> Joints:
    """Choose the joints of the character.

    Args:
        document: The file.
        nodes: Its nodes.
        animated: Those that some animation moves.
    """
    skins, dropped = _largest(nodes, read_skins(document, nodes.count))
    members = {joint for skin in skins for joint in skin.joints} if skins else _moving_trees(nodes, animated)
    if not members:
        raise document.error("nodes", "there are none, so the file holds no character")
    members, notes = _rooted(nodes, members)
    above = _nearest(nodes, members)
    order = [node for node in nodes.order if node in members]
    if sum(above[node] == MADE_UP for node in order) > 1:
        order.insert(0, MADE_UP)
    place = {node: joint for joint, node in enumerate(order)}
    parents = [-1] + [place[above[node]] for node in order[1:]]
    ends = _ends(document, nodes, members) if skins else []
    return Joints(
        nodes=tuple(order),
        parents=np.array(parents, np.intp),
        names=_names(nodes, order),
        ends=tuple((place[nodes.parents[node]], node) for node in ends),
        skins=tuple(skins),
        notes=tuple(notes),
        dropped=tuple(dropped),
    )


def _largest(nodes: Nodes, skins: list[Skin]) -> tuple[list[Skin], list[str]]:
    """The skins of the character with most joints, and what is to be said about others."""
    groups = _characters(nodes, skins)
    if len(groups) < 2:
        return skins, []
    chosen = max(groups, key=lambda group: len({joint for skin in group for joint in skin.joints}))
    left = len(skins) - len(chosen)
    return chosen, [f"{len(groups)} characters; read is the one with most joints, {left} skins of others are not"]


def _characters(nodes: Nodes, skins: list[Skin]) -> list[list[Skin]]:
    """Skins by character: those that share a joint, hang from each other's joints or from the same node."""
    group = list(range(len(skins)))

    def first(skin: int) -> int:
        while group[skin] != skin:
            group[skin] = group[group[skin]]
            skin = group[skin]
        return skin

    owner: dict[int, int] = {}
    for i, skin in enumerate(skins):
        for node in skin.joints:
            for near in (node, int(nodes.parents[node])):
                if near >= 0:
                    group[first(i)] = first(owner.setdefault(near, i))
    found: dict[int, list[Skin]] = {}
    for i, skin in enumerate(skins):
        found.setdefault(first(i), []).append(skin)
    return list(found.values())


def _moving_trees(nodes: Nodes, animated: set[int]) -> set[int]:
    """All nodes of the trees in which something moves; all there are if nothing does."""
    roots = {node for node in nodes.with_above(animated) if nodes.parents[node] < 0}
    if not roots:
        return set(range(nodes.count))
    found: set[int] = set()
    for node in nodes.order:
        if node in roots or int(nodes.parents[node]) in found:
            found.add(node)
    return found


def _nearest(nodes: Nodes, members: set[int]) -> dict[int, int]:
    """For each node the nearest member above it, `MADE_UP` where there is none."""
    found: dict[int, int] = {}
    for node in nodes.order:
        parent = int(nodes.parents[node])
        found[node] = parent if parent in members else found.get(parent, MADE_UP)
    return found


def _rooted(nodes: Nodes, members: set[int]) -> tuple[set[int], list[str]]:
    """The members, with the nearest node above all of them where they have several roots, and what is to be said."""
    above = _nearest(nodes, members)
    tops = [node for node in nodes.order if node in members and above[node] == MADE_UP]
    if len(tops) < 2:
        return members, []
    carried = np.zeros(nodes.count, np.intp)
    carried[tops] = 1
    for node in reversed(nodes.order):
        if nodes.parents[node] >= 0:
            carried[nodes.parents[node]] += carried[node]
    shared = np.flatnonzero(carried == len(tops))
    said = f"{len(tops)} joints hang from no other joint"
    if not len(shared):
        return members, [f"{said}; a root at the origin was made up for them"]
    nearest = int(shared[np.argmax(nodes.depths[shared])])
    name = f"`{nodes.names[nearest]}`" if nodes.names[nearest] else "the node"
    return members | {nearest}, [f"{said}; {name} above them was taken as their root"]


def _ends(document: Document, nodes: Nodes, members: set[int]) -> list[int]:
    """Bare nodes that hang from joints without joints below, where chains end; and those marked as ends by us."""
    found = []
    full = nodes.with_above(int(nodes.parents[member]) for member in members)
    for node in nodes.order:
        parent = int(nodes.parents[node])
        if parent not in members or node in members or nodes.children[node]:
            continue
        given = document.list_of("nodes")[node]
        marked = isinstance(given.get("extras"), dict) and given["extras"].get("end") is True
        if (marked or parent not in full) and not {"mesh", "camera", "skin", "extensions"} & set(given):
            found.append(node)
    return found


def _names(nodes: Nodes, order: list[int]) -> tuple[str, ...]:
    """A name for each joint, all different: the file's own where it has one and no joint before has it."""
    own = [nodes.names[node].strip() if node != MADE_UP else "root" for node in order]
    return distinct([name or f"joint{i}" for i, name in enumerate(own)])


def distinct(names: list[str]) -> tuple[str, ...]:
    """The names, those that another had before with a number behind them."""
    known, taken = set(names), set[str]()
    numbers: dict[str, int] = {}
    out = []
    for name in names:
        fresh = name
        while fresh in taken or (fresh != name and fresh in known):
            numbers[name] = numbers.get(name, 1) + 1
            fresh = f"{name}_{numbers[name]}"
        taken.add(fresh)
        out.append(fresh)
    return tuple(out)
