"""Gleicher98's examples on captured motion: walks, a ladder, a dance for two, boxes picked up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy import read
from understudy.bands import choose_spacing, energy_above
from understudy.constraints.base import Constraint, Spot
from understudy.constraints.distance import Distance
from understudy.constraints.on_line import OnLine
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.contacts import Contact, contact_points, detect_contacts
from understudy.geometry.quaternion import Array, angle_between
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.pipeline import Options, Part, morph, naive, plan, retarget
from understudy.solvers.base import Solution
from understudy.solvers.ik import Ik
from understudy.solvers.ik_lowpass import IkLowpass
from understudy.solvers.least_squares import LeastSquares
from understudy.solvers.lmult import Lmult
from understudy.solvers.sqp import Sqp

SMALL = 0.6
WALKS = ("02_01", "16_15")
HANDS = ("LeftHand", "RightHand")
BANDS = (4.0, 8.0, 12.0)


def load(data: Path, name: str) -> Motion:
    """A clip without the T-pose that the conversion put before it."""
    return read(data / "cmu_bvh" / f"{name}.bvh").motion[1:]


def spectrum(motion: Motion, source: Motion) -> Array:
    return energy_above(motion, BANDS) / energy_above(source, BANDS)


def worst(found: Solution, *kinds: str) -> float:
    return max((o.worst for o in found.outcomes if o.constraint.kind in kinds), default=0.0)


def largest_jump(motion: Motion) -> float:
    """Degrees that a joint turns from a frame to the next at most."""
    q = motion.rotations
    cosines = np.abs(np.einsum("fji,fji->fj", q[1:], q[:-1]))
    return float(np.degrees(2.0 * np.arccos(np.clip(cosines, 0.0, 1.0))).max())


@pytest.mark.parametrize("name", WALKS)
def test_naive_walk_skates_above_the_floor(data, name):
    """Fig. 2: copied to a figure 60% as large, planted points slide by more than 15 cm and are off by more than 25 cm
    in height."""
    walk = load(data, name)
    contacts = detect_contacts(walk, contact_points(walk))
    small = walk.skeleton.scaled(SMALL)
    pose = fk(naive(walk, small))
    slides, heights = [], []
    for contact in contacts:
        point = replace(contact.point, offset=SMALL * contact.point.offset)
        path = pose.points([point])[contact.frames(walk.fps, walk.num_frames), 0]
        slides.append(np.linalg.norm((path - path[0])[:, [0, 2]], axis=-1).max())
        heights.append(float(np.min(path[:, 1])) - contact.place[1])
    assert max(slides) > 0.15
    assert min(heights) > 0.25


@pytest.mark.parametrize("name", WALKS)
def test_walk_in_the_original_footsteps(data, name):
    """Fig. 3, sec. 7.1: at 60% in the original's footsteps.

    Ours meets all (plants 1 mm) with energy above 4, 8 and 12 Hz within 5% of the capture's. Inverse kinematics meets
    them too and adds more than 5% in every band, at least four times what ours does. Low-passed it misses by over 2 cm.
    """
    walk = load(data, name)
    target, options = walk.skeleton.scaled(SMALL), Options(plants="fixed")
    ours, ik, lowpass = (retarget(walk, target, options=options, solver=s) for s in (None, Ik(), IkLowpass()))
    assert not ours.unmet
    assert worst(ours, "region") < 2e-3
    added, added_by_ik = spectrum(ours.motion, walk) - 1.0, spectrum(ik.motion, walk) - 1.0
    assert np.abs(added).max() < 0.05
    assert worst(ik, "place", "same_place") < 1e-3
    assert added_by_ik.min() > 0.05
    assert np.all(added_by_ik > 4.0 * np.abs(added))
    assert worst(lowpass, "place", "same_place") > 0.02


@pytest.mark.parametrize("name", WALKS)
def test_walks_are_recommended_four_frames(data, name):
    """Sec. 3.7 and 7.1: the pyramid recommends keys every 4 frames for a walk."""
    assert choose_spacing(load(data, name)) == pytest.approx(4.0 / 30.0)


@pytest.mark.parametrize("plants", ["fixed", "free"])
def test_walk_morphs_to_sixty_percent(data, plants):
    """Fig. 6: plants within 1 mm, or half of what the foot shrinks while it stands; energy above 4 Hz within 5%."""
    walk = load(data, "02_01")
    found = morph(walk, walk.skeleton.scaled(SMALL), options=Options(plants=plants))
    foot = np.linalg.norm(found.motion.offsets[:, walk.skeleton.joint("LeftToeBase")], axis=-1)
    for outcome in found.outcomes:
        if outcome.constraint.kind in ("place", "same_place"):
            shrinks = float(np.ptp(foot[outcome.constraint.frames(found.motion.times)]))
            assert outcome.worst < max(1e-3, 0.5 * shrinks), outcome.constraint.label
    assert worst(found, "region") < 2e-3
    assert spectrum(found.motion, walk)[0] == pytest.approx(1.0, abs=0.05)


def test_short_legs_in_long_footsteps(data):
    """Fig. 8 on 16_15: legs 70% as long in the original's footsteps: all met, and legs open a fifth wider."""
    walk = load(data, "16_15")
    factors = np.where([any(k in n for k in ("Leg", "Foot", "Toe")) for n in walk.skeleton.names], 0.7, 1.0)
    found = retarget(walk, walk.skeleton.scaled(factors), options=Options(plants="fixed"))
    assert not found.unmet
    opens = []
    for motion in (walk, found.motion):
        pose = fk(motion)
        ways = pose.points(["LeftFoot", "RightFoot"]) - pose.points(["LeftUpLeg", "RightUpLeg"])
        ways /= np.linalg.norm(ways, axis=-1, keepdims=True)
        opens.append(float(np.arccos(np.clip(np.einsum("fi,fi->f", ways[:, 0], ways[:, 1]), -1, 1)).max()))
    assert opens[1] > 1.2 * opens[0]


@pytest.fixture(scope="module")
def climb(data: Path) -> tuple[Motion, tuple[Contact, ...]]:
    """The way up the ladder and its contacts, hands too; what is on the ladder stays where it was.

    On a rung it is the ball of the foot that is held: to hold the heel as well would ask for a foot of the same length.
    """
    motion = load(data, "13_33")[: 7 * 120]
    found = []
    for contact in detect_contacts(motion):
        above = contact.on == "hold" or contact.place[1] > 0.2
        if not (above and "heel" in contact.point.name):
            found.append(replace(contact, on="ladder") if above else contact)
    return motion, tuple(found)


def test_holds_of_the_climb_are_found(climb):
    """Sec. 3.5: both hands and both feet are found to hold the ladder, ever higher, several times each."""
    _, contacts = climb
    for side in ("Left", "Right"):
        for part in ("Hand", "ToeBase"):
            mine = [c for c in contacts if c.point.joint == f"{side}{part}" and c.on == "ladder"]
            assert len(mine) >= 2, f"{side}{part}"
            heights = [c.place[1] for c in sorted(mine, key=lambda c: c.start)]
            assert heights[-1] > heights[0]


@pytest.mark.parametrize("scale", [0.85, 1.2])
def test_climb_on_the_original_holds(climb, scale):
    """Fig. 4 and sec. 7.2 on 13_33: hands and feet on the original's holds by a smaller and a larger figure.

    Ours: all within 1 mm, energy above 4, 8 and 12 Hz within 5%. Inverse kinematics adds more than a fifth in every
    band; low-passed it misses holds by over 4 cm.
    """
    motion, contacts = climb
    target = motion.skeleton.scaled(scale)
    ours, ik, lowpass = (retarget(motion, target, contacts=contacts, solver=s) for s in (None, Ik(), IkLowpass()))
    assert not ours.unmet
    added = spectrum(ours.motion, motion) - 1.0
    assert np.abs(added).max() < 0.05
    assert (spectrum(ik.motion, motion) - 1.0).min() > 0.2
    assert worst(lowpass, "place") > 0.04


def test_hands_that_slide_along_the_rail(climb):
    """Sec. 7.2 on 13_33 at 85%: hands may take hold anywhere up or down the rail and feet anywhere along the rung.

    All is met within 1 mm, and the motion resembles the original more closely: its joints change, RMS, less than
    three quarters as much as on the original's holds.
    """
    motion, contacts = climb
    target = motion.skeleton.scaled(0.85)
    slides: list[Constraint] = []
    for contact in (c for c in contacts if c.on == "ladder"):
        along = np.array([0.0, 0.3, 0.0]) if "Hand" in contact.point.name else np.array([0.3, 0.0, 0.0])
        spot, start, end = Spot(point=contact.point.name), contact.start, contact.end
        slides.append(OnLine(spot=spot, first=contact.place - along, last=contact.place + along, start=start, end=end))
        slides.append(SamePlace(spot=spot, start=start, end=end))
    floor = [c for c in contacts if c.on == "floor"]
    fixed = retarget(motion, target, contacts=contacts)
    slid = retarget(motion, target, contacts=floor, constraints=slides)
    assert not slid.unmet
    changes = [float((angle_between(m.rotations, motion.rotations) ** 2).mean()) for m in (fixed.motion, slid.motion)]
    assert np.sqrt(changes[1]) < 0.75 * np.sqrt(changes[0])


def test_three_solvers_on_the_climb(climb, record_property):
    """Sec. 6 and 7.2 on 13_33: at 30 Hz and keys every 4 frames all three reach the paper's half inch."""
    motion, contacts = climb
    slow = motion[:480:4]
    held = [replace(c, end=min(c.end, slow.duration)) for c in contacts if c.start < slow.duration - 0.1]
    problem = plan([Part(motion=slow, target=slow.skeleton.scaled(0.9))], contacts=held).problem()
    for solver in (Sqp(), Lmult(), LeastSquares()):
        found = solver.solve(problem)
        record_property(f"seconds {found.solver}", round(found.seconds, 2))
        assert worst(found, "place", "same_place") < 0.5 * 0.0254, found.solver


def runs(mask: np.ndarray, shortest: int) -> list[tuple[int, int]]:
    """First and last frames of the stretches of a mask that last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return [(a, b - 1) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= shortest]


@pytest.fixture(scope="module")
def salsa(data: Path) -> tuple[Motion, Motion, list[Constraint]]:
    """Two dancers from 3.5 s on, and their holds: wrists that stay within 40 cm of each other for half a second.

    The conversion lost the hands' bones, so that wrists of joined hands are 20 to 40 cm apart. While a hold lasts the
    wrists keep between the least and the greatest distance that they have in the capture.
    """
    lead, follow = (load(data, name)[420:] for name in ("60_10", "61_10"))
    first, second = fk(lead), fk(follow)
    holds: list[Constraint] = []
    for mine in HANDS:
        for other in HANDS:
            gap = np.linalg.norm(first.points([mine]) - second.points([other]), axis=-1)[:, 0]
            for start, end in runs(gap < 0.4, 60):
                inside = gap[start : end + 1]
                for bound, length in (("at_most", inside.max()), ("at_least", inside.min())):
                    holds.append(
                        Distance(
                            first=Spot(point=mine, actor="lead"), second=Spot(point=other, actor="follow"),
                            length=float(length), bound=bound, start=start / lead.fps, end=end / lead.fps,
                            name=f"{mine} and {other} {bound} from {start / lead.fps:.2f} s",
                        )
                    )  # fmt: skip
    assert len(holds) >= 4
    return lead, follow, holds


UPPER = ("Spine", "LowerBack", "Neck", "Head", "Shoulder", "Arm", "Hand", "Finger", "Thumb")


@pytest.mark.parametrize("both", [False, True])
def test_salsa_partners_keep_their_holds(salsa, both):
    """Sec. 7.3 on 60_10 and 61_10: the follower 80% of her size, alone or with the leader's upper body adapted.

    Without the holds she is out of them by more than 3 cm; with them every hold and plant is met within 1 mm, the
    leader's root is untouched, and her energy above 4, 8 and 12 Hz is within 5% of the capture's.
    """
    lead, follow, holds = salsa
    small = follow.skeleton.scaled(0.8)
    plants = tuple(replace(c, actor="follow") for c in detect_contacts(follow, contact_points(follow)))
    joints = tuple(n for n in lead.skeleton.names if any(part in n for part in UPPER))
    leader = Part(
        motion=lead, target=lead.skeleton, name="lead", moves=both, joints=joints if both else None, root_moves=False
    )
    parts = [leader, Part(motion=follow, target=small, name="follow")]
    laid_out = plan(parts, constraints=holds, contacts=plants)
    without = plan(parts, contacts=plants).solve()
    found = laid_out.solve()
    assert not found.unmet
    assert _broken(without, holds) > 0.03
    assert _broken(found, holds) < 1e-3
    np.testing.assert_array_equal(found.motions[0].root, lead.root)
    assert np.abs(spectrum(found.motions[1], follow) - 1.0).max() < 0.05
    assert (largest_jump(found.motions[1]) - largest_jump(follow)) < 3.0


def test_salsa_follower_shrinks_as_they_dance(salsa):
    """Fig. 10 on 61_10: she becomes a figure 75% as large between 2.5 and 4 s; the leader's upper body responds.

    Holds within 1 mm in the world; plants within 2 mm, her feet shrink under her; energy above 4 Hz within 5%.
    """
    lead, follow, holds = salsa
    share = np.clip((follow.times - 2.5) / 1.5, 0.0, 1.0)
    plants = tuple(replace(c, actor="follow") for c in detect_contacts(follow, contact_points(follow)))
    joints = tuple(n for n in lead.skeleton.names if any(part in n for part in UPPER))
    leader = Part(motion=lead, target=lead.skeleton, name="lead", joints=joints, root_moves=False)
    small = follow.skeleton.scaled(0.75)
    follower = Part(motion=follow, target=small, name="follow", share=share * share * (3.0 - 2.0 * share))
    found = plan([leader, follower], constraints=holds, contacts=plants).solve()
    assert _broken(found, holds) < 1e-3
    assert worst(found, "same_place") < 2e-3
    assert spectrum(found.motions[1], follow)[0] == pytest.approx(1.0, abs=0.05)
    sizes = np.linalg.norm(found.motions[1].offsets[[0, -1], 1:], axis=-1).sum(1)
    assert sizes[1] == pytest.approx(0.75 * sizes[0])


def _broken(found: Solution, holds: list[Constraint]) -> float:
    """Metres that wrists leave their holds by, measured in the world."""
    poses = {"lead": fk(found.motions[0]), "follow": fk(found.motions[1])}
    off = 0.0
    for hold in holds:
        assert isinstance(hold, Distance)
        held = hold.frames(found.motions[0].times)
        places = [poses[s.actor].points([s.point])[held, 0] for s in (hold.first, hold.second)]
        gap = np.linalg.norm(places[0] - places[1], axis=-1) - hold.length
        off = max(off, float((gap if hold.bound == "at_most" else -gap).max()))
    return off


BOXES = {"69_70": (3.05, 4.2, 5.8), "115_06": (0.82, 1.25, 1.75)}
"""When the hands are at the box, and from when to when they carry it: there their distance is steady."""


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("scale", [0.8, 1.2])
def test_box_is_picked_up_and_carried(data, name, scale):
    """Sec. 1.1 on 69_70 and 115_06: the hands are where they picked the box up, and keep its width while carrying.

    In the capture that distance varies by less than 3 cm. On a figure of other size without the constraints the hands
    are more than 10 cm from the box; with them all is met within 1 mm, plants too, and energy above 4 Hz is within 5%.
    """
    motion = load(data, name)
    grasp, start, end = BOXES[name]
    places = fk(motion).points(HANDS)
    frame = round(grasp * motion.fps)
    carry = slice(round(start * motion.fps), round(end * motion.fps))
    gap = np.linalg.norm(places[:, 0] - places[:, 1], axis=-1)[carry]
    assert np.ptp(gap) < 0.03
    left, right = (Spot(point=hand) for hand in HANDS)
    box: list[Constraint] = [
        Place(spot=spot, target=places[frame, i], instants=(grasp,), name=f"{HANDS[i]} at the box")
        for i, spot in enumerate((left, right))
    ]
    width = float(np.median(gap))
    carried = Distance(first=left, second=right, length=width, start=start, end=end, name="carried")
    box.append(carried)
    target = motion.skeleton.scaled(scale)
    without = retarget(motion, target)
    assert np.linalg.norm(fk(without.motion).points(HANDS)[frame] - places[frame], axis=-1).max() > 0.1
    found = retarget(motion, target, constraints=box)
    assert not found.unmet
    reached = fk(found.motion).points(HANDS)
    assert np.linalg.norm(reached[frame] - places[frame], axis=-1).max() < 1e-3
    held = carried.frames(motion.times)
    assert np.abs(np.linalg.norm(reached[held, 0] - reached[held, 1], axis=-1) - width).max() < 1e-3
    assert spectrum(found.motion, motion)[0] == pytest.approx(1.0, abs=0.05)
