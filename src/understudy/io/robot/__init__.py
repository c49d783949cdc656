"""Robots: models as URDF and MJCF, trajectories as CSV."""

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
    Format(name="urdf", title="URDF", suffixes=(".urdf",), read=lazy_function("understudy.io.robot.urdf", "read")),
)
