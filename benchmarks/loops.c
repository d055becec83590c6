/* Loops that are compiled when benchmarks/speed needs them: what this machine can do at most, and one step of an algorithm
 * as a C programmer would write it in an afternoon.
 *
 * Every function repeats its work `times` times and returns the seconds of processor time that this took. */
#define _GNU_SOURCE
#include <math.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* FOGD: m of the features are 1, u has a row of D frequencies for each, w and z have 2 D numbers */
double fogd_seconds(const double *u, const int *active, long m, long D, double *w, double *z, long times) {
    double start = now();
    for (long t = 0; t < times; t++) {
        double p = 0.0;
        for (long i = 0; i < D; i++) z[i] = 0.0;
        for (long j = 0; j < m; j++)
            for (long i = 0; i < D; i++) z[i] += u[active[j] * D + i];
        for (long i = 0; i < D; i++) {
            const double angle = z[i];
            z[i] = cos(angle) / sqrt(D);
            z[D + i] = sin(angle) / sqrt(D);
        }
        for (long i = 0; i < 2 * D; i++) p += w[i] * z[i];
        for (long i = 0; i < 2 * D; i++) w[i] += (p < 0.5 ? 0.01 : -0.01) * z[i];
    }
    return now() - start;
}

/* κ(z_i, x) of a Gaussian for B points of d numbers, one after another; returns f(x) */
static double fill_row(const double *points, const double *alpha, double *row, const double *x, long B, long d, double gamma) {
    double p = 0.0;
    for (long i = 0; i < B; i++) {
        double distance = 0.0;
        for (long j = 0; j < d; j++) distance += (points[i * d + j] - x[j]) * (points[i * d + j] - x[j]);
        row[i] = exp(-gamma * distance);
        p += alpha[i] * row[i];
    }
    return p;
}

static void replace(double *points, double *alpha, const double *x, long r, long d, double c) {
    alpha[r] = c;
    for (long j = 0; j < d; j++) points[r * d + j] = x[j];
}

/* RBP, BOGD: a sample replaces a point; OLRD, Forgetron: two rows, the other of the point that leaves, for the norm */
double replacing_seconds(double *points, double *alpha, double *row, const double *x, long B, long d, double gamma, long rows, long times) {
    double start = now(), norm = 0.0;
    for (long t = 0; t < times; t++) {
        const double *sample = x + (t % B) * d;
        const long r = t * 7919 % B;
        const double c = fill_row(points, alpha, row, sample, B, d, gamma) < 0.0 ? 0.5 : -0.5;
        if (rows == 2) norm -= alpha[r] * (2.0 * fill_row(points, alpha, row, points + r * d, B, d, gamma) - alpha[r]);
        replace(points, alpha, sample, r, d, c);
    }
    volatile double kept = norm;
    (void)kept;
    return now() - start;
}

/* BPA "simple": the point leaves whose loss is least */
double bpa_seconds(double *points, double *alpha, double *row, const double *x, long B, long d, double gamma, long times) {
    double start = now();
    for (long t = 0; t < times; t++) {
        const double *sample = x + (t % B) * d;
        const double p = fill_row(points, alpha, row, sample, B, d, gamma);
        double least = INFINITY;
        long r = 0;
        for (long i = 0; i < B; i++) {
            const double lost = alpha[i] * alpha[i] * (1.0 - row[i] * row[i]);
            if (lost < least) least = lost, r = i;
        }
        replace(points, alpha, sample, r, d, alpha[r] * row[r] + (p < 0.0 ? 0.5 : -0.5));
    }
    return now() - start;
}

/* Projectron: a sample is projected on the span of the points, d = K^-1 k */
double projecting_seconds(double *points, double *alpha, double *row, const double *x, const double *inverse, long B, long d, double gamma, long times) {
    double start = now();
    for (long t = 0; t < times; t++) {
        const double c = fill_row(points, alpha, row, x + (t % B) * d, B, d, gamma) < 0.0 ? 0.01 : -0.01;
        for (long i = 0; i < B; i++) {
            double sum = 0.0;
            for (long j = 0; j < B; j++) sum += inverse[i * B + j] * row[j];
            alpha[i] += c * sum;
        }
    }
    return now() - start;
}

/* the partner to merge with, by golden section search for every one of B */
double merging_seconds(const double *alpha, const double *kappa, double alpha_p, long B, long times) {
    double start = now(), sink = 0.0;
    const double golden = 0.6180339887498949;
    for (long t = 0; t < times; t++) {
        double least = INFINITY;
        for (long i = 0; i < B; i++) {
            double low = 0.0, high = 1.0, left = 1.0 - golden, right = golden, length = log(kappa[i]);
            double f = alpha[i] * exp(length * (1 - left) * (1 - left)) + alpha_p * exp(length * left * left);
            double g = alpha[i] * exp(length * (1 - right) * (1 - right)) + alpha_p * exp(length * right * right);
            while (high - low > 0.01) {
                if (f * f > g * g) {
                    high = right, right = left, g = f, left = high - golden * (high - low);
                    f = alpha[i] * exp(length * (1 - left) * (1 - left)) + alpha_p * exp(length * left * left);
                } else {
                    low = left, left = right, f = g, right = low + golden * (high - low);
                    g = alpha[i] * exp(length * (1 - right) * (1 - right)) + alpha_p * exp(length * right * right);
                }
            }
            const double loss = alpha[i] * alpha[i] + alpha_p * alpha_p + 2.0 * alpha[i] * alpha_p * kappa[i] - f * f;
            if (loss < least) least = loss;
        }
        sink += least;
    }
    volatile double kept = sink;
    (void)kept;
    return now() - start;
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
