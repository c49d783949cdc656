"""Guards: results with injected faults are rejected with the reason; sound results pass."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from understudy import samples
from understudy.analogy.make import analogy
from understudy.app.cli import cli
from understudy.base.quaternion import from_axis_angle, multiply, rotate
from understudy.constraints.joint_range import JointRange
from understudy.correspondence.limits import human_limits, skeleton_limits
from understudy.correspondence.pairs import Correspondence
from understudy.correspondence.suggest import suggest
from understudy.figure.contacts import contact_points, detect_contacts
from understudy.figure.measures import leg_length, mirror
from understudy.figure.motion import Motion, rest_motion
from understudy.metrics import guard
from understudy.metrics.comparison import Comparison
from understudy.metrics.guard import (
    describe_crossed_sides,
    describe_limit_breach,
    describe_scatter,
    find_failures,
    is_frozen,
)
from understudy.recipe.guards import analogy_failures, transition_failures
from understudy.retarget.actor import ActorSpec, Reading, match_actor
from understudy.retarget.driver import Prepared, Retargeted, prepare, retarget
from understudy.retarget.plan import Options, plan
from understudy.retarget.quality import measure
from understudy.retarget.spec import Recipe
from understudy.solve.problem import Problem
from understudy.transition import transition

BODIES = ("child", "giant", "dog", "spider", "shark")


def faults(source: Motion, result: Motion, correspondence: Correspondence | None = None, **options: Any) -> list[str]:
    return list(find_failures(result, source, correspondence, **options))


def turned(motion: Motion, degrees: float) -> Motion:
    """A motion turned about the vertical."""
    turn = from_axis_angle(np.array([0.0, 1.0, 0.0]), np.array(np.radians(degrees)))
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    return replace(motion, root=rotate(turn, motion.root), rotations=rotations)


def still(motion: Motion) -> Motion:
    return motion[np.zeros(motion.num_frames, int)]


@pytest.fixture(scope="module")
def walk() -> Motion:
    return samples.motion("walk").motion[:90]


def performed(source: Motion, body: str) -> tuple[Motion, Correspondence | None]:
    """The initial guess of a motion on another body, before solving, and the correspondence."""
    part = match_actor(source, samples.character(body))
    start = plan([part]).starts[0]
    return start, None if part.alignment is None else part.alignment.correspondence


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", ["walk", "dance", "skip", "dog_walk", "march"])
def test_sound_results_pass(name: str, body: str) -> None:
    source = next(iter(samples.motion(name).actors.values()))[:120]
    result, correspondence = performed(source, body)
    assert faults(source, result, correspondence) == []


@pytest.mark.parametrize("body", ["child", "giant", "dog"])
def test_a_mirrored_result_is_rejected(walk: Motion, body: str) -> None:
    result, correspondence = performed(walk, body)
    messages = faults(walk, mirror(result), correspondence)
    assert len(messages) == 1
    assert "is mirrored: its left does what the source's right does (correlation of the sides -" in messages[0]


def test_a_mirrored_result_is_rejected_whatever_its_heading(walk: Motion) -> None:
    """Left and right are those of the body: the direction of the path does not matter."""
    source = turned(walk, 75.0)
    assert faults(source, turned(walk, 60.0)) == []
    assert any("is mirrored" in message for message in faults(source, turned(mirror(walk), 75.0)))


def test_movement_that_is_its_own_mirror_image_is_not_called_mirrored() -> None:
    squat = samples.motion("squat").motion
    assert faults(squat, mirror(squat)) == []


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("degrees", [180.0, 120.0, -100.0])
def test_a_result_that_faces_elsewhere_is_rejected(walk: Motion, body: str, degrees: float) -> None:
    result, correspondence = performed(walk, body)
    messages = faults(walk, turned(result, degrees), correspondence)
    assert any("the other way" in message for message in messages), messages


@pytest.mark.parametrize("degrees", [45.0, -60.0])
def test_a_result_that_only_looks_aside_passes(walk: Motion, degrees: float) -> None:
    assert faults(walk, turned(walk, degrees)) == []


def test_walking_backwards_is_rejected_by_the_path(walk: Motion) -> None:
    messages = faults(walk, replace(walk, root=walk.root[::-1].copy()))
    assert messages == ["goes the other way: 180 degrees from where the source goes"]


def test_a_result_that_stands_still_is_rejected(walk: Motion) -> None:
    assert faults(walk, still(walk)) == ["stands still while the source moves"]
    assert is_frozen(walk, still(walk))
    assert not is_frozen(still(walk), still(walk)), "a source that stands still may stand still"
    assert faults(walk[:1], walk[:1]) == [], "one frame cannot move"


def test_a_source_that_hardly_turns_is_compared_by_its_turns_whatever_share_is_frozen(
    walk: Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = still(walk)
    turns = from_axis_angle(np.array([0.0, 1.0, 0.0]), np.linspace(0.0, 0.01, walk.num_frames))
    rotations = rest.rotations.copy()
    rotations[:, 0] = multiply(turns, rotations[:, 0])
    assert is_frozen(replace(rest, rotations=rotations), rest)
    monkeypatch.setattr(guard, "MAX_FROZEN_SHARE", 0.1)
    assert is_frozen(replace(rest, rotations=rotations), rest)


def test_a_result_that_is_thrown_away_is_rejected(walk: Motion) -> None:
    root = walk.root.copy()
    root[40] += 1e4
    messages = faults(walk, replace(walk, root=root))
    assert len(messages) == 1
    assert messages[0].startswith("is thrown ")
    far = replace(walk, root=walk.root + 1e4)
    assert faults(far, far) == [], "a source that is far away may be followed there"


def test_nan_is_rejected(walk: Motion) -> None:
    """A motion refuses NaN when it is created; NaN that is injected later is found too."""
    for frame in (3, 4):
        spoiled = replace(walk, name="spoiled")
        root = walk.root.copy()
        root[frame, 1] = np.nan
        object.__setattr__(spoiled, "root", root)
        assert describe_scatter(walk, spoiled) == "holds numbers that are not finite"
        assert faults(walk, spoiled) == ["holds numbers that are not finite"]


def test_a_map_that_crosses_the_sides_is_rejected_unless_the_user_gave_it(walk: Motion) -> None:
    result, correspondence = performed(walk, "dog")
    assert correspondence is not None
    assert describe_crossed_sides(correspondence) == ""
    partner = {pair.source: pair.target for pair in correspondence.pairs}
    swapped = []
    for pair in correspondence.pairs:
        other = tuple(name.replace("Left", "*").replace("Right", "Left").replace("*", "Right") for name in pair.source)
        swapped.append(replace(pair, target=partner.get(other, pair.target)))
    across = replace(correspondence, pairs=tuple(swapped))
    assert "bones that are on a side play those of the other side" in describe_crossed_sides(across)
    assert any("play those of the other side" in message for message in faults(walk, result, across))
    solution = retarget(walk, samples.character("dog"), correspondence=across)
    messages = faults(walk, solution.motion, across, given=True, constraints=solution.problem.constraints)
    assert messages == [], "a crossing map of the user is not a fault"


def test_the_guard_is_cheap() -> None:
    """Processor time beside that of the retarget it guards; metrics.md has more of it."""
    source, dog = samples.motion("walk").motion, samples.character("dog")
    part = match_actor(source, dog)
    assert part.alignment is not None
    began = time.process_time()
    solution = retarget(source, dog)
    solving, guarding = time.process_time() - began, []
    for _ in range(5):
        began = time.process_time()
        messages = find_failures(
            solution.motion, source, part.alignment.correspondence, constraints=solution.problem.constraints
        )
        guarding.append(time.process_time() - began)
        assert messages == ()
    assert min(guarding) < 0.05 * solving


def test_a_held_pose_is_distinguished_from_its_mirror_image() -> None:
    """Nothing moves but a nodding head: only the raised arm tells left from right."""
    skeleton = samples.character("adult")
    held = rest_motion(skeleton, num_frames=60)
    rotations = held.rotations.copy()
    arm, head = skeleton.joint("LeftArm"), skeleton.joint("Head")
    rotations[:, arm] = multiply(rotations[:, arm], from_axis_angle(np.array([0.0, 1.0, 0.0]), np.radians(-80.0)))
    nod = 0.3 * np.sin(np.arange(60) / 5.0)
    rotations[:, head] = multiply(rotations[:, head], from_axis_angle(np.array([1.0, 0.0, 0.0]), nod))
    posed = replace(held, rotations=rotations)
    assert faults(posed, posed) == []
    (message,) = faults(posed, mirror(posed))
    assert message.startswith("is mirrored: its left does what the source's right does")


def test_half_a_result_that_stands_still_is_rejected(walk: Motion) -> None:
    """A solver that stops on its way: what comes after is one pose."""
    stopped = np.minimum(np.arange(walk.num_frames), walk.num_frames // 3)
    assert faults(walk, walk[stopped]) == ["stands still while the source moves"]
    late = np.minimum(np.arange(walk.num_frames), 2 * walk.num_frames // 3)
    assert not is_frozen(walk, walk[late]), "most of it moves"


def test_a_joint_without_a_partner_is_not_missed() -> None:
    """A source that moves a joint which the map leaves out, and nothing else."""
    source = rest_motion(samples.character("adult"), num_frames=60)
    rotations = source.rotations.copy()
    hand = source.skeleton.joint("LeftHand")
    wave = from_axis_angle(np.array([0.0, 0.0, 1.0]), np.sin(np.arange(60) / 4.0))
    rotations[:, hand] = multiply(rotations[:, hand], wave)
    waving = replace(source, rotations=rotations)
    still_dog = rest_motion(samples.character("dog"), num_frames=60)
    whole = suggest(source.skeleton, still_dog.skeleton)
    bare = replace(whole, pairs=tuple(pair for pair in whole.pairs if "LeftHand" not in pair.source))
    assert faults(waving, still_dog, bare) == []
    assert is_frozen(waving, still_dog), "with all joints it would be"


@pytest.mark.parametrize(("degrees", "broken"), [(60.0, True), (40.0, False)])
@pytest.mark.parametrize("frames", [1.0, 0.6, 0.4])
def test_joints_beyond_their_range(walk: Motion, degrees: float, broken: bool, frames: float) -> None:
    solution = retarget(walk, samples.character("child"))
    bent = bent_back(solution.motion, "LeftLeg", degrees, frames)
    messages = find_failures(bent, walk, constraints=solution.problem.constraints)
    off = [message for message in messages if "joint limits" in message]
    if broken and frames > 0.5:
        assert off == ["is off its joint limits: `LeftLeg` is 60 degrees beyond its range most of the time"]
    else:
        assert off == []
    assert not any("joint limits" in message for message in find_failures(bent, walk)), (
        "nothing says what the limits are"
    )


def bent_back(motion: Motion, joint: str, degrees: float, share: float) -> Motion:
    """A motion with a hinge so far below its least angle over a share of its frames."""
    skeleton = motion.skeleton
    number = skeleton.joint(joint)
    wrong = from_axis_angle(skeleton.axes[number, 0], skeleton.limits[number, 0, 0] - np.radians(degrees))
    rotations = motion.rotations.copy()
    rotations[: round(share * motion.num_frames), number] = multiply(skeleton.rest[number], wrong)
    return replace(motion, rotations=rotations)


def test_limits_are_those_of_the_solve() -> None:
    """A source beyond a human's normal range widens it, so that its own retarget is not called broken."""
    clean = samples.motion("walk").motion[:60]
    free = replace(clean.skeleton, limits=np.empty((0, 3, 2)))
    rotations = clean.rotations.copy()
    foot = free.joint("LeftFoot")
    rotations[:, foot] = multiply(from_axis_angle(np.array([0.0, 1.0, 0.0]), np.radians(120.0)), rotations[:, foot])
    odd = Motion(skeleton=free, fps=30.0, root=clean.root, rotations=rotations)
    solution = retarget(odd, free.scaled(0.8))
    constraints = solution.problem.constraints
    assert any(isinstance(c, JointRange) and c.joint.point == "LeftFoot" for c in constraints)
    assert find_failures(solution.motion, odd, constraints=constraints) == ()
    normal, _ = human_limits(replace(odd, skeleton=solution.motion.skeleton), widen=False)
    assert describe_limit_breach(Comparison(result=solution.motion), normal).startswith(
        "is off its joint limits: `LeftFoot`"
    )
    assert find_failures(solution.motion, odd, limits=normal) == (), "the source itself does it"


@pytest.mark.parametrize("body", ["child", "dog"])
@pytest.mark.parametrize(("speed", "lost"), [(1.5, True), (0.03, False)])
def test_feet_that_slide(walk: Motion, body: str, speed: float, lost: bool) -> None:
    solution = retarget(walk, samples.character(body))
    size = leg_length(solution.motion.skeleton) / 0.85
    way = size * speed * walk.times[:, None] * np.array([1.0, 0.0, 0.0])
    sliding = replace(solution.motion, root=solution.motion.root + way)
    part = match_actor(walk, samples.character(body))
    whole = None if part.alignment is None else part.alignment.correspondence
    by_solve = find_failures(sliding, walk, whole, constraints=solution.problem.constraints)
    by_contacts = find_failures(sliding, walk, whole, contacts=detect_contacts(walk, contact_points(walk)))
    for messages in (by_solve, by_contacts):
        assert [message.startswith("is without its source's contacts: ") for message in messages] == [True] * lost
    assert find_failures(sliding, walk, whole) == (), "contacts that are not given are not judged"


def test_feet_in_the_air_are_without_contacts(walk: Motion) -> None:
    solution = retarget(walk, samples.character("child"))
    up = replace(solution.motion, root=solution.motion.root + np.array([0.0, 0.2, 0.0]))
    (message,) = find_failures(up, walk, constraints=solution.problem.constraints)
    assert message == "is without its source's contacts: 100% of what should stand does not stay there"


def test_plants_without_constraints_are_not_judged(walk: Motion) -> None:
    solution = retarget(walk, samples.character("child"), options=Options(plants="none"))
    assert find_failures(solution.motion, walk, constraints=solution.problem.constraints) == ()


def test_a_transition_is_its_two_motions(walk: Motion) -> None:
    dog = samples.motion("dog_walk").motion
    result = transition(walk, dog)
    assert transition_failures(result, walk, dog) == []
    assert "the first part stands still while the source moves" in transition_failures(
        replace(result, motion=still(result.motion)), walk, dog
    )
    back = transition_failures(replace(result, motion=turned(result.motion, 180.0)), walk, dog)
    assert [message.partition(":")[0] for message in back] == [
        "the first part faces the other way",
        "the last part faces the other way",
    ]


def test_a_transition_of_one_body_is_its_two_motions(walk: Motion) -> None:
    march = turned(samples.motion("march").motion[:90], 130.0)
    result = transition(walk, march)
    assert transition_failures(result, walk, march) == []
    spoiled = replace(result, motion=mirror(result.motion))
    assert any(
        message.startswith("the first part is mirrored") for message in transition_failures(spoiled, walk, march)
    )


def test_a_transition_stands_where_its_motions_do(walk: Motion) -> None:
    march = samples.motion("march").motion[:90]
    result = transition(walk, march)
    way = 1.5 * result.motion.times[:, None] * np.array([1.0, 0.0, 0.0])
    messages = transition_failures(
        replace(result, motion=replace(result.motion, root=result.motion.root + way)), walk, march
    )
    assert any(message.startswith("the first part is without its source's contacts") for message in messages)
    assert any(message.startswith("the last part is without its source's contacts") for message in messages)


def test_a_blend_stands_and_keeps_inside_its_limits(walk: Motion) -> None:
    """Only the blend is spoiled: its body slides by 1.5 m/s, or a knee is bent 60 degrees backwards all through it."""
    march = samples.motion("march").motion[:90]
    result = transition(walk, march)
    times = np.clip(result.motion.times - result.start / result.motion.fps, 0.0, result.end / result.motion.fps)
    root = result.motion.root + 1.5 * times[:, None] * np.array([1.0, 0.0, 0.0])
    messages = transition_failures(replace(result, motion=replace(result.motion, root=root)), walk, march)
    assert any(message.startswith("the blend is without its source's contacts") for message in messages)
    rotations, knee = result.motion.rotations.copy(), result.motion.skeleton.joint("LeftLeg")
    blend = slice(result.start + 1, result.end)
    axis = result.motion.skeleton.axes[knee, 0]
    low = result.motion.skeleton.limits[knee, 0, 0] - np.radians(60.0)
    rotations[blend, knee] = multiply(result.motion.skeleton.rest[knee], from_axis_angle(axis, np.array(low)))
    messages = transition_failures(replace(result, motion=replace(result.motion, rotations=rotations)), walk, march)
    assert any(message.startswith("the blend is off its joint limits: `LeftLeg` is 60 degrees") for message in messages)


def test_an_analogy_keeps_facing_side_and_movement() -> None:
    walk, dog, march = (samples.motion(name).motion for name in ("walk", "dog_walk", "march"))
    result = analogy(walk, dog, march)
    assert analogy_failures(result) == []
    assert analogy_failures(replace(result, motion=still(result.motion))) == [
        "the result stands still while the source moves"
    ]
    (message,) = analogy_failures(replace(result, level=turned(result.level, 180.0)))
    assert message.startswith("the result faces the other way: 1")
    way = 1.5 * result.motion.times[:, None] * np.array([1.0, 0.0, 0.0])
    (message,) = analogy_failures(replace(result, motion=replace(result.motion, root=result.motion.root + way)))
    assert message.startswith("the result is without its source's contacts: ")
    (message,) = analogy_failures(replace(result, motion=mirror(result.motion)))
    assert message.startswith(
        "the result is mirrored: its left does what its right should do (correlation of the sides -"
    )


# Through the command line


def spoil(motion: Motion, how: str) -> Motion:
    """A result with a fault."""
    if how == "mirrored":
        return mirror(motion)
    if how == "turned":
        return turned(motion, 180.0)
    if how == "off limits":
        return bent_back(motion, "LeftLeg", 60.0, 0.8)
    if how == "sliding":
        return replace(motion, root=motion.root + motion.times[:, None] * [1.0, 0.0, 0.0])
    return still(motion)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("frozen", "stands still while the source moves"),
        ("mirrored", "is mirrored: its left does what the source's right does"),
        ("turned", "faces the other way: (179|180) degrees from where the source faces"),
        ("off limits", "is off its joint limits: `LeftLeg` is 60 degrees beyond its range most of the time"),
        ("sliding", r"is without its source's contacts: (9\d|100)% of what should stand does not stay there"),
    ],
)
@pytest.mark.parametrize("command", ["retarget", "morph"])
def test_a_spoiled_result_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, how: str, message: str
) -> None:
    solve = Prepared.solve

    def spoiled(self: Prepared, *arguments: Any) -> Retargeted:
        solved = solve(self, *arguments)
        motions = tuple(spoil(motion, how) for motion in solved.motions)
        return replace(solved, solution=replace(solved.solution, motions=motions))

    monkeypatch.setattr(Prepared, "solve", spoiled)
    arguments = [command, "sample:walk", "sample:child", "-o", str(tmp_path / "a.bvh"), "--frames", ":90", "--json"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 1, result.output
    (fault,) = json.loads(result.stdout)["faults"]
    assert re.match(f"the result {message}", fault), fault
    assert f"warning: {fault}: no use; " in result.stderr


def test_nan_in_the_result_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A motion refuses NaN, so nothing is written."""
    restored = Problem.restored

    def spoiled(self: Problem, bodies: Any) -> tuple[Motion, ...]:
        root = bodies[0].motion.root.copy()
        root[3, 1] = np.nan
        return restored(self, (replace(bodies[0], motion=replace(bodies[0].motion, root=root)),))

    monkeypatch.setattr(Problem, "restored", spoiled)
    result = CliRunner().invoke(cli, ["retarget", "sample:walk", "sample:child", "-o", str(tmp_path / "a.bvh")])
    assert result.exit_code == 1
    assert "error: Motion root path: expected finite numbers, got nan at [3, 1]" in result.stderr
    assert not (tmp_path / "a.bvh").exists()


@pytest.mark.parametrize("body", ["child", "dog"])
@pytest.mark.parametrize("name", list(samples.motions()))
def test_no_sound_retarget_is_called_failed(name: str, body: str) -> None:
    frames = ":60" if body == "dog" and name in ("dance", "ladder") else None
    actor = ActorSpec(source=f"sample:{name}", target=f"sample:{body}")
    prepared = prepare(Recipe(actors=(actor,), reading=Reading(frames=frames)))
    solution = prepared.solve(prepared.spacing("auto")).solution
    assert measure(prepared, solution, 0.0)["faults"] == []


@pytest.mark.parametrize("name", list(samples.motions()))
def test_no_source_fails_against_itself(name: str) -> None:
    scene = samples.motion(name)
    for actor, motion in scene.actors.items():
        contacts = [contact for contact in scene.contacts if contact.actor in ("", actor)]
        assert find_failures(motion, motion, contacts=contacts, limits=skeleton_limits(motion.skeleton)) == ()


def test_a_body_whose_collar_bones_start_at_one_point_faces_as_its_source_does() -> None:
    """A trunk turned far against the hips: lines between the same joints are compared, whatever lies above them."""
    dance = samples.motion("walk").motion
    skeleton = dance.skeleton
    spine = skeleton.joint("Spine1")
    rotations = dance.rotations.copy()
    rotations[:, spine] = multiply(from_axis_angle(np.array([0.0, 1.0, 0.0]), np.radians(75.0)), rotations[:, spine])
    twisted = replace(dance, rotations=rotations)
    offsets, wide = skeleton.offsets.copy(), skeleton.offsets.copy()
    for side in ("Left", "Right"):
        collar, arm = skeleton.joint(f"{side}Shoulder"), skeleton.joint(f"{side}Arm")
        offsets[collar, 0], offsets[arm, 0] = 0.0, skeleton.offsets[collar, 0] + skeleton.offsets[arm, 0]
        wide[arm, 0] = 0.0
        wide[collar, 0] = skeleton.offsets[collar, 0] + skeleton.offsets[arm, 0]
    bodies = [replace(twisted, skeleton=replace(skeleton, offsets=o)) for o in (wide, offsets)]
    assert find_failures(bodies[1], bodies[0]) == ()
    assert find_failures(bodies[0], bodies[1]) == ()
