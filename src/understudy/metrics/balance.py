"""Balance: the distance of the centre of mass from the edge of the support."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.kinematics import BLOCK_FRAMES, Pose
from understudy.figure.mass import centre_of_mass
from understudy.figure.skeleton import Point
from understudy.metrics.base import CAPTURED, Curve, Figure, Grade, Measurement, Metric, millimetres, percent
from understudy.metrics.comparison import HORIZONTAL_AXES, Comparison

SOLE_MARGIN_LEGS = 0.05
"""Margin of the feet around their contact points: half an adult foot's width."""

MAX_STANDING_SPEED_LEGS_PER_S = 0.2
"""Speed below which the centre of mass stands and must be over the support."""

MIN_STANDING_SECONDS = 0.25
"""Time of standing that is needed to judge balance."""

BALANCE_WORDS = ("yes", "plausible", "unlikely", "no")
"""The words of [Lommers13, sec. 7.2] for the certainty that a body is in balance."""

MAX_UNBALANCED_SHARES = {"unbalanced_share": (0.05, 0.5, 1.0), "added_share": (0.0, 0.05, 0.2)}
"""Greatest shares of unbalanced standing frames for all WORDS but the last: in total, and beyond the source's."""


@record(eq=True)
class BalanceMetric(Metric):
    """Signed distance of the centre of mass, seen from above, to the edge of the support; positive inside."""

    name: ClassVar[str] = "balance"
    title: ClassVar[str] = "balance"
    remedy: ClassVar[str] = (
        "contacts that pull the body aside may be wrong (`understudy recipe` lists them); --plants free lets the "
        "feet step where the body stands"
    )
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(
            figure="unbalanced_share",
            noticeable=MAX_UNBALANCED_SHARES["unbalanced_share"][1],
            bad=MAX_UNBALANCED_SHARES["unbalanced_share"][2],
            source=CAPTURED,
        ),
        Grade(
            figure="added_share",
            noticeable=MAX_UNBALANCED_SHARES["added_share"][1],
            bad=MAX_UNBALANCED_SHARES["added_share"][2],
        ),
    )

    def measure(self, case: Comparison) -> Measurement:
        plants = [(plant.point, plant.frames) for plant in case.plants if plant.level is not None]
        if not plants:
            return self.not_measured("nothing stands on a floor")
        margin, slow = margins(
            case.pose, case.result.fps, plants, SOLE_MARGIN_LEGS * case.leg, MAX_STANDING_SPEED_LEGS_PER_S * case.leg
        )
        margin[case.held_elsewhere] = np.nan
        held = np.isfinite(margin)
        if not held.any():
            return self.not_measured("there is no frame in which it stands on the floor alone")
        standing = slow & held
        if standing.sum() < MIN_STANDING_SECONDS * case.result.fps:
            standing[:] = False
        share = float(np.mean(margin[standing] < 0.0)) if standing.any() else None
        source_share = self._source_share(case, standing)
        added = None if source_share is None or share is None else max(share - source_share, 0.0)
        least = float(margin[standing].min()) if standing.any() else None
        figures = [
            Figure(name="worst_margin", value=margin[held].min(), unit="m", about="least distance inside the support"),
            Figure(name="standing_margin", value=least, unit="m", about="the same while the centre of mass is slow"),
            Figure(name="mean_margin", value=margin[held].mean(), unit="m", about="mean distance inside the support"),
            Figure(name="outside_share", value=float(np.mean(margin[held] < 0.0)), unit="share",
                   about="supported frames with the centre of mass outside, moving or not"),
            Figure(name="unbalanced_share", value=share, unit="share", about="slow frames with it outside"),
            Figure(name="added_share", value=added, unit="share", about="how many more of them than of the source's"),
        ]  # fmt: skip
        words = "it never stands: the centre of mass moves all the time, and its balance is that of movement"
        if share is not None:
            where = "out" if least is not None and least < 0.0 else "in"
            judge = "unbalanced_share" if added is None else "added_share"
            tier = sum((share if added is None else added) > limit for limit in MAX_UNBALANCED_SHARES[judge])
            balance = BALANCE_WORDS[tier] + ("" if added is None else " (beside its source)")
            words = (
                f"in balance: {balance}; while it stands the centre of mass is outside the support in {percent(share)} "
                f"of the frames, at worst {millimetres(abs(least or 0.0))} {where}side"
            )
        judged = ("unbalanced_share",) if added is None else ("added_share",)
        return self.measurement(case, words, figures, [Curve(name="margin", values=margin, unit="m")], judged=judged)

    @staticmethod
    def _source_share(case: Comparison, standing: np.ndarray) -> float | None:
        """Share of the same frames (F,) in which the source is out of balance."""
        if case.source_pose is None or not standing.any():
            return None
        plants = [(plant.contact.point, plant.frames) for plant in case.plants if plant.level is not None]
        leg = case.leg / case.ratio
        margin, _ = margins(
            case.source_pose, case.result.fps, plants, SOLE_MARGIN_LEGS * leg, MAX_STANDING_SPEED_LEGS_PER_S * leg
        )
        return float(np.mean(margin[standing] < 0.0))


def margins(
    pose: Pose, fps: float, plants: list[tuple[Point, np.ndarray]], sole: float, slow: float
) -> tuple[Array, np.ndarray]:
    """Distance of the centre of mass inside the support, (F,) metres, and whether it is slow (F,).

    Args:
        pose: The body.
        fps: Frames a second.
        plants: Points that stand, with their frames.
        sole: Margin of the feet around their points, metres.
        slow: Greatest slow speed, metres a second.
    """
    points = list({point.name: point for point, _ in plants}.values())
    column = {point.name: i for i, point in enumerate(points)}
    planted = np.zeros((len(pose.positions), len(points)), bool)
    for point, frames in plants:
        planted[frames, column[point.name]] = True
    centre = centre_of_mass(pose)[:, HORIZONTAL_AXES]
    feet = pose.points(points)[..., HORIZONTAL_AXES]
    margin = np.full(len(centre), np.nan)
    patterns, pattern_index = np.unique(planted, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        pattern_frames = np.flatnonzero(pattern_index.reshape(-1) == number)
        for start in range(0, len(pattern_frames) if pattern.any() else 0, BLOCK_FRAMES):
            frames = pattern_frames[start : start + BLOCK_FRAMES]
            margin[frames] = inside(centre[frames], feet[frames][:, pattern]) + sole
    speed = np.linalg.norm(np.gradient(centre, axis=0), axis=-1) * fps if len(centre) > 1 else np.zeros(1)
    return margin, speed < slow


def inside(centre: Array, feet: Array) -> Array:
    """(N,) metres of points (N, 2) inside the convex hull of others (N, K, 2); negative outside."""
    edge = feet[:, None] - feet[:, :, None]
    length = np.linalg.norm(edge, axis=-1)
    cross_product = edge[:, :, :, None, 0] * edge[:, :, None, :, 1] - edge[:, :, :, None, 1] * edge[:, :, None, :, 0]
    # An edge of the hull has every other point to its left.
    outer = np.all(cross_product >= -1e-12, axis=-1) & (length > 1e-9)
    arm = centre[:, None] - feet
    safe = np.maximum(length, 1e-12)
    inward = (edge[..., 0] * arm[:, :, None, 1] - edge[..., 1] * arm[:, :, None, 0]) / safe
    share = np.clip(np.einsum("nijk,nik->nij", edge, arm) / safe**2, 0.0, 1.0)
    distance = np.linalg.norm(arm[:, :, None] - share[..., None] * edge, axis=-1).min(axis=(1, 2))
    within = np.where(outer, inward, np.inf).min(axis=(1, 2))
    # Lines and single points have no inside.
    return np.where(np.isfinite(within) & (within > 0.0), within, -distance)


METRIC = BalanceMetric()
