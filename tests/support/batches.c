/* SPDX-License-Identifier: Apache-2.0 */
#include "support/batches.h"

batch_of make_batch(tess_context *ctx, oracle_csr a, int64_t systems)
{
    batch_of q = {.ctx = ctx,
                  .a = a,
                  .systems = systems,
                  .val = test_allocate(systems * a.nnz, sizeof(double)),
                  .b = random_values(systems * a.nrows, 7, -1.0, 1.0),
                  .x = test_allocate(systems * a.nrows, sizeof(double)),
                  .results = test_allocate(systems, sizeof(tess_batch_result))};

    for (int64_t s = 0; s < systems; s++) {
        for (int64_t k = 0; k < a.nnz; k++) {
            q.val[s * a.nnz + k] = a.val[k] * (1.0 + (double)s / (double)systems);
        }
    }
    memset(q.x, 0, (size_t)(systems * a.nrows) * sizeof *q.x);
    return q;
}

void discard_batch(batch_of *q)
{
    oracle_free(&q->a);
    free(q->val);
    free(q->b);
    free(q->x);
    free(q->results);
}

tess_batch arrays_of(const batch_of *q)
{
    tess_batch batch;

    tess_batch_init(&batch);
    batch.systems = q->systems;
    batch.n = q->a.nrows;
    batch.nnz = q->a.nnz;
    batch.row_ptr = q->a.row_ptr;
    batch.row_ptr_bits = 64;
    batch.col_ind = q->a.col_ind;
    batch.col_ind_bits = 32;
    batch.val = q->val;
    batch.b = q->b;
    batch.x = q->x;
    return batch;
}

void solve_systems(const batch_of *q, const tess_solve_options *options)
{
    const tess_batch batch = arrays_of(q);

    assert_ok(q->ctx, tess_batch_solve(q->ctx, &batch, options, q->results));
}

void check_system(const batch_of *q, const tess_solve_options *options, int64_t s)
{
    const tess_batch_result *r = &q->results[s];
    oracle_csr a = q->a;
    tess_solve_result claims = {.converged = r->converged,
                                .reason = r->reason,
                                .iterations = r->iterations,
                                .residual_norm = r->residual_norm,
                                .residual_bound = r->residual_bound};

    a.val = q->val + s * a.nnz;
    check_honest(&a, q->b + s * a.nrows, q->x + s * a.nrows, options, &claims);
    assert_true(!r->verified || r->converged);
    assert_at_most(fabs(r->relative_residual * r->rhs_norm - r->residual_norm), 4.0 * U64 * r->residual_norm);
}

void check_solved(const batch_of *q, const tess_solve_options *options)
{
    for (int64_t s = 0; s < q->systems; s++) {
        check_system(q, options, s);
        assert_int_equal(q->results[s].reason, TESS_REASON_RTOL);
        assert_true(q->results[s].verified);
        assert_true(q->results[s].iterations > 0);
    }
}

tess_solve_options options_of(tess_solver_kind kind, tess_precond_kind precond)
{
    tess_solve_options o = solve_options(kind);

    o.precond.kind = precond;
    return o;
}

int64_t diagonal_at(const oracle_csr *a, int64_t i)
{
    int64_t k = a->row_ptr[i];

    while (a->col_ind[k] != i) {
        k++;
    }
    return k;
}

void refuse_batch(const batch_of *q, tess_batch batch, const tess_solve_options *options, tess_status expected,
                  const char *words)
{
    assert_fails(q->ctx, expected, tess_batch_solve(q->ctx, &batch, options, q->results));
    if (!strstr(tess_context_last_error(q->ctx)->message, words)) {
        fail_msg("no '%s' in '%s'", words, tess_context_last_error(q->ctx)->message);
    }
}
