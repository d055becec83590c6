/* Dense linear algebra for matrices of a budget's size, on one thread and in a fixed order of summation.
 *
 * A BLAS would split a step of 20 microseconds among spinning threads, and its order of summation depends on them.
 * Nothing here copies, allocates or requires alignment.
 *
 * Matrices are row-major: a[i * ld + j], ld the leading dimension. Only the lower triangle of symmetric matrices and
 * triangular factors is read and written (the upper one in Fortran's order).
 */
#ifndef RIVER_OKL_LINALG_H
#define RIVER_OKL_LINALG_H

#include <Python.h>

enum { BLOCK = 16 }; /* vectors of a block */

typedef struct {
    /* sum_i x_i y_i */
    double (*dot)(const double *x, const double *y, Py_ssize_t n);
    /* out = scale A v + keep out, A symmetric */
    void (*symmetric_times)(const double *a, Py_ssize_t ld, Py_ssize_t n, double scale, const double *v, double keep,
                            double *out);
    /* A <- A + weight v v', A symmetric */
    void (*rank_one)(double *a, Py_ssize_t ld, Py_ssize_t n, double weight, const double *v);
    /* rank_one, then symmetric_times; each number of A is loaded once */
    void (*rank_one_times)(double *a, Py_ssize_t ld, Py_ssize_t n, double weight, const double *u, double scale,
                           const double *v, double keep, double *out);
    /* A = L L'; returns 0, or the row, from 1, whose pivot is not positive: A is then undefined */
    Py_ssize_t (*cholesky)(double *a, Py_ssize_t ld, Py_ssize_t n);
    /* b <- L^-1 b */
    void (*solve_lower)(const double *l, Py_ssize_t ld, Py_ssize_t n, double *b);
    /* b <- L'^-1 b; after solve_lower b <- A^-1 b */
    void (*solve_upper)(const double *l, Py_ssize_t ld, Py_ssize_t n, double *b);
    /* L <- L^-1 */
    void (*invert_lower)(double *l, Py_ssize_t ld, Py_ssize_t n);
    /* L <- A^-1 */
    void (*inverse)(double *l, Py_ssize_t ld, Py_ssize_t n);
    /* z = R v, out = R'R v for a lower triangle R; all is padded with zeros: R above its diagonal, and all from n on up
     * to a multiple of eight */
    void (*factored_times)(const double *r, Py_ssize_t ld, Py_ssize_t n, const double *v, double *z, double *out);
    /* out = the diagonal of R'R, of such a triangle */
    void (*factored_diagonal)(const double *r, Py_ssize_t ld, Py_ssize_t n, double *out);
    /* R <- the rows of Q R, Q orthogonal, of which the last has the only number of column i; without that row and that
     * column, whose followers move up: the factor of (R'R)^-1 without row and column i, inverted */
    void (*remove_factored)(double *r, Py_ssize_t ld, Py_ssize_t n, Py_ssize_t i);
    /* out = A v, A with m rows and n columns */
    void (*times)(const double *a, Py_ssize_t ld, Py_ssize_t m, Py_ssize_t n, const double *v, double *out);
    /* out = A' v */
    void (*transposed_times)(const double *a, Py_ssize_t ld, Py_ssize_t m, Py_ssize_t n, const double *v, double *out);
    /* out <- out + A B, where A[i, k] is a[i row + k column], i < m, and B has depth rows and n columns; with `lower`
     * the part of out above the diagonal is undefined */
    void (*add_product)(const double *a, Py_ssize_t row, Py_ssize_t column, Py_ssize_t m, const double *b,
                        Py_ssize_t ld, Py_ssize_t n, Py_ssize_t depth, int lower, double *out, Py_ssize_t ld_out);
    /* out = A B for a block of vectors, the BLOCK columns of B (and of out), where A[i, k] = a[i row + k column], i < m and
     * k < depth; triangle: A[i, k] is 0 unless k <= i (1) or k >= i (-1), and is stored as 0 */
    void (*block_times)(const double *a, Py_ssize_t row, Py_ssize_t column, Py_ssize_t m, Py_ssize_t depth, int triangle,
                        const double *b, double *out);
    /* out_b = x'A x for each column x of a block, A symmetric */
    void (*block_forms)(const double *a, Py_ssize_t ld, Py_ssize_t n, const double *x, double *out);
    /* A = sum_i values_i v_i v_i', v_i the rows of `vectors`; the symmetric A is overwritten, and scratch has room for
     * 2 n. Returns 0, or 1 if an eigenvalue did not converge */
    int (*eigen)(double *a, Py_ssize_t ld, Py_ssize_t n, double *values, double *vectors, double *scratch);
} Linalg;

#endif
