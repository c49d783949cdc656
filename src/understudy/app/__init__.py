"""The command line. Every module of this folder that defines `COMMAND` is a subcommand with the module's name.

Imports every room it needs; no room imports it.
"""

from __future__ import annotations
