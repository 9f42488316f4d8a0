/* SPDX-License-Identifier: Apache-2.0 */
/* True residuals of several columns together, and the verification of several answers. */
#include <math.h>
#include <string.h>

#include <tessera/names.h>
#include <tessera/residual.h>
#include <tessera/verify.h>

#include "base/options.h"
#include "dense/columns.h"
#include "device/host/host.h"
#include "matrix/assembled.h"
#include "solver/verify_answer.h"

/* ---- residuals ---- */

/* The sums of all columns at the scales that a column asked for. */
typedef struct common_passes {
    const tess_matrix *a;
    residual_columns q;
    bool there[TESS_PASSES];
    tess_residual_sums sums[TESS_PASSES][RESIDUAL_COLUMNS];
} common_passes;

typedef struct column_pass {
    common_passes *common;
    int column;
} column_pass;

static int residual_pass(void *user, int exponent, tess_residual_sums *sums)
{
    const column_pass *const p = user;
    common_passes *const common = p->common;
    int which = TESS_PASS_PLAIN;

    while (tess_residual_exponent(which) != exponent) {
        which++;
    }
    if (!common->there[which]) {
        tess_status status;

        common->q.exponent = exponent;
        status = assembled_ops_of(common->a->ctx)->true_residuals(common->a, &common->q, common->sums[which]);
        if (status != TESS_SUCCESS) { return (int)status; }
        common->there[which] = true;
    }
    *sums = common->sums[which][p->column];
    return 0;
}

bool verify_takes_columns(const tess_matrix *a)
{
    return a->ops && assembled_ops_of(a->ctx)->true_residuals;
}

tess_status verify_residuals(const tess_matrix *a, const residual_columns *q, true_residual *out)
{
    common_passes common = {.a = a, .q = *q};
    tess_status status = TESS_SUCCESS;

    for (int c = 0; c < q->columns; c++) {
        column_pass pass = {&common, c};
        tess_residual_norms found;

        TESS_TRY((tess_status)tess_residual_norms_by(residual_pass, &pass, &found));
        verify_take_norms(a, &found, &out[c]);
    }
cleanup:
    return status;
}

/* ---- answers ---- */

typedef struct columns_call {
    const tess_matrix *a;
    const tess_columns *b, *x;
    const tess_verify_options *o;
    tess_verification *found;
    int most;        /* columns of a group, a multiple of RESIDUAL_GROUP */
    double *by_rows; /* `most` values for each row of b, and then of x */
    double *alone;   /* a column */
} columns_call;

/* b may have one column for all. */
static columns_place place_of(const tess_columns *v, int64_t c)
{
    const bool one = v->columns == 1;

    return (columns_place){v->data && !one ? v->data + c * v->column_stride : v->data, v->row_stride,
                           one ? 0 : v->column_stride};
}

/* Rows begin .. end - 1 of a group with so many columns; zeros beyond them. */
static void pack_rows(columns_place from, int columns, int64_t begin, int64_t end, double *to)
{
    for (int64_t i = begin; i < end; i++) {
        for (int c = 0; c < columns; c++) {
            to[i * RESIDUAL_GROUP + c] = from.data[i * from.row_stride + c * from.column_stride];
        }
        for (int c = columns; c < RESIDUAL_GROUP; c++) {
            to[i * RESIDUAL_GROUP + c] = 0.0;
        }
    }
}

static void pack(const tess_context *ctx, int64_t rows, int count, columns_place from, double *to)
{
    const int64_t blocks = (rows + HOST_BLOCK - 1) / HOST_BLOCK;
    const int groups = (count + RESIDUAL_GROUP - 1) / RESIDUAL_GROUP;

#pragma omp parallel for num_threads(host_threads_for(ctx, rows *count)) schedule(static)
    for (int64_t part = 0; part < blocks * groups; part++) {
        const int first = (int)(part / blocks) * RESIDUAL_GROUP, rest = count - first;
        const int64_t begin = part % blocks * HOST_BLOCK, end = begin + HOST_BLOCK < rows ? begin + HOST_BLOCK : rows;
        const columns_place group = {from.data + first * from.column_stride, from.row_stride, from.column_stride};

        pack_rows(group, rest < RESIDUAL_GROUP ? rest : RESIDUAL_GROUP, begin, end, to + first * rows);
    }
}

/* Columns first .. first + count - 1 as residual_columns has them: where the caller does, or in `room`. */
static const double *take_groups(const columns_call *call, const tess_columns *from, int64_t first, int count,
                                 double *room, int64_t *group, int64_t *stride)
{
    const columns_place place = place_of(from, first);

    if (count % RESIDUAL_GROUP == 0 && place.column_stride == 1) {
        *group = RESIDUAL_GROUP;
        *stride = place.row_stride;
        return place.data;
    }
    *group = RESIDUAL_GROUP * from->rows;
    *stride = RESIDUAL_GROUP;
    pack(call->a->ctx, from->rows, count, place, room);
    return room;
}

/* One column as a vector: the caller's own, or in call->alone. */
static tess_status take_column(const columns_call *call, const tess_columns *from, int64_t c, tess_vector *out)
{
    const columns_place place = place_of(from, c);

    *out = (tess_vector){.ctx = call->a->ctx, .n = from->rows, .precision = TESS_PRECISION_FP64, .data = place.data};
    if (place.row_stride == 1) { return TESS_SUCCESS; }
    out->data = call->alone;
    return columns_ops_of(call->a->ctx)->move(call->a->ctx, from->rows, 1, place, column_alone(call->alone));
}

static tess_status finish_column(const columns_call *call, int64_t c, const true_residual *now)
{
    tess_vector v;
    tess_status status = TESS_SUCCESS;

    call->found[c].nonfinite_rhs = -1;
    if (!isfinite(now->norm)) {
        TESS_TRY(take_column(call, call->b, c, &v));
        TESS_TRY(verify_find_nonfinite_rhs(call->a, &v, now, &call->found[c]));
    }
    TESS_TRY(take_column(call, call->x, c, &v));
    status = verify_finish(call->a, &v, call->o, now, &call->found[c]);
cleanup:
    return status;
}

static tess_status verify_group(const columns_call *call, int64_t first, int count)
{
    double *const of_x = call->by_rows + call->b->rows * call->most;
    residual_columns q = {.columns = count};
    true_residual now[RESIDUAL_COLUMNS];
    tess_status status = TESS_SUCCESS;

    q.b = take_groups(call, call->b, first, count, call->by_rows, &q.b_group, &q.b_stride);
    q.x = take_groups(call, call->x, first, count, of_x, &q.x_group, &q.x_stride);
    TESS_TRY(verify_residuals(call->a, &q, now));
    for (int c = 0; c < count; c++) {
        TESS_TRY(finish_column(call, first + c, &now[c]));
    }
cleanup:
    return status;
}

/* Where one pass takes no columns, and for forward errors. */
static tess_status verify_alone(const columns_call *call, int64_t c)
{
    tess_context *const ctx = call->a->ctx;
    tess_vector *b = NULL, *x = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_create(ctx, call->b->rows, TESS_PRECISION_FP64, &b));
    TESS_TRY(tess_vector_create(ctx, call->x->rows, TESS_PRECISION_FP64, &x));
    TESS_TRY(columns_get(ctx, call->b, call->b->columns == 1 ? 0 : c, 1, tess_vector_data(b)));
    TESS_TRY(columns_get(ctx, call->x, c, 1, tess_vector_data(x)));
    status = verify_answer(call->a, b, x, call->o, &call->found[c]);
cleanup:
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    return status;
}

/* One column that lies as vectors do. */
static tess_status verify_one(const columns_call *call)
{
    const tess_vector b = {
        .ctx = call->a->ctx, .n = call->b->rows, .precision = TESS_PRECISION_FP64, .data = call->b->data};
    const tess_vector x = {
        .ctx = call->a->ctx, .n = call->x->rows, .precision = TESS_PRECISION_FP64, .data = call->x->data};

    return verify_answer(call->a, &b, &x, call->o, &call->found[0]);
}

static tess_status verify_together(columns_call *call)
{
    tess_context *const ctx = call->a->ctx;
    const int64_t columns = call->x->columns, rows = call->b->rows + call->x->rows;
    const int64_t longest = call->b->rows > call->x->rows ? call->b->rows : call->x->rows;
    tess_status status = TESS_SUCCESS;

    call->most = RESIDUAL_GROUP;
    while (call->most < columns && call->most < RESIDUAL_COLUMNS) {
        call->most += RESIDUAL_GROUP;
    }
    TESS_TRY(tess_host_allocate(ctx, rows * call->most, sizeof(double), (void **)&call->by_rows));
    TESS_TRY(tess_host_allocate(ctx, longest, sizeof(double), (void **)&call->alone));
    for (int64_t c = 0; c < columns; c += call->most) {
        TESS_TRY(verify_group(call, c, columns - c < call->most ? (int)(columns - c) : call->most));
    }
cleanup:
    tess_host_release(ctx, call->by_rows, rows * call->most, sizeof(double));
    tess_host_release(ctx, call->alone, longest, sizeof(double));
    return status;
}

static tess_status verify_columns(columns_call *call)
{
    tess_status status = TESS_SUCCESS;

    if (call->a->ctx->device == TESS_DEVICE_CPU && call->x->columns == 1 && call->x->row_stride == 1 &&
        call->b->row_stride == 1) {
        return verify_one(call);
    }
    if (verify_takes_columns(call->a) && !call->o->forward_error) { return verify_together(call); }
    for (int64_t c = 0; c < call->x->columns; c++) {
        TESS_TRY(verify_alone(call, c));
    }
cleanup:
    return status;
}

/* An element of the caller's array, whose struct may be a shorter one. */
static tess_verification *answer_at(tess_verification *out, int64_t c)
{
    return (tess_verification *)(void *)((char *)out + (size_t)c * out->size);
}

static tess_status check_columns(const tess_matrix *a, const tess_columns *b, const tess_columns *x)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(columns_require(a->ctx, b, a->nrows, "b"));
    TESS_TRY(columns_require(a->ctx, x, a->ncols, "x"));
    if (b->columns != 1 && b->columns != x->columns) {
        status =
            tess_fail(a->ctx, TESS_DIMENSION_MISMATCH, "pass as many columns in b as in x, or one for all",
                      "b has %s, x %s", tess_count(b->columns, "column").text, tess_count(x->columns, "column").text);
    }
cleanup:
    return status;
}

tess_status tess_verify_columns(const tess_matrix *a, const tess_columns *b, const tess_columns *x,
                                const tess_verify_options *options, tess_verification *out)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, b);
    TESS_REQUIRE(a->ctx, x);
    TESS_REQUIRE(a->ctx, out);
    tess_verify_options o;
    columns_call call = {.a = a->original ? a->original : a, .b = b, .x = x, .o = &o};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(verify_take_options(a->ctx, options, &o));
    TESS_TRY(check_columns(a, b, x));
    for (int64_t c = 0; c < x->columns; c++) {
        TESS_TRY(result_require_size(a->ctx, "tess_verification", answer_at(out, c)->size, sizeof *out));
    }
    TESS_TRY(tess_host_allocate(a->ctx, x->columns, sizeof *call.found, (void **)&call.found));
    for (int64_t c = 0; c < x->columns; c++) {
        tess_verification_init(&call.found[c]);
    }
    busy_adapt(a->ctx);
    TESS_TRY(verify_columns(&call));
    for (int64_t c = 0; c < x->columns; c++) {
        result_return(&call.found[c], answer_at(out, c));
    }
cleanup:
    tess_host_release(a->ctx, call.found, x->columns, sizeof *call.found);
    return status;
}
