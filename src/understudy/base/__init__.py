"""What every other room stands on: errors, records, safe files, rotations, splines, derivatives.

Imports no other room.
"""
