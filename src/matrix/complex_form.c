/* SPDX-License-Identifier: Apache-2.0 */
/* From complex entries to the real form. */
#include "matrix/complex_form.h"

/* Entries of the real form: four for a complex one, and four for its mirror image. */
typedef struct real_entries {
    int64_t count;
    int32_t *row, *col;
    double *val;
} real_entries;

static void put_block(const real_entries *to, int64_t at, int64_t row, int64_t col, double re, double im)
{
    const double part[4] = {re, -im, im, re};

    for (int k = 0; k < 4; k++) {
        to->row[at + k] = (int32_t)(2 * row + k / 2);
        to->col[at + k] = (int32_t)(2 * col + k % 2);
        to->val[at + k] = part[k];
    }
}

/* The mirror image of re + i im is the same number, or its negative, or its conjugate. */
static void put_mirrored(const real_entries *to, int64_t at, const tess_entries *from, int64_t k, double re, double im)
{
    const double sign_re = from->symmetry == TESS_SYMMETRY_SKEW ? -1.0 : 1.0;
    const double sign_im = from->symmetry == TESS_SYMMETRY_SYMMETRIC ? 1.0 : -1.0;

    put_block(to, at, from->col[k], from->row[k], sign_re * re, sign_im * im);
}

static void spell(const tess_entries *from, const real_entries *to)
{
    int64_t at = 0;

    for (int64_t k = 0; k < from->count; k++) {
        const double re = from->val[2 * k], im = from->val[2 * k + 1];

        put_block(to, at, from->row[k], from->col[k], re, im);
        at += 4;
        if (from->symmetry == TESS_SYMMETRY_GENERAL || from->row[k] == from->col[k]) { continue; }
        put_mirrored(to, at, from, k, re, im);
        at += 4;
    }
}

static int64_t count_spelled(const tess_entries *from)
{
    int64_t mirrored = 0;

    if (from->symmetry == TESS_SYMMETRY_GENERAL) { return 4 * from->count; }
    for (int64_t k = 0; k < from->count; k++) {
        mirrored += from->row[k] != from->col[k];
    }
    return 4 * (from->count + mirrored);
}

static tess_status require_size(tess_context *ctx, int64_t nrows, int64_t ncols)
{
    if (nrows <= TESS_MAX_COMPLEX_ROWS && ncols <= TESS_MAX_COMPLEX_ROWS) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_OUT_OF_RANGE, NULL,
                     "a complex matrix of %lld x %lld is larger than the limit of %lld rows and columns",
                     (long long)nrows, (long long)ncols, (long long)TESS_MAX_COMPLEX_ROWS);
}

tess_status tess_assemble_complex_entries(tess_context *ctx, const tess_entries *entries, tess_assembled *out)
{
    real_entries spelled = {.count = count_spelled(entries)};
    tess_status status = TESS_SUCCESS;

    *out = (tess_assembled){0};
    TESS_TRY(require_size(ctx, entries->nrows, entries->ncols));
    TESS_TRY(tess_host_allocate(ctx, spelled.count, sizeof *spelled.row, (void **)&spelled.row));
    TESS_TRY(tess_host_allocate(ctx, spelled.count, sizeof *spelled.col, (void **)&spelled.col));
    TESS_TRY(tess_host_allocate(ctx, spelled.count, sizeof *spelled.val, (void **)&spelled.val));
    spell(entries, &spelled);
    TESS_TRY(tess_assemble_coo(ctx, 2 * entries->nrows, 2 * entries->ncols, spelled.count, spelled.row, spelled.col,
                               spelled.val, out));
    out->duplicates /= 4;
cleanup:
    tess_host_release(ctx, spelled.row, spelled.count, sizeof *spelled.row);
    tess_host_release(ctx, spelled.col, spelled.count, sizeof *spelled.col);
    tess_host_release(ctx, spelled.val, spelled.count, sizeof *spelled.val);
    return status;
}

/* ---- CSR ---- */

typedef struct real_csr {
    int64_t *row_ptr;
    int32_t *col_ind;
    double *val;
} real_csr;

static void spell_row(int64_t i, const int64_t *row_ptr, const int32_t *col_ind, const double *val, const real_csr *to)
{
    const int64_t first = row_ptr[i], length = row_ptr[i + 1] - first;

    for (int64_t k = 0; k < length; k++) {
        const int32_t col = 2 * col_ind[first + k];
        const double re = val[2 * (first + k)], im = val[2 * (first + k) + 1];
        const int64_t upper = 4 * first + 2 * k, lower = upper + 2 * length;

        to->col_ind[upper] = to->col_ind[lower] = col;
        to->col_ind[upper + 1] = to->col_ind[lower + 1] = col + 1;
        to->val[upper] = to->val[lower + 1] = re;
        to->val[upper + 1] = -im;
        to->val[lower] = im;
    }
    to->row_ptr[2 * i] = 4 * first;
    to->row_ptr[2 * i + 1] = 4 * first + 2 * length;
}

static void release_real(tess_context *ctx, int64_t nrows, int64_t nnz, const real_csr *a)
{
    tess_host_release(ctx, a->row_ptr, 2 * nrows + 1, sizeof *a->row_ptr);
    tess_host_release(ctx, a->col_ind, 4 * nnz, sizeof *a->col_ind);
    tess_host_release(ctx, a->val, 4 * nnz, sizeof *a->val);
}

tess_status tess_assemble_complex_csr(tess_context *ctx, int64_t nrows, int64_t nnz, int64_t *row_ptr, int32_t *col_ind,
                                      double *val, tess_assembled *out)
{
    real_csr made = {0};
    tess_status status = TESS_SUCCESS;

    *out = (tess_assembled){0};
    TESS_TRY(require_size(ctx, nrows, 0));
    TESS_TRY(tess_host_allocate(ctx, 2 * nrows + 1, sizeof *made.row_ptr, (void **)&made.row_ptr));
    TESS_TRY(tess_host_allocate(ctx, 4 * nnz, sizeof *made.col_ind, (void **)&made.col_ind));
    TESS_TRY(tess_host_allocate(ctx, 4 * nnz, sizeof *made.val, (void **)&made.val));
#pragma omp parallel for schedule(static) num_threads(tess_io_threads(ctx, nnz))
    for (int64_t i = 0; i < nrows; i++) {
        spell_row(i, row_ptr, col_ind, val, &made);
    }
    made.row_ptr[2 * nrows] = 4 * nnz;
cleanup:
    tess_host_release(ctx, row_ptr, nrows + 1, sizeof *row_ptr);
    tess_host_release(ctx, col_ind, nnz, sizeof *col_ind);
    tess_host_release(ctx, val, 2 * nnz, sizeof *val);
    if (status != TESS_SUCCESS) {
        release_real(ctx, nrows, nnz, &made);
        return status;
    }
    status = tess_assemble_csr(ctx, 2 * nrows, 4 * nnz, made.row_ptr, made.col_ind, made.val, out); /* takes them */
    if (status == TESS_SUCCESS) { out->duplicates /= 4; }
    return status;
}

tess_status tess_complex_spell_values(tess_context *ctx, const csr_view *view, tess_precision precision,
                                      const void *val, double *to)
{
    const size_t offset_size = (size_t)view->row_ptr_bits / 8;
    const int64_t numbers = view->nnz / 2;
    double *wide = NULL;
    void *offsets = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, numbers, sizeof *wide, (void **)&wide));
    TESS_TRY(tess_host_allocate(ctx, view->nrows + 1, offset_size, &offsets));
    TESS_TRY(ctx->backend->download(ctx, offsets, view->row_ptr, (size_t)(view->nrows + 1) * offset_size));
    TESS_TRY(ctx->host->convert(ctx, numbers, precision, val, TESS_PRECISION_FP64, wide));
    for (int64_t i = 0; i < view->nrows; i += 2) {
        const int64_t first = tess_row_offset(offsets, view->row_ptr_bits, i);
        const int64_t length = tess_row_offset(offsets, view->row_ptr_bits, i + 1) - first;

        for (int64_t k = 0; k < length; k += 2) {
            const double re = wide[first / 2 + k], im = wide[first / 2 + k + 1];
            double *upper = to + first + k, *lower = upper + length;

            upper[0] = lower[1] = re;
            upper[1] = -im;
            lower[0] = im;
        }
    }
cleanup:
    tess_host_release(ctx, wide, numbers, sizeof *wide);
    tess_host_release(ctx, offsets, view->nrows + 1, offset_size);
    return status;
}

void tess_matrix_mark_complex(tess_matrix *a)
{
    a->is_complex = true;
}

int tess_matrix_is_complex(const tess_matrix *a)
{
    return a && a->is_complex;
}
