"""A function f = Σ α_i κ(z_i, ·) with a bounded number of terms: what the algorithms of the papers update."""
