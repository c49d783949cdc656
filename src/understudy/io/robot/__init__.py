"""Robots: models as URDF and MJCF, motions as CSV, as GMR stores them and as plain `qpos`."""

from understudy.io.clip import Format, lazy_format, lazy_function

FORMATS = (
    Format(
        name="mjcf",
        title="MJCF",
        suffixes=(".xml", ".mjcf"),
        read=lazy_function("understudy.io.robot.mjcf", "read"),
    ),
    lazy_format("understudy.io.robot.trajectory", name="csv", title="CSV trajectory", suffixes=(".csv",)),
    lazy_format("understudy.io.robot.gmr", name="gmr", title="GMR motion", suffixes=(".pkl",)),
    lazy_format("understudy.io.robot.qpos", name="qpos", title="qpos array", suffixes=(".npy",)),
    Format(name="urdf", title="URDF", suffixes=(".urdf",), read=lazy_function("understudy.io.robot.urdf", "read")),
)
