"""The lengths of a body and the places of its markers on it, from some frames of its motion.

Joint centres are where the motion of the markers puts them, as far as it says: bones, markers and poses are found
together by Gauss-Newton steps on the distances of all markers, with the first estimate as a prior. The poses are
eliminated frame by frame (Schur complement), so that the cost is linear in the number of frames.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.base.quaternion import Array, conjugate, exp, from_matrix, log, multiply, skew, to_matrix
from understudy.base.records import record
from understudy.figure.kinematics import forward
from understudy.figure.skeleton import Point, Skeleton
from understudy.io.c3d.estimate import HEAD_TOP, TREE, Estimate, Size
from understudy.io.c3d.markers import part_of

MARKER_METRES, OUTLIER_METRES = 0.004, 0.015
"""How far a marker is from its place on the body, as a rule, and from where on it counts as an outlier."""
HIP_METRES, ACROSS_METRES, ALONG_METRES, TRUNK_METRES = 0.010, 0.006, 0.030, 0.020
"""How far the first estimate of a joint may be off: hips; joints of limbs across and along their bone; the trunk."""
ANATOMY_METRES, MEASURED_METRES, FREE_METRES = 0.010, 0.005, 0.040
"""How far a marker may be from its place beside a joint's centre: by anatomy, and where the joint's width was measured;
and one that may be anywhere on its part."""
POSE_RADIANS, ROOT_METRES = 0.35, 0.05
"""How far the first estimate of a pose may be off."""
INDEPENDENT_FRAMES = 6
"""Frames whose errors are independent. Skin slides over bones alike in most frames: many say little more than few."""
MAX_FRAMES, STEPS, MIN_GAIN = 40, 12, 1e-3
"""Frames that are looked at, steps, and the relative gain below which a step is the last."""


State = tuple[Array, Array, Array, Array]
"""(J, 3) bones, (M, 3) places of markers, (F, 3) the root's path, and (F, J, 4) local rotations."""


@record
class Calibrated:
    """A body and the places of its markers on it."""

    skeleton: Skeleton
    points: tuple[Point, ...]
    """The markers."""


def skeleton_of(offsets: Array, scale: float) -> Skeleton:
    """The skeleton in a T-pose with its hips above the origin.

    Args:
        offsets: (J, 3) metres from parent to joint; the root's is not used.
        scale: The size of the body.
    """
    names = tuple(name for name, _ in TREE)
    parents = np.array([names.index(parent) if parent else -1 for _, parent in TREE])
    offsets = offsets.copy()
    offsets[0] = 0.0
    depth = sum(offsets[names.index(f"Left{part}")][1] for part in ("UpLeg", "Leg", "Foot"))
    offsets[0] = [0.0, -depth + 0.08 * scale, 0.0]
    ends = [Point(name="HeadTop", joint="Head", offset=np.array([0.0, HEAD_TOP * scale, 0.0]))]
    for word, sign in (("Left", 1.0), ("Right", -1.0)):
        ends.append(Point(name=f"{word}FingerTips", joint=f"{word}Hand", offset=np.array([sign * 0.17 * scale, 0, 0])))
        ends.append(Point(name=f"{word}Toe", joint=f"{word}Foot", offset=scale * np.array([0.0, -0.07, 0.19])))
        ends.append(Point(name=f"{word}Heel", joint=f"{word}Foot", offset=scale * np.array([0.0, -0.07, -0.05])))
    return Skeleton(name="markers", names=names, parents=parents, offsets=offsets, ends=tuple(ends))


def bones_of(start: Estimate) -> Array:
    """(J, 3) the offset of each joint in its parent's frame, the median of all frames."""
    out = np.zeros((len(TREE), 3))
    for joint, (name, parent) in enumerate(TREE):
        if parent:
            away = start.places[name] - start.places[parent]
            out[joint] = np.median(np.einsum("fji,fj->fi", start.frames[parent], away), axis=0)
    return out


def poses_of(start: Estimate, skeleton: Skeleton) -> tuple[Array, Array]:
    """(F, 3) the root's path and (F, J, 4) the local rotations of the first estimate."""
    world = from_matrix(np.stack([start.frames[name] for name in skeleton.names], axis=1))
    local = world.copy()
    local[:, 1:] = multiply(conjugate(world[:, skeleton.parents[1:]]), world[:, 1:])
    return start.places["Hips"], local


def calibrate(markers: dict[str, Array], start: Estimate) -> Calibrated:
    """Find the bones and the places of the markers.

    Args:
        markers: (F, 3) metres, world with Y up, by marker; NaN where one was not seen.
        start: The first estimate.
    """
    skeleton = skeleton_of(bones_of(start), start.size.scale)
    names = tuple(markers)
    joints = np.array([skeleton.joint(part_of(name)) for name in names])
    tracks = np.stack([markers[name] for name in names], axis=1)
    local = np.stack(
        [
            np.einsum("fji,fj->fi", start.frames[part_of(name)], markers[name] - start.places[part_of(name)])
            for name in names
        ],
        axis=1,
    )
    offsets = np.nanmedian(local, axis=0)
    root, rotations = poses_of(start, skeleton)
    chosen = np.unique(np.linspace(0, len(root) - 1, min(MAX_FRAMES, len(root))).round().astype(int))
    fit = _Fit(skeleton, joints, tracks[chosen], _prior(skeleton, names, offsets, start.size))
    bones, offsets = fit.run(root[chosen], rotations[chosen], offsets)
    return Calibrated(
        skeleton=skeleton_of(bones, start.size.scale),
        points=tuple(
            Point(name=name, joint=skeleton.names[joint], offset=offset)
            for name, joint, offset in zip(names, joints, offsets)
        ),
    )


@record
class Prior:
    """Linear rows on the bones and markers: `rows @ (bones, markers) = values`, each row divided by its deviation."""

    rows: Array
    values: Array


def _prior(skeleton: Skeleton, names: Sequence[str], offsets: Array, size: Size) -> Prior:
    count, scale = skeleton.num_joints, size.scale
    rows: list[Array] = []
    values: list[float] = []

    def expect(entries: dict[int, float], value: float, deviation: float) -> None:
        row = np.zeros(3 * (count + len(names)))
        for column, factor in entries.items():
            row[column] = factor / deviation
        rows.append(row)
        values.append(value / deviation)

    for joint in range(1, count):
        name = skeleton.names[joint]
        for axis in range(3):
            value = float(skeleton.offsets[joint, axis])
            expect({3 * joint + axis: 1.0}, value, scale * _deviation(name, axis))
    for number, marker in enumerate(names):
        beside = _beside(marker, names, size)
        anatomy = MEASURED_METRES if marker in size.measured else scale * ANATOMY_METRES
        for axis in range(3):
            column = 3 * (count + number) + axis
            expect({column: 1.0}, float(offsets[number, axis]), scale * FREE_METRES)
            if beside is not None:
                joint = skeleton.joint(beside[0])
                expect({column: 1.0, 3 * joint + axis: -1.0}, float(beside[1][axis]), anatomy)
    return Prior(rows=np.array(rows), values=np.array(values))


def _deviation(joint: str, axis: int) -> float:
    if joint.endswith("UpLeg"):
        return HIP_METRES
    if joint.endswith(("Leg", "Foot")):
        return ALONG_METRES if axis == 1 else ACROSS_METRES
    if joint.endswith(("Arm", "Hand")):
        return ALONG_METRES if axis == 0 else ACROSS_METRES
    return TRUNK_METRES


def _beside(marker: str, names: Sequence[str], size: Size) -> tuple[str, Array] | None:
    """The joint that a marker is beside, and (3,) metres from it to the marker, in the frame of the marker's part."""
    word, sign = ("Left", 1.0) if marker[0] == "L" else ("Right", -1.0)
    kind = marker[1:]
    sides = {"KNE": ("Leg", 0), "ANK": ("Foot", 0), "ELB": ("ForeArm", 1), "SHO": ("Arm", 1)}
    if kind in sides:
        joint, axis = sides[kind]
        inner = {"KNE": "KNM", "ANK": "ANM", "ELB": "ELM"}.get(kind, "")
        if f"{marker[0]}{inner}" in names:
            return None
        place = np.zeros(3)
        place[axis] = size.half_width(marker) * (sign if axis == 0 else 1.0)
        return f"{word}{joint}", place
    if kind in ("WRA", "WRB"):
        return f"{word}Hand", np.array(
            [0.0, 0.0, (1.0 if kind == "WRA" else -1.0) * size.half_width(f"{marker[0]}WRA")]
        )
    return None


class _Fit:
    """Gauss-Newton on bones, markers and poses at once."""

    def __init__(self, skeleton: Skeleton, joints: np.ndarray, tracks: Array, prior: Prior) -> None:
        self.skeleton, self.joints, self.tracks = skeleton, joints, tracks
        share = np.sqrt(max(len(tracks) / INDEPENDENT_FRAMES, 1.0))
        self.prior = Prior(rows=share * prior.rows, values=share * prior.values)
        self.seen = np.isfinite(tracks[..., 0])
        self.above = skeleton.above[joints]
        """(M, J) whether a joint is above a marker."""

    def run(self, root: Array, rotations: Array, offsets: Array) -> tuple[Array, Array]:
        """(J, 3) the bones and (M, 3) the markers, starting from poses and places of markers."""
        start = (root, rotations)
        bones = self.skeleton.offsets.copy()
        state = (bones, offsets, root, rotations)
        cost = self._cost(state, start)
        damping = 1e-3
        for _ in range(STEPS):
            system = self._linearise(state, start)
            while damping < 1e6:
                trial = self._moved(state, *_solve(system, damping))
                new = self._cost(trial, start)
                if new < cost:
                    break
                damping *= 10.0
            else:
                break
            gain, state, cost, damping = (cost - new) / max(cost, 1e-12), trial, new, max(0.1 * damping, 1e-6)
            if gain < MIN_GAIN:
                break
        return state[0], state[1]

    def _places(self, state: State) -> tuple[Array, Array, Array]:
        bones, offsets, root, rotations = state
        wide = np.broadcast_to(bones, (len(root), *bones.shape))
        positions, turns = forward(self.skeleton, root, rotations, wide)
        matrices = to_matrix(turns)
        points = positions[:, self.joints] + np.einsum("fmij,mj->fmi", matrices[:, self.joints], offsets)
        return positions, matrices, points

    def _residuals(self, points: Array) -> tuple[Array, Array]:
        """(F, M, 3) distances in deviations, and (F, M) weights that keep outliers from pulling."""
        away = np.where(self.seen[..., None], points - np.nan_to_num(self.tracks), 0.0)
        distance = np.linalg.norm(away, axis=-1)
        return away / MARKER_METRES, self.seen / np.maximum(1.0, distance / OUTLIER_METRES)

    def _pose_change(self, state: State, start: tuple[Array, Array]) -> Array:
        """(F, 3 + 3 J) how far the poses are from the first estimate, in deviations."""
        _, _, root, rotations = state
        turned = log(multiply(conjugate(start[1]), rotations)) / POSE_RADIANS
        # The root is held by its markers alone.
        turned[:, 0] *= 1e-3
        return np.concatenate([1e-3 * (root - start[0]) / ROOT_METRES, turned.reshape(len(root), -1)], axis=1)

    def _cost(self, state: State, start: tuple[Array, Array]) -> float:
        values, _ = self._residuals(self._places(state)[2])
        squared = (values**2).sum(axis=-1)
        limit = (OUTLIER_METRES / MARKER_METRES) ** 2
        # Beyond the limit the cost grows with the distance and not with its square (Huber).
        robust = np.where(squared > limit, 2.0 * np.sqrt(limit * squared) - limit, squared)
        parameters = np.concatenate([state[0].ravel(), state[1].ravel()])
        prior = self.prior.rows @ parameters - self.prior.values
        change = self._pose_change(state, start)
        return float((robust * self.seen).sum() + (prior**2).sum() + (change**2).sum())

    def _linearise(self, state: State, start: tuple[Array, Array]) -> tuple[Array, ...]:
        """Normal equations: of the poses (F, P, P), mixed (F, P, Q), of the body (Q, Q), and both right-hand sides."""
        positions, matrices, points = self._places(state)
        values, weights = self._residuals(points)
        frames, count, joints = len(points), len(self.joints), self.skeleton.num_joints
        by_pose = np.zeros((frames, count, 3, 3 + 3 * joints))
        by_pose[..., :3] = np.eye(3)
        arms = points[:, :, None] - positions[:, None]
        # Rotations are changed in the joint's own frame.
        turns = -np.einsum("fmjab,fjbc->fmajc", skew(arms), matrices) * self.above[None, :, None, :, None]
        by_pose[..., 3:] = turns.reshape(frames, count, 3, 3 * joints)
        by_body = np.zeros((frames, count, 3, joints + count, 3))
        for joint in range(1, joints):
            by_body[:, :, :, joint][:, self.above[:, joint]] = matrices[:, self.skeleton.parents[joint]][:, None]
        for number, joint in enumerate(self.joints):
            by_body[:, number, :, joints + number] = matrices[:, joint]
        root = np.sqrt(weights)[..., None, None] / MARKER_METRES
        poses = (by_pose * root).reshape(frames, 3 * count, -1)
        bodies = (by_body.reshape(frames, count, 3, -1) * root).reshape(frames, 3 * count, -1)
        errors = (values * np.sqrt(weights)[..., None]).reshape(frames, -1)
        pose = np.swapaxes(poses, 1, 2) @ poses
        scale = np.concatenate([np.full(3, 1e-3 / ROOT_METRES), np.full(3, 1e-3 / POSE_RADIANS),
                                np.full(3 * joints - 3, 1.0 / POSE_RADIANS)])  # fmt: skip
        pose[:, np.arange(len(scale)), np.arange(len(scale))] += scale**2
        pose_side = np.einsum("fri,fr->fi", poses, errors) + scale * self._pose_change(state, start)
        mixed = np.swapaxes(poses, 1, 2) @ bodies
        rows, flat = self.prior.rows, bodies.reshape(-1, bodies.shape[-1])
        body = flat.T @ flat + rows.T @ rows
        parameters = np.concatenate([state[0].ravel(), state[1].ravel()])
        body_side = np.einsum("fri,fr->i", bodies, errors) + rows.T @ (rows @ parameters - self.prior.values)
        return pose, mixed, body, pose_side, body_side

    def _moved(self, state: State, poses: Array, body: Array) -> State:
        bones, offsets, root, rotations = state
        split = 3 * len(bones)
        turns = poses[:, 3:].reshape(*rotations.shape[:2], 3)
        return (
            bones + body[:split].reshape(-1, 3),
            offsets + body[split:].reshape(-1, 3),
            root + poses[:, :3],
            multiply(rotations, exp(turns)),
        )


def _solve(system: tuple[Array, ...], damping: float) -> tuple[Array, Array]:
    """(F, P) and (Q,) the step of the poses and of the body."""
    pose, mixed, body, pose_side, body_side = system
    diagonal = np.arange(pose.shape[1])
    damped = pose.copy()
    damped[:, diagonal, diagonal] *= 1.0 + damping
    inverse = np.linalg.inv(damped)
    reduced = body - np.einsum("fpi,fpq,fqj->ij", mixed, inverse, mixed, optimize=True)
    side = body_side - np.einsum("fpi,fpq,fq->i", mixed, inverse, pose_side, optimize=True)
    # The root's place is no part of the body; its columns are empty.
    reduced[np.arange(len(reduced)), np.arange(len(reduced))] += damping * np.diag(body) + 1e-9
    step = -np.linalg.solve(reduced, side)
    poses = -np.einsum("fpq,fq->fp", inverse, pose_side + np.einsum("fpi,i->fp", mixed, step))
    return poses, step
