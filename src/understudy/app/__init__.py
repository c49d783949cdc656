"""The command line. Every module of this folder that defines `COMMAND` is a subcommand with the module's name."""

from __future__ import annotations
