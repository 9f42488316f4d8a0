/* SPDX-License-Identifier: Apache-2.0 */
#include "support/slice_parts.h"

#include "policy/rules.h"

/* Places of col_ind and val before a part's own; their contents must never be used. */
enum { PLACES_BEFORE = 5 };

static void *copy_to_device(tess_context *ctx, const void *host, int64_t count, size_t size)
{
    void *device = NULL;

    assert_ok(ctx, tess_device_allocate(ctx, count, size, &device));
    assert_ok(ctx, ctx->backend->upload(ctx, device, host, (size_t)count * size));
    return device;
}

int64_t part_offset(const slice_part *part, int64_t i)
{
    return ((const int32_t *)part->host.row_ptr)[i];
}

int64_t part_target(const slice_part *part, int64_t i)
{
    return part->rule.first + i * part->rule.step;
}

double part_value(const slice_part *part, tess_precision precision, bool scaled, int64_t i, int64_t k)
{
    double scale = scaled ? tess_power_of_two(part->host.exponent[i]) : 1.0, code = 0.0;

    tess_store(precision, &code, 0, ((const double *)part->host.val)[k] / scale, TESS_OVERFLOW_INFINITY);
    return tess_load(precision, &code, 0) * scale;
}

static void copy_rows(slice_part *part, const oracle_csr *a, int32_t *row_ptr, int32_t *col_ind, double *val)
{
    int64_t place = PLACES_BEFORE;

    for (int64_t k = 0; k < PLACES_BEFORE; k++) {
        col_ind[k] = -1;
        val[k] = NAN;
    }
    row_ptr[0] = PLACES_BEFORE;
    for (int64_t i = 0; i < part->host.nrows; i++) {
        int64_t begin = a->row_ptr[part_target(part, i)], end = a->row_ptr[part_target(part, i) + 1];

        for (int64_t k = begin; k < end; k++, place++) {
            int64_t from = part->rule.unsorted ? begin + end - 1 - k : k;

            col_ind[place] = a->col_ind[from];
            val[place] = a->val[from];
        }
        row_ptr[i + 1] = (int32_t)place;
    }
    part->places = place;
    part->host.nnz = place - PLACES_BEFORE;
}

slice_part make_part(tess_context *ctx, const oracle_csr *a, part_rule rule)
{
    int64_t nrows = (a->nrows - rule.first + rule.step - 1) / rule.step;
    slice_part part = {.ctx = ctx, .rule = rule};
    int32_t *row_ptr = test_allocate(nrows + 1, sizeof *row_ptr), *row_of = test_allocate(nrows, sizeof *row_of);
    int32_t *col_ind = test_allocate(a->nnz + PLACES_BEFORE, sizeof *col_ind);
    double *val = test_allocate(a->nnz + PLACES_BEFORE, sizeof *val);
    int16_t *exponent = test_allocate(nrows, sizeof *exponent);

    part.host = (csr_view){.nrows = nrows,
                           .ncols = a->ncols,
                           .row_ptr = row_ptr,
                           .row_ptr_bits = 32,
                           .col_ind = col_ind,
                           .val = val,
                           .row_of = row_of,
                           .row_shift = rule.first,
                           .exponent = exponent,
                           .unsorted = rule.unsorted};
    for (int64_t i = 0; i < nrows; i++) {
        row_of[i] = (int32_t)part_target(&part, i);
        exponent[i] = (int16_t)(i % 7 - 3);
    }
    copy_rows(&part, a, row_ptr, col_ind, val);
    part.device = part.host;
    part.device.row_ptr = copy_to_device(ctx, row_ptr, nrows + 1, sizeof *row_ptr);
    part.device.col_ind = copy_to_device(ctx, col_ind, part.places, sizeof *col_ind);
    part.device.val = copy_to_device(ctx, val, part.places, sizeof *val);
    part.device.row_of = rule.step == 1 ? NULL : copy_to_device(ctx, row_of, nrows, sizeof *row_of);
    part.device.exponent = rule.scaled ? copy_to_device(ctx, exponent, nrows, sizeof *exponent) : NULL;
    return part;
}

static void release(const slice_part *part, const void *host, const void *device, int64_t count, size_t size)
{
    tess_device_release(part->ctx, device, count, size);
    free((void *)(uintptr_t)host);
}

void free_part(slice_part *part)
{
    const csr_view *h = &part->host, *d = &part->device;

    release(part, h->row_ptr, d->row_ptr, h->nrows + 1, sizeof(int32_t));
    release(part, h->col_ind, d->col_ind, part->places, sizeof(int32_t));
    release(part, h->val, d->val, part->places, sizeof(double));
    release(part, h->row_of, d->row_of, h->nrows, sizeof(int32_t));
    release(part, h->exponent, d->exponent, h->nrows, sizeof(int16_t));
}

/* ---- products ---- */

enum { PARTS = 4, EPILOGUES = 7 };

/* A matrix in parts, rows 4 i + p being part p's, and arrays for products. */
typedef struct parts_scene {
    tess_context *ctx;
    slice_part part[PARTS];
    ellr_view view[PARTS];
    oracle_csr stored;                      /* the contents of the parts */
    double *x, *y, *residual, *rhs, *scale; /* host */
    double *out;                            /* host: y afterwards */
    float *out_shadow;
    wide *product;
    double *magnitude;
    double *dx, *dy, *dresidual, *drhs, *dscale; /* device */
    float *dx_shadow, *dy_shadow;
} parts_scene;

static double *make_array(tess_context *ctx, int64_t n, uint64_t seed, double **device)
{
    double *host = random_values(n, seed, 0.25, 1.0);

    for (int64_t i = 0; i < n; i++) {
        host[i] = (double)(float)(i % 2 ? host[i] : -host[i]);
    }
    *device = copy_to_device(ctx, host, n, sizeof *host);
    return host;
}

/* Every fourth row is empty, and part 3 has only those: as views of empty rows have it, it has no arrays. */
static void make_parts(parts_scene *t, const oracle_csr *a, const tess_precision *precision, part_rule rule,
                       tess_format format)
{
    t->stored = oracle_open(a->nrows, a->ncols);
    for (int p = 0; p < PARTS; p++) {
        const tess_storage_options options = {.size = sizeof(tess_storage_options),
                                              .format = format,
                                              .precision = precision[p],
                                              .slices.max_padding = 1000.0};
        csr_view rows;

        rule.first = p;
        rule.step = PARTS;
        t->part[p] = make_part(t->ctx, a, rule);
        rows = t->part[p].device;
        if (p == PARTS - 1) {
            rows.row_ptr = NULL;
            rows.nnz = 0;
        }
        assert_ok(t->ctx, ellr_build_view(t->ctx, &rows, &options, &t->view[p]));
    }
    for (int64_t row = 0; row < a->nrows; row++) {
        const slice_part *part = &t->part[row % PARTS];
        int64_t i = row / PARTS;

        for (int64_t k = part_offset(part, i); k < part_offset(part, i + 1) && row % PARTS < PARTS - 1; k++) {
            oracle_push(&t->stored, part->host.col_ind[k], part_value(part, precision[row % PARTS], rule.scaled, i, k));
        }
        oracle_end_row(&t->stored, row);
    }
}

static void make_arrays(parts_scene *t)
{
    tess_context *ctx = t->ctx;
    int64_t n = t->stored.nrows, ncols = t->stored.ncols;
    float *shadow = test_allocate(ncols, sizeof *shadow);

    t->x = make_array(ctx, ncols, 1, &t->dx);
    t->y = make_array(ctx, n, 2, &t->dy);
    t->residual = make_array(ctx, n, 3, &t->dresidual);
    t->rhs = make_array(ctx, n, 5, &t->drhs);
    t->scale = make_array(ctx, n, 6, &t->dscale);
    for (int64_t i = 0; i < ncols; i++) {
        shadow[i] = (float)t->x[i];
    }
    t->dx_shadow = copy_to_device(ctx, shadow, ncols, sizeof *shadow);
    free(shadow);
    assert_ok(ctx, tess_device_allocate(ctx, n, sizeof(float), (void **)&t->dy_shadow));
    t->out = test_allocate(n, sizeof *t->out);
    t->out_shadow = test_allocate(n, sizeof *t->out_shadow);
    t->product = test_allocate(n, sizeof *t->product);
    t->magnitude = test_allocate(n, sizeof *t->magnitude);
    oracle_multiply(&t->stored, false, t->x, t->product, t->magnitude);
}

static void free_scene(parts_scene *t)
{
    int64_t n = t->stored.nrows;
    double *const host[] = {t->x, t->y, t->residual, t->rhs, t->scale, t->out, t->magnitude};
    double *const device[] = {t->dy, t->dresidual, t->drhs, t->dscale};

    for (size_t k = 0; k < sizeof host / sizeof *host; k++) {
        free(host[k]);
    }
    for (size_t k = 0; k < sizeof device / sizeof *device; k++) {
        tess_device_release(t->ctx, device[k], n, sizeof(double));
    }
    tess_device_release(t->ctx, t->dx, t->stored.ncols, sizeof(double));
    tess_device_release(t->ctx, t->dx_shadow, t->stored.ncols, sizeof(float));
    tess_device_release(t->ctx, t->dy_shadow, n, sizeof(float));
    free(t->out_shadow);
    free(t->product);
    for (int p = 0; p < PARTS; p++) {
        ellr_release_view(t->ctx, &t->view[p]);
        free_part(&t->part[p]);
    }
    oracle_free(&t->stored);
}

/* Epilogue k: plain, with beta, residual, the same of y itself, Jacobi, damped Jacobi, step. */
static tess_spmv_args epilogue(const parts_scene *t, int k)
{
    tess_spmv_args args = {
        .vectors = TESS_PRECISION_FP64, .x = t->dx, .x_shadow = t->dx_shadow, .y = t->dy, .alpha = 1.0};

    if (k == 1) {
        args.alpha = -0.5;
        args.beta = 0.75;
    }
    if (k == 2 || k == 3) { args.residual = k == 2 ? t->dresidual : t->dy; }
    if (k >= 4) {
        args.update = (tess_update){.kind = k == 6 ? TESS_UPDATE_TIME_STEP : TESS_UPDATE_JACOBI,
                                    .rhs = t->drhs,
                                    .scale = t->dscale,
                                    .omega = k == 5 ? 0.625 : 1.0};
        args.y_shadow = t->dy_shadow;
    }
    return args;
}

/* The exact y_i, and the sum of magnitudes that its rounding errors are relative to. */
static wide expected_value(const parts_scene *t, const tess_spmv_args *args, int64_t i, double *size)
{
    const wide sum = t->product[i];

    *size = t->magnitude[i];
    if (args->residual) {
        double from = args->residual == t->dy ? t->y[i] : t->residual[i];

        *size += fabs(from);
        return (wide)from - sum;
    }
    if (args->update.kind == TESS_UPDATE_TIME_STEP) {
        *size += fabs(t->scale[i] * t->x[i]);
        return sum + (wide)t->scale[i] * (wide)t->x[i];
    }
    if (args->update.kind == TESS_UPDATE_JACOBI) {
        *size += fabs(t->rhs[i]) + 3.0 * fabs(t->x[i]); /* |scale| and omega are at most 1 */
        return (wide)t->x[i] + (wide)args->update.omega * (((wide)t->rhs[i] - sum) * (wide)t->scale[i] - (wide)t->x[i]);
    }
    *size += fabs(args->beta * t->y[i]);
    return (wide)args->alpha * sum + (wide)args->beta * (wide)t->y[i];
}

/* FP32 products are rounded once, or underflow. */
static void check_values(const parts_scene *t, const tess_spmv_args *args)
{
    double longest = (double)oracle_longest_row(&t->stored, false);
    double low = args->low_arithmetic == TESS_ARITHMETIC_FP32 ? 0x1p-24 : 0.0;

    for (int64_t i = 0; i < t->stored.nrows; i++) {
        double size, bound;
        wide expected = expected_value(t, args, i, &size);

        bound = (gamma_of(longest + 8.0) + low * (1.0 + 0x1p-20)) * size + (low > 0.0 ? longest * 0x1p-146 : 0.0) +
                longest * 0x1p-1070;
        if (args->y) { assert_at_most((double)wide_abs((wide)t->out[i] - expected), bound); }
        if (args->y_shadow && args->y) { assert_true(t->out_shadow[i] == (float)t->out[i]); }
        if (args->y_shadow) {
            assert_at_most((double)wide_abs((wide)t->out_shadow[i] - expected),
                           bound + 0x1p-24 * ((double)wide_abs(expected) + bound));
        }
    }
}

/* The dot products against those of the y that came out. */
static void check_dots(const parts_scene *t, const tess_spmv_args *args)
{
    tess_loop_state state;
    bool jacobi = args->update.kind == TESS_UPDATE_JACOBI;

    assert_ok(t->ctx, t->ctx->backend->download(t->ctx, &state, t->ctx->scratch_state, sizeof state));
    for (int k = 0; k < args->reduction.ndots; k++) {
        wide sum = 0;
        double size = 0.0;

        for (int64_t i = 0; i < t->stored.nrows; i++) {
            double other = k == 0 ? t->out[i] : t->x[i], y = t->out[i], error;
            wide term = (wide)y * (wide)other;

            if (jacobi) {
                wide step = ((wide)y - (wide)t->x[i]) / ((wide)args->update.omega * (wide)t->scale[i]);

                term = step * step;
            }
            error = (double)wide_abs(term);
            sum += term;
            size += error;
        }
        assert_at_most((double)wide_abs((wide)state.dots[k] - sum), gamma_of((double)t->stored.nrows + 8.0) * size);
    }
}

static void check_epilogue(const parts_scene *t, tess_spmv_args args)
{
    const tess_backend *backend = t->ctx->backend;
    int64_t n = t->stored.nrows;

    assert_ok(t->ctx, backend->upload(t->ctx, t->dy, t->y, (size_t)n * sizeof(double)));
    assert_ok(t->ctx, backend->zero(t->ctx, t->ctx->scratch_state, sizeof(tess_loop_state)));
    assert_ok(t->ctx, ellr_ops_of(t->ctx)->spmv_parts(t->ctx, PARTS, t->view, &args));
    if (args.y) { assert_ok(t->ctx, backend->download(t->ctx, t->out, t->dy, (size_t)n * sizeof(double))); }
    if (args.y_shadow) {
        assert_ok(t->ctx, backend->download(t->ctx, t->out_shadow, t->dy_shadow, (size_t)n * sizeof(float)));
    }
    check_values(t, &args);
    check_dots(t, &args);
}

static void check_scene(const parts_scene *t)
{
    for (int variant = 0; variant < 2 * EPILOGUES; variant++) {
        tess_spmv_args args = epilogue(t, variant / 2);
        bool jacobi = args.update.kind == TESS_UPDATE_JACOBI;

        args.low_arithmetic = variant % 2 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64;
        for (int ndots = 0; ndots <= (jacobi ? 1 : 2); ndots++) {
            args.reduction = (tess_reduction){.ndots = ndots, .with = {jacobi ? NULL : t->dy, t->dx}};
            if (ndots > 0) { args.reduction.state = t->ctx->scratch_state; }
            check_epilogue(t, args);
        }
        if (args.y_shadow) { /* the next vector only in FP32 */
            args.reduction = (tess_reduction){.ndots = 0};
            args.y = NULL;
            check_epilogue(t, args);
        }
    }
}

void check_slice_parts(tess_context *ctx)
{
    static const tess_precision precision[][PARTS] = {
        {TESS_PRECISION_FP64, TESS_PRECISION_FP32, TESS_PRECISION_BF16, TESS_PRECISION_FP64},
        {TESS_PRECISION_FP16, TESS_PRECISION_E4M3, TESS_PRECISION_E5M2, TESS_PRECISION_FP32}};
    oracle_csr all[] = {make_index_boundaries(), make_uneven_rows(5003, true), make_uneven_rows(63, false),
                        oracle_laplace2d(40)};

    for (int k = 0; k < 16; k++) {
        const part_rule rule = {.scaled = k / 4 % 2 == 1, .unsorted = (k + k / 8) % 2 == 1};
        parts_scene t = {.ctx = ctx};

        make_parts(&t, &all[k % 4], precision[k / 8], rule, k / 4 % 2 ? TESS_FORMAT_SELL : TESS_FORMAT_ELLR);
        make_arrays(&t);
        check_scene(&t);
        free_scene(&t);
    }
    for (int k = 0; k < 4; k++) {
        oracle_free(&all[k]);
    }
}
