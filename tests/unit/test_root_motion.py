"""Root motion, motions in place and loops: the split is exact, paths come back, and loops close."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from understudy import samples
from understudy.app.cli import cli
from understudy.base.errors import FileError, MotionError, OptionError
from understudy.base.quaternion import angle_between, exp, multiply
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skin import skinned
from understudy.io import Clip, read, write
from understudy.io.gltf.writer import bone_mesh
from understudy.retarget.loop_closing import Stride, find_stride, seam_jump, smooth_seam
from understudy.retarget.root_motion import (
    along_path,
    find_path,
    has_floor_root,
    in_place,
    make_loop,
    read_path,
    rename_joints,
    treadmill_path,
    with_root_motion,
    write_path,
)


def walk() -> Motion:
    return samples.motion("walk").motion


def test_a_root_is_made_and_nothing_moves_in_the_world() -> None:
    motion = walk()
    clip = Clip(skeleton=motion.skeleton, motion=motion, meshes=(bone_mesh(motion.skeleton),))
    result, path, notes = with_root_motion(clip)
    assert notes == ["a root `root` on the floor was made: the rig had none"]
    assert result.motion is not None
    pose, before = fk(result.motion), fk(motion)
    assert np.abs(pose.positions[:, 1:] - before.positions).max() < 1e-9
    assert angle_between(pose.rotations[:, 1:], before.rotations).max() < 1e-6
    assert np.abs(pose.positions[:, 0] - path.positions).max() < 1e-12
    assert np.abs(pose.positions[:, 0, 1]).max() == 0.0
    # The skin follows the same joints.
    assert np.abs(skinned(result.meshes[0], result.motion) - skinned(clip.meshes[0], motion)).max() < 1e-9
    # The root stays below the hips and turns as they face, without their sway.
    assert np.linalg.norm(pose.positions[:, 0, [0, 2]] - pose.positions[:, 1, [0, 2]], axis=1).max() < 0.06
    steps = np.linalg.norm(np.diff(path.places, n=2, axis=0), axis=1)
    assert steps.max() < np.linalg.norm(np.diff(motion.root[:, [0, 2]], n=2, axis=0), axis=1).max()


def test_a_root_that_is_on_the_floor_is_used() -> None:
    clip, _, _ = with_root_motion(Clip.of(walk()), "floor")
    assert has_floor_root(clip.skeleton)
    assert clip.motion is not None
    shifted = replace(clip.motion, root=clip.motion.root + np.array([0.3, 0.0, 0.2]))
    again, path, notes = with_root_motion(replace(clip, motion=shifted))
    assert notes == []
    assert again.motion is not None
    assert again.skeleton is clip.skeleton
    assert np.abs(fk(again.motion).positions[:, 1:] - fk(shifted).positions[:, 1:]).max() < 1e-9
    assert np.abs(again.motion.root - path.positions).max() < 1e-9


def test_a_motion_in_place_gets_its_path_back(tmp_path: Path) -> None:
    motion = samples.motion("dance").motion
    still, path = in_place(motion)
    assert np.ptp(still.root[:, [0, 2]], axis=0).max() < 0.5 * np.ptp(motion.root[:, [0, 2]], axis=0).max() + 0.1
    assert np.abs(fk(along_path(still, path)).positions - fk(motion).positions).max() < 1e-9
    write_path(path, tmp_path / "dance.path.csv")
    back = along_path(still, read_path(tmp_path / "dance.path.csv"))
    assert np.abs(fk(back).positions - fk(motion).positions).max() < 1e-6
    with pytest.raises(OptionError, match=r"The path ends at .* before the motion does"):
        along_path(still, path.taken(np.arange(10)))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected the line `time_s"),
        ("time_s,x_m,z_m,heading_deg\n0,0,0\n", ":2: expected four numbers"),
        ("time_s,x_m,z_m,heading_deg\n0,0,0,x\n", ":2: expected four numbers"),
        ("time_s,x_m,z_m,heading_deg\n0,0,0,0\n", "expected two lines or more"),
    ],
)
def test_a_wrong_path_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(FileError, match=problem):
        read_path(tmp_path / "p.csv")


def test_a_walk_is_cut_to_a_loop_that_closes() -> None:
    motion = walk()
    loop, notes = make_loop(motion)
    assert loop.num_frames < motion.num_frames
    assert "repeat best" in notes[0]
    relative, path = in_place(loop, find_path(loop))
    first, last = fk(relative[[0, -1]]).positions
    assert np.abs(first - last).max() < 1e-6
    # The path goes on as it began: its speed changes at the seam no more than inside, where the sway is taken out.
    steps = np.diff(path.places, axis=0)
    inner = np.linalg.norm(np.diff(steps, axis=0), axis=1).max()
    assert np.linalg.norm(steps[0] - steps[-1]) <= 1.1 * inner
    assert len(notes) == 3, notes
    assert notes[2] == "planted feet slide by up to 0.0 mm in the loop"


def test_footplants_of_a_rig_with_a_root_on_the_floor_are_held_in_a_loop() -> None:
    clip, _, _ = with_root_motion(Clip.of(walk()))
    motion = clip.motion
    assert motion is not None
    # A leg that turns aside little by little, so that the ends of the loop differ.
    thigh, rotations = motion.skeleton.joint("LeftUpLeg"), motion.rotations.copy()
    drift = np.linspace(0.0, 0.15, motion.num_frames)[:, None] * np.array([1.0, 0.0, 0.0])
    rotations[:, thigh] = multiply(rotations[:, thigh], exp(drift))
    loop, notes = make_loop(replace(motion, rotations=rotations))
    assert any("footplants are solved for again" in note for note in notes), notes
    assert np.abs(loop.root[:, 1]).max() < 1e-9
    stride = find_stride(loop)
    assert stride is not None
    seam, inner = seam_jump(loop, stride)
    assert seam <= inner


def test_a_loop_that_repeats_already_is_kept() -> None:
    still, _ = in_place(walk())
    loop, _ = make_loop(walk())
    closed, _ = in_place(loop)
    round_trip = closed[np.append(np.arange(closed.num_frames - 1), 0)]
    again, notes = make_loop(round_trip)
    assert notes[0].startswith("the motion repeats already")
    assert np.allclose(again.rotations[0], again.rotations[-1])
    with pytest.raises(MotionError, match="A loop needs"):
        make_loop(still[:5])


def test_prefixes_of_joint_names_are_added_and_removed() -> None:
    clip = Clip.of(walk())
    named = rename_joints(clip, add="mixamorig:")
    assert all(name.startswith("mixamorig:") for name in named.skeleton.names)
    assert rename_joints(named, remove="mixamorig:").skeleton.names == clip.skeleton.names


def test_the_commands_write_root_motion_and_paths(tmp_path: Path) -> None:
    pytest.importorskip("ufbx")
    write(walk()[:40], tmp_path / "walk.bvh")
    runner = CliRunner()
    done = runner.invoke(
        cli, ["convert", str(tmp_path / "walk.bvh"), str(tmp_path / "ue.fbx"), "--preset", "unreal5", "--bake"]
    )
    assert done.exit_code == 0, done.output
    clip = read(tmp_path / "ue.fbx")
    assert (clip.skeleton.names[0], clip.up, clip.unit_reason) == ("root", "Z", "cm: the file says so")
    done = runner.invoke(cli, ["convert", str(tmp_path / "walk.bvh"), str(tmp_path / "still.bvh"), "--in-place"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "still.path.csv").is_file()
    back = [
        "convert",
        str(tmp_path / "still.bvh"),
        str(tmp_path / "back.bvh"),
        "--path",
        str(tmp_path / "still.path.csv"),
    ]
    assert runner.invoke(cli, back).exit_code == 0
    first, second = read(tmp_path / "walk.bvh").motion, read(tmp_path / "back.bvh").motion
    assert first is not None
    assert second is not None
    assert np.abs(fk(first).positions - fk(second).positions).max() < 1e-5
    # In place, an engine that wants a root still gets one, which stays where it is.
    still = ["convert", str(tmp_path / "walk.bvh"), str(tmp_path / "s.fbx"), "--preset", "unreal5", "--in-place"]
    assert runner.invoke(cli, still).exit_code == 0
    clip = read(tmp_path / "s.fbx")
    assert clip.skeleton.names[0] == "root"
    assert clip.motion is not None
    assert np.abs(clip.motion.root).max() < 1e-5
    wrong = runner.invoke(cli, ["convert", str(tmp_path / "walk.bvh"), str(tmp_path / "x.bvh"), "--preset", "unity"])
    assert wrong.exit_code == 2
    assert "Unity, humanoid imports .fbx" in wrong.output


def on_treadmill(motion: Motion, speed: float) -> Motion:
    """A straight walk as it looks on a treadmill of a speed, in metres a second."""
    return motion.derived(root=motion.root - motion.times[:, None] * speed * np.array([0.0, 0.0, 1.0]))


def test_a_motion_in_place_travels_at_the_speed_of_its_treadmill(tmp_path: Path) -> None:
    motion = walk()
    speed = float((motion.root[-1, 2] - motion.root[0, 2]) / motion.duration)
    still = on_treadmill(motion, speed)
    for given in (speed, None):
        back = along_path(still, treadmill_path(still, given))
        # The feet stand still again: they did, to within a millimetre a second of the true speed.
        assert np.abs(back.root[-1] - motion.root[-1]).max() < 0.02 * speed * motion.duration
    assert np.abs(along_path(still, treadmill_path(still, speed)).root - motion.root).max() < 0.01
    with pytest.raises(OptionError, match="no steady floor") as caught:
        treadmill_path(motion[:5])
    assert "--speed" in caught.value.hint
    write(still, tmp_path / "still.bvh")
    runner = CliRunner()
    command = ["convert", str(tmp_path / "still.bvh"), str(tmp_path / "out.bvh"), "--speed"]
    done = runner.invoke(cli, [*command, f"{speed:.4f}"])
    assert done.exit_code == 0, done.output
    assert f"travels at {speed:.2f} m/s" in done.output
    clip = read(tmp_path / "out.bvh")
    assert clip.motion is not None
    assert np.abs(clip.motion.root - motion.root).max() < 0.01
    wrong = runner.invoke(cli, [*command, "fast"])
    assert wrong.exit_code == 2
    assert "metres a second, or `auto`; got `fast`" in wrong.output
    both = runner.invoke(cli, [*command, "1.2", "--path", "x.csv"])
    assert both.exit_code == 2
    assert "choose one" in both.output


def uneven_walk() -> Motion:
    """A walk whose left knee stays bent a little more from round to round, so that no two steps are alike."""
    motion = walk()
    knee = motion.skeleton.joint("LeftLeg")
    bend = np.linspace(0.0, 0.25, motion.num_frames)[:, None] * np.array([1.0, 0.0, 0.0])
    rotations = motion.rotations.copy()
    rotations[:, knee] = multiply(rotations[:, knee], exp(bend))
    return replace(motion, rotations=rotations)


def test_planted_feet_of_a_loop_are_held_across_its_seam() -> None:
    loop, notes = make_loop(uneven_walk())
    sentence = next(note for note in notes if "footplants are solved for again" in note)
    after, before = (float(part.split()[-2]) for part in sentence.replace(" mm", " mm|").split("|")[:2])
    assert after < 0.5 * before, sentence
    first, last = fk(loop[[0, -1]]).positions
    apart = [np.linalg.norm(places[:, None] - places[None], axis=-1) for places in (first, last)]
    assert np.abs(apart[0] - apart[1]).max() < 1e-6


def test_a_seam_is_no_worse_than_the_frames_next_to_it() -> None:
    rest = walk().skeleton
    # An arm swings up and back again: it comes back as fast as it leaves.
    rotations = np.repeat(rest.rest[None], 31, axis=0)
    angles = np.sin(np.linspace(0.0, np.pi, 31))[:, None] * np.array([0.0, 0.8, 0.0])
    arm = rest.joint("LeftArm")
    rotations[:, arm] = multiply(rotations[:, arm], exp(angles))
    root = np.repeat(rest.offsets[:1], 31, axis=0)
    swing = Motion(skeleton=rest, fps=30.0, root=root, rotations=rotations)
    stride = Stride(turn=np.array([1.0, 0.0, 0.0, 0.0]), start=np.zeros(3), end=np.zeros(3))
    seam, inner = seam_jump(swing, stride)
    assert seam > 5.0 * inner
    smooth = smooth_seam(swing, stride)
    seam, inner = seam_jump(smooth, stride)
    assert seam <= inner
    assert np.allclose(smooth.rotations[[0, -1]], swing.rotations[[0, -1]])


def test_a_loop_that_stands_while_the_motion_travels_is_said() -> None:
    motion = walk()
    still = motion[np.zeros(60, np.intp)]
    waits = replace(motion, root=np.concatenate([still.root, motion.root]),
                    rotations=np.concatenate([still.rotations, motion.rotations]))  # fmt: skip
    _, notes = make_loop(waits)
    assert "--frames A:B chooses where to look" in notes[-1]
    assert not any("--frames" in note for note in make_loop(motion)[1])
