from river_okl._core.store.running cimport Running
from river_okl._core.trees.target_leaf cimport TargetForest


cdef class Difference(TargetForest):
    cdef double last            # target
    cdef Running change         # running statistics of the differences that the trees learn
