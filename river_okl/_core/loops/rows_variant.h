/* The vector loops of rows.h, written once on GCC/Clang vector types and compiled for each instruction set.
 *
 * simd.h includes this file once per instruction set. Arrays are aligned to 64 bytes and padded to a multiple
 * of 8 doubles; the padding holds finite numbers.
 */

/* t <- exp(t) of U vectors for -708 <= t <= 0 without a branch, error below 3e-16: Cody & Waite's reduction
 * t = n ln 2 + r, where |r| <= ln 2 / 2 and adding 1.5 * 2^52 leaves n in the low bits, then Taylor's series to r^13.
 * Each operation waits for the one before it: several vectors at a time take little longer than one. */
static INLINE void NAME(exps)(vec *t, const int U) {
    static const double coefficients[] = {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
                                          1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,     1.0 / 120.0,
                                          1.0 / 24.0,        1.0 / 6.0,        0.5,             1.0, 1.0};
    const vec magic = SET(6755399441055744.0);
    vec shifted[MOST_AT_ONCE], r[MOST_AT_ONCE], p[MOST_AT_ONCE];
    for (int u = 0; u < U; u++) t[u] = AT_LEAST(t[u], SET(-708.0));
    for (int u = 0; u < U; u++) shifted[u] = t[u] * SET(1.4426950408889634074) + magic;
    for (int u = 0; u < U; u++) r[u] = t[u] - (shifted[u] - magic) * SET(6.93147180369123816490e-01);
    for (int u = 0; u < U; u++) r[u] = r[u] - (shifted[u] - magic) * SET(1.90821492927058770002e-10);
    for (int u = 0; u < U; u++) p[u] = SET(1.0 / 6227020800.0);
    for (int i = 0; i < 13; i++)
        for (int u = 0; u < U; u++) p[u] = p[u] * r[u] + SET(coefficients[i]);
    for (int u = 0; u < U; u++) t[u] = AS_REAL(AS_INT(p[u]) + (ivec)((AS_INT(shifted[u])) << 52));
}

static INLINE vec NAME(exp)(vec t) {
    NAME(exps)(&t, 1);
    return t;
}

static INLINE vec NAME(sqrt)(vec v) {
#if W > 1
    for (int i = 0; i < W; i++) v[i] = __builtin_sqrt(v[i]);
    return v;
#else
    return sqrt(v);
#endif
}

/* K vectors of the rows of S samples, from position i: out[s] = sum_j vals[s * m + j] rows[j], or the squared
 * differences, or += with `more`.  The sums stay in registers over all features, so that each number of Z is loaded once
 * for all samples and no sum is stored in between. */
static INLINE void NAME(sums_at)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t i, int more,
                                 double *const *out, const int S, const int K, const int squared) {
    vec sum[TILE][8];
    for (int s = 0; s < S; s++)
        for (int k = 0; k < K; k++) sum[s][k] = more ? ((vec *)(out[s] + i))[k] : SET(0.0);
    for (Py_ssize_t j = 0; j < m; j++) {
        const vec *z = (const vec *)(rows[j] + i);
        for (int s = 0; s < S; s++) {
            const vec v = SET(vals[s * m + j]);
            for (int k = 0; k < K; k++) sum[s][k] += squared ? (v - z[k]) * (v - z[k]) : v * z[k];
        }
    }
    for (int s = 0; s < S; s++)
        for (int k = 0; k < K; k++) ((vec *)(out[s] + i))[k] = sum[s][k];
}

static INLINE void NAME(sums)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, int more,
                              double *const *out, const int S, const int K, const int squared) {
    Py_ssize_t i = 0;
    for (; i + K * W <= n; i += K * W) NAME(sums_at)(rows, vals, m, i, more, out, S, K, squared);
    for (; i + 2 * W <= n; i += 2 * W) NAME(sums_at)(rows, vals, m, i, more, out, S, 2, squared);
    for (; i < n; i += W) NAME(sums_at)(rows, vals, m, i, more, out, S, 1, squared);
}

enum { NAME(FEW) = W == 8 ? 4 : 2, NAME(MANY) = W == 8 ? 8 : 2 }; /* AVX-512 has 32 registers, the others 16 */

static void NAME(dots)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, double *out) {
    NAME(sums)(rows, vals, m, n, 1, &out, 1, 8, 0);
}

static void NAME(distances)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, double *out) {
    NAME(sums)(rows, vals, m, n, 1, &out, 1, 8, 1);
}

static void NAME(distances_tile)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, double *out,
                                 Py_ssize_t stride) {
    double *const to[TILE] = {out, out + stride, out + 2 * stride, out + 3 * stride};
    NAME(sums)(rows, vals, m, n, 1, to, TILE, NAME(FEW), 1);
}

static void NAME(dots_under)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, int more,
                             double *const *out, int metrics) {
    if (metrics == 1)
        NAME(sums)(rows, vals, m, n, more, out, 1, NAME(MANY), 0);
    else
        NAME(sums)(rows, vals, m, n, more, out, 2, NAME(MANY), 0);
}

/* `dots_under` with rows and sums in single precision: this halves the memory to read, and doubles the numbers per
 * vector. */
#if W > 1
static INLINE void NAME(widen)(singles sum, int more, double *out) {
    half parts[2];
    memcpy(parts, &sum, sizeof parts);
    for (int h = 0; h < 2; h++) {
        vec wide = (vec)__builtin_convertvector(parts[h], vec);
        if (more) wide += ((vec *)out)[h];
        ((vec *)out)[h] = wide;
    }
}

static INLINE void NAME(single_dots_of)(const float *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n,
                                        int more, double *const *out, const int M) {
    enum { K = W == 8 ? 8 : 2, F = 2 * W };
    Py_ssize_t i = 0;
    for (; i + K * F <= n; i += K * F) {
        singles sum[2][K];
        for (int s = 0; s < M; s++)
            for (int k = 0; k < K; k++) sum[s][k] = (singles){0.0f};
        for (Py_ssize_t j = 0; j < m; j++) {
            const singles *z = (const singles *)(rows[j] + i);
            for (int s = 0; s < M; s++) {
                const float v = (float)vals[s * m + j];
                for (int k = 0; k < K; k++) sum[s][k] += v * z[k];
            }
        }
        for (int s = 0; s < M; s++)
            for (int k = 0; k < K; k++) NAME(widen)(sum[s][k], more, out[s] + i + k * F);
    }
    for (; i + F <= n; i += F) {
        singles sum[2];
        for (int s = 0; s < M; s++) sum[s] = (singles){0.0f};
        for (Py_ssize_t j = 0; j < m; j++)
            for (int s = 0; s < M; s++) sum[s] += (float)vals[s * m + j] * *(const singles *)(rows[j] + i);
        for (int s = 0; s < M; s++) NAME(widen)(sum[s], more, out[s] + i);
    }
    for (; i < n; i += W)
        for (int s = 0; s < M; s++) {
            half sum = {0.0f};
            for (Py_ssize_t j = 0; j < m; j++) sum += (float)vals[s * m + j] * *(const half *)(rows[j] + i);
            vec wide = (vec)__builtin_convertvector(sum, vec);
            if (more) wide += *(vec *)(out[s] + i);
            *(vec *)(out[s] + i) = wide;
        }
}
#else
static void NAME(single_dots_of)(const float *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, int more,
                                 double *const *out, const int M) {
    for (int s = 0; s < M; s++)
        for (Py_ssize_t i = 0; i < n; i++) {
            float sum = 0.0f;
            for (Py_ssize_t j = 0; j < m; j++) sum += (float)vals[s * m + j] * rows[j][i];
            out[s][i] = more ? out[s][i] + sum : sum;
        }
}
#endif

static void NAME(single_dots_under)(const float *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, int more,
                                    double *const *out, int metrics) {
    if (metrics == 1)
        NAME(single_dots_of)(rows, vals, m, n, more, out, 1);
    else
        NAME(single_dots_of)(rows, vals, m, n, more, out, 2);
}

/* Add the dot products with the points at given positions, under all METRICS, summed in double precision. */
static INLINE void NAME(dots_at_of)(const void *const *rows, const double *vals, Py_ssize_t m, const int32_t *at,
                                    Py_ssize_t n, double *const *out, const int single) {
    for (Py_ssize_t i = 0; i < n; i += W) {
        vec sum[METRICS];
        for (int s = 0; s < METRICS; s++) sum[s] = *(vec *)(out[s] + i);
        for (Py_ssize_t j = 0; j < m; j++) {
            const vec z =
                single ? GATHER_SINGLE((const float *)rows[j], at + i) : GATHER((const double *)rows[j], at + i);
            for (int s = 0; s < METRICS; s++) sum[s] += SET(vals[s * m + j]) * z;
        }
        for (int s = 0; s < METRICS; s++) *(vec *)(out[s] + i) = sum[s];
    }
}

static void NAME(dots_at)(const void *const *rows, int single, const double *vals, Py_ssize_t m, const int32_t *at,
                          Py_ssize_t n, double *const *out) {
    if (single)
        NAME(dots_at_of)(rows, vals, m, at, n, out, 1);
    else
        NAME(dots_at_of)(rows, vals, m, at, n, out, 0);
}

static INLINE vec NAME(factor)(const Factor *f, vec dot, vec distance) {
    if (f->kind == DOT_POWER) {
        const vec base = SET(f->gamma) * dot + SET(f->coef0);
        vec power = base;
        for (int i = 1; i < f->degree; i++) power *= base;
        return power;
    }
    if (f->kind == EXP_DISTANCE) distance = NAME(sqrt)(distance);
    return NAME(exp)(SET(-f->gamma) * distance);
}

/* x.z from |x|^2 + |z|^2 and |x-z|^2: 0 if it is lost in their rounding, as for a long and a short vector. */
static INLINE vec NAME(dot_of)(vec squares, vec distance) {
    const vec dot = SET(0.5) * (squares - distance), noise = SET(1e-13) * squares;
    return AS_REAL(AS_INT(dot) & (LESS(noise, dot) | LESS(dot, -noise)));
}

/* `kernel_row` of the most common kernels, a Gaussian with or without a linear one: the same numbers without branches
 * in the loop. */
static INLINE void NAME(common_rows)(const Program *k, const double *row, int is_distance, const double *sq, vec xs,
                                     double *out, const int U) {
    const int two_terms = k->n_terms == 2;
    vec distance[MOST_AT_ONCE], dot[MOST_AT_ONCE];
    for (int u = 0; u < U; u++) {
        distance[u] = dot[u] = ((const vec *)row)[u];
        if (!is_distance)
            distance[u] = AT_LEAST(xs + ((const vec *)sq)[u] - SET(2.0) * dot[u], SET(0.0));
        else if (two_terms)
            dot[u] = NAME(dot_of)(xs + ((const vec *)sq)[u], distance[u]);
        distance[u] *= SET(-k->factors[0].gamma);
    }
    NAME(exps)(distance, U);
    for (int u = 0; u < U; u++) {
        vec value = SET(k->terms[0].weight) * distance[u];
        if (two_terms) /* the compiler might fuse either product with the sum, in each copy of the loop another one */
            value = MUL_ADD(SET(k->terms[1].weight), SET(k->factors[1].gamma) * dot[u] + SET(k->factors[1].coef0), value);
        ((vec *)out)[u] = value;
    }
}

static void NAME(common_row)(const Program *k, const double *row, int is_distance, const double *sq, vec xs,
                             Py_ssize_t n, double *out) {
    enum { U = W == 8 ? 4 : 2 };
    Py_ssize_t i = 0;
    for (; i + U * W <= n; i += U * W) NAME(common_rows)(k, row + i, is_distance, sq + i, xs, out + i, U);
    for (; i < n; i += W) NAME(common_rows)(k, row + i, is_distance, sq + i, xs, out + i, 1);
}

/* out = kernel values from the row of dot products or of squared distances: a sum over terms of weight * product over
 * factors. Either row follows from the other by |x - z|^2 = |x|^2 + |z|^2 - 2 x.z, which rounding can make slightly
 * negative. */
static void NAME(kernel_row)(const Program *k, const double *row, int is_distance, const double *sq, double x_sq,
                             Py_ssize_t n, double *out) {
    const vec xs = SET(x_sq);
    const Factor *first = k->factors;
    if (first[0].kind == EXP_SQUARED_DISTANCE && k->terms[0].n_factors == 1 &&
        (k->n_terms == 1 ||
         (k->n_terms == 2 && k->terms[1].n_factors == 1 && first[1].kind == DOT_POWER && first[1].degree == 1))) {
        NAME(common_row)(k, row, is_distance, sq, xs, n, out);
        return;
    }
    for (Py_ssize_t i = 0; i < n; i += W) {
        const vec s = *(const vec *)(sq + i);
        vec dot = *(const vec *)(row + i), distance = dot;
        if (is_distance)
            dot = NAME(dot_of)(xs + s, distance);
        else
            distance = AT_LEAST(xs + s - SET(2.0) * dot, SET(0.0));
        const Factor *f = k->factors;
        vec sum = SET(0.0);
        for (int t = 0; t < k->n_terms; t++) {
            vec product = NAME(factor)(f++, dot, distance);
            for (int j = 1; j < k->terms[t].n_factors; j++) product *= NAME(factor)(f++, dot, distance);
            sum += SET(k->terms[t].weight) * product;
        }
        *(vec *)(out + i) = sum;
    }
}

/* a . b: eight vectors in turn, then pairwise, so that the length of the padding does not change the sum. */
static double NAME(inner)(const double *a, const double *b, Py_ssize_t n) {
    vec s[4] = {SET(0.0), SET(0.0), SET(0.0), SET(0.0)};
    Py_ssize_t i = 0;
    for (; i + 4 * W <= n; i += 4 * W) {
        const vec *x = (const vec *)(a + i), *y = (const vec *)(b + i);
        s[0] += x[0] * y[0]; s[1] += x[1] * y[1]; s[2] += x[2] * y[2]; s[3] += x[3] * y[3];
    }
    for (int j = 0; i < n; i += W, j++) s[j] += *(const vec *)(a + i) * *(const vec *)(b + i);
    s[0] = (s[0] + s[1]) + (s[2] + s[3]);
#if W > 1
    double sum = 0.0;
    for (int j = 0; j < W; j++) sum += s[0][j];
    return sum;
#else
    return s[0];
#endif
}

/* out += coef^2 (own - row^2 / own), if positive */
static void NAME(add_losses)(const double *coef, const double *row, double own, Py_ssize_t n, double *out) {
    const vec k = SET(own), inverse = SET(1.0 / own), zero = SET(0.0);
    for (Py_ssize_t i = 0; i < n; i += W) {
        const vec c = *(const vec *)(coef + i), r = *(const vec *)(row + i), gap = k - r * r * inverse;
        *(vec *)(out + i) += (c * c) * AT_LEAST(gap, zero);
    }
}

/* Return the first position of the smallest of n numbers, at least one vector. */
static Py_ssize_t NAME(least)(const double *values, Py_ssize_t n) {
    vec low = *(const vec *)values;
    ivec at = (ivec)AS_INT(low) & 0; /* index of the vector with each lane's smallest number */
    for (Py_ssize_t i = W; i < n; i += W) {
        const vec v = *(const vec *)(values + i);
        const ivec less = LESS(v, low);
        low = AS_REAL((AS_INT(v) & less) | (AS_INT(low) & ~less));
        at = (((ivec)AS_INT(low) & 0) + i) & less | (at & ~less);
    }
    double lows[W];
    int64_t places[W];
    memcpy(lows, &low, sizeof lows);
    memcpy(places, &at, sizeof places);
    Py_ssize_t best = 0;
    for (int j = 1; j < W; j++)
        if (lows[j] < lows[best] || (lows[j] == lows[best] && places[j] < places[best])) best = j;
    return best + places[best];
}

/* The smallest sq[i] - 2 x.z_i in each lane of the vectors from `start` to `end`. */
static INLINE vec NAME(lanes)(const double *sq, const double *dot, Py_ssize_t start, Py_ssize_t end) {
    const vec two = SET(2.0);
    vec low = SET(INFINITY);
    for (Py_ssize_t i = start; i < end; i += W) {
        const vec v = *(const vec *)(sq + i) - two * *(const vec *)(dot + i);
        low = AT_MOST(v, low);
    }
    return low;
}

/* Return the k-th smallest of n numbers, and move the k smallest to the front (Hoare 1961, without branches). */
static double NAME(smallest)(double *v, Py_ssize_t n, Py_ssize_t k) {
    Py_ssize_t low = 0, high = n;
    while (high - low > 1) {
        const double pivot = v[(low + high) / 2];
        Py_ssize_t less = low, equal;
        for (Py_ssize_t i = low; i < high; i++) {
            const double w = v[i];
            v[i] = v[less];
            v[less] = w;
            less += w < pivot;
        }
        if (k <= less) {
            high = less;
            continue;
        }
        equal = less;
        for (Py_ssize_t i = less; i < high; i++) {
            const double w = v[i];
            v[i] = v[equal];
            v[equal] = w;
            equal += w == pivot;
        }
        if (k <= equal) return pivot;
        low = equal;
    }
    return v[k - 1];
}

/* Find the `near` nearest of the first n points, in order of position; the first ones win ties.  Set `distances` to the
 * smallest, near-th and far-th smallest sq[i] - 2 x.z_i, near <= far <= n.
 *
 * Each lane of a segment has a point at its smallest distance.  The far-th smallest of these distances is thus a bound,
 * and few other points are below it.  `some`, `others` and `at` are scratch with room for n. */
static void NAME(closest)(const double *sq, const double *dot, Py_ssize_t n, Py_ssize_t near, Py_ssize_t far,
                          double *some, double *others, int32_t *at, Py_ssize_t *found, double *distances) {
    const Py_ssize_t lanes = n / SEGMENT * W;
    double bound = INFINITY;
    if (far <= lanes) {
        for (Py_ssize_t b = 0; b < n / SEGMENT; b++)
            *(vec *)(others + b * W) = NAME(lanes)(sq, dot, b * SEGMENT, (b + 1) * SEGMENT);
        bound = NAME(smallest)(others, lanes, far);
    }
    Py_ssize_t kept = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double v = sq[i] - 2.0 * dot[i];
        some[kept] = v;
        at[kept] = (int32_t)i;
        kept += v <= bound;
    }
    memcpy(others, some, kept * sizeof(double));
    distances[2] = NAME(smallest)(others, kept, far);
    distances[1] = NAME(smallest)(others, far, near);
    distances[0] = INFINITY;
    Py_ssize_t count = 0, equal = 0;
    for (Py_ssize_t i = 0; i < near; i++) {
        distances[0] = others[i] < distances[0] ? others[i] : distances[0];
        equal += others[i] == distances[1];
    }
    for (Py_ssize_t i = 0; count < near; i++) {
        const int tie = some[i] == distances[1];
        found[count] = at[i];
        count += some[i] < distances[1] || (tie && equal > 0);
        equal -= tie;
    }
}

/* Sum exp(-gamma v) and its fourth power over the first n points, v = offset + sq[i] - 2 x.z_i: squared distances, less
 * the smallest one if the offset contains it, so that the sums do not vanish. */
static void NAME(densities)(const double *sq, const double *dot, Py_ssize_t n, double offset, double gamma,
                            double *wide, double *narrow) {
    const vec two = SET(2.0), zero = SET(0.0), start = SET(offset), factor = SET(-gamma);
    vec sums[2] = {zero, zero};
    double parts[2][W];
    Py_ssize_t i = 0;
    for (; i + W <= n; i += W) {
        const vec v = start + *(const vec *)(sq + i) - two * *(const vec *)(dot + i);
        const vec e = NAME(exp)(factor * AT_LEAST(v, zero)), square = e * e;
        sums[0] += e;
        sums[1] += square * square;
    }
    if (i < n) { /* the remainder after the last full vector */
        const vec v = start + *(const vec *)(sq + i) - two * *(const vec *)(dot + i);
        vec e = NAME(exp)(factor * AT_LEAST(v, zero));
        double tail[W];
        memcpy(tail, &e, sizeof tail);
        for (int j = (int)(n - i); j < W; j++) tail[j] = 0.0;
        memcpy(&e, tail, sizeof tail);
        const vec square = e * e;
        sums[0] += e;
        sums[1] += square * square;
    }
    memcpy(parts, sums, sizeof parts);
    *wide = *narrow = 0.0;
    for (int j = 0; j < W; j++) {
        *wide += parts[0][j];
        *narrow += parts[1][j];
    }
}

/* The losses of merging.h. */
static void NAME(losses)(const double *coef, double scale, const double *kappa, Py_ssize_t n, double alpha_p,
                         double *out) {
    const vec one = SET(1.0), zero = SET(0.0), a_p = SET(alpha_p);
    for (Py_ssize_t i = 0; i < n; i += W) {
        double alphas[W], lengths[W], ratios[W], moves[W], signs[W];
        int any = 0;
        for (int j = 0; j < W; j++) {
            alphas[j] = i + j < n ? coef[i + j] * scale : 0.0;
            lengths[j] = i + j < n ? -logarithm_of_kappa(kappa[i + j]) : 0.0;
            signs[j] = alphas[j] * alpha_p > 0.0;
            ratios[j] = signs[j] > 0.0 ? logarithm_of_ratio(alphas[j], alpha_p) : 0.0;
            any |= signs[j] > 0.0;
        }
        const vec a = LOAD(alphas), L = LOAD(lengths), ratio = LOAD(ratios), same = LOAD(signs);
        vec s = L + ratio;
        for (int t = 0; any && t < 60; t++) { /* the loss is flat at the maximum: half the digits of s suffice */
            const vec e = NAME(exp)(-s), tangent = (one - e) / (one + e);
            const vec slope = one - SET(0.5) * L * (one - tangent * tangent);
            const vec step = (s - L * tangent - ratio) / AT_LEAST(slope, SET(1e-12));
            s = AT_LEAST(s - step, zero);
            STORE(moves, step / (one + s));
            any = 0;
            for (int j = 0; j < W; j++) any |= signs[j] > 0.0 && fabs(moves[j]) > 1e-9;
        }
        const vec e = same * NAME(exp)(-s), h = one / (one + e), rest = e * h; /* h = 1 for opposite signs */
        const vec from_m = NAME(exp)(-L * (rest * rest)), from_p = NAME(exp)(-L * (h * h));
        const vec loss = a * a * (one - from_m * from_m) + a_p * a_p * (one - from_p * from_p) -
                         SET(2.0) * a * a_p * (from_m * from_p) * (one - NAME(exp)(SET(-2.0) * L * (h * rest)));
        double numbers[W];
        STORE(numbers, loss);
        for (int j = 0; j < W && i + j < n; j++) out[i + j] = numbers[j];
    }
}

static const Loops NAME(loops) = {NAME(dots),     NAME(distances),  NAME(distances_tile), NAME(dots_under),
                                  NAME(single_dots_under), NAME(dots_at), NAME(kernel_row), NAME(inner),
                                  NAME(add_losses), NAME(least),      NAME(closest),        NAME(densities),
                                  NAME(losses)};
