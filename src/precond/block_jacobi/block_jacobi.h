/* SPDX-License-Identifier: Apache-2.0 */
/* Jacobi and block Jacobi: memory and set-up over the functions of a backend. */
#ifndef TESS_PRECOND_BLOCK_JACOBI_BLOCK_JACOBI_H
#define TESS_PRECOND_BLOCK_JACOBI_BLOCK_JACOBI_H

#include <tessera/precond.h>

#include "matrix/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Diagonal blocks of a block Jacobi preconditioner: their inverses, one after another, column-major.
   precond/block_jacobi/block_storage.h has the layout. */
typedef struct tess_block_diagonal {
    int64_t n;
    int block_size;             /* the last block may be smaller; it is padded with zeros */
    bool mends_zeros;           /* blocks of one row: a diagonal entry that is zero or missing counts as 1 */
    tess_precision storage;     /* of all blocks; adaptive: the lowest one allowed */
    tess_arithmetic arithmetic; /* arithmetic of the products */
    void *inverse;
    int64_t bytes;       /* of inverse */
    int16_t *exponents;  /* a block is stored over 2^exponent; NULL: without a scale */
    uint8_t *precisions; /* adaptive: of each block; else NULL */
    char **places; /* adaptive: where each block begins, a multiple of 8 bytes, and where the last ends; else NULL.
                      Recorded loops read the places from here, so that `inverse` may move. */
    int64_t counts[TESS_PRECISION_COUNT]; /* blocks in each precision */
} tess_block_diagonal;

/* What a pass over the blocks does with their inverses: chooses the precisions by their condition, or stores them. */
typedef enum tess_block_stage { TESS_BLOCKS_JUDGE, TESS_BLOCKS_STORE } tess_block_stage;

/* precond/block_jacobi/block_jacobi_build_device.cu */
tess_status gpu_block_jacobi_build(const tess_matrix *assembled, const tess_block_diagonal *blocks,
                                   tess_block_stage stage, int64_t *singular_row);

/* The functions of a device. */
typedef struct block_jacobi_ops {
    /* The first row without a usable pivot, or -1, goes to singular_row. */
    tess_status (*build)(const tess_matrix *assembled, const tess_block_diagonal *blocks, tess_block_stage stage,
                         int64_t *singular_row);
    /* r and z have the precision `vectors`, FP64 or FP32; a reduction goes with FP64. */
    tess_status (*apply)(tess_context *ctx, const tess_block_diagonal *blocks, tess_precision vectors, const void *r,
                         void *z, const tess_reduction *reduction);
    /* Vectors of several columns, by rows (dense/columns.h), with arithmetic in FP64. */
    tess_status (*apply_columns)(tess_context *ctx, const tess_block_diagonal *blocks, int columns, const double *r,
                                 double *z);
} block_jacobi_ops;

extern const block_jacobi_ops block_jacobi_host_ops;
const block_jacobi_ops *block_jacobi_gpu_ops(void);
const block_jacobi_ops *block_jacobi_ops_of(const tess_context *ctx);

/* Whether the options are possible. */
tess_status block_jacobi_check(const tess_matrix *a, const tess_precond_options *options);
/* Memory for the blocks of `a`; Jacobi is block Jacobi with blocks of one row. Close it, also after a failure. */
tess_status block_jacobi_open(const tess_matrix *a, const tess_precond_options *options, tess_block_diagonal *m);
/* The inverses of the blocks of `a` with its present values. *singular_row: the first row without a usable pivot, or
   -1. */
tess_status block_jacobi_compute(const tess_matrix *a, tess_block_diagonal *m, int64_t *singular_row);
void block_jacobi_close(tess_context *ctx, tess_block_diagonal *m);
int64_t block_jacobi_bytes(const tess_block_diagonal *m);

/* Stores the inverse `a` (column-major, in FP64) as block number `block` of `m`, whose arrays are on the host. */
void host_store_block(const tess_block_diagonal *m, int64_t block, const double *a);

#ifdef __cplusplus
}
#endif

#endif
