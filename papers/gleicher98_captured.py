"""[Gleicher98]'s examples on captured motion: walks, a ladder, a dance for two, boxes picked up, and its solvers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from papers.base import SMALL, UNMET, Capture, Cell, Findings, Table, Tell, capture, changed, cmu, spectrum, worst
from papers.gleicher98_figures import LADDER, run_solvers
from understudy.base.quaternion import Array
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.distance import Distance
from understudy.constraints.on_line import OnLine
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.figure.contacts import Contact, contact_points, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.retarget.driver import naive, retarget
from understudy.retarget.plan import Assignment, Options, Plan, plan
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import Solution, Solver
from understudy.solve.solvers.ik import Ik
from understudy.solve.solvers.ik_lowpass import IkLowpass

WALKS = ("02_01", "16_15")

HANDS = ("LeftHand", "RightHand")

BOXES = {"69_70": (3.05, 4.2, 5.8), "115_06": (0.82, 1.25, 1.75)}
"""By clip, when the hands are at the box, and from when to when they carry it: there their distance is steady."""

UPPER = ("Spine", "LowerBack", "Neck", "Head", "Shoulder", "Arm", "Hand", "Finger", "Thumb")
"""What the names of the joints of an upper body have in them."""

NEAR, LASTING = 0.4, 60
"""Metres between wrists, and frames for which they are, that make a hold."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Climb:
    """The way up a ladder."""

    motion: Motion
    contacts: tuple[Contact, ...]
    """Hands and balls of the feet on the ladder, and feet on the floor."""

    def sliding(self) -> list[Constraint]:
        """Hands anywhere up or down the rail, feet anywhere along the rung, but still while they hold."""
        made: list[Constraint] = []
        for contact in (c for c in self.contacts if c.on == "ladder"):
            assert contact.place is not None
            along = np.array([0.0, 0.3, 0.0]) if "Hand" in contact.point.name else np.array([0.3, 0.0, 0.0])
            spot, start, end = PointRef(point=contact.point.name), contact.start, contact.end
            first, last = contact.place - along, contact.place + along
            made += [
                OnLine(spot=spot, first=first, last=last, start=start, end=end),
                SamePlace(spot=spot, start=start, end=end),
            ]
        return made

    def problem(self, size: float = 0.9) -> Problem:
        """Four seconds at 30 frames a second by a figure of another size, for solvers to be compared on."""
        slow = self.motion[:480:4]
        held = [replace(c, end=min(c.end, slow.duration)) for c in self.contacts if c.start < slow.duration - 0.1]
        return plan([Assignment(motion=slow, target=slow.skeleton.scaled(size))], contacts=held).problem()


@lru_cache(maxsize=2)
def climb(data: Path) -> Climb:
    """The way up the ladder of 13_33; what is on the ladder stays where it was.

    On a rung it is the ball of the foot that is held: to hold the heel as well would ask for a foot of the same length.
    """
    motion = capture(data, "13_33")[: 7 * 120]
    found = []
    for contact in detect_contacts(motion):
        above = contact.on == "hold" or (contact.place is not None and contact.place[1] > 0.2)
        if not (above and "heel" in contact.point.name):
            found.append(replace(contact, on="ladder") if above else contact)
    return Climb(motion=motion, contacts=tuple(found))


@dataclass(frozen=True, eq=False, kw_only=True)
class Salsa:
    """Two dancers, and how they hold each other."""

    lead: Motion
    follow: Motion
    holds: tuple[Distance, ...]

    def laid_out(self, size: float, *, both: bool, held: bool = True, share: Array | None = None) -> Plan:
        """The dance with a follower of another size; her partner's upper body adapts too, or he stays as he is.

        Args:
            size: The follower's, as a share of her own.
            both: Whether the leader adapts.
            held: Whether the holds are kept.
            share: (F,) how much of the new size she has at each frame; all of it if not given.
        """
        plants = detect_contacts(self.follow, contact_points(self.follow))
        joints = tuple(name for name in self.lead.skeleton.names if any(part in name for part in UPPER))
        leader = Assignment(
            motion=self.lead, target=self.lead.skeleton, name="lead", moves=both, joints=joints if both else None,
            root_moves=False,
        )  # fmt: skip
        small = self.follow.skeleton.scaled(size)
        follower = Assignment(motion=self.follow, target=small, name="follow", share=share)
        return plan(
            [leader, follower],
            constraints=self.holds if held else (),
            contacts=tuple(replace(c, actor="follow") for c in plants),
        )

    def broken(self, found: Solution) -> float:
        """Metres that wrists leave their holds by, measured in the world."""
        poses = {"lead": fk(found.motions[0]), "follow": fk(found.motions[1])}
        off = 0.0
        for hold in self.holds:
            held = hold.frames(found.motions[0].times)
            places = [poses[s.actor].points([s.point])[held, 0] for s in (hold.first, hold.second)]
            gap = np.linalg.norm(places[0] - places[1], axis=-1) - hold.length
            off = max(off, float((gap if hold.bound == "at_most" else -gap).max()))
        return off

    @property
    def shrinking(self) -> Array:
        """(F,) a share that grows smoothly from nothing to one between 2.5 and 4 s."""
        share = np.clip((self.follow.times - 2.5) / 1.5, 0.0, 1.0)
        return np.asarray(share * share * (3.0 - 2.0 * share))


@lru_cache(maxsize=2)
def salsa(data: Path) -> Salsa:
    """The dancers of 60_10 and 61_10 from 3.5 s on; wrists that stay near each other for half a second are a hold.

    The conversion lost the hands' bones, so that wrists of joined hands are 20 to 40 cm apart. While a hold lasts the
    wrists keep between the least and the greatest distance that they have in the capture.
    """
    lead, follow = (capture(data, name)[420:] for name in ("60_10", "61_10"))
    first, second = fk(lead), fk(follow)
    holds = []
    for mine in HANDS:
        for other in HANDS:
            gap = np.linalg.norm(first.points([mine]) - second.points([other]), axis=-1)[:, 0]
            for start, end in runs(gap < NEAR, LASTING):
                inside = gap[start : end + 1]
                for bound, length in (("at_most", inside.max()), ("at_least", inside.min())):
                    holds.append(
                        Distance(
                            first=PointRef(point=mine, actor="lead"), second=PointRef(point=other, actor="follow"),
                            length=float(length), bound=bound, start=start / lead.fps, end=end / lead.fps,
                            name=f"{mine} and {other} {bound} from {start / lead.fps:.2f} s",
                        )
                    )  # fmt: skip
    return Salsa(lead=lead, follow=follow, holds=tuple(holds))


def runs(mask: np.ndarray, shortest: int) -> list[tuple[int, int]]:
    """First and last frames of the stretches of a mask that last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= shortest]


@dataclass(frozen=True, eq=False, kw_only=True)
class Box:
    """Somebody picks up a box and carries it."""

    motion: Motion
    frame: int
    """At which both hands are at the box."""
    gap: Array
    """(n,) metres between the wrists while they carry it."""
    constraints: tuple[Constraint, ...]
    """The hands where they picked it up, and its width between them while they carry it."""

    def measure(self, motion: Motion) -> tuple[float, float]:
        """Metres that hands are from the box when they take it, and that they leave its width by while they carry."""
        reached, places = fk(motion).points(HANDS), fk(self.motion).points(HANDS)
        carried = self.constraints[-1]
        assert isinstance(carried, Distance)
        held = carried.frames(motion.times)
        widths = np.linalg.norm(reached[held, 0] - reached[held, 1], axis=-1)
        off = np.linalg.norm(reached[self.frame] - places[self.frame], axis=-1).max()
        return float(off), float(np.abs(widths - carried.length).max())


def box(data: Path, name: str) -> Box:
    """The box of one of the clips in `BOXES`."""
    motion = capture(data, name)
    grasp, start, end = BOXES[name]
    places, frame = fk(motion).points(HANDS), round(grasp * motion.fps)
    gap = np.linalg.norm(places[:, 0] - places[:, 1], axis=-1)[round(start * motion.fps) : round(end * motion.fps)]
    spots = [PointRef(point=hand) for hand in HANDS]
    made: list[Constraint] = [
        Place(spot=spot, target=places[frame, i], instants=(grasp,), name=f"{HANDS[i]} at the box")
        for i, spot in enumerate(spots)
    ]
    width = float(np.median(gap))
    made.append(Distance(first=spots[0], second=spots[1], length=width, start=start, end=end, name="carried"))
    return Box(motion=motion, frame=frame, gap=gap, constraints=tuple(made))


CAPTURED_CLIMBER = 0.85

METHODS: dict[str, Solver | None] = {"inverse kinematics": Ik(), "low-pass filtered": IkLowpass(), "ours": None}

ENERGY = "energy above 4/8/12 Hz"


def findings(title: str, head: tuple[str, ...], rows: Iterable[tuple[Cell, ...]]) -> Findings:
    """A table, and as worse what says of itself that constraints of ours are not met."""
    made = tuple(rows)
    failed = tuple(
        f"{row[0]}: {cell}" for row in made for cell in row if "ours" in row and isinstance(cell, str) and UNMET in cell
    )
    return Findings(tables=(Table(title=title, head=head, rows=made),), worse=failed)


def walks(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Figures 2 and 3: walks at 60% in the original's footsteps, copied and by each method."""
    rows: list[tuple[Cell, ...]] = []
    for name in WALKS:
        tell(f"the walk {name}")
        walk = capture(data, name)
        small = walk.skeleton.scaled(SMALL)
        rows.append((name, "copied", "-", 1e3 * slide(data, name), spectrum(naive(walk, small), walk), None))
        for method, solver in METHODS.items():
            found = retarget(walk, small, options=Options(plants="fixed"), solver=solver)
            off = worst(found, "place", "same_place")
            rows.append((name, method, found.result, off, spectrum(found.motion, walk), found.seconds))
    head = ("clip", "method", "result", "plants off (mm)", ENERGY, "seconds")
    return findings("Figures 2 and 3 on captures: walks at 60% in the original's footsteps", head, rows)


def slide(data: Path, name: str) -> float:
    """Metres that the worst planted point slides where a walk is copied to a figure 60% as large."""
    walk = capture(data, name)
    pose, far = fk(naive(walk, walk.skeleton.scaled(SMALL))), 0.0
    for contact in detect_contacts(walk, contact_points(walk)):
        point = replace(contact.point, offset=SMALL * contact.point.offset)
        path = pose.points([point])[contact.frames(walk.fps, walk.num_frames), 0]
        far = max(far, float(np.linalg.norm((path - path[0])[:, [0, 2]], axis=-1).max()))
    return far


def captured_ladder(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Figure 4 and section 7.2: the ladder of 13_33 at 85%, on the original's holds and with holds that slide."""
    given = climb(data)
    target = given.motion.skeleton.scaled(CAPTURED_CLIMBER)
    floor = [c for c in given.contacts if c.on == "floor"]
    found: dict[tuple[str, str], Solution] = {}
    for method, solver in METHODS.items():
        tell(f"the ladder by {method}")
        found["holds fixed", method] = retarget(given.motion, target, contacts=given.contacts, solver=solver)
    tell("the ladder with holds that slide")
    found["holds slide", "ours"] = retarget(given.motion, target, contacts=floor, constraints=given.sliding())
    rows = [
        (*key, each.result, worst(each, "place", "same_place"), changed(each.motion, given.motion),
         spectrum(each.motion, given.motion), each.seconds)
        for key, each in found.items()
    ]  # fmt: skip
    head = ("holds", "method", "result", "holds off (mm)", "changed by (deg)", ENERGY, "seconds")
    return findings("Figure 4 and section 7.2 on captures: the ladder of 13_33 at 85%", head, rows)


def dance(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Figures 9 and 10: the salsa of 60_10 and 61_10, with a follower 80% as large or one who shrinks to 75%."""
    given = salsa(data)
    plans = {
        "no holds": given.laid_out(0.8, both=False, held=False),
        "only the follower adapted": given.laid_out(0.8, both=False),
        "both adapted": given.laid_out(0.8, both=True),
        "she shrinks, both adapted": given.laid_out(0.75, both=True, share=given.shrinking),
    }
    rows: list[tuple[Cell, ...]] = []
    for name, laid_out in plans.items():
        tell(f"the dance: {name}")
        found = laid_out.solve()
        lead, follow = found.motions
        rows.append((
            name, "ours", found.result, 1e3 * given.broken(found), worst(found, "same_place"),
            changed(lead, given.lead), changed(follow, given.follow), spectrum(follow, given.follow), found.seconds,
        ))  # fmt: skip
    head = ("case", "method", "result", "out of holds (mm)", "plants off (mm)", "leader changed (deg)",
            "follower changed (deg)", f"her {ENERGY}", "seconds")  # fmt: skip
    return findings("Figures 9 and 10 on captures: the salsa of 60_10 and 61_10", head, rows)


def boxes(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Section 1.1 and figure 1: the boxes of 69_70 and 115_06, by figures of 80% and 120%."""
    rows: list[tuple[Cell, ...]] = []
    for name in BOXES:
        given = box(data, name)
        for size in (0.8, 1.2):
            tell(f"the box of {name} at {size:g}")
            target = given.motion.skeleton.scaled(size)
            without = retarget(given.motion, target)
            found = retarget(given.motion, target, constraints=given.constraints)
            before, after = given.measure(without.motion)[0], given.measure(found.motion)
            rows.append((
                name, f"{100 * size:.0f}%", "ours", found.result, 1e3 * before, 1e3 * after[0], 1e3 * after[1],
                spectrum(found.motion, given.motion), found.seconds,
            ))  # fmt: skip
    head = ("clip", "size", "method", "result", "hands off without (mm)", "hands off (mm)", "width off (mm)", ENERGY,
            "seconds")  # fmt: skip
    return findings("Figure 1 on captures: boxes picked up and carried", head, rows)


def solvers(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Sections 6 and 7.2: the solvers on four seconds of the ladder of 13_33 at 90%."""
    return run_solvers(
        climb(data).problem(), LADDER, "Sections 6 and 7.2 on captures: the solvers on the ladder of 13_33 at 90%", tell
    )


CAPTURES = (
    Capture(name="walks", about="walks in the original's footsteps", files=tuple(map(cmu, WALKS)), run=walks),
    Capture(name="ladder_captured", about="a captured ladder", files=(cmu("13_33"),), run=captured_ladder),
    Capture(name="dance_captured", about="a captured dance", files=(cmu("60_10"), cmu("61_10")), run=dance),
    Capture(name="boxes", about="boxes picked up", files=tuple(map(cmu, BOXES)), run=boxes),
    Capture(name="solvers_captured", about="the solvers on a captured ladder", files=(cmu("13_33"),), run=solvers),
)
"""The experiments on captured motion."""
