/* Distances between bytes: sum_j w_j |q_j - z_ij|, of the rows i of a memory (memory/nearest.pyx).
 *
 * Four columns are stored side by side, so that one instruction multiplies the differences of a row by their weights and
 * adds them up. One source (scan_variant.h) is compiled for each instruction set by simd.h; find_scans(name) selects one.
 */
#ifndef RIVER_OKL_SCAN_H
#define RIVER_OKL_SCAN_H

#include <Python.h>
#include <stdint.h>

enum { SCANNED = 64, GROUP = 4 }; /* rows in a block; columns side by side */

typedef struct { /* GROUP columns: the bytes of the rows, those of the sample, and the weights, at most 127 like these */
    const uint8_t *bytes;
    uint8_t own[GROUP], weight[GROUP];
} Scanned;

typedef struct {
    /* the distances of `blocks` blocks of rows, and the smallest one in each block */
    void (*distances)(const Scanned *groups, Py_ssize_t m, Py_ssize_t blocks, int32_t *out, int32_t *lows);
} Scans;

#endif
