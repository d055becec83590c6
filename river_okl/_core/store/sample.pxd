from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF, Py_XINCREF
from libc.stdint cimport int32_t, int64_t

cdef extern from *:
    """
    #define LARGEST 1e50         /* of a feature or target: squares and their sums stay far from overflow */
    #define LARGEST_SELF 1e100   /* of kappa(x, x) */
    #define LARGEST_SUM 1e120    /* of squares of features along a stream */
    #define LARGEST_COUNT 4503599627370496  /* 2^52, of samples: exact as a double, too */

    /* Whether two names are known to be equal without a call: identical objects or equal strings. */
    static inline int okl_same_name(PyObject *a, PyObject *b) {
        if (a == b) return 1; if (a == NULL || !PyUnicode_CheckExact(a) || !PyUnicode_CheckExact(b)) return 0;
        if (PyUnicode_GET_LENGTH(a) != PyUnicode_GET_LENGTH(b) || PyUnicode_KIND(a) != PyUnicode_KIND(b))
        return 0; return memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), PyUnicode_GET_LENGTH(a) *
        PyUnicode_KIND(a)) == 0;
    }
    """
    const double LARGEST
    const double LARGEST_SELF
    const double LARGEST_SUM
    const long long LARGEST_COUNT
    bint same_name "okl_same_name"(PyObject *a, PyObject *b) noexcept nogil


cdef struct Sample:
    # An encoded sample: its items in order, with the place of each feature (-1: unknown).  Initialised with zeros; the
    # owner calls free_sample.
    Py_ssize_t size, allocated
    PyObject **keys             # owned; keys beyond `size` are from an earlier sample, a guess for the next
    int32_t *places
    double *numbers
    const double *scaled        # values; set by a mixture, borrowed
    const double *unclipped     # the same before they were clipped
    int64_t generation          # of the features when `places` were looked up
    double square               # squared norm


cdef class Frame:
    cdef readonly tuple names
    cdef const double[:, ::1] matrix
    cdef Py_ssize_t row


cdef class Given:
    cdef object owner           # of x
    cdef Sample *x


cdef Given given_of(object owner, Sample *x)
cdef tuple items_of(dict sample)

cdef inline void set_key(PyObject **key, PyObject *name) noexcept:
    """Set an owned name, or NULL; the old name is released last, as its destructor may run Python code."""
    cdef PyObject *old = key[0]
    Py_XINCREF(name)
    key[0] = name
    Py_XDECREF(old)


cdef int reserve_sample(Sample *x, Py_ssize_t size) except -1
cdef void free_sample(Sample *x) noexcept
cdef size_t size_of_sample(const Sample *x) noexcept
cdef bint same_names(PyObject **a, PyObject **b, Py_ssize_t n) noexcept nogil
cdef bint same_items(const Sample *a, const Sample *b, Py_ssize_t n) noexcept nogil
cdef void take_row(Sample *x, Frame frame, Py_ssize_t i) noexcept nogil
cdef bint is_long(object name)
cpdef object stored(object name)
cpdef double number(object key, object value) except? -1.0
cpdef object missing(object value)
cpdef object canonical(object value)
cpdef bint is_word(object key)
