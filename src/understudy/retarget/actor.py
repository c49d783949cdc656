"""Actors: what a source does, who is to do it, and how the two are matched.

A target of the same structure takes over the angles; any other is mapped and aligned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from understudy.base.errors import FileError, MotionError, OptionError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array, rotate
from understudy.correspondence.detached import attach, change_parents, describe_detached_feet
from understudy.correspondence.pairs import (
    Correspondence,
    CorrespondenceError,
    from_names,
    pair_same_names,
    same_structure,
)
from understudy.figure.contacts import Contact
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Skeleton
from understudy.io import Clip, read
from understudy.io.files import split_clip
from understudy.io.guess import find_reference_frame
from understudy.retarget.plan import Assignment
from understudy.retarget.spec import ActorSpec, Reading, Scale
from understudy.samples import Prop, Scene, character, characters, motion, motions

PARTS = ("legs", "arms", "trunk", "head", "feet", "hands")
"""Parts of the body that can be scaled by name. Legs have their feet with them, arms their hands, unless given."""


def parse_scale(text: str) -> Scale:
    """A scale as the command line has it: `0.6`, `legs=1.3`, `arms=0.8,legs=1.2,Head=1.1`, `0.8,legs=1`."""
    factors: dict[str, float] = {}
    for part in re.split(r"\s*,\s*", text.strip()):
        name, _, number = part.rpartition("=")
        name = name.strip() or ("" if "=" in part else "all")
        try:
            if not name or name in factors:
                raise ValueError
            factors[name] = float(number)
        except ValueError:
            raise OptionError(
                f"Expected a scale such as 0.6, legs=1.3 or arms=0.8,legs=1.2; got `{text}`",
                hint=f"parts are {', '.join(PARTS)}, or any joint by name",
            ) from None
    return factors["all"] if list(factors) == ["all"] else factors


def scaled(skeleton: Skeleton, scale: Scale) -> Skeleton:
    """The character with its bones scaled; what is named more closely counts: joints before parts before `all`."""
    factors = {"all": scale} if isinstance(scale, int | float) else dict(scale)
    for name, factor in factors.items():
        if not (np.isfinite(factor) and factor > 0.0):
            raise OptionError(f"Expected a scale above zero, got {name} = {factor:g}")
        if name != "all" and name not in PARTS and name not in skeleton.index:
            known = [*PARTS, *skeleton.names]
            raise UnknownNameError(
                f"Scale `{name}` names neither a part of the body nor a joint; {nearest_names(name, known)}",
                hint=f"parts are {', '.join(PARTS)}",
            )
    sizes = np.full(skeleton.num_joints, float(factors.get("all", 1.0)))
    for part in PARTS:
        if part in factors and part not in skeleton.index:
            sizes[part_bones(skeleton, part)] = factors[part]
    for name, factor in factors.items():
        if name in skeleton.index:
            sizes[skeleton.index[name]] = factor
    return skeleton.scaled(sizes)


def part_bones(skeleton: Skeleton, part: str) -> np.ndarray:
    """(N,) the joints that the bones of a part of the body lead to."""
    found = roles(skeleton)
    if part in ("head", "trunk"):
        chosen = _head(skeleton, found) if part == "head" else _trunk(skeleton, found)
    else:
        top = {"legs": "upper_leg", "arms": "upper_arm", "feet": "foot", "hands": "hand"}[part]
        tops = [found[f"{side}_{top}"] for side in ("left", "right") if f"{side}_{top}" in found]
        chosen = np.zeros(skeleton.num_joints, bool)
        for joint in tops:
            chosen |= skeleton.below(joint)
            # The bone that leads to a hip or shoulder is the trunk's, the one to an ankle or wrist the limb's.
            chosen[joint] = False
    if not chosen.any():
        raise UnknownNameError(
            f"The body has no {part} that can be told by the names of its joints",
            hint="name joints instead: --scale JOINT=FACTOR; `understudy info` lists them",
        )
    return np.flatnonzero(chosen)


def _head(skeleton: Skeleton, found: dict[str, int]) -> np.ndarray:
    chosen = np.zeros(skeleton.num_joints, bool)
    top = found.get("neck", found.get("head"))
    if top is not None:
        chosen |= skeleton.below(top)
        # A neck's own bone belongs to the trunk; a head without a neck is scaled with its bone.
        chosen[top] = "neck" not in found
    return chosen


def _trunk(skeleton: Skeleton, found: dict[str, int]) -> np.ndarray:
    """From the hips up to the neck, out to the hip joints and the shoulders."""
    chosen = np.zeros(skeleton.num_joints, bool)
    ends = [found[name] for name in ("neck", "head", "chest") if name in found][:1]
    ends += [found[f"{s}_{p}"] for s in ("left", "right") for p in ("upper_leg", "upper_arm") if f"{s}_{p}" in found]
    hips = found.get("hips")
    for joint in ends:
        path = skeleton.chain(joint)
        chosen[path[path.index(hips) + 1 :] if hips in path else path[1:]] = True
    return chosen


SAMPLE = "sample:"
"""What stands before the name of a sample where a file could be; an actor of it follows after a slash."""


Source = str | Path | Clip | Motion
"""What is performed: a file, a sample as `sample:NAME`, a clip or a motion."""

Target = str | Path | Clip | Skeleton
"""Who performs it: a file, a sample, a clip or a skeleton."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ActorData:
    """One actor's motion and target, with the file whose conventions the result is written in."""

    spec: ActorSpec
    motion: Motion
    target: Skeleton
    clip: Clip
    """What the result is written as: the target's file, or the source's where it is only scaled."""
    target_motion: Motion | None = None
    """What the target does in its own file, which shows how it stands."""
    references: tuple[Array | None, Array | None] = (None, None)
    """(J, 4) local rotations of the reference poses of source and target that are asked for."""
    start: float = 0.0
    """Seconds of the file's own clock at which the motion begins."""
    contacts: tuple[Contact, ...] | None = None
    """Those that a sample brings; None for a file."""
    props: tuple[Prop, ...] = ()
    share: Array | None = None
    """(F,) for a body that changes while it moves: how much of the target it is at each frame."""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<ActorData {self.spec.name or 'unnamed'}: {self.motion!r} to {self.target!r}>"

    def on_given_target(self, motion: Motion) -> Motion:
        """A result on the target's skeleton as it was given: feet attached for the solve are detached again."""
        given = self.clip.skeleton
        return motion if attach(given) is given else change_parents(motion, given)


def load(spec: ActorSpec, reading: Reading, folder: Path = Path()) -> ActorData:
    """Read the files that an actor names."""
    clip, contacts, props = _source(spec.source, reading, folder)
    written, own = (None, None) if spec.target is None else _target(spec.target, reading, folder)
    poses = spec.source_reference, spec.target_reference
    return _actor(spec, reading, clip, written, own, poses=poses, contacts=contacts, props=props)


def in_memory(
    spec: ActorSpec,
    reading: Reading,
    source: Source,
    target: Target | None,
    *,
    target_motion: Motion | None = None,
    poses: tuple[Array | int | None, Array | int | None] = (None, None),
) -> ActorData:
    """An actor from whatever is at hand: files, samples, clips, motions and skeletons.

    Args:
        spec: What to call the actor, and its scale.
        reading: How files are read and motions are cut.
        source: The motion.
        target: The character; None where the source's own is scaled.
        target_motion: What the target does, in place of its own file's motion.
        poses: The reference poses of source and target: (J, 4) local rotations, or frames of their motions.
    """
    contacts: tuple[Contact, ...] | None = None
    props: tuple[Prop, ...] = ()
    if isinstance(source, Clip | Motion):
        clip = Clip.of(source)
    else:
        clip, contacts, props = _source(str(source), reading, Path())
    written, own = None, None
    if isinstance(target, Clip):
        written, own = _without_motion(target), target.motion
    elif isinstance(target, Skeleton):
        written = Clip.of(target)
    elif target is not None:
        written, own = _target(str(target), reading, Path())
    own = own if target_motion is None else target_motion
    return _actor(spec, reading, clip, written, own, poses=poses, contacts=contacts, props=props)


def label_of(thing: Source | Target) -> str:
    """What notes and errors call a source or target."""
    if isinstance(thing, Clip):
        thing = thing.skeleton if thing.motion is None else thing.motion
    if isinstance(thing, Motion):
        return thing.name or thing.skeleton.name or "the motion"
    if isinstance(thing, Skeleton):
        return thing.name or "the target"
    return str(thing)


def _actor(
    spec: ActorSpec,
    reading: Reading,
    clip: Clip,
    target_clip: Clip | None,
    target_motion: Motion | None,
    *,
    poses: tuple[Array | int | None, Array | int | None],
    contacts: tuple[Contact, ...] | None,
    props: tuple[Prop, ...],
) -> ActorData:
    """An actor from its clips: the motion cut and resampled, feet attached, the target scaled."""
    if clip.motion is None:
        raise MotionError(f"{spec.source}: holds a character without motion; there is nothing to perform")
    moved, start, notes = _cut(clip.motion, reading, spec.source)
    notes = [*_remarks(clip, spec.source), *notes]
    written, target, own = replace(clip, motion=None), moved.skeleton, target_motion
    if target_clip is not None:
        written, target = target_clip, target_clip.skeleton
        if spec.target != spec.source:
            notes += _remarks(written, spec.target or spec.source)
    if attach(target) is not target:
        notes.append(f"{spec.target or spec.source}: {describe_detached_feet(target)}")
        target = attach(target)
        own = own if own is None or own.skeleton is target else change_parents(own, target)
        if target_clip is None:
            moved = change_parents(moved, target)
    references = (
        _reference(clip.motion, poses[0], spec.source),
        _reference(own, poses[1], spec.target or spec.source),
    )
    if spec.scale is not None:
        target = scaled(target, spec.scale)
        own = None if own is None else replace(own, skeleton=target)
    if contacts is not None:
        contacts = shifted(contacts, start, moved.duration)
    return ActorData(
        spec=spec, motion=moved, target=target, clip=written, target_motion=own, references=references,
        start=start, contacts=contacts, props=props, notes=tuple(notes),
    )  # fmt: skip


def morph_share(motion: Motion, morph: tuple[float, float]) -> Array:
    """(F,) how much of the target a body is that turns into it over some seconds."""
    first, last = morph
    if last < 0.0 or first > motion.duration:
        raise OptionError(
            f"The morph from {first:g} to {last:g} s is outside the motion, which lasts {motion.duration:g} s"
        )
    if first == last:
        return (motion.times >= first).astype(float)
    return np.clip((motion.times - first) / (last - first), 0.0, 1.0)


def _source(name: str, reading: Reading, folder: Path) -> tuple[Clip, tuple[Contact, ...] | None, tuple[Prop, ...]]:
    if name.startswith(SAMPLE):
        scene, actor = sample_scene(name)
        mine = tuple(c for c in scene.contacts if c.actor in ("", actor))
        return Clip.of(scene.actors[actor]), mine, scene.props
    clip = read(
        _path(name, folder), unit=reading.unit, up=reading.up, lenient=reading.lenient,
        skeleton=_beside(reading.skeleton, folder),
    )  # fmt: skip
    return clip, None, ()


def sample_scene(name: str) -> tuple[Scene, str]:
    """A sample by `sample:NAME` or `sample:NAME/ACTOR`, and whose part is meant: the first actor's if not said."""
    title, _, actor = name.removeprefix(SAMPLE).partition("/")
    if title in characters() and title not in motions():
        raise MotionError(f"{name}: is a character without motion; there is nothing to perform")
    scene = motion(title)
    actor = actor or next(iter(scene.actors))
    if actor not in scene.actors:
        raise UnknownNameError(f"Sample `{title}` has no actor `{actor}`; {nearest_names(actor, scene.actors)}")
    return scene, actor


def _reference(motion: Motion | None, frame: Array | int | None, name: str) -> Array | None:
    """(J, 4) the local rotations of a frame of a file, counted as the file does; or those that are given."""
    if frame is None or isinstance(frame, np.ndarray):
        return frame
    if motion is None or not 0 <= frame < motion.num_frames:
        there = "it holds no motion" if motion is None else f"it has {motion.num_frames}, counted from 0"
        raise MotionError(f"{name}: no frame {frame} to take the reference pose from; {there}")
    return motion.rotations[frame]


def _target(name: str, reading: Reading, folder: Path) -> tuple[Clip, Motion | None]:
    """The target's file without its motion, and that motion."""
    if name.startswith(SAMPLE):
        title = name.removeprefix(SAMPLE).partition("/")[0]
        if title in motions():
            scene, actor = sample_scene(name)
            return Clip.of(scene.actors[actor].skeleton), scene.actors[actor]
        if title not in characters():
            known = [*characters(), *motions()]
            raise UnknownNameError(f"There is no sample `{title}`; {nearest_names(title, known)}")
        return Clip.of(character(title)), None
    clip = _read_target(
        _path(name, folder), _beside(reading.target_skeleton, folder), reading,
        tuple(_stamp(each) for each in (split_clip(folder / name)[0], _beside(reading.target_skeleton, folder))),
    )  # fmt: skip
    return _without_motion(clip), clip.motion


def _without_motion(clip: Clip) -> Clip:
    """A target's file without its own movement, whose numbers must not be written."""
    layout = clip.layout
    if getattr(layout, "values", None) is not None:
        layout = replace(layout, values=None)
    return replace(clip, motion=None, layout=layout)


@lru_cache(maxsize=2)
def _read_target(path: Path, skeleton: str | None, reading: Reading, _stamps: tuple[tuple[int, int], ...]) -> Clip:
    """A target's file; for many motions onto one target it is read, and its skeleton analysed, once."""
    return read(
        path, unit=reading.target_unit, up=reading.target_up, lenient=reading.lenient, skeleton=skeleton
    )  # fmt: skip


def _stamp(path: str | Path | None) -> tuple[int, int]:
    """What tells that a file has changed: when it was written, and its size."""
    if path is None or not Path(path).is_file():
        return 0, 0
    found = Path(path).stat()
    return found.st_mtime_ns, found.st_size


def _path(name: str, folder: Path) -> Path:
    path = folder / name
    if not split_clip(path)[0].exists():
        known = sorted(each.name for each in path.parent.glob("*") if each.is_file())
        hint = f"files there: {', '.join(known[:5])}" if known else ""
        raise FileError(str(path), None, "there is no such file", hint=hint)
    return path


def _beside(name: str | None, folder: Path) -> str | None:
    return None if name is None else str(folder / name)


def _cut(moved: Motion, reading: Reading, name: str) -> tuple[Motion, float, list[str]]:
    """The frames asked for at the rate asked for, the second they begin at, and what there is to say."""
    frames = np.arange(moved.num_frames)[reading.chosen() or slice(None)]
    notes = []
    found = None if reading.keep_reference else find_reference_frame(moved)
    if found is not None and found in frames:
        frames = frames[frames != found]
        notes.append(f"{name}: frame {found} only shows a reference pose and is left out (--keep-reference keeps it)")
    if len(frames) == 0:
        raise MotionError(f"{name}: no frame is left of {moved.num_frames}", hint="frames are counted from 0, as A:B")
    start = float(frames[0] / moved.fps)
    if len(frames) < moved.num_frames:
        moved = moved[frames]
    if reading.fps is not None:
        moved = moved.resampled(reading.fps)
    return moved, start, notes


def shifted(contacts: tuple[Contact, ...], start: float, duration: float) -> tuple[Contact, ...]:
    """Contacts on the clock of a motion that begins at another second, those outside it left out."""
    out = []
    for contact in contacts:
        first, last = contact.start - start, contact.end - start
        if last >= 0.0 and first <= duration:
            out.append(replace(contact, start=max(first, 0.0), end=min(last, duration)))
    return tuple(out)


def _remarks(clip: Clip, name: str) -> list[str]:
    """What a user should know about a file: what was guessed and what was left out."""
    said = [f"{name}: {sentence}" for sentence in clip.dropped]
    known = clip.unit_reason.endswith(("given", "by definition of glTF"))
    if clip.format and clip.unit_reason and not known:
        said.append(f"{name}: unit {clip.unit_reason}")
    return said


def clip_of(actor: ActorData, motion: Motion) -> Clip:
    """A result in the conventions of the file that its character came from, called as the source's motion is."""
    named = replace(actor.on_given_target(motion), name=actor.motion.name)
    return replace(actor.clip, skeleton=named.skeleton, motion=named, notes=(), dropped=())


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
    return assignment, _match_notes(assignment, data)


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


def _match_notes(assignment: Assignment, data: ActorData) -> list[str]:
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
