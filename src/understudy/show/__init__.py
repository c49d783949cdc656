"""Showing motions: pictures, videos, and pages with plots and a player. Made without a window."""
