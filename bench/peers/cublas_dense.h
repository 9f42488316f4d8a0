/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuBLAS behind plain C functions: the baseline of the dense benchmarks. Arrays lie on the device; every call is
 * enqueued on the stream and waits for nothing. UNSUPPORTED where cuBLAS has no such operation in that precision, or
 * where this build has no CUDA. Arithmetic is cuBLAS's own: that of the storage for fp64 and fp32, FP32 for fp16 and
 * bf16.
 */
#ifndef TESS_BENCH_PEERS_CUBLAS_DENSE_H
#define TESS_BENCH_PEERS_CUBLAS_DENSE_H

#include "harness/harness.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_cublas bench_cublas;

/* What cuBLAS does, on arrays of a precision on the device. A build without CUDA has none. */
struct bench_cublas {
    /* Results of dot and nrm2 stay on the device; result waits and brings the last one. */
    tess_status (*dot)(bench_cublas *c, tess_precision precision, int64_t n, const void *x, const void *y);
    tess_status (*nrm2)(bench_cublas *c, tess_precision precision, int64_t n, const void *x);
    double (*result)(bench_cublas *c);
    /* y := alpha x + y */
    tess_status (*axpy)(bench_cublas *c, tess_precision precision, int64_t n, double alpha, const void *x, void *y);
    /* x := alpha x */
    tess_status (*scal)(bench_cublas *c, tess_precision precision, int64_t n, double alpha, void *x);
    /* y := alpha op(A) x + beta y, A column-major nrows by ncols; fp16 and bf16 through cublasGemmEx with one column.
     */
    tess_status (*gemv)(bench_cublas *c, tess_precision precision, tess_operation operation, int64_t nrows,
                        int64_t ncols, double alpha, const void *a, int64_t ld, const void *x, double beta, void *y);
    /* Y := alpha op(A) X + beta Y for nvec columns, one after another in X and in Y, through cublasGemmEx. */
    tess_status (*gemm)(bench_cublas *c, tess_precision precision, tess_operation operation, int64_t nrows,
                        int64_t ncols, int nvec, double alpha, const void *a, int64_t ld, const void *x, double beta,
                        void *y);
    /* x := op(T)^-1 x with one triangle of A (fp64, fp32) */
    tess_status (*trsv)(bench_cublas *c, tess_precision precision, tess_triangle triangle, tess_operation operation,
                        tess_unit_diagonal diagonal, int64_t n, const void *a, int64_t ld, void *x);
};

/* A handle with its work space on the stream; NULL in a build without CUDA. */
bench_cublas *bench_cublas_open(void *stream);
void bench_cublas_close(bench_cublas *c);

#ifdef __cplusplus
}
#endif

#endif
