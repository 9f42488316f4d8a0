/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the rows of a CSR matrix into chunks on the GPU. */
#include <limits.h>
#include <string.h>

#include <algorithm>

#include <tessera/names.h>

#include "format/csr/csr_plan.cuh"

template <typename OFFSET>
__device__ static inline int64_t row_work(const OFFSET *row_ptr, int64_t i)
{
    return (int64_t)row_ptr[i] + i;
}

/* The first row from `low` to `high` that starts at or after `target`, counted in rows + nonzeros. */
template <typename OFFSET>
__device__ static inline int64_t find_row(int64_t low, int64_t high, const OFFSET *row_ptr, int64_t target)
{
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

/* most[0]: the most nonzeros that a chunk stages; most[1]: the most rows that it has. */
template <typename OFFSET>
__global__ static void cut_chunks_kernel(int64_t nrows, const OFFSET *row_ptr, int work, int nchunks, csr_chunk *chunks,
                                         int *most)
{
    int64_t c = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
    int64_t origin, row, next, end;
    csr_chunk chunk = {};

    if (c >= nchunks) { return; }
    origin = row_ptr[0]; /* a part of a matrix may begin in the middle of its arrays */
    row = find_row(0, nrows, row_ptr, origin + c * work);
    next = nrows; /* every row counts as work: the next chunk begins at most `work` rows later */
    if (c + 1 < nchunks) { next = find_row(row, min(row + work, nrows), row_ptr, origin + (c + 1) * work); }
    end = row_ptr[next];
    chunk.begin = row_ptr[row];
    chunk.first_row = (int32_t)row;
    chunk.rows = (int32_t)(next - row);
    chunk.short_rows = chunk.rows;
    if (next > row && end - (int64_t)row_ptr[next - 1] > TAIL_ROW) {
        end = row_ptr[next - 1];
        chunk.short_rows -= 1;
    }
    chunk.staged = (int32_t)(end - chunk.begin);
    chunk.group_log = choose_group(chunk.rows);
    chunks[c] = chunk;
    atomicMax(&most[0], chunk.staged);
    atomicMax(&most[1], chunk.rows);
}

/* Chunks of rows without nonzeros. */
__global__ static void cut_empty_rows_kernel(int64_t nrows, int rows, int nchunks, csr_chunk *chunks)
{
    int64_t c = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
    csr_chunk chunk = {};

    if (c >= nchunks) { return; }
    chunk.first_row = (int32_t)(c * rows);
    chunk.rows = (int32_t)(nrows - c * rows < rows ? nrows - c * rows : rows);
    chunks[c] = chunk;
}

/* The counts of row_lengths_kernel. */
struct row_counts {
    int split;   /* long rows, listed in any order */
    int longest; /* length of the longest row; TAIL_ROW + 1 stands for all lengths above TAIL_ROW */
    unsigned long long sampled, near; /* entries that were examined, and those whose neighbour in the next row has a
                                         near column */
};

/* One row in `stride` is sampled, by a few threads of each block, so that the other threads wait for no columns. */
template <typename OFFSET>
__global__ static void __launch_bounds__(GPU_BLOCK)
    row_lengths_kernel(int64_t nrows, const OFFSET *row_ptr, const int32_t *col_ind, int64_t stride,
                       long_row *split_row, row_counts *counts)
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
    for (int64_t i = sample * stride; i + 1 < nrows; i += step * stride) {
        sample_row(row_ptr, col_ind, i, &sampled, &near);
    }
    for (int64_t first = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; first < nrows; first += ROWS_AT_ONCE * step) {
        int64_t length[ROWS_AT_ONCE];

#pragma unroll
        for (int r = 0; r < ROWS_AT_ONCE; r++) {
            int64_t i = min(first + r * step, nrows - 1);

            length[r] = (int64_t)row_ptr[i + 1] - (int64_t)row_ptr[i];
        }
#pragma unroll
        for (int r = 0; r < ROWS_AT_ONCE; r++) {
            int64_t i = first + r * step;

            if (length[r] > SEGMENT && i < nrows) {
                split_row[atomicAdd(&counts->split, 1)] = {(int32_t)i, (int32_t)length[r]};
            }
            longest = length[r] > longest ? length[r] : longest;
        }
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

/* Number of threads that share a row of mean length. */
static int group_width(double mean)
{
    int width = 1;

    while (width < GPU_WAVE && mean > GROUP_NONZEROS * width) {
        width *= 2;
    }
    return width;
}

/*
 * Work of a chunk. By rows: as many rows of mean length as a block has groups of threads, less a few, to leave space
 * for shorter ones. By nonzeros: enough for two passes, less the cost of alignment and of a last row that reaches
 * beyond its share, unless this takes more rows than the block has threads. A small matrix is cut into no more chunks
 * than all multiprocessors need.
 */
int csr_choose_work(const tess_context *ctx, int64_t nrows, int64_t nnz, bool by_rows, int longest, int most)
{
    int64_t share = (nrows + nnz) / ((int64_t)SMALL_BLOCKS * gpu_state_of(ctx)->multiprocessors) + 1;
    double mean = nrows > 0 ? (double)nnz / (double)nrows : 1.0;
    double rows = by_rows ? (double)GPU_BLOCK / group_width(mean) : (double)GPU_BLOCK;
    double work = (rows - rows / 64.0) * (mean + 1.0);

    if (by_rows) {
        work = work < (double)(most - longest) ? work : (double)(most - longest);
    } else {
        double filled = (2.0 * CHUNK_PASS - CHUNK_PASS / 8.0 - GPU_WAVE) * (mean + 1.0) / (mean > 0.0 ? mean : 1.0);

        work = work < filled ? work : filled;
    }
    return (double)share >= work ? (int)work : share > CHUNK_MIN ? (int)share : (int)CHUNK_MIN;
}

void csr_free_segments(tess_context *ctx, const csr_plan *p)
{
    tess_device_release(ctx, p->split_row, p->nsplit, sizeof *p->split_row);
    tess_device_release(ctx, p->split_segment, p->nsplit + 1, sizeof *p->split_segment);
    tess_device_release(ctx, p->segment_sum, p->nsegments, sizeof *p->segment_sum);
}

void csr_free_plan(tess_context *ctx, csr_plan *p)
{
    if (!p) { return; }
    tess_device_release(ctx, p->chunk, p->nchunks, sizeof *p->chunk);
    tess_device_release(ctx, p->merged, p->nmerged, sizeof *p->merged);
    csr_free_segments(ctx, p);
    tess_host_release(ctx, p, 1, sizeof *p);
}

static tess_status cut_empty_rows(tess_context *ctx, const csr_view *v, csr_plan *p)
{
    tess_status status = TESS_SUCCESS;

    p->nchunks = (int)((v->nrows + CHUNK_MAX - 1) / CHUNK_MAX);
    TESS_TRY(tess_device_allocate(ctx, p->nchunks, sizeof *p->chunk, (void **)&p->chunk));
    cut_empty_rows_kernel<<<(unsigned)(p->nchunks / GPU_BLOCK + 1), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        v->nrows, CHUNK_MAX, p->nchunks, p->chunk);
    status = gpu_check_launch(ctx, "cutting empty rows into chunks");
cleanup:
    return status;
}

/* ---- plans in the making: for several matrices at a time, since each look at what the device found is a wait ---- */

struct plan_draft {
    const csr_view *view;
    csr_plan *plan;
    long_row *rows;   /* rows to split; on the host */
    int64_t capacity; /* of rows: not more can be so long */
};

/* The counts of a draft's rows, as far as the plan needs them. */
static tess_status take_counts(tess_context *ctx, plan_draft *draft, const row_counts &counts,
                               const long_row *device_rows)
{
    const csr_view *v = draft->view;
    csr_plan *p = draft->plan;
    tess_status status = TESS_SUCCESS;

    p->nsplit = counts.split;
    p->stages = counts.longest <= TAIL_ROW;
    p->longest = counts.longest < TAIL_ROW ? counts.longest : (int)TAIL_ROW;
    p->by_rows =
        p->stages && counts.longest * v->nrows <= IRREGULARITY * v->nnz && NEAR_PART * counts.near >= counts.sampled;
    if (p->nsplit == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, draft->capacity, sizeof *draft->rows, (void **)&draft->rows));
    status = ctx->backend->download(ctx, draft->rows, device_rows, (size_t)p->nsplit * sizeof *draft->rows);
cleanup:
    return status;
}

/* Measures the rows, and copies those to split to the host. */
static tess_status find_split_rows(tess_context *ctx, int count, plan_draft *drafts)
{
    row_counts counts[TESS_MAX_LEVELS + 1] = {}, *device_counts = NULL;
    long_row *device_rows = NULL, *next = NULL;
    int64_t words = (int64_t)((size_t)count * sizeof *counts + sizeof(double) - 1) / (int64_t)sizeof(double), rows = 0;
    double *work = NULL;
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < count; i++) {
        drafts[i].capacity = drafts[i].view->nnz / SEGMENT + 1;
        rows += drafts[i].capacity;
    }
    TESS_TRY(gpu_parts(ctx, words + rows, &work));
    device_counts = (row_counts *)(void *)work;
    device_rows = next = (long_row *)(void *)(work + words);
    TESS_TRY(ctx->backend->zero(ctx, device_counts, (size_t)count * sizeof *counts));
    for (int i = 0; i < count; i++) {
        const csr_view *v = drafts[i].view;
        const int64_t stride = std::min(std::max(v->nrows / SAMPLED_ROWS, (int64_t)1), (int64_t)SAMPLE_STRIDE);
        unsigned grid = gpu_grid(ctx, v->nrows, 8);

        if (v->row_ptr_bits == 32) {
            row_lengths_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, (const int32_t *)v->row_ptr,
                                                                           v->col_ind, stride, next, &device_counts[i]);
        } else {
            row_lengths_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, (const int64_t *)v->row_ptr,
                                                                           v->col_ind, stride, next, &device_counts[i]);
        }
        TESS_TRY(gpu_check_launch(ctx, "measuring rows"));
        next += drafts[i].capacity;
    }
    TESS_TRY(ctx->backend->download(ctx, counts, device_counts, (size_t)count * sizeof *counts));
    for (int i = 0; i < count; i++) {
        TESS_TRY(take_counts(ctx, &drafts[i], counts[i], device_rows));
        device_rows += drafts[i].capacity;
    }
cleanup:
    return status;
}

static tess_status cut_chunks(tess_context *ctx, int count, const plan_draft *drafts)
{
    int most[TESS_MAX_LEVELS + 1][2] = {}, *device_most = NULL;
    double *workspace = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_parts(ctx, count, &workspace));
    device_most = (int *)(void *)workspace;
    TESS_TRY(ctx->backend->zero(ctx, device_most, (size_t)count * sizeof *most));
    for (int i = 0; i < count; i++) {
        const csr_view *v = drafts[i].view;
        csr_plan *p = drafts[i].plan;
        int work = csr_choose_work(ctx, v->nrows, v->nnz, p->by_rows, p->longest, CHUNK_MAX);
        unsigned grid;

        p->nchunks = (int)((v->nrows + v->nnz + work - 1) / work);
        grid = (unsigned)(p->nchunks / GPU_BLOCK + 1);
        TESS_TRY(tess_device_allocate(ctx, p->nchunks, sizeof *p->chunk, (void **)&p->chunk));
        if (v->row_ptr_bits == 32) {
            cut_chunks_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, (const int32_t *)v->row_ptr, work,
                                                                          p->nchunks, p->chunk, device_most + 2 * i);
        } else {
            cut_chunks_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, (const int64_t *)v->row_ptr, work,
                                                                          p->nchunks, p->chunk, device_most + 2 * i);
        }
        TESS_TRY(gpu_check_launch(ctx, "cutting rows into chunks"));
    }
    TESS_TRY(ctx->backend->download(ctx, most, device_most, (size_t)count * sizeof *most));
    for (int i = 0; i < count; i++) {
        csr_plan *p = drafts[i].plan;

        p->places = most[i][0];
        p->most_rows = most[i][1];
        p->stages = p->stages && p->most_rows <= MAX_ROWS;
        p->by_rows = p->by_rows && p->stages;
    }
cleanup:
    return status;
}

tess_status csr_plan_segments(tess_context *ctx, csr_plan *p, long_row *rows)
{
    int32_t *row = NULL, *segment = NULL;
    tess_status status = TESS_SUCCESS;

    if (p->nsplit == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, p->nsplit, sizeof *row, (void **)&row));
    TESS_TRY(tess_host_allocate(ctx, p->nsplit + 1, sizeof *segment, (void **)&segment));
    std::sort(rows, rows + p->nsplit, /* the atomics listed them in any order */
              [](const long_row &a, const long_row &b) { return a.row < b.row; });
    segment[0] = 0;
    for (int r = 0; r < p->nsplit; r++) {
        row[r] = rows[r].row;
        segment[r + 1] = segment[r] + (rows[r].length - 1) / SEGMENT + 1;
    }
    p->nsegments = segment[p->nsplit];
    TESS_TRY(tess_device_allocate(ctx, p->nsplit, sizeof *p->split_row, (void **)&p->split_row));
    TESS_TRY(tess_device_allocate(ctx, p->nsplit + 1, sizeof *p->split_segment, (void **)&p->split_segment));
    TESS_TRY(tess_device_allocate(ctx, p->nsegments, sizeof *p->segment_sum, (void **)&p->segment_sum));
    TESS_TRY(ctx->backend->upload(ctx, p->split_row, row, (size_t)p->nsplit * sizeof *row));
    TESS_TRY(ctx->backend->upload(ctx, p->split_segment, segment, (size_t)(p->nsplit + 1) * sizeof *segment));
cleanup:
    tess_host_release(ctx, row, p->nsplit, sizeof *row);
    tess_host_release(ctx, segment, p->nsplit + 1, sizeof *segment);
    return status;
}

static tess_status fill_plans(tess_context *ctx, int count, plan_draft *drafts)
{
    tess_status status = TESS_SUCCESS;

    if (count == 0) { return TESS_SUCCESS; }
    TESS_TRY(find_split_rows(ctx, count, drafts));
    TESS_TRY(cut_chunks(ctx, count, drafts));
    for (int i = 0; i < count; i++) {
        TESS_TRY(csr_plan_segments(ctx, drafts[i].plan, drafts[i].rows));
    }
cleanup:
    for (int i = 0; i < count; i++) {
        tess_host_release(ctx, drafts[i].rows, drafts[i].capacity, sizeof *drafts[i].rows);
    }
    return status;
}

static tess_status create_plan(tess_context *ctx, const csr_view *v, csr_plan **out)
{
    tess_status status = TESS_SUCCESS;

    if ((v->nrows + v->nnz) / CHUNK_MIN >= INT_MAX - 1) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "use --device cpu, or split the matrix", "%s too many for one device",
                         tess_count(v->nnz, "nonzero is|nonzeros are").text);
    }
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof **out, (void **)out));
    memset(*out, 0, sizeof **out);
cleanup:
    return status;
}

tess_status csr_make_plans(tess_context *ctx, int count, const csr_view *const *views, csr_plan **out)
{
    gpu_scope scope(ctx);
    plan_draft drafts[TESS_MAX_LEVELS + 1] = {};
    int ndrafts = 0;
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < count; i++) {
        out[i] = NULL;
    }
    for (int i = 0; i < count; i++) {
        TESS_TRY(create_plan(ctx, views[i], &out[i]));
        if (views[i]->row_ptr) {
            drafts[ndrafts++] = {views[i], out[i], NULL, 0};
        } else {
            TESS_TRY(cut_empty_rows(ctx, views[i], out[i]));
        }
    }
    status = fill_plans(ctx, ndrafts, drafts);
cleanup:
    for (int i = 0; i < count && status != TESS_SUCCESS; i++) {
        csr_free_plan(ctx, out[i]);
        out[i] = NULL;
    }
    return status;
}

/* ---- matrices in parts ---- */

/* How many of `count` chunks come before chunk c of another part with `own` chunks, when both are spread evenly: the
   chunks whose place (2 k + 1) / count is below (2 c + 1) / own, and, for an earlier part, those at the same place. */
__device__ static inline int64_t chunks_before(int64_t c, int64_t own, int64_t count, bool earlier)
{
    int64_t scaled = (2 * c + 1) * count;

    return earlier ? (scaled / own + 1) / 2 : (scaled + own - 1) / own / 2;
}

struct part_counts {
    int chunks[TESS_MAX_LEVELS + 1];
    int parts;
};

/* The chunks of parts alternate, so that the parts of x read at about the same time are about the same. */
__global__ static void merge_kernel(const csr_chunk *chunks, const part_counts counts, int part, csr_chunk *merged)
{
    int64_t c = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x, place = c;
    csr_chunk chunk;

    if (c >= counts.chunks[part]) { return; }
    for (int other = 0; other < counts.parts; other++) {
        if (other != part) { place += chunks_before(c, counts.chunks[part], counts.chunks[other], other < part); }
    }
    chunk = chunks[c];
    chunk.part = part;
    merged[place] = chunk;
}

tess_status csr_prepare_parts(tess_context *ctx, int count, const csr_part *parts)
{
    gpu_scope scope(ctx);
    csr_plan *first = parts[0].plan;
    part_counts counts = {};
    int64_t total = 0;
    tess_status status = TESS_SUCCESS;

    if (first->merged) { return TESS_SUCCESS; }
    counts.parts = count;
    for (int p = 0; p < count; p++) {
        counts.chunks[p] = parts[p].plan->nchunks;
        total += parts[p].plan->nchunks;
    }
    if (total >= INT_MAX) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "use --device cpu, or split the matrix",
                         "the matrix has too many nonzeros for one device");
    }
    TESS_TRY(tess_device_allocate(ctx, total, sizeof *first->merged, (void **)&first->merged));
    first->nmerged = (int)total;
    for (int p = 0; p < count; p++) {
        if (counts.chunks[p] == 0) { continue; }
        merge_kernel<<<(unsigned)(counts.chunks[p] / GPU_BLOCK + 1), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
            parts[p].plan->chunk, counts, p, first->merged);
        TESS_TRY(gpu_check_launch(ctx, "merging chunks"));
    }
cleanup:
    if (status != TESS_SUCCESS) {
        tess_device_release(ctx, first->merged, total, sizeof *first->merged);
        first->merged = NULL;
    }
    return status;
}
