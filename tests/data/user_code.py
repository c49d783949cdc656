"""Code as a user writes it, checked by mypy in strict mode: see tests/e2e/test_typed_api.py."""

import numpy as np

import understudy as u

clip = u.read("walk.bvh")
reveal_type(clip)  # R: understudy.io.clip.Clip
motion = u.samples.motion("walk").motion
reveal_type(motion)  # R: understudy.figure.motion.Motion
result = u.retarget("walk.bvh", "sample:child", correspondence={"Hips": "Hips"}, solver="ik")
reveal_type(result)  # R: understudy.retarget.driver.Retargeted
reveal_type(result.motion)  # R: understudy.figure.motion.Motion
child = u.samples.character("child")
reveal_type(u.retarget(motion, child, options=u.Options(plants="fixed")).clip)  # R: understudy.io.clip.Clip
reveal_type(u.fk(motion)["Head"])  # R: numpy.ndarray
reveal_type(u.detect_contacts(motion))  # R: tuple[understudy.figure.contacts.Contact
reveal_type(u.evaluate(result.motion, motion))  # R: understudy.metrics.base.Report
reveal_type(u.transition(motion, motion))  # R: understudy.transition.make.Transition
reveal_type(u.batch("clips", "hero.glb", "out"))  # R: list[
reveal_type(u.write(motion, "out.bvh"))  # R: tuple[
reveal_type(u.mirror(motion))  # R: understudy.figure.motion.Motion
u.picture(motion, "walk.png")
u.retarget(clip, clip, constraints=[u.constraints.Place(point="LeftHand", target=np.zeros(3))])
u.retarg("walk.bvh", "sample:child")  # E: Module has no attribute "retarg"
u.retarget("walk.bvh", "sample:child", plant="fixed")  # E: Unexpected keyword argument "plant"
u.retarget(3, "sample:child")  # E: Argument 1 to "retarget" has incompatible type "int"
