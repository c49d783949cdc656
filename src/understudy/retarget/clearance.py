"""Clearance: arms and legs stay out of the body, and out of each other, on a body of another shape.

Limbs of the start motion are turned before the solve, by as little as the distance fields of the body, and what the
hands touch, ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from understudy.base.quaternion import Array, multiply, rotate
from understudy.base.records import cached, gaussian_smoothed, record
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import height, is_humanoid, leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Mesh
from understudy.figure.solid import Pair, SolidBody, nearest_solids, resting_overlaps, solid_body
from understudy.figure.surface import Capsules, body_parts, capsules, joined_parts, resting_depths
from understudy.retarget.limb_turns import (
    LIMBS,
    Limb,
    Residuals,
    TurnedLimb,
    has_free_limbs,
    key_frames,
    key_rate,
    least_turns,
    turned,
    turned_between,
)
from understudy.retarget.touch import Touches

STIFFNESS = 2e3
"""Cost of a metre of depth of a probe, squared, against that of a radian of turn, squared."""

MAX_SKIN_DEPTH_HEIGHTS, MAX_CAPSULE_DEPTH_HEIGHTS = 0.003, 0.04
"""Body heights that a limb may be deeper than the source's: in the target's skin, which is soft, and in capsules, whose
radii are guessed."""

NEAR_HEIGHTS = 0.03
"""Body heights from the surface within which a probe takes part."""

DIRECTION_SECONDS = 0.1
"""Standard deviation of the Gaussian window that smooths the way out of a part."""

HEIGHT_LEGS = 1.7
"""Height of a source's skeleton in leg lengths. A height that is measured depends on the file's rest pose."""

NUM_ROUNDS = 2
"""How often the limbs take turns."""


def keep_clear(
    source: Motion, start: Motion, meshes: tuple[Mesh, ...] = (), *, kind: str, touches: Touches | None = None
) -> Motion:
    """The start motion with its arms or legs turned out of the body, where they are deeper in it than the source's.

    Args:
        source: The source's motion.
        start: The same motion on the target's body, before the solve.
        meshes: The target's skin; its parts are capsules without.
        kind: The limbs that move: `arm` or `leg`.
        touches: What the hands keep near to.
    """
    if not (is_humanoid(source.skeleton) and is_humanoid(start.skeleton) and has_free_limbs(start.skeleton, kind)):
        return start
    frames = key_frames(start)
    thinned = start[frames]
    body = _Body(
        size=height(start.skeleton),
        rate=key_rate(start),
        solid=solid_body(start.skeleton, meshes),
        shapes=None if meshes else capsules(start.skeleton),
        tolerance=height(start.skeleton) * (MAX_SKIN_DEPTH_HEIGHTS if meshes else MAX_CAPSULE_DEPTH_HEIGHTS),
        allowed=_allowed_depths(source[frames], start.skeleton, meshes),
        joined=joined_parts(start.skeleton),
    )
    pose = begin = fk(thinned)
    limbs = [Limb.of(start.skeleton, pose, kind, side, body.rate) for side in ("left", "right")]
    turns = [np.zeros((len(frames), 4)) for _ in limbs]
    for share in [0.5] * (NUM_ROUNDS - 1) + [1.0]:
        for index, limb in enumerate(limbs):
            view = _View(
                body=body, limb=limb, begin=limb.turned(turns[index]), start=begin, pose=pose, share=share,
                touches=touches,
                wrists={other.side: other.turned(turn).end for other, turn in zip(limbs, turns, strict=True)},
            )  # fmt: skip
            found = least_turns(limb, view.evaluator(), turns[index], body.rate)
            if found is not turns[index]:
                turns[index] = found
                pose = fk(turned(thinned, limbs, turns))
    return turned_between(start, frames, limbs, turns)


@record
class _Body:
    """A body, and how deep its parts may be in each other."""

    size: float
    """Metres, the height of the body."""
    rate: float
    """Frames a second."""
    solid: SolidBody
    shapes: Capsules | None
    """The capsules that the solids are made of; None if they are made of skin."""
    tolerance: float
    """Metres that parts may be deeper in each other than allowed."""
    allowed: dict[Pair, Array]
    """(F,) metres for each two parts that may be in each other."""
    joined: frozenset[Pair]

    def allowed_depth(self, one: str, other: str, num_frames: int) -> Array:
        """(F,) metres that two parts may be in each other."""
        return self.tolerance + self.allowed.get((min(one, other), max(one, other)), np.zeros(num_frames))


def _allowed_depths(source: Motion, target: Skeleton, meshes: tuple[Mesh, ...]) -> dict[Pair, Array]:
    """(F,) metres that two parts of the target may be in each other: as the source's, and as in the rest pose."""
    leg, resting = leg_length(source.skeleton), resting_depths(source.skeleton)
    ratio, shapes = leg_length(target) / leg, capsules(source.skeleton, HEIGHT_LEGS * leg)
    depths = {
        pair: ratio * np.maximum(depth - resting.get(pair, 0.0), 0.0)
        for pair, depth in shapes.depths(fk(source)).items()
    }
    for pair, depth in resting_overlaps(target, meshes).items():
        depths[pair] = depth + depths.get(pair, np.zeros(source.num_frames))
    return depths


@record
class _Near:
    """The probes of a part that are near other parts."""

    frames: np.ndarray
    """(N,)"""
    columns: np.ndarray
    """(N,) which probe of the part each is."""
    left: Array
    """(N,) metres of depth that are left to the other limb."""
    joints: frozenset[int]
    """The joints of the solids that they are near."""


@record
class _View:
    """A limb among the rest of its body."""

    body: _Body
    limb: Limb
    begin: TurnedLimb
    """The limb as it is turned so far."""
    start: Pose
    """The body in the start motion."""
    pose: Pose
    """The body as it is, with its other limbs turned."""
    share: float
    """The part of the depth in another limb, and of what is wrong between the hands, that this one makes up for."""
    touches: Touches | None
    wrists: dict[str, Array]
    """(F, 3) metres, world, by side."""

    @cached
    def names(self) -> tuple[str, ...]:
        """The parts of the limb, top first."""
        return tuple(f"{self.limb.side} {part}" for part in LIMBS[self.limb.kind])

    @cached
    def met(self) -> dict[str, tuple[str, ...]]:
        """For each part of the limb, the parts of the rest of the body that it must not enter."""
        others = dict.fromkeys(piece.part for piece in self.body.solid.solids)
        if self.limb.kind == "leg":
            # Thighs may touch, and arms keep out of the legs by themselves.
            others = {part: None for part in others if part.partition(" ")[2] in LIMBS["leg"][1:]}
        return {
            name: tuple(
                part
                for part in others
                if part not in self.names and (min(name, part), max(name, part)) not in self.body.joined
            )
            for name in self.names
            if not name.endswith("upper_leg")
        }

    @cached
    def close_frames(self) -> dict[str, np.ndarray]:
        """For each part, the frames at which it may be near one that it must not enter, or that must not enter it."""
        met = [(name, part) for name, parts in self.met.items() for part in parts]
        num_frames, shapes = len(self.pose.positions), self.body.shapes
        if shapes is None or self.body.tolerance < NEAR_HEIGHTS * self.body.size:
            # Skin is not bounded by capsules, and capsules say nothing of parts that do not enter each other.
            return {part: np.arange(num_frames) for pair in met for part in pair}
        is_close = {part: np.zeros(num_frames, bool) for pair in met for part in pair}
        depths = shapes.depths(self._turned_pose(self.begin))
        for name, part in met:
            depth = depths.get((min(name, part), max(name, part)))
            if depth is not None:
                near = self.body.allowed_depth(name, part, num_frames) - NEAR_HEIGHTS * self.body.size
                is_close[name] |= depth > near
                is_close[part] |= depth > near
        return {part: np.flatnonzero(close) for part, close in is_close.items()}

    @cached
    def probes(self) -> dict[str, Array]:
        """(F, P, 3) metres, world: the probes of each part that is near another; those of the limb as in the start
        motion. Places at other frames are not known."""
        probes = dict[str, Array]()
        for part, frames in self.close_frames.items():
            if len(frames):
                pose = self.start if part in self.names else self.pose
                places = self.body.solid.probe_places(pose, part, frames)
                probes[part] = np.full((len(pose.positions), *places.shape[1:]), np.nan)
                probes[part][frames] = places
        return probes

    def evaluator(self) -> Callable[[TurnedLimb], Residuals]:
        """The residuals of the turned limb, of the probes that are near when it is first asked for."""
        near: dict[str, _Near] = {}

        def evaluate(limb: TurnedLimb) -> Residuals:
            parts = self.depths(limb, near)
            if self.touches is not None and self.limb.kind == "arm" and self.limb.side in self.touches.sides:
                parts.append(self.touches.residuals(limb, wrists=self.wrists, share=self.share))
            return Residuals.joined(parts)

        return evaluate

    def depths(self, limb: TurnedLimb, near: dict[str, _Near]) -> list[Residuals]:
        """How much too deep the turned limb is in the rest of the body.

        Probes of the limb are looked up in the other parts, and theirs in the limb: skin that bends leaves the solid of
        its joint, and each of the two finds what the other does not.

        Args:
            limb: The turned limb.
            near: By part, which of its probes are near. Parts that are missing are added.
        """
        if not self.probes:
            return [Residuals.none()]
        pose = self._turned_pose(limb)
        inner = [self._rows(limb, name, parts, pose, near) for name, parts in self.met.items() if name in self.probes]
        outer = [
            self._rows(limb, part, names, pose, near)
            for part in self.probes
            if (names := tuple(name for name, parts in self.met.items() if part in parts))
        ]
        return [*inner, *outer]

    def _rows(
        self, limb: TurnedLimb, part: str, others: Sequence[str], pose: Pose, near: dict[str, _Near]
    ) -> Residuals:
        """How much too deep the probes of a part are in other parts, of a body in a pose."""
        body, is_own, known, probes = self.body, part in self.names, near.get(part), self.probes[part]
        solids = [p for p in body.solid.solids if p.part in others and (known is None or p.joint in known.joints)]
        if known is None:
            close, num_probes = self.close_frames[part], probes.shape[1]
            frames, columns = np.repeat(close, num_probes), np.tile(np.arange(num_probes), len(close))
        else:
            frames, columns = known.frames, known.columns
        places = self._moved(limb, part, frames, probes[frames, columns]) if is_own else probes[frames, columns]
        allowed = [body.allowed_depth(part, piece.part, len(probes)) for piece in solids]
        number, distance, away = nearest_solids(solids, pose, frames, places, NEAR_HEIGHTS * body.size, allowed)
        met = np.flatnonzero(np.isfinite(distance))
        frames, number, depth, away, places = frames[met], number[met], -distance[met], away[met], places[met]
        if known is None:
            is_limb = [(p.part if is_own else part).partition(" ")[2] in LIMBS[limb.limb.kind] for p in solids]
            left = (1.0 - self.share) * np.array(is_limb, float)[number] * depth.clip(0.0)
            joints = frozenset(solids[index].joint for index in np.unique(number))
            near[part] = _Near(frames=frames, columns=columns[met], left=left, joints=joints)
        else:
            left = known.left[met]
        if not len(frames):
            return Residuals.none()
        depth -= left
        entered = np.unique([piece.part for piece in solids], return_inverse=True)[1][number]
        away = _common_directions(frames, entered, depth, away, len(probes), DIRECTION_SECONDS * body.rate)
        indices = np.array([self.names.index(part if is_own else piece.part) for piece in solids])[number]
        # Hands and feet keep their rotations: all of their places move as the end of the limb.
        places = np.where((indices == 2)[:, None], limb.end[frames], places)
        return limb.residuals(
            frames, away if is_own else -away, places, bends=indices > 0, values=depth,
            weights=np.full(len(frames), STIFFNESS), at_most=True,
        )  # fmt: skip

    def _moved(self, limb: TurnedLimb, part: str, frames: np.ndarray, places: Array) -> Array:
        """Places (N, 3) of a part of the limb at some frames (N,), moved as the limb turns."""
        begin, k = limb.limb, self.names.index(part)
        if k == 2:
            return places + (limb.end - begin.end)[frames]
        if k == 0:
            return begin.top[frames] + rotate(limb.swing[frames], places - begin.top[frames])
        return limb.middle[frames] + rotate(multiply(limb.swing, limb.bend)[frames], places - begin.middle[frames])

    def _turned_pose(self, limb: TurnedLimb) -> Pose:
        """The pose of the body with the turned limb."""
        positions, rotations = self.pose.positions.copy(), self.pose.rotations.copy()
        frames = np.arange(len(positions))
        for joint, part in enumerate(body_parts(self.start.skeleton)):
            if part in self.names:
                positions[:, joint] = self._moved(limb, part, frames, self.start.positions[:, joint])
                rotations[:, joint] = self.start.rotations[:, joint]
                k = self.names.index(part)
                if k < 2:
                    whole = limb.swing if k == 0 else multiply(limb.swing, limb.bend)
                    rotations[:, joint] = multiply(whole, rotations[:, joint])
        return replace(self.pose, positions=positions, rotations=rotations)


def _common_directions(
    frames: np.ndarray, others: np.ndarray, depths: Array, away: Array, num_frames: int, width: float
) -> Array:
    """Directions (N, 3) in which all probes that are too deep in one part move the same way, smooth in time.

    Probes deep in the body have their shortest ways out on different sides of it, which may change from frame to frame.

    Args:
        frames: (N,) the frame of each probe.
        others: (N,) the part that it is near, by number.
        depths: (N,) metres that it is too deep.
        away: (N, 3) its shortest way out.
        num_frames: The number of frames.
        width: The standard deviation, in frames, over which directions are smoothed.
    """
    away = away.copy()
    for other in np.unique(others[depths > 0.0]):
        deep = (depths > 0.0) & (others == other)
        sums = (np.bincount(frames[deep], depths[deep] * a, num_frames) for a in away[deep].T)
        smooth = np.stack([gaussian_smoothed(np.asarray(column, float), width) for column in sums], axis=-1)
        away[deep] = (smooth / np.maximum(np.linalg.norm(smooth, axis=-1, keepdims=True), 1e-12))[frames[deep]]
    return away
