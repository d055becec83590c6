/* The loops of memory/trees.pyx over rows and over the bins of a column.
 *
 * Gradients, histograms and sums are in single precision. The loops use only +, -, *, / and comparisons of floats, in a
 * fixed order, so that compilers vectorise them and the reference implementation can repeat them operation by operation.
 */
#ifndef RIVER_OKL_BOOSTING_H
#define RIVER_OKL_BOOSTING_H

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

enum { ABREAST = 8 }; /* rows whose probabilities are computed together */
enum { DEPTH = 6, LEAVES = 64, NODES = LEAVES / 2, BINS = 64, CELLS = NODES * BINS, CODES = 256 };

typedef struct {
    float g, h; /* the gradient of a row's loss and its second derivative, times the weight; or sums of them */
} Gradient;

typedef struct { /* the best splits of the nodes of a level so far */
    double *gain;
    int32_t *column, *code; /* rows whose code of this column is larger go to the right */
} Splits;

/* exp(x) for x <= 88, 0 far below; relative error below 2e-7 */
static inline float okl_exp(float x) {
    const float clipped = x > -87.0f ? x : -87.0f;
    const float turns = clipped * 1.44269504f;
    const int32_t n = (int32_t)(turns + (turns < 0.0f ? -0.5f : 0.5f));
    const float r = (clipped - (float)n * 0.693359375f) + (float)n * 2.12194440e-4f;
    float e = 1.9875691e-4f;
    e = e * r + 1.3981999e-3f;
    e = e * r + 8.3334519e-3f;
    e = e * r + 4.1665795e-2f;
    e = e * r + 1.6666665e-1f;
    e = e * r + 0.5f;
    e = e * r * r + r + 1.0f;
    union {
        float number;
        int32_t bits;
    } found = {e};
    found.bits += n * (1 << 23);
    return found.number;
}

/* Set the gradients of n rows of two classes, whose log-odds are `sums`. */
static void okl_logistic(const float *sums, const float *target, const float *weight, Py_ssize_t n, Gradient *out) {
    for (Py_ssize_t i = 0; i < n; i++) {
        const float s = sums[i], e = okl_exp(s < 0.0f ? s : -s); /* exactly antisymmetric in the classes */
        const float more = 1.0f / (1.0f + e), less = e / (1.0f + e);
        const float h = more * less > 1e-16f ? more * less : 1e-16f;
        out[i].g = weight[i] * (target[i] > 0.0f ? (s > 0.0f ? less : more) : -(s > 0.0f ? more : less));
        out[i].h = weight[i] * h;
    }
}

/* Write the probabilities [class, ABREAST] of n classes of up to ABREAST rows, whose scores are `room` numbers apart. */
static void okl_softmax(const float *scores, Py_ssize_t room, Py_ssize_t rows, Py_ssize_t n, float *p) {
    float largest[ABREAST];
    double total[ABREAST] = {0.0}; /* so that the order of the classes does not matter */
    Py_ssize_t i, o;
    for (i = 0; i < ABREAST; i++) largest[i] = -INFINITY;
    for (o = 0; o < n; o++)
        for (i = 0; i < ABREAST; i++) {
            const float s = i < rows ? scores[i * room + o] : 0.0f;
            p[o * ABREAST + i] = s;
            largest[i] = s > largest[i] ? s : largest[i];
        }
    for (o = 0; o < n; o++)
        for (i = 0; i < ABREAST; i++) p[o * ABREAST + i] = okl_exp(p[o * ABREAST + i] - largest[i]);
    for (o = 0; o < n; o++)
        for (i = 0; i < ABREAST; i++) total[i] += p[o * ABREAST + i];
    for (o = 0; o < n; o++)
        for (i = 0; i < ABREAST; i++) p[o * ABREAST + i] /= (float)total[i];
}

/* Set the gradients of up to ABREAST rows of classes `target` along a direction of +1 and -1 per class, from their
 * probabilities. */
static void okl_projected(const float *p, const float *direction, Py_ssize_t n, const float *target,
                          const float *weight, Py_ssize_t rows, Gradient *out) {
    double sum[ABREAST] = {0.0};
    Py_ssize_t i, o;
    for (o = 0; o < n; o++)
        for (i = 0; i < ABREAST; i++) sum[i] += direction[o] * p[o * ABREAST + i];
    for (i = 0; i < rows; i++) {
        const float mean = (float)sum[i], h = 1.0f - mean * mean;
        out[i].g = weight[i] * (direction[(Py_ssize_t)target[i]] - mean);
        out[i].h = weight[i] * (h > 1e-6f ? h : 1e-6f);
    }
}

/* Subtract a term of a linear function, coef · x with |x| <= most, from the residuals of n rows; a gap counts as 0. */
static void okl_subtract_term(const float *values, Py_ssize_t n, float coef, float most, float *residual) {
    for (Py_ssize_t i = 0; i < n; i++) {
        const float x = values[i] > -1e38f ? values[i] : 0.0f;
        residual[i] -= coef * (x > most ? most : x < -most ? -most : x);
    }
}

/* Add the gradients of the rows first, first + step, ... of n to the histogram [node, bin] of a column. */
static void okl_histogram(const uint8_t *codes, const uint8_t *node, const Gradient *gradient, Py_ssize_t first,
                          Py_ssize_t step, Py_ssize_t n, const uint8_t *bin_of, Gradient *sums) {
    for (Py_ssize_t i = first; i < n; i += step) {
#if defined(__GNUC__) || defined(__clang__) /* both numbers at once */
        typedef float Pair __attribute__((vector_size(8), may_alias));
        *(Pair *)(sums + BINS * node[i] + bin_of[codes[i]]) += *(const Pair *)(gradient + i);
#else
        Gradient *sum = sums + BINS * node[i] + bin_of[codes[i]];
        sum->g += gradient[i].g;
        sum->h += gradient[i].h;
#endif
    }
}

/* Compare the splits of a column with the best ones so far: of each node between its bins; last[b] is the largest code
 * in bin b. A branch has at least a second derivative of `least`. */
static void okl_compare(const Gradient *sums, Py_ssize_t nodes, Py_ssize_t bins, const uint8_t *last, int32_t column,
                        double ridge, double least, Splits best) {
    for (Py_ssize_t k = 0; k < nodes; k++, sums += BINS) {
        double g = 0.0, h = 0.0, left_g = 0.0, left_h = 0.0, own;
        for (Py_ssize_t b = 0; b < bins; b++) g += sums[b].g, h += sums[b].h;
        if (h < 2.0 * least) continue;
        own = best.gain[k] + g * g / (h + ridge);
        for (Py_ssize_t b = 0; b < bins - 1; b++) {
            const double right_g = g - (left_g += sums[b].g), right_h = h - (left_h += sums[b].h);
            const double left = left_h + ridge, right = right_h + ridge;
            double gain;
            if (sums[b].h == 0.0f || left_h < least) continue;
            if (right_h < least) break;
            gain = left_g * left_g * right + right_g * right_g * left - own * left * right; /* one division fewer */
            if (gain > 0.0) {
                gain /= left * right;
                own += gain;
                best.gain[k] += gain;
                best.column[k] = column, best.code[k] = last[b];
            }
        }
    }
}

/* Move n rows from their node to one of its two branches. `codes` are columns of `room` rows. */
static void okl_route(const uint8_t *codes, Py_ssize_t room, Splits split, Py_ssize_t n, uint8_t *node) {
    for (Py_ssize_t i = 0; i < n; i++) {
        const uint8_t k = node[i];
        node[i] = (uint8_t)(2 * k + (codes[split.column[k] * room + i] > split.code[k]));
    }
}

#endif
