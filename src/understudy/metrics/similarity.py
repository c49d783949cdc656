"""Similarity: how far a result is from doing what its source does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.body import height
from understudy.geometry.quaternion import Array, angle_between, from_axis_angle, rotate
from understudy.kinematics import forward
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric
from understudy.metrics.guard import compared
from understudy.metrics.likeness import UP, directions, sides, tips
from understudy.metrics.take import Take

TURNED = np.radians(15.0)
"""Radians from which on a heading that differs is told."""


@dataclass(frozen=True, kw_only=True)
class Similarity(Metric):
    """Angles of joints, directions of bones and paths of limbs' ends against the source's."""

    name: ClassVar[str] = "similarity"
    title: ClassVar[str] = "similarity"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="direction", noticeable=10.0, bad=30.0),
        Grade(figure="end_path", noticeable=0.12, bad=0.25),
        Grade(figure="end_shift", noticeable=0.05, bad=0.15),
        Grade(figure="heading", noticeable=15.0, bad=60.0),
    )

    def measure(self, take: Take) -> Measurement:
        if take.shown is None or take.headings is None:
            return self.absent("there is no source to compare with")
        own, theirs = take.headings
        turned = float(np.angle(np.mean(np.exp(1j * (own - theirs)))))
        found = directions(take)
        if not found.bones:
            return self.absent("no bone of the result corresponds to a single bone of the source")
        off = np.degrees(found.angles(turned))
        local = None
        if take.alike:
            apart = np.degrees(angle_between(take.result.rotations[:, 1:], take.shown.rotations[:, 1:]))
            local = float(apart.mean()) if apart.size else 0.0
        mirrored = float(np.degrees(found.mirrored_angles(own, theirs, sides(take))).mean())
        paths = self._ends(take, turned)
        figures = [
            Figure(name="local_angle", value=local, unit="degrees", about="mean difference of the joints' rotations"),
            Figure(name="direction", value=off.mean(), unit="degrees", about="mean angle between bones"),
            Figure(name="direction_p95", value=np.percentile(off, 95), unit="degrees", about="95th percentile of it"),
            Figure(name="end_path", value=None if paths is None else paths.mean(), unit="body heights",
                   about="mean distance of limbs' ends, seen from the root"),
            Figure(name="end_shift", value=self._shift(take, turned), unit="body heights",
                   about="mean distance of limbs' ends from where the source's angles have them on this body"),
            Figure(name="heading", value=np.degrees(abs(turned)), unit="degrees",
                   about="how far the whole result is turned about the vertical"),
            Figure(name="mirrored_direction", value=mirrored, unit="degrees",
                   about="mean angle between bones with the source's sides exchanged"),
        ]  # fmt: skip
        swapped = bool(compared(take)[0])
        joint = take.result.skeleton.names[found.bones[int(np.argmax(off.mean(axis=0)))]]
        said = [f"bones point {off.mean():.1f} degrees off the source's on average, `{joint}` most"]
        said += [] if paths is None else [f"limbs' ends are {100.0 * paths.mean():.1f}% of the body's height off"]
        said += [f"the whole result is turned by {np.degrees(turned):.0f} degrees"] if abs(turned) > TURNED else []
        said += ["left and right are exchanged"] if swapped else []
        curves = [Curve(name="direction", values=off.mean(axis=1), unit="degrees")]
        curves += [] if paths is None else [Curve(name="end_path", values=paths.mean(axis=1), unit="body heights")]
        judged = ("direction", "heading", *(() if take.loose else ("end_shift",) if take.alike else ("end_path",)))
        return self.made(take, "; ".join(said), figures, curves, judged=judged, mirrored=swapped, joint=joint)

    @staticmethod
    def _shift(take: Take, turned: float) -> float | None:
        """Body heights between limbs' ends and those of the source's angles on the same body: without proportions."""
        pairs = tips(take)
        if not pairs or not take.alike or take.shown is None:
            return None
        root = np.zeros((take.result.num_frames, 3))
        copied = forward(take.result.skeleton, root, take.shown.rotations, take.result.offsets)[0]
        ends = [a for a, _ in pairs]
        mine = take.pose.positions[:, ends] - take.pose.positions[:, :1]
        apart = np.linalg.norm(mine - rotate(from_axis_angle(UP, turned), copied[:, ends]), axis=-1)
        return float(apart.mean()) / height(take.result.skeleton)

    @staticmethod
    def _ends(take: Take, turned: float) -> Array | None:
        """(F, E) body heights between limbs' ends, from each body's root and in its own height."""
        pairs = tips(take)
        if not pairs or take.shown is None or take.shown_pose is None:
            return None
        root, other = 0, 0
        if not take.alike:
            whole = take.correspondence
            assert whole.root is not None
            root, other = whole.target.index[whole.root.target[0]], whole.source.index[whole.root.source[0]]
        mine = take.pose.positions[:, [a for a, _ in pairs]] - take.pose.positions[:, [root]]
        theirs = take.shown_pose.positions[:, [b for _, b in pairs]] - take.shown_pose.positions[:, [other]]
        theirs = rotate(from_axis_angle(UP, turned), theirs)
        return np.linalg.norm(mine / height(take.result.skeleton) - theirs / height(take.shown.skeleton), axis=-1)


METRIC = Similarity()
