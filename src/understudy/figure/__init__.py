"""Skeletons, motions, and measures of both. Imports only `base`."""
