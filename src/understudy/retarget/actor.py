"""Actors: what is asked of a source and its target, their loading and their matching.

A target of the same structure gets the source's joint angles. Any other target is mapped and aligned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from understudy.base.errors import FileError, MotionError, OptionError, UnknownNameError, nearest_names
from understudy.base.files import record_opened
from understudy.base.quaternion import Array, rotate
from understudy.base.records import record
from understudy.correspondence.detached import attach, change_parents, describe_detached_feet, find_waist
from understudy.correspondence.neutral_pose import turn_feet_back
from understudy.correspondence.pairs import (
    Correspondence,
    CorrespondenceError,
    from_names,
    pair_same_names,
    same_structure,
)
from understudy.figure.contacts import Contact
from understudy.figure.kinematics import with_bones_to_joints
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io import Clip, read
from understudy.io.clip import check_fps, notes_on_clips, split_clip
from understudy.io.guess import find_reference_frame
from understudy.retarget.plan import Assignment
from understudy.retarget.scale import Scale, scale_skeleton

if TYPE_CHECKING:
    from understudy.figure.skin import Mesh
    from understudy.samples import Prop, Scene


@record(eq=True)
class Reading:
    """How the files are read."""

    unit: str | None = None
    """Unit of the sources: m, dm, cm, mm, inch, foot, cmu, or metres as a number. Guessed if not given."""
    up: str | None = None
    """Up axis of the sources: X, Y or Z. Guessed if not given."""
    height: float | None = None
    """Height of the sources' bodies, metres from sole to crown, instead of a unit."""
    skeleton: str | None = None
    """The file with the sources' skeleton, if the format stores it in a separate file (AMC)."""
    target_unit: str | None = None
    """Unit of the targets."""
    target_up: str | None = None
    """Up axis of the targets."""
    target_height: float | None = None
    """Height of the targets, instead of a unit."""
    target_skeleton: str | None = None
    """The file with the targets' skeleton."""
    lenient: bool = False
    """Read a damaged motion up to the damage."""
    keep_reference: bool = False
    """Keep a first frame that only shows a reference pose; it is removed otherwise."""
    frames: str | None = None
    """The frames of the sources to read, as A:B, counted from 0 in the file, without frame B."""
    fps: float | None = None
    """Frames a second of the solve and of the result; the source's if not given."""

    def __post_init__(self) -> None:
        if self.fps is not None:
            check_fps(self.fps)
        self.chosen()

    def chosen(self) -> slice | None:
        """The frames as a slice."""
        if self.frames is None:
            return None
        match = re.fullmatch(r"\s*(-?\d+)?\s*:\s*(-?\d+)?\s*", self.frames)
        if not match:
            raise OptionError(f"Expected frames as A:B, such as 10:50, 10: or :50; got `{self.frames}`")
        start, stop = (int(text) if text else None for text in match.groups())
        return slice(start, stop)


FLOOR_ROOTS = ("follow", "stay")
"""What a root on the floor does."""


@record
class ActorSpec:
    """A source and the target that performs its motion."""

    source: str
    """The file with the motion, relative to the recipe; or a sample as sample:NAME."""
    target: str | None = None
    """The file with the character that performs it, of any structure. Give a scale instead, or both."""
    scale: Scale | None = None
    """Size of the target, or of the source's character if there is no target: one factor (0.6) or factors of parts
    ({ legs = 1.3, head = 1.1 }; a joint's name scales the bone that ends at it)."""
    name: str = ""
    """What contacts and constraints call this actor; required for several actors."""
    moves: bool = True
    """False for an actor that keeps its motion while others react to it."""
    joints: tuple[str, ...] | None = None
    """The joints that the solver may turn; all if not given."""
    root_moves: bool = True
    """Whether the solver may shift the whole body."""
    morph: tuple[float, float] | None = None
    """The seconds at which the source's body begins to change into the target's and at which it has changed; the
    target's body throughout if not given."""
    map: str | None = None
    """The file with the corresponding bones, as written by `understudy map`; they are matched if not given."""
    align: str | None = None
    """How source and target are aligned: `direction` (bones point in the source's directions) or `stance` (each moves
    relative to its own neutral pose); chosen by the similarity of their poses if not given."""
    source_reference: int | None = None
    """The frame of the source's file that is its reference pose; made from its whole motion if not given."""
    target_reference: int | None = None
    """The frame of the target's file that is its reference pose."""
    floor_root: str = "follow"
    """What the target's root does if it lies on the floor, as in rigs for games: `follow` the body by place and
    heading, or `stay` where it is at rest. The pelvis plays the hips in both cases."""

    def __post_init__(self) -> None:
        if self.floor_root not in FLOOR_ROOTS:
            raise OptionError(f"Expected floor_root, one of {', '.join(FLOOR_ROOTS)}; got `{self.floor_root}`")
        if self.morph is not None and not self.morph[0] <= self.morph[1]:
            raise OptionError(f"A morph must end after it starts; got {self.morph[0]:g} to {self.morph[1]:g} s")


SAMPLE = "sample:"
"""Prefix of the name of a sample in place of a file; `sample:NAME/ACTOR` names one of its actors."""


Source = str | Path | Clip | Motion
"""The motion to perform: a file, a sample as `sample:NAME`, a clip or a motion."""

Target = str | Path | Clip | Skeleton
"""The character that performs it: a file, a sample, a clip or a skeleton."""


@record
class ActorData:
    """One actor's motion and target, with the file whose conventions the result keeps."""

    spec: ActorSpec
    motion: Motion
    target: Skeleton
    clip: Clip
    """The target's file, or the source's without a target; the result is written in its conventions."""
    target_motion: Motion | None = None
    """The motion in the target's file; it shows the target's neutral pose."""
    shown_motion: Motion | None = None
    """All of the motion in the source's file; it shows the source's neutral pose, whichever frames are performed."""
    references: tuple[Array | None, Array | None] = (None, None)
    """(J, 4) local rotations of the requested reference poses of source and target."""
    start: float = 0.0
    """Time in the file at which the motion begins, seconds."""
    contacts: tuple[Contact, ...] | None = None
    """The contacts of a sample; None for a file."""
    props: tuple[Prop, ...] = ()
    share: Array | None = None
    """(F,) blend from source (0) to target (1) body at each frame; None for the target body throughout."""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<ActorData {self.spec.name or 'unnamed'}: {self.motion!r} to {self.target!r}>"

    def on_given_target(self, motion: Motion) -> Motion:
        """A result on the target's skeleton as given: detached feet as in its file, a root on the floor put there."""
        if self.spec.target is not None and not same_structure(self.motion.skeleton, self.target):
            from understudy.correspondence.carry import put_on_floor

            motion = put_on_floor(motion, self.spec.floor_root)
        return self.on_given_tree(motion)

    def on_given_tree(self, motion: Motion) -> Motion:
        """A result on the target's skeleton as given, with the target's size."""
        skeleton = self.clip.skeleton
        if attach(skeleton) is skeleton:
            return motion
        if self.spec.scale is not None and find_waist(skeleton):
            skeleton = scale_skeleton(skeleton, self.spec.scale)
        return change_parents(motion, skeleton)


def load(spec: ActorSpec, reading: Reading, folder: Path = Path()) -> ActorData:
    """Load an actor from the files that its spec names."""
    clip, contacts, props = _read_source(spec.source, reading, folder)
    target_clip, target_motion = (None, None) if spec.target is None else _read_target(spec.target, reading, folder)
    poses = spec.source_reference, spec.target_reference
    return _make_actor(spec, reading, clip, target_clip, target_motion, poses=poses, contacts=contacts, props=props)


def in_memory(
    spec: ActorSpec,
    reading: Reading,
    source: Source,
    target: Target | None,
    *,
    target_motion: Motion | None = None,
    poses: tuple[Array | int | None, Array | int | None] = (None, None),
) -> ActorData:
    """Load an actor from files, samples, clips, motions or skeletons.

    Args:
        spec: The name and scale of the actor.
        reading: How files are read, and the frames to keep.
        source: The motion.
        target: The character; None to scale the source's.
        target_motion: A motion of the target, in place of the one in its file.
        poses: The reference poses of source and target: (J, 4) local rotations, or frames of their motions.
    """
    contacts: tuple[Contact, ...] | None = None
    props: tuple[Prop, ...] = ()
    if isinstance(source, Clip | Motion):
        clip = Clip.of(source)
    else:
        clip, contacts, props = _read_source(str(source), reading, Path())
    target_clip, file_motion = None, None
    if isinstance(target, Clip):
        target_clip, file_motion = _without_motion(target), target.motion
    elif isinstance(target, Skeleton):
        target_clip = Clip.of(target)
    elif target is not None:
        target_clip, file_motion = _read_target(str(target), reading, Path())
    target_motion = file_motion if target_motion is None else target_motion
    return _make_actor(spec, reading, clip, target_clip, target_motion, poses=poses, contacts=contacts, props=props)


def label_of(subject: Source | Target) -> str:
    """The label of a source or target in notes and errors."""
    if isinstance(subject, Clip):
        subject = subject.skeleton if subject.motion is None else subject.motion
    if isinstance(subject, Motion):
        return subject.name or subject.skeleton.name or "the motion"
    if isinstance(subject, Skeleton):
        return subject.name or "the target"
    return str(subject)


def _make_actor(
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
    """Make an actor from its clips: trim and resample the motion, attach feet, scale the target."""
    if clip.motion is None:
        raise MotionError(f"{spec.source}: holds a character without motion; there is nothing to perform")
    clip = _with_roles(clip, clip.motion)
    motion = clip.motion
    assert motion is not None
    target_clip = None if target_clip is None else _with_roles(target_clip, target_motion)
    target_motion = None if target_motion is None else _with_roles(Clip.of(target_motion), target_motion).motion
    body = motion.skeleton
    if find_waist(body) or (target_clip is not None and attach(body) is not body):
        motion = change_parents(motion, attach(body))
    motion, feet_notes = _with_feet_turned_back(with_bones_to_joints(motion))
    source_motion, start, trim_notes = _trim(motion, reading, spec.source)
    notes = [*_file_notes(clip, spec.source), *trim_notes, *(f"{spec.source}: {note}" for note in feet_notes)]
    notes += [f"{spec.source}: {sentence}" for sentence in notes_on_clips(clip)]
    target_name = spec.target or spec.source
    written_clip, target = replace(clip, motion=None), source_motion.skeleton
    if target_clip is not None:
        written_clip, target = target_clip, target_clip.skeleton
        if spec.target != spec.source:
            notes += _file_notes(target_clip, target_name)
    if attach(target) is not target:
        notes.append(f"{target_name}: {describe_detached_feet(target)}")
        target = attach(target)
        if target_motion is not None and target_motion.skeleton is not target:
            target_motion = change_parents(target_motion, target)
        if target_clip is None:
            source_motion = change_parents(source_motion, target)
    references = _pose(motion, poses[0], spec.source), _pose(target_motion, poses[1], target_name)
    target_motion = None if target_motion is None else turn_feet_back(_without_reference(target_motion))[0]
    if spec.scale is not None:
        target = scale_skeleton(target, spec.scale)
        target_motion = None if target_motion is None else replace(target_motion, skeleton=target)
    if contacts is not None:
        contacts = shift_contacts(contacts, start, source_motion.duration)
    return ActorData(
        spec=spec, motion=source_motion, target=target, clip=written_clip, target_motion=target_motion,
        shown_motion=_without_reference(motion), references=references, start=start, contacts=contacts,
        props=props, notes=tuple(notes),
    )  # fmt: skip


def _with_roles(clip: Clip, motion: Motion | None) -> Clip:
    """A clip whose skeleton knows the roles of its joints, also where its names do not give them."""
    from understudy.correspondence.by_name import names_tell_parts

    if clip.skeleton.role_joints or names_tell_parts(clip.skeleton, motion):
        return clip
    from understudy.correspondence.by_shape import with_roles

    skeleton = with_roles(clip.skeleton, motion)
    if skeleton is clip.skeleton:
        return clip
    return replace(
        clip, skeleton=skeleton, motion=None if clip.motion is None else replace(clip.motion, skeleton=skeleton)
    )


def morph_share(motion: Motion, morph: tuple[float, float]) -> Array:
    """(F,) blend from source (0) to target (1) body for a morph between two times, seconds."""
    start, end = morph
    if end < 0.0 or start > motion.duration:
        raise OptionError(
            f"The morph from {start:g} to {end:g} s is outside the motion, which lasts {motion.duration:g} s"
        )
    if start == end:
        return (motion.times >= start).astype(float)
    return np.clip((motion.times - start) / (end - start), 0.0, 1.0)


def _read_source(
    name: str, reading: Reading, folder: Path
) -> tuple[Clip, tuple[Contact, ...] | None, tuple[Prop, ...]]:
    if name.startswith(SAMPLE):
        scene, actor = sample_scene(name)
        contacts = tuple(c for c in scene.contacts if c.actor in ("", actor))
        motion = scene.actors[actor]
        return Clip(skeleton=motion.skeleton, motion=motion, make_skin=_make_sample_skin), contacts, scene.props
    clip = read(
        _existing_path(name, folder), unit=reading.unit, up=reading.up, lenient=reading.lenient,
        skeleton=_relative_to(folder, reading.skeleton), height=reading.height,
    )  # fmt: skip
    return clip, None, ()


def _make_sample_skin(skeleton: Skeleton) -> tuple[Mesh, ...]:
    """The skin of a sample, which is made only where it is shown or written."""
    from understudy.samples import skin

    return skin(skeleton)


def sample_scene(name: str) -> tuple[Scene, str]:
    """The scene of `sample:NAME` or `sample:NAME/ACTOR`, and the name of the actor: the first if not given."""
    from understudy.samples import characters, motion, motions

    title, _, actor = name.removeprefix(SAMPLE).partition("/")
    if title in characters() and title not in motions():
        raise MotionError(f"{name}: is a character without motion; there is nothing to perform")
    scene = motion(title)
    actor = actor or next(iter(scene.actors))
    if actor not in scene.actors:
        raise UnknownNameError(f"Sample `{title}` has no actor `{actor}`; {nearest_names(actor, scene.actors)}")
    return scene, actor


def _pose(motion: Motion | None, pose: Array | int | None, name: str) -> Array | None:
    """(J, 4) local rotations of a pose, given by themselves or as a frame of a motion."""
    if pose is None or isinstance(pose, np.ndarray):
        return pose
    if motion is None or not 0 <= pose < motion.num_frames:
        available = "it holds no motion" if motion is None else f"it has {motion.num_frames}, counted from 0"
        raise MotionError(f"{name}: no frame {pose} to take the reference pose from; {available}")
    return motion.rotations[pose]


def _read_target(name: str, reading: Reading, folder: Path) -> tuple[Clip, Motion | None]:
    """The target's file without its motion, and that motion."""
    if name.startswith(SAMPLE):
        from understudy.samples import character, characters, motions

        title = name.removeprefix(SAMPLE).partition("/")[0]
        if title in motions():
            scene, actor = sample_scene(name)
            return Clip(skeleton=scene.actors[actor].skeleton, make_skin=_make_sample_skin), scene.actors[actor]
        if title not in characters():
            known = [*characters(), *motions()]
            raise UnknownNameError(f"There is no sample `{title}`; {nearest_names(title, known)}")
        return Clip(skeleton=character(title), make_skin=_make_sample_skin), None
    clip, _ = read_target(name, reading, folder)
    return _without_motion(clip), clip.motion


def read_target(name: str, reading: Reading, folder: Path) -> tuple[Clip, tuple[str, ...]]:
    """A target's file and the paths of all files that were opened for it: includes, buffers, layers.

    The content is cached until one of these files changes.
    """
    path, skeleton = _existing_path(name, folder), _relative_to(folder, reading.target_skeleton)
    for _ in range(2):
        clip, stamps = _read_cached(path, skeleton, reading)
        if all(_stamp(file) == stamp for file, stamp in stamps):
            break
        _read_cached.cache_clear()
    return clip, tuple(file for file, _ in stamps)


def _without_motion(clip: Clip) -> Clip:
    """A target's file without its motion, whose values must not be written."""
    layout = clip.layout
    if getattr(layout, "values", None) is not None:
        layout = replace(layout, values=None)
    return replace(clip, motion=None, layout=layout)


@lru_cache(maxsize=2)
def _read_cached(
    path: Path, skeleton: str | None, reading: Reading
) -> tuple[Clip, tuple[tuple[str, tuple[int, int]], ...]]:
    """A target's file, cached: for many motions and one target it is read and its skeleton analysed once.

    Returns:
        The clip, and every file that was opened for it with its stamp.
    """
    with record_opened() as opened:
        clip = read(
            path, unit=reading.target_unit, up=reading.target_up, lenient=reading.lenient, skeleton=skeleton,
            height=reading.target_height,
        )  # fmt: skip
    return clip, tuple((file, _stamp(file)) for file in opened)


def _stamp(path: str | Path | None) -> tuple[int, int]:
    """The modification time and size of a file, to notice changes."""
    if path is None or not Path(path).is_file():
        return 0, 0
    status = Path(path).stat()
    return status.st_mtime_ns, status.st_size


def _existing_path(name: str, folder: Path) -> Path:
    path = folder / name
    if not split_clip(path)[0].exists():
        known = sorted(file.name for file in path.parent.glob("*") if file.is_file())
        hint = f"files there: {', '.join(known[:5])}" if known else ""
        raise FileError(str(path), None, "there is no such file", hint=hint)
    return path


def _relative_to(folder: Path, name: str | None) -> str | None:
    return None if name is None else str(folder / name)


def _without_reference(motion: Motion) -> Motion:
    """A motion without a first frame that only shows a reference pose."""
    return motion if find_reference_frame(motion) is None else motion[1:]


def _with_feet_turned_back(motion: Motion) -> tuple[Motion, list[str]]:
    """`turn_feet_back` for a motion that may begin with a frame that only shows a reference pose."""
    shown = _without_reference(motion)
    turned, notes = turn_feet_back(shown)
    if not notes:
        return motion, notes
    reference = motion.rotations[: motion.num_frames - shown.num_frames]
    return motion.derived(rotations=np.concatenate([reference, turned.rotations])), notes


def _trim(motion: Motion, reading: Reading, name: str) -> tuple[Motion, float, list[str]]:
    """The requested frames at the requested frame rate, the second of the file at which they begin, and notes."""
    frames = np.arange(motion.num_frames)[reading.chosen() or slice(None)]
    notes = []
    reference = None if reading.keep_reference else find_reference_frame(motion)
    if reference is not None and reference in frames:
        frames = frames[frames != reference]
        notes.append(
            f"{name}: frame {reference} only shows a reference pose and is left out (--keep-reference keeps it)"
        )
    if len(frames) == 0:
        raise MotionError(f"{name}: no frame is left of {motion.num_frames}", hint="frames are counted from 0, as A:B")
    start = float(frames[0] / motion.fps)
    if len(frames) < motion.num_frames:
        motion = motion[frames]
    if reading.fps is not None:
        motion = motion.resampled(reading.fps)
    return motion, start, notes


def shift_contacts(contacts: tuple[Contact, ...], origin: float, duration: float) -> tuple[Contact, ...]:
    """Contacts with times counted from an origin, seconds, without those outside a duration."""
    spans = [(contact, contact.start - origin, contact.end - origin) for contact in contacts]
    return tuple(
        replace(contact, start=max(start, 0.0), end=min(end, duration))
        for contact, start, end in spans
        if end >= 0.0 and start <= duration
    )


def _file_notes(clip: Clip, name: str) -> list[str]:
    """Notes on a file: the data that were dropped, and a guessed unit."""
    notes = [f"{name}: {sentence}" for sentence in clip.dropped]
    known = clip.unit_reason.endswith(("given", "by definition of glTF"))
    if clip.format and clip.unit_reason and not known:
        notes.append(f"{name}: unit {clip.unit_reason}")
    return notes


def clip_of(actor: ActorData, motion: Motion) -> Clip:
    """A result in the conventions of its character's file, with the name of the source's motion."""
    result = replace(actor.on_given_target(motion), name=actor.motion.name)
    return replace(actor.clip, skeleton=result.skeleton, motion=result, notes=(), dropped=())


CorrespondenceLike = Correspondence | Mapping[str, str | Sequence[str]] | str | Path
"""A correspondence, names of the target's bones by names of the source's, or a map file."""

MAX_REST_POSE_ANGLE_DEGREES = 10.0
"""Largest angle between the bones of two rest poses for which equal joint angles give equal poses."""

MIN_ORDINARY_PAIRS = 6
"""Pairs of bones below which the notes say what the target was understood as."""

MIN_SURE_CONFIDENCE = 0.6
"""Pairs of bones with less confidence are mentioned in the notes."""


def match_actor(
    motion: Motion,
    target: Skeleton,
    *,
    correspondence: Correspondence | None = None,
    shown_motion: Motion | None = None,
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
    """Match a target with a motion.

    Args:
        motion: The source's motion.
        target: The character that performs it.
        correspondence: Which bones correspond; matched by names and shape if not given.
        shown_motion: A longer motion of the source that shows its neutral pose.
        target_motion: A motion of the target that shows its neutral pose.
        align_by: "direction" or "stance"; chosen by the similarity of the two poses if not given.
        source_pose: (J, 4) local rotations of the source's reference pose; chosen if not given.
        target_pose: (J, 4) local rotations of the target's reference pose; chosen if not given.
        name: The name of the actor in contacts and constraints.
        moves: False for an actor that keeps its motion.
        joints: The joints that the solver may turn; all if not given.
        root_moves: Whether the solver may shift the whole body.
        share: (F,) blend from source (0) to target (1) body at each frame, for a morph.
    """
    settings = {"name": name, "moves": moves, "joints": joints, "root_moves": root_moves, "share": share}
    is_posed = align_by is not None or source_pose is not None or target_pose is not None
    if correspondence is None and same_structure(motion.skeleton, target):
        if not is_posed and max_rest_pose_angle(motion.skeleton, target)[0] <= MAX_REST_POSE_ANGLE_DEGREES:
            return Assignment(motion=motion, target=target, **settings)  # type: ignore[arg-type]
        correspondence = pair_same_names(motion.skeleton, target)
    # A target of the same structure does not load these modules.
    from understudy.correspondence.alignment import align
    from understudy.correspondence.carry import floor_carriers
    from understudy.correspondence.suggest import check_trial, suggest_and_try

    if correspondence is None:
        correspondence, failures = suggest_and_try(
            motion.skeleton, target, source_motion=motion, target_motion=target_motion
        )
        if source_pose is None and target_pose is None:
            check_trial(correspondence, failures)
    alignment = align(
        correspondence,
        source_motion=motion if shown_motion is None else shown_motion,
        target_motion=target_motion,
        source_pose=source_pose,
        target_pose=target_pose,
        mode=align_by,
    )
    carriers = floor_carriers(correspondence)
    return Assignment(motion=motion, target=target, alignment=alignment, carriers=carriers, **settings)  # type: ignore[arg-type]


def assign(
    data: ActorData, folder: Path = Path(), correspondence: CorrespondenceLike | None = None
) -> tuple[Assignment, list[str]]:
    """An actor's assignment, and notes on the matching of its target with the source.

    Args:
        data: The actor.
        folder: The folder of its map file.
        correspondence: Which bones correspond; from the actor's map, or matched, if not given.
    """
    spec = data.spec
    resolved = _resolve(data, spec.map if correspondence is None else correspondence, folder)
    try:
        assignment = match_actor(
            data.motion,
            data.target,
            correspondence=resolved,
            shown_motion=data.shown_motion,
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
    if data.clip.skeleton.names == data.target.names:
        assignment = replace(assignment, meshes=tuple(data.clip.meshes))
    return assignment, [*_match_notes(assignment, data), *([] if resolved is None else _map_notes(assignment, data))]


def _resolve(data: ActorData, correspondence: CorrespondenceLike | None, folder: Path) -> Correspondence | None:
    """The correspondence in any of its forms; None if it only pairs joints of the same name."""
    if correspondence is None:
        return None
    from understudy.correspondence.map_file import pairs_only_namesakes, read_map

    if isinstance(correspondence, str | Path):
        correspondence = read_map(folder / correspondence, data.motion.skeleton, data.target)
    elif isinstance(correspondence, Mapping):
        correspondence = from_names(data.motion.skeleton, data.target, correspondence)
    return None if pairs_only_namesakes(correspondence) else correspondence


def _map_notes(assignment: Assignment, data: ActorData) -> list[str]:
    """What is wrong about the map that a user gives, tried on both bodies; nothing for one that exchanges the sides."""
    if assignment.alignment is None or is_driven(assignment):
        return []
    from understudy.correspondence.suggest import try_given
    from understudy.metrics.comparison import crosses_sides

    if crosses_sides(assignment.alignment.correspondence):
        return []
    failures = try_given(assignment.alignment, data.motion, data.target_motion)
    if not failures:
        return []
    sentences = list(dict.fromkeys(failure.sentence for failure in failures))
    more = f", and {len(sentences) - 3} more" if len(sentences) > 3 else ""
    body = data.spec.target or data.spec.source
    words = f"{body}: tried on both bodies, the given map looks wrong: {'; '.join(sentences[:3])}{more}"
    return [f"{words} (`understudy map` shows the map that the bodies suggest)"]


def _match_notes(assignment: Assignment, data: ActorData) -> list[str]:
    """Notes on how the bones of two characters were matched."""
    if assignment.alignment is None or is_driven(assignment):
        return []
    from understudy.correspondence.carry import describe_floor_root

    correspondence = assignment.alignment.correspondence
    pairs = correspondence.pairs
    mode = "each moving from its own stance" if assignment.alignment.stance else "bones pointing alike"
    notes = [f"{data.spec.target or data.spec.source}: {len(pairs)} pairs of bones correspond, {mode}"]
    if len(pairs) < MIN_ORDINARY_PAIRS and data.spec.map is None:
        from understudy.correspondence.parts import describe
        from understudy.correspondence.suggest import split_body

        source = describe(split_body(data.motion.skeleton, data.motion))
        target = describe(split_body(data.target, data.target_motion))
        notes.append(
            f"{data.spec.source} is understood as {source}; {data.spec.target or data.spec.source} as {target}; "
            "if that is wrong, `understudy map` writes a map to be changed and given with --map"
        )
    floor_root = describe_floor_root(correspondence, data.spec.floor_root)
    if floor_root:
        notes.append(f"{data.spec.target or data.spec.source}: {floor_root}")
    names = data.spec.source, data.spec.target or data.spec.source
    for name, neutral in zip(names, assignment.alignment.neutral, strict=True):
        notes += [f"{name}: {note}" for note in neutral.notes()]
    unsure = sorted((pair for pair in pairs if pair.confidence < MIN_SURE_CONFIDENCE), key=lambda pair: pair.confidence)
    if unsure:
        notes.append(
            f"least sure is {unsure[0]} ({unsure[0].reason}); `understudy map` writes the map down, to be changed and "
            "given with --map"
        )
    return notes


def is_driven(assignment: Assignment) -> bool:
    """Whether only one pair of bones corresponds, the body as a whole, so that features drive the target."""
    return assignment.alignment is not None and len(assignment.alignment.correspondence.pairs) == 1


def max_rest_pose_angle(source: Skeleton, target: Skeleton) -> tuple[float, str]:
    """The largest angle between bones of two rest poses of the same joints, degrees, and the joint at the bone's end.

    A bone is compared in the frame of its start joint's parent, in which the joint angles rotate it.
    """
    source_bones, target_bones = (rotate(s.rest[s.parents[1:]], s.offsets[1:]) for s in (source, target))
    products = np.linalg.norm(source_bones, axis=-1) * np.linalg.norm(target_bones, axis=-1)
    is_long = products > 1e-2 * products.max(initial=0.0)
    if not is_long.any():
        return 0.0, ""
    cosines = np.einsum("ji,ji->j", source_bones, target_bones) / np.where(is_long, products, 1.0)
    angles = np.where(is_long, np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))), 0.0)
    worst = int(np.argmax(angles))
    return float(angles[worst]), target.names[worst + 1]
