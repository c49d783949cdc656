"""FBX, binary and text, through the library `ufbx`: characters with skins, meshes and animation stacks."""

from understudy.io.clip import Format, lazy_function

FORMAT = Format(
    name="fbx",
    title="FBX",
    suffixes=(".fbx",),
    read=lazy_function("understudy.io.fbx.reader", "read"),
    meshes=True,
    motions=True,
    several=True,
)
