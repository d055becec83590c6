"""Kernels compiled for the core, their rows over the points, and distances with a weight for each feature."""
