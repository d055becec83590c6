/* What this machine can do at most, and the core's own vector loops, for benchmarks/speed.py (compiled when it runs).
 *
 * Every function repeats its work `times` times and returns the seconds of processor time that this took. */
#define _GNU_SOURCE
#include "rows.h"

#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

#define KEEP __asm__ volatile("" ::: "memory")

typedef double wide __attribute__((vector_size(64)));

/* 12 * 8 multiply-adds a round in registers, in chains that do not wait for each other */
double fma_seconds(long times) {
    const wide x = {.5, .5, .5, .5, .5, .5, .5, .5};
    wide a0 = x, a1 = x, a2 = x, a3 = x, a4 = x, a5 = x, a6 = x, a7 = x, a8 = x, a9 = x, a10 = x, a11 = x;
    double start = now();
    for (long k = 0; k < times; k++) {
        a0 = a0 * x + x; a1 = a1 * x + x; a2 = a2 * x + x; a3 = a3 * x + x; a4 = a4 * x + x; a5 = a5 * x + x;
        a6 = a6 * x + x; a7 = a7 * x + x; a8 = a8 * x + x; a9 = a9 * x + x; a10 = a10 * x + x; a11 = a11 * x + x;
        __asm__ volatile("" : "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3), "+x"(a4), "+x"(a5), "+x"(a6), "+x"(a7), "+x"(a8), "+x"(a9), "+x"(a10), "+x"(a11));
    }
    return now() - start;
}

/* reads of an array of n doubles */
double load_seconds(const double *a, long n, long times) {
    wide s[8] = {{0}};
    double start = now();
    for (long k = 0; k < times; k++) {
        for (long i = 0; i + 64 <= n; i += 64)
            for (int j = 0; j < 8; j++) s[j] += *(const wide *)(a + i + 8 * j);
        KEEP;
    }
    for (int j = 1; j < 8; j++) s[0] += s[j];
    volatile double sink = s[0][0];
    (void)sink;
    return now() - start;
}

/* a[i] = b[i] + 3 c[i] */
double triad_seconds(double *restrict a, const double *restrict b, const double *restrict c, long n, long times) {
    double start = now();
    for (long k = 0; k < times; k++) {
        for (long i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
        KEEP;
    }
    return now() - start;
}

/* One Gaussian kernel row over n support vectors and m features, part by part: 0 distances, 1 exp, 2 inner product. */
double part_seconds(const char *variant, int part, const double *z, const double *x, long n, long m, double *row,
                    double *out, long times) {
    const Loops *loops = find_loops(variant);
    const double **rows = malloc(m * sizeof *rows);
    Factor factor = {EXP_SQUARED_DISTANCE, 1, 0.01, 0.0};
    Term term = {1.0, 1};
    Program kernel = {1, &term, &factor};
    volatile double sink;
    for (long j = 0; j < m; j++) rows[j] = z + j * n;
    double start = now();
    for (long k = 0; k < times; k++) {
        if (part == 0) {
            memset(row, 0, n * sizeof *row);
            loops->distances(rows, x, m, n, row);
        } else if (part == 1)
            loops->kernel_row(&kernel, row, 1, out, 0.0, n, out);
        else
            sink = loops->inner(row, out, n);
        KEEP;
    }
    start = now() - start;
    free(rows);
    (void)sink;
    return start;
}

/* The same row in single precision, in the simplest loops that the compiler turns into the widest vectors:
 * 0 distances, 1 a Gaussian by a polynomial of degree 7, 2 inner product. */
double single_seconds(int part, const float *z, const float *x, long n, long m, float *restrict row,
                      float *restrict out, long times) {
    float total = 0.0f;
    double start = now();
    for (long k = 0; k < times; k++) {
        if (part == 0) {
            for (long i = 0; i < n; i += 128) {
                typedef float vec __attribute__((vector_size(64)));
                long width = n - i < 128 ? n - i : 128;
                if (width == 128) {
                    vec s[8] = {{0}};
                    for (long j = 0; j < m; j++)
                        for (int q = 0; q < 8; q++) {
                            vec d = x[j] - *(const vec *)(z + j * n + i + 16 * q);
                            s[q] += d * d;
                        }
                    for (int q = 0; q < 8; q++) *(vec *)(row + i + 16 * q) = s[q];
                } else
                    for (long l = i; l < i + width; l += 16) {
                        vec s = {0};
                        for (long j = 0; j < m; j++) {
                            vec d = x[j] - *(const vec *)(z + j * n + l);
                            s += d * d;
                        }
                        *(vec *)(row + l) = s;
                    }
            }
        } else if (part == 1) {
            for (long i = 0; i < n; i++) {
                float t = -0.01f * row[i];
                t = t > -87.0f ? t : -87.0f;
                float shifted = t * 1.44269504f + 12582912.0f, whole = shifted - 12582912.0f;
                float r = t - whole * 0.693359375f + whole * 2.12194440e-4f;
                float p = 1.0f / 5040.0f;
                p = p * r + 1.0f / 720.0f; p = p * r + 1.0f / 120.0f; p = p * r + 1.0f / 24.0f;
                p = p * r + 1.0f / 6.0f; p = p * r + 0.5f; p = p * r + 1.0f; p = p * r + 1.0f;
                int32_t bits, shift;
                memcpy(&bits, &p, 4);
                memcpy(&shift, &shifted, 4);
                bits += (int32_t)((uint32_t)shift << 23);
                memcpy(out + i, &bits, 4);
            }
        } else {
            typedef float vec __attribute__((vector_size(64)));
            vec s[4] = {{0}};
            for (long i = 0; i + 64 <= n; i += 64)
                for (int q = 0; q < 4; q++) s[q] += *(const vec *)(row + i + 16 * q) * *(const vec *)(out + i + 16 * q);
            s[0] += s[1] + s[2] + s[3];
            total += s[0][0];
        }
        KEEP;
    }
    volatile float sink = total;
    (void)sink;
    return now() - start;
}
