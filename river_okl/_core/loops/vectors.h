/* The vector types of a variant, from NAME and W; a second inclusion undefines them (simd.h). */
#ifndef vec
#if W > 1
typedef double NAME(vec) __attribute__((vector_size(W * 8), may_alias));
typedef double NAME(loose) __attribute__((vector_size(W * 8), may_alias, aligned(8)));
typedef int64_t NAME(ivec) __attribute__((vector_size(W * 8), may_alias));
#if W == 8 /* not 0.0 + x, which turns -0.0 into 0.0 and so is not optimised away */
#define SET(x) ((vec){x, x, x, x, x, x, x, x})
#elif W == 4
#define SET(x) ((vec){x, x, x, x})
#else
#define SET(x) ((vec){x, x})
#endif
#define AS_INT(v) ((ivec)(v))
#define AS_REAL(v) ((vec)(v))
#define LESS(v, w) ((ivec)((v) < (w)))
#define AT_LEAST(v, low) AS_REAL((AS_INT(v) & (ivec)((v) > (low))) | (AS_INT(low) & ~(ivec)((v) > (low))))
#else
typedef double NAME(vec);
typedef double NAME(loose);
typedef int64_t NAME(ivec);
#define SET(x) (x)
#define AS_INT(v) bits_of_real(v)
#define AS_REAL(v) real_of_bits(v)
#define LESS(v, w) (-(ivec)((v) < (w)))
#define AT_LEAST(v, low) ((v) > (low) ? (v) : (low))
#endif
#define vec NAME(vec)
#define loose NAME(loose)
#define ivec NAME(ivec)
#else
#undef vec
#undef loose
#undef ivec
#undef SET
#undef AS_INT
#undef AS_REAL
#undef LESS
#undef AT_LEAST
#undef NAME
#undef W
#endif
