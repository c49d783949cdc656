"""Tests that the program does not pass at present, each with what is beyond its bound."""

# ruff: noqa: E501

SINCE = "since limbs alone make contacts exact"
ENERGY = f"the energy of rotations above 4 Hz, or their jerk, is beyond its bound {SINCE}"
SPEED = f"a joint or a foot is faster than its bound {SINCE}; the cause is not known yet"
AGREEMENT = f"a window, a drag or another size differs from the whole solve by slightly more than its bound {SINCE}"
EXACT = f"a constraint or a verdict is beyond its bound {SINCE}"
NECK = "a neck of two bones follows the head of the source, and not the direction of its one bone"
METRIC = "the drift of a standing foot depends by two per cent on where the clip faces"

NEAR = "hands are moved to stay near the body, and a head over another neck follows the source's: bones turn further than the bound"
DIGIT = "the last digit of a number depends on the process"

FEWER = "contacts end nearer to their place and the last level is softer: a figure is slightly beyond its bound"
CLEAR = (
    "hands turn otherwise where a rest pose does not show where palms look, and arms keep those hands out of the body"
)
SLOWLY = "root and trunk move slowly where a user sets a constraint, too: it is felt by some centimetres a second away"
CHAIN = "the costs of the coordinates and the chains of the joints grow with the square of the joints"

TOES = "a toe turns by up to 43 degrees from one frame to the next where its foot meets or leaves the floor"
LOW_HEEL = (
    "feet of the child are tilted as those of the capture, and its own heels are below the ball: 15 mm in the floor"
)
RIGID = "a robot's rigid trunk turns as the hips of a dog that bends, 5.6 degrees against 5"

SHORTFALLS = {
    "tests/real/test_characters_real.py::test_a_dogs_walk_on_every_quadruped[robots/unitree_go2.xml-sample dog]": RIGID,
    "tests/real/test_metrics_real.py::test_per_frame_solving_shows_its_faults": FEWER,
    "tests/real/test_neutral_pose_real.py::test_joint_frames_and_rest_pose_do_not_matter[cmu_bvh/02_01.bvh-gltf/m2m_human_male.glb]": CLEAR,
    "tests/real/test_neutral_pose_real.py::test_joint_frames_and_rest_pose_do_not_matter[cmu_bvh/131_03.bvh-gltf/m2m_human_male.glb]": CLEAR,
    "tests/real/test_neutral_pose_real.py::test_joint_frames_and_rest_pose_do_not_matter[cmu_bvh/16_15.bvh-gltf/m2m_human_male.glb]": CLEAR,
    "tests/real/test_neutral_pose_real.py::test_the_heading_of_a_source_does_not_matter[gltf/m2m_human_male.glb]": FEWER,
    "tests/real/test_retarget_real.py::test_clip_on_other_bodies[88_01]": ENERGY,
    "tests/real/test_retarget_real.py::test_clip_on_other_bodies[115_06]": ENERGY,
    "tests/real/test_robots_real.py::test_a_flat_sole_stands_flat": FEWER,
    "tests/real/test_transfer_real.py::test_a_dog_and_a_human_play_each_other[human on dog-direction]": FEWER,
    "tests/unit/test_benchmarks_peers.py::test_bodies_show_who_skates_and_who_shakes": FEWER,
    "tests/unit/test_odd_rigs.py::test_long_chains_are_retargeted_in_time_in_proportion": CHAIN,
    "tests/unit/test_pipeline.py::test_a_hand_put_somewhere_leaves_the_rest_of_the_walk_where_it_was[1.5-3]": SLOWLY,
    "tests/property/test_neutral_pose_properties.py::test_a_retarget_does_not_depend_on_joint_frames": AGREEMENT,
    "tests/unit/test_stream.py::test_windows_agree_with_the_whole_solve": AGREEMENT,
    "tests/unit/test_stream.py::test_contacts_are_found_as_frames_arrive": AGREEMENT,
    "tests/paper/test_gleicher98_examples.py::test_differently_sized_figures_pick_up_the_box[stretched]": ENERGY,
    "tests/unit/test_benchmarks_peers.py::test_clean_motion_has_no_defects": SPEED,
    "tests/unit/test_benchmarks_peers.py::test_robot_without_mink_is_compared_with_what_is_there": SPEED,
    "tests/unit/test_metrics_defects.py::test_rigid_motion_of_the_world_changes_nothing[slide]": METRIC,
    "tests/real/test_papers_real.py::test_walks": ENERGY,
    "tests/real/test_transfer_real.py::test_humans_of_any_rig_do_the_same[xsens-back]": NECK,
    "tests/real/test_metrics_real.py::test_a_sound_result_on_another_structure_reads_good[02_01]": EXACT,
    "tests/real/test_metrics_real.py::test_a_sound_result_on_another_structure_reads_good[13_11]": EXACT,
    "tests/real/test_metrics_real.py::test_ours_against_a_copy[13_11-0.7]": SPEED,
    "tests/real/test_metrics_real.py::test_ours_against_a_copy[49_06-0.7]": SPEED,
    "tests/real/test_metrics_real.py::test_ours_against_a_copy[13_11-1.3]": SPEED,
    "tests/real/test_metrics_real.py::test_ours_against_a_copy[49_06-1.3]": SPEED,
    "tests/real/test_metrics_real.py::test_ours_against_a_copy[69_70-1.3]": SPEED,
    "tests/real/test_characters_real.py::test_a_human_walk_on_every_humanoid[gltf/CesiumMan.glb]": NEAR,
    "tests/real/test_characters_real.py::test_a_human_walk_on_every_humanoid[gltf/quaternius_man_Casual.glb]": NEAR,
    "tests/real/test_characters_real.py::test_a_human_walk_on_every_humanoid[gltf/RobotExpressive.glb]": NEAR,
    "tests/real/test_characters_real.py::test_a_human_walk_on_every_humanoid[gltf/RiggedFigure.glb]": NEAR,
    "tests/real/test_characters_real.py::test_a_human_walk_on_every_humanoid[fbx_usd/RiggedFigure.usdz]": NEAR,
    "tests/real/test_characters_real.py::test_a_human_walk_on_every_humanoid[fbx_usd/maya_kenney_character_7700_binary.fbx]": NEAR,
    "tests/real/test_batch_real.py::test_results_are_those_of_retarget": DIGIT,
    "tests/real/test_transfer_real.py::test_humans_of_any_rig_do_the_same[makehuman-onto]": NEAR,
    "tests/real/test_transfer_real.py::test_humans_of_any_rig_do_the_same[makehuman-back]": NEAR,
    "tests/real/test_transfer_real.py::test_with_everything_on_it_is_what_the_own_skeleton_gets": AGREEMENT,
    "tests/real/test_transfer_real.py::test_every_human_file_goes_through_the_one_call_and_back[rokoko]": TOES,
    "tests/real/test_transfer_real.py::test_every_human_file_goes_through_the_one_call_and_back[mixed_orders]": TOES,
    "tests/real/test_transfer_real.py::test_a_dog_and_a_human_play_each_other[human on dog-stance]": EXACT,
    "tests/real/test_quality_real.py::test_a_viewer_sees_no_worse[rokoko_jesse_dance sample:child]": LOW_HEEL,
}
"""By the beginning of the test's name: the reason."""
