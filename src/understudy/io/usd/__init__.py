"""USD (UsdSkel), as text, binary and package: skeletons, animations and skinned meshes, through OpenUSD."""

from understudy.io.clip import Format, lazy_function

FORMAT = Format(
    name="usd",
    title="USD",
    suffixes=(".usda", ".usdc", ".usdz", ".usd"),
    read=lazy_function("understudy.io.usd.reader", "read"),
    write=lazy_function("understudy.io.usd.writer", "write"),
    meshes=True,
    motions=True,
    several=True,
)
