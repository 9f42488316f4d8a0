/* SPDX-License-Identifier: Apache-2.0 */
/* The storage types by precision: STORAGE_TYPES(X) expands X(type, NAME) for each, for switches over a run-time precision. */
#ifndef TESS_BACKEND_GPU_STORAGE_TYPES_CUH
#define TESS_BACKEND_GPU_STORAGE_TYPES_CUH

#include <tessera/storage.cuh>

/* Those below fp64. */
#define LOW_STORAGE_TYPES(X) \
    X(float, FP32)           \
    X(tess::bf16, BF16)      \
    X(tess::fp16, FP16)      \
    X(tess::e4m3, E4M3)      \
    X(tess::e5m2, E5M2)
#define STORAGE_TYPES(X) \
    X(double, FP64)      \
    LOW_STORAGE_TYPES(X)

#endif
