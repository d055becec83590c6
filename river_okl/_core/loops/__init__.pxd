"""Cython's declarations of the headers in this folder."""

from libc.stdint cimport int32_t, uint8_t

cdef extern from "rows.h":
    enum: EXP_SQUARED_DISTANCE
    enum: EXP_DISTANCE
    enum: DOT_POWER
    enum: TILE
    enum: METRICS

    ctypedef struct Factor:
        int kind
        int degree
        double gamma
        double coef0

    ctypedef struct Term:
        double weight
        int n_factors

    ctypedef struct Program:
        int n_terms
        const Term *terms
        const Factor *factors

    ctypedef struct Loops:
        void (*dots)(
            const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, double *out
        ) noexcept nogil
        void (*distances)(
            const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, double *out
        ) noexcept nogil
        void (*distances_tile)(
            const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, double *out, Py_ssize_t stride
        ) noexcept nogil
        void (*dots_under)(
            const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, int more, double *const *out,
            int metrics
        ) noexcept nogil
        void (*single_dots_under)(
            const float *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, int more, double *const *out,
            int metrics
        ) noexcept nogil
        void (*dots_at)(
            const void *const *rows, int single, const double *vals, Py_ssize_t m, const int32_t *at, Py_ssize_t n,
            double *const *out
        ) noexcept nogil
        void (*kernel_row)(
            const Program *k, const double *row, int is_distance, const double *sq, double x_sq, Py_ssize_t n,
            double *out
        ) noexcept nogil
        double (*inner)(const double *a, const double *b, Py_ssize_t n) noexcept nogil
        void (*add_losses)(const double *coef, const double *row, double own, Py_ssize_t n, double *out) noexcept nogil
        Py_ssize_t (*least)(const double *values, Py_ssize_t n) noexcept nogil
        void (*closest)(
            const double *sq, const double *dot, Py_ssize_t n, Py_ssize_t near, Py_ssize_t far, double *some,
            double *others, int32_t *at, Py_ssize_t *found, double *distances
        ) noexcept nogil
        void (*densities)(
            const double *sq, const double *dot, Py_ssize_t n, double offset, double gamma, double *wide, double *narrow
        ) noexcept nogil
        void (*losses)(
            const double *coef, double scale, const double *kappa, Py_ssize_t n, double alpha_p, double *out
        ) noexcept nogil

cdef extern from "linalg.h":
    enum: BLOCK

    ctypedef struct Linalg:
        double (*dot)(const double *x, const double *y, Py_ssize_t n) noexcept nogil
        void (*symmetric_times)(
            const double *a, Py_ssize_t ld, Py_ssize_t n, double scale, const double *v, double keep, double *out
        ) noexcept nogil
        void (*rank_one)(double *a, Py_ssize_t ld, Py_ssize_t n, double weight, const double *v) noexcept nogil
        void (*rank_one_times)(
            double *a, Py_ssize_t ld, Py_ssize_t n, double weight, const double *u, double scale, const double *v,
            double keep, double *out
        ) noexcept nogil
        Py_ssize_t (*cholesky)(double *a, Py_ssize_t ld, Py_ssize_t n) noexcept nogil
        void (*solve_lower)(const double *l, Py_ssize_t ld, Py_ssize_t n, double *b) noexcept nogil
        void (*solve_upper)(const double *l, Py_ssize_t ld, Py_ssize_t n, double *b) noexcept nogil
        void (*invert_lower)(double *l, Py_ssize_t ld, Py_ssize_t n) noexcept nogil
        void (*inverse)(double *l, Py_ssize_t ld, Py_ssize_t n) noexcept nogil
        void (*factored_times)(
            const double *r, Py_ssize_t ld, Py_ssize_t n, const double *v, double *z, double *out
        ) noexcept nogil
        void (*factored_diagonal)(const double *r, Py_ssize_t ld, Py_ssize_t n, double *out) noexcept nogil
        void (*remove_factored)(double *r, Py_ssize_t ld, Py_ssize_t n, Py_ssize_t i) noexcept nogil
        void (*times)(
            const double *a, Py_ssize_t ld, Py_ssize_t m, Py_ssize_t n, const double *v, double *out
        ) noexcept nogil
        void (*transposed_times)(
            const double *a, Py_ssize_t ld, Py_ssize_t m, Py_ssize_t n, const double *v, double *out
        ) noexcept nogil
        void (*add_product)(
            const double *a, Py_ssize_t row, Py_ssize_t column, Py_ssize_t m, const double *b, Py_ssize_t ld,
            Py_ssize_t n, Py_ssize_t depth, bint lower, double *out, Py_ssize_t ld_out
        ) noexcept nogil
        void (*block_times)(
            const double *a, Py_ssize_t row, Py_ssize_t column, Py_ssize_t m, Py_ssize_t depth, int triangle,
            const double *b, double *out
        ) noexcept nogil
        void (*block_forms)(
            const double *a, Py_ssize_t ld, Py_ssize_t n, const double *x, double *out
        ) noexcept nogil
        int (*eigen)(
            double *a, Py_ssize_t ld, Py_ssize_t n, double *values, double *vectors, double *scratch
        ) noexcept nogil

cdef extern from "merging.h":
    const double SLACK
    double merged(double alpha, double alpha_p, double kappa, double *h, double *alpha_z) noexcept nogil

cdef extern from "fourier.h":
    const double FARTHEST

    ctypedef struct Fourier:
        void (*features)(
            const double *const *columns, const double *values, Py_ssize_t m, Py_ssize_t D, double scale, double root,
            double *z
        ) noexcept nogil
        void (*far)(
            const double *const *columns, const double *values, Py_ssize_t m, Py_ssize_t D, double scale, double root,
            double *z
        ) noexcept nogil
        void (*step)(double c, const double *z, Py_ssize_t n, double *w) noexcept nogil

cdef extern from "scan.h":
    enum: SCANNED
    enum: GROUP

    ctypedef struct Scanned:
        const uint8_t *bytes
        uint8_t own[4]
        uint8_t weight[4]

    ctypedef struct Scans:
        void (*distances)(
            const Scanned *groups, Py_ssize_t m, Py_ssize_t blocks, int32_t *out, int32_t *lows
        ) noexcept nogil

cdef extern from "cells.h":
    enum: STEPS
    const float GAP
    const double LARGEST_CELL

    float saturated "okl_saturated"(double value) noexcept nogil
    float converted "okl_converted"(float value, double ratio, double shift) noexcept nogil
    uint8_t byte_of "okl_byte_of"(float value) noexcept nogil
    void convert_values "okl_convert"(float *values, Py_ssize_t n, double ratio, double shift) noexcept nogil
    void write_bytes "okl_write_bytes"(
        const float *values, Py_ssize_t n, uint8_t *bytes, Py_ssize_t apart
    ) noexcept nogil

cdef extern from "boosting.h":
    enum: ABREAST
    enum: DEPTH
    enum: LEAVES
    enum: NODES
    enum: BINS
    enum: CELLS
    enum: CODES

    ctypedef struct Gradient:
        float g, h

    ctypedef struct Splits:
        double *gain
        int32_t *column
        int32_t *code

    void logistic "okl_logistic"(
        const float *sums, const float *target, const float *weight, Py_ssize_t n, Gradient *out
    ) noexcept nogil
    void softmax_single "okl_softmax"(
        const float *scores, Py_ssize_t room, Py_ssize_t rows, Py_ssize_t n, float *p
    ) noexcept nogil
    void projected "okl_projected"(
        const float *p, const float *direction, Py_ssize_t n, const float *target, const float *weight,
        Py_ssize_t rows, Gradient *out
    ) noexcept nogil
    void subtract_term "okl_subtract_term"(
        const float *values, Py_ssize_t n, float coef, float most, float *residual
    ) noexcept nogil
    void add_histogram "okl_histogram"(
        const uint8_t *codes, const uint8_t *node, const Gradient *gradient, Py_ssize_t first, Py_ssize_t step,
        Py_ssize_t n, const uint8_t *bin_of, Gradient *sums
    ) noexcept nogil
    void compare_splits "okl_compare"(
        const Gradient *sums, Py_ssize_t nodes, Py_ssize_t bins, const uint8_t *last, int32_t column, double ridge,
        double least, Splits best
    ) noexcept nogil
    void route "okl_route"(
        const uint8_t *codes, Py_ssize_t room, Splits split, Py_ssize_t n, uint8_t *node
    ) noexcept nogil
