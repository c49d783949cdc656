"""The studio: a local page in which a retarget is made by hand and eye, and solved again while it is dragged."""

from __future__ import annotations
