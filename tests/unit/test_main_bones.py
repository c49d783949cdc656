"""The main bones of a body, and the roles of a body without names."""

from __future__ import annotations

import numpy as np
import pytest
from tests.variants import TRANSFORMS, hash_names, in_turn, walk

from understudy import samples
from understudy.correspondence.by_shape import with_roles
from understudy.figure.kinematics import fk
from understudy.figure.main_bones import main_bones
from understudy.figure.measures import is_humanoid, leg_length
from understudy.figure.roles import leaf_helpers, roles
from understudy.io import Clip


@pytest.mark.parametrize("transform", ["twist bones added", "helpers added", "bones split", "balls as hinges"])
def test_main_bones_are_those_of_the_plain_body(transform: str) -> None:
    clip, variant = walk(), TRANSFORMS[transform](walk(), 1)
    main = main_bones(variant.clip.skeleton)
    assert sorted(main.skeleton.names) == sorted(clip.skeleton.names)
    assert variant.clip.motion is not None
    assert clip.motion is not None
    pose, plain = fk(main.of_motion(variant.clip.motion)), fk(clip.motion)
    joints = [main.skeleton.index[name] for name in clip.skeleton.names]
    assert np.abs(pose.positions[:, joints] - plain.positions).max() < 1e-6
    assert main_bones(clip.skeleton).is_whole


def test_pose_of_main_bones_goes_to_the_body_and_back() -> None:
    variant = TRANSFORMS["balls as hinges"](walk(), 3)
    main = main_bones(variant.clip.skeleton)
    local = main.skeleton.rest
    back = main.of_pose(main.to_pose(local))
    assert np.abs(np.abs(np.sum(back * local, axis=-1)) - 1.0).max() < 1e-9


def test_a_human_without_names_has_the_roles_of_a_human() -> None:
    clip, variant = walk(), hash_names(walk(), 2)
    assert not is_humanoid(variant.clip.skeleton)
    body = with_roles(variant.clip.skeleton, variant.clip.motion)
    assert is_humanoid(body)
    assert {role: variant.origin[body.names[j]] for role, j in roles(body).items()} == {
        role: clip.skeleton.names[j] for role, j in roles(clip.skeleton).items()
    }
    assert leg_length(body) == pytest.approx(leg_length(clip.skeleton))
    assert with_roles(clip.skeleton, clip.motion) is clip.skeleton


def test_helpers_without_names_are_known_by_their_places() -> None:
    """A twist bone lies on a bone, a helper is short and ends beside it; a limb's own last bones are neither."""
    adult = hash_names(Clip(skeleton=samples.character("adult"))).clip.skeleton
    assert not leaf_helpers(adult)
    for added in ("twist bones added", "helpers added", "twist bones added + helpers added"):
        made = in_turn(*added.split(" + "), "names hashed")(Clip(skeleton=samples.character("adult")), 1)
        helpers = {made.clip.skeleton.names[joint] for joint in leaf_helpers(made.clip.skeleton)}
        assert helpers == set(made.clip.skeleton.names) - {
            made.joint[name] for name in samples.character("adult").names
        }
