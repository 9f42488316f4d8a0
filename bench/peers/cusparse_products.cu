/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuSPARSE SpMV: CSR with two algorithms, of real and complex numbers, sliced ELLPACK and blocks of three sizes each;
 * the fastest for a matrix.
 */
#define DISABLE_CUSPARSE_DEPRECATED /* csr2bsr is, and has no successor */
#include <cuComplex.h>
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

namespace {

constexpr int64_t most_padding = 8; /* padded entries per nonzero beyond which SELL is no contestant */
constexpr double most_fill = 1.5;   /* of BSR likewise: its bytes are CSR's at 1.33 to 1.45 */
constexpr int trial_calls = 20;     /* products in a graph that is timed */
const double one64 = 1.0, zero64 = 0.0;
const float one32 = 1.0F, zero32 = 0.0F;
const cuDoubleComplex one128 = {1.0, 0.0}, zero128 = {0.0, 0.0};
const cuComplex one64c = {1.0F, 0.0F}, zero64c = {0.0F, 0.0F};

struct kind_facts {
    const char *name;
    cusparseSpMVAlg_t algorithm;
    int slice, block; /* rows; 0: none */
    bool is_complex;
};

const kind_facts facts[BENCH_CUSPARSE_KINDS] = {{"cusparse-csr", CUSPARSE_SPMV_ALG_DEFAULT, 0, 0, false},
                                                {"cusparse-csr-alg2", CUSPARSE_SPMV_CSR_ALG2, 0, 0, false},
                                                {"cusparse-sell", CUSPARSE_SPMV_SELL_ALG1, 32, 0, false},
                                                {"cusparse-sell-128", CUSPARSE_SPMV_SELL_ALG1, 128, 0, false},
                                                {"cusparse-sell-256", CUSPARSE_SPMV_SELL_ALG1, 256, 0, false},
                                                {"cusparse-bsr-2", CUSPARSE_SPMV_ALG_DEFAULT, 0, 2, false},
                                                {"cusparse-bsr-3", CUSPARSE_SPMV_ALG_DEFAULT, 0, 3, false},
                                                {"cusparse-bsr-4", CUSPARSE_SPMV_ALG_DEFAULT, 0, 4, false},
                                                {"cusparse-complex-csr", CUSPARSE_SPMV_ALG_DEFAULT, 0, 0, true},
                                                {"cusparse-complex-csr-alg2", CUSPARSE_SPMV_CSR_ALG2, 0, 0, true}};

/* Slices column-major, as cuSPARSE wants them: entry k of a row is `rows` places behind entry k - 1. A thread a row. */
__global__ void fill_slices(csr_view v, int rows, const int *offsets, int *columns, double *values)
{
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const int *row_ptr = static_cast<const int *>(v.row_ptr);

    if (row >= v.nrows) { return; }
    int64_t place = offsets[row / rows] + row % rows;
    for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++, place += rows) {
        columns[place] = v.col_ind[k];
        values[place] = static_cast<const double *>(v.val)[k];
    }
}

__global__ void narrow(const double *from, int64_t count, float *to)
{
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;

    if (i < count) { to[i] = static_cast<float>(from[i]); }
}

constexpr unsigned block_threads = 256;

unsigned blocks_of(int64_t threads)
{
    return static_cast<unsigned>((threads + block_threads - 1) / block_threads);
}

/* Of slices of so many rows; the last is the number of padded entries. */
std::vector<int64_t> slice_offsets(const bench_csr *a, int rows)
{
    std::vector<int64_t> offsets{0};

    for (int64_t first = 0; first < a->nrows; first += rows) {
        int64_t width = 0;

        for (int64_t i = first; i < std::min(a->nrows, first + rows); i++) {
            width = std::max(width, a->row_ptr[i + 1] - a->row_ptr[i]);
        }
        offsets.push_back(offsets.back() + width * rows);
    }
    return offsets;
}

template <typename T>
T *allocate(int64_t count)
{
    void *device = nullptr;

    BENCH_CUDA_CHECK(cudaMalloc(&device, std::max<size_t>(static_cast<size_t>(count), 1) * sizeof(T)));
    return static_cast<T *>(device);
}

} // namespace

struct bench_cusparse {
    cusparseHandle_t handle = nullptr;
    bool adds = false; /* y += A x */
    cudaStream_t stream = nullptr;
    cusparseSpMatDescr_t matrix = nullptr;
    std::vector<cusparseDnVecDescr_t> x, y;
    bench_cusparse_kind kind = BENCH_CUSPARSE_CSR;
    void *buffer = nullptr, *values = nullptr;
    int *offsets = nullptr, *columns = nullptr;
    tess_precision precision = TESS_PRECISION_FP64;
    int64_t bytes = 0;

    bool fp64() const
    {
        return precision == TESS_PRECISION_FP64;
    }
    bool is_complex() const
    {
        return facts[kind].is_complex;
    }
    /* numbers of the vectors in one of cuSPARSE's */
    int numbers() const
    {
        return is_complex() ? 2 : 1;
    }
    cudaDataType type() const
    {
        if (is_complex()) { return fp64() ? CUDA_C_64F : CUDA_C_32F; }
        return fp64() ? CUDA_R_64F : CUDA_R_32F;
    }
    const void *one() const
    {
        if (is_complex()) { return fp64() ? static_cast<const void *>(&one128) : &one64c; }
        return fp64() ? static_cast<const void *>(&one64) : &one32;
    }
    const void *zero() const
    {
        if (is_complex()) { return fp64() ? static_cast<const void *>(&zero128) : &zero64c; }
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

extern "C" bool bench_cusparse_is_complex(bench_cusparse_kind kind)
{
    return facts[kind].is_complex;
}

/* Values in FP64 on the device become those of the products: rounded, where these are in FP32. */
static void *in_precision(bench_cusparse *s, const double *values, int64_t count)
{
    float *rounded = nullptr;

    if (s->fp64()) { return const_cast<double *>(values); }
    s->values = rounded = allocate<float>(count);
    narrow<<<blocks_of(count), block_threads, 0, s->stream>>>(values, count, rounded);
    BENCH_CUDA_CHECK(cudaGetLastError());
    return rounded;
}

/* The same for values that are the format's own. */
static void keep_values(bench_cusparse *s, double *values, int64_t count)
{
    s->values = in_precision(s, values, count);
    if (s->values != values) { cudaFree(values); }
}

static bool make_csr(bench_cusparse *s, const csr_view &v)
{
    void *values = in_precision(s, static_cast<const double *>(v.val), v.nnz);

    BENCH_CUSPARSE_CHECK(cusparseCreateCsr(&s->matrix, v.nrows, v.ncols, v.nnz, const_cast<void *>(v.row_ptr),
                                           const_cast<int32_t *>(v.col_ind), values, CUSPARSE_INDEX_32I,
                                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type()));
    s->bytes = (v.nrows + 1 + v.nnz) * 4 + v.nnz * s->value_bytes();
    return true;
}

template <typename T>
T *copy_to_device(const std::vector<T> &from, cudaStream_t stream)
{
    T *to = allocate<T>(static_cast<int64_t>(from.size()));

    BENCH_CUDA_CHECK(cudaMemcpyAsync(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
    BENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
    return to;
}

/* Of the real form, rows 2 i of (re, -im) for each entry: the complex numbers and one index for each. */
static bool make_complex_csr(bench_cusparse *s, const bench_csr *host)
{
    std::vector<int> offsets{0}, columns;
    std::vector<double> values;

    for (int64_t i = 0; i < host->nrows; i += 2) {
        for (int64_t k = host->row_ptr[i]; k < host->row_ptr[i + 1]; k += 2) {
            columns.push_back(host->col_ind[k] / 2);
            values.push_back(host->val[k]);
            values.push_back(-host->val[k + 1]);
        }
        offsets.push_back(static_cast<int>(columns.size()));
    }
    const int64_t count = static_cast<int64_t>(columns.size()), nrows = host->nrows / 2;
    s->offsets = copy_to_device(offsets, s->stream);
    s->columns = copy_to_device(columns, s->stream);
    keep_values(s, copy_to_device(values, s->stream), 2 * count);
    BENCH_CUSPARSE_CHECK(cusparseCreateCsr(&s->matrix, nrows, host->ncols / 2, count, s->offsets, s->columns, s->values,
                                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                           s->type()));
    s->bytes = (nrows + 1 + count) * 4 + 2 * count * s->value_bytes();
    return true;
}

/* Whether a format stores few enough entries. */
static bool is_small(int64_t entries, double most, const csr_view &v, const char *what, char *reason, size_t size)
{
    const double per_nonzero = static_cast<double>(entries) / static_cast<double>(std::max<int64_t>(v.nnz, 1));

    if (per_nonzero <= most && entries < INT32_MAX) { return true; }
    std::snprintf(reason, size, "%s: %.1f entries per nonzero", what, per_nonzero);
    return false;
}

static bool make_slices(bench_cusparse *s, const csr_view &v, const bench_csr *host, char *reason, size_t reason_size)
{
    const int rows = facts[s->kind].slice;
    const std::vector<int64_t> ends = slice_offsets(host, rows);
    const std::vector<int> offsets(ends.begin(), ends.end());
    const int64_t entries = ends.back(), count = static_cast<int64_t>(offsets.size());
    double *values = nullptr;

    if (!is_small(entries, most_padding, v, "padding", reason, reason_size)) { return false; }
    s->offsets = allocate<int>(count);
    s->columns = allocate<int>(entries);
    values = allocate<double>(entries);
    BENCH_CUDA_CHECK(
        cudaMemcpyAsync(s->offsets, offsets.data(), offsets.size() * sizeof(int), cudaMemcpyHostToDevice, s->stream));
    /* padding has column -1 and value 0 */
    BENCH_CUDA_CHECK(cudaMemsetAsync(s->columns, 0xFF, static_cast<size_t>(entries) * sizeof(int), s->stream));
    BENCH_CUDA_CHECK(cudaMemsetAsync(values, 0, static_cast<size_t>(entries) * sizeof(double), s->stream));
    fill_slices<<<blocks_of(v.nrows), block_threads, 0, s->stream>>>(v, rows, s->offsets, s->columns, values);
    BENCH_CUDA_CHECK(cudaGetLastError());
    keep_values(s, values, entries);
    s->bytes = (count + entries) * 4 + entries * s->value_bytes();
    BENCH_CUSPARSE_CHECK(cusparseCreateSlicedEll(&s->matrix, v.nrows, v.ncols, v.nnz, entries, rows, s->offsets,
                                                 s->columns, s->values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                                 CUSPARSE_INDEX_BASE_ZERO, s->type()));
    return true;
}

#if CUSPARSE_VERSION < 13000

/* Blocks row-major, their columns ascending, by cuSPARSE's own conversion. */
static bool make_blocks(bench_cusparse *s, const csr_view &v, char *reason, size_t reason_size)
{
    const int size = facts[s->kind].block, nrows = static_cast<int>(v.nrows), ncols = static_cast<int>(v.ncols);
    const int *row_ptr = static_cast<const int *>(v.row_ptr);
    const cusparseDirection_t order = CUSPARSE_DIRECTION_ROW;
    cusparseMatDescr_t general = nullptr;
    int blocks = 0;

    if (nrows % size != 0 || ncols % size != 0) {
        std::snprintf(reason, reason_size, "the order is no multiple of %d", size);
        return false;
    }
    s->offsets = allocate<int>(nrows / size + 1);
    BENCH_CUSPARSE_CHECK(cusparseCreateMatDescr(&general));
    BENCH_CUSPARSE_CHECK(cusparseXcsr2bsrNnz(s->handle, order, nrows, ncols, general, row_ptr, v.col_ind, size, general,
                                             s->offsets, &blocks));
    const int64_t entries = static_cast<int64_t>(blocks) * size * size;
    const bool small = is_small(entries, most_fill, v, "fill", reason, reason_size);
    if (small) {
        double *values = allocate<double>(entries);

        s->columns = allocate<int>(blocks);
        BENCH_CUSPARSE_CHECK(cusparseDcsr2bsr(s->handle, order, nrows, ncols, general,
                                              static_cast<const double *>(v.val), row_ptr, v.col_ind, size, general,
                                              values, s->offsets, s->columns));
        keep_values(s, values, entries);
        s->bytes = (nrows / size + 1 + blocks) * 4 + entries * s->value_bytes();
        BENCH_CUSPARSE_CHECK(cusparseCreateBsr(&s->matrix, nrows / size, ncols / size, blocks, size, size, s->offsets,
                                               s->columns, s->values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                               CUSPARSE_INDEX_BASE_ZERO, s->type(), CUSPARSE_ORDER_ROW));
    }
    cusparseDestroyMatDescr(general);
    return small;
}

#else

static bool make_blocks(bench_cusparse *, const csr_view &, char *reason, size_t reason_size)
{
    std::snprintf(reason, reason_size, "this cuSPARSE converts no CSR to blocks");
    return false;
}

#endif

static bool make_matrix(bench_cusparse *s, const tess_matrix *a, const bench_csr *host, char *reason,
                        size_t reason_size)
{
    const csr_view &v = csr_of(a)->view;
    bool made = false;

    if (v.row_ptr_bits != 32) {
        std::snprintf(reason, reason_size, "more than 2^31 nonzeros");
    } else if (s->is_complex() && !tess_matrix_is_complex(a)) {
        std::snprintf(reason, reason_size, "the matrix is real");
    } else if (s->is_complex()) {
        made = make_complex_csr(s, host);
    } else if (facts[s->kind].slice > 0) {
        made = make_slices(s, v, host, reason, reason_size);
    } else if (facts[s->kind].block > 0) {
        made = make_blocks(s, v, reason, reason_size);
    } else {
        made = make_csr(s, v);
    }
    s->bytes += s->value_bytes() * (v.ncols + v.nrows);
    return made;
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
        BENCH_CUSPARSE_CHECK(cusparseCreateDnVec(&s->x.back(), tess_matrix_ncols(a) / s->numbers(), x[k], s->type()));
        BENCH_CUSPARSE_CHECK(cusparseCreateDnVec(&s->y.back(), tess_matrix_nrows(a) / s->numbers(), y[k], s->type()));
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
    const cuDoubleComplex alpha128 = {alpha, 0.0}, beta128 = {beta, 0.0};
    const cuComplex alpha64 = {alpha32, 0.0F}, beta64 = {beta32, 0.0F};

    BENCH_CUSPARSE_CHECK(cusparseDnVecSetValues(s->x[0], const_cast<void *>(x)));
    BENCH_CUSPARSE_CHECK(cusparseDnVecSetValues(s->y[0], y));
    if (s->is_complex()) { return s->fp64() ? multiply(s, &alpha128, 0, &beta128) : multiply(s, &alpha64, 0, &beta64); }
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
                                                 int kinds, double *seconds, char *reason, size_t reason_size)
{
    const double start = bench_wall_seconds();
    const size_t bytes = static_cast<size_t>(std::max(host->nrows, host->ncols)) * sizeof(double);
    double least = INFINITY, setup = 0.0;
    void *x = nullptr, *y = nullptr;
    bench_cusparse *best = nullptr;

    BENCH_CUDA_CHECK(cudaMalloc(&x, bytes));
    BENCH_CUDA_CHECK(cudaMalloc(&y, bytes));
    BENCH_CUDA_CHECK(cudaMemset(x, 0, bytes));
    for (int kind = 0; kind < kinds; kind++) {
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
