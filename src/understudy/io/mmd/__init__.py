"""MikuMikuDance: skeletons of PMX models are read, and motions for rigs with Japanese names are written as VMD."""

from understudy.io.clip import Format, lazy_function

FORMATS = (
    Format(name="pmx", title="PMX", suffixes=(".pmx",), read=lazy_function("understudy.io.mmd.pmx", "read")),
    Format(name="vmd", title="VMD", suffixes=(".vmd",), write=lazy_function("understudy.io.mmd.vmd", "write")),
)
