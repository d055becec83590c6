from river_okl._core.store.points cimport Points
from river_okl._core.store.sample cimport Sample


cdef int encode(Points points, object sample, Sample *x) except -1
