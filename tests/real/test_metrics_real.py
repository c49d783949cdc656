"""Metrics on captured motion: no capture is called bad against itself, and a retarget beats a copy of its angles."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.interpolate import LinearNDInterpolator

from understudy import read, samples
from understudy.app.cli import cli
from understudy.base.quaternion import unrotate
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.surface import surface
from understudy.metrics.base import Report, Verdict, evaluate
from understudy.retarget.actor import ActorSpec, Reading
from understudy.retarget.driver import naive, prepare, retarget
from understudy.retarget.quality import measure
from understudy.retarget.spec import Recipe
from understudy.solve.solvers.ik import Ik

CLIPS = ("02_01", "09_01", "13_11", "16_15", "49_06", "69_70", "120_08")


@cache
def load(folder: Path, name: str) -> Motion:
    """A clip without the T-pose that the conversion put before it, eight seconds at most."""
    motion = read(folder / "cmu_bvh" / f"{name}.bvh").motion
    assert motion is not None
    return motion[1:961]


@cache
def compared(folder: Path, name: str, size: float) -> tuple[Report, Report]:
    """A retarget to a body of another size and a copy of the angles, evaluated."""
    source = load(folder, name)
    target = source.skeleton.scaled(size)
    made = retarget(source, target)
    return evaluate(made.motion, source, outcomes=made.outcomes), evaluate(naive(source, target), source)


@pytest.mark.parametrize("clip", CLIPS)
def test_a_capture_against_itself(data: Path, clip: str) -> None:
    report = evaluate(load(data, clip), load(data, clip))
    assert report.usable
    assert report.verdict is Verdict.GOOD
    assert report["contact_timing"]["recall"] == report["contact_timing"]["precision"] == 1.0


@pytest.mark.parametrize("clip", CLIPS)
def test_a_capture_by_itself_is_not_called_bad(data: Path, clip: str) -> None:
    report = evaluate(load(data, clip))
    assert report.usable
    assert report.verdict is not Verdict.BAD, [m.words for m in report.measurements if m.verdict is Verdict.BAD]


@pytest.mark.parametrize("size", [0.7, 1.3])
@pytest.mark.parametrize("clip", CLIPS)
def test_ours_against_a_copy(data: Path, clip: str, size: float) -> None:
    ours, copied = compared(data, clip, size)
    assert ours.usable
    assert not copied.usable
    assert ours["goal"].verdict is Verdict.GOOD
    for figure in ("mean_speed", "mean_drift", "worst_drift", "sliding_share"):
        assert ours["foot_skate"][figure] < 0.1 * copied["foot_skate"][figure], figure
    off = [max(r["floor"]["mean_float"], r["floor"]["worst_depth"]) for r in (ours, copied)]
    assert off[0] < 0.2 * off[1]
    assert ours["contact_timing"]["kept_2cm"] == 1.0
    assert ours["contact_timing"]["recall"] > copied["contact_timing"]["recall"]
    assert ours["similarity"].verdict is Verdict.GOOD


def test_per_frame_solving_shows_its_faults(data: Path) -> None:
    """[Gleicher98, fig. 3]: what each frame is solved for alone is met, and shakes."""
    source = load(data, "02_01")
    legs = [any(part in name for part in ("Leg", "Foot", "Toe")) for name in source.skeleton.names]
    target = source.skeleton.scaled(np.where(legs, 0.8, 1.0))
    whole, single = (evaluate(retarget(source, target, solver=s).motion, source) for s in (None, Ik()))
    assert whole["smoothness"]["jerk_rms_ratio"] < 1.25 < 2.0 < single["smoothness"]["jerk_rms_ratio"]
    assert whole["smoothness"]["jerk_max_ratio"] < single["smoothness"]["jerk_max_ratio"]
    assert whole["smoothness"]["shake"] < 0.5 * single["smoothness"]["shake"]
    assert single["smoothness"].verdict is Verdict.BAD


def test_a_walk_on_another_structure(data: Path) -> None:
    source = load(data, "02_01")
    report = evaluate(retarget(source, samples.character("other")).motion, source)
    assert report.usable
    assert report["foot_skate"]["worst_drift"] < 2e-3
    assert report["similarity"].verdict is Verdict.GOOD


@pytest.mark.parametrize("clip", ["02_01", "13_11"])
def test_a_sound_result_on_another_structure_reads_good(data: Path, clip: str) -> None:
    """Feet stand where the solve with the same map has them stand: a lift or a sink of 10 mm reads 10 mm."""
    source = load(data, clip)
    made = retarget(source, read(data / "gltf" / "m2m_human_male.glb").skeleton).motion
    found = {
        lift: evaluate(replace(made, root=made.root + np.array([0.0, lift, 0.0])), source)
        for lift in (-0.01, 0.0, 0.01)
    }
    assert found[0.0]["floor"].verdict is found[0.0]["contact_timing"].verdict is Verdict.GOOD
    assert found[0.0]["floor"]["worst_float"] < 1e-3
    assert found[0.01]["floor"]["mean_float"] == pytest.approx(0.01, abs=1e-3)
    assert found[-0.01]["floor"]["added_depth"] == pytest.approx(0.01, abs=2e-3)


SOURCES = (
    "cmu_bvh/02_01.bvh",  # walk
    "cmu_bvh/88_01.bvh",  # backflip
    "cmu_bvh/127_23.bvh",  # dive and roll
    "cmu_bvh/133_01.bvh",  # crawl
    "cmu_bvh/140_01.bvh",  # gets up from lying face down
    "cmu_asfamc/02_01.amc",
    "humans/rokoko_jesse_dance.bvh",
    "humans/animdraw_fair1_zombie.bvh",
    "humans/milad_all_position_channels.bvh",
    "humans/pybvh_test1_mixed_orders.bvh",
    "animals/dog_walk_30fps.bvh",
    "gltf/CesiumMan.glb",
    "gltf/Fox.glb",
    "gltf/RobotExpressive.glb",
)
TARGETS = ("sample:child", "gltf/m2m_human_male.glb", "robots/unitree_g1.xml", "animals/m2m_fox-dog.glb")


@pytest.mark.parametrize("source", SOURCES)
def test_the_guard_calls_no_source_failed(data: Path, source: str) -> None:
    motion = read(data / source).motion
    assert motion is not None
    assert evaluate(motion[1:300], motion[1:300]).failures == ()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_the_guard_calls_no_retarget_failed(data: Path, source: str, target: str) -> None:
    name = target if target.startswith("sample:") else str(data / target)
    recipe = Recipe(actors=(ActorSpec(source=str(data / source), target=name),), reading=Reading(frames=":150"))
    prepared = prepare(recipe)
    assert measure(prepared, prepared.solve(prepared.spacing("auto")).solution, 0.1)["faults"] == []


@pytest.mark.parametrize("depth", [-0.02, 0.03, 0.06])
def test_a_hand_moved_into_the_chest(data: Path, depth: float) -> None:
    """From before the chest straight backwards, until a place of it is so far behind the skin that it passed."""
    clip = read(data / "gltf" / "m2m_human_male.glb")
    parts = {part.name: part for part in surface(clip.skeleton, clip.meshes).parts}
    skin = np.concatenate([mesh.vertices for mesh in clip.meshes])
    trunk, hand = (skin[parts[name].corners] for name in ("trunk", "left hand"))
    aim = clip.skeleton.rest_world[0][clip.skeleton.joint("spine_03")]
    hand = hand + (aim - np.median(hand, axis=0)) * [1.0, 1.0, 0.0]
    chest = LinearNDInterpolator(trunk[trunk[:, 2] > aim[2]][:, :2], trunk[trunk[:, 2] > aim[2]][:, 2])
    back = float(np.nanmax(chest(hand[:, :2]) - hand[:, 2]))
    way = np.append((aim - np.median(skin[parts["left hand"].corners], axis=0))[:2], back - depth)
    joint = clip.skeleton.joint("hand_l")
    offsets = np.tile(clip.skeleton.offsets, (2, 1, 1))
    offsets[1, joint] += unrotate(clip.skeleton.rest_world[1][clip.skeleton.parents[joint]], way)
    moved = replace(rest_motion(clip.skeleton, num_frames=2), offsets=offsets)
    found = evaluate(moved, meshes=clip.meshes, only=["self_penetration"])["self_penetration"]
    # The skin of a chest slopes: straight across it is a little less deep than straight back.
    assert 0.85 * max(depth, 0.0) - 1e-3 <= found["worst_depth"] <= max(depth, 0.0) + 1e-3
    if depth > 0.01:
        assert found.facts == {"parts": ["left hand", "trunk"], "time": pytest.approx(1 / 30), "skin": True}


def test_characters_do_not_pass_through_themselves_as_they_were_made(data: Path) -> None:
    for name in ("gltf/CesiumMan.glb", "gltf/RiggedFigure.glb", "gltf/m2m_human_male.glb", "gltf/Fox.glb"):
        clip = read(data / name)
        found = evaluate(rest_motion(clip.skeleton, num_frames=2), meshes=clip.meshes, only=["self_penetration"])
        assert found["self_penetration"]["worst_depth"] == pytest.approx(0.0, abs=1e-4), name


def test_the_command_looks_at_the_skin_by_itself(data: Path) -> None:
    with_skin = CliRunner().invoke(cli, ["evaluate", str(data / "gltf" / "CesiumMan.glb")])
    assert "(by its skin, in 48 of 48 frames)" in " ".join(with_skin.stdout.split())
    without = CliRunner().invoke(cli, ["evaluate", str(data / "cmu_bvh" / "02_01.bvh")])
    assert "by its skin" not in " ".join(without.stdout.split())
