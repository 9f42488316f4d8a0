/* SPDX-License-Identifier: Apache-2.0 */
/* The state of block CG: block_cg.c iterates, block_vectors.c holds the vectors. */
#ifndef TESS_SOLVER_BLOCK_CG_BLOCK_CG_H
#define TESS_SOLVER_BLOCK_CG_BLOCK_CG_H

#include "solver/block_cg/block_ops.h"
#include "solver/block_cg/small.h"
#include "solver/many.h"

/* Blocks by rows. D: the corrections. Q: the basis of the residuals R = Q C. P: directions. PRODUCT: A P. Z: M^-1 Q, if
   M is neither the identity nor a diagonal. */
enum { D, Q, P, PRODUCT, Z, BLOCKS };
/* Small matrices on the device: factors of a pass, then its products. */
enum { FACTORS = 3, SMALLS = FACTORS + BLOCK_PRODUCTS };

typedef struct block_cg {
    many_columns *m;
    tess_context *ctx;
    tess_krylov k;    /* the matrix and the preconditioner for `width` columns, */
    tess_krylov one;  /* and for one */
    int width, count; /* count: right-hand sides */
    int rank;         /* columns of Q and P; those behind are 0 */
    int slot[SMALL_MOST];
    tess_loop_state state[SMALL_MOST];
    double *block[BLOCKS];
    double *small;                    /* SMALLS of width by width values */
    double *alone[2];                 /* vectors of one column; NULL unless matrix or preconditioner takes no more */
    double *history;                  /* on the host, capacity values for each of m->count */
    double matrix_sign, precond_sign; /* 0: not known yet */
    small_matrix c;
    small_matrix residuals, gram; /* Q^T Q and Q^T M^-1 Q as last measured */
} block_cg;

/* ---- block_vectors.c ---- */

/* The blocks for the columns that need the loop, with their residuals in Q. */
tess_status block_open(block_cg *b);
/* Copies of histories to the device, and the end of the blocks. */
tess_status block_keep_histories(const block_cg *b);
void block_close(block_cg *b);

/* PRODUCT := A P; Z := M^-1 Q where it is apart */
tess_status block_multiply(const block_cg *b);
tess_status block_precondition(const block_cg *b);
/* Column `place` of D goes to the caller. */
tess_status block_keep_correction(const block_cg *b, int place);
/* The small matrix goes to the device as factor `which`. */
tess_status block_upload(const block_cg *b, int which, small_matrix from);
double *block_factor(const block_cg *b, int which);
/* Runs a pass whose products are downloaded to first and second. */
tess_status block_run(const block_cg *b, block_pass *pass, small_matrix *first, small_matrix *second);

#endif
