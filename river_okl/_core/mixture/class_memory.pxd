from river_okl._core.memory.class_trees cimport ClassTrees
from river_okl._core.mixture.memory cimport Memory


cdef class ClassMemory(Memory):
    cdef ClassTrees of_classes  # the trees
    cdef readonly Py_ssize_t n_classes
