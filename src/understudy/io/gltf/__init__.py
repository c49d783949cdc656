"""glTF 2.0, as text (.gltf) and binary (.glb): characters with skins, meshes and animations."""

from understudy.io.clip import Format, loaded_on_use

FORMAT = Format(
    name="gltf",
    title="glTF",
    suffixes=(".glb", ".gltf"),
    read=loaded_on_use("understudy.io.gltf.reader", "read"),
    write=loaded_on_use("understudy.io.gltf.writer", "write"),
    meshes=True,
    motions=True,
    several=True,
    besides=(".bin",),
)
