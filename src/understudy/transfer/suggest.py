"""Which bones of one character play which bones of another, suggested from names, tree and proportions."""

from __future__ import annotations

import numpy as np

from understudy.motion import Motion
from understudy.skeleton import Skeleton
from understudy.suggestion.match import match
from understudy.suggestion.names import by_names
from understudy.suggestion.pairs import stance
from understudy.suggestion.parts import Plan
from understudy.suggestion.place import by_place
from understudy.transfer.correspondence import Correspondence, CorrespondenceError, Pair

HINT = (
    "write a map to start from with `understudy map SOURCE TARGET -o map.toml`, add the pairs in an editor, and give "
    "it with `--map map.toml`"
)


def suggest(
    source: Skeleton, target: Skeleton, *, source_motion: Motion | None = None, target_motion: Motion | None = None
) -> Correspondence:
    """The correspondence of two characters: pairs of bones, each with a confidence and a reason.

    Names are believed first; where they say nothing, the tree, its symmetry, its proportions and the directions of
    its bones tell trunk, limbs and sides.

    Args:
        source: The character that moves.
        target: The character that is to move.
        source_motion: A motion of the source, to see how it stands where its rest pose is no pose.
        target_motion: The same of the target.
    """
    if source.names == target.names and np.array_equal(source.parents, target.parents):
        pairs = [Pair(source=(n,), target=(n,), reason="the same bone of the same skeleton") for n in source.names]
    else:
        one, other = take_apart(source, source_motion), take_apart(target, target_motion)
        pairs = match(one, other)
        if len(pairs) == 1 and min(source.num_joints, target.num_joints) > 1:
            raise _nothing(one, other)
    return Correspondence(source=source, target=target, pairs=tuple(pairs))


def take_apart(skeleton: Skeleton, motion: Motion | None = None) -> Plan:
    """The parts of a body, by names if they tell arms and legs, else by their place in the body."""
    how = stance(skeleton, motion)
    return by_names(skeleton, how) or by_place(skeleton, how)


def _nothing(one: Plan, other: Plan) -> CorrespondenceError:
    return CorrespondenceError(
        f"Nothing but the root corresponds: the source is {described(one)}; the target is {described(other)}", hint=HINT
    )


def described(plan: Plan) -> str:
    """A body in a few words: what kind it is and what it has."""
    kinds: dict[str, int] = {}
    for pair in plan.limbs:
        kinds[pair[0].kind] = kinds.get(pair[0].kind, 0) + 1
    has = [f"{count} {'pair' if count == 1 else 'pairs'} of {kind}s" for kind, count in kinds.items()]
    has += [part for part in ("spine", "neck", "head", "tail") if part in plan.trunk]
    lacks = [part for part in ("spine", "head") if part not in plan.trunk] + ([] if plan.limbs else ["limbs in pairs"])
    name = f" `{plan.skeleton.name}`" if plan.skeleton.name else ""
    said = f"{plan.kind}{name} of {plan.skeleton.num_joints} bones with {', '.join(has) or 'no part that can be told'}"
    return said + (f", without {', '.join(lacks)}" if lacks else "")
