/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for null parts on the GPU. Rows that do not sum to 0 are one tree with root 0, row i is node i + 1, and
 * each node points to one that is not above it: first to a neighbour, then to the root of its tree, with which the
 * trees of its other neighbours are joined. Trees other than that of node 0 are candidates: nothing leads out of them
 * or into them. For most matrices the first pointers end the search.
 */
#include "device/gpu/gpu.h"
#include "matrix/assembled.h"
#include "matrix/null_parts.h"

namespace {

enum { PART_BLOCKS = 8, HOPS = 4 };

/* Numbers for the host. */
struct part_notes {
    int32_t moved, candidates, roots, unlike;
};

struct part_search {
    tess_context *ctx;
    csr_view v;
    unsigned grid;
    uint8_t *null; /* nrows: the row sums to 0 */
    int32_t *tree; /* nrows + 1: a node that is not above */
    part_notes *notes, seen;
};

#define FOR_EACH(i, n) \
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < (n); i += (int64_t)gridDim.x * GPU_BLOCK)

__device__ int64_t offset_of(const csr_view &v, int64_t i)
{
    return tess_row_offset(v.row_ptr, v.row_ptr_bits, i);
}

__device__ double value_of(const csr_view &v, int64_t k)
{
    return ((const double *)v.val)[k];
}

/* ---- rows that sum to 0 ---- */

__device__ null_row_sum sum_entries(const csr_view &v, int64_t from, int64_t to)
{
    null_row_sum part = {0.0, 0.0};

    for (int64_t k = from; k < to; k++) {
        part.sum += value_of(v, k);
        part.magnitude += fabs(value_of(v, k));
    }
    return part;
}

/* By all threads of a wave, a part each; every thread gets the sum, whose parts are added in order. */
__device__ null_row_sum sum_long_row(const csr_view &v, int64_t begin, int64_t end)
{
    const int lane = (int)threadIdx.x % GPU_WAVE;
    null_row_sum row = {0.0, 0.0};

    for (int64_t base = begin; base < end; base += (int64_t)NULL_ROW_PART * GPU_WAVE) {
        const int64_t from = base + (int64_t)lane * NULL_ROW_PART;
        const null_row_sum part = sum_entries(v, from, end - from > NULL_ROW_PART ? from + NULL_ROW_PART : end);

        for (int source = 0; source < GPU_WAVE; source++) {
            row.sum += GPU_SHUFFLE(part.sum, source, GPU_WAVE);
            row.magnitude += GPU_SHUFFLE(part.magnitude, source, GPU_WAVE);
        }
    }
    return row;
}

__global__ void __launch_bounds__(GPU_BLOCK) null_kernel(csr_view v, uint8_t *null)
{
    const int lane = (int)threadIdx.x % GPU_WAVE;
    const int64_t step = (int64_t)gridDim.x * GPU_BLOCK;

    for (int64_t base = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x - lane; base < v.nrows; base += step) {
        const int64_t i = base + lane, begin = i < v.nrows ? offset_of(v, i) : 0;
        const int64_t end = i < v.nrows ? offset_of(v, i + 1) : 0;
        const bool is_long = end - begin > NULL_ROW_PART;
        null_row_sum row = {0.0, 0.0};

        if (!is_long) { row = sum_entries(v, begin, end); }
        if (GPU_BALLOT(is_long)) {
            for (int source = 0; source < GPU_WAVE; source++) {
                const int64_t from = (int64_t)GPU_SHUFFLE(begin, source, GPU_WAVE);
                const int64_t to = (int64_t)GPU_SHUFFLE(end, source, GPU_WAVE);

                if (to - from <= NULL_ROW_PART) { continue; }
                const null_row_sum whole = sum_long_row(v, from, to);

                if (source == lane) { row = whole; }
            }
        }
        if (i < v.nrows) { null[i] = null_row_holds(&row, end - begin); }
    }
}

/* ---- trees ---- */

/* The least neighbour, whose entry comes first; where none is below, node 0 if some neighbour does not sum to 0. */
__global__ void __launch_bounds__(GPU_BLOCK) plant_kernel(csr_view v, const uint8_t *null, int32_t *tree)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) { tree[0] = 0; }
    FOR_EACH(i, v.nrows)
    {
        const int64_t end = offset_of(v, i + 1);
        int32_t to = null[i] ? (int32_t)i + 1 : 0;

        for (int64_t k = offset_of(v, i); k < end && to == i + 1; k++) {
            const int32_t j = v.col_ind[k];

            if (value_of(v, k) == 0.0) { continue; }
            to = !null[j] ? 0 : j < i ? j + 1 : to;
        }
        tree[i + 1] = to;
    }
}

/* Whatever the order of threads, pointers go to roots in the end. */
__global__ void __launch_bounds__(GPU_BLOCK) shorten_kernel(int64_t n, int32_t *tree, part_notes *notes)
{
    volatile int32_t *const now = tree;

    FOR_EACH(i, n + 1)
    {
        const int32_t first = now[i];
        int32_t at = first;

        for (int hop = 0; hop < HOPS; hop++) {
            at = now[at];
        }
        if (at == first) { continue; }
        now[i] = at;
        notes->moved = 1;
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) join_kernel(csr_view v, int32_t *tree, part_notes *notes)
{
    volatile const int32_t *const now = tree;

    FOR_EACH(i, v.nrows)
    {
        const int64_t end = offset_of(v, i + 1);
        const int32_t mine = now[i + 1];

        for (int64_t k = offset_of(v, i); k < end; k++) {
            const int32_t other = now[v.col_ind[k] + 1];

            if (other == mine || value_of(v, k) == 0.0) { continue; }
            atomicMin(&tree[other > mine ? other : mine], other > mine ? mine : other);
            notes->moved = 1;
        }
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) count_kernel(int64_t n, const int32_t *tree, part_notes *notes)
{
    FOR_EACH(i, n)
    {
        if (tree[i + 1] == 0) { continue; }
        notes->candidates = 1;
        if (tree[i + 1] == i + 1) { atomicAdd(&notes->roots, 1); }
    }
}

tess_status look(part_search *s)
{
    return s->ctx->backend->download(s->ctx, &s->seen, s->notes, sizeof s->seen);
}

tess_status clear(part_search *s)
{
    return s->ctx->backend->zero(s->ctx, s->notes, sizeof *s->notes);
}

tess_status shorten(part_search *s)
{
    tess_status status = TESS_SUCCESS;

    do {
        TESS_TRY(clear(s));
        TESS_TRY(gpu_launch(s->ctx, "roots of rows", shorten_kernel, s->grid, 0, s->v.nrows, s->tree, s->notes));
        TESS_TRY(look(s));
    } while (s->seen.moved);
cleanup:
    return status;
}

tess_status count(part_search *s)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(clear(s));
    TESS_TRY(gpu_launch(s->ctx, "candidates", count_kernel, s->grid, 0, s->v.nrows, s->tree, s->notes));
    status = look(s);
cleanup:
    return status;
}

/* Joins trees until no entry leads from one to another. */
tess_status join_all(part_search *s)
{
    tess_status status = TESS_SUCCESS;

    do {
        TESS_TRY(clear(s));
        TESS_TRY(gpu_launch(s->ctx, "joining rows", join_kernel, s->grid, 0, s->v, s->tree, s->notes));
        TESS_TRY(look(s));
        if (s->seen.moved) {
            TESS_TRY(shorten(s));
            s->seen.moved = 1;
        }
    } while (s->seen.moved);
    status = count(s);
cleanup:
    return status;
}

tess_status search(part_search *s)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_launch(s->ctx, "rows that sum to 0", null_kernel, s->grid, 0, s->v, s->null));
    TESS_TRY(gpu_launch(s->ctx, "neighbours of rows", plant_kernel, s->grid, 0, s->v, s->null, s->tree));
    TESS_TRY(shorten(s));
    TESS_TRY(count(s));
    if (s->seen.candidates) { status = join_all(s); }
cleanup:
    return status;
}

/* ---- the proof, where the candidates' rows are their columns ---- */

/* By root. */
struct tree_sums {
    int32_t rows, failed, inexact, terms;
};

__global__ void __launch_bounds__(GPU_BLOCK)
    prove_kernel(csr_view v, const int32_t *tree, tree_sums *sums, part_notes *notes)
{
    FOR_EACH(i, v.nrows)
    {
        const int64_t end = offset_of(v, i + 1);
        tree_sums *const mine = &sums[tree[i + 1]];
        null_sum column = {{0.0, 0.0}, 0.0, 0, false};

        if (tree[i + 1] == 0) { continue; }
        for (int64_t k = offset_of(v, i); k < end; k++) {
            const double value = value_of(v, k);

            null_sum_add(&column, value);
            if (csr_value_at(&v, v.col_ind[k], i) != value) { notes->unlike = 1; }
        }
        atomicAdd(&mine->rows, 1);
        if (!null_sum_holds(&column)) { mine->failed = 1; }
        if (!null_sum_is_exact(&column)) { mine->inexact = 1; }
        atomicMax(&mine->terms, (int32_t)column.terms);
    }
}

/* Roots in any order. */
__global__ void __launch_bounds__(GPU_BLOCK)
    list_kernel(int64_t n, const int32_t *tree, const tree_sums *sums, null_part *list, part_notes *notes)
{
    FOR_EACH(i, n)
    {
        if (tree[i + 1] != i + 1) { continue; }
        const tree_sums mine = sums[i + 1];

        list[atomicAdd(&notes->roots, 1)] = {mine.failed ? -1 : mine.rows, i, mine.inexact == 0, mine.terms};
    }
}

/* A list of candidates; rows -1: its columns do not sum to 0. seen.unlike: nothing is known. */
tess_status prove(part_search *s, null_part *list_on_host)
{
    const int64_t n = s->v.nrows, roots = s->seen.roots;
    tree_sums *sums = NULL;
    null_part *list = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(s->ctx, n + 1, sizeof *sums, (void **)&sums));
    TESS_TRY(tess_device_allocate(s->ctx, roots, sizeof *list, (void **)&list));
    TESS_TRY(s->ctx->backend->zero(s->ctx, sums, (size_t)(n + 1) * sizeof *sums));
    TESS_TRY(clear(s));
    TESS_TRY(gpu_launch(s->ctx, "columns that sum to 0", prove_kernel, s->grid, 0, s->v, s->tree, sums, s->notes));
    TESS_TRY(gpu_launch(s->ctx, "listing parts", list_kernel, s->grid, 0, n, s->tree, sums, list, s->notes));
    TESS_TRY(look(s));
    status = s->ctx->backend->download(s->ctx, list_on_host, list, (size_t)roots * sizeof *list);
cleanup:
    tess_device_release(s->ctx, list, roots, sizeof *list);
    tess_device_release(s->ctx, sums, n + 1, sizeof *sums);
    return status;
}

/* ---- the result ---- */

tess_status take(part_search *s, null_candidates *out)
{
    const int64_t n = s->v.nrows;
    tess_status status = TESS_SUCCESS;

    out->count = s->seen.roots;
    TESS_TRY(tess_host_allocate(s->ctx, out->count, sizeof *out->part, (void **)&out->part));
    TESS_TRY(prove(s, out->part));
    out->known = s->seen.unlike == 0;
    if (!out->known) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(s->ctx, n, sizeof *out->tree, (void **)&out->tree));
    out->n = n;
    status = s->ctx->backend->download(s->ctx, out->tree, s->tree + 1, (size_t)n * sizeof *out->tree);
cleanup:
    return status;
}

tess_status candidates(const tess_matrix *a, null_candidates *out)
{
    tess_context *ctx = a->ctx;
    gpu_scope scope(ctx);
    const int64_t n = a->nrows;
    part_search s = {ctx, csr_of(a)->view, gpu_grid(ctx, n, PART_BLOCKS), NULL, NULL, NULL, {0, 0, 0, 0}};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, n, sizeof *s.null, (void **)&s.null));
    TESS_TRY(tess_device_allocate(ctx, n + 1, sizeof *s.tree, (void **)&s.tree));
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *s.notes, (void **)&s.notes));
    TESS_TRY(search(&s));
    *out = {true, 0, 0, NULL, NULL};
    if (s.seen.candidates) { status = take(&s, out); }
cleanup:
    tess_device_release(ctx, s.notes, 1, sizeof *s.notes);
    tess_device_release(ctx, s.tree, n + 1, sizeof *s.tree);
    tess_device_release(ctx, s.null, n, sizeof *s.null);
    return status;
}

} // namespace

extern "C" const null_parts_ops *null_parts_gpu_ops(void)
{
    static const null_parts_ops table = {candidates};

    return &table;
}
