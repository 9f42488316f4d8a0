/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioners as the solvers see them. */
#ifndef TESS_PRECOND_PRECOND_H
#define TESS_PRECOND_PRECOND_H

#include "precond/block_jacobi.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tess_precond {
    tess_context *ctx;
    tess_precond_kind kind;
    int64_t n;
    tess_role_precision role;  /* what it is stored and applied in */
    const tess_matrix *matrix; /* borrowed; NULL for a shell */
    uint64_t values_version;
    tess_block_diagonal blocks; /* Jacobi is block Jacobi with blocks of one row */
    tess_shell_precond shell;
    struct tess_polynomial *polynomial;
    struct tess_incomplete *incomplete;
};

/* As tess_precond_create, but with SINGULAR *out is made all the same: tess_precond_update may succeed on later values. */
tess_status tess_precond_create_renewable(const tess_matrix *a, const tess_precond_options *options,
                                          tess_precond **out);
/* The inverse diagonal that fused vector operations apply themselves: FP64 Jacobi's. Else NULL. */
const double *tess_precond_scale(const tess_precond *m);
/* Changes with what a recorded application has become out of date by. */
uint64_t tess_precond_revision(const tess_precond *m);
/* True where z = r: no preconditioner, or none of its own pass. */
bool tess_precond_is_identity(const tess_precond *m);
/* z := M^-1 r with dot products of z; r and z have the precision `vectors`, FP64 or FP32 (a reduction goes with FP64 alone). */
tess_status tess_precond_apply_fused(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                                     const tess_reduction *reduction);

#ifdef __cplusplus
}
#endif

#endif
