"""Retargeting: the one driver, from a source and a target to a result and its verdict.

Command line, recipes, studio, batches and streams call it; it imports no room above it."""
