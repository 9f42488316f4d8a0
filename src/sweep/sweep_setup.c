/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up of sweeps: the storage that the schedule needs, the order of rows, the diagonal. */
#include <math.h>
#include <string.h>

#include <tessera/names.h>

#include "format/csr/csr.h"
#include "format/storage_precision.h"
#include "sweep/sweep.h"

/* ---- what the request amounts to ---- */

/* Whether products with rows and columns in the order of their precisions exist: iterations update x instead of y. */
bool sweep_takes_parts(tess_format format)
{
    return tess_in_set(tess_format_can(format)->row_orders, TESS_ROW_ORDER_SYMMETRIC);
}

/* Whether the format in one precision may be that of the copies, with its rows in their order. */
static bool is_base(tess_format format)
{
    const tess_format_capabilities *can = tess_format_can(format);

    return tess_in_set(can->as_base, TESS_GRANULARITY_ROW) && !can->sorts_rows;
}

tess_format sweep_choose_format(const tess_storage_options *storage, const tess_precision_schedule *schedule)
{
    bool pure = false, mixed = schedule->count == 0 && storage->policy.policy != TESS_POLICY_NONE;

    for (int i = 0; i < schedule->count; i++) {
        mixed = mixed || schedule->entry[i].what == TESS_MIXED;
        pure = pure || schedule->entry[i].what != TESS_MIXED;
    }
    if (!mixed) { return TESS_FORMAT_CSR; }
    return tess_format_in_role(pure ? TESS_ROLE_COPIES : TESS_ROLE_PARTS);
}

static void default_schedule(tess_sweep_request *r)
{
    static const int three[] = {TESS_PRECISION_FP32, TESS_MIXED, TESS_PRECISION_FP64};

    if (r->schedule.count != 0) { return; }
    if (tess_format_can(r->storage.format)->copies_levels) {
        for (int i = 0; i < 3; i++) {
            schedule_append(&r->schedule, three[i], 0);
        }
    } else {
        schedule_append(&r->schedule, sweep_takes_parts(r->storage.format) ? TESS_MIXED : (int)r->storage.precision, 0);
    }
}

/* Inserts a precision from high to low, if it is not in the list. */
static tess_status add_level(tess_context *ctx, tess_policy_options *policy, int what)
{
    double roundoff = 0.0;
    int at = 0;

    if (what == TESS_MIXED) { return TESS_SUCCESS; }
    roundoff = tess_precision_unit_roundoff((tess_precision)what);
    while (at < policy->nlevels && tess_precision_unit_roundoff(policy->level[at].precision) < roundoff) {
        at++;
    }
    if (tess_precision_bytes((tess_precision)what) == 1) { policy->choose_fp8 = 0; } /* the schedule decides */
    if (at < policy->nlevels && (int)policy->level[at].precision == what) { return TESS_SUCCESS; }
    if (policy->nlevels == TESS_MAX_LEVELS) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "name fewer precisions in --steps and --levels",
                         "--steps and --levels together need more than %s",
                         tess_count((int)TESS_MAX_LEVELS, "precision").text);
    }
    for (int l = policy->nlevels; l > at; l--) {
        policy->level[l] = policy->level[l - 1];
    }
    policy->level[at] =
        (tess_precision_level){(tess_precision)what, what != TESS_PRECISION_FP64 && what != TESS_PRECISION_FP32};
    policy->nlevels += 1;
    return TESS_SUCCESS;
}

/* The levels of the policy if an entry of the schedule is mixed, and the precisions of its other entries. */
static tess_status choose_levels(tess_context *ctx, tess_sweep_request *r)
{
    tess_policy_options *policy = &r->storage.policy;
    bool mixed = schedule_has(&r->schedule, TESS_MIXED);
    tess_status status = TESS_SUCCESS;

    if (!mixed) {
        policy->nlevels = 0;
        policy->policy = TESS_POLICY_NONE;
    } else if (policy->policy == TESS_POLICY_NONE) {
        policy->policy = TESS_POLICY_MEAN_RANGE;
        policy->parameter = r->factor;
    }
    if (mixed) { tess_policy_default_levels(policy); }
    if (!tess_format_can(r->storage.format)->copies_levels) { return TESS_SUCCESS; }
    for (int i = 0; i < r->schedule.count; i++) {
        TESS_TRY(add_level(ctx, policy, r->schedule.entry[i].what));
    }
cleanup:
    return status;
}

static tess_status check_format(tess_context *ctx, const tess_sweep_request *r)
{
    const tess_format format = r->storage.format, copies = tess_format_in_role(TESS_ROLE_COPIES);
    const bool parts = sweep_takes_parts(format) && !tess_format_can(format)->copies_levels;

    if (!sweep_takes_parts(format) && !is_base(format)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "use csr, or a format whose rows and columns can be permuted together",
                         "a schedule of precisions is not available in format %s", tess_format_name(format));
    }
    for (int i = 0; i < r->schedule.count && parts; i++) {
        if (r->schedule.entry[i].what != TESS_MIXED) {
            return tess_fail(ctx, TESS_UNSUPPORTED, NULL,
                             "--steps names %s, which a matrix in format %s does not have; format %s has it",
                             tess_schedule_entry_name(r->schedule.entry[i].what), tess_format_name(format),
                             tess_format_name(copies));
        }
    }
    return TESS_SUCCESS;
}

tess_status sweep_resolve(tess_context *ctx, tess_sweep_request *r)
{
    tess_storage_options *o = &r->storage;
    tess_status status = TESS_SUCCESS;

    default_schedule(r);
    TESS_TRY(schedule_check(ctx, &r->schedule));
    if (r->kind == TESS_UPDATE_NONE) { return tess_storage_require_fp64_arithmetic(ctx, o, "x := A x"); }
    TESS_TRY(check_format(ctx, r));
    if (is_base(o->format)) {
        o->split.base = o->format;
        o->format = tess_format_in_role(TESS_ROLE_COPIES);
    }
    if (o->arithmetic == TESS_ARITHMETIC_FP32X2) { return tess_storage_require_fp64_arithmetic(ctx, o, "a sweep"); }
    o->split.row_order = TESS_ROW_ORDER_SYMMETRIC;
    o->policy.without_diagonal = 1;
    o->arithmetic = TESS_ARITHMETIC_FP32;
    status = choose_levels(ctx, r);
cleanup:
    return status;
}

/* ---- set-up ---- */

static bool is_identity(int64_t n, const int32_t *perm)
{
    for (int64_t i = 0; i < n; i++) {
        if (perm[i] != i) { return false; }
    }
    return true;
}

static tess_status upload_map(tess_sweep *w, const int64_t *host, int64_t **out)
{
    tess_status status = tess_device_allocate(w->ctx, w->n, sizeof **out, (void **)out);

    return status == TESS_SUCCESS ? w->ctx->backend->upload(w->ctx, *out, host, (size_t)w->n * sizeof *host) : status;
}

static tess_status make_maps(tess_sweep *w)
{
    int32_t *perm = NULL;
    int64_t *map = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(w->ctx, w->n, sizeof *perm, (void **)&perm));
    TESS_TRY(tess_host_allocate(w->ctx, w->n, sizeof *map, (void **)&map));
    TESS_TRY(tess_matrix_row_permutation(w->stored, perm));
    if (is_identity(w->n, perm)) { goto cleanup; }
    for (int64_t i = 0; i < w->n; i++) {
        map[i] = perm[i];
    }
    TESS_TRY(upload_map(w, map, &w->row_at));
    for (int64_t i = 0; i < w->n; i++) {
        map[perm[i]] = i;
    }
    status = upload_map(w, map, &w->position_of);
cleanup:
    tess_host_release(w->ctx, perm, w->n, sizeof *perm);
    tess_host_release(w->ctx, map, w->n, sizeof *map);
    return status;
}

static bool reads_low(const tess_sweep *w)
{
    for (int i = 0; i < w->request.schedule.count; i++) {
        if (sweep_way_of(w, w->request.schedule.entry[i].what).reads_fp32) { return true; }
    }
    return false;
}

static tess_status allocate_vectors(tess_sweep *w)
{
    const tess_update_kind kind = w->request.kind;
    tess_context *ctx = w->ctx;
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < 2; i++) {
        TESS_TRY(tess_device_allocate(ctx, w->n, sizeof *w->x[i], (void **)&w->x[i]));
        if (reads_low(w)) { TESS_TRY(tess_device_allocate(ctx, w->n, sizeof *w->low[i], (void **)&w->low[i])); }
    }
    if (kind != TESS_UPDATE_NONE) { TESS_TRY(tess_device_allocate(ctx, w->n, sizeof *w->scale, (void **)&w->scale)); }
    if (kind == TESS_UPDATE_JACOBI) { TESS_TRY(tess_device_allocate(ctx, w->n, sizeof *w->rhs, (void **)&w->rhs)); }
cleanup:
    return status;
}

/* x := A x takes the assembled matrix, or one in another format or precision, with its diagonal. */
static tess_status store_matrix(tess_sweep *w)
{
    const tess_storage_options *o = &w->request.storage;
    const tess_matrix *matrix = w->original;
    tess_status status = TESS_SUCCESS;

    if (w->request.kind != TESS_UPDATE_NONE || o->format != TESS_FORMAT_CSR || o->precision != TESS_PRECISION_FP64) {
        TESS_TRY(tess_matrix_convert(w->original, o, &w->stored));
        matrix = w->stored;
    }
    TESS_TRY(matrix->ops->prepare(matrix));
    if (w->request.kind != TESS_UPDATE_NONE) { status = make_maps(w); }
cleanup:
    return status;
}

tess_status sweep_create(const tess_matrix *a, const tess_sweep_request *request, tess_sweep **out)
{
    tess_sweep *w = NULL;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(tess_host_allocate(a->ctx, 1, sizeof *w, (void **)&w));
    memset(w, 0, sizeof *w);
    w->ctx = a->ctx;
    w->original = a;
    tess_matrix_hold(a);
    w->n = a->nrows;
    w->request = *request;
    TESS_TRY(sweep_resolve(a->ctx, &w->request));
    TESS_TRY(store_matrix(w));
    w->request.storage.papers = NULL; /* the caller's */
    TESS_TRY(allocate_vectors(w));
    *out = w;
cleanup:
    if (status != TESS_SUCCESS) { sweep_destroy(w); }
    return status;
}

static void release_graphs(tess_sweep *w)
{
    for (int i = 0; i <= TESS_PRECISION_COUNT; i++) {
        if (w->graphs[i]) { w->ctx->backend->release_graph(w->ctx, w->graphs[i]); }
        w->graphs[i] = NULL;
    }
}

void sweep_destroy(tess_sweep *w)
{
    const tess_matrix *original = NULL;

    if (!w) { return; }
    release_graphs(w);
    tess_matrix_destroy(w->stored);
    tess_device_release(w->ctx, w->row_at, w->n, sizeof *w->row_at);
    tess_device_release(w->ctx, w->position_of, w->n, sizeof *w->position_of);
    tess_device_release(w->ctx, w->scale, w->n, sizeof *w->scale);
    tess_device_release(w->ctx, w->rhs, w->n, sizeof *w->rhs);
    for (int i = 0; i < 2; i++) {
        tess_device_release(w->ctx, w->x[i], w->n, sizeof *w->x[i]);
        tess_device_release(w->ctx, w->low[i], w->n, sizeof *w->low[i]);
    }
    original = w->original;
    tess_host_release(w->ctx, w, 1, sizeof *w);
    tess_matrix_release(original);
}

int64_t sweep_bytes(const tess_sweep *w)
{
    int64_t each = 2 * 8;

    if (w->low[0]) { each += 2 * 4; }
    if (w->row_at) { each += 2 * 8; }
    if (w->scale) { each += 8; }
    if (w->rhs) { each += 8; }
    return each * w->n;
}

/* ---- the diagonal ---- */

/* D := D^-1 on the host; the first row without an inverse, -1 if there is none. */
static int64_t invert(double *diagonal, int64_t n, int *largest_exponent)
{
    double largest = 0.0;
    int64_t bad = -1;

    for (int64_t i = n - 1; i >= 0; i--) {
        double inverse = 1.0 / diagonal[i];

        if (diagonal[i] == 0.0 || !isfinite(inverse) || !isfinite(diagonal[i])) {
            bad = i;
            inverse = 0.0;
        }
        diagonal[i] = inverse;
        largest = fmax(largest, fabs(inverse));
    }
    *largest_exponent = 0;
    if (largest > 0.0) { (void)frexp(largest, largest_exponent); }
    return bad;
}

tess_status sweep_renew(tess_sweep *w)
{
    tess_context *ctx = w->ctx;
    const size_t bytes = (size_t)w->n * sizeof(double);
    double *host = NULL, *work = w->x[0]; /* free between runs */
    int64_t bad = -1;
    tess_status status = TESS_SUCCESS;

    if (w->renewed && w->values_version == w->original->values_version) { return TESS_SUCCESS; }
    w->renewed = false;
    release_graphs(w);
    if (w->stored) { TESS_TRY(tess_matrix_refresh(w->stored)); }
    w->values_version = w->original->values_version;
    w->renewed = w->request.kind == TESS_UPDATE_NONE;
    if (w->renewed) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, w->n, sizeof *host, (void **)&host));
    TESS_TRY(tess_matrix_raw_diagonal(w->original, work));
    if (w->request.kind == TESS_UPDATE_JACOBI) {
        TESS_TRY(ctx->backend->download(ctx, host, work, bytes));
        bad = invert(host, w->n, &w->largest_exponent);
        TESS_TRY(ctx->backend->upload(ctx, work, host, bytes));
    }
    if (w->row_at) {
        TESS_TRY(csr_ops_of(ctx)->gather(ctx, w->n, work, w->row_at, w->scale));
    } else {
        TESS_TRY(ctx->backend->copy(ctx, w->scale, work, bytes));
    }
    if (bad >= 0) {
        status = tess_fail(ctx, TESS_SINGULAR, "try --scale max-product, which moves large entries to the diagonal",
                           "Jacobi: row %lld has no diagonal entry to divide by", tess_number(ctx, bad));
    }
    w->renewed = status == TESS_SUCCESS;
cleanup:
    tess_host_release(ctx, host, w->n, sizeof *host);
    return status;
}
