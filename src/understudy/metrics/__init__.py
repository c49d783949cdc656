"""How good a motion is, measured: one file a subject; a module with a `METRIC` or `METRICS` is found by itself.

Imports `base`, `figure`, `constraints`, `solve` and `correspondence`. The rooms from `retarget` up may import it.
"""
