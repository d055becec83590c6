/* The loops of fourier.h on vectors of W doubles (simd.h). Columns are aligned and padded to 8 numbers; w and z are
 * not. */

/* sin t and cos t for |t| <= FARTHEST, error below 2e-16: t = n pi/2 + r with |r| <= pi/4, pi/2 in three parts, the
 * first two of 33 bits, so that their products with n are exact; then the polynomials of fdlibm (Sun Microsystems,
 * 1993), swapped and negated according to n mod 4. */
static INLINE void NAME(sincos)(vec t, vec *sine, vec *cosine) {
    const vec magic = SET(6755399441055744.0); /* leaves n in the low bits, as in exp */
    const vec shifted = t * SET(6.36619772367581382433e-01) + magic;
    const vec n = shifted - magic;
    const ivec quadrant = AS_INT(shifted);
    vec r = t - n * SET(1.57079632673412561417e+00);
    r = r - n * SET(6.07710050630396597660e-11);
    r = r - n * SET(2.02226624879595063154e-21);
    const vec q = r * r;
    vec s = SET(1.58969099521155010221e-10), c = SET(-1.13596475577881948265e-11);
    s = s * q + SET(-2.50507602534068634195e-08);
    c = c * q + SET(2.08757232129817482790e-09);
    s = s * q + SET(2.75573137070700676789e-06);
    c = c * q + SET(-2.75573143513906633035e-07);
    s = s * q + SET(-1.98412698298579493134e-04);
    c = c * q + SET(2.48015872894767294178e-05);
    s = s * q + SET(8.33333333332248946124e-03);
    c = c * q + SET(-1.38888888888741095749e-03);
    s = s * q + SET(-1.66666666666666324348e-01);
    c = c * q + SET(4.16666666666666019037e-02);
    s = r + r * (q * s);
    c = (SET(1.0) - SET(0.5) * q) + (q * q) * c;
    const ivec odd = -(quadrant & 1);
    const ivec swapped_sine = (AS_INT(c) & odd) | (AS_INT(s) & ~odd);
    const ivec swapped_cosine = (AS_INT(s) & odd) | (AS_INT(c) & ~odd);
    *sine = AS_REAL(swapped_sine ^ ((quadrant & 2) << 62));
    *cosine = AS_REAL(swapped_cosine ^ (((quadrant + 1) & 2) << 62));
}

/* One vector of each half of z; a partial one goes through a buffer. */
static INLINE void NAME(finish)(vec u, Py_ssize_t i, Py_ssize_t D, double root, double *z) {
    vec sine, cosine;
    NAME(sincos)(u, &sine, &cosine);
    sine = sine * SET(root);
    cosine = cosine * SET(root);
    if (i + W <= D) {
        STORE(z + i, cosine);
        STORE(z + D + i, sine);
    } else {
        double buffer[W];
        STORE(buffer, cosine);
        memcpy(z + i, buffer, sizeof(double) * (size_t)(D - i));
        STORE(buffer, sine);
        memcpy(z + D + i, buffer, sizeof(double) * (size_t)(D - i));
    }
}

static void NAME(features)(const double *const *columns, const double *values, Py_ssize_t m, Py_ssize_t D, double scale,
                           double root, double *z) {
    enum { K = W == 8 ? 8 : 4 };
    Py_ssize_t i = 0;
    for (; i + K * W <= D; i += K * W) {
        vec u[K];
        for (int k = 0; k < K; k++) u[k] = SET(0.0);
        for (Py_ssize_t j = 0; j < m; j++) {
            const vec *column = (const vec *)(columns[j] + i);
            const vec v = SET(values[j]);
            for (int k = 0; k < K; k++) u[k] += v * column[k];
        }
        for (int k = 0; k < K; k++) NAME(finish)(SET(scale) * u[k], i + k * W, D, root, z);
    }
    for (; i < D; i += W) {
        vec u = SET(0.0);
        for (Py_ssize_t j = 0; j < m; j++) u += SET(values[j]) * *(const vec *)(columns[j] + i);
        NAME(finish)(SET(scale) * u, i, D, root, z);
    }
}

static void NAME(far)(const double *const *columns, const double *values, Py_ssize_t m, Py_ssize_t D, double scale,
                      double root, double *z) {
    for (Py_ssize_t i = 0; i < D; i++) {
        double u = 0.0;
        for (Py_ssize_t j = 0; j < m; j++) u += values[j] * columns[j][i];
        z[i] = root * cos(scale * u);
        z[D + i] = root * sin(scale * u);
    }
}

static void NAME(step)(double c, const double *z, Py_ssize_t n, double *w) {
    Py_ssize_t i = 0;
    for (; i + W <= n; i += W) STORE(w + i, LOAD(w + i) + SET(c) * LOAD(z + i));
    for (; i < n; i++) w[i] += c * z[i];
}

static const Fourier NAME(fourier) = {NAME(features), NAME(far), NAME(step)};
