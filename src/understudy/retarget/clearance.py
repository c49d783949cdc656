"""Clearance: arms and legs stay out of the body, and out of each other, on a body of another shape.

Limbs of the start motion are turned at shoulder and elbow, or at the hip, before the solve. The turns of the whole
motion are solved for at once: as small and as smooth as the distance fields of the body allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.base.quaternion import Array, conjugate, cross, exp, from_axis_angle, multiply, rotate
from understudy.base.records import record
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import height, is_humanoid, leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.figure.skin import Mesh
from understudy.figure.solid import Pair, Solid, SolidBody, nearest_solids, resting_overlaps, solid_body
from understudy.figure.surface import capsules, joined_parts, resting_depths
from understudy.retarget.touch import elbow_axes, has_free_arms, smoothed

KEYS_HZ = 30.0
"""Most frames a second at which the turns of a limb are solved for; they are interpolated between."""

SMOOTHING_SECONDS = {"arm": 0.25, "leg": 1.0}
"""Time over which a limb turns out of the way. Legs are slower, because feet that stand must not slide."""

BEND_COST = {"arm": 1.0, "leg": 100.0}
"""Cost of bending elbow or knee, against that of turning the whole limb."""

STIFFNESS = 2e5
"""Cost of a metre of depth, squared, against that of a radian of turn, squared."""

MAX_SKIN_DEPTH_HEIGHTS, MAX_CAPSULE_DEPTH_HEIGHTS = 0.005, 0.04
"""Body heights that a limb may be deeper than the source's: in the target's skin, which is soft, and in capsules, whose
radii are guessed."""

NEAR_HEIGHTS = 0.03
"""Body heights from the surface within which a probe takes part."""

DIRECTION_SECONDS = 0.1
"""Standard deviation of the Gaussian window that smooths the way out of a part."""

MAX_TURN = 0.7
"""Radians to which the turns of a limb are smoothly limited: a limb that is deeper stays there, and is reported."""

MAX_TURN_STEP = 0.7
"""Radians that a limb turns at most in one step of the solve."""

MIN_TURN_STEP = 2e-3
"""Radians below which a further step is left out."""

MAX_LEFT_METRES = 1e-3
"""Metres of depth that are left."""

MIN_DAMPING = 10.0
"""Least cost of changing a turn in one step, against that of the turn."""

NUM_STEPS, NUM_ACTIVE_ROUNDS, NUM_ROUNDS = 10, 4, 2
"""Gauss-Newton steps for one limb, most linear solves in each, and how often all limbs take turns."""

LIMBS = {"arm": ("upper_arm", "lower_arm", "hand"), "leg": ("upper_leg", "lower_leg", "foot")}


def keep_clear(source: Motion, start: Motion, meshes: tuple[Mesh, ...] = (), *, kind: str) -> Motion:
    """The start motion with its arms or legs turned out of the body, where they are deeper in it than the source's.

    Args:
        source: The source's motion.
        start: The same motion on the target's body, before the solve.
        meshes: The target's skin; its parts are capsules without.
        kind: The limbs that move: `arm` or `leg`.
    """
    if not (is_humanoid(source.skeleton) and is_humanoid(start.skeleton) and has_free_arms(start.skeleton)):
        return start
    step = max(int(start.fps / KEYS_HZ), 1)
    frames = np.unique(np.r_[np.arange(0, start.num_frames, step), start.num_frames - 1])
    thinned = start[frames]
    body = _Body(
        motion=thinned,
        rate=start.fps / step,
        solid=solid_body(start.skeleton, meshes),
        tolerance=height(start.skeleton) * (MAX_SKIN_DEPTH_HEIGHTS if meshes else MAX_CAPSULE_DEPTH_HEIGHTS),
        allowed=_allowed_depths(source[frames], start.skeleton, meshes),
        joined=joined_parts(start.skeleton),
    )
    limbs = [_Limb.of(body, kind, side) for side in ("left", "right")]
    turns = [np.zeros((len(frames), 4)) for _ in limbs]
    moved = thinned
    for last in [False] * (NUM_ROUNDS - 1) + [True]:
        for index, limb in enumerate(limbs):
            pose = fk(moved)
            found = _solve_limb(body, limb, pose, turns[index], share=1.0 if last else 0.5)
            if found is not turns[index]:
                turns[index] = found
                moved = _turned(thinned, limbs, turns)
    if moved is thinned:
        return start
    if step == 1:
        return start.derived(rotations=moved.rotations)
    from scipy.interpolate import CubicSpline

    every = np.arange(start.num_frames)
    body = replace(body, motion=start)
    limbs = [_Limb.of(body, kind, limb.side) for limb in limbs]
    return _turned(start, limbs, [CubicSpline(frames, turn)(every) for turn in turns])


@record
class _Body:
    """A body in motion, and how deep its parts may be in each other."""

    motion: Motion
    rate: float
    """Frames a second."""
    solid: SolidBody
    tolerance: float
    """Metres that parts may be deeper in each other than allowed."""
    allowed: dict[Pair, Array]
    """(F,) metres for each two parts that may be in each other."""
    joined: frozenset[Pair]


@record
class _Limb:
    """An arm or a leg as it is in the start motion."""

    kind: str
    side: str
    joints: tuple[int, int, int]
    top: Array
    """(F, 3) metres, world: the shoulder or the hip."""
    middle: Array
    end: Array
    axis: Array
    """(F, 3) the axis about which elbow or knee bends, world."""
    probes: tuple[Array, ...]
    """(F, P, 3) metres, world: places on the skin of the upper, the lower and the last part."""
    obstacles: tuple[Solid, ...]
    """The solids of the rest of the body."""

    @staticmethod
    def of(body: _Body, kind: str, side: str) -> _Limb:
        motion = body.motion
        pose, skeleton = fk(motion), motion.skeleton
        joints = tuple(roles(skeleton)[f"{side}_{part}"] for part in LIMBS[kind])
        top, middle, end = (pose.positions[:, joint] for joint in joints)
        axis = elbow_axes(middle - top, end - middle, pose.rotations[:, joints[0]], steady=True)
        if skeleton.kinds[joints[1]] is JointKind.HINGE:
            hinge = rotate(pose.rotations[:, joints[1]], skeleton.axes[joints[1]][0])
            axis = hinge * np.sign(np.einsum("fi,fi->", hinge, axis))
        names = [f"{side} {part}" for part in LIMBS[kind]]
        probes = tuple(body.solid.probe_places(pose, name) for name in names)
        obstacles = tuple(piece for piece in body.solid.solids if piece.part not in names)
        return _Limb(kind=kind, side=side, joints=joints, top=top, middle=middle, end=end, axis=axis,  # type: ignore[arg-type]
                     probes=probes, obstacles=obstacles)  # fmt: skip

    def rotations(self, turn: Array) -> tuple[Array, Array]:
        """(F, 4) world rotations of the lower part at the middle joint, and then of the limb, by turns (F, 4)."""
        turn = turn / np.sqrt(1.0 + np.einsum("fi,fi->f", turn, turn) / MAX_TURN**2)[:, None]
        return from_axis_angle(self.axis, turn[:, 3]), exp(turn[:, :3])

    def moved(self, turn: Array) -> tuple[list[Array], Array, Array]:
        """The probes of each part, and the middle and the end of the limb, after turns (F, 4)."""
        bend, swing = self.rotations(turn)
        upper, lower, last = self.probes
        middle = self.top + rotate(swing, self.middle - self.top)
        end = middle + rotate(swing, rotate(bend, self.end - self.middle))
        whole = multiply(swing, bend)
        probes = [
            self.top[:, None] + rotate(swing[:, None], upper - self.top[:, None]),
            middle[:, None] + rotate(whole[:, None], lower - self.middle[:, None]),
            last + (end - self.end)[:, None],
        ]
        return probes, middle, end


def _allowed_depths(source: Motion, target: Skeleton, meshes: tuple[Mesh, ...]) -> dict[Pair, Array]:
    """(F,) metres that two parts of the target may be in each other: as the source's, and as in the rest pose."""
    ratio = leg_length(target) / leg_length(source.skeleton)
    shapes, resting = capsules(source.skeleton), resting_depths(source.skeleton)
    depths = {
        pair: ratio * np.maximum(depth - resting.get(pair, 0.0), 0.0)
        for pair, depth in shapes.depths(fk(source)).items()
    }
    for pair, depth in resting_overlaps(target, meshes).items():
        depths[pair] = depth + depths.get(pair, np.zeros(source.num_frames))
    return depths


def _solve_limb(body: _Body, limb: _Limb, pose: Pose, turn: Array, *, share: float) -> Array:
    """The turns (F, 4) of a limb that take it out of the rest of the body; the same if it is not deep in it.

    Args:
        body: The body.
        limb: The limb.
        pose: The body as it is, with its other limbs turned.
        turn: (F, 4) radians: a rotation vector of the limb, world, and the bend of its middle joint, so far.
        share: The part of the depth in another limb that this one makes up for.
    """
    smoothness = (SMOOTHING_SECONDS[limb.kind] * body.rate) ** 4
    costs = np.array([1.0, 1.0, 1.0, BEND_COST[limb.kind]])
    damping, rows, least = MIN_DAMPING, None, np.inf
    trial = turn
    for _ in range(NUM_STEPS + 1):
        found = _near_probes(body, limb, pose, trial, share, None if rows is None else rows.selection)
        total = float(np.square(np.maximum(found.depths, 0.0)).sum())
        if found.depths.max(initial=0.0) < MAX_LEFT_METRES:
            return trial
        # A step that leads deeper is taken back, and a shorter one tried.
        if total < least:
            least, turn = total, trial
            rows = found if rows is None else replace(found, selection=rows.selection)
            damping = max(damping / 4.0, MIN_DAMPING)
        else:
            damping *= 16.0
        assert rows is not None
        trial = _step(rows, turn, costs, smoothness, damping)
        if np.abs(trial - turn).max() < MIN_TURN_STEP:
            break
    return turn


def _step(rows: _Row, turn: Array, costs: Array, smoothness: float, damping: float) -> Array:
    """The turns (F, 4) after a damped Gauss-Newton step from some turns."""
    # A row asks for a depth to be made up for, from where the limb is now. Those that the turns more than make up for
    # ask for nothing, and the turns are solved for again.
    frames, gradients, active = rows.frames, rows.gradients, rows.depths > 0.0
    wanted = rows.depths + np.einsum("ni,ni->n", gradients, turn[frames])
    for _ in range(NUM_ACTIVE_ROUNDS):
        solved = _smooth_solve(frames[active], gradients[active], wanted[active], costs, smoothness, damping, turn)
        before, active = active, wanted > np.einsum("ni,ni->n", gradients, solved[frames])
        if np.array_equal(before, active):
            break
    change = solved - turn
    moved: Array = turn + change * np.minimum(1.0, MAX_TURN_STEP / max(float(np.abs(change).max()), 1e-9))
    return moved


@record
class _Row:
    """Probes near the rest of the body, one row each."""

    frames: np.ndarray
    """(N,)"""
    gradients: Array
    """(N, 4) metres for each radian of the turns by which they move away from it."""
    depths: Array
    """(N,) metres that they are too deep; negative if they are not."""
    selection: tuple[np.ndarray, ...]
    """For each part of the limb (F, P) which probes are near."""


def _near_probes(
    body: _Body, limb: _Limb, pose: Pose, turn: Array, share: float, selection: tuple[np.ndarray, ...] | None
) -> _Row:
    """The probes of a limb after turns (F, 4) that are near the rest of the body, among a selection."""
    probes, middle, end = limb.moved(turn)
    axis = rotate(limb.rotations(turn)[1], limb.axis)
    size = height(body.motion.skeleton)
    parts = [piece.part for piece in limb.obstacles]
    names = np.array([parts.index(part) for part in parts])
    rows, near = [], []
    for k, (part, places) in enumerate(zip(LIMBS[limb.kind], probes, strict=True)):
        name = f"{limb.side} {part}"
        chosen = np.full(places.shape[:2], part != "upper_leg") if selection is None else selection[k]
        frames, columns = np.nonzero(chosen)
        number, distance, away = nearest_solids(
            limb.obstacles, pose, frames, places[frames, columns], NEAR_HEIGHTS * size
        )
        met = np.isfinite(distance)
        near.append(np.zeros_like(chosen))
        near[-1][frames[met], columns[met]] = True
        frames, columns, number, depth, away = frames[met], columns[met], number[met], -distance[met], away[met]
        for index in np.unique(number):
            other = limb.obstacles[index].part
            pair, rest = (min(name, other), max(name, other)), number == index
            if pair in body.joined or (limb.kind == "leg" and other.partition(" ")[2] not in LIMBS["leg"][1:]):
                # Thighs may touch, and arms keep out of the legs by themselves.
                depth[rest] = -np.inf
            elif pair in body.allowed:
                depth[rest] -= body.allowed[pair][frames[rest]]
            if other.partition(" ")[2] in LIMBS[limb.kind]:
                depth[rest] *= np.where(depth[rest] > 0.0, share, 1.0)
        kept = np.isfinite(depth)
        frames, columns, depth, away = frames[kept], columns[kept], depth[kept] - body.tolerance, away[kept]
        away = _common_directions(frames, names[number[kept]], depth, away, len(turn), DIRECTION_SECONDS * body.rate)
        place = end[frames] if part == LIMBS[limb.kind][2] else places[frames, columns]
        by_bend = np.einsum("ni,ni->n", away, cross(axis[frames], place - middle[frames])) * (k > 0)
        by_turn = cross(place - limb.top[frames], away)
        rows.append((frames, np.concatenate([by_turn, by_bend[:, None]], axis=1), depth))
    frames, gradients, depths = (np.concatenate(column) for column in zip(*rows, strict=True))
    return _Row(frames=frames, gradients=gradients, depths=depths, selection=tuple(near))


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
        sums: Array = np.stack([np.bincount(frames[deep], depths[deep] * a, num_frames) for a in away[deep].T], axis=-1)
        sums = smoothed(sums, width)
        away[deep] = (sums / np.maximum(np.linalg.norm(sums, axis=-1, keepdims=True), 1e-12))[frames[deep]]
    return away


def _smooth_solve(
    frames: np.ndarray, gradients: Array, wanted: Array, costs: Array, smoothness: float, damping: float, near: Array
) -> Array:
    """(F, D) the smallest and smoothest values that bring about what is wanted.

    Args:
        frames: (N,) the frame of each row.
        gradients: (N, D) what a row changes by with the values of its frame.
        wanted: (N,) what each row should be.
        costs: (D,) costs of the squares of the values.
        smoothness: The cost of squared second differences, against that of the values.
        damping: The cost of the squared distance from other values, against that of the values.
        near: (F, D) those values.
    """
    from scipy.linalg import solveh_banded

    num_frames, width = near.shape
    band = np.zeros((2 * width + 1, num_frames, width))
    for row in range(width):
        for column in range(row + 1):
            weights = STIFFNESS * gradients[:, row] * gradients[:, column]
            band[row - column, :, column] += np.bincount(frames, weights, num_frames)
    vector: Array = np.stack([np.bincount(frames, STIFFNESS * wanted * g, num_frames) for g in gradients.T], axis=-1)
    vector += damping * near
    diagonal = np.zeros((3, num_frames))
    diagonal[0] = 1.0
    second = np.array([1.0, -2.0, 1.0])
    for i in range(3 if num_frames > 2 else 0):
        for j in range(i + 1):
            diagonal[i - j, j : j + num_frames - 2] += smoothness * second[i] * second[j]
    for step in range(3):
        band[step * width] += diagonal[step][:, None] * costs + (damping if step == 0 else 0.0)
    return np.asarray(solveh_banded(band.reshape(2 * width + 1, -1), vector.ravel(), lower=True)).reshape(-1, width)


def _turned(motion: Motion, limbs: Sequence[_Limb], turns: Sequence[Array]) -> Motion:
    """A motion with its limbs turned; hands and feet keep their rotations in the world."""
    pose, rotations = fk(motion), motion.rotations.copy()
    parents = motion.skeleton.parents
    for limb, turn in zip(limbs, turns, strict=True):
        if not turn.any():
            continue
        bend, swing = limb.rotations(turn)
        upper, lower, end = limb.joints
        world = pose.rotations
        rotations[:, upper] = multiply(conjugate(world[:, parents[upper]]), multiply(swing, world[:, upper]))
        rotations[:, lower] = multiply(conjugate(world[:, parents[lower]]), multiply(bend, world[:, lower]))
        above = multiply(multiply(swing, bend), world[:, parents[end]])
        rotations[:, end] = multiply(conjugate(above), world[:, end])
    return motion.derived(rotations=rotations)
