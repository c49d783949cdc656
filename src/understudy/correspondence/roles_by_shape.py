"""Gives a body whose names say nothing the roles of its joints, found by its shape."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from understudy.correspondence.by_name import plan_by_names
from understudy.correspondence.by_shape import plan_by_shape
from understudy.correspondence.parts import BodyPlan, Limb, standing_pose
from understudy.figure.motion import Motion
from understudy.figure.roles import meet, roles
from understudy.figure.skeleton import Skeleton

KINDS = ("biped", "quadruped")
"""Kinds of bodies that have the roles of a human: two pairs of limbs, and a trunk between them."""

LIMB_ROLES = {
    "leg": {"upper": "upper_leg", "lower": "lower_leg", "end": "foot", "tip": "toe"},
    "arm": {"upper": "upper_arm", "lower": "lower_arm", "end": "hand"},
}
"""Roles of the first joint of each part of a limb; the forelegs of an animal have the roles of arms."""


def with_roles(skeleton: Skeleton, motion: Motion | None = None) -> Skeleton:
    """The skeleton, with the roles of its joints if its names do not give them and its shape does.

    Args:
        skeleton: The body.
        motion: A motion of the body, which shows how it stands if its rest pose does not.
    """
    if skeleton.role_joints:
        return skeleton
    return _with_roles(skeleton, motion)


@lru_cache(maxsize=32)
def _with_roles(skeleton: Skeleton, motion: Motion | None) -> Skeleton:
    pose = standing_pose(skeleton, motion)
    if plan_by_names(skeleton, pose) is not None:
        return skeleton
    plan, named = plan_by_shape(skeleton, pose), roles(skeleton)
    if plan.kind == "quadruped" and named:
        # The names of an animal's parts mean other joints than a human's; where there are some, they are believed.
        return skeleton
    found = roles_of_plan(plan)
    found = found | named if found else {}
    return replace(skeleton, role_joints={role: skeleton.names[joint] for role, joint in found.items()})


def roles_of_plan(plan: BodyPlan) -> dict[str, int]:
    """The joint of each role in a body plan; empty for a body that is no human and no animal on four legs."""
    if plan.kind not in KINDS or len(plan.limbs) < 2 or not plan.sure_sides:
        return {}
    joints: dict[str, int] = {}
    for kind, pair in (("leg", plan.limbs[0]), ("arm", plan.limbs[-1])):
        for limb in pair:
            joints |= {f"{limb.side}_{role}": joint for role, joint in _limb_roles(limb, kind).items()}
    return joints | _trunk_roles(plan, joints)


def _limb_roles(limb: Limb, kind: str) -> dict[str, int]:
    joints = {role: limb.parts[part][0] for part, role in LIMB_ROLES[kind].items() if limb.parts.get(part)}
    if kind == "arm" and limb.parts.get("girdle"):
        joints["shoulder"] = limb.parts["girdle"][-1]
    return joints


def _trunk_roles(plan: BodyPlan, limbs: dict[str, int]) -> dict[str, int]:
    hips, chest = (
        meet(plan.skeleton, limbs.get(f"left_{part}", plan.root), limbs.get(f"right_{part}", plan.root))
        for part in ("upper_leg", "upper_arm")
    )
    # Hips that carry legs alone are no hips, unless the arms hang from the root: that is a chest with a waist below.
    joints = {"hips": hips if chest == plan.root else plan.root}
    joints |= {"chest": chest} if chest != joints["hips"] else {}
    if plan.trunk.get("spine"):
        joints["spine"] = plan.trunk["spine"][0]
    if plan.trunk.get("neck"):
        joints["neck"] = plan.trunk["neck"][0]
    if plan.trunk.get("head"):
        joints["head"] = plan.trunk["head"][0]
    if plan.trunk.get("tail"):
        joints["tail"] = plan.trunk["tail"][0]
    return joints
