/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of binary files share. */
#include <string.h>

#include <tessera/names.h>

#include "io/binary.h"

/* So many rows may be empty in any file; of more, some must be there for each byte. */
enum { MOST_EMPTY_ROWS = 1 << 20, ROWS_PER_BYTE = 64 };

tess_status file_csr_allocate(tess_context *ctx, file_csr *a)
{
    tess_status status = tess_host_allocate(ctx, a->nrows + 1, sizeof *a->row_ptr, (void **)&a->row_ptr);

    if (status == TESS_SUCCESS) { status = tess_host_allocate(ctx, a->nnz, sizeof *a->col_ind, (void **)&a->col_ind); }
    if (status == TESS_SUCCESS) {
        status = tess_host_allocate(ctx, a->is_complex ? 2 * a->nnz : a->nnz, sizeof *a->val, (void **)&a->val);
    }
    if (status == TESS_SUCCESS) {
        memset(a->row_ptr, 0, ((size_t)a->nrows + 1) * sizeof *a->row_ptr);
    } else {
        file_csr_release(ctx, a);
    }
    return status;
}

void file_csr_release(tess_context *ctx, file_csr *a)
{
    if (!a->row_ptr) { return; } /* sizes that were refused may be of any magnitude */
    tess_host_release(ctx, a->row_ptr, a->nrows + 1, sizeof *a->row_ptr);
    tess_host_release(ctx, a->col_ind, a->nnz, sizeof *a->col_ind);
    tess_host_release(ctx, a->val, a->is_complex ? 2 * a->nnz : a->nnz, sizeof *a->val);
    a->row_ptr = NULL;
    a->col_ind = NULL;
    a->val = NULL;
}

void file_csr_sum_lengths(file_csr *a)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        a->row_ptr[i + 1] += a->row_ptr[i];
    }
}

/* Entry k, and with `mirrored` its image across the diagonal; row_ptr[row] is where the row goes on. */
static void store_entry(const tess_entries *e, int64_t k, bool mirrored, file_csr *out)
{
    const int parts = e->is_complex ? 2 : 1;
    const int64_t row = mirrored ? e->col[k] : e->row[k], at = out->row_ptr[row]++;
    const double sign = mirrored && e->symmetry == TESS_SYMMETRY_SKEW ? -1.0 : 1.0;

    out->col_ind[at] = mirrored ? e->row[k] : e->col[k];
    out->val[parts * at] = e->val ? sign * e->val[parts * k] : 1.0;
    if (!e->is_complex) { return; }
    out->val[2 * at + 1] =
        mirrored && e->symmetry == TESS_SYMMETRY_HERMITIAN ? -e->val[2 * k + 1] : sign * e->val[2 * k + 1];
}

tess_status file_csr_from_entries(tess_context *ctx, const tess_entries *e, file_csr *out)
{
    const bool mirror = e->symmetry != TESS_SYMMETRY_GENERAL;

    out->nrows = e->nrows;
    out->ncols = e->ncols;
    out->nnz = e->count;
    out->is_complex = e->is_complex;
    for (int64_t k = 0; k < e->count && mirror; k++) {
        out->nnz += e->row[k] != e->col[k];
    }
    const tess_status status = file_csr_allocate(ctx, out);
    if (status != TESS_SUCCESS) { return status; }
    for (int64_t k = 0; k < e->count; k++) {
        out->row_ptr[e->row[k] + 1]++;
        if (mirror && e->row[k] != e->col[k]) { out->row_ptr[e->col[k] + 1]++; }
    }
    file_csr_sum_lengths(out);
    for (int64_t k = 0; k < e->count; k++) {
        store_entry(e, k, false, out);
        if (mirror && e->row[k] != e->col[k]) { store_entry(e, k, true, out); }
    }
    memmove(out->row_ptr + 1, out->row_ptr, (size_t)out->nrows * sizeof *out->row_ptr);
    out->row_ptr[0] = 0;
    return TESS_SUCCESS;
}

static bool is_nonzero(const file_array *a, int64_t i, int64_t j)
{
    const int parts = a->is_complex ? 2 : 1;
    const double *value = a->val + parts * (i + j * a->nrows);

    return value[0] != 0.0 || value[parts - 1] != 0.0;
}

tess_status file_csr_from_array(tess_context *ctx, const file_array *a, file_csr *out)
{
    const int parts = a->is_complex ? 2 : 1;
    int64_t at = 0;

    *out = (file_csr){.nrows = a->nrows, .ncols = a->ncols, .is_complex = a->is_complex};
    for (int64_t k = 0; k < a->nrows * a->ncols; k++) {
        out->nnz += is_nonzero(a, k % a->nrows, k / a->nrows);
    }
    const tess_status status = file_csr_allocate(ctx, out);
    if (status != TESS_SUCCESS) { return status; }
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t j = 0; j < a->ncols; j++) {
            if (!is_nonzero(a, i, j)) { continue; }
            out->col_ind[at] = (int32_t)j;
            memcpy(out->val + parts * at++, a->val + parts * (i + j * a->nrows), (size_t)parts * sizeof *a->val);
        }
        out->row_ptr[i + 1] = at;
    }
    return TESS_SUCCESS;
}

/* A sparse file of this many values per entry is a matrix that was given by mistake. */
enum { MOST_VALUES_PER_ENTRY = 64, MOST_VALUES = 1 << 20 };

tess_status file_array_from_entries(const blob *b, const tess_entries *e, file_array *out)
{
    const int64_t values = e->ncols > 0 && e->nrows > INT64_MAX / e->ncols ? INT64_MAX : e->nrows * e->ncols;
    const int parts = e->is_complex ? 2 : 1;

    *out = (file_array){.nrows = e->nrows, .ncols = e->ncols, .is_complex = e->is_complex};
    if (values > MOST_VALUES && values / MOST_VALUES_PER_ENTRY > e->count) {
        return tess_fail_at(b->ctx, TESS_PARSE, b->name, 0, "a vector has n rows and 1 column",
                            "the file holds a sparse matrix of %lld by %lld, but a vector was expected",
                            (long long)e->nrows, (long long)e->ncols);
    }
    const tess_status status = file_array_allocate(b->ctx, out);
    if (status != TESS_SUCCESS) { return status; }
    memset(out->val, 0, (size_t)file_array_numbers(out) * sizeof *out->val);
    for (int64_t k = 0; k < e->count; k++) {
        const bool mirror = e->symmetry != TESS_SYMMETRY_GENERAL && e->row[k] != e->col[k];

        for (int part = 0; part < parts; part++) {
            const double value = e->val ? e->val[parts * k + part] : 1.0;
            const bool negative =
                e->symmetry == TESS_SYMMETRY_SKEW || (e->symmetry == TESS_SYMMETRY_HERMITIAN && part == 1);

            out->val[parts * (e->row[k] + e->col[k] * e->nrows) + part] += value;
            if (mirror) { out->val[parts * (e->col[k] + e->row[k] * e->nrows) + part] += negative ? -value : value; }
        }
    }
    return TESS_SUCCESS;
}

tess_status file_array_allocate(tess_context *ctx, file_array *a)
{
    return tess_host_allocate(ctx, file_array_numbers(a), sizeof *a->val, (void **)&a->val);
}

void file_array_release(tess_context *ctx, file_array *a)
{
    if (!a->val) { return; }
    tess_host_release(ctx, a->val, file_array_numbers(a), sizeof *a->val);
    a->val = NULL;
}

tess_status file_check_sizes(const blob *b, int64_t at, int64_t nrows, int64_t ncols)
{
    if (nrows >= 0 && ncols >= 0 && nrows <= TESS_MAX_ROWS && ncols <= TESS_MAX_ROWS) { return TESS_SUCCESS; }
    return tess_fail_at(b->ctx, nrows < 0 || ncols < 0 ? TESS_PARSE : TESS_OUT_OF_RANGE, b->name, 0, NULL,
                        "at byte %lld of %lld: the file says %s and %s; 0 to %lld were expected", (long long)at,
                        (long long)b->count, tess_count(nrows, "row").text, tess_count(ncols, "column").text,
                        (long long)TESS_MAX_ROWS);
}

tess_status file_check_rows(const blob *b, int64_t nrows)
{
    if (nrows <= MOST_EMPTY_ROWS || nrows / ROWS_PER_BYTE <= b->count) { return TESS_SUCCESS; }
    return tess_fail_at(b->ctx, TESS_OUT_OF_RANGE, b->name, 0, "leave out empty rows",
                        "the file has %s and says %s: nearly all would be empty", tess_count(b->count, "byte").text,
                        tess_count(nrows, "row").text);
}
