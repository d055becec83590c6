"""How fast is it, beside River's models, NumPy, BLAS, plain C and the limits of the machine?"""
