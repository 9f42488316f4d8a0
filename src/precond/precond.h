/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioners as the solvers see them. */
#ifndef TESS_PRECOND_PRECOND_H
#define TESS_PRECOND_PRECOND_H

#include "matrix/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kind of preconditioner: what it can do. A function that may be NULL says what that means. */
typedef struct tess_precond_ops {
    tess_precond_kind kind;
    /* Of `name:NUMBER`: what the number goes to, and the largest; NULL: the name takes none. */
    int *(*number)(tess_precond_options *options, int *most);
    /* Whether the options are possible. The matrix is assembled or a shell, with as many rows as columns. */
    tess_status (*check)(const tess_matrix *a, const tess_precond_options *options);
    /* Makes m->own for m->matrix. SINGULAR: it is made all the same, and later values may have what these lack. NULL:
     * nothing. */
    tess_status (*create)(tess_precond *m, const tess_precond_options *options);
    tess_status (*renew)(tess_precond *m); /* for the matrix's new values; NULL: nothing */
    /* z := M^-1 r, r and z of precision `vectors`; reduction->state: of the loop that this is part of, or NULL. */
    tess_status (*apply)(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction);
    bool reduces; /* apply makes the dot products of z too */
    const double *(*scale)(
        const tess_precond *m); /* the inverse diagonal in FP64 that is all of M^-1; NULL: there is none */
    uint64_t (*revision)(
        const tess_precond *m); /* changes with what makes a recorded application out of date; NULL: never */
    int64_t (*bytes)(const tess_precond *m);                           /* on the device; NULL: 0 */
    void (*count_blocks)(const tess_precond *m, int64_t *counts);      /* by precision; NULL: none */
    void (*factors)(const tess_precond *m, tess_precond_factors *out); /* NULL: it has none */
    void (*destroy)(tess_precond *m);                                  /* m->own, which may be NULL; NULL: nothing */
} tess_precond_ops;

/* The preconditioner of that kind, or NULL (registry/preconds.c). */
const tess_precond_ops *tess_find_precond(tess_precond_kind kind);

struct tess_precond {
    tess_context *ctx;
    const tess_precond_ops *ops;
    tess_precond_kind kind;
    int64_t n;
    tess_role_precision role;  /* what it is stored and applied in */
    const tess_matrix *matrix; /* borrowed; NULL for a shell */
    uint64_t values_version;
    tess_shell_precond shell;
    void *own; /* of its kind */
};

/* As tess_precond_create, but with SINGULAR *out is made all the same: tess_precond_update may succeed on later values.
 */
tess_status tess_precond_create_renewable(const tess_matrix *a, const tess_precond_options *options,
                                          tess_precond **out);
/* The inverse diagonal that fused vector operations apply themselves: FP64 Jacobi's. Else NULL. */
const double *tess_precond_scale(const tess_precond *m);
/* Changes with what a recorded application has become out of date by. */
uint64_t tess_precond_revision(const tess_precond *m);
/* True where z = r: no preconditioner, or none of its own pass. */
bool tess_precond_is_identity(const tess_precond *m);
/* z := M^-1 r with dot products of z; r and z have the precision `vectors`, FP64 or FP32 (a reduction goes with FP64
 * alone). */
tess_status tess_precond_apply_fused(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                                     const tess_reduction *reduction);

#ifdef __cplusplus
}
#endif

#endif
