"""FBX, binary and text, through the library `ufbx`: characters with skins, meshes and animation stacks."""

from understudy.io.clip import Format, loaded_on_use

FORMAT = Format(
    name="fbx",
    title="FBX",
    suffixes=(".fbx",),
    read=loaded_on_use("understudy.io.fbx.reader", "read"),
    meshes=True,
    motions=True,
    several=True,
)
