/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices: what does not depend on where the entries came from (see matrix_import.c for that). Products
   are in matrix_product.c. */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "format/choose.h"
#include "format/csr/csr.h"
#include "format/split/split.h"
#include "format/tiles/tiles.h"

void tess_matrix_destroy(tess_matrix *a)
{
    if (!a) { return; }
    if (a->ops && a->storage) { a->ops->destroy(a->ctx, a->storage); }
    tess_host_release(a->ctx, a, 1, sizeof *a);
}

static tess_status make_matrix(tess_context *ctx, int64_t nrows, int64_t ncols, int64_t nnz, tess_matrix **out)
{
    tess_status status = tess_host_allocate(ctx, 1, sizeof **out, (void **)out);

    if (status != TESS_SUCCESS) { return status; }
    memset(*out, 0, sizeof **out);
    (*out)->ctx = ctx;
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
    const tess_format_ops *ops = tess_find_format(ctx->backend, TESS_FORMAT_CSR);
    tess_status status = make_matrix(ctx, storage->view.nrows, storage->view.ncols, storage->view.nnz, out);

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
    tess_status status = TESS_SUCCESS;

    *out = NULL;
    if (!shell || !shell->apply) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "set tess_shell_operator.apply",
                         "a shell matrix without a function");
    }
    if (nrows < 0 || ncols < 0 || nrows > TESS_MAX_ROWS || ncols > TESS_MAX_ROWS) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, NULL, "a shell matrix of %lld by %lld", (long long)nrows,
                         (long long)ncols);
    }
    status = make_matrix(ctx, nrows, ncols, 0, out);
    if (status == TESS_SUCCESS) {
        (*out)->format = TESS_FORMAT_SHELL;
        (*out)->shell = *shell;
    }
    return status;
}

/* ---- conversion ---- */

void tess_storage_options_init(tess_storage_options *options)
{
    options->format = TESS_FORMAT_CSR;
    options->precision = TESS_PRECISION_FP64;
    options->max_padding = 3.0;
    options->window = 256;
    options->arithmetic = TESS_ARITHMETIC_FP64;
    tess_policy_options_init(&options->policy);
    options->base = TESS_FORMAT_CSR;
    options->low_base = TESS_FORMAT_CSR;
    options->row_order = TESS_ROW_ORDER_ORIGINAL;
    options->kernel = TESS_KERNEL_DEFAULT;
    options->tcki_thresholds = (tess_tcki_thresholds){0.0, 0.0, 0.0};
    options->layout = TESS_LAYOUT_TCKI;
}

tess_status tess_storage_require_fp64_arithmetic(tess_context *ctx, const tess_storage_options *options,
                                                 const char *purpose)
{
    if (options->arithmetic == TESS_ARITHMETIC_FP64) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_UNSUPPORTED, "FP32 arithmetic is for products of ellr, sell and dia with FP32 vectors",
                     "%s in arithmetic other than fp64", purpose);
}

static tess_status require_assembled(const tess_matrix *a, const char *purpose)
{
    if (a->ops && !a->original) { return TESS_SUCCESS; }
    return tess_fail(a->ctx, TESS_UNSUPPORTED, "pass the assembled matrix it was made from",
                     "%s needs an assembled matrix, not %s", purpose, a->ops ? "a stored one" : "a shell");
}

/* The precision that the stored matrix goes by: where a policy decides, that of the highest level. */
static tess_precision precision_of(const tess_storage_options *options, const tess_assignment *assignment)
{
    const tess_policy_options *policy = assignment ? &assignment->summary.options : &options->policy;

    if (!tess_format_takes_parts(options->format)) { return options->precision; }
    return policy->nlevels > 0 ? policy->level[0].precision : TESS_PRECISION_FP64;
}

/* Whether the backend's format takes every precision that values may be stored in. */
static bool takes_precisions(const tess_format_ops *ops, const tess_storage_options *options,
                             const tess_assignment *assignment, tess_precision *refused)
{
    tess_policy_options policy = assignment ? assignment->summary.options : options->policy;
    int count = 1;

    tess_policy_default_levels(&policy);
    if (tess_format_takes_parts(options->format) && policy.nlevels > 1) { count = policy.nlevels; }
    for (int l = 0; l < count && l < TESS_MOST_LEVELS; l++) {
        *refused = l == 0 ? precision_of(options, assignment) : policy.level[l].precision;
        if (tess_precision_bytes(*refused) == 0 || !(ops->precisions & (1U << *refused))) { return false; }
    }
    return true;
}

static tess_status require_layout(const tess_matrix *a, const tess_storage_options *options)
{
    if (options->layout != TESS_LAYOUT_TCKI && options->layout != TESS_LAYOUT_RESIDENT) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "TESS_LAYOUT_TCKI or TESS_LAYOUT_RESIDENT", "layout %d",
                         (int)options->layout);
    }
    if (options->layout == TESS_LAYOUT_RESIDENT && options->format != TESS_FORMAT_TILES) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "layout resident is for format tiles",
                         "layout resident of format %s", tess_format_name(options->format));
    }
    return TESS_SUCCESS;
}

static tess_status require_kernel(const tess_matrix *a, const tess_storage_options *options)
{
    if (options->kernel != TESS_KERNEL_DEFAULT && options->kernel != TESS_KERNEL_PAPER) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "TESS_KERNEL_DEFAULT or TESS_KERNEL_PAPER", "kernel %d",
                         (int)options->kernel);
    }
    if (options->kernel == TESS_KERNEL_PAPER && options->format != TESS_FORMAT_TILES) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "kernel paper is for format tiles", "kernel paper of format %s",
                         tess_format_name(options->format));
    }
    return TESS_SUCCESS;
}

const tess_assignment_summary *tess_matrix_assigned_to(const tess_matrix *a)
{
    const bool split = a->format == TESS_FORMAT_SPLIT || a->format == TESS_FORMAT_COMPOSITE;

    if (a->format == TESS_FORMAT_TILES) { return &((const tiles_storage *)a->storage)->summary; }
    return split ? &((const split_storage *)a->storage)->summary : NULL;
}

/* Whether no nonzero is below FP64. */
static bool is_fp64_throughout(const tess_assignment_summary *summary)
{
    for (int l = 0; l < summary->options.nlevels; l++) {
        if (summary->nonzeros_at[l] > 0 && summary->options.level[l].precision != TESS_PRECISION_FP64) { return false; }
    }
    return true;
}

double tess_matrix_bounded_loss(const tess_matrix *a)
{
    const bool split = a->format == TESS_FORMAT_SPLIT || a->format == TESS_FORMAT_COMPOSITE;
    const tess_assignment_summary *summary = tess_matrix_assigned_to(a);

    if (!summary) { return a->loss; }
    if (split && ((const split_storage *)a->storage)->options.arithmetic != TESS_ARITHMETIC_FP64) { return INFINITY; }
    if (is_fp64_throughout(summary)) { return 0.0; }
    if (summary->options.policy != TESS_POLICY_LOSSLESS) { return INFINITY; }
    return fmax(summary->options.parameter, a->loss);
}

int tess_matrix_is_exact(const tess_matrix *a)
{
    return tess_matrix_bounded_loss(a) == 0.0;
}

tess_layout tess_matrix_layout(const tess_matrix *a)
{
    return a->original && a->format == TESS_FORMAT_TILES ? ((const tiles_storage *)a->storage)->layout
                                                         : TESS_LAYOUT_TCKI;
}

tess_format tess_matrix_base(const tess_matrix *a)
{
    const bool split = a->format == TESS_FORMAT_SPLIT || a->format == TESS_FORMAT_COMPOSITE;

    return split ? split_level_base(a->storage, 0) : a->format;
}

tess_format tess_matrix_low_base(const tess_matrix *a)
{
    const bool split = a->format == TESS_FORMAT_SPLIT || a->format == TESS_FORMAT_COMPOSITE;

    return split ? split_level_base(a->storage, 1) : a->format;
}

tess_status tess_matrix_get_assignment(const tess_matrix *a, tess_assignment_summary *out)
{
    const tess_assignment_summary *summary = tess_matrix_assigned_to(a);

    if (!summary) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "split, composite and tiles have one", "the assignment of format %s",
                         a->ops ? tess_format_name(a->format) : "shell");
    }
    *out = *summary;
    return TESS_SUCCESS;
}

/* Builds what the options ask for; they name the format, and the precision of one that has but one. */
static tess_status build(tess_matrix *stored, const tess_storage_options *options, const tess_assignment *assignment)
{
    const tess_matrix *a = stored->original;
    tess_storage_options chosen = *options;
    tess_status status = TESS_SUCCESS;

    if (assignment) {
        stored->loss = INFINITY; /* it may have been found for other values */
        return options->format == TESS_FORMAT_TILES ? tiles_build_assigned(a, options, assignment, &stored->storage)
                                                    : split_build_assigned(a, options, assignment, &stored->storage);
    }
    if (!tess_format_takes_parts(options->format)) {
        TESS_TRY(tess_matrix_choose_precision(a, options, &chosen.precision, &stored->loss));
        stored->precision = chosen.precision;
        stored->accepted_loss = options->policy.policy == TESS_POLICY_LOSSLESS ? options->policy.parameter : 0.0;
    }
    status = stored->ops->build(a, &chosen, &stored->storage);
cleanup:
    return status;
}

static tess_status convert(const tess_matrix *a, const tess_storage_options *options, const tess_assignment *assignment,
                           tess_matrix **out)
{
    const tess_format_ops *ops = tess_find_format(a->ctx->backend, options->format);
    tess_precision refused = TESS_PRECISION_FP64;
    tess_matrix *stored = NULL;
    tess_status status = TESS_SUCCESS;

    if (!ops || !takes_precisions(ops, options, assignment, &refused)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED,
                         "csr, ellr, sell, dia and tiles take every precision, split and composite on a GPU fp64, "
                         "fp32, bf16 and fp16 "
                         "(--levels fp64,fp32,fp16)",
                         "format %s in %s on %s", tess_format_name(options->format), tess_precision_name(refused),
                         a->ctx->backend->name);
    }
    TESS_TRY(require_kernel(a, options));
    TESS_TRY(require_layout(a, options));
    TESS_TRY(make_matrix(a->ctx, a->nrows, a->ncols, a->nnz, &stored));
    stored->format = options->format;
    stored->precision = precision_of(options, assignment);
    stored->ops = ops;
    stored->original = a;
    stored->values_version = a->values_version;
    TESS_TRY(build(stored, options, assignment));
    *out = stored;
cleanup:
    if (status != TESS_SUCCESS) { tess_matrix_destroy(stored); }
    return status;
}

tess_status tess_matrix_convert(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out)
{
    tess_status status = require_assembled(a, "tess_matrix_convert");

    *out = NULL;
    if (status != TESS_SUCCESS) { return status; }
    return options->format == TESS_FORMAT_AUTO ? tess_matrix_convert_chosen(a, options, out)
                                               : convert(a, options, NULL, out);
}

tess_status tess_matrix_convert_assigned(const tess_matrix *a, const tess_storage_options *options,
                                         const tess_assignment *assignment, tess_matrix **out)
{
    tess_status status = require_assembled(a, "tess_matrix_convert_assigned");
    tess_storage_options chosen = *options;

    *out = NULL;
    if (status != TESS_SUCCESS) { return status; }
    if (chosen.format == TESS_FORMAT_AUTO) { chosen.format = tess_format_of_assignment(a, options, assignment); }
    if (!tess_format_takes_parts(chosen.format)) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "split, composite and tiles take one", "an assignment for format %s",
                         tess_format_name(chosen.format));
    }
    return convert(a, &chosen, assignment, out);
}

tess_status tess_matrix_refresh(tess_matrix *a)
{
    tess_status status = TESS_SUCCESS;

    if (!a->original || a->values_version == a->original->values_version) { return TESS_SUCCESS; }
    TESS_TRY(a->ops->refresh(a->original, a->storage));
    if (tess_format_takes_parts(a->format)) {
        a->loss = INFINITY; /* levels are those of the values before */
    } else {
        TESS_TRY(tess_matrix_find_loss(a->original, a->precision, a->accepted_loss, &a->loss));
    }
    a->values_version = a->original->values_version;
cleanup:
    return status;
}

tess_status tess_matrix_update_values(tess_matrix *a, const double *val, tess_memory where)
{
    tess_context *ctx = a->ctx;
    bool on_gpu = ctx->device == TESS_DEVICE_GPU;
    csr_storage *storage = a->storage;
    tess_status status = require_assembled(a, "tess_matrix_update_values");
    size_t bytes = (size_t)a->nnz * sizeof *val;

    if (status != TESS_SUCCESS) { return status; }
    if (!a->keeps_order) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "create the matrix from sorted rows without duplicates",
                         "the order of the caller's entries was lost when they were sorted");
    }
    if (where == TESS_MEMORY_DEVICE && !on_gpu) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "device memory was named in a context on the CPU");
    }
    if (!storage->owns_values) {
        if ((where == TESS_MEMORY_DEVICE) != on_gpu) {
            return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass an array in the memory of the context's device",
                             "a borrowed matrix cannot borrow values from another memory");
        }
        storage->view.val = val;
    } else if ((where == TESS_MEMORY_DEVICE) == on_gpu) {
        status = ctx->backend->copy(ctx, (void *)(uintptr_t)storage->view.val, val, bytes);
    } else {
        status = ctx->backend->upload(ctx, (void *)(uintptr_t)storage->view.val, val, bytes);
    }
    if (status == TESS_SUCCESS) { a->values_version += 1; }
    return status;
}

/* ---- questions ---- */

int64_t tess_matrix_nrows(const tess_matrix *a)
{
    return a->nrows;
}

int64_t tess_matrix_ncols(const tess_matrix *a)
{
    return a->ncols;
}

int64_t tess_matrix_nnz(const tess_matrix *a)
{
    return a->nnz;
}

tess_context *tess_matrix_context(const tess_matrix *a)
{
    return a->ctx;
}

tess_format tess_matrix_format(const tess_matrix *a)
{
    return a->format;
}

tess_precision tess_matrix_precision(const tess_matrix *a)
{
    return a->precision;
}

int64_t tess_matrix_bytes(const tess_matrix *a)
{
    return a->ops ? a->ops->bytes(a) : 0;
}

tess_status tess_matrix_get_csr(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val)
{
    tess_status status = TESS_SUCCESS;

    if (!a->ops) { return require_assembled(a, "tess_matrix_get_csr"); }
    status = tess_matrix_refresh((tess_matrix *)(uintptr_t)a);
    return status == TESS_SUCCESS ? a->ops->decode(a, row_ptr, col_ind, val) : status;
}

tess_csr_view tess_matrix_csr_view(const tess_matrix *a)
{
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
    int64_t n = a->nrows < a->ncols ? a->nrows : a->ncols;
    tess_status status = tess_vector_require(a->ctx, diagonal, n, "diagonal");

    if (status == TESS_SUCCESS) { status = tess_matrix_raw_diagonal(a, diagonal->data); }
    return status == TESS_SUCCESS ? tess_vector_refresh_shadow(diagonal) : status;
}

tess_status tess_matrix_raw_diagonal(const tess_matrix *a, double *diagonal)
{
    if (a->ops && !a->original) { return a->ctx->backend->csr_diagonal(a, diagonal); }
    if (!a->ops && a->shell.diagonal) {
        int code = a->shell.diagonal(a->shell.user, diagonal);

        return code == 0 ? TESS_SUCCESS
                         : tess_fail(a->ctx, TESS_CALLBACK, NULL, "the operator's diagonal function returned %d", code);
    }
    return tess_fail(a->ctx, TESS_UNSUPPORTED,
                     "give the operator a diagonal function, or choose another preconditioner",
                     "the matrix has no diagonal to read");
}

/* ---- between contexts ---- */

static tess_status host_copy(const tess_matrix *a, tess_context *ctx, tess_matrix **out)
{
    int64_t *row_ptr = NULL;
    int32_t *col_ind = NULL;
    double *val = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, a->nrows + 1, sizeof *row_ptr, (void **)&row_ptr));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *col_ind, (void **)&col_ind));
    TESS_TRY(tess_host_allocate(ctx, a->nnz, sizeof *val, (void **)&val));
    TESS_TRY(a->ops->decode(a, row_ptr, col_ind, val));
    return tess_matrix_adopt_csr(ctx, a->nrows, a->ncols, a->nnz, row_ptr, 64, col_ind, val, out);
cleanup:
    release_host_csr(ctx, a->nrows, a->nnz, row_ptr, 64, col_ind, val);
    return status;
}

tess_status tess_matrix_copy_to(const tess_matrix *a, tess_context *ctx, tess_matrix **out)
{
    tess_status status = require_assembled(a, "tess_matrix_copy_to");

    *out = NULL;
    if (status == TESS_SUCCESS && a->ctx->device == TESS_DEVICE_CPU && ctx->device == TESS_DEVICE_GPU) {
        status = tess_matrix_upload_csr(ctx, &csr_of(a)->view, out);
    } else if (status == TESS_SUCCESS) {
        status = host_copy(a, ctx, out);
    }
    if (status != TESS_SUCCESS && ctx != a->ctx && ctx->error.status == TESS_SUCCESS) { ctx->error = a->ctx->error; }
    if (status == TESS_SUCCESS) { (*out)->keeps_order = a->keeps_order; }
    return status;
}

tess_status tess_matrix_on_host(const tess_matrix *a, tess_context **host_ctx, const tess_matrix **out)
{
    tess_context_options options;
    tess_matrix *copy = NULL;
    tess_status status = TESS_SUCCESS;

    *host_ctx = NULL;
    *out = a;
    if (a->ctx->device == TESS_DEVICE_CPU) { return TESS_SUCCESS; }
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = a->ctx->threads;
    if (!a->ctx->kept.enabled) { options.host_allocator = a->ctx->host_allocator; }
    status = tess_context_create(&options, host_ctx);
    if (status != TESS_SUCCESS) { return tess_fail(a->ctx, status, NULL, "could not create a context on the host"); }
    status = tess_matrix_copy_to(a, *host_ctx, &copy);
    if (status != TESS_SUCCESS) {
        a->ctx->error = (*host_ctx)->error;
        tess_context_destroy(*host_ctx);
        *host_ctx = NULL;
        return status;
    }
    *out = copy;
    return TESS_SUCCESS;
}
