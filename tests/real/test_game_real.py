"""Ten captures as game engines use them: root motion, in place, and loops whose seams and footplants hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from understudy import fk, read
from understudy.base.quaternion import from_axis_angle, rotate
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.io import Clip
from understudy.retarget.root_motion import along_path, in_place, make_loop, read_path, with_root_motion, write_path

CLIPS = (
    "cmu_bvh/02_01.bvh", "cmu_bvh/02_03.bvh", "cmu_bvh/09_01.bvh", "cmu_bvh/13_39.bvh", "cmu_bvh/16_15.bvh",
    "cmu_bvh/49_06.bvh", "cmu_bvh/55_04.bvh", "cmu_bvh/88_01.bvh", "cmu_bvh/127_23.bvh", "animals/dog_walk_30fps.bvh",
)  # fmt: skip

MAX_FRAMES = 90


def motion_of(data: Path, name: str) -> Motion:
    motion = read(data / name).motion
    assert motion is not None
    return motion[1:].resampled(30.0)[:MAX_FRAMES]


@pytest.mark.parametrize("name", CLIPS)
def test_the_pelvis_stays_where_it_was(data: Path, tmp_path: Path, name: str) -> None:
    motion = motion_of(data, name)
    hips = roles(motion.skeleton).get("hips", 0)
    before = fk(motion).positions[:, hips]
    clip, _, _ = with_root_motion(Clip.of(motion))
    assert clip.motion is not None
    joint = clip.skeleton.joint(motion.skeleton.names[hips])
    assert np.abs(fk(clip.motion).positions[:, joint] - before).max() < 1e-5
    assert np.abs(clip.motion.root[:, 1]).max() == 0.0
    still, path = in_place(motion)
    write_path(path, tmp_path / "a.csv")
    back = along_path(still, read_path(tmp_path / "a.csv"))
    assert np.abs(fk(back).positions[:, hips] - before).max() < 1e-5


@pytest.mark.parametrize("name", CLIPS)
def test_the_seam_of_a_loop_is_no_worse_than_its_inner_frames(data: Path, name: str) -> None:
    loop, notes = make_loop(motion_of(data, name))
    period = loop.num_frames - 1
    seam = next(note for note in notes if note.startswith("at the seam"))
    numbers = [float(word) for word in seam.replace(",", "").split() if word.replace(".", "").isdigit()]
    assert numbers[0] <= numbers[1], seam
    # The last pose is the first one, turned and moved along the floor.
    first, last = fk(loop[[0, period]]).positions
    spread = [np.linalg.norm(places[:, None] - places[None], axis=-1) for places in (first, last)]
    assert np.abs(spread[0] - spread[1]).max() < 1e-5
    assert np.abs(first[:, 1] - last[:, 1]).max() < 1e-5
    # Played in place, round after round, it has no pop either.
    still, path = in_place(loop)
    rounds = fk(still[[*range(period), *range(period), 0]]).positions
    changes = np.linalg.norm(np.diff(rounds, n=2, axis=0), axis=-1).max(axis=1) * loop.fps
    assert changes[period - 1] <= 1.01 * np.delete(changes, period - 1).max()
    # The path goes on as it began, turned by what the body turns in a round.
    steps = np.diff(path.positions, axis=0)
    first = rotate(from_axis_angle(np.array([0.0, 1.0, 0.0]), path.headings[-1] - path.headings[0]), steps[0])
    assert np.linalg.norm(first - steps[-1]) <= 1.1 * np.linalg.norm(np.diff(steps, axis=0), axis=1).max()
