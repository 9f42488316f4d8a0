/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of CSR products on the GPU: how rows are cut into chunks (csr_plan_device.cu), for the kernels that follow it. */
#ifndef TESS_FORMAT_CSR_CSR_PLAN_CUH
#define TESS_FORMAT_CSR_CSR_PLAN_CUH

#include "backend/gpu/gpu.h"
#include "format/csr/csr.h"

enum {
    LOADS = 4,                      /* nonzeros in flight per thread */
    CHUNK_PASS = LOADS * GPU_BLOCK, /* nonzeros that a block has in flight */
    CHUNK_MIN = 256,                /* least work of a chunk, in rows + nonzeros */
    CHUNK_BLOCKS = 8,               /* resident blocks per multiprocessor that registers must allow */
    FEWER_BLOCKS = 6,               /* the same where rows differ much or with dot products: both take registers */
    SMALL_BLOCKS = 2,               /* the same for small matrices, where each block's reduction costs more */
    TAIL_ROW = 256,                 /* a row at a chunk's end with more nonzeros than this is not staged */
    IRREGULARITY = 8,               /* longest row over mean row from which rows are looked at one by one */
    GROUP_STEPS = 32,               /* a row with more nonzeros per thread of a group than this goes to a wave */
    WAVES = GPU_BLOCK / GPU_WAVE,   /* waves of a block */
    SEGMENT = 8192                  /* nonzeros of a split row per block; rows longer than this are split */
};

struct csr_plan {
    int chunk; /* work per chunk */
    int nchunks;
    int32_t *chunk_row;     /* nchunks + 1: first row */
    int64_t *chunk_begin;   /* nchunks + 1: first nonzero */
    int64_t *chunk_end;     /* nchunks: end of the nonzeros but for those of a long row at the end */
    int longest;            /* nonzeros of the longest row up to TAIL_ROW */
    bool irregular;         /* some rows are so long that a group of threads must not sum them */
    int nsplit;             /* rows longer than SEGMENT */
    int32_t *split_row;     /* nsplit, ascending */
    int32_t *split_segment; /* nsplit + 1: first segment of each */
    int nsegments;
    double *segment_sum;
};

tess_status csr_make_plan(tess_context *ctx, const csr_view *v, csr_plan **out);
void csr_free_plan(tess_context *ctx, csr_plan *p);

#endif
