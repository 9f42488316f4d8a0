/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least residual of a system with parts over which A sums to 0 (matrix/null_parts.h): ||b - A x|| >= |1^T b| /
 * sqrt(n) there, up to rounding. A method that aims below it ends far from the x that has it. Cycles therefore work on
 * the residual without its means over these parts, of which there is a solution.
 */
#include "solver/guard_run.h"
#include "solver/null_reach.h"
#include "solver/null_sums.h"

/* Beside the least residual, what is left of the rest at the end of a cycle, and where rounding prevents that. */
#define FLOOR_SHARE 0x1p-12
#define LARGEST_FLOOR_SHARE 0x1p-6
/* Of ||b||: what methods reach. */
#define ATTAINABLE 0x1p-46

/* By this factor at least the tolerance must be missed: the bound holds up to rounding. */
#define CLEARLY 2.0
/* Likewise for each term of a column, where its sum is rounding. */
#define BEYOND_ROUNDING 64.0

/* ---- what is out of reach ---- */

/*
 * Where the columns c_j of a part sum to s_j other than 0, 1^T b = s^T x + 1^T r: a small r needs ||x|| >= |1^T b| /
 * ||s||. With |s_j| <= 4 u m ||c_j||_1, for m terms, the rounding of such an x is some |1^T b| / (4 m) in the residual.
 * A tolerance far below that is met by luck alone: by multiples of the ones, which are tried.
 */

/* Of the matrix and parts; arrays of n values on the host, and the vectors of a product. */
typedef struct trial {
    const tess_matrix *a;
    const null_parts *p;
    double *value, *of_row;
    double *factor; /* of each part */
    tess_vector *x, *rhs, *residual;
} trial;

static bool is_near(const trial *t, int64_t i)
{
    return t->p->of_row[i] >= 0 && !t->p->part[t->p->of_row[i]].exact;
}

/* of_row = rhs - A x for x = factor over each part that is not exact, else 0. */
static tess_status multiply(trial *t, const double *rhs)
{
    const tess_backend *backend = t->a->ctx->backend;
    const size_t bytes = (size_t)t->p->n * sizeof(double);
    true_residual found;
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0; i < t->p->n; i++) {
        t->value[i] = is_near(t, i) ? t->factor[t->p->of_row[i]] : 0.0;
    }
    TESS_TRY(backend->upload(t->a->ctx, t->x->data, t->value, bytes));
    TESS_TRY(verify_residual(t->a, rhs, t->x->data, t->residual->data, &found));
    status = backend->download(t->a->ctx, t->of_row, t->residual->data, bytes);
cleanup:
    return status;
}

/* factor = 1^T b / 1^T A 1 of each part. */
static tess_status find_factors(trial *t, const double *b)
{
    null_sum *of_a = NULL, *of_b = NULL;
    const int64_t count = t->p->count;
    tess_context *ctx = t->a->ctx;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, count, sizeof *of_a, (void **)&of_a));
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *of_b, (void **)&of_b));
    for (int64_t k = 0; k < count; k++) {
        of_a[k] = of_b[k] = (null_sum){0};
        t->factor[k] = 1.0;
    }
    TESS_TRY(tess_vector_fill(t->rhs, 0.0));
    TESS_TRY(multiply(t, t->rhs->data));
    for (int64_t i = 0; i < t->p->n; i++) {
        if (!is_near(t, i)) { continue; }
        null_sum_add(&of_a[t->p->of_row[i]], -t->of_row[i]);
        null_sum_add(&of_b[t->p->of_row[i]], b[i]);
    }
    for (int64_t k = 0; k < count; k++) {
        const double factor = tess_two_word_value(of_b[k].sum) / tess_two_word_value(of_a[k].sum);

        t->factor[k] = isfinite(factor) ? factor : 0.0;
    }
cleanup:
    tess_host_release(ctx, of_a, count, sizeof *of_a);
    tess_host_release(ctx, of_b, count, sizeof *of_b);
    return status;
}

static tess_status try_ones(trial *t, const double *b, const double *b_on_device, double tolerance, bool *met)
{
    double norm = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(find_factors(t, b));
    TESS_TRY(multiply(t, b_on_device));
    for (int64_t i = 0; i < t->p->n; i++) {
        if (is_near(t, i)) { norm = hypot(norm, t->of_row[i]); }
    }
    *met = norm <= tolerance;
cleanup:
    return status;
}

/* Whether b over the parts that are singular up to rounding is a multiple of what A makes of the ones. */
static tess_status ones_meet(const tess_matrix *a, const null_parts *p, const double *b, const double *b_on_device,
                             double tolerance, bool *met)
{
    trial t = {.a = a, .p = p};
    tess_context *ctx = a->ctx;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, p->n, sizeof *t.value, (void **)&t.value));
    TESS_TRY(tess_host_allocate(ctx, p->n, sizeof *t.of_row, (void **)&t.of_row));
    TESS_TRY(tess_host_allocate(ctx, p->count, sizeof *t.factor, (void **)&t.factor));
    TESS_TRY(tess_vector_create(ctx, p->n, TESS_PRECISION_FP64, &t.x));
    TESS_TRY(tess_vector_create(ctx, p->n, TESS_PRECISION_FP64, &t.rhs));
    TESS_TRY(tess_vector_create(ctx, p->n, TESS_PRECISION_FP64, &t.residual));
    status = try_ones(&t, b, b_on_device, tolerance, met);
cleanup:
    tess_vector_destroy(t.x);
    tess_vector_destroy(t.rhs);
    tess_vector_destroy(t.residual);
    tess_host_release(ctx, t.value, p->n, sizeof *t.value);
    tess_host_release(ctx, t.of_row, p->n, sizeof *t.of_row);
    tess_host_release(ctx, t.factor, p->count, sizeof *t.factor);
    return status;
}

static void conclude(const null_judgement *found, double tolerance, bool near, null_reach *out)
{
    out->norm = found->norm;
    if (found->least > CLEARLY * tolerance) { out->proved = found->least; }
    if (out->proved > 0.0 || near) { out->least = fmax(out->proved, near ? found->near : 0.0); }
    out->torn = out->proved > 0.0 ? found->worst : found->near_worst;
}

tess_status null_reach_find(const tess_matrix *a, const null_parts *p, const double *b, double rtol, double atol,
                            null_reach *out)
{
    double *values = NULL, tolerance = 0.0;
    bool near = false, met = false;
    null_judgement found;
    tess_status status = TESS_SUCCESS;

    *out = (null_reach){0};
    if (p->count == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(a->ctx, p->n, sizeof *values, (void **)&values));
    TESS_TRY(a->ctx->backend->download(a->ctx, values, b, (size_t)p->n * sizeof *values));
    TESS_TRY(null_parts_judge(a->ctx, p, values, &found));
    tolerance = fmax(rtol * found.norm, atol);
    near = found.near > BEYOND_ROUNDING * (double)found.near_terms * tolerance;
    if (near) { TESS_TRY(ones_meet(a, p, values, b, tolerance, &met)); }
    conclude(&found, tolerance, near && !met, out);
cleanup:
    tess_host_release(a->ctx, values, p->n, sizeof *values);
    return status;
}

/* ---- a solve ---- */

/* Once for each version of the values. On a device, only where all rows sum to 0. */
static tess_status find_parts(method_solver *s)
{
    const tess_matrix *a = s->original;
    bool worth = true;
    tess_status status = TESS_SUCCESS;

    if (s->lent || (s->null_known && s->null_version == a->values_version)) { return TESS_SUCCESS; }
    null_parts_release(s->ctx, &s->null);
    if (s->ctx->device == TESS_DEVICE_GPU) { TESS_TRY(null_sums_on_device(a, &worth)); }
    if (worth) { TESS_TRY(null_parts_of(a, &s->null)); }
    s->null_known = true;
    s->null_version = a->values_version;
cleanup:
    return status;
}

static const null_parts *parts_of(const method_solver *s)
{
    return s->lent ? s->lent : &s->null;
}

/* Residuals in low precision are not the caller's, and a method that runs its own loops starts from x. */
static bool can_project(const solve_run *run)
{
    const method_solver *s = run->s;

    return !s->asymmetric && s->original->ops && run->guard == TESS_GUARD_REPAIR && !run->low_residuals &&
           !s->method->run;
}

tess_status guard_find_floor(solve_run *run)
{
    method_solver *s = run->s;
    null_reach found;
    tess_status status = TESS_SUCCESS;

    run->floor = 0.0;
    if (!can_project(run)) { return TESS_SUCCESS; }
    TESS_TRY(find_parts(s));
    if (parts_of(s)->count == 0) { return TESS_SUCCESS; }
    TESS_TRY(null_reach_find(s->original, parts_of(s), run->b, 0.0, run->result->tolerance, &found));
    run->floor = found.least;
cleanup:
    return status;
}

double guard_floor_goal(const solve_run *run)
{
    return fmin(LARGEST_FLOOR_SHARE * run->floor, fmax(FLOOR_SHARE * run->floor, ATTAINABLE * run->result->rhs_norm));
}

tess_status guard_project(solve_run *run)
{
    method_solver *s = run->s;
    const int64_t n = s->original->nrows;
    const size_t bytes = (size_t)n * sizeof(double);
    double *r = NULL, norm = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(s->ctx, n, sizeof *r, (void **)&r));
    TESS_TRY(s->ctx->backend->download(s->ctx, r, s->krylov.r, bytes));
    TESS_TRY(null_parts_project(s->ctx, parts_of(s), r));
    for (int64_t i = 0; i < n; i++) {
        norm = hypot(norm, r[i]);
    }
    if (!is_finite(norm)) { goto cleanup; }
    run->norm = norm;
    status = s->ctx->backend->upload(s->ctx, s->krylov.r, r, bytes);
cleanup:
    tess_host_release(s->ctx, r, n, sizeof *r);
    return status;
}
