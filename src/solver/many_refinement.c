/* SPDX-License-Identifier: Apache-2.0 */
/* Refinement with complete factors: the common loop of methods that run one column after another. */
#include "device/iteration_end.h"
#include "solver/complex/choice.h"
#include "solver/many.h"

enum { PRODUCT, CORRECTION };
/* It ends after so many steps in a row that do not halve the residual: the column goes on by its method. */
enum { REFINEMENT_STALL = 2 };

static int refinement_vectors(const tess_precond *m)
{
    (void)m;
    return 2;
}

static tess_status start_refinement(tess_krylov *k)
{
    return krylov_fused(
        k, (tess_fused){.op = TESS_FUSED_DOT_TWO, .in = {k->r, k->r, k->r}, .scalar = TESS_SCALAR_BICGSTAB_START});
}

/* z = M^-1 r, where M is A but for rounding; q = A z; d += omega z and r -= omega q, where omega = (q, r) / (q, q)
   makes the residual least (Saad 2003, Algorithm 5.3). They are the last steps of BiCGSTAB with alpha = 0. */
static tess_status refine(void *krylov)
{
    tess_krylov *k = krylov;
    double *q = k->v[PRODUCT], *z = k->v[CORRECTION];
    tess_status status = TESS_SUCCESS;

    TESS_TRY(krylov_precondition(k, k->r, z, (tess_reduction){0}));
    TESS_TRY(
        krylov_spmv(k, z, q, (tess_reduction){.ndots = 2, .with = {k->r, q}, .scalar = TESS_SCALAR_BICGSTAB_OMEGA}));
    status = krylov_fused(k, (tess_fused){.op = TESS_FUSED_BICGSTAB_UPDATE,
                                          .in = {z, z, q, k->r},
                                          .out = {k->d, k->r},
                                          .scalar = TESS_SCALAR_WATCHED_END});
cleanup:
    return status;
}

static const tess_method refinement = {
    .vectors = refinement_vectors, .start = start_refinement, .iterate = refine, .takes_columns = true};

bool many_has_complete_factors(const method_solver *s)
{
    return s->precond && s->precond->ops && s->precond->ops->solve_on_host;
}

/* Methods that run one column after another need few iterations with complete factors: refinement takes their place. */
bool many_refines(const tess_method *method, bool complete)
{
    return complete && !method->takes_columns && !method->run_columns && !method->low_residual && !method->is_fixed &&
           !method->rectangular;
}

const tess_method *many_refinement(void)
{
    return &refinement;
}

/* The method's table of columns; one with complex scalars runs one column after another. */
static const tess_method *table_of(const method_solver *s)
{
    const tess_method *in_complex = complex_method_of(s->original, s->options);

    return in_complex ? in_complex : tess_find_method(s->method->kind);
}

static bool is_refined(const method_solver *s)
{
    const tess_method *method = table_of(s);

    return method && many_refines(method, many_has_complete_factors(s));
}

void many_begin(const many_columns *m, solve_run *run)
{
    tess_loop_state *s = &run->begin;

    if (m->method == &refinement) {
        s->watch = stall_watch(REFINEMENT_STALL, 0, (uint32_t)tess_leading_exponent(s->residual_norm));
    }
}

const tess_method *many_method(const method_solver *s)
{
    return is_refined(s) ? &refinement : table_of(s);
}

bool many_is_refinement(const method_solver *s)
{
    return many_method(s) == &refinement;
}
