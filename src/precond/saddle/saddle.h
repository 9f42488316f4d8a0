/* SPDX-License-Identifier: Apache-2.0 */
/* What the preconditioner saddle holds: blocks, what solves with them, and workspace. */
#ifndef TESS_PRECOND_SADDLE_SADDLE_H
#define TESS_PRECOND_SADDLE_SADDLE_H

#include "precond/precond.h"
#include "precond/saddle/blocks.h"

typedef struct saddle {
    tess_saddle_options options; /* index is a copy */
    tess_amg_options amg;
    tess_saddle_schur schur; /* what stands for S, not auto */
    saddle_split split;
    int32_t *rows;                      /* the split's, on the device */
    tess_matrix *a, *f, *b;             /* blocks */
    tess_matrix *divided_f, *divided_b; /* of lsc: diag(A)^-1 F, B diag(A)^-1 */
    tess_matrix *s;                     /* the matrix for S; NULL: the caller's */
    tess_precond *on_a, *on_s;
    double sign_a, sign_s;      /* of diag: which signs make its blocks positive definite */
    double user_sign;           /* of the caller's matrix, as S has it */
    double *r[2], *z[2], *t[2]; /* parts of r and z, and workspace */
    double *w;                  /* of lsc: unknowns */
    bool ready;
    uint64_t built;
} saddle;

static inline saddle *own_of(const tess_precond *m)
{
    return m->own;
}

/* z := M^-1 r, as an operation of a preconditioner. */
tess_status saddle_apply(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction);

#endif
