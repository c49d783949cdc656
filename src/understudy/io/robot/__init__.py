"""Robots: models as URDF and MJCF, trajectories as CSV."""

from understudy.io.clip import Format, loaded_on_use

FORMATS = (
    Format(
        name="mjcf",
        title="MJCF",
        suffixes=(".xml", ".mjcf"),
        read=loaded_on_use("understudy.io.robot.mjcf", "read"),
    ),
    Format(
        name="csv",
        title="CSV trajectory",
        suffixes=(".csv",),
        read=loaded_on_use("understudy.io.robot.trajectory", "read"),
        write=loaded_on_use("understudy.io.robot.trajectory", "write"),
    ),
    Format(name="urdf", title="URDF", suffixes=(".urdf",), read=loaded_on_use("understudy.io.robot.urdf", "read")),
)
