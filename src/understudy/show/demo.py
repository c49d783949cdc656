"""The demo page: copied rotations beside a retarget, on the same skinned bodies, in one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.files import open_to_write
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.contacts import Contact
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Skeleton
from understudy.show.charts import show
from understudy.show.page import CONTROLS, POLICY, asset, data_element, player_data, player_script


@record
class DemoBody:
    """A body of the demo with both of its motions."""

    name: str
    about: str
    copied: Motion
    """The source's rotations on this body."""
    retargeted: Motion
    contacts: tuple[Contact, ...]
    """The source's contacts with the floor, whose points this body has, too."""


@record
class Foot:
    """How far a foot slides while the source's foot stands."""

    joints: tuple[int, ...]
    slid: Array
    """(F,) metres up to each frame."""


def feet_that_slide(motion: Motion, contacts: Sequence[Contact]) -> list[Foot]:
    """The feet of a body and how far each slides while it should stand.

    A foot slides by as much as that of its standing points that moves least, so that a foot that rolls does not slide.
    """
    skeleton, places = motion.skeleton, _contact_places(motion, contacts)
    groups: dict[int, list[int]] = {}
    for number, contact in enumerate(contacts):
        groups.setdefault(_foot_of(skeleton, contact.point.joint), []).append(number)
    feet = []
    for joint, numbers in groups.items():
        moved = np.full(motion.num_frames, np.inf)
        for number in numbers:
            frames, path = places[number]
            step = np.linalg.norm(np.diff(path[:, [0, 2]], axis=0), axis=1)
            moved[frames[1:]] = np.minimum(moved[frames[1:]], step)
        slid = np.cumsum(np.where(np.isfinite(moved), moved, 0.0))
        feet.append(Foot(joints=tuple(np.flatnonzero(skeleton.below(joint)).tolist()), slid=slid))
    return feet


def _foot_of(skeleton: Skeleton, joint: str) -> int:
    """The foot that a joint belongs to; the joint itself on bodies without feet."""
    chain = skeleton.chain(skeleton.index[joint])
    feet = [number for role, number in roles(skeleton).items() if role.endswith("_foot")]
    return next((number for number in chain if number in feet), chain[-1])


def _contact_places(motion: Motion, contacts: Sequence[Contact]) -> list[tuple[np.ndarray, Array]]:
    """The frames (N,) of each contact and the places (N, 3) of its point, metres, world."""
    pose, out = fk(motion), []
    for contact in contacts:
        frames = contact.frames(motion.fps, motion.num_frames)
        out.append((frames, pose.points([motion.skeleton.point(contact.point.name)])[frames, 0]))
    return out


def demo_data(bodies: Sequence[DemoBody]) -> dict[str, Any]:
    """The data of the player: two figures for each body, with the tracks of their feet."""
    characters, extra = [], []
    for body in bodies:
        for label, motion in (("rotations copied", body.copied), ("Understudy", body.retargeted)):
            characters.append(show(motion, f"{body.name}: {label}", 0, body.contacts))
            plants = [
                {"start": round(float(frames[0] / motion.fps), 4), "places": path.round(4).tolist()}
                for frames, path in _contact_places(motion, body.contacts)
                if len(frames)
            ]
            feet = [
                {"joints": list(foot.joints), "slid": foot.slid.round(5).tolist()}
                for foot in feet_that_slide(motion, body.contacts)
            ]
            extra.append({"group": body.name, "plants": plants, "feet": feet})
    data = player_data(characters)
    data["figures"] = [figure | more for figure, more in zip(data["figures"], extra, strict=True)]
    return data


NEXT = (
    ("Retarget a motion of your own", "understudy retarget {motion} {character} -o {result}"),
    ("See it and drag it in the studio", "understudy studio {motion} {character}"),
    ("Retarget a whole folder", "understudy batch {folder} {character} -o results"),
)
"""The next commands; the page puts the names of dropped files into them."""

NAMES = {"motion": "walk.bvh", "character": "hero.glb", "result": "hero_walk.glb", "folder": "motions"}


def compose_demo(bodies: Sequence[DemoBody], *, title: str, about: str) -> str:
    """The demo page as text."""
    choices = "\n".join(
        f'<label><input type="radio" name="group" value="{escape(body.name)}"{" checked" if i == 0 else ""}> '
        f"<b>{escape(body.name)}</b> {escape(body.about)}</label>"
        for i, body in enumerate(bodies)
    )
    commands = "\n".join(
        f'<li>{escape(words)}<pre><code data-command="{escape(command)}">'
        f"{escape(command.format(**NAMES))}</code></pre></li>"
        for words, command in NEXT
    )
    note = "Drag to orbit; drag with shift or the right button to pan; wheel to zoom. Space plays, arrow keys step."
    body = f"""<h1>{escape(title)}</h1>
<p class="about">{escape(about)}</p>
<fieldset class="bodies"><legend>Performed by</legend>{choices}</fieldset>
<section id="player"><canvas id="stage" tabindex="0" aria-label="two bodies that walk"></canvas>
{CONTROLS.partition("<p")[0]}
<p class="note"><i class="mark slides"></i>a foot slides while it should stand <i class="mark stands"></i>a foot stands
<br>{note}</p></section>
{verdicts(bodies)}
<section><h2>Your own files</h2>
<div id="drop" tabindex="0"><b>Drop a motion and a character here</b> (BVH, FBX, glTF, USD, AMC, NPZ, VRM, URDF)<br>
This page is a file: it uploads nothing and solves nothing. It puts the names of your files into the commands
below.</div>
<ol class="next">{commands}</ol></section>
{data_element("player-data", demo_data(bodies))}
{player_script()}
<script>(function () {{\n"use strict";\n{asset("demo.js")}}})();</script>"""
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{asset('page.css')}{asset('demo.css')}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def verdicts(bodies: Sequence[DemoBody]) -> str:
    """A table of what slides, sinks and floats, by body and way."""
    rows = []
    for body in bodies:
        for words, motion in (("rotations copied", body.copied), ("Understudy", body.retargeted)):
            figures = "".join(f"<td>{100.0 * value:.1f} cm</td>" for value in defects(motion, body.contacts).values())
            rows.append(f"<tr><td>{escape(body.name)}</td><td>{words}</td>{figures}</tr>")
    head = (
        "<tr><th>body</th><th>way</th><th>feet slide, in all</th><th>below the floor</th><th>above the floor</th></tr>"
    )
    return f"<section><h2>What the feet do while they should stand</h2><table>{head}{''.join(rows)}</table></section>"


def defects(motion: Motion, contacts: Sequence[Contact]) -> dict[str, float]:
    """Metres that feet slide in all while they should stand, and that they are below and above the floor at most."""
    heights = np.concatenate([path[:, 1] for _, path in _contact_places(motion, contacts)])
    return {
        "slid": float(sum(foot.slid[-1] for foot in feet_that_slide(motion, contacts))),
        "below": float(max(-heights.min(), 0.0)),
        "above": float(max(heights.max(), 0.0)),
    }


def write_demo(path: str | Path, bodies: Sequence[DemoBody], *, title: str, about: str) -> None:
    """Write the demo page. An existing file is replaced only when the new one is complete."""
    with open_to_write(path) as stream:
        stream.write(compose_demo(bodies, title=title, about=about).encode())
