/* The basic loops over support vectors.
 *
 *   dots        the row of dot products x . z_i, from the rows Z[feature, :] of the features of x
 *   distances   the row of |x - z_i|^2, if x has (nearly) all features: also accurate for large offsets
 *   distances_tile  the rows of TILE samples at once
 *   dots_under  the rows of dot products under one or two metrics at once; `more` adds to existing values
 *   single_dots_under  dots_under for points in single precision
 *   dots_at     the dot products with the points at given positions, under all METRICS
 *   kernel_row  kappa(x, z_i) from either row: every kernel of river_okl.kernels, their sums and products
 *   inner       sum_i alpha_i kappa(x, z_i)
 *   add_losses  the loss if x replaces z_i, alpha_i^2 (kappa(x, x) - kappa(x, z_i)^2 / kappa(x, x))
 *   least       the position of the smallest number
 *   closest     the positions of the points nearest to x, how far the nearest and the last of them are, and a farther
 *               one
 *   losses      of fusing a support vector with every other one (merging.h)
 *   densities   sum_i e_i and sum_i e_i^4, e_i = exp(-gamma (|x-z_i|^2 - shift)): two kernel densities
 *
 * One source (rows_variant.h) is compiled for each instruction set by simd.h; find_loops(name) selects one.
 */
#ifndef RIVER_OKL_ROWS_H
#define RIVER_OKL_ROWS_H

#include <Python.h>
#include <stdint.h>

enum { EXP_SQUARED_DISTANCE = 0, EXP_DISTANCE = 1, DOT_POWER = 2 };
enum { TILE = 4, SEGMENT = 64, METRICS = 4, MOST_AT_ONCE = 4 };

typedef struct { /* exp(-gamma |x-z|^2), exp(-gamma |x-z|) or (gamma x.z + coef0)^degree */
    int kind, degree;
    double gamma, coef0;
} Factor;

typedef struct {
    double weight;
    int n_factors;
} Term;

typedef struct { /* sum over terms of weight * product of the term's factors; factors are stored term by term */
    int n_terms;
    const Term *terms;
    const Factor *factors;
} Program;

typedef struct {
    void (*dots)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, double *out);
    void (*distances)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, double *out);
    void (*distances_tile)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, double *out,
                           Py_ssize_t stride);
    void (*dots_under)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, int more,
                       double *const *out, int metrics);
    void (*single_dots_under)(const float *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, int more,
                              double *const *out, int metrics);
    void (*dots_at)(const void *const *rows, int single, const double *vals, Py_ssize_t m, const int32_t *at,
                    Py_ssize_t n, double *const *out);
    void (*kernel_row)(const Program *k, const double *row, int is_distance, const double *sq, double x_sq,
                       Py_ssize_t n, double *out);
    double (*inner)(const double *a, const double *b, Py_ssize_t n);
    void (*add_losses)(const double *coef, const double *row, double own, Py_ssize_t n, double *out);
    Py_ssize_t (*least)(const double *values, Py_ssize_t n);
    void (*closest)(const double *sq, const double *dot, Py_ssize_t n, Py_ssize_t near, Py_ssize_t far, double *some,
                    double *others, int32_t *at, Py_ssize_t *found, double *distances);
    void (*densities)(const double *sq, const double *dot, Py_ssize_t n, double offset, double gamma, double *wide,
                      double *narrow);
    void (*losses)(const double *coef, double scale, const double *kappa, Py_ssize_t n, double alpha_p, double *out);
} Loops;

#endif
