/* SPDX-License-Identifier: Apache-2.0 */
#include "support/columns_system.h"

system_of make_system(oracle_csr a, int64_t k)
{
    system_of s = {.ctx = open_device(2), .a = a, .k = k};

    s.m = make_matrix(s.ctx, &a);
    s.b = random_values(a.nrows * k, 5, -1.0, 1.0);
    s.x = test_allocate(a.nrows * k, sizeof *s.x);
    s.results = test_allocate(k, sizeof *s.results);
    memset(s.x, 0, (size_t)(a.nrows * k) * sizeof *s.x);
    return s;
}

void discard_system(system_of *s)
{
    tess_matrix_destroy(s->m);
    tess_context_destroy(s->ctx);
    oracle_free(&s->a);
    free(s->b);
    free(s->x);
    free(s->results);
}

tess_status solve_all(system_of *s, tess_solver *solver)
{
    const tess_columns b = tess_columns_by_column(s->a.nrows, s->k, s->b, TESS_MEMORY_HOST);
    const tess_columns x = tess_columns_by_column(s->a.nrows, s->k, s->x, TESS_MEMORY_HOST);

    for (int64_t c = 0; c < s->k; c++) {
        tess_solve_result_init(&s->results[c]);
    }
    return tess_solver_solve_many(solver, &b, &x, s->results);
}

void solve_by(system_of *s, const tess_solve_options *options)
{
    tess_solver *solver = NULL;

    assert_ok(s->ctx, tess_solver_create(s->m, options, &solver));
    assert_ok(s->ctx, solve_all(s, solver));
    tess_solver_destroy(solver);
}
