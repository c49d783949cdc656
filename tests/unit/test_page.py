"""The report page: charts, curves, the player's data, hostile names, and the page in a browser where there is one."""

from __future__ import annotations

import base64
import errno
import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import FileError, OptionError
from understudy.base.quaternion import from_axis_angle, multiply
from understudy.figure.bands import rotation_curves
from understudy.figure.contacts import Contact
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.metrics.base import evaluate
from understudy.retarget.driver import retarget
from understudy.show.charts import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    Band,
    Chart,
    ChartCurve,
    ErrorCurve,
    bends,
    compared_angles,
    constraint_errors,
    feet_of,
    limbs_of,
    show,
    spectrum,
    thin_curve,
    ticks,
    to_svg,
    turns,
)
from understudy.show.page import MAX_BYTES, pack, player_data, write_page

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">'&\"$a$"
SVG = "{http://www.w3.org/2000/svg}"


class Page(HTMLParser):
    """A page taken apart: the texts of its scripts by id, its tags, its title and what is seen."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: dict[str, str] = {}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.seen: list[str] = []
        self._open: list[str] = []
        self._script = ""
        self.feed(text)
        assert self._open == [], f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "img", "br", "option"):
            self._open.append(tag)
        if tag == "script":
            self._script = dict(attrs).get("id") or "code"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag == "option":
            return
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts[self._script] = self.scripts.get(self._script, "") + data
        elif not self._open or self._open[-1] != "style":
            self.seen.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


@pytest.fixture(scope="module")
def walk() -> Motion:
    return samples.motion("walk", seconds=2.0).motion


@pytest.fixture(scope="module")
def child(walk: Motion) -> Motion:
    return retarget(walk, samples.character("child")).motion


def written(path: Path, *given: Any, **options: Any) -> Page:
    write_page(path, *given, **{"picture": False, **options})
    return Page(path.read_text(encoding="utf-8"))


def line(values: np.ndarray, **options: Any) -> Chart:
    curve = ChartCurve(label="one", x=np.arange(len(values), dtype=float), y=values, colour="#123456")
    return Chart(title="a chart", x_label="x", y_label="y", curves=[curve], **options)


def drawn(svg: str) -> np.ndarray:
    """(N, 2) the places of a chart's first curve."""
    path = next(ElementTree.fromstring(svg).iter(f"{SVG}path")).attrib["d"]
    return np.array([[float(n) for n in word.split()] for word in re.split("[ML]", path)[1:]])


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0.0, 10.0, 6) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert ticks(-0.03, 0.07, 6) == [-0.02, 0.0, 0.02, 0.04, 0.06]
    assert ticks(3.0, 3.0) == [3.0]


def test_a_curve_fills_its_chart_from_side_to_side() -> None:
    places = drawn(to_svg(line(np.array([0.0, 1.0, 0.5])), width=500.0, height=200.0))
    assert places[:, 0].tolist() == [LEFT, pytest.approx(0.5 * (LEFT + 500.0 - RIGHT), abs=0.06), 500.0 - RIGHT]
    inside = 200.0 - TOP - BOTTOM
    assert places[0, 1] - places[1, 1] == pytest.approx(inside / 1.12, abs=0.2)
    assert places[2, 1] == pytest.approx(places[:2, 1].mean(), abs=0.11)


def test_a_curve_is_broken_where_numbers_are_none() -> None:
    path = next(ElementTree.fromstring(to_svg(line(np.array([0.0, 1.0, np.nan, 1.0, 0.0])))).iter(f"{SVG}path"))
    assert path.attrib["d"].count("M") == 2
    assert "nan" not in path.attrib["d"]


def test_thinning_keeps_a_peak_of_one_frame() -> None:
    values = np.zeros(100_000)
    values[31_234] = 1.0
    places = np.stack([np.arange(len(values), dtype=float), values], axis=-1)
    kept = thin_curve(places, 500)
    assert len(kept) <= 1000
    assert [31_234.0, 1.0] in kept.tolist()
    assert np.all(np.diff(kept[:, 0]) > 0.0)


def test_axes_of_a_map_are_to_one_scale() -> None:
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)
    curve = ChartCurve(label="s", x=square[:, 0], y=square[:, 1], colour="#000000")
    chart = Chart(title="", x_label="", y_label="", curves=[curve], equal=True)
    places = drawn(to_svg(chart, width=900.0, height=200.0))
    assert np.ptp(places[:, 0]) == pytest.approx(np.ptp(places[:, 1]), abs=0.2)


def test_a_logarithmic_axis_shows_powers_and_leaves_zero_out() -> None:
    places = drawn(to_svg(line(np.array([1.0, 0.1, 0.0, 0.01, 0.001]), logarithmic=True)))
    assert len(places) == 4
    assert np.ptp(np.diff(places[[0, 1], 1])) == 0.0
    assert places[1, 1] - places[0, 1] == pytest.approx(places[3, 1] - places[2, 1], abs=0.2)


def test_an_axis_spans_its_least() -> None:
    flat = drawn(to_svg(line(np.array([0.0, 1e-9, 0.0]), least=1.0)))
    assert np.ptp(flat[:, 1]) < 0.2
    assert np.ptp(drawn(to_svg(line(np.array([0.0, 1e-9, 0.0]))))[:, 1]) > 50.0


def test_bands_lie_where_their_time_is() -> None:
    chart = line(np.linspace(0.0, 1.0, 11), bands=[Band(start=2.0, end=4.0, colour="#00ff00")], cursor=True)
    root = ElementTree.fromstring(to_svg(chart, width=500.0))
    band = next(each for each in root.iter(f"{SVG}rect") if each.attrib.get("class") == "band")
    inside = 500.0 - LEFT - RIGHT
    assert float(band.attrib["x"]) == pytest.approx(LEFT + 0.2 * inside, abs=0.06)
    assert float(band.attrib["width"]) == pytest.approx(0.2 * inside, abs=0.06)
    assert [float(n) for n in root.attrib["data-time"].split()] == [LEFT, 500.0 - RIGHT, 0.0, 10.0]


def test_charts_of_nothing_are_still_charts() -> None:
    for values in (np.empty(0), np.array([np.nan, np.nan]), np.array([2.0])):
        ElementTree.fromstring(to_svg(line(values)))


def test_bends_are_the_angles_between_bones() -> None:
    skeleton = samples.character("adult")
    still = rest_motion(skeleton, num_frames=3)
    straight = bends(still)
    assert {f"{s} {p}" for s in ("left", "right") for p in ("hip", "knee", "shoulder", "elbow")} == set(straight)
    assert straight["left shoulder"] == pytest.approx(90.0, abs=8.0)
    knee = skeleton.joint("LeftLeg")
    rotations = still.rotations.copy()
    turn = from_axis_angle(np.array([1.0, 0.0, 0.0]), np.radians([0.0, 30.0, 60.0]))
    rotations[:, knee] = multiply(rotations[:, knee], turn)
    bent = bends(replace(still, rotations=rotations))
    assert np.diff(bent["left knee"]) == pytest.approx([30.0, 30.0], abs=1.0)
    assert bent["right knee"] == pytest.approx(straight["right knee"])


def test_turns_count_from_the_rest_pose() -> None:
    still = rest_motion(samples.character("spider"), num_frames=2)
    rotations = still.rotations.copy()
    rotations[1, 3] = multiply(rotations[1, 3], from_axis_angle(np.array([0.0, 0.0, 1.0]), 0.5))
    found = turns(replace(still, rotations=rotations))
    assert found[still.skeleton.names[3]] == pytest.approx([0.0, np.degrees(0.5)], abs=1e-6)
    assert found[still.skeleton.names[2]] == pytest.approx([0.0, 0.0], abs=1e-6)


def test_bodies_are_compared_by_what_they_share(walk: Motion, child: Motion) -> None:
    names = [mine.name for mine, other in compared_angles(child, walk) if other is not None]
    assert "left knee" in names
    spider = samples.motion("spider_walk", seconds=1.0).motion
    assert compared_angles(spider, rest_motion(samples.character("can"))) == []
    own = compared_angles(spider, spider)
    assert len(own) == 8
    spans = [np.ptp(mine.degrees) for mine, _ in own]
    assert spans == sorted(spans, reverse=True)


def test_the_spectrum_has_its_peak_where_the_motion_swings() -> None:
    skeleton = samples.character("adult")
    still = rest_motion(skeleton, fps=60.0, num_frames=601)
    rotations = still.rotations.copy()
    angle = 0.3 * np.sin(2.0 * np.pi * 5.0 * still.times)
    rotations[:, 4] = multiply(rotations[:, 4], from_axis_angle(np.array([1.0, 0.0, 0.0]), angle))
    shaking = replace(still, rotations=rotations)
    hertz, power = spectrum(shaking, bins=1000)
    assert hertz[np.argmax(power)] == pytest.approx(5.0, abs=0.1)
    # All the power of the swing, its mean square, lies under the curve.
    assert np.trapezoid(power, hertz) == pytest.approx(
        float((rotation_curves(shaking) ** 2).mean(axis=0).sum()), rel=0.01
    )
    assert len(spectrum(still[:4])[0]) == 0


def test_feet_tell_height_and_speed_of_a_slide() -> None:
    still = rest_motion(samples.character("adult"), num_frames=31)
    root = still.root + np.linspace(0.0, 1.0, 31)[:, None] * [0.3, 0.0, 0.4]
    found = feet_of(show(replace(still, root=root), "slides", 0))
    assert [foot.name for foot in found] == ["LeftFoot", "RightFoot"]
    for foot in found:
        assert foot.speed == pytest.approx(0.5, abs=1e-6)
        assert np.ptp(foot.height) < 1e-9
        assert foot.path[-1] - foot.path[0] == pytest.approx([0.3, 0.0, 0.4])


def test_points_are_put_together_by_limb() -> None:
    skeleton = samples.character("adult")
    points = [Point(name=n, joint=n) for n in ("LeftFoot", "LeftToeBase", "RightToeBase")]
    groups = limbs_of(skeleton, points)
    assert [(name, len(group)) for name, group in groups] == [("LeftFoot", 2), ("RightToeBase", 1)]
    on_root = [Point(name=n, joint=skeleton.names[0]) for n in ("a", "b")]
    assert [name for name, _ in limbs_of(skeleton, [*on_root, points[0]])] == ["a", "b", "LeftFoot"]


def test_constraint_errors_are_those_that_the_solve_reports(walk: Motion) -> None:
    solution = retarget(walk, samples.character("dog"))
    curves = {curve.name: curve for curve in constraint_errors(solution)}
    assert curves
    for name, curve in curves.items():
        kind = [each for each in solution.outcomes if each.constraint.kind.replace("_", " ") == name]
        worst = max(kind, key=lambda each: each.worst)
        scale = 180.0 / np.pi if worst.constraint.angular else 1.0
        assert len(curve.values) == walk.num_frames
        assert np.nanmax(curve.values) == pytest.approx(scale * worst.worst, abs=1e-9)
        assert curve.unit == ("degrees" if worst.constraint.angular else "m")


def unpack(low: np.ndarray, scale: np.ndarray, text: str, shape: tuple[int, ...]) -> np.ndarray:
    """The packed positions, accurate to half a step."""
    numbers = np.frombuffer(base64.b64decode(text), "<u2").reshape(shape)
    return np.asarray(low) + numbers * np.asarray(scale)


def test_packed_places_come_back_to_half_a_step(rng: np.random.Generator) -> None:
    places = rng.normal(size=(7, 5, 3)) * [1.0, 0.0, 3.0]
    low, scale, text = pack(places)
    back = unpack(low, scale, text, places.shape)
    assert np.all(np.abs(back - places) <= 0.5001 * scale)
    assert np.abs(back - places).max() > 0.0


def test_the_player_is_given_the_figure_as_it_moves(walk: Motion) -> None:
    far = replace(walk, root=walk.root + np.array([1000.0, 0.0, -500.0]))
    figure = player_data([show(far, "far", 0)])["figures"][0]
    shape = (figure["frames"], figure["nodes"], 3)
    root = np.frombuffer(base64.b64decode(figure["root"]), "<f4").reshape(-1, 3)
    places = unpack(figure["low"], figure["scale"], figure["places"], shape) + root[:, None]
    joints = fk(far).positions
    assert figure["frames"] == walk.num_frames
    # Every joint that is drawn is found among the nodes, to the precision of a root a kilometre away.
    apart = np.linalg.norm(places[40][:, None] - joints[40][None], axis=-1)
    assert (apart.min(axis=0) < 1e-4).sum() >= walk.skeleton.num_joints - 3
    assert max(max(stroke[:2]) for stroke in figure["strokes"]) < figure["nodes"]


def test_the_player_looks_at_the_middle_of_a_body_whose_root_lies_on_the_floor(walk: Motion) -> None:
    """A joint at the floor above the hips, as rigs of engines have it."""
    skeleton, height = walk.skeleton, walk.root[:, 1].mean()
    floored = Skeleton(
        names=("floor", *skeleton.names),
        parents=np.concatenate([[-1], skeleton.parents + 1]),
        offsets=np.concatenate([np.zeros((1, 3)), [[0.0, height, 0.0]], skeleton.offsets[1:]]),
    )
    rotations = np.concatenate([np.tile([1.0, 0.0, 0.0, 0.0], (walk.num_frames, 1, 1)), walk.rotations], axis=1)
    on_floor = Motion(skeleton=floored, fps=walk.fps, root=walk.root - [0.0, height, 0.0], rotations=rotations)
    plain, moved = (player_data([show(motion, "walk", 0)])["figures"][0] for motion in (walk, on_floor))
    assert moved["rise"] - plain["rise"] == pytest.approx(height, abs=0.05)
    assert 0.3 < moved["rise"] / plain["size"] < 0.7


def test_long_and_fast_clips_keep_fewer_frames_and_their_last() -> None:
    fast = samples.motion("walk", seconds=2.0, fps=240.0).motion
    figure = player_data([show(fast, "fast", 0)])["figures"][0]
    assert figure["step"] == pytest.approx(1.0 / 60.0)
    assert figure["frames"] == 121
    still = rest_motion(samples.character("adult"), fps=60.0, num_frames=15_000)
    long = player_data([show(still, "long", 0, ())])["figures"][0]
    assert len(base64.b64decode(long["places"])) + len(base64.b64decode(long["root"])) < 1.05 * MAX_BYTES
    times = long["times"] or [long["step"] * i for i in range(long["frames"])]
    assert times[-1] == pytest.approx(still.duration, abs=1e-4)


def test_the_page_holds_what_was_measured(tmp_path: Path, walk: Motion, child: Motion) -> None:
    report = evaluate(child, walk)
    errors = [ErrorCurve(name="same place", values=np.linspace(0.0, 0.002, child.num_frames))]
    page = written(tmp_path / "r.html", child, walk, report.data(curves=True), errors=errors)
    kept = json.loads(page.scripts["report-data"])
    assert kept["verdict"] == str(report.verdict)
    figures = kept["metrics"]["foot_skate"]["figures"]
    assert figures["worst_drift"]["value"] == report["foot_skate"]["worst_drift"]
    assert "curves" not in kept["metrics"]["foot_skate"]
    seen = " ".join(page.seen)
    for measurement in report.measurements:
        assert measurement.words in seen
    assert "constraint error: same place" in seen
    for heading in ("Verdicts", "Player", "Feet: height and speed", "Feet from above", "Joint angles", "Spectrum"):
        assert heading in seen
    player = json.loads(page.scripts["player-data"])
    assert [figure["label"] for figure in player["figures"]] == ["source", "result"]
    assert player["duration"] == pytest.approx(walk.duration)
    assert page.count("canvas") == 1
    timed = [given for tag, given in page.tags if tag == "svg" and given.get("class") == "timed"]
    assert len(timed) >= 13


def test_a_page_asks_for_nothing_from_outside(tmp_path: Path, walk: Motion, child: Motion) -> None:
    page = written(tmp_path / "r.html", child, walk, evaluate(child, walk).data(curves=True), picture=True)
    for tag, given in page.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        assert not {"src", "href", "srcset", "action"} & set(given) or str(given["src"]).startswith("data:image/png")
    policy = next(given for tag, given in page.tags if given.get("http-equiv"))
    assert str(policy["content"]).startswith("default-src 'none'")
    for code in page.scripts.values():
        assert not re.search(r"https?://|fetch\(|XMLHttpRequest|import\s*\(", code)


def test_a_page_of_ten_seconds_is_small_and_holds_a_picture(tmp_path: Path) -> None:
    long = samples.motion("walk", seconds=10.0, fps=120.0).motion
    path = tmp_path / "r.html"
    write_page(path, long, long, evaluate(long, long).data(curves=True))
    assert path.stat().st_size < 2_000_000
    found = re.search(r'src="data:image/png;base64,([^"]+)"', path.read_text(encoding="utf-8"))
    assert found is not None
    assert base64.b64decode(found[1]).startswith(b"\x89PNG")


def test_hostile_names_stay_text(tmp_path: Path, walk: Motion) -> None:
    names = tuple(f"{name}{HOSTILE}" for name in walk.skeleton.names)
    skeleton = Skeleton(names=names, parents=walk.skeleton.parents, offsets=walk.skeleton.offsets, name=HOSTILE)
    motion = replace(walk, skeleton=skeleton, name=HOSTILE)
    report = {"metrics": {HOSTILE: {"title": HOSTILE, "verdict": HOSTILE, "words": HOSTILE}}, "failures": [HOSTILE]}
    options = {"title": HOSTILE, "labels": (HOSTILE, f"{HOSTILE} \udcff\n2"), "picture": True}
    page = written(tmp_path / "r.html", motion, motion, report, **options)
    assert page.count("script") == 3
    assert set(page.scripts) == {"code", "player-data", "report-data"}
    assert not any("onerror" in given for _, given in page.tags)
    assert json.loads(page.scripts["player-data"])["figures"][0]["label"] == HOSTILE
    assert HOSTILE in json.loads(page.scripts["report-data"])["metrics"]
    assert HOSTILE in page.seen


def test_failures_and_numbers_that_are_none_are_told(tmp_path: Path, walk: Motion) -> None:
    entry = {
        "title": "skate",
        "verdict": "bad",
        "words": "slides",
        "figures": {"speed": {"value": float("nan"), "unit": "m/s", "about": "mean speed"}},
        "thresholds": {},
        "curves": {"still": {"unit": "m", "values": [0.0] * walk.num_frames}},
    }
    report = {"failures": ["nothing moves"], "notes": ["compared from the start"], "metrics": {"skate": entry}}
    page = written(tmp_path / "r.html", walk, None, report)
    seen = " ".join(page.seen)
    assert "This result is not usable:" in seen
    assert "nothing moves" in seen
    assert "compared from the start" in seen
    assert json.loads(page.scripts["report-data"])["metrics"]["skate"]["figures"]["speed"]["value"] is None


def test_bodies_of_every_kind_get_a_page(tmp_path: Path, walk: Motion) -> None:
    can = rest_motion(samples.character("can"))
    page = written(tmp_path / "can.html", can, walk)
    assert "no angle means the same in both" in " ".join(page.seen)
    assert json.loads(page.scripts["player-data"])["figures"][1]["strokes"] == []
    swim = samples.motion("swim", seconds=1.0).motion
    assert "Spectrum" in written(tmp_path / "swim.html", swim).seen
    assert "Verdicts" not in written(tmp_path / "swim.html", swim).seen


def test_given_contacts_are_shown_in_place_of_found_ones(tmp_path: Path, walk: Motion) -> None:
    point = Point(name="LeftToeBase", joint="LeftToeBase")
    contact = Contact(point=point, start=0.25, end=0.5, place=np.array([1.0, 0.0, 2.0]))
    page = written(tmp_path / "r.html", walk, contacts=[contact])
    assert json.loads(page.scripts["player-data"])["figures"][0]["contacts"] == [[0.25, 0.5, 1.0, 0.0, 2.0]]


def test_wrong_use_is_told_in_words(tmp_path: Path, walk: Motion) -> None:
    with pytest.raises(OptionError, match=r"A report is written as \.html; got `.*r\.pdf`"):
        write_page(tmp_path / "r.pdf", walk)
    with pytest.raises(OptionError, match="Expected two labels, of source and result; got 1"):
        write_page(tmp_path / "r.html", walk, labels=("one",))
    with pytest.raises(FileError, match="cannot be written: No such file or directory"):
        write_page(tmp_path / "none" / "r.html", walk, picture=False)


def test_an_old_page_stays_until_the_new_one_is_whole(
    tmp_path: Path, walk: Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.html"
    path.write_text("old")

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="cannot be written: No space left on device"):
        write_page(path, walk, picture=False)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["r.html"]


def test_without_matplotlib_the_page_says_what_is_left_out(
    tmp_path: Path, walk: Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    missing = write_page(tmp_path / "r.html", walk)
    assert len(missing) == 1
    assert "needs the package `matplotlib`" in missing[0]
    assert "pip install 'understudy-motion[picture]'" in missing[0]
    assert missing[0] in Page((tmp_path / "r.html").read_text(encoding="utf-8")).seen


LOOK = """() => {
  const canvas = document.getElementById("stage");
  const dots = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const dark = [0, 0];
  let sum = 0;
  for (let i = 0; i < dots.length; i += 4) {
    if (dots[i] + dots[i + 1] + dots[i + 2] < 450) dark[(i / 4) % canvas.width < canvas.width / 2 ? 0 : 1] += 1;
    sum = (sum * 31 + dots[i] * 5 + dots[i + 1] * 3 + dots[i + 2]) | 0;
  }
  return { dark, sum, time: player.state.time, clock: document.getElementById("player-clock").textContent };
}"""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_the_player_plays_in_a_browser(tmp_path: Path, walk: Motion, child: Motion) -> None:
    path = tmp_path / "r.html"
    write_page(path, child, walk, evaluate(child, walk).data(), labels=(HOSTILE, "child"), picture=False)
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    failures: list[str] = []
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.goto(path.as_uri())
        first = page.evaluate(LOOK)
        for _ in range(200):
            if page.evaluate("player.state.time") > 0.2:
                break
            page.wait_for_timeout(100)
        later = page.evaluate(LOOK)
        page.click("#player-play")
        page.eval_on_selector("#player-time", "bar => { bar.value = '1.5'; bar.dispatchEvent(new Event('input')); }")
        sought = page.evaluate(LOOK)
        page.click("#player-apart")
        together = page.evaluate(LOOK)
        cursor = page.get_attribute("svg.timed .cursor", "x1")
        playing, title = page.evaluate("player.state.playing"), page.title()
        browser.close()
    assert failures == []
    # Both halves of the stage show a figure, and it is another one later.
    assert min(first["dark"]) > 300
    assert later["time"] > 0.2
    assert later["sum"] != first["sum"]
    assert sought["clock"] == f"1.50 / {walk.duration:.2f} s"
    assert playing is False
    assert together["sum"] != sought["sum"]
    inside = 560.0 - LEFT - RIGHT
    assert float(cursor or "nan") == pytest.approx(LEFT + inside * 1.5 / walk.duration, abs=0.5)
    assert title != "taken"
