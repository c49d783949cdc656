"""Which bones of one figure play which of another, and how movement is carried over: neutral poses, landings, limits.

Imports `base`, `figure` and `constraints`. The rooms from `io` up may import it."""
