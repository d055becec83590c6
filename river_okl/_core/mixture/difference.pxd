from river_okl._core.mixture.forest cimport Forest
from river_okl._core.scaler cimport Running


cdef class Difference(Forest):
    cdef double last            # target
    cdef Running change         # running statistics of what the trees learn
