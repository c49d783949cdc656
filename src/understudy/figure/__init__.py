"""Figures: skeletons, their motions, and what can be measured on both. Imports `base` alone."""
