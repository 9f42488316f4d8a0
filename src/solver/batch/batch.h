/* SPDX-License-Identifier: Apache-2.0 */
/* Systems of one pattern, solved each by itself: what a device gets, and its functions. */
#ifndef TESS_SOLVER_BATCH_BATCH_H
#define TESS_SOLVER_BATCH_BATCH_H

#include <stdbool.h>

#include <tessera/batch.h>

#include "base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays are in the memory of the context's device, and of the first system of the slice. */
typedef struct batch_task {
    int32_t n, nnz;
    int64_t systems;
    const int32_t *row_ptr, *col_ind;
    const int32_t *mirror; /* of entry (i, j): where (j, i) is; -1: nowhere. NULL: nobody asks for symmetry */
    const double *val, *b;
    double *x;
    tess_solver_kind solver;   /* AUTO, CG or BICGSTAB */
    tess_precond_kind precond; /* AUTO (Jacobi where it can be), NONE or JACOBI */
    tess_stop_norm stop_norm;  /* GIVEN, ROWS or BOTH */
    double rtol, atol, divergence_tolerance;
    int64_t max_iterations;
} batch_task;

typedef struct batch_ops {
    /* `results`, of the host, begin as those of systems whose solve did not begin. */
    tess_status (*solve)(tess_context *ctx, const batch_task *task, tess_batch_result *results);
    /* The most systems of a call of `solve` where a limit of time or an interrupt may end the batch; it looks at
       neither itself. NULL: it does. */
    int64_t (*watched)(const tess_context *ctx);
} batch_ops;

extern const batch_ops batch_host_ops;
const batch_ops *batch_gpu_ops(void);
const batch_ops *batch_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
