"""A robot in MuJoCo: the forces that its motion takes, and how long it follows the motion under gravity.

All functions take a model of MuJoCo with a free joint first, hinges after it, Z up, and the floor at a given height.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np

from understudy.base.errors import MissingPackageError
from understudy.base.quaternion import Array, conjugate, continuous, from_axis_angle, from_matrix, multiply, unrotate
from understudy.base.records import record
from understudy.figure.kinematics import joint_angle_curves
from understudy.figure.motion import Motion
from understudy.figure.robot import CollisionShape, RobotLayout
from understudy.figure.skeleton import JointKind, Skeleton

Z_UP = from_axis_angle(np.array([1.0, 0.0, 0.0]), -0.5 * np.pi)
"""Rotation from a world with Z up to one with Y up."""

GRAVITY = 9.81

STEP_SECONDS = 0.002
"""Time step of a replay."""

SMOOTHING_SECONDS = 0.04
"""Velocities are low-pass filtered by a Gaussian of this width before they become accelerations."""

MAX_TOUCH_METRES = 0.015
"""A point of the surface up to this height above the floor bears weight."""

FRICTION = 0.8

MIN_INERTIA = 1e-6
"""Kilogram square metres: smaller inertias stand for unknown ones."""


def has_mujoco() -> bool:
    """Whether MuJoCo is installed."""
    try:
        import mujoco  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        return False
    return True


def load_mujoco() -> Any:
    """The package MuJoCo."""
    try:
        import mujoco
    except ImportError:
        raise MissingPackageError("mujoco", "physics", "Forces and torques of robots") from None
    return mujoco


def build_model(skeleton: Skeleton, layout: RobotLayout, *, floor: float | None = None) -> Any:
    """MuJoCo's model of a robot, from what was read of its file; meshes are not needed. With a floor it can stand.

    Each joint of the skeleton is a body at its rest pose with a hinge, so that a value is the angle from there. Links
    are bodies fixed to them, with their masses and collision shapes. Links without a mass take that of their shapes.
    """
    mujoco = load_mujoco()
    root = ElementTree.Element("mujoco", model="robot")
    ElementTree.SubElement(
        root, "compiler", angle="radian", boundmass="1e-4", boundinertia=str(MIN_INERTIA), balanceinertia="true"
    )
    world = ElementTree.SubElement(root, "worldbody")
    bodies: list[ElementTree.Element] = []
    for joint, name in enumerate(skeleton.names):
        parent = world if joint == 0 else bodies[int(skeleton.parents[joint])]
        rest = skeleton.rest[joint] if joint else multiply(conjugate(Z_UP), skeleton.rest[0])
        offset = skeleton.offsets[joint] if joint else unrotate(Z_UP, skeleton.offsets[0])
        body = ElementTree.SubElement(parent, "body", name=name, pos=_text(offset), quat=_text(rest))
        bodies.append(body)
        if joint == 0:
            ElementTree.SubElement(body, "freejoint", name=name)
        elif skeleton.kinds[joint] is JointKind.HINGE:
            ElementTree.SubElement(
                body, "joint", name=name, axis=_text(skeleton.axes[joint, 0]),
                armature=str(layout.armatures.get(name, 0.0)),
            )  # fmt: skip
    for link in layout.bodies:
        parent = bodies[skeleton.index[link.joint]]
        body = ElementTree.SubElement(
            parent, "body", name=f"link {link.name}", pos=_text(link.position), quat=_text(link.rotation)
        )
        if link.mass is not None:
            inertia = MIN_INERTIA * np.eye(3) if link.inertia is None else link.inertia
            moments, axes = np.linalg.eigh(inertia)
            axes[:, 2] *= np.sign(np.linalg.det(axes))
            ElementTree.SubElement(
                body, "inertial", pos=_text(link.centre), mass=str(max(link.mass, 1e-4)),
                diaginertia=_text(np.maximum(moments, MIN_INERTIA)), quat=_text(from_matrix(axes)),
            )  # fmt: skip
        for shape in link.shapes:
            _add_shape(body, shape)
    _add_soles(bodies, skeleton, layout)
    if floor is not None:
        ElementTree.SubElement(root, "option", timestep=str(STEP_SECONDS), integrator="implicitfast")
        ElementTree.SubElement(
            world, "geom", type="plane", size="0 0 1", pos=_text([0.0, 0.0, floor]), friction=f"{FRICTION} 0.005 0.0001"
        )
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


def _text(numbers: Iterable[float]) -> str:
    return " ".join(f"{number:.17g}" for number in numbers)


def _add_shape(body: ElementTree.Element, shape: CollisionShape) -> None:
    used = {"sphere": 1, "capsule": 2, "cylinder": 2}.get(shape.kind, 3)
    ElementTree.SubElement(
        body, "geom", type=shape.kind, pos=_text(shape.position), quat=_text(shape.rotation),
        size=_text(np.maximum(shape.size[:used], 1e-4)),
    )  # fmt: skip


def _add_soles(bodies: Sequence[ElementTree.Element], skeleton: Skeleton, layout: RobotLayout) -> None:
    """Small spheres at the soles of feet whose only shape is a mesh."""
    shaped = {link.joint for link in layout.bodies if link.shapes}
    for end in skeleton.ends:
        if "sole" in end.name and end.joint not in shaped:
            ElementTree.SubElement(
                bodies[skeleton.index[end.joint]], "geom", type="sphere", size="0.002", mass="0", pos=_text(end.offset)
            )


def coordinates(motion: Motion) -> Array:
    """(F, 7 + N) MuJoCo's coordinates of a motion on the model that `build_model` makes of its skeleton."""
    skeleton = motion.skeleton
    hinges = [j for j in range(1, skeleton.num_joints) if skeleton.kinds[j] is JointKind.HINGE]
    angles = joint_angle_curves(skeleton, motion.rotations)[:, hinges, 0]
    turns = continuous(multiply(conjugate(Z_UP), motion.rotations[:, 0]))
    return np.concatenate([unrotate(Z_UP, motion.root), turns, angles], axis=1)


@record
class Surface:
    """Points of the collision shapes of a robot, each a sphere: corners of boxes, ends of capsules, rims."""

    geoms: np.ndarray
    """(P,) the shape of each."""
    places: Array
    """(P, 3) metres, in the shape's frame."""
    radii: Array
    """(P,) metres."""

    @staticmethod
    def of(model: Any) -> Surface:
        mujoco = load_mujoco()
        geoms: list[int] = []
        places: list[Array] = []
        radii: list[float] = []
        kinds = mujoco.mjtGeom
        around = np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False)
        for geom in range(model.ngeom):
            if not model.geom_bodyid[geom] or not (model.geom_contype[geom] or model.geom_conaffinity[geom]):
                continue
            size, kind, radius = model.geom_size[geom], model.geom_type[geom], 0.0
            corners = np.stack(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]), -1).reshape(-1, 3)
            if kind == kinds.mjGEOM_BOX:
                points = corners * size
            elif kind == kinds.mjGEOM_SPHERE:
                points, radius = np.zeros((1, 3)), float(size[0])
            elif kind == kinds.mjGEOM_CAPSULE:
                points, radius = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]) * size[1], float(size[0])
            elif kind == kinds.mjGEOM_CYLINDER:
                rim = size[0] * np.stack([np.cos(around), np.sin(around), 0.0 * around], -1)
                end = np.array([0.0, 0.0, size[1]])
                points = np.concatenate([rim - end, rim + end])
            elif kind == kinds.mjGEOM_ELLIPSOID:
                points = np.concatenate([np.eye(3), -np.eye(3), corners / math.sqrt(3.0)]) * size
            else:
                continue
            geoms += [geom] * len(points)
            places.append(points)
            radii += [radius] * len(points)
        return Surface(
            geoms=np.array(geoms, int), places=np.concatenate([np.zeros((0, 3)), *places]), radii=np.array(radii)
        )

    def lowest_points(self, state: Any) -> Array:
        """(P, 3) metres, world: the lowest point of each sphere."""
        turns = state.geom_xmat[self.geoms].reshape(-1, 3, 3)
        centres = state.geom_xpos[self.geoms] + np.einsum("pij,pj->pi", turns, self.places)
        return centres - self.radii[:, None] * np.array([0.0, 0.0, 1.0])


@record
class Forces:
    """What a motion takes of a robot, at each frame."""

    floor: float
    """Metres: height of the floor."""
    velocities: Array
    """(F, N) radians a second, of the hinges."""
    torques: Array
    """(F, N) newton metres, of the hinges; NaN where nothing touches the floor."""
    root_acceleration: Array
    """(F,) metres per second squared."""
    pressure: Array
    """(F, 2) metres, world: centre of pressure that the motion takes."""
    inside: Array
    """(F,) metres that it is inside the support; negative outside, NaN where nothing touches the floor."""
    missing: Array
    """(F,) share of the weight: force that the floor cannot give where the robot touches it; NaN without touch."""
    slip: Array
    """(F,) metres a second: mean horizontal speed of what touches the floor; NaN without touch."""
    depth: Array
    """(F,) metres: depth of the deepest collision of the robot with itself."""


@record
class Machine:
    """A model of a robot and what to look at."""

    model: Any
    surface: Surface

    @staticmethod
    def of(model: Any) -> Machine:
        return Machine(model=model, surface=Surface.of(model))

    @property
    def weight(self) -> float:
        """Newtons."""
        return float(self.model.body_subtreemass[0]) * GRAVITY

    def rates(self, path: Array, fps: float) -> tuple[Array, Array]:
        """(F, V) velocities and accelerations of coordinates (F, Q)."""
        from scipy.ndimage import gaussian_filter1d

        mujoco = load_mujoco()
        steps = np.zeros((max(len(path) - 1, 1), self.model.nv))
        for frame in range(len(path) - 1):
            mujoco.mj_differentiatePos(self.model, steps[frame], 1.0 / fps, path[frame], path[frame + 1])
        between = np.concatenate([steps[:1], steps, steps[-1:]])[: len(path) + 1]
        velocities = 0.5 * (between[1:] + between[:-1])
        smooth = gaussian_filter1d(velocities, SMOOTHING_SECONDS * fps, axis=0, mode="nearest")
        accelerations = np.gradient(smooth, 1.0 / fps, axis=0) if len(path) > 1 else np.zeros_like(smooth)
        return velocities, accelerations

    def measure(self, path: Array, fps: float) -> Forces:
        """The forces of a motion with coordinates (F, 7 + N), from inverse dynamics.

        The floor pushes at the points that touch it, inside a friction cone, as nearly as it can with what the motion
        takes; the rest of the torques is the motors'.
        """
        mujoco = load_mujoco()
        model = self.model
        state = mujoco.MjData(model)
        velocities, accelerations = self.rates(path, fps)
        count = len(path)
        points = np.zeros((count, len(self.surface.radii), 3))
        inverse, depth = np.zeros((count, model.nv)), np.zeros(count)
        flags = model.opt.disableflags
        model.opt.disableflags = flags | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        for frame in range(count):
            state.qpos[:], state.qvel[:], state.qacc[:] = path[frame], velocities[frame], accelerations[frame]
            mujoco.mj_inverse(model, state)
            inverse[frame] = state.qfrc_inverse
            points[frame] = self.surface.lowest_points(state)
            mujoco.mj_collision(model, state)
            depth[frame] = self._depth(state)
        model.opt.disableflags = flags
        low = points[..., 2].min(axis=1) if points.shape[1] else np.zeros(count)
        floor = float(np.median(np.sort(low)[: max(count // 2, 1)]))
        touches = np.asarray(points[..., 2] < floor + MAX_TOUCH_METRES)
        speeds = np.linalg.norm(np.gradient(points[..., :2], 1.0 / fps, axis=0), axis=-1)
        stands = np.asarray(touches.any(axis=1))
        pressure = _centres_of_pressure(path, inverse, floor)
        forces = self._floor_forces(path, inverse, points, touches)
        return Forces(
            floor=floor,
            velocities=velocities[:, 6:],
            torques=np.where(stands[:, None], inverse[:, 6:] - forces[:, 6:], np.nan),
            root_acceleration=np.linalg.norm(accelerations[:, :3], axis=-1),
            pressure=pressure,
            inside=_margins(pressure, points[..., :2], touches),
            missing=np.linalg.norm(inverse[:, :3] - forces[:, :3], axis=-1) / self.weight
            + np.where(stands, 0.0, np.nan),
            slip=np.where(stands, (speeds * touches).sum(1) / np.maximum(touches.sum(1), 1), np.nan),
            depth=depth,
        )

    def _depth(self, state: Any) -> float:
        owners = self.model.geom_bodyid
        contacts = (c for c in state.contact[: state.ncon] if owners[c.geom1] and owners[c.geom2])
        return max((-float(contact.dist) for contact in contacts), default=0.0)

    def _floor_forces(self, path: Array, inverse: Array, points: Array, touches: np.ndarray) -> Array:
        """(F, V) generalized forces of the floor that come nearest to what the root needs."""
        from scipy.optimize import nnls

        mujoco = load_mujoco()
        model, state = self.model, mujoco.MjData(self.model)
        directions = np.array(
            [[FRICTION, 0.0, 1.0], [-FRICTION, 0.0, 1.0], [0.0, FRICTION, 1.0], [0.0, -FRICTION, 1.0]]
        )
        jacobian = np.zeros((3, model.nv))
        forces = np.zeros((len(path), model.nv))
        for frame in range(len(path)):
            chosen = np.flatnonzero(touches[frame])
            if len(chosen) == 0:
                continue
            state.qpos[:] = path[frame]
            mujoco.mj_kinematics(model, state)
            mujoco.mj_comPos(model, state)
            columns = []
            for point in chosen:
                body = model.geom_bodyid[self.surface.geoms[point]]
                mujoco.mj_jac(model, state, jacobian, None, points[frame, point], body)
                columns.append(jacobian.T @ directions.T)
            pushes = np.concatenate(columns, axis=1)
            even = 1e-3 * np.eye(pushes.shape[1])
            system = np.concatenate([pushes[:6], even])
            sizes, _ = nnls(system, np.concatenate([inverse[frame, :6], np.zeros(len(even))]), maxiter=50 * len(even))
            forces[frame] = pushes @ sizes
        return forces


def _centres_of_pressure(path: Array, inverse: Array, floor: float) -> Array:
    """(F, 2) where the floor must push alone for the force and moment on the root (F, 6) to come from it."""
    force = inverse[:, :3]
    moment = np.stack([_turn(turn, moment) for turn, moment in zip(path[:, 3:7], inverse[:, 3:6], strict=True)])
    lift = np.maximum(force[:, 2], 1.0)
    height = path[:, 2] - floor
    ahead = (moment[:, 1] + height * force[:, 0]) / lift
    aside = (height * force[:, 1] - moment[:, 0]) / lift
    return path[:, :2] - np.stack([ahead, aside], axis=-1)


def _turn(rotation: Array, vector: Array) -> Array:
    return unrotate(conjugate(rotation), vector)


def _margins(places: Array, points: Array, touches: np.ndarray) -> Array:
    """(F,) metres that places (F, 2) are inside the hull of the points (F, P, 2) that touch; NaN where none does."""
    from understudy.metrics.balance import inside

    margins, touched = np.full(len(places), np.nan), np.flatnonzero(np.asarray(touches.any(axis=1)))
    for frame in touched:
        margins[frame] = inside(places[frame : frame + 1], points[frame : frame + 1, touches[frame]])[0]
    return margins


FULL_TORQUE_RADIANS = 0.25
"""A joint so far from its reference asks for its full torque."""

DAMPING_SECONDS = 0.03
"""Damping of a joint, as a share of its stiffness."""

HAND_HZ, MAX_HAND_WEIGHTS = 1.5, 1.0
"""The virtual hand is a spring on the root with this frequency, critically damped, and pulls with at most so many times
the weight."""

MAX_DRIFT_LEGS, MAX_DROP_LEGS, MAX_LEAN_RADIANS = 0.5, 0.25, 0.8
"""A robot follows until its root is farther from its reference than this, horizontally, in height or in rotation."""


@record
class Replay:
    """How long a robot follows a motion."""

    seconds: float
    """Until it is lost, or the whole duration."""
    share: float
    """Share of the motion's duration."""
    hand: float
    """Mean force of the virtual hand, as a share of the weight."""
    drift: Array
    """(F,) metres of the root from its reference; NaN after it was lost."""


def replay(model: Any, path: Array, torques: Array, fps: float, limits: Array, leg: float, *, hand: bool) -> Replay:
    """Simulate a robot whose motors follow a motion by PD control.

    The torque of each motor is that of the inverse dynamics, and stiffness and damping towards the reference, within
    the motor's limit. Nothing balances the robot.

    Args:
        model: The robot, with a floor.
        path: (F, 7 + N) coordinates of the motion.
        torques: (F, N) newton metres that the motion takes; NaN where they are not known.
        fps: Frames a second.
        limits: (N,) newton metres; infinite where they are not known.
        leg: Metres.
        hand: Whether a virtual hand holds the root.
    """
    mujoco = load_mujoco()
    machine = Machine.of(model)
    velocities, _ = machine.rates(path, fps)
    state = mujoco.MjData(model)
    state.qpos[:], state.qvel[:] = path[0], velocities[0]
    strengths = np.where(np.isfinite(limits), limits, machine.weight * leg)
    stiffness, damping = strengths / FULL_TORQUE_RADIANS, DAMPING_SECONDS * strengths / FULL_TORQUE_RADIANS
    model.dof_damping[6:] = damping
    ahead = np.nan_to_num(torques)
    mass, rate = machine.weight / GRAVITY, 2.0 * np.pi * HAND_HZ
    drift, pulls, error, lost = np.full(len(path), np.nan), [0.0], np.zeros(model.nv), False
    count = round((len(path) - 1) / fps / STEP_SECONDS)
    for step in range(count + 1):
        place = min(step * STEP_SECONDS * fps, len(path) - 1.0)
        frame, share = int(place), place - int(place)
        then = min(frame + 1, len(path) - 1)
        wanted = path[frame] + share * (path[then] - path[frame])
        wanted[3:7] /= np.linalg.norm(wanted[3:7])
        speed = velocities[frame] + share * (velocities[then] - velocities[frame])
        mujoco.mj_differentiatePos(model, error, 1.0, state.qpos, wanted)
        lost = bool(
            np.hypot(error[0], error[1]) > MAX_DRIFT_LEGS * leg
            or abs(error[2]) > MAX_DROP_LEGS * leg
            or np.linalg.norm(error[3:6]) > MAX_LEAN_RADIANS
            or not np.isfinite(state.qpos).all()
        )
        if lost:
            break
        drift[frame] = float(np.linalg.norm(error[:3]))
        torque = stiffness * error[6:] + damping * (speed[6:] - state.qvel[6:]) + ahead[frame]
        # The damping that MuJoCo applies implicitly is part of the torque.
        state.qfrc_applied[6:] = np.clip(torque, -limits, limits) + damping * state.qvel[6:]
        if hand:
            pull = mass * (rate**2 * error[:3] + 2.0 * rate * (speed[:3] - state.qvel[:3]))
            twist = mass * (0.5 * leg) ** 2 * (rate**2 * error[3:6] + 2.0 * rate * (speed[3:6] - state.qvel[3:6]))
            size = float(np.linalg.norm(pull))
            state.qfrc_applied[:3] = pull * min(1.0, MAX_HAND_WEIGHTS * machine.weight / max(size, 1e-9))
            most = MAX_HAND_WEIGHTS * machine.weight * 0.5 * leg
            state.qfrc_applied[3:6] = twist * min(1.0, most / max(float(np.linalg.norm(twist)), 1e-9))
            pulls.append(float(np.linalg.norm(state.qfrc_applied[:3])))
        mujoco.mj_step(model, state)
    seconds = step * STEP_SECONDS if lost else (len(path) - 1) / fps
    return Replay(
        seconds=seconds,
        share=seconds * fps / max(len(path) - 1, 1),
        hand=float(np.mean(pulls)) / machine.weight,
        drift=drift,
    )
