"""The command line. A module of this folder that ends in `COMMAND = ...` is a command by its own name."""

from __future__ import annotations
