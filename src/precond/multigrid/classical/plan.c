/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/classical/plan.h"

#include <omp.h>

#include "precond/multigrid/classical/interpolation_rows.h"
#include "precond/multigrid/classical/plan_codes.h"
#include "precond/multigrid/classical/split.h"
#include "precond/multigrid/classical/truncate.h"

enum { ROWS_AT_A_TIME = 256 };

/* ---- without a plan ---- */

/* Row r as the first time; what its pattern has is kept. */
static void interpolate_row_again(const amg_all_rows *all, int64_t r, const int32_t *list, host_csr *p)
{
    const int64_t first = p->row_ptr[r], count = p->row_ptr[r + 1] - first;
    amg_workspace w = amg_own_workspace(&all->w, omp_get_thread_num());
    const amg_target t = {.to = all->to, .b = &all->b, .w = &w, .i = amg_row_of(all->to, r)};

    if (all->to->split[t.i] == AMG_COARSE) { return; } /* 1, as it was */
    amg_find_set(&t);
    amg_find_weights(&t);
    for (int64_t k = first; k < first + count; k++) {
        const int32_t place = row_sum_find(&w.set, list[p->col_ind[k]]);

        p->val[k] = place >= 0 ? w.set.val[place] : 0.0;
    }
    amg_scale_row(w.set.count, w.set.val, count, p->val + first);
}

static tess_status interpolate_without(tess_context *ctx, const amg_interpolation *to, const int32_t *list, host_csr *p)
{
    amg_all_rows all = {.to = to, .known = true};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(amg_open_rows(ctx, &all));
#pragma omp parallel for num_threads(all.w.threads) schedule(dynamic, ROWS_AT_A_TIME)
    for (int64_t r = 0; r < to->nrows; r++) {
        interpolate_row_again(&all, r, list, p);
    }
cleanup:
    amg_close_rows(ctx, &all);
    return status;
}

/* ---- with a plan ---- */

/* The values of A that rows share: of coarse neighbours 0 where the coupling has the sign of the diagonal, and whether
   the diagonal is negative. */
typedef struct shared_values {
    double *coarse;
    bool *negative;
} shared_values;

static void find_shared(const tess_context *ctx, const host_csr *a, const amg_weight_plan *plan, shared_values *out)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t i = 0; i < a->nrows; i++) {
        const double *row = a->val + a->row_ptr[i];

        out->negative[i] = plan->diagonal[i] != AMG_CODE_NONE && row[plan->diagonal[i]] < 0.0;
        for (int64_t m = plan->first[i]; m < plan->first[i + 1]; m++) {
            const double value = row[plan->offset[m]];

            out->coarse[m] = (value < 0.0) == out->negative[i] ? 0.0 : value;
        }
    }
}

/* The coupling a_ik by way of k; eq. (4.10) and (4.11). Returns the next code. */
static inline const uint8_t *distribute(const host_csr *a, const amg_weight_plan *plan, const shared_values *shared,
                                        int32_t k, double coupling, const uint8_t *code, double *w)
{
    const uint8_t place = *code++;
    const int64_t first = plan->first[k], length = plan->first[k + 1] - first;
    const double *coarse = shared->coarse + first;
    double own = place != AMG_CODE_NONE ? a->val[a->row_ptr[k] + place] : 0.0, sum = 0.0, factor = 0.0;

    if ((own < 0.0) == shared->negative[k]) { own = 0.0; }
    sum = own;
    for (int64_t m = 0; m < length; m++) {
        sum += code[m] != AMG_CODE_NOWHERE ? coarse[m] : 0.0;
    }
    if (sum == 0.0) {
        w[AMG_CODE_DIAGONAL] += coupling;
        return code + length;
    }
    factor = coupling / sum;
    w[AMG_CODE_DIAGONAL] += factor * own;
    for (int64_t m = 0; m < length; m++) {
        w[code[m]] += factor * coarse[m];
    }
    return code + length;
}

/* Scales the sums of a row and writes those that are kept. */
static void finish_row(double *w, double factor, int64_t count, double *val)
{
    double all = w[AMG_CODE_DROPPED];

    for (int64_t s = 0; s < count; s++) {
        all += w[s];
        val[s] = factor * w[s];
    }
    amg_scale_to_sum(factor * all, count, val);
}

static void clear_row(int64_t count, double *w)
{
    for (int64_t s = 0; s < count; s++) {
        w[s] = 0.0;
    }
    w[AMG_CODE_DROPPED] = w[AMG_CODE_DIAGONAL] = 0.0;
}

static const uint8_t *weigh_row(const amg_interpolation *to, const amg_weight_plan *plan, const shared_values *shared,
                                int64_t r, const uint8_t *code, double *w, host_csr *p)
{
    const host_csr *a = to->a;
    const int64_t i = amg_row_of(to, r), first = p->row_ptr[r], count = p->row_ptr[r + 1] - first;

    if (to->split[i] == AMG_COARSE) { return code; }
    clear_row(count, w);
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const uint8_t own = *code++;

        if (own == AMG_CODE_THROUGH) {
            code = distribute(a, plan, shared, a->col_ind[k], a->val[k], code, w);
        } else {
            w[own] += a->val[k];
        }
    }
    finish_row(w, w[AMG_CODE_DIAGONAL] != 0.0 ? -1.0 / w[AMG_CODE_DIAGONAL] : 0.0, count, p->val + first);
    return code;
}

static tess_status interpolate_with(tess_context *ctx, const amg_interpolation *to, const amg_weight_plan *plan,
                                    host_csr *p)
{
    const int64_t n = to->a->nrows, coarse = plan->first[n];
    shared_values shared = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, coarse, sizeof *shared.coarse, (void **)&shared.coarse));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *shared.negative, (void **)&shared.negative));
    find_shared(ctx, to->a, plan, &shared);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1)
    for (int64_t b = 0; b < plan->codes.blocks; b++) {
        const uint8_t *code = plan->codes.code + plan->codes.start[b];
        double w[AMG_CODES];

        for (int64_t r = b * AMG_CODE_ROWS; r < amg_block_end(b, to->nrows); r++) {
            code = weigh_row(to, plan, &shared, r, code, w, p);
        }
    }
cleanup:
    tess_host_release(ctx, shared.coarse, coarse, sizeof *shared.coarse);
    tess_host_release(ctx, shared.negative, n, sizeof *shared.negative);
    return status;
}

tess_status amg_interpolate_again(tess_context *ctx, const amg_interpolation *to, const int32_t *list,
                                  amg_weight_plan *plan, host_csr *p)
{
    tess_status status = TESS_SUCCESS;

    if (!plan->made) { TESS_TRY(amg_make_weight_plan(ctx, to, list, p, plan)); }
    status = plan->codes.code ? interpolate_with(ctx, to, plan, p) : interpolate_without(ctx, to, list, p);
cleanup:
    return status;
}

/* ---- products ---- */

static const uint8_t *multiply_row(const host_csr *a, const host_csr *b, int64_t i, const uint8_t *code, double *w,
                                   host_csr *p)
{
    const int64_t first = p->row_ptr[i], count = p->row_ptr[i + 1] - first;

    clear_row(count, w);
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        const int32_t row = a->col_ind[k];

        for (int64_t m = b->row_ptr[row]; m < b->row_ptr[row + 1]; m++) {
            w[*code++] += a->val[k] * b->val[m];
        }
    }
    finish_row(w, 1.0, count, p->val + first);
    return code;
}

/* p's values from those of the whole product `full`; both sorted. */
static void restrict_row(const host_csr *full, int64_t i, host_csr *p)
{
    const int64_t first = p->row_ptr[i], count = p->row_ptr[i + 1] - first;
    int64_t m = full->row_ptr[i];

    for (int64_t k = first; k < first + count; k++) {
        while (m < full->row_ptr[i + 1] && full->col_ind[m] < p->col_ind[k]) {
            m++;
        }
        p->val[k] = m < full->row_ptr[i + 1] && full->col_ind[m] == p->col_ind[k] ? full->val[m] : 0.0;
    }
    amg_scale_row(full->row_ptr[i + 1] - full->row_ptr[i], full->val + full->row_ptr[i], count, p->val + first);
}

static tess_status multiply_without(tess_context *ctx, const host_csr *a, const host_csr *b, host_csr *p)
{
    host_csr full = {0};
    tess_status status = host_csr_multiply(ctx, a, b, true, &full);

    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t i = 0; i < p->nrows; i++) {
        restrict_row(&full, i, p);
    }
    host_csr_release(ctx, &full);
    return TESS_SUCCESS;
}

tess_status amg_multiply_truncated_again(tess_context *ctx, const host_csr *a, const host_csr *b,
                                         amg_product_plan *plan, host_csr *p)
{
    tess_status status = TESS_SUCCESS;

    if (!plan->made) { TESS_TRY(amg_make_product_plan(ctx, a, b, p, plan)); }
    if (!plan->codes.code) { return multiply_without(ctx, a, b, p); }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1)
    for (int64_t block = 0; block < plan->codes.blocks; block++) {
        const uint8_t *code = plan->codes.code + plan->codes.start[block];
        double w[AMG_CODES];

        for (int64_t i = block * AMG_CODE_ROWS; i < amg_block_end(block, p->nrows); i++) {
            code = multiply_row(a, b, i, code, w, p);
        }
    }
cleanup:
    return status;
}
