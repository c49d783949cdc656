"""The base of all other rooms: errors, records, safe files, rotations, splines, derivatives.

Imports no other room; every room may import it.
"""
