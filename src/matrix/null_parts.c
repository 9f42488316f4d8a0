/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/null_parts.h"

#include <math.h>
#include <string.h>

#include "base/offsets.h"
#include "matrix/assemble.h"

/* The exponent of a factor that is a normal number, and so is its inverse. */
enum { MAX_EXPONENT = 1000 };

double null_share(const null_sum *of_b, int64_t rows)
{
    const double sum = tess_two_word_value(of_b->sum);

    return isfinite(sum) ? sum * sum / (double)rows : 0.0;
}

double null_parts_scale(int64_t n, const double *b)
{
    double largest = 0.0;
    int exponent = 0;

    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(b[i]));
    }
    if (!isfinite(largest)) { return 1.0; }
    (void)frexp(largest, &exponent);
    return ldexp(1.0, exponent > MAX_EXPONENT ? -MAX_EXPONENT : exponent < -MAX_EXPONENT ? MAX_EXPONENT : -exponent);
}

void null_parts_release(tess_context *ctx, null_parts *p)
{
    tess_host_release(ctx, p->of_row, p->n, sizeof *p->of_row);
    tess_host_release(ctx, p->part, p->count, sizeof *p->part);
    *p = (null_parts){0};
}

/* ---- the search by rows ---- */

enum { UNSEEN = -2, OPEN = -1 };

static int64_t offset(const tess_csr_view *a, int64_t i)
{
    return tess_row_offset(a->row_ptr, a->row_ptr_bits, i);
}

/* Most rows of most matrices end the search. */
static bool row_is_null(const tess_csr_view *a, int64_t i)
{
    const int64_t begin = offset(a, i), end = offset(a, i + 1);
    null_row_sum row = {0.0, 0.0};

    for (int64_t from = begin; from < end; from += NULL_ROW_PART) {
        null_row_sum part = {0.0, 0.0};

        for (int64_t k = from; k < end && k < from + NULL_ROW_PART; k++) {
            part.sum += a->val[k];
            part.magnitude += fabs(a->val[k]);
        }
        row.sum += part.sum;
        row.magnitude += part.magnitude;
    }
    return null_row_holds(&row, end - begin);
}

static void mark_null_rows(const tess_csr_view *a, int threads, int32_t *of_row)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < a->nrows; i++) {
        of_row[i] = row_is_null(a, i) ? UNSEEN : OPEN;
    }
}

/* The rows that row list[0] reaches, before any that is not null or leads to one; their number, or -1 - their number
   where there is one. */
static int64_t follow(const tess_csr_view *a, int32_t label, int32_t *of_row, int32_t *list)
{
    int64_t listed = 1;

    for (int64_t seen = 0; seen < listed; seen++) {
        const int64_t i = list[seen], end = offset(a, i + 1);

        for (int64_t k = offset(a, i); k < end; k++) {
            const int32_t j = a->col_ind[k];

            if (a->val[k] == 0.0 || of_row[j] == label) { continue; }
            if (of_row[j] != UNSEEN) { return -1 - listed; }
            of_row[j] = label;
            list[listed++] = j;
        }
    }
    return listed;
}

/* Labels candidates from 0; returns their number. Each row is listed once. */
static int32_t label_rows(const tess_csr_view *a, int32_t *of_row, int32_t *list)
{
    int32_t count = 0;

    for (int64_t i = 0; i < a->nrows; i++) {
        int64_t listed = 0;

        if (of_row[i] != UNSEEN) { continue; }
        of_row[i] = count;
        list[0] = (int32_t)i;
        listed = follow(a, count, of_row, list);
        for (int64_t k = 0; k < -1 - listed; k++) {
            of_row[list[k]] = OPEN;
        }
        count += listed > 0;
    }
    return count;
}

/* ---- the proof by columns ---- */

/* No entry leads out of a part or into it, and columns sum to 0. */
static void examine_columns(const tess_csr_view *a, const int32_t *of_row, null_sum *column, null_part *part)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        const int32_t mine = of_row[i];

        for (int64_t k = offset(a, i); k < offset(a, i + 1); k++) {
            const int32_t other = of_row[a->col_ind[k]];

            if (other >= 0) { null_sum_add(&column[a->col_ind[k]], a->val[k]); }
            if (mine == other || a->val[k] == 0.0) { continue; }
            if (mine >= 0) { part[mine].rows = -1; }
            if (other >= 0) { part[other].rows = -1; }
        }
    }
    for (int64_t i = a->nrows - 1; i >= 0; i--) {
        null_part *mine = of_row[i] < 0 ? NULL : &part[of_row[i]];

        if (!mine || mine->rows < 0) { continue; }
        mine->rows = null_sum_holds(&column[i]) ? mine->rows + 1 : -1;
        mine->first = i;
        mine->exact = mine->exact && null_sum_is_exact(&column[i]);
        if (column[i].terms > mine->terms) { mine->terms = (int32_t)column[i].terms; }
    }
}

/* Leaves the parts that hold; `renamed`: count values of work space. */
static void keep_proved(null_parts *p, int64_t candidates, const null_part *found, int32_t *renamed)
{
    int32_t kept = 0;

    for (int64_t c = 0; c < candidates; c++) {
        renamed[c] = found[c].rows > 0 ? kept : OPEN;
        if (found[c].rows > 0) { p->part[kept++] = found[c]; }
    }
    for (int64_t i = 0; i < p->n; i++) {
        if (p->of_row[i] >= 0) { p->of_row[i] = renamed[p->of_row[i]]; }
    }
}

static tess_status prove(tess_context *ctx, const tess_csr_view *a, int32_t candidates, int32_t *list, null_parts *p)
{
    null_part *found = NULL;
    null_sum *column = NULL;
    int64_t count = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, a->nrows, sizeof *column, (void **)&column));
    TESS_TRY(tess_host_allocate(ctx, candidates, sizeof *found, (void **)&found));
    memset(column, 0, (size_t)a->nrows * sizeof *column);
    for (int32_t c = 0; c < candidates; c++) {
        found[c] = (null_part){.exact = true};
    }
    examine_columns(a, p->of_row, column, found);
    for (int32_t c = 0; c < candidates; c++) {
        count += found[c].rows > 0;
    }
    if (count == 0) { goto cleanup; }
    TESS_TRY(tess_host_allocate(ctx, count, sizeof *p->part, (void **)&p->part));
    p->count = count;
    keep_proved(p, candidates, found, list);
cleanup:
    tess_host_release(ctx, column, a->nrows, sizeof *column);
    tess_host_release(ctx, found, candidates, sizeof *found);
    return status;
}

tess_status null_parts_find(tess_context *ctx, const tess_csr_view *a, null_parts *out)
{
    const int64_t n = a->nrows;
    int32_t *list = NULL, candidates = 0;
    tess_status status = TESS_SUCCESS;

    *out = (null_parts){.n = n};
    if (a->nrows != a->ncols) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *out->of_row, (void **)&out->of_row));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *list, (void **)&list));
    mark_null_rows(a, tess_io_threads(ctx, a->nnz), out->of_row);
    candidates = label_rows(a, out->of_row, list);
    if (candidates > 0) { status = prove(ctx, a, candidates, list, out); }
cleanup:
    tess_host_release(ctx, list, n, sizeof *list);
    if (out->count == 0) { null_parts_release(ctx, out); }
    return status;
}

/* ---- a right-hand side ---- */

/* The sums of the parts, of scaled values. Returns ||b||^2 so scaled. */
static double add_up(const null_parts *p, const double *b, double scale, null_sum *sums)
{
    double squares = 0.0;

    for (int64_t i = 0; i < p->n; i++) {
        const double value = scale * b[i];

        squares += value * value;
        if (p->of_row[i] >= 0) { null_sum_add(&sums[p->of_row[i]], value); }
    }
    return squares;
}

/* What a sum of shares, each of a part, has come to. */
typedef struct share_sum {
    double sum, most;
    null_part worst;
} share_sum;

static void add_share(share_sum *s, double share, const null_part *part)
{
    s->sum += share;
    if (share <= s->most) { return; }
    s->most = share;
    s->worst = *part;
}

static null_judgement judge(const null_parts *p, const double *b, null_sum *sums)
{
    const double scale = null_parts_scale(p->n, b), squares = add_up(p, b, scale, sums);
    const double limit = LEAST_INCONSISTENCY * sqrt(squares);
    share_sum exact = {0}, near = {0};
    null_judgement out = {.norm = sqrt(squares) / scale};

    for (int64_t k = 0; k < p->count; k++) {
        const null_part *part = &p->part[k];
        const double share = null_share(&sums[k], part->rows);

        if (part->exact) { add_share(&exact, share, part); }
        if (part->exact) { continue; }
        if (part->terms > out.near_terms) { out.near_terms = part->terms; }
        if (!is_null_sum(tess_two_word_value(sums[k].sum), sums[k].magnitude, part->rows)) {
            add_share(&near, share, part);
        }
    }
    out.worst = exact.worst;
    out.near_worst = near.worst;
    if (!isfinite(squares)) { return out; }
    if (sqrt(exact.sum) > limit) { out.least = sqrt(exact.sum) / scale; }
    if (sqrt(near.sum) > limit) { out.near = sqrt(exact.sum + near.sum) / scale; }
    return out;
}

tess_status null_parts_judge(tess_context *ctx, const null_parts *p, const double *b, null_judgement *out)
{
    null_sum *sums = NULL;
    tess_status status = TESS_SUCCESS;

    *out = (null_judgement){0};
    if (p->count == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, p->count, sizeof *sums, (void **)&sums));
    memset(sums, 0, (size_t)p->count * sizeof *sums);
    *out = judge(p, b, sums);
cleanup:
    tess_host_release(ctx, sums, p->count, sizeof *sums);
    return status;
}

tess_status null_parts_project(tess_context *ctx, const null_parts *p, double *r)
{
    double *mean = NULL;
    tess_status status = TESS_SUCCESS;

    if (p->count == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, p->count, sizeof *mean, (void **)&mean));
    memset(mean, 0, (size_t)p->count * sizeof *mean);
    for (int64_t i = 0; i < p->n; i++) {
        if (p->of_row[i] >= 0) { mean[p->of_row[i]] += r[i] / (double)p->part[p->of_row[i]].rows; }
    }
    for (int64_t i = 0; i < p->n; i++) {
        if (p->of_row[i] >= 0) { r[i] -= mean[p->of_row[i]]; }
    }
cleanup:
    tess_host_release(ctx, mean, p->count, sizeof *mean);
    return status;
}
