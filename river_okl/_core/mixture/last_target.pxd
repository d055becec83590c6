from river_okl._core.mixture.expert cimport Expert


cdef class LastTarget(Expert):
    cdef double last
