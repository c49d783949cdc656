"""Limb direction: how far the bones of arms and legs point from where the source's point."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.kinematics import paths_of
from understudy.figure.measures import bone_start
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.metrics.base import Figure, Grade, Measurement, Metric
from understudy.metrics.comparison import OTHER_SIDE, Comparison, crosses_sides
from understudy.metrics.similarity import angles_between

BONES = (
    ("upper leg", "upper_leg", "lower_leg"),
    ("lower leg", "lower_leg", "foot"),
    ("upper arm", "upper_arm", "lower_arm"),
    ("lower arm", "lower_arm", "hand"),
)
"""For each limb bone: its name, and the roles of the joints at its two ends."""

RATE_HZ = 30.0
"""Frames a second that are compared."""

MEAN_SOURCE = "house rule: five degrees are seen beside the source, twelve without it"


@record(eq=True)
class LimbDirection(Metric):
    """Mean angle in the world between the bones of arms and legs and the source's."""

    name: ClassVar[str] = "limb_direction"
    title: ClassVar[str] = "limb direction"
    quick: ClassVar[bool] = True
    remedy: ClassVar[str] = (
        "--touch off and --clearance off tell whether hands that stay near the body, or limbs that stay out of it, "
        "turn them; otherwise look at which bones correspond (`understudy map`)"
    )
    grades: ClassVar[tuple[Grade, ...]] = (Grade(figure="mean", noticeable=5.0, bad=12.0, source=MEAN_SOURCE),)

    def measure(self, case: Comparison) -> Measurement:
        source = case.resampled
        if source is None:
            return self.not_measured("there is no source to compare with")
        crossed = crosses_sides(case.user_map)
        names, angles = limb_angles(case.result, source, crossed=crossed)
        if not names:
            return self.not_measured("the bodies share no arms or legs that names tell")
        means = np.degrees(angles.mean(axis=0))
        worst = int(np.argmax(means))
        words = f"limbs point {means.mean():.1f} degrees off the source's on average, the {names[worst]} most: "
        figures = [
            Figure(name="mean", value=float(means.mean()), unit="degrees", about="mean angle of all limb bones"),
            Figure(name="worst", value=float(means[worst]), unit="degrees", about="mean angle of the worst limb bone"),
        ]
        is_judged = case.comparable_paths and not case.loosely_matched
        return self.measurement(case, f"{words}{means[worst]:.1f}", figures, judged=None if is_judged else ())


def limb_angles(result: Motion, source: Motion, *, crossed: bool) -> tuple[list[str], Array]:
    """The limb bones that two bodies share, and (n, B) radians between them, at some frames.

    Args:
        result: The motion of one body.
        source: The motion of the other, at the same frames.
        crossed: Whether the left of the source plays the right of the result.
    """
    names, result_joints, source_joints = [], list[int](), list[int]()
    of_result, of_source = roles(result.skeleton), roles(source.skeleton)
    for side, other in OTHER_SIDE.items():
        for name, *ends in BONES:
            pairs = [(f"{side}_{end}", f"{other if crossed else side}_{end}") for end in ends]
            if all(own in of_result and partner in of_source for own, partner in pairs):
                names.append(f"{side} {name}")
                result_joints += _ends(result, [of_result[own] for own, _ in pairs])
                source_joints += _ends(source, [of_source[partner] for _, partner in pairs])
    count = min(result.num_frames, source.num_frames)
    frames = np.arange(0, count, max(round(result.fps / RATE_HZ), 1))
    if not names or not len(frames):
        return [], np.empty((0, 0))
    return names, angles_between(_directions(result[frames], result_joints), _directions(source[frames], source_joints))


def _ends(motion: Motion, joints: list[int]) -> list[int]:
    """The joints at the ends of a bone; the motors of a robot's hip that lie apart from its thigh do not begin it."""
    return [bone_start(motion.skeleton, *joints), joints[1]]


def _directions(motion: Motion, joints: list[int]) -> Array:
    """(n, B, 3) directions from the first joint of each pair to the second."""
    places = paths_of(motion, joints)
    lines = places[:, 1::2] - places[:, ::2]
    return np.asarray(lines / np.maximum(np.linalg.norm(lines, axis=-1, keepdims=True), 1e-12))


METRIC = LimbDirection()
