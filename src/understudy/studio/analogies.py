"""Transitions and analogies in the studio: clips as they are chosen, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from understudy.analogy.conditions import PoseAt, reach
from understudy.analogy.make import analogy
from understudy.analogy.preparation import Settings
from understudy.analogy.result import Analogy
from understudy.base.errors import UnderstudyError
from understudy.base.fields import FieldError, build
from understudy.base.quaternion import Array, angle_between, conjugate, exp, log, multiply
from understudy.constraints.base import PointRef
from understudy.constraints.place import Place
from understudy.figure.contacts import Contact
from understudy.figure.floor import find_floor
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.io import Clip
from understudy.recipe import recipe_from
from understudy.recipe.guards import analogy_failures
from understudy.retarget.actor import ActorData
from understudy.retarget.driver import find_contacts
from understudy.retarget.plan import Assignment, Options, plan
from understudy.retarget.spec import ActorSpec
from understudy.solve.solvers.base import Watch
from understudy.studio.bones import correspondence_table, suggested
from understudy.studio.cache import Cache, content
from understudy.studio.performance import quality_table
from understudy.studio.scene import EMPTY, Message, Performer, Table, Work, empty_result, standing_of
from understudy.studio.tracks import instant_track, look, plain_tracks
from understudy.studio.transitions import TransitionResult, clip_performer, given_pairs, go_over

CLIPS = ("a_example", "b_example", "a_new")

MOVED = 1e-3
"""Radians that a joint must turn to be part of a pose that was dragged."""

NEAR = 0.01
"""Metres within which a point counts as being where it was dragged."""

NEARBY = 0.1
"""Seconds around a dragged pose in which its limb is not planted."""

EASE = 0.4
"""Seconds before and after a frame over which a pose that is being dragged is blended in."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Likeness(Work):
    """An analogy, made."""

    found: Analogy
    clips: tuple[ActorData, ActorData, ActorData]
    """Of A's example, B's example and A's new motion."""
    plain: Motion
    """What B would do without any poses asked for: what dragged poses start from."""
    shown: Motion
    """What B does, or is on its way to do while a pose is dragged."""
    seconds: float
    poses: tuple[Table, ...] = ()
    """Those that are asked for, as the document has them."""
    live: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        said = [note for clip in self.clips for note in clip.notes]
        return tuple(dict.fromkeys([*said, *self.found.notes]))

    @property
    def performers(self) -> tuple[Performer, ...]:
        b_example, a_new = self.clips[1], self.clips[2]
        made = clip_performer("b_example", b_example)
        result = replace(
            made,
            which="result",
            label=f"{made.label} as {clip_performer('a_new', a_new).label}",
            motion=self.shown,
            standing=standing_of(self.found.stepping.contacts, self.shown),
        )
        return (*(clip_performer(which, clip) for which, clip in zip(CLIPS, self.clips, strict=True)), result)

    def motions(self, live: bool = False) -> list[Message]:
        shown = self.performers[-1:] if live and self.live else self.performers
        return [each.message() for each in shown]

    def result(self, seq: int | None = None) -> Table:
        found = self.found
        matched = len({match.marker for match in found.attempt.matches})
        text = f"score {found.score:.2f}: {matched} markers matched, coverage {found.attempt.coverage:.2f}"
        table = empty_result(seq, text, self.seconds)
        table["markers"] = self._markers()
        if found.solution is not None:
            held = look(found.solution.problem, found.solution.motions, quickly=self.live)
            table["tracks"] = plain_tracks(held, self.shown.duration)
            table["conflicts"] = list(found.solution.conflicts)
        table["tracks"] += [track for number in range(len(self.poses)) for track in self._pose_tracks(number)]
        if not self.live:
            table["faults"] = list(analogy_failures(found))
            table["warnings"] = list(found.warnings)
        return table

    def _pose_tracks(self, number: int) -> list[Table]:
        """How far each point of a pose is from where it was dragged."""
        frame, drags = self.poses[number]["frame"], self.poses[number]["drags"]
        now, time = fk(self.shown[frame : frame + 1]), frame / self.shown.fps
        found = []
        for name, place in drags.items():
            off = float(np.linalg.norm(now.points([name])[0, 0] - np.array(place, float)))
            track = instant_track("pose", f"{name} at frame {frame}", time, off, NEAR, self.shown.duration)
            found.append(track | {"path": ["analogy", "poses", number], "spot": name, "place": list(place)})
        return found

    def _markers(self) -> list[Table]:
        """Matched markers with the number of their pair: each of B's, and each of A's by whom it serves best."""
        b, a = self.found.markers, self.found.new.markers
        best: dict[int, tuple[float, int]] = {}
        rows = []
        for pair, match in enumerate(self.found.attempt.matches):
            score = float(np.max(match.scores, initial=0.0))
            rows += [_marker(which, b[match.marker], pair, score) for which in ("b_example", "result")]
            for partner, each in zip(match.partners.tolist(), match.scores.tolist(), strict=True):
                best[partner] = max(best.get(partner, (-1.0, pair)), (float(each), pair))
        for partner, (score, pair) in sorted(best.items()):
            rows += [_marker(which, a[partner], pair, score) for which in ("a_example", "a_new")]
        return rows

    def clip(self, which: str) -> Clip:
        if which != "result":
            loaded = self.clips[CLIPS.index(self.performer(which).which)]
            return replace(loaded.clip, skeleton=loaded.motion.skeleton, motion=loaded.motion, notes=(), dropped=())
        clip = self.clips[1].clip
        return replace(clip, skeleton=self.shown.skeleton, motion=self.shown, notes=(), dropped=())

    def quality(self, which: str) -> Table:
        outcomes = () if which != "result" or self.found.solution is None else self.found.solution.outcomes
        return quality_table(which, self.performer(which).motion, outcomes=outcomes)


def _marker(which: str, point: Point, pair: int, score: float) -> Table:
    return {"which": which, "joint": point.joint, "offset": [float(x) for x in point.offset], "pair": pair,
            "score": score}  # fmt: skip


def liken(
    choice: Table, clips: tuple[ActorData, ActorData, ActorData], watch: Watch, plain: Likeness | None = None
) -> Likeness:
    """Make the analogy that a document chooses; `plain` is the same without poses, where it is known."""
    began = perf_counter()
    settings = settings_of(choice)
    asked = choice.get("poses") or []
    if plain is None or not asked:
        found = _made(clips, settings, (), watch)
        plain = Likeness(
            found=found, clips=clips, plain=found.motion, shown=found.motion, seconds=perf_counter() - began
        )
    if not asked:
        return plain
    poses = [pose_at(table, number, plain.plain) for number, table in enumerate(asked)]
    found = _kept(_made(clips, settings, poses, watch), asked, settings)
    return replace(plain, found=found, shown=found.motion, seconds=perf_counter() - began, poses=tuple(asked))


def _made(clips: Sequence[ActorData], settings: Settings, poses: Sequence[PoseAt], watch: Watch) -> Analogy:
    a, b, new = clips
    try:
        return analogy(
            a.motion, b.motion, new.motion, poses=poses, contacts=new.contacts, settings=settings, watch=watch
        )
    except FieldError:
        raise
    except UnderstudyError as error:
        raise FieldError(error.message, ("analogy",), hint=error.hint) from None


def _kept(found: Analogy, asked: Sequence[Table], settings: Settings) -> Analogy:
    """An analogy whose dragged points are where they were dragged to: its feet are planted anew, those apart."""
    if not settings.clean:
        return found
    raw = found.raw
    contacts: Sequence[Contact] = found.stepping.contacts
    wanted = []
    for table in asked:
        time = table["frame"] / raw.fps
        for name, place in table["drags"].items():
            wanted.append(Place(spot=PointRef(point=name), target=np.array(place, float), instants=(time,), name=name))
            contacts = [c for c in contacts if not _against(c, raw.skeleton, name, time)]
    floor = find_floor(found.stepping.contacts, leg_length(raw.skeleton))
    part, options = Assignment(motion=raw, target=raw.skeleton), Options(limits=settings.limits)
    done = plan([part], constraints=wanted, contacts=contacts, options=options, floor=floor).solve()
    return replace(found, motion=replace(done.motion, name=found.motion.name), solution=done)


def _against(contact: Contact, skeleton: Skeleton, name: str, time: float) -> bool:
    """Whether a contact keeps a limb in its place at the time at which a point of it was dragged away."""
    if not contact.start - NEARBY <= time <= contact.end + NEARBY:
        return False
    joint, stands = skeleton.joint(skeleton.point(name).joint), skeleton.joint(contact.point.joint)
    return joint in skeleton.chain(stands) or stands in skeleton.chain(joint)


def settings_of(choice: Table) -> Settings:
    """The settings of a document; what is wrong with them is told with the key."""
    try:
        made: Settings = build(Settings, choice.get("settings") or {})
        return made
    except FieldError as error:
        raise FieldError(error.message, ("analogy", "settings", *error.keys), hint=error.hint) from None


def pose_at(table: Any, number: int, motion: Motion) -> PoseAt:
    """A pose that points of a body were dragged into, at a frame of its motion: the joints that had to turn for it."""
    frame, rotations = dragged(table, number, motion)
    turned = angle_between(motion.rotations[frame], rotations) > MOVED
    joints = tuple(name for name, moved in zip(motion.skeleton.names, turned, strict=True) if moved)
    return PoseAt(frame=frame, rotations=rotations, joints=joints or None)


def dragged(table: Any, number: int, motion: Motion) -> tuple[int, Array]:
    """The frame of a dragged pose and its local rotations (J, 4)."""
    where = ("analogy", "poses", number)
    if (
        not isinstance(table, dict)
        or not isinstance(table.get("frame"), int)
        or not isinstance(table.get("drags"), dict)
    ):
        raise FieldError("expected a pose with a `frame` and `drags`", where)
    frame = table["frame"]
    if not 0 <= frame < motion.num_frames:
        raise FieldError(f"there is no frame {frame}; the result has {motion.num_frames}", (*where, "frame"))
    goals = {}
    for name, place in table["drags"].items():
        at = np.array(place, float) if isinstance(place, list) else np.zeros(0)
        if at.shape != (3,) or not np.all(np.isfinite(at)):
            raise FieldError(f"expected three finite numbers, metres; got {place!r}", (*where, "drags", name))
        goals[name] = at
    if not goals:
        return frame, motion.rotations[frame]
    try:
        found = reach(motion.skeleton, goals, start=motion.rotations[frame], root=motion.root[frame])
    except UnderstudyError as error:
        raise FieldError(error.message, where, hint=error.hint) from None
    return frame, found.motion.rotations[0]


def preview(base: Likeness, choice: Table) -> Likeness:
    """What is shown while poses are dragged: the last result with the poses blended in around their frames."""
    began, motion = perf_counter(), base.found.motion
    turns = np.zeros((motion.num_frames, motion.skeleton.num_joints, 3))
    for number, table in enumerate(choice.get("poses") or []):
        frame, rotations = dragged(table, number, motion)
        away = np.abs(np.arange(motion.num_frames) - frame) / max(EASE * motion.fps, 1.0)
        share = np.clip(1.0 - away, 0.0, 1.0)
        change = log(multiply(conjugate(motion.rotations[frame]), rotations))
        turns += (share * share * (3.0 - 2.0 * share))[:, None, None] * change
    shown = replace(motion, rotations=multiply(motion.rotations, exp(turns)))
    asked = tuple(choice.get("poses") or ())
    return replace(base, shown=shown, seconds=perf_counter() - began, poses=asked, live=True)


class ClipWork:
    """Solves documents whose mode is transition or analogy.

    Args:
        shelf: What documents have in common.
    """

    def __init__(self, shelf: Cache) -> None:
        self.shelf = shelf
        self._made: tuple[str, TransitionResult | Likeness] | None = None
        """The last transition or analogy, with what it was made from."""

    def solve(self, document: Table, base: Path, *, watch: Watch, before: Work | None, live: bool) -> Work:
        """Make the transition or analogy that a document chooses."""
        if document["mode"] == "transition":
            return self._transition(document, base, watch, live=live)
        return self._analogy(document, base, watch, before if live else None)

    def _transition(self, document: Table, base: Path, watch: Watch, *, live: bool) -> TransitionResult:
        first, second = self._clips(document, base, ("first", "second"))
        work = go_over(document["transition"], (first, second), document["pairs"], watch, live=live)
        self._made = self._made if live else (self._key(document), work)
        return work

    def _analogy(self, document: Table, base: Path, watch: Watch, before: Work | None) -> Likeness:
        a, b, new = self._clips(document, base, CLIPS)
        choice = document["analogy"]
        if isinstance(before, Likeness):
            return preview(before, choice)
        # Without its poses an analogy is what dragged poses start from.
        plain = self.shelf.keep(
            ("plain", content(choice["settings"]), id(a), id(b), id(new)),
            lambda: liken({**choice, "poses": []}, (a, b, new), watch),
            a, b, new,
        )  # fmt: skip
        work = liken(choice, (a, b, new), watch, plain) if choice.get("poses") else plain
        self._made = self._key(document), work
        return work

    def _clips(self, document: Table, base: Path, names: Sequence[str]) -> list[ActorData]:
        """The clips that a mode is about, as far as they are chosen."""
        chosen = document[document["mode"]]
        reading = recipe_from({"reading": document["recipe"].get("reading", {})}, base).reading
        found = []
        for name in names:
            if chosen.get(name):
                found.append(self.shelf.loaded(ActorSpec(source=chosen[name]), reading, base))
        return found

    def view(self, document: Table, base: Path) -> Table:
        """The view of a transition or an analogy: its clips, and the result once there is one."""
        mode = document["mode"]
        names = [name for name in (("first", "second") if mode == "transition" else CLIPS) if document[mode].get(name)]
        clips = self._clips(document, base, names)
        if not clips:
            return dict(EMPTY)
        bodies = [clip_performer(name, clip).body() for name, clip in zip(names, clips, strict=True)]
        shown = clips[-1] if mode == "analogy" else clips[0]
        motion, notes = shown.motion, [note for clip in clips for note in clip.notes]
        if self._made is not None and self._made[0] == self._key(document):
            work = self._made[1]
            bodies, motion, notes = work.bodies(), work.performer("result").motion, list(work.notes)
        contacts = self.shelf.keep(("stands", id(shown)), lambda: find_contacts([shown], Options()), shown)
        matched = None
        if mode == "transition" and len(clips) == 2:
            matched = self._between(clips[0], clips[1], document["pairs"])
        return {
            "fps": motion.fps,
            "duration": motion.duration,
            "bodies": bodies,
            "props": [],
            "floor": float(find_floor(contacts, leg_length(shown.motion.skeleton)).height),
            "correspondence": matched,
            "notes": notes,
        }

    def suggested(self, document: Table, base: Path) -> list[Table]:
        """The pairs of the two bodies of a transition; an analogy has none."""
        clips = self._clips(document, base, ("first", "second")) if document["mode"] == "transition" else []
        found = self._between(clips[0], clips[1], None) if len(clips) == 2 else None
        pairs: list[Table] = [] if found is None else found["pairs"]
        return pairs

    def _between(self, first: ActorData, second: ActorData, pairs: object) -> Table | None:
        """The correspondence of the two bodies of a transition."""
        given = given_pairs(pairs, (first, second))[0]
        found = given
        if found is None:
            key = ("between", id(first), id(second))
            try:
                found = self.shelf.keep(
                    key,
                    lambda: suggested(first.motion.skeleton, second.motion.skeleton, first.motion, second.motion),
                    first, second,
                )  # fmt: skip
            except UnderstudyError:
                return None
        return correspondence_table(found, "first", "second", own=given is not None)

    def _key(self, document: Table) -> str:
        mode = document["mode"]
        return content(mode, document[mode], document["recipe"].get("reading"), document["pairs"])
