"""Guards: results spoiled on purpose are refused with the reason, sound ones are not."""

from __future__ import annotations

import json
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
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.symmetry import mirror
from understudy.metrics.comparison import Comparison
from understudy.metrics.guard import crossed, failures, frozen, off_limits, scattered
from understudy.recipe.guards import analogy_failures, transition_failures
from understudy.retarget.driver import Prepared, Retargeted, prepare, retarget
from understudy.retarget.matching import match_actor
from understudy.retarget.plan import Options, plan
from understudy.retarget.quality import measure
from understudy.retarget.spec import ActorSpec, Reading, Recipe
from understudy.solve.problem import Problem
from understudy.transition import transition

BODIES = ("child", "giant", "dog", "spider", "shark")


def faults(source: Motion, result: Motion, correspondence: Correspondence | None = None, **options: Any) -> list[str]:
    return list(failures(result, source, correspondence, **options))


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
    """A motion carried over to another body, before it is solved, and by which bones."""
    part = match_actor(source, samples.character(body))
    made = plan([part]).starts[0]
    return made, None if part.alignment is None else part.alignment.correspondence


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", ["walk", "dance", "skip", "dog_walk", "march"])
def test_sound_results_pass(name: str, body: str) -> None:
    source = next(iter(samples.motion(name).actors.values()))[:120]
    result, correspondence = performed(source, body)
    assert faults(source, result, correspondence) == []


@pytest.mark.parametrize("body", ["child", "giant", "dog"])
def test_a_mirrored_result_is_told(walk: Motion, body: str) -> None:
    result, correspondence = performed(walk, body)
    said = faults(walk, mirror(result), correspondence)
    assert len(said) == 1
    assert "is mirrored: its left does what the source's right does (correlation of the sides -" in said[0]


def test_a_mirrored_result_is_told_whatever_its_heading(walk: Motion) -> None:
    """Left and right are the body's own: a path that turns the other way is not what tells."""
    source = turned(walk, 75.0)
    assert faults(source, turned(walk, 60.0)) == []
    assert any("is mirrored" in said for said in faults(source, turned(mirror(walk), 75.0)))


def test_movement_that_is_its_own_mirror_image_is_not_called_mirrored() -> None:
    squat = samples.motion("squat").motion
    assert faults(squat, mirror(squat)) == []


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("degrees", [180.0, 120.0, -100.0])
def test_a_result_that_faces_elsewhere_is_told(walk: Motion, body: str, degrees: float) -> None:
    result, correspondence = performed(walk, body)
    said = faults(walk, turned(result, degrees), correspondence)
    assert any("the other way" in sentence for sentence in said), said


@pytest.mark.parametrize("degrees", [45.0, -60.0])
def test_a_result_that_only_looks_aside_passes(walk: Motion, degrees: float) -> None:
    assert faults(walk, turned(walk, degrees)) == []


def test_walking_backwards_is_told_by_the_path(walk: Motion) -> None:
    said = faults(walk, replace(walk, root=walk.root[::-1].copy()))
    assert said == ["goes the other way: 180 degrees from where the source goes"]


def test_a_result_that_stands_still_is_told(walk: Motion) -> None:
    assert faults(walk, still(walk)) == ["stands still while the source moves"]
    assert frozen(walk, still(walk))
    assert not frozen(still(walk), still(walk)), "a source that stands still may stand still"
    assert faults(walk[:1], walk[:1]) == [], "one frame cannot move"


def test_a_result_that_is_thrown_away_is_told(walk: Motion) -> None:
    root = walk.root.copy()
    root[40] += 1e4
    said = faults(walk, replace(walk, root=root))
    assert len(said) == 1
    assert said[0].startswith("is thrown ")
    far = replace(walk, root=walk.root + 1e4)
    assert faults(far, far) == [], "a source that is far away may be followed there"


def test_numbers_that_are_none_are_told(walk: Motion) -> None:
    """A motion refuses them when it is made; what is spoiled later is found too."""
    for frame in (3, 4):
        spoiled = replace(walk, name="spoiled")
        root = walk.root.copy()
        root[frame, 1] = np.nan
        object.__setattr__(spoiled, "root", root)
        assert scattered(walk, spoiled) == "holds numbers that are not finite"
        assert faults(walk, spoiled) == ["holds numbers that are not finite"]


def test_a_map_that_crosses_the_sides_is_told_unless_it_was_asked_for(walk: Motion) -> None:
    result, correspondence = performed(walk, "dog")
    assert correspondence is not None
    assert crossed(correspondence) == ""
    partner = {pair.source: pair.target for pair in correspondence.pairs}
    swapped = []
    for pair in correspondence.pairs:
        other = tuple(name.replace("Left", "*").replace("Right", "Left").replace("*", "Right") for name in pair.source)
        swapped.append(replace(pair, target=partner.get(other, pair.target)))
    across = replace(correspondence, pairs=tuple(swapped))
    assert "bones that are on a side play those of the other side" in crossed(across)
    assert any("play those of the other side" in said for said in faults(walk, result, across))
    asked_for = retarget(walk, samples.character("dog"), correspondence=across)
    found = faults(walk, asked_for.motion, across, given=True, constraints=asked_for.problem.constraints)
    assert found == [], "a user's own crossing map is what was asked for"


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
        said = failures(
            solution.motion, source, part.alignment.correspondence, constraints=solution.problem.constraints
        )
        guarding.append(time.process_time() - began)
        assert said == ()
    assert min(guarding) < 0.05 * solving


def test_a_pose_that_is_held_is_told_from_its_mirror_image() -> None:
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
    (said,) = faults(posed, mirror(posed))
    assert said.startswith("is mirrored: its left does what the source's right does")


def test_half_a_result_that_stands_still_is_told(walk: Motion) -> None:
    """A solver that stops on its way: what comes after is one pose."""
    stopped = np.minimum(np.arange(walk.num_frames), walk.num_frames // 3)
    assert faults(walk, walk[stopped]) == ["stands still while the source moves"]
    late = np.minimum(np.arange(walk.num_frames), 2 * walk.num_frames // 3)
    assert not frozen(walk, walk[late]), "most of it moves"


def test_what_nobody_plays_is_not_missed() -> None:
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
    assert frozen(waving, still_dog), "with all joints it would be"


@pytest.mark.parametrize(("degrees", "broken"), [(60.0, True), (40.0, False)])
@pytest.mark.parametrize("frames", [1.0, 0.6, 0.4])
def test_joints_beyond_their_range(walk: Motion, degrees: float, broken: bool, frames: float) -> None:
    solution = retarget(walk, samples.character("child"))
    bent = bent_back(solution.motion, "LeftLeg", degrees, frames)
    said = failures(bent, walk, constraints=solution.problem.constraints)
    off = [sentence for sentence in said if "joint limits" in sentence]
    if broken and frames > 0.5:
        assert off == ["is off its joint limits: `LeftLeg` is 60 degrees beyond its range most of the time"]
    else:
        assert off == []
    assert not any("joint limits" in sentence for sentence in failures(bent, walk)), "nothing says what the limits are"


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
    asked = solution.problem.constraints
    assert any(isinstance(each, JointRange) and each.joint.point == "LeftFoot" for each in asked)
    assert failures(solution.motion, odd, constraints=asked) == ()
    normal, _ = human_limits(replace(odd, skeleton=solution.motion.skeleton), widen=False)
    assert off_limits(Comparison(result=solution.motion), normal).startswith("is off its joint limits: `LeftFoot`")
    assert failures(solution.motion, odd, limits=normal) == (), "the source itself does it"


@pytest.mark.parametrize("body", ["child", "dog"])
@pytest.mark.parametrize(("speed", "lost"), [(1.5, True), (0.03, False)])
def test_feet_that_slide(walk: Motion, body: str, speed: float, lost: bool) -> None:
    solution = retarget(walk, samples.character(body))
    size = leg_length(solution.motion.skeleton) / 0.85
    way = size * speed * walk.times[:, None] * np.array([1.0, 0.0, 0.0])
    sliding = replace(solution.motion, root=solution.motion.root + way)
    part = match_actor(walk, samples.character(body))
    whole = None if part.alignment is None else part.alignment.correspondence
    by_solve = failures(sliding, walk, whole, constraints=solution.problem.constraints)
    by_contacts = failures(sliding, walk, whole, contacts=detect_contacts(walk, contact_points(walk)))
    for said in (by_solve, by_contacts):
        assert [sentence.startswith("is without its source's contacts: ") for sentence in said] == [True] * lost
    assert failures(sliding, walk, whole) == (), "contacts that nobody names are not judged"


def test_feet_in_the_air_are_without_contacts(walk: Motion) -> None:
    solution = retarget(walk, samples.character("child"))
    up = replace(solution.motion, root=solution.motion.root + np.array([0.0, 0.2, 0.0]))
    (said,) = failures(up, walk, constraints=solution.problem.constraints)
    assert said == "is without its source's contacts: 100% of what should stand does not stay there"


def test_plants_that_nobody_keeps_are_not_judged(walk: Motion) -> None:
    solution = retarget(walk, samples.character("child"), options=Options(plants="none"))
    assert failures(solution.motion, walk, constraints=solution.problem.constraints) == ()


def test_a_transition_is_its_two_motions(walk: Motion) -> None:
    dog = samples.motion("dog_walk").motion
    found = transition(walk, dog)
    assert transition_failures(found, walk, dog) == []
    assert "the first part stands still while the source moves" in transition_failures(
        replace(found, motion=still(found.motion)), walk, dog
    )
    back = transition_failures(replace(found, motion=turned(found.motion, 180.0)), walk, dog)
    assert [said.partition(":")[0] for said in back] == [
        "the first part faces the other way",
        "the last part faces the other way",
    ]


def test_a_transition_of_one_body_is_its_two_motions(walk: Motion) -> None:
    march = turned(samples.motion("march").motion[:90], 130.0)
    found = transition(walk, march)
    assert transition_failures(found, walk, march) == []
    spoiled = replace(found, motion=mirror(found.motion))
    assert any(said.startswith("the first part is mirrored") for said in transition_failures(spoiled, walk, march))


def test_a_transition_stands_where_its_motions_do(walk: Motion) -> None:
    march = samples.motion("march").motion[:90]
    found = transition(walk, march)
    way = 1.5 * found.motion.times[:, None] * np.array([1.0, 0.0, 0.0])
    said = transition_failures(replace(found, motion=replace(found.motion, root=found.motion.root + way)), walk, march)
    assert any(each.startswith("the first part is without its source's contacts") for each in said)
    assert any(each.startswith("the last part is without its source's contacts") for each in said)


def test_a_blend_stands_and_keeps_inside_its_limits(walk: Motion) -> None:
    """Only the blend is spoiled: its body slides by 1.5 m/s, or a knee is bent 60 degrees backwards all through it."""
    march = samples.motion("march").motion[:90]
    found = transition(walk, march)
    times = np.clip(found.motion.times - found.start / found.motion.fps, 0.0, found.end / found.motion.fps)
    root = found.motion.root + 1.5 * times[:, None] * np.array([1.0, 0.0, 0.0])
    said = transition_failures(replace(found, motion=replace(found.motion, root=root)), walk, march)
    assert any(each.startswith("the blend is without its source's contacts") for each in said)
    rotations, knee = found.motion.rotations.copy(), found.motion.skeleton.joint("LeftLeg")
    blend = slice(found.start + 1, found.end)
    axis = found.motion.skeleton.axes[knee, 0]
    low = found.motion.skeleton.limits[knee, 0, 0] - np.radians(60.0)
    rotations[blend, knee] = multiply(found.motion.skeleton.rest[knee], from_axis_angle(axis, np.array(low)))
    said = transition_failures(replace(found, motion=replace(found.motion, rotations=rotations)), walk, march)
    assert any(each.startswith("the blend is off its joint limits: `LeftLeg` is 60 degrees") for each in said)


def test_an_analogy_keeps_facing_side_and_movement() -> None:
    walk, dog, march = (samples.motion(name).motion for name in ("walk", "dog_walk", "march"))
    found = analogy(walk, dog, march)
    assert analogy_failures(found) == []
    assert analogy_failures(replace(found, motion=still(found.motion))) == [
        "the result stands still while the source moves"
    ]
    (said,) = analogy_failures(replace(found, level=turned(found.level, 180.0)))
    assert said.startswith("the result faces the other way: 1")
    way = 1.5 * found.motion.times[:, None] * np.array([1.0, 0.0, 0.0])
    (said,) = analogy_failures(replace(found, motion=replace(found.motion, root=found.motion.root + way)))
    assert said.startswith("the result is without its source's contacts: ")
    (said,) = analogy_failures(replace(found, motion=mirror(found.motion)))
    assert said.startswith("the result is mirrored: its left does what its right is to do (correlation of the sides -")


# By the command's own path


def spoil(motion: Motion, how: str) -> Motion:
    """A result as a fault of ours would leave it."""
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
    ("how", "said"),
    [
        ("frozen", "stands still while the source moves"),
        ("mirrored", "is mirrored: its left does what the source's right does"),
        ("turned", "faces the other way: 180 degrees from where the source faces"),
        ("off limits", "is off its joint limits: `LeftLeg` is 60 degrees beyond its range most of the time"),
        ("sliding", "is without its source's contacts: 100% of what should stand does not stay there"),
    ],
)
@pytest.mark.parametrize("command", ["retarget", "morph"])
def test_a_spoiled_result_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, how: str, said: str
) -> None:
    solve = Prepared.solve

    def spoiled(self: Prepared, *arguments: Any) -> Retargeted:
        found = solve(self, *arguments)
        motions = tuple(spoil(motion, how) for motion in found.motions)
        return replace(found, solution=replace(found.solution, motions=motions))

    monkeypatch.setattr(Prepared, "solve", spoiled)
    given = [command, "sample:walk", "sample:child", "-o", str(tmp_path / "a.bvh"), "--frames", ":90", "--json"]
    result = CliRunner().invoke(cli, given)
    assert result.exit_code == 1, result.output
    (fault,) = json.loads(result.stdout)["faults"]
    assert fault.startswith(f"the result {said}")
    assert f"warning: {fault}: no use; " in result.stderr


def test_numbers_that_are_none_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No motion can be made of them, so nothing is written."""
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
    solution = prepared.solve(prepared.spacing("auto"))
    assert measure(prepared, solution, 0.0)["faults"] == []


@pytest.mark.parametrize("name", list(samples.motions()))
def test_no_source_fails_against_itself(name: str) -> None:
    scene = samples.motion(name)
    for actor, motion in scene.actors.items():
        contacts = [contact for contact in scene.contacts if contact.actor in ("", actor)]
        assert failures(motion, motion, contacts=contacts, limits=skeleton_limits(motion.skeleton)) == ()
