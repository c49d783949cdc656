"""Acclaim: a character in a skeleton file (ASF), and its motions in separate files (AMC)."""

from understudy.io.clip import Format, lazy_function

FORMATS = (
    Format(
        name="amc",
        title="Acclaim motion",
        suffixes=(".amc",),
        read=lazy_function("understudy.io.acclaim.amc", "read"),
        write=lazy_function("understudy.io.acclaim.amc", "write"),
        motions=True,
    ),
    Format(
        name="asf",
        title="Acclaim skeleton",
        suffixes=(".asf",),
        read=lazy_function("understudy.io.acclaim.asf", "read"),
        write=lazy_function("understudy.io.acclaim.asf", "write"),
    ),
)
