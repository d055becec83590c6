/* Compiles the file LOOPS once for each instruction set: the baseline (SSE2, NEON or plain C), AVX2 with FMA, AVX-512.
 *
 *     #define LOOPS "rows_variant.h"
 *     #include "simd.h"
 *
 * In LOOPS, NAME(f) is the name of f in this variant; W is the number of doubles in a vector (1 is plain C, for other
 * compilers), vec an aligned vector and loose an unaligned one. Nothing is built with -march=native or -ffast-math
 * (which breaks the reduction in exp): the variant is chosen at import.
 */
#ifndef RIVER_OKL_SIMD_H
#define RIVER_OKL_SIMD_H

#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define HAVE_VECTORS 1
#define INLINE inline __attribute__((always_inline))
#else
#define HAVE_VECTORS 0
#define INLINE __inline
static INLINE int64_t bits_of_real(double v) { int64_t b; memcpy(&b, &v, 8); return b; }
static INLINE double real_of_bits(int64_t b) { double v; memcpy(&v, &b, 8); return v; }
#endif

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLES 1
#endif
#endif
#ifndef HAVE_SHUFFLES
#define HAVE_SHUFFLES 0
#endif

#if HAVE_VECTORS && defined(__x86_64__)
#include <immintrin.h>
#define HAVE_X86 1
#else
#define HAVE_X86 0
#endif

#define VARIANTS_OF(kind, loops)                                                                                       \
    static const kind *find_##loops(const char *name) { /* NULL if this build or processor lacks it */                 \
        if (strcmp(name, "baseline") == 0) return &baseline_##loops;                                                   \
        X86_VARIANTS_OF(loops)                                                                                         \
        return NULL;                                                                                                   \
    }
#if HAVE_X86
#define X86_VARIANTS_OF(loops)                                                                                         \
    __builtin_cpu_init();                                                                                              \
    if (strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))                  \
        return &avx2_##loops;                                                                                          \
    if (strcmp(name, "avx512") == 0 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&      \
        __builtin_cpu_supports("avx512vl"))                                                                            \
        return &avx512_##loops;
#else
#define X86_VARIANTS_OF(loops)
#endif

#endif

#define NAME(f) baseline_##f
#if HAVE_VECTORS
#define W 2
#else
#define W 1
#endif
#include "vectors.h"
#include LOOPS
#include "vectors.h"

#if HAVE_X86
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define NAME(f) avx2_##f
#define W 4
#include "vectors.h"
#include LOOPS
#include "vectors.h"
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma")
#endif
#define NAME(f) avx512_##f
#define W 8
#include "vectors.h"
#include LOOPS
#include "vectors.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
#undef LOOPS
