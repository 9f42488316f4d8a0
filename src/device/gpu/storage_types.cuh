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

/*
 * STORED_TYPES(X), in sources *_stored_device.cu: those that are compiled now. The CUDA build compiles such a source once for each type
 * above (cmake/TesseraGpu.cmake): the device code of a source is loaded as a whole when the first of its kernels is, and a process
 * has use for one or two types. Other builds compile it once, for all.
 */
#ifdef TESS_STORED_TYPE
#define STORED_TYPE_NOW(X, ...) X(__VA_ARGS__)
#define STORED_TYPES(X) STORED_TYPE_NOW(X, TESS_STORED_TYPE, TESS_STORED_NAME)
#else
#define STORED_TYPES(X) STORAGE_TYPES(X)
#endif

#endif
