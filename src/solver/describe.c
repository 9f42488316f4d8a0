/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the facts of a result that are known before the solve: sizes, precisions, method and engine. */
#include <string.h>

#include "base/options.h"
#include "solver/extension.h"
#include "solver/method_solver.h"
#include "solver/single_kernel/single_kernel.h"

static void count_nonzeros(const tess_matrix *m, tess_solve_result *r)
{
    const tess_assignment_summary *summary = tess_matrix_assigned_to(m);

    if (!summary) { r->storage.nonzeros_per_precision[m->precision] = m->nnz; }
    for (int l = 0; summary && l < summary->options.nlevels; l++) {
        r->storage.nonzeros_per_precision[summary->options.level[l].precision] += summary->nonzeros_at[l];
    }
}

static void describe_precond(const tess_precond *outmost, tess_solve_result *r)
{
    const tess_precond *m = tess_precond_inmost(outmost);
    tess_precond_factors factors = {.size = sizeof factors};

    r->precond.kind = m ? m->kind : TESS_PRECOND_NONE;
    if (!m || !tess_precond_has_factors(m) || tess_precond_get_factors(m, &factors) != TESS_SUCCESS) { return; }
    r->precond.shift = factors.shift;
    r->precond.triangle_level_sets[0] = factors.lower_level_sets;
    r->precond.triangle_level_sets[1] = factors.upper_level_sets;
    r->precond.triangle_groups[0] = factors.lower_groups;
    r->precond.triangle_groups[1] = factors.upper_groups;
    r->precond.factor_nonzeros = factors.nonzeros;
    r->precond.factorization = factors.factorization;
}

void tess_solve_result_init_sized(tess_solve_result *result, size_t size)
{
    result_init(result, size);
}

void tess_papers_result_init_sized(tess_papers_result *result, size_t size)
{
    result_init(result, size);
}

void describe_storage(const tess_matrix *a, const tess_matrix *m, tess_solve_result *r)
{
    int64_t offsets = (a->nrows + 1) * (a->nnz < INT32_MAX ? 4 : 8);

    memset(&r->storage, 0, sizeof r->storage);
    r->storage.matrix_bytes = tess_matrix_bytes(m);
    r->storage.fp64_csr_bytes = a->ops ? offsets + a->nnz * 12 : 0;
    count_nonzeros(m, r);
    r->storage.format = m->format;
    r->storage.precision = m->precision;
    r->storage.exact = tess_matrix_is_exact(m);
}

void describe_method(const method_solver *s, tess_solve_result *r)
{
    const tess_matrix *a = s->original;

    describe_storage(a, solver_matrix(s), r);
    r->solver = s->method->kind;
    r->engine = s->engine;
    r->cg.recurrence = s->recurrence;
    describe_precond(s->precond, r);
    r->resident_bytes = tess_matrix_bytes(a) + (s->stored ? r->storage.matrix_bytes : 0) +
                        (s->precond ? tess_precond_bytes(s->precond) : 0) +
                        s->nvectors * a->nrows * (int64_t)tess_precision_bytes(s->krylov.vectors) +
                        (s->best ? 6 : 5) * a->nrows * (int64_t)sizeof(double); /* b, x, d, r, candidate, best */
    if (s->method->bytes) { r->resident_bytes += s->method->bytes(s); }
    if (s->krylov.single) { r->resident_bytes += single_kernel_bytes(s->krylov.single); }
    if (s->krylov.extension) { r->resident_bytes += s->krylov.extension->bytes(s); }
    if (s->method->describe) { s->method->describe(s, r); }
}
