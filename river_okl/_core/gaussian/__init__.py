"""Gaussian processes on a dictionary of points: the posterior, and a single process."""
