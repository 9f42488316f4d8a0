/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a system: empty and equal rows, absent diagonals, NaN, a constant null vector. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <tessera/findings.h>

#include "base/null_sum.h"
#include "base/options.h"
#include "order/order.h"

enum { KINDS = 9 };

static tess_finding *finding_of(tess_findings *f, size_t which)
{
    tess_finding *const kinds[KINDS] = {&f->unmatched_rows, &f->empty_rows,        &f->empty_columns,
                                        &f->zero_diagonal,  &f->duplicate_rows,    &f->nonfinite,
                                        &f->nonfinite_rhs,  &f->unmatched_columns, &f->inconsistent_rows};

    return kinds[which];
}

void tess_findings_init_sized(tess_findings *f, size_t size)
{
    tess_findings found;

    memset(&found, 0, sizeof found);
    found.size = sizeof found;
    found.structural_rank = -1;
    found.attainable_residual = NAN;
    for (size_t i = 0; i < KINDS; i++) {
        finding_of(&found, i)->row = finding_of(&found, i)->column = -1;
    }
    options_init(f, size, &found, sizeof found);
}

static void note(tess_finding *kind, int64_t row, int64_t column)
{
    if (kind->count++ > 0) { return; }
    kind->row = row;
    kind->column = column;
}

static int64_t offset(const tess_csr_view *a, int64_t i)
{
    return tess_row_offset(a->row_ptr, a->row_ptr_bits, i);
}

/* ---- rows and columns ---- */

/* What the entries of a column add up to. */
typedef struct column_sum {
    double sum, magnitude;
    int64_t length; /* entries other than 0 */
} column_sum;

/* Entries of a row, which are also added to their columns. */
static void look_at_row(const tess_csr_view *a, int64_t i, column_sum *columns, bool *is_null, tess_findings *f)
{
    double sum = 0.0, magnitude = 0.0;
    bool empty = true, diagonal = false;
    int64_t length = offset(a, i + 1) - offset(a, i);

    for (int64_t k = offset(a, i); k < offset(a, i + 1); k++) {
        const double value = a->val[k];

        if (!isfinite(value)) { note(&f->nonfinite, i, a->col_ind[k]); }
        if (value == 0.0) { continue; }
        empty = false;
        columns[a->col_ind[k]].sum += value;
        columns[a->col_ind[k]].magnitude += fabs(value);
        columns[a->col_ind[k]].length += 1;
        diagonal = diagonal || a->col_ind[k] == i;
        sum += value;
        magnitude += fabs(value);
    }
    if (empty) { note(&f->empty_rows, i, -1); }
    if (!diagonal && a->nrows == a->ncols) { note(&f->zero_diagonal, i, i); }
    if (!is_null_sum(sum, magnitude, length)) { *is_null = false; }
}

static tess_status look_at_entries(tess_context *ctx, const tess_csr_view *a, tess_findings *f)
{
    column_sum *columns = NULL;
    bool is_null = a->nrows > 0 && a->ncols > 0;
    tess_status status = tess_host_allocate(ctx, a->ncols, sizeof *columns, (void **)&columns);

    if (status != TESS_SUCCESS) { return status; }
    memset(columns, 0, (size_t)a->ncols * sizeof *columns);
    for (int64_t i = 0; i < a->nrows; i++) {
        look_at_row(a, i, columns, &is_null, f);
    }
    for (int64_t j = 0; j < a->ncols; j++) {
        if (columns[j].length == 0) { note(&f->empty_columns, -1, j); }
    }
    f->constant_null_vector = is_null;
    tess_host_release(ctx, columns, a->ncols, sizeof *columns);
    return TESS_SUCCESS;
}

/* ---- equal rows ---- */

/* FNV-1a over columns and values. */
static uint64_t hash_row(const tess_csr_view *a, int64_t i)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (int64_t k = offset(a, i); k < offset(a, i + 1); k++) {
        uint64_t bits = 0;

        memcpy(&bits, &a->val[k], sizeof bits);
        hash = (hash ^ (uint64_t)a->col_ind[k]) * UINT64_C(0x100000001b3);
        hash = (hash ^ bits) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return hash;
}

static bool same_rows(const tess_csr_view *a, int64_t i, int64_t j)
{
    const int64_t from = offset(a, i), other = offset(a, j), length = offset(a, i + 1) - from;

    return length == offset(a, j + 1) - other &&
           memcmp(a->col_ind + from, a->col_ind + other, (size_t)length * sizeof *a->col_ind) == 0 &&
           memcmp(a->val + from, a->val + other, (size_t)length * sizeof *a->val) == 0;
}

/* A hash table of rows with open addressing: slots, a power of two from twice the rows on, hold row + 1. */
static tess_status find_duplicates(tess_context *ctx, const tess_csr_view *a, tess_findings *f)
{
    int64_t slots = 16, *row_at = NULL;
    tess_status status = TESS_SUCCESS;

    while (slots < 2 * a->nrows) {
        slots *= 2;
    }
    TESS_TRY(tess_host_allocate(ctx, slots, sizeof *row_at, (void **)&row_at));
    memset(row_at, 0, (size_t)slots * sizeof *row_at);
    for (int64_t i = 0; i < a->nrows; i++) {
        int64_t at = (int64_t)(hash_row(a, i) & (uint64_t)(slots - 1));

        if (offset(a, i) == offset(a, i + 1)) { continue; }
        while (row_at[at] > 0 && !same_rows(a, i, row_at[at] - 1)) {
            at = (at + 1) & (slots - 1);
        }
        if (row_at[at] > 0) {
            note(&f->duplicate_rows, i, row_at[at] - 1);
        } else {
            row_at[at] = i + 1;
        }
    }
cleanup:
    tess_host_release(ctx, row_at, slots, sizeof *row_at);
    return status;
}

/* ---- the vectors ---- */

static tess_status look_at_rhs(tess_context *ctx, const tess_csr_view *a, const tess_vector *b, tess_findings *f)
{
    const int64_t n = tess_vector_size(b);
    double *values = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, n, sizeof *values, (void **)&values));
    TESS_TRY(tess_vector_get(b, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) { note(&f->nonfinite_rhs, i, -1); }
    }
    if (a->nrows == a->ncols) { status = order_inconsistency(ctx, a, values, f); }
cleanup:
    tess_host_release(ctx, values, n, sizeof *values);
    return status;
}

/* hypot does not overflow where squares do. */
static double frobenius(const tess_csr_view *a)
{
    double norm = 0.0;

    for (int64_t i = 0; i < a->nrows; i++) {
        double row = 0.0;

        for (int64_t k = offset(a, i); k < offset(a, i + 1); k++) {
            row = hypot(row, a->val[k]);
        }
        norm = hypot(norm, row);
    }
    return norm;
}

static tess_status estimate_attainable(const tess_csr_view *a, const tess_vector *b, const tess_vector *x,
                                       tess_findings *f)
{
    double of_b = 0.0, of_x = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_norm2(b, TESS_ARITHMETIC_FP64, &of_b));
    TESS_TRY(tess_vector_norm2(x, TESS_ARITHMETIC_FP64, &of_x));
    f->attainable_residual = 0x1p-53 * (frobenius(a) * of_x + of_b) / of_b;
    if (!isfinite(f->attainable_residual)) { f->attainable_residual = NAN; }
cleanup:
    return status;
}

/* Two rows of the real form are one of the complex matrix. */
static void count_complex(tess_findings *f)
{
    for (size_t i = 0; i < KINDS; i++) {
        tess_finding *kind = finding_of(f, i);

        kind->count = (kind->count + 1) / 2;
        kind->row = kind->row > 0 ? kind->row / 2 : kind->row;
        kind->column = kind->column > 0 ? kind->column / 2 : kind->column;
    }
    f->nrows /= 2;
    f->ncols /= 2;
    f->structural_rank = f->structural_rank > 0 ? f->structural_rank / 2 : f->structural_rank;
}

tess_status tess_find_problems(const tess_matrix *a, const tess_vector *b, const tess_vector *x, tess_findings *out)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, out);
    tess_findings f;
    order_input in = {NULL, {0}, {NULL, NULL, NULL}};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(result_require_size(a->ctx, "tess_findings", out->size, sizeof f));
    if (b) { TESS_TRY(tess_vector_require(a->ctx, b, a->nrows, "b")); }
    if (x) { TESS_TRY(tess_vector_require(a->ctx, x, a->ncols, "x")); }
    TESS_TRY(open_order_input(a, "a search for problems", &in));
    tess_findings_init(&f);
    f.nrows = a->nrows;
    f.ncols = a->ncols;
    TESS_TRY(look_at_entries(a->ctx, &in.view, &f));
    TESS_TRY(find_duplicates(a->ctx, &in.view, &f));
    TESS_TRY(order_structural_rank(a->ctx, &in.view, &f));
    if (b) { TESS_TRY(look_at_rhs(a->ctx, &in.view, b, &f)); }
    if (b && x) { TESS_TRY(estimate_attainable(&in.view, b, x, &f)); }
    if (a->is_complex) { count_complex(&f); }
    result_return(&f, out);
cleanup:
    close_order_input(&in);
    return status;
}
