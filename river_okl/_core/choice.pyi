"""The choice of a support vector: see `Expansion.smallest`, `replaceable` and `partner`."""
