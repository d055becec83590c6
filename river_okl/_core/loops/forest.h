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
