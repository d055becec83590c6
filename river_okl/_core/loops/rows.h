/* The basic loops over support vectors.
 *
 *   dots        the row of dot products x . z_i, from the rows Z[feature, :] of the features of x
 *   distances   the row of |x - z_i|^2, if x has (nearly) all features: accurate for large offsets, too
 *   distances_tile  the rows of TILE samples at once
 *   dots_two, dots_three  the rows of dot products under two or three metrics at once; `more` adds to existing ones
 *   kernel_row  kappa(x, z_i) from either row: every kernel of river_okl.kernels, their sums and products
 *   inner       sum_i alpha_i kappa(x, z_i)
 *   add_losses  the loss if x replaces z_i, alpha_i^2 (kappa(x, x) - kappa(x, z_i)^2 / kappa(x, x))
 *   least       the position of the smallest of them
 *
 * One source (rows_variant.h) is compiled for each instruction set by simd.h; find_loops(name) selects one.
 */
#ifndef RIVER_OKL_ROWS_H
#define RIVER_OKL_ROWS_H

#include <Python.h>

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
    void (*dots_two)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, int more,
                     double *const *out);
    void (*dots_three)(const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, int more,
                       double *const *out);
    void (*kernel_row)(const Program *k, const double *row, int is_distance, const double *sq, double x_sq,
                       Py_ssize_t n, double *out);
    double (*inner)(const double *a, const double *b, Py_ssize_t n);
    void (*add_losses)(const double *coef, const double *row, double own, Py_ssize_t n, double *out);
    Py_ssize_t (*least)(const double *values, Py_ssize_t n);
} Loops;

#endif
