/* SPDX-License-Identifier: Apache-2.0 */
/* Packed storage over a backend's functions: building, renewing, bytes. The same for all backends. */
#include <string.h>

#include <tessera/names.h>

#include "format/packed/packed_slices.h"
#include "format/padded.h"
#include "matrix/matrix.h"
#include "policy/assignment.h"

static const packed_storage *storage_of(const tess_matrix *a)
{
    return a->storage;
}

static int64_t count_sections(const packed_view *v)
{
    return (v->nslices + v->nsegments) * v->nlevels;
}

static void release(tess_context *ctx, packed_storage *s)
{
    packed_view *v = &s->view;

    tess_device_release(ctx, s->section, count_sections(v), sizeof *s->section);
    tess_device_release(ctx, s->record, s->record ? v->units + 1 : 0, PACKED_UNIT);
    tess_device_release(ctx, (void *)(uintptr_t)v->long_row, v->nlong, sizeof *v->long_row);
    tess_device_release(ctx, (void *)(uintptr_t)v->long_segment, v->nlong > 0 ? v->nlong + 1 : 0,
                        sizeof *v->long_segment);
    tess_device_release(ctx, v->segment_sum, v->nsegments, sizeof *v->segment_sum);
    tess_assignment_destroy(s->own_assignment);
}

static void packed_destroy(tess_context *ctx, void *storage)
{
    packed_storage *s = storage;

    release(ctx, s);
    tess_host_release(ctx, s, 1, sizeof *s);
}

/* ---- long rows ---- */

/* A row keeps the rows beside it waiting from so many entries on, or so many times those of a mean row. */
enum { LEAST_LONG = 64, TIMES_MEAN = 4 };

static int longest_of(const csr_view *csr)
{
    const double mean = csr->nrows > 0 ? (double)csr->nnz / (double)csr->nrows : 0.0;
    double most = TIMES_MEAN * mean > LEAST_LONG ? TIMES_MEAN * mean : LEAST_LONG;

    return most < PACKED_MOST_PLACES ? (int)most : PACKED_MOST_PLACES;
}

/* Lists long rows and their segments; the lists may be NULL: counts them. */
static int64_t list_long(const void *row_ptr, int bits, const packed_view *v, int32_t *row, int32_t *segment,
                         int64_t *nsegments)
{
    int64_t count = 0, before = 0;

    for (int64_t i = 0; i < v->nrows; i++) {
        const int64_t length = tess_row_offset(row_ptr, bits, i + 1) - tess_row_offset(row_ptr, bits, i);

        if (length <= v->longest) { continue; }
        if (row) {
            row[count] = (int32_t)i;
            segment[count] = (int32_t)before;
        }
        before += packed_segments(length);
        count += 1;
    }
    if (segment) { segment[count] = (int32_t)before; }
    *nsegments = before;
    return count;
}

static tess_status store_long(tess_context *ctx, const void *row_ptr, int bits, packed_view *v)
{
    const int64_t nlong = v->nlong;
    int32_t *row = NULL, *segment = NULL, *device_row = NULL, *device_segment = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, nlong, sizeof *row, (void **)&row));
    TESS_TRY(tess_host_allocate(ctx, nlong + 1, sizeof *segment, (void **)&segment));
    (void)list_long(row_ptr, bits, v, row, segment, &v->nsegments);
    TESS_TRY(tess_device_allocate(ctx, nlong, sizeof *row, (void **)&device_row));
    v->long_row = device_row;
    TESS_TRY(tess_device_allocate(ctx, nlong + 1, sizeof *segment, (void **)&device_segment));
    v->long_segment = device_segment;
    TESS_TRY(tess_device_allocate(ctx, v->nsegments, sizeof *v->segment_sum, (void **)&v->segment_sum));
    TESS_TRY(ctx->backend->upload(ctx, device_row, row, (size_t)nlong * sizeof *row));
    status = ctx->backend->upload(ctx, device_segment, segment, (size_t)(nlong + 1) * sizeof *segment);
cleanup:
    tess_host_release(ctx, row, nlong, sizeof *row);
    tess_host_release(ctx, segment, nlong + 1, sizeof *segment);
    return status;
}

static tess_status plan_long(tess_context *ctx, const csr_view *csr, packed_view *v)
{
    const size_t each = (size_t)csr->row_ptr_bits / 8;
    void *row_ptr = NULL;
    int64_t nsegments = 0, nlong = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, v->nrows + 1, each, &row_ptr));
    TESS_TRY(ctx->backend->download(ctx, row_ptr, csr->row_ptr, (size_t)(v->nrows + 1) * each));
    nlong = list_long(row_ptr, csr->row_ptr_bits, v, NULL, NULL, &nsegments);
    if (nlong > 0) {
        v->nlong = nlong;
        status = store_long(ctx, row_ptr, csr->row_ptr_bits, v);
    }
cleanup:
    tess_host_release(ctx, row_ptr, v->nrows + 1, each);
    return status;
}

/* ---- building ---- */

static tess_status take_assignment(const tess_matrix *a, const tess_storage_options *options,
                                   const tess_assignment *given, packed_storage *s)
{
    tess_status status = TESS_SUCCESS;

    if (given) {
        s->assignment = given;
    } else {
        TESS_TRY(tess_assignment_create_by_entry(a, &options->policy, &s->own_assignment));
        s->assignment = s->own_assignment;
    }
    s->summary = s->assignment->summary;
cleanup:
    return status;
}

static packed_source source_of(const packed_storage *s, const csr_view *csr)
{
    return (packed_source){.csr = csr, .level = s->assignment->level, .whole = s->assignment->whole};
}

static tess_status make_records(tess_context *ctx, const csr_view *csr, packed_storage *s)
{
    const packed_ops *ops = packed_ops_of(ctx);
    const packed_source source = source_of(s, csr);
    packed_view *v = &s->view;
    int64_t units = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(plan_long(ctx, csr, v));
    TESS_TRY(tess_device_allocate(ctx, count_sections(v), sizeof *s->section, (void **)&s->section));
    v->section = s->section;
    TESS_TRY(ops->measure(ctx, &source, v, s->section, &units));
    if (units > (int64_t)UINT32_MAX) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "choose csr", "format packed would take %s, which is too many",
                         tess_count(units * PACKED_UNIT, "byte").text);
    }
    TESS_TRY(tess_device_allocate(ctx, units + 1, PACKED_UNIT, (void **)&s->record));
    v->record = s->record;
    v->units = units;
    TESS_TRY(ctx->backend->zero(ctx, s->record, (size_t)(units + 1) * PACKED_UNIT));
    status = ops->fill(ctx, &source, v, s->record);
cleanup:
    return status;
}

/* The one level that has entries; -1: several have. */
static int only_level(const tess_assignment_summary *summary)
{
    int used = 0, last = 0;

    for (int l = 0; l < summary->options.nlevels; l++) {
        if (summary->nonzeros_at[l] > 0) {
            used += 1;
            last = l;
        }
    }
    return used > 1 ? -1 : last;
}

static tess_status packed_build(const tess_matrix *assembled, const tess_storage_options *options,
                                const tess_assignment *assignment, void **out)
{
    tess_context *ctx = assembled->ctx;
    const csr_view *csr = &csr_of(assembled)->view;
    packed_storage *s = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, 1, sizeof *s, (void **)&s));
    memset(s, 0, sizeof *s);
    TESS_TRY(take_assignment(assembled, options, assignment, s));
    s->view = (packed_view){.nrows = csr->nrows,
                            .ncols = csr->ncols,
                            .nnz = csr->nnz,
                            .nslices = (csr->nrows + PACKED_SLICE - 1) / PACKED_SLICE,
                            .longest = longest_of(csr),
                            .nlevels = s->summary.options.nlevels,
                            .arithmetic = TESS_ARITHMETIC_FP64};
    for (int l = 0; l < s->view.nlevels; l++) {
        s->view.precision[l] = s->summary.options.level[l].precision;
    }
    s->view.only = only_level(&s->summary);
    TESS_TRY(make_records(ctx, csr, s));
    *out = s;
cleanup:
    if (status != TESS_SUCCESS && s) { packed_destroy(ctx, s); }
    return status;
}

/* Entries keep their levels, so that the records keep their places. */
static tess_status packed_refresh(const tess_matrix *assembled, void *storage)
{
    packed_storage *s = storage;
    const packed_source source = source_of(s, &csr_of(assembled)->view);

    return packed_ops_of(assembled->ctx)->fill(assembled->ctx, &source, &s->view, s->record);
}

/* ---- products ---- */

static tess_status packed_prepare(const tess_matrix *a)
{
    return packed_ops_of(a->ctx)->prepare(a->ctx, &storage_of(a)->view);
}

/* The transpose of the assembled matrix holds exactly the values stored here, if all are in FP64. */
static tess_status multiply_transposed(const tess_matrix *a, const tess_spmv_args *args)
{
    const tess_assignment_summary *summary = &storage_of(a)->summary;
    tess_status status = tess_spmv_require_fp64_vectors(a, args);

    if (status != TESS_SUCCESS) { return status; }
    if (a->precision != TESS_PRECISION_FP64 || summary->nonzeros_at[0] != a->nnz) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "multiply with the FP64 matrix",
                         "packed entries below fp64 have no transposed product");
    }
    return a->original->ops->spmv(a->original, args);
}

static tess_status packed_spmv(const tess_matrix *a, const tess_spmv_args *args)
{
    if (args->operation == TESS_OP_TRANSPOSE) { return multiply_transposed(a, args); }
    return packed_ops_of(a->ctx)->spmv(a->ctx, &storage_of(a)->view, args);
}

/* ---- back to the host ---- */

static tess_status packed_decode(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val)
{
    const packed_storage *s = storage_of(a);
    const packed_source source = source_of(s, &csr_of(a->original)->view);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(padded_decode_offsets(a, row_ptr));
    if (col_ind || val) { status = packed_ops_of(a->ctx)->decode(a->ctx, &source, &s->view, col_ind, val); }
cleanup:
    return status;
}

static const tess_assignment_summary *packed_summary(const tess_matrix *a)
{
    return &storage_of(a)->summary;
}

static int64_t packed_bytes(const tess_matrix *a)
{
    const packed_view *v = &storage_of(a)->view;
    const int64_t lists = v->nlong > 0 ? 2 * v->nlong + 1 : 0;

    return v->units * PACKED_UNIT + count_sections(v) * (int64_t)sizeof *v->section +
           lists * (int64_t)sizeof *v->long_row + v->nsegments * (int64_t)sizeof *v->segment_sum;
}

const tess_format_ops packed_format = {
    .can =
        {
            .description = "slices of rows with shared columns, each entry in a precision of its own",
            .precisions = TESS_EVERY_PRECISION,
            .gpu_precisions = TESS_EVERY_PRECISION,
            .policies = TESS_EVERY_POLICY,
            .granularities = 1U << TESS_GRANULARITY_ENTRY,
            .granularity = TESS_GRANULARITY_ENTRY,
            .arithmetics = 1U << TESS_ARITHMETIC_FP64,
            .row_orders = 1U << TESS_ROW_ORDER_ORIGINAL,
            .takes_parts = 1,
        },
    .summary = packed_summary,
    .build = packed_build,
    .refresh = packed_refresh,
    .destroy = packed_destroy,
    .prepare = packed_prepare,
    .spmv = packed_spmv,
    .decode = packed_decode,
    .bytes = packed_bytes,
};
