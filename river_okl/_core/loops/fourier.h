/* Random Fourier features: z = root (cos u, sin u), u = scale * sum_j values_j columns_j, each half D numbers long.
 *
 *   features   z
 *   far        z for arguments of any size, by the C library
 *   step       w += c z
 */
#ifndef RIVER_OKL_FOURIER_H
#define RIVER_OKL_FOURIER_H

#include <Python.h>

#define FARTHEST 1e6 /* largest argument that vectors reduce */

typedef struct {
    void (*features)(const double *const *columns, const double *values, Py_ssize_t m, Py_ssize_t D, double scale,
                     double root, double *z);
    void (*far)(const double *const *columns, const double *values, Py_ssize_t m, Py_ssize_t D, double scale,
                double root, double *z);
    void (*step)(double c, const double *z, Py_ssize_t n, double *w);
} Fourier;

#endif
