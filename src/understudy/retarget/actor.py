"""The files that a recipe names: motions cut and resampled, characters, and what samples bring along."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from understudy.base.errors import FileError, MotionError, OptionError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array
from understudy.correspondence.detached import attach, change_parents, describe_detached_feet
from understudy.figure.contacts import Contact
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Skeleton
from understudy.io import Clip, read
from understudy.io.files import split_clip
from understudy.io.guess import find_reference_frame
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
