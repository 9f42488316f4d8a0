/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lower bound of the number of levels of a lower triangle, in bounded time. Each row follows its nearest lower
 * neighbour: the length of that path is found for all rows at once by doubling, and on a grid in its own order it is
 * the level. Sweeps, of which there are few on large matrices, then raise rows above all of their neighbours; where one
 * changes nothing, the number is exact. Nothing depends on the order of threads.
 */
#include "auto/facts.h"
#include "device/gpu/gpu.h"

namespace {

/* Sweeps pass over so many entries in all, and are so many at most; the host looks after so many steps. */
enum { SWEPT_ENTRIES = 1 << 29, MOST_SWEEPS = 64, STEPS_AT_ONCE = 8, LEVEL_BLOCKS = 8 };

/* A path: so many rows below, and the row where it goes on; -1: it ends. */
struct path {
    int32_t length, next;
};

/* Numbers for the host. */
struct level_notes {
    int32_t moved, most;
};

__global__ void __launch_bounds__(GPU_BLOCK) nearest_kernel(csr_view v, path *out)
{
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < v.nrows; i += (int64_t)gridDim.x * GPU_BLOCK) {
        const int64_t begin = tess_row_offset(v.row_ptr, v.row_ptr_bits, i);
        const int64_t end = csr_row_from(&v, i, i);
        const path p = {end > begin, end > begin ? v.col_ind[end - 1] : -1};

        out[i] = p;
    }
}

/* moved: some path goes on. */
__global__ void __launch_bounds__(GPU_BLOCK) double_kernel(int64_t n, const path *from, path *to, level_notes *notes)
{
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        path p = from[i];

        if (p.next >= 0) {
            const path further = from[p.next];

            p.length += further.length;
            p.next = further.next;
            if (p.next >= 0) { notes->moved = 1; }
        }
        to[i] = p;
    }
}

/* moved: some row was raised. */
__global__ void __launch_bounds__(GPU_BLOCK) sweep_kernel(csr_view v, const path *from, path *to, level_notes *notes)
{
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < v.nrows; i += (int64_t)gridDim.x * GPU_BLOCK) {
        const int64_t end = tess_row_offset(v.row_ptr, v.row_ptr_bits, i + 1);
        path p = from[i];
        int32_t length = p.length;

        for (int64_t k = tess_row_offset(v.row_ptr, v.row_ptr_bits, i); k < end && v.col_ind[k] < i; k++) {
            const int32_t below = from[v.col_ind[k]].length + 1;

            length = below > length ? below : length;
        }
        if (length != p.length) { notes->moved = 1; }
        p.length = length;
        to[i] = p;
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) longest_kernel(int64_t n, const path *of, level_notes *notes)
{
    int32_t most = 0;

    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        most = of[i].length > most ? of[i].length : most;
    }
    most = GPU_WAVE_MAX(most);
    if (threadIdx.x % GPU_WAVE == 0) { atomicMax(&notes->most, most); }
}

struct search {
    tess_context *ctx;
    csr_view v;
    unsigned grid;
    path *now, *next;
    level_notes *notes, seen;
};

tess_status look_at_notes(search *s)
{
    return s->ctx->backend->download(s->ctx, &s->seen, s->notes, sizeof s->seen);
}

/* Takes steps, `most` at most, until one moves nothing. */
template <typename STEP>
tess_status repeat(search *s, int64_t most, STEP step)
{
    tess_status status = TESS_SUCCESS;

    for (int64_t k = 0; k < most; k++) {
        const bool looks = k % STEPS_AT_ONCE == STEPS_AT_ONCE - 1 || k == 0 || k == most - 1;

        if (looks) { TESS_TRY(s->ctx->backend->zero(s->ctx, s->notes, sizeof *s->notes)); }
        TESS_TRY(step());
        path *const last = s->now;

        s->now = s->next;
        s->next = last;
        if (!looks) { continue; }
        TESS_TRY(look_at_notes(s));
        if (!s->seen.moved) { break; }
    }
cleanup:
    return status;
}

tess_status find(search *s)
{
    const int64_t n = s->v.nrows, affordable = SWEPT_ENTRIES / (s->v.nnz + 1);
    const int64_t capped = affordable < MOST_SWEEPS ? affordable : (int64_t)MOST_SWEEPS,
                  sweeps = capped < 1 ? 1 : capped;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(gpu_launch(s->ctx, "nearest neighbours", nearest_kernel, s->grid, 0, s->v, s->now));
    TESS_TRY(repeat(s, 32, [s, n] {
        return gpu_launch(s->ctx, "paths of rows", double_kernel, s->grid, 0, n, s->now, s->next, s->notes);
    }));
    TESS_TRY(repeat(s, sweeps, [s] {
        return gpu_launch(s->ctx, "levels of rows", sweep_kernel, s->grid, 0, s->v, s->now, s->next, s->notes);
    }));
    TESS_TRY(s->ctx->backend->zero(s->ctx, s->notes, sizeof *s->notes));
    TESS_TRY(gpu_launch(s->ctx, "the number of levels", longest_kernel, s->grid, 0, n, s->now, s->notes));
    status = look_at_notes(s);
cleanup:
    return status;
}

} // namespace

extern "C" tess_status facts_levels_gpu(const tess_matrix *a, int64_t *levels)
{
    tess_context *ctx = a->ctx;
    gpu_scope scope(ctx);
    const int64_t n = a->nrows;
    search s = {ctx, csr_of(a)->view, gpu_grid(ctx, n, LEVEL_BLOCKS), NULL, NULL, NULL, {0, 0}};
    path *both = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 2 * n, sizeof *both, (void **)&both));
    TESS_TRY(tess_device_allocate(ctx, 1, sizeof *s.notes, (void **)&s.notes));
    s.now = both;
    s.next = both + n;
    TESS_TRY(find(&s));
    *levels = (int64_t)s.seen.most + 1;
cleanup:
    tess_device_release(ctx, s.notes, 1, sizeof *s.notes);
    tess_device_release(ctx, both, 2 * n, sizeof *both);
    return status;
}
