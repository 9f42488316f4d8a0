/* SPDX-License-Identifier: Apache-2.0 */
/* cuSPARSE SpMV: CSR with two algorithms, sliced ELLPACK and blocks of three sizes each; the fastest for a matrix. */
#include <cusparse.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "format/csr/csr.h"
#include "harness/cuda_check.h"
#include "peers/cusparse_products.h"
#include "peers/graph.cuh"
#include "peers/host_formats.cuh"

namespace {

constexpr int trial_calls = 20; /* products in a graph that is timed */
const double one64 = 1.0, zero64 = 0.0;
const float one32 = 1.0F, zero32 = 0.0F;

struct kind_facts {
    const char *name;
    cusparseSpMVAlg_t algorithm;
    int slice, block; /* rows; 0: none */
};

const kind_facts facts[BENCH_CUSPARSE_KINDS] = {
    {"cusparse-csr", CUSPARSE_SPMV_ALG_DEFAULT, 0, 0},      {"cusparse-csr-alg2", CUSPARSE_SPMV_CSR_ALG2, 0, 0},
    {"cusparse-sell", CUSPARSE_SPMV_SELL_ALG1, 32, 0},      {"cusparse-sell-128", CUSPARSE_SPMV_SELL_ALG1, 128, 0},
    {"cusparse-sell-256", CUSPARSE_SPMV_SELL_ALG1, 256, 0}, {"cusparse-bsr-2", CUSPARSE_SPMV_ALG_DEFAULT, 0, 2},
    {"cusparse-bsr-3", CUSPARSE_SPMV_ALG_DEFAULT, 0, 3},    {"cusparse-bsr-4", CUSPARSE_SPMV_ALG_DEFAULT, 0, 4}};

/* ---- on the device ---- */

std::vector<float> rounded(const double *values, size_t count)
{
    return std::vector<float>(values, values + count);
}

template <typename T>
void *upload(const std::vector<T> &source)
{
    void *device = nullptr;
    size_t bytes = std::max<size_t>(source.size(), 1) * sizeof(T);

    BENCH_CUDA_CHECK(cudaMalloc(&device, bytes));
    BENCH_CUDA_CHECK(cudaMemcpy(device, source.data(), source.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

} // namespace

struct bench_cusparse {
    cusparseHandle_t handle = nullptr;
    bool adds = false; /* y += A x */
    cudaStream_t stream = nullptr;
    cusparseSpMatDescr_t matrix = nullptr;
    std::vector<cusparseDnVecDescr_t> x, y;
    bench_cusparse_kind kind = BENCH_CUSPARSE_CSR;
    void *buffer = nullptr, *offsets = nullptr, *columns = nullptr, *values = nullptr;
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
    const void *beta() const
    {
        return adds ? one() : zero();
    }
    int64_t value_bytes() const
    {
        return fp64() ? 8 : 4;
    }
};

extern "C" const char *bench_cusparse_name(bench_cusparse_kind kind)
{
    return facts[kind].name;
}

/* On the arrays that the matrix holds, but for values in FP32. */
static void make_csr(bench_cusparse *s, const csr_view &v, const bench_csr *host)
{
    if (!s->fp64()) { s->values = upload(rounded(host->val, static_cast<size_t>(host->nnz))); }
    BENCH_CUSPARSE_CHECK(cusparseCreateCsr(&s->matrix, v.nrows, v.ncols, v.nnz, const_cast<void *>(v.row_ptr),
                                           const_cast<int32_t *>(v.col_ind),
                                           s->fp64() ? const_cast<void *>(v.val) : s->values, CUSPARSE_INDEX_32I,
                                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type()));
    s->bytes = bench_spmv_bytes(v.nrows, v.ncols, v.nnz, static_cast<int>(s->value_bytes())) -
               (8 - s->value_bytes()) * (v.ncols + v.nrows);
}

static void make_other(bench_cusparse *s, const csr_view &v, const host_arrays &built)
{
    const int slice = facts[s->kind].slice, block = facts[s->kind].block;
    const int64_t entries = static_cast<int64_t>(built.values.size());

    s->offsets = upload(built.offsets);
    s->columns = upload(built.columns);
    s->values = s->fp64() ? upload(built.values) : upload(rounded(built.values.data(), built.values.size()));
    s->bytes = entries * s->value_bytes() + static_cast<int64_t>(built.columns.size() + built.offsets.size()) * 4 +
               s->value_bytes() * (v.ncols + v.nrows);
    if (slice > 0) {
        BENCH_CUSPARSE_CHECK(cusparseCreateSlicedEll(&s->matrix, v.nrows, v.ncols, v.nnz, entries, slice, s->offsets,
                                                     s->columns, s->values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                                     CUSPARSE_INDEX_BASE_ZERO, s->type()));
    } else {
        BENCH_CUSPARSE_CHECK(cusparseCreateBsr(&s->matrix, v.nrows / block, v.ncols / block, entries / (block * block),
                                               block, block, s->offsets, s->columns, s->values, CUSPARSE_INDEX_32I,
                                               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type(),
                                               CUSPARSE_ORDER_ROW));
    }
}

static bool make_matrix(bench_cusparse *s, const tess_matrix *a, const bench_csr *host, char *reason,
                        size_t reason_size)
{
    const kind_facts &k = facts[s->kind];
    const csr_view &v = csr_of(a)->view;
    host_arrays built;

    if (v.row_ptr_bits != 32) {
        std::snprintf(reason, reason_size, "more than 2^31 nonzeros");
        return false;
    }
    if (k.slice == 0 && k.block == 0) {
        make_csr(s, v, host);
        return true;
    }
    if (k.slice > 0 ? !build_slices(host, k.slice, &built, reason, reason_size)
                    : !build_blocks(host, k.block, &built, reason, reason_size)) {
        return false;
    }
    make_other(s, v, built);
    return true;
}

/* Work space and preprocessing; false where cuSPARSE does not support the combination. */
static bool prepare(bench_cusparse *s, char *reason, size_t reason_size)
{
    size_t bytes = 0;
    cusparseSpMVAlg_t algorithm = facts[s->kind].algorithm;
    cusparseStatus_t status = cusparseSpMV_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, s->one(), s->matrix,
                                                      s->x[0], s->zero(), s->y[0], s->type(), algorithm, &bytes);

    if (status == CUSPARSE_STATUS_SUCCESS) {
        BENCH_CUDA_CHECK(cudaMalloc(&s->buffer, std::max<size_t>(bytes, 16)));
        if (facts[s->kind].slice == 0) {
            status = cusparseSpMV_preprocess(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, s->one(), s->matrix, s->x[0],
                                             s->zero(), s->y[0], s->type(), algorithm, s->buffer);
            /* an algorithm without a preprocessing step runs without it */
            if (status == CUSPARSE_STATUS_NOT_SUPPORTED) { status = CUSPARSE_STATUS_SUCCESS; }
        }
    }
    if (status != CUSPARSE_STATUS_SUCCESS) { std::snprintf(reason, reason_size, "%s", cusparseGetErrorString(status)); }
    return status == CUSPARSE_STATUS_SUCCESS;
}

extern "C" tess_status bench_cusparse_create(const tess_matrix *a, const bench_csr *host, bench_cusparse_kind kind,
                                             tess_precision precision, int pairs, void *const *x, void *const *y,
                                             bench_cusparse **out, double *setup_seconds, char *reason,
                                             size_t reason_size)
{
    bench_cusparse *s = new bench_cusparse;
    bool supported = false;

    *out = nullptr;
    s->kind = kind;
    s->precision = precision;
    s->stream = static_cast<cudaStream_t>(tess_context_stream(tess_matrix_context(a)));
    BENCH_CUSPARSE_CHECK(cusparseCreate(&s->handle));
    BENCH_CUSPARSE_CHECK(cusparseSetStream(s->handle, s->stream));
    for (int k = 0; k < pairs; k++) {
        s->x.push_back(nullptr);
        s->y.push_back(nullptr);
        BENCH_CUSPARSE_CHECK(cusparseCreateDnVec(&s->x.back(), tess_matrix_ncols(a), x[k], s->type()));
        BENCH_CUSPARSE_CHECK(cusparseCreateDnVec(&s->y.back(), tess_matrix_nrows(a), y[k], s->type()));
    }
    supported = make_matrix(s, a, host, reason, reason_size);
    BENCH_CUDA_CHECK(cudaDeviceSynchronize());
    double start = bench_wall_seconds();
    supported = supported && prepare(s, reason, reason_size);
    BENCH_CUDA_CHECK(cudaDeviceSynchronize());
    *setup_seconds = bench_wall_seconds() - start;
    if (!supported) {
        bench_cusparse_destroy(s);
        return TESS_UNSUPPORTED;
    }
    *out = s;
    return TESS_SUCCESS;
}

extern "C" void bench_cusparse_destroy(bench_cusparse *s)
{
    if (!s) { return; }
    for (cusparseDnVecDescr_t v : s->x) {
        cusparseDestroyDnVec(v);
    }
    for (cusparseDnVecDescr_t v : s->y) {
        cusparseDestroyDnVec(v);
    }
    if (s->matrix) { cusparseDestroySpMat(s->matrix); }
    cusparseDestroy(s->handle);
    cudaFree(s->buffer);
    cudaFree(s->offsets);
    cudaFree(s->columns);
    cudaFree(s->values);
    delete s;
}

extern "C" void bench_cusparse_add(bench_cusparse *s)
{
    s->adds = true;
}

static tess_status multiply(bench_cusparse *s, const void *alpha, size_t pair, const void *beta)
{
    const cusparseStatus_t status =
        cusparseSpMV(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, s->matrix, s->x[pair], beta, s->y[pair],
                     s->type(), facts[s->kind].algorithm, s->buffer);

    return status == CUSPARSE_STATUS_SUCCESS ? TESS_SUCCESS : TESS_DEVICE;
}

extern "C" tess_status bench_cusparse_call(void *user, int k)
{
    bench_cusparse *s = static_cast<bench_cusparse *>(user);

    return multiply(s, s->one(), static_cast<size_t>(k) % s->x.size(), s->beta());
}

extern "C" tess_status bench_cusparse_multiply(bench_cusparse *s, double alpha, const void *x, double beta, void *y)
{
    const float alpha32 = static_cast<float>(alpha), beta32 = static_cast<float>(beta);

    BENCH_CUSPARSE_CHECK(cusparseDnVecSetValues(s->x[0], const_cast<void *>(x)));
    BENCH_CUSPARSE_CHECK(cusparseDnVecSetValues(s->y[0], y));
    return s->fp64() ? multiply(s, &alpha, 0, &beta) : multiply(s, &alpha32, 0, &beta32);
}

extern "C" bench_cusparse_kind bench_cusparse_kind_of(const bench_cusparse *s)
{
    return s->kind;
}

extern "C" int64_t bench_cusparse_bytes(const bench_cusparse *s)
{
    return s->bytes;
}

/* ---- the fastest ---- */

/* Seconds of a product; infinite where it fails or cannot be captured. */
static double time_products(bench_cusparse *s)
{
    cudaGraphExec_t graph = nullptr;

    if (bench_cusparse_call(s, 0) != TESS_SUCCESS) { return INFINITY; }
    BENCH_CUDA_CHECK(cudaStreamSynchronize(s->stream));
    graph = bench_record(s->stream, trial_calls, [&] { return bench_cusparse_call(s, 0) == TESS_SUCCESS; });
    return graph ? bench_time_graph(s->stream, graph) / trial_calls : INFINITY;
}

extern "C" bench_cusparse *bench_cusparse_choose(const tess_matrix *a, const bench_csr *host, tess_precision precision,
                                                 double *seconds, char *reason, size_t reason_size)
{
    const double start = bench_wall_seconds();
    const size_t bytes = static_cast<size_t>(std::max(host->nrows, host->ncols)) * sizeof(double);
    double least = INFINITY, setup = 0.0;
    void *x = nullptr, *y = nullptr;
    bench_cusparse *best = nullptr;

    BENCH_CUDA_CHECK(cudaMalloc(&x, bytes));
    BENCH_CUDA_CHECK(cudaMalloc(&y, bytes));
    BENCH_CUDA_CHECK(cudaMemset(x, 0, bytes));
    for (int kind = 0; kind < BENCH_CUSPARSE_KINDS; kind++) {
        bench_cusparse *s = nullptr;
        double time = INFINITY;

        if (bench_cusparse_create(a, host, static_cast<bench_cusparse_kind>(kind), precision, 1, &x, &y, &s, &setup,
                                  reason, reason_size) == TESS_SUCCESS) {
            time = time_products(s);
        }
        if (time < least) { std::swap(best, s); }
        least = std::min(least, time);
        bench_cusparse_destroy(s);
    }
    cudaFree(x);
    cudaFree(y);
    *seconds = bench_wall_seconds() - start;
    return best;
}
