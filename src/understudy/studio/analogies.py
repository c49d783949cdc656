"""Documents of mode transition or analogy, and the result of an analogy."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from understudy.analogy.conditions import PoseAt, reach
from understudy.analogy.make import analogy, on_given_body
from understudy.analogy.preparation import Settings
from understudy.analogy.result import Analogy
from understudy.base.errors import UnderstudyError
from understudy.base.fields import FieldError, build
from understudy.base.quaternion import Array, angle_between, conjugate, exp, log, multiply
from understudy.base.records import record
from understudy.constraints.base import PointRef
from understudy.constraints.place import Place
from understudy.figure.contacts import Contact, find_floor
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.io import Clip
from understudy.recipe import recipe_from
from understudy.recipe.guards import analogy_failures, analogy_report
from understudy.retarget.actor import ActorData, ActorSpec
from understudy.retarget.driver import ProgressCallback, find_contacts
from understudy.retarget.plan import Assignment, Options, plan
from understudy.retarget.quality import measure_violations
from understudy.studio.bones import correspondence_table, suggest_pairs
from understudy.studio.cache import Cache, content_key
from understudy.studio.document import CLIPS
from understudy.studio.performance import quality_table
from understudy.studio.scene import EMPTY_SCENE, Message, ShownBody, SolveResult, Table, empty_result, find_standing
from understudy.studio.tracks import instant_track, plain_tracks
from understudy.studio.transitions import TransitionResult, clip_body, fit_pairs, make_transition
from understudy.studio.wording import page_hints, page_words

MIN_TURN_RADIANS = 1e-3
"""A joint that turns less is not part of a dragged pose."""

POSE_TOLERANCE_METRES = 0.01
"""Distance within which a dragged point counts as reached."""

UNPLANT_MARGIN_SECONDS = 0.1
"""Contacts of the dragged limb closer in time than this are dropped."""

BLEND_SECONDS = 0.4
"""Seconds before and after its frame over which a dragged pose is blended in."""


@record
class AnalogyResult(SolveResult):
    """A finished analogy, or a preview of one during a drag."""

    analogy: Analogy
    clips: tuple[ActorData, ActorData, ActorData]
    """Of A's example, B's example and A's new motion."""
    plain_motion: Motion
    """Motion of B without poses; dragged poses start from it."""
    motion: Motion
    """Motion of B; during a drag the preview."""
    seconds: float
    poses: tuple[Table, ...] = ()
    """Pose tables of the document."""
    live: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        notes = [note for clip in self.clips for note in clip.notes]
        return tuple(dict.fromkeys([*notes, *self.analogy.notes]))

    @property
    def shown_bodies(self) -> tuple[ShownBody, ...]:
        b_example, a_new = self.clips[1], self.clips[2]
        b_body = clip_body("b_example", b_example)
        result = replace(
            b_body,
            which="result",
            label=f"{b_body.label} as {clip_body('a_new', a_new).label}",
            motion=self.motion,
            standing=find_standing(self.analogy.stepping.contacts, self.motion),
        )
        return (*(clip_body(which, clip) for which, clip in zip(CLIPS["analogy"], self.clips, strict=True)), result)

    def motions(self, live: bool = False) -> list[Message]:
        bodies = self.shown_bodies[-1:] if live and self.live else self.shown_bodies
        return [body.message() for body in bodies]

    def result(self, seq: int | None = None) -> Table:
        analogy = self.analogy
        matched = len({match.marker for match in analogy.attempt.matches})
        text = f"score {analogy.score:.2f}: {matched} markers matched, coverage {analogy.attempt.coverage:.2f}"
        table = empty_result(seq, text, self.seconds)
        table["markers"] = self._markers()
        if analogy.solution is not None:
            violations = measure_violations(analogy.solution.problem, analogy.solution.motions, quickly=self.live)
            table["tracks"] = plain_tracks(violations, self.motion.duration)
            table["conflicts"] = list(analogy.solution.conflicts)
        table["tracks"] += [track for index in range(len(self.poses)) for track in self._pose_tracks(index)]
        if not self.live:
            faults = analogy_failures(analogy)
            report = analogy_report(analogy, faults)
            table["faults"] = faults
            table["text"] = f"{report.conclusion}; {table['text']}"
            table["warnings"] = [*page_hints(report.hints, page_words), *map(page_words, analogy.warnings)]
        return table

    def _pose_tracks(self, index: int) -> list[Table]:
        """Distance of each dragged point of a pose from its target."""
        frame, drags = self.poses[index]["frame"], self.poses[index]["drags"]
        pose, time = fk(self.motion[frame : frame + 1]), frame / self.motion.fps
        tracks = []
        for name, place in drags.items():
            distance = float(np.linalg.norm(pose.points([name])[0, 0] - np.array(place, float)))
            label, duration = f"{name} at frame {frame}", self.motion.duration
            track = instant_track("pose", label, time, distance, POSE_TOLERANCE_METRES, duration)
            tracks.append(track | {"path": ["analogy", "poses", index], "point": name, "place": list(place)})
        return tracks

    def _markers(self) -> list[Table]:
        """Matched markers with their pair index: B's, and A's with the pair in which they score best."""
        b, a = self.analogy.markers, self.analogy.new.markers
        best: dict[int, tuple[float, int]] = {}
        rows = []
        for pair, match in enumerate(self.analogy.attempt.matches):
            score = float(np.max(match.scores, initial=0.0))
            rows += [_marker(which, b[match.marker], pair, score) for which in ("b_example", "result")]
            for partner, partner_score in zip(match.partners.tolist(), match.scores.tolist(), strict=True):
                best[partner] = max(best.get(partner, (-1.0, pair)), (float(partner_score), pair))
        for partner, (score, pair) in sorted(best.items()):
            rows += [_marker(which, a[partner], pair, score) for which in ("a_example", "a_new")]
        return rows

    def clip(self, which: str) -> Clip:
        if which != "result":
            actor = self.clips[CLIPS["analogy"].index(self.shown_body(which).which)]
            return replace(actor.clip, skeleton=actor.motion.skeleton, motion=actor.motion, notes=(), dropped=())
        clip = self.clips[1].clip
        return replace(clip, skeleton=self.motion.skeleton, motion=self.motion, notes=(), dropped=())

    def quality(self, which: str) -> Table:
        outcomes = () if which != "result" or self.analogy.solution is None else self.analogy.solution.outcomes
        return quality_table(which, self.shown_body(which).motion, outcomes=outcomes)


def _marker(which: str, point: Point, pair: int, score: float) -> Table:
    offset = [float(x) for x in point.offset]
    return {"which": which, "joint": point.joint, "offset": offset, "pair": pair, "score": score}


def make_analogy(
    choice: Table,
    clips: tuple[ActorData, ActorData, ActorData],
    watch: ProgressCallback,
    without_poses: AnalogyResult | None = None,
) -> AnalogyResult:
    """Make the analogy of a document; `without_poses` is its result without poses, if it is cached."""
    began = perf_counter()
    settings = read_settings(choice)
    pose_tables = choice.get("poses") or []
    if without_poses is None or not pose_tables:
        result = _run_analogy(clips, settings, (), watch)
        seconds, motion = perf_counter() - began, result.motion
        without_poses = AnalogyResult(analogy=result, clips=clips, plain_motion=motion, motion=motion, seconds=seconds)
    if not pose_tables:
        return without_poses
    poses = [read_pose(table, index, without_poses.plain_motion) for index, table in enumerate(pose_tables)]
    result = _plant_dragged(_run_analogy(clips, settings, poses, watch), pose_tables, settings)
    seconds, shown_poses = perf_counter() - began, tuple(pose_tables)
    return replace(without_poses, analogy=result, motion=result.motion, seconds=seconds, poses=shown_poses)


def _run_analogy(
    clips: Sequence[ActorData], settings: Settings, poses: Sequence[PoseAt], watch: ProgressCallback
) -> Analogy:
    a, b, new = clips
    try:
        return analogy(
            a.motion, b.motion, new.motion, poses=poses, contacts=new.contacts, settings=settings, watch=watch
        )
    except FieldError:
        raise
    except UnderstudyError as error:
        raise FieldError(error.message, ("analogy",), hint=error.hint) from None


def _plant_dragged(result: Analogy, pose_tables: Sequence[Table], settings: Settings) -> Analogy:
    """Solve again so that dragged points reach their targets; contacts that contradict them are dropped."""
    if not settings.clean:
        return result
    raw = result.raw
    contacts: Sequence[Contact] = result.stepping.contacts
    places = []
    for table in pose_tables:
        time = table["frame"] / raw.fps
        for name, place in table["drags"].items():
            places.append(Place(point=PointRef(point=name), target=np.array(place, float), instants=(time,), name=name))
            contacts = [c for c in contacts if not _contradicts(c, raw.skeleton, name, time)]
    floor = find_floor(result.stepping.contacts, leg_length(raw.skeleton))
    assignment, options = Assignment(motion=raw, target=raw.skeleton), Options(limits=settings.limits)
    solution = plan([assignment], constraints=places, contacts=contacts, options=options, floor=floor).solve()
    planted = replace(solution.motion, name=result.motion.name)
    return on_given_body(replace(result, planted=planted, solution=solution), result.motion.skeleton)


def _contradicts(contact: Contact, skeleton: Skeleton, name: str, time: float) -> bool:
    """Whether a contact holds the limb of a dragged point at the time of the drag."""
    if not contact.start - UNPLANT_MARGIN_SECONDS <= time <= contact.end + UNPLANT_MARGIN_SECONDS:
        return False
    joint, contact_joint = skeleton.joint(skeleton.point(name).joint), skeleton.joint(contact.point.joint)
    return joint in skeleton.chain(contact_joint) or contact_joint in skeleton.chain(joint)


def read_settings(choice: Table) -> Settings:
    """The analogy settings of a document; errors carry the path of the key."""
    try:
        settings: Settings = build(Settings, choice.get("settings") or {})
        return settings
    except FieldError as error:
        raise FieldError(error.message, ("analogy", "settings", *error.keys), hint=error.hint) from None


def read_pose(table: Any, index: int, motion: Motion) -> PoseAt:
    """A dragged pose at a frame of the motion, with the joints that turn for it."""
    frame, rotations = solve_dragged_pose(table, index, motion)
    moved = angle_between(motion.rotations[frame], rotations) > MIN_TURN_RADIANS
    joints = tuple(name for name, has_moved in zip(motion.skeleton.names, moved, strict=True) if has_moved)
    return PoseAt(frame=frame, rotations=rotations, joints=joints or None)


def solve_dragged_pose(table: Any, index: int, motion: Motion) -> tuple[int, Array]:
    """Solve a dragged pose; returns its frame and local rotations (J, 4)."""
    path = ("analogy", "poses", index)
    if not isinstance(table, dict) or type(table.get("frame")) is not int or not isinstance(table.get("drags"), dict):
        raise FieldError("expected a pose with a `frame` and `drags`", path)
    frame = table["frame"]
    if not 0 <= frame < motion.num_frames:
        raise FieldError(f"there is no frame {frame}; the result has {motion.num_frames}", (*path, "frame"))
    targets = {}
    for name, target in table["drags"].items():
        numbers = [x for x in target if isinstance(x, int | float)] if isinstance(target, list) else []
        if len(numbers) != 3 or len(target) != 3 or not all(abs(x) <= sys.float_info.max for x in numbers):
            raise FieldError(f"expected three finite numbers, metres; got {target!r}", (*path, "drags", name))
        targets[name] = np.array(numbers, float)
    if not targets:
        return frame, motion.rotations[frame]
    try:
        reached = reach(motion.skeleton, targets, start=motion.rotations[frame], root=motion.root[frame])
    except UnderstudyError as error:
        raise FieldError(error.message, path, hint=error.hint) from None
    return frame, reached.motion.rotations[0]


def preview(base: AnalogyResult, choice: Table) -> AnalogyResult:
    """A fast preview during a drag: the last result with the poses blended in around their frames."""
    began, motion = perf_counter(), base.analogy.motion
    changes = np.zeros((motion.num_frames, motion.skeleton.num_joints, 3))
    for index, table in enumerate(choice.get("poses") or []):
        frame, rotations = solve_dragged_pose(table, index, motion)
        distance = np.abs(np.arange(motion.num_frames) - frame) / max(BLEND_SECONDS * motion.fps, 1.0)
        weight = np.clip(1.0 - distance, 0.0, 1.0)
        change = log(multiply(conjugate(motion.rotations[frame]), rotations))
        changes += (weight * weight * (3.0 - 2.0 * weight))[:, None, None] * change
    blended = replace(motion, rotations=multiply(motion.rotations, exp(changes)))
    pose_tables = tuple(choice.get("poses") or ())
    return replace(base, motion=blended, seconds=perf_counter() - began, poses=pose_tables, live=True)


class ClipDocumentSolver:
    """Solves documents whose mode is transition or analogy.

    Args:
        cache: Shared by all documents of a session.
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self._last_result: tuple[str, TransitionResult | AnalogyResult] | None = None
        """The last result, with the key of its document."""

    def solve(
        self, document: Table, base: Path, *, watch: ProgressCallback, before: SolveResult | None, live: bool
    ) -> SolveResult:
        """Solve a document; if `live`, fast and starting from `before`."""
        if document["mode"] == "transition":
            return self._transition(document, base, watch, live=live)
        return self._analogy(document, base, watch, before if live else None)

    def _transition(self, document: Table, base: Path, watch: ProgressCallback, *, live: bool) -> TransitionResult:
        first, second = self._clips(document, base, ("first", "second"))
        result = make_transition(document["transition"], (first, second), document["pairs"], watch, live=live)
        self._last_result = self._last_result if live else (self._key(document), result)
        return result

    def _analogy(
        self, document: Table, base: Path, watch: ProgressCallback, before: SolveResult | None
    ) -> AnalogyResult:
        a, b, new = self._clips(document, base, CLIPS["analogy"])
        choice = document["analogy"]
        if isinstance(before, AnalogyResult):
            return preview(before, choice)
        # Dragged poses start from the analogy without poses, so that it is cached.
        without_poses = self.cache.get(
            ("analogy without poses", content_key(choice["settings"]), id(a), id(b), id(new)),
            lambda: make_analogy({**choice, "poses": []}, (a, b, new), watch),
            a, b, new,
        )  # fmt: skip
        result = make_analogy(choice, (a, b, new), watch, without_poses) if choice.get("poses") else without_poses
        self._last_result = self._key(document), result
        return result

    def _clips(self, document: Table, base: Path, names: Sequence[str]) -> list[ActorData]:
        """The clips of the document's mode that are chosen."""
        chosen = document[document["mode"]]
        reading = recipe_from({"reading": document["recipe"].get("reading", {})}, base).reading
        actors = []
        for name in names:
            if chosen.get(name):
                actors.append(self.cache.load_actor(ActorSpec(source=chosen[name]), reading, base))
        return actors

    def view(self, document: Table, base: Path) -> Table:
        """The scene of a transition or an analogy: its clips, and the result if there is one."""
        mode = document["mode"]
        names = [name for name in CLIPS[mode] if document[mode].get(name)]
        clips = self._clips(document, base, names)
        if not clips:
            return dict(EMPTY_SCENE)
        bodies = [clip_body(name, clip).table() for name, clip in zip(names, clips, strict=True)]
        reference = clips[-1] if mode == "analogy" else clips[0]
        motion, notes = reference.motion, [note for clip in clips for note in clip.notes]
        if self._last_result is not None and self._last_result[0] == self._key(document):
            result = self._last_result[1]
            bodies, motion, notes = result.bodies(), result.shown_body("result").motion, list(result.notes)
        key = ("clip contacts", id(reference))
        contacts = self.cache.get(key, lambda: find_contacts([reference], Options()), reference)
        correspondence = None
        if mode == "transition" and len(clips) == 2:
            correspondence = self._correspondence(clips[0], clips[1], document["pairs"])
        return {
            "fps": motion.fps,
            "duration": motion.duration,
            "bodies": bodies,
            "props": [],
            "floor": float(find_floor(contacts, leg_length(reference.motion.skeleton)).height),
            "correspondence": correspondence,
            "notes": notes,
        }

    def suggest_pairs(self, document: Table, base: Path) -> list[Table]:
        """The suggested pairs of the two bodies of a transition; an analogy has none."""
        clips = self._clips(document, base, ("first", "second")) if document["mode"] == "transition" else []
        table = self._correspondence(clips[0], clips[1], None) if len(clips) == 2 else None
        pairs: list[Table] = [] if table is None else table["pairs"]
        return pairs

    def _correspondence(self, first: ActorData, second: ActorData, pairs: object) -> Table | None:
        """The correspondence of the two bodies of a transition; None if there is none."""
        chosen = fit_pairs(pairs, (first, second))[0]
        correspondence = chosen
        if correspondence is None:
            key = ("suggested pairs", id(first), id(second))
            try:
                correspondence = self.cache.get(
                    key,
                    lambda: suggest_pairs(first.motion.skeleton, second.motion.skeleton, first.motion, second.motion),
                    first, second,
                )  # fmt: skip
            except UnderstudyError:
                return None
        return correspondence_table(correspondence, "first", "second", given=chosen is not None)

    def _key(self, document: Table) -> str:
        mode = document["mode"]
        return content_key(mode, document[mode], document["recipe"].get("reading"), document["pairs"])
