/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, copies, sorting and transposes of plain CSR matrices. Products: host_csr_product.c. */
#include "matrix/host_csr.h"

#include <string.h>

#include "matrix/assembled.h"

/* Entries below which threads do not pay, and the most threads of a transpose: each counts all columns. */
enum { SERIAL_ENTRIES = 8192, TRANSPOSE_THREADS = 8 };

/* ---- memory ---- */

tess_status host_csr_allocate_rows(tess_context *ctx, int64_t nrows, int64_t ncols, host_csr *out)
{
    *out = (host_csr){.nrows = nrows, .ncols = ncols};
    return tess_host_allocate(ctx, nrows + 1, sizeof *out->row_ptr, (void **)&out->row_ptr);
}

tess_status host_csr_allocate_entries(tess_context *ctx, host_csr *a)
{
    tess_status status = tess_host_allocate(ctx, host_csr_nnz(a), sizeof *a->col_ind, (void **)&a->col_ind);

    if (status != TESS_SUCCESS) { return status; }
    return tess_host_allocate(ctx, host_csr_nnz(a), sizeof *a->val, (void **)&a->val);
}

void host_csr_sum_lengths(host_csr *a)
{
    a->row_ptr[0] = 0;
    for (int64_t i = 0; i < a->nrows; i++) {
        a->row_ptr[i + 1] += a->row_ptr[i];
    }
}

static int64_t room_of(const host_csr *a)
{
    return a->capacity > 0 ? a->capacity : host_csr_nnz(a);
}

tess_status host_csr_allocate_values(tess_context *ctx, host_csr *a)
{
    return tess_host_allocate(ctx, room_of(a), sizeof *a->val, (void **)&a->val);
}

void host_csr_release_values(tess_context *ctx, host_csr *a)
{
    if (a->val && !a->borrowed) { tess_host_release(ctx, a->val, room_of(a), sizeof *a->val); }
    a->val = NULL;
}

void host_csr_release_entries(tess_context *ctx, host_csr *a)
{
    if (a->col_ind && !a->borrowed) { tess_host_release(ctx, a->col_ind, room_of(a), sizeof *a->col_ind); }
    host_csr_release_values(ctx, a);
    a->col_ind = NULL;
    a->capacity = 0;
}

void host_csr_release(tess_context *ctx, host_csr *a)
{
    host_csr_release_entries(ctx, a);
    tess_host_release(ctx, a->row_ptr, a->nrows + 1, sizeof *a->row_ptr);
    *a = (host_csr){0};
}

/* ---- copies ---- */

/* The matrix's own arrays. They are read only, whatever the pointers say. */
static void borrow_entries(const csr_view *v, host_csr *out)
{
    out->borrowed = true;
    out->col_ind = (int32_t *)(uintptr_t)v->col_ind;
    out->val = (double *)(uintptr_t)v->val;
}

tess_status host_csr_from_matrix(const tess_matrix *a, host_csr *out)
{
    tess_context *ctx = a->ctx;
    tess_status status = host_csr_allocate_rows(ctx, a->nrows, a->ncols, out);

    if (status != TESS_SUCCESS) { return status; }
    if (ctx->device == TESS_DEVICE_CPU) {
        const csr_view *v = &csr_of(a)->view;

        for (int64_t i = 0; i <= a->nrows; i++) {
            out->row_ptr[i] = csr_offset(v, i);
        }
        borrow_entries(v, out);
        return TESS_SUCCESS;
    }
    TESS_TRY(tess_matrix_get_csr(a, out->row_ptr, NULL, NULL));
    TESS_TRY(host_csr_allocate_entries(ctx, out));
    status = tess_matrix_get_csr(a, NULL, out->col_ind, out->val);
cleanup:
    if (status != TESS_SUCCESS) { host_csr_release(ctx, out); }
    return status;
}

/* Copies to arrays that a matrix can adopt; these are released by it, or here after a failure. */
tess_status host_csr_to_matrix(tess_context *ctx, const host_csr *a, tess_matrix **out)
{
    const int64_t nnz = host_csr_nnz(a);
    const int bits = nnz <= INT32_MAX ? 32 : 64;
    host_csr copy = {0};
    void *row_ptr = NULL;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(tess_host_allocate(ctx, a->nrows + 1, (size_t)bits / 8, &row_ptr));
    TESS_TRY(tess_host_allocate(ctx, nnz, sizeof *copy.col_ind, (void **)&copy.col_ind));
    TESS_TRY(tess_host_allocate(ctx, nnz, sizeof *copy.val, (void **)&copy.val));
    memcpy(copy.col_ind, a->col_ind, (size_t)nnz * sizeof *copy.col_ind);
    memcpy(copy.val, a->val, (size_t)nnz * sizeof *copy.val);
    copy.nrows = a->nrows;
    copy.row_ptr = a->row_ptr;
    host_csr_sort(ctx, &copy);
    for (int64_t i = 0; i <= a->nrows; i++) {
        tess_row_offset_set(row_ptr, bits, i, a->row_ptr[i]);
    }
    return tess_matrix_adopt_csr(ctx, a->nrows, a->ncols, nnz, row_ptr, bits, copy.col_ind, copy.val, out);
cleanup:
    tess_host_release(ctx, row_ptr, a->nrows + 1, (size_t)bits / 8);
    tess_host_release(ctx, copy.col_ind, nnz, sizeof *copy.col_ind);
    tess_host_release(ctx, copy.val, nnz, sizeof *copy.val);
    return status;
}

/* ---- order ---- */

/* Shell's sort with Ciura's gaps (2001): in place, for short rows an insertion sort. */
void host_csr_sort_row(int64_t count, int32_t *column, double *val)
{
    static const int64_t gaps[] = {65921, 29298, 13021, 5787, 2572, 1143, 508, 226, 100, 44, 20, 1};
    size_t g = count > 40 ? 0 : sizeof gaps / sizeof *gaps - 1;

    for (; g < sizeof gaps / sizeof *gaps; g++) {
        const int64_t gap = gaps[g];

        for (int64_t i = gap; i < count; i++) {
            const int32_t c = column[i];
            const double v = val[i];
            int64_t j = i;

            for (; j >= gap && column[j - gap] > c; j -= gap) {
                column[j] = column[j - gap];
                val[j] = val[j - gap];
            }
            column[j] = c;
            val[j] = v;
        }
    }
}

void host_csr_sort(tess_context *ctx, host_csr *a)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1024) if (host_csr_nnz(a) > SERIAL_ENTRIES)
    for (int64_t i = 0; i < a->nrows; i++) {
        host_csr_sort_row(a->row_ptr[i + 1] - a->row_ptr[i], a->col_ind + a->row_ptr[i], a->val + a->row_ptr[i]);
    }
}

/* ---- transposes ---- */

/* Rows of a are cut into `parts`; place[part ncols + j]: where the part's next entry of column j goes. */
static void count_columns(const tess_context *ctx, const host_csr *a, int parts, int64_t *place)
{
    (void)ctx;
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int part = 0; part < parts; part++) {
        const int64_t first = a->row_ptr[a->nrows * part / parts], end = a->row_ptr[a->nrows * (part + 1) / parts];
        int64_t *count = place + part * a->ncols;

        memset(count, 0, (size_t)a->ncols * sizeof *count);
        for (int64_t k = first; k < end; k++) {
            count[a->col_ind[k]]++;
        }
    }
}

/* Counts become places; row_ptr of the transpose. */
static void sum_columns(const host_csr *a, int parts, int64_t *place, int64_t *row_ptr)
{
    int64_t sum = 0;

    for (int64_t j = 0; j < a->ncols; j++) {
        row_ptr[j] = sum;
        for (int part = 0; part < parts; part++) {
            const int64_t count = place[part * a->ncols + j];

            place[part * a->ncols + j] = sum;
            sum += count;
        }
    }
    row_ptr[a->ncols] = sum;
}

static void move_entries(const host_csr *a, int parts, int64_t *place, host_csr *out)
{
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int part = 0; part < parts; part++) {
        int64_t *to = place + part * a->ncols;

        for (int64_t i = a->nrows * part / parts; i < a->nrows * (part + 1) / parts; i++) {
            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
                const int64_t at = to[a->col_ind[k]]++;

                out->col_ind[at] = (int32_t)i;
                out->val[at] = a->val[k];
            }
        }
    }
}

tess_status host_csr_transpose(tess_context *ctx, const host_csr *a, host_csr *out)
{
    const int most = ctx->threads < TRANSPOSE_THREADS ? ctx->threads : TRANSPOSE_THREADS;
    const int parts = host_csr_nnz(a) > SERIAL_ENTRIES ? most : 1;
    int64_t *place = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(host_csr_allocate_rows(ctx, a->ncols, a->nrows, out));
    TESS_TRY(tess_host_allocate(ctx, parts * a->ncols, sizeof *place, (void **)&place));
    count_columns(ctx, a, parts, place);
    sum_columns(a, parts, place, out->row_ptr);
    TESS_TRY(host_csr_allocate_entries(ctx, out));
    move_entries(a, parts, place, out);
cleanup:
    tess_host_release(ctx, place, parts * a->ncols, sizeof *place);
    if (status != TESS_SUCCESS) {
        if (out->row_ptr) { out->row_ptr[out->nrows] = host_csr_nnz(a); }
        host_csr_release(ctx, out);
    }
    return status;
}
