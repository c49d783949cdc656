"""Similarity: how far a result is from its source's movement."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array, angle_between, conjugate, cross, from_axis_angle, multiply, rotate
from understudy.base.records import record
from understudy.correspondence.pairs import is_ancestor, is_chain
from understudy.figure.kinematics import forward
from understudy.figure.measures import UP, height, partners
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric
from understudy.metrics.comparison import Comparison
from understudy.metrics.guard import compare_sides

MIN_BONE_HEIGHTS = 0.02
"""Length, in body heights, below which a bone has no reliable direction."""

MIRROR = np.array([-1.0, 1.0, 1.0])


@record
class Directions:
    """Unit directions of bones in the world, of result and source."""

    bones: tuple[int, ...]
    """(B,) joints of the result's skeleton that rotate the bones."""
    result: Array
    """(F, B, 3) on the result."""
    source: Array
    """(F, B, 3) on the source, transferred to the result's body."""

    def angles(self, offset: Array | float) -> Array:
        """(F, B) radians between the two with the source rotated about the vertical by one or (F,) angles."""
        turned = rotate(_about_up(offset), self.source)
        return angles_between(self.result, turned)

    def mirrored_angles(self, headings: Array, source_headings: Array, partner: np.ndarray) -> Array:
        """(F, B) radians relative to the headings (F,) of the bodies, with the source's sides exchanged."""
        result, source = rotate(_about_up(-headings), self.result), rotate(_about_up(-source_headings), self.source)
        column = {joint: i for i, joint in enumerate(self.bones)}
        other = [column.get(int(partner[joint]), i) for i, joint in enumerate(self.bones)]
        return angles_between(result, source[:, other] * MIRROR)


def _about_up(angle: Array | float) -> Array:
    turn = from_axis_angle(UP, np.asarray(angle, float))
    return turn[:, None] if turn.ndim > 1 else turn


def angles_between(a: Array, b: Array) -> Array:
    """(...,) radians between unit vectors (..., 3)."""
    return np.arctan2(np.linalg.norm(cross(a, b), axis=-1), np.einsum("...i,...i->...", a, b))


def directions(case: Comparison) -> Directions:
    """Directions of all bones that are long enough and have a partner."""
    return _directions_same_structure(case) if case.same_structure else _directions_by_map(case)


def _directions_same_structure(case: Comparison) -> Directions:
    """Bones of the same structure: from each joint's parent to the joint."""
    assert case.source_pose is not None
    skeleton = case.result.skeleton
    shortest = MIN_BONE_HEIGHTS * height(skeleton)
    joints = [j for j in range(1, skeleton.num_joints) if skeleton.lengths[j] > shortest]
    joints = [j for j in joints if case.source_pose.skeleton.lengths[j] > 1e-6]
    parents = skeleton.parents[joints]
    result, source = (pose.positions[:, joints] - pose.positions[:, parents] for pose in (case.pose, case.source_pose))
    return Directions(bones=tuple(joints), result=_unit(result), source=_unit(source))


def _directions_by_map(case: Comparison) -> Directions:
    """Bones of a correspondence: rotated from the reference pose as their partners are from theirs."""
    assert case.source_pose is not None
    correspondence, alignment = case.correspondence, case.alignment
    bones, result, source = [], [], []
    for pair in correspondence.pairs:
        # Bones that are not a chain move one bone by their mean, which has no single direction.
        if not (is_chain(correspondence.source, pair.source) and is_chain(correspondence.target, pair.target)):
            continue
        source_joint, joint = correspondence.source.index[pair.source[-1]], correspondence.target.index[pair.target[-1]]
        bone = _bone_direction(case, joint)
        if bone is None:
            continue
        rest = rotate(alignment.target_world[joint], bone)
        turned = multiply(case.source_pose.rotations[:, source_joint], conjugate(alignment.source_world[source_joint]))
        frame = alignment.frames[joint]
        bones.append(joint)
        result.append(rotate(case.pose.rotations[:, joint], bone))
        source.append(rotate(multiply(multiply(frame, turned), conjugate(frame)), rest))
    shape = (case.result.num_frames, 0, 3)
    return Directions(
        bones=tuple(bones),
        result=np.stack(result, 1) if result else np.empty(shape),
        source=np.stack(source, 1) if source else np.empty(shape),
    )


def _bone_direction(case: Comparison, joint: int) -> Array | None:
    """(3,) unit direction, joint frame, of the longest bone of a joint; None if it is too short."""
    skeleton = case.result.skeleton
    candidates = [skeleton.offsets[child] for child in skeleton.children[joint]]
    candidates += [end.offset for end in skeleton.ends if end.joint == skeleton.names[joint]]
    longest = max(candidates, key=lambda candidate: float(np.linalg.norm(candidate)), default=np.zeros(3))
    size = float(np.linalg.norm(longest))
    return longest / size if size > MIN_BONE_HEIGHTS * height(skeleton) else None


def limb_ends(case: Comparison) -> list[tuple[int, int]]:
    """Joints of the result and of the source at the ends of limbs: pairs without child pairs."""
    assert case.source is not None
    if case.same_structure:
        skeleton = case.result.skeleton
        ends = [j for j in range(1, skeleton.num_joints) if not skeleton.children[j]]
        return [(j, j) for j in ends]
    correspondence = case.correspondence
    return [
        (correspondence.target.index[pair.target[-1]], correspondence.source.index[pair.source[-1]])
        for pair in correspondence.pairs
        if pair is not correspondence.root
        and not any(
            is_ancestor(correspondence.target, pair.target[-1], bone)
            for other in correspondence.pairs
            for bone in other.target
        )
    ]


def partner_joints(case: Comparison) -> np.ndarray:
    """(J,) the mirror partner of each joint of the result."""
    return partners(case.result.skeleton)


def _unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


MIN_TURNED_RADIANS = np.radians(15.0)
"""Difference of heading from which it is mentioned."""


@record(eq=True)
class Similarity(Metric):
    """Joint angles, bone directions and paths of limb ends against the source's."""

    name: ClassVar[str] = "similarity"
    title: ClassVar[str] = "similarity"
    remedy: ClassVar[str] = "look at which bones correspond (`understudy map`) and give the right ones with --map"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="direction", noticeable=10.0, bad=30.0),
        Grade(figure="end_path", noticeable=0.12, bad=0.25),
        Grade(figure="end_shift", noticeable=0.05, bad=0.15),
        Grade(figure="heading", noticeable=15.0, bad=60.0),
    )

    def measure(self, case: Comparison) -> Measurement:
        if case.resampled is None or case.headings is None:
            return self.not_measured("there is no source to compare with")
        headings, source_headings = case.headings
        turned = float(np.angle(np.mean(np.exp(1j * (headings - source_headings)))))
        bones = directions(case)
        if not bones.bones:
            return self.not_measured("no bone of the result corresponds to a single bone of the source")
        off = np.degrees(bones.angles(turned))
        local = None
        if case.same_structure:
            differences = np.degrees(angle_between(case.result.rotations[:, 1:], case.resampled.rotations[:, 1:]))
            local = float(differences.mean()) if differences.size else 0.0
        mirrored = float(np.degrees(bones.mirrored_angles(headings, source_headings, partner_joints(case))).mean())
        paths = self._end_distances(case, turned)
        figures = [
            Figure(name="local_angle", value=local, unit="degrees", about="mean difference of the joints' rotations"),
            Figure(name="direction", value=off.mean(), unit="degrees", about="mean angle between bones"),
            Figure(name="direction_p95", value=np.percentile(off, 95), unit="degrees", about="95th percentile of it"),
            Figure(name="end_path", value=None if paths is None else paths.mean(), unit="body heights",
                   about="mean distance of limbs' ends, seen from the root"),
            Figure(name="end_shift", value=self._end_shift(case, turned), unit="body heights",
                   about="mean distance of limbs' ends from where the source's angles have them on this body"),
            Figure(name="heading", value=np.degrees(abs(turned)), unit="degrees",
                   about="how far the whole result is turned about the vertical"),
            Figure(name="mirrored_direction", value=mirrored, unit="degrees",
                   about="mean angle between bones with the source's sides exchanged"),
        ]  # fmt: skip
        is_mirrored = bool(case.once(compare_sides)[0])
        joint = case.result.skeleton.names[bones.bones[int(np.argmax(off.mean(axis=0)))]]
        sentences = [f"bones point {off.mean():.1f} degrees off the source's on average, `{joint}` most"]
        sentences += [] if paths is None else [f"limbs' ends are {100.0 * paths.mean():.1f}% of the body's height off"]
        if abs(turned) > MIN_TURNED_RADIANS:
            sentences.append(f"the whole result is turned by {np.degrees(turned):.0f} degrees")
        sentences += ["left and right are exchanged"] if is_mirrored else []
        curves = [Curve(name="direction", values=off.mean(axis=1), unit="degrees")]
        curves += [] if paths is None else [Curve(name="end_path", values=paths.mean(axis=1), unit="body heights")]
        ends = () if case.loosely_matched else ("end_shift",) if case.same_structure else ("end_path",)
        words, judged = "; ".join(sentences), ("direction", "heading", *ends)
        return self.measurement(case, words, figures, curves, judged=judged, mirrored=is_mirrored, joint=joint)

    @staticmethod
    def _end_shift(case: Comparison, turned: float) -> float | None:
        """Mean body heights between limb ends of the result and those of the source's rotations on the same body."""
        pairs = limb_ends(case)
        if not pairs or not case.same_structure or case.resampled is None:
            return None
        root = np.zeros((case.result.num_frames, 3))
        copied = forward(case.result.skeleton, root, case.resampled.rotations, case.result.offsets)[0]
        ends = [a for a, _ in pairs]
        result_ends = case.pose.positions[:, ends] - case.pose.positions[:, :1]
        distances = np.linalg.norm(result_ends - rotate(from_axis_angle(UP, turned), copied[:, ends]), axis=-1)
        return float(distances.mean()) / height(case.result.skeleton)

    @staticmethod
    def _end_distances(case: Comparison, turned: float) -> Array | None:
        """(F, E) body heights between limb ends, each relative to the root and the height of its body."""
        pairs = limb_ends(case)
        if not pairs or case.resampled is None or case.source_pose is None:
            return None
        root, source_root = 0, 0
        if not case.same_structure:
            correspondence = case.correspondence
            assert correspondence.root is not None
            root = correspondence.target.index[correspondence.root.target[0]]
            source_root = correspondence.source.index[correspondence.root.source[0]]
        result_ends = case.pose.positions[:, [a for a, _ in pairs]] - case.pose.positions[:, [root]]
        source_ends = (
            case.source_pose.positions[:, [b for _, b in pairs]] - case.source_pose.positions[:, [source_root]]
        )
        source_ends = rotate(from_axis_angle(UP, turned), source_ends)
        return np.linalg.norm(
            result_ends / height(case.result.skeleton) - source_ends / height(case.resampled.skeleton), axis=-1
        )


METRIC = Similarity()
