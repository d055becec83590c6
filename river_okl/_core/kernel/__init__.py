"""Kernels compiled for the core, their rows over the points, and feature-weighted distances."""
