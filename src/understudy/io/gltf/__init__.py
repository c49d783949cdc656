"""glTF 2.0, as text (.gltf) and binary (.glb): characters with skins, meshes and animations."""

from understudy.io.clip import Format, lazy_function

FORMAT = Format(
    name="gltf",
    title="glTF",
    suffixes=(".glb", ".gltf"),
    read=lazy_function("understudy.io.gltf.reader", "read"),
    write=lazy_function("understudy.io.gltf.writer", "write"),
    meshes=True,
    motions=True,
    several=True,
    besides=(".bin",),
    metres=True,
)
