"""C3D: labelled markers of optical motion capture, fitted to a skeleton. The library `ezc3d` reads the file."""

from understudy.io.clip import Format, lazy_function

FORMAT = Format(
    name="c3d",
    title="C3D",
    suffixes=(".c3d",),
    read=lazy_function("understudy.io.c3d.reader", "read"),
    motions=True,
    several=True,
)
