"""The layout of a picture: the extent of poses, their scale, and the arrangement of views on the page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, rotate
from understudy.base.records import record
from understudy.figure.contacts import Contact
from understudy.figure.motion import Motion
from understudy.figure.stick import Stick, Viewpoint, stick, view_of
from understudy.samples.scene import Prop, Scene

_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])

FACING_WINDOW_SECONDS = 1.0
"""Window over which a body's facing is averaged: hips and shoulders swing with each step."""


@record
class PictureRow:
    """One or several characters drawn together, at the times of its poses."""

    title: str
    about: str
    """Number of frames, rate and length, as text."""
    sticks: tuple[Stick, ...]
    times: Array
    """(N,) seconds of the poses."""
    span: tuple[float, float]
    """First and last second of the paths that are drawn."""
    floor: float | None
    """Height of the floor, metres; None without a floor."""
    contacts: tuple[Contact, ...] = ()
    props: tuple[Prop, ...] = ()
    fps: float = 30.0
    """Frame rate of moving props."""

    @property
    def size(self) -> float:
        return max(figure.size for figure in self.sticks)

    @property
    def facing(self) -> Array:
        """(3,) mean facing direction of the first character around the middle of the span."""
        figure, middle = self.sticks[0], 0.5 * (self.span[0] + self.span[1])
        first = frame_at(figure, max(middle - FACING_WINDOW_SECONDS / 2, self.span[0]))
        last = frame_at(figure, min(middle + FACING_WINDOW_SECONDS / 2, self.span[1]))
        mean = figure.facing[first : last + 1].mean(axis=0)
        # A body that spins has no mean facing direction; then that of the middle frame is used.
        return mean if np.linalg.norm(mean) > 0.3 else figure.facing[frame_at(figure, middle)]

    def spots(self, between: tuple[float, float] | None = None) -> Array:
        """(S, 3) places of contacts that hold at some time within the span, or between given seconds."""
        low, high = between or self.span
        places = [c.place for c in self.contacts if c.place is not None and c.end >= low and c.start <= high]
        return np.array(places, float).reshape(-1, 3)

    def boxes(self, prop: Prop, time: float) -> Array:
        """(B, 8, 3) world corners of a prop's boxes at a time."""
        positions, rotations = prop.positions, prop.rotations
        if positions.ndim == 3:
            positions = positions[int(np.clip(round(time * self.fps), 0, len(positions) - 1))]
        if rotations.ndim == 3:
            rotations = rotations[int(np.clip(round(time * self.fps), 0, len(rotations) - 1))]
        corners = _CORNERS * np.asarray(prop.sizes)[:, None]
        return positions[:, None] + rotate(rotations[:, None], corners)


def frame_at(figure: Stick, time: float) -> int:
    """The frame of a figure nearest to a time."""
    return int(np.clip(np.rint(time * figure.fps), 0, len(figure.nodes) - 1))


def moves(prop: Prop) -> bool:
    """Whether a prop moves: it has a position or rotation per frame."""
    return prop.positions.ndim == 3 or prop.rotations.ndim == 3


def acts_of(
    things: Sequence[Motion | Scene],
    *,
    labels: Sequence[str] = (),
    frames: slice | None = None,
    count: int = 8,
    together: bool = False,
    contacts: Sequence[Contact] = (),
) -> list[PictureRow]:
    """The rows of a picture: one for each motion or scene, or a single one for all together."""
    if not things:
        raise OptionError("Expected at least one motion to draw; got none")
    if count < 1:
        raise OptionError(f"Expected at least one pose to draw; got {count}")
    if labels and len(labels) != len(things):
        raise OptionError(f"Expected {len(things)} labels, one for each motion; got {len(labels)}")
    scenes = [_scene(thing, labels[i] if labels else "", contacts) for i, thing in enumerate(things)]
    if together:
        scenes = [_merged(scenes)]
    return [_act(scene, frames, count) for scene in scenes]


def _scene(thing: Motion | Scene, label: str, contacts: Sequence[Contact]) -> tuple[Scene, bool]:
    """A motion as a scene of one actor, and whether its floor is known."""
    if isinstance(thing, Scene):
        name = label or thing.name
        kept = Scene(
            name=name, actors=thing.actors, contacts=(*thing.contacts, *contacts), props=thing.props, floor=thing.floor
        )
        return kept, True
    name = label or thing.name or thing.skeleton.name or "motion"
    return Scene(name=name, actors={name: thing}, contacts=tuple(contacts)), False


def _merged(scenes: Sequence[tuple[Scene, bool]]) -> tuple[Scene, bool]:
    """Several scenes in one world; actors of the same name are numbered."""
    actors: dict[str, Motion] = {}
    for scene, _ in scenes:
        for name, motion in scene.actors.items():
            number, unique = 2, name
            while unique in actors:
                unique, number = f"{name} {number}", number + 1
            actors[unique] = motion
    merged = Scene(
        name=", ".join(dict.fromkeys(scene.name for scene, _ in scenes)),
        actors=actors,
        contacts=tuple(contact for scene, _ in scenes for contact in scene.contacts),
        props=tuple(prop for scene, _ in scenes for prop in scene.props),
        floor=scenes[0][0].floor,
    )
    return merged, any(has_floor for _, has_floor in scenes)


def _act(scene_and_floor: tuple[Scene, bool], frames: slice | None, count: int) -> PictureRow:
    scene, has_floor = scene_and_floor
    sticks = tuple(stick(motion, name) for name, motion in scene.actors.items())
    motion = scene.motion
    chosen = np.arange(motion.num_frames)[frames or slice(None)]
    if len(chosen) == 0:
        raise OptionError(f"No frame of `{scene.name}` is in the range asked for; it has {motion.num_frames}")
    longest = max(len(figure.nodes) / figure.fps for figure in sticks)
    first, last = float(chosen[0] / motion.fps), float(chosen[-1] / motion.fps)
    poses = np.unique(np.rint(np.linspace(chosen[0], chosen[-1], min(count, len(chosen)))).astype(int))
    noun = "frame" if len(chosen) == 1 else "frames"
    return PictureRow(
        title=scene.name,
        about=f"{len(chosen)} {noun} at {motion.fps:.4g} fps, {last - first:.2f} s",
        sticks=sticks,
        times=np.minimum(poses / motion.fps, longest),
        span=(first, last),
        floor=scene.floor if has_floor else _guess_floor(sticks),
        contacts=scene.contacts,
        props=scene.props,
        fps=motion.fps,
    )


def _guess_floor(sticks: Sequence[Stick]) -> float | None:
    """Zero if the lowest point of the motion is near zero; None otherwise."""
    lowest = min(float(figure.nodes[:, figure.drawn, 1].min()) for figure in sticks)
    return 0.0 if abs(lowest) < 0.2 * max(figure.size for figure in sticks) else None


PAGE_WIDTH = 12.0
"""Inches."""

MARGIN = 0.35

INNER_WIDTH = PAGE_WIDTH - 2 * MARGIN

MAX_POSES_PER_LINE = 10

MAX_POSE_INCHES = 2.6

MAX_OVERLAY_INCHES = 6.5

MIN_POSE_DISTANCE = 0.085
"""Least mean distance of two poses in an overlay, as a share of the body's size."""

VIEW_GAP_INCHES = 0.45


@record
class Strip:
    """Poses side by side: their middles and the room that they need."""

    view: Viewpoint
    middles: Array
    """(N,) metres, projected: the middle of each pose from left to right."""
    width: float
    """Metres that the widest pose needs, with the gap to its neighbour."""
    low: float
    high: float
    """Metres, projected: lowest and highest point of all poses."""


@record
class ViewBounds:
    """A view of the whole motion: the bounding rectangle of everything drawn."""

    view: Viewpoint
    low: Array
    high: Array
    """(2,) metres, projected."""

    @property
    def extent(self) -> Array:
        return self.high - self.low


def strip_of(act: PictureRow, view_name: str) -> Strip:
    """Measure the poses of an act for a filmstrip."""
    view = view_of(view_name, act.facing)
    boxes = []
    for time in act.times:
        body = np.concatenate([view.project(_outline(act, i, float(time)))[:, :2] for i in range(len(act.sticks))])
        carried = [act.boxes(prop, float(time)) for prop in act.props if moves(prop)]
        boxes.append(_with_props(act, view, body.min(axis=0), body.max(axis=0), carried))
    low, high = np.array([box[0] for box in boxes]), np.array([box[1] for box in boxes])
    floor = [act.floor] if act.floor is not None and view.upright else []
    middles = 0.5 * (low[:, 0] + high[:, 0])
    if not view.upright:
        # A top view has no floor line, so each pose is centred in both directions.
        half = 0.5 * float((high[:, 1] - low[:, 1]).max())
        lowest, highest = -half, half
    else:
        lowest, highest = min([*low[:, 1], *floor]), max([*high[:, 1], *floor])
    return Strip(
        view=view,
        middles=middles,
        width=float((high[:, 0] - low[:, 0]).max()) + 0.12 * act.size,
        low=float(lowest),
        high=float(highest),
    )


def field_of(act: PictureRow, view_name: str) -> ViewBounds:
    """Measure everything that an overlay of an act shows."""
    view = view_of(view_name, act.facing)
    places = [_outline(act, i, float(time)) for time in act.times for i in range(len(act.sticks))]
    for figure in act.sticks:
        span = slice(frame_at(figure, act.span[0]), frame_at(figure, act.span[1]) + 1)
        places += [trace.places[span] for trace in figure.traces]
    places.append(act.spots())
    page = view.project(np.concatenate(places))[:, :2]
    props = [act.boxes(prop, float(time)) for prop in act.props for time in act.times]
    low, high = _with_props(act, view, page.min(axis=0) - 0.04 * act.size, page.max(axis=0) + 0.04 * act.size, props)
    if act.floor is not None and view.upright:
        low[1], high[1] = min(low[1], act.floor), max(high[1], act.floor)
    return ViewBounds(view=view, low=low, high=high)


def _with_props(
    act: PictureRow, view: Viewpoint, low: Array, high: Array, props: Sequence[Array]
) -> tuple[Array, Array]:
    """Extend a rectangle on the page to include props near it.

    A prop adds an arm's length at most, and the rest is clipped: a tall ladder must not make its climber small.
    """
    reach = 0.3 * act.size
    min_corner, max_corner = low - reach, high + reach
    for corners in props:
        page = view.project(corners).reshape(-1, 3)[:, :2]
        if np.all(page.min(axis=0) < max_corner) and np.all(page.max(axis=0) > min_corner):
            low = np.minimum(low, np.maximum(page.min(axis=0), min_corner))
            high = np.maximum(high, np.minimum(page.max(axis=0), max_corner))
    return low, high


def _outline(act: PictureRow, actor: int, time: float) -> Array:
    """(P, 3) points around one pose, including the width of its bones and the head's disc."""
    figure = act.sticks[actor]
    frame = frame_at(figure, time)
    places, reach = figure.nodes[frame, figure.drawn], 0.5 * float(figure.widths.max(initial=0.0))
    around = [places + reach * step for step in (*np.eye(3), *-np.eye(3))]
    if figure.head is not None:
        around += [figure.head[frame][None] + 1.1 * figure.head_radius * step for step in (*np.eye(3), *-np.eye(3))]
    return np.concatenate(around)


def distinct_poses(act: PictureRow, view: Viewpoint) -> list[int]:
    """The poses that an overlay draws: the last, and those that differ enough from all later ones in a view.

    Poses that hardly differ in a view, such as those of a walk seen from the front, would only cover each other.
    """
    drawn = [(len(act.times) - 1, _page_nodes(act, view, len(act.times) - 1))]
    for i in reversed(range(len(act.times) - 1)):
        nodes = _page_nodes(act, view, i)
        distances = [float(np.linalg.norm(nodes - other, axis=-1).mean()) for _, other in drawn]
        if min(distances) > MIN_POSE_DISTANCE * act.size:
            drawn.append((i, nodes))
    return [i for i, _ in reversed(drawn)]


def _page_nodes(act: PictureRow, view: Viewpoint, pose: int) -> Array:
    time = float(act.times[pose])
    return np.concatenate([view.project(f.nodes[frame_at(f, time), f.drawn])[:, :2] for f in act.sticks])


def poses_in_line(count: int) -> int:
    """Poses per line of a filmstrip, so that its lines are about equally long."""
    lines = -(-count // MAX_POSES_PER_LINE)
    return -(-count // lines)


def strip_scale(strips: Sequence[Strip], count: int) -> float:
    """Inches per metre at which every strip fits the page."""
    line = poses_in_line(count)
    wide = min(INNER_WIDTH / (line * strip.width) for strip in strips)
    tall = min(MAX_POSE_INCHES / max(strip.high - strip.low, 1e-6) for strip in strips)
    return min(wide, tall)


@record
class Arrangement:
    """The positions of the views of an overlay, and the size of the block that they fill, inches."""

    corners: tuple[Array, ...]
    """(2,) inches, lower left of each view, from the block's lower left."""
    width: float
    height: float


def arrange(fields: Sequence[ViewBounds], scale: float, in_row: bool) -> Arrangement:
    """Arrange views in one row, or the top view below the others, as in a technical drawing."""
    names = [field.view.name for field in fields]
    sizes = [field.extent * scale for field in fields]
    if in_row or "top" not in names or len(names) == 1:
        height = max(float(size[1]) for size in sizes)
        left, corners = 0.0, []
        for size in sizes:
            corners.append(np.array([left, 0.0]))
            left += float(size[0]) + VIEW_GAP_INCHES
        return Arrangement(corners=tuple(corners), width=left - VIEW_GAP_INCHES, height=height)
    top = names.index("top")
    below = float(sizes[top][1]) + VIEW_GAP_INCHES
    left, widest, upper, placed = 0.0, float(sizes[top][0]), 0.0, []
    for i, size in enumerate(sizes):
        if i == top:
            placed.append(np.zeros(2))
            continue
        placed.append(np.array([left, below]))
        left += float(size[0]) + VIEW_GAP_INCHES
        upper = max(upper, float(size[1]))
    return Arrangement(corners=tuple(placed), width=max(left - VIEW_GAP_INCHES, widest), height=below + upper)


def overlay_scale(groups: Sequence[Sequence[ViewBounds]], acts: Sequence[PictureRow]) -> tuple[float, bool]:
    """Inches per metre at which every overlay fits the page, and whether its views are in one row."""
    best = (0.0, True)
    for in_row in (True, False):
        scale = min(MAX_POSE_INCHES * 1.15 / max(act.size for act in acts), 400.0)
        # Gaps between views do not scale, so the scale is found by bisection.
        low, high = 0.0, scale
        for _ in range(30):
            blocks = [arrange(fields, scale, in_row) for fields in groups]
            fits = all(block.width <= INNER_WIDTH and block.height <= MAX_OVERLAY_INCHES for block in blocks)
            low, high = (scale, high) if fits else (low, scale)
            if high - low < 1e-4 * high:
                break
            scale = 0.5 * (low + high)
        if low > best[0] * 1.02:
            best = (low, in_row)
    return best
