"""BVH, the Biovision hierarchy: joints with offsets and channels, then one row of numbers a frame."""

from understudy.io.clip import Format, lazy_function

FORMAT = Format(
    name="bvh",
    title="BVH",
    suffixes=(".bvh",),
    read=lazy_function("understudy.io.bvh.reader", "read"),
    write=lazy_function("understudy.io.bvh.writer", "write"),
    motions=True,
    changing_bones=True,
)
