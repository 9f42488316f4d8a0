/* SPDX-License-Identifier: Apache-2.0 */
/* Systems of one pattern, solved each by itself: what a device gets, and its functions. */
#ifndef TESS_SOLVER_BATCH_BATCH_H
#define TESS_SOLVER_BATCH_BATCH_H

#include <stdbool.h>

#include <tessera/export.h>
#include <tessera/reason.h>

#include "base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CHOSEN: CG for a symmetric matrix whose diagonal has one sign, and BiCGSTAB for others and where CG fails. */
typedef enum batch_method { BATCH_CHOSEN, BATCH_CG, BATCH_BICGSTAB, BATCH_GMRES } batch_method;
/* JACOBI_IF_POSSIBLE: with 1 where the diagonal has no inverse. */
typedef enum batch_precond { BATCH_JACOBI_IF_POSSIBLE, BATCH_PLAIN, BATCH_JACOBI, BATCH_ILU0 } batch_precond;

/* The order in which a triangle is solved. Level l has the rows order[begin[l]] .. order[begin[l + 1] - 1], which need
   rows of lower levels alone. Without an order: one level of all rows, for one thread, which solves the lower triangle
   from the first row on and the upper one from the last. */
typedef struct batch_levels {
    int32_t count;
    const int32_t *begin, *order;
} batch_levels;

/* Arrays are in the memory of the context's device, and of the first system of the slice. */
typedef struct batch_task {
    int32_t n, nnz;
    int64_t systems;
    const int32_t *row_ptr, *col_ind;
    const int32_t *mirror; /* of entry (i, j): where (j, i) is; -1: nowhere. NULL: nobody asks for symmetry */
    /* ILU(0): where the diagonal entries are; levels of the triangles */
    const int32_t *diagonal;
    batch_levels lower, upper;
    const double *val, *b;
    double *x;
    batch_method method;
    batch_precond precond;
    int32_t restart; /* vectors of a cycle of GMRES, at most n */
    /* Values that a team has beside its vectors: ILU(0)'s factors, the basis of GMRES, its small problem; 0: none. */
    int64_t factor_values, basis_values, small_values;
    bool given, rows;  /* which norms must meet their tolerances */
    double rows_slack; /* times that of scaled rows is allowed in a verified answer */
    double rtol, atol, divergence_tolerance;
    int64_t max_iterations;
} batch_task;

/* What became of a system. */
typedef struct batch_outcome {
    tess_reason reason;
    batch_method method; /* the last one; CHOSEN: none was needed, or could begin */
    bool converged, verified;
    int64_t iterations, refinements;
    double rhs_norm, residual_norm, residual_bound;
} batch_outcome;

/* Values of the small problem of GMRES with a basis of so many vectors; batch_place_small divides them. */
TESS_HD int64_t batch_small_values(int64_t most)
{
    return 8 * (most + 2) + most * (most + 1) / 2;
}

/* Values of a team beside its vectors. */
TESS_HD int64_t batch_own_values(const batch_task *task)
{
    return task->factor_values + task->basis_values + task->small_values;
}

typedef struct batch_ops {
    /* `outcomes`, of the host, begin as those of systems whose solve did not begin. */
    tess_status (*solve)(tess_context *ctx, const batch_task *task, batch_outcome *outcomes);
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
