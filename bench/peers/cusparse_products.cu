/* SPDX-License-Identifier: Apache-2.0 */
/* cuSPARSE SpMV: CSR with two algorithms, and sliced ELLPACK. */
#include <cusparse.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "format/csr/csr.h"
#include "harness/cuda_check.h"
#include "peers/cusparse_products.h"

namespace {

constexpr int slice_rows = 32;
constexpr int64_t most_padding = 8; /* padded entries per nonzero beyond which SELL is no contestant */
const double one64 = 1.0, zero64 = 0.0;
const float one32 = 1.0F, zero32 = 0.0F;

cusparseSpMVAlg_t algorithm_of(bench_cusparse_kind kind)
{
    switch (kind) {
    case BENCH_CUSPARSE_CSR_ALG2: return CUSPARSE_SPMV_CSR_ALG2;
    case BENCH_CUSPARSE_SELL: return CUSPARSE_SPMV_SELL_ALG1;
    default: return CUSPARSE_SPMV_ALG_DEFAULT;
    }
}

/* Sliced ELLPACK on the host: slices column-major, padding with column -1 as cuSPARSE wants it. */
struct sell_arrays {
    std::vector<int32_t> offsets, columns;
    std::vector<double> values;
};

int64_t measure_slices(const bench_csr *a, std::vector<int64_t> &offsets)
{
    int64_t slices = (a->nrows + slice_rows - 1) / slice_rows;

    offsets.assign(static_cast<size_t>(slices) + 1, 0);
    for (int64_t s = 0; s < slices; s++) {
        int64_t width = 0;

        for (int64_t i = s * slice_rows; i < std::min(a->nrows, (s + 1) * slice_rows); i++) {
            width = std::max(width, a->row_ptr[i + 1] - a->row_ptr[i]);
        }
        offsets[static_cast<size_t>(s) + 1] = offsets[static_cast<size_t>(s)] + width * slice_rows;
    }
    return offsets[static_cast<size_t>(slices)];
}

void fill_slices(const bench_csr *a, sell_arrays *sell)
{
    int64_t slices = static_cast<int64_t>(sell->offsets.size()) - 1;

#pragma omp parallel for schedule(static)
    for (int64_t s = 0; s < slices; s++) {
        for (int64_t i = s * slice_rows; i < std::min(a->nrows, (s + 1) * slice_rows); i++) {
            int64_t place = sell->offsets[static_cast<size_t>(s)] + (i - s * slice_rows);

            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++, place += slice_rows) {
                sell->columns[static_cast<size_t>(place)] = a->col_ind[k];
                sell->values[static_cast<size_t>(place)] = a->val[k];
            }
        }
    }
}

bool build_sell(const bench_csr *a, sell_arrays *sell, char *reason, size_t reason_size)
{
    std::vector<int64_t> offsets;
    int64_t padded = measure_slices(a, offsets);

    if (padded > most_padding * std::max<int64_t>(a->nnz, 1) || padded >= INT32_MAX) {
        std::snprintf(reason, reason_size, "padding: %.1f entries per nonzero",
                      static_cast<double>(padded) / static_cast<double>(a->nnz));
        return false;
    }
    sell->offsets.assign(offsets.begin(), offsets.end());
    sell->columns.assign(static_cast<size_t>(padded), -1);
    sell->values.assign(static_cast<size_t>(padded), 0.0);
    fill_slices(a, sell);
    return true;
}

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
    void *buffer = nullptr, *sell_offsets = nullptr, *sell_columns = nullptr, *values = nullptr;
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
    static const char *const names[] = {"cusparse-csr", "cusparse-csr-alg2", "cusparse-sell"};

    return names[kind];
}

static bool make_matrix(bench_cusparse *s, const tess_matrix *a, const bench_csr *host, char *reason,
                        size_t reason_size)
{
    const csr_view &v = csr_of(a)->view;
    sell_arrays sell;

    if (v.row_ptr_bits != 32) {
        std::snprintf(reason, reason_size, "more than 2^31 nonzeros");
        return false;
    }
    if (s->kind != BENCH_CUSPARSE_SELL) {
        if (!s->fp64()) { s->values = upload(rounded(host->val, static_cast<size_t>(host->nnz))); }
        BENCH_CUSPARSE_CHECK(cusparseCreateCsr(&s->matrix, v.nrows, v.ncols, v.nnz, const_cast<void *>(v.row_ptr),
                                               const_cast<int32_t *>(v.col_ind),
                                               s->fp64() ? const_cast<void *>(v.val) : s->values, CUSPARSE_INDEX_32I,
                                               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type()));
        s->bytes = bench_spmv_bytes(v.nrows, v.ncols, v.nnz, static_cast<int>(s->value_bytes())) -
                   (8 - s->value_bytes()) * (v.ncols + v.nrows);
        return true;
    }
    if (!build_sell(host, &sell, reason, reason_size)) { return false; }
    s->sell_offsets = upload(sell.offsets);
    s->sell_columns = upload(sell.columns);
    s->values = s->fp64() ? upload(sell.values) : upload(rounded(sell.values.data(), sell.values.size()));
    s->bytes = static_cast<int64_t>(sell.values.size()) * (4 + s->value_bytes()) +
               static_cast<int64_t>(sell.offsets.size()) * 4 + s->value_bytes() * (v.ncols + v.nrows);
    BENCH_CUSPARSE_CHECK(cusparseCreateSlicedEll(
        &s->matrix, v.nrows, v.ncols, v.nnz, static_cast<int64_t>(sell.values.size()), slice_rows, s->sell_offsets,
        s->sell_columns, s->values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type()));
    return true;
}

/* Work space and preprocessing; false where cuSPARSE does not support the combination. */
static bool prepare(bench_cusparse *s, char *reason, size_t reason_size)
{
    size_t bytes = 0;
    cusparseSpMVAlg_t algorithm = algorithm_of(s->kind);
    cusparseStatus_t status = cusparseSpMV_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, s->one(), s->matrix,
                                                      s->x[0], s->zero(), s->y[0], s->type(), algorithm, &bytes);

    if (status == CUSPARSE_STATUS_SUCCESS) {
        BENCH_CUDA_CHECK(cudaMalloc(&s->buffer, std::max<size_t>(bytes, 16)));
        if (s->kind != BENCH_CUSPARSE_SELL) {
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
    cudaFree(s->sell_offsets);
    cudaFree(s->sell_columns);
    cudaFree(s->values);
    delete s;
}

extern "C" void bench_cusparse_add(bench_cusparse *s)
{
    s->adds = true;
}

extern "C" tess_status bench_cusparse_call(void *user, int k)
{
    bench_cusparse *s = static_cast<bench_cusparse *>(user);
    size_t pair = static_cast<size_t>(k) % s->x.size();
    cusparseStatus_t status = cusparseSpMV(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, s->one(), s->matrix, s->x[pair],
                                           s->beta(), s->y[pair], s->type(), algorithm_of(s->kind), s->buffer);

    return status == CUSPARSE_STATUS_SUCCESS ? TESS_SUCCESS : TESS_DEVICE;
}

extern "C" int64_t bench_cusparse_bytes(const bench_cusparse *s)
{
    return s->bytes;
}
