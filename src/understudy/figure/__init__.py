"""Figures: skeletons, their motions, and what can be measured on both.

Imports `base` alone; every room but `base` may import it.
"""
