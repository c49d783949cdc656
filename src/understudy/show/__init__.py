"""Showing motions: pictures, videos, and pages with plots and a player. Made without a window.

Imports `analogy`, `samples`, `solve` and `figure`. `studio` and `app` import it.
"""
