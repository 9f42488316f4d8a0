/* SPDX-License-Identifier: Apache-2.0 */
/* Assembled matrices from the caller's CSR and COO arrays. */
#include "base/options.h"

#include <tessera/names.h>

#include "matrix/assemble.h"
#include "matrix/assembled.h"
#include "matrix/complex_form.h"
#include "matrix/matrix.h"

static bool in_device_memory(const tess_context *ctx, tess_memory where)
{
    return where == TESS_MEMORY_DEVICE && ctx->device == TESS_DEVICE_GPU;
}

static tess_status check_sizes(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t nnz, tess_memory where)
{
    if (nrows < 0 || ncols < 0 || nnz < 0 || nrows > TESS_MAX_ROWS || ncols > TESS_MAX_ROWS) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "rows and columns number 0 to 2^31 - 1, nonzeros 0 or more",
                         "a matrix cannot have the size %lld by %lld with %s", (long long)nrows, (long long)ncols,
                         tess_count(nnz, "nonzero").text);
    }
    const tess_status status = options_require_name(ctx, "tess_memory", "where", (int)where);

    if (status != TESS_SUCCESS) { return status; }
    if (where == TESS_MEMORY_DEVICE && ctx->device == TESS_DEVICE_CPU) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass TESS_MEMORY_HOST, or create the context on a GPU",
                         "the arrays are said to be in device memory, but the context is on the CPU");
    }
    return TESS_SUCCESS;
}

static tess_status check_values(tess_context *ctx, tess_precision precision)
{
    if (tess_precision_bytes(precision) > 0) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a value of tess_precision; 0 is fp64",
                     "unknown precision %d of values", (int)precision);
}

static bool are_index_bits(int bits)
{
    return bits == 32 || bits == 64;
}

static int64_t index_at(const void *array, int bits, int64_t i)
{
    return bits == 64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* A host copy of a device array, or the host array itself. */
static tess_status to_host(tess_context *ctx, tess_memory where, const void *array, int64_t count, size_t size,
                           const void **host, void **owned)
{
    tess_status status = TESS_SUCCESS;

    *owned = NULL;
    *host = array;
    if (!in_device_memory(ctx, where)) { return TESS_SUCCESS; }
    status = tess_host_allocate(ctx, count, size, owned);
    *host = *owned;
    return status == TESS_SUCCESS ? ctx->backend->download(ctx, *owned, array, (size_t)count * size) : status;
}

/* ---- CSR ---- */

/* Row offsets of the caller: from 0 to nnz, ascending. */
static tess_status check_offsets(tess_context *ctx, const tess_csr_arrays *a, const void *row_ptr)
{
    int bits = a->row_ptr_bits;

    if (index_at(row_ptr, bits, 0) != 0 || index_at(row_ptr, bits, a->nrows) != a->nnz) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "row_ptr must begin with 0 and end with nnz",
                         "row_ptr runs from %lld to %lld, but nnz is %lld", (long long)index_at(row_ptr, bits, 0),
                         (long long)index_at(row_ptr, bits, a->nrows), (long long)a->nnz);
    }
    for (int64_t i = 0; i < a->nrows; i++) {
        if (index_at(row_ptr, bits, i) > index_at(row_ptr, bits, i + 1)) {
            return tess_fail(ctx, TESS_OUT_OF_RANGE, "row_ptr must not descend; rows count from 0",
                             "row_ptr descends after row %lld", (long long)i);
        }
    }
    return TESS_SUCCESS;
}

static tess_status check_columns(tess_context *ctx, int64_t count, int64_t limit, const void *index, int bits,
                                 const char *what)
{
    for (int64_t k = 0; k < count; k++) {
        int64_t value = index_at(index, bits, k);

        if (value < 0 || value >= limit) {
            return tess_fail(ctx, TESS_OUT_OF_RANGE, "indices count from 0",
                             "entry %lld has the %s index %lld, outside the range [0, %lld)", (long long)k, what,
                             (long long)value, (long long)limit);
        }
    }
    return TESS_SUCCESS;
}

static bool rows_ascend(const tess_csr_arrays *a, const void *row_ptr, const void *col_ind)
{
    for (int64_t i = 0; i < a->nrows; i++) {
        int64_t end = index_at(row_ptr, a->row_ptr_bits, i + 1);

        for (int64_t k = index_at(row_ptr, a->row_ptr_bits, i) + 1; k < end; k++) {
            if (index_at(col_ind, a->col_ind_bits, k - 1) >= index_at(col_ind, a->col_ind_bits, k)) { return false; }
        }
    }
    return true;
}

/* How many numbers the values are. */
static int64_t count_numbers(int64_t nnz, int is_complex)
{
    return is_complex ? 2 * nnz : nnz;
}

/* ncols as the caller has it. */
static tess_status adopt_assembled(tess_context *ctx, int64_t ncols, int is_complex, const tess_assembled *made,
                                   tess_matrix **out)
{
    const tess_status status = tess_matrix_adopt_csr(ctx, made->nrows, is_complex ? 2 * ncols : ncols, made->nnz,
                                                     made->row_ptr, made->row_ptr_bits, made->col_ind, made->val, out);

    if (status == TESS_SUCCESS && is_complex) { tess_matrix_mark_complex(*out); }
    return status;
}

static void narrow_indices(const void *from, int bits, int64_t count, int32_t *to)
{
    for (int64_t k = 0; k < count; k++) {
        to[k] = (int32_t)index_at(from, bits, k);
    }
}

static void widen_indices(const void *from, int bits, int64_t count, int64_t *to)
{
    for (int64_t k = 0; k < count; k++) {
        to[k] = index_at(from, bits, k);
    }
}

static tess_status copy_host_csr(tess_context *ctx, const tess_csr_arrays *a, const void *row_ptr, const void *col_ind,
                                 const void *val, tess_matrix **out)
{
    int64_t *own_ptr = NULL;
    int32_t *own_ind = NULL;
    double *own_val = NULL;
    const int64_t numbers = count_numbers(a->nnz, a->is_complex);
    bool ordered = false;
    tess_assembled made = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_offsets(ctx, a, row_ptr));
    TESS_TRY(check_columns(ctx, a->nnz, a->ncols, col_ind, a->col_ind_bits, "column"));
    ordered = rows_ascend(a, row_ptr, col_ind);
    TESS_TRY(tess_host_allocate(ctx, a->nrows + 1, sizeof *own_ptr, (void **)&own_ptr));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *own_ind, (void **)&own_ind));
    TESS_TRY(tess_host_allocate(ctx, numbers, sizeof *own_val, (void **)&own_val));
    widen_indices(row_ptr, a->row_ptr_bits, a->nrows + 1, own_ptr);
    narrow_indices(col_ind, a->col_ind_bits, a->nnz, own_ind);
    if (a->nnz > 0) { TESS_TRY(ctx->host->convert(ctx, numbers, a->val_precision, val, TESS_PRECISION_FP64, own_val)); }
    status = a->is_complex ? tess_assemble_complex_csr(ctx, a->nrows, a->nnz, own_ptr, own_ind, own_val, &made)
                           : tess_assemble_csr(ctx, a->nrows, a->nnz, own_ptr, own_ind, own_val, &made);
    own_ptr = NULL; /* taken */
    own_ind = NULL;
    own_val = NULL;
    if (status == TESS_SUCCESS) { status = adopt_assembled(ctx, a->ncols, a->is_complex, &made, out); }
    if (status == TESS_SUCCESS) { (*out)->keeps_order = ordered; }
cleanup:
    tess_host_release(ctx, own_ptr, a->nrows + 1, sizeof *own_ptr);
    tess_host_release(ctx, own_ind, a->nnz, sizeof *own_ind);
    tess_host_release(ctx, own_val, numbers, sizeof *own_val);
    return status;
}

static tess_status copy_csr(tess_context *ctx, const tess_csr_arrays *a, tess_matrix **out)
{
    const void *row_ptr = NULL, *col_ind = NULL, *val = NULL;
    void *own_ptr = NULL, *own_ind = NULL, *own_val = NULL;
    const size_t ptr_size = (size_t)a->row_ptr_bits / 8, ind_size = (size_t)a->col_ind_bits / 8;
    const size_t val_size = tess_precision_bytes(a->val_precision);
    const int64_t numbers = count_numbers(a->nnz, a->is_complex);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(to_host(ctx, a->where, a->row_ptr, a->nrows + 1, ptr_size, &row_ptr, &own_ptr));
    TESS_TRY(to_host(ctx, a->where, a->col_ind, a->nnz, ind_size, &col_ind, &own_ind));
    TESS_TRY(to_host(ctx, a->where, a->val, numbers, val_size, &val, &own_val));
    status = copy_host_csr(ctx, a, row_ptr, col_ind, val, out);
cleanup:
    tess_host_release(ctx, own_ptr, a->nrows + 1, ptr_size);
    tess_host_release(ctx, own_ind, a->nnz, ind_size);
    tess_host_release(ctx, own_val, numbers, val_size);
    return status;
}

static tess_status check_view(tess_context *ctx, const csr_view *view)
{
    const assembled_ops *backend = assembled_ops_of(ctx);
    int64_t bad_row = -1;
    tess_status status = backend->check(ctx, view, &bad_row);

    if (status != TESS_SUCCESS || bad_row < 0) { return status; }
    return tess_fail(ctx, TESS_OUT_OF_RANGE, "use TESS_COPY, which sorts rows and sums duplicates",
                     "row %lld of a borrowed matrix has offsets out of order, or columns that are unsorted, duplicate "
                     "or out of range",
                     (long long)bad_row);
}

static tess_status borrow_csr(tess_context *ctx, const tess_csr_arrays *a, tess_matrix **out)
{
    csr_view view = {.nrows = a->nrows,
                     .ncols = a->ncols,
                     .nnz = a->nnz,
                     .row_ptr = a->row_ptr,
                     .row_ptr_bits = a->row_ptr_bits,
                     .col_ind = a->col_ind,
                     .val = a->val,
                     .precision = TESS_PRECISION_FP64};
    tess_status status = TESS_SUCCESS;

    if (a->val_precision != TESS_PRECISION_FP64) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "use TESS_COPY, which converts values",
                         "a matrix cannot borrow values in %s, because assembled matrices are in FP64",
                         tess_precision_name(a->val_precision));
    }
    if (a->is_complex) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "use TESS_COPY, which makes the real form",
                         "a complex matrix cannot be borrowed");
    }
    if (a->col_ind_bits != 32 || (a->where == TESS_MEMORY_DEVICE) != (ctx->device == TESS_DEVICE_GPU)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use TESS_COPY",
                         "a borrowed matrix needs 32-bit columns and arrays in the memory of the context's device");
    }
    status = check_view(ctx, &view);
    return status == TESS_SUCCESS ? tess_matrix_from_view(ctx, &view, false, out) : status;
}

void tess_csr_arrays_init_sized(tess_csr_arrays *arrays, size_t size)
{
    result_init(arrays, size);
}

tess_status tess_matrix_create_csr(tess_context *ctx, const tess_csr_arrays *arrays, tess_matrix **out)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    TESS_REQUIRE(ctx, arrays);
    tess_csr_arrays taken = {.size = sizeof taken};
    const tess_csr_arrays *a = &taken;
    tess_status status = options_take(ctx, "tess_csr_arrays", arrays, &taken, sizeof taken);

    if (status != TESS_SUCCESS) { return status; }
    status = check_sizes(ctx, a->nrows, a->ncols, a->nnz, a->where);
    if (status != TESS_SUCCESS) { return status; }
    if (!a->row_ptr || (a->nnz > 0 && (!a->col_ind || !a->val)) || !are_index_bits(a->row_ptr_bits) ||
        !are_index_bits(a->col_ind_bits)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT,
                         "set row_ptr, col_ind, val, row_ptr_bits and col_ind_bits (32 or 64)",
                         "CSR arrays are incomplete");
    }
    status = check_values(ctx, a->val_precision);
    if (status != TESS_SUCCESS) { return status; }
    status = options_require_name(ctx, "tess_ownership", "tess_csr_arrays.ownership", (int)a->ownership);
    if (status != TESS_SUCCESS) { return status; }
    status = a->ownership == TESS_BORROW ? borrow_csr(ctx, a, out) : copy_csr(ctx, a, out);
    if (status == TESS_SUCCESS) { (*out)->given = a->val_precision; }
    return status;
}

/* ---- COO ---- */

static tess_status copy_host_coo(tess_context *ctx, const tess_coo_arrays *a, const void *row_ind, const void *col_ind,
                                 const void *val, tess_matrix **out)
{
    int32_t *row = NULL, *col = NULL;
    double *wide = NULL;
    const int64_t numbers = count_numbers(a->nnz, a->is_complex);
    tess_entries entries = {.nrows = a->nrows, .ncols = a->ncols, .count = a->nnz, .is_complex = a->is_complex != 0};
    tess_assembled made = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_columns(ctx, a->nnz, a->nrows, row_ind, a->index_bits, "row"));
    TESS_TRY(check_columns(ctx, a->nnz, a->ncols, col_ind, a->index_bits, "column"));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *row, (void **)&row));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *col, (void **)&col));
    narrow_indices(row_ind, a->index_bits, a->nnz, row);
    narrow_indices(col_ind, a->index_bits, a->nnz, col);
    if (a->val_precision != TESS_PRECISION_FP64) {
        TESS_TRY(tess_host_allocate(ctx, numbers, sizeof *wide, (void **)&wide));
        TESS_TRY(ctx->host->convert(ctx, numbers, a->val_precision, val, TESS_PRECISION_FP64, wide));
    }
    entries.row = row;
    entries.col = col;
    entries.val = wide ? wide : val;
    TESS_TRY(tess_assemble_entries(ctx, &entries, &made));
    TESS_TRY(adopt_assembled(ctx, a->ncols, a->is_complex, &made, out));
    (*out)->keeps_order = false;
    (*out)->given = a->val_precision;
cleanup:
    tess_host_release(ctx, row, a->nnz, sizeof *row);
    tess_host_release(ctx, col, a->nnz, sizeof *col);
    tess_host_release(ctx, wide, numbers, sizeof *wide);
    return status;
}

void tess_coo_arrays_init_sized(tess_coo_arrays *arrays, size_t size)
{
    result_init(arrays, size);
}

static tess_status create_coo(tess_context *ctx, const tess_coo_arrays *a, tess_matrix **out)
{
    const void *row_ind = NULL, *col_ind = NULL, *val = NULL;
    void *own_row = NULL, *own_col = NULL, *own_val = NULL;
    const size_t size = (size_t)a->index_bits / 8, val_size = tess_precision_bytes(a->val_precision);
    const int64_t numbers = count_numbers(a->nnz, a->is_complex);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(check_sizes(ctx, a->nrows, a->ncols, a->nnz, a->where));
    if (!are_index_bits(a->index_bits) || (a->nnz > 0 && (!a->row_ind || !a->col_ind || !a->val))) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "set row_ind, col_ind, val and index_bits (32 or 64)",
                         "COO arrays are incomplete");
    }
    TESS_TRY(check_values(ctx, a->val_precision));
    TESS_TRY(to_host(ctx, a->where, a->row_ind, a->nnz, size, &row_ind, &own_row));
    TESS_TRY(to_host(ctx, a->where, a->col_ind, a->nnz, size, &col_ind, &own_col));
    TESS_TRY(to_host(ctx, a->where, a->val, numbers, val_size, &val, &own_val));
    status = copy_host_coo(ctx, a, row_ind, col_ind, val, out);
cleanup:
    tess_host_release(ctx, own_row, a->nnz, size);
    tess_host_release(ctx, own_col, a->nnz, size);
    tess_host_release(ctx, own_val, numbers, val_size);
    return status;
}

tess_status tess_matrix_create_coo(tess_context *ctx, const tess_coo_arrays *arrays, tess_matrix **out)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    TESS_REQUIRE(ctx, arrays);
    tess_coo_arrays taken = {.size = sizeof taken};
    const tess_status status = options_take(ctx, "tess_coo_arrays", arrays, &taken, sizeof taken);

    return status == TESS_SUCCESS ? create_coo(ctx, &taken, out) : status;
}
