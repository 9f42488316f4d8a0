/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Right-hand sides that no x reaches: r = b - A x has 1^T r = 1^T b over the rows of a part of A that nothing couples
 * to other rows, where the columns of the part sum to 0. Then ||r|| >= |1^T b| / sqrt(rows) there.
 */
#include <math.h>
#include <string.h>

#include <tessera/findings.h>

#include "base/null_sum.h"
#include "base/offsets.h"
#include "order/order.h"

typedef struct part {
    int32_t parent;         /* a row of the same part; itself: it stands for the part */
    int32_t rows;           /* of the part, at that row */
    int64_t terms;          /* of the column */
    double sum, magnitude;  /* of the column */
    double of_b, size_of_b; /* sums of b and |b| over the part, at that row */
    bool open;              /* a column of the part does not sum to 0, at that row */
} part;

static int32_t root_of(part *parts, int32_t i)
{
    while (parts[i].parent != i) {
        parts[i].parent = parts[parts[i].parent].parent;
        i = parts[i].parent;
    }
    return i;
}

/* The lower row stands for both. */
static void join(part *parts, int32_t i, int32_t j)
{
    const int32_t a = root_of(parts, i), b = root_of(parts, j);

    parts[a > b ? a : b].parent = a > b ? b : a;
}

static void couple(const tess_csr_view *a, part *parts)
{
    for (int32_t i = 0; i < (int32_t)a->nrows; i++) {
        parts[i] = (part){.parent = i};
    }
    for (int32_t i = 0; i < (int32_t)a->nrows; i++) {
        const int64_t end = tess_row_offset(a->row_ptr, a->row_ptr_bits, i + 1);

        for (int64_t k = tess_row_offset(a->row_ptr, a->row_ptr_bits, i); k < end; k++) {
            const int32_t j = a->col_ind[k];

            if (a->val[k] == 0.0) { continue; }
            parts[j].sum += a->val[k];
            parts[j].magnitude += fabs(a->val[k]);
            parts[j].terms += 1;
            if (j != i) { join(parts, i, j); }
        }
    }
}

/* b over its largest magnitude, so that no square overflows. Returns ||b||^2 so scaled. */
static double add_up(int64_t n, const double *b, part *parts)
{
    double largest = 0.0, squares = 0.0;

    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(b[i]));
    }
    for (int32_t i = 0; i < (int32_t)n && largest > 0.0; i++) {
        part *whole = &parts[root_of(parts, i)];
        const double value = b[i] / largest;

        squares += value * value;
        whole->rows += 1;
        whole->of_b += value;
        whole->size_of_b += fabs(value);
        /* empty columns are a finding of their own */
        whole->open =
            whole->open || parts[i].terms == 0 || !is_null_sum(parts[i].sum, parts[i].magnitude, parts[i].terms);
    }
    return squares;
}

tess_status order_inconsistency(tess_context *ctx, const tess_csr_view *a, const double *b, tess_findings *f)
{
    part *parts = NULL;
    double squares = 0.0, least = 0.0, worst = 0.0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, a->nrows, sizeof *parts, (void **)&parts));
    couple(a, parts);
    squares = add_up(a->nrows, b, parts);
    for (int64_t i = 0; i < a->nrows && isfinite(squares); i++) {
        const part *p = &parts[i];
        const double share = p->rows > 0 ? p->of_b * p->of_b / p->rows : 0.0;

        if (p->rows == 0 || p->open || is_null_sum(p->of_b, p->size_of_b, p->rows)) { continue; }
        least += share;
        if (share <= worst) { continue; }
        worst = share;
        f->inconsistent_rows = (tess_finding){.count = p->rows, .row = i, .column = -1};
    }
    if (least > 0.0) { f->inconsistency = sqrt(least / squares); }
cleanup:
    tess_host_release(ctx, parts, a->nrows, sizeof *parts);
    return status;
}
