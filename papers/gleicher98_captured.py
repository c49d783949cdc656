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
"""By clip: the seconds at which the hands are at the box, and the start and end of carrying it."""

UPPER = ("Spine", "LowerBack", "Neck", "Head", "Shoulder", "Arm", "Hand", "Finger", "Thumb")
"""Parts of the names of joints of the upper body."""

MAX_HOLD_METRES, MIN_HOLD_FRAMES = 0.4, 60
"""Wrists that are nearer for longer form a hold."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Climb:
    """A climb up a ladder."""

    motion: Motion
    contacts: tuple[Contact, ...]
    """Hands and balls of the feet on the ladder, and feet on the floor."""

    def sliding(self) -> list[Constraint]:
        """Hands may be anywhere along the rail and feet anywhere along the rung, but do not move while they hold."""
        constraints: list[Constraint] = []
        for contact in (c for c in self.contacts if c.on == "ladder"):
            assert contact.place is not None
            along = np.array([0.0, 0.3, 0.0]) if "Hand" in contact.point.name else np.array([0.3, 0.0, 0.0])
            ref, start, end = PointRef(point=contact.point.name), contact.start, contact.end
            first, last = contact.place - along, contact.place + along
            constraints += [
                OnLine(point=ref, first=first, last=last, start=start, end=end),
                SamePlace(point=ref, start=start, end=end),
            ]
        return constraints

    def problem(self, size: float = 0.9) -> Problem:
        """Four seconds at 30 fps by a figure of another size, to compare solvers on."""
        slow = self.motion[:480:4]
        held = [replace(c, end=min(c.end, slow.duration)) for c in self.contacts if c.start < slow.duration - 0.1]
        return plan([Assignment(motion=slow, target=slow.skeleton.scaled(size))], contacts=held).problem()


@lru_cache(maxsize=2)
def climb(data: Path) -> Climb:
    """The climb of 13_33; contacts on the ladder keep their places.

    On a rung only the ball of the foot is a contact: a contact of the heel would require a foot of the same length.
    """
    motion = capture(data, "13_33")[: 7 * 120]
    contacts = []
    for contact in detect_contacts(motion):
        above = contact.on == "hold" or (contact.place is not None and contact.place[1] > 0.2)
        if not (above and "heel" in contact.point.name):
            contacts.append(replace(contact, on="ladder") if above else contact)
    return Climb(motion=motion, contacts=tuple(contacts))


@dataclass(frozen=True, eq=False, kw_only=True)
class Salsa:
    """Two dancers and their holds."""

    lead: Motion
    follow: Motion
    holds: tuple[Distance, ...]

    def laid_out(self, size: float, *, both: bool, held: bool = True, share: Array | None = None) -> Plan:
        """The dance with a follower of another size; her partner's upper body adapts too, or he keeps his motion.

        Args:
            size: The follower's new size relative to her own.
            both: Whether the leader adapts.
            held: Whether the holds are kept.
            share: (F,) share of the new size at each frame; 1 if not given.
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

    def broken(self, solution: Solution) -> float:
        """The largest violation of a hold by the wrists, metres."""
        poses = {"lead": fk(solution.motions[0]), "follow": fk(solution.motions[1])}
        worst_gap = 0.0
        for hold in self.holds:
            held = hold.frames(solution.motions[0].times)
            places = [poses[s.actor].points([s.point])[held, 0] for s in (hold.first, hold.second)]
            gap = np.linalg.norm(places[0] - places[1], axis=-1) - hold.length
            worst_gap = max(worst_gap, float((gap if hold.bound == "at_most" else -gap).max()))
        return worst_gap

    @property
    def shrinking(self) -> Array:
        """(F,) a share that grows smoothly from 0 to 1 between 2.5 and 4 s."""
        share = np.clip((self.follow.times - 2.5) / 1.5, 0.0, 1.0)
        return np.asarray(share * share * (3.0 - 2.0 * share))


@lru_cache(maxsize=2)
def salsa(data: Path) -> Salsa:
    """The dancers of 60_10 and 61_10 from 3.5 s on; wrists that stay near each other for half a second form a hold.

    The conversion lost the hands' bones, so the wrists of joined hands are 20 to 40 cm apart. During a hold their
    distance stays within its range in the capture.
    """
    lead, follow = (capture(data, name)[420:] for name in ("60_10", "61_10"))
    first, second = fk(lead), fk(follow)
    holds = []
    for hand in HANDS:
        for other in HANDS:
            gap = np.linalg.norm(first.points([hand]) - second.points([other]), axis=-1)[:, 0]
            for start, end in runs(gap < MAX_HOLD_METRES, MIN_HOLD_FRAMES):
                inside = gap[start : end + 1]
                for bound, length in (("at_most", inside.max()), ("at_least", inside.min())):
                    holds.append(
                        Distance(
                            first=PointRef(point=hand, actor="lead"), second=PointRef(point=other, actor="follow"),
                            length=float(length), bound=bound, start=start / lead.fps, end=end / lead.fps,
                            name=f"{hand} and {other} {bound} from {start / lead.fps:.2f} s",
                        )
                    )  # fmt: skip
    return Salsa(lead=lead, follow=follow, holds=tuple(holds))


def runs(mask: np.ndarray, shortest: int) -> list[tuple[int, int]]:
    """First and last frame of each run of True in a mask that has the shortest length or more."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= shortest]


@dataclass(frozen=True, eq=False, kw_only=True)
class Box:
    """A motion that picks up a box and carries it."""

    motion: Motion
    frame: int
    """The frame at which both hands are at the box."""
    gap: Array
    """(n,) distance of the wrists while they carry it, metres."""
    constraints: tuple[Constraint, ...]
    """The hands' positions at the grasp, and their distance while they carry it."""

    def measure(self, motion: Motion) -> tuple[float, float]:
        """Largest distance of a hand from the box at the grasp, and largest width error while carried; metres."""
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
    refs = [PointRef(point=hand) for hand in HANDS]
    constraints: list[Constraint] = [
        Place(point=ref, target=places[frame, i], instants=(grasp,), name=f"{HANDS[i]} at the box")
        for i, ref in enumerate(refs)
    ]
    width = float(np.median(gap))
    constraints.append(Distance(first=refs[0], second=refs[1], length=width, start=start, end=end, name="carried"))
    return Box(motion=motion, frame=frame, gap=gap, constraints=tuple(constraints))


CAPTURED_CLIMBER = 0.85

METHODS: dict[str, Solver | None] = {"inverse kinematics": Ik(), "low-pass filtered": IkLowpass(), "ours": None}

ENERGY = "energy above 4/8/12 Hz"


def findings(title: str, head: tuple[str, ...], rows: Iterable[tuple[Cell, ...]]) -> Findings:
    """A table; rows of our method with unmet constraints count as worse than the paper."""
    cells = tuple(rows)
    failed = tuple(
        f"{row[0]}: {cell}"
        for row in cells
        for cell in row
        if "ours" in row and isinstance(cell, str) and UNMET in cell
    )
    return Findings(tables=(Table(title=title, head=head, rows=cells),), worse=failed)


def walks(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Figures 2 and 3: walks at 60% in the original's footsteps, copied and by each method."""
    rows: list[tuple[Cell, ...]] = []
    for name in WALKS:
        tell(f"the walk {name}")
        walk = capture(data, name)
        small = walk.skeleton.scaled(SMALL)
        rows.append((name, "copied", "-", 1e3 * slide(data, name), spectrum(naive(walk, small), walk), None))
        for method, solver in METHODS.items():
            solution = retarget(walk, small, options=Options(plants="fixed"), solver=solver)
            off = worst(solution, "place", "same_place")
            rows.append((name, method, solution.result, off, spectrum(solution.motion, walk), solution.seconds))
    head = ("clip", "method", "result", "plants off (mm)", ENERGY, "seconds")
    return findings("Figures 2 and 3 on captures: walks at 60% in the original's footsteps", head, rows)


def slide(data: Path, name: str) -> float:
    """Largest slide of a planted point if a walk is copied to a figure 60% as large, metres."""
    walk = capture(data, name)
    pose, far = fk(naive(walk, walk.skeleton.scaled(SMALL))), 0.0
    for contact in detect_contacts(walk, contact_points(walk)):
        point = replace(contact.point, offset=SMALL * contact.point.offset)
        path = pose.points([point])[contact.frames(walk.fps, walk.num_frames), 0]
        far = max(far, float(np.linalg.norm((path - path[0])[:, [0, 2]], axis=-1).max()))
    return far


def captured_ladder(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Figure 4 and section 7.2: the ladder of 13_33 at 85%, on the original's holds and with holds that slide."""
    climbing = climb(data)
    target = climbing.motion.skeleton.scaled(CAPTURED_CLIMBER)
    floor = [c for c in climbing.contacts if c.on == "floor"]
    solutions: dict[tuple[str, str], Solution] = {}
    for method, solver in METHODS.items():
        tell(f"the ladder by {method}")
        solutions["holds fixed", method] = retarget(climbing.motion, target, contacts=climbing.contacts, solver=solver)
    tell("the ladder with holds that slide")
    solutions["holds slide", "ours"] = retarget(climbing.motion, target, contacts=floor, constraints=climbing.sliding())
    rows = [
        (*key, solution.result, worst(solution, "place", "same_place"), changed(solution.motion, climbing.motion),
         spectrum(solution.motion, climbing.motion), solution.seconds)
        for key, solution in solutions.items()
    ]  # fmt: skip
    head = ("holds", "method", "result", "holds off (mm)", "changed by (deg)", ENERGY, "seconds")
    return findings("Figure 4 and section 7.2 on captures: the ladder of 13_33 at 85%", head, rows)


def dance(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Figures 9 and 10: the salsa of 60_10 and 61_10, with a follower 80% as large or one who shrinks to 75%."""
    dancers = salsa(data)
    plans = {
        "no holds": dancers.laid_out(0.8, both=False, held=False),
        "only the follower adapted": dancers.laid_out(0.8, both=False),
        "both adapted": dancers.laid_out(0.8, both=True),
        "she shrinks, both adapted": dancers.laid_out(0.75, both=True, share=dancers.shrinking),
    }
    rows: list[tuple[Cell, ...]] = []
    for name, laid_out in plans.items():
        tell(f"the dance: {name}")
        solution = laid_out.solve()
        lead, follow = solution.motions
        rows.append((
            name, "ours", solution.result, 1e3 * dancers.broken(solution), worst(solution, "same_place"),
            changed(lead, dancers.lead), changed(follow, dancers.follow), spectrum(follow, dancers.follow),
            solution.seconds,
        ))  # fmt: skip
    head = ("case", "method", "result", "out of holds (mm)", "plants off (mm)", "leader changed (deg)",
            "follower changed (deg)", f"her {ENERGY}", "seconds")  # fmt: skip
    return findings("Figures 9 and 10 on captures: the salsa of 60_10 and 61_10", head, rows)


def boxes(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Section 1.1 and figure 1: the boxes of 69_70 and 115_06, by figures of 80% and 120%."""
    rows: list[tuple[Cell, ...]] = []
    for name in BOXES:
        carrying = box(data, name)
        for size in (0.8, 1.2):
            tell(f"the box of {name} at {size:g}")
            target = carrying.motion.skeleton.scaled(size)
            without = retarget(carrying.motion, target)
            solution = retarget(carrying.motion, target, constraints=carrying.constraints)
            before, after = carrying.measure(without.motion)[0], carrying.measure(solution.motion)
            rows.append((
                name, f"{100 * size:.0f}%", "ours", solution.result, 1e3 * before, 1e3 * after[0], 1e3 * after[1],
                spectrum(solution.motion, carrying.motion), solution.seconds,
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
