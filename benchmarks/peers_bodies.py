"""A captured walk on legs of 1.3 times the length, by ways that need no other package than this one."""

from __future__ import annotations

from collections.abc import Callable

from peers_measures import COLUMNS, EXPLAINED, Figures, Yardstick, row, shaken
from retarget_cases import CAPTURES, Case, Table, best, captures, case, clock, made

from understudy.correspondence.pairs import start_motion
from understudy.figure.bands import choose_spacing
from understudy.figure.contacts import contact_points, detect_contacts, find_floor
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.retarget.driver import naive
from understudy.solve.solvers.base import Solver
from understudy.solve.solvers.ik import Ik
from understudy.solve.solvers.ik_lowpass import IkLowpass
from understudy.solve.solvers.spacetime import Spacetime

BODY = "legs x 1.3"
OURS = "spacetime (ours)"
LESS_SKATE = 10.0
"""How many times as much as ours those that keep no contacts must skate: otherwise the comparison shows nothing."""


def walk() -> Case:
    """The captured walk where it is at hand, else the sample."""
    real = captures()
    return case(CAPTURES[0], real[CAPTURES[0]], BODY) if real else case("sample walk", made("walk"), BODY)


def scaled_copy(one: Case) -> Motion:
    """The source's angles with its path scaled by the legs, as engines' own retargeting does it."""
    contacts = detect_contacts(one.motion, contact_points(one.motion))
    return start_motion(one.motion, one.target, find_floor(contacts, leg_length(one.motion.skeleton)))


def ways(one: Case) -> dict[str, Callable[[], Motion]]:
    """Every way from a source's motion to the target's, all that it takes included."""

    def solved(make: Callable[[], Solver]) -> Callable[[], Motion]:
        return lambda: one.plan().solve(make()).motion

    return {
        OURS: solved(lambda: Spacetime(spacing=choose_spacing(one.motion))),
        "ik": solved(Ik),
        "ik_lowpass": solved(IkLowpass),
        "joint copy": lambda: naive(one.motion, one.target),
        "joint copy, path scaled": lambda: scaled_copy(one),
    }


def compare(one: Case) -> Table:
    """Every way on one case, by the same measures."""
    yardstick, rows = Yardstick.of(one.plan()), []
    found: dict[str, Figures] = {}
    for name, way in ways(one).items():
        found[name] = yardstick.measure(way())
        seconds = best(lambda way=way: (clock(way),))[0]  # type: ignore[misc]
        rows.append(row(name, one.motion.num_frames / seconds, found[name]))
    return Table(
        title=f"Same clip, same target: {one.name}, {one.motion.num_frames} frames at {one.motion.fps:g} Hz",
        columns=("way", "frames/s", *COLUMNS),
        rows=tuple(rows),
        notes=(
            *EXPLAINED,
            yardstick.own,
            "frames/s: contacts, floor, limits and start included where a way needs them. ik: each frame by itself;",
            "ik_lowpass: its changes filtered afterwards. joint copy: angles and path as they are.",
        ),
        missed=tuple(missed(found)),
    )


def missed(found: dict[str, Figures]) -> list[str]:
    """What of the figures is not as it should be beside one another."""
    ours, said = found[OURS], []
    for name in ("joint copy", "joint copy, path scaled"):
        if name in found and found[name].skate < LESS_SKATE * ours.skate:
            said.append(f"{name} skates {found[name].skate:.2g} cm/s, ours {ours.skate:.2g}: not {LESS_SKATE:g} times")
    low = found.get("ik_lowpass")
    if low is not None and low.skate <= ours.skate:
        said.append(f"ik_lowpass skates no more than ours: {low.skate:.2g} and {ours.skate:.2g} cm/s")
    return said + shaken(ours, found["ik"])


def tables() -> list[Table]:
    return [compare(walk())]
