from river_okl._core.store.features cimport Features
from river_okl._core.store.sample cimport Sample


cdef int encode(Features features, object sample, Sample *x) except -1
