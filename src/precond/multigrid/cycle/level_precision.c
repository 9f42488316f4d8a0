/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/cycle/level_precision.h"

#include <math.h>

/* Of the factors of S. Corners of a body of one material have 4.03. With 7.7, of coefficients that jump by 30, FP16
   costs no iteration yet. */
static const double most_uneven = 6.0;

/* What a low precision holds: no entry above `largest`, and no row whose largest entry is below `smallest_row`, so that
   entries some powers of two below it are still normal numbers. FP8 is E4M3, or else E5M2. */
static const struct {
    tess_amg_precision wanted;
    tess_precision stored;
    double largest, smallest_row;
} ranges[] = {{TESS_AMG_PRECISION_FP16, TESS_PRECISION_FP16, 0x1p15, 0x1p-12},
              {TESS_AMG_PRECISION_BF16, TESS_PRECISION_BF16, 0x1p120, 0x1p-100},
              {TESS_AMG_PRECISION_FP8, TESS_PRECISION_E4M3, 0x1p8, 0x1p-3},
              {TESS_AMG_PRECISION_FP8, TESS_PRECISION_E5M2, 0x1p15, 0x1p-10}};

tess_amg_precision amg_wanted_precision(const amg_cycle *c, int l, tess_amg_precision otherwise)
{
    const int own = l < TESS_AMG_LEVEL_PRECISIONS ? c->options.level_precision[l] : 0;
    const tess_amg_precision wanted = own != 0 ? (tess_amg_precision)own : otherwise;

    if (wanted != TESS_AMG_PRECISION_AUTO) { return wanted; }
    return c->ctx->device == TESS_DEVICE_GPU ? TESS_AMG_PRECISION_FP16 : TESS_AMG_PRECISION_FP32;
}

tess_precision amg_vector_precision(const amg_cycle *c, int count, tess_amg_precision otherwise)
{
    for (int l = 0; l < count; l++) {
        if (amg_wanted_precision(c, l, otherwise) == TESS_AMG_PRECISION_FP64) { return TESS_PRECISION_FP64; }
    }
    return TESS_PRECISION_FP32;
}

tess_precision amg_choose_precision(tess_amg_precision wanted, const amg_range *range)
{
    if (wanted == TESS_AMG_PRECISION_FP64) { return TESS_PRECISION_FP64; }
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        const bool fits = range->largest <= ranges[k].largest && range->smallest_row >= ranges[k].smallest_row;

        if (ranges[k].wanted == wanted && fits) { return ranges[k].stored; }
    }
    return TESS_PRECISION_FP32;
}

amg_range amg_join_ranges(amg_range a, amg_range b)
{
    return (amg_range){fmax(a.largest, b.largest), fmin(a.smallest_row, b.smallest_row)};
}

bool amg_is_even(double least, double most)
{
    return most <= most_uneven * least;
}
