/* The loops over support vectors that everything else is made of, and the choice of their instruction set.
 *
 *   dots        the row of dot products x . z_i, from the rows Z[feature, :] of the features that x has
 *   distances   the row of |x - z_i|^2, where x has (nearly) all of the features: no worse off for large offsets
 *   distances_tile  the rows of TILE samples at once
 *   kernel_row  kappa(x, z_i) from either row: every kernel of river_okl.kernels, sums and products of them
 *   inner       sum_i alpha_i kappa(x, z_i)
 *
 * One source (rows_variant.h) is compiled for the baseline (SSE2, NEON or plain C), for AVX2 with FMA and for
 * AVX-512; select_loops() picks at import what the processor has, or what RIVER_OKL_SIMD names. Nothing is built
 * with -march=native or -ffast-math (which breaks the reduction in exp).
 */
#ifndef RIVER_OKL_ROWS_H
#define RIVER_OKL_ROWS_H

#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { EXP_SQUARED_DISTANCE = 0, EXP_DISTANCE = 1, DOT_POWER = 2 };
enum { TILE = 4 };

typedef struct { /* exp(-gamma |x-z|^2), exp(-gamma |x-z|) or (gamma x.z + coef0)^degree */
    int kind, degree;
    double gamma, coef0;
} Factor;

typedef struct {
    double weight;
    int n_factors;
} Term;

typedef struct { /* sum over terms of weight * product of that term's factors; factors stand one term after another */
    int n_terms;
    const Term *terms;
    const Factor *factors;
} Program;

typedef struct {
    void (*dots)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, double *out);
    void (*distances)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, double *out);
    void (*distances_tile)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, double *out,
                           Py_ssize_t stride);
    void (*kernel_row)(const Program *k, const double *row, int is_distance, const double *sq, double x_sq, Py_ssize_t n,
                       double *out);
    double (*inner)(const double *a, const double *b, Py_ssize_t n);
} Loops;

#if defined(__GNUC__) || defined(__clang__)
#define HAVE_VECTORS 1
#define INLINE inline __attribute__((always_inline))
#else
#define HAVE_VECTORS 0
#define INLINE __inline
static INLINE int64_t bits_of_real(double v) { int64_t b; memcpy(&b, &v, 8); return b; }
static INLINE double real_of_bits(int64_t b) { double v; memcpy(&v, &b, 8); return v; }
#endif

#define NAME(f) baseline_##f
#if HAVE_VECTORS
#define W 2
#else
#define W 1
#endif
#include "rows_variant.h"

#if HAVE_VECTORS && defined(__x86_64__)
#define HAVE_X86 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define NAME(f) avx2_##f
#define W 4
#include "rows_variant.h"
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma")
#endif
#define NAME(f) avx512_##f
#define W 8
#include "rows_variant.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
#define HAVE_X86 0
#endif

/* The loops called `name`, or NULL where this build or this processor does not have them. */
static const Loops *find_loops(const char *name) {
    if (strcmp(name, "baseline") == 0) return &baseline_loops;
#if HAVE_X86
    __builtin_cpu_init();
    if (strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &avx2_loops;
    if (strcmp(name, "avx512") == 0 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &avx512_loops;
#endif
    return NULL;
}

#endif
