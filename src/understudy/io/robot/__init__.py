"""Robots: models as URDF and MJCF, motions as CSV, as GMR stores them and as plain `qpos`."""

from understudy.io.clip import Format, lazy_function

FORMATS = (
    Format(
        name="mjcf",
        title="MJCF",
        suffixes=(".xml", ".mjcf"),
        read=lazy_function("understudy.io.robot.mjcf", "read"),
    ),
    Format(
        name="csv",
        title="CSV trajectory",
        suffixes=(".csv",),
        read=lazy_function("understudy.io.robot.trajectory", "read"),
        write=lazy_function("understudy.io.robot.trajectory", "write"),
    ),
    Format(
        name="gmr",
        title="GMR motion",
        suffixes=(".pkl",),
        read=lazy_function("understudy.io.robot.gmr", "read"),
        write=lazy_function("understudy.io.robot.gmr", "write"),
    ),
    Format(
        name="qpos",
        title="qpos array",
        suffixes=(".npy",),
        read=lazy_function("understudy.io.robot.qpos", "read"),
        write=lazy_function("understudy.io.robot.qpos", "write"),
    ),
    Format(name="urdf", title="URDF", suffixes=(".urdf",), read=lazy_function("understudy.io.robot.urdf", "read")),
)
