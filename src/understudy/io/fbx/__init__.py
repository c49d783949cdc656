"""FBX, binary and text: characters with skins, meshes and animations. The library `ufbx` reads it; we write it."""

from understudy.io.clip import Format, lazy_function

FORMAT = Format(
    name="fbx",
    title="FBX",
    suffixes=(".fbx",),
    read=lazy_function("understudy.io.fbx.reader", "read"),
    write=lazy_function("understudy.io.fbx.writer", "write"),
    meshes=True,
    motions=True,
    several=True,
)
