"""The result of an analogy: B's new motion, the matches, and measures of quality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.analogy.attempt import Attempt
from understudy.analogy.conditions import MarkerAt, PoseAt
from understudy.analogy.finish import worst_contact
from understudy.analogy.quality import Quality
from understudy.analogy.solving import MarkerObjective
from understudy.analogy.stepping import Stepping, feet_of
from understudy.analogy.study import Study, period
from understudy.base.quaternion import Array, angle_between, conjugate, multiply, rotate
from understudy.base.records import cached, record
from understudy.figure.contacts import contact_points
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point
from understudy.solve.solvers.base import Solution


def correlation(goal: MarkerObjective, level: Motion, wanted: Array) -> float:
    """Correlation of the matched markers' movement with the wanted movement, weighted by how far they move.

    Args:
        goal: The matched markers.
        level: B's motion without its course.
        wanted: (F, P, 3) metres about the mean: the scaled movement of A's markers.
    """
    pose = fk(level)
    movement = pose.positions[:, goal.joints] + rotate(pose.rotations[:, goal.joints], goal.offsets)
    movement = movement - movement.mean(axis=0)
    wanted = wanted - wanted.mean(axis=0)
    sizes = [np.sqrt(np.einsum("fpc,fpc->p", path, path)) for path in (movement, wanted)]
    product = np.einsum("fpc,fpc->p", movement, wanted)
    product_sizes = np.maximum(sizes[0] * sizes[1], 1e-12)
    return float(np.average(product / product_sizes, weights=np.maximum(sizes[1], 1e-12)))


def lifts(motion: Motion, points: Sequence[Point]) -> Array:
    """(N,) metres: lift of each foot in a motion, from stance to the top of its swing."""
    feet = feet_of(motion.skeleton, points)
    pose = fk(motion)
    heights = [pose.points(foot)[..., 1].mean(axis=1) for foot in feet]
    return np.array([np.percentile(height, 98) - np.percentile(height, 5) for height in heights])


def pose_error(level: Motion, frame: int, rotations: Array, joints: Sequence[int]) -> float:
    """The largest angle between a pose and a frame's pose over some joints, radians."""
    return float(angle_between(level.rotations[frame, list(joints)], rotations[list(joints)]).max(initial=0.0))


@record
class Analogy:
    """B's new motion and how it was made."""

    motion: Motion
    """B's motion on its path, feet planted, on B's skeleton as it was given."""
    planted: Motion
    """The same on a body with an ordinary tree, on which everything is solved and measured: feet that hang apart from
    the legs, for inverse kinematics, hang from the legs."""
    raw: Motion
    """The same before its feet were planted."""
    level: Motion
    """The solved motion: B without a path, with heading +Z."""
    new: Study
    """A's new motion."""
    a: Study | None
    """A's example; None if marker pairs were given."""
    b: Study | None
    """B's example, if there is one."""
    markers: tuple[Point, ...]
    """B's markers."""
    points: tuple[Point, ...]
    """Points on which B stands."""
    attempt: Attempt
    """The best attempt."""
    attempts: tuple[Attempt, ...]
    """All attempts, in order."""
    stepping: Stepping
    wanted: Array
    """(F, P, 3) metres about the mean: wanted movement of the matched markers."""
    solution: Solution | None
    """The solve that planted the feet; None if it was not requested."""
    poses: tuple[PoseAt, ...] = ()
    """The given poses, with heading +Z."""
    places: tuple[MarkerAt, ...] = ()
    quality: Quality
    """What a viewer sees, compared with the source."""
    likeness: float | None = None
    """Similarity of the two examples, from 0 to 1."""
    seconds: float = 0.0
    """Time to solve for the coordinations, all attempts together."""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Analogy {self.motion!r}, score {self.score:.2f}>"

    def _repr_html_(self) -> str:
        return self.motion._repr_html_()

    @property
    def score(self) -> float:
        """From 0 to 1: the score of the attempt's markers times that of what a viewer sees."""
        return self.attempt.score * self.quality.score

    @cached
    def measures(self) -> dict[str, Any]:
        """Measures of success, in metres, seconds and radians."""
        feet = feet_of(self.planted.skeleton, self.points)
        paths = fk(self.level).points([foot[0] for foot in feet]) if feet else np.zeros((len(self.level), 1, 3))
        example = None if self.b is None else lifts(self.b.motion, self.points)
        return {
            "correlation": correlation(self.attempt.goal, self.level, self.wanted),
            "fidelity": self.attempt.fidelity,
            "coverage": self.attempt.coverage,
            "period_source": self._source_period(),
            "period_result": period(paths, self.level.fps),
            "lift": float(np.mean(lifts(self.raw, self.points))) if feet else 0.0,
            "lift_example": None if example is None or not len(example) else float(np.mean(example)),
            "pose_error": max((self._pose_error(pose) for pose in self.poses), default=0.0),
            "place_error": max((self._place_error(place) for place in self.places), default=0.0),
            "orthonormality": self.attempt.outcome.skew if self.attempt.orthonormal else None,
            "contacts": self._contacts(),
            "steps": self.attempt.outcome.steps,
            "solve_seconds": self.attempt.outcome.seconds,
        }

    def _source_period(self) -> float | None:
        """Seconds per cycle of the feet of A's new motion, in the time of the result."""
        level = self.new.course.off(self.new.motion)
        feet = feet_of(level.skeleton, contact_points(self.new.motion))
        cycle = period(fk(level).points([foot[0] for foot in feet]), level.fps) if feet else None
        return None if cycle is None else cycle * self.planted.duration / level.duration

    def _pose_error(self, pose: PoseAt) -> float:
        """The largest angle by which the solved motion or the result with planted feet misses a pose, radians."""
        skeleton = self.level.skeleton
        joints = range(skeleton.num_joints) if pose.joints is None else [skeleton.joint(n) for n in pose.joints]
        # The result's root has turned about the vertical, along its path, and maybe a little more in planting.
        heading = multiply(self.raw.rotations[pose.frame, 0], conjugate(self.level.rotations[pose.frame, 0]))
        wanted = pose.rotations.copy()
        wanted[0] = multiply(heading, wanted[0])
        return max(
            pose_error(self.level, pose.frame, pose.rotations, list(joints)),
            pose_error(self.planted, pose.frame, wanted, list(joints)),
        )

    def _place_error(self, place: MarkerAt) -> float:
        position = fk(self.level[place.frame : place.frame + 1]).points([place.point])[0, 0]
        return float(np.linalg.norm(position - place.place))

    def _contacts(self) -> dict[str, Any]:
        """The largest distance of a planted point from its place before and after the clean-up, metres."""
        positions = fk(self.raw).points([c.point for c in self.stepping.contacts]) if self.stepping.contacts else None
        before = 0.0
        for column, contact in enumerate(self.stepping.contacts):
            assert positions is not None
            frames = contact.frames(self.raw.fps, self.raw.num_frames)
            slides = np.linalg.norm(positions[frames, column] - np.median(positions[frames, column], axis=0), axis=-1)
            before = max(before, float(slides.max(initial=0.0)))
        after = None
        if self.solution is not None:
            after = worst_contact(self.solution)
        return {"count": len(self.stepping.contacts), "before": before, "after": after}

    def matched(self) -> list[dict[str, Any]]:
        """For each matched marker of B its partners, with scores and scales."""
        return [
            {
                "b": self.markers[match.marker].name,
                "a": [self.new.markers[j].name for j in match.partners],
                "scores": [round(float(score), 3) for score in match.scores],
                "scales": [round(float(scale), 3) for scale in match.scales],
                "eigenvector": match.eigenvector + 1,
            }
            for match in self.attempt.matches
        ]

    def data(self) -> dict[str, Any]:
        """The contents of the report, for JSON."""
        return {
            "score": self.score,
            "threshold": self.attempt.threshold,
            "components": self.attempt.components,
            "orthonormal": self.attempt.orthonormal,
            "likeness": self.likeness,
            "ratio": self.stepping.ratio,
            "feet": self.stepping.partners,
            "seconds": self.seconds,
            "measures": self.measures,
            "seen": self.quality.data(),
            "attempts": [
                {"threshold": a.threshold, "components": a.components, "score": a.score, "coverage": a.coverage,
                 "fidelity": a.fidelity, "strangeness": a.strangeness, "seconds": a.outcome.seconds}
                for a in self.attempts
            ],
            "matches": self.matched(),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }  # fmt: skip

    def report(self) -> str:
        """The matches and measures as readable lines."""
        values, best, contacts = self.measures, self.attempt, self.measures["contacts"]
        matched = f"{len({match.marker for match in best.matches})} of {len(self.markers)} markers matched"
        coverage, fidelity = 100 * best.coverage, 100 * values["fidelity"]
        by = "pairs given" if best.threshold is None else f"threshold {best.threshold:g}"
        lines = [
            f"{matched} ({by}), {coverage:.0f} % of the movement; {best.components} components, score {self.score:.2f}",
            f"  movement: correlation {values['correlation']:.3f} with the source's, {fidelity:.0f} % of it made",
            f"  period: {_seconds(values['period_result'])}, the source's {_seconds(values['period_source'])}",
            f"  lift of the feet: {100 * values['lift']:.1f} cm"
            + ("" if values["lift_example"] is None else f", in the example {100 * values['lift_example']:.1f} cm"),
            f"  seen: {self._seen()}",
            f"  way: {self.stepping.ratio:.2f} m for each metre of the source",
            f"  contacts: {contacts['count']}, strayed {1000 * contacts['before']:.0f} mm"
            + ("" if contacts["after"] is None else f", after cleaning {1000 * contacts['after']:.2f} mm"),
        ]
        if self.poses or self.places:
            degrees, millimetres = np.degrees(values["pose_error"]), 1000 * values["place_error"]
            lines.append(f"  poses within {degrees:.2f} degrees, places within {millimetres:.1f} mm")
        lines += [f"  {foot} steps with {partner}" for foot, partner in self.stepping.partners.items()]
        lines += [f"  {line}" for line in self._limbs()]
        return "\n".join(lines)

    def _seen(self) -> str:
        """What a viewer sees, compared with the source in its own legs."""
        seen = self.quality
        parts = [f"lift {np.mean(list(seen.lifts.values())):.2f} of the source's in legs"] if seen.lifts else []
        parts += (
            [f"crouch {seen.crouch:+.2f} legs of the source's"] if self.b is not None and self.a is not None else []
        )
        parts += [] if seen.path is None else [f"path {seen.path:.2f} of its steps"]
        parts += [f"stance alike {100 * seen.stance:.0f} %", f"limits +{np.degrees(seen.limits):.0f} degrees"]
        return ", ".join(parts)

    def _limbs(self) -> list[str]:
        """A line for each joint of B with matched markers: the matched joints of A, mean scores and scales."""
        rows: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for match in self.attempt.matches:
            row = rows.setdefault(self.markers[match.marker].joint, {})
            for j, score, scale in zip(match.partners, match.scores, match.scales, strict=True):
                row.setdefault(self.new.markers[j].joint, []).append((float(score), float(scale)))
        lines = []
        for joint, partners in rows.items():
            parts = [
                f"{name} {np.mean([s for s, _ in values]):+.2f} x {np.mean([c for _, c in values]):.2f}"
                for name, values in partners.items()
            ]
            lines.append(f"{joint} moves with {', '.join(parts)}")
        return lines


def _seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f} s"
