/* SPDX-License-Identifier: Apache-2.0 */
/* Products with split and composite storage as iterations use them: updates, residuals, shadows, FP32 products.
   tests/gpu/test_split_products.c runs the same tests on a GPU. */
#include "matrix/matrix.h"
#include "support/blocks.h"
#include "support/product.h"
#include "support/variants.h"

/* One stored matrix, the values that it multiplies with in its own order, and vectors of host and device. */
typedef struct bench {
    tess_context *ctx;
    const policy_variant *variant;
    tess_matrix *m, *stored;
    oracle_csr seen;
    int64_t n;
    double *x, *y, *rhs, *scale;
    tess_vector *vx, *vy, *vrhs, *vscale, *shadow;
    wide *sum; /* (A x)_i */
    double *magnitude;
} bench;

/* Rows of 0 to 8 entries, some small, some large: all variants find rows for all their levels. */
static oracle_csr make_sample(void)
{
    oracle_csr a = oracle_random(1500, 1500, 4, 31);

    for (int64_t k = 0; k < a.nnz; k += 3) {
        a.val[k] *= 0x1p-7;
    }
    for (int64_t i = 3; i < a.nrows; i += 7) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= 0x1p10;
        }
    }
    for (int64_t i = 0; i < a.nrows; i++) { /* for policy lossless */
        static const int bits[] = {24, 11, 8};

        for (int64_t k = a.row_ptr[i]; i % 13 < 3 && k < a.row_ptr[i + 1]; k++) {
            a.val[k] = shortened(a.val[k], bits[i % 13]);
        }
    }
    return a;
}

/* The same with rows that are summed in segments. */
static oracle_csr make_long_rows(void)
{
    oracle_csr a = oracle_open(21000, 21000);
    uint64_t seed = 32;

    for (int64_t i = 0; i < a.nrows; i++) {
        int64_t count = i == 7 ? 17000 : i == 20000 ? a.ncols : i % 4;

        for (int64_t j = 0; j < count; j++) {
            oracle_push(&a, count > 4 ? j : (i + 5000 * j) % a.ncols, oracle_uniform(&seed, i == 7 ? 0.9 : -1.0, 1.0));
        }
        oracle_end_row(&a, i);
    }
    return a;
}

static bench open_bench_with(tess_context *ctx, const policy_variant *variant, tess_arithmetic arithmetic, oracle_csr a)
{
    oracle_csr held;
    bench b = {.ctx = ctx, .variant = variant, .n = a.nrows};
    tess_storage_options o = variant->storage;

    o.slices.max_padding = 1e5;
    o.arithmetic = arithmetic;
    b.m = make_matrix(ctx, &a);
    assert_ok(ctx, tess_matrix_convert(b.m, &o, &b.stored));
    held = decode_matrix(b.stored);
    b.seen = reordered(b.stored, &held, o.split.row_order);
    b.x = random_values(b.n, 1, -1.0, 1.0);
    b.y = random_values(b.n, 2, -1.0, 1.0);
    b.rhs = random_values(b.n, 3, -1.0, 1.0);
    b.scale = random_values(b.n, 4, 0.25, 2.0);
    b.vx = make_vector(ctx, b.n, b.x);
    b.vy = make_vector(ctx, b.n, b.y);
    b.vrhs = make_vector(ctx, b.n, b.rhs);
    b.vscale = make_vector(ctx, b.n, b.scale);
    assert_ok(ctx, tess_vector_create(ctx, b.n, TESS_PRECISION_FP32, &b.shadow));
    b.sum = test_allocate(b.n, sizeof *b.sum);
    b.magnitude = test_allocate(b.n, sizeof *b.magnitude);
    oracle_multiply(&b.seen, false, b.x, b.sum, b.magnitude);
    oracle_free(&a);
    oracle_free(&held);
    return b;
}

static bench open_bench(tess_context *ctx, const policy_variant *variant, tess_arithmetic arithmetic)
{
    return open_bench_with(ctx, variant, arithmetic, make_sample());
}

static void close_bench(bench *b)
{
    tess_vector_destroy(b->vx);
    tess_vector_destroy(b->vy);
    tess_vector_destroy(b->vrhs);
    tess_vector_destroy(b->vscale);
    tess_vector_destroy(b->shadow);
    tess_matrix_destroy(b->stored);
    tess_matrix_destroy(b->m);
    oracle_free(&b->seen);
    free(b->x);
    free(b->y);
    free(b->rhs);
    free(b->scale);
    free(b->sum);
    free(b->magnitude);
}

static tess_spmv_args plain_args(const bench *b)
{
    return (tess_spmv_args){.x = b->vx->data, .y = b->vy->data, .alpha = 1.0};
}

/* Runs a product on a fresh y; out receives y, and dots its dot products. */
static void run_product(const bench *b, const tess_spmv_args *args, double *out, double *dots)
{
    tess_spmv_args local = *args;
    tess_loop_state state;

    assert_ok(b->ctx, tess_vector_set(b->vy, b->y, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    if (local.reduction.ndots > 0) { local.reduction.state = b->ctx->scratch_state; }
    assert_ok(b->ctx, b->stored->ops->prepare(b->stored));
    assert_ok(b->ctx, b->stored->ops->spmv(b->stored, &local));
    read_vector(b->vy, out);
    if (local.reduction.ndots > 0) {
        assert_ok(b->ctx, b->ctx->backend->download(b->ctx, &state, b->ctx->scratch_state, sizeof state));
        for (int k = 0; k < local.reduction.ndots; k++) {
            dots[k] = state.dots[k];
        }
    }
}

/* The dot product of `sum` terms' magnitudes, added up in any order. */
static void check_dot(const bench *b, double dot, const double *u, const double *v)
{
    wide exact = oracle_dot(u, v, b->n);
    double magnitude = 0.0;

    for (int64_t i = 0; i < b->n; i++) {
        magnitude += fabs(u[i] * v[i]);
    }
    assert_at_most((double)wide_abs((wide)dot - exact), gamma_of((double)b->n + 2.0) * magnitude);
}

/* The shadow is y, rounded. */
static void check_shadow(const bench *b, const double *y)
{
    float *rounded = test_allocate(b->n, sizeof *rounded);

    assert_ok(b->ctx, tess_vector_get(b->shadow, rounded, TESS_PRECISION_FP32, TESS_MEMORY_HOST));
    for (int64_t i = 0; i < b->n; i++) {
        assert_true(rounded[i] == (float)y[i]);
    }
    free(rounded);
}

/* ---- updates ---- */

static void check_jacobi(const bench *b, double omega)
{
    double *y = test_allocate(b->n, sizeof *y), *residual = test_allocate(b->n, sizeof *residual), dot = -1.0;
    tess_spmv_args args = plain_args(b);

    args.update =
        (tess_update){.kind = TESS_UPDATE_JACOBI, .rhs = b->vrhs->data, .scale = b->vscale->data, .omega = omega};
    args.y_shadow = b->shadow->data;
    args.reduction.ndots = 1;
    run_product(b, &args, y, &dot);
    for (int64_t i = 0; i < b->n; i++) {
        wide next = ((wide)b->rhs[i] - b->sum[i]) * b->scale[i];
        wide exact = (wide)b->x[i] + (wide)omega * (next - (wide)b->x[i]);
        double size = fabs(b->x[i]) + fabs(b->rhs[i]) * b->scale[i] + b->magnitude[i] * b->scale[i];

        assert_at_most((double)wide_abs((wide)y[i] - exact), gamma_of(20.0) * 2.0 * size);
        residual[i] = (y[i] - b->x[i]) / (omega * b->scale[i]);
    }
    check_shadow(b, y);
    check_dot(b, dot, residual, residual);
    free(y);
    free(residual);
}

static void check_step(const bench *b)
{
    double *y = test_allocate(b->n, sizeof *y), dots[2] = {-1.0, -1.0};
    tess_spmv_args args = plain_args(b);

    args.update = (tess_update){.kind = TESS_UPDATE_TIME_STEP, .scale = b->vscale->data};
    args.y_shadow = b->shadow->data;
    args.reduction.ndots = 2;
    args.reduction.with[0] = b->vrhs->data;
    args.reduction.with[1] = args.y;
    run_product(b, &args, y, dots);
    for (int64_t i = 0; i < b->n; i++) {
        wide exact = b->sum[i] + (wide)b->scale[i] * (wide)b->x[i];
        double size = b->magnitude[i] + fabs(b->scale[i] * b->x[i]);

        assert_at_most((double)wide_abs((wide)y[i] - exact), gamma_of(20.0) * size);
    }
    check_shadow(b, y);
    check_dot(b, dots[0], y, b->rhs);
    check_dot(b, dots[1], y, y);
    free(y);
}

/* The next vector only in FP32: y does not change. */
static void check_shadow_alone(const bench *b)
{
    double *y = test_allocate(b->n, sizeof *y), *kept = test_allocate(b->n, sizeof *kept);
    tess_spmv_args args = plain_args(b);

    args.update =
        (tess_update){.kind = TESS_UPDATE_JACOBI, .rhs = b->vrhs->data, .scale = b->vscale->data, .omega = 1.0};
    run_product(b, &args, y, NULL);
    args.y = NULL;
    args.y_shadow = b->shadow->data;
    run_product(b, &args, kept, NULL);
    assert_true(same_bits(kept, b->y, b->n));
    check_shadow(b, y);
    free(y);
    free(kept);
}

static void updates_write_the_next_vector(void **state)
{
    tess_context *ctx = open_device(3);

    (void)state;
    for (int k = 0; k < SPLIT_VARIANTS; k++) {
        bench b = open_bench(ctx, &policy_variants[k], TESS_ARITHMETIC_FP64);

        check_jacobi(&b, 1.0);
        check_jacobi(&b, 0.625);
        check_step(&b);
        check_shadow_alone(&b);
        close_bench(&b);
    }
    tess_context_destroy(ctx);
}

/* ---- the other epilogues ---- */

/* alpha A x + beta y, and dot products with it. */
static void check_combined(const bench *b, double alpha, double beta)
{
    double *y = test_allocate(b->n, sizeof *y), dots[2] = {-1.0, -1.0};
    tess_spmv_args args = plain_args(b);

    args.alpha = alpha;
    args.beta = beta;
    args.reduction.ndots = 2;
    args.reduction.with[0] = b->vrhs->data;
    args.reduction.with[1] = args.y;
    run_product(b, &args, y, dots);
    for (int64_t i = 0; i < b->n; i++) {
        wide exact = (wide)alpha * b->sum[i] + (wide)beta * (wide)b->y[i];
        double size = fabs(alpha) * b->magnitude[i] + fabs(beta * b->y[i]);

        assert_at_most((double)wide_abs((wide)y[i] - exact), gamma_of(20.0) * size);
    }
    check_dot(b, dots[0], y, b->rhs);
    check_dot(b, dots[1], y, y);
    free(y);
}

/* residual - A x, where the residual may be y itself. */
static void check_residual(const bench *b, bool is_y)
{
    double *y = test_allocate(b->n, sizeof *y);
    const double *from = is_y ? b->y : b->rhs;
    tess_spmv_args args = plain_args(b);

    args.residual = is_y ? args.y : b->vrhs->data;
    run_product(b, &args, y, NULL);
    for (int64_t i = 0; i < b->n; i++) {
        assert_at_most((double)wide_abs((wide)y[i] - ((wide)from[i] - b->sum[i])),
                       gamma_of(20.0) * (fabs(from[i]) + b->magnitude[i]));
    }
    free(y);
}

static void other_epilogues_see_the_whole_sum(void **state)
{
    tess_context *ctx = open_device(3);

    (void)state;
    for (int k = 0; k < SPLIT_VARIANTS; k++) {
        bench b = open_bench(ctx, &policy_variants[k], TESS_ARITHMETIC_FP64);

        check_combined(&b, 1.0, 0.0);
        check_combined(&b, -0.5, 0.0);
        check_combined(&b, -0.5, 0.25);
        check_residual(&b, true);
        check_residual(&b, false);
        close_bench(&b);
    }
    tess_context_destroy(ctx);
}

/* A state that has stopped: nothing is written, by any pass. */
static void a_stopped_loop_leaves_y_alone(void **state)
{
    tess_context *ctx = open_device(2);
    const tess_loop_state stopped = {.phase = TESS_LOOP_STOPPED};
    tess_loop_state *on_device = NULL;

    (void)state;
    assert_ok(ctx, tess_device_allocate(ctx, 1, sizeof *on_device, (void **)&on_device));
    assert_ok(ctx, ctx->backend->upload(ctx, on_device, &stopped, sizeof stopped));
    for (int k = 0; k < SPLIT_VARIANTS; k++) {
        bench b = open_bench(ctx, &policy_variants[k], TESS_ARITHMETIC_FP64);
        tess_spmv_args args = plain_args(&b);
        double *y = test_allocate(b.n, sizeof *y);

        args.reduction.state = on_device;
        run_product(&b, &args, y, NULL);
        assert_true(same_bits(y, b.y, b.n));
        close_bench(&b);
        free(y);
    }
    tess_device_release(ctx, on_device, 1, sizeof *on_device);
    tess_context_destroy(ctx);
}

/* No dot product is asked for: the scalars that would follow stay as they are. */
static void a_product_without_dots_updates_no_scalars(void **state)
{
    tess_context *ctx = open_device(2);
    const tess_loop_state before = {.alpha = 3.0, .rho = 2.0, .dots = {-5.0, 7.0}, .max_iterations = 100};
    tess_loop_state *on_device = NULL, after;

    (void)state;
    assert_ok(ctx, tess_device_allocate(ctx, 1, sizeof *on_device, (void **)&on_device));
    assert_ok(ctx, ctx->backend->upload(ctx, on_device, &before, sizeof before));
    for (int k = 0; k < SPLIT_VARIANTS; k++) {
        bench b = open_bench(ctx, &policy_variants[k], TESS_ARITHMETIC_FP64);
        tess_spmv_args args = plain_args(&b);
        double *y = test_allocate(b.n, sizeof *y);

        args.reduction = (tess_reduction){.scalar = TESS_SCALAR_CG_ALPHA, .state = on_device};
        run_product(&b, &args, y, NULL);
        assert_ok(ctx, ctx->backend->download(ctx, &after, on_device, sizeof after));
        assert_memory_equal(&after, &before, sizeof after);
        close_bench(&b);
        free(y);
    }
    tess_device_release(ctx, on_device, 1, sizeof *on_device);
    tess_context_destroy(ctx);
}

/* ---- products in FP32 ---- */

static bool is_low(tess_precision precision)
{
    return precision != TESS_PRECISION_FP64;
}

/* Bits of y where rows below fp64 multiply in FP32: x rounded, the product rounded, then sums as ever. Returns the rows
   that FP64 products would have given other values. */
static int64_t check_low_product(const bench *b, const uint8_t *level, const tess_policy_options *policy, double *y)
{
    const double u32 = 0x1p-24;
    int64_t different = 0;

    for (int64_t i = 0; i < b->n; i++) {
        double low = 0.0, error;

        for (int64_t k = b->seen.row_ptr[i]; k < b->seen.row_ptr[i + 1]; k++) {
            low += fabs(b->seen.val[k] * b->x[b->seen.col_ind[k]]);
        }
        error = (double)wide_abs((wide)y[i] - b->sum[i]);
        assert_at_most(error, (2.0 * u32 + u32 * u32) * (1.0 + gamma_of(20.0)) * low + gamma_of(20.0) * low);
        if (b->seen.row_ptr[i] < b->seen.row_ptr[i + 1] && level && !is_low(policy->level[level[i]].precision)) {
            assert_at_most(error, gamma_of(20.0) * low);
        }
        different += error > gamma_of(20.0) * low;
    }
    return different;
}

/* Level of each row of y, by its first entry. */
static uint8_t *levels_of_rows(const bench *b, const tess_policy_options *policy)
{
    oracle_csr a = make_sample();
    uint8_t *by_entry = levels_of_entries(b->m, &a, policy), *level = test_allocate(b->n, 1);
    int32_t *perm = permutation_of(b->stored);

    for (int64_t p = 0; p < b->n; p++) {
        int64_t row = b->variant->storage.split.row_order == TESS_ROW_ORDER_ORIGINAL ? p : perm[p];

        level[p] = a.row_ptr[row] < a.row_ptr[row + 1] ? by_entry[a.row_ptr[row]] : 0;
    }
    free(by_entry);
    free(perm);
    oracle_free(&a);
    return level;
}

static void fp32_products_are_within_their_bound(void **state)
{
    tess_context *ctx = open_device(2);

    (void)state;
    for (int k = 1; k < SPLIT_VARIANTS; k++) {
        bench b = open_bench(ctx, &policy_variants[k], TESS_ARITHMETIC_FP32);
        tess_policy_options policy = policy_of(&policy_variants[k].storage);
        uint8_t *level = policy.granularity == TESS_GRANULARITY_ROW ? levels_of_rows(&b, &policy) : NULL;
        double *y = test_allocate(b.n, sizeof *y), *shadowed = test_allocate(b.n, sizeof *shadowed);
        tess_spmv_args args = plain_args(&b);

        run_product(&b, &args, y, NULL);
        assert_true(check_low_product(&b, level, &policy, y) > 0);
        assert_ok(ctx, tess_vector_set(b.shadow, b.x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        args.x_shadow = b.shadow->data;
        run_product(&b, &args, shadowed, NULL);
        assert_true(same_bits(y, shadowed, b.n));
        close_bench(&b);
        free(level);
        free(y);
        free(shadowed);
    }
    tess_context_destroy(ctx);
}

/* If all rows are low, a vector may exist only in FP32; if one is not, this is refused. */
static void a_vector_may_be_there_in_fp32_alone(void **state)
{
    tess_context *ctx = open_device(2);
    policy_variant variant = {"composite",
                              {.size = sizeof(tess_storage_options),
                               .format = TESS_FORMAT_COMPOSITE,
                               .policy = {.policy = TESS_POLICY_FIXED_RANGE, .parameter = 0.7}}};

    (void)state;
    for (int base = TESS_FORMAT_CSR; base <= TESS_FORMAT_ELLR; base++) {
        bench b;
        double *y = NULL, *same = NULL;
        tess_spmv_args args;

        variant.storage.split.base = (tess_format)base;
        b = open_bench(ctx, &variant, TESS_ARITHMETIC_FP32);
        y = test_allocate(b.n, sizeof *y);
        same = test_allocate(b.n, sizeof *same);
        args = plain_args(&b);
        args.copy = TESS_COPY_LEVEL + 1;
        args.update =
            (tess_update){.kind = TESS_UPDATE_JACOBI, .rhs = b.vrhs->data, .scale = b.vscale->data, .omega = 0.5};
        /* x that FP32 holds, so that both see the same */
        assert_ok(ctx, tess_vector_set(b.shadow, b.x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(
            ctx, ctx->backend->convert(ctx, b.n, TESS_PRECISION_FP32, b.shadow->data, TESS_PRECISION_FP64, b.vx->data));
        run_product(&b, &args, y, NULL);
        args.x = NULL;
        args.x_shadow = b.shadow->data;
        run_product(&b, &args, same, NULL);
        assert_true(same_bits(y, same, b.n));
        args.copy = TESS_COPY_ASSIGNED;
        assert_fails(ctx, TESS_INVALID_ARGUMENT, b.stored->ops->spmv(b.stored, &args));
        close_bench(&b);
        free(y);
        free(same);
    }
    tess_context_destroy(ctx);
}

/* y and a dot product with `threads` threads. */
static double *product_with(int threads, const policy_variant *variant, double *dot)
{
    tess_context *ctx = open_device(threads);
    bench b = open_bench_with(ctx, variant, TESS_ARITHMETIC_FP32, make_long_rows());
    double *y = test_allocate(b.n, sizeof *y);
    tess_spmv_args args = plain_args(&b);
    const tess_policy_options policy = policy_of(&variant->storage);

    args.reduction.ndots = 1;
    args.reduction.with[0] = args.y;
    run_product(&b, &args, y, dot);
    for (int64_t i = 0; i < b.n; i++) {
        double error = (double)wide_abs((wide)y[i] - b.sum[i]);
        bool low = policy.nlevels > 0 && policy.policy != TESS_POLICY_NONE;

        assert_at_most(error, ((low ? 0x1.01p-23 : 0.0) + 2.0 * gamma_of(21010.0)) * b.magnitude[i]);
    }
    close_bench(&b);
    tess_context_destroy(ctx);
    return y;
}

static void the_number_of_threads_does_not_show(void **state)
{
    (void)state;
    for (int k = 0; k < SPLIT_VARIANTS; k++) {
        double dots[2] = {0.0, -1.0}, *one = NULL, *five = NULL;

        if (policy_variants[k].storage.split.base != TESS_FORMAT_CSR) {
            continue;
        } /* slices would be as wide as the long rows */
        one = product_with(1, &policy_variants[k], &dots[0]);
        five = product_with(5, &policy_variants[k], &dots[1]);
        assert_true(same_bits(one, five, 21000));
        assert_true(dots[0] == dots[1]);
        free(one);
        free(five);
    }
}

/* The basis of the other tests. */
static void all_variants_have_rows_at_all_levels(void **state)
{
    tess_context *ctx = open_device(2);
    oracle_csr a = make_sample();
    tess_matrix *m = make_matrix(ctx, &a);

    (void)state;
    for (int k = 1; k < SPLIT_VARIANTS; k++) {
        tess_policy_options policy = policy_of(&policy_variants[k].storage);
        tess_assignment *assignment = NULL;
        tess_assignment_summary summary = {.size = sizeof summary};

        assert_ok(ctx, tess_assignment_create(m, &policy, &assignment));
        tess_assignment_get_summary(assignment, &summary);
        assert_true(summary.empty > 0 || policy.granularity != TESS_GRANULARITY_ROW);
        for (int l = 0; l < policy.nlevels; l++) {
            assert_true(summary.nonzeros_at[l] > 0);
            assert_true(summary.scaled[l] == policy.level[l].scaled);
        }
        tess_assignment_destroy(assignment);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* Both formats over both bases in both arithmetics; values in (-range, range) are low. */
enum { STORAGE_KINDS = 8 };
static tess_storage_options storage_kind(int kind, double range)
{
    return (tess_storage_options){.size = sizeof(tess_storage_options),
                                  .format = kind & 1 ? TESS_FORMAT_COMPOSITE : TESS_FORMAT_SPLIT,
                                  .split.base = kind & 2 ? TESS_FORMAT_ELLR : TESS_FORMAT_CSR,
                                  .arithmetic = kind & 4 ? TESS_ARITHMETIC_FP32 : TESS_ARITHMETIC_FP64,
                                  .policy = {.policy = TESS_POLICY_FIXED_RANGE, .parameter = range, .share = 100.0}};
}

/* A = [1, eps32/2], x = [1, 1]: in FP32 sums the answer would be 1. */
static void a_sum_is_not_rounded_to_fp32(void **state)
{
    tess_context *ctx = open_device(1);
    const double x[2] = {1.0, 1.0};
    oracle_csr a = oracle_open(1, 2);
    tess_matrix *m = NULL;

    (void)state;
    oracle_push(&a, 0, 1.0);
    oracle_push(&a, 1, 0x1p-24);
    oracle_end_row(&a, 0);
    m = make_matrix(ctx, &a);
    for (int kind = 0; kind < STORAGE_KINDS; kind++) {
        const tess_storage_options o = storage_kind(kind, 2.0);
        tess_matrix *stored = NULL;
        double y = 7.0;

        assert_ok(ctx, tess_matrix_convert(m, &o, &stored));
        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, &y, &y);
        assert_true(y == 1.0 + 0x1p-24);
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* The tests of this file, also for a GPU. */
#define SPLIT_PRODUCT_TESTS                                                                                            \
    cmocka_unit_test(all_variants_have_rows_at_all_levels), cmocka_unit_test(the_number_of_threads_does_not_show),     \
        cmocka_unit_test(updates_write_the_next_vector), cmocka_unit_test(other_epilogues_see_the_whole_sum),          \
        cmocka_unit_test(a_stopped_loop_leaves_y_alone), cmocka_unit_test(a_product_without_dots_updates_no_scalars),  \
        cmocka_unit_test(fp32_products_are_within_their_bound), cmocka_unit_test(a_vector_may_be_there_in_fp32_alone), \
        cmocka_unit_test(a_sum_is_not_rounded_to_fp32)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        SPLIT_PRODUCT_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
