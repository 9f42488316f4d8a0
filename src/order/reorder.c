/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix in another order and scale. */
#include <math.h>

#include <tessera/names.h>

#include "base/offsets.h"
#include "matrix/assemble.h"
#include "order/order.h"

/* The changes to the entries; NULL: none. `column_place` is the inverse of the column permutation. */
typedef struct reordering {
    const int32_t *row_perm, *column_place;
    const double *row_scale, *col_scale;
} reordering;

tess_status order_invert(tess_context *ctx, int64_t n, const int32_t *perm, int32_t *place)
{
    for (int64_t i = 0; i < n; i++) {
        place[i] = -1;
    }
    for (int64_t i = 0; i < n; i++) {
        if (perm[i] < 0 || perm[i] >= n || place[perm[i]] >= 0) {
            return tess_fail(ctx, TESS_INVALID_ARGUMENT, "each index from 0 must occur once",
                             "the array is not a permutation of %s: entry %lld is %ld",
                             tess_count(n, "index|indices").text, (long long)i, (long)perm[i]);
        }
        place[perm[i]] = (int32_t)i;
    }
    return TESS_SUCCESS;
}

/* a u v without overflow or underflow in between: significands and exponents are multiplied separately if the plain
   product is not safe. */
static double scale_value(double a, double u, double v)
{
    int ea = 0, eu = 0, ev = 0;
    double once = a * u;

    if (isnormal(once)) { return once * v; }
    once = frexp(a, &ea) * frexp(u, &eu) * frexp(v, &ev); /* at least 1/8, or 0, or not finite */
    return ldexp(once, ea + eu + ev);
}

/* Row `row` of A with its new columns and values, not yet sorted. */
static void fill_row(const tess_csr_view *a, const reordering *r, int64_t row, int32_t *col, double *val)
{
    int64_t from = tess_row_offset(a->row_ptr, a->row_ptr_bits, row);
    int64_t length = tess_row_offset(a->row_ptr, a->row_ptr_bits, row + 1) - from;

    for (int64_t k = 0; k < length; k++) {
        int32_t j = a->col_ind[from + k];
        double value = a->val[from + k];

        col[k] = r->column_place ? r->column_place[j] : j;
        if (r->row_scale || r->col_scale) {
            value = scale_value(value, r->row_scale ? r->row_scale[row] : 1.0, r->col_scale ? r->col_scale[j] : 1.0);
        }
        val[k] = value;
    }
}

static int64_t source_row(const reordering *r, int64_t i)
{
    return r->row_perm ? r->row_perm[i] : i;
}

static tess_status reorder_rows(tess_context *ctx, const tess_csr_view *a, const reordering *r, tess_assembled *out)
{
    int64_t n = a->nrows, *row_ptr = NULL;
    int32_t *col = NULL;
    double *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, n + 1, sizeof *row_ptr, (void **)&row_ptr));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *col, (void **)&col));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *val, (void **)&val));
    row_ptr[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = source_row(r, i);

        row_ptr[i + 1] = row_ptr[i] + tess_row_offset(a->row_ptr, a->row_ptr_bits, row + 1) -
                         tess_row_offset(a->row_ptr, a->row_ptr_bits, row);
    }
#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t i = 0; i < n; i++) {
        fill_row(a, r, source_row(r, i), col + row_ptr[i], val + row_ptr[i]);
    }
    status = tess_assemble_csr(ctx, n, a->nnz, row_ptr, col, val, out);
    row_ptr = NULL; /* taken */
    col = NULL;
    val = NULL;
cleanup:
    tess_host_release(ctx, row_ptr, n + 1, sizeof *row_ptr);
    tess_host_release(ctx, col, a->nnz, sizeof *col);
    tess_host_release(ctx, val, a->nnz, sizeof *val);
    return status;
}

tess_status tess_matrix_reorder(const tess_matrix *a, const int32_t *row_perm, const int32_t *col_perm,
                                const double *row_scale, const double *col_scale, tess_matrix **out)
{
    TESS_REQUIRE_OUT(a ? a->ctx : NULL, a, out);
    reordering r = {.row_perm = row_perm, .row_scale = row_scale, .col_scale = col_scale};
    int64_t places = a->nrows > a->ncols ? a->nrows : a->ncols;
    order_input in = {.ctx = NULL};
    tess_assembled b = {.nrows = 0};
    int32_t *place = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(open_order_input(a, "reordering", &in));
    TESS_TRY(tess_host_allocate(a->ctx, places, sizeof *place, (void **)&place));
    if (row_perm) { TESS_TRY(order_invert(a->ctx, a->nrows, row_perm, place)); }
    if (col_perm) {
        TESS_TRY(order_invert(a->ctx, a->ncols, col_perm, place));
        r.column_place = place;
    }
    TESS_TRY(reorder_rows(a->ctx, &in.view, &r, &b));
    status = tess_matrix_adopt_csr(a->ctx, a->nrows, a->ncols, b.nnz, b.row_ptr, b.row_ptr_bits, b.col_ind, b.val, out);
cleanup:
    tess_host_release(a->ctx, place, places, sizeof *place);
    close_order_input(&in);
    return status;
}

tess_status tess_matrix_reorder_symmetric(const tess_matrix *a, const int32_t *perm, tess_matrix **out)
{
    TESS_REQUIRE_OUT(a ? a->ctx : NULL, a, out);
    tess_status status = require_square(a, "a symmetric reordering");

    return status == TESS_SUCCESS ? tess_matrix_reorder(a, perm, perm, NULL, NULL, out) : status;
}

/* ---- maps between vectors ---- */

tess_status order_make_map(tess_context *ctx, int64_t n, const int32_t *column, const double *value, tess_matrix **out)
{
    tess_csr_arrays arrays = {.size = sizeof arrays,
                              .nrows = n,
                              .ncols = n,
                              .nnz = n,
                              .col_ind = column,
                              .row_ptr_bits = 64,
                              .col_ind_bits = 32,
                              .where = TESS_MEMORY_HOST,
                              .ownership = TESS_COPY};
    int64_t *row_ptr = NULL;
    double *ones = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, n + 1, sizeof *row_ptr, (void **)&row_ptr));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *ones, (void **)&ones));
    for (int64_t i = 0; i <= n; i++) {
        row_ptr[i] = i;
        if (i < n) { ones[i] = 1.0; }
    }
    arrays.row_ptr = row_ptr;
    arrays.val = value ? value : ones;
    status = tess_matrix_create_csr(ctx, &arrays, out);
cleanup:
    tess_host_release(ctx, row_ptr, n + 1, sizeof *row_ptr);
    tess_host_release(ctx, ones, n, sizeof *ones);
    return status;
}
