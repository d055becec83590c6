/* What this machine can do at most, for benchmarks/speed.py (compiled when it runs).
 *
 * Every function repeats its work `times` times and returns the seconds of processor time that this took. */
#define _GNU_SOURCE
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

#define KEEP __asm__ volatile("" ::: "memory")

typedef double wide __attribute__((vector_size(64)));

/* 12 * 8 multiply-adds a round in registers, in chains that do not wait for each other */
double fma_seconds(long times) {
    const wide x = {.5, .5, .5, .5, .5, .5, .5, .5};
    wide a0 = x, a1 = x, a2 = x, a3 = x, a4 = x, a5 = x, a6 = x, a7 = x, a8 = x, a9 = x, a10 = x, a11 = x;
    double start = now();
    for (long k = 0; k < times; k++) {
        a0 = a0 * x + x; a1 = a1 * x + x; a2 = a2 * x + x; a3 = a3 * x + x; a4 = a4 * x + x; a5 = a5 * x + x;
        a6 = a6 * x + x; a7 = a7 * x + x; a8 = a8 * x + x; a9 = a9 * x + x; a10 = a10 * x + x; a11 = a11 * x + x;
        __asm__ volatile("" : "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3), "+x"(a4), "+x"(a5), "+x"(a6), "+x"(a7), "+x"(a8), "+x"(a9), "+x"(a10), "+x"(a11));
    }
    return now() - start;
}

/* reads of an array of n doubles */
double load_seconds(const double *a, long n, long times) {
    wide s[8] = {{0}};
    double start = now();
    for (long k = 0; k < times; k++) {
        for (long i = 0; i + 64 <= n; i += 64)
            for (int j = 0; j < 8; j++) s[j] += *(const wide *)(a + i + 8 * j);
        KEEP;
    }
    for (int j = 1; j < 8; j++) s[0] += s[j];
    volatile double sink = s[0][0];
    (void)sink;
    return now() - start;
}

/* a[i] = b[i] + 3 c[i] */
double triad_seconds(double *restrict a, const double *restrict b, const double *restrict c, long n, long times) {
    double start = now();
    for (long k = 0; k < times; k++) {
        for (long i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
        KEEP;
    }
    return now() - start;
}
