/* SPDX-License-Identifier: Apache-2.0 */
/* Products with vectors in FP32, and steps of a polynomial, against the oracle: CSR in every storage, split and
   composite by rows. tests/gpu/test_csr_vectors.c runs the same tests on a GPU. */
#include "format/csr/csr.h"
#include "matrix/matrix.h"
#include "support/product.h"

#define U32 0x1p-24

static void *copy_to_device(tess_context *ctx, const void *host, int64_t count, size_t size)
{
    void *device = NULL;

    assert_ok(ctx, tess_device_allocate(ctx, count, size, &device));
    assert_ok(ctx, ctx->backend->upload(ctx, device, host, (size_t)count * size));
    return device;
}

/* ---- matrices with offsets of either width, vectors of either precision ---- */

/* Rows of none to many entries; where `segmented`, two that are summed in segments. Values in (-1, 1). */
static oracle_csr make_sample(bool segmented)
{
    const int64_t n = segmented ? 21000 : 1500;
    oracle_csr a = oracle_open(n, n);
    uint64_t seed = 32;

    for (int64_t i = 0; i < n; i++) {
        int64_t count = segmented && i == 7 ? 17000 : segmented && i == n - 1 ? n : i == 11 ? 900 : i % 9;

        for (int64_t j = 0; j < count; j++) {
            oracle_push(&a, count < 9 && i + 9 < n ? i + j : j, oracle_uniform(&seed, -1.0, 1.0));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

/* Borrowed arrays, so that the offsets keep their width. */
typedef struct wide_or_narrow {
    tess_context *ctx;
    tess_matrix *m;
    void *row_ptr;
    int32_t *col_ind;
    double *val;
    int64_t nrows, nnz;
    size_t offset_bytes;
} wide_or_narrow;

static wide_or_narrow make_matrix_of(tess_context *ctx, const oracle_csr *a, int bits)
{
    wide_or_narrow out = {.ctx = ctx, .nrows = a->nrows, .nnz = a->nnz, .offset_bytes = (size_t)bits / 8};
    int32_t *narrow = test_allocate(a->nrows + 1, sizeof *narrow);
    tess_csr_arrays arrays = csr_arrays_of(a);

    for (int64_t i = 0; i <= a->nrows; i++) {
        narrow[i] = (int32_t)a->row_ptr[i];
    }
    out.row_ptr = copy_to_device(ctx, bits == 64 ? (const void *)a->row_ptr : narrow, a->nrows + 1, out.offset_bytes);
    out.col_ind = copy_to_device(ctx, a->col_ind, a->nnz, sizeof *a->col_ind);
    out.val = copy_to_device(ctx, a->val, a->nnz, sizeof *a->val);
    arrays.row_ptr = out.row_ptr;
    arrays.col_ind = out.col_ind;
    arrays.val = out.val;
    arrays.row_ptr_bits = bits;
    arrays.where = ctx->device == TESS_DEVICE_GPU ? TESS_MEMORY_DEVICE : TESS_MEMORY_HOST;
    arrays.ownership = TESS_BORROW;
    assert_ok(ctx, tess_matrix_create_csr(ctx, &arrays, &out.m));
    assert_int_equal(csr_of(out.m)->view.row_ptr_bits, bits);
    free(narrow);
    return out;
}

static void free_matrix_of(wide_or_narrow *m)
{
    tess_matrix_destroy(m->m);
    tess_device_release(m->ctx, m->row_ptr, m->nrows + 1, m->offset_bytes);
    tess_device_release(m->ctx, m->col_ind, m->nnz, sizeof *m->col_ind);
    tess_device_release(m->ctx, m->val, m->nnz, sizeof *m->val);
}

/* n values on the host, which FP32 holds, and on the device in FP32 or FP64. */
typedef struct side {
    double *host;
    void *device;
} side;

static void write_side(tess_context *ctx, int64_t n, bool fp32, side *s)
{
    float *narrow = test_allocate(n, sizeof *narrow);

    for (int64_t i = 0; i < n; i++) {
        narrow[i] = (float)s->host[i];
        s->host[i] = (double)narrow[i];
    }
    assert_ok(ctx, ctx->backend->upload(ctx, s->device, fp32 ? (const void *)narrow : s->host,
                                        (size_t)n * (fp32 ? sizeof(float) : sizeof(double))));
    free(narrow);
}

static side make_side(tess_context *ctx, int64_t n, bool fp32, uint64_t seed)
{
    side s = {.host = random_values(n, seed, -1.0, 1.0)};

    assert_ok(ctx, tess_device_allocate(ctx, n, sizeof(double), &s.device)); /* space for either */
    write_side(ctx, n, fp32, &s);
    return s;
}

static void read_side(tess_context *ctx, int64_t n, bool fp32, const void *device, double *out)
{
    float *narrow = test_allocate(n, sizeof *narrow);

    assert_ok(ctx, ctx->backend->download(ctx, fp32 ? (void *)narrow : out, device,
                                          (size_t)n * (fp32 ? sizeof(float) : sizeof(double))));
    for (int64_t i = 0; i < n && fp32; i++) {
        out[i] = (double)narrow[i];
    }
    free(narrow);
}

static void free_side(tess_context *ctx, int64_t n, side *s)
{
    free(s->host);
    tess_device_release(ctx, s->device, n, sizeof(double));
}

/* A stored matrix with all vectors that a product may have. */
typedef struct bench {
    tess_context *ctx;
    const tess_matrix *m;
    bool fp32, low; /* vectors; products with them */
    int64_t n, longest;
    side x, y, base, total, wide_total;
    wide *sum; /* (A x)_i */
    double *magnitude, *out;
} bench;

static bench open_bench(tess_context *ctx, const tess_matrix *m, bool fp32)
{
    oracle_csr held = decode_matrix(m);
    const int64_t n = held.nrows;
    bench b = {
        .ctx = ctx, .m = m, .fp32 = fp32, .low = fp32 && tess_matrix_precision(m) != TESS_PRECISION_FP64, .n = n};

    b.longest = oracle_longest_row(&held, false);
    b.x = make_side(ctx, n, fp32, 1);
    b.y = make_side(ctx, n, fp32, 2);
    b.base = make_side(ctx, n, fp32, 3);
    b.total = make_side(ctx, n, fp32, 4);
    b.wide_total = make_side(ctx, n, false, 5);
    b.sum = test_allocate(n, sizeof *b.sum);
    b.magnitude = test_allocate(n, sizeof *b.magnitude);
    b.out = test_allocate(n, sizeof *b.out);
    oracle_multiply(&held, false, b.x.host, b.sum, b.magnitude);
    oracle_free(&held);
    return b;
}

static void close_bench(bench *b)
{
    free_side(b->ctx, b->n, &b->x);
    free_side(b->ctx, b->n, &b->y);
    free_side(b->ctx, b->n, &b->base);
    free_side(b->ctx, b->n, &b->total);
    free_side(b->ctx, b->n, &b->wide_total);
    free(b->sum);
    free(b->magnitude);
    free(b->out);
}

/* ---- cases ---- */

typedef enum base_kind { BASE_X, BASE_Y, BASE_OTHER } base_kind;

typedef struct product_case {
    bool polynomial;
    double alpha, beta, gamma;
    base_kind base; /* of a polynomial; else it is y */
    bool without_y, widens;
} product_case;

static const product_case cases[] = {
    {.alpha = 1.0, .base = BASE_Y},
    {.alpha = -0.75, .base = BASE_Y},
    {.alpha = 1.5, .beta = -0.625, .base = BASE_Y},
    {.polynomial = true, .alpha = -0.3, .beta = 1.0, .gamma = 0.7, .base = BASE_X},
    {.polynomial = true, .alpha = 0.4, .beta = -1.1, .gamma = 1.3, .base = BASE_Y},
    {.polynomial = true, .alpha = 0.4, .beta = 0.9, .gamma = -0.6, .base = BASE_OTHER},
    {.polynomial = true, .alpha = 1.0, .gamma = 2.0, .base = BASE_OTHER},
    {.polynomial = true, .alpha = -0.3, .beta = 1.0, .gamma = 0.7, .base = BASE_X, .without_y = true},
    {.polynomial = true, .alpha = 0.4, .beta = 0.9, .gamma = -0.6, .base = BASE_OTHER, .without_y = true},
    {.polynomial = true, .alpha = 0.4, .beta = 0.9, .gamma = -0.6, .base = BASE_OTHER, .widens = true},
    {.polynomial = true, .alpha = -0.3, .beta = 1.0, .gamma = 0.7, .base = BASE_X, .without_y = true, .widens = true},
};
enum { CASES = sizeof cases / sizeof *cases };

static const side *base_of(const bench *b, const product_case *c)
{
    return c->base == BASE_X ? &b->x : c->base == BASE_Y ? &b->y : &b->base;
}

static tess_spmv_args arguments_of(const bench *b, const product_case *c)
{
    tess_spmv_args args = {.alpha = c->alpha, .beta = c->beta};
    void *const y = c->without_y ? NULL : b->y.device;

    if (b->fp32) {
        args.vectors = TESS_PRECISION_FP32;
        args.x_fp32 = b->x.device;
        args.y_fp32 = y;
    } else {
        args.x = b->x.device;
        args.y = y;
    }
    if (!c->polynomial) { return args; }
    args.update = (tess_update){.kind = TESS_UPDATE_POLYNOMIAL,
                                .base = c->beta != 0.0 ? base_of(b, c)->device : NULL,
                                .total = b->total.device,
                                .wide_total = c->widens ? b->wide_total.device : NULL,
                                .gamma = c->gamma};
    return args;
}

/* The contents of the vectors before each product. */
static void restore(const bench *b)
{
    write_side(b->ctx, b->n, b->fp32, (side *)(uintptr_t)&b->y);
    write_side(b->ctx, b->n, b->fp32, (side *)(uintptr_t)&b->total);
    write_side(b->ctx, b->n, false, (side *)(uintptr_t)&b->wide_total);
}

/* The error of alpha sum + beta base before it is stored: products are rounded to FP32 once where they are low, sums
 * are in FP64. */
static double value_error(const bench *b, const product_case *c, int64_t i)
{
    const double length = (double)b->longest, base = fabs(c->beta * base_of(b, c)->host[i]);
    const double sum = (b->low ? U32 * (1.0 + U32) : 0.0) * b->magnitude[i] + gamma_of(length + 1.0) * b->magnitude[i] +
                       (b->low ? length * 0x1p-150 : 0.0);

    return fabs(c->alpha) * sum + gamma_of(3.0) * (1.0 + U32) * (fabs(c->alpha) * b->magnitude[i] + base);
}

static double rounding_of(bool fp32, double exact, double error)
{
    return fp32 ? U32 * (fabs(exact) + error) + 0x1p-150 : 0.0;
}

static void assert_unchanged(const bench *b, const side *s, bool fp32)
{
    read_side(b->ctx, b->n, fp32, s->device, b->out);
    assert_true(same_bits(b->out, s->host, b->n));
}

static void check_y(const bench *b, const product_case *c)
{
    read_side(b->ctx, b->n, b->fp32, b->y.device, b->out);
    for (int64_t i = 0; i < b->n; i++) {
        const wide exact = (wide)c->alpha * b->sum[i] + (wide)c->beta * (wide)base_of(b, c)->host[i];
        const double error = value_error(b, c, i);

        assert_at_most((double)wide_abs((wide)b->out[i] - exact), error + rounding_of(b->fp32, (double)exact, error));
    }
}

static void check_total(const bench *b, const product_case *c)
{
    const bool fp32 = b->fp32 && !c->widens;

    read_side(b->ctx, b->n, fp32, c->widens ? b->wide_total.device : b->total.device, b->out);
    for (int64_t i = 0; i < b->n; i++) {
        const wide value = (wide)c->alpha * b->sum[i] + (wide)c->beta * (wide)base_of(b, c)->host[i];
        const wide exact = (wide)b->total.host[i] + (wide)c->gamma * value;
        const double size = fabs(b->total.host[i]) + fabs(c->gamma) * (fabs((double)value) + value_error(b, c, i));
        const double error = fabs(c->gamma) * value_error(b, c, i) + gamma_of(2.0) * size;

        assert_at_most((double)wide_abs((wide)b->out[i] - exact), error + rounding_of(fp32, (double)exact, error));
    }
}

static void check_case(const bench *b, const product_case *c)
{
    const tess_spmv_args args = arguments_of(b, c);

    restore(b);
    assert_ok(b->ctx, b->m->ops->spmv(b->m, &args));
    if (c->polynomial) {
        check_total(b, c);
        assert_unchanged(b, c->widens ? &b->total : &b->wide_total, b->fp32 && c->widens);
    }
    if (c->without_y) {
        assert_unchanged(b, &b->y, b->fp32);
    } else {
        check_y(b, c);
    }
    assert_unchanged(b, &b->x, b->fp32);
    assert_unchanged(b, &b->base, b->fp32);
}

/* In a loop that has stopped nothing is written. */
static void check_stopped(const bench *b, const product_case *c)
{
    const tess_loop_state stopped = {.phase = TESS_LOOP_STOPPED};
    tess_spmv_args args = arguments_of(b, c);

    restore(b);
    args.reduction.state = b->ctx->scratch_state;
    assert_ok(b->ctx, b->ctx->backend->upload(b->ctx, args.reduction.state, &stopped, sizeof stopped));
    assert_ok(b->ctx, b->m->ops->spmv(b->m, &args));
    assert_unchanged(b, &b->y, b->fp32);
    assert_unchanged(b, &b->total, b->fp32);
    assert_unchanged(b, &b->wide_total, false);
}

/* With either width of offsets, in every storage, with vectors in FP64 and FP32. */
static void each_bench(bool segmented, int threads, void (*check)(const bench *b, const product_case *c))
{
    oracle_csr a = make_sample(segmented);
    tess_context *ctx = open_device(threads);

    for (int bits = 32; bits <= 64; bits += 32) {
        wide_or_narrow assembled = make_matrix_of(ctx, &a, bits);

        for (int k = 0; k < 2 * TESS_PRECISION_COUNT; k++) {
            const tess_storage_options storage = {
                .size = sizeof(tess_storage_options), .format = TESS_FORMAT_CSR, .precision = (tess_precision)(k / 2)};
            const bool fp32 = k % 2 == 1;
            tess_matrix *stored = NULL;
            bench b;

            assert_ok(ctx, tess_matrix_convert(assembled.m, &storage, &stored));
            assert_int_equal(csr_of(stored)->view.row_ptr_bits, bits);
            assert_ok(ctx, stored->ops->prepare(stored));
            b = open_bench(ctx, stored, fp32);
            for (int c = 0; c < CASES; c++) {
                if (fp32 || (cases[c].polynomial && !cases[c].widens)) { check(&b, &cases[c]); }
            }
            close_bench(&b);
            tess_matrix_destroy(stored);
        }
        free_matrix_of(&assembled);
    }
    oracle_free(&a);
    tess_context_destroy(ctx);
}

static void products_are_within_their_bound(void **state)
{
    (void)state;
    each_bench(false, 2, check_case);
}

static void segmented_rows_are_within_their_bound(void **state)
{
    (void)state;
    each_bench(true, 3, check_case);
}

static void stopped_loops_leave_vectors_alone(void **state)
{
    (void)state;
    each_bench(false, 1, check_stopped);
}

/* y that is not read may be anything; a value that FP32 does not hold becomes Inf. */
static void what_is_not_read_does_not_count(void **state)
{
    const double values[3] = {0x1p100, 1.0, 2.0};
    oracle_csr a = oracle_diagonal(3, values);
    tess_context *ctx = open_device(1);
    tess_matrix *m = make_matrix(ctx, &a);
    const float x[3] = {0x1p100F, 3.0F, -0.0F}, nans[3] = {NAN, NAN, NAN};
    float y[3];
    void *dx = copy_to_device(ctx, x, 3, sizeof *x), *dy = copy_to_device(ctx, nans, 3, sizeof *nans);
    const tess_spmv_args args = {.vectors = TESS_PRECISION_FP32, .x_fp32 = dx, .y_fp32 = dy, .alpha = 1.0};

    (void)state;
    assert_ok(ctx, m->ops->prepare(m));
    assert_ok(ctx, m->ops->spmv(m, &args));
    assert_ok(ctx, ctx->backend->download(ctx, y, dy, sizeof y));
    assert_true(isinf(y[0]) && y[1] == 3.0F && y[2] == 0.0F);
    tess_device_release(ctx, dx, 3, sizeof *x);
    tess_device_release(ctx, dy, 3, sizeof *y);
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- split and composite by rows ---- */

/* Both formats over both bases; all rows are low, except those above the range. */
static tess_storage_options by_rows(int kind, tess_precision low, double range)
{
    return (tess_storage_options){.size = sizeof(tess_storage_options),
                                  .format = kind & 1 ? TESS_FORMAT_COMPOSITE : TESS_FORMAT_SPLIT,
                                  .split.base = kind & 2 ? TESS_FORMAT_ELLR : TESS_FORMAT_CSR,
                                  .slices.max_padding = 1000.0,
                                  .policy = {.policy = TESS_POLICY_FIXED_RANGE,
                                             .parameter = range,
                                             .share = 100.0,
                                             .allow_underflow = 1,
                                             .nlevels = 2,
                                             .level = {{TESS_PRECISION_FP64, 0}, {low, 0}}}};
}

static void check_parts(tess_context *ctx, const tess_matrix *assembled, int kind, tess_precision low)
{
    const tess_storage_options storage = by_rows(kind, low, 100.0), mixed = by_rows(kind, low, 0.5);
    const product_case plain = {.alpha = 1.0, .base = BASE_Y}, scaled = {.alpha = -0.75, .base = BASE_Y};
    const product_case added = {.alpha = 1.0, .beta = 0.5, .base = BASE_Y};
    const tess_format_capabilities *can = tess_format_can(storage.format);
    const unsigned precisions = ctx->device == TESS_DEVICE_GPU ? can->gpu_precisions : can->precisions;
    tess_matrix *stored = NULL;
    tess_spmv_args args;
    bench b;

    if (!(precisions & 1U << low)) {
        assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(assembled, &storage, &stored));
        return;
    }
    assert_ok(ctx, tess_matrix_convert(assembled, &storage, &stored));
    assert_ok(ctx, stored->ops->prepare(stored));
    b = open_bench(ctx, stored, true);
    b.low = true;
    check_case(&b, &plain);
    check_case(&b, &scaled);
    args = arguments_of(&b, &added); /* there is no y to add */
    assert_fails(ctx, TESS_UNSUPPORTED, stored->ops->spmv(stored, &args));
    close_bench(&b);
    tess_matrix_destroy(stored);
    assert_ok(ctx, tess_matrix_convert(assembled, &mixed, &stored)); /* rows in FP64 want x in FP64 */
    assert_ok(ctx, stored->ops->prepare(stored));
    b = open_bench(ctx, stored, true);
    args = arguments_of(&b, &plain);
    assert_fails(ctx, TESS_UNSUPPORTED, stored->ops->spmv(stored, &args));
    close_bench(&b);
    tess_matrix_destroy(stored);
}

static void parts_multiply_fp32_vectors(void **state)
{
    static const tess_precision lows[] = {TESS_PRECISION_FP32, TESS_PRECISION_BF16, TESS_PRECISION_FP16,
                                          TESS_PRECISION_E4M3};
    oracle_csr a = oracle_random(1500, 1500, 4, 31);
    tess_context *ctx = open_device(2);
    tess_matrix *assembled = make_matrix(ctx, &a);

    (void)state;
    for (size_t l = 0; l < sizeof lows / sizeof *lows; l++) {
        for (int kind = 0; kind < 4; kind++) {
            check_parts(ctx, assembled, kind, lows[l]);
        }
    }
    tess_matrix_destroy(assembled);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* What stands here, for a GPU too. */
#define CSR_VECTOR_TESTS                                                                                        \
    cmocka_unit_test(products_are_within_their_bound), cmocka_unit_test(segmented_rows_are_within_their_bound), \
        cmocka_unit_test(stopped_loops_leave_vectors_alone), cmocka_unit_test(what_is_not_read_does_not_count), \
        cmocka_unit_test(parts_multiply_fp32_vectors)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        CSR_VECTOR_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
