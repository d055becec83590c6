/* The vector types of a variant, from NAME and W; a second inclusion undefines them (simd.h). */
#ifndef vec
#if W > 1
typedef double NAME(vec) __attribute__((vector_size(W * 8), may_alias));
typedef double NAME(loose) __attribute__((vector_size(W * 8), may_alias, aligned(8)));
typedef int64_t NAME(ivec) __attribute__((vector_size(W * 8), may_alias));
typedef float NAME(singles) __attribute__((vector_size(W * 8), may_alias)); /* 2 W numbers */
typedef float NAME(half) __attribute__((vector_size(W * 4), may_alias));    /* W numbers */
#if W == 8 /* GATHER loads the numbers of a row at given positions */
#define GATHER(row, at) ((vec)_mm512_i32gather_pd(_mm256_loadu_si256((const __m256i *)(at)), row, 8))
#define GATHER_SINGLE(row, at) \
    ((vec)_mm512_cvtps_pd(_mm256_i32gather_ps(row, _mm256_loadu_si256((const __m256i *)(at)), 4)))
#define AT_LEAST(v, low) ((vec)_mm512_max_pd((__m512d)(v), (__m512d)(low)))
#define AT_MOST(v, high) ((vec)_mm512_min_pd((__m512d)(v), (__m512d)(high)))
#define MUL_ADD(a, b, c) ((vec)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#elif W == 4
#define GATHER(row, at) ((vec)_mm256_i32gather_pd(row, _mm_loadu_si128((const __m128i *)(at)), 8))
#define GATHER_SINGLE(row, at) ((vec)_mm256_cvtps_pd(_mm_i32gather_ps(row, _mm_loadu_si128((const __m128i *)(at)), 4)))
#define AT_LEAST(v, low) ((vec)_mm256_max_pd((__m256d)(v), (__m256d)(low)))
#define AT_MOST(v, high) ((vec)_mm256_min_pd((__m256d)(v), (__m256d)(high)))
#define MUL_ADD(a, b, c) ((vec)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#else
#define AT_LEAST(v, low) AS_REAL((AS_INT(v) & (ivec)((v) > (low))) | (AS_INT(low) & ~(ivec)((v) > (low))))
#define AT_MOST(v, high) AS_REAL((AS_INT(v) & (ivec)((v) < (high))) | (AS_INT(high) & ~(ivec)((v) < (high))))
#if defined(__aarch64__)
#define MUL_ADD(a, b, c) ((vec){__builtin_fma((a)[0], (b)[0], (c)[0]), __builtin_fma((a)[1], (b)[1], (c)[1])})
#else
#define MUL_ADD(a, b, c) ((a) * (b) + (c))
#endif
#define GATHER(row, at) ((vec){(row)[(at)[0]], (row)[(at)[1]]})
#define GATHER_SINGLE(row, at) GATHER(row, at)
#endif
#if W == 8 /* not 0.0 + x, which cannot be optimised away as it turns -0.0 into 0.0 */
#define SET(x) ((vec){x, x, x, x, x, x, x, x})
#elif W == 4
#define SET(x) ((vec){x, x, x, x})
#else
#define SET(x) ((vec){x, x})
#endif
#define AS_INT(v) ((ivec)(v))
#define AS_REAL(v) ((vec)(v))
#define LESS(v, w) ((ivec)((v) < (w)))
#else
typedef double NAME(vec);
typedef double NAME(loose);
typedef int64_t NAME(ivec);
#define SET(x) (x)
#define AS_INT(v) bits_of_real(v)
#define AS_REAL(v) real_of_bits(v)
#define LESS(v, w) (-(ivec)((v) < (w)))
#define GATHER(row, at) ((row)[*(at)])
#define GATHER_SINGLE(row, at) GATHER(row, at)
#define AT_LEAST(v, low) ((v) > (low) ? (v) : (low))
#define AT_MOST(v, high) ((v) < (high) ? (v) : (high))
#define MUL_ADD(a, b, c) ((a) * (b) + (c))
#endif
#define vec NAME(vec)
#define loose NAME(loose)
#define ivec NAME(ivec)
#define singles NAME(singles)
#define half NAME(half)
#define LOAD(p) (*(const loose *)(p))
#define STORE(p, v) (*(loose *)(p) = (v))
#else
#undef vec
#undef loose
#undef ivec
#undef singles
#undef half
#undef LOAD
#undef STORE
#undef SET
#undef AS_INT
#undef AS_REAL
#undef LESS
#undef GATHER
#undef GATHER_SINGLE
#undef AT_LEAST
#undef AT_MOST
#undef MUL_ADD
#undef NAME
#undef W
#endif
