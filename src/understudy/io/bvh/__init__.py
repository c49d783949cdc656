"""BVH, the Biovision hierarchy: joints with offsets and channels, then one row of numbers a frame."""

from understudy.io.clip import Format, loaded_on_use

FORMAT = Format(
    name="bvh",
    title="BVH",
    suffixes=(".bvh",),
    read=loaded_on_use("understudy.io.bvh.reader", "read"),
    write=loaded_on_use("understudy.io.bvh.writer", "write"),
    motions=True,
    changing_bones=True,
)
