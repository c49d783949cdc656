"""The studio: a local web page to edit a retarget, which is solved again during every drag."""

from __future__ import annotations
