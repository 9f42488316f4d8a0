/* SPDX-License-Identifier: Apache-2.0 */
/* From the arrays of SciPy's formats to CSR. Duplicates stay: assembling sums them. */
#include <tessera/names.h>

#include "io/npz.h"

/* ---- checks ---- */

static tess_status check_index(const npz_member *m, int64_t k, int64_t index, int64_t limit)
{
    if (index >= 0 && index < limit) { return TESS_SUCCESS; }
    return tess_fail_at(m->b.ctx, TESS_OUT_OF_RANGE, m->label, 0, NULL,
                        "at byte %lld of %lld: the index %lld is out of range; 0 to %lld were expected",
                        (long long)(m->a.data - m->b.bytes + k * m->a.item_bytes), (long long)m->b.count,
                        (long long)index, (long long)limit - 1);
}

static tess_status check_indices(const npz_member *m, int64_t limit)
{
    tess_status status = TESS_SUCCESS;

    for (int64_t k = 0; k < m->a.count && status == TESS_SUCCESS; k++) {
        status = check_index(m, k, npy_integer(&m->a, k), limit);
    }
    return status;
}

static tess_status fail_length(const npz_member *m, int64_t expected)
{
    return tess_fail_at(m->b.ctx, TESS_PARSE, m->label, 0, NULL, "the array has %s; %lld were expected",
                        tess_count(m->a.count, "value").text, (long long)expected);
}

/* Offsets of `rows` rows: ascending from 0 to at most `count`. */
static tess_status check_offsets(const npz_member *m, int64_t rows, int64_t count)
{
    if (m->a.count != rows + 1) { return fail_length(m, rows + 1); }
    for (int64_t i = 0, previous = 0; i <= rows; i++) {
        const int64_t offset = npy_integer(&m->a, i);

        if (offset < previous || offset > count || (i == 0 && offset != 0)) {
            return tess_fail_at(m->b.ctx, TESS_PARSE, m->label, 0, NULL,
                                "at byte %lld of %lld: the offset %lld of a row; ascending ones from 0 to %lld were "
                                "expected",
                                (long long)(m->a.data - m->b.bytes + i * m->a.item_bytes), (long long)m->b.count,
                                (long long)offset, (long long)count);
        }
        previous = offset;
    }
    return TESS_SUCCESS;
}

/* ---- entries in any order ---- */

/* What is done with an entry; its value is the k-th of the data. */
typedef void (*entry_taker)(void *user, int64_t row, int64_t col, const npy_array *data, int64_t k);
/* Calls for each entry, twice: first the rows are counted, then entries are stored. */
typedef void (*entry_lister)(const npz_member parts[3], const file_csr *out, void *user, entry_taker entry);

static void count_entry(void *user, int64_t row, int64_t col, const npy_array *data, int64_t k)
{
    file_csr *out = user;

    (void)col, (void)data, (void)k;
    out->row_ptr[row + 1]++;
}

/* row_ptr[row] is the place of the row's next entry: it ends one row further on. */
static void store_entry(void *user, int64_t row, int64_t col, const npy_array *data, int64_t k)
{
    file_csr *out = user;
    const int64_t at = out->row_ptr[row]++;

    out->col_ind[at] = (int32_t)col;
    npy_value(data, k, out->val + (out->is_complex ? 2 : 1) * at);
}

static tess_status build_from_entries(const blob *b, const npz_member parts[3], entry_lister list, file_csr *out)
{
    tess_status status = file_check_rows(b, out->nrows);

    out->is_complex = parts[2].a.type == 'c';
    if (status == TESS_SUCCESS) { status = file_csr_allocate(b->ctx, out); }
    if (status != TESS_SUCCESS) { return status; }
    list(parts, out, out, count_entry);
    file_csr_sum_lengths(out);
    list(parts, out, out, store_entry);
    for (int64_t i = out->nrows; i > 0; i--) {
        out->row_ptr[i] = out->row_ptr[i - 1];
    }
    out->row_ptr[0] = 0;
    return TESS_SUCCESS;
}

/* ---- csr and csc ---- */

tess_status npz_build_csr(const blob *b, const npz_member parts[3], file_csr *out)
{
    tess_status status = check_offsets(&parts[0], out->nrows, parts[1].a.count);

    if (status == TESS_SUCCESS) { status = check_indices(&parts[1], out->ncols); }
    if (status != TESS_SUCCESS) { return status; }
    out->nnz = npy_integer(&parts[0].a, out->nrows);
    if (parts[2].a.count < out->nnz) { return fail_length(&parts[2], out->nnz); }
    out->is_complex = parts[2].a.type == 'c';
    status = file_csr_allocate(b->ctx, out);
    if (status != TESS_SUCCESS) { return status; }
    for (int64_t i = 0; i <= out->nrows; i++) {
        out->row_ptr[i] = npy_integer(&parts[0].a, i);
    }
    for (int64_t k = 0; k < out->nnz; k++) {
        out->col_ind[k] = (int32_t)npy_integer(&parts[1].a, k);
        npy_value(&parts[2].a, k, out->val + (out->is_complex ? 2 : 1) * k);
    }
    return TESS_SUCCESS;
}

static void list_csc(const npz_member parts[3], const file_csr *out, void *user, entry_taker entry)
{
    for (int64_t j = 0; j < out->ncols; j++) {
        const int64_t end = npy_integer(&parts[0].a, j + 1);

        for (int64_t k = npy_integer(&parts[0].a, j); k < end; k++) {
            entry(user, npy_integer(&parts[1].a, k), j, &parts[2].a, k);
        }
    }
}

tess_status npz_build_csc(const blob *b, const npz_member parts[3], file_csr *out)
{
    tess_status status = check_offsets(&parts[0], out->ncols, parts[1].a.count);

    if (status == TESS_SUCCESS) { status = check_indices(&parts[1], out->nrows); }
    if (status != TESS_SUCCESS) { return status; }
    out->nnz = npy_integer(&parts[0].a, out->ncols);
    if (parts[2].a.count < out->nnz) { return fail_length(&parts[2], out->nnz); }
    return build_from_entries(b, parts, list_csc, out);
}

/* ---- coo ---- */

static void list_coo(const npz_member parts[3], const file_csr *out, void *user, entry_taker entry)
{
    for (int64_t k = 0; k < out->nnz; k++) {
        entry(user, npy_integer(&parts[0].a, k), npy_integer(&parts[1].a, k), &parts[2].a, k);
    }
}

tess_status npz_build_coo(const blob *b, const npz_member parts[3], file_csr *out)
{
    tess_status status = check_indices(&parts[0], out->nrows);

    if (status == TESS_SUCCESS) { status = check_indices(&parts[1], out->ncols); }
    if (status != TESS_SUCCESS) { return status; }
    out->nnz = parts[0].a.count;
    for (int i = 1; i < 3; i++) {
        if (parts[i].a.count != out->nnz) { return fail_length(&parts[i], out->nnz); }
    }
    return build_from_entries(b, parts, list_coo, out);
}

/* PyData's sparse, and SciPy for arrays of any number of dimensions: one table of indices, 2 by nnz. */
static void list_coords(const npz_member parts[3], const file_csr *out, void *user, entry_taker entry)
{
    const npy_array *coords = &parts[0].a;

    for (int64_t k = 0; k < out->nnz; k++) {
        entry(user, npy_integer(coords, npy_place(coords, 0, k)), npy_integer(coords, npy_place(coords, 1, k)),
              &parts[2].a, k);
    }
}

tess_status npz_build_coords(const blob *b, const npz_member parts[3], file_csr *out)
{
    const npz_member *coords = &parts[0];
    tess_status status = TESS_SUCCESS;

    if (coords->a.shape[0] != 2) { return fail_length(coords, 2 * parts[2].a.count); }
    out->nnz = coords->a.shape[1];
    if (parts[2].a.count != out->nnz) { return fail_length(&parts[2], out->nnz); }
    for (int64_t k = 0; k < 2 * out->nnz && status == TESS_SUCCESS; k++) {
        const int64_t row = k / out->nnz, place = npy_place(&coords->a, row, k % out->nnz);

        status = check_index(coords, place, npy_integer(&coords->a, place), row == 0 ? out->nrows : out->ncols);
    }
    return status == TESS_SUCCESS ? build_from_entries(b, parts, list_coords, out) : status;
}

/* ---- bsr ---- */

/* Place in the file of an entry of a block: the data have the shape (blocks, rows, columns). */
static int64_t block_place(const npy_array *a, int64_t k, int64_t i, int64_t j)
{
    return a->fortran ? k + a->shape[0] * (i + a->shape[1] * j) : (k * a->shape[1] + i) * a->shape[2] + j;
}

static void list_bsr(const npz_member parts[3], const file_csr *out, void *user, entry_taker entry)
{
    const npy_array *data = &parts[2].a;
    const int64_t rows = data->shape[1], cols = data->shape[2];

    for (int64_t block_row = 0; block_row < out->nrows / rows; block_row++) {
        const int64_t end = npy_integer(&parts[0].a, block_row + 1);

        for (int64_t k = npy_integer(&parts[0].a, block_row); k < end; k++) {
            const int64_t first = npy_integer(&parts[1].a, k) * cols;

            for (int64_t i = 0; i < rows; i++) {
                for (int64_t j = 0; j < cols; j++) {
                    entry(user, block_row * rows + i, first + j, data, block_place(data, k, i, j));
                }
            }
        }
    }
}

tess_status npz_build_bsr(const blob *b, const npz_member parts[3], file_csr *out)
{
    const npy_array *data = &parts[2].a;
    const int64_t rows = data->shape[1], cols = data->shape[2];

    if (rows < 1 || cols < 1 || out->nrows % rows != 0 || out->ncols % cols != 0) {
        return tess_fail_at(b->ctx, TESS_PARSE, parts[2].label, 0, NULL,
                            "blocks of %lld by %lld do not divide a matrix of %lld by %lld", (long long)rows,
                            (long long)cols, (long long)out->nrows, (long long)out->ncols);
    }
    tess_status status = check_offsets(&parts[0], out->nrows / rows, parts[1].a.count);
    if (status == TESS_SUCCESS) { status = check_indices(&parts[1], out->ncols / cols); }
    if (status != TESS_SUCCESS) { return status; }
    const int64_t blocks = npy_integer(&parts[0].a, out->nrows / rows);
    if (data->shape[0] < blocks) { return fail_length(&parts[2], blocks * rows * cols); }
    out->nnz = blocks * rows * cols;
    return build_from_entries(b, parts, list_bsr, out);
}

/* ---- dia ---- */

/* data[d, j] is the entry of column j on diagonal d, so of row j - offset. Zeros outside of a diagonal's rows are
   padding; zeros within it are left out too, since the format cannot tell them from entries. */
static void list_dia(const npz_member parts[3], const file_csr *out, void *user, entry_taker entry)
{
    const npy_array *data = &parts[2].a;

    for (int64_t d = 0; d < parts[0].a.count; d++) {
        const int64_t offset = npy_integer(&parts[0].a, d);

        for (int64_t j = 0; j < data->shape[1] && j < out->ncols; j++) {
            const int64_t k = npy_place(data, d, j);

            if (j - offset >= 0 && j - offset < out->nrows && !npy_is_zero(data, k)) {
                entry(user, j - offset, j, data, k);
            }
        }
    }
}

static void count_dia(void *user, int64_t row, int64_t col, const npy_array *data, int64_t k)
{
    (void)row, (void)col, (void)data, (void)k;
    ++*(int64_t *)user;
}

tess_status npz_build_dia(const blob *b, const npz_member parts[3], file_csr *out)
{
    if (parts[2].a.shape[0] != parts[0].a.count) { return fail_length(&parts[0], parts[2].a.shape[0]); }
    for (int64_t d = 0; d < parts[0].a.count; d++) {
        const int64_t offset = npy_integer(&parts[0].a, d);

        if (offset < -TESS_MAX_ROWS || offset > TESS_MAX_ROWS) { return check_index(&parts[0], d, offset, out->ncols); }
    }
    list_dia(parts, out, &out->nnz, count_dia);
    return build_from_entries(b, parts, list_dia, out);
}
