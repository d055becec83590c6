/* The loops of forest.pyx over the statistics of one leaf, in single precision.
 *
 * Arrays over candidate features have m numbers, m a multiple of LANES: they are padded with features that are absent.
 * A value of 0 is an absent feature.  Only +, -, *, / and comparisons of floats: compilers vectorize these loops as
 * they stand, and the reference implementation repeats them operation by operation.
 */
#ifndef RIVER_OKL_FOREST_H
#define RIVER_OKL_FOREST_H

#if defined(__GNUC__) && !defined(__clang__) /* comparisons become masks; that of Clang is the default */
#pragma GCC optimize("no-trapping-math")
#endif

#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__) /* which has no fused operations unless asked to */
#pragma GCC optimize("fp-contract=off")
#endif

enum { LANES = 4, CUTS = 10, PADDED_CUTS = 12, BINS = 16 };
#define FARTHEST 5.0f  /* standard deviations, beyond which a normal distribution has nothing */
#define UNSEEN 1e30f   /* the lower end of a range without values; the upper end is its negative */

/* The standard normal distribution function (Abramowitz & Stegun 7.1.28); error below 1e-6. */
static inline float okl_phi(float z) {
    const float a = (z < -FARTHEST ? FARTHEST : z > FARTHEST ? FARTHEST : z < 0.0f ? -z : z) * 0.707106781f;
    const float t = 1.0f + a * (0.0705230784f + a * (0.0422820123f + a * (0.0092705272f + a * (0.0001520143f +
                    a * (0.0002765672f + a * 0.0000430638f)))));
    const float t2 = t * t, t4 = t2 * t2, t8 = t4 * t4;
    const float within = 0.5f / (t8 * t8), tail = a < FARTHEST * 0.707106781f ? within : 0.0f;
    return z < 0.0f ? tail : 1.0f - tail;
}

/* x log2(x), 0 at 0: the series of the inverse hyperbolic tangent, relative error below 1e-6. */
static inline float okl_x_log_x(float x) {
    int32_t bits, exponent;
    float mantissa;
    const float positive = x > 1e-30f ? x : 1e-30f;
    memcpy(&bits, &positive, 4);
    exponent = (bits - 0x3f3504f3) >> 23; /* the mantissa is within [sqrt(1/2), sqrt(2)) */
    bits -= exponent * (1 << 23);
    memcpy(&mantissa, &bits, 4);
    const float s = (mantissa - 1.0f) / (mantissa + 1.0f), q = s * s;
    const float series = 2.885390082f + q * (0.961796694f + q * (0.577078016f + q * (0.412198583f + q * 0.320598898f)));
    return x * ((float)exponent + s * series);
}

/* Weight, mean and squared deviations of one class take in a sample. */
static void okl_take_in(const float *x, float w, Py_ssize_t m, float *n, float *mean, float *square) {
    for (Py_ssize_t k = 0; k < m; k++) {
        const float wk = x[k] != 0.0f ? w : 0.0f;
        const float total = n[k] + wk;
        const float off = x[k] - mean[k];
        const float moved = mean[k] + off * (wk / (total > 0.0f ? total : 1.0f));
        square[k] += wk * off * (x[k] - moved);
        mean[k] = moved;
        n[k] = total;
    }
}

static void okl_widen(const float *x, Py_ssize_t m, float *low, float *high) {
    for (Py_ssize_t k = 0; k < m; k++) {
        const float from = x[k] != 0.0f ? x[k] : UNSEEN, to = x[k] != 0.0f ? x[k] : -UNSEEN;
        low[k] = from < low[k] ? from : low[k];
        high[k] = to > high[k] ? to : high[k];
    }
}

/* Prior variances of naive Bayes: a sixteenth of the squared range. */
static void okl_priors(const float *low, const float *high, Py_ssize_t m, float least, float *prior) {
    for (Py_ssize_t k = 0; k < m; k++) {
        const float width = high[k] > low[k] ? high[k] - low[k] : 0.0f;
        prior[k] = width * width * 0.0625f + least;
    }
}

/* log of P(c) times the densities of the features that are present; `terms` and `factors` are scratch. */
static double okl_log_joint(const float *x, float total, Py_ssize_t m, const float *n, const float *mean,
                            const float *square, const float *prior, float *terms, float *factors) {
    const float all = total + 1.0f;
    double sum = 0.0, logs = 0.0;
    for (Py_ssize_t k = 0; k < m; k++) {
        const int present = x[k] != 0.0f;
        const float variance = (square[k] + prior[k]) / (n[k] + 1.0f);
        const float off = x[k] - mean[k];
        const float rarity = all / (n[k] + 1.0f);
        const float term = off * off / variance, factor = variance * rarity * rarity;
        terms[k] = present ? term : 0.0f;
        factors[k] = present ? factor : 1.0f;
    }
    for (Py_ssize_t k = 0; k < m; k += LANES) {
        double product = 1.0, part = 0.0;
        for (int i = 0; i < LANES; i++) product *= (double)factors[k + i];
        for (int i = 0; i < LANES; i++) part += (double)terms[k + i];
        sum += part;
        if (k + LANES < m) {
            k += LANES;
            part = 0.0;
            for (int i = 0; i < LANES; i++) product *= (double)factors[k + i];
            for (int i = 0; i < LANES; i++) part += (double)terms[k + i];
            sum += part;
        }
        logs += log(product);
    }
    return log((double)all) - 0.5 * (logs + sum);
}

/* What of class c lies at or below a cut of feature k: `zero` is the weight of samples that lack the feature. */
static inline float okl_below(float cut, float zero, float n, float mean, float square) {
    const int narrow = square <= 1e-12f * n; /* values that are all the same */
    const float z = (cut - mean) * (narrow ? 1e30f : sqrtf(n / square)) + (narrow ? FARTHEST : 0.0f);
    return n * okl_phi(z) + (cut >= 0.0f ? zero : 0.0f);
}

/* The greatest information gain, in bits, of CUTS cuts between the extremes of feature k, and that cut; 0 if there is
 * none.  Row c is n, mean and square of class c, each m numbers. */
static float okl_best_cut(const float *rows, const float *totals, Py_ssize_t n_classes, Py_ssize_t m, Py_ssize_t k,
                          float low, float high, float weight, float least_branch, float *best_cut) {
    float cuts[PADDED_CUTS], left[PADDED_CUTS], left_logs[PADDED_CUTS], right_logs[PADDED_CUTS], below[PADDED_CUTS];
    float present = 0.0f, before = 0.0f, best = 0.0f;
    for (Py_ssize_t c = 0; c < n_classes; c++) present += rows[3 * m * c + k];
    if (present <= 0.0f) return 0.0f;
    if (present < weight * 0.999999f) {
        low = low < 0.0f ? low : 0.0f;
        high = high > 0.0f ? high : 0.0f;
    }
    if (!(high > low)) return 0.0f;
    for (int i = 0; i < PADDED_CUTS; i++) {
        cuts[i] = low + (high - low) * ((float)(i + 1) / (float)(CUTS + 1));
        left[i] = left_logs[i] = right_logs[i] = 0.0f;
    }
    for (Py_ssize_t c = 0; c < n_classes; c++) {
        const float *row = rows + 3 * m * c + k;
        const float all = totals[c], zero = all > row[0] ? all - row[0] : 0.0f;
        if (all <= 0.0f) continue;
        before += okl_x_log_x(all);
        for (int i = 0; i < PADDED_CUTS; i++) {
            const float part = okl_below(cuts[i], zero, row[0], row[m], row[2 * m]);
            below[i] = part < all ? part : all;
        }
        for (int i = 0; i < PADDED_CUTS; i++) {
            left[i] += below[i];
            left_logs[i] += okl_x_log_x(below[i]);
            right_logs[i] += okl_x_log_x(all - below[i]);
        }
    }
    const float entropy = okl_x_log_x(weight) - before, least = least_branch * weight;
    for (int i = 0; i < PADDED_CUTS; i++) {
        const float right = weight - left[i], of_left = okl_x_log_x(left[i]) - left_logs[i];
        below[i] = (entropy - of_left - (okl_x_log_x(right) - right_logs[i])) / weight;
    }
    for (int i = 0; i < CUTS; i++) {
        const float gain = left[i] < least || weight - left[i] < least ? 0.0f : below[i];
        if (gain > best) {
            best = gain;
            *best_cut = cuts[i];
        }
    }
    return best;
}

/* The greatest reduction of the sum of squares, per unit of weight, by an edge between two bins of (weight, sum of
 * targets); bins have `step` from `low` on, and samples without the feature are what is missing in the total. */
static float okl_best_edge(const float *bins, float low, float step, float weight, float sum, float least_branch,
                           float *best_cut, float *left_weight, float *left_sum) {
    float n[BINS], s[BINS], missing = weight, lacking = sum, best = 0.0f, left = 0.0f, total = 0.0f;
    for (int i = 0; i < BINS; i++) {
        n[i] = bins[2 * i];
        s[i] = bins[2 * i + 1];
        missing -= n[i];
        lacking -= s[i];
    }
    if (missing > 1e-5f * weight) {
        float at = (0.0f - low) / step;
        const int i = at < 0.0f ? 0 : at >= BINS - 1 ? BINS - 1 : (int)at;
        n[i] += missing;
        s[i] += lacking;
    }
    for (int i = 0; i < BINS - 1; i++) {
        left += n[i];
        total += s[i];
        const float right = weight - left, least = least_branch * weight;
        if (left < least || right < least) continue;
        const double off = (double)total - (double)left * ((double)sum / (double)weight);
        const double gain = (off * off / (double)left + off * off / (double)right) / (double)weight;
        if (gain > (double)best) {
            best = gain < 1e38 ? (float)gain : 1e38f;
            *best_cut = low + step * (float)(i + 1);
            *left_weight = left;
            *left_sum = total;
        }
    }
    return best;
}

#endif
