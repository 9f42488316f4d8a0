/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLAS as a baseline; 64-bit sizes throughout. */
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "harness/cuda_check.h"
#include "peers/cublas_dense.h"

namespace {

struct cublas_state : bench_cublas {
    cublasHandle_t handle = nullptr;
    cudaStream_t stream = nullptr;
    void *workspace = nullptr;
    void *place = nullptr; /* of dot or nrm2, on the device, of type `result_type` */
    cudaDataType result_type = CUDA_R_64F;
};

constexpr size_t workspace_bytes = size_t(32) << 20; /* what cuBLAS recommends for Hopper */

/* What cuBLAS calls a precision, and the type of its arithmetic, scalars and results. */
struct types {
    bool known;
    cudaDataType storage, arithmetic;
};

types types_of(tess_precision precision)
{
    switch (precision) {
    case TESS_PRECISION_FP64: return {true, CUDA_R_64F, CUDA_R_64F};
    case TESS_PRECISION_FP32: return {true, CUDA_R_32F, CUDA_R_32F};
    case TESS_PRECISION_BF16: return {true, CUDA_R_16BF, CUDA_R_32F};
    case TESS_PRECISION_FP16: return {true, CUDA_R_16F, CUDA_R_32F};
    default: return {false, CUDA_R_64F, CUDA_R_64F};
    }
}

/* A scalar of the host in the type that cuBLAS wants. */
struct scalar {
    double fp64;
    float fp32;
    bool narrow;

    scalar(double value, cudaDataType type) : fp64(value), fp32(static_cast<float>(value)), narrow(type == CUDA_R_32F)
    {
    }
    const void *pointer() const
    {
        return narrow ? static_cast<const void *>(&fp32) : &fp64;
    }
};

/* The state, ready for an operation: scalars by pointers to the host, results by a pointer to the device. */
cublas_state *state_of(bench_cublas *base, cublasPointerMode_t mode)
{
    cublas_state *c = static_cast<cublas_state *>(base);

    BENCH_CUBLAS_CHECK(cublasSetPointerMode(c->handle, mode));
    return c;
}

cublasOperation_t operation_of(tess_operation operation)
{
    return operation == TESS_OP_TRANSPOSE ? CUBLAS_OP_T : CUBLAS_OP_N;
}

tess_status outcome(cublasStatus_t status)
{
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) { return TESS_UNSUPPORTED; }
    BENCH_CUBLAS_CHECK(status);
    return TESS_SUCCESS;
}

double cublas_result(bench_cublas *base)
{
    cublas_state *c = static_cast<cublas_state *>(base);
    double fp64 = 0.0;
    float fp32 = 0.0F;
    bool narrow = c->result_type == CUDA_R_32F;

    BENCH_CUDA_CHECK(cudaStreamSynchronize(c->stream));
    if (!narrow) { BENCH_CUDA_CHECK(cudaMemcpy(&fp64, c->place, sizeof fp64, cudaMemcpyDeviceToHost)); }
    if (narrow) { BENCH_CUDA_CHECK(cudaMemcpy(&fp32, c->place, sizeof fp32, cudaMemcpyDeviceToHost)); }
    return narrow ? static_cast<double>(fp32) : fp64;
}

/*
 * cublasDotEx and cublasNrm2Ex write their result in the storage type; fp64 and fp32 go to Ddot and Sdot. A dot product
 * of halves is therefore rounded to a half, or overflows: its time is a baseline, its value is not.
 */
tess_status cublas_dot(bench_cublas *base, tess_precision precision, int64_t n, const void *x, const void *y)
{
    cublas_state *c = state_of(base, CUBLAS_POINTER_MODE_DEVICE);
    types t = types_of(precision);

    if (!t.known) { return TESS_UNSUPPORTED; }
    c->result_type = t.arithmetic;
    if (precision == TESS_PRECISION_FP64) {
        return outcome(cublasDdot_64(c->handle, n, static_cast<const double *>(x), 1, static_cast<const double *>(y), 1,
                                     static_cast<double *>(c->place)));
    }
    if (precision == TESS_PRECISION_FP32) {
        return outcome(cublasSdot_64(c->handle, n, static_cast<const float *>(x), 1, static_cast<const float *>(y), 1,
                                     static_cast<float *>(c->place)));
    }
    return outcome(cublasDotEx_64(c->handle, n, x, t.storage, 1, y, t.storage, 1, c->place, t.storage, t.arithmetic));
}

tess_status cublas_nrm2(bench_cublas *base, tess_precision precision, int64_t n, const void *x)
{
    cublas_state *c = state_of(base, CUBLAS_POINTER_MODE_DEVICE);
    types t = types_of(precision);

    if (!t.known) { return TESS_UNSUPPORTED; }
    c->result_type = t.arithmetic;
    return outcome(cublasNrm2Ex_64(c->handle, n, x, t.storage, 1, c->place, t.storage, t.arithmetic));
}

tess_status cublas_axpy(bench_cublas *base, tess_precision precision, int64_t n, double alpha, const void *x, void *y)
{
    cublas_state *c = state_of(base, CUBLAS_POINTER_MODE_HOST);
    types t = types_of(precision);
    scalar factor(alpha, t.arithmetic);

    if (!t.known) { return TESS_UNSUPPORTED; }
    return outcome(
        cublasAxpyEx_64(c->handle, n, factor.pointer(), t.arithmetic, x, t.storage, 1, y, t.storage, 1, t.arithmetic));
}

tess_status cublas_scal(bench_cublas *base, tess_precision precision, int64_t n, double alpha, void *x)
{
    cublas_state *c = state_of(base, CUBLAS_POINTER_MODE_HOST);
    types t = types_of(precision);
    scalar factor(alpha, t.arithmetic);

    if (!t.known) { return TESS_UNSUPPORTED; }
    return outcome(cublasScalEx_64(c->handle, n, factor.pointer(), t.arithmetic, x, t.storage, 1, t.arithmetic));
}

tess_status cublas_gemm(bench_cublas *base, tess_precision precision, tess_operation operation, int64_t nrows,
                        int64_t ncols, int nvec, double alpha, const void *a, int64_t ld, const void *x, double beta,
                        void *y)
{
    cublas_state *c = state_of(base, CUBLAS_POINTER_MODE_HOST);
    types t = types_of(precision);
    scalar first(alpha, t.arithmetic), second(beta, t.arithmetic);
    int64_t nout = operation == TESS_OP_TRANSPOSE ? ncols : nrows, nin = operation == TESS_OP_TRANSPOSE ? nrows : ncols;

    if (!t.known) { return TESS_UNSUPPORTED; }
    return outcome(cublasGemmEx_64(c->handle, operation_of(operation), CUBLAS_OP_N, nout, nvec, nin, first.pointer(), a,
                                   t.storage, ld, x, t.storage, nin, second.pointer(), y, t.storage, nout,
                                   precision == TESS_PRECISION_FP64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                   CUBLAS_GEMM_DEFAULT));
}

tess_status cublas_gemv(bench_cublas *base, tess_precision precision, tess_operation operation, int64_t nrows,
                        int64_t ncols, double alpha, const void *a, int64_t ld, const void *x, double beta, void *y)
{
    cublas_state *c = state_of(base, CUBLAS_POINTER_MODE_HOST);
    cublasOperation_t op = operation_of(operation);
    const float alpha32 = static_cast<float>(alpha), beta32 = static_cast<float>(beta);

    if (precision == TESS_PRECISION_FP64) {
        return outcome(cublasDgemv_64(c->handle, op, nrows, ncols, &alpha, static_cast<const double *>(a), ld,
                                      static_cast<const double *>(x), 1, &beta, static_cast<double *>(y), 1));
    }
    if (precision == TESS_PRECISION_FP32) {
        return outcome(cublasSgemv_64(c->handle, op, nrows, ncols, &alpha32, static_cast<const float *>(a), ld,
                                      static_cast<const float *>(x), 1, &beta32, static_cast<float *>(y), 1));
    }
    return cublas_gemm(base, precision, operation, nrows, ncols, 1, alpha, a, ld, x, beta, y);
}

tess_status cublas_trsv(bench_cublas *base, tess_precision precision, tess_triangle triangle, tess_operation operation,
                        tess_unit_diagonal diagonal, int64_t n, const void *a, int64_t ld, void *x)
{
    cublas_state *c = static_cast<cublas_state *>(base);
    cublasFillMode_t fill = triangle == TESS_LOWER ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    cublasDiagType_t unit = diagonal == TESS_UNIT ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    cublasOperation_t op = operation_of(operation);

    if (precision == TESS_PRECISION_FP64) {
        return outcome(cublasDtrsv_64(c->handle, fill, op, unit, n, static_cast<const double *>(a), ld,
                                      static_cast<double *>(x), 1));
    }
    if (precision == TESS_PRECISION_FP32) {
        return outcome(cublasStrsv_64(c->handle, fill, op, unit, n, static_cast<const float *>(a), ld,
                                      static_cast<float *>(x), 1));
    }
    return TESS_UNSUPPORTED;
}

} // namespace

extern "C" bench_cublas *bench_cublas_open(void *stream)
{
    cublas_state *c = new cublas_state;

    static_cast<bench_cublas &>(*c) = {cublas_dot,  cublas_nrm2, cublas_result, cublas_axpy,
                                       cublas_scal, cublas_gemv, cublas_gemm,   cublas_trsv};
    c->stream = static_cast<cudaStream_t>(stream);
    BENCH_CUDA_CHECK(cudaMalloc(&c->workspace, workspace_bytes));
    BENCH_CUDA_CHECK(cudaMalloc(&c->place, sizeof(double)));
    BENCH_CUBLAS_CHECK(cublasCreate(&c->handle));
    BENCH_CUBLAS_CHECK(cublasSetStream(c->handle, c->stream));
    BENCH_CUBLAS_CHECK(cublasSetWorkspace(c->handle, c->workspace, workspace_bytes));
    return c;
}

extern "C" void bench_cublas_close(bench_cublas *base)
{
    cublas_state *c = static_cast<cublas_state *>(base);

    if (!c) { return; }
    cublasDestroy(c->handle);
    cudaFree(c->workspace);
    cudaFree(c->place);
    delete c;
}
