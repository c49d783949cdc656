"""Two bodies laid side by side: how the pairs of a map hang together, and where their bones point in a pose of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.body import is_humanoid
from understudy.geometry.quaternion import Array, from_axis_angle, from_matrix, multiply, rotate
from understudy.kinematics import Pose
from understudy.records import remembered
from understudy.skeleton import JointKind
from understudy.symmetry import partners
from understudy.transfer.correspondence import Correspondence, Pair, is_chain
from understudy.transfer.reference import posed, with_limbs_hanging

ALIKE = np.radians(45.0)
"""How far apart two bodies' trunks and limbs may point in their reference poses and still stand alike."""
UP = np.array([0.0, 1.0, 0.0])
SWINGS = 0.9
"""Cosine between a hinge's axis and the bone from which on it only turns the bone about its own length."""
SHORT = 1e-6
"""Metres below which a bone has no direction."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout:
    """A map of bones and a pose of each of its two bodies."""

    correspondence: Correspondence
    source: Array
    """(J, 4) local rotations."""
    target: Array
    """(J, 4) local rotations."""
    upright: bool
    """Whether in both poses up is up."""
    level: bool = False
    """Whether both are rest poses that stand: with feet flat on the floor and the head held straight."""

    def resting(self) -> Layout:
        """The same bodies as they stand when they do nothing."""
        return Layout(
            correspondence=self.correspondence,
            source=with_limbs_hanging(self.correspondence.source, self.source),
            target=with_limbs_hanging(self.correspondence.target, self.target),
            upright=self.upright,
            level=self.level,
        )

    @property
    def root(self) -> Pair:
        assert self.correspondence.root is not None
        return self.correspondence.root

    @remembered
    def poses(self) -> dict[str, Pose]:
        """Both bodies by side, the target turned to face as the source does."""
        source = posed(self.correspondence.source, self.source)
        target = posed(self.correspondence.target, self.target)
        turned = self.target.copy()
        turned[0] = multiply(self._facing(source, target), target.rotations[0, 0])
        return {"source": source, "target": posed(self.correspondence.target, turned)}

    def _facing(self, source: Pose, target: Pose) -> Array:
        """(4,) the turn of the whole target after which its left is the source's left, and up is up."""
        both = (("source", source), ("target", target))
        a, b = (self._across(side, pose) for side, pose in both)
        if not self.upright or min(np.linalg.norm(a[:, [0, 2]]), np.linalg.norm(b[:, [0, 2]])) < SHORT:
            # A flat figure has no sides: how all its bones lie has to do.
            a, b = (self._around(side, pose) for side, pose in both)
        if self.upright:
            # Seen from above: along z + i x a turn to the left counts as positive.
            turn = complex(np.sum((b[:, 2] + 1j * b[:, 0]).conj() * (a[:, 2] + 1j * a[:, 0])))
            return from_axis_angle(UP, float(np.angle(turn)) if abs(turn) > 1e-9 else 0.0)
        left, _, right = np.linalg.svd(a.T @ b)
        keep = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
        return from_matrix(left @ keep @ right)

    def _across(self, side: str, pose: Pose) -> Array:
        """(N, 3) lines from limb to limb of a pair.

        Each by itself: which of two limbs comes first may differ from pair to pair, and a sum would cancel.
        """
        index = pose.skeleton.index
        starts = [[index[getattr(p, side)[0]] for p in run[:2]] for run in self.limbs]
        lines = [
            pose.positions[0, starts[a][k]] - pose.positions[0, starts[b][k]]
            for a, b in self._twins
            for k in range(min(len(starts[a]), len(starts[b])))
        ]
        return np.array(lines).reshape(-1, 3)

    def _around(self, side: str, pose: Pose) -> Array:
        """(N, 3) how all bones lie about their middle, in sizes of the body."""
        bones = [bones[end] for end in (0, -1) for bones in (getattr(p, side) for p in self.correspondence.pairs)]
        place = pose.positions[0, [pose.skeleton.index[bone] for bone in bones]]
        around = place - place.mean(0)
        return around / max(float(np.linalg.norm(around)), 1e-12)

    @remembered
    def _twins(self) -> list[tuple[int, int]]:
        """Numbers of limbs that are partners on the target, one of each side; the order is the same for both bodies."""
        other = partners(self.correspondence.target)
        index = self.correspondence.target.index
        tops = {index[run[0].target[0]]: number for number, run in enumerate(self.limbs)}
        return [(n, tops[int(other[j])]) for j, n in tops.items() if int(other[j]) in tops and other[j] > j]

    @remembered
    def parents(self) -> dict[Pair, Pair | None]:
        """The pair that each pair hangs from on the target."""
        skeleton = self.correspondence.target
        owner = {skeleton.index[bone]: pair for pair in self.correspondence.pairs for bone in pair.target}
        found: dict[Pair, Pair | None] = {}
        for pair in self.correspondence.pairs:
            above = skeleton.chain(skeleton.index[pair.target[0]])[:-1]
            found[pair] = next((owner[j] for j in reversed(above) if j in owner and owner[j] is not pair), None)
        return found

    @remembered
    def children(self) -> dict[Pair, list[Pair]]:
        """The pairs that hang from each pair on the target."""
        found: dict[Pair, list[Pair]] = {pair: [] for pair in self.correspondence.pairs}
        for pair, above in self.parents.items():
            if above is not None:
                found[above].append(pair)
        return found

    @remembered
    def limbs(self) -> list[list[Pair]]:
        """Runs of pairs that do not branch: each limb, the trunk, the neck; first the root, alone."""
        runs = [[self.root]]
        for pair in self.correspondence.ordered:
            above = self.parents[pair]
            if above is not None and (above is self.root or len(self.children[above]) > 1):
                run = [pair]
                while len(self.children[run[-1]]) == 1:
                    run.append(self.children[run[-1]][0])
                runs.append(run)
        return runs

    @remembered
    def _sided(self) -> np.ndarray:
        pair = partners(self.correspondence.target)
        return pair != np.arange(len(pair))

    def sided(self, pair: Pair) -> bool:
        """Whether a pair belongs to one side of the target's body."""
        return bool(self._sided[self.correspondence.target.index[pair.target[0]]])

    def place(self, side: str, bone: str) -> Array:
        """(3,) where a bone starts."""
        pose = self.poses[side]
        return pose.positions[0, pose.skeleton.index[bone]]

    def _tip(self, side: str, bone: str) -> Array | None:
        """(3,) the middle of what a bone itself carries: the next joints, else its ends."""
        pose = self.poses[side]
        joint = pose.skeleton.index[bone]
        below = [j for j in pose.skeleton.children[joint] if pose.skeleton.lengths[j] > SHORT]
        ends = [end for end in pose.skeleton.ends if end.joint == bone]
        if below:
            return pose.positions[0, below].mean(0)
        return _middle(pose.positions[0, joint], pose.points(ends)[0]) if ends else None

    def far(self, pair: Pair, side: str) -> Array | None:
        """(3,) where the bones of a pair lead: to the pairs that hang from it; at a limb's end to its tip."""
        below = self.children[pair]
        if pair is self.root:
            # The hips lead up the trunk: along the middle, the way that carries most, to where it branches.
            trunk = sorted((p for p in below if not self.sided(p)), key=lambda p: -self._weight(p))[:1]
            run = next((run for run in self.limbs if run[:1] == trunk), [])
            return self.far(run[-1], side) if run else None
        if below:
            return np.mean([self.place(side, getattr(p, side)[0]) for p in below], axis=0)
        if any(self._tip(s, getattr(pair, s)[-1]) is None for s in ("source", "target")):
            return None
        return self._tip(side, getattr(pair, side)[-1])

    def _weight(self, pair: Pair) -> int:
        return 1 + sum(self._weight(below) for below in self.children[pair])

    def chord(self, pair: Pair, side: str, last: Pair | None = None) -> Array | None:
        """(3,) unit direction from a pair's first bone to where it, or a later one of its limb, leads."""
        bones = getattr(pair, side)
        if not is_chain(self.poses[side].skeleton, bones):
            return _unit(sum(d for bone in bones if (d := self.bone(side, bone)) is not None))
        end = self.far(last or pair, side)
        if end is None and last is not None and last is not pair:
            end = self.place(side, getattr(last, side)[-1])
        return None if end is None else _unit(end - self._start(side, bones, end))

    def _start(self, side: str, bones: tuple[str, ...], end: Array) -> Array:
        """(3,) where bones begin that lead to an end: of hinges in a row, the last that swings what follows.

        Robots set the hinges of a hip or shoulder apart; only from the last on, save one that turns the bone about its
        own length, is there a bone that points.
        """
        pose = self.poses[side]
        skeleton = pose.skeleton
        joints = [skeleton.index[bone] for bone in bones]
        if any(skeleton.kinds[joint] is not JointKind.HINGE for joint in joints):
            return self.place(side, bones[0])
        for joint in reversed(joints):
            way = _unit(end - pose.positions[0, joint])
            axis = rotate(pose.rotations[0, joint], skeleton.axes[joint, 0])
            if way is not None and abs(float(axis @ way)) < SWINGS:
                return pose.positions[0, joint]
        return self.place(side, bones[0])

    def bone(self, side: str, bone: str) -> Array | None:
        """(3,) unit direction of one bone by itself."""
        tip = self._tip(side, bone)
        return None if tip is None else _unit(tip - self.place(side, bone))

    @remembered
    def alike(self) -> bool:
        """Whether both bodies stand in the same way: humans do, others if their limbs and trunks point alike."""
        if is_humanoid(self.correspondence.source) and is_humanoid(self.correspondence.target):
            return True
        return all(self._apart(run[0], run[-1]) < ALIKE for run in self.limbs[1:])

    @remembered
    def trunks_alike(self) -> bool:
        """Whether both trunks rise, or lie, in the same way."""
        return self._apart(self.root, self.root) < ALIKE

    def _apart(self, first: Pair, last: Pair) -> float:
        """Radians between the two sides of a limb; 0 where that cannot be told."""
        a, b = (self.chord(first, side, last) for side in ("source", "target"))
        return 0.0 if a is None or b is None else float(np.arccos(np.clip(a @ b, -1.0, 1.0)))


def _middle(start: Array, ends: Array) -> Array:
    """(3,) where a bone from a place leads that has ends (E, 3): their middle, by direction alone where they fan out.

    The lobes of a tail fin are of different length; the fin still points straight back.
    """
    ways = ends - start
    sizes = np.linalg.norm(ways, axis=-1, keepdims=True)
    units = ways / np.maximum(sizes, SHORT)
    if sizes.min() < SHORT or (units @ units.T).min() > 0.0:
        return ends.mean(0)
    return start + sizes.mean() * units.mean(0)


def _unit(v: Array | int) -> Array | None:
    size = float(np.linalg.norm(v))
    return None if size < SHORT else np.asarray(v, float) / size
