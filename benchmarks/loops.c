/* Loops compiled on demand by benchmarks/speed: the limits of this machine, and one step of an algorithm in plain C.
 *
 * Every function repeats its work `times` times. */
#include <math.h>

static volatile double sink; /* prevents optimising results away */

/* FOGD: m of the features are 1, u has a row of D frequencies for each, w and z have 2 D numbers */
void fogd(const double *u, const int *active, long m, long D, double *w, double *z, long times) {
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
void replacing(double *points, double *alpha, double *row, const double *x, long B, long d, double gamma, long rows, long times) {
    double norm = 0.0;
    for (long t = 0; t < times; t++) {
        const double *sample = x + (t % B) * d;
        const long r = t * 7919 % B;
        const double c = fill_row(points, alpha, row, sample, B, d, gamma) < 0.0 ? 0.5 : -0.5;
        if (rows == 2) norm -= alpha[r] * (2.0 * fill_row(points, alpha, row, points + r * d, B, d, gamma) - alpha[r]);
        replace(points, alpha, sample, r, d, c);
    }
    sink = norm;
}

/* BPA "simple": the point leaves whose loss is least */
void bpa(double *points, double *alpha, double *row, const double *x, long B, long d, double gamma, long times) {
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
}

/* Projectron: a sample is projected on the span of the points, d = K^-1 k */
void projecting(double *points, double *alpha, double *row, const double *x, const double *inverse, long B, long d, double gamma, long times) {
    for (long t = 0; t < times; t++) {
        const double c = fill_row(points, alpha, row, x + (t % B) * d, B, d, gamma) < 0.0 ? 0.01 : -0.01;
        for (long i = 0; i < B; i++) {
            double sum = 0.0;
            for (long j = 0; j < B; j++) sum += inverse[i * B + j] * row[j];
            alpha[i] += c * sum;
        }
    }
}

/* the length of what is left of two points a and b if they meet at h of the way */
static double met(double a, double b, double log_kappa, double h) {
    return a * exp(log_kappa * (1 - h) * (1 - h)) + b * exp(log_kappa * h * h);
}

/* the partner to merge with, by golden section search for every one of B */
void merging(const double *alpha, const double *kappa, double alpha_p, long B, long times) {
    const double golden = 0.6180339887498949;
    for (long t = 0; t < times; t++) {
        double least = INFINITY;
        for (long i = 0; i < B; i++) {
            double low = 0.0, high = 1.0, left = 1.0 - golden, right = golden, l = log(kappa[i]);
            double f = met(alpha[i], alpha_p, l, left), g = met(alpha[i], alpha_p, l, right);
            while (high - low > 0.01) {
                if (f * f > g * g) {
                    high = right, right = left, g = f, left = high - golden * (high - low);
                    f = met(alpha[i], alpha_p, l, left);
                } else {
                    low = left, left = right, f = g, right = low + golden * (high - low);
                    g = met(alpha[i], alpha_p, l, right);
                }
            }
            const double loss = alpha[i] * alpha[i] + alpha_p * alpha_p + 2.0 * alpha[i] * alpha_p * kappa[i] - f * f;
            if (loss < least) least = loss;
        }
        sink = least;
    }
}

typedef double wide __attribute__((vector_size(64)));

/* 12 * 8 multiply-adds a round in registers, in chains that do not wait for each other */
void multiply_adds(long times) {
    const wide x = {.5, .5, .5, .5, .5, .5, .5, .5};
    wide a[12] = {x, x, x, x, x, x, x, x, x, x, x, x};
    for (long k = 0; k < times; k++)
        for (int j = 0; j < 12; j++) a[j] = a[j] * x + x;
    for (int j = 0; j < 12; j++) sink = a[j][j % 8];
}

/* reads of an array of n doubles at a multiple of 64 bytes */
void reads(const double *a, long n, long times) {
    wide s[8] = {{0}};
    for (long k = 0; k < times; k++) {
        for (long i = 0; i + 64 <= n; i += 64)
            for (int j = 0; j < 8; j++) s[j] += *(const wide *)(a + i + 8 * j);
        __asm__ volatile("" ::: "memory");
    }
    for (int j = 0; j < 8; j++) sink = s[j][0];
}
