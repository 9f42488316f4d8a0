/* SPDX-License-Identifier: Apache-2.0 */
/* Systems of which no x meets the tolerance: 1^T (b - A x) = 1^T b where the columns of A sum to 0, in the whole matrix
   or in a part of it without couplings to the rest. */
#include <math.h>
#include <string.h>

#include "auto/auto.h"
#include "format/csr/csr.h"

/* By this factor at least the tolerance must be missed: the bound holds up to rounding. */
#define CLEARLY 2.0

/* An attempt ends this near to the least residual: from there on x grows along the null vector. */
#define NEAR_LEAST 1.01
#define NEAR_REST 0x1p-6

/* ---- the parts ---- */

void drop_parts(const tess_solver *s, auto_solve *state)
{
    tess_host_release(s->ctx, state->part, s->original->nrows, sizeof *state->part);
    tess_host_release(s->ctx, state->part_rows, state->parts, sizeof *state->part_rows);
    state->part = NULL;
    state->part_rows = NULL;
    state->parts = 0;
}

enum { UNSEEN = -2, NO_PART = -1 };

/* Row i: whether it sums to 0, with a nonzero. Its neighbours that none has seen go to the list. */
static bool visit(const csr_view *v, int32_t i, int32_t label, int32_t *part, int32_t *list, int64_t *listed)
{
    const double *val = v->val;
    const int64_t begin = csr_offset(v, i), end = csr_offset(v, i + 1);
    double sum = 0.0, magnitude = 0.0;

    for (int64_t k = begin; k < end; k++) {
        const int32_t j = v->col_ind[k];

        if (val[k] == 0.0) { continue; }
        sum += val[k];
        magnitude += fabs(val[k]);
        if (part[j] != UNSEEN) { continue; }
        part[j] = label;
        list[(*listed)++] = j;
    }
    return magnitude > 0.0 && is_null_sum(sum, magnitude, end - begin);
}

/* Labels the parts from 0; returns their number. `list`: n rows; the rows of each part are left in `rows`. */
static int32_t label_parts(const csr_view *v, int32_t *part, int32_t *list, int64_t *rows)
{
    int32_t count = 0;

    for (int64_t i = 0; i < v->nrows; i++) {
        part[i] = UNSEEN;
    }
    for (int64_t i = 0; i < v->nrows; i++) {
        int64_t listed = 1;
        bool null = true;

        if (part[i] != UNSEEN) { continue; }
        part[i] = count;
        list[0] = (int32_t)i;
        for (int64_t k = 0; k < listed; k++) {
            null = visit(v, list[k], count, part, list, &listed) && null;
        }
        for (int64_t k = 0; k < listed && !null; k++) {
            part[list[k]] = NO_PART;
        }
        if (null) { rows[count++] = listed; }
    }
    return count;
}

tess_status find_parts(const tess_solver *s, auto_solve *state)
{
    const int64_t n = s->original->nrows;
    tess_host_matrix host = {0};
    int32_t *list = NULL;
    int64_t *rows = NULL;
    int32_t count = 0;
    tess_status status = TESS_SUCCESS;

    drop_parts(s, state);
    if (!state->facts.symmetric || state->facts.null_rows == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(s->ctx, n, sizeof *list, (void **)&list));
    TESS_TRY(tess_host_allocate(s->ctx, n, sizeof *rows, (void **)&rows));
    TESS_TRY(tess_host_allocate(s->ctx, n, sizeof *state->part, (void **)&state->part));
    TESS_TRY(tess_matrix_on_host(s->original, &host));
    count = label_parts(&csr_of(host.matrix)->view, state->part, list, rows);
    if (count == 0) { goto cleanup; }
    TESS_TRY(tess_host_allocate(s->ctx, count, sizeof *rows, (void **)&state->part_rows));
    memcpy(state->part_rows, rows, (size_t)count * sizeof *rows);
    state->parts = count;
cleanup:
    tess_host_matrix_release(&host);
    tess_host_release(s->ctx, list, n, sizeof *list);
    tess_host_release(s->ctx, rows, n, sizeof *rows);
    if (state->parts == 0) { drop_parts(s, state); }
    return status;
}

/* ---- a right-hand side ---- */

typedef struct part_sum {
    double sum, magnitude;
    int64_t first; /* row */
} part_sum;

/* A lower bound of the relative residual of any x: the root of the sum over the parts of (1^T b)^2 / rows, over ||b||;
   0: none is known. `sums`: one for each part, zeros. */
static double least_residual(auto_solve *state, const double *b, part_sum *sums, double *norm)
{
    const int64_t n = state->facts.n;
    double largest = 0.0, squares = 0.0, least = 0.0, worst = 0.0;

    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(b[i]));
    }
    for (int64_t i = n - 1; i >= 0 && largest > 0.0; i--) {
        const double value = b[i] / largest;

        squares += value * value;
        if (state->part[i] < 0) { continue; }
        sums[state->part[i]].sum += value;
        sums[state->part[i]].magnitude += fabs(value);
        sums[state->part[i]].first = i;
    }
    *norm = largest * sqrt(squares);
    for (int64_t p = 0; p < state->parts; p++) {
        const double share = sums[p].sum * sums[p].sum / (double)state->part_rows[p];

        if (!isfinite(share) || is_null_sum(sums[p].sum, sums[p].magnitude, state->part_rows[p])) { continue; }
        least += share;
        if (share <= worst) { continue; }
        worst = share;
        state->torn_row = sums[p].first;
        state->torn_rows = state->part_rows[p];
    }
    return least > 0.0 && isfinite(squares) ? sqrt(least / squares) : 0.0;
}

tess_status find_unreachable(const tess_solver *s, auto_solve *state, const tess_vector *b)
{
    double *values = NULL, least = 0.0, norm = 0.0;
    part_sum *sums = NULL;
    tess_status status = TESS_SUCCESS;

    state->unreachable = state->floor = 0.0;
    if (state->parts == 0 || s->options.atol > 0.0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(s->ctx, b->n, sizeof *values, (void **)&values));
    TESS_TRY(tess_host_allocate(s->ctx, state->parts, sizeof *sums, (void **)&sums));
    memset(sums, 0, (size_t)state->parts * sizeof *sums);
    TESS_TRY(s->ctx->backend->download(s->ctx, values, b->data, (size_t)b->n * sizeof *values));
    least = least_residual(state, values, sums, &norm);
    if (least > CLEARLY * s->options.rtol) {
        state->unreachable = least;
        /* of the whole matrix: a method leaves the part that no x changes out of its residual */
        state->floor = (state->torn_rows == b->n ? NEAR_REST : NEAR_LEAST) * least * norm;
    }
cleanup:
    tess_host_release(s->ctx, values, b->n, sizeof *values);
    tess_host_release(s->ctx, sums, state->parts, sizeof *sums);
    return status;
}
