"""Every metric against defects of known size in clean sample motions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import Array, from_axis_angle, multiply, rotate, unrotate
from understudy.constraints.base import PointRef
from understudy.constraints.place import Place
from understudy.constraints.pose import FixedPose as PoseConstraint
from understudy.figure.contacts import Contact
from understudy.figure.kinematics import fk
from understudy.figure.mass import centre_of_mass
from understudy.figure.measures import height, mirror
from understudy.figure.motion import Motion, rest_motion
from understudy.metrics.base import Report, Verdict, evaluate
from understudy.retarget.driver import retarget
from understudy.samples import Scene
from understudy.solve.solvers.base import Outcome

UP = np.array([0.0, 1.0, 0.0])


@cache
def scene(name: str, fps: float = 30.0) -> Scene:
    return samples.motion(name, fps=fps)


def shifted(motion: Motion, by: Array) -> Motion:
    """A motion with its root shifted by (3,) or by (F, 3) at each frame."""
    return replace(motion, root=motion.root + by)


def turned(motion: Motion, joint: str, turn: Array, frames: slice = slice(None)) -> Motion:
    """A motion with an added rotation of one joint, in the joint's frame."""
    rotations = motion.rotations.copy()
    index = motion.skeleton.joint(joint)
    rotations[frames, index] = multiply(rotations[frames, index], turn)
    return replace(motion, rotations=rotations)


def moved(motion: Motion, angle: float, by: Array) -> Motion:
    """A motion rotated about the vertical and shifted."""
    turn = from_axis_angle(UP, angle)
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    return replace(motion, root=rotate(turn, motion.root) + by, rotations=rotations)


def slide(motion: Motion, speed: float) -> Motion:
    """A motion that drifts along x all the time."""
    return shifted(motion, motion.times[:, None] * np.array([speed, 0.0, 0.0]))


def value(report: Report, metric: str, figure: str) -> float:
    measured = report[metric][figure]
    assert measured is not None, f"{metric} {figure}"
    return measured


class TestFootSkate:
    @pytest.mark.parametrize("name", ["walk", "run", "squat", "dog_walk", "spider_walk"])
    def test_speed_is_what_was_put_in(self, name: str) -> None:
        clean = scene(name)
        report = evaluate(slide(clean.motion, 0.03), clean.motion, contacts=clean.contacts)
        assert value(report, "foot_skate", "mean_speed") == pytest.approx(0.03, abs=1e-3)

    def test_a_foot_that_slides_three_centimetres(self) -> None:
        clean = scene("squat")
        bad = slide(clean.motion, 0.03 / clean.motion.duration)
        for report in (evaluate(bad, clean.motion), evaluate(bad)):
            assert value(report, "foot_skate", "worst_drift") == pytest.approx(0.03, abs=2e-4)
            assert value(report, "foot_skate", "mean_drift") == pytest.approx(0.03, abs=2e-4)
        assert evaluate(bad, clean.motion)["foot_skate"].verdict is Verdict.BAD

    def test_half_as_far_is_noticeable(self) -> None:
        clean = scene("squat").motion
        report = evaluate(slide(clean, 0.015 / clean.duration), clean)
        assert report["foot_skate"].verdict is Verdict.NOTICEABLE

    def test_share_of_sliding_frames(self) -> None:
        clean = scene("squat").motion
        path = np.zeros((clean.num_frames, 3))
        quarter = clean.num_frames // 4
        path[:quarter, 2] = 0.2 * clean.times[:quarter]
        path[quarter:] = path[quarter - 1]
        report = evaluate(shifted(clean, path), clean)
        assert value(report, "foot_skate", "sliding_share") == pytest.approx((quarter - 1) / (clean.num_frames - 1))
        assert value(report, "foot_skate", "worst_speed") == pytest.approx(0.2, abs=1e-3)

    def test_vertical_movement_is_no_sliding(self) -> None:
        clean = scene("squat").motion
        lifted = shifted(clean, np.linspace(0.0, 0.05, clean.num_frames)[:, None] * UP)
        assert value(evaluate(lifted, clean), "foot_skate", "worst_drift") < 1e-3


class TestFloor:
    @pytest.mark.parametrize("depth", [0.01, 0.02, 0.1])
    @pytest.mark.parametrize("name", ["walk", "dog_walk"])
    def test_a_sunk_body(self, name: str, depth: float) -> None:
        clean = scene(name)
        bad = shifted(clean.motion, -depth * UP)
        against = evaluate(bad, clean.motion, contacts=clean.contacts)
        alone = evaluate(bad, contacts=clean.contacts, floor=0.0)
        assert value(against, "floor", "added_depth") == pytest.approx(depth, abs=5e-4)
        assert value(against, "floor", "mean_float") < 1e-4
        assert value(alone, "floor", "worst_depth") == pytest.approx(depth, abs=1e-3)
        assert against["floor"].verdict is (Verdict.NOTICEABLE if depth < 0.015 else Verdict.BAD)

    @pytest.mark.parametrize("height", [0.01, 0.2])
    def test_a_floating_body(self, height: float) -> None:
        clean = scene("walk")
        bad = shifted(clean.motion, height * UP)
        report = evaluate(bad, clean.motion, contacts=clean.contacts)
        assert value(report, "floor", "mean_float") == pytest.approx(height, abs=5e-4)
        assert value(report, "floor", "worst_depth") < 1e-3
        assert value(report, "floor", "floating_share") == 1.0

    def test_a_hand_below_the_floor(self) -> None:
        """The body sinks ten centimetres below the feet, which stay in place."""
        clean = scene("squat")
        skeleton, joint = clean.motion.skeleton, clean.motion.skeleton.joint("LeftHand")
        pose = fk(clean.motion)
        standing = min(float(contact.place[1]) for contact in clean.contacts if contact.place is not None)
        way = np.zeros((clean.motion.num_frames, 3))
        fingers = [end for end in skeleton.ends if end.joint == "LeftHand"]
        way[40:60, 1] = standing - 0.1 - pose.points(["LeftHand", *fingers])[40:60, :, 1].min(axis=1)
        offsets = np.tile(skeleton.offsets, (clean.motion.num_frames, 1, 1))
        offsets[:, joint] += unrotate(pose.rotations[:, skeleton.parents[joint]], way)
        bad = evaluate(replace(clean.motion, offsets=offsets), clean.motion, contacts=clean.contacts)["floor"]
        assert bad["added_depth"] == pytest.approx(0.1, abs=1e-6)
        assert bad["sunk_share"] == pytest.approx(20 / clean.motion.num_frames)
        assert bad.facts["worst"]["point"] in ("LeftHand", *(end.name for end in fingers))
        assert bad.verdict is Verdict.BAD
        assert value(evaluate(clean.motion, clean.motion), "floor", "added_depth") == 0.0

    def test_without_source_and_floor_nothing_is_judged(self) -> None:
        report = evaluate(shifted(scene("walk").motion, -UP))
        assert report["floor"].verdict is Verdict.UNGRADED
        assert "no source or floor is given" in report["floor"].words


class TestJointLimit:
    def test_an_elbow_bent_backwards(self) -> None:
        clean = scene("walk").motion
        skeleton = clean.skeleton
        joint = skeleton.joint("LeftForeArm")
        low = float(skeleton.limits[joint, 0, 0])
        rotations = clean.rotations.copy()
        wrong = from_axis_angle(skeleton.axes[joint, 0], low - np.radians(20.0))
        rotations[10:40, joint] = multiply(skeleton.rest[joint], wrong)
        report = evaluate(replace(clean, rotations=rotations), clean)
        assert value(report, "joint_limit", "worst_angle") == pytest.approx(20.0, abs=1e-6)
        assert value(report, "joint_limit", "added_angle") == pytest.approx(20.0, abs=1e-6)
        assert value(report, "joint_limit", "outside_share") == pytest.approx(30 / clean.num_frames)
        assert value(report, "joint_limit", "joints_outside") == 1.0
        assert report["joint_limit"].facts["joint"] == "LeftForeArm"
        assert report["joint_limit"].verdict is Verdict.BAD

    def test_what_the_source_does_itself_is_no_fault(self) -> None:
        clean = scene("walk").motion
        tight = clean.skeleton.limits.copy()
        joint = clean.skeleton.joint("LeftForeArm")
        tight[joint, 0] = [2.5, 2.6]
        narrow = replace(clean, skeleton=replace(clean.skeleton, limits=tight))
        report = evaluate(narrow, narrow)
        assert value(report, "joint_limit", "worst_angle") > 45.0
        assert value(report, "joint_limit", "added_angle") == 0.0
        assert report.usable
        assert report["joint_limit"].verdict is Verdict.GOOD
        assert evaluate(narrow)["joint_limit"].verdict is Verdict.BAD

    def test_a_human_without_limits_is_held_to_what_its_source_does(self) -> None:
        clean = scene("walk").motion
        free = replace(clean, skeleton=replace(clean.skeleton, limits=np.empty((0, 3, 2))))
        assert evaluate(free, free)["joint_limit"]["worst_angle"] == 0.0
        knee = turned(free, "LeftLeg", from_axis_angle([1.0, 0.0, 0.0], np.radians(-60.0)))
        report = evaluate(knee, free)
        assert 30.0 < value(report, "joint_limit", "worst_angle") < 60.0
        assert report["joint_limit"].facts["joint"] == "LeftLeg"
        alone = evaluate(knee)["joint_limit"]
        assert alone["beyond_normal"] == alone["worst_angle"]
        assert "no source is given" in alone.words


class TestSmoothness:
    @pytest.mark.parametrize(("hertz", "size"), [(5.0, 0.01), (12.0, 0.002)])
    def test_shaking_root(self, hertz: float, size: float) -> None:
        still = rest_motion(samples.character("adult"), fps=600.0, num_frames=1201)
        wave = size * np.sin(2.0 * np.pi * hertz * still.times)
        report = evaluate(shifted(still, wave[:, None] * UP))
        bent = size * (2.0 * np.pi * hertz) ** 2
        assert value(report, "smoothness", "acceleration_max") == pytest.approx(bent, rel=0.01)
        assert value(report, "smoothness", "acceleration_rms") == pytest.approx(bent / np.sqrt(2.0), rel=0.01)
        jerk = size * (2.0 * np.pi * hertz) ** 3
        assert value(report, "smoothness", "jerk_rms") == pytest.approx(jerk / np.sqrt(2.0), rel=0.01)

    def test_shaking_joint_of_known_amplitude(self) -> None:
        clean = scene("walk", 120.0).motion
        wave = np.radians(1.0) * np.sin(2.0 * np.pi * 10.0 * clean.times)
        report = evaluate(turned(clean, "Head", from_axis_angle([1.0, 0.0, 0.0], wave)), clean)
        assert value(report, "smoothness", "shake") == pytest.approx(1.0 / np.sqrt(2.0), rel=0.02)
        assert report["smoothness"].verdict is not Verdict.GOOD
        slow = turned(clean, "Head", from_axis_angle([1.0, 0.0, 0.0], wave * 0.0 + 0.1))
        assert value(evaluate(slow, clean), "smoothness", "shake") < 1e-6

    def test_snap_of_one_frame(self) -> None:
        clean = scene("squat").motion
        jump = np.zeros((clean.num_frames, 3))
        jump[50, 0] = 0.05
        report = evaluate(shifted(clean, jump), clean)
        assert value(report, "smoothness", "added_jump") == pytest.approx(0.05, abs=2e-3)
        assert report["smoothness"].facts["time"] == pytest.approx(50 / clean.fps)
        assert report["smoothness"].verdict is Verdict.BAD

    @pytest.mark.parametrize("size", [1.0, 2.0])
    def test_ratios_are_of_the_source_in_leg_lengths(self, size: float) -> None:
        """Three times the movement on a body of the same size; one and a half times on a body twice as large."""
        still = rest_motion(samples.character("adult"), fps=120.0, num_frames=241)
        wave = 0.01 * np.sin(2.0 * np.pi * 3.0 * still.times)[:, None] * UP
        source = shifted(still, wave)
        large = rest_motion(still.skeleton.scaled(size), fps=120.0, num_frames=241)
        report = evaluate(shifted(large, 3.0 * wave), source)
        for figure in ("jerk_rms_ratio", "jerk_max_ratio", "acceleration_rms_ratio"):
            assert value(report, "smoothness", figure) == pytest.approx(3.0 / size, rel=1e-6)
        assert evaluate(source, still)["smoothness"]["jerk_rms_ratio"] is None

    def test_a_source_at_another_rate_has_the_same_jerk(self) -> None:
        report = evaluate(scene("walk", 60.0).motion, scene("walk", 120.0).motion)
        assert value(report, "smoothness", "jerk_rms_ratio") == pytest.approx(1.0, abs=0.02)


class TestSimilarity:
    def test_one_joint_turned(self) -> None:
        clean = scene("walk").motion
        bad = turned(clean, "LeftForeArm", from_axis_angle([0.0, 1.0, 0.0], np.radians(10.0)))
        report = evaluate(bad, clean)
        assert value(report, "similarity", "local_angle") == pytest.approx(10.0 / (clean.skeleton.num_joints - 1))
        paths = [value(report, "similarity", figure) for figure in ("end_shift", "end_path")]
        assert paths[0] == pytest.approx(paths[1])
        assert paths[0] > 1e-4

    def test_the_same_angles_on_a_body_of_another_size_are_the_same(self) -> None:
        clean = scene("walk").motion
        large = replace(clean, skeleton=clean.skeleton.scaled(1.4))
        report = evaluate(large, clean)
        for figure in ("local_angle", "direction", "end_path", "end_shift", "heading"):
            assert value(report, "similarity", figure) < 1e-5

    def test_a_result_that_faces_elsewhere(self) -> None:
        clean = scene("walk").motion
        report = evaluate(moved(clean, np.radians(40.0), np.zeros(3)), clean)
        assert value(report, "similarity", "heading") == pytest.approx(40.0, abs=1e-6)
        assert value(report, "similarity", "direction") < 1e-4
        assert report.usable
        behind = evaluate(moved(clean, np.radians(170.0), np.zeros(3)), clean)
        assert any("faces the other way: 170 degrees from" in said for said in behind.failures)

    @pytest.mark.parametrize("name", ["walk", "run", "march", "skip", "dog_trot"])
    def test_a_mirrored_result_is_told(self, name: str) -> None:
        clean = scene(name).motion
        report = evaluate(mirror(clean), clean)
        assert report["similarity"].facts["mirrored"]
        assert any(said.startswith("the result is mirrored") for said in report.failures)
        assert not evaluate(clean, clean)["similarity"].facts["mirrored"]

    def test_path_of_a_hand(self) -> None:
        clean = rest_motion(samples.character("adult"), num_frames=30)
        longer = clean.skeleton.offsets.copy()
        hand = clean.skeleton.joint("LeftHand")
        longer[hand] *= 1.0 + 0.175 / np.linalg.norm(longer[hand])
        bad = replace(clean, skeleton=replace(clean.skeleton, offsets=longer))
        report = evaluate(bad, clean)
        tips = sum(not children for children in clean.skeleton.children)
        wanted = 0.175 / height(clean.skeleton) / tips
        assert value(report, "similarity", "end_path") == pytest.approx(wanted, rel=1e-6)
        assert value(report, "similarity", "end_shift") < 1e-9


class TestLimbDirection:
    @pytest.mark.parametrize("degrees", [4.0, 20.0])
    def test_one_bone_of_eight_is_turned(self, degrees: float) -> None:
        clean = scene("walk").motion
        hand = clean.skeleton.offsets[clean.skeleton.joint("LeftHand")]
        across = np.cross(hand, [0.3, 1.0, 0.2])
        bad = turned(clean, "LeftForeArm", from_axis_angle(across / np.linalg.norm(across), np.radians(degrees)))
        report = evaluate(bad, clean)
        assert value(report, "limb_direction", "worst") == pytest.approx(degrees, rel=1e-6)
        assert value(report, "limb_direction", "mean") == pytest.approx(degrees / 8.0, rel=1e-6)
        assert "left lower arm most" in report["limb_direction"].words

    @pytest.mark.parametrize(("degrees", "verdict"), [(0.0, "good"), (15.0, "noticeable"), (40.0, "bad")])
    def test_limbs_that_point_elsewhere_are_no_good_result(self, degrees: float, verdict: str) -> None:
        clean = scene("walk").motion
        bad = clean
        for joint in ("LeftArm", "RightArm", "LeftUpLeg", "RightUpLeg"):
            bad = turned(bad, joint, from_axis_angle([1.0, 0.0, 0.0], np.radians(degrees)))
        assert str(evaluate(bad, clean)["limb_direction"].verdict) == verdict


class TestContactTiming:
    def test_late_by_a_tenth_of_a_second(self) -> None:
        clean = scene("walk").motion
        late = clean.at(clean.times - 0.1, fps=clean.fps)
        report = evaluate(late, clean)
        assert value(report, "contact_timing", "shift") == pytest.approx(0.1, abs=1e-6)
        assert value(report, "contact_timing", "timing") == pytest.approx(0.1, abs=1e-6)
        assert value(report, "contact_timing", "recall") < 1.0
        assert value(report, "contact_timing", "lost") == 0.0

    def test_recall_counts_frames(self) -> None:
        clean = scene("squat").motion
        half = clean.num_frames // 2
        away = np.zeros((clean.num_frames, 3))
        away[half:, 2] = np.arange(clean.num_frames - half) / clean.fps
        report = evaluate(shifted(clean, away), clean)
        assert value(report, "contact_timing", "recall") == pytest.approx(half / clean.num_frames, abs=0.03)
        assert value(report, "contact_timing", "precision") == 1.0

    def test_contacts_that_the_source_has_not(self) -> None:
        clean = scene("walk").motion
        still = evaluate(rest_motion(clean.skeleton, num_frames=clean.num_frames), clean)
        assert value(still, "contact_timing", "recall") == 1.0
        assert value(still, "contact_timing", "precision") < 0.9


class TestBalance:
    def test_margin_of_a_stance_on_one_foot(self) -> None:
        skeleton = samples.character("adult")
        stand = rest_motion(skeleton, fps=30.0, num_frames=60)
        points = [skeleton.point(name) for name in ("LeftHeel", "LeftToeTip")]
        pose = fk(stand)
        places = pose.points(points)[0]
        contacts = [Contact(point=p, start=0.0, end=2.0, place=at) for p, at in zip(points, places, strict=True)]
        report = evaluate(stand, contacts=contacts, floor=0.0)
        centre = centre_of_mass(pose)[0]
        beside = abs(centre[0] - places[0, 0])
        assert abs(places[0, 0] - places[1, 0]) < 1e-9
        assert places[0, 2] < centre[2] < places[1, 2]
        assert value(report, "balance", "standing_margin") == pytest.approx(0.05 * 0.85 - beside, abs=1e-6)
        assert value(report, "balance", "unbalanced_share") == 1.0
        assert "in balance: unlikely" in report["balance"].words
        assert report["balance"].verdict is Verdict.NOTICEABLE

    def test_a_squat_is_balanced_and_moved_off_its_feet_is_not(self) -> None:
        clean = scene("squat").motion
        assert evaluate(clean)["balance"]["unbalanced_share"] == 0.0
        bent = turned(clean, "Spine", from_axis_angle([1.0, 0.0, 0.0], np.radians(95.0)), slice(30, 90))
        report = evaluate(bent, clean)
        assert value(report, "balance", "standing_margin") < value(evaluate(clean), "balance", "standing_margin") - 0.05


class TestGoal:
    def test_the_worst_is_named(self) -> None:
        clean = scene("walk").motion
        near = Place(point=PointRef(point="LeftHand"), target=np.zeros(3), name="cup")
        pose = PoseConstraint(posed=(PointRef(point="Head"),), rotations=np.array([[1.0, 0.0, 0.0, 0.0]]), name="nod")
        outcomes = (
            Outcome(constraint=near, worst=0.03, time=1.5, mean=0.01),
            Outcome(constraint=pose, worst=np.radians(1.0), time=0.5, mean=0.0),
        )
        report = evaluate(clean, outcomes=outcomes)
        assert value(report, "goal", "worst_distance") == 0.03
        assert value(report, "goal", "worst_angle") == pytest.approx(1.0)
        assert "`cup` is off by 30.0 mm at 1.50 s" in report["goal"].words
        assert report["goal"].verdict is Verdict.BAD


@pytest.mark.parametrize("target", ["other", "dog"])
def test_defects_on_a_body_of_another_structure(target: str) -> None:
    clean = scene("walk")
    result = retarget(clean.motion, samples.character(target)).motion
    good = evaluate(result, clean.motion)
    assert good["foot_skate"].verdict is good["floor"].verdict is good["contact_timing"].verdict is Verdict.GOOD
    assert value(evaluate(slide(result, 0.03), clean.motion), "foot_skate", "mean_speed") == pytest.approx(
        0.03, abs=2e-3
    )
    sunk = evaluate(shifted(result, -0.02 * UP), clean.motion)
    assert value(sunk, "floor", "worst_depth") == pytest.approx(0.02, abs=2e-3)


@pytest.mark.parametrize(
    "defect",
    [
        lambda m: slide(m, 0.03),
        lambda m: shifted(m, -0.03 * UP),
        lambda m: turned(m, "LeftArm", from_axis_angle([1.0, 0.0, 0.0], 0.3)),
    ],
    ids=["slide", "sunk", "arm"],
)
def test_rigid_motion_of_the_world_changes_nothing(defect: Callable[[Motion], Motion]) -> None:
    clean = scene("walk").motion
    by = np.array([3.0, 0.7, -2.0])
    report = evaluate(defect(clean), clean)
    there = evaluate(moved(defect(clean), 1.2, by), moved(clean, 1.2, by))
    for one, other in zip(report.measurements, there.measurements, strict=True):
        for a, b in zip(one.figures, other.figures, strict=True):
            assert b.value == (None if a.value is None else pytest.approx(a.value, rel=1e-4, abs=1e-6)), a


def test_frame_rate_changes_little() -> None:
    measured = []
    for fps in (30.0, 60.0, 120.0):
        clean = scene("walk", fps)
        measured.append(evaluate(shifted(slide(clean.motion, 0.03), -0.02 * UP), clean.motion, contacts=clean.contacts))
    for metric, figure in (
        ("foot_skate", "mean_speed"),
        ("foot_skate", "mean_drift"),
        ("floor", "added_depth"),
        ("similarity", "direction"),
        ("smoothness", "jerk_rms_ratio"),
    ):
        values = [value(report, metric, figure) for report in measured]
        assert values == pytest.approx([values[-1]] * 3, rel=0.05, abs=2e-4), (metric, figure)


def test_a_result_at_another_rate_than_its_source() -> None:
    slow, fast = scene("walk", 30.0), scene("walk", 120.0)
    report = evaluate(slow.motion, fast.motion, contacts=fast.contacts)
    assert report.usable
    assert value(report, "similarity", "direction") < 0.5
    assert value(report, "foot_skate", "mean_speed") < 2e-3
    assert value(report, "contact_timing", "recall") > 0.95
