"""A function f = Σ α_i κ(z_i, ·) of a bounded number of terms: what every algorithm of the papers manipulates."""
