"""Analogies: A walks, B walks; A marches; how does B march? From examples to a finished motion [Analogies].

The motions are analysed, markers are matched and B's coordinations are solved for. Then B is put on A's path, its steps
are timed by A's, and a spacetime solve plants its feet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.analogy.attempt import AnalogyError, Attempt
from understudy.analogy.conditions import MarkerAt, PoseAt
from understudy.analogy.finish import (
    correct_heights,
    keep_above_floor,
    keep_below_hips,
    keep_legs_up,
    keep_poses,
    unmet_feet,
    without_feet,
    without_looser_floors,
    worst_contact,
)
from understudy.analogy.matching import MarkerPair
from understudy.analogy.posture import have_posture, posture_changes, with_posture
from understudy.analogy.preparation import GOOD_SCORE, Preparation, Settings, find_jumps, prepare
from understudy.analogy.quality import Quality, measure_quality
from understudy.analogy.result import Analogy
from understudy.analogy.stepping import Stepping, Tempo, read_course, standing_heights, step
from understudy.analogy.study import HeadingCourse, Study
from understudy.base.errors import refuse_unknown_keywords
from understudy.base.quaternion import Array, continuous
from understudy.base.records import record
from understudy.constraints.base import Constraint
from understudy.constraints.region import Region
from understudy.correspondence.detached import attach, change_parents, find_detached_feet
from understudy.figure.contacts import Contact, Floor, contact_points, detect_contacts, find_floor
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.retarget.plan import Assignment, Options, plan
from understudy.solve.solvers.base import ProgressCallback, Solution

__all__ = ["Analogy", "AnalogyError", "MarkerAt", "MarkerPair", "PoseAt", "Settings", "Tempo", "analogy"]

MAX_CONTACT_HEIGHT_LEGS = 0.1
"""A contact of A that is higher above the floor is ignored."""

MAX_PLANTED = 3
"""At most so many attempts have their feet planted, as long as none comes out well."""

MIN_QUALITY = 0.5
"""A lower coverage, likeness or score causes a warning."""


@refuse_unknown_keywords
def analogy(
    a_example: Motion | None,
    b_example: Motion | None,
    a_new: Motion,
    *,
    target: Skeleton | None = None,
    pairs: Sequence[MarkerPair] = (),
    mean_pose: Array | None = None,
    poses: Sequence[PoseAt] = (),
    places: Sequence[MarkerAt] = (),
    markers: tuple[Sequence[Point], Sequence[Point]] = ((), ()),
    contacts: Sequence[Contact] | None = None,
    tempo: Tempo | None = None,
    settings: Settings | None = None,
    watch: ProgressCallback | None = None,
) -> Analogy:
    """Make B's version of a new motion of A, by analogy with one example of each.

    Args:
        a_example: A motion of A; not needed if marker pairs are given.
        b_example: The same behaviour by B; None if there is none.
        a_new: The motion of A that B is to perform.
        target: B's skeleton, if it has no example.
        pairs: Which markers of B move with which of A, in place of matching [Analogies, sec. 5.4].
        mean_pose: (J, 4) local rotations of B's initial mean pose. If not given: the example's mean, or the rest pose
            without an example.
        poses: Poses that B must have at frames of the new motion.
        places: Positions at which points of B must be.
        markers: Markers of A and of B; spread over the bodies if empty.
        contacts: Contacts of A's new motion; detected if not given.
        tempo: A time warp of the new motion.
        settings: Settings; all automatic if not given.
        watch: Called with the current step and the share of the work done.
    """
    settings = settings or Settings()
    given = target if b_example is None else b_example.skeleton
    if given is not None and attach(given) is not given:
        poses = tuple(replace(pose, rotations=_pose_on_whole_body(pose.rotations, given)) for pose in poses)
        mean_pose = None if mean_pose is None else _pose_on_whole_body(mean_pose, given)
    a_new, target = _on_whole_body(a_new), None if target is None else attach(target)
    a_example, b_example = (None if each is None else _on_whole_body(each) for each in (a_example, b_example))
    report = watch or (lambda _text, _share: None)
    report("studying the motions", 0.0)
    inputs = prepare(
        a_example, b_example, a_new, target=target, pairs=pairs, mean_pose=mean_pose, markers=markers, settings=settings
    )
    level_poses = tuple(replace(pose, rotations=inputs.level_pose(pose.rotations)) for pose in poses)
    report("matching and solving", 0.1)
    contacts = detect_contacts(a_new, contact_points(a_new)) if contacts is None else tuple(contacts)
    drafts: dict[int, _Draft] = {}
    scores: dict[int, float] = {}

    def judge(candidate: Attempt) -> float:
        """The score of an attempt, before its feet are planted."""
        draft = _Draft.of(inputs, candidate, contacts, tempo, posed=bool(poses or places))
        quality = draft.quality(inputs, draft.stepping.motion, posed=bool(poses))
        drafts[id(candidate)] = draft
        # The planting keeps limits and the floor.
        kept = replace(quality, limits=0.0, sunk=0.0) if settings.clean else quality
        scores[id(candidate)] = candidate.score * kept.score
        return candidate.score * quality.score

    attempts = inputs.attempts(level_poses, tuple(places), judge)
    order = sorted(attempts, key=lambda candidate: -scores[id(candidate)])
    report("planting feet", 0.6)
    results: list[Analogy] = []
    # Given poses are kept by what was solved with them.
    several = settings.clean and settings.retries and not (poses or places)
    for best in order[: MAX_PLANTED if several else 1]:
        results.append(_finish(inputs, attempts, best, drafts[id(best)], level_poses, places))
        if results[-1].score >= GOOD_SCORE:
            break
    result = max(results, key=lambda each: each.score)
    return result if given is None else on_given_body(result, given)


def on_given_body(result: Analogy, given: Skeleton) -> Analogy:
    """A result whose motion is on B's skeleton as it was given."""
    motion = result.planted if attach(given) is given else change_parents(result.planted, given)
    return replace(result, motion=motion)


def _pose_on_whole_body(rotations: Array, given: Skeleton) -> Array:
    """(J, 4) local rotations of a pose (J, 4) on the body with an ordinary tree."""
    if rotations.shape != (given.num_joints, 4):
        # Preparation tells what was expected.
        return rotations
    pose = Motion(skeleton=given, fps=30.0, root=np.zeros((1, 3)), rotations=rotations[None])
    return np.asarray(change_parents(pose, attach(given)).rotations[0])


def _on_whole_body(motion: Motion) -> Motion:
    """A motion on a body with an ordinary tree: feet that hang apart from the legs, for inverse kinematics, hang there.

    Such a foot moves with its leg, not by a track of its own.
    """
    body = attach(motion.skeleton)
    if body is motion.skeleton:
        return motion
    whole = change_parents(motion, body)
    if whole.offsets is None:
        return whole
    offsets, feet = whole.offsets.copy(), [body.index[foot] for foot in find_detached_feet(motion.skeleton)]
    offsets[:, feet] = body.offsets[feet]
    return replace(whole, offsets=offsets)


@record
class _Draft:
    """An attempt on its path, before its feet are planted."""

    timed: _TimedSource
    level: Motion
    stepping: Stepping

    @staticmethod
    def of(
        inputs: Preparation, attempt: Attempt, contacts: Sequence[Contact], tempo: Tempo | None, *, posed: bool
    ) -> _Draft:
        timed = _TimedSource.of(inputs.study_new(attempt.components), attempt, contacts, tempo)
        level = Motion(
            skeleton=inputs.body,
            fps=timed.source.fps,
            root=np.zeros((len(timed.course.root), 3)),
            rotations=continuous(inputs.chart.rotations(timed.coordinates)),
            name=inputs.body.name,
        )
        level = _held_as_a(inputs, level, timed.new) if not posed else level
        return _Draft(timed=timed, level=level, stepping=_step(inputs, level, timed, attempt))

    def quality(self, inputs: Preparation, motion: Motion, *, posed: bool) -> Quality:
        """What a viewer sees of a motion made from this draft; given poses say which feet are held up, and how low."""
        quality = measure_quality(
            motion,
            self.stepping,
            self.timed.source,
            self.timed.contacts,
            examples=(inputs.a_example, None if inputs.b is None else inputs.b.motion),
            rises=inputs.rises,
            floor=self.timed.floor,
            limits=inputs.limits,
        )
        return replace(quality, raised=0.0, flattened=0.0) if posed else quality


def _held_as_a(inputs: Preparation, level: Motion, new: Study) -> Motion:
    """B's motion with trunk, head and arms held as A's are in its new motion, if both are human and have examples."""
    a, b, settings = inputs.a, inputs.b, inputs.settings
    if a is None or b is None or inputs.mean is not None or settings.mean_weight == 0.0:
        return level
    if not have_posture(a.motion.skeleton, b.motion.skeleton):
        return level
    example, changed = (study.course.off(study.motion) for study in (a, new))
    held = with_posture(level, b.course.off(b.motion), posture_changes(example, changed))
    # Elbows that are hinges turn about their axis only.
    rotations = inputs.chart.rotations(inputs.chart.coordinates(held.rotations))
    return replace(held, rotations=continuous(rotations))


def _finish(
    inputs: Preparation,
    attempts: Sequence[Attempt],
    best: Attempt,
    draft: _Draft,
    poses: tuple[PoseAt, ...],
    places: Sequence[MarkerAt],
) -> Analogy:
    """The result of the best attempt: B on its path with its feet planted, and what was measured."""
    timed, stepping = draft.timed, draft.stepping
    solution, raw = _plant_feet(inputs, draft, poses) if inputs.settings.clean else (None, stepping.motion)
    motion = stepping.motion if solution is None else replace(solution.motion, name=inputs.body.name)
    quality = draft.quality(inputs, motion, posed=bool(poses))
    return Analogy(
        motion=motion,
        planted=motion,
        quality=quality,
        raw=raw,
        level=draft.level,
        new=timed.new,
        a=inputs.a,
        b=inputs.b,
        markers=inputs.b_markers,
        points=inputs.points,
        attempt=best,
        attempts=tuple(attempts),
        stepping=stepping,
        wanted=best.goal.wanted(timed.marker_course),
        solution=solution,
        # With a tempo, poses and places lie at other frames of the result and cannot be checked there.
        poses=() if timed.warped else poses,
        places=() if timed.warped else tuple(places),
        likeness=inputs.likeness,
        seconds=sum(result.outcome.seconds for result in attempts),
        warnings=tuple(_warnings(inputs, best, quality, solution)),
        notes=(*_flip_notes(inputs.flipping), *stepping.notes),
    )


def _step(inputs: Preparation, level: Motion, timed: _TimedSource, best: Attempt) -> Stepping:
    """B on its path, with contacts timed by A's."""
    goal = best.goal
    wanted = goal.wanted(timed.marker_course)
    # Of several markers on a joint the last, outermost one is nearest to the contact point.
    by_joint = {inputs.body.names[joint]: wanted[:, row] for row, joint in enumerate(goal.joints)}
    return step(
        timed.course.on(level),
        timed.source,
        timed.contacts,
        points=inputs.points,
        level=(level, timed.course.off(timed.source)),
        wanted=by_joint,
        floor=timed.floor,
        rises=inputs.rises,
        travel=inputs.settings.travel,
        feet=best.feet,
    )


def _flip_notes(names: Sequence[str]) -> list[str]:
    """A note on the joints of A that are left out."""
    if not names:
        return []
    listed = ", ".join(f"`{name}`" for name in names[:4])
    return [f"A's new motion: {listed} flips from one frame to the next: left out, with all below it."]


def _warnings(inputs: Preparation, best: Attempt, quality: Quality, solution: Solution | None) -> list[str]:
    """Warnings about the quality of a result, a sentence each."""
    warnings = []
    example = None if inputs.b is None else inputs.b.motion
    for owner, motion in (("A's new motion", inputs.a_new), ("B's example", example)):
        flips = [] if motion is None else [name for name in find_jumps(motion) if name not in inputs.settings.without]
        if flips:
            names = ", ".join(f"`{name}`" for name in flips[:4])
            warnings.append(
                f"{owner}: {names} flips from one frame to the next; leave it out (without, --without {flips[0]}) "
                "or repair the clip."
            )
    if best.coverage < MIN_QUALITY:
        warnings.append(
            f"The examples share little: matched markers make {100 * best.coverage:.0f} % of B's movement. "
            "Use examples of one behaviour, more markers, or marker pairs."
        )
    if inputs.likeness is not None and inputs.likeness < MIN_QUALITY:
        warnings.append(
            f"The examples are performed differently (likeness {inputs.likeness:.2f}): they may not show one behaviour."
        )
    if best.score * quality.score < MIN_QUALITY:
        reasons = [f"coverage {best.coverage:.2f}", f"fidelity {best.fidelity:.2f}"]
        reasons += [f"mean pose {np.degrees(best.strangeness):.0f} degrees from B's own", *quality.faults()]
        warnings.append(
            f"The score is low ({best.score * quality.score:.2f}: {', '.join(reasons)}): "
            "look at the result before using it."
        )
    if best.outcome.violation > 0.02:
        warnings.append(
            f"Poses, places or limits are missed by up to {best.outcome.violation:.2f} (radians or leg lengths); "
            "orthonormal=False, or fewer of them, may help."
        )
    # How high feet are lifted is a wish, and seen by the score.
    if solution is not None and any(outcome.constraint.kind != "follow" for outcome in solution.unmet):
        warnings.append(f"Planting feet: {solution.result}.")
    return warnings


def _plant_feet(inputs: Preparation, draft: _Draft, poses: Sequence[PoseAt]) -> tuple[Solution, Motion]:
    """Plant B's feet by a spacetime solve, on a level floor; also returns the motion that the solve starts from.

    Feet that are lifted too little or too much follow the heights of their partners, the hips are as low as A's, each
    in its own legs, and given poses are kept.
    """
    timed, stepping = draft.timed, draft.stepping
    floor = Floor(height=timed.floor, slope=np.zeros(2))
    examples = (inputs.a_example, None if inputs.b is None else inputs.b.motion)
    posed: list[Constraint] = [] if timed.warped else keep_poses(poses, stepping.motion, draft.level)
    heights: list[Constraint] = []
    floors: list[Region] = []
    motion = stepping.motion
    if not poses and inputs.mean is None and inputs.settings.mean_weight > 0.0:
        motion, heights = correct_heights(
            stepping, timed.source, timed.contacts, examples=examples, rises=inputs.rises, floor=timed.floor
        )
        floors = keep_above_floor(motion, stepping.pairs, examples[1], timed.floor)
        posed += [*floors, *keep_below_hips(motion, stepping.pairs, timed.source, inputs.rises, timed.floor)]
        heights += keep_legs_up(motion, stepping.pairs, timed.source, examples, timed.floor)
    assignment = Assignment(motion=motion, target=motion.skeleton)
    # Limits are those of B's example: a limit that B's new motion exceeds is not widened.
    options = Options(limits=False)

    def solve(wishes: Sequence[Constraint]) -> Solution:
        constraints = [*wishes, *posed, *inputs.limits]
        planned = plan([assignment], contacts=stepping.contacts, constraints=constraints, options=options, floor=floor)
        return replace(planned, constraints=without_looser_floors(planned.constraints, floors)).solve()

    solution = solve(heights)
    feet = unmet_feet(solution, stepping)
    if feet:
        # A contact is more than a wish: the feet that do not stand are lifted as they are.
        second = solve(without_feet(heights, feet, motion.skeleton))
        solution = min(solution, second, key=worst_contact)
    return solution, motion


@record
class _TimedSource:
    """A's new motion in the time of the result."""

    new: Study
    course: HeadingCourse
    source: Motion
    """A's motion."""
    coordinates: Array
    """(F, D) B's coordinates."""
    marker_course: Array
    """(F, K) the eigenmotion in marker space."""
    contacts: tuple[Contact, ...]
    """A's contacts."""
    floor: float
    """Height of the floor, metres."""
    warped: bool = False
    """Whether the time of the result differs from A's."""

    @staticmethod
    def of(new: Study, best: Attempt, contacts: Sequence[Contact], tempo: Tempo | None) -> _TimedSource:
        motion = new.motion
        leg = leg_length(motion.skeleton)
        ground = find_floor(contacts, leg)
        standing = list({c.point.name: c.point for c in contacts if c.on == "floor"}.values())
        floor = ground.height - min(standing_heights(motion, standing).values(), default=0.0)
        # A foot may be still in the air at the top of a step. It must not become a contact of B.
        highest = MAX_CONTACT_HEIGHT_LEGS * leg
        contacts = [c for c in contacts if c.place is None or c.place[1] - ground.heights(c.place) < highest]
        if tempo is None:
            return _TimedSource(
                new=new,
                course=new.course,
                source=motion,
                coordinates=best.coordinates,
                marker_course=new.marker.course,
                contacts=tuple(contacts),
                floor=floor,
            )
        times = tempo.sources(tempo.times(motion.fps))
        eigenmotion = read_course(best.course, motion.fps, times)
        course = HeadingCourse(
            root=read_course(new.course.root, motion.fps, times),
            heading=read_course(new.course.heading, motion.fps, times),
        )
        return _TimedSource(
            new=new,
            warped=True,
            course=course,
            source=replace(motion.at(times, fps=motion.fps), root=course.root),
            coordinates=best.outcome.table[0] + eigenmotion @ best.outcome.table[1:],
            marker_course=read_course(new.marker.course, motion.fps, times),
            contacts=tempo.contacts(contacts),
            floor=floor,
        )
