/* SPDX-License-Identifier: Apache-2.0 */
/* For the harness's CUDA sources only: checks that end the program. */
#ifndef TESS_BENCH_HARNESS_CUDA_CHECK_H
#define TESS_BENCH_HARNESS_CUDA_CHECK_H

#include <cuda_runtime.h>

#include "harness/harness.h"

#define BENCH_CUDA_CHECK(call)                                                                 \
    do {                                                                                       \
        cudaError_t error_ = (call);                                                           \
        if (error_ != cudaSuccess) {                                                           \
            bench_die("%s:%d: %s: %s", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
        }                                                                                      \
    } while (0)

#define BENCH_CUSPARSE_CHECK(call)                                                                 \
    do {                                                                                           \
        cusparseStatus_t error_ = (call);                                                          \
        if (error_ != CUSPARSE_STATUS_SUCCESS) {                                                   \
            bench_die("%s:%d: %s: %s", __FILE__, __LINE__, #call, cusparseGetErrorString(error_)); \
        }                                                                                          \
    } while (0)

#define BENCH_CUBLAS_CHECK(call)                                                                  \
    do {                                                                                          \
        cublasStatus_t error_ = (call);                                                           \
        if (error_ != CUBLAS_STATUS_SUCCESS) {                                                    \
            bench_die("%s:%d: %s: %s", __FILE__, __LINE__, #call, cublasGetStatusString(error_)); \
        }                                                                                         \
    } while (0)

#endif
