/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of CSR products on the GPU: how rows are cut into chunks (csr_plan_device.cu), for the kernels that use it.
 */
#ifndef TESS_FORMAT_CSR_CSR_PLAN_CUH
#define TESS_FORMAT_CSR_CSR_PLAN_CUH

#include "device/gpu/gpu.h"
#include "format/csr/csr.h"

enum {
    STAGES = 2,      /* chunks in a block's shared memory: one is processed, one is being copied */
    CHUNK_MIN = 256, /* least work of a chunk, in rows + nonzeros */
    /* Most work of a chunk by rows, with the row that reaches beyond its share: CHUNK_BLOCKS blocks have space for two
       such chunks each in FP64. */
    CHUNK_MAX = 2240,
    CHUNK_BLOCKS = 4,               /* by rows: resident blocks per multiprocessor, for which registers must suffice */
    LOADS = 4,                      /* by nonzeros: nonzeros in flight per thread */
    CHUNK_PASS = LOADS * GPU_BLOCK, /* and per block */
    GROUP_NONZEROS = 10,            /* nonzeros of a mean row for one thread; longer rows are shared by more threads */
    SMALL_BLOCKS = 2,             /* chunks per multiprocessor for small matrices: more would cost more in reductions */
    TAIL_ROW = 256,               /* a row at a chunk's end with more nonzeros than this is not staged */
    IRREGULARITY = 4,             /* longest row over mean row, from which a matrix is processed by nonzeros */
    MAX_ROWS = 512,               /* rows of a chunk from which a matrix is processed by nonzeros */
    GROUP_STEPS = 32,             /* a row with more nonzeros per thread of a group than this is summed by a wave */
    WAVES = GPU_BLOCK / GPU_WAVE, /* waves of a block */
    SEGMENT = 8192,               /* nonzeros of a split row per block; rows longer than this are split */
    ROWS_AT_ONCE = 4,             /* rows in flight per thread when they are measured */
    SAMPLED_ROWS = 1024,          /* rows examined, at least, to see whether neighbouring rows have near columns */
    SAMPLE_STRIDE = 251, /* at least one row in so many; a prime, because the width of grids is often a power of two */
    NEAR_COLUMNS = 8,    /* how near */
    /* One column in so many must be near for rows to be neighbours. In a matrix in two parts whose rows and columns are
       permuted alike, half of the columns are in the other part. */
    NEAR_PART = 4
};

/* A chunk of rows: a block's unit of work. */
struct csr_chunk {
    int64_t begin; /* its first nonzero */
    int32_t first_row, rows;
    int32_t short_rows; /* all rows, except one at the end that is too long to be staged */
    int32_t staged;     /* nonzeros of the short rows */
    int32_t part;       /* of the matrix, if it has several */
    int32_t group_log;  /* 2^group_log threads share a row: the block's threads divided among the rows, at most a wave
                         */
};

struct csr_plan {
    int nchunks;
    csr_chunk *chunk;      /* nchunks */
    int longest;           /* longest row, except those longer than TAIL_ROW */
    int places, most_rows; /* most nonzeros that a chunk stages, most rows of a chunk */
    bool stages;  /* by rows is possible: chunks fit into shared memory, no row is too long, and rows are not too many
                   */
    bool by_rows; /* and by rows pays: rows have similar lengths, and neighbouring rows have near columns. By rows, a
                     thread or group gathers for a row; else threads gather for neighbouring nonzeros of any rows */
    int nsplit;   /* rows longer than SEGMENT */
    int32_t *split_row;     /* nsplit, ascending */
    int32_t *split_segment; /* nsplit + 1: first segment of each */
    int nsegments;
    double *segment_sum;
    /* The first part's plan of a matrix in parts: the chunks of all parts, interleaved. */
    csr_chunk *merged;
    int nmerged;
};

/* ---- layers ---- */

/* Kernels for few layers hold less of a chunk in registers than kernels for the most layers. */
enum { FEW_LAYERS = 3 };
static_assert((int)TESS_MAX_LEVELS > (int)FEW_LAYERS, "the two kinds of kernels");

/* By rows: most work of a chunk, by the number of its layers. Each of nine or twelve copies may be two lines longer
   than its array. */
static inline int layers_chunk_most(int count)
{
    return count <= FEW_LAYERS ? CHUNK_MAX - 160 : CHUNK_MAX - 240;
}

/* A chunk of rows of a matrix in up to MOST layers. */
template <int MOST>
struct layer_chunk {
    int64_t begin[MOST];  /* of each layer: the first nonzero, */
    int32_t staged[MOST]; /* and the nonzeros of the short rows */
    int32_t first_row, rows;
    int32_t short_rows, group_log; /* as in csr_chunk */
};

struct csr_layers {
    int count, nchunks;
    void *chunk;           /* layer_chunk of FEW_LAYERS or TESS_MAX_LEVELS */
    int places, most_rows; /* by nonzeros: most places of products in a chunk, most rows of a chunk */
    int stage_bytes;       /* by rows: most bytes that a chunk stages */
    bool by_rows;
    csr_plan layer[TESS_MAX_LEVELS]; /* of each layer: only its rows longer than SEGMENT */
};

/* By nonzeros: the places that a layer takes of a chunk's products. */
__host__ __device__ static inline int layer_places(int64_t begin, int32_t staged)
{
    return ((int)(begin % GPU_WAVE) + staged + GPU_WAVE - 1) / GPU_WAVE * GPU_WAVE;
}

tess_status csr_make_layers(tess_context *ctx, int count, const csr_view *layers, csr_layers **out);
void csr_free_layers(tess_context *ctx, csr_layers *plan);
tess_status csr_spmv_layers(tess_context *ctx, int count, const csr_view *layers, const csr_layers *plan,
                            const tess_spmv_args *args);

/* ---- both ---- */

/* A row longer than SEGMENT. */
struct long_row {
    int32_t row, length;
};

/* Rows + nonzeros of a chunk. */
int csr_choose_work(const tess_context *ctx, int64_t nrows, int64_t nnz, bool by_rows, int longest, int most);
/* Sorts p->nsplit rows to split, and copies them and their segments to the device. */
tess_status csr_plan_segments(tess_context *ctx, csr_plan *p, long_row *rows);
void csr_free_segments(tess_context *ctx, const csr_plan *p);

/* Whether the k-th column of a row is near that of the next row. All loads are issued at once. */
template <typename OFFSET>
__device__ static inline void sample_row(const OFFSET *row_ptr, const int32_t *col_ind, int64_t i, unsigned *sampled,
                                         unsigned *near)
{
    int64_t begin = row_ptr[i], end = row_ptr[i + 1], next_end = row_ptr[i + 2];

#pragma unroll
    for (int k = 0; k < NEAR_COLUMNS; k++) {
        bool both = k < end - begin && k < next_end - end;
        int64_t distance = both ? (int64_t)col_ind[end + k] - col_ind[begin + k] : NEAR_COLUMNS + 1;

        *sampled += k < end - begin;
        *near += distance >= -NEAR_COLUMNS && distance <= NEAR_COLUMNS;
    }
}

/* log2 of the number of threads that share a row, by the number of a chunk's rows. */
__device__ static inline int32_t choose_group(int32_t rows)
{
    int32_t group_log = 0;

    while (2 << group_log <= GPU_WAVE && (2 << group_log) * rows <= GPU_BLOCK) {
        group_log += 1;
    }
    return group_log;
}

tess_status csr_make_plans(tess_context *ctx, int count, const csr_view *const *views, csr_plan **out);
void csr_free_plan(tess_context *ctx, csr_plan *p);
tess_status csr_prepare_parts(tess_context *ctx, int count, const csr_part *parts);
/* A product with a matrix of one precision, whose type is VALUE. */
template <typename VALUE>
tess_status csr_multiply(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args);
/* The same with several columns (csr_columns_stored_device.cu). */
template <typename VALUE>
tess_status csr_multiply_columns(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args);
tess_status csr_multiply_pairs(tess_context *ctx, const csr_view *v, const tess_spmv_args *args);
tess_status csr_spmv_parts(tess_context *ctx, int count, const csr_part *parts, const tess_spmv_args *args);

#endif
