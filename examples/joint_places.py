"""Where every joint is, as a numpy array: metres, Y up, frame by frame."""

import numpy as np

import understudy as u

motion = u.retarget("sample:walk", "sample:child").motion
places = u.fk(motion).positions
print(places.shape, "frames, joints, x y z")
hand = places[:, motion.skeleton.index["LeftHand"]]
print(f"the left hand is between {hand[:, 1].min():.2f} and {hand[:, 1].max():.2f} m high")
np.save("joint_places.npy", places)
