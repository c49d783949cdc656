"""Balance: where the centre of mass is over the support, and how far it is from the support's edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.kinematics import BLOCK, Pose
from understudy.figure.mass import centre_of_mass
from understudy.figure.skeleton import Point
from understudy.metrics.base import CAPTURED, Curve, Figure, Grade, Measurement, Metric, millimetres, percent
from understudy.metrics.comparison import Comparison

FLAT = [0, 2]

SOLE = 0.05
"""Leg lengths by which feet reach beyond their contact points, to every side: half an adult foot's width."""

SLOW = 0.2
"""Leg lengths a second below which the centre of mass stands: then it must be over the support."""

ENOUGH = 0.25
"""Seconds of standing from which on balance is judged."""

WORDS = ("yes", "plausible", "unlikely", "no")
"""The words of [Lommers13, sec. 7.2] for how sure one is that a body is in balance."""

TIERS = {"unbalanced_share": (0.05, 0.5, 1.0), "added_share": (0.0, 0.05, 0.2)}
"""Up to which shares of the standing frames each but the last of them is said: alone, and beyond the source's own."""


@dataclass(frozen=True, kw_only=True)
class BalanceMetric(Metric):
    """Signed distance of the centre of mass, seen from above, to the edge of the support; positive inside."""

    name: ClassVar[str] = "balance"
    title: ClassVar[str] = "balance"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(
            figure="unbalanced_share",
            noticeable=TIERS["unbalanced_share"][1],
            bad=TIERS["unbalanced_share"][2],
            source=CAPTURED,
        ),
        Grade(figure="added_share", noticeable=TIERS["added_share"][1], bad=TIERS["added_share"][2]),
    )

    def measure(self, take: Comparison) -> Measurement:
        plants = [(plant.point, plant.frames) for plant in take.plants if plant.level is not None]
        if not plants:
            return self.absent("nothing stands on a floor")
        margin, slow = margins(take.pose, take.result.fps, plants, SOLE * take.leg, SLOW * take.leg)
        margin[take.aided] = np.nan
        known = np.isfinite(margin)
        if not known.any():
            return self.absent("there is no frame in which it stands on the floor alone")
        standing = slow & known
        if standing.sum() < ENOUGH * take.result.fps:
            standing[:] = False
        share = float(np.mean(margin[standing] < 0.0)) if standing.any() else None
        own = self._source_share(take, standing)
        added = None if own is None or share is None else max(share - own, 0.0)
        least = float(margin[standing].min()) if standing.any() else None
        figures = [
            Figure(name="worst_margin", value=margin[known].min(), unit="m", about="least distance inside the support"),
            Figure(name="standing_margin", value=least, unit="m", about="the same while the centre of mass is slow"),
            Figure(name="mean_margin", value=margin[known].mean(), unit="m", about="mean distance inside the support"),
            Figure(name="outside_share", value=float(np.mean(margin[known] < 0.0)), unit="share",
                   about="supported frames with the centre of mass outside, moving or not"),
            Figure(name="unbalanced_share", value=share, unit="share", about="slow frames with it outside"),
            Figure(name="added_share", value=added, unit="share", about="how many more of them than of the source's"),
        ]  # fmt: skip
        words = "it never stands: the centre of mass moves all the time, and its balance is that of movement"
        if share is not None:
            where = "out" if least is not None and least < 0.0 else "in"
            judge = "unbalanced_share" if added is None else "added_share"
            tier = sum((share if added is None else added) > limit for limit in TIERS[judge])
            said = WORDS[tier] + ("" if added is None else " (beside its source)")
            words = (
                f"in balance: {said}; while it stands the centre of mass is outside the support in {percent(share)} "
                f"of the frames, at worst {millimetres(abs(least or 0.0))} {where}side"
            )
        judged = ("unbalanced_share",) if added is None else ("added_share",)
        return self.made(take, words, figures, [Curve(name="margin", values=margin, unit="m")], judged=judged)

    @staticmethod
    def _source_share(take: Comparison, standing: np.ndarray) -> float | None:
        """Share of the same frames (F,) in which the source is out of balance too."""
        if take.shown_pose is None or not standing.any():
            return None
        plants = [(plant.contact.point, plant.frames) for plant in take.plants if plant.level is not None]
        leg = take.leg / take.ratio
        margin, _ = margins(take.shown_pose, take.result.fps, plants, SOLE * leg, SLOW * leg)
        return float(np.mean(margin[standing] < 0.0))


def margins(
    pose: Pose, fps: float, plants: list[tuple[Point, np.ndarray]], sole: float, slow: float
) -> tuple[Array, np.ndarray]:
    """How far inside its support a body is, (F,) metres, and whether its centre of mass is slow (F,).

    Args:
        pose: The body.
        fps: Frames a second.
        plants: Points that stand and the frames in which they do.
        sole: Metres that feet reach beyond their points.
        slow: Metres a second.
    """
    points = list({point.name: point for point, _ in plants}.values())
    column = {point.name: i for i, point in enumerate(points)}
    held = np.zeros((len(pose.positions), len(points)), bool)
    for point, frames in plants:
        held[frames, column[point.name]] = True
    centre = centre_of_mass(pose)[:, FLAT]
    feet = pose.points(points)[..., FLAT]
    margin = np.full(len(centre), np.nan)
    patterns, which = np.unique(held, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        whole = np.flatnonzero(which.reshape(-1) == number)
        for start in range(0, len(whole) if pattern.any() else 0, BLOCK):
            frames = whole[start : start + BLOCK]
            margin[frames] = inside(centre[frames], feet[frames][:, pattern]) + sole
    speed = np.linalg.norm(np.gradient(centre, axis=0), axis=-1) * fps if len(centre) > 1 else np.zeros(1)
    return margin, speed < slow


def inside(centre: Array, feet: Array) -> Array:
    """(N,) metres: how far points (N, 2) are inside the space between others (N, K, 2); below zero outside."""
    edge = feet[:, None] - feet[:, :, None]
    length = np.linalg.norm(edge, axis=-1)
    turned = edge[:, :, :, None, 0] * edge[:, :, None, :, 1] - edge[:, :, :, None, 1] * edge[:, :, None, :, 0]
    # An edge of the outline has every other point to its left.
    outer = np.all(turned >= -1e-12, axis=-1) & (length > 1e-9)
    arm = centre[:, None] - feet
    safe = np.maximum(length, 1e-12)
    left = (edge[..., 0] * arm[:, :, None, 1] - edge[..., 1] * arm[:, :, None, 0]) / safe
    share = np.clip(np.einsum("nijk,nik->nij", edge, arm) / safe**2, 0.0, 1.0)
    away = np.linalg.norm(arm[:, :, None] - share[..., None] * edge, axis=-1).min(axis=(1, 2))
    within = np.where(outer, left, np.inf).min(axis=(1, 2))
    # Lines and single points have no inside.
    return np.where(np.isfinite(within) & (within > 0.0), within, -away)


METRIC = BalanceMetric()
