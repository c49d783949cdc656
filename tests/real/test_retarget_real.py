"""Every captured clip on bodies of other size and proportion, steps placed by the solver, with everything by itself.

Measured at every frame of the original rate: plants within 1 mm, floor within 2 mm, joint limits within 0.1 degree, and
no constraint left unmet; no joint or end of the body more than 2 mm deeper in the floor than the capture's own, by the
metric, which knows nothing of the constraints; energy of the rotations above 4, 8 and 12 Hz and their RMS jerk within
5% of the capture's. No clip is excepted.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from understudy import read
from understudy.correspondence.pairs import ContactContext
from understudy.figure.bands import energy_above, rotation_curves
from understudy.figure.contacts import Floor, contact_points, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.metrics.base import evaluate
from understudy.retarget.driver import retarget
from understudy.retarget.plan import Options
from understudy.solve.solvers.base import Solution
from understudy.solve.solvers.ik import Ik

CLIPS = (
    "02_01", "02_03", "02_04", "09_01", "11_01", "13_11", "13_29", "13_33", "13_39", "16_15", "18_01", "18_05", "19_01",
    "19_05", "49_06", "55_04", "60_10", "61_10", "69_70", "88_01", "93_04", "111_17", "115_06", "120_08", "127_23",
    "131_03", "133_01", "138_01", "140_01",
)  # fmt: skip
CHANGES = {"60%": 0.6, "80%": 0.8, "120%": 1.2, "140%": 1.4, "legs 80%": 0.8, "legs 130%": 1.3}
BANDS = (4.0, 8.0, 12.0)
LEGS = ("Leg", "Foot", "Toe")

PLANT, FLOOR, LIMIT = 1e-3, 2e-3, np.radians(0.1)
SAME = 0.05
"""How far energy and jerk may be from the capture's."""


@cache
def load(folder: Path, name: str) -> Motion:
    """A clip without the T-pose that the conversion put before it."""
    return read(folder / "cmu_bvh" / f"{name}.bvh").motion[1:]


def body(skeleton: Skeleton, change: str) -> Skeleton:
    """A body of another size, or with other legs."""
    whole = not change.startswith("legs")
    factors = [CHANGES[change] if whole or any(part in name for part in LEGS) else 1.0 for name in skeleton.names]
    return skeleton.scaled(np.array(factors))


def jerk(motion: Motion) -> float:
    """RMS third difference of the rotations."""
    return float(np.sqrt((np.diff(rotation_curves(motion), n=3, axis=0) ** 2).mean()))


def worst(found: Solution, kind: str) -> float:
    """The largest violation of a kind of constraint at any frame."""
    return max((o.worst for o in found.outcomes if o.constraint.kind == kind), default=0.0)


@pytest.mark.parametrize("clip", CLIPS)
def test_clip_on_other_bodies(data, clip, record_property):
    """All six bodies: the figures of the module's first lines."""
    motion = load(data, clip)
    energy, smooth = energy_above(motion, BANDS), jerk(motion)
    wrong = []
    for change in CHANGES:
        found = retarget(motion, body(motion.skeleton, change))
        record_property(f"seconds {change}", round(found.seconds, 3))
        assert np.all(np.isfinite(found.motion.rotations))
        figures = {
            "plants": worst(found, "same_place") / PLANT,
            "floor": worst(found, "region") / FLOOR,
            "depth": (evaluate(found.motion, motion, only=("floor",))["floor"]["added_depth"] or 0.0) / FLOOR,
            "limits": worst(found, "joint_range") / LIMIT,
            "energy": float(np.abs(energy_above(found.motion, BANDS) / energy - 1.0).max()) / SAME,
            "jerk": abs(jerk(found.motion) / smooth - 1.0) / SAME,
        }
        wrong += [f"{change}: {name} {figure:.2f} of what is allowed" for name, figure in figures.items() if figure > 1]
        wrong += [f"{change}: {o.constraint.label} off by {o.worst:.4f}" for o in found.unmet]
    assert not wrong, wrong


@pytest.mark.parametrize("clip", ["02_01", "13_29", "120_08"])
def test_plants_measured_in_the_world(data, clip):
    """The same figure without the solver's own account: planted points of the result, by forward kinematics.

    Each stays within 1 mm of its own mean place along the floor, and within 1 mm of one height.
    """
    motion = load(data, clip)
    target = body(motion.skeleton, "legs 130%")
    found = retarget(motion, target)
    assert not found.unmet
    pose = fk(found.motion)
    stage = ContactContext(source=motion, target=target, floor=Floor(slope=np.zeros(2)))
    contacts = detect_contacts(motion, contact_points(motion))
    assert len(contacts) >= 8
    for contact in contacts:
        path = pose.points([stage.point(contact.point)])[contact.frames(motion.fps, motion.num_frames), 0]
        assert np.abs(path - path.mean(axis=0)).max() < PLANT


@pytest.mark.parametrize("clip", ["02_01", "02_03", "09_01", "11_01", "16_15", "55_04", "120_08", "127_23"])
def test_inverse_kinematics_exceeds_the_capture_where_plants_move(data, clip):
    """In the original's footsteps at 60%, where plants ask for large changes, `ik` adds energy above 8 or 12 Hz that
    ours does not: more than 5% of the capture's, and at least three times what ours adds there.

    These are the clips that travel over 3 m. Two more do, 131_03 (hops) and 138_01 (marching), but their captures have
    ten times the energy above 8 Hz of any of these, 0.11 and 0.14 rad^2, in which what `ik` adds is lost.
    """
    motion = load(data, clip)
    target, options = motion.skeleton.scaled(0.6), Options(plants="fixed")
    energy = energy_above(motion, BANDS)
    assert np.linalg.norm(np.ptp(motion.root[:, [0, 2]], axis=0)) > 3.0
    assert energy[1] < 0.05
    ours, ik = (
        energy_above(retarget(motion, target, options=options, solver=solver).motion, BANDS) / energy - 1.0
        for solver in (None, Ik())
    )
    band = 1 if ik[1] > SAME else 2
    assert ik[band] > SAME
    assert ik[band] > 3.0 * abs(ours[band])
