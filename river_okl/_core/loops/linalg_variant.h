/* The loops of linalg.h on vectors of W doubles (simd.h). The order of summation depends only on n. */

static INLINE double NAME(total)(vec v) {
#if W == 8
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
#elif W == 4
    return (v[0] + v[2]) + (v[1] + v[3]);
#elif W == 2
    return v[0] + v[1];
#else
    return v;
#endif
}

/* out[k] += total(s[k]) for W vectors, by shuffling halves: with the same sums in the same order as `total`. */
static INLINE void NAME(add_totals)(double *out, const vec *s) {
#if W == 8 && HAVE_SHUFFLES
    vec t[4], u[2];
    for (int k = 0; k < 4; k++)
        t[k] = __builtin_shufflevector(s[2 * k], s[2 * k + 1], 0, 1, 2, 3, 8, 9, 10, 11) +
               __builtin_shufflevector(s[2 * k], s[2 * k + 1], 4, 5, 6, 7, 12, 13, 14, 15);
    for (int k = 0; k < 2; k++)
        u[k] = __builtin_shufflevector(t[2 * k], t[2 * k + 1], 0, 1, 4, 5, 8, 9, 12, 13) +
               __builtin_shufflevector(t[2 * k], t[2 * k + 1], 2, 3, 6, 7, 10, 11, 14, 15);
    const vec sums = __builtin_shufflevector(u[0], u[1], 0, 2, 4, 6, 8, 10, 12, 14) +
                     __builtin_shufflevector(u[0], u[1], 1, 3, 5, 7, 9, 11, 13, 15);
    STORE(out, LOAD(out) + sums);
#else
    for (int k = 0; k < W; k++) out[k] += NAME(total)(s[k]);
#endif
}

static double NAME(dot)(const double *x, const double *y, Py_ssize_t n) {
    vec s0 = SET(0.0), s1 = s0, s2 = s0, s3 = s0;
    Py_ssize_t i = 0;
    for (; i + 4 * W <= n; i += 4 * W) {
        s0 += LOAD(x + i) * LOAD(y + i);
        s1 += LOAD(x + i + W) * LOAD(y + i + W);
        s2 += LOAD(x + i + 2 * W) * LOAD(y + i + 2 * W);
        s3 += LOAD(x + i + 3 * W) * LOAD(y + i + 3 * W);
    }
    for (; i + W <= n; i += W) s0 += LOAD(x + i) * LOAD(y + i);
    double sum = NAME(total)((s0 + s1) + (s2 + s3));
    for (; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* out += sum_r scale[r] A[r, :n] for four rows */
static INLINE void NAME(add_four)(const double *a, Py_ssize_t ld, Py_ssize_t n, const double *scale, double *out) {
    const double *z0 = a, *z1 = a + ld, *z2 = a + 2 * ld, *z3 = a + 3 * ld;
    const vec c0 = SET(scale[0]), c1 = SET(scale[1]), c2 = SET(scale[2]), c3 = SET(scale[3]);
    Py_ssize_t i = 0;
    for (; i + W <= n; i += W)
        STORE(out + i, LOAD(out + i) + ((c0 * LOAD(z0 + i) + c1 * LOAD(z1 + i)) +
                                        (c2 * LOAD(z2 + i) + c3 * LOAD(z3 + i))));
    for (; i < n; i++) out[i] += (scale[0] * z0[i] + scale[1] * z1[i]) + (scale[2] * z2[i] + scale[3] * z3[i]);
}

static INLINE void NAME(add_one)(const double *a, Py_ssize_t n, double scale, double *out) {
    const vec c = SET(scale);
    Py_ssize_t i = 0;
    for (; i + W <= n; i += W) STORE(out + i, LOAD(out + i) + c * LOAD(a + i));
    for (; i < n; i++) out[i] += scale * a[i];
}

/* sums[r] = A[r, :n] v for four rows */
static INLINE void NAME(dot_four)(const double *a, Py_ssize_t ld, Py_ssize_t n, const double *v, double *sums) {
    const double *z0 = a, *z1 = a + ld, *z2 = a + 2 * ld, *z3 = a + 3 * ld;
    vec s0 = SET(0.0), s1 = s0, s2 = s0, s3 = s0;
    Py_ssize_t i = 0;
    for (; i + W <= n; i += W) {
        const vec x = LOAD(v + i);
        s0 += LOAD(z0 + i) * x; s1 += LOAD(z1 + i) * x; s2 += LOAD(z2 + i) * x; s3 += LOAD(z3 + i) * x;
    }
    sums[0] = NAME(total)(s0); sums[1] = NAME(total)(s1); sums[2] = NAME(total)(s2); sums[3] = NAME(total)(s3);
    for (; i < n; i++) {
        sums[0] += z0[i] * v[i]; sums[1] += z1[i] * v[i]; sums[2] += z2[i] * v[i]; sums[3] += z3[i] * v[i];
    }
}

/* Load or store only the first m numbers at p; others are 0, or unchanged.  m may be less than 0 or more than W. */
#if W == 8
#define FIRST(m) ((__mmask8)((1u << (m)) - 1))
#define LOAD_FIRST(p, m) ((vec)_mm512_maskz_loadu_pd(FIRST(m), p))
#define STORE_FIRST(p, m, v) _mm512_mask_storeu_pd(p, FIRST(m), (__m512d)(v))
#define ONLY_FIRST(v, m) ((vec)_mm512_maskz_mov_pd(FIRST(m), (__m512d)(v)))
#elif W == 4
#ifndef OKL_MASKS
#define OKL_MASKS
static const int64_t masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
#endif
#define FIRST(m) _mm256_loadu_si256((const __m256i *)(masks + 8 - (m)))
#define LOAD_FIRST(p, m) ((vec)_mm256_maskload_pd(p, FIRST(m)))
#define STORE_FIRST(p, m, v) _mm256_maskstore_pd(p, FIRST(m), (__m256d)(v))
#define ONLY_FIRST(v, m) ((vec)_mm256_and_pd((__m256d)(v), _mm256_castsi256_pd(FIRST(m))))
#endif
#define ROWS (W == 8 ? 8 : 4)

/* Each number of the triangle is loaded once for its row and its column, ROWS rows at a time; blocks of eight rows on
 * the diagonal are separate.  The scale is applied at the end.  With `moved`, A also becomes A + weight u u',
 * with the same bits as by rank_one. */
static INLINE void NAME(product)(double *a, Py_ssize_t ld, Py_ssize_t n, const int moved, double weight,
                                 const double *u, double scale, const double *v, double keep, double *out) {
    for (Py_ssize_t i = 0; i < n; i++) out[i] = keep == 0.0 ? 0.0 : keep / scale * out[i];
    for (Py_ssize_t j = 0; j < n; j += 8) {
        const Py_ssize_t rows = n - j < 8 ? n - j : 8;
        const int masked = W >= 4 && rows == 8; /* narrow vectors gain nothing */
        Py_ssize_t r = 0;
        if (moved && !masked)
            for (Py_ssize_t k = j; k < j + rows; k++) NAME(add_one)(u, k + 1, weight * u[k], a + k * ld);
        const int moving = moved && masked;
        for (; r + ROWS <= rows; r += ROWS) {
            double *z = a + (j + r) * ld;
            vec c[ROWS], s[ROWS], m[ROWS];
            for (int k = 0; k < ROWS; k++) {
                c[k] = SET(v[j + r + k]);
                s[k] = SET(0.0);
                if (moved) m[k] = SET(u[j + r + k]);
            }
            for (Py_ssize_t i = 0; i < j; i += W) {
                const vec x = LOAD(v + i);
                vec even = LOAD(out + i), odd = SET(0.0);
                vec step = odd;
                if (moving) step = SET(weight) * LOAD(u + i);
                for (int k = 0; k < ROWS; k += 2) {
                    vec y0 = LOAD(z + k * ld + i), y1 = LOAD(z + (k + 1) * ld + i);
                    if (moving) {
                        y0 += m[k] * step;
                        y1 += m[k + 1] * step;
                        STORE(z + k * ld + i, y0);
                        STORE(z + (k + 1) * ld + i, y1);
                    }
                    s[k] += y0 * x;
                    s[k + 1] += y1 * x;
                    even += c[k] * y0;
                    odd += c[k + 1] * y1;
                }
                STORE(out + i, even + odd);
            }
#if W >= 4
            for (int i = 0; masked && i < 8; i += W) {
                const vec x = LOAD(v + j + i);
                vec below = LOAD(out + j + i);
                vec step = x;
                if (moving) step = SET(weight) * LOAD(u + j + i);
                for (int k = 0; k < ROWS; k++) { /* up to the diagonal for the rows, below it for the columns */
                    double *p = z + k * ld + j + i;
                    vec y = LOAD_FIRST(p, r + k + 1 - i);
                    if (moving) {
                        y = ONLY_FIRST(y + m[k] * step, r + k + 1 - i);
                        STORE_FIRST(p, r + k + 1 - i, y);
                    }
                    s[k] += y * x;
                    below += c[k] * ONLY_FIRST(y, r + k - i);
                }
                STORE(out + j + i, below);
            }
#endif
            for (int k = 0; k < ROWS; k += W < ROWS ? W : ROWS) NAME(add_totals)(out + j + r + k, s + k);
        }
        if (masked) continue;
        for (; r < rows; r++) {
            const double *z = a + (j + r) * ld;
            const vec c = SET(v[j + r]);
            vec s = SET(0.0);
            for (Py_ssize_t i = 0; i < j; i += W) {
                const vec y = LOAD(z + i);
                s += y * LOAD(v + i);
                STORE(out + i, LOAD(out + i) + c * y);
            }
            out[j + r] += NAME(total)(s);
        }
        for (r = 0; r < rows; r++) {
            const double *z = a + (j + r) * ld + j;
            double sum = z[r] * v[j + r];
            for (Py_ssize_t c = 0; c < r; c++) {
                sum += z[c] * v[j + c];
                out[j + c] += v[j + r] * z[c];
            }
            out[j + r] += sum;
        }
    }
    if (scale != 1.0)
        for (Py_ssize_t i = 0; i < n; i++) out[i] *= scale;
}
#undef ROWS

static void NAME(symmetric_times)(const double *a, Py_ssize_t ld, Py_ssize_t n, double scale, const double *v,
                                  double keep, double *out) {
    NAME(product)((double *)a, ld, n, 0, 0.0, NULL, scale, v, keep, out);
}

static void NAME(rank_one_times)(double *a, Py_ssize_t ld, Py_ssize_t n, double weight, const double *u, double scale,
                                 const double *v, double keep, double *out) {
    NAME(product)(a, ld, n, 1, weight, u, scale, v, keep, out);
}

/* Eight rows at a time, so that the ends of the loops are predictable. */
static void NAME(rank_one)(double *a, Py_ssize_t ld, Py_ssize_t n, double weight, const double *v) {
    Py_ssize_t j = 0;
#if W >= 4
    for (; j + 8 <= n; j += 8) {
        double *z = a + j * ld;
        vec c[8];
        for (int k = 0; k < 8; k++) c[k] = SET(v[j + k]);
        for (Py_ssize_t i = 0; i < j; i += W) {
            const vec x = SET(weight) * LOAD(v + i);
            for (int k = 0; k < 8; k++) STORE(z + k * ld + i, LOAD(z + k * ld + i) + c[k] * x);
        }
        for (int i = 0; i < 8; i += W) {
            const vec x = SET(weight) * LOAD(v + j + i);
            for (int k = 0; k < 8; k++) {
                double *y = z + k * ld + j + i;
                STORE_FIRST(y, k + 1 - i, LOAD_FIRST(y, k + 1 - i) + c[k] * x);
            }
        }
    }
#endif
    for (; j < n; j++) NAME(add_one)(v, j + 1, weight * v[j], a + j * ld);
}
#undef FIRST
#undef LOAD_FIRST
#undef STORE_FIRST
#undef ONLY_FIRST

static void NAME(solve_lower)(const double *l, Py_ssize_t ld, Py_ssize_t n, double *b) {
    Py_ssize_t i = 0;
    for (; i + 4 <= n; i += 4) {
        double sums[4];
        NAME(dot_four)(l + i * ld, ld, i, b, sums);
        for (int r = 0; r < 4; r++) {
            double sum = b[i + r] - sums[r];
            for (int c = 0; c < r; c++) sum -= l[(i + r) * ld + i + c] * b[i + c];
            b[i + r] = sum / l[(i + r) * ld + i + r];
        }
    }
    for (; i < n; i++) b[i] = (b[i] - NAME(dot)(l + i * ld, b, i)) / l[i * ld + i];
}

static void NAME(solve_upper)(const double *l, Py_ssize_t ld, Py_ssize_t n, double *b) {
    Py_ssize_t i = n - 1;
    for (; i >= n / 4 * 4; i--) {
        b[i] /= l[i * ld + i];
        NAME(add_one)(l + i * ld, i, -b[i], b);
    }
    for (i -= 3; i >= 0; i -= 4) {
        double steps[4];
        for (int r = 3; r >= 0; r--) {
            double sum = b[i + r];
            for (int k = r + 1; k < 4; k++) sum -= l[(i + k) * ld + i + r] * b[i + k];
            b[i + r] = sum / l[(i + r) * ld + i + r];
            steps[r] = -b[i + r];
        }
        NAME(add_four)(l + i * ld, ld, i, steps, b);
    }
}

/* Cholesky by blocks of C columns. The contribution of earlier columns is a product of two slices of L, in tiles of R
 * rows held in registers, from C packed rows. */
#define R (W == 8 ? 8 : 4)
#define C (2 * W)
#define DEPTH 256

/* tile[r, :] = sum_k x[r ld + k step] packed[k, :] */
static INLINE void NAME(tile_by)(const double *x, Py_ssize_t ld, Py_ssize_t step, const double *packed,
                                 Py_ssize_t depth, double *tile) {
    vec s[R][2];
    for (int r = 0; r < R; r++) s[r][0] = s[r][1] = SET(0.0);
    for (Py_ssize_t k = 0; k < depth; k++) {
        const vec y0 = *(const vec *)(packed + k * C), y1 = *(const vec *)(packed + k * C + W);
        for (int r = 0; r < R; r++) {
            const vec c = SET(x[r * ld + k * step]);
            s[r][0] += c * y0;
            s[r][1] += c * y1;
        }
    }
    for (int r = 0; r < R; r++) {
        STORE(tile + r * C, s[r][0]);
        STORE(tile + r * C + W, s[r][1]);
    }
}

static void NAME(tile)(const double *x, Py_ssize_t ld, const double *packed, Py_ssize_t depth, double *tile) {
    NAME(tile_by)(x, ld, 1, packed, depth, tile);
}

static void NAME(tile_row)(const double *x, Py_ssize_t step, const double *packed, Py_ssize_t depth, double *tile) {
    vec s0 = SET(0.0), s1 = SET(0.0);
    for (Py_ssize_t k = 0; k < depth; k++) {
        s0 += SET(x[k * step]) * *(const vec *)(packed + k * C);
        s1 += SET(x[k * step]) * *(const vec *)(packed + k * C + W);
    }
    STORE(tile, s0);
    STORE(tile + W, s1);
}

/* By the tiles of the Cholesky decomposition. Few rows of B at a time leave those of A in the cache. */
static void NAME(add_product)(const double *a, Py_ssize_t row, Py_ssize_t column, Py_ssize_t m, const double *b,
                              Py_ssize_t ld, Py_ssize_t n, Py_ssize_t depth, int lower, double *out,
                              Py_ssize_t ld_out) {
    enum { FEW = 64 };
    double room[FEW * C + 8], tile[R * C];
    double *packed = room + (64 - (uintptr_t)room % 64) % 64 / 8;
    for (Py_ssize_t k0 = 0; k0 < depth; k0 += FEW) {
        const Py_ssize_t few = depth - k0 < FEW ? depth - k0 : FEW;
        for (Py_ssize_t j = 0; j < n; j += C) {
            const int width = n - j < C ? (int)(n - j) : C;
            if (width < C) memset(packed, 0, sizeof(double) * FEW * C);
            for (Py_ssize_t k = 0; k < few; k++) {
                const double *from = b + (k0 + k) * ld + j;
                if (width == C)
                    memcpy(packed + k * C, from, sizeof(double) * C);
                else
                    memcpy(packed + k * C, from, sizeof(double) * (size_t)width);
            }
            Py_ssize_t i = lower ? j / R * R : 0;
            while (i < m) {
                const int rows = i + R <= m ? R : 1;
                const double *x = a + i * row + k0 * column;
                if (rows == R && column == 1)
                    NAME(tile)(x, row, packed, few, tile);
                else if (rows == R)
                    NAME(tile_by)(x, row, column, packed, few, tile);
                else
                    NAME(tile_row)(x, column, packed, few, tile);
                for (int r = 0; r < rows; r++, i++) {
                    double *to = out + i * ld_out + j;
                    if (width == C) {
                        STORE(to, LOAD(to) + LOAD(tile + r * C));
                        STORE(to + W, LOAD(to + W) + LOAD(tile + r * C + W));
                    } else {
                        for (int c = 0; c < width; c++) to[c] += tile[r * C + c];
                    }
                }
            }
        }
    }
}

static Py_ssize_t NAME(cholesky)(double *a, Py_ssize_t ld, Py_ssize_t n) {
    double room[DEPTH * C + 8], tile[R * C], inverses[C];
    double *packed = room + (64 - (uintptr_t)room % 64) % 64 / 8;
    for (Py_ssize_t j = 0; j < n; j += C) {
        const int columns = n - j < C ? (int)(n - j) : C;
        for (Py_ssize_t k0 = 0; k0 < j; k0 += DEPTH) {
            const Py_ssize_t depth = j - k0 < DEPTH ? j - k0 : DEPTH;
            for (int c = 0; c < C; c++)
                for (Py_ssize_t k = 0; k < depth; k++)
                    packed[k * C + c] = c < columns ? a[(j + c) * ld + k0 + k] : 0.0;
            Py_ssize_t i = j;
            while (i < n) {
                const int rows = i + R <= n ? R : 1;
                if (rows == R)
                    NAME(tile)(a + i * ld + k0, ld, packed, depth, tile);
                else
                    NAME(tile_row)(a + i * ld + k0, 1, packed, depth, tile);
                for (int r = 0; r < rows; r++, i++) {
                    double *row = a + i * ld + j;
                    const int width = i - j < C ? (int)(i - j) + 1 : C;
                    for (int c = 0; c < width; c++) row[c] -= tile[r * C + c];
                }
            }
        }
        double *block = a + j * ld + j;
        for (int r = 0; r < columns; r++) {
            for (int c = 0; c <= r; c++) {
                double sum = block[r * ld + c];
                for (int k = 0; k < c; k++) sum -= block[r * ld + k] * block[c * ld + k];
                if (c < r)
                    block[r * ld + c] = sum * inverses[c];
                else if (sum > 0.0 && sum <= 1.7976931348623157e308)
                    inverses[r] = 1.0 / (block[r * ld + r] = sqrt(sum));
                else
                    return j + r + 1;
            }
        }
        for (int k = 0; k < C; k++) /* the block's columns, subtracted in turn by the rows below */
            for (int c = 0; c < C; c++) packed[k * C + c] = k < c && c < columns ? block[c * ld + k] : 0.0;
        for (Py_ssize_t i = j + C; i < n; i += R) {
            const int rows = n - i < R ? (int)(n - i) : R;
            double solved[R * C]; /* apart from the tile: loading a vector after storing a part of it stalls */
            for (int r = 0; r < rows; r++) memcpy(tile + r * C, a + (i + r) * ld + j, sizeof(double) * C);
            for (int k = 0; k < C; k++) {
                const vec y0 = *(const vec *)(packed + k * C), y1 = *(const vec *)(packed + k * C + W);
                for (int r = 0; r < rows; r++) {
                    double *t = tile + r * C;
                    const double found = t[k] * inverses[k];
                    const vec x = SET(found);
                    solved[r * C + k] = found;
                    STORE(t, LOAD(t) - x * y0);
                    STORE(t + W, LOAD(t + W) - x * y1);
                }
            }
            for (int r = 0; r < rows; r++) memcpy(a + (i + r) * ld + j, solved + r * C, sizeof(double) * C);
        }
    }
    return 0;
}
#undef R
#undef C
#undef DEPTH

/* out[:n] = sum_k x[k * step] A[k, :n] over m rows; x and the last rows may be in out: each column is read before it is
 * written */
static INLINE void NAME(combine)(const double *a, Py_ssize_t ld, Py_ssize_t m, Py_ssize_t n, const double *x,
                                 Py_ssize_t step, double *out) {
    Py_ssize_t i = 0;
    for (; i + 8 * W <= n; i += 8 * W) {
        vec s0 = SET(0.0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
        for (Py_ssize_t k = 0; k < m; k++) {
            const double *z = a + k * ld + i;
            const vec c = SET(x[k * step]);
            s0 += c * LOAD(z); s1 += c * LOAD(z + W); s2 += c * LOAD(z + 2 * W); s3 += c * LOAD(z + 3 * W);
            s4 += c * LOAD(z + 4 * W); s5 += c * LOAD(z + 5 * W); s6 += c * LOAD(z + 6 * W); s7 += c * LOAD(z + 7 * W);
        }
        STORE(out + i, s0); STORE(out + i + W, s1); STORE(out + i + 2 * W, s2); STORE(out + i + 3 * W, s3);
        STORE(out + i + 4 * W, s4); STORE(out + i + 5 * W, s5); STORE(out + i + 6 * W, s6); STORE(out + i + 7 * W, s7);
    }
    for (; i + W <= n; i += W) {
        vec s = SET(0.0);
        for (Py_ssize_t k = 0; k < m; k++) s += SET(x[k * step]) * LOAD(a + k * ld + i);
        STORE(out + i, s);
    }
    for (; i < n; i++) {
        double s = 0.0;
        for (Py_ssize_t k = 0; k < m; k++) s += x[k * step] * a[k * ld + i];
        out[i] = s;
    }
}

/* Each row from the rows above */
static void NAME(invert_lower)(double *l, Py_ssize_t ld, Py_ssize_t n) {
    enum { BLOCK = 8 * W };
    for (Py_ssize_t i = 0; i < n; i++) {
        double *row = l + i * ld, sums[BLOCK];
        const double pivot = 1.0 / row[i];
        for (Py_ssize_t c = 0; c < i; c += BLOCK) { /* columns from c on are 0 above row c */
            const Py_ssize_t width = i - c < BLOCK ? i - c : BLOCK;
            if (c + width < i)
                NAME(combine)(l + (c + width) * ld + c, ld, i - c - width, width, row + c + width, 1, sums);
            else
                memset(sums, 0, sizeof(sums));
            for (Py_ssize_t k = c; k < c + width; k++) NAME(add_one)(l + k * ld + c, k - c + 1, row[k], sums);
            for (Py_ssize_t k = 0; k < width; k++) row[c + k] = -pivot * sums[k];
        }
        row[i] = pivot;
    }
}

/* First M = L^-1; then M'M, each row from the rows below. */
static void NAME(inverse)(double *l, Py_ssize_t ld, Py_ssize_t n) {
    NAME(invert_lower)(l, ld, n);
    for (Py_ssize_t i = 0; i < n; i++) NAME(combine)(l + i * ld, ld, n - i, i + 1, l + i * ld + i, ld, l + i * ld);
}

/* Eight rows at a time, up to the end of their block on the diagonal; they are in the cache when they are loaded again,
 * for their columns. */
static void NAME(factored_times)(const double *r, Py_ssize_t ld, Py_ssize_t n, const double *v, double *z,
                                 double *out) {
    memset(out, 0, sizeof(double) * (size_t)((n + 7) / 8 * 8));
    for (Py_ssize_t j = 0; j < n; j += 8) {
        const double *a = r + j * ld;
        vec s[8], c[8];
        for (int k = 0; k < 8; k++) s[k] = SET(0.0);
        for (Py_ssize_t i = 0; i < j + 8; i += W) {
            const vec x = LOAD(v + i);
            for (int k = 0; k < 8; k++) s[k] += LOAD(a + k * ld + i) * x;
        }
        for (int k = 0; k < 8; k++) z[j + k] = 0.0;
        for (int k = 0; k < 8; k += W) NAME(add_totals)(z + j + k, s + k);
        for (int k = 0; k < 8; k++) c[k] = SET(z[j + k]);
        for (Py_ssize_t i = 0; i < j + 8; i += W) {
            vec even = LOAD(out + i), odd = SET(0.0);
            for (int k = 0; k < 8; k += 2) {
                even += c[k] * LOAD(a + k * ld + i);
                odd += c[k + 1] * LOAD(a + (k + 1) * ld + i);
            }
            STORE(out + i, even + odd);
        }
    }
}

/* out = A B for K rows of A from row i on; the sums of a row stay in registers */
static INLINE void NAME(block_rows)(const double *a, Py_ssize_t row, Py_ssize_t column, Py_ssize_t from, Py_ssize_t to,
                                    const double *b, double *out, const int K) {
    vec s[8][BLOCK / W];
    for (int r = 0; r < K; r++)
        for (int v = 0; v < BLOCK / W; v++) s[r][v] = SET(0.0);
    for (Py_ssize_t k = from; k < to; k++)
        for (int r = 0; r < K; r++) {
            const vec c = SET(a[r * row + k * column]);
            for (int v = 0; v < BLOCK / W; v++) s[r][v] += c * LOAD(b + k * BLOCK + v * W);
        }
    for (int r = 0; r < K; r++)
        for (int v = 0; v < BLOCK / W; v++) STORE(out + r * BLOCK + v * W, s[r][v]);
}

enum { NAME(BLOCK_ROWS) = W == 8 ? 8 : W == 4 ? 2 : 1 };

static void NAME(block_times)(const double *a, Py_ssize_t row, Py_ssize_t column, Py_ssize_t m, Py_ssize_t depth,
                              int triangle, const double *b, double *out) {
    enum { K = NAME(BLOCK_ROWS) };
    for (Py_ssize_t i = 0; i < m;) {
        const int rows = i + K <= m ? K : 1;
        const Py_ssize_t from = triangle < 0 ? i : 0, to = triangle > 0 ? i + rows : depth;
        if (rows == K)
            NAME(block_rows)(a + i * row, row, column, from, to, b, out + i * BLOCK, K);
        else
            NAME(block_rows)(a + i * row, row, column, from, to, b, out + i * BLOCK, 1);
        i += rows;
    }
}

/* x'A x = sum_i x_i (2 sum_{k < i} A_ik x_k + A_ii x_i) */
static void NAME(block_forms)(const double *a, Py_ssize_t ld, Py_ssize_t n, const double *x, double *out) {
    enum { K = NAME(BLOCK_ROWS) };
    vec total[BLOCK / W];
    double below[K * BLOCK];
    for (int v = 0; v < BLOCK / W; v++) total[v] = SET(0.0);
    for (Py_ssize_t i = 0; i < n;) {
        const int rows = i + K <= n ? K : 1;
        const double *z = a + i * ld;
        if (rows == K)
            NAME(block_rows)(z, ld, 1, 0, i, x, below, K);
        else
            NAME(block_rows)(z, ld, 1, 0, i, x, below, 1);
        for (int r = 0; r < rows; r++, i++)
            for (int v = 0; v < BLOCK / W; v++) {
                const vec own = LOAD(x + i * BLOCK + v * W);
                vec s = LOAD(below + r * BLOCK + v * W);
                for (int c = 0; c < r; c++) s += SET(z[r * ld + (i - r) + c]) * LOAD(x + (i - r + c) * BLOCK + v * W);
                total[v] += own * ((s + s) + SET(z[r * ld + i]) * own); /* one product a sum: no choice which to fuse */
            }
    }
    for (int v = 0; v < BLOCK / W; v++) STORE(out + v * W, total[v]);
}

static void NAME(factored_diagonal)(const double *r, Py_ssize_t ld, Py_ssize_t n, double *out) {
    memset(out, 0, sizeof(double) * (size_t)((n + 7) / 8 * 8));
    for (Py_ssize_t j = 0; j < n; j += 8) {
        for (Py_ssize_t i = 0; i < j + 8; i += W) {
            vec even = LOAD(out + i), odd = SET(0.0);
            for (int k = 0; k < 8; k += 2) {
                const vec x = LOAD(r + (j + k) * ld + i), y = LOAD(r + (j + k + 1) * ld + i);
                even += x * x;
                odd += y * y;
            }
            STORE(out + i, even + odd);
        }
    }
}

/* Givens rotations of rows j and j + 1, from i on, make column i zero in row j. */
static void NAME(remove_factored)(double *r, Py_ssize_t ld, Py_ssize_t n, Py_ssize_t i) {
    for (Py_ssize_t j = i; j < n - 1; j++) {
        double *x = r + j * ld, *y = x + ld;
        const double length = hypot(x[i], y[i]), c = length > 0.0 ? y[i] / length : 1.0;
        const double s = length > 0.0 ? x[i] / length : 0.0;
        Py_ssize_t k = 0;
        for (; k + W <= j + 2; k += W) {
            const vec u = LOAD(x + k), v = LOAD(y + k);
            STORE(x + k, SET(c) * u - SET(s) * v);
            STORE(y + k, SET(s) * u + SET(c) * v);
        }
        for (; k < j + 2; k++) {
            const double u = x[k], v = y[k];
            x[k] = c * u - s * v;
            y[k] = s * u + c * v;
        }
        memmove(x + i, x + i + 1, sizeof(double) * (size_t)(j + 1 - i));
        x[j + 1] = 0.0;
    }
    memset(r + (n - 1) * ld, 0, sizeof(double) * (size_t)n);
}

static void NAME(times)(const double *a, Py_ssize_t ld, Py_ssize_t m, Py_ssize_t n, const double *v, double *out) {
    Py_ssize_t i = 0;
    for (; i + 4 <= m; i += 4) NAME(dot_four)(a + i * ld, ld, n, v, out + i);
    for (; i < m; i++) out[i] = NAME(dot)(a + i * ld, v, n);
}

static void NAME(transposed_times)(const double *a, Py_ssize_t ld, Py_ssize_t m, Py_ssize_t n, const double *v,
                                   double *out) {
    NAME(combine)(a, ld, m, n, v, 1, out);
}

/* Eigenvalues and vectors as in EISPACK's tred2 and tql2: reflections make A tridiagonal, from the last row to the
 * first; rotations reduce its off-diagonal to 0 (QL with implicit shifts) and are applied to pairs of rows of
 * `vectors`. */
static int NAME(eigen)(double *a, Py_ssize_t ld, Py_ssize_t n, double *values, double *vectors, double *scratch) {
    double *off = scratch, *squares = scratch + n; /* off-diagonal; u'u/2 of each reflection 1 - u u'/(u'u/2) */
    for (Py_ssize_t i = n - 1; i > 0; i--) {
        double *u = a + i * ld, scale = 0.0;
        for (Py_ssize_t k = 0; k < i; k++) scale += fabs(u[k]);
        squares[i] = 0.0;
        off[i] = u[i - 1];
        if (i == 1 || scale == 0.0) continue;
        for (Py_ssize_t k = 0; k < i; k++) u[k] /= scale;
        const double square = NAME(dot)(u, u, i), root = u[i - 1] >= 0.0 ? -sqrt(square) : sqrt(square);
        const double h = square - u[i - 1] * root;
        u[i - 1] -= root;
        NAME(symmetric_times)(a, ld, i, 1.0 / h, u, 0.0, off);
        NAME(add_one)(u, i, -NAME(dot)(u, off, i) / (2.0 * h), off);
        for (Py_ssize_t j = 0; j < i; j++) {
            NAME(add_one)(off, j + 1, -u[j], a + j * ld);
            NAME(add_one)(u, j + 1, -off[j], a + j * ld);
        }
        squares[i] = h;
        off[i] = scale * root;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        const double *u = a + i * ld;
        values[i] = u[i];
        memset(vectors + i * n, 0, sizeof(double) * (size_t)n);
        vectors[i * n + i] = 1.0;
        if (squares[i] > 0.0 && i > 0)
            for (Py_ssize_t r = 0; r < i; r++)
                NAME(add_one)(u, i, -NAME(dot)(vectors + r * n, u, i) / squares[i], vectors + r * n);
    }
    for (Py_ssize_t i = 1; i < n; i++) off[i - 1] = off[i];
    if (n) off[n - 1] = 0.0;
    double largest = 0.0;
    for (Py_ssize_t i = 0; i < n; i++) largest = fmax(largest, fabs(values[i]) + fabs(off[i]));
    for (Py_ssize_t l = 0; l < n; l++) {
        for (int tries = 0;; tries++) {
            const double rounding = tries < 30 ? 0.0 : largest; /* for eigenvalues of 0 */
            Py_ssize_t m = l, i;
            while (m < n - 1 && fabs(off[m]) > 1.1e-16 * (fabs(values[m]) + fabs(values[m + 1]) + rounding)) m++;
            if (m == l) break;
            if (tries == 60) return 1;
            double g = (values[l + 1] - values[l]) / (2.0 * off[l]), r = hypot(g, 1.0), s = 1.0, c = 1.0, p = 0.0;
            g = values[m] - values[l] + off[l] / (g + (g >= 0.0 ? r : -r));
            for (i = m - 1; i >= l; i--) {
                const double f = s * off[i], b = c * off[i];
                off[i + 1] = r = hypot(f, g);
                if (r == 0.0) {
                    values[i + 1] -= p;
                    off[m] = 0.0;
                    break;
                }
                s = f / r;
                c = g / r;
                g = values[i + 1] - p;
                r = (values[i] - g) * s + 2.0 * c * b;
                p = s * r;
                values[i + 1] = g + p;
                g = c * r - b;
                double *x = vectors + i * n, *y = x + n;
                Py_ssize_t k = 0;
                for (; k + W <= n; k += W) {
                    const vec u = LOAD(x + k), v = LOAD(y + k);
                    STORE(x + k, SET(c) * u - SET(s) * v);
                    STORE(y + k, SET(s) * u + SET(c) * v);
                }
                for (; k < n; k++) {
                    const double u = x[k], v = y[k];
                    x[k] = c * u - s * v;
                    y[k] = s * u + c * v;
                }
            }
            if (i >= l) continue; /* r was 0 */
            values[l] -= p;
            off[l] = g;
            off[m] = 0.0;
        }
    }
    return 0;
}

static const Linalg NAME(linalg) = {NAME(dot),
                                    NAME(symmetric_times),
                                    NAME(rank_one),
                                    NAME(rank_one_times),
                                    NAME(cholesky),
                                    NAME(solve_lower),
                                    NAME(solve_upper),
                                    NAME(invert_lower),
                                    NAME(inverse),
                                    NAME(factored_times),
                                    NAME(factored_diagonal),
                                    NAME(remove_factored),
                                    NAME(times),
                                    NAME(transposed_times),
                                    NAME(add_product),
                                    NAME(block_times),
                                    NAME(block_forms),
                                    NAME(eigen)};
