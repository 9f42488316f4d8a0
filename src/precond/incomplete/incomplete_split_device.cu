/* SPDX-License-Identifier: Apache-2.0 */
/* The patterns of both triangles of a matrix on the GPU, where its diagonal entries are, and where values come from. */
#include <limits.h>

#include "device/gpu/gpu.h"
#include "device/gpu/scan_grid.cuh"
#include "precond/incomplete/incomplete.h"

namespace {

enum { SPLIT_BLOCKS = 8 };

/* One side of the diagonal. */
struct side {
    csr_view from;
    const int64_t *diagonal;
    bool upper;
    device_csr to;
    int64_t *source;
};

__device__ inline int64_t first_row()
{
    return static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x;
}

__device__ inline int64_t rows_at_once()
{
    return static_cast<int64_t>(gridDim.x) * GPU_BLOCK;
}

__device__ inline int64_t offset_of(const csr_view &v, int64_t i)
{
    return tess_row_offset(v.row_ptr, v.row_ptr_bits, i);
}

/* The place of each row's diagonal entry; *missing: the first row without one stays below its start, ULLONG_MAX. */
__global__ void __launch_bounds__(GPU_BLOCK)
    find_diagonal(const csr_view v, int64_t *diagonal, unsigned long long *missing)
{
    for (int64_t i = first_row(); i < v.nrows; i += rows_at_once()) {
        const int64_t end = offset_of(v, i + 1), at = csr_column_from(v.col_ind, offset_of(v, i), end, i);

        diagonal[i] = at;
        if (at == end || v.col_ind[at] != i) { atomicMin(missing, static_cast<unsigned long long>(i)); }
    }
}

__device__ inline int64_t side_begin(const side &s, int64_t i)
{
    return s.upper ? s.diagonal[i] + 1 : offset_of(s.from, i);
}

__device__ inline int64_t side_end(const side &s, int64_t i)
{
    return s.upper ? offset_of(s.from, i + 1) : s.diagonal[i];
}

__global__ void __launch_bounds__(GPU_BLOCK) count_side(const side s)
{
    for (int64_t i = first_row(); i < s.to.nrows; i += rows_at_once()) {
        s.to.row_ptr[i + 1] = static_cast<int32_t>(side_end(s, i) - side_begin(s, i));
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) take_entries(const side s)
{
    for (int64_t i = first_row(); i < s.to.nrows; i += rows_at_once()) {
        const int64_t begin = side_begin(s, i), to = s.to.row_ptr[i], count = s.to.row_ptr[i + 1] - to;

        for (int64_t k = 0; k < count; k++) {
            s.to.col_ind[to + k] = s.from.col_ind[begin + k];
            s.source[to + k] = begin + k;
        }
    }
}

/* source[k] := of[through[k]] */
__global__ void __launch_bounds__(GPU_BLOCK)
    compose(int64_t n, const int64_t *of, const int32_t *through, int64_t *source)
{
    for (int64_t k = first_row(); k < n; k += rows_at_once()) {
        source[k] = of[through[k]];
    }
}

tess_status take_side(tess_context *ctx, side s, incomplete_side *out)
{
    const unsigned grid = gpu_grid(ctx, s.from.nrows, SPLIT_BLOCKS);
    int64_t total = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(device_csr_allocate_rows(ctx, s.from.nrows, s.from.nrows, &out->pattern));
    s.to = out->pattern;
    count_side<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(s);
    TESS_TRY(gpu_check_launch(ctx, "rows of a triangle"));
    TESS_TRY(gpu_sum_lengths(ctx, s.from.nrows, out->pattern.row_ptr, &total));
    TESS_TRY(device_csr_allocate_entries(ctx, total, true, &out->pattern));
    TESS_TRY(tess_device_allocate(ctx, total, sizeof *out->source, reinterpret_cast<void **>(&out->source)));
    s.to = out->pattern;
    s.source = out->source;
    take_entries<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(s);
    status = gpu_check_launch(ctx, "entries of a triangle");
cleanup:
    return status;
}

/* The transpose of a side. */
tess_status mirror(tess_context *ctx, const incomplete_side *from, incomplete_side *out)
{
    const int64_t nnz = from->pattern.nnz;
    device_csr pattern = from->pattern;
    int32_t *through = nullptr;
    tess_status status = TESS_SUCCESS;

    pattern.val = nullptr;
    TESS_TRY(device_csr_ops_of(ctx)->transpose(ctx, &pattern, &out->pattern, &through));
    TESS_TRY(tess_device_allocate(ctx, nnz, sizeof *out->pattern.val, reinterpret_cast<void **>(&out->pattern.val)));
    TESS_TRY(tess_device_allocate(ctx, nnz, sizeof *out->source, reinterpret_cast<void **>(&out->source)));
    compose<<<gpu_grid(ctx, nnz, SPLIT_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(nnz, from->source, through,
                                                                                    out->source);
    status = gpu_check_launch(ctx, "the transpose of a triangle");
cleanup:
    tess_device_release(ctx, through, nnz, sizeof *through);
    return status;
}

tess_status find_diagonals(tess_context *ctx, const csr_view &v, int64_t **diagonal, int64_t *missing_row)
{
    unsigned long long missing = ULLONG_MAX, *place = nullptr;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, v.nrows, sizeof **diagonal, reinterpret_cast<void **>(diagonal)));
    TESS_TRY(tess_device_upload(ctx, &missing, 1, sizeof missing, reinterpret_cast<void **>(&place)));
    find_diagonal<<<gpu_grid(ctx, v.nrows, SPLIT_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v, *diagonal, place);
    TESS_TRY(gpu_check_launch(ctx, "diagonal entries"));
    status = ctx->backend->download(ctx, &missing, place, sizeof missing);
    *missing_row = static_cast<int64_t>(missing); /* ULLONG_MAX: -1 */
cleanup:
    tess_device_release(ctx, place, 1, sizeof missing);
    return status;
}

} // namespace

tess_status incomplete_split_on_gpu(const tess_matrix *assembled, bool symmetric, incomplete_split *out)
{
    tess_context *ctx = assembled->ctx;
    gpu_scope scope(ctx);
    const csr_view v = csr_of(assembled)->view;
    side s = {v, nullptr, false, {}, nullptr};
    tess_status status = TESS_SUCCESS;

    *out = {};
    out->missing_row = -1;
    TESS_TRY(find_diagonals(ctx, v, &out->diagonal, &out->missing_row));
    if (out->missing_row >= 0) { return TESS_SUCCESS; }
    s.diagonal = out->diagonal;
    TESS_TRY(take_side(ctx, s, &out->lower));
    s.upper = true;
    status = symmetric ? mirror(ctx, &out->lower, &out->upper) : take_side(ctx, s, &out->upper);
cleanup:
    return status;
}
