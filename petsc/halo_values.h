/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a message: rounded before it is sent, widened when it has come. */
#ifndef TESS_PETSC_HALO_VALUES_H
#define TESS_PETSC_HALO_VALUES_H

#include <stddef.h>
#include <tessera/precision.h>

/* An array in FP64, FP32 or FP16. */
typedef struct tp_values {
    void *data;
    tess_precision precision;
} tp_values;

/* The largest magnitude of n values in FP64 or FP32, NaN left out. */
double tp_largest_value(const tp_values *values, size_t n);
/* The power of two over which FP16 takes values up to `largest`, which becomes one below 2^15. 1 for 0 and Inf. */
double tp_scale_for_fp16(double largest);
/* to := values / scale, rounded once; scale is 1 unless `to` is FP16. The result is the largest error of scale * to. */
double tp_round_values(const tp_values *values, size_t n, double scale, const tp_values *to);
/* to := scale * values, to FP64 or FP32; exact in FP64. */
void tp_widen_values(const tp_values *values, size_t n, double scale, const tp_values *to);

#endif
