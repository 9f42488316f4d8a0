/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One suite over every registered format, storage precision and device. A format enters it by being registered. Two
 * separate checks: storage (each value within the precision's rounding of the original) and arithmetic (products
 * against the oracle on the values that are stored).
 */
#include <tessera/codec.h>

#include "matrix/matrix.h"
#include "support/formats.h"
#include "support/papers.h"
#include "support/product.h"
#include "support/shapes.h"
#include "support/solve.h"
#include "support/variants.h"

typedef struct combination {
    tess_context *ctx;
    tess_format format;
    tess_precision precision; /* where a policy decides: of the highest level */
    tess_storage_options storage;
} combination;

/* ---- the checks ---- */

/* Entries stored per nonzero up to which formats that pad are tested; beyond it the shape is refused. */
static const double MAX_PADDING = 64.0;

/* NULL where the format would store too much padding. */
static tess_matrix *convert(const combination *c, const tess_matrix *assembled)
{
    const bool pads = tess_format_can(c->format)->pads || c->storage.split.base != TESS_FORMAT_CSR;
    const bool square = tess_matrix_nrows(assembled) == tess_matrix_ncols(assembled);
    tess_matrix *stored = NULL;
    tess_status status = tess_matrix_convert(assembled, &c->storage, &stored);

    if (c->storage.split.row_order == TESS_ROW_ORDER_SYMMETRIC && !square) {
        assert_int_equal(status, TESS_INVALID_ARGUMENT);
        assert_null(stored);
        return NULL;
    }
    if (pads && status == TESS_UNSUPPORTED) {
        assert_non_null(strstr(tess_context_last_error(c->ctx)->message, "max_padding"));
        assert_null(stored);
        return NULL;
    }
    assert_ok(c->ctx, status);
    assert_int_equal(tess_matrix_format(stored), c->format);
    assert_int_equal(tess_matrix_precision(stored), c->precision);
    return stored;
}

/* Whether rounding gives Inf (NaN in e4m3): beyond halfway from the largest value to the next, or there if it is odd.
 */
static bool overflows(tess_precision precision, double magnitude)
{
    for (int k = 0; k < SMALL_FORMATS; k++) {
        const small_format *f = &small_formats[k];
        const unsigned largest = format_special(f) - 1;
        const double halfway = (format_grid(f, largest) + format_grid(f, largest + 1)) / 2.0;

        if (f->precision == precision) { return magnitude > halfway || (magnitude == halfway && largest % 2 == 1); }
    }
    return magnitude >= (precision == TESS_PRECISION_FP32 ? 0x1.ffffffp127 : HUGE_VAL);
}

/* Half a unit in the last place, or half the smallest subnormal. */
static double storage_bound(tess_precision precision, double value)
{
    if (precision == TESS_PRECISION_FP64) { return 0.0; }
    return fmax(tess_precision_unit_roundoff(precision) * fabs(value), 0.5 * tess_precision_smallest(precision));
}

/* Rounded to the precision's nearest value, or overflown. */
static void check_stored(tess_precision precision, double held, double value)
{
    if (overflows(precision, fabs(value))) {
        assert_true(isfinite(held) == 0);
        return;
    }
    assert_at_most(fabs(held - value), storage_bound(precision, value));
    assert_true(tess_precision_holds(precision, held));
}

/* Whether a policy decides the precisions. */
static bool takes_policy(tess_format format)
{
    return tess_format_can(format)->takes_parts != 0;
}

/* The level of each entry; NULL where there is one precision. */
static uint8_t *levels_of(const combination *c, const tess_matrix *assembled, const oracle_csr *a)
{
    const tess_policy_options policy = policy_of(&c->storage);

    return takes_policy(c->format) ? levels_of_entries(assembled, a, &policy) : NULL;
}

/* Stored at a level. A scale keeps values that are assigned a level within its normal numbers, or its largest value
 * does. */
static void check_level(const tess_precision_level *level, double held, double value)
{
    if (level->scaled) {
        assert_at_most(fabs(held - value), storage_bound(level->precision, value));
    } else {
        check_stored(level->precision, held, value);
    }
}

/* The level of entries that are stored nowhere. */
enum { LEFT_OUT = 255 };

static void check_storage(const combination *c, const oracle_csr *a, const oracle_csr *held, const uint8_t *level)
{
    const tess_policy_options policy = policy_of(&c->storage);

    assert_int_equal(held->nnz, a->nnz);
    assert_memory_equal(held->row_ptr, a->row_ptr, (size_t)(a->nrows + 1) * sizeof *a->row_ptr);
    if (a->nnz > 0) { assert_memory_equal(held->col_ind, a->col_ind, (size_t)a->nnz * sizeof *a->col_ind); }
    for (int64_t k = 0; k < a->nnz; k++) {
        if (level && level[k] == LEFT_OUT) { /* which entries may be: tests/unit/test_error_bound.c */
            assert_true(policy.policy == TESS_POLICY_ERROR_BOUND && held->val[k] == 0.0);
        } else if (level) {
            check_level(&policy.level[level[k]], held->val[k], a->val[k]);
        } else {
            check_stored(c->precision, held->val[k], a->val[k]);
        }
    }
}

static bool all_finite(const oracle_csr *a)
{
    bool finite = true;

    for (int64_t k = 0; k < a->nnz; k++) {
        finite = finite && isfinite(a->val[k]) != 0;
    }
    return finite;
}

static bool all_highest(const oracle_csr *a, const uint8_t *level)
{
    bool all = true;

    for (int64_t k = 0; level && k < a->nnz; k++) {
        all = all && level[k] == 0;
    }
    return all;
}

static void check_arithmetic(const combination *c, const tess_matrix *stored, const oracle_csr *held,
                             const uint8_t *level)
{
    static const double factors[4][2] = {{1.0, 0.0}, {0.1, -0.7}, {-2.5, 0.0}, {1.0, 1.0}};
    oracle_csr seen = reordered(stored, held, c->storage.split.row_order);

    check_products(stored, &seen, TESS_OP_NONE, 4, factors);
    if (c->precision == TESS_PRECISION_FP64 && c->storage.split.row_order == TESS_ROW_ORDER_ORIGINAL &&
        all_highest(held, level)) {
        check_products(stored, &seen, TESS_OP_TRANSPOSE, 2, factors);
    }
    oracle_free(&seen);
}

/* Whether products add up in a fixed order. */
static bool is_deterministic(const combination *c)
{
    return c->storage.papers != &papers_kernel || c->ctx->device != TESS_DEVICE_GPU;
}

/* The same product twice, and once more after a refresh with the same values: not a bit may differ. */
static void check_repeatable(const combination *c, tess_matrix *assembled, const tess_matrix *stored,
                             const oracle_csr *a)
{
    double *x = random_values(a->ncols, 44, -1.0, 1.0), *y = test_allocate(a->nrows, sizeof *y);
    double *first = test_allocate(a->nrows, sizeof *first);

    multiply(stored, TESS_OP_NONE, 1.1, x, 0.0, y, first);
    for (int trial = 0; trial < 3; trial++) {
        multiply(stored, TESS_OP_NONE, 1.1, x, 0.0, y, y);
        if (is_deterministic(c)) { assert_true(same_bits(first, y, a->nrows)); }
        if (trial == 1) {
            assert_ok(c->ctx, tess_matrix_update_values(assembled, a->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        }
    }
    free(x);
    free(y);
    free(first);
}

static int64_t least_bytes(const combination *c)
{
    const tess_policy_options policy = policy_of(&c->storage);

    return (int64_t)tess_precision_bytes(takes_policy(c->format) ? policy.level[policy.nlevels - 1].precision
                                                                 : c->precision);
}

static void shapes(const combination *c)
{
    for (int k = 0; shape_makers[k]; k++) {
        oracle_csr a = shape_makers[k](), held;
        tess_matrix *assembled = NULL, *stored = NULL;
        uint8_t *level = NULL;

        if (shape_makers[k] == shape_wide_range) { spread_values(&a, c->precision); }
        assembled = make_matrix(c->ctx, &a);
        stored = convert(c, assembled);
        if (!stored) {
            tess_matrix_destroy(assembled);
            oracle_free(&a);
            continue;
        }
        assert_true(tess_matrix_bytes(stored) >= a.nnz * least_bytes(c));
        held = decode_matrix(stored);
        level = levels_of(c, assembled, &a);
        check_storage(c, &a, &held, level);
        if (all_finite(&held)) { check_arithmetic(c, stored, &held, level); }
        check_repeatable(c, assembled, stored, &a);
        tess_matrix_destroy(stored);
        tess_matrix_destroy(assembled);
        oracle_free(&a);
        oracle_free(&held);
        free(level);
    }
}

/* NaN and Inf reach exactly the rows that hold them or multiply them. */
static void not_finite_values_stay_in_their_rows(const combination *c)
{
    static const double bad[] = {(double)NAN, HUGE_VAL, -HUGE_VAL};

    for (int k = 0; k < 3; k++) {
        oracle_csr a = oracle_tridiagonal(67, -1.0, 2.0, -1.0);
        double *x = random_values(67, 3, 0.5, 1.0), y[67] = {0.0};
        tess_matrix *assembled = NULL, *stored = NULL;

        x[20] = bad[k];
        assembled = make_matrix(c->ctx, &a);
        stored = convert(c, assembled);
        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
        for (int i = 0; i < 67; i++) {
            assert_true((isfinite(y[i]) != 0) == (i < 19 || i > 21));
        }
        tess_matrix_destroy(stored);
        tess_matrix_destroy(assembled);
        x[20] = 1.0;
        a.val[a.row_ptr[40]] = bad[k];
        assembled = make_matrix(c->ctx, &a);
        stored = convert(c, assembled);
        multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
        for (int i = 0; i < 67; i++) {
            assert_true((isfinite(y[i]) != 0) == (i != 40));
        }
        tess_matrix_destroy(stored);
        tess_matrix_destroy(assembled);
        oracle_free(&a);
        free(x);
    }
}

static void nan_in_y_does_not_survive_beta_zero(const combination *c)
{
    oracle_csr a = shape_grid();
    double *x = random_values(a.ncols, 3, 0.5, 1.0), *y = test_allocate(a.nrows, sizeof *y);
    tess_matrix *assembled = make_matrix(c->ctx, &a), *stored = convert(c, assembled);

    for (int64_t i = 0; i < a.nrows; i++) {
        y[i] = (double)NAN;
    }
    multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
    for (int64_t i = 0; i < a.nrows; i++) {
        assert_true(isfinite(y[i]) != 0);
    }
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    oracle_free(&a);
    free(x);
    free(y);
}

/* Values too large for the precision become Inf or NaN, never some other number. */
static void overflow_shows(const combination *c)
{
    double diagonal[2] = {1e300, 1.0}, x[2] = {1.0, 1.0}, y[2] = {0.0, 0.0};
    oracle_csr a = oracle_diagonal(2, diagonal);
    tess_matrix *assembled = make_matrix(c->ctx, &a), *stored = convert(c, assembled);

    multiply(stored, TESS_OP_NONE, 1.0, x, 0.0, y, y);
    assert_true(c->precision == TESS_PRECISION_FP64 ? y[0] == 1e300 : isfinite(y[0]) == 0);
    assert_true(y[1] == 1.0);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    oracle_free(&a);
}

static bool leaves_out(const uint8_t *level, int64_t count)
{
    return level && memchr(level, LEFT_OUT, (size_t)count);
}

static void new_values_arrive(const combination *c)
{
    oracle_csr a = shape_grid(), held;
    tess_matrix *assembled = make_matrix(c->ctx, &a), *stored = convert(c, assembled);
    uint8_t *level = levels_of(c, assembled, &a);

    check_product(stored, &a, TESS_OP_NONE, 0.0, 1.0);
    for (int64_t k = 0; k < a.nnz; k++) {
        a.val[k] = 1.0 / (double)(k + 3);
    }
    assert_ok(c->ctx, tess_matrix_update_values(assembled, a.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    held = decode_matrix(stored);
    if (leaves_out(level, a.nnz)) { /* others may be now */
        free(level);
        level = levels_of(c, assembled, &a);
    }
    check_storage(c, &a, &held, level);
    check_arithmetic(c, stored, &held, level);
    free(level);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
    oracle_free(&a);
    oracle_free(&held);
}

/* A conversion lets formats that do not pad pass over the limit; a solve refuses what is not read. */
static tess_storage_options storage_of_solve(const combination *c)
{
    tess_storage_options o = c->storage;

    if (o.policy.granularity != TESS_GRANULARITY_ROW || o.policy.policy == TESS_POLICY_LOSSLESS) {
        o.policy.share = 0.0;
    }
    if (tess_storage_options_check(c->ctx, -1, -1, &o) == TESS_SUCCESS) { return o; }
    assert_non_null(strstr(tess_context_last_error(c->ctx)->message, "max_padding"));
    o.slices.max_padding = 0.0;
    return o;
}

/* Solvers read through the format: the verified answer of one solve per combination. */
static void solves_are_verified(const combination *c)
{
    for (int at = 0; at < LOOP_METHODS; at++) {
        const int kind = (int)loop_methods[at];
        oracle_csr a = kind != TESS_SOLVER_BICGSTAB ? oracle_laplace2d(33) : oracle_convection2d(33, 0.4);
        double *b = random_values(a.nrows, 3, -1.0, 1.0), *x = test_allocate(a.nrows, sizeof *x);
        tess_matrix *m = make_matrix(c->ctx, &a);
        tess_vector *vb = make_vector(c->ctx, a.nrows, b), *vx = make_zeros(c->ctx, a.nrows);
        tess_solve_options options;
        tess_solver *solver = NULL;
        tess_solve_result result;

        tess_solve_options_init(&options);
        options.solver = (tess_solver_kind)kind;
        options.storage = storage_of_solve(c);
        options.rtol = 1e-10;
        assert_ok(c->ctx, tess_solver_create(m, &options, &solver));
        tess_solve_result_init(&result);
        assert_ok(c->ctx, tess_solver_solve(solver, vb, vx, &result));
        read_vector(vx, x);
        assert_int_equal(result.reason, TESS_REASON_RTOL);
        assert_at_most((double)oracle_residual_norm(&a, b, x), result.tolerance);
        tess_solver_destroy(solver);
        tess_vector_destroy(vb);
        tess_vector_destroy(vx);
        tess_matrix_destroy(m);
        oracle_free(&a);
        free(b);
        free(x);
    }
}

/* The tests after the first two expect x and y in the matrix's own order. */
static void run_combination(const combination *c)
{
    shapes(c);
    new_values_arrive(c);
    if (c->storage.split.row_order != TESS_ROW_ORDER_ORIGINAL) { return; }
    not_finite_values_stay_in_their_rows(c);
    nan_in_y_does_not_survive_beta_zero(c);
    overflow_shows(c);
    solves_are_verified(c);
}

/* A format refuses a precision that it does not store on a device. */
static void refuses(const combination *c)
{
    oracle_csr a = shape_one_by_one();
    tess_matrix *assembled = make_matrix(c->ctx, &a), *stored = NULL;

    assert_int_equal(tess_matrix_convert(assembled, &c->storage, &stored), TESS_UNSUPPORTED);
    assert_null(stored);
    assert_non_null(strstr(tess_context_last_error(c->ctx)->message, tess_format_name(c->format)));
    tess_matrix_destroy(assembled);
    oracle_free(&a);
}

static int run_precisions(tess_context *ctx, tess_format format)
{
    const tess_format_capabilities *can = tess_format_can(format);
    const unsigned precisions = ctx->device == TESS_DEVICE_GPU ? can->gpu_precisions : can->precisions;
    int count = 0;

    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        const combination c = {ctx,
                               format,
                               (tess_precision)p,
                               {.size = sizeof(tess_storage_options),
                                .format = format,
                                .precision = (tess_precision)p,
                                .slices.max_padding = MAX_PADDING}};

        if (!(precisions & (1U << p))) {
            refuses(&c);
            continue;
        }
        print_message("             %s in %s on %s\n", tess_format_name(c.format), tess_precision_name(c.precision),
                      ctx->backend->name);
        run_combination(&c);
        count += 1;
    }
    return count;
}

static void run_variant(tess_context *ctx, const tess_storage_options *storage, const char *name)
{
    combination c = {ctx, storage->format, policy_of(storage).level[0].precision, *storage};

    c.storage.slices.max_padding = 4.0 * MAX_PADDING; /* a level of few entries among many rows pads more */
    print_message("             %s, %s, on %s\n", tess_format_name(c.format), name, ctx->backend->name);
    run_combination(&c);
}

/* Two levels by each granularity, for a format that the list of variants does not have. */
static int run_granularities(tess_context *ctx, tess_format format)
{
    int count = 0;

    for (int g = TESS_GRANULARITY_ROW; g <= TESS_GRANULARITY_BLOCK; g++) {
        tess_storage_options storage;

        tess_storage_options_init(&storage);
        storage.format = format;
        storage.policy.granularity = (tess_granularity)g;
        assert_int_equal(tess_policy_options_parse("fixed-range:0.7", &storage.policy), TESS_SUCCESS);
        if (!tess_in_set(tess_format_can(format)->granularities, g)) { continue; }
        run_variant(ctx, &storage, tess_granularity_name((tess_granularity)g));
        count += 1;
    }
    return count;
}

static int run_variants(tess_context *ctx, tess_format format)
{
    int count = 0;

    for (int k = 0; k < POLICY_VARIANTS; k++) {
        if (policy_variants[k].storage.format != format) { continue; }
        run_variant(ctx, &policy_variants[k].storage, policy_variants[k].name);
        count += 1;
    }
    return count > 0 ? count : run_granularities(ctx, format);
}

/* The format that TESSERA_FORMATS names; NULL: all run. */
static const char *chosen_format(void)
{
    return getenv("TESSERA_FORMATS");
}

static int run_combinations(tess_context *ctx)
{
    int count = 0;

    for (int i = 0; i < tess_format_count(); i++) {
        const tess_format format = tess_format_at(i);

        if (chosen_format() && strcmp(chosen_format(), tess_format_name(format)) != 0) { continue; }
        count += takes_policy(format) ? run_variants(ctx, format) : run_precisions(ctx, format);
    }
    assert_true(count > 0);
    return count;
}

static void every_combination_on_the_cpu(void **state)
{
    tess_context *ctx = open_cpu(2);
    const int count = run_combinations(ctx);

    (void)state;
    assert_true(chosen_format() || count >= 4 * TESS_PRECISION_COUNT + POLICY_VARIANTS);
    tess_context_destroy(ctx);
}

/* Only the device is read, so the context may claim to be a GPU's. */
static void formats_for_the_host_are_refused_on_a_gpu(void **state)
{
    tess_context *ctx = open_cpu(1);

    (void)state;
    ctx->device = TESS_DEVICE_GPU;
    for (int i = 0; i < tess_format_count(); i++) {
        tess_storage_options storage;

        tess_storage_options_init(&storage);
        storage.format = tess_format_at(i);
        if (tess_format_can(storage.format)->gpu_precisions != 0) {
            assert_ok(ctx, tess_storage_options_check(ctx, -1, -1, &storage));
            continue;
        }
        assert_fails(ctx, TESS_UNSUPPORTED, tess_storage_options_check(ctx, -1, -1, &storage));
        assert_non_null(strstr(tess_context_last_error(ctx)->message, "only for the host"));
        assert_non_null(strstr(tess_context_last_error(ctx)->message, tess_format_name(storage.format)));
    }
    ctx->device = TESS_DEVICE_CPU;
    tess_context_destroy(ctx);
}

static void every_combination_on_the_gpu(void **state)
{
    tess_context *ctx = open_gpu();

    (void)state;
    if (!ctx) {
        print_message("SKIPPED: no GPU in this build or machine\n");
        skip();
    }
    assert_true(run_combinations(ctx) >= (chosen_format() ? 1 : 4 * TESS_PRECISION_COUNT));
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_on_the_cpu),
        cmocka_unit_test(formats_for_the_host_are_refused_on_a_gpu),
        cmocka_unit_test(every_combination_on_the_gpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
