/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarted GMRES with right preconditioning (Saad and Schultz, SIAM J. Sci. Stat. Comput. 7 (1986); Saad 2003,
 * Algorithm 9.5; Loe et al. 2021, Algorithm 1), orthogonalised by two passes of classical Gram-Schmidt. A cycle of the
 * solve is one of GMRES: it starts from the true residual in FP64 and ends when its basis is full. With a matrix,
 * vectors or a basis below fp64 that is GMRES with iterative refinement (gmres-ir; Loe et al. 2021, Algorithm 2).
 * gmres-fd makes its first cycles, residuals between them included, in the inner precision (section III-C).
 * fgmres keeps the preconditioned vectors.
 */
#include <math.h>
#include <string.h>

#include "base/precision_traits.h"
#include "solver/complex/choice.h"
#include "solver/gmres/gmres.h"
#include "solver/nested/nested.h"

enum { VECTOR, W, PRECONDITIONED };
/* Columns begin at multiples of this many values, which a wave processes in any precision. */
enum { COLUMN_UNIT = 256 };

static tess_gmres *gmres_of(const method_solver *s)
{
    return s->own;
}

static int gmres_vectors(const tess_precond *m)
{
    return tess_precond_is_identity(m) ? 2 : 3;
}

/* FGMRES has a column for each preconditioned vector instead. */
static int fgmres_vectors(const tess_precond *m)
{
    (void)m;
    return 2;
}

/* ---- precisions ---- */

/* Of the cycles; those of the nested solver's outer iterations are in FP64, whatever the inner ones take. */
static tess_role_precision cycle_role(const method_solver *s)
{
    static const tess_role_precision fp64 = {1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64};

    return s->method->kind == TESS_SOLVER_NESTED ? fp64 : s->options->gmres.inner;
}

static tess_precision basis_storage(const method_solver *s)
{
    return s->method->kind == TESS_SOLVER_NESTED ? TESS_PRECISION_FP64 : s->options->gmres.basis.storage;
}

/* Of a composite's copies: the one in the inner precision, if there is one. */
static int copy_of(const method_solver *s)
{
    const tess_matrix *m = solver_matrix(s);
    const tess_policy_options *assigned = NULL;

    if (!m->ops || !m->ops->can.copies_levels) { return TESS_COPY_ASSIGNED; }
    assigned = &m->ops->summary(m)->options;
    for (int l = 0; l < assigned->nlevels; l++) {
        if (assigned->level[l].precision == cycle_role(s).storage) { return TESS_COPY_LEVEL + l; }
    }
    return TESS_COPY_ASSIGNED;
}

/* Some formats need FP64 vectors for their values in FP64; so do shells. */
static tess_precision vector_precision(const method_solver *s)
{
    const tess_matrix *m = solver_matrix(s);

    if (cycle_role(s).arithmetic == TESS_ARITHMETIC_FP64 || !m->ops) { return TESS_PRECISION_FP64; }
    if (s->precond && s->precond->kind == TESS_PRECOND_SHELL) { return TESS_PRECISION_FP64; }
    if (!m->ops->takes_fp32 || copy_of(s) != TESS_COPY_ASSIGNED) { return TESS_PRECISION_FP32; }
    return m->ops->takes_fp32(m) ? TESS_PRECISION_FP32 : TESS_PRECISION_FP64;
}

static tess_precision lower_of(tess_precision p, tess_precision q)
{
    return tess_precision_unit_roundoff(p) > tess_precision_unit_roundoff(q) ? p : q;
}

/* Not the storage of a preconditioner: its linearity depends only on its arithmetic. FGMRES needs no linearity. */
static tess_precision working_precision(const method_solver *s)
{
    const tess_solve_options *o = s->options;
    const bool low_precond =
        s->own_precond && !gmres_of(s)->flexible && o->precond.role.arithmetic == TESS_ARITHMETIC_FP32;
    const tess_precision matrix = copy_of(s) == TESS_COPY_ASSIGNED ? solver_lowest_precision(s) : cycle_role(s).storage;
    const tess_precision lowest = lower_of(matrix, lower_of(gmres_of(s)->arnoldi.precision, vector_precision(s)));

    return low_precond ? lower_of(lowest, TESS_PRECISION_FP32) : lowest;
}

/* ---- set-up ---- */

static tess_status allocate_basis(tess_context *ctx, tess_arnoldi *a, tess_precision precision)
{
    a->precision = precision;
    return tess_device_allocate(ctx, a->ld * (a->small.most + 1), tess_precision_bytes(precision), &a->basis);
}

static void release_basis(tess_context *ctx, tess_arnoldi *a)
{
    tess_device_release(ctx, a->basis, a->ld * (a->small.most + 1), tess_precision_bytes(a->precision));
    a->basis = NULL;
}

/* FGMRES: the preconditioned vectors, in the precision of the vectors. */
static tess_status allocate_preconditioned(tess_context *ctx, tess_gmres *g, tess_precision precision)
{
    g->preconditioned_precision = precision;
    return tess_device_allocate(ctx, g->arnoldi.ld * g->arnoldi.small.most, tess_precision_bytes(precision),
                                &g->preconditioned);
}

static void release_preconditioned(tess_context *ctx, tess_gmres *g)
{
    tess_device_release(ctx, g->preconditioned, g->arnoldi.ld * g->arnoldi.small.most,
                        tess_precision_bytes(g->preconditioned_precision));
    g->preconditioned = NULL;
}

int64_t gmres_place_numbers(arnoldi_small *small, double *numbers)
{
    const int64_t most = small->most, packed = most * (most + 1) / 2;
    const struct {
        double **array;
        int64_t count;
    } arrays[] = {{&small->norms, ARNOLDI_NORMS},
                  {&small->first, most + 1},
                  {&small->second, most + 1},
                  {&small->remove, 2 * most + 2},
                  {&small->scale, most + 1},
                  {&small->unit, most + 1},
                  {&small->g, most + 1},
                  {&small->cosine, most},
                  {&small->sine, most},
                  {&small->y, most},
                  {&small->r, packed},
                  {&small->h, packed + most},
                  {&small->first_before, most + 1},
                  {&small->second_before, most + 1},
                  {&small->carried, ARNOLDI_CARRIED}};
    int64_t count = 0;

    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if (numbers) { *arrays[i].array = numbers + count; }
        count += arrays[i].count;
    }
    return count;
}

static tess_status setup(method_solver *s)
{
    const tess_solve_options *o = s->options;
    const int64_t n = s->original->nrows;
    tess_gmres *g = NULL;
    arnoldi_small *small = NULL;
    int64_t most = n < o->gmres.restart ? n : o->gmres.restart;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(solver_setup_storage(s));
    TESS_TRY(tess_host_allocate(s->ctx, 1, sizeof *g, (void **)&g));
    memset(g, 0, sizeof *g);
    s->own = g;
    s->krylov.own = g;
    s->krylov.vectors = vector_precision(s);
    g->copy = copy_of(s);
    g->flexible = s->method->counts_iterations && !tess_precond_is_identity(s->precond);
    g->arnoldi.n = n;
    g->arnoldi.ld = (n + COLUMN_UNIT - 1) / COLUMN_UNIT * COLUMN_UNIT;
    g->arnoldi.delayed =
        !s->method->counts_iterations && o->gmres.orthogonalization == TESS_ORTHOGONALIZATION_CGS2_DELAYED;
    small = &g->arnoldi.small;
    small->most = (int)(most < 1 ? 1 : most);
    TESS_TRY(arnoldi_ops_of(s->ctx)->run(s->ctx, &g->arnoldi, TESS_ARNOLDI_CHECK));
    g->nnumbers = gmres_place_numbers(small, NULL);
    TESS_TRY(allocate_basis(s->ctx, &g->arnoldi, basis_storage(s)));
    if (g->flexible) { TESS_TRY(allocate_preconditioned(s->ctx, g, s->krylov.vectors)); }
    TESS_TRY(tess_device_allocate(s->ctx, g->nnumbers, sizeof *g->numbers, (void **)&g->numbers));
    TESS_TRY(tess_device_allocate(s->ctx, 2, sizeof *small->last, (void **)&small->last));
    small->stored = small->last + 1;
    (void)gmres_place_numbers(small, g->numbers);
cleanup:
    return status;
}

static void destroy(method_solver *s)
{
    tess_gmres *g = gmres_of(s);

    if (!g) { return; }
    release_basis(s->ctx, &g->arnoldi);
    release_preconditioned(s->ctx, g);
    tess_device_release(s->ctx, g->numbers, g->nnumbers, sizeof *g->numbers);
    tess_device_release(s->ctx, g->arnoldi.small.last, 2, sizeof *g->arnoldi.small.last);
    tess_host_release(s->ctx, g, 1, sizeof *g);
    s->own = NULL;
}

static int64_t bytes(const method_solver *s)
{
    const tess_gmres *g = gmres_of(s);

    int64_t sum = g->nnumbers * (int64_t)sizeof *g->numbers;

    sum += g->arnoldi.ld * (g->arnoldi.small.most + 1) * (int64_t)tess_precision_bytes(g->arnoldi.precision);
    if (g->flexible) {
        sum += g->arnoldi.ld * g->arnoldi.small.most * (int64_t)tess_precision_bytes(g->preconditioned_precision);
    }
    return sum;
}

/* ---- changes of precision ---- */

static tess_status work_in(method_solver *s, tess_precision basis, tess_precision vectors)
{
    tess_gmres *g = gmres_of(s);
    tess_arnoldi *a = &g->arnoldi;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(solver_change_vectors(s, vectors));
    if (g->flexible && !(g->preconditioned && g->preconditioned_precision == vectors)) {
        release_preconditioned(s->ctx, g);
        TESS_TRY(allocate_preconditioned(s->ctx, g, vectors));
    }
    if (a->basis && a->precision == basis) { return TESS_SUCCESS; }
    release_basis(s->ctx, a);
    status = allocate_basis(s->ctx, a, basis);
cleanup:
    return status;
}

/* Raises a basis below the precision of the vectors to that precision; false if it has it already. */
static tess_status widen(method_solver *s, bool *widened)
{
    const tess_arnoldi *a = &gmres_of(s)->arnoldi;

    *widened = lower_of(a->precision, s->krylov.vectors) != s->krylov.vectors;
    return *widened ? work_in(s, s->krylov.vectors, s->krylov.vectors) : TESS_SUCCESS;
}

/* Cycles continue with the FP64 matrix; all other precisions follow. */
static tess_status escalate(method_solver *s)
{
    tess_status status = work_in(s, TESS_PRECISION_FP64, TESS_PRECISION_FP64);

    if (status != TESS_SUCCESS) { return status; }
    return solver_change_precond(s, (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64});
}

/* Before each solve: undoes the changes of an escalation. */
static tess_status renew(method_solver *s)
{
    tess_status status = work_in(s, basis_storage(s), vector_precision(s));

    return status == TESS_SUCCESS ? solver_change_precond(s, s->options->precond.role) : status;
}

static void describe(const method_solver *s, tess_solve_result *r)
{
    r->gmres.inner = s->options->gmres.inner;
    r->gmres.basis = s->options->gmres.basis;
}

/* ---- a cycle ---- */

static tess_arnoldi arnoldi_of(const tess_krylov *k)
{
    tess_arnoldi a = ((const tess_gmres *)k->own)->arnoldi;

    a.vectors = k->vectors;
    a.vector = k->v[VECTOR];
    a.w = k->v[W];
    a.residual = k->r;
    a.state = k->state;
    return a;
}

static tess_status multiply(const tess_krylov *k, const void *x, void *y)
{
    const bool low = k->vectors != TESS_PRECISION_FP64;
    const tess_spmv_args args = {.alpha = 1.0,
                                 .x = low ? NULL : x,
                                 .y = low ? NULL : y,
                                 .vectors = k->vectors,
                                 .x_fp32 = low ? x : NULL,
                                 .y_fp32 = low ? y : NULL,
                                 .reduction = {.state = k->state},
                                 .copy = k->matrix->original ? ((const tess_gmres *)k->own)->copy : TESS_COPY_ASSIGNED};

    if (!k->matrix->ops) { return tess_matrix_apply_shell(k->matrix, TESS_OP_NONE, x, y); }
    return k->matrix->ops->spmv(k->matrix, &args);
}

/* Where iteration j of a cycle leaves M^-1 times the newest vector. */
static void *preconditioned(const tess_krylov *k, int64_t j)
{
    const tess_gmres *g = k->own;

    if (!g->flexible) { return k->v[PRECONDITIONED]; }
    return (char *)g->preconditioned + (size_t)(j * g->arnoldi.ld) * tess_precision_bytes(k->vectors);
}

static tess_status start_gmres(tess_krylov *k)
{
    const tess_arnoldi a = arnoldi_of(k);

    return arnoldi_ops_of(k->ctx)->run(k->ctx, &a, TESS_ARNOLDI_START);
}

static tess_status iterate_gmres(void *krylov)
{
    tess_krylov *k = krylov;
    const tess_arnoldi a = arnoldi_of(k);
    const tess_reduction running = {.state = k->state};
    void *z = a.vector;
    tess_status status = TESS_SUCCESS;

    if (!tess_precond_is_identity(k->precond)) {
        z = preconditioned(k, k->iterated);
        tess_enter_phase(k->ctx, TESS_PHASE_PRECOND);
        TESS_TRY(tess_precond_apply_fused(k->precond, k->vectors, a.vector, z, &running));
    }
    k->iterated += 1;
    tess_enter_phase(k->ctx, TESS_PHASE_SPMV);
    TESS_TRY(multiply(k, z, a.w));
    status = arnoldi_ops_of(k->ctx)->run(k->ctx, &a, TESS_ARNOLDI_STEP);
cleanup:
    return status;
}

/* d = Z y, where A Z = V H: the vectors that were multiplied had the lengths 1 / unit. */
static tess_status finish_flexible(tess_krylov *k)
{
    const tess_gmres *g = k->own;
    tess_arnoldi a = arnoldi_of(k);

    a.basis = g->preconditioned;
    a.precision = g->preconditioned_precision;
    a.small.scale = a.small.unit;
    a.sum = k->d;
    a.sum_precision = TESS_PRECISION_FP64;
    return arnoldi_ops_of(k->ctx)->run(k->ctx, &a, TESS_ARNOLDI_COMBINE);
}

/* d = M^-1 V y */
static tess_status finish_gmres(tess_krylov *k)
{
    const bool plain = tess_precond_is_identity(k->precond), low = k->vectors != TESS_PRECISION_FP64;
    tess_arnoldi a = arnoldi_of(k);
    tess_status status = TESS_SUCCESS;

    if (((const tess_gmres *)k->own)->flexible) { return finish_flexible(k); }
    a.sum = plain ? k->d : a.w;
    a.sum_precision = plain ? TESS_PRECISION_FP64 : k->vectors;
    TESS_TRY(arnoldi_ops_of(k->ctx)->run(k->ctx, &a, TESS_ARNOLDI_COMBINE));
    if (plain) { return TESS_SUCCESS; }
    TESS_TRY(
        tess_precond_apply_fused(k->precond, k->vectors, a.w, low ? k->v[PRECONDITIONED] : k->d, &(tess_reduction){0}));
    if (low) {
        status = k->ctx->backend->convert(k->ctx, k->n, k->vectors, k->v[PRECONDITIONED], TESS_PRECISION_FP64, k->d);
    }
cleanup:
    return status;
}

/* ---- gmres-fd ---- */

/* Norms of x up to here leave its elements, and its products with a matrix of that size, in FP32's range. */
#define LARGEST_LOW_NORM 0x1p100

/* x, rounded to the vectors' precision, and its residual in that precision (with the matrix of the iterations) replace
   x and krylov.r. An x beyond that precision's range does not change; *norm is then NaN. */
static tess_status low_residual(method_solver *s, const double *b, double *x, double *norm)
{
    tess_krylov *k = &s->krylov;
    const tess_backend *backend = s->ctx->backend;
    void *const low = k->v[VECTOR], *const product = k->v[W];
    const tess_fused subtract = {.op = TESS_FUSED_AXPBY,
                                 .n = k->n,
                                 .x = {b, TESS_PRECISION_FP64},
                                 .y = {product, k->vectors},
                                 .result = product,
                                 .a = 1.0,
                                 .b = -1.0};
    const tess_vector r = {.ctx = s->ctx, .n = k->n, .precision = TESS_PRECISION_FP64, .data = k->r};
    const tess_vector iterate = {.ctx = s->ctx, .n = k->n, .precision = TESS_PRECISION_FP64, .data = x};
    double size = 0.0;
    tess_status status = TESS_SUCCESS;

    *norm = NAN;
    TESS_TRY(tess_vector_norm2(&iterate, TESS_ARITHMETIC_FP64, &size));
    if (!(size <= LARGEST_LOW_NORM)) { return TESS_SUCCESS; }
    TESS_TRY(backend->convert(s->ctx, k->n, TESS_PRECISION_FP64, x, k->vectors, low));
    TESS_TRY(backend->convert(s->ctx, k->n, k->vectors, low, TESS_PRECISION_FP64, x));
    TESS_TRY(s->ctx->backend->zero(s->ctx, k->state, sizeof *k->state)); /* products run in a loop's phase RUNNING */
    TESS_TRY(multiply(k, low, product));
    TESS_TRY(backend->fused(s->ctx, &subtract));
    TESS_TRY(backend->convert(s->ctx, k->n, k->vectors, product, TESS_PRECISION_FP64, k->r));
    status = tess_vector_norm2(&r, TESS_ARITHMETIC_FP64, norm);
cleanup:
    return status;
}

#define GMRES_METHOD                                                                                  \
    .complete_options = gmres_complete_options, .start = start_gmres, .iterate = iterate_gmres,       \
    .finish = finish_gmres, .setup = setup, .describe = describe, .destroy = destroy, .renew = renew, \
    .escalate = escalate, .widen = widen, .bytes = bytes, .working_precision = working_precision

/* Columns in one loop have FP64 vectors. */
static bool takes_columns(const method_solver *s)
{
    return copy_of(s) == TESS_COPY_ASSIGNED && vector_precision(s) == TESS_PRECISION_FP64;
}

static const many_cycles columns = {.takes = takes_columns,
                                    .bases = gmres_count_bases,
                                    .expects = gmres_expects_columns,
                                    .bytes = gmres_column_bytes,
                                    .run = gmres_run_columns};

const tess_method tess_method_gmres = {
    .kind = TESS_SOLVER_GMRES, .choose = complex_choose, .vectors = gmres_vectors, GMRES_METHOD, .many = &columns};
const tess_method tess_method_gmres_ir = {
    .kind = TESS_SOLVER_GMRES_IR, .vectors = gmres_vectors, GMRES_METHOD, .restarts_judge = true, .many = &columns};
const tess_method tess_method_gmres_fd = {
    .kind = TESS_SOLVER_GMRES_FD, .vectors = gmres_vectors, GMRES_METHOD, .low_residual = low_residual};

/* Flexible GMRES (Saad, SIAM J. Sci. Comput. 14 (1993), Algorithm 2.2): the preconditioner may differ in each
   iteration. The delayed passes of Gram-Schmidt need a linear one, so both passes are in one iteration. */
const tess_method tess_method_fgmres = {.kind = TESS_SOLVER_FGMRES,
                                        .choose = complex_choose,
                                        .vectors = fgmres_vectors,
                                        GMRES_METHOD,
                                        .counts_iterations = true,
                                        .many = &columns};

/* The outer iteration of the nested solver for matrices that need not be symmetric. */
static tess_status renew_nested(method_solver *s)
{
    const tess_status status = nested_begin(s);

    return status == TESS_SUCCESS ? renew(s) : status;
}

const tess_method tess_method_nested = {.kind = TESS_SOLVER_NESTED,
                                        .vectors = fgmres_vectors,
                                        .choose = nested_choose,
                                        .make_precond = nested_make,
                                        .complete_options = gmres_complete_options,
                                        .setup = setup,
                                        .destroy = destroy,
                                        .renew = renew_nested,
                                        .escalate = escalate,
                                        .widen = widen,
                                        .bytes = bytes,
                                        .working_precision = working_precision,
                                        .counts_iterations = true,
                                        .start = start_gmres,
                                        .iterate = iterate_gmres,
                                        .finish = finish_gmres,
                                        .describe = nested_describe,
                                        .report = nested_report};
