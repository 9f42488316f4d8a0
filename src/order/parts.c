/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Right-hand sides that no x reaches: r = b - A x has 1^T r = 1^T b over the rows of a part of A that nothing couples
 * to other rows, where the columns of the part sum to exactly 0. Then ||r|| >= |1^T b| / sqrt(rows) there.
 */
#include <math.h>
#include <string.h>

#include <tessera/findings.h>

#include "base/offsets.h"
#include "matrix/null_parts.h"
#include "order/order.h"

typedef struct part {
    int32_t parent;        /* a row of the same part; itself: it stands for the part */
    int32_t rows;          /* of the part, at that row */
    null_sum column, of_b; /* of_b: over the part, at that row */
    bool open;             /* a column of the part does not sum to 0 exactly; at that row */
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
            null_sum_add(&parts[j].column, a->val[k]);
            if (j != i) { join(parts, i, j); }
        }
    }
}

/* b in a scale in which no square overflows. Returns ||b||^2 so scaled. */
static double add_up(int64_t n, const double *b, part *parts)
{
    const double scale = null_parts_scale(n, b);
    double squares = 0.0;

    for (int32_t i = 0; i < (int32_t)n; i++) {
        part *whole = &parts[root_of(parts, i)];
        const double value = scale * b[i];

        squares += value * value;
        whole->rows += 1;
        null_sum_add(&whole->of_b, value);
        /* empty columns are a finding of their own */
        whole->open = whole->open || !null_sum_holds(&parts[i].column) || !null_sum_is_exact(&parts[i].column);
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
        const double share = p->rows > 0 && !p->open ? null_share(&p->of_b, p->rows) : 0.0;

        least += share;
        if (share <= worst) { continue; }
        worst = share;
        f->inconsistent_rows = (tess_finding){.count = p->rows, .row = i, .column = -1};
    }
    if (sqrt(least) > LEAST_INCONSISTENCY * sqrt(squares)) {
        f->inconsistency = sqrt(least / squares);
    } else {
        f->inconsistent_rows = (tess_finding){.row = -1, .column = -1};
    }
cleanup:
    tess_host_release(ctx, parts, a->nrows, sizeof *parts);
    return status;
}
