/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a solve runs in one kernel, and its plan on the device. */
#include "solver/single_kernel/single_kernel.h"

#include <string.h>

#include "format/csr/csr.h"
#include "solver/solver.h"

/* Far above any wait of resident blocks, far below what a user takes for a hang. */
#define PATIENCE_NANOSECONDS INT64_C(4000000000)

int64_t single_exchange_count(const single_plan *p)
{
    return p->cluster ? 0 : (int64_t)SINGLE_WINDOWS * p->n;
}

int64_t single_slots_count(const single_plan *p)
{
    return p->cluster ? 0 : 2 * (int64_t)p->blocks * SINGLE_SLOT;
}

int64_t single_flags_count(const single_plan *p)
{
    return p->cluster ? 0 : p->blocks + SINGLE_FLAGS;
}

/* ---- whether ---- */

static bool is_readable(const tess_matrix *m)
{
    return m->format == TESS_FORMAT_CSR && tess_precision_bytes(m->precision) > 1;
}

/* What is in the way, whatever the size; NULL: nothing. */
static const char *refusal(const tess_solver *s)
{
    const tess_matrix *m = solver_matrix(s);

    if (s->method->kind != TESS_SOLVER_CG && s->method->kind != TESS_SOLVER_BICGSTAB) {
        return "solves with cg and bicgstab alone";
    }
    if (!m->ops) { return "cannot call a user's function"; }
    if (!is_readable(m)) { return "reads format csr in fp64, fp32, bf16 or fp16 alone"; }
    if (krylov_precond_is_apart(s->precond)) { return "has no preconditioner but none and jacobi"; }
    if (!single_plan_can_hold(m->nrows, m->nnz)) { return "has no room for a matrix of this size"; }
    return NULL;
}

/* What a plan of this kind runs. */
static single_method method_for(const tess_solver *s, bool cluster)
{
    const tess_recurrence asked = s->options.recurrence;

    if (s->method->kind == TESS_SOLVER_BICGSTAB) { return SINGLE_BICGSTAB; }
    if (asked == TESS_RECURRENCE_AUTO) { return cluster ? SINGLE_CG : SINGLE_CG_ONE_REDUCTION; }
    return asked == TESS_RECURRENCE_STANDARD ? SINGLE_CG : SINGLE_CG_ONE_REDUCTION;
}

static bool may_be_resident(const tess_solver *s, const single_limits *limits)
{
    const tess_matrix *m = solver_matrix(s);

    return single_may_be_resident(limits, m->nrows, m->nnz, method_for(s, false),
                                  (int)tess_precision_bytes(m->precision));
}

static bool fits(const tess_solver *s, const single_limits *limits, const single_plan *plan, bool resident)
{
    const int value_bytes = (int)tess_precision_bytes(solver_matrix(s)->precision);

    return single_shared_layout(plan, method_for(s, plan->cluster), value_bytes, resident).bytes <=
           limits->shared_bytes;
}

/* ---- the plan ---- */

typedef struct pattern {
    int64_t *row_ptr;
    int32_t *col_ind;
} pattern;

static void free_pattern(const tess_matrix *m, pattern *at)
{
    tess_host_release(m->ctx, at->row_ptr, m->nrows + 1, sizeof *at->row_ptr);
    tess_host_release(m->ctx, at->col_ind, m->nnz, sizeof *at->col_ind);
}

static tess_status read_pattern(const tess_matrix *m, pattern *at)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(m->ctx, m->nrows + 1, sizeof *at->row_ptr, (void **)&at->row_ptr));
    TESS_TRY(tess_host_allocate(m->ctx, m->nnz, sizeof *at->col_ind, (void **)&at->col_ind));
    status = m->ops->decode(m, at->row_ptr, at->col_ind, NULL);
cleanup:
    return status;
}

/* A cluster where it holds all, else a grid; plan->blocks is 0 where neither will do. */
static tess_status find_plan(const tess_solver *s, const single_limits *limits, bool asked, single_plan *plan)
{
    const tess_matrix *m = s->original;
    const int blocks[2] = {single_cluster_blocks(limits, m->nrows, m->nnz), single_grid_blocks(limits, m->nrows)};
    pattern at = {NULL, NULL};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(read_pattern(m, &at));
    for (int k = 0; k < 2; k++) {
        const bool cluster = k == 0;

        if (blocks[k] == 0) { continue; }
        TESS_TRY(single_plan_make(m->ctx, m->nrows, at.row_ptr, at.col_ind, blocks[k], cluster, plan));
        if (fits(s, limits, plan, true) || (asked && !cluster && fits(s, limits, plan, false))) { break; }
        single_plan_free(m->ctx, plan);
    }
cleanup:
    free_pattern(m, &at);
    return status;
}

/* ---- on the device ---- */

static tess_status upload(tess_context *ctx, const void *host, int64_t count, size_t size, void **out)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, count, size, out));
    status = ctx->backend->upload(ctx, *out, host, (size_t)count * size);
cleanup:
    return status;
}

static tess_status upload_plan(tess_context *ctx, const single_plan *host, single_plan *p)
{
    tess_status status = TESS_SUCCESS;

    *p = *host;
    p->row_ptr = p->row_begin = p->column_begin = p->own = p->column = NULL;
    p->place = NULL;
    p->column_capacity = host->column_begin[host->blocks];
    TESS_TRY(upload(ctx, host->row_ptr, (int64_t)host->n + 1, sizeof *p->row_ptr, (void **)&p->row_ptr));
    TESS_TRY(upload(ctx, host->row_begin, host->blocks + 1, sizeof *p->row_begin, (void **)&p->row_begin));
    TESS_TRY(upload(ctx, host->column_begin, host->blocks + 1, sizeof *p->column_begin, (void **)&p->column_begin));
    TESS_TRY(upload(ctx, host->own, host->blocks, sizeof *p->own, (void **)&p->own));
    TESS_TRY(upload(ctx, host->column, p->column_capacity, sizeof *p->column, (void **)&p->column));
    status = upload(ctx, host->place, host->nnz, sizeof *p->place, (void **)&p->place);
cleanup:
    return status;
}

static tess_status allocate_exchange(tess_context *ctx, single_kernel *k)
{
    const single_plan *p = &k->plan;
    tess_status status = TESS_SUCCESS;

    if (p->cluster) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(ctx, single_exchange_count(p), sizeof *k->exchange, (void **)&k->exchange));
    TESS_TRY(tess_device_allocate(ctx, single_slots_count(p), sizeof *k->slots, (void **)&k->slots));
    TESS_TRY(tess_device_allocate(ctx, single_flags_count(p), sizeof *k->flags, (void **)&k->flags));
    status = ctx->backend->zero(ctx, k->flags, (size_t)single_flags_count(p) * sizeof *k->flags);
cleanup:
    return status;
}

void single_kernel_destroy(tess_context *ctx, single_kernel *k)
{
    single_plan *p = k ? &k->plan : NULL;

    if (!k) { return; }
    tess_device_release(ctx, p->row_ptr, (int64_t)p->n + 1, sizeof *p->row_ptr);
    tess_device_release(ctx, p->row_begin, p->blocks + 1, sizeof *p->row_begin);
    tess_device_release(ctx, p->column_begin, p->blocks + 1, sizeof *p->column_begin);
    tess_device_release(ctx, p->own, p->blocks, sizeof *p->own);
    tess_device_release(ctx, p->column, p->column_capacity, sizeof *p->column);
    tess_device_release(ctx, p->place, p->nnz, sizeof *p->place);
    tess_device_release(ctx, k->exchange, single_exchange_count(p), sizeof *k->exchange);
    tess_device_release(ctx, k->slots, single_slots_count(p), sizeof *k->slots);
    tess_device_release(ctx, k->flags, single_flags_count(p), sizeof *k->flags);
    tess_host_release(ctx, k, 1, sizeof *k);
}

int64_t single_kernel_bytes(const single_kernel *k)
{
    const single_plan *p = &k->plan;
    const int64_t numbers = (int64_t)p->n + 1 + 3 * (int64_t)p->blocks + 2 + p->column_capacity;

    return numbers * (int64_t)sizeof(int32_t) + p->nnz * (int64_t)sizeof(uint16_t) +
           (single_exchange_count(p) + single_slots_count(p) + single_flags_count(p)) * (int64_t)sizeof(double);
}

/* ---- set-up ---- */

static tess_status make_single(tess_solver *s, const single_limits *limits, const single_plan *plan)
{
    single_kernel *k = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(s->ctx, 1, sizeof *k, (void **)&k));
    memset(k, 0, sizeof *k);
    s->krylov.single = k;
    k->shared_bytes = limits->shared_bytes;
    k->nanoseconds = PATIENCE_NANOSECONDS;
    k->method = method_for(s, plan->cluster);
    TESS_TRY(upload_plan(s->ctx, plan, &k->plan));
    status = allocate_exchange(s->ctx, k);
cleanup:
    return status;
}

static tess_status refuse(const tess_solver *s, bool asked, const char *why)
{
    if (!asked) {
        tess_log(s->ctx, TESS_LOG_DEBUG, "no single kernel: it %s", why);
        return TESS_SUCCESS;
    }
    return tess_fail(s->ctx, TESS_UNSUPPORTED, "use --engine auto, graph or plain", "the single kernel %s", why);
}

tess_status single_kernel_setup(tess_solver *s, bool asked)
{
    const tess_backend *backend = s->ctx->backend;
    single_limits limits = {0, 0, 0};
    single_plan plan = {.blocks = 0};
    const char *why = NULL;
    tess_status status = TESS_SUCCESS;

    why = refusal(s);
    if (why) { return refuse(s, asked, why); }
    if (backend->single_limits) { TESS_TRY(backend->single_limits(s->ctx, &limits)); }
    if (limits.blocks == 0) { return refuse(s, asked, "needs an NVIDIA GPU with cooperative launches"); }
    if (!asked && !may_be_resident(s, &limits)) { return refuse(s, asked, "has no room for this matrix"); }
    TESS_TRY(find_plan(s, &limits, asked, &plan));
    if (plan.blocks == 0) { return refuse(s, asked, "has no room for the vectors of this matrix in shared memory"); }
    status = make_single(s, &limits, &plan);
cleanup:
    single_plan_free(s->ctx, &plan);
    return status;
}
