"""Acclaim: a character in a skeleton file (ASF), and its motions in separate files (AMC)."""

from understudy.io.clip import lazy_format

FORMATS = (
    lazy_format("understudy.io.acclaim.amc", name="amc", title="Acclaim motion", suffixes=(".amc",), motions=True),
    lazy_format("understudy.io.acclaim.asf", name="asf", title="Acclaim skeleton", suffixes=(".asf",)),
)
