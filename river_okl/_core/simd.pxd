from river_okl._core.loops cimport Fourier, Linalg, Loops, Merging

# In use: those for this processor.
cdef const Loops *loops
cdef const Linalg *linalg
cdef const Merging *merging
cdef const Fourier *fourier
