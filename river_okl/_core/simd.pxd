from river_okl._core.loops cimport Fourier, Linalg, Loops, Scans

# The loops in use, selected for this processor.
cdef const Loops *loops
cdef const Linalg *linalg
cdef const Fourier *fourier
cdef const Scans *scans
