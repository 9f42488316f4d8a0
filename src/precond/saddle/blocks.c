/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a saddle point, and matrices for its Schur complement. */
#include "precond/saddle/blocks.h"

#include <math.h>
#include <string.h>

enum { SERIAL_ENTRIES = 8192 };

void saddle_blocks_release(tess_context *ctx, saddle_blocks *blocks)
{
    tess_host_release(ctx, blocks->diagonal, blocks->split ? blocks->split->unknowns : 0, sizeof *blocks->diagonal);
    host_csr_release(ctx, &blocks->a);
    host_csr_release(ctx, &blocks->f);
    host_csr_release(ctx, &blocks->b);
    host_csr_release(ctx, &blocks->c);
    blocks->diagonal = NULL;
}

/* ---- blocks ---- */

/* Entries of row i of the matrix in the columns of one block; column and val NULL: counts alone. */
static int64_t take_row(const host_csr *k, const saddle_split *s, int64_t i, bool second, int32_t *column, double *val)
{
    int64_t count = 0;

    for (int64_t e = k->row_ptr[i]; e < k->row_ptr[i + 1]; e++) {
        const int32_t place = s->place[k->col_ind[e]];

        if ((place < 0) != second) { continue; }
        if (column) {
            column[count] = second ? ~place : place;
            val[count] = k->val[e];
        }
        count++;
    }
    return count;
}

static tess_status take_block(tess_context *ctx, const host_csr *k, const saddle_split *s, bool low, bool right,
                              host_csr *out)
{
    const int32_t *rows = s->rows + (low ? s->unknowns : 0);
    const int64_t nrows = low ? s->constraints : s->unknowns;
    tess_status status = host_csr_allocate_rows(ctx, nrows, right ? s->constraints : s->unknowns, out);

    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nrows > SERIAL_ENTRIES)
    for (int64_t i = 0; i < nrows; i++) {
        out->row_ptr[i + 1] = take_row(k, s, rows[i], right, NULL, NULL);
    }
    host_csr_sum_lengths(out);
    TESS_TRY(host_csr_allocate_entries(ctx, out));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nrows > SERIAL_ENTRIES)
    for (int64_t i = 0; i < nrows; i++) {
        (void)take_row(k, s, rows[i], right, out->col_ind + out->row_ptr[i], out->val + out->row_ptr[i]);
    }
cleanup:
    if (status != TESS_SUCCESS) { host_csr_release(ctx, out); }
    return status;
}

/* ---- what is wrong ---- */

static bool is_empty_row(const host_csr *a, int64_t i)
{
    if (!a->row_ptr) { return true; }
    for (int64_t e = a->row_ptr[i]; e < a->row_ptr[i + 1]; e++) {
        if (a->val[e] != 0.0) { return false; }
    }
    return true;
}

static tess_status check_finite(tess_context *ctx, const host_csr *k)
{
    for (int64_t i = 0; i < k->nrows; i++) {
        for (int64_t e = k->row_ptr[i]; e < k->row_ptr[i + 1]; e++) {
            if (!isfinite(k->val[e])) {
                return tess_fail(ctx, TESS_SINGULAR, "replace these values, or leave out the preconditioner",
                                 "saddle: the matrix has NaN or Inf, first seen in row %lld", tess_number(ctx, i));
            }
        }
    }
    return TESS_SUCCESS;
}

static tess_status check_rows(tess_context *ctx, const saddle_blocks *blocks)
{
    const saddle_split *s = blocks->split;

    for (int64_t i = 0; i < s->unknowns; i++) {
        if (blocks->diagonal[i] == 0.0) {
            return tess_fail(ctx, TESS_SINGULAR, "leave the rows of the second block to the library, or name them all",
                             "saddle: row %lld belongs to the first block, but has no diagonal entry",
                             tess_number(ctx, s->rows[i]));
        }
    }
    for (int64_t i = 0; i < s->constraints; i++) {
        if (is_empty_row(&blocks->b, i) && is_empty_row(&blocks->c, i)) {
            return tess_fail(ctx, TESS_SINGULAR, "remove the constraint; the matrix is singular",
                             "saddle: row %lld is a constraint without entries",
                             tess_number(ctx, saddle_constraint(s, i)));
        }
    }
    return TESS_SUCCESS;
}

/* ---- facts of A ---- */

/* A row of a Laplacian sums to 0, but for those at a boundary. */
#define NEARLY_NULL 0x1p-7

int64_t saddle_count_null_rows(const host_csr *a)
{
    int64_t count = 0;

    for (int64_t i = 0; i < a->nrows; i++) {
        double sum = 0.0, size = 0.0;

        for (int64_t e = a->row_ptr[i]; e < a->row_ptr[i + 1]; e++) {
            sum += a->val[e];
            size += fabs(a->val[e]);
        }
        count += size > 0.0 && fabs(sum) <= NEARLY_NULL * size;
    }
    return count;
}

/* Of row i: the entries of both matrices by ascending columns. */
static void compare_rows(const host_csr *a, const host_csr *t, int64_t i, double *difference, double *sum)
{
    int64_t e = a->row_ptr[i], k = t->row_ptr[i];

    while (e < a->row_ptr[i + 1] || k < t->row_ptr[i + 1]) {
        const int32_t left = e < a->row_ptr[i + 1] ? a->col_ind[e] : INT32_MAX;
        const int32_t right = k < t->row_ptr[i + 1] ? t->col_ind[k] : INT32_MAX;
        const double x = left <= right ? a->val[e] : 0.0, y = right <= left ? t->val[k] : 0.0;

        if (left != i && right != i) {
            *difference += fabs(x - y);
            *sum += fabs(x) + fabs(y);
        }
        e += left <= right;
        k += right <= left;
    }
}

tess_status saddle_find_skewness(tess_context *ctx, const host_csr *a, double *skewness)
{
    double difference = 0.0, sum = 0.0;
    host_csr t = {0};
    const tess_status status = host_csr_transpose(ctx, a, &t);

    *skewness = 0.0;
    if (status != TESS_SUCCESS) { return status; }
    for (int64_t i = 0; i < a->nrows; i++) {
        compare_rows(a, &t, i, &difference, &sum);
    }
    if (sum > 0.0) { *skewness = difference / sum; }
    host_csr_release(ctx, &t);
    return TESS_SUCCESS;
}

static void look_at_a(saddle_blocks *blocks)
{
    const host_csr *a = &blocks->a;

    blocks->diagonal_alone = true;
    for (int64_t i = 0; i < a->nrows; i++) {
        blocks->diagonal[i] = 0.0;
        for (int64_t e = a->row_ptr[i]; e < a->row_ptr[i + 1]; e++) {
            if (a->col_ind[e] == i) {
                blocks->diagonal[i] = a->val[e];
            } else if (a->val[e] != 0.0) {
                blocks->diagonal_alone = false;
            }
        }
    }
    blocks->null_rows = saddle_count_null_rows(a);
}

static int64_t count_terms(const host_csr *b, const host_csr *f)
{
    int64_t terms = 0;

    for (int64_t e = 0; e < host_csr_nnz(b); e++) {
        terms += f->row_ptr[b->col_ind[e] + 1] - f->row_ptr[b->col_ind[e]];
    }
    return terms;
}

tess_status saddle_blocks_take(tess_context *ctx, const host_csr *k, const saddle_split *split, saddle_blocks *out)
{
    bool empty = true;
    tess_status status = TESS_SUCCESS;

    *out = (saddle_blocks){.split = split};
    TESS_TRY(check_finite(ctx, k));
    TESS_TRY(tess_host_allocate(ctx, split->unknowns, sizeof *out->diagonal, (void **)&out->diagonal));
    TESS_TRY(take_block(ctx, k, split, false, false, &out->a));
    TESS_TRY(take_block(ctx, k, split, false, true, &out->f));
    TESS_TRY(take_block(ctx, k, split, true, false, &out->b));
    TESS_TRY(take_block(ctx, k, split, true, true, &out->c));
    for (int64_t i = 0; i < split->constraints && empty; i++) {
        empty = is_empty_row(&out->c, i);
    }
    if (empty) { host_csr_release(ctx, &out->c); }
    look_at_a(out);
    out->terms = count_terms(&out->b, &out->f);
    status = check_rows(ctx, out);
cleanup:
    if (status != TESS_SUCCESS) { saddle_blocks_release(ctx, out); }
    return status;
}

void saddle_divide_rows(host_csr *f, const double *diagonal)
{
    for (int64_t i = 0; i < f->nrows; i++) {
        for (int64_t e = f->row_ptr[i]; e < f->row_ptr[i + 1]; e++) {
            f->val[e] /= diagonal[i];
        }
    }
}

void saddle_divide_columns(host_csr *b, const double *diagonal)
{
    for (int64_t e = 0; e < host_csr_nnz(b); e++) {
        b->val[e] /= diagonal[b->col_ind[e]];
    }
}

/* ---- C - B diag(A)^-1 F ---- */

/* [B C I] and [-diag(A)^-1 F; I; 0 I]: the zeros give each row of the product a diagonal. */
static tess_status append_identity(tess_context *ctx, const saddle_blocks *blocks, host_csr *left, host_csr *right)
{
    const host_csr *b = &blocks->b, *c = &blocks->c, *f = &blocks->f;
    const int64_t m = b->nrows, inner = b->ncols;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_allocate_rows(ctx, m, inner + m, left));
    TESS_TRY(host_csr_allocate_rows(ctx, inner + m, m, right));
    for (int64_t i = 0; i < m; i++) {
        left->row_ptr[i + 1] =
            b->row_ptr[i + 1] - b->row_ptr[i] + (c->row_ptr ? c->row_ptr[i + 1] - c->row_ptr[i] : 0) + 1;
    }
    host_csr_sum_lengths(left);
    for (int64_t i = 0; i < inner + m; i++) {
        right->row_ptr[i + 1] = i < inner ? f->row_ptr[i + 1] - f->row_ptr[i] : 1;
    }
    host_csr_sum_lengths(right);
    TESS_TRY(host_csr_allocate_entries(ctx, left));
    status = host_csr_allocate_entries(ctx, right);
cleanup:
    return status;
}

static void fill_left(const saddle_blocks *blocks, host_csr *left)
{
    const host_csr *b = &blocks->b, *c = &blocks->c;

    for (int64_t i = 0, at = 0; i < b->nrows; i++) {
        for (int64_t e = b->row_ptr[i]; e < b->row_ptr[i + 1]; e++, at++) {
            left->col_ind[at] = b->col_ind[e];
            left->val[at] = b->val[e];
        }
        for (int64_t e = c->row_ptr ? c->row_ptr[i] : 0; c->row_ptr && e < c->row_ptr[i + 1]; e++, at++) {
            left->col_ind[at] = (int32_t)(b->ncols + c->col_ind[e]);
            left->val[at] = c->val[e];
        }
        left->col_ind[at] = (int32_t)(b->ncols + i);
        left->val[at++] = 0.0;
    }
}

static void fill_right(const saddle_blocks *blocks, host_csr *right)
{
    const host_csr *f = &blocks->f;
    const int64_t entries = host_csr_nnz(f);

    for (int64_t i = 0; i < f->nrows; i++) {
        for (int64_t e = f->row_ptr[i]; e < f->row_ptr[i + 1]; e++) {
            right->col_ind[e] = f->col_ind[e];
            right->val[e] = -f->val[e] / blocks->diagonal[i];
        }
    }
    for (int64_t i = 0; i < right->nrows - f->nrows; i++) {
        right->col_ind[entries + i] = (int32_t)i;
        right->val[entries + i] = 1.0;
    }
}

tess_status saddle_schur_selfp(tess_context *ctx, const saddle_blocks *blocks, host_csr *out)
{
    host_csr left = {0}, right = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(append_identity(ctx, blocks, &left, &right));
    fill_left(blocks, &left);
    fill_right(blocks, &right);
    status = host_csr_multiply(ctx, &left, &right, true, out);
cleanup:
    host_csr_release(ctx, &left);
    host_csr_release(ctx, &right);
    return status;
}

/* ---- local Schur complements ---- */

/* Steps of conjugate gradients with A_i: a bound below that of all, and the same for patches of one shape. */
enum { LOCAL_STEPS = 8 };

/* A patch: the unknowns of a constraint. `where` is of all unknowns, -1 outside. */
typedef struct patch {
    int32_t *where, *unknown;
    double *b, *f, *w, *r, *p, *q; /* of the constraint; solution, residual, direction, product */
    int64_t count, most;
} patch;

static void add_row(patch *t, const host_csr *rows, int64_t i, bool right)
{
    for (int64_t e = rows->row_ptr[i]; e < rows->row_ptr[i + 1]; e++) {
        const int32_t column = rows->col_ind[e];

        if (t->where[column] < 0) {
            t->where[column] = (int32_t)t->count;
            t->unknown[t->count] = column;
            t->b[t->count] = t->f[t->count] = 0.0;
            t->count++;
        }
        (right ? t->f : t->b)[t->where[column]] = rows->val[e];
    }
}

/* q := (A_i + A_i^T) / 2 p */
static void multiply_patch(const patch *t, const host_csr *a)
{
    memset(t->q, 0, (size_t)t->count * sizeof *t->q);
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t row = t->unknown[i];

        for (int64_t e = a->row_ptr[row]; e < a->row_ptr[row + 1]; e++) {
            const int32_t j = t->where[a->col_ind[e]];

            if (j < 0) { continue; }
            t->q[i] += 0.5 * a->val[e] * t->p[j];
            t->q[j] += 0.5 * a->val[e] * t->p[i];
        }
    }
}

/* w := A_i^-1 f by some steps of CG with the diagonal; returns b w. Steps end where A_i is not definite. */
static double solve_patch(const patch *t, const saddle_blocks *blocks)
{
    double rho = 0.0, sum = 0.0;

    for (int64_t i = 0; i < t->count; i++) {
        t->w[i] = 0.0;
        t->r[i] = t->f[i];
        t->p[i] = t->f[i] / blocks->diagonal[t->unknown[i]];
        rho += t->r[i] * t->p[i];
    }
    for (int step = 0; step < LOCAL_STEPS && rho != 0.0; step++) {
        double curvature = 0.0, next = 0.0;

        multiply_patch(t, &blocks->a);
        for (int64_t i = 0; i < t->count; i++) {
            curvature += t->p[i] * t->q[i];
        }
        if (!(curvature / rho > 0.0)) { break; }
        for (int64_t i = 0; i < t->count; i++) {
            t->w[i] += rho / curvature * t->p[i];
            t->r[i] -= rho / curvature * t->q[i];
            next += t->r[i] * (t->r[i] / blocks->diagonal[t->unknown[i]]);
        }
        if (!(next / rho > 0.0)) { break; }
        for (int64_t i = 0; i < t->count; i++) {
            t->p[i] = t->r[i] / blocks->diagonal[t->unknown[i]] + next / rho * t->p[i];
        }
        rho = next;
    }
    for (int64_t i = 0; i < t->count; i++) {
        sum += t->b[i] * t->w[i];
    }
    return sum;
}

static double value_of(const host_csr *c, int64_t i)
{
    for (int64_t e = c->row_ptr ? c->row_ptr[i] : 0; c->row_ptr && e < c->row_ptr[i + 1]; e++) {
        if (c->col_ind[e] == i) { return c->val[e]; }
    }
    return 0.0;
}

static double local_schur(patch *t, const saddle_blocks *blocks, const host_csr *columns, int64_t i)
{
    double value = 0.0;

    t->count = 0;
    add_row(t, &blocks->b, i, false);
    add_row(t, columns, i, true);
    value = value_of(&blocks->c, i) - solve_patch(t, blocks);
    for (int64_t k = 0; k < t->count; k++) {
        t->where[t->unknown[k]] = -1;
    }
    return value;
}

static int64_t longest_patch(const host_csr *b, const host_csr *columns)
{
    int64_t most = 1;

    for (int64_t i = 0; i < b->nrows; i++) {
        const int64_t length = b->row_ptr[i + 1] - b->row_ptr[i] + columns->row_ptr[i + 1] - columns->row_ptr[i];

        most = length > most ? length : most;
    }
    return most;
}

enum { PATCH_VECTORS = 6 };

static patch patch_of(int32_t *numbers, double *vectors, int64_t unknowns, int64_t most, int thread)
{
    double *v = vectors + (int64_t)thread * PATCH_VECTORS * most;
    int32_t *where = numbers + (int64_t)thread * (unknowns + most);

    memset(where, 0xff, (size_t)unknowns * sizeof *where);
    return (patch){.where = where,
                   .unknown = where + unknowns,
                   .b = v,
                   .f = v + most,
                   .w = v + 2 * most,
                   .r = v + 3 * most,
                   .p = v + 4 * most,
                   .q = v + 5 * most,
                   .most = most};
}

/* The values of S on each constraint; threads take neighbours. What comes after the first that breaks down is of no
   use: a thread leaves its rest as it is. */
static tess_status fill_local(tess_context *ctx, const saddle_blocks *blocks, const host_csr *columns, double *val)
{
    const int64_t m = blocks->b.nrows, unknowns = blocks->b.ncols, most = longest_patch(&blocks->b, columns);
    const int threads = host_csr_nnz(&blocks->b) < SERIAL_ENTRIES ? 1 : ctx->threads;
    int32_t *numbers = NULL;
    double *vectors = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, threads * (unknowns + most), sizeof *numbers, (void **)&numbers));
    TESS_TRY(tess_host_allocate(ctx, threads * PATCH_VECTORS * most, sizeof *vectors, (void **)&vectors));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int thread = 0; thread < threads; thread++) {
        patch t = patch_of(numbers, vectors, unknowns, most, thread);

        for (int64_t i = m * thread / threads; i < m * (thread + 1) / threads; i++) {
            val[i] = local_schur(&t, blocks, columns, i);
            if (saddle_breaks_down(val[i])) { break; }
        }
    }
cleanup:
    tess_host_release(ctx, numbers, threads * (unknowns + most), sizeof *numbers);
    tess_host_release(ctx, vectors, threads * PATCH_VECTORS * most, sizeof *vectors);
    return status;
}

tess_status saddle_schur_local(tess_context *ctx, const saddle_blocks *blocks, host_csr *out)
{
    const int64_t m = blocks->b.nrows;
    host_csr columns = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_transpose(ctx, &blocks->f, &columns));
    TESS_TRY(host_csr_allocate_rows(ctx, m, m, out));
    for (int64_t i = 0; i <= m; i++) {
        out->row_ptr[i] = i;
    }
    TESS_TRY(host_csr_allocate_entries(ctx, out));
    for (int64_t i = 0; i < m; i++) {
        out->col_ind[i] = (int32_t)i;
    }
    status = fill_local(ctx, blocks, &columns, out->val);
cleanup:
    host_csr_release(ctx, &columns);
    if (status != TESS_SUCCESS) { host_csr_release(ctx, out); }
    return status;
}
