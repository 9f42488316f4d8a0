/* SPDX-License-Identifier: Apache-2.0 */
/* What a solve in one kernel is on a device that has such kernels: whether it gains, its plan and its memory. */
#include "solver/single_kernel/single_kernel.h"

#include <string.h>

#include "solver/method_solver.h"

/* Bytes of entries that the heaviest block may read from device memory in each product without a request by name: it
   reads them from the second-level cache, alone, in about a microsecond. */
enum { MAX_STREAMED = 128 << 10 };

/* A double in transit in a grid: its halves with numbers (dense/trsv_messages.cuh). */
enum { LETTER_WORDS = 2 };

static int64_t slot_words(const single_plan *p)
{
    return LETTER_WORDS * 2 * SINGLE_COPIES * SINGLE_MESSAGES * (int64_t)p->blocks;
}

/* Memory of a grid: its flags, slots and vectors in transit. */
static int64_t exchange_words(const single_plan *p, single_method method)
{
    return p->cluster ? 0 : SINGLE_FLAGS + slot_words(p) + LETTER_WORDS * single_windows(method) * (int64_t)p->n;
}

/* ---- what it is ---- */

/* The method of the kernel. */
static single_method method_for(const method_solver *s)
{
    if (s->method->kind == TESS_SOLVER_BICGSTAB) { return SINGLE_BICGSTAB; }
    switch (solve_options_recurrence(s->options)) {
    case TESS_RECURRENCE_STANDARD: return SINGLE_CG;
    case TESS_RECURRENCE_ONE_REDUCTION: return SINGLE_CG_ONE_REDUCTION;
    case TESS_RECURRENCE_AUTO:
        if (s->krylov.extension) { return SINGLE_CG; }
        break;
    case TESS_RECURRENCE_PREDICT_AND_RECOMPUTE: break;
    }
    return tess_precond_scale(s->precond) ? SINGLE_CG_RECOMPUTING_JACOBI : SINGLE_CG_RECOMPUTING;
}

tess_recurrence single_kernel_recurrence(single_method method)
{
    switch (method) {
    case SINGLE_CG_ONE_REDUCTION: return TESS_RECURRENCE_ONE_REDUCTION;
    case SINGLE_CG_RECOMPUTING:
    case SINGLE_CG_RECOMPUTING_JACOBI: return TESS_RECURRENCE_PREDICT_AND_RECOMPUTE;
    case SINGLE_CG:
    case SINGLE_BICGSTAB: break;
    }
    return TESS_RECURRENCE_STANDARD;
}

static bool may_be_resident(const method_solver *s, const single_limits *limits)
{
    const tess_matrix *m = solver_matrix(s);
    const int64_t entry = (int64_t)(tess_precision_bytes(m->precision) + sizeof(uint16_t));
    const int64_t bytes =
        single_rows_of(m) ? tess_matrix_bytes(m) : m->nrows * (int64_t)sizeof(int32_t) + m->nnz * entry;

    return single_may_be_resident(limits, m->nrows, bytes, method_for(s));
}

single_contents single_kernel_contents(single_method method, const tess_matrix *m, bool extended, bool resident)
{
    const single_rows *rows = single_rows_of(m);

    return (single_contents){.method = method,
                             .value_bytes = rows ? 0 : (int)tess_precision_bytes(m->precision),
                             .resident = resident,
                             .block_bytes = rows && extended ? rows->block_bytes : 0,
                             .run_bytes = rows && extended ? rows->run_bytes : 0};
}

static bool fits(const method_solver *s, const single_limits *limits, const single_plan *plan, bool resident)
{
    const single_contents what =
        single_kernel_contents(method_for(s), solver_matrix(s), s->krylov.extension != NULL, resident);

    const single_contents original = single_kernel_contents(method_for(s), s->original, false, false);

    /* The guard may change to the original, whose entries can be read from device memory. */
    return single_shared_layout(plan, &what).bytes <= limits->shared_bytes &&
           single_shared_layout(plan, &original).bytes <= limits->shared_bytes;
}

/* With entries read from device memory: allowed if they are few, or if requested by name. */
static bool may_stream(const method_solver *s, const single_limits *limits, bool asked, const single_plan *plan)
{
    const int64_t entry = (int64_t)(tess_precision_bytes(solver_matrix(s)->precision) + sizeof(uint16_t));
    const bool little = !single_rows_of(solver_matrix(s)) && plan->most_entries * entry <= MAX_STREAMED;

    return (little || (asked && !plan->cluster)) && fits(s, limits, plan, false);
}

/* ---- the plan ---- */

single_shape single_kernel_shape(const tess_matrix *m)
{
    const single_rows *rows = single_rows_of(m);

    return rows ? rows->shape(m) : (single_shape){.tiles = NULL};
}

/* A cluster if it holds everything, else a grid that does, else either with entries read from device memory;
   plan->blocks is 0 if none is possible. */
static tess_status find_plan(const method_solver *s, const single_limits *limits, bool asked, single_plan *plan)
{
    const tess_matrix *m = s->original;
    const int blocks[2] = {single_cluster_blocks(limits, m->nrows, m->nnz, method_for(s)),
                           single_grid_blocks(limits, m->nrows)};
    single_shape shape = single_kernel_shape(solver_matrix(s));
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < 4; k++) {
        const bool cluster = k % 2 == 0, streams = k >= 2;

        if (blocks[k % 2] == 0) { continue; }
        if (!asked && !single_may_gain(m->nrows, m->nnz, blocks[k % 2], cluster, method_for(s))) { continue; }
        shape.blocks = blocks[k % 2];
        shape.cluster = cluster;
        TESS_TRY(single_kernel_ops_of(m->ctx)->plan(m, &shape, plan));
        if (plan->blocks == 0) { continue; }
        if (streams ? may_stream(s, limits, asked, plan) : fits(s, limits, plan, true)) { break; }
        single_plan_release(m->ctx, plan);
    }
cleanup:
    return status;
}

bool single_kernel_gains(const method_solver *s, const single_limits *limits, bool asked)
{
    const tess_matrix *m = solver_matrix(s);
    const single_method method = method_for(s);

    if (!asked && !may_be_resident(s, limits)) { return false; }
    return asked || single_cluster_blocks(limits, m->nrows, m->nnz, method) > 0 ||
           single_may_gain(m->nrows, m->nnz, single_grid_blocks(limits, m->nrows), false, method);
}

/* ---- on the device ---- */

static tess_status allocate_exchange(tess_context *ctx, single_kernel *k)
{
    const single_plan *p = &k->plan;
    tess_status status = TESS_SUCCESS;

    if (p->cluster) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(ctx, exchange_words(p, k->method), sizeof *k->flags, (void **)&k->flags));
    k->slots = k->flags + SINGLE_FLAGS;
    k->exchange = k->slots + slot_words(p);
    /* the first arrival has the number 1 */
    status = ctx->backend->zero(ctx, k->flags, (size_t)single_kernel_exchange_bytes(k));
cleanup:
    return status;
}

void single_kernel_destroy(tess_context *ctx, single_kernel *k)
{
    if (!k) { return; }
    tess_device_release(ctx, k->flags, exchange_words(&k->plan, k->method), sizeof *k->flags);
    single_plan_release(ctx, &k->plan);
    tess_host_release(ctx, k, 1, sizeof *k);
}

int64_t single_kernel_exchange_bytes(const single_kernel *single)
{
    return exchange_words(&single->plan, single->method) * (int64_t)sizeof *single->flags;
}

int64_t single_kernel_bytes(const single_kernel *k)
{
    const single_plan *p = &k->plan;

    return p->memory_bytes + p->column_capacity * (int64_t)sizeof *p->column +
           exchange_words(p, k->method) * (int64_t)sizeof(uint64_t);
}

/* ---- set-up ---- */

/* Takes the plan. */
static tess_status make_single(method_solver *s, const single_limits *limits, single_plan *plan)
{
    single_kernel *k = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(s->ctx, 1, sizeof *k, (void **)&k));
    memset(k, 0, sizeof *k);
    s->krylov.single = k;
    k->plan = *plan;
    memset(plan, 0, sizeof *plan);
    k->shared_bytes = limits->shared_bytes;
    k->nanoseconds = TESS_WAIT_TIMEOUT_NANOSECONDS;
    k->method = method_for(s);
    status = allocate_exchange(s->ctx, k);
cleanup:
    return status;
}

tess_status single_kernel_make(method_solver *s, const single_limits *limits, bool asked, const char **why)
{
    single_plan plan = {.blocks = 0};
    tess_status status = TESS_SUCCESS;

    *why = "has no room for this matrix";
    if (!asked && !may_be_resident(s, limits)) { return TESS_SUCCESS; }
    TESS_TRY(find_plan(s, limits, asked, &plan));
    *why = "has no room for the vectors of this matrix in shared memory";
    if (plan.blocks == 0) { return TESS_SUCCESS; }
    *why = NULL;
    status = make_single(s, limits, &plan);
cleanup:
    single_plan_release(s->ctx, &plan);
    return status;
}
