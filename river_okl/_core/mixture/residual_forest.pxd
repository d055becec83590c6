from river_okl._core.mixture.expert cimport Expert
from river_okl._core.store.running cimport Running
from river_okl._core.trees.target_leaf cimport TargetForest


cdef class ResidualForest(TargetForest):
    cdef readonly Expert base       # the expert with the prediction
    cdef bint as_asked
    cdef Running residuals          # running statistics of the residuals that the trees learn
