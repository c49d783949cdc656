"""Physics of robots: forces and torques that a motion takes, and how long a simulated robot follows it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.contacts import on_level_floor
from understudy.figure.robot import MAX_UNKNOWN_SPEED
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric, millimetres, percent
from understudy.metrics.comparison import Comparison
from understudy.metrics.dynamics import Forces, Machine, build_model, coordinates, has_mujoco, replay

MAX_OUTSIDE_METRES = 0.02
"""A centre of pressure up to so far outside the support counts as inside: soles give, and estimates are not exact."""

MAX_DEPTH_METRES = 0.005
"""Depth up to which two shapes of the robot only graze each other."""

MAX_MISSING_WEIGHTS = 0.1
"""Force that the floor may fail to give, as a share of the weight."""

NO_ROBOT = "the result is not of a robot, or its file is not known (--skeleton)"

NO_MUJOCO = "MuJoCo is not installed: pip install 'understudy-motion[physics]'"


def _why_not(case: Comparison) -> str:
    """The reason why a motion cannot be measured; empty if it can."""
    if case.robot is None or not {link.joint for link in case.robot.bodies} <= set(case.result.skeleton.names):
        return NO_ROBOT
    if JointKind.BALL in case.result.skeleton.kinds:
        return "the robot has ball joints"
    if case.result.num_frames < 3:
        return "it takes three frames to know accelerations"
    return "" if has_mujoco() else NO_MUJOCO


def path_of(case: Comparison) -> Array:
    """(F, 7 + N) the robot's coordinates, seen from its floor."""
    # A file is level; a solve that is still under way may stand on the tilted floor of a capture.
    level = case.known_context is None
    return coordinates(case.result if level else on_level_floor(case.result, case.floor))


def forces_of(case: Comparison) -> Forces:
    """What a robot's motion takes, by inverse dynamics."""
    assert case.robot is not None
    machine = Machine.of(build_model(case.result.skeleton, case.robot))
    return machine.measure(case.once(path_of), case.result.fps)


def _hinges(skeleton: Skeleton) -> list[str]:
    return [name for name, kind in zip(skeleton.names, skeleton.kinds, strict=True) if kind is JointKind.HINGE]


def _torque_limits(case: Comparison) -> Array:
    """(N,) newton metres; infinite where the robot's file gives none."""
    assert case.robot is not None
    return np.array([case.robot.max_torques.get(name, np.inf) for name in _hinges(case.result.skeleton)])


@record(eq=True)
class Physics(Metric):
    """Forces and torques that a robot's motion takes, by inverse dynamics in MuJoCo."""

    name: ClassVar[str] = "physics"
    for_robots: ClassVar[bool] = True
    title: ClassVar[str] = "physics"
    remedy: ClassVar[str] = (
        "balance = true in a recipe keeps the centre of pressure over the feet; torques and speeds over their limits "
        "come from movements too fast for the robot"
    )
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="pressure_outside_share", noticeable=0.1, bad=0.3),
        Grade(figure="torque_over_share", noticeable=0.0, bad=0.05),
        Grade(figure="speed_ratio", noticeable=1.0, bad=1.2),
        Grade(figure="collision_share", noticeable=0.0, bad=0.05),
        Grade(figure="missing_share", noticeable=0.1, bad=0.3),
    )

    def measure(self, case: Comparison) -> Measurement:
        reason = _why_not(case)
        if reason:
            return self.not_measured(reason)
        assert case.robot is not None
        forces, names = case.once(forces_of), _hinges(case.result.skeleton)
        ratios = np.abs(forces.torques) / _torque_limits(case)
        fastest = np.array([case.robot.max_velocities.get(name, MAX_UNKNOWN_SPEED) for name in names])
        speeds = np.abs(forces.velocities) / fastest
        touches = np.isfinite(forces.inside)
        loads = np.where(touches[:, None], ratios, 0.0)
        outside = _share(forces.inside[touches] < -MAX_OUTSIDE_METRES)
        figures = [
            Figure(name="pressure_outside_share", value=outside, unit="share",
                   about="supported frames with the centre of pressure more than 2 cm outside the support"),
            Figure(name="missing_share", value=_share(forces.missing[touches] > MAX_MISSING_WEIGHTS), unit="share",
                   about="supported frames in which the floor cannot give a tenth of the weight that the motion takes"),
            Figure(name="torque_over_share", value=_share(np.asarray((loads > 1.0).any(axis=1))), unit="share",
                   about="frames in which a joint's torque is over its limit"),
            Figure(name="torque_ratio", value=loads.max(initial=0.0), unit="",
                   about="greatest torque, times the joint's limit"),
            Figure(name="speed_ratio", value=speeds.max(initial=0.0), unit="",
                   about="greatest speed, times the joint's limit"),
            Figure(name="root_acceleration", value=np.percentile(forces.root_acceleration, 95), unit="m/s^2",
                   about="of the root, 95th percentile"),
            Figure(name="collision_share", value=_share(forces.depth > MAX_DEPTH_METRES), unit="share",
                   about="frames with collision shapes more than 5 mm in each other"),
            Figure(name="deepest_collision", value=forces.depth.max(initial=0.0), unit="m",
                   about="depth of the deepest collision"),
            Figure(name="slip", value=float(np.mean(forces.slip[touches])) if touches.any() else None, unit="m/s",
                   about="mean speed of what touches the floor"),
        ]  # fmt: skip
        strained = names[int(np.argmax(loads.max(axis=0)))] if names else ""
        words = (
            f"the centre of pressure is outside the support in {percent(outside)} of the supported frames; torque at "
            f"most {loads.max(initial=0.0):.2f} of its limit (`{strained}`), speed {speeds.max(initial=0.0):.2f}; "
            f"deepest self-collision {millimetres(float(forces.depth.max(initial=0.0)))}"
        )
        curves = [
            Curve(name="pressure_inside", values=forces.inside, unit="m"),
            Curve(name="torque_ratio", values=loads.max(axis=1, initial=0.0), unit=""),
            Curve(name="speed_ratio", values=speeds.max(axis=1, initial=0.0), unit=""),
            *_joint_curves(case, forces, strained),
        ]
        return self.measurement(case, words, figures, curves, most_strained=strained, mass=_mass(case))


def _share(frames: np.ndarray) -> float | None:
    return float(np.mean(frames)) if len(frames) else None


def _mass(case: Comparison) -> float:
    assert case.robot is not None
    return float(sum(body.mass or 0.0 for body in case.robot.bodies))


def _joint_curves(case: Comparison, forces: Forces, name: str) -> list[Curve]:
    """The value, the limits and the torque of one joint over time."""
    if not name:
        return []
    skeleton = case.result.skeleton
    column = _hinges(skeleton).index(name)
    low, high = np.degrees(skeleton.limits[skeleton.index[name], 0])
    angle = np.degrees(case.once(path_of)[:, 7 + column])
    frames = np.ones(len(angle))
    return [
        Curve(name=f"{name}_angle", values=angle, unit="degrees"),
        Curve(name=f"{name}_lowest", values=low * frames, unit="degrees"),
        Curve(name=f"{name}_highest", values=high * frames, unit="degrees"),
        Curve(name=f"{name}_torque", values=forces.torques[:, column], unit="N m"),
    ]


@record(eq=True)
class Tracking(Metric):
    """How long a simulated robot follows the motion under PD control, alone and held by a virtual hand."""

    name: ClassVar[str] = "tracking"
    for_robots: ClassVar[bool] = True
    title: ClassVar[str] = "tracking"
    remedy: ClassVar[str] = "look at what `physics` says: pressure outside the support and torques over limits lose it"
    grades: ClassVar[tuple[Grade, ...]] = (Grade(figure="helped_share", noticeable=0.95, bad=0.5),)

    def measure(self, case: Comparison) -> Measurement:
        reason = _why_not(case)
        if reason:
            return self.not_measured(reason)
        assert case.robot is not None
        forces, path = case.once(forces_of), case.once(path_of)
        results: dict[str, Any] = {}
        for hand in (False, True):
            model = build_model(case.result.skeleton, case.robot, floor=forces.floor)
            limits = _torque_limits(case)
            results["helped" if hand else "alone"] = replay(
                model, path, forces.torques, case.result.fps, limits, case.leg, hand=hand
            )
        alone, helped = results["alone"], results["helped"]
        figures = [
            Figure(name="alone_seconds", value=alone.seconds, unit="s", about="time that it follows by itself"),
            Figure(name="alone_share", value=alone.share, unit="share", about="the same of the duration"),
            Figure(name="helped_seconds", value=helped.seconds, unit="s", about="time with a virtual hand on its root"),
            Figure(name="helped_share", value=helped.share, unit="share", about="the same of the duration"),
            Figure(name="hand_force", value=helped.hand, unit="weights", about="mean force of the virtual hand"),
        ]
        words = (
            f"in MuJoCo the robot follows for {alone.seconds:.1f} s by itself, and for {helped.seconds:.1f} s "
            f"({percent(helped.share)}) held by a virtual hand of {percent(helped.hand)} of its weight"
        )
        curves = [Curve(name="drift_alone", values=alone.drift, unit="m")]
        curves.append(Curve(name="drift_helped", values=helped.drift, unit="m"))
        return self.measurement(case, words, figures, curves)


METRICS = (Physics(), Tracking())
