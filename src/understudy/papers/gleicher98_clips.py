"""Scenes of [Gleicher98] found in captures: a ladder's holds, dancers' hands, a box between two hands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from understudy.constraints.base import Constraint, Spot
from understudy.constraints.distance import Distance
from understudy.constraints.on_line import OnLine
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.contacts import Contact, contact_points, detect_contacts
from understudy.geometry.quaternion import Array
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.papers.captured import capture
from understudy.pipeline import Part, Plan, plan
from understudy.problem import Problem
from understudy.solvers.base import Solution

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
            spot, start, end = Spot(point=contact.point.name), contact.start, contact.end
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
        return plan([Part(motion=slow, target=slow.skeleton.scaled(size))], contacts=held).problem()


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
        leader = Part(
            motion=self.lead, target=self.lead.skeleton, name="lead", moves=both, joints=joints if both else None,
            root_moves=False,
        )  # fmt: skip
        small = self.follow.skeleton.scaled(size)
        follower = Part(motion=self.follow, target=small, name="follow", share=share)
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
                            first=Spot(point=mine, actor="lead"), second=Spot(point=other, actor="follow"),
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
    spots = [Spot(point=hand) for hand in HANDS]
    made: list[Constraint] = [
        Place(spot=spot, target=places[frame, i], instants=(grasp,), name=f"{HANDS[i]} at the box")
        for i, spot in enumerate(spots)
    ]
    width = float(np.median(gap))
    made.append(Distance(first=spots[0], second=spots[1], length=width, start=start, end=end, name="carried"))
    return Box(motion=motion, frame=frame, gap=gap, constraints=tuple(made))
