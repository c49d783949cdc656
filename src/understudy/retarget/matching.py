"""Who plays whom: a target of the same structure takes over the angles; any other is mapped and aligned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from understudy.base.quaternion import Array, rotate
from understudy.correspondence.pairs import (
    Correspondence,
    CorrespondenceError,
    from_names,
    pair_same_names,
    same_structure,
)
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.retarget.actor import ActorData, morph_share
from understudy.retarget.plan import Assignment

CorrespondenceLike = Correspondence | Mapping[str, str | Sequence[str]] | str | Path
"""Which bones correspond: a correspondence, the target's bones by the names of the source's, or a map file."""

MAX_REST_POSE_ANGLE_DEGREES = 10.0
"""Largest angle between the bones of two rest poses at which the same joint angles mean the same pose."""

MIN_SURE_CONFIDENCE = 0.6
"""Confidence below which a pair of bones is mentioned."""


def match_actor(
    motion: Motion,
    target: Skeleton,
    *,
    correspondence: Correspondence | None = None,
    target_motion: Motion | None = None,
    align_by: str | None = None,
    source_pose: Array | None = None,
    target_pose: Array | None = None,
    name: str = "",
    moves: bool = True,
    joints: tuple[str, ...] | None = None,
    root_moves: bool = True,
    share: Array | None = None,
) -> Assignment:
    """The assignment of a target to somebody else's motion.

    Args:
        motion: What the source does.
        target: The character that is to do it.
        correspondence: Which bones correspond; found by names and shape if not given.
        target_motion: Something that the target does, where its skeleton alone does not show how it stands.
        align_by: "direction" or "stance"; chosen by how the two stand if not given.
        source_pose: (J, 4) local rotations of the source's reference pose; chosen if not given.
        target_pose: (J, 4) those of the target's.
        name: What contacts and constraints call the actor.
        moves: False for an actor that keeps its motion.
        joints: The joints that may turn; all if not given.
        root_moves: Whether the body as a whole may be shifted.
        share: (F,) how much of the target a body is at each frame that changes while it moves.
    """
    rest = {"name": name, "moves": moves, "joints": joints, "root_moves": root_moves, "share": share}
    chosen = align_by is not None or source_pose is not None or target_pose is not None
    if correspondence is None and same_structure(motion.skeleton, target):
        if not chosen and rest_poses_apart(motion.skeleton, target)[0] <= MAX_REST_POSE_ANGLE_DEGREES:
            return Assignment(motion=motion, target=target, **rest)  # type: ignore[arg-type]
        correspondence = pair_same_names(motion.skeleton, target)
    # A target of the same structure needs none of this.
    from understudy.correspondence.alignment import align
    from understudy.correspondence.suggest import suggest

    if correspondence is None:
        correspondence = suggest(motion.skeleton, target, source_motion=motion, target_motion=target_motion)
    alignment = align(
        correspondence,
        source_motion=motion,
        target_motion=target_motion,
        source_pose=source_pose,
        target_pose=target_pose,
        mode=align_by,
    )
    return Assignment(motion=motion, target=target, alignment=alignment, **rest)  # type: ignore[arg-type]


def assign(
    data: ActorData, folder: Path = Path(), correspondence: CorrespondenceLike | None = None
) -> tuple[Assignment, list[str]]:
    """An actor's assignment, and how its target was matched with the source, a sentence each.

    Args:
        data: The actor.
        folder: What its map file is named from.
        correspondence: Which bones correspond; the actor's own map, or found, if not given.
    """
    spec = data.spec
    known = _correspondence(data, spec.map if correspondence is None else correspondence, folder)
    try:
        assignment = match_actor(
            data.motion,
            data.target,
            correspondence=known,
            target_motion=data.target_motion,
            align_by=spec.align,
            source_pose=data.references[0],
            target_pose=data.references[1],
            name=spec.name,
            moves=spec.moves,
            joints=spec.joints,
            root_moves=spec.root_moves,
            share=data.share if spec.morph is None else morph_share(data.motion, spec.morph),
        )
    except CorrespondenceError as error:
        raise CorrespondenceError(f"{spec.source} onto {spec.target}: {error.message}", hint=error.hint) from None
    return assignment, _remarks(assignment, data)


def _correspondence(data: ActorData, given: CorrespondenceLike | None, folder: Path) -> Correspondence | None:
    """A correspondence in whatever form it is given; None for one that says no more than that names are the same."""
    if given is None:
        return None
    from understudy.correspondence.map_file import pairs_only_namesakes, read_map

    if isinstance(given, str | Path):
        given = read_map(folder / given, data.motion.skeleton, data.target)
    elif isinstance(given, Mapping):
        given = from_names(data.motion.skeleton, data.target, given)
    return None if pairs_only_namesakes(given) else given


def _remarks(assignment: Assignment, data: ActorData) -> list[str]:
    """How the bones of two characters were matched, in a sentence or two."""
    if assignment.alignment is None or is_driven(assignment):
        return []
    pairs = assignment.alignment.correspondence.pairs
    how = "each moving from its own stance" if assignment.alignment.stance else "bones pointing alike"
    remarks = [f"{data.spec.target or data.spec.source}: {len(pairs)} pairs of bones correspond, {how}"]
    unsure = sorted((pair for pair in pairs if pair.confidence < MIN_SURE_CONFIDENCE), key=lambda pair: pair.confidence)
    if unsure:
        remarks.append(
            f"least sure is {unsure[0]} ({unsure[0].reason}); `understudy map` writes the map down, to be changed and "
            "given with --map"
        )
    return remarks


def is_driven(assignment: Assignment) -> bool:
    """Whether nothing of a target corresponds but the body as a whole, so that features have to drive it."""
    return assignment.alignment is not None and len(assignment.alignment.correspondence.pairs) == 1


def rest_poses_apart(source: Skeleton, target: Skeleton) -> tuple[float, str]:
    """Degrees between the bones of two rest poses of the same joints where they differ most, and to which joint.

    Seen from the joint that each hangs from, as the same angles turn them.
    """
    inner, outer = (rotate(s.rest[s.parents[1:]], s.offsets[1:]) for s in (source, target))
    sizes = np.linalg.norm(inner, axis=-1) * np.linalg.norm(outer, axis=-1)
    long = sizes > 1e-2 * sizes.max(initial=0.0)
    if not long.any():
        return 0.0, ""
    cosines = np.einsum("ji,ji->j", inner, outer) / np.where(long, sizes, 1.0)
    angles = np.where(long, np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))), 0.0)
    worst = int(np.argmax(angles))
    return float(angles[worst]), target.names[worst + 1]
