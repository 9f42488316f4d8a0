/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of CSR products on the GPU: how rows are cut into chunks (csr_plan_device.cu), for the kernels that follow it. */
#ifndef TESS_FORMAT_CSR_CSR_PLAN_CUH
#define TESS_FORMAT_CSR_CSR_PLAN_CUH

#include "backend/gpu/gpu.h"
#include "format/csr/csr.h"

enum {
    STAGES = 2,      /* chunks that a block has in shared memory: one is worked on, one is on its way */
    CHUNK_MIN = 256, /* least work of a chunk, in rows + nonzeros */
    /* Most work of a chunk taken by rows, with the row that reaches past its share: in FP64 CHUNK_BLOCKS blocks have room for
       two such chunks each. */
    CHUNK_MOST = 2240,
    CHUNK_BLOCKS = 4,               /* by rows: resident blocks per multiprocessor that registers must allow */
    LOADS = 4,                      /* by nonzeros: nonzeros in flight per thread */
    CHUNK_PASS = LOADS * GPU_BLOCK, /* and per block */
    GROUP_NONZEROS = 10,            /* nonzeros of a mean row that a thread may take; more threads share longer rows */
    SMALL_BLOCKS = 2, /* chunks per multiprocessor for small matrices: more of them cost more in reductions */
    TAIL_ROW = 256,   /* a row at a chunk's end with more nonzeros than this is not staged */
    IRREGULARITY = 4, /* longest row over mean row from which a matrix is taken by nonzeros */
    MOST_ROWS = 512,  /* rows of a chunk from which a matrix is taken by nonzeros */
    GROUP_STEPS = 32, /* a row with more nonzeros per thread of a group than this goes to a wave */
    WAVES = GPU_BLOCK / GPU_WAVE, /* waves of a block */
    SEGMENT = 8192,               /* nonzeros of a split row per block; rows longer than this are split */
    ROWS_AT_ONCE = 4,             /* rows in flight per thread where they are measured */
    SAMPLED_ROWS = 1024, /* rows that are at least looked at to see whether their neighbours' columns are near */
    SAMPLE_STRIDE = 251, /* one row in so many at least; a prime: grids are often as wide as powers of two */
    NEAR_COLUMNS = 8,    /* how near */
    /* One column in so many must be near for rows to be neighbours: of a matrix in two parts whose rows and columns are permuted
       alike, half of them lie in the other part. */
    NEAR_PART = 4
};

/* A chunk of rows: what a block works on at a time. */
struct csr_chunk {
    int64_t begin; /* its first nonzero */
    int32_t first_row, rows;
    int32_t short_rows; /* rows but for one at the end that is too long to be staged */
    int32_t staged;     /* nonzeros of the short rows */
    int32_t part;       /* of the matrix, where it has several */
    int32_t group_log;  /* 2^group_log threads share a row: as many as a block has for each, up to a wave */
};

struct csr_plan {
    int nchunks;
    csr_chunk *chunk;      /* nchunks */
    int longest;           /* row, but for those longer than TAIL_ROW */
    int places, most_rows; /* most nonzeros that a chunk stages, most rows that it has */
    bool stages; /* chunks fit into shared memory as they are: no row is too long, and rows are not too many */
    bool
        by_rows; /* and it pays: rows are about as long, and neighbours have neighbouring columns: a thread or group gathers for
                               a row; else threads gather for neighbouring nonzeros, whatever rows these belong to */
    int nsplit;             /* rows longer than SEGMENT */
    int32_t *split_row;     /* nsplit, ascending */
    int32_t *split_segment; /* nsplit + 1: first segment of each */
    int nsegments;
    double *segment_sum;
    /* The first part's plan of a matrix in parts: the chunks of all parts, interleaved. */
    csr_chunk *merged;
    int nmerged;
};

tess_status csr_make_plans(tess_context *ctx, int count, const csr_view *const *views, csr_plan **out);
void csr_free_plan(tess_context *ctx, csr_plan *p);
tess_status csr_prepare_parts(tess_context *ctx, int count, const csr_part *parts);
tess_status csr_spmv_parts(tess_context *ctx, int count, const csr_part *parts, const tess_spmv_args *args);

#endif
