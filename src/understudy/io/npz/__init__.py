"""NPZ: our own lossless files of characters and motions, trajectories of robots, and motions of SMPL bodies."""

from understudy.io.clip import lazy_format

FORMAT = lazy_format("understudy.io.npz.clip_file", name="npz", title="NPZ", suffixes=(".npz",), motions=True)
