/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block rows of many tiles in layout resident. Half a wave takes one tile after another, so that a block row of 50,000
 * tiles would take as long as 50,000 tiles one after another, however idle the rest of the device is. Such block rows
 * are cut into chunks of RESIDENT_CHUNK tiles. A kernel sums the chunks, half a wave for each; the product then adds
 * these sums from left to right.
 */
#include "device/gpu/reduce.cuh"
#include "papers/tiles/resident_device.cuh"
#include "papers/tiles/resident_row.cuh"

enum { CHUNKS_OF_BLOCK = GPU_BLOCK / RESIDENT_SIDE };

/* ---- set-up ---- */

/* Where the chunks' tiles are: half a wave for each long block row. */
__global__ static void __launch_bounds__(GPU_BLOCK) place_chunks(const tiles_view v)
{
    const tiles_lanes<16> at;
    const int k = (int)(blockIdx.x * CHUNKS_OF_BLOCK + threadIdx.x / RESIDENT_SIDE);
    const bool has = k < v.longs.rows;
    const char *record = v.record + (int64_t)(has ? v.start[v.longs.row[k]] : 0U) * TILES_UNIT;
    const int ntiles = has ? resident_tiles(record) : 0;
    int64_t data = record - v.record + resident_data(ntiles);

    for (int first = 0; GPU_BALLOT(first < ntiles); first += 16) {
        const tile_window window(at, resident_headers(record), first, ntiles, resident_x<double, false>{});

        if (first < ntiles && first % RESIDENT_CHUNK == 0 && at.lane == 0) {
            v.longs.chunk[v.longs.first[k] + first / RESIDENT_CHUNK].data = data;
        }
        data += window.bytes;
    }
}

/* Tiles of block row i, from the number of those before each block row. */
static int64_t chunks_of(const int64_t *before, int64_t i)
{
    const int64_t tiles = before[i + 1] - before[i];

    return tiles > RESIDENT_LONG ? (tiles + RESIDENT_CHUNK - 1) / RESIDENT_CHUNK : 0;
}

static void count_chunks(const int64_t *before, int64_t nblock_rows, tiles_long *l)
{
    for (int64_t i = 0; i < nblock_rows; i++) {
        const int64_t chunks = chunks_of(before, i);

        l->rows += chunks > 0 ? 1 : 0;
        l->chunks += (int32_t)chunks;
    }
}

static void list_chunks(const int64_t *before, int64_t nblock_rows, int32_t *row, int32_t *first, tiles_chunk *chunk)
{
    int32_t rows = 0, chunks = 0;

    for (int64_t i = 0; i < nblock_rows; i++) {
        const int64_t count = chunks_of(before, i), tiles = before[i + 1] - before[i];

        if (count == 0) { continue; }
        row[rows] = (int32_t)i;
        first[rows++] = chunks;
        for (int64_t c = 0; c < count; c++) {
            const int64_t begin = c * RESIDENT_CHUNK, end = begin + RESIDENT_CHUNK;

            chunk[chunks++] = {0, (int32_t)i, (int32_t)begin, (int32_t)((end < tiles ? end : tiles) - begin)};
        }
    }
    first[rows] = chunks;
}

static tess_status make_chunks(tess_context *ctx, const int64_t *before, tiles_view *v)
{
    tiles_long *l = &v->longs;
    int32_t *row = nullptr, *first = nullptr;
    tiles_chunk *chunk = nullptr;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, l->rows, sizeof *row, (void **)&row));
    TESS_TRY(tess_host_allocate(ctx, l->rows + 1, sizeof *first, (void **)&first));
    TESS_TRY(tess_host_allocate(ctx, l->chunks, sizeof *chunk, (void **)&chunk));
    list_chunks(before, v->nblock_rows, row, first, chunk);
    TESS_TRY(tess_device_upload(ctx, row, l->rows, sizeof *row, (void **)&l->row));
    TESS_TRY(tess_device_upload(ctx, first, l->rows + 1, sizeof *first, (void **)&l->first));
    TESS_TRY(tess_device_upload(ctx, chunk, l->chunks, sizeof *chunk, (void **)&l->chunk));
    TESS_TRY(tess_device_allocate(ctx, (int64_t)l->chunks * RESIDENT_SIDE, sizeof *l->sum, (void **)&l->sum));
    place_chunks<<<(unsigned)((l->rows + CHUNKS_OF_BLOCK - 1) / CHUNKS_OF_BLOCK), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        *v);
    status = gpu_check_launch(ctx, "chunks of long block rows");
cleanup:
    tess_host_release(ctx, row, l->rows, sizeof *row);
    tess_host_release(ctx, first, l->rows + 1, sizeof *first);
    tess_host_release(ctx, chunk, l->chunks, sizeof *chunk);
    return status;
}

extern "C" tess_status resident_gpu_divide(tess_context *ctx, const tiles_source *source, int64_t longest,
                                           tiles_view *v)
{
    gpu_scope scope(ctx);
    const int64_t count = v->nblock_rows + 1;
    int64_t *before = nullptr;
    tess_status status = TESS_SUCCESS;

    if (longest <= RESIDENT_LONG * (int64_t)sizeof(resident_header)) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *before, (void **)&before));
    TESS_TRY(ctx->backend->download(ctx, before, source->grid->first, (size_t)count * sizeof *before));
    count_chunks(before, v->nblock_rows, &v->longs);
    if (v->longs.rows > 0) { status = make_chunks(ctx, before, v); }
cleanup:
    tess_host_release(ctx, before, count, sizeof *before);
    return status;
}

/* ---- products ---- */

template <typename VECTOR, bool NARROWED>
__global__ static void __launch_bounds__(GPU_BLOCK)
    sum_chunks(const tiles_view v, const tess_spmv_args args, const loop_predicate predicate)
{
    const tiles_lanes<16> at;
    const int c = (int)(blockIdx.x * CHUNKS_OF_BLOCK + threadIdx.x / RESIDENT_SIDE);
    const tiles_chunk chunk = v.longs.chunk[c < v.longs.chunks ? c : 0];
    const resident_x<VECTOR, NARROWED> x = {vector_of<VECTOR>(args), args.segments};
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
    const resident_header *headers = resident_headers(v.record + (int64_t)v.start[chunk.block_row] * TILES_UNIT);
    const double sum = sum_tiles(at, headers + chunk.first, c < v.longs.chunks ? chunk.count : 0, v.record + chunk.data,
                                 x, tile_share{0, 1, 0, 1});

    if (c < v.longs.chunks) { v.longs.sum[c * RESIDENT_SIDE + at.lane] = sum; }
}

template <typename VECTOR, bool NARROWED>
static tess_status launch(tess_context *ctx, const tiles_view *v, const tess_spmv_args *args)
{
    loop_predicate predicate;
    const tess_status status = make_settled_predicate(ctx, args->reduction.state, &predicate);

    if (status != TESS_SUCCESS) { return status; }
    return gpu_launch(ctx, "chunks of tiles", sum_chunks<VECTOR, NARROWED>,
                      (unsigned)((v->longs.chunks + CHUNKS_OF_BLOCK - 1) / CHUNKS_OF_BLOCK), 0, *v, *args, predicate);
}

extern "C" tess_status resident_gpu_sum_chunks(tess_context *ctx, const tiles_view *v, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    if (args->vectors == TESS_PRECISION_FP32) {
        return args->segments ? launch<float, true>(ctx, v, args) : launch<float, false>(ctx, v, args);
    }
    return args->segments ? launch<double, true>(ctx, v, args) : launch<double, false>(ctx, v, args);
}
