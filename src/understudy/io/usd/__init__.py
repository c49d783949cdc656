"""USD (UsdSkel), as text, binary and package: skeletons, animations and skinned meshes, through OpenUSD."""

from understudy.io.clip import Format, loaded_on_use

FORMAT = Format(
    name="usd",
    title="USD",
    suffixes=(".usda", ".usdc", ".usdz", ".usd"),
    read=loaded_on_use("understudy.io.usd.reader", "read"),
    write=loaded_on_use("understudy.io.usd.writer", "write"),
    meshes=True,
    motions=True,
    several=True,
)
