/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/classical/plan_codes.h"

#include <string.h>

#include <omp.h>

#include "precond/multigrid/classical/interpolation_rows.h"
#include "precond/multigrid/classical/split.h"

/* ---- memory ---- */

static void release_codes(tess_context *ctx, amg_codes *c)
{
    tess_host_release(ctx, c->code, c->count, sizeof *c->code);
    tess_host_release(ctx, c->start, c->blocks + 1, sizeof *c->start);
    *c = (amg_codes){0};
}

void amg_weight_plan_release(tess_context *ctx, amg_weight_plan *plan)
{
    const int64_t coarse = plan->first ? plan->first[plan->nrows] : 0;

    release_codes(ctx, &plan->codes);
    tess_host_release(ctx, plan->offset, coarse, sizeof *plan->offset);
    tess_host_release(ctx, plan->diagonal, plan->nrows, sizeof *plan->diagonal);
    tess_host_release(ctx, plan->first, plan->nrows + 1, sizeof *plan->first);
    *plan = (amg_weight_plan){0};
}

void amg_product_plan_release(tess_context *ctx, amg_product_plan *plan)
{
    release_codes(ctx, &plan->codes);
    *plan = (amg_product_plan){0};
}

static tess_status open_codes(tess_context *ctx, int64_t nrows, amg_codes *c)
{
    tess_status status = TESS_SUCCESS;

    *c = (amg_codes){.blocks = (nrows + AMG_CODE_ROWS - 1) / AMG_CODE_ROWS};
    status = tess_host_allocate(ctx, c->blocks + 1, sizeof *c->start, (void **)&c->start);
    if (status == TESS_SUCCESS) { c->start[0] = 0; }
    return status;
}

/* start[b + 1] has the number of codes of block b. */
static tess_status make_room(tess_context *ctx, amg_codes *c)
{
    for (int64_t b = 0; b < c->blocks; b++) {
        c->start[b + 1] += c->start[b];
    }
    c->count = c->start[c->blocks];
    return tess_host_allocate(ctx, c->count, sizeof *c->code, (void **)&c->code);
}

static bool has_row_above(const host_csr *a, int64_t most)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        if (a->row_ptr[i + 1] - a->row_ptr[i] > most) { return true; }
    }
    return false;
}

/* ---- coarse neighbours ---- */

static int64_t count_coarse(const amg_interpolation *to, int64_t i)
{
    int64_t count = 0;

    if (to->split[i] == AMG_COARSE) { return 0; }
    for (int64_t k = to->a->row_ptr[i]; k < to->a->row_ptr[i + 1]; k++) {
        count += to->split[to->a->col_ind[k]] == AMG_COARSE;
    }
    return count;
}

static void list_row(const amg_interpolation *to, int64_t i, amg_weight_plan *plan)
{
    const host_csr *a = to->a;
    int64_t at = plan->first[i];

    plan->diagonal[i] = AMG_CODE_NONE;
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const uint8_t place = (uint8_t)(k - a->row_ptr[i]);

        if (a->col_ind[k] == i) { plan->diagonal[i] = place; }
        if (to->split[i] != AMG_COARSE && to->split[a->col_ind[k]] == AMG_COARSE) { plan->offset[at++] = place; }
    }
}

static tess_status list_coarse(tess_context *ctx, const amg_interpolation *to, amg_weight_plan *plan)
{
    const int64_t n = to->a->nrows;
    tess_status status = TESS_SUCCESS;

    plan->nrows = n;
    TESS_TRY(tess_host_allocate(ctx, n + 1, sizeof *plan->first, (void **)&plan->first));
    memset(plan->first, 0, (size_t)(n + 1) * sizeof *plan->first);
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *plan->diagonal, (void **)&plan->diagonal));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        plan->first[i + 1] = count_coarse(to, i);
    }
    for (int64_t i = 0; i < n; i++) {
        plan->first[i + 1] += plan->first[i];
    }
    TESS_TRY(tess_host_allocate(ctx, plan->first[n], sizeof *plan->offset, (void **)&plan->offset));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        list_row(to, i, plan);
    }
cleanup:
    return status;
}

/* ---- codes of interpolation ---- */

static bool goes_through(const amg_interpolation *to, int64_t k)
{
    return to->strong[k] && to->split[to->a->col_ind[k]] != AMG_COARSE;
}

static int64_t count_codes(const amg_interpolation *to, const amg_weight_plan *plan, int64_t i)
{
    const host_csr *a = to->a;
    int64_t count = a->row_ptr[i + 1] - a->row_ptr[i];

    if (to->split[i] == AMG_COARSE) { return 0; }
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (goes_through(to, k)) { count += 1 + plan->first[a->col_ind[k] + 1] - plan->first[a->col_ind[k]]; }
    }
    return count;
}

/* The place of column i in row k. */
static uint8_t find_place(const host_csr *a, int64_t k, int64_t i)
{
    for (int64_t m = a->row_ptr[k]; m < a->row_ptr[k + 1]; m++) {
        if (a->col_ind[m] == i) { return (uint8_t)(m - a->row_ptr[k]); }
    }
    return AMG_CODE_NONE;
}

/* What a row's codes are found from: its set, and the code of each member. */
typedef struct coder {
    const amg_interpolation *to;
    const amg_weight_plan *plan;
    const row_sum *set;
    uint8_t *code_of;
} coder;

static uint8_t code_of_column(const coder *c, int32_t j, uint8_t otherwise)
{
    const int32_t place = row_sum_find(c->set, j);

    return place >= 0 ? c->code_of[place] : otherwise;
}

static uint8_t *write_through(const coder *c, int64_t i, int32_t k, uint8_t *code)
{
    const host_csr *a = c->to->a;

    *code++ = AMG_CODE_THROUGH;
    *code++ = find_place(a, k, i);
    for (int64_t m = c->plan->first[k]; m < c->plan->first[k + 1]; m++) {
        *code++ = code_of_column(c, a->col_ind[a->row_ptr[k] + c->plan->offset[m]], AMG_CODE_NOWHERE);
    }
    return code;
}

static uint8_t *write_row(const coder *c, int64_t r, const int32_t *list, const host_csr *p, uint8_t *code)
{
    const amg_interpolation *to = c->to;
    const int64_t i = amg_row_of(to, r);

    memset(c->code_of, AMG_CODE_DROPPED, (size_t)c->set->count);
    for (int64_t k = p->row_ptr[r]; k < p->row_ptr[r + 1]; k++) {
        const int32_t place = row_sum_find(c->set, list[p->col_ind[k]]);

        if (place >= 0) { c->code_of[place] = (uint8_t)(k - p->row_ptr[r]); }
    }
    for (int64_t k = to->a->row_ptr[i]; k < to->a->row_ptr[i + 1]; k++) {
        const int32_t j = to->a->col_ind[k];

        if (goes_through(to, k)) {
            code = write_through(c, i, j, code);
        } else {
            *code++ = to->split[j] == AMG_COARSE ? code_of_column(c, j, AMG_CODE_DIAGONAL) : AMG_CODE_DIAGONAL;
        }
    }
    return code;
}

static void write_block(const amg_all_rows *all, const amg_weight_plan *plan, int64_t block, const int32_t *list,
                        const host_csr *p, uint8_t *code_of)
{
    amg_workspace w = amg_own_workspace(&all->w, omp_get_thread_num());
    const coder c = {.to = all->to, .plan = plan, .set = &w.set, .code_of = code_of};
    uint8_t *code = plan->codes.code + plan->codes.start[block];

    for (int64_t r = block * AMG_CODE_ROWS; r < amg_block_end(block, all->to->nrows); r++) {
        const amg_target t = {.to = all->to, .b = &all->b, .w = &w, .i = amg_row_of(all->to, r)};

        if (all->to->split[t.i] == AMG_COARSE) { continue; }
        amg_find_set(&t);
        code = write_row(&c, r, list, p, code);
    }
}

static tess_status write_all(tess_context *ctx, const amg_interpolation *to, const int32_t *list, const host_csr *p,
                             amg_weight_plan *plan)
{
    amg_all_rows all = {.to = to, .known = true};
    uint8_t *code_of = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_open_rows(ctx, &all));
    TESS_TRY(tess_host_allocate(ctx, all.w.threads * all.w.most, sizeof *code_of, (void **)&code_of));
#pragma omp parallel for num_threads(all.w.threads) schedule(dynamic, 1)
    for (int64_t b = 0; b < plan->codes.blocks; b++) {
        write_block(&all, plan, b, list, p, code_of + omp_get_thread_num() * all.w.most);
    }
cleanup:
    tess_host_release(ctx, code_of, all.w.threads * all.w.most, sizeof *code_of);
    amg_close_rows(ctx, &all);
    return status;
}

tess_status amg_make_weight_plan(tess_context *ctx, const amg_interpolation *to, const int32_t *list, const host_csr *p,
                                 amg_weight_plan *plan)
{
    tess_status status = TESS_SUCCESS;

    plan->made = has_row_above(to->a, AMG_CODE_MOST_KEPT) || has_row_above(p, AMG_CODE_MOST_KEPT);
    if (plan->made) { return TESS_SUCCESS; }
    TESS_TRY(list_coarse(ctx, to, plan));
    TESS_TRY(open_codes(ctx, to->nrows, &plan->codes));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t b = 0; b < plan->codes.blocks; b++) {
        plan->codes.start[b + 1] = 0;
        for (int64_t r = b * AMG_CODE_ROWS; r < amg_block_end(b, to->nrows); r++) {
            plan->codes.start[b + 1] += count_codes(to, plan, amg_row_of(to, r));
        }
    }
    TESS_TRY(make_room(ctx, &plan->codes));
    TESS_TRY(write_all(ctx, to, list, p, plan));
    plan->made = true;
cleanup:
    if (status != TESS_SUCCESS) { amg_weight_plan_release(ctx, plan); }
    return status;
}

/* ---- codes of products ---- */

static int64_t count_terms(const host_csr *a, const host_csr *b, int64_t i)
{
    int64_t terms = 0;

    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        terms += b->row_ptr[a->col_ind[k] + 1] - b->row_ptr[a->col_ind[k]];
    }
    return terms;
}

static uint8_t find_kept(const host_csr *p, int64_t i, int32_t j)
{
    for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++) {
        if (p->col_ind[k] == j) { return (uint8_t)(k - p->row_ptr[i]); }
    }
    return AMG_CODE_DROPPED;
}

static void write_products(const host_csr *a, const host_csr *b, const host_csr *p, int64_t block, uint8_t *code)
{
    for (int64_t i = block * AMG_CODE_ROWS; i < amg_block_end(block, a->nrows); i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const int32_t row = a->col_ind[k];

            for (int64_t m = b->row_ptr[row]; m < b->row_ptr[row + 1]; m++) {
                *code++ = find_kept(p, i, b->col_ind[m]);
            }
        }
    }
}

tess_status amg_make_product_plan(tess_context *ctx, const host_csr *a, const host_csr *b, const host_csr *p,
                                  amg_product_plan *plan)
{
    amg_codes *codes = &plan->codes;
    tess_status status = TESS_SUCCESS;

    plan->made = has_row_above(p, AMG_CODE_MOST_KEPT);
    if (plan->made) { return TESS_SUCCESS; }
    TESS_TRY(open_codes(ctx, a->nrows, codes));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t block = 0; block < codes->blocks; block++) {
        codes->start[block + 1] = 0;
        for (int64_t i = block * AMG_CODE_ROWS; i < amg_block_end(block, a->nrows); i++) {
            codes->start[block + 1] += count_terms(a, b, i);
        }
    }
    TESS_TRY(make_room(ctx, codes));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t block = 0; block < codes->blocks; block++) {
        write_products(a, b, p, block, codes->code + codes->start[block]);
    }
    plan->made = true;
cleanup:
    if (status != TESS_SUCCESS) { release_codes(ctx, codes); }
    return status;
}
