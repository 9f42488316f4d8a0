/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the rows of a CSR matrix into chunks on the GPU. */
#include <limits.h>
#include <string.h>

#include <algorithm>

#include "format/csr/csr_plan.cuh"

template <typename OFFSET>
__device__ static inline int64_t row_work(const OFFSET *row_ptr, int64_t i)
{
    return (int64_t)row_ptr[i] + i;
}

/* The first row that starts at or after `target`, counted in rows + nonzeros. */
template <typename OFFSET>
__device__ static inline int64_t find_row(int64_t nrows, const OFFSET *row_ptr, int64_t target)
{
    int64_t low = 0, high = nrows;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (row_work(row_ptr, middle) >= target) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

template <typename OFFSET>
__global__ static void cut_chunks_kernel(int64_t nrows, const OFFSET *row_ptr, int chunk, int nchunks,
                                         int32_t *chunk_row, int64_t *chunk_begin, int64_t *chunk_end)
{
    int64_t c = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
    int64_t row, next, end;

    if (c > nchunks) { return; }
    row = c < nchunks ? find_row(nrows, row_ptr, c * chunk) : nrows;
    chunk_row[c] = (int32_t)row;
    chunk_begin[c] = row_ptr[row];
    if (c == nchunks) { return; }
    next = c + 1 < nchunks ? find_row(nrows, row_ptr, (c + 1) * chunk) : nrows;
    end = row_ptr[next];
    if (next > row && end - (int64_t)row_ptr[next - 1] > TAIL_ROW) { end = row_ptr[next - 1]; }
    chunk_end[c] = end;
}

/* counts[0]: rows longer than SEGMENT, listed in any order; counts[1]: length of the longest row up to TAIL_ROW; counts[2]:
   whether there is a longer one. */
template <typename OFFSET>
__global__ static void row_lengths_kernel(int64_t nrows, const OFFSET *row_ptr, int32_t *split_row, int *counts)
{
    int longest = 0;

    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < nrows; i += (int64_t)gridDim.x * GPU_BLOCK) {
        int64_t length = (int64_t)row_ptr[i + 1] - (int64_t)row_ptr[i];

        if (length > SEGMENT) { split_row[atomicAdd(&counts[0], 1)] = (int32_t)i; }
        if (length > TAIL_ROW) {
            counts[2] = 1;
        } else if (length > longest) {
            longest = (int)length;
        }
    }
    if (longest > 0) { atomicMax(&counts[1], longest); }
}

/* Nonzeros that fill `passes` passes with room for what alignment costs and for the last row to reach past its share. */
static double fitting_nonzeros(int passes, int longest_row)
{
    int spare = CHUNK_PASS / 8;

    return passes * CHUNK_PASS - GPU_WAVE - (longest_row < spare ? longest_row : spare);
}

/*
 * Work of a chunk. Its nonzeros should fill two passes, unless that takes more rows than the block has threads: where
 * cutting the rows leaves the passes badly filled, one full pass is better. A small matrix is cut into no more chunks than
 * it takes to use all multiprocessors.
 */
static int choose_chunk(const tess_context *ctx, const csr_view *v, int longest_row)
{
    int64_t share = (v->nrows + v->nnz) / ((int64_t)SMALL_BLOCKS * gpu_state_of(ctx)->multiprocessors) + 1;
    double mean = v->nnz > 0 ? (double)v->nnz / (double)v->nrows : 1.0, work_per_nonzero = (mean + 1.0) / mean;
    double rows_limit = (GPU_BLOCK - GPU_BLOCK / 64) * (mean + 1.0),
           most = fitting_nonzeros(2, longest_row) * work_per_nonzero;

    if (rows_limit < most) {
        most = rows_limit >= 0.75 * most ? rows_limit : fitting_nonzeros(1, longest_row) * work_per_nonzero;
    }
    return (double)share >= most ? (int)most : share > CHUNK_MIN ? (int)share : CHUNK_MIN;
}

void csr_free_plan(tess_context *ctx, csr_plan *p)
{
    if (!p) { return; }
    tess_device_release(ctx, p->chunk_row, p->nchunks + 1, sizeof *p->chunk_row);
    tess_device_release(ctx, p->chunk_begin, p->nchunks + 1, sizeof *p->chunk_begin);
    tess_device_release(ctx, p->chunk_end, p->nchunks, sizeof *p->chunk_end);
    tess_device_release(ctx, p->split_row, p->nsplit, sizeof *p->split_row);
    tess_device_release(ctx, p->split_segment, p->nsplit + 1, sizeof *p->split_segment);
    tess_device_release(ctx, p->segment_sum, p->nsegments, sizeof *p->segment_sum);
    tess_host_release(ctx, p, 1, sizeof *p);
}

template <typename OFFSET>
static tess_status cut_chunks(tess_context *ctx, const csr_view *v, csr_plan *p)
{
    tess_status status = TESS_SUCCESS;
    unsigned grid = (unsigned)(p->nchunks / GPU_BLOCK + 1);

    TESS_TRY(tess_device_allocate(ctx, p->nchunks + 1, sizeof *p->chunk_row, (void **)&p->chunk_row));
    TESS_TRY(tess_device_allocate(ctx, p->nchunks + 1, sizeof *p->chunk_begin, (void **)&p->chunk_begin));
    TESS_TRY(tess_device_allocate(ctx, p->nchunks, sizeof *p->chunk_end, (void **)&p->chunk_end));
    cut_chunks_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        v->nrows, (const OFFSET *)v->row_ptr, p->chunk, p->nchunks, p->chunk_row, p->chunk_begin, p->chunk_end);
    status = gpu_check_launch(ctx, "cutting rows into chunks");
cleanup:
    return status;
}

/* Measures the rows, and brings those to split to the host: *rows, in ascending order, of *room allocated. */
template <typename OFFSET>
static tess_status find_split_rows(tess_context *ctx, const csr_view *v, csr_plan *p, int32_t **rows, int64_t *room)
{
    int counts[3] = {0, 0, 0};
    int *device_counts = NULL;
    int32_t *device_rows = NULL;
    tess_status status = TESS_SUCCESS;

    *room = v->nnz / SEGMENT + 1; /* no more rows than that can be so long */
    TESS_TRY(tess_device_allocate(ctx, 3, sizeof *device_counts, (void **)&device_counts));
    TESS_TRY(tess_device_allocate(ctx, *room, sizeof *device_rows, (void **)&device_rows));
    TESS_TRY(tess_host_allocate(ctx, *room, sizeof **rows, (void **)rows));
    TESS_TRY(ctx->backend->zero(ctx, device_counts, sizeof counts));
    row_lengths_kernel<<<gpu_grid(ctx, v->nrows, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        v->nrows, (const OFFSET *)v->row_ptr, device_rows, device_counts);
    TESS_TRY(gpu_check_launch(ctx, "measuring rows"));
    TESS_TRY(ctx->backend->download(ctx, counts, device_counts, sizeof counts));
    p->nsplit = counts[0];
    p->longest = counts[1];
    p->irregular = counts[2] != 0 || p->longest * v->nrows > IRREGULARITY * v->nnz;
    TESS_TRY(ctx->backend->download(ctx, *rows, device_rows, (size_t)p->nsplit * sizeof **rows));
    std::sort(*rows, *rows + p->nsplit); /* atomics listed them in any order */
cleanup:
    tess_device_release(ctx, device_counts, 3, sizeof *device_counts);
    tess_device_release(ctx, device_rows, *room, sizeof *device_rows);
    return status;
}

template <typename OFFSET>
static tess_status read_length(tess_context *ctx, const csr_view *v, int32_t row, int64_t *length)
{
    OFFSET ends[2] = {0, 0};
    tess_status status = ctx->backend->download(ctx, ends, (const OFFSET *)v->row_ptr + row, sizeof ends);

    *length = (int64_t)ends[1] - (int64_t)ends[0];
    return status;
}

/* Segments of the split rows, to the device. */
template <typename OFFSET>
static tess_status plan_segments(tess_context *ctx, const csr_view *v, csr_plan *p, const int32_t *rows)
{
    int32_t *segment = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, p->nsplit + 1, sizeof *segment, (void **)&segment));
    segment[0] = 0;
    for (int r = 0; r < p->nsplit; r++) {
        int64_t length = 0;

        TESS_TRY(read_length<OFFSET>(ctx, v, rows[r], &length));
        segment[r + 1] = segment[r] + (int32_t)((length + SEGMENT - 1) / SEGMENT);
    }
    p->nsegments = segment[p->nsplit];
    TESS_TRY(tess_device_allocate(ctx, p->nsplit, sizeof *p->split_row, (void **)&p->split_row));
    TESS_TRY(tess_device_allocate(ctx, p->nsplit + 1, sizeof *p->split_segment, (void **)&p->split_segment));
    TESS_TRY(tess_device_allocate(ctx, p->nsegments, sizeof *p->segment_sum, (void **)&p->segment_sum));
    TESS_TRY(ctx->backend->upload(ctx, p->split_row, rows, (size_t)p->nsplit * sizeof *rows));
    TESS_TRY(ctx->backend->upload(ctx, p->split_segment, segment, (size_t)(p->nsplit + 1) * sizeof *segment));
cleanup:
    tess_host_release(ctx, segment, p->nsplit + 1, sizeof *segment);
    return status;
}

template <typename OFFSET>
static tess_status fill_plan(tess_context *ctx, const csr_view *v, csr_plan *p)
{
    int32_t *rows = NULL;
    int64_t room = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(find_split_rows<OFFSET>(ctx, v, p, &rows, &room));
    p->chunk = choose_chunk(ctx, v, p->longest);
    p->nchunks = (int)((v->nrows + v->nnz + p->chunk - 1) / p->chunk);
    TESS_TRY(cut_chunks<OFFSET>(ctx, v, p));
    TESS_TRY(plan_segments<OFFSET>(ctx, v, p, rows));
cleanup:
    tess_host_release(ctx, rows, room, sizeof *rows);
    return status;
}

tess_status csr_make_plan(tess_context *ctx, const csr_view *v, csr_plan **out)
{
    gpu_scope scope(ctx);
    csr_plan *p = NULL;
    tess_status status = TESS_SUCCESS;

    if ((v->nrows + v->nnz) / CHUNK_MIN >= INT_MAX - 1) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, NULL, "%lld nonzeros are too many for one device", (long long)v->nnz);
    }
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *p, (void **)&p));
    memset(p, 0, sizeof *p);
    TESS_TRY(v->row_ptr_bits == 32 ? fill_plan<int32_t>(ctx, v, p) : fill_plan<int64_t>(ctx, v, p));
    *out = p;
cleanup:
    if (status != TESS_SUCCESS) { csr_free_plan(ctx, p); }
    return status;
}
