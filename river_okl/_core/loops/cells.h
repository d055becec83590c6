/* Values of the rows of a memory (memory/latest.pyx): scaled, in single precision, with a number for a gap; and their
 * bytes for distances, in steps of 1 / 20 standard deviation.
 */
#ifndef RIVER_OKL_CELLS_H
#define RIVER_OKL_CELLS_H

#if defined(__GNUC__) && !defined(__clang__) /* lets comparisons become masks, as Clang does by default */
#pragma GCC optimize("no-trapping-math")
#endif

#include <Python.h>
#include <stdint.h>

enum { STEPS = 20 }; /* per standard deviation */

static const float GAP = -0x1p127f;
static const double LARGEST_CELL = 0x1p99; /* of a value */
static const double ROUNDING = 0x1.8p52;   /* what is added to it is rounded to an integer */

static inline float okl_saturated(double value) {
    return (float)(value > LARGEST_CELL ? LARGEST_CELL : value < -LARGEST_CELL ? -LARGEST_CELL : value);
}

static inline float okl_converted(float value, double ratio, double shift) {
    return value == GAP ? value : okl_saturated(ratio * value + shift);
}

static inline uint8_t okl_byte_of(float value) {
    double steps = value == GAP ? 0.0 : STEPS * (double)value;
    steps = steps > 63.0 ? 63.0 : steps < -64.0 ? -64.0 : steps;
    return (uint8_t)(int32_t)(64.0 + ((steps + ROUNDING) - ROUNDING));
}

/* Convert n values to another unit. */
static void okl_convert(float *values, Py_ssize_t n, double ratio, double shift) {
    for (Py_ssize_t i = 0; i < n; i++) values[i] = okl_converted(values[i], ratio, shift);
}

/* Write the bytes of n values, which are `apart` bytes from each other. */
static void okl_write_bytes(const float *values, Py_ssize_t n, uint8_t *bytes, Py_ssize_t apart) {
    uint8_t some[64];
    for (Py_ssize_t i = 0; i < n; i += 64) {
        const Py_ssize_t m = n - i < 64 ? n - i : 64;
        for (Py_ssize_t j = 0; j < m; j++) some[j] = okl_byte_of(values[i + j]);
        for (Py_ssize_t j = 0; j < m; j++) bytes[(i + j) * apart] = some[j];
    }
}

#endif
