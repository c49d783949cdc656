"""Rotations: quaternions, Euler angles, swing and twist."""
