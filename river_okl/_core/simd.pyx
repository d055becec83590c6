"""Selection of the vector loops' instruction set, once, when the core is imported."""


import os

cdef extern from "variants.h":
    const Loops *find_loops(const char *name)
    const Linalg *find_linalg(const char *name)
    const Fourier *find_fourier(const char *name)
    const Scans *find_scans(const char *name)

SIMD_VARIANTS = tuple(name for name in ("baseline", "avx2", "avx512") if find_loops(name.encode()) != NULL)
"""The variants of the vector loops that this build and processor support, the widest last."""

SIMD = os.environ.get("RIVER_OKL_SIMD") or SIMD_VARIANTS[-1]
"""The variant in use: the widest one, or that named by the environment variable RIVER_OKL_SIMD."""

if SIMD not in SIMD_VARIANTS:
    raise ImportError(f"RIVER_OKL_SIMD={SIMD!r}: this build and processor support {', '.join(SIMD_VARIANTS)}")

loops = find_loops(SIMD.encode())
linalg = find_linalg(SIMD.encode())
fourier = find_fourier(SIMD.encode())
scans = find_scans(SIMD.encode())
