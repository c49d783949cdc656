"""Writes FBX: a motion into the file that the character was read from, or a new file of a character.

In the character's own file only an animation is added, with its entries in the lists of the file. Every other record
keeps its bytes; a text file stays a text file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import PurePath
from typing import Any, BinaryIO

import numpy as np

from understudy.base.quaternion import Array, to_matrix
from understudy.base.records import record
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io.clip import Clip, WriteOptions, name_unit
from understudy.io.fbx.curves import (
    KINDS,
    PROPERTIES,
    Animation,
    NodeCurves,
    link,
    make_animation,
    make_take,
    usual_rate,
)
from understudy.io.fbx.document import (
    DocumentError,
    FbxDocument,
    FbxRecord,
    fbx_record,
    parse,
    to_text,
    write_binary,
)
from understudy.io.fbx.joints import NO_NODE
from understudy.io.fbx.scene import write_scene
from understudy.io.fbx.transforms import (
    SCALE_BY_MATRIX,
    WORLD,
    ModelTable,
    NodeTransform,
    Placed,
    inheriting,
    local_values,
    name_of,
    place,
    place_still,
    properties_of,
)
from understudy.io.matrices import make_affine

MIN_VERSION = 7000
"""Older files keep animations inside their nodes, and are not changed."""

MAX_STILL_ERROR = 1e-4
"""Share of the scene's size by which a node that is placed here may differ from where the reader's library puts it."""

MIN_TRANSLATION_PER_BODY_SIZE = 1e-6
"""A node's translation is written if it differs by more than this, in body sizes, from the one in the file."""

FIRST_NUMBER = 7_000_000_000
"""Numbers of new objects are larger than this and than all numbers of the file."""


@record
class FbxLayout:
    """An FBX file as it was read, kept so that an animation can be written into it without other changes."""

    data: bytes
    """The whole file."""
    names: list[str]
    """The name of each node; the first node is the scene's root."""
    parents: list[int]
    """The parent of each node; -1 for the scene's root."""
    worlds: Array
    """(N, 4, 4) world from node without an animation, in the file's unit and axes."""
    nodes: tuple[int, ...]
    """The node of each joint; -1 for a root that is not in the file."""
    joint_parents: np.ndarray
    """(J,) the parent of each joint."""
    joint_names: tuple[str, ...]
    stretches: Array
    """(J, 3, 3) the rest of each joint's matrix without its rotation."""
    to_world: Array
    """(4, 4) our world, metres and Y up, from the file's."""
    motion: Motion | None = None
    """The motion that was read, to recognise a clip with an unchanged motion."""
    skeleton: Skeleton | None = None
    """The skeleton that was read."""

    def fits(self, skeleton: Skeleton) -> bool:
        """Whether a skeleton has the joints of the file; bone lengths may differ."""
        return skeleton.names == self.joint_names and np.array_equal(skeleton.parents, self.joint_parents)


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write an FBX file.

    A clip read from FBX goes back into its own file: the motion becomes the first animation and replaces one of the
    same name; the rest of the file is unchanged. Any other clip becomes a new binary file of its joints and meshes.

    Args:
        clip: What to write.
        stream: The file to write to.
        options: The file's name; unit and up axis of a new file.

    Returns:
        What FBX could not hold, a sentence each.
    """
    layout = clip.layout if isinstance(clip.layout, FbxLayout) and clip.layout.fits(clip.skeleton) else None
    if layout is None:
        return tuple(write_scene(clip, stream, options))
    notes = []
    if (options.unit or clip.unit) != clip.unit or (options.up or clip.up) != clip.up:
        notes.append(f"the character's own file keeps its unit ({name_unit(clip.unit)}) and its up axis ({clip.up})")
    if clip.motion is None or clip.motion is layout.motion:
        if clip.motion is None and layout.skeleton is not None and clip.skeleton is not layout.skeleton:
            notes.append(
                "without a motion the character's own file is written as it is: bones of other lengths are not kept"
            )
        stream.write(layout.data)
        return tuple(notes)
    try:
        notes += _insert_motion(clip.motion, layout, _motion_name(clip, options), stream, bake=options.bake)
    except (DocumentError, UnicodeError) as problem:
        notes.append(f"the character's own file could not be changed ({problem}); a new file is written")
        return (*notes, *write_scene(clip, stream, options))
    return tuple(notes)


def _motion_name(clip: Clip, options: WriteOptions) -> str:
    """The name of the animation. A motion with the name of its character is called like the file, which says more."""
    assert clip.motion is not None
    name = clip.motion.name if clip.motion.name != clip.skeleton.name else PurePath(options.path).stem
    return name or "motion"


def _insert_motion(motion: Motion, layout: FbxLayout, name: str, stream: BinaryIO, *, bake: bool) -> list[str]:
    """Write the character's own file with a motion; returns what is not kept."""
    document = parse(layout.data)
    if document.version < MIN_VERSION:
        raise DocumentError(f"its version is {document.version / 1000:.1f}, older than {MIN_VERSION / 1000:.1f}")
    for section in ("Objects", "Connections"):
        if document.top(section) is None:
            raise DocumentError(f"it has no `{section}`")
    table = ModelTable(document)
    numbers = table.match(layout.names, layout.parents)
    nodes, cleared, resized = _make_curves(motion, layout, table, numbers, bake=bake)
    scales = _constant_scales(document, table, resized)
    if scales is None:
        nodes, cleared, resized = _make_curves(motion, layout, table, numbers, bake=bake, resize=False)
    above = {numbers[node] for joint in layout.nodes if joint != NO_NODE for node in _above(layout.parents, joint)}
    moving = {number for number in above if number is not None}
    removed, kept = _old_animation(document, name, moving)
    removed |= scales or set()
    nodes = _with_held(nodes, document, table, moving, removed)
    kept = [number for number in kept if number not in removed]
    free = _free_numbers(document)
    animation = make_animation(name, motion.fps, motion.num_frames, nodes, free, document.second)
    animation.links += [link(number, animation.layer) for number in kept]
    changes = _Changes(
        sections=_change_lists(document, name, motion.fps, animation, removed),
        animation=animation, removed=removed, cleared=cleared, resized=resized,
    )  # fmt: skip
    if document.text is None:
        write_binary(_with_changes(document, changes), stream)
    else:
        stream.write(_splice(document, changes).encode("utf-8", errors="surrogateescape"))
    return [text.format(count=len(group)) for text, group in ((AMBIGUOUS, cleared), (RESIZED, resized)) if group]


AMBIGUOUS = "the file's own rotation orders of {count} joints, which programs read differently, became plain X, Y, Z"
RESIZED = "{count} joints that repeated their parent's scale now inherit it: their size is the same, in Blender too"


@record
class _Changes:
    """What becomes different in a file."""

    sections: dict[str, FbxRecord]
    """Short sections of the file as they will be."""
    animation: Animation
    """The records to add."""
    removed: set[int]
    """The numbers of objects to remove."""
    cleared: set[int]
    """The numbers of nodes that lose their fixed rotations and their rotation order."""
    resized: set[int]
    """The numbers of nodes that inherit their parent's scale from now on."""

    def made_plain(self, item: FbxRecord) -> FbxRecord:
        """An object as it will be: a node may lose what programs read differently."""
        number = item.value(0)
        properties = {
            **(CLEARED if number in self.cleared else {}),
            **(SCALE_INHERITED if number in self.resized else {}),
        }
        return _with_properties(item, properties) if properties else item


def _above(parents: list[int], node: int) -> Iterator[int]:
    """A node and all nodes above it, without the scene's root."""
    while node > 0:
        yield node
        node = parents[node]


def _make_curves(
    motion: Motion, layout: FbxLayout, table: ModelTable, numbers: list[int | None], *, bake: bool, resize: bool = True
) -> tuple[list[NodeCurves], set[int], set[int]]:
    """The curves of each joint that has a node, and the nodes whose rotations or scales have to be made plain.

    Positions are exact for any scales and pivots: each node is placed relative to the actual matrix of its parent.
    """
    pose = fk(motion)
    file_from_world = np.linalg.inv(layout.to_world)
    linear = file_from_world[:3, :3]
    positions = np.einsum("ij,fkj->fki", linear, pose.positions) + file_from_world[:3, 3]
    min_translation = MIN_TRANSLATION_PER_BODY_SIZE * float(np.ptp(motion.skeleton.rest_world[0], axis=0).max())
    still = _place_all_still(layout, table, numbers)
    placed: dict[int, Placed] = {0: WORLD}
    curves, cleared, resized = [], set(), set()
    for joint, node in enumerate(layout.nodes):
        if node == NO_NODE:
            continue
        number, transform = numbers[node], still[node]
        if number is None or transform is None:
            raise DocumentError(f"the node of joint `{layout.joint_names[joint]}` was not recognised in it")
        if transform.ambiguous:
            transform = transform.plain()
            cleared.add(number)
        parent = _placed_parent(layout, still, placed, layout.parents[node])
        inherits = inheriting(transform, parent) if resize else None
        if inherits is not None:
            transform = inherits
            resized.add(number)
        wanted = make_affine(
            linear @ to_matrix(pose.rotations[:, joint]) @ layout.stretches[joint], positions[:, joint]
        )
        rotations, origins = local_values(transform, parent, wanted)
        placed[node] = place(transform, parent, rotations, origins)
        translations = origins - transform.shift(rotations)
        unit = float(np.cbrt(abs(np.linalg.det(layout.to_world[:3, :3] @ layout.worlds[layout.parents[node]][:3, :3]))))
        moves = bake or unit * np.abs(translations - transform.translation).max() > min_translation
        angles = transform.animated_angles(rotations)
        curves.append(NodeCurves(node=number, angles=angles, translations=translations if moves else None))
    return curves, cleared, resized


def _placed_parent(
    layout: FbxLayout, still: list[NodeTransform | None], placed: dict[int, Placed], node: int
) -> Placed:
    """A parent in the world: a joint that was placed before, or a node that keeps its place below one."""
    chain = []
    while node not in placed:
        chain.append(node)
        node = layout.parents[node]
    for below in reversed(chain):
        transform = still[below]
        if transform is None:
            raise DocumentError(f"node `{layout.names[below]}` was not recognised in it")
        placed[below] = place_still(transform, placed[node])
        node = below
    return placed[node]


def _place_all_still(layout: FbxLayout, table: ModelTable, numbers: list[int | None]) -> list[NodeTransform | None]:
    """The transform of every node that a joint needs, as understood here; None for other nodes.

    Raises:
        DocumentError: A node is not where the reader's library puts it, so its transform is not understood.
    """
    needed = sorted({node for joint in layout.nodes if joint != NO_NODE for node in _above(layout.parents, joint)})
    size = float(np.abs(layout.worlds[needed, :3, 3]).max(initial=0.0)) + 1e-9
    out: list[NodeTransform | None] = [None] * len(layout.names)
    placed: dict[int, Placed] = {0: WORLD}
    for node in sorted(needed, key=lambda node: sum(1 for _ in _above(layout.parents, node))):
        number = numbers[node]
        if number is None:
            raise DocumentError(f"node `{layout.names[node]}` was not recognised in it")
        expected = layout.worlds[node]
        tolerance = np.array(
            [[MAX_STILL_ERROR * (1.0 + np.abs(expected[:3, :3]).max())] * 3 + [MAX_STILL_ERROR * size]]
        )
        # Programs differ in whether fixed rotations count where a node says that they are not active.
        for active in (None, True):
            transform = table.transform(number, active=active)
            result = place_still(transform, placed[layout.parents[node]])
            if np.all(np.abs(result.matrix - expected)[:3] <= tolerance):
                out[node], placed[node] = transform, result
                break
        else:
            raise DocumentError(f"the transform of node `{layout.names[node]}` was not understood")
    return out


def _free_numbers(document: FbxDocument) -> Iterator[int]:
    """Numbers for new objects."""
    objects = document.top("Objects")
    used = [item.value(0) for item in objects.children] if objects is not None else []
    largest = max((number for number in used if isinstance(number, int)), default=0)
    return count(max(largest, FIRST_NUMBER) + 1)


def _old_animation(document: FbxDocument, name: str, moving: set[int]) -> tuple[set[int], list[int]]:
    """What an animation of the same name consists of.

    Args:
        document: The file.
        name: The name of the animation.
        moving: The nodes that move the character.

    Returns:
        The objects to remove, and the animated properties of other things, which are kept.
    """
    objects, connections = document.top("Objects"), document.top("Connections")
    assert objects is not None
    assert connections is not None
    kinds = {item.value(0): item.name for item in objects.children if item.name in KINDS}
    stacks = {
        item.value(0) for item in objects.all("AnimationStack") if name_of(item).strip() == name.strip()
    }  # fmt: skip
    links = [(item.value(1), item.value(2)) for item in connections.all("C")]
    layers = {below for below, above in links if above in stacks and kinds.get(below) == "AnimationLayer"}
    properties = [below for below, above in links if above in layers and kinds.get(below) == "AnimationCurveNode"]
    moved = {below for below, above in links if above in moving}
    gone = {number for number in properties if number in moved}
    curves = {below for below, above in links if above in gone and kinds.get(below) == "AnimationCurve"}
    return stacks | layers | gone | curves, [number for number in properties if number not in gone]


def _with_held(
    nodes: list[NodeCurves], document: FbxDocument, table: ModelTable, moving: set[int], removed: set[int]
) -> list[NodeCurves]:
    """Curves of nodes, with a key for what other animations of the file move and this one does not.

    A program that goes from one animation to another would leave it where the other one has put it.

    Args:
        nodes: The curves of the joints.
        document: The file.
        table: Its nodes.
        moving: The nodes that move the character.
        removed: The objects that are removed from the file.
    """
    connections = document.top("Connections")
    assert connections is not None
    by_node = {item.node: item for item in nodes}
    for item in connections.all("C"):
        below, number, prop = item.value(1), item.value(2), item.value(3)
        field = PROPERTIES.get(str(prop))
        if field is None or not isinstance(number, int) or number not in moving or below in removed:
            continue
        curves = by_node.get(number, NodeCurves(node=number))
        if getattr(curves, field) is None:
            transform = table.transform(number)
            still = {"translations": transform.translation, "angles": transform.angles, "scales": transform.scale}
            held: dict[str, Any] = {field: still[field][None]}
            by_node[number] = replace(curves, **held)
    return list(by_node.values())


def _constant_scales(document: FbxDocument, table: ModelTable, nodes: set[int]) -> set[int] | None:
    """The objects that animate the scales of nodes, if all of them hold the node's scale; None if one has another."""
    objects, connections = document.top("Objects"), document.top("Connections")
    assert objects is not None
    assert connections is not None
    links = [(item.value(1), item.value(2), item.value(3)) for item in connections.all("C")]
    scales = {
        below: table.transform(above).scale for below, above, prop in links if above in nodes and prop == "Lcl Scaling"
    }
    curves = {
        below: (above, "XYZ".index(prop[-1]))
        for below, above, prop in links
        if above in scales and prop in ("d|X", "d|Y", "d|Z")
    }
    held: dict[int, set[int]] = {number: set() for number in scales}
    for item in objects.children:
        number = item.value(0)
        if number in curves:
            owner, axis = curves[number]
            values = item.child("KeyValueFloat")
            keys = np.zeros(1) if values is None else values.numbers()
            if not np.all(np.abs(keys - scales[owner][axis]) <= MAX_STILL_ERROR * scales[owner][axis]):
                return None
            held[owner].add(axis)
    for item in objects.children:
        number = item.value(0)
        if number in scales:
            properties = properties_of(item)
            for axis in {0, 1, 2} - held[number]:
                value = properties.get(f"d|{'XYZ'[axis]}", [0.0])[0]
                difference = value - scales[number][axis] if isinstance(value, int | float) else np.inf
                if abs(difference) > MAX_STILL_ERROR * scales[number][axis]:
                    return None
    return {*scales, *curves}


def _change_lists(
    document: FbxDocument, name: str, fps: float, animation: Animation, removed: set[int]
) -> dict[str, FbxRecord]:
    """The short sections of the file with the new animation: counts of objects, takes, what is shown, frame rate."""
    changed = {}
    definitions = document.top("Definitions")
    if definitions is not None:
        changed["Definitions"] = _with_counts(definitions, document, animation, removed)
    takes = document.top("Takes")
    if takes is not None:
        others = [item for item in takes.children if item.name == "Take" and item.value(0) != name]
        changed["Takes"] = replace_children(takes, [fbx_record("Current", name), make_take(name, animation), *others])
    documents = document.top("Documents")
    if documents is not None:
        changed["Documents"] = replace_children(documents, [_with_active(item, name) for item in documents.children])
    settings = document.top("GlobalSettings")
    table = None if settings is None else settings.child("Properties70")
    if settings is not None and table is not None:
        changed["GlobalSettings"] = replace_children(
            settings, [_with_rate(item, fps) if item is table else item for item in settings.children]
        )
    return changed


def _with_active(item: FbxRecord, name: str) -> FbxRecord:
    """A scene of the file that shows the animation of a name when it is opened."""
    table = item.child("Properties70")
    if item.name != "Document" or table is None:
        return item
    active = fbx_record("P", "ActiveAnimStackName", "KString", "", "", name)
    entries = [entry for entry in table.children if entry.value(0) != active.value(0)]
    shown = replace_children(table, [*entries, active])
    return replace_children(item, [shown if below is table else below for below in item.children])


def replace_children(item: FbxRecord, children: list[FbxRecord]) -> FbxRecord:
    """A record with other records below it."""
    return replace(item, children=children, braces=True)


def _with_rate(table: FbxRecord, fps: float) -> FbxRecord:
    """The scene's properties with the frame rate of the animation."""
    rate, mode = usual_rate(fps)
    wanted = {
        "TimeMode": fbx_record("P", "TimeMode", "enum", "", "", mode),
        "CustomFrameRate": fbx_record("P", "CustomFrameRate", "double", "Number", "", float(rate)),
    }
    entries = [wanted.pop(str(item.value(0)), item) for item in table.children]
    return replace_children(table, [*entries, *wanted.values()])


def _with_counts(definitions: FbxRecord, document: FbxDocument, animation: Animation, removed: set[int]) -> FbxRecord:
    """The list of classes with the counts of objects as they will be."""
    objects = document.top("Objects")
    assert objects is not None
    more = {kind: animation.count(kind) for kind in KINDS}
    for item in objects.children:
        if item.name in KINDS and item.value(0) in removed:
            more[item.name] -= 1
    total = sum(more.values())
    children = []
    for item in definitions.children:
        kind = str(item.value(0)) if item.name == "ObjectType" else ""
        added = more.pop(kind, 0) if kind else total if item.name == "Count" else 0
        children.append(_with_larger_count(item, added) if added else item)
    for kind, number in more.items():
        if number > 0:
            children.append(fbx_record("ObjectType", kind, children=[fbx_record("Count", number)]))
    return replace_children(definitions, children)


def _with_larger_count(item: FbxRecord, added: int) -> FbxRecord:
    if item.name == "Count":
        old = item.value(0)
        return fbx_record("Count", old + added) if isinstance(old, int) else item
    return replace_children(
        item, [_with_larger_count(below, added) if below.name == "Count" else below for below in item.children]
    )


def _with_changes(document: FbxDocument, changes: _Changes) -> FbxDocument:
    """The document with the animation as the first of its objects."""
    children = []
    for item in document.root.children:
        if item.name == "Objects":
            kept = [below for below in item.children if below.value(0) not in changes.removed]
            item = replace_children(item, [*changes.animation.objects, *(changes.made_plain(below) for below in kept)])
        elif item.name == "Connections":
            kept = [below for below in item.children if not _touches(below, changes.removed)]
            item = replace_children(item, [*kept, *changes.animation.links])
        children.append(changes.sections.get(item.name, item))
    return replace(document, root=replace_children(document.root, children))


def _touches(connection: FbxRecord, removed: set[int]) -> bool:
    return connection.value(1) in removed or connection.value(2) in removed


ZEROS, ONES = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)

CLEARED = {
    "RotationOrder": fbx_record("P", "RotationOrder", "enum", "", "", 0),
    "PreRotation": fbx_record("P", "PreRotation", "Vector3D", "Vector", "", *ZEROS),
    "PostRotation": fbx_record("P", "PostRotation", "Vector3D", "Vector", "", *ZEROS),
}
"""The properties of a node without fixed rotations, whose rotation order is X, Y, Z."""

SCALE_INHERITED = {
    "InheritType": fbx_record("P", "InheritType", "enum", "", "", SCALE_BY_MATRIX),
    "Lcl Scaling": fbx_record("P", "Lcl Scaling", "Lcl Scaling", "", "A", *ONES),
}
"""The properties of a node that has the scale of its parent."""


def _with_properties(node: FbxRecord, properties: dict[str, FbxRecord]) -> FbxRecord:
    """A node with some properties set."""
    children, wanted = [], dict(properties)
    for item in node.children:
        if item.name == "Properties70":
            entries = [wanted.pop(str(entry.value(0)), entry) for entry in item.children]
            item = replace_children(item, [*entries, *wanted.values()])
        children.append(item)
    return replace_children(node, children)


def _splice(document: FbxDocument, changes: _Changes) -> str:
    """The text of the document with the animation."""
    text = document.text or ""
    edits: list[tuple[int, int, str]] = []
    for item in document.root.children:
        if item.name in changes.sections:
            edits.append((*item.span, to_text(changes.sections[item.name], 0).rstrip("\n")))
        elif item.name == "Objects":
            new = "".join(to_text(below, 1) for below in changes.animation.objects)
            edits.append((item.inside[0], item.inside[0], "\n" + new))
            for below in item.children:
                if below.value(0) in changes.removed:
                    edits.append((*below.span, ""))
                elif changes.made_plain(below) is not below:
                    edits.append((*below.span, to_text(changes.made_plain(below), 1).strip()))
        elif item.name == "Connections":
            new = "".join(to_text(below, 1) for below in changes.animation.links)
            edits.append((item.inside[1], item.inside[1], new))
            edits += [(*below.span, "") for below in item.children if _touches(below, changes.removed)]
    parts, reached = [], 0
    for start, end, new in sorted(edits):
        parts += [text[reached:start], new]
        reached = end
    return "".join([*parts, text[reached:]])
