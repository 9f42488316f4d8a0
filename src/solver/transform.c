/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Set-up of a transformed system B y = c with B = P_r D_r A D_c P_c^T, c = P_r D_r b and x = D_c P_c^T y. The matrix
 * comes from the orderings; the two maps between vectors are matrices of one entry per row, so that they run on every
 * device.
 */
#include "solver/transform.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "matrix/complex_form.h"
#include "order/order.h"
#include "solver/transform_parts.h"
#include "solver/verify.h"

/* The order and scale of the system, on the host. Scales are NULL where there are none. */
typedef struct system_order {
    int64_t n;
    int32_t *rows, *columns; /* P_r and P_c: old indices in new order */
    double *row_scale, *col_scale;
} system_order;

/* Of the text that why() returns. */
enum { WHY_LENGTH = 2304 };

bool wants_transform(const tess_solve_options *options)
{
    return options->scale != TESS_SCALING_NONE || options->reorder != TESS_REORDERING_NONE;
}

static tess_status allocate_order(tess_context *ctx, bool scaled, system_order *o)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, o->n, sizeof *o->rows, (void **)&o->rows));
    TESS_TRY(tess_host_allocate(ctx, o->n, sizeof *o->columns, (void **)&o->columns));
    for (int64_t i = 0; i < o->n; i++) {
        o->rows[i] = o->columns[i] = (int32_t)i;
    }
    if (!scaled) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, o->n, sizeof *o->row_scale, (void **)&o->row_scale));
    TESS_TRY(tess_host_allocate(ctx, o->n, sizeof *o->col_scale, (void **)&o->col_scale));
cleanup:
    return status;
}

static void release_order(tess_context *ctx, system_order *o)
{
    tess_host_release(ctx, o->rows, o->n, sizeof *o->rows);
    tess_host_release(ctx, o->columns, o->n, sizeof *o->columns);
    tess_host_release(ctx, o->row_scale, o->n, sizeof *o->row_scale);
    tess_host_release(ctx, o->col_scale, o->n, sizeof *o->col_scale);
}

/* An order of *matrix, which is replaced, combined with the order so far. */
static tess_status apply_order(tess_reordering reordering, system_order *o, tess_matrix **matrix)
{
    tess_context *ctx = (*matrix)->ctx;
    tess_matrix *reordered = NULL;
    int32_t *rows = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, o->n, sizeof *rows, (void **)&rows));
    TESS_TRY(reordering == TESS_REORDERING_RCM ? tess_order_rcm(*matrix, o->columns)
                                               : tess_order_clusters(*matrix, o->columns)); /* in order until now */
    TESS_TRY(tess_matrix_reorder_symmetric(*matrix, o->columns, &reordered));
    memcpy(rows, o->rows, (size_t)o->n * sizeof *rows);
    for (int64_t i = 0; i < o->n; i++) {
        o->rows[i] = rows[o->columns[i]];
    }
    tess_matrix_destroy(*matrix);
    *matrix = reordered;
cleanup:
    tess_host_release(ctx, rows, o->n, sizeof *rows);
    return status;
}

/* c = to_rows b: entry i is row_scale[r] b[r] with r = rows[i]; x = from_columns y: entry columns[i] is col_scale times
 * y_i. */
static tess_status make_maps(tess_context *ctx, const system_order *o, solver_transform *t)
{
    int32_t *place = NULL;
    double *scale = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, o->n, sizeof *place, (void **)&place));
    TESS_TRY(tess_host_allocate(ctx, o->n, sizeof *scale, (void **)&scale));
    for (int64_t i = 0; i < o->n; i++) {
        place[o->columns[i]] = (int32_t)i;
        scale[i] = o->row_scale ? o->row_scale[o->rows[i]] : 1.0;
    }
    TESS_TRY(order_make_map(ctx, o->n, o->rows, scale, &t->to_rows));
    status = order_make_map(ctx, o->n, place, o->col_scale, &t->from_columns);
cleanup:
    tess_host_release(ctx, place, o->n, sizeof *place);
    tess_host_release(ctx, scale, o->n, sizeof *scale);
    return status;
}

static void release_system(solver_transform *t)
{
    tess_solver_destroy(t->inner);
    tess_matrix_destroy(t->matrix);
    tess_matrix_destroy(t->to_rows);
    tess_matrix_destroy(t->from_columns);
    t->inner = NULL;
    t->matrix = t->to_rows = t->from_columns = NULL;
    t->values_version = 0;
}

/* Order and scale of the rows and columns by the scaling that the options name. */
static tess_status find_scale(const tess_matrix *a, tess_scaling scaling, system_order *o)
{
    tess_status status = TESS_SUCCESS;

    if (scaling == TESS_SCALING_NONE) { return TESS_SUCCESS; }
    if (scaling == TESS_SCALING_MAX_PRODUCT) { return tess_order_max_product(a, o->rows, o->row_scale, o->col_scale); }
    if (scaling == TESS_SCALING_ROWS) {
        for (int64_t i = 0; i < o->n; i++) {
            o->col_scale[i] = 1.0;
        }
        return tess_order_row_scale(a, o->row_scale);
    }
    status = tess_order_symmetric_scale(a, o->row_scale);
    memcpy(o->col_scale, o->row_scale, (size_t)o->n * sizeof *o->col_scale);
    return status;
}

static bool has_pairs(const int32_t *order, const double *scale, int64_t n)
{
    for (int64_t i = 0; i + 1 < n; i += 2) {
        const int32_t first = order[i];

        if (first % 2 != 0 || order[i + 1] != first + 1 || (scale && scale[first] != scale[first + 1])) {
            return false;
        }
    }
    return n % 2 == 0;
}

/* The real form of a complex matrix stays one where re and im of a number keep together, and have one scale. Otherwise
   the iterations are in real scalars, and complete factors those of the real form. */
static void mark_complex(const tess_matrix *a, const system_order *o, tess_matrix *transformed)
{
    if (a->is_complex && has_pairs(o->rows, o->row_scale, o->n) && has_pairs(o->columns, o->col_scale, o->n)) {
        tess_matrix_mark_complex(transformed);
    }
}

/* Clusters alone: all but the graph of cells is computed where the matrix lies, once for all values. */
static tess_status order_system(const tess_solver *s, solver_transform *t)
{
    const tess_matrix *a = s->original;
    tess_status status = TESS_SUCCESS;

    if (!t->order.perm) { TESS_TRY(row_order_find(a, &t->order)); }
    status = row_order_apply(a, &t->order, &t->matrix, &t->to_rows, &t->from_columns);
cleanup:
    return status;
}

/* Orders that the host finds, and scales. */
static tess_status scale_system(const tess_solver *s, solver_transform *t)
{
    const tess_matrix *a = s->original;
    const bool scaled = s->options.scale != TESS_SCALING_NONE;
    system_order o = {.n = a->nrows};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(allocate_order(s->ctx, scaled, &o));
    TESS_TRY(find_scale(a, s->options.scale, &o));
    TESS_TRY(tess_matrix_reorder(a, scaled ? o.rows : NULL, NULL, o.row_scale, o.col_scale, &t->matrix));
    if (s->options.reorder != TESS_REORDERING_NONE) { TESS_TRY(apply_order(s->options.reorder, &o, &t->matrix)); }
    mark_complex(a, &o, t->matrix);
    status = make_maps(s->ctx, &o, t);
cleanup:
    release_order(s->ctx, &o);
    return status;
}

static bool orders_alone(const tess_solver *s)
{
    return s->options.scale == TESS_SCALING_NONE && s->options.reorder == TESS_REORDERING_CLUSTERS &&
           s->original->ops && !s->original->original && !s->original->is_complex && row_order_applies(s->original);
}

static tess_status build_system(const tess_solver *s, solver_transform *t)
{
    tess_solve_options inner = s->options;
    tess_status status = TESS_SUCCESS;

    inner.scale = TESS_SCALING_NONE;
    inner.reorder = TESS_REORDERING_NONE;
    inner.stop_norm = TESS_STOP_NORM_GIVEN; /* of the transformed system; the original one is judged as it was asked */
    inner.return_last = 0;
    TESS_TRY(orders_alone(s) ? order_system(s, t) : scale_system(s, t));
    TESS_TRY(solver_make(t->matrix, NULL, &inner, &t->inner));
    t->inner->inner = true;
    t->values_version = s->original->values_version;
cleanup:
    if (status != TESS_SUCCESS) { release_system(t); }
    return status;
}

tess_status renew_system(const tess_solver *s)
{
    solver_transform *t = s->state;

    if (t->values_version == s->original->values_version) { return TESS_SUCCESS; }
    release_system(t);
    return build_system(s, t);
}

static tess_status check_transform(const tess_solver *s)
{
    const tess_solve_options *o = &s->options;

    if (o->scale < TESS_SCALING_NONE || o->scale > TESS_SCALING_ROWS || o->reorder < TESS_REORDERING_NONE ||
        o->reorder > TESS_REORDERING_CLUSTERS) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "use values of tess_scaling and tess_reordering",
                         "unknown scaling %d or reordering %d", (int)o->scale, (int)o->reorder);
    }
    if (tess_precond_needs_order(&o->precond)) {
        return tess_fail(s->ctx, TESS_UNSUPPORTED, "leave out --scale and --reorder",
                         "%s are those of the original rows, which a solve that reorders or scales the matrix changes",
                         o->precond.kind == TESS_PRECOND_SADDLE ? "saddle: index and schur_matrix"
                                                                : "amg: near-nullspace vectors and blocks");
    }
    if (s->given) {
        return tess_fail(
            s->ctx, TESS_UNSUPPORTED, "name the preconditioner in the options of the solve",
            "a solve that reorders or scales the matrix cannot use a preconditioner of the original matrix");
    }
    return TESS_SUCCESS;
}

static bool is_own_choice(const tess_solver *s)
{
    return s->fetched[1] > 0.0;
}

static tess_status make_parts(tess_solver *s)
{
    tess_context *ctx = s->ctx;
    const int64_t n = s->original->nrows;
    solver_transform *t = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_transform(s));
    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *t, (void **)&t));
    memset(t, 0, sizeof *t);
    s->state = t;
    t->order = s->order; /* of the solver's own choice */
    s->order.perm = s->order.place = NULL;
    TESS_TRY(build_system(s, t));
    if (is_own_choice(s)) { TESS_TRY(tess_host_allocate(ctx, WHY_LENGTH, 1, (void **)&t->why)); }
    TESS_TRY(tess_vector_create(ctx, n, TESS_PRECISION_FP64, &t->residual));
    TESS_TRY(tess_vector_create(ctx, n, TESS_PRECISION_FP64, &t->rhs));
    TESS_TRY(tess_vector_create(ctx, n, TESS_PRECISION_FP64, &t->correction));
    TESS_TRY(tess_vector_create(ctx, n, TESS_PRECISION_FP64, &t->candidate));
    TESS_TRY(tess_vector_create(ctx, n, TESS_PRECISION_FP64, &t->best));
    status = solver_allocate_history(s);
cleanup:
    return status;
}

/* ---- the table ---- */

static bool takes(const tess_matrix *a, const tess_precond *given, const tess_solve_options *options)
{
    (void)a;
    (void)given;
    return wants_transform(options);
}

/* An automatic solve of the transformed system chooses its preconditioner too. */
static tess_status setup(tess_solver *s)
{
    tess_solve_options *o = &s->options;
    const bool open = o->solver == TESS_SOLVER_AUTO && !s->given;

    if (o->precond.kind == TESS_PRECOND_AUTO && !open) { o->precond.kind = TESS_PRECOND_NONE; }
    if (o->stop_norm == TESS_STOP_NORM_PRECONDITIONED) {
        return solver_require_given_norm(s, "a solve that scales or reorders");
    }
    return make_parts(s);
}

static void destroy(tess_solver *s)
{
    solver_transform *t = s->state;

    if (!t) { return; }
    release_system(t);
    row_order_release(&t->order);
    tess_host_release(s->ctx, t->why, WHY_LENGTH, 1);
    tess_vector_destroy(t->residual);
    tess_vector_destroy(t->rhs);
    tess_vector_destroy(t->correction);
    tess_vector_destroy(t->candidate);
    tess_vector_destroy(t->best);
    tess_host_release(s->ctx, t, 1, sizeof *t);
    s->state = NULL;
}

static const solver_transform *parts_of(const tess_solver *s)
{
    return s->state;
}

static void describe(const tess_solver *s, tess_solve_result *r)
{
    describe_solver(parts_of(s)->inner, r);
}

static tess_status last_iterate(const tess_solver *s, tess_vector *x)
{
    tess_status status = TESS_SUCCESS;

    if (!s->iterated) { return TESS_SUCCESS; }
    status = tess_vector_copy(parts_of(s)->candidate, x);
    return status == TESS_SUCCESS ? tess_vector_refresh_shadow(x) : status;
}

/* Of an order that the caller did not ask for: his monitor has the iterate that he knows. `candidate` is free. */
static tess_status get_iterate(const tess_solver *s, double *x)
{
    const solver_transform *t = s->state;
    tess_status status = TESS_SUCCESS;

    if (!is_own_choice(s) || !t->base) { return solver_refuse_iterate(s); }
    double *const y = t->candidate->data;
    const double *const base = t->base->data;

    TESS_TRY(tess_solver_get_iterate(t->inner, y)); /* refuses a GPU */
    for (int64_t i = 0; i < t->order.n; i++) {
        x[i] = base[i] + ldexp(y[t->order.place[i]], t->exponent);
    }
cleanup:
    return status;
}

static const tess_precond *precond(const tess_solver *s)
{
    return tess_solver_precond(parts_of(s)->inner);
}

static method_solver *innermost(const tess_solver *s)
{
    return solver_innermost(parts_of(s)->inner);
}

static int attempts(const tess_solver *s, const tess_attempt **out)
{
    return tess_solver_attempts(parts_of(s)->inner, out);
}

/* With an order of the solver's own: what it is for. */
static const char *why(const tess_solver *s)
{
    solver_transform *t = s->state;
    const char *const of_inner = tess_solver_why(t->inner);

    if (!t->why) { return of_inner; }
    (void)snprintf(t->why, WHY_LENGTH,
                   "reordered inside by clusters: a product fetches %.2f lines of x for a nonzero, not %.2f%s%s",
                   s->fetched[1], s->fetched[0], of_inner[0] ? "\n" : "", of_inner);
    return t->why;
}

/* Whether one scaling and one order, in this sequence, are both the caller's and those that the inner solver chose. */
static bool is_one_transform(const tess_solve_options *outer, const tess_solve_options *inner)
{
    return inner->scale == TESS_SCALING_NONE &&
           (inner->reorder == TESS_REORDERING_NONE || outer->reorder == TESS_REORDERING_NONE);
}

/* Those of the inner solver for the original system, with the caller's limits in place of a round's. A choice that no
   options name by hand is that of the request. */
static tess_status chosen(const tess_solver *s, tess_solve_options *out)
{
    const tess_solve_options *o = &s->options;
    const tess_solver *inner = parts_of(s)->inner;
    tess_status status = tess_solver_chosen_options(inner, out);

    if (status != TESS_SUCCESS) { return status; }
    if (!is_one_transform(o, out)) {
        *out = *o;
        return TESS_SUCCESS;
    }
    out->scale = o->scale;
    if (o->reorder != TESS_REORDERING_NONE) { out->reorder = o->reorder; }
    out->rtol = o->rtol;
    out->atol = o->atol;
    out->divergence_tolerance = o->divergence_tolerance;
    out->max_iterations = o->max_iterations;
    out->guard = o->guard;
    out->time_limit = o->time_limit;
    out->return_last = o->return_last;
    out->monitor = o->monitor;
    out->monitor_user = o->monitor_user;
    out->stop_norm = inner->ops->chosen ? verify_stop_norm(o) : o->stop_norm; /* solver auto has a norm of its own */
    return TESS_SUCCESS;
}

const tess_solver_ops solver_transformed = {.takes = takes,
                                            .setup = setup,
                                            .destroy = destroy,
                                            .solve = solve_transformed,
                                            .describe = describe,
                                            .last_iterate = last_iterate,
                                            .precond = precond,
                                            .innermost = innermost,
                                            .get_iterate = get_iterate,
                                            .attempts = attempts,
                                            .why = why,
                                            .chosen = chosen};
