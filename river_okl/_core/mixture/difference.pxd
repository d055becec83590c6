from river_okl._core.store.running cimport Running
from river_okl._core.trees.forest cimport Forest


cdef class Difference(Forest):
    cdef double last            # target
    cdef Running change         # running statistics of what the trees learn
