/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file batch.h  Many small systems of one sparsity pattern in one call, each verified.
 *
 *     tess_batch batch;
 *     tess_batch_init(&batch);
 *     batch.systems = 1000, batch.n = n, batch.nnz = nnz;
 *     batch.row_ptr = row_ptr, batch.row_ptr_bits = 64, batch.col_ind = col_ind, batch.col_ind_bits = 32;
 *     batch.val = val, batch.b = b, batch.x = x;                    1000 times nnz, n and n values
 *     tess_batch_solve(ctx, &batch, &options, results);             results[s].verified, results[s].reason
 */
#ifndef TESSERA_BATCH_H
#define TESSERA_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/context.h>
#include <tessera/reason.h>
#include <tessera/solver.h>

TESS_BEGIN_DECLS

/** Square systems A_s x_s = b_s, s = 0, 1, ..., whose matrices have entries at the same places. All arrays are the
    caller's. */
typedef struct tess_batch {
    size_t size;     /**< sizeof(tess_batch) */
    int64_t systems; /**< how many; 0 is allowed */
    int64_t n;       /**< unknowns of each */
    int64_t nnz;     /**< entries of each, below 2^31 */
    /** The pattern as CSR, base 0: row_ptr[n + 1], col_ind[nnz]; columns ascend within a row, without duplicates. */
    const void *row_ptr, *col_ind;
    int row_ptr_bits, col_ind_bits; /**< 32: int32_t; 64: int64_t */
    tess_memory pattern_where;      /**< of row_ptr and col_ind */
    tess_memory where;              /**< of val, b and x */
    const double *val;              /**< systems times nnz values: those of a system one after another */
    const double *b;                /**< systems times n values */
    double *x;                      /**< systems times n values, not b. In: initial guesses. Out: solutions */
} tess_batch;

/** What became of a system. */
typedef struct tess_batch_result {
    tess_reason reason;       /**< why its solve ended, as in tess_solve_result */
    tess_solver_kind solver;  /**< CG, BICGSTAB or GMRES, the one used last; AUTO: none was needed, or could begin */
    int converged, verified;  /**< as in tess_solve_result, by the true residual of this system */
    int64_t iterations;       /**< in all */
    int64_t refinements;      /**< cycles after the first, each from the true residual; restarts do not count */
    double rhs_norm;          /**< ||b||_2 */
    double residual_norm;     /**< true ||b - A x||_2, compensated; NaN: the solve did not begin */
    double residual_bound;    /**< bound on the rounding error of residual_norm */
    double relative_residual; /**< residual_norm / ||b||; residual_norm itself if b = 0 */
} tess_batch_result;

/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_batch_init_sized(tess_batch *batch, size_t size);
static inline void tess_batch_init(tess_batch *batch)
{
    tess_batch_init_sized(batch, sizeof *batch);
}

/**
 * Solves all systems of a batch, each by itself, and verifies each by its true residual.
 * @param options  NULL: the defaults. Taken: solver (auto, cg, bicgstab, gmres), precond.kind (auto, none, jacobi,
 *                 ilu0), gmres.restart, rtol, atol, divergence_tolerance, max_iterations, time_limit, stop_norm (not
 *                 preconditioned)
 * @param results  batch->systems of them, in host memory
 * Solver auto takes CG for a symmetric matrix whose diagonal has one sign, BiCGSTAB for others and where CG fails, and
 * GMRES where BiCGSTAB breaks down.
 * A system that cannot be solved has its own reason, keeps its best x, and does not change the others. After the limit
 * of time and interrupts, systems that have not begun keep x.
 * A host runs systems in parallel, in the same bits for any number of threads; a GPU has a block of threads for each.
 * Memory for each thread or block: 8 vectors; GMRES: restart + 1 more; ilu0: nnz values. On a GPU copies, in slices.
 * Errors: INVALID_ARGUMENT, OUT_OF_RANGE (a pattern that is not sound), SINGULAR (ilu0 without a diagonal entry),
 * UNSUPPORTED (another option), memory.
 * Tests: tests/unit/test_batch.c, test_batch_methods.c. How to use it: docs/howto/batches.md
 */
TESS_EXPORT tess_status tess_batch_solve(tess_context *ctx, const tess_batch *batch, const tess_solve_options *options,
                                         tess_batch_result *results);

TESS_END_DECLS

#endif
