"""Acclaim: a character in a skeleton file (ASF), and its motions in separate files (AMC)."""

from understudy.io.clip import Format, loaded_on_use

FORMATS = (
    Format(
        name="amc",
        title="Acclaim motion",
        suffixes=(".amc",),
        read=loaded_on_use("understudy.io.acclaim.amc", "read"),
        write=loaded_on_use("understudy.io.acclaim.amc", "write"),
        motions=True,
    ),
    Format(
        name="asf",
        title="Acclaim skeleton",
        suffixes=(".asf",),
        read=loaded_on_use("understudy.io.acclaim.asf", "read"),
        write=loaded_on_use("understudy.io.acclaim.asf", "write"),
    ),
)
