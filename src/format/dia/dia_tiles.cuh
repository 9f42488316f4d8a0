/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of diagonals on a GPU. A block reads some rows, entry after entry, into a tile of shared memory, and writes
 * the tile diagonal by diagonal: so both reading and writing is in whole lines.
 */
#ifndef TESS_FORMAT_DIA_DIA_TILES_CUH
#define TESS_FORMAT_DIA_DIA_TILES_CUH

#include "device/gpu/store_value.cuh"
#include "format/dia/dia_rows.h"

/* Rows of a tile, the places of each of its diagonals, threads that share a row, and how many diagonals there is space
   for. */
enum { DIA_TILE_ROWS = 64, DIA_TILE_STRIDE = DIA_TILE_ROWS + 1, DIA_TILE_GROUP = 8, DIA_MOST_TILED = 80 };

/* Bytes of shared memory, and blocks for all tiles. */
static inline size_t dia_tile_space(const dia_view *v)
{
    return (size_t)v->ndiagonals * (DIA_TILE_STRIDE * sizeof(double) + sizeof(int32_t));
}

static inline unsigned dia_tile_grid(const tess_context *ctx, const dia_view *v, int64_t per_multiprocessor)
{
    return gpu_grid(ctx, (v->stride + DIA_TILE_ROWS - 1) / DIA_TILE_ROWS * GPU_BLOCK, per_multiprocessor);
}

/* The diagonal with this offset, which there is. */
__device__ static inline int dia_find_offset(const int32_t *offset, int count, int64_t wanted)
{
    int low = 0, high = count - 1;

    while (low < high) {
        const int middle = (low + high) / 2;

        if (offset[middle] < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The tile of rows `first` and following, whose places are all 0 before. All threads of the block call it. */
template <typename ROWS>
__device__ static inline void dia_read_tile(ROWS &rows, int count, const int32_t *offset, int64_t first, double *tile)
{
    static_assert(DIA_TILE_ROWS % (GPU_BLOCK / DIA_TILE_GROUP) == 0, "all groups of a wave take as many rows");
    for (int r = (int)threadIdx.x / DIA_TILE_GROUP; r < DIA_TILE_ROWS; r += GPU_BLOCK / DIA_TILE_GROUP) {
        const int64_t row = first + r, begin = rows.begin(row), end = rows.end(row);
        double most = 0.0;

        for (int64_t k = begin + (int)threadIdx.x % DIA_TILE_GROUP; k < end; k += DIA_TILE_GROUP) {
            const double value = rows.value(row, k);

            most = fmax(most, fabs(value));
            tile[dia_find_offset(offset, count, rows.column(k) - row) * DIA_TILE_STRIDE + r] = value;
        }
        rows.see(most);
    }
}

/*
 * All values of v, whose diagonals are those of `rows`: begin and end of a row's entries (the same beyond the last
 * row), their column and value, and see(), which gets the largest magnitude of a thread's entries of a row; all threads
 * of a wave call it together.
 */
template <typename ROWS>
__device__ static inline void dia_store_tiles(const dia_view &v, ROWS &rows)
{
    extern __shared__ double dia_tile[];
    const int count = (int)v.ndiagonals;
    int32_t *offset = (int32_t *)(void *)(dia_tile + (int64_t)count * DIA_TILE_STRIDE);

    for (int d = (int)threadIdx.x; d < count; d += GPU_BLOCK) {
        offset[d] = v.diagonal[d].offset;
    }
    for (int64_t first = (int64_t)blockIdx.x * DIA_TILE_ROWS; first < v.stride;
         first += (int64_t)gridDim.x * DIA_TILE_ROWS) {
        for (int e = (int)threadIdx.x; e < count * DIA_TILE_STRIDE; e += GPU_BLOCK) {
            dia_tile[e] = 0.0;
        }
        __syncthreads();
        dia_read_tile(rows, count, offset, first, dia_tile);
        __syncthreads();
        for (int e = (int)threadIdx.x; e < count * DIA_TILE_ROWS; e += GPU_BLOCK) {
            const int d = e / DIA_TILE_ROWS, r = e % DIA_TILE_ROWS;

            if (first + r < v.stride) {
                store_value(v.precision, v.val, dia_place(&v, d, first + r), dia_tile[d * DIA_TILE_STRIDE + r]);
            }
        }
        __syncthreads();
    }
}

#endif
