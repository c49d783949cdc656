"""NPZ: our own lossless files of characters and motions, trajectories of robots, and motions of SMPL bodies."""

from understudy.io.clip import Format, loaded_on_use

FORMAT = Format(
    name="npz",
    title="NPZ",
    suffixes=(".npz",),
    read=loaded_on_use("understudy.io.npz.clip_file", "read"),
    write=loaded_on_use("understudy.io.npz.clip_file", "write"),
    motions=True,
)
