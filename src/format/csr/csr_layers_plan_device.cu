/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the rows of a matrix in layers into chunks on the GPU: by the rows and nonzeros of all layers together. */
#include <limits.h>
#include <string.h>

#include <algorithm>

#include <tessera/names.h>

#include "format/csr/csr_stage.cuh"

/* The layers, as arguments of kernels. */
template <typename OFFSET>
struct layer_rows {
    int count;
    int64_t nrows;
    const OFFSET *row_ptr[TESS_MAX_LEVELS];
    const int32_t *col_ind[TESS_MAX_LEVELS];
    int value_bytes[TESS_MAX_LEVELS];

    /* Rows and nonzeros before row i. */
    __device__ inline int64_t work_before(int64_t i) const
    {
        int64_t work = i;

#pragma unroll
        for (int l = 0; l < TESS_MAX_LEVELS; l++) {
            if (l < count) { work += (int64_t)row_ptr[l][i]; }
        }
        return work;
    }

    /* The first row from `low` to `high` before which there is at least so much work. */
    __device__ inline int64_t find(int64_t low, int64_t high, int64_t target) const
    {
        while (low < high) {
            int64_t middle = low + (high - low) / 2;

            if (work_before(middle) >= target) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }
};

template <typename OFFSET>
static layer_rows<OFFSET> make_rows(int count, const csr_view *layers)
{
    layer_rows<OFFSET> rows = {};

    rows.count = count;
    rows.nrows = layers->nrows;
    for (int l = 0; l < count; l++) {
        rows.row_ptr[l] = (const OFFSET *)layers[l].row_ptr;
        rows.col_ind[l] = layers[l].col_ind;
        rows.value_bytes[l] = (int)tess_precision_bytes(layers[l].precision);
    }
    return rows;
}

/* ---- measuring ---- */

/* The counts of measure_kernel. */
struct layer_counts {
    int split[TESS_MAX_LEVELS];       /* rows of a layer longer than SEGMENT, listed in any order */
    int longest;                      /* longest row over all layers together; TAIL_ROW + 1 stands for all lengths above
                                         TAIL_ROW */
    unsigned long long sampled, near; /* entries that were examined, and those whose neighbour in the next row has a
                                         near column */
};

/* Space for the lists of rows to split. */
struct split_lists {
    long_row *row[TESS_MAX_LEVELS];
};

template <typename OFFSET>
__global__ static void __launch_bounds__(GPU_BLOCK)
    measure_kernel(const layer_rows<OFFSET> rows, int64_t stride, const split_lists lists, layer_counts *counts)
{
    __shared__ int block_longest;
    __shared__ unsigned block_sampled, block_near;
    const int64_t sample = (int64_t)threadIdx.x * gridDim.x + blockIdx.x, step = (int64_t)gridDim.x * GPU_BLOCK;
    int64_t longest = 0;
    unsigned sampled = 0, near = 0;

    if (threadIdx.x == 0) {
        block_longest = 0;
        block_sampled = block_near = 0;
    }
    __syncthreads();
    for (int64_t i = sample * stride; i + 1 < rows.nrows; i += step * stride) {
        for (int l = 0; l < rows.count; l++) {
            sample_row(rows.row_ptr[l], rows.col_ind[l], i, &sampled, &near);
        }
    }
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < rows.nrows; i += step) {
        int64_t length[TESS_MAX_LEVELS] = {}, all = 0;

#pragma unroll
        for (int l = 0; l < TESS_MAX_LEVELS; l++) {
            if (l < rows.count) { length[l] = (int64_t)rows.row_ptr[l][i + 1] - (int64_t)rows.row_ptr[l][i]; }
        }
#pragma unroll
        for (int l = 0; l < TESS_MAX_LEVELS; l++) {
            if (length[l] > SEGMENT) {
                lists.row[l][atomicAdd(&counts->split[l], 1)] = {(int32_t)i, (int32_t)length[l]};
            }
            all += length[l];
        }
        longest = all > longest ? all : longest;
    }
    if (longest > 0) { atomicMax(&block_longest, (int)min(longest, (int64_t)TAIL_ROW + 1)); }
    if (sampled > 0) { atomicAdd(&block_sampled, sampled); }
    if (near > 0) { atomicAdd(&block_near, near); }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMax(&counts->longest, block_longest);
        atomicAdd(&counts->sampled, (unsigned long long)block_sampled);
        atomicAdd(&counts->near, (unsigned long long)block_near);
    }
}

/* Copies a layer's rows to split to the host, and back with their segments. */
static tess_status plan_long_rows(tess_context *ctx, csr_plan *p, const long_row *device_rows)
{
    long_row *rows = NULL;
    tess_status status = TESS_SUCCESS;

    if (p->nsplit == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, p->nsplit, sizeof *rows, (void **)&rows));
    TESS_TRY(ctx->backend->download(ctx, rows, device_rows, (size_t)p->nsplit * sizeof *rows));
    status = csr_plan_segments(ctx, p, rows);
cleanup:
    tess_host_release(ctx, rows, p->nsplit, sizeof *rows);
    return status;
}

template <typename OFFSET>
static tess_status measure(tess_context *ctx, const layer_rows<OFFSET> &rows, const csr_view *layers, csr_layers *plan,
                           layer_counts *counts)
{
    const int64_t stride = std::min(std::max(rows.nrows / SAMPLED_ROWS, (int64_t)1), (int64_t)SAMPLE_STRIDE);
    const int64_t words = (int64_t)((sizeof *counts + sizeof(double) - 1) / sizeof(double));
    int64_t words_needed = words;
    split_lists lists = {};
    double *work = NULL;
    tess_status status = TESS_SUCCESS;

    for (int l = 0; l < rows.count; l++) {
        words_needed += layers[l].nnz / SEGMENT + 1;
    }
    TESS_TRY(gpu_parts(ctx, words_needed, &work));
    words_needed = words;
    for (int l = 0; l < rows.count; l++) {
        lists.row[l] = (long_row *)(void *)(work + words_needed);
        words_needed += layers[l].nnz / SEGMENT + 1; /* not more rows can be so long */
    }
    TESS_TRY(ctx->backend->zero(ctx, work, sizeof *counts));
    measure_kernel<<<gpu_grid(ctx, rows.nrows, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(rows, stride, lists,
                                                                                       (layer_counts *)(void *)work);
    TESS_TRY(gpu_check_launch(ctx, "measuring rows of layers"));
    TESS_TRY(ctx->backend->download(ctx, counts, work, sizeof *counts));
    for (int l = 0; l < rows.count; l++) {
        plan->layer[l].nsplit = counts->split[l];
        TESS_TRY(plan_long_rows(ctx, &plan->layer[l], lists.row[l]));
    }
cleanup:
    return status;
}

/* ---- chunks ---- */

/* The maxima that cut_kernel finds: places of products, rows, staged bytes. */
struct most_of_chunks {
    int places, rows, bytes;
};

template <int MOST, typename OFFSET>
__global__ static void cut_kernel(const layer_rows<OFFSET> rows, int work, int nchunks, layer_chunk<MOST> *chunks,
                                  most_of_chunks *most)
{
    const int64_t own = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x, c = min(own, (int64_t)nchunks - 1);
    int64_t row, next = rows.nrows; /* every row counts as work: the next chunk begins at most `work` rows later */
    layer_chunk<MOST> chunk = {};
    int places = 0, bytes = 0;

    row = rows.find(0, rows.nrows, c * work);
    if (c + 1 < nchunks) { next = rows.find(row, min(row + work, rows.nrows), (c + 1) * work); }
    chunk.first_row = (int32_t)row;
    chunk.rows = (int32_t)(next - row);
    chunk.short_rows = chunk.rows;
    if (next > row && rows.work_before(next) - rows.work_before(next - 1) - 1 > TAIL_ROW) { chunk.short_rows -= 1; }
#pragma unroll
    for (int l = 0; l < MOST; l++) {
        if (l >= rows.count) { continue; }
        chunk.begin[l] = rows.row_ptr[l][row];
        chunk.staged[l] = (int32_t)((int64_t)rows.row_ptr[l][row + chunk.short_rows] - chunk.begin[l]);
        places += layer_places(chunk.begin[l], chunk.staged[l]);
        if (chunk.staged[l] > 0) {
            bytes += stretch_bytes((chunk.rows + 1) * (int64_t)sizeof(OFFSET)) + stretch_bytes(4 * chunk.staged[l]) +
                     stretch_bytes((int64_t)chunk.staged[l] * rows.value_bytes[l]);
        }
    }
    chunk.group_log = choose_group(chunk.rows);
    if (own < nchunks) { chunks[c] = chunk; }
    places = GPU_WAVE_MAX(places); /* all chunks update the same three words */
    bytes = GPU_WAVE_MAX(bytes);
    row = GPU_WAVE_MAX(chunk.rows);
    if (threadIdx.x % GPU_WAVE == 0) {
        atomicMax(&most->places, places);
        atomicMax(&most->rows, (int)row);
        atomicMax(&most->bytes, bytes);
    }
}

static size_t chunk_bytes(int count)
{
    return count <= FEW_LAYERS ? sizeof(layer_chunk<FEW_LAYERS>) : sizeof(layer_chunk<TESS_MAX_LEVELS>);
}

template <int MOST, typename OFFSET>
static tess_status cut_chunks(tess_context *ctx, const layer_rows<OFFSET> &rows, int64_t nnz, int longest,
                              csr_layers *plan)
{
    const int work = csr_choose_work(ctx, rows.nrows, nnz, plan->by_rows, longest, layers_chunk_most(rows.count));
    most_of_chunks most = {}, *device_most = NULL;
    double *workspace = NULL;
    tess_status status = TESS_SUCCESS;

    plan->nchunks = (int)((rows.nrows + nnz + work - 1) / work);
    TESS_TRY(tess_device_allocate(ctx, plan->nchunks, chunk_bytes(rows.count), &plan->chunk));
    TESS_TRY(gpu_parts(ctx, 2, &workspace));
    device_most = (most_of_chunks *)(void *)workspace;
    TESS_TRY(ctx->backend->zero(ctx, device_most, sizeof *device_most));
    cut_kernel<<<(unsigned)(plan->nchunks / GPU_BLOCK + 1), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        rows, work, plan->nchunks, (layer_chunk<MOST> *)plan->chunk, device_most);
    TESS_TRY(gpu_check_launch(ctx, "cutting layers into chunks"));
    TESS_TRY(ctx->backend->download(ctx, &most, device_most, sizeof most));
    plan->places = most.places;
    plan->most_rows = most.rows;
    plan->stage_bytes = most.bytes;
    plan->by_rows = plan->by_rows && most.rows <= MAX_ROWS;
cleanup:
    return status;
}

template <typename OFFSET>
static tess_status fill_plan(tess_context *ctx, int count, const csr_view *layers, int64_t nnz, csr_layers *plan)
{
    const layer_rows<OFFSET> rows = make_rows<OFFSET>(count, layers);
    layer_counts counts = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(measure(ctx, rows, layers, plan, &counts));
    plan->by_rows = counts.longest <= TAIL_ROW && counts.longest * rows.nrows <= IRREGULARITY * nnz &&
                    NEAR_PART * counts.near >= counts.sampled;
    counts.longest = std::min(counts.longest, (int)TAIL_ROW);
    status = count <= FEW_LAYERS ? cut_chunks<FEW_LAYERS>(ctx, rows, nnz, counts.longest, plan)
                                 : cut_chunks<TESS_MAX_LEVELS>(ctx, rows, nnz, counts.longest, plan);
cleanup:
    return status;
}

void csr_free_layers(tess_context *ctx, csr_layers *plan)
{
    if (!plan) { return; }
    for (int l = 0; l < plan->count; l++) {
        csr_free_segments(ctx, &plan->layer[l]);
    }
    tess_device_release(ctx, plan->chunk, plan->nchunks, chunk_bytes(plan->count));
    tess_host_release(ctx, plan, 1, sizeof *plan);
}

tess_status csr_make_layers(tess_context *ctx, int count, const csr_view *layers, csr_layers **out)
{
    gpu_scope scope(ctx);
    csr_layers *plan = NULL;
    int64_t nnz = 0;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    for (int l = 0; l < count; l++) {
        nnz += layers[l].nnz;
    }
    if ((layers->nrows + nnz) / CHUNK_MIN >= INT_MAX - 1) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "use --device cpu, or split the matrix", "%s too many for one device",
                         tess_count(nnz, "nonzero is|nonzeros are").text);
    }
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *plan, (void **)&plan));
    memset(plan, 0, sizeof *plan);
    plan->count = count;
    TESS_TRY(layers->row_ptr_bits == 32 ? fill_plan<int32_t>(ctx, count, layers, nnz, plan)
                                        : fill_plan<int64_t>(ctx, count, layers, nnz, plan));
    *out = plan;
cleanup:
    if (status != TESS_SUCCESS) { csr_free_layers(ctx, plan); }
    return status;
}
