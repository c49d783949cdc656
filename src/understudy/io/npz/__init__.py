"""NPZ: our own lossless files of characters and motions, trajectories of robots, and motions of SMPL bodies."""

from understudy.io.clip import Format, lazy_function

FORMAT = Format(
    name="npz",
    title="NPZ",
    suffixes=(".npz",),
    read=lazy_function("understudy.io.npz.clip_file", "read"),
    write=lazy_function("understudy.io.npz.clip_file", "write"),
    motions=True,
)
