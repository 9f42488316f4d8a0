/* SPDX-License-Identifier: Apache-2.0 */
/* Partial convergence: the rules, products with narrowed tiles, passes over vectors. */
#include "support/gallery.h"
#include "support/papers.h"
#include "support/product.h"
#include "support/solve.h"
#include "support/test.h"
#include "support/tiles.h"
#include "support/variants.h"

#include "matrix/matrix.h"
#include "papers/narrowing/narrowing.h"
#include "solver/extension.h"
#include "solver/method_solver.h"

/* ---- the rules ---- */

static void intervals_are_those_of_the_text(void **state)
{
    const double eps = 1e-10;
    const narrowing_bounds paper = narrowing_bounds_of(TESS_NARROWING_PAPER, eps);
    const narrowing_bounds off = narrowing_bounds_of(TESS_NARROWING_OFF, eps);

    (void)state;
    assert_int_equal(narrowing_level(&paper, eps), NARROWING_NONE);
    assert_int_equal(narrowing_level(&paper, nextafter(eps, 0.0)), NARROWING_FP32);
    assert_int_equal(narrowing_level(&paper, 1e-1 * eps), NARROWING_FP32);
    assert_int_equal(narrowing_level(&paper, nextafter(1e-1 * eps, 0.0)), NARROWING_FP16);
    assert_int_equal(narrowing_level(&paper, 1e-2 * eps), NARROWING_FP16);
    assert_int_equal(narrowing_level(&paper, nextafter(1e-2 * eps, 0.0)), NARROWING_FP8);
    assert_int_equal(narrowing_level(&paper, 1e-3 * eps), NARROWING_FP8);
    assert_int_equal(narrowing_level(&paper, nextafter(1e-3 * eps, 0.0)), NARROWING_BYPASS);
    assert_int_equal(narrowing_level(&paper, 0.0), NARROWING_BYPASS);
    assert_int_equal(narrowing_level(&paper, (double)NAN), NARROWING_NONE);
    assert_int_equal(narrowing_level(&off, 0.0), NARROWING_NONE);
}

/* Whatever the level, a product changes by no more than the bypass may change it: bound times unit roundoff. */
static void safe_levels_err_alike(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP32, TESS_PRECISION_FP16, TESS_PRECISION_E4M3};
    const narrowing_bounds safe = narrowing_bounds_of(TESS_NARROWING_SAFE, 3.0);

    (void)state;
    for (int l = 0; l < 3; l++) {
        assert_true(safe.below[l] * tess_precision_unit_roundoff(precisions[l]) == safe.below[NARROWING_BYPASS - 1]);
    }
    assert_true(safe.below[NARROWING_BYPASS - 1] == 3.0 * 0x1p-16);
}

static void segments_remember_what_they_should(void **state)
{
    narrowing_segment s = {{0, 0}, 0};

    (void)state;
    /* safe: the level of the vector, and back */
    assert_int_equal(narrowing_use(&s, NARROWING_FP16, 0, 1, false), NARROWING_FP16);
    assert_int_equal(narrowing_use(&s, NARROWING_NONE, 0, 1, false), NARROWING_NONE);
    /* paper: for good, but for what is passed over */
    assert_int_equal(narrowing_use(&s, NARROWING_FP16, 0, 1, true), NARROWING_FP16);
    assert_int_equal(narrowing_use(&s, NARROWING_BYPASS, 0, 1, true), NARROWING_BYPASS);
    assert_int_equal(narrowing_use(&s, NARROWING_NONE, 0, 1, true), NARROWING_FP16);
    assert_int_equal(narrowing_use(&s, NARROWING_FP8, 0, 1, true), NARROWING_FP8);
    assert_int_equal(narrowing_use(&s, NARROWING_FP32, 0, 1, true), NARROWING_FP8);
    /* two products: only as far as both allow, but each passes over by itself */
    s = (narrowing_segment){{0, 0}, 0};
    assert_int_equal(narrowing_use(&s, NARROWING_FP8, 0, 2, true), NARROWING_NONE);
    assert_int_equal(narrowing_use(&s, NARROWING_FP32, 1, 2, true), NARROWING_FP32);
    assert_int_equal(narrowing_use(&s, NARROWING_BYPASS, 0, 2, true), NARROWING_BYPASS);
    assert_int_equal(narrowing_use(&s, NARROWING_FP16, 1, 2, true), NARROWING_FP16);
    assert_int_equal(narrowing_use(&s, NARROWING_NONE, 0, 2, true), NARROWING_FP16);
    s = (narrowing_segment){{0, 0}, 0};
    assert_int_equal(narrowing_use(&s, NARROWING_FP8, 0, 2, false), NARROWING_NONE);
    assert_int_equal(narrowing_use(&s, NARROWING_FP8, 1, 2, false), NARROWING_FP8);
    assert_int_equal(narrowing_use(&s, NARROWING_NONE, 0, 2, false), NARROWING_NONE);
}

static void precisions_never_go_up(void **state)
{
    (void)state;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        for (int use = NARROWING_NONE; use < NARROWING_BYPASS; use++) {
            const tess_precision narrow = narrowing_precision((tess_precision)p, use);

            assert_true(narrow == (tess_precision)p ||
                        tess_precision_bytes(narrow) < tess_precision_bytes((tess_precision)p));
        }
    }
    assert_int_equal(narrowing_precision(TESS_PRECISION_FP64, NARROWING_FP8), TESS_PRECISION_E4M3);
    assert_int_equal(narrowing_precision(TESS_PRECISION_BF16, NARROWING_FP16), TESS_PRECISION_BF16);
    assert_int_equal(narrowing_precision(TESS_PRECISION_E5M2, NARROWING_FP8), TESS_PRECISION_E5M2);
}

/* No range ends: the largest value of a tile keeps its digits wherever it is, subnormal or near overflow. */
static void values_round_over_the_scale_of_their_tile(void **state)
{
    static const tess_precision precisions[] = {TESS_PRECISION_FP32, TESS_PRECISION_FP16, TESS_PRECISION_E4M3};
    uint64_t seed = 4;

    (void)state;
    for (size_t p = 0; p < 3; p++) {
        const double u = tess_precision_unit_roundoff(precisions[p]);

        for (int k = -1000; k <= 1023; k += 7) {
            const double largest = ldexp(oracle_uniform(&seed, 1.0, 2.0), k);
            const int exponent = narrowing_exponent(precisions[p], largest);

            assert_at_most(fabs(narrowing_round(precisions[p], exponent, largest) - largest), u * largest);
            assert_true(narrowing_round(precisions[p], exponent, -0.0) == 0.0);
        }
    }
    assert_false(narrowing_has_scale(0.0) || narrowing_has_scale((double)INFINITY));
}

/* ---- products ---- */

/* The matrix as a product uses it: tiles passed over are zero. */
static oracle_csr narrowed(const oracle_csr *a, const uint8_t *use)
{
    oracle_csr b = *a;
    const int64_t columns = (a->ncols + 15) / 16;
    double *largest = test_allocate(columns, sizeof *largest);

    b.val = test_allocate(a->nnz, sizeof *b.val);
    for (int64_t first = 0; first < a->nrows; first += 16) {
        const int64_t last = first + 16 < a->nrows ? first + 16 : a->nrows;

        memset(largest, 0, (size_t)columns * sizeof *largest);
        for (int64_t k = a->row_ptr[first]; k < a->row_ptr[last]; k++) {
            double *most = &largest[a->col_ind[k] / 16];

            *most = fmax(*most, fabs(a->val[k]));
        }
        for (int64_t k = a->row_ptr[first]; k < a->row_ptr[last]; k++) {
            const int64_t column = a->col_ind[k] / 16;
            const tess_precision narrow = narrowing_precision(TESS_PRECISION_FP64, use[column]);

            b.val[k] = use[column] == NARROWING_BYPASS ? 0.0
                       : narrow == TESS_PRECISION_FP64 ? a->val[k]
                       : !narrowing_has_scale(largest[column])
                           ? a->val[k]
                           : narrowing_round(narrow, narrowing_exponent(narrow, largest[column]), a->val[k]);
        }
    }
    free(largest);
    return b;
}

static void check_narrowed_product(tess_context *ctx, const oracle_csr *a, uint64_t seed)
{
    const tess_storage_options options = resident_lossless("fp64");
    const int64_t columns = (a->ncols + 15) / 16;
    tess_matrix *assembled = make_matrix(ctx, a), *stored = convert_tiles(assembled, &options);
    uint8_t *use = test_allocate(columns, 1), *segments = NULL;
    double *x = random_values(a->ncols, seed, -1.0, 1.0), *y = test_allocate(a->nrows, sizeof *y);
    double *magnitude = test_allocate(a->nrows, sizeof *magnitude), gamma;
    wide *exact = test_allocate(a->nrows, sizeof *exact);
    tess_vector *vx = make_vector(ctx, a->ncols, x), *vy = make_zeros(ctx, a->nrows);
    oracle_csr used;

    for (int64_t j = 0; j < columns; j++) {
        use[j] = (uint8_t)(oracle_uniform(&seed, 0.0, 4.999));
    }
    used = narrowed(a, use);
    assert_ok(ctx, tess_device_allocate(ctx, columns, 1, (void **)&segments));
    assert_ok(ctx, ctx->backend->upload(ctx, segments, use, (size_t)columns));
    assert_ok(ctx, stored->ops->prepare(stored));
    assert_ok(ctx, stored->ops->spmv(
                       stored, &(tess_spmv_args){.x = vx->data, .y = vy->data, .alpha = 1.0, .segments = segments}));
    read_vector(vy, y);
    oracle_multiply(&used, false, x, exact, magnitude);
    gamma = gamma_of((double)oracle_longest_row(a, false) + 2.0);
    for (int64_t i = 0; i < a->nrows; i++) {
        assert_at_most((double)wide_abs((wide)y[i] - exact[i]), gamma * magnitude[i] * (1.0 + gamma));
    }
    free(used.val);
    tess_device_release(ctx, segments, columns, 1);
    free(use);
    free(x);
    free(y);
    free(magnitude);
    free(exact);
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    tess_matrix_destroy(stored);
    tess_matrix_destroy(assembled);
}

/* Values over many binades, few and many entries in a tile, long strips. */
static void narrowed_products_are_those_of_narrowed_values(void **state)
{
    oracle_csr matrices[] = {oracle_random(300, 500, 6, 1), oracle_random(333, 100, 20, 2),
                             oracle_random(100, 90, 85, 3), oracle_power_law(3000, 4)};
    tess_context *ctx = open_device(2);

    (void)state;
    for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++) {
        oracle_csr *a = &matrices[k];

        for (int64_t e = 0; k < 2 && e < a->nnz; e++) {
            a->val[e] = ldexp(a->val[e], (int)(a->col_ind[e] / 16 * 13) % 300 - 150 - (int)(e % 3));
        }
        for (uint64_t seed = 1; seed <= 3; seed++) {
            check_narrowed_product(ctx, a, seed);
        }
        oracle_free(a);
    }
    tess_context_destroy(ctx);
}

/* ---- marks ---- */

/* What passes must come to. */
typedef struct expected_passes {
    const narrowing_pass *pass;
    narrowing_bounds bounds;
    narrowing_segment *segment;
    int32_t *tiles;
    uint64_t counts[NARROWING_COUNTS];
} expected_passes;

static double magnitude_of(const double *x, int64_t first, int64_t end)
{
    double largest = 0.0;

    for (int64_t i = first; i < end; i++) {
        largest = isnan(x[i]) || isnan(largest) ? (double)NAN : fmax(largest, fabs(x[i]));
    }
    return largest;
}

/* Values of a vector over all levels, with a NaN in one round. */
static double *make_vector_of_levels(int64_t n, int round)
{
    double *x = random_values(n, (uint64_t)round, -1.0, 1.0);

    for (int64_t i = 0; i < n; i++) {
        x[i] = ldexp(x[i], (int)(i / 16 * 7 + round * 5) % 36 - 24);
    }
    x[n - 1] = round == 3 ? (double)NAN : 0.0;
    return x;
}

/* One pass over x, for product 0 or 1 of two. */
static void check_pass(const method_solver *solver, expected_passes *e, const tess_policy_options *policy,
                       const double *x, int product)
{
    const narrowing_pass *p = e->pass;
    tess_context *ctx = solver->ctx;
    tess_vector *v = make_vector(ctx, p->n, x);
    uint8_t *use = NULL;

    assert_ok(ctx, narrowing_ops_of(ctx)->mark(ctx, p, v->data, product, NULL));
    use = read_tiles(solver->stored, p->use, p->nsegments, 1);
    for (int64_t s = 0; s < p->nsegments; s++) {
        const int64_t end = s * 16 + 16 < p->n ? s * 16 + 16 : p->n;
        const int level = narrowing_level(&e->bounds, magnitude_of(x, s * 16, end));

        assert_int_equal(use[s], narrowing_use(&e->segment[s], level, product, 2, p->for_good));
        for (int l = 0; l < p->nlevels; l++) {
            const tess_precision stored = policy->level[l].precision;

            e->counts[use[s] == NARROWING_BYPASS ? (int)NARROWING_BYPASSED
                                                 : (int)narrowing_precision(stored, use[s])] +=
                (uint64_t)e->tiles[s * p->nlevels + l];
        }
    }
    free(use);
    tess_vector_destroy(v);
}

static void check_passes(method_solver *solver, tess_narrowing mode, const tess_policy_options *policy)
{
    enum { ROUNDS = 7 };
    tess_context *ctx = solver->ctx;
    const narrowing_pass *p = &narrowing_of(&solver->krylov)->pass;
    expected_passes e = {.pass = p, .bounds = narrowing_bounds_of(mode, 1.0)};
    uint64_t found[NARROWING_COUNTS];

    assert_int_equal(p->for_good, mode == TESS_NARROWING_PAPER);
    assert_ok(ctx, solver->krylov.extension->start(solver));
    assert_ok(ctx, ctx->backend->upload(ctx, p->bounds, &e.bounds, sizeof e.bounds));
    e.segment = test_allocate(p->nsegments, sizeof *e.segment);
    memset(e.segment, 0, (size_t)p->nsegments * sizeof *e.segment);
    e.tiles = read_tiles(solver->stored, p->tiles, p->nsegments * p->nlevels, sizeof *e.tiles);
    for (int round = 0; round < ROUNDS; round++) {
        double *x = make_vector_of_levels(p->n, round);

        check_pass(solver, &e, policy, x, round % 2);
        free(x);
    }
    assert_ok(ctx, ctx->backend->download(ctx, found, p->counts, sizeof found));
    assert_memory_equal(found, e.counts, sizeof found);
    free(e.tiles);
    free(e.segment);
}

/* A pass says of each segment what the rules say of its largest magnitude, and counts its tiles. */
static void passes_follow_the_rules(void **state)
{
    oracle_csr a = generate_problem("laplace2d 37 61", 1);
    tess_context *ctx = open_device(2);
    tess_matrix *m = make_matrix(ctx, &a);
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    tess_solver *solver = NULL;

    (void)state;
    options.storage = resident_lossless("fp64,fp32,fp16,e4m3");
    for (int mode = TESS_NARROWING_PAPER; mode <= TESS_NARROWING_SAFE; mode++) {
        options.papers = papers_narrowing((tess_narrowing)mode);
        assert_ok(ctx, tess_solver_create(m, &options, &solver));
        check_passes(method_of(solver), (tess_narrowing)mode, &options.storage.policy);
        tess_solver_destroy(solver);
    }
    tess_matrix_destroy(m);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* What stands here, for a GPU too. */
#define NARROWING_TESTS                                                                                 \
    cmocka_unit_test(intervals_are_those_of_the_text), cmocka_unit_test(safe_levels_err_alike),         \
        cmocka_unit_test(segments_remember_what_they_should), cmocka_unit_test(precisions_never_go_up), \
        cmocka_unit_test(values_round_over_the_scale_of_their_tile),                                    \
        cmocka_unit_test(narrowed_products_are_those_of_narrowed_values), cmocka_unit_test(passes_follow_the_rules)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {
        NARROWING_TESTS,
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
