"""VRM 0.x and 1.0: glTF files of people whose bones are named by the file; and VRM animations (VRMA)."""

from understudy.io.clip import Format, lazy_function

FORMATS = (
    Format(
        name="vrm",
        title="VRM",
        suffixes=(".vrm",),
        read=lazy_function("understudy.io.vrm.reader", "read"),
        write=lazy_function("understudy.io.vrm.writer", "write"),
        meshes=True,
        several=True,
        family="gltf",
        metres=True,
    ),
    Format(
        name="vrma",
        title="VRM animation",
        suffixes=(".vrma",),
        read=lazy_function("understudy.io.vrm.reader", "read_animation"),
        write=lazy_function("understudy.io.vrm.writer", "write_animation"),
        motions=True,
        several=True,
        metres=True,
    ),
)
