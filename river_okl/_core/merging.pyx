"""The variant of merging.h that is in use; and what it computes, for one partner or for all, as tests ask for it."""

import numpy as np

from river_okl._core.kernel import SIMD

merging = find_merging(SIMD.encode())


def merge_of(double alpha, double alpha_p, double kappa):
    """h, α_z and the loss of merging α_p with a partner of coefficient α, |α| ≥ |α_p|, where κ is that of the two
    points."""
    cdef double h, alpha_z, loss
    loss = merged(alpha, alpha_p, kappa, &h, &alpha_z)
    return h, alpha_z, loss


def losses_of(const double[::1] alpha, double alpha_p, const double[::1] kappa):
    """The losses of merging α_p with each of these partners, up to ``SLACK`` (α² + α_p²)."""
    if kappa.shape[0] != alpha.shape[0]:
        raise ValueError(f"{alpha.shape[0]} coefficients for {kappa.shape[0]} values of the kernel")
    out = np.empty(alpha.shape[0])
    cdef double[::1] view = out
    if alpha.shape[0]:
        merging.losses(&alpha[0], 1.0, &kappa[0], alpha.shape[0], alpha_p, &view[0])
    return out
