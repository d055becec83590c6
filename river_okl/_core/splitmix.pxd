# SplitMix64 (Steele, Lea & Flood 2014): random numbers from a counter, and a hash of 64 bits.
from libc.stdint cimport uint64_t


cdef inline uint64_t scrambled(uint64_t z) noexcept nogil:
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9U
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EBU
    return z ^ (z >> 31)


cdef inline uint64_t next_random(uint64_t *state) noexcept nogil:
    """Return the next random number."""
    state[0] += <uint64_t> 0x9E3779B97F4A7C15U
    return scrambled(state[0])
