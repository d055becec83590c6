/* The loops of trees/ over the statistics of one leaf, in single precision.
 *
 * Arrays over candidate features have m numbers, m a multiple of LANES, padded with absent features.  A value of 0
 * marks an absent feature.  The loops use only +, -, *, / and comparisons of floats, so that compilers vectorise them
 * and the reference implementation can repeat them operation by operation.
 */
#ifndef RIVER_OKL_FOREST_H
#define RIVER_OKL_FOREST_H

#if defined(__GNUC__) && !defined(__clang__) /* lets comparisons become masks, as Clang does by default */
#pragma GCC optimize("no-trapping-math")
#endif

#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__) /* x86-64 fuses only if asked to */
#pragma GCC optimize("fp-contract=off")
#endif

enum { LANES = 4, BINS = 16 };

/* x log2(x), 0 at 0, by the series of the inverse hyperbolic tangent; relative error below 1e-6. */
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

/* The bin of a value: BINS bins of width `step` starting at `low`; the first and the last are unbounded. */
static inline int okl_bin_of(float x, float low, float step) {
    float at = (x - low) / step;
    at = at > 0.0f ? at : 0.0f;
    at = at < (float)(BINS - 1) ? at : (float)(BINS - 1);
    return (int)at;
}

/* Set `found` to BINS * k + bin for each feature k that is present.  Return their number. */
static Py_ssize_t okl_find_bins(const float *x, const float *low, const float *step, Py_ssize_t m, int32_t *found) {
    Py_ssize_t n = 0;
    for (Py_ssize_t k = 0; k < m; k++) found[k] = BINS * (int32_t)k + okl_bin_of(x[k], low[k], step[k]);
    for (Py_ssize_t k = 0; k < m; k++) {
        found[n] = found[k];
        n += x[k] != 0.0f;
    }
    return n;
}

/* Return the sum of the logarithms of n smoothed counts. */
static double okl_log_counts(const float *counts, const int32_t *bins, Py_ssize_t n, float smoothing) {
    double sum = 0.0, product = 1.0;
    for (Py_ssize_t i = 0; i < n; i++) {
        product *= (double)(counts[bins[i]] + smoothing);
        if (i % 16 == 15) {
            sum += log(product);
            product = 1.0;
        }
    }
    return sum + log(product);
}

/* Set `below` to the weight of a class at or below each edge between bins. */
static void okl_cumulate(const float *counts, float total, int zero, float *below) {
    float present = 0.0f, sum = 0.0f, missing;
    for (int i = 0; i < BINS; i++) present += counts[i];
    missing = total - present > 1e-5f * total ? total - present : 0.0f;
    for (int i = 0; i < BINS; i++) {
        sum += counts[i];
        if (i == zero) sum += missing;
        below[i] = sum < total ? sum : total;
    }
}

/* Return the weight of a class at or below the edge `cut`. */
static float okl_below(const float *counts, float total, float low, float step, float cut) {
    float sums[BINS];
    int i = 0;
    okl_cumulate(counts, total, okl_bin_of(0.0f, low, step), sums);
    while (i < BINS - 2 && low + step * (float)(i + 1) < cut) i++;
    return sums[i];
}

/* Return the largest information gain, in bits, of an edge between two bins, or 0, and set `best_cut` to that edge.  Of
 * edges separated only by empty bins, take the middle one.  The bins of class c start at counts + c * stride. */
static float okl_best_cut(const float *counts, Py_ssize_t stride, const float *totals, Py_ssize_t n_classes, float low,
                          float step, float weight, float least_branch, float *best_cut) {
    float left[BINS], left_logs[BINS], right_logs[BINS], below[BINS], before = 0.0f, best = 0.0f;
    const int zero = okl_bin_of(0.0f, low, step);
    int first = 0, last = 0;
    for (int i = 0; i < BINS; i++) left[i] = left_logs[i] = right_logs[i] = 0.0f;
    for (Py_ssize_t c = 0; c < n_classes; c++) {
        const float all = totals[c];
        if (all <= 0.0f) continue;
        before += okl_x_log_x(all);
        okl_cumulate(counts + c * stride, all, zero, below);
        for (int i = 0; i < BINS; i++) {
            left[i] += below[i];
            left_logs[i] += okl_x_log_x(below[i]);
            right_logs[i] += okl_x_log_x(all - below[i]);
        }
    }
    const float entropy = okl_x_log_x(weight) - before, least = least_branch * weight;
    for (int i = 0; i < BINS; i++) {
        const float right = weight - left[i], of_left = okl_x_log_x(left[i]) - left_logs[i];
        below[i] = (entropy - of_left - (okl_x_log_x(right) - right_logs[i])) / weight;
    }
    for (int i = 0; i < BINS - 1; i++) {
        if (left[i] < least || weight - left[i] < least) continue;
        if (below[i] > best) {
            best = below[i];
            first = last = i;
        } else if (below[i] == best && last == i - 1 && left[i] == left[i - 1]) {
            last = i;
        }
    }
    *best_cut = low + step * (float)((first + last) / 2 + 1);
    return best;
}

/* Return the largest reduction of the sum of squares, per unit of weight, by an edge between two bins of width `step`
 * from `low`.  A bin is (weight, sum of targets); samples without the feature are in the totals only. */
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
        const int i = okl_bin_of(0.0f, low, step);
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
