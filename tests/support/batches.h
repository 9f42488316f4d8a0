/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of systems, each judged by the oracle. */
#ifndef TESS_TESTS_SUPPORT_BATCHES_H
#define TESS_TESTS_SUPPORT_BATCHES_H

#include <tessera/batch.h>

#include "support/solve.h"

/* Systems of the pattern of a, in a context. */
typedef struct batch_of {
    tess_context *ctx;
    oracle_csr a;
    int64_t systems;
    double *val, *b, *x;
    tess_batch_result *results;
} batch_of;

/* Values times 1 to 2, and a random b for each system; x is 0. It takes the matrix. */
batch_of make_batch(tess_context *ctx, oracle_csr a, int64_t systems);
void discard_batch(batch_of *q);
tess_batch arrays_of(const batch_of *q);
void solve_systems(const batch_of *q, const tess_solve_options *options);

/* What the result of system s claims, in wide arithmetic. */
void check_system(const batch_of *q, const tess_solve_options *options, int64_t s);
/* And that each is verified, after some iterations. */
void check_solved(const batch_of *q, const tess_solve_options *options);

/* Defaults for tests, with a preconditioner. */
tess_solve_options options_of(tess_solver_kind kind, tess_precond_kind precond);
/* The place of a diagonal entry. */
int64_t diagonal_at(const oracle_csr *a, int64_t i);
/* That the call fails so, with these words in its message. */
void refuse_batch(const batch_of *q, tess_batch batch, const tess_solve_options *options, tess_status expected,
                  const char *words);

#endif
