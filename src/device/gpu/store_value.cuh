/* SPDX-License-Identifier: Apache-2.0 */
/* Storing in a precision that is known only when the kernel runs. */
#ifndef TESS_DEVICE_GPU_STORE_VALUE_CUH
#define TESS_DEVICE_GPU_STORE_VALUE_CUH

#include "device/gpu/gpu.h"
#include <tessera/codec.h>

/* values[place], in the precision that most have or in another. */
template <typename INDEX>
__device__ static inline void store_value(tess_precision precision, void *values, INDEX place, double value)
{
    if (precision == TESS_PRECISION_FP64) {
        ((double *)values)[place] = value;
    } else if (precision == TESS_PRECISION_FP32) {
        ((float *)values)[place] = (float)value;
    } else {
        tess_store(precision, values, place, value, TESS_OVERFLOW_INFINITY);
    }
}

#endif
