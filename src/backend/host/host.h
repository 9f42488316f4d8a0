/* SPDX-License-Identifier: Apache-2.0 */
/* What the host backend's parts share. */
#ifndef TESS_BACKEND_HOST_HOST_H
#define TESS_BACKEND_HOST_HOST_H

#include "core/internal.h"

/* Elements per partial sum: fixed, so that sums do not depend on the number of threads. */
enum { HOST_BLOCK = 4096 };
/* Loops with no more elements or nonzeros than this run on the calling thread: waking others would take longer. */
enum { HOST_SERIAL_WORK = 16384 };

/* Room for `count` partial sums, kept by the context between calls. */
tess_status host_partials(tess_context *ctx, int64_t count, double **out);

/* Adds ndots rows of `count` partial sums in order (partials[k * count + i]), stores them in the state and runs the step. */
void host_finish_reduction(const double *partials, int64_t count, int ndots, tess_step step, tess_loop_state *state);

/* Whether an operation must run in the loop's present phase; a skipped one completes the phase FINISHING. */
bool host_enter(tess_loop_state *state, bool finishing, bool reduces);

tess_status host_fused(tess_context *ctx, const tess_fused *op);
tess_status host_run_loop(tess_context *ctx, tess_loop *loop);
tess_status host_block_jacobi_build(const tess_matrix *assembled, tess_block_diagonal *blocks, int64_t *singular_row);
tess_status host_block_jacobi_apply(tess_context *ctx, const tess_block_diagonal *blocks, const double *r, double *z,
                                    const tess_reduction *reduction);
tess_status host_csr_diagonal(const tess_matrix *assembled, double *diagonal);
tess_status host_csr_true_residual(const tess_matrix *assembled, const double *b, const double *x, double *residual,
                                   tess_residual_norm *norm);

#endif
