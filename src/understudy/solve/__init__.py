"""The spacetime problem and its solvers. They do not know of sources and targets.

Imports `base`, `figure` and `constraints`. The rooms from `metrics` up may import it.
"""
