"""Choose the support vector to evict: the smallest, one that the sample can replace, or one to fuse.

Each function uses the coefficients of output 0 (of all classes, except for fusion) and the scratch of ``rows``.  Values
within 1e-9 of each other are tied, and the oldest point wins a tie, so every machine makes the same choice.
"""

from libc.math cimport INFINITY, fabs

from river_okl._core.loops cimport SLACK, merged
from river_okl._core.simd cimport loops


cdef Py_ssize_t oldest_of_least(Points points, const double *values, Py_ssize_t n, double scale) noexcept:
    """Return the position of the smallest of n values; the oldest wins a tie (1e-9 of the value or of ``scale``)."""
    cdef Py_ssize_t i, best = -1
    cdef double least = values[0]
    for i in range(1, n):
        least = min(least, values[i])
    least += 1e-9 * max(fabs(least), scale)
    for i in range(n):
        if values[i] <= least and (best < 0 or points.birth[i] < points.birth[best]):
            best = i
    return best


cdef Py_ssize_t smallest(Rows rows, Coefficients alpha) noexcept:
    """Implement ``Expansion.smallest``."""
    cdef Py_ssize_t i
    cdef double *sizes = rows.other
    for i in range(rows.points.n):
        sizes[i] = alpha.squared_size(i) * rows.self_[i]
    return oldest_of_least(rows.points, sizes, rows.points.n, 0.0)


cdef Py_ssize_t replaceable(Rows rows, Coefficients alpha, double dependent) noexcept:
    """Implement ``Expansion.replaceable``."""
    cdef Py_ssize_t i
    cdef double residual
    cdef double *lost = rows.other
    cdef const double *row = rows.row
    cdef double k = rows.self_similarity, square = alpha.scale * alpha.scale
    for i in range(rows.points.n):
        residual = rows.self_[i] - row[i] * (row[i] / k)
        lost[i] = square * alpha.squared_size(i) * (0.0 if residual < dependent * rows.self_[i] else residual)
    return oldest_of_least(rows.points, lost, rows.points.n, 0.0)


cdef tuple partner(Rows rows, Coefficients alpha, Py_ssize_t p):
    """Implement ``Expansion.partner``."""
    cdef Py_ssize_t i, m, n = rows.points.n
    cdef double h = 0.0, alpha_z = 0.0, least = INFINITY, scale = alpha.scale
    cdef const double *coef = alpha.coef[0]
    cdef double alpha_p = scale * coef[p], alpha_i
    cdef double *losses = rows.dots
    cdef const double *kappa = rows.other
    if n < 2:
        raise ValueError("one support vector has no partner")
    rows.compute_of(p, rows.other)
    loops.losses(coef, scale, kappa, n, alpha_p, losses)
    losses[p] = INFINITY
    for i in range(n):
        alpha_i = scale * coef[i]
        least = min(least, losses[i] + SLACK * (alpha_i * alpha_i + alpha_p * alpha_p))
    least += 2e-9 * max(least, alpha_p * alpha_p)
    for i in range(n):  # evaluate candidates for the minimum to full precision
        alpha_i = scale * coef[i]
        if i != p and losses[i] - SLACK * (alpha_i * alpha_i + alpha_p * alpha_p) <= least:
            losses[i] = merged(alpha_i, alpha_p, kappa[i], &h, &alpha_z)
        else:
            losses[i] = INFINITY
    m = oldest_of_least(rows.points, losses, n, alpha_p * alpha_p)
    merged(scale * coef[m], alpha_p, kappa[m], &h, &alpha_z)
    return m, h, alpha_z
