"""NPZ: our own file of a character and its motion, exact to the bit; and those of robots and of SMPL bodies."""

from understudy.io.clip import Format, loaded_on_use

FORMAT = Format(
    name="npz",
    title="NPZ",
    suffixes=(".npz",),
    read=loaded_on_use("understudy.io.npz.clip_file", "read"),
    write=loaded_on_use("understudy.io.npz.clip_file", "write"),
    motions=True,
)
