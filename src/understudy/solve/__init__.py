"""The spacetime problem and its solvers; nothing in here knows of sources and targets.

Imports `base`, `figure` and `constraints`. The rooms from `metrics` up may import it.
"""
