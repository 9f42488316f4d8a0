/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles with kernel paper times a vector on the GPU: Zhao et al. 2024, section 3.2.2. A wave has up to BLOCKS_OF_WAVE
 * neighbouring blocks, fewer of a small matrix. Their records and their segments of x come into shared memory together,
 * so that a wave waits for memory once and not once for each block; then each block is multiplied by the kernel of its
 * format. A block row that is longer is split among waves. What a wave has of a block row adds up in shared memory and
 * then goes to y by atomics: the order of these sums is not fixed.
 */
#include "device/gpu/reduce.cuh"
#include "device/gpu/storage_types.cuh"
#include "format/row_epilogue.h"
#include "papers/tiles/tcki_device.cuh"

enum { WAVES = GPU_BLOCK / GPU_WAVE, BLOCKS_OF_WAVE = 8, RESIDENT = 4 /* blocks of threads per multiprocessor */ };

/* Units of records that a wave has in shared memory; a record that is longer is read from device memory. */
enum { STAGE_UNITS = 384 };

/* What a wave has in shared memory: the sums of a block row, the segments of x that its blocks multiply, and their
   records. */
struct wave_workspace {
    double sum[TILES_SIDE], x[BLOCKS_OF_WAVE * TILES_SIDE];
    uint64_t stage[STAGE_UNITS];
};

/* ---- a block ---- */

/* A block as all lanes of a wave know it. */
struct open_block {
    uint32_t shape;
    tcki_parts parts;
    const char *record;
    const uint8_t *index;
    const double *x; /* its segment */
    double scale;
    int column_bits;
};

/* Algorithm 2: a thread takes every GPU_WAVE-th entry; rows are added up by atomics in shared memory. */
template <int ROWS, typename VALUE>
__device__ static inline void add_coo(const open_block &b, const VALUE *values, int lane, wave_workspace &workspace)
{
    for (int i = lane; i < b.parts.count; i += GPU_WAVE) {
        const int both = tcki_row_and_column(b.index, ROWS, b.column_bits, i);
        const int column = both & ((1 << b.column_bits) - 1);

        atomicAdd(&workspace.sum[both >> b.column_bits], tess::decode<double>(values[i]) * b.scale * b.x[column]);
    }
}

/* Algorithm 4: the segment of x is in registers, own_x; lane r has the entries of row r % ROWS. What pads is not added.
 */
template <int ROWS, typename VALUE>
__device__ static inline void add_ell(const open_block &b, const VALUE *values, double own_x, int lane,
                                      wave_workspace &workspace)
{
    const int length = tcki_length(b.record, &b.parts, b.shape, lane % ROWS);
    double sum = 0.0;

    /* The same number of rounds for every lane: all of them exchange. */
    for (int first = 0; first < b.parts.slots; first += GPU_WAVE) {
        const int place = first + lane;
        const bool has = place < b.parts.slots && place / ROWS < length;
        const int column = has ? tcki_column(b.index, b.column_bits, place) : 0;
        const double factor = GPU_SHUFFLE(own_x, column, GPU_WAVE);

        if (has) { sum += tess::decode<double>(values[place]) * b.scale * factor; }
    }
#pragma unroll
    for (int distance = ROWS; distance < GPU_WAVE; distance *= 2) {
        sum += GPU_SHUFFLE_XOR(sum, distance);
    }
    if (lane < ROWS) { workspace.sum[lane] += sum; }
}

/* Algorithm 3: the segment of x is in shared memory; neighbouring lanes share a row, and exchange their sums. */
template <int ROWS, typename VALUE>
__device__ static inline void add_csr(const open_block &b, const VALUE *values, int lane, wave_workspace &workspace)
{
    constexpr int SHARE = GPU_WAVE / ROWS;
    const int row = lane / SHARE;
    double sum = 0.0;

    const int first = row > 0 ? tcki_end(b.record, &b.parts, row - 1) : 0;
    const int end = b.parts.slots + tcki_end(b.record, &b.parts, row);

    for (int place = b.parts.slots + first + lane % SHARE; place < end; place += SHARE) {
        sum += tess::decode<double>(values[place]) * b.scale * b.x[tcki_column(b.index, b.column_bits, place)];
    }
#pragma unroll
    for (int distance = 1; distance < SHARE; distance *= 2) {
        sum += GPU_SHUFFLE_XOR(sum, distance);
    }
    if (lane % SHARE == 0) { workspace.sum[row] += sum; }
}

/* All lanes take part, and have the same block. */
template <int ROWS, typename VALUE>
__device__ static inline void add_block(open_block &b, int lane, wave_workspace &workspace)
{
    b.parts = tcki_parts_of(b.shape, ROWS, b.column_bits, (int)sizeof(VALUE));
    b.index = (const uint8_t *)b.record + b.parts.index;
    const VALUE *const values = (const VALUE *)(const void *)(b.record + b.parts.values);

    if (tcki_format(b.shape) == TESS_TCKI_COO) {
        add_coo<ROWS>(b, values, lane, workspace);
    } else {
        const double own_x = lane < 1 << b.column_bits ? b.x[lane] : 0.0;

        if (b.parts.slots > 0) { add_ell<ROWS>(b, values, own_x, lane, workspace); }
        if (b.parts.has_ends) {
            GPU_SYNC_WAVE(); /* rows have other owners there */
            add_csr<ROWS>(b, values, lane, workspace);
        }
    }
    GPU_SYNC_WAVE(); /* rows have other owners in the next block */
}

template <int ROWS>
__device__ static inline void add_any_block(const tcki_view &v, open_block &b, int lane, wave_workspace &workspace)
{
    gpu_call_by_storage(
        tcki_precision(&v, b.shape),
        [](auto stored, auto &...arguments) { add_block<ROWS, typename decltype(stored)::type>(arguments...); }, b,
        lane, workspace);
}

/* ---- the blocks of a wave ---- */

/* Neighbouring blocks as the lanes of a wave know them: lane k has number k of them, and `start` of the one after the
   last. */
struct wave_blocks {
    uint32_t shape, start;
    int32_t row, column;
    int exponent, count;

    __device__ inline wave_blocks(const tcki_view &v, int64_t first, int most, int lane)
        : count(v.nblocks - first < most ? (int)(v.nblocks - first) : most)
    {
        const int64_t mine = first + (lane < count ? lane : 0);

        shape = v.shape[mine];
        row = v.row[mine];
        column = v.column[mine];
        exponent = v.exponent ? v.exponent[mine] : 0;
        start = v.start[first + (lane < count ? lane : count)];
    }

    __device__ inline uint32_t start_of(int k) const
    {
        return GPU_SHUFFLE(start, k, GPU_WAVE);
    }

    /* The end of the blocks from `from` on whose records the stage has space for: at least one block. */
    __device__ inline int end_of_stage(int from) const
    {
        int end = from + 1;

        while (end < count && start_of(end + 1) - start_of(from) <= (uint32_t)STAGE_UNITS) {
            end += 1;
        }
        return end;
    }

    /* Copies the records of blocks from .. end - 1 and their segments of x: all loads are on their way together.
       Returns where the first record is. */
    template <typename VECTOR>
    __device__ inline const char *bring(const tcki_view &v, int from, int end, const VECTOR *x, int lane,
                                        wave_workspace &workspace) const
    {
        const uint32_t first = start_of(from), units = start_of(end) - first;
        const uint64_t *const records = (const uint64_t *)(const void *)v.record + first;
        const int places = (end - from) << v.column_bits, mask = (1 << v.column_bits) - 1;

        for (int round = 0; round < places; round += GPU_WAVE) {
            const int e = round + lane;
            const int64_t base = (int64_t)GPU_SHUFFLE(column, from + (e >> v.column_bits), GPU_WAVE) << v.column_bits;
            const int64_t at = base + (e & mask);

            if (e < places) { workspace.x[e] = at < v.ncols ? (double)x[at] : 0.0; }
        }
        if (units > (uint32_t)STAGE_UNITS) {
            GPU_SYNC_WAVE();
            return (const char *)records;
        }
#pragma unroll 8
        for (uint32_t u = (uint32_t)lane; u < units; u += GPU_WAVE) {
            workspace.stage[u] = gpu_load_once(records + u);
        }
        GPU_SYNC_WAVE();
        return (const char *)workspace.stage;
    }
};

/* ---- the matrix ---- */

/* Adds a block row's sums to those of all waves, and clears them. All lanes take part. */
template <int ROWS>
__device__ static inline void flush(const tcki_view &v, int32_t block_row, double alpha, double *target, int lane,
                                    wave_workspace &workspace)
{
    const int64_t row = (int64_t)block_row * ROWS + lane;

    if (lane < ROWS) {
        const double sum = workspace.sum[lane];

        if (row < v.nrows && sum != 0.0) { atomicAdd(&target[row], alpha * sum); }
        workspace.sum[lane] = 0.0;
    }
    GPU_SYNC_WAVE();
}

/* Multiplies blocks from .. end - 1, which have been brought; `open` is the block row whose sums there are. */
template <int ROWS>
__device__ static inline int32_t multiply_blocks(const tcki_view &v, const wave_blocks &blocks, int from, int end,
                                                 const char *records, int32_t open, double alpha, double *target,
                                                 int lane, wave_workspace &workspace)
{
    const uint32_t first = blocks.start_of(from);

#pragma unroll 1
    for (int k = from; k < end; k++) {
        const int32_t block_row = GPU_SHUFFLE(blocks.row, k, GPU_WAVE);
        open_block b;

        b.shape = GPU_SHUFFLE(blocks.shape, k, GPU_WAVE);
        b.record = records + (int64_t)(blocks.start_of(k) - first) * TCKI_UNIT;
        b.x = workspace.x + ((k - from) << v.column_bits);
        b.scale = tess_power_of_two(GPU_SHUFFLE(blocks.exponent, k, GPU_WAVE));
        b.column_bits = v.column_bits;
        if (block_row != open) {
            flush<ROWS>(v, open, alpha, target, lane, workspace);
            open = block_row;
        }
        add_any_block<ROWS>(v, b, lane, workspace);
    }
    return open;
}

/* target += alpha A x, `most` blocks for a wave at a time. No thread leaves its wave, and waves do not wait for each
   other. */
template <typename VECTOR, int ROWS>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, RESIDENT)
    blocks_kernel(const tcki_view v, int most, const tess_spmv_args args, double alpha, double *target,
                  const loop_predicate predicate)
{
    __shared__ wave_workspace workspaces[WAVES];
    const int lane = (int)threadIdx.x % GPU_WAVE, wave = (int)threadIdx.x / GPU_WAVE;
    const int64_t step = (int64_t)gridDim.x * WAVES * most;
    wave_workspace &workspace = workspaces[wave];
    tess_scalars scalars;

    static_assert(BLOCKS_OF_WAVE < GPU_WAVE && TILES_SIDE <= GPU_WAVE, "a lane for each, and for the end");
    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
    if (lane < TILES_SIDE) { workspace.sum[lane] = 0.0; }
    GPU_SYNC_WAVE();
    for (int64_t first = ((int64_t)blockIdx.x * WAVES + wave) * most; first < v.nblocks; first += step) {
        const wave_blocks blocks(v, first, most, lane);
        int32_t open = GPU_SHUFFLE(blocks.row, 0, GPU_WAVE);

        for (int from = 0, end = 0; from < blocks.count; from = end) {
            end = blocks.end_of_stage(from);
            const char *records = blocks.bring(v, from, end, vector_of<VECTOR>(args), lane, workspace);

            open = multiply_blocks<ROWS>(v, blocks, from, end, records, open, alpha, target, lane, workspace);
        }
        flush<ROWS>(v, open, alpha, target, lane, workspace);
    }
}

/* What the blocks are added to: nothing so far. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    clear_kernel(int64_t nrows, double alpha, double *target, const loop_predicate predicate)
{
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < nrows; i += (int64_t)gridDim.x * GPU_BLOCK) {
        target[i] = alpha * 0.0; /* NaN where alpha is */
    }
}

/* Rows whose sums are complete: y from `sums`, or, where that is NULL, only the dot products with y. */
template <typename VECTOR, int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, RESIDENT)
    finish_kernel(int64_t nrows, const double *sums, const tess_spmv_args args, const loop_predicate predicate,
                  const reduce_target target)
{
    constexpr bool FP32 = sizeof(VECTOR) == sizeof(float);
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < nrows; i += (int64_t)gridDim.x * GPU_BLOCK) {
        if (!sums) {
            spmv_add_row_dots(&args, NDOTS, i, args.y[i], dots);
        } else if (NDOTS == 0 && (FP32 || args.update.kind == TESS_UPDATE_POLYNOMIAL)) {
            spmv_finish_step(&args, FP32, i, sums[i]);
        } else if constexpr (!FP32) {
            finish_row<NDOTS>(args, i, sums[i], dots);
        }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

/* ---- launching ---- */

template <typename VECTOR, int NDOTS>
static tess_status launch_finish(tess_context *ctx, const tcki_view *v, const double *sums, const tess_spmv_args *args,
                                 const loop_predicate &predicate)
{
    const unsigned grid = gpu_grid(ctx, v->nrows, 4);
    reduce_target target;
    tess_status status = prepare_reduction(ctx, grid, NDOTS, args->reduction.scalar, args->reduction.state, &target);

    if (status != TESS_SUCCESS) { return status; }
    status = gpu_launch(ctx, "the end of a product of blocks", finish_kernel<VECTOR, NDOTS>, grid, 0, v->nrows, sums,
                        *args, predicate, target);
    return end_reduction(ctx, status, target);
}

template <typename VECTOR>
static tess_status launch_blocks(tess_context *ctx, const tcki_view *v, const tess_spmv_args *args, double alpha,
                                 double *target, const loop_predicate &predicate)
{
    const int64_t waves = (int64_t)gpu_state_of(ctx)->multiprocessors * RESIDENT * WAVES;
    const int64_t share = (v->nblocks + waves - 1) / waves; /* of a small matrix all waves have some */
    const int most = (int)(share < 1 ? 1 : share < BLOCKS_OF_WAVE ? share : (int64_t)BLOCKS_OF_WAVE);
    const int64_t needed = (v->nblocks + WAVES * most - 1) / (WAVES * most);
    const unsigned grid = (unsigned)(needed < INT32_MAX ? needed : (int64_t)INT32_MAX);

    if (v->nblocks == 0) { return TESS_SUCCESS; }
    return v->rows == 16 ? gpu_launch(ctx, "a product of blocks", blocks_kernel<VECTOR, 16>, grid, 0, *v, most, *args,
                                      alpha, target, predicate)
                         : gpu_launch(ctx, "a product of blocks", blocks_kernel<VECTOR, 32>, grid, 0, *v, most, *args,
                                      alpha, target, predicate);
}

/* Blocks are added to y itself if nothing else goes into it; else to `sums`, so that what y had is rounded once. */
static tess_status spmv(tess_context *ctx, const tcki_view *v, double *sums, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;
    const bool direct = !fp32 && args->y && isfinite(args->alpha) && args->beta == 0.0 && !args->residual &&
                        args->update.kind == TESS_UPDATE_NONE;
    const double alpha = direct ? args->alpha : 1.0;
    double *const target = direct ? args->y : sums;
    loop_predicate predicate;
    tess_status status = TESS_SUCCESS;

    if (v->nblock_rows == 0) { return TESS_SUCCESS; }
    TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
    TESS_TRY(gpu_launch(ctx, "the beginning of a product of blocks", clear_kernel, gpu_grid(ctx, v->nrows, 4), 0,
                        v->nrows, alpha, target, predicate));
    if (fp32) {
        TESS_TRY(launch_blocks<float>(ctx, v, args, alpha, target, predicate));
        status = launch_finish<float, 0>(ctx, v, sums, args, predicate);
        goto cleanup;
    }
    TESS_TRY(launch_blocks<double>(ctx, v, args, alpha, target, predicate));
    switch (args->reduction.ndots) {
    case 0:
        if (!direct) { status = launch_finish<double, 0>(ctx, v, sums, args, predicate); }
        break;
    case 1: status = launch_finish<double, 1>(ctx, v, direct ? NULL : sums, args, predicate); break;
    default: status = launch_finish<double, 2>(ctx, v, direct ? NULL : sums, args, predicate); break;
    }
cleanup:
    return status;
}

/* Products need nothing beyond the build. */
static tess_status prepare(tess_context *, const tcki_view *)
{
    return TESS_SUCCESS;
}

extern "C" const tcki_ops *tcki_gpu_ops(void)
{
    static const tcki_ops table = {true, tcki_gpu_measure, tcki_gpu_fill, prepare, spmv};

    return &table;
}
