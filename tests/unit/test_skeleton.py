"""Skeletons refuse what does not fit and answer by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from understudy.base.errors import SkeletonError, UnknownNameError
from understudy.figure.skeleton import JointKind, Point, Skeleton


def arm(**changes: object) -> Skeleton:
    fields: dict[str, object] = {
        "names": ("Shoulder", "Elbow", "Wrist"),
        "parents": [-1, 0, 1],
        "offsets": [[0, 1, 0], [0.3, 0, 0], [0.25, 0, 0]],
        "ends": (Point(name="Fingertip", joint="Wrist", offset=np.array([0.2, 0, 0])),),
        "name": "arm",
    }
    return Skeleton(**(fields | changes))  # type: ignore[arg-type]


def test_defaults_are_a_free_root_and_balls_at_rest() -> None:
    skeleton = arm()
    assert skeleton.kinds == (JointKind.FREE, JointKind.BALL, JointKind.BALL)
    assert np.all(skeleton.rest == [1, 0, 0, 0])
    assert np.all(np.isinf(skeleton.limits))
    assert skeleton.children == ((1,), (2,), ())
    assert skeleton.chain(2) == [0, 1, 2]
    assert skeleton.below(1).tolist() == [False, True, True]
    assert [level.tolist() for level in skeleton.levels] == [[1], [2]]
    np.testing.assert_allclose(skeleton.rest_ends, [[0.75, 1, 0]])


def test_arrays_cannot_be_changed() -> None:
    offsets = np.zeros((3, 3))
    skeleton = arm(offsets=offsets)
    with pytest.raises(ValueError, match="read-only"):
        skeleton.offsets[0, 0] = 1.0
    offsets[0, 0] = 7.0
    assert skeleton.offsets[0, 0] == 0.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": (), "parents": [], "offsets": np.zeros((0, 3))}, r"at least one joint; got none"),
        ({"names": ("A", "B", "A")}, r"names must differ; `A` is used more than once"),
        ({"parents": [-1, 0]}, r"Expected 3 parents"),
        ({"parents": [0, 0, 1]}, r"first joint must be the root.*`Shoulder` has 0"),
        ({"parents": [-1, 2, 1]}, r"Joint 1 `Elbow` has parent 2, not before it"),
        ({"parents": [-1, -1, 1]}, r"Joint 1 `Elbow` is a second root"),
        ({"offsets": np.zeros((2, 3))}, r"Skeleton offsets: expected shape \(3, 3\), got \(2, 3\)"),
        ({"offsets": np.full((3, 3), np.nan)}, r"expected finite numbers, got nan at \[0, 0\]"),
        ({"rest": np.zeros((3, 4))}, r"unit quaternions"),
        ({"kinds": ("free", "ball")}, r"Expected 3 joint kinds"),
        ({"kinds": ("free", "hinge", "ball")}, r"Joint 1 is a hinge: its axes must be given"),
        ({"kinds": ("free", "free", "ball")}, r"`Elbow` is free, but only the root can be"),
        ({"axes": np.zeros((3, 3, 3))}, r"expected 3 unit axes, got lengths"),
        ({"limits": np.tile([1.0, -1.0], (3, 3, 1))}, r"limits of axis 0 run from 1 down to -1"),
        ({"limits": np.full((3, 3, 2), np.nan)}, r"`Shoulder` has a limit that is not a number"),
        ({"ends": (Point(name="x", joint="Toe"),)}, r"End point `x` is on joint `Toe`, which does not exist"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(SkeletonError, match=message):
        arm(**changes)


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Joint `elbo` is not in skeleton `arm`; nearest: `Elbow`"):
        arm().joint("elbo")
    with pytest.raises(UnknownNameError, match="Point `Fingertop` is neither a joint nor an end; nearest: `Fingertip`"):
        arm().point("Fingertop")
    with pytest.raises(UnknownNameError, match="there are 3, from `Shoulder`, `Elbow`, `Wrist`"):
        arm().joint("q")


def test_points_by_name() -> None:
    assert arm().point("Fingertip").joint == "Wrist"
    assert arm().point("Elbow").offset.tolist() == [0, 0, 0]


def test_scaling_changes_lengths_and_ends() -> None:
    skeleton = arm().scaled([1.0, 2.0, 0.5])
    np.testing.assert_allclose(skeleton.lengths, [0.0, 0.6, 0.125])
    np.testing.assert_allclose(skeleton.ends[0].offset, [0.1, 0, 0])
    with pytest.raises(SkeletonError, match="above zero"):
        arm().scaled(0.0)


def test_a_chain_of_ten_thousand_joints_is_no_trouble() -> None:
    count = 10_000
    skeleton = Skeleton(
        names=tuple(f"j{i}" for i in range(count)), parents=np.arange(-1, count - 1), offsets=np.ones((count, 3))
    )
    assert skeleton.depths[-1] == count - 1
    np.testing.assert_allclose(skeleton.rest_world[0][-1], [count] * 3)


def test_every_kind_of_joint_is_made(make_skeleton: Callable, rng: np.random.Generator) -> None:
    assert set(make_skeleton(rng).kinds) == set(JointKind)
