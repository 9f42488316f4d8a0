/* SPDX-License-Identifier: Apache-2.0 */
/* cuSPARSE SpMM: CSR with each of its algorithms, dense matrices by rows and by columns. */
#include <cusparse.h>

#include <algorithm>
#include <cstdio>

#include "format/csr/csr.h"
#include "harness/cuda_check.h"
#include "peers/cusparse_spmm.h"

namespace {

const double one64 = 1.0, zero64 = 0.0;
const float one32 = 1.0F, zero32 = 0.0F;

struct kind_facts {
    const char *name;
    cusparseSpMMAlg_t algorithm;
    cusparseOrder_t order;
};

const kind_facts facts[BENCH_SPMM_KINDS] = {{"cusparse-spmm-rows", CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_ORDER_ROW},
                                            {"cusparse-spmm-columns", CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_ORDER_COL},
                                            {"cusparse-spmm-alg1-rows", CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_ORDER_ROW},
                                            {"cusparse-spmm-alg1-columns", CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_ORDER_COL},
                                            {"cusparse-spmm-alg2-rows", CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_ORDER_ROW},
                                            {"cusparse-spmm-alg2-columns", CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_ORDER_COL},
                                            {"cusparse-spmm-alg3-rows", CUSPARSE_SPMM_CSR_ALG3, CUSPARSE_ORDER_ROW},
                                            {"cusparse-spmm-alg3-columns", CUSPARSE_SPMM_CSR_ALG3, CUSPARSE_ORDER_COL}};

__global__ void narrow(const double *from, int64_t count, float *to)
{
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;

    if (i < count) { to[i] = static_cast<float>(from[i]); }
}

constexpr unsigned block_threads = 256;

} // namespace

struct bench_spmm {
    cusparseHandle_t handle = nullptr;
    cudaStream_t stream = nullptr;
    cusparseSpMatDescr_t matrix = nullptr;
    cusparseDnMatDescr_t x = nullptr, y = nullptr;
    int kind = 0;
    void *buffer = nullptr;
    float *values = nullptr; /* rounded; NULL: the matrix's own */
    tess_precision precision = TESS_PRECISION_FP64;
    int64_t bytes = 0;

    bool fp64() const
    {
        return precision == TESS_PRECISION_FP64;
    }
    cudaDataType type() const
    {
        return fp64() ? CUDA_R_64F : CUDA_R_32F;
    }
    const void *one() const
    {
        return fp64() ? static_cast<const void *>(&one64) : &one32;
    }
    const void *zero() const
    {
        return fp64() ? static_cast<const void *>(&zero64) : &zero32;
    }
};

extern "C" const char *bench_spmm_name(int kind)
{
    return facts[kind].name;
}

extern "C" bool bench_spmm_by_rows(int kind)
{
    return facts[kind].order == CUSPARSE_ORDER_ROW;
}

static void make_matrix(bench_spmm *s, const csr_view &v)
{
    const int64_t width = s->fp64() ? 8 : 4;
    void *values = const_cast<void *>(static_cast<const void *>(v.val));

    if (!s->fp64()) {
        const int64_t count = std::max<int64_t>(v.nnz, 1);

        BENCH_CUDA_CHECK(cudaMalloc(reinterpret_cast<void **>(&s->values), static_cast<size_t>(count) * sizeof(float)));
        narrow<<<static_cast<unsigned>((count + block_threads - 1) / block_threads), block_threads, 0, s->stream>>>(
            static_cast<const double *>(v.val), v.nnz, s->values);
        BENCH_CUDA_CHECK(cudaGetLastError());
        values = s->values;
    }
    BENCH_CUSPARSE_CHECK(cusparseCreateCsr(&s->matrix, v.nrows, v.ncols, v.nnz, const_cast<void *>(v.row_ptr),
                                           const_cast<int32_t *>(v.col_ind), values, CUSPARSE_INDEX_32I,
                                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type()));
    s->bytes = (v.nrows + 1 + v.nnz) * 4 + v.nnz * width;
}

static void make_dense(bench_spmm *s, int64_t rows, int64_t columns, void *values, cusparseDnMatDescr_t *out)
{
    const cusparseOrder_t order = facts[s->kind].order;
    const int64_t leading = order == CUSPARSE_ORDER_ROW ? columns : rows;

    BENCH_CUSPARSE_CHECK(cusparseCreateDnMat(out, rows, columns, leading, values, s->type(), order));
    s->bytes += rows * columns * (s->fp64() ? 8 : 4);
}

static cusparseStatus_t multiply(bench_spmm *s)
{
    return cusparseSpMM(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, s->one(),
                        s->matrix, s->x, s->zero(), s->y, s->type(), facts[s->kind].algorithm, s->buffer);
}

/* Work space and preprocessing. */
static cusparseStatus_t prepare(bench_spmm *s)
{
    const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const cusparseSpMMAlg_t algorithm = facts[s->kind].algorithm;
    size_t bytes = 0;
    cusparseStatus_t status = cusparseSpMM_bufferSize(s->handle, plain, plain, s->one(), s->matrix, s->x, s->zero(),
                                                      s->y, s->type(), algorithm, &bytes);

    if (status != CUSPARSE_STATUS_SUCCESS) { return status; }
    if (cudaMalloc(&s->buffer, std::max<size_t>(bytes, 16)) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        s->buffer = nullptr;
        return CUSPARSE_STATUS_ALLOC_FAILED;
    }
    status = cusparseSpMM_preprocess(s->handle, plain, plain, s->one(), s->matrix, s->x, s->zero(), s->y, s->type(),
                                     algorithm, s->buffer);
    /* an algorithm without a preprocessing step runs without it; the product tells what is not supported */
    return status == CUSPARSE_STATUS_SUCCESS || status == CUSPARSE_STATUS_NOT_SUPPORTED ? multiply(s) : status;
}

extern "C" tess_status bench_spmm_create(const tess_matrix *a, int kind, tess_precision precision, int columns, void *x,
                                         void *y, bench_spmm **out, char *reason, size_t reason_size)
{
    const csr_view &v = csr_of(a)->view;
    bench_spmm *s = nullptr;
    cusparseStatus_t status = CUSPARSE_STATUS_SUCCESS;

    *out = nullptr;
    if (v.row_ptr_bits != 32) {
        std::snprintf(reason, reason_size, "more than 2^31 nonzeros");
        return TESS_UNSUPPORTED;
    }
    s = new bench_spmm;
    s->kind = kind;
    s->precision = precision;
    s->stream = static_cast<cudaStream_t>(tess_context_stream(tess_matrix_context(a)));
    BENCH_CUSPARSE_CHECK(cusparseCreate(&s->handle));
    BENCH_CUSPARSE_CHECK(cusparseSetStream(s->handle, s->stream));
    make_matrix(s, v);
    make_dense(s, v.ncols, columns, x, &s->x);
    make_dense(s, v.nrows, columns, y, &s->y);
    status = prepare(s);
    BENCH_CUDA_CHECK(cudaDeviceSynchronize());
    if (status != CUSPARSE_STATUS_SUCCESS) {
        std::snprintf(reason, reason_size, "%s", cusparseGetErrorString(status));
        bench_spmm_destroy(s);
        return TESS_UNSUPPORTED;
    }
    *out = s;
    return TESS_SUCCESS;
}

extern "C" void bench_spmm_destroy(bench_spmm *s)
{
    if (!s) { return; }
    if (s->x) { cusparseDestroyDnMat(s->x); }
    if (s->y) { cusparseDestroyDnMat(s->y); }
    if (s->matrix) { cusparseDestroySpMat(s->matrix); }
    cusparseDestroy(s->handle);
    cudaFree(s->buffer);
    cudaFree(s->values);
    delete s;
}

extern "C" tess_status bench_spmm_call(void *user, int)
{
    return multiply(static_cast<bench_spmm *>(user)) == CUSPARSE_STATUS_SUCCESS ? TESS_SUCCESS : TESS_DEVICE;
}

extern "C" int64_t bench_spmm_bytes(const bench_spmm *s)
{
    return s->bytes;
}
