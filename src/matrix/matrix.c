/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices: the functions that do not depend on where the entries came from (matrix_import.c has the others). Products
   are in matrix_product.c. */
#include <math.h>
#include <string.h>

#include "base/float_pair.h"
#include "base/options.h"
#include "matrix/assemble.h"
#include "matrix/assembled.h"
#include "matrix/complex_form.h"

static tess_matrix *counted(const tess_matrix *a)
{
    return (tess_matrix *)(uintptr_t)a;
}

void tess_matrix_hold(const tess_matrix *a)
{
    if (a) { counted(a)->holders += 1; }
}

void tess_matrix_release(const tess_matrix *a)
{
    tess_matrix_destroy(counted(a));
}

void tess_matrix_destroy(tess_matrix *a)
{
    tess_context *ctx = a ? a->ctx : NULL;

    if (!a) { return; }
    a->holders -= 1;
    if (a->holders > 0) { return; }
    if (a->kept) { a->drop_kept(ctx, a->kept); }
    if (a->ops && a->storage) { a->ops->destroy(ctx, a->storage); }
    if (a->assignment) { a->release_assignment(a->assignment); }
    tess_matrix_keep_levels(a);
    tess_matrix_release(a->original);
    tess_host_release(ctx, a, 1, sizeof *a);
    tess_context_destroy(ctx);
}

tess_status tess_matrix_refresh(tess_matrix *a)
{
    if (!a->original || a->values_version == a->original->values_version) { return TESS_SUCCESS; }
    return a->renew(a);
}

tess_status tess_matrix_make(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t nnz, tess_matrix **out)
{
    tess_status status = tess_host_allocate(ctx, 1, sizeof **out, (void **)out);

    if (status != TESS_SUCCESS) { return status; }
    memset(*out, 0, sizeof **out);
    (*out)->ctx = ctx;
    (*out)->holders = 1;
    tess_context_hold(ctx);
    (*out)->nrows = nrows;
    (*out)->ncols = ncols;
    (*out)->nnz = nnz;
    (*out)->precision = TESS_PRECISION_FP64;
    (*out)->values_version = 1;
    return TESS_SUCCESS;
}

/* Takes the storage, also on failure. */
static tess_status assembled_from_storage(tess_context *ctx, csr_storage *storage, tess_matrix **out)
{
    const tess_format_ops *ops = tess_find_format(TESS_FORMAT_CSR);
    tess_status status = tess_matrix_make(ctx, storage->view.nrows, storage->view.ncols, storage->view.nnz, out);

    if (status != TESS_SUCCESS) {
        ops->destroy(ctx, storage);
        return status;
    }
    (*out)->format = TESS_FORMAT_CSR;
    (*out)->ops = ops;
    (*out)->storage = storage;
    (*out)->keeps_order = true;
    storage->values_version = (*out)->values_version;
    return TESS_SUCCESS;
}

void csr_release_view(tess_context *ctx, const csr_view *v)
{
    tess_device_release(ctx, v->row_ptr, v->nrows + 1, (size_t)v->row_ptr_bits / 8);
    tess_device_release(ctx, v->col_ind, v->nnz, sizeof *v->col_ind);
    tess_device_release(ctx, v->val, v->nnz, tess_precision_bytes(v->precision));
}

tess_status tess_matrix_from_view(tess_context *ctx, const csr_view *view, bool owned, tess_matrix **out)
{
    csr_storage *storage = NULL;
    tess_status status = tess_host_allocate(ctx, 1, sizeof *storage, (void **)&storage);

    *out = NULL;
    if (status != TESS_SUCCESS) {
        if (owned) { csr_release_view(ctx, view); }
        return status;
    }
    memset(storage, 0, sizeof *storage);
    storage->view = *view;
    storage->owns_index = owned;
    storage->owns_values = owned;
    return assembled_from_storage(ctx, storage, out);
}

static csr_view fp64_view(int64_t nrows, int64_t ncols, int64_t nnz, void *row_ptr, int row_ptr_bits, int32_t *col_ind,
                          double *val)
{
    return (csr_view){.nrows = nrows,
                      .ncols = ncols,
                      .nnz = nnz,
                      .row_ptr = row_ptr,
                      .row_ptr_bits = row_ptr_bits,
                      .col_ind = col_ind,
                      .val = val,
                      .precision = TESS_PRECISION_FP64};
}

tess_status tess_matrix_adopt_device_csr(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t nnz, void *row_ptr,
                                         int row_ptr_bits, int32_t *col_ind, double *val, tess_matrix **out)
{
    const csr_view view = fp64_view(nrows, ncols, nnz, row_ptr, row_ptr_bits, col_ind, val);

    return tess_matrix_from_view(ctx, &view, true, out);
}

static void release_host_csr(tess_context *ctx, int64_t nrows, int64_t nnz, void *row_ptr, int row_ptr_bits,
                             int32_t *col_ind, double *val)
{
    tess_host_release(ctx, row_ptr, nrows + 1, (size_t)row_ptr_bits / 8);
    tess_host_release(ctx, col_ind, nnz, sizeof *col_ind);
    tess_host_release(ctx, val, nnz, sizeof *val);
}

tess_status tess_matrix_upload_csr(tess_context *ctx, const csr_view *host, tess_matrix **out)
{
    csr_view view = *host;
    void *row_ptr = NULL, *col_ind = NULL, *val = NULL;
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    TESS_TRY(tess_device_upload(ctx, host->row_ptr, host->nrows + 1, (size_t)host->row_ptr_bits / 8, &row_ptr));
    TESS_TRY(tess_device_upload(ctx, host->col_ind, host->nnz, sizeof(int32_t), &col_ind));
    TESS_TRY(tess_device_upload(ctx, host->val, host->nnz, sizeof(double), &val));
    view.row_ptr = row_ptr;
    view.col_ind = col_ind;
    view.val = val;
    return tess_matrix_from_view(ctx, &view, true, out);
cleanup:
    tess_device_release(ctx, row_ptr, host->nrows + 1, (size_t)host->row_ptr_bits / 8);
    tess_device_release(ctx, col_ind, host->nnz, sizeof(int32_t));
    tess_device_release(ctx, val, host->nnz, sizeof(double));
    return status;
}

tess_status tess_matrix_adopt_csr(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t nnz, void *row_ptr,
                                  int row_ptr_bits, int32_t *col_ind, double *val, tess_matrix **out)
{
    const csr_view view = fp64_view(nrows, ncols, nnz, row_ptr, row_ptr_bits, col_ind, val);
    tess_status status = TESS_SUCCESS;

    if (ctx->device == TESS_DEVICE_CPU) { return tess_matrix_from_view(ctx, &view, true, out); }
    status = tess_matrix_upload_csr(ctx, &view, out);
    release_host_csr(ctx, nrows, nnz, row_ptr, row_ptr_bits, col_ind, val);
    return status;
}

tess_status tess_matrix_create_shell(tess_context *ctx, int64_t nrows, int64_t ncols, const tess_shell_operator *shell,
                                     tess_matrix **out)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    tess_status status = TESS_SUCCESS;

    if (!shell || !shell->apply) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "set tess_shell_operator.apply",
                         "a shell matrix needs a function that applies it");
    }
    if (nrows < 0 || ncols < 0 || nrows > TESS_MAX_ROWS || ncols > TESS_MAX_ROWS) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "rows and columns number 0 to 2^31 - 1",
                         "a shell matrix cannot have the size %lld by %lld", (long long)nrows, (long long)ncols);
    }
    if (shell->is_complex && (nrows % 2 != 0 || ncols % 2 != 0)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give twice the rows and columns of the complex operator",
                         "the real form of a complex operator cannot have the size %lld by %lld", (long long)nrows,
                         (long long)ncols);
    }
    status = options_require_reserved(ctx, "tess_shell_operator", shell->reserved);
    if (status == TESS_SUCCESS) { status = tess_matrix_make(ctx, nrows, ncols, 0, out); }
    if (status == TESS_SUCCESS) {
        (*out)->format = TESS_FORMAT_SHELL;
        (*out)->shell = *shell;
        (*out)->is_complex = shell->is_complex != 0;
    }
    return status;
}

tess_status tess_matrix_require_assembled(const tess_matrix *a, const char *purpose)
{
    if (a->ops && !a->original) { return TESS_SUCCESS; }
    return tess_fail(a->ctx, TESS_UNSUPPORTED, "pass the assembled matrix that it was made from",
                     "%s needs an assembled matrix, not %s", purpose, a->ops ? "a stored one" : "a shell");
}

/* ---- values ---- */

/* Copies the caller's values to the matrix's own, converting them if their precision differs. */
static tess_status take_values(tess_matrix *a, double *own, const void *val, tess_precision precision, bool on_device)
{
    tess_context *ctx = a->ctx;
    const size_t size = tess_precision_bytes(precision);
    void *there = NULL;
    tess_status status = TESS_SUCCESS;

    if (on_device) { return ctx->backend->convert(ctx, a->nnz, precision, val, TESS_PRECISION_FP64, own); }
    if (precision == TESS_PRECISION_FP64) { return ctx->backend->upload(ctx, own, val, (size_t)a->nnz * size); }
    TESS_TRY(tess_device_allocate(ctx, a->nnz, size, &there));
    TESS_TRY(ctx->backend->upload(ctx, there, val, (size_t)a->nnz * size));
    status = ctx->backend->convert(ctx, a->nnz, precision, there, TESS_PRECISION_FP64, own);
cleanup:
    tess_device_release(ctx, there, a->nnz, size);
    return status;
}

/* A borrowed matrix takes the pointer. */
static tess_status borrow_values(tess_matrix *a, const void *val, tess_precision precision, bool on_device)
{
    if (precision != TESS_PRECISION_FP64 || !on_device) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "pass FP64 values in the memory of the context's device",
                         "a borrowed matrix cannot take values in %s%s", tess_precision_name(precision),
                         on_device ? "" : " in another memory than the context's");
    }
    ((csr_storage *)a->storage)->view.val = val;
    return TESS_SUCCESS;
}

/* Re and im of each complex entry, from host or device. */
static tess_status take_complex_values(tess_matrix *a, const void *val, tess_precision precision, tess_memory where)
{
    tess_context *ctx = a->ctx;
    csr_storage *storage = a->storage;
    const int64_t numbers = a->nnz / 2;
    const size_t bytes = tess_precision_bytes(precision);
    double *spelled = NULL;
    void *here = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *spelled, (void **)&spelled));
    if (where == TESS_MEMORY_DEVICE) {
        TESS_TRY(tess_host_allocate(ctx, numbers, bytes, &here));
        TESS_TRY(ctx->backend->download(ctx, here, val, (size_t)numbers * bytes));
    }
    TESS_TRY(tess_complex_spell_values(ctx, &storage->view, precision, here ? here : val, spelled));
    status = take_values(a, csr_own_values(storage), spelled, TESS_PRECISION_FP64, ctx->device == TESS_DEVICE_CPU);
cleanup:
    tess_host_release(ctx, spelled, a->nnz, sizeof *spelled);
    tess_host_release(ctx, here, numbers, bytes);
    return status;
}

tess_status tess_matrix_update_values(tess_matrix *a, const void *val, tess_precision precision, tess_memory where)
{
    TESS_REQUIRE(NULL, a);
    if (a->nnz > 0) { TESS_REQUIRE(a->ctx, val); }
    tess_context *ctx = a->ctx;
    const bool on_gpu = ctx->device == TESS_DEVICE_GPU, on_device = (where == TESS_MEMORY_DEVICE) == on_gpu;
    csr_storage *storage = a->storage;
    tess_status status = tess_matrix_require_assembled(a, "tess_matrix_update_values");

    if (status != TESS_SUCCESS) { return status; }
    if (csr_shared_is_fixed(storage)) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "destroy the others first, or copy it by tess_matrix_copy_to",
                         "a matrix whose values are shared (tess_matrix_share) takes no new values");
    }
    if (!a->keeps_order) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "create the matrix from rows that are sorted and have no duplicates",
                         "the values cannot be updated: the matrix no longer knows the order of the caller's entries");
    }
    if (where == TESS_MEMORY_DEVICE && !on_gpu) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass TESS_MEMORY_HOST, or create the context on a GPU",
                         "the array is said to be in device memory, but the context is on the CPU");
    }
    if (tess_precision_bytes(precision) == 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a value of tess_precision; 0 is fp64",
                         "unknown precision %d of values", (int)precision);
    }
    status = options_require_name(ctx, "tess_memory", "where", (int)where);
    if (status != TESS_SUCCESS) { return status; }
    if (a->is_complex) {
        status = take_complex_values(a, val, precision, where);
        if (status == TESS_SUCCESS) { a->values_version += 1; }
        return status;
    }
    status = storage->owns_values ? take_values(a, csr_own_values(storage), val, precision, on_device)
                                  : borrow_values(a, val, precision, on_device);
    if (status == TESS_SUCCESS) { a->values_version += 1; }
    return status;
}

/* ---- questions ---- */

const tess_assignment_summary *tess_matrix_assigned_to(const tess_matrix *a)
{
    return a->ops && a->ops->summary ? a->ops->summary(a) : NULL;
}

/* Whether every nonzero is stored, in FP64. */
static bool is_fp64_throughout(const tess_assignment_summary *summary)
{
    if (summary->left_out > 0) { return false; }
    for (int l = 0; l < summary->options.nlevels; l++) {
        if (summary->nonzeros_at[l] > 0 && summary->options.level[l].precision != TESS_PRECISION_FP64) { return false; }
    }
    return true;
}

double tess_matrix_bounded_loss(const tess_matrix *a)
{
    const tess_assignment_summary *summary = tess_matrix_assigned_to(a);

    if (a->arithmetic == TESS_ARITHMETIC_FP32X2) { return fmax(a->loss, FLOAT_PAIR_LOSS); }
    if (!summary) { return a->loss; }
    if (a->ops->rounds_products && a->ops->rounds_products(a)) { return INFINITY; }
    if (is_fp64_throughout(summary)) { return 0.0; }
    return fmax(tess_policy_loss(&summary->options), a->loss);
}

int tess_matrix_is_exact(const tess_matrix *a)
{
    if (!a) { return 0; }
    return tess_matrix_bounded_loss(a) == 0.0;
}

tess_format tess_matrix_base(const tess_matrix *a)
{
    if (!a) { return TESS_FORMAT_CSR; }
    return a->ops && a->ops->base_of ? a->ops->base_of(a, 0) : a->format;
}

tess_format tess_matrix_low_base(const tess_matrix *a)
{
    if (!a) { return TESS_FORMAT_CSR; }
    return a->ops && a->ops->base_of ? a->ops->base_of(a, 1) : a->format;
}

int tess_matrix_block_size(const tess_matrix *a)
{
    return a && a->ops && a->ops->block_size ? a->ops->block_size(a) : 0;
}

tess_status tess_matrix_get_assignment(const tess_matrix *a, tess_assignment_summary *out)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, out);
    const tess_assignment_summary *summary = tess_matrix_assigned_to(a);

    if (!summary) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "split, composite and tiles have one",
                         "a matrix in format %s has no assignment", a->ops ? tess_format_name(a->format) : "shell");
    }
    const tess_status status = result_require_size(a->ctx, "tess_assignment_summary", out->size, sizeof *summary);

    if (status == TESS_SUCCESS) { result_return(summary, out); }
    return status;
}

int64_t tess_matrix_nrows(const tess_matrix *a)
{
    if (!a) { return 0; }
    return a->nrows;
}

int64_t tess_matrix_ncols(const tess_matrix *a)
{
    if (!a) { return 0; }
    return a->ncols;
}

int64_t tess_matrix_nnz(const tess_matrix *a)
{
    if (!a) { return 0; }
    return a->nnz;
}

tess_context *tess_matrix_context(const tess_matrix *a)
{
    if (!a) { return NULL; }
    return a->ctx;
}

tess_format tess_matrix_format(const tess_matrix *a)
{
    if (!a) { return TESS_FORMAT_CSR; }
    return a->format;
}

tess_precision tess_matrix_precision(const tess_matrix *a)
{
    if (!a) { return TESS_PRECISION_FP64; }
    return a->precision;
}

int64_t tess_matrix_bytes(const tess_matrix *a)
{
    if (!a) { return 0; }
    return a->ops ? a->ops->bytes(a) : 0;
}

tess_status tess_matrix_get_csr(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val)
{
    TESS_REQUIRE(NULL, a);
    tess_status status = TESS_SUCCESS;

    if (!a->ops) { return tess_matrix_require_assembled(a, "tess_matrix_get_csr"); }
    status = tess_matrix_refresh((tess_matrix *)(uintptr_t)a);
    return status == TESS_SUCCESS ? a->ops->decode(a, row_ptr, col_ind, val) : status;
}

tess_csr_view tess_matrix_csr_view(const tess_matrix *a)
{
    if (!a) { return (tess_csr_view){0}; }
    tess_csr_view out = {.nrows = a->nrows, .ncols = a->ncols, .nnz = a->nnz};

    if (a->ops && !a->original && a->ctx->device == TESS_DEVICE_CPU) {
        const csr_view *v = &csr_of(a)->view;

        out.row_ptr = v->row_ptr;
        out.col_ind = v->col_ind;
        out.val = v->val;
        out.row_ptr_bits = v->row_ptr_bits;
    }
    return out;
}

tess_status tess_matrix_diagonal(const tess_matrix *a, tess_vector *diagonal)
{
    TESS_REQUIRE(NULL, a);
    int64_t n = a->nrows < a->ncols ? a->nrows : a->ncols;
    tess_status status = tess_vector_require(a->ctx, diagonal, n, "diagonal");

    if (status == TESS_SUCCESS) { status = tess_matrix_raw_diagonal(a, diagonal->data); }
    return status == TESS_SUCCESS ? tess_vector_refresh_shadow(diagonal) : status;
}

tess_status tess_matrix_raw_diagonal(const tess_matrix *a, double *diagonal)
{
    if (a->ops && !a->original) { return assembled_ops_of(a->ctx)->diagonal(a, diagonal); }
    if (!a->ops && a->shell.diagonal) {
        int code = a->shell.diagonal(a->shell.user, diagonal);

        return code == 0 ? TESS_SUCCESS
                         : tess_fail(a->ctx, TESS_CALLBACK, "see what the function reports",
                                     "the operator's diagonal function returned the error %d", code);
    }
    return tess_fail(a->ctx, TESS_UNSUPPORTED,
                     "give the operator a diagonal function, or choose another preconditioner",
                     "the matrix has no diagonal that can be read");
}

/* ---- between contexts ---- */

enum { PAGE_BYTES = 4096 };

/* The pages of new memory, by all threads: the copy that follows would get them one by one. */
static void touch_pages(const tess_context *ctx, void *memory, int64_t count, size_t size)
{
    const int64_t bytes = count * (int64_t)size;
    volatile char *at = memory;

#pragma omp parallel for schedule(static) num_threads(tess_io_threads(ctx, count))
    for (int64_t k = 0; k < bytes; k += PAGE_BYTES) {
        at[k] = 0;
    }
}

static tess_status host_copy(const tess_matrix *a, tess_context *ctx, tess_matrix **out)
{
    int64_t *row_ptr = NULL;
    int32_t *col_ind = NULL;
    double *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, a->nrows + 1, sizeof *row_ptr, (void **)&row_ptr));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *col_ind, (void **)&col_ind));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *val, (void **)&val));
    touch_pages(ctx, col_ind, a->nnz, sizeof *col_ind);
    touch_pages(ctx, val, a->nnz, sizeof *val);
    TESS_TRY(a->ops->decode(a, row_ptr, col_ind, val));
    return tess_matrix_adopt_csr(ctx, a->nrows, a->ncols, a->nnz, row_ptr, 64, col_ind, val, out);
cleanup:
    release_host_csr(ctx, a->nrows, a->nnz, row_ptr, 64, col_ind, val);
    return status;
}

tess_status tess_matrix_copy_to(const tess_matrix *a, tess_context *ctx, tess_matrix **out)
{
    TESS_REQUIRE_OUT(a ? a->ctx : NULL, a, out);
    TESS_REQUIRE(a->ctx, ctx);
    tess_status status = tess_matrix_require_assembled(a, "tess_matrix_copy_to");

    if (status == TESS_SUCCESS && a->ctx->device == TESS_DEVICE_CPU && ctx->device == TESS_DEVICE_GPU) {
        status = tess_matrix_upload_csr(ctx, &csr_of(a)->view, out);
    } else if (status == TESS_SUCCESS) {
        status = host_copy(a, ctx, out);
    }
    if (status != TESS_SUCCESS && ctx != a->ctx && ctx->error.status == TESS_SUCCESS) { ctx->error = a->ctx->error; }
    if (status == TESS_SUCCESS) {
        (*out)->keeps_order = a->keeps_order;
        (*out)->given = a->given;
        (*out)->is_complex = a->is_complex;
    }
    return status;
}

tess_status tess_matrix_on_host(const tess_matrix *a, tess_host_matrix *out)
{
    tess_context_options options;
    tess_status status = TESS_SUCCESS;

    *out = (tess_host_matrix){.matrix = a};
    if (a->ctx->device == TESS_DEVICE_CPU) { return TESS_SUCCESS; }
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = a->ctx->threads;
    if (!a->ctx->kept.enabled) { options.host_allocator = a->ctx->host_allocator; }
    status = tess_context_create(&options, &out->ctx);
    if (status != TESS_SUCCESS) {
        return tess_fail(a->ctx, status, NULL, "a context on the host could not be created");
    }
    status = tess_matrix_copy_to(a, out->ctx, &out->copy);
    if (status != TESS_SUCCESS) {
        a->ctx->error = out->ctx->error;
        tess_host_matrix_release(out);
        return status;
    }
    out->matrix = out->copy;
    return TESS_SUCCESS;
}

void tess_host_matrix_release(tess_host_matrix *m)
{
    tess_matrix_destroy(m->copy);
    tess_context_destroy(m->ctx);
    *m = (tess_host_matrix){0};
}
