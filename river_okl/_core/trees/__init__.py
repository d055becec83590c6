"""Hoeffding trees, and forests of them."""
