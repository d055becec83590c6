"""What Cython sees of rows.h."""

cdef extern from "rows.h":
    enum: EXP_SQUARED_DISTANCE
    enum: EXP_DISTANCE
    enum: DOT_POWER
    enum: TILE

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
        void (*dots_two)(
            const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, int more, double *const *out
        ) noexcept nogil
        void (*dots_three)(
            const double *const *rows, const double *vals, Py_ssize_t m, Py_ssize_t n, int more, double *const *out
        ) noexcept nogil
        void (*kernel_row)(
            const Program *k, const double *row, int is_distance, const double *sq, double x_sq, Py_ssize_t n,
            double *out
        ) noexcept nogil
        double (*inner)(const double *a, const double *b, Py_ssize_t n) noexcept nogil
        void (*add_losses)(const double *coef, const double *row, double own, Py_ssize_t n, double *out) noexcept nogil
        Py_ssize_t (*least)(const double *values, Py_ssize_t n) noexcept nogil

    const Loops *find_loops(const char *name)
