"""Two bodies as one tree: shared bones merged, the others between or beside them [Hsieh05, sec. 4.1, fig. 6].

Pairs of one bone merge. Two chains of one length merge in order; of different lengths, the first with the first, the
last with the last, and those between spread evenly over the longer one, whose other bones stay by themselves; a
single bone merges with the first of a chain. Bones of only one body that lead from one merged bone to another stand in
series between them, those that lead to more of them higher, the source's before the target's where they lead to the
same; all others hang from what they hang from on their own body.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from understudy.skeleton import Skeleton
from understudy.transfer.correspondence import Correspondence, CorrespondenceError, Pair, is_chain

Node = tuple[int, int]
"""The joint of the source and the joint of the target that a joint of the union stands for; -1 for none."""


@dataclass(frozen=True, kw_only=True)
class Union:
    """The joints of both bodies as one tree."""

    nodes: tuple[Node, ...]
    """Parents before children."""
    parents: tuple[int, ...]
    loose: tuple[int, ...]
    """The merged joints that the two bodies hang from different merged ones: here they hang from what both agree on."""


def unite(whole: Correspondence) -> Union:
    """Put two bodies together by their map."""
    merged = sorted(
        (whole.source.index[a], whole.target.index[b]) for pair in whole.pairs for a, b in matched(whole, pair)
    )
    above = {node: _shared_above(whole, merged, node) for node in merged}
    carried = _carried(whole, merged, above)
    parent: dict[Node, Node | None] = {}
    for node in merged:
        top = above[node]
        line = [*([] if top is None else [top]), *_in_series(whole, node, carried), node]
        parent.setdefault(line[0], None)
        parent.update(dict(zip(line[1:], line[:-1], strict=True)))
    for side, skeleton in enumerate((whole.source, whole.target)):
        image = {node[side]: node for node in merged}
        for joint in range(skeleton.num_joints):
            own = image.setdefault(joint, _single(side, joint))
            if own not in parent:
                parent[own] = image[int(skeleton.parents[joint])]
    nodes = _in_order(parent)
    number = {node: i for i, node in enumerate(nodes)}
    up = [parent[node] for node in nodes]
    return Union(
        nodes=tuple(nodes),
        parents=tuple(-1 if each is None else number[each] for each in up),
        loose=tuple(number[node] for node in merged if _is_loose(whole, merged, above, node)),
    )


def matched(whole: Correspondence, pair: Pair) -> list[tuple[str, str]]:
    """The bones of a pair that become one, (source, target) each."""
    for side in ("source", "target"):
        bones = getattr(pair, side)
        if not is_chain(getattr(whole, side), bones):
            said = ", ".join(f"`{bone}`" for bone in bones)
            raise CorrespondenceError(
                f"{pair} is ambiguous for a skeleton that is both bodies: {said} of the {side} do not follow each "
                "other, so that no one of them is the bone they correspond to",
                hint="pair one of them and leave the others without a partner, or list a chain from the body outwards",
            )
    long, short = max(len(pair.source), len(pair.target)), min(len(pair.source), len(pair.target))
    spread = [(2 * i * (long - 1) + short - 1) // (2 * (short - 1)) if short > 1 else 0 for i in range(short)]
    even = list(range(short))
    a, b = (even, spread) if len(pair.source) == short else (spread, even)
    return [(pair.source[i], pair.target[j]) for i, j in zip(a, b, strict=True)]


def _single(side: int, joint: int) -> Node:
    return (joint, -1) if side == 0 else (-1, joint)


def _chains(whole: Correspondence, node: Node) -> tuple[list[int], list[int]]:
    """The joints above a merged one on each body, from the root."""
    return whole.source.chain(node[0])[:-1], whole.target.chain(node[1])[:-1]


def _shared_above(whole: Correspondence, merged: list[Node], node: Node) -> Node | None:
    """The lowest merged joint that carries a merged joint on both bodies."""
    a, b = (set(chain) for chain in _chains(whole, node))
    found = [other for other in merged if other[0] in a and other[1] in b]
    return max(found, key=lambda other: int(whole.source.depths[other[0]]), default=None)


def _is_loose(whole: Correspondence, merged: list[Node], above: dict[Node, Node | None], node: Node) -> bool:
    """Whether either body has a merged joint between this one and what both hang it from."""
    for side, chain in enumerate(_chains(whole, node)):
        lowest = next((other for joint in reversed(chain) for other in merged if other[side] == joint), None)
        if lowest != above[node]:
            return True
    return False


def _carried(whole: Correspondence, merged: list[Node], above: dict[Node, Node | None]) -> dict[Node, frozenset[Node]]:
    """For each joint of one body only that leads from a merged joint to others: those others."""
    found: dict[Node, set[Node]] = {}
    for node in merged:
        for side, chain in enumerate(_chains(whole, node)):
            top = above[node]
            between = chain[chain.index(top[side]) + 1 :] if top is not None else chain
            # Behind a merged joint that only this body has here, what follows leads to that one and not to this.
            stops = [i for i, joint in enumerate(between) if any(joint == other[side] for other in merged)]
            for joint in between[: stops[0]] if stops else between:
                found.setdefault(_single(side, joint), set()).add(node)
    return {node: frozenset(leads) for node, leads in found.items()}


def _in_series(whole: Correspondence, node: Node, carried: dict[Node, frozenset[Node]]) -> list[Node]:
    """The joints of one body only that lead to a merged joint, highest first."""
    mine = [each for each, leads in carried.items() if node in leads]
    mine.sort(key=lambda each: (-len(carried[each]), each[0] < 0, each))
    for upper, lower in pairwise(mine):
        if not carried[upper] >= carried[lower]:
            a, b = (_named(whole, each) for each in (upper, lower))
            raise CorrespondenceError(
                f"The map is ambiguous: {a} and {b} both lead to `{whole.source.names[node[0]]}`, and each to bones "
                "that the other does not lead to, so that neither can hang from the other",
                hint="pair these two, or leave some of the bones that hang from them without a partner",
            )
    return mine


def _named(whole: Correspondence, node: Node) -> str:
    side = "source" if node[0] >= 0 else "target"
    skeleton: Skeleton = getattr(whole, side)
    return f"`{skeleton.names[max(node)]}` of the {side}"


def _in_order(parent: dict[Node, Node | None]) -> list[Node]:
    """The joints with parents before children, those of the source in its own order first."""
    children: dict[Node | None, list[Node]] = {}
    for node, above in parent.items():
        children.setdefault(above, []).append(node)
    out, pending = [], sorted(children[None], reverse=True)
    while pending:
        out.append(pending.pop())
        below = children.get(out[-1], [])
        pending += sorted(below, key=lambda node: (node[0] < 0, node), reverse=True)
    return out
