/* SPDX-License-Identifier: Apache-2.0 */
/* For the harness's CUDA sources only: checks that end the program. */
#ifndef TESS_BENCH_HARNESS_CUDA_CHECK_H
#define TESS_BENCH_HARNESS_CUDA_CHECK_H

#include <cuda_runtime.h>

#include "harness/harness.h"

#define BENCH_CHECK(call, text_of)                                                  \
    do {                                                                            \
        const auto error_ = (call);                                                 \
        if (error_ != 0) { /* of each library success is 0 */                       \
            bench_die("%s:%d: %s: %s", __FILE__, __LINE__, #call, text_of(error_)); \
        }                                                                           \
    } while (0)
#define BENCH_CUDA_CHECK(call) BENCH_CHECK(call, cudaGetErrorString)
#define BENCH_CUSPARSE_CHECK(call) BENCH_CHECK(call, cusparseGetErrorString)
#define BENCH_CUBLAS_CHECK(call) BENCH_CHECK(call, cublasGetStatusString)

#endif
