"""Speed, compared with River's models, NumPy, BLAS, plain C and the limits of the machine."""
