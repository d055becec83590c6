"""Solve the dual of a support vector machine without bias, over a few weighted points, to its Kuhn-Tucker conditions.

    min  ½‖f‖² + Σ_j [a_j (1 - f(x_j))_+ + b_j (1 + f(x_j))_+],    f = Σ_j β_j κ(x_j, ·)

A point that represents samples of both labels has two dual variables, 0 ≤ α_j ≤ a_j and 0 ≤ ᾱ_j ≤ b_j, and f
depends on their difference β_j = α_j - ᾱ_j.  Their largest sum for a given β_j is concave and piecewise
linear, so one variable suffices:

    max  Σ_j g_j(β_j) - ½ βᵀKβ,    -b_j ≤ β_j ≤ a_j,    g_j' = +1 below the kink a_j - b_j, and -1 above it

A variable is at one of its three corners (low, kink, high), or free between two of them with f(x_j) = ±1.  The residual
of the Kuhn-Tucker conditions is the largest slope of a feasible direction of one variable, in units of f.

The solver starts from a point in the box.  Exact coordinate steps on the variable with the largest residual find the
free variables.  A Newton step on the free variables follows, by a Cholesky factorisation of their part of K, shortened
if a variable reaches a corner.  Both steps only raise the objective.  With near-duplicates K is so ill-conditioned that
coordinate steps alone converge far too slowly.
"""

from libc.math cimport INFINITY, fabs

import numpy as np

from river_okl._core.linalg cimport solve
from river_okl._core.simd cimport linalg
from river_okl._core.store.buffers cimport Owner

cdef double TOLERANCE = 1e-10   # of the residual: the precision of f(x_j)
cdef double ROUNDING = 1e-15    # the same relative to |β_j| κ(x_j, x_j)
cdef double AT_CORNER = 2e-15   # relative: a variable this close to a corner is at it, up to rounding
cdef double JITTER = 1e-13      # of κ(x_j, x_j): makes the factorisation of dependent points exist
cdef double SAME = 1e-12        # of κ(x, x) + κ(z, z): smaller squared distances are rounding
cdef double TIE = 1e-9          # relative: costs closer than this are tied, and age decides
cdef enum:
    MAX_ROUNDS = 500


cdef inline double residual_of(double f, double beta, const double *box) noexcept nogil:
    """Return the steepest feasible ascent of a variable; its box is (low, kink, high)."""
    cdef double up = 0.0, down = 0.0
    if beta < box[2]:
        up = (1.0 if beta < box[1] else -1.0) - f
    if beta > box[0]:
        down = f - (1.0 if beta <= box[1] else -1.0)
    return max(0.0, max(up, down))


cdef inline double best(double rest, double k, const double *box) noexcept nogil:
    """Return the maximum over one variable, if the others contribute ``rest`` to f(x_j)."""
    if k <= 0.0:
        return box[1]
    if 1.0 - rest <= k * box[1]:
        return max(box[0], (1.0 - rest) / k)
    if -1.0 - rest >= k * box[1]:
        return min(box[2], (-1.0 - rest) / k)
    return box[1]


cdef inline double settled(double beta, const double *box) noexcept nogil:
    """Return the variable clipped to its box, or to a corner within rounding."""
    cdef int c
    for c in range(3):
        if fabs(beta - box[c]) <= AT_CORNER * fabs(box[c]):
            return box[c]
    return min(max(beta, box[0]), box[2])


cdef inline double corner(double beta, double step, const double *box) noexcept nogil:
    """Return the corner that a free variable reaches in this direction."""
    cdef int lower = 0 if beta < box[1] else 1
    return box[lower + 1] if step > 0.0 else box[lower]


cdef class _Room(Owner):
    """Scratch of a solution."""

    cdef double *factor
    cdef double *step
    cdef Py_ssize_t *free

    def __cinit__(self, Py_ssize_t n):
        self.factor = self.doubles(NULL, 0, n * n)
        self.step = self.doubles(NULL, 0, n)
        self.free = <Py_ssize_t *> self.resize(NULL, 0, n, sizeof(Py_ssize_t))


cdef void evaluate(const double *K, Py_ssize_t n, const double *beta, double *f) noexcept nogil:
    """Set f(x_j) = (Kβ)_j."""
    linalg.symmetric_times(K, n, n, 1.0, beta, 0.0, f)


cdef double rounding(const double *K, Py_ssize_t n, const double *beta) noexcept nogil:
    """Return a bound on the rounding error of f(x_j)."""
    cdef Py_ssize_t j
    cdef double total = 0.0
    for j in range(n):
        total += fabs(beta[j]) * K[j * n + j]
    return ROUNDING * total


cdef inline double largest(
    Py_ssize_t n, const double *f, const double *beta, const double *box, Py_ssize_t *at
) noexcept nogil:
    """Return the largest residual, and set ``at`` to its variable."""
    cdef Py_ssize_t j
    cdef double residual, found = 0.0
    at[0] = 0
    for j in range(n):
        residual = residual_of(f[j], beta[j], box + 3 * j)
        if residual > found:
            found, at[0] = residual, j
    return found


cdef double climb(
    const double *K, Py_ssize_t n, const double *box, double tolerance, double *beta, double *f
) noexcept nogil:
    """Make at most n coordinate steps.  Return the residual before the last one."""
    cdef Py_ssize_t i, j, s
    cdef double residual = INFINITY, moved, k
    for s in range(n):  # no-cython-lint
        residual = largest(n, f, beta, box, &j)
        if residual <= tolerance:
            break
        k = K[j * n + j]
        moved = settled(best(f[j] - k * beta[j], k, box + 3 * j), box + 3 * j) - beta[j]
        if moved == 0.0:
            break
        beta[j] += moved
        for i in range(n):
            f[i] += moved * K[j * n + i]
        beta[j] = settled(beta[j], box + 3 * j)
    return residual


cdef void newton(const double *K, Py_ssize_t n, const double *box, double *beta, double *f, _Room room) noexcept nogil:
    """Move the free variables to their optimum, or as far as the corners allow."""
    cdef Py_ssize_t a, b, i, j, m = 0, first
    cdef double target, largest, jitter = JITTER, rate, share
    for j in range(n):
        if box[3 * j] < beta[j] < box[3 * j + 1] or box[3 * j + 1] < beta[j] < box[3 * j + 2]:
            room.free[m] = j
            m += 1
    while m > 0:
        while True:
            for a in range(m):
                for b in range(a + 1):
                    room.factor[a * m + b] = K[room.free[a] * n + room.free[b]]
                room.factor[a * m + a] *= 1.0 + jitter
            if linalg.cholesky(room.factor, m, m) == 0:
                break
            jitter *= 100.0
            if jitter > 1.0:
                return
        for a in range(m):
            j = room.free[a]
            room.step[a] = (1.0 if beta[j] < box[3 * j + 1] else -1.0) - f[j]
        solve(room.factor, m, m, room.step)
        rate, first = 1.0, -1
        for a in range(m):
            j = room.free[a]
            largest = corner(beta[j], room.step[a], box + 3 * j) - beta[j]
            if fabs(room.step[a]) * rate > fabs(largest):
                rate, first = largest / room.step[a], a
        b = 0
        for a in range(m):
            j = room.free[a]
            share = rate * room.step[a]
            target = beta[j] + share
            if a == first:
                target = corner(beta[j], share, box + 3 * j)
            target = settled(target, box + 3 * j)
            share = target - beta[j]
            beta[j] = target
            for i in range(n):
                f[i] += share * K[j * n + i]
            if a != first and target != box[3 * j] and target != box[3 * j + 1] and target != box[3 * j + 2]:
                room.free[b] = j
                b += 1
        if first < 0:
            return
        m = b


cdef double run(const double *K, Py_ssize_t n, const double *box, double *beta, double *f, _Room room) noexcept nogil:
    """Solve from any β.  Return the residual."""
    cdef Py_ssize_t j, rounds
    cdef double residual = 0.0, tolerance
    for j in range(n):
        beta[j] = settled(beta[j], box + 3 * j)
    evaluate(K, n, beta, f)
    for rounds in range(MAX_ROUNDS):  # no-cython-lint
        tolerance = max(TOLERANCE, rounding(K, n, beta))
        if climb(K, n, box, tolerance, beta, f) > tolerance:
            newton(K, n, box, beta, f, room)
        evaluate(K, n, beta, f)
        residual = largest(n, f, beta, box, &j)
        if residual <= tolerance:
            break
    return residual


cdef int check_square(const double[:, ::1] K, Py_ssize_t n) except -1:
    if K.shape[0] != n or K.shape[1] != n:
        raise ValueError(f"a matrix of {K.shape[0]} rows and {K.shape[1]} columns for {n} points")
    return 0


cdef int check_columns(const double[:, ::1] beta, const double[:, ::1] caps) except -1:
    if (
        beta.shape[0] != caps.shape[0]
        or not (beta.shape[1] == 1 and caps.shape[1] == 2 or beta.shape[1] == caps.shape[1])
    ):
        raise ValueError(
            f"coefficients of shape {(beta.shape[0], beta.shape[1])} for weights of {(caps.shape[0], caps.shape[1])}"
        )
    return 0


cdef int fill_box(const double[:, ::1] caps, Py_ssize_t column, double[:, ::1] box) except -1:
    """Set (low, kink, high) of every point, for one label against all others, or for the second of two."""
    cdef Py_ssize_t j, c, n_labels = caps.shape[1]
    cdef double own, others
    for j in range(caps.shape[0]):
        own, others = caps[j, column], 0.0
        for c in range(n_labels):
            if c != column:
                others += caps[j, c]
        box[j, 0], box[j, 1], box[j, 2] = -others, own - others, own
    return 0


def solve_dual(const double[:, ::1] K, const double[:, ::1] caps, const double[:, ::1] start):
    """Solve for β of every function, starting from a given β.

    Parameters
    ----------
    K
        The Gram matrix of the points.
    caps
        C times the weight of each label at each point: one row per point, one column per label.
    start
        β to start from, one row per point; one column (f of the second of two labels) or one per label.

    Returns
    -------
    β in the shape of ``start``, and the largest residual over all functions.
    """
    cdef Py_ssize_t o, j, n = caps.shape[0], columns = start.shape[1]
    cdef double worst = 0.0
    check_square(K, n)
    check_columns(start, caps)
    out, boxes, scratch = np.empty((n, columns)), np.empty((n, 3)), np.empty((2, n))
    cdef double[:, ::1] found = out, box = boxes, work = scratch
    cdef _Room room
    if n == 0:
        return out, 0.0
    room = _Room(n)
    for o in range(columns):
        fill_box(caps, 1 if columns == 1 else o, box)
        for j in range(n):
            work[0, j] = start[j, o]
        with nogil:
            worst = max(worst, run(&K[0, 0], n, &box[0, 0], &work[0, 0], &work[1, 0], room))
        for j in range(n):
            found[j, o] = work[0, j]
    return out, worst


def residual(const double[:, ::1] K, const double[:, ::1] caps, const double[:, ::1] beta):
    """Return the largest residual of the Kuhn-Tucker conditions (∞ outside the box); arguments as in ``solve_dual``."""
    cdef Py_ssize_t o, j, at, n = caps.shape[0], columns = beta.shape[1]
    cdef double worst = 0.0
    check_square(K, n)
    check_columns(beta, caps)
    boxes, scratch = np.empty((n, 3)), np.empty((2, n))
    cdef double[:, ::1] box = boxes, work = scratch
    if n:
        for o in range(columns):
            fill_box(caps, 1 if columns == 1 else o, box)
            for j in range(n):
                work[0, j] = settled(beta[j, o], &box[j, 0])
                if not fabs(work[0, j] - beta[j, o]) <= AT_CORNER * fabs(beta[j, o]):
                    return INFINITY
            evaluate(&K[0, 0], n, &work[0, 0], &work[1, 0])
            worst = max(worst, largest(n, &work[1, 0], &work[0, 0], &box[0, 0], &at))
    return worst


def cheapest_pair(const double[:, ::1] K, const double[::1] weights, const long long[::1] births):
    """Return the two points with the smallest w_i w_j / (w_i + w_j) ‖κ_i - κ_j‖², the older first; the oldest
    win ties (1e-9 relative)."""
    cdef Py_ssize_t i, j, a, b, older = -1, younger = -1, n = weights.shape[0]
    cdef double cost, least = INFINITY
    check_square(K, n)
    if births.shape[0] != n or n < 2:
        raise ValueError(f"{births.shape[0]} births for {n} points; two are needed")
    rows = np.empty(n)
    cdef double[::1] row = rows
    for i in range(n):
        row[i] = INFINITY
        for j in range(i):
            cost = cost_of(&K[0, 0], n, &weights[0], i, j)
            if cost < row[i]:
                row[i] = cost
        if row[i] < least:
            least = row[i]
    least *= 1.0 + TIE
    for i in range(n):
        if row[i] > least:
            continue
        for j in range(i):
            if cost_of(&K[0, 0], n, &weights[0], i, j) > least:
                continue
            a, b = (i, j) if births[i] < births[j] else (j, i)
            if older < 0 or births[a] < births[older] or (a == older and births[b] < births[younger]):
                older, younger = a, b
    return older, younger


cdef inline double cost_of(const double *K, Py_ssize_t n, const double *w, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    cdef double k = K[i * n + i] + K[j * n + j], distance = k - 2.0 * K[i * n + j]
    return w[i] * w[j] / (w[i] + w[j]) * distance if distance > SAME * k else 0.0
