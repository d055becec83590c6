/* The loops of the other headers for each instruction set. Only the module simd compiles them, as it takes seconds. */
#ifndef RIVER_OKL_VARIANTS_H
#define RIVER_OKL_VARIANTS_H

#include "fourier.h"
#include "linalg.h"
#include "merging.h"
#include "rows.h"
#include "scan.h"

#define LOOPS "rows_variant.h"
#include "simd.h"
VARIANTS_OF(Loops, loops)

#define LOOPS "linalg_variant.h"
#include "simd.h"
VARIANTS_OF(Linalg, linalg)

#define LOOPS "fourier_variant.h"
#include "simd.h"
VARIANTS_OF(Fourier, fourier)

#define LOOPS "scan_variant.h"
#include "simd.h"
VARIANTS_OF(Scans, scans)

#endif
