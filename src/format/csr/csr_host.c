/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSR on the host. Rows are cut into chunks of about equal work (rows + nonzeros), independent of the number of
 * threads. A row longer than a segment is summed segment by segment; if few rows are that long, all threads first sum
 * their segments. Each sum has the same order either way, and so the same bits.
 */
#include "format/csr/csr_host.h"
#include "device/host/host.h"
#include "format/csr/csr.h"
#include "format/csr/csr_sums.h"
#include "format/row_epilogue.h"

/* ---- products ---- */

/*
 * What a chunk computes besides y = A x. The common cases have no tests in their loop over rows. PART: of a matrix in
 * parts, with all its options; LOW_PART: the same with products in FP32. LOW: FP32 vectors; STEP: of a polynomial, in
 * FP64.
 */
typedef enum chunk_epilogue {
    GENERAL,
    STORE,
    STORE_DOT,
    STORE_DOT_TWO,
    PART,
    LOW_PART,
    LOW,
    STEP,
    EPILOGUES
} chunk_epilogue;

static chunk_epilogue epilogue_of(const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP32) { return LOW; }
    if (args->update.kind == TESS_UPDATE_POLYNOMIAL) { return STEP; }
    if (args->residual || args->alpha != 1.0 || args->beta != 0.0) { return GENERAL; }
    return args->reduction.ndots == 0 ? STORE : args->reduction.ndots == 1 ? STORE_DOT : STORE_DOT_TWO;
}

/* The part has nothing that plain products do not have. */
static bool is_plain(const csr_view *v, const tess_spmv_args *args)
{
    return !v->exponent && args->update.kind == TESS_UPDATE_NONE && !args->y_shadow && args->reduction.ndots == 0;
}

/* The row of y that belongs to row i of a part. */
TESS_INLINE int64_t target_of(const csr_view *v, int64_t i)
{
    return v->row_of ? v->row_of[i] : v->row_shift + i;
}

/* Row i of a part; `plain` is the result of is_plain, evaluated once for all rows. */
TESS_INLINE void finish_part_row(const csr_view *v, const tess_spmv_args *args, bool plain, int64_t i, double sum,
                                 double *dots)
{
    int64_t row = target_of(v, i);

    if (plain) {
        args->y[row] = spmv_result(args, row, sum);
    } else {
        double value = spmv_finish_row(args, row, v->exponent ? sum * part_row_scale(v->exponent, i) : sum);

        spmv_add_row_dots(args, args->reduction.ndots, row, value, dots);
    }
}

TESS_INLINE void finish_row(const tess_spmv_args *args, chunk_epilogue epilogue, int64_t row, double sum, double *dots)
{
    const double *u = args->reduction.with[0], *w = args->reduction.with[1];

    if (epilogue == GENERAL) { sum = spmv_result(args, row, sum); }
    args->y[row] = sum;
    if (epilogue == GENERAL) { spmv_add_dots(&args->reduction, args->y, row, sum, dots); }
    if (epilogue == STORE_DOT || epilogue == STORE_DOT_TWO) { dots[0] += sum * u[row]; }
    if (epilogue == STORE_DOT_TWO) { dots[1] += sum * w[row]; }
}

TESS_INLINE void finish(const csr_view *v, const tess_spmv_args *args, bool plain, chunk_epilogue epilogue, int64_t row,
                        double sum, double *dots)
{
    if (epilogue == PART || epilogue == LOW_PART) {
        finish_part_row(v, args, plain, row, sum, dots);
    } else if (epilogue == LOW || epilogue == STEP) {
        spmv_finish_step(args, epilogue == LOW, row, sum);
    } else {
        finish_row(args, epilogue, row, sum, dots);
    }
}

TESS_INLINE int64_t offset_at(const csr_view *v, int bits, int64_t row)
{
    return bits == 32 ? ((const int32_t *)v->row_ptr)[row] : ((const int64_t *)v->row_ptr)[row];
}

TESS_INLINE csr_entries entries_of(const csr_view *v, const tess_spmv_args *args, chunk_epilogue epilogue)
{
    return (csr_entries){v->val, v->col_ind, args->x, epilogue == LOW ? args->x_fp32 : args->x_shadow,
                         epilogue == LOW_PART || epilogue == LOW};
}

/* Entries that are decoded at once. */
enum { DECODED = 2048 };

/* Rows from `row` on whose entries fit, up to the end of the chunk. */
TESS_INLINE int64_t rows_to_decode(const csr_view *v, int bits, int64_t row, int64_t last)
{
    int64_t end = row;

    while (end < last && offset_at(v, bits, end + 1) - offset_at(v, bits, row) <= DECODED) {
        end++;
    }
    return end;
}

/* As multiply_rows, for values of FP16 and less: decoded for many rows together they take wide vectors. As FP32 their
   sums have the same bits. */
TESS_INLINE void multiply_decoded(const csr_view *view, const csr_plan *p, const tess_spmv_args *args, int64_t chunk,
                                  double *out, int bits, chunk_epilogue epilogue)
{
    const csr_view v = *view;
    const tess_spmv_args local = *args;
    const bool plain = is_plain(&v, args);
    const int64_t last = p->chunk_row[chunk + 1];
    int64_t row = p->chunk_row[chunk];
    double dots[2] = {0.0, 0.0};
    float value[DECODED];

    while (row < last) {
        const int64_t first = offset_at(&v, bits, row), end = rows_to_decode(&v, bits, row, last);
        csr_entries e = entries_of(&v, args, epilogue);

        if (end == row) {
            double sum = csr_host_long_row_sum(view, p, args, row);

            finish(&v, &local, plain, epilogue, row++, sum, dots);
            continue;
        }
        e.val =
            host_read_fp32((tess_operand){v.val, v.precision}, first, (int)(offset_at(&v, bits, end) - first), value);
        e.col_ind += first;
        for (int64_t at = 0; row < end; row++) {
            const int64_t next = offset_at(&v, bits, row + 1) - first;
            const double sum = next - at <= SHORT ? sum_short_row(e, TESS_PRECISION_FP32, at, next)
                                                  : sum_range(e, TESS_PRECISION_FP32, at, next);

            at = next;
            finish(&v, &local, plain, epilogue, row, sum, dots);
        }
    }
    out[0] = dots[0];
    out[1] = dots[1];
}

/* One chunk of rows, and its dot products, to `out`. The constants fold away in each instance. */
TESS_INLINE void multiply_rows(const csr_view *view, const csr_plan *p, const tess_spmv_args *args, int64_t chunk,
                               double *out, int bits, tess_precision precision, chunk_epilogue epilogue)
{
    const csr_view v = *view;
    const csr_entries entries = entries_of(&v, args, epilogue);
    const tess_spmv_args local = *args;
    const bool plain = is_plain(&v, args);
    const int64_t last = p->chunk_row[chunk + 1];
    int64_t row = p->chunk_row[chunk], end = offset_at(&v, bits, row);
    double dots[2] = {0.0, 0.0};

    for (; row < last; row++) {
        int64_t begin = end;
        double sum;

        end = offset_at(&v, bits, row + 1);
        sum = end - begin <= SHORT         ? sum_short_row(entries, precision, begin, end)
              : end - begin <= CSR_SEGMENT ? sum_range(entries, precision, begin, end)
                                           : csr_host_long_row_sum(view, p, args, row);
        finish(&v, &local, plain, epilogue, row, sum, dots);
    }
    out[0] = dots[0];
    out[1] = dots[1];
}

typedef void (*chunk_function)(const csr_view *v, const csr_plan *p, const tess_spmv_args *args, int64_t chunk,
                               double *dots);

/* BF16 takes one shift. */
#define DECODES(precision) \
    (precision != TESS_PRECISION_FP64 && precision != TESS_PRECISION_FP32 && precision != TESS_PRECISION_BF16)
#define CHUNK_FUNCTION(name, bits, precision, epilogue)                                                             \
    static void name(const csr_view *v, const csr_plan *p, const tess_spmv_args *args, int64_t chunk, double *dots) \
    {                                                                                                               \
        if (DECODES(precision)) {                                                                                   \
            multiply_decoded(v, p, args, chunk, dots, bits, epilogue);                                              \
        } else {                                                                                                    \
            multiply_rows(v, p, args, chunk, dots, bits, precision, epilogue);                                      \
        }                                                                                                           \
    }
#define CHUNK_FUNCTIONS(name, bits, precision)                     \
    CHUNK_FUNCTION(name##_general, bits, precision, GENERAL)       \
    CHUNK_FUNCTION(name##_store, bits, precision, STORE)           \
    CHUNK_FUNCTION(name##_dot, bits, precision, STORE_DOT)         \
    CHUNK_FUNCTION(name##_dot_two, bits, precision, STORE_DOT_TWO) \
    CHUNK_FUNCTION(name##_part, bits, precision, PART)             \
    CHUNK_FUNCTION(name##_low_part, bits, precision, LOW_PART)     \
    CHUNK_FUNCTION(name##_low, bits, precision, LOW)               \
    CHUNK_FUNCTION(name##_step, bits, precision, STEP)
#define CHUNK_FUNCTION_TABLES(NAME, value, name, type, bits, emin, emax, max) \
    CHUNK_FUNCTIONS(multiply_32_##name, 32, TESS_PRECISION_##NAME)            \
    CHUNK_FUNCTIONS(multiply_64_##name, 64, TESS_PRECISION_##NAME)
TESS_PRECISION_LIST(CHUNK_FUNCTION_TABLES)
#undef CHUNK_FUNCTION_TABLES
#undef CHUNK_FUNCTIONS
#undef CHUNK_FUNCTION

/* By precision, 64-bit offsets, epilogue. */
static const chunk_function chunk_functions[TESS_PRECISION_COUNT][2][EPILOGUES] = {
#define ALL_EPILOGUES(name)                                                                                 \
    {                                                                                                       \
        name##_general, name##_store, name##_dot, name##_dot_two, name##_part, name##_low_part, name##_low, \
            name##_step                                                                                     \
    }
#define CHUNK_ENTRY(NAME, value, name, type, bits, emin, emax, max) \
    [value] = {ALL_EPILOGUES(multiply_32_##name), ALL_EPILOGUES(multiply_64_##name)},
    TESS_PRECISION_LIST(CHUNK_ENTRY)
#undef CHUNK_ENTRY
#undef ALL_EPILOGUES
};

static chunk_function select_function(const csr_view *v, chunk_epilogue epilogue)
{
    return chunk_functions[v->precision][v->row_ptr_bits == 64][epilogue];
}

static tess_status spmv(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    chunk_function multiply = select_function(v, epilogue_of(args));
    const tess_reduction *reduction = &args->reduction;

    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    csr_host_sum_long_rows(ctx, v, p, args);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (p->nchunks > 1)
    for (int64_t c = 0; c < p->nchunks; c++) {
        double dots[2];

        multiply(v, p, args, c, dots);
        p->partials[c] = dots[0];
        p->partials[p->nchunks + c] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(p->partials, p->nchunks, reduction->ndots, reduction->scalar, reduction->state);
    }
    return TESS_SUCCESS;
}

/* ---- products by parts ---- */

/* Rows of an empty part per chunk. */
static void finish_empty_rows(const csr_view *v, const tess_spmv_args *args, int64_t chunk, double *dots)
{
    int64_t end = (chunk + 1) * CSR_CHUNK < v->nrows ? (chunk + 1) * CSR_CHUNK : v->nrows;

    dots[0] = 0.0;
    dots[1] = 0.0;
    for (int64_t i = chunk * CSR_CHUNK; i < end; i++) {
        finish_part_row(v, args, is_plain(v, args), i, 0.0, dots);
    }
}

static int64_t part_chunks(const csr_part *part)
{
    return part->view.row_ptr ? part->plan->nchunks : (part->view.nrows + CSR_CHUNK - 1) / CSR_CHUNK;
}

/* A chunk of a part. */
static void multiply_part(const csr_part *part, const tess_spmv_args *args, int64_t chunk, double *dots)
{
    if (part->view.row_ptr) {
        chunk_function multiply = select_function(&part->view, csr_host_is_low(&part->view, args) ? LOW_PART : PART);

        multiply(&part->view, part->plan, args, chunk, dots);
    } else {
        finish_empty_rows(&part->view, args, chunk, dots);
    }
}

static tess_status spmv_parts(tess_context *ctx, int count, const csr_part *parts, const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    int64_t nchunks = 0, work = 0;
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    for (int p = 0; p < count; p++) {
        nchunks += part_chunks(&parts[p]);
        work += parts[p].view.nrows + parts[p].view.nnz;
        if (parts[p].view.row_ptr) { csr_host_sum_long_rows(ctx, &parts[p].view, parts[p].plan, args); }
    }
    status = host_partials(ctx, 2 * nchunks, &partials);
    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (work > HOST_SERIAL_WORK)
    for (int64_t c = 0; c < nchunks; c++) {
        int64_t chunk = c;
        double dots[2];
        int p = 0;

        for (; chunk >= part_chunks(&parts[p]); p++) {
            chunk -= part_chunks(&parts[p]);
        }
        multiply_part(&parts[p], args, chunk, dots);
        partials[c] = dots[0];
        partials[nchunks + c] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(partials, nchunks, reduction->ndots, reduction->scalar, reduction->state);
    }
    return TESS_SUCCESS;
}

static tess_status gather(tess_context *ctx, int64_t n, const double *source, const int64_t *from, double *values)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > HOST_SERIAL_WORK)
    for (int64_t k = 0; k < n; k++) {
        values[k] = source[from[k]];
    }
    return TESS_SUCCESS;
}

const csr_ops csr_host_ops = {
    .make_plans = csr_host_make_plans,
    .free_plan = csr_host_free_plan,
    .spmv = spmv,
    .multiply_pairs = csr_host_multiply_pairs,
    .multiply_columns = csr_host_multiply_columns,
    .columns_take_steps = true,
    .prepare_parts = NULL,
    .spmv_parts = spmv_parts,
    .make_layers = csr_host_make_layers,
    .free_layers = csr_host_free_layers,
    .spmv_layers = csr_host_spmv_layers,
    .gather = gather,
};
