from river_okl._core.memory.trees cimport Trees


cdef class ErrorTrees(Trees):
    cdef float *errors          # [row]
    cdef float error            # of the sample that is to be learned
