"""The non-human samples: contacts are exact, joints keep to their kinds and limits, and animals go as animals do."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import MotionError, OptionError
from understudy.base.quaternion import angle_between, conjugate, from_axis_angle, log, multiply, to_euler, twist_angle
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind
from understudy.samples.animals import arch, bend_inside, cycle_curve, frame_times, ramps, smooth

MOTIONS = ("walk2d", "dog_walk", "dog_trot", "spider_walk", "bird_walk", "swim")
STEPPING = MOTIONS[:-1]
CHARACTERS = ("figure2d", "can", "dog", "spider", "bird", "shark")
RATES = (24.0, 30.0, 60.0, 120.0)


def landings(name: str, point: str, seconds: float = 6.0) -> list[float]:
    """When a point comes down, leaving out the stands that the start of the motion cuts."""
    scene = samples.motion(name, fps=30.0, seconds=seconds)
    return sorted(contact.start for contact in scene.contacts if contact.point.name == point and contact.start > 0.0)


def standing(scene: samples.Scene, time: float) -> set[str]:
    return {contact.point.name for contact in scene.contacts if contact.start <= time <= contact.end}


@pytest.mark.parametrize("fps", RATES)
@pytest.mark.parametrize("name", STEPPING)
def test_planted_points_are_where_the_contact_says_at_every_frame(name: str, fps: float) -> None:
    scene = samples.motion(name, fps=fps)
    pose = fk(scene.motion)
    checked = 0
    for contact in scene.contacts:
        frames = contact.frames(fps, scene.motion.num_frames)
        assert contact.place is not None
        assert contact.place[1] == 0.0
        assert np.all(np.abs(pose.points([contact.point])[frames, 0] - contact.place) < 1e-9)
        checked += len(frames)
    assert checked > scene.motion.num_frames


@pytest.mark.parametrize("fps", RATES)
@pytest.mark.parametrize("name", MOTIONS)
def test_nothing_is_below_the_floor(name: str, fps: float) -> None:
    pose = fk(samples.motion(name, fps=fps).motion)
    assert pose.ends()[..., 1].min() > -1e-6
    assert pose.positions[..., 1].min() > 0.0


@pytest.mark.parametrize("name", STEPPING)
def test_contact_points_leave_the_floor_between_contacts(name: str) -> None:
    scene = samples.motion(name, fps=120.0, seconds=5.0)
    pose, times = fk(scene.motion), scene.motion.times
    for point in {contact.point.name for contact in scene.contacts}:
        stands = [contact for contact in scene.contacts if contact.point.name == point]
        stands.sort(key=lambda contact: contact.start)
        height = pose.points([point])[:, 0, 1]
        assert len(stands) > 3
        for before, after in pairwise(stands):
            assert before.end < after.start
            between = (times > before.end) & (times < after.start)
            assert height[between].max() > 0.03


@pytest.mark.parametrize("name", STEPPING)
def test_points_rest_only_during_contacts(name: str) -> None:
    scene = samples.motion(name, fps=240.0, seconds=4.0)
    pose, times = fk(scene.motion), scene.motion.times
    for point in {contact.point.name for contact in scene.contacts}:
        place = pose.points([point])[:, 0]
        still = np.linalg.norm(np.gradient(place, times, axis=0), axis=-1) < 1e-5
        stands = [contact for contact in scene.contacts if contact.point.name == point]
        # Speed grows as the square of the time since lifting: two hundredths of a second later it is well above.
        inside = np.any([(times > c.start - 0.02) & (times < c.end + 0.02) for c in stands], axis=0)
        assert np.all(inside[still])


@pytest.mark.parametrize("name", MOTIONS)
def test_hinges_and_universal_joints_turn_only_about_their_axes(name: str) -> None:
    motion = samples.motion(name, fps=60.0).motion
    skeleton = motion.skeleton
    seen = set()
    for joint, kind in enumerate(skeleton.kinds):
        seen.add(kind)
        if kind in (JointKind.HINGE, JointKind.UNIVERSAL):
            first, second = skeleton.axes[joint, :2]
            _, rotation = angles_about(motion, joint)
            assert angle_between(rotation, motion.rotations[:, joint]).max() < 1e-7
            assert kind is JointKind.HINGE or abs(first @ second) < 1e-12
    assert JointKind.HINGE in seen


def angles_about(motion: Motion, joint: int) -> tuple[np.ndarray, np.ndarray]:
    """The angles (F, 1 or 2) about a joint's axes, and the rotation they make."""
    skeleton, rotations = motion.skeleton, motion.rotations[:, joint]
    first, second = skeleton.axes[joint, :2]
    if skeleton.kinds[joint] is JointKind.HINGE:
        angle = twist_angle(rotations, first)
        return angle[:, None], from_axis_angle(first, angle)
    # With the second turn last, a vector along the second axis is moved by the first turn alone.
    inner = twist_angle(rotations, second)
    outer = twist_angle(multiply(rotations, conjugate(from_axis_angle(second, inner))), first)
    return np.stack([outer, inner], -1), multiply(from_axis_angle(first, outer), from_axis_angle(second, inner))


@pytest.mark.parametrize("name", MOTIONS)
def test_angles_stay_inside_the_limits(name: str) -> None:
    motion = samples.motion(name, fps=60.0).motion
    skeleton = motion.skeleton
    for joint, kind in enumerate(skeleton.kinds):
        if kind is JointKind.BALL:
            assert np.array_equal(skeleton.axes[joint], np.eye(3))
            angles = to_euler(motion.rotations[:, joint], "XYZ")
        elif kind in (JointKind.HINGE, JointKind.UNIVERSAL):
            angles, _ = angles_about(motion, joint)
        else:
            continue
        limits = skeleton.limits[joint, : angles.shape[1]]
        assert np.all(np.isfinite(limits)), skeleton.names[joint]
        assert np.all((angles > limits[:, 0]) & (angles < limits[:, 1])), skeleton.names[joint]


@pytest.mark.parametrize("name", MOTIONS)
def test_made_twice_is_the_same(name: str) -> None:
    first, second = samples.motion(name, fps=50.0), samples.motion(name, fps=50.0)
    assert np.array_equal(first.motion.root, second.motion.root)
    assert np.array_equal(first.motion.rotations, second.motion.rotations)
    assert [(c.point.name, c.start, c.end) for c in first.contacts] == [
        (c.point.name, c.start, c.end) for c in second.contacts
    ]


@pytest.mark.parametrize("name", MOTIONS)
def test_rates_agree_at_common_times(name: str) -> None:
    slow, fast = samples.motion(name, fps=30.0), samples.motion(name, fps=120.0)
    taken = fast.motion[::4]
    assert taken.num_frames == slow.motion.num_frames
    assert np.abs(taken.root - slow.motion.root).max() < 1e-12
    assert np.abs(taken.rotations - slow.motion.rotations).max() < 1e-12
    assert [(c.start, c.end) for c in slow.contacts] == [(c.start, c.end) for c in fast.contacts]


@pytest.mark.parametrize("seconds", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("name", MOTIONS)
def test_any_length(name: str, seconds: float) -> None:
    scene = samples.motion(name, fps=30.0, seconds=seconds)
    assert scene.motion.num_frames == round(30.0 * seconds) + 1
    assert all(0.0 <= contact.start <= contact.end <= seconds for contact in scene.contacts)
    pose = fk(scene.motion)
    for contact in scene.contacts:
        frames = contact.frames(30.0, scene.motion.num_frames)
        assert np.all(np.abs(pose.points([contact.point])[frames, 0] - contact.place) < 1e-9)
    start = samples.motion(name, fps=30.0, seconds=40.0).motion[: scene.motion.num_frames]
    assert np.array_equal(start.root, scene.motion.root)


@pytest.mark.parametrize("name", MOTIONS)
def test_joint_accelerations_have_no_jumps(name: str) -> None:
    def largest_step(fps: float) -> float:
        rotations = samples.motion(name, fps=fps, seconds=2.5).motion.rotations
        speed = fps * log(multiply(conjugate(rotations[:-1]), rotations[1:]))
        return float(np.abs(np.diff(fps * np.diff(speed, axis=0), axis=0)).max())

    # Between frames a continuous acceleration changes by less the closer they are; a jump would stay as it is.
    assert largest_step(480.0) < 0.4 * largest_step(120.0)


@pytest.mark.parametrize("name", MOTIONS)
def test_the_animal_goes_along_z_and_stays_on_its_line(name: str) -> None:
    motion = samples.motion(name, fps=30.0, seconds=10.0).motion
    assert np.all(np.diff(motion.root[:, 2]) > 0.0)
    assert np.abs(motion.root[:, 0]).max() < 0.35


@pytest.mark.parametrize("name", CHARACTERS)
def test_characters_stand_on_the_floor_and_are_even_sided(name: str) -> None:
    skeleton = samples.character(name)
    assert skeleton.name == name
    lowest = min(skeleton.rest_ends[:, 1].min(), skeleton.rest_world[0][:, 1].min())
    assert lowest > 0.9 if name == "shark" else abs(lowest) < 1e-12
    ends = dict(zip([end.name for end in skeleton.ends], skeleton.rest_ends, strict=True))
    joints = dict(zip(skeleton.names, skeleton.rest_world[0], strict=True))
    for places in (ends, joints):
        for left in (part for part in places if "Left" in part):
            mirrored = places[left.replace("Left", "Right")] * [-1.0, 1.0, 1.0]
            assert np.allclose(places[left], mirrored, atol=1e-12)
            assert places[left][0] > 0.0 or name == "figure2d"


def test_figure2d_has_fourteen_freedoms_in_one_plane() -> None:
    skeleton = samples.character("figure2d")
    angles = sum(kind is JointKind.HINGE for kind in skeleton.kinds)
    assert angles == skeleton.num_joints - 1
    # The root moves in y and z and turns about x: 2 for position and 12 angles [Gleicher98, sec. 7.1].
    assert 2 + (1 + angles) == 14
    assert np.array_equal(skeleton.axes[1:, 0], np.tile([1.0, 0.0, 0.0], (angles, 1)))
    motion = samples.motion("walk2d", fps=60.0).motion
    pose = fk(motion)
    assert np.all(motion.root[:, 0] == 0.0)
    assert np.abs(log(motion.rotations[:, 0])[:, 1:]).max() < 1e-12
    assert np.abs(pose.positions[..., 0]).max() < 1e-12
    assert np.abs(pose.ends()[..., 0]).max() < 1e-12


@pytest.mark.parametrize("side", ["Left", "Right"])
def test_walk2d_strikes_with_the_heel_and_leaves_with_the_toe(side: str) -> None:
    scene = samples.motion("walk2d", fps=30.0, seconds=8.0)
    heels, toes = (
        sorted((c.start, c.end) for c in scene.contacts if c.point.name == f"{side}{part}" and 0.0 < c.start < 6.0)
        for part in ("Heel", "Toe")
    )
    if toes[0] < heels[0]:
        toes = toes[1:]
    assert len(heels) >= 4
    for (strike, heel_off), (flat, toe_off) in zip(heels, toes, strict=False):
        assert strike < flat < heel_off < toe_off


def test_knees_elbows_and_hocks_bend_their_own_way() -> None:
    for name in ("dog_walk", "dog_trot"):
        pose = fk(samples.motion(name, fps=60.0).motion)
        for side in ("Left", "Right"):
            chains = {
                ("UpperArm", "Forearm", "Metacarpus"): -1.0,
                ("Thigh", "Shin", "Metatarsus"): 1.0,
                ("Shin", "Metatarsus", "HindPaw"): -1.0,
            }
            for chain, forward in chains.items():
                start, middle, end = np.moveaxis(pose.points([f"{side}{joint}" for joint in chain]), 1, 0)
                share = (middle[:, 1] - start[:, 1]) / (end[:, 1] - start[:, 1])
                straight = start[:, 2] + share * (end[:, 2] - start[:, 2])
                assert np.all(forward * (middle[:, 2] - straight) > 0.005), (name, side, chain)


def test_walk2d_knees_bend_back_and_never_straighten_fully() -> None:
    motion = samples.motion("walk2d", fps=60.0).motion
    for joint in ("LeftShin", "RightShin"):
        angles, _ = angles_about(motion, motion.skeleton.joint(joint))
        assert angles.min() > np.radians(8.0)
        assert 0.85 < angles.max() < 1.2


def test_dog_walks_in_lateral_sequence() -> None:
    falls = {foot: landings("dog_walk", f"{foot}Toe") for foot in ("LeftHind", "LeftFore", "RightHind", "RightFore")}
    order = [foot for _, foot in sorted((time, foot) for foot, times in falls.items() for time in times)]
    first = order.index("LeftHind")
    order = order[first : first + 16]
    assert order == ["LeftHind", "LeftFore", "RightHind", "RightFore"] * 4


def test_dog_walk_duty_and_support() -> None:
    scene = samples.motion("dog_walk", fps=30.0, seconds=8.8)
    toes = [contact for contact in scene.contacts if contact.point.name.endswith("Toe")]
    on_ground = sum(contact.end - contact.start for contact in toes) / (4.0 * 8.8)
    assert 0.6 < on_ground < 0.7
    support = [sum(contact.start <= time <= contact.end for contact in toes) for time in np.linspace(0.0, 8.8, 997)]
    assert set(support) == {2, 3, 4} or set(support) == {2, 3}


def test_dog_trot_puts_opposite_feet_down_together_and_hovers() -> None:
    assert np.allclose(landings("dog_trot", "LeftHindToe"), landings("dog_trot", "RightForeToe"))
    assert np.allclose(landings("dog_trot", "RightHindToe"), landings("dog_trot", "LeftForeToe"))
    scene = samples.motion("dog_trot", fps=30.0, seconds=4.0)
    feet = [len({name[:-3] for name in standing(scene, time)}) for time in np.linspace(0.01, 3.9, 787)]
    assert set(feet) == {0, 2}


def test_dog_sides_are_mirror_images_half_a_cycle_apart() -> None:
    motion = samples.motion("dog_walk", fps=100.0, seconds=3.0).motion
    pose, half = fk(motion), 44
    left = pose.points(["LeftForearm", "LeftForePaw", "LeftShin", "LeftHindPaw"])
    right = pose.points(["RightForearm", "RightForePaw", "RightShin", "RightHindPaw"])
    travelled = motion.root[half, 2] - motion.root[0, 2]
    assert np.allclose(left[:-half] * [-1.0, 1.0, 1.0] + [0.0, 0.0, travelled], right[half:], atol=1e-9)


def test_dog_is_of_a_labradors_size() -> None:
    skeleton = samples.character("dog")
    places = dict(zip(skeleton.names, skeleton.rest_world[0], strict=True))
    assert 0.54 < places["LeftScapula"][1] < 0.60
    assert places["LeftForearm"][2] < places["LeftUpperArm"][2]
    assert places["LeftShin"][2] > places["LeftThigh"][2]
    assert places["LeftMetatarsus"][2] < places["LeftShin"][2]


def test_spider_tetrapods_take_turns() -> None:
    scene = samples.motion("spider_walk", fps=30.0, seconds=6.0)
    sets = ({"LeftLeg1Tip", "RightLeg2Tip", "LeftLeg3Tip", "RightLeg4Tip"}, set[str]())
    sets[1].update({contact.point.name for contact in scene.contacts} - sets[0])
    assert len(sets[1]) == 4
    whole = [tuple(group <= standing(scene, time) for group in sets) for time in np.linspace(0.1, 5.9, 1999)]
    # At every moment one set stands whole; each is alone for a while in each cycle.
    assert all(any(pair) for pair in whole)
    assert {(True, False), (False, True)} <= set(whole)
    for time in np.linspace(0.1, 5.9, 1999):
        assert len(standing(scene, time)) >= 4


def test_spider_neighbours_fall_half_a_cycle_apart() -> None:
    for number in (1, 2, 3):
        one, other = (np.array(landings("spider_walk", f"LeftLeg{n}Tip")) for n in (number, number + 1))
        cycle = one[1] - one[0]
        gap = ((other[0] - one[0]) / cycle) % 1.0
        assert abs(gap - 0.5) < 0.05


def test_shark_wave_runs_back_and_grows() -> None:
    scene = samples.motion("swim", fps=120.0, seconds=7.6)
    assert scene.contacts == ()
    motion = scene.motion
    pose = fk(motion)
    rear = pose.points(["Spine2", "Spine3", "Spine4", "Tail", "TailFin", "UpperLobe"])[..., 0]
    # Taking the mean over one beat away leaves the wave without the slow weaving.
    beat = round(0.95 * 120.0)
    smoothed = np.stack([np.convolve(path, np.full(beat, 1.0 / beat), "valid") for path in rear.T], -1)
    wave = rear[beat // 2 : beat // 2 + len(smoothed)] - smoothed
    size = wave.std(axis=0)
    assert np.all(np.diff(size) > 0.0)
    for ahead, behind in zip(wave.T[:-1], wave.T[1:], strict=True):
        lag = max(range(-50, 51), key=lambda n: float(np.dot(ahead[60:-60], behind[60 + n : len(behind) - 60 + n])))
        assert 0 < lag < 40


def test_can_has_the_points_that_stand_for_feet_and_hips() -> None:
    can = samples.character("can")
    ends = dict(zip([end.name for end in can.ends], can.rest_ends, strict=True))
    assert can.num_joints == 1
    assert np.allclose(ends["Centre"], can.offsets[0])
    width, height = ends["LeftFoot"][0] - ends["RightFoot"][0], ends["Top"][1]
    assert width / height == pytest.approx(0.066 / 0.122)
    assert ends["LeftFoot"][1] == ends["RightFoot"][1] == 0.0


def test_a_goal_out_of_reach_is_an_error_that_says_so() -> None:
    start, goal = np.zeros((3, 3)), np.array([[0.0, -0.5, 0.0], [0.0, -0.9, 0.0], [0.0, -1.2, 0.0]])
    with pytest.raises(
        MotionError, match=r"`LeftThigh` cannot reach.*0\.5000 to 1\.2000 m away \(farthest at frame 2\)"
    ):
        bend_inside(start, goal, 0.5, 0.5, np.tile([0.0, 0.0, 1.0], (3, 1)), "LeftThigh")
    middle = bend_inside(start[:2], goal[:2], 0.5, 0.5, np.tile([0.0, 0.0, 1.0], (2, 1)), "LeftThigh")
    assert np.all(middle[:, 2] > 0.0)


@pytest.mark.parametrize(
    ("fps", "seconds", "words"),
    [
        (0.0, 1.0, "frames per second above zero, got 0.0"),
        (float("nan"), 1.0, "frames per second above zero, got nan"),
        (30.0, -1.0, "zero or more seconds, got -1.0"),
        (30.0, float("inf"), "zero or more seconds, got inf"),
    ],
)
def test_rates_and_lengths_that_cannot_be_are_refused(fps: float, seconds: float, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        samples.motion("dog_walk", fps=fps, seconds=seconds)


def test_steps_and_arches_start_and_end_at_rest() -> None:
    small = 1e-4
    for curve in (smooth, arch):
        for end, inward in ((0.0, 1.0), (1.0, -1.0)):
            moved = curve(end + inward * small * np.array([0.0, 1.0, 2.0]))
            assert np.abs(np.diff(moved)).max() < 1e-9
    assert smooth([-1.0, 0.5, 2.0]).tolist() == [0.0, 0.5, 1.0]
    assert arch([-1.0, 0.5, 2.0]).tolist() == [0.0, 1.0, 0.0]


def test_cycle_curve_passes_its_keys_and_closes_smoothly() -> None:
    keys = {0.1: 2.0, 0.35: -1.0, 0.6: 0.5, 0.9: 1.0}
    assert np.allclose(cycle_curve(keys, np.array(list(keys))), list(keys.values()))
    step = 1e-3
    second = np.diff(cycle_curve(keys, (step * np.arange(1000)) % 1.0), 2) / step**2
    # The second derivative is made of straight pieces: it never changes by more than the steepest of them allows,
    # and not at the seam either, where the first key stands.
    assert np.abs(np.diff(second)).max() < 0.02 * np.ptp(second)


def test_ramps_are_exactly_zero_when_done_and_wrap_into_the_next_cycle() -> None:
    phase = np.array([0.0, 0.05, 0.1, 0.2, 0.5, 0.9, 0.95])
    turn = ramps(phase, (0.3, 0.6, 1.0), (0.7, 0.9, -1.5), (0.9, 1.1, 0.5))
    assert np.abs(turn[[2, 3]]).max() < 1e-15
    assert turn[0] == pytest.approx(-0.25)
    assert turn[5] == pytest.approx(-0.5)
    assert frame_times(30.0, 1.0)[-1] == pytest.approx(1.0)
