/* SPDX-License-Identifier: Apache-2.0 */
/* New values on the pattern of a hierarchy: patterns stay, and values are those of a first set-up on these patterns. */
#include "base/random.h"
#include "precond/multigrid/classical/plan_codes.h"
#include "precond/multigrid/classical/split.h"
#include "precond/multigrid/classical/truncate.h"
#include "precond/multigrid/hierarchy.h"
#include "support/gallery.h"
#include "support/solve.h"
#include "support/test.h"

/* Couplings times a factor from 0.5 to 1.5, the same for both directions, and a dominant diagonal. */
static oracle_csr with_new_values(const oracle_csr *a, uint64_t seed)
{
    oracle_csr out = oracle_copy(a);

    for (int64_t i = 0; i < out.nrows; i++) {
        double sum = 0.0;
        int64_t diagonal = -1;

        for (int64_t k = out.row_ptr[i]; k < out.row_ptr[i + 1]; k++) {
            const int64_t j = out.col_ind[k], low = i < j ? i : j, high = i < j ? j : i;

            if (j == i) {
                diagonal = k;
            } else {
                out.val[k] *= tess_random_in(seed, (uint64_t)(low * out.nrows + high), 0.5, 1.5);
                sum += fabs(out.val[k]);
            }
        }
        out.val[diagonal] = 1.001 * sum;
    }
    return out;
}

/* A Laplacian, and a weak coupling of the first unknown to all others: a row of 400 entries. */
static oracle_csr with_a_long_row(void)
{
    oracle_csr a = oracle_laplace2d(20), out = oracle_open(a.nrows, a.ncols);

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t j = 0; j < a.nrows; j++) {
            const double value = entry(&a, i, j), more = (i == 0) != (j == 0) ? -1e-3 : 0.0;

            if (value != 0.0 || more != 0.0) { oracle_push(&out, j, i == j ? value + 1e-3 : value + more); }
        }
        oracle_end_row(&out, i);
    }
    oracle_free(&a);
    return out;
}

/* ---- interpolation ---- */

/* A split of old values, and what both values are interpolated with. */
typedef struct split_level {
    tess_matrix *matrix[2];
    host_csr a[2];
    uint8_t *strong, *split;
    int32_t *number, *list;
    int64_t ncoarse;
} split_level;

static split_level open_split(tess_context *ctx, const oracle_csr *before, const oracle_csr *after)
{
    const int64_t n = before->nrows;
    split_level l = {.strong = test_allocate(before->nnz, 1),
                     .split = test_allocate(n, 1),
                     .number = test_allocate(n, sizeof *l.number),
                     .list = test_allocate(n, sizeof *l.list)};

    for (int k = 0; k < 2; k++) {
        l.matrix[k] = make_matrix(ctx, k == 0 ? before : after);
        assert_ok(ctx, host_csr_from_matrix(l.matrix[k], &l.a[k]));
    }
    amg_find_strong(ctx, &l.a[0], 0.25, 1.0, l.strong);
    assert_ok(ctx,
              amg_split(ctx,
                        &(amg_graph){.n = n, .row_ptr = l.a[0].row_ptr, .col_ind = l.a[0].col_ind, .strong = l.strong},
                        1, l.split));
    l.ncoarse = amg_number_coarse(n, l.split, l.number);
    for (int64_t i = 0; i < n; i++) {
        if (l.number[i] >= 0) { l.list[l.number[i]] = (int32_t)i; }
    }
    return l;
}

static void close_split(tess_context *ctx, split_level *l)
{
    for (int k = 0; k < 2; k++) {
        host_csr_release(ctx, &l->a[k]);
        tess_matrix_destroy(l->matrix[k]);
    }
    free(l->strong);
    free(l->split);
    free(l->number);
    free(l->list);
}

static amg_interpolation interpolation_of(const split_level *l, int values, int truncation)
{
    return (amg_interpolation){.a = &l->a[values],
                               .strong = l->strong,
                               .split = l->split,
                               .number = l->number,
                               .ncoarse = l->ncoarse,
                               .nrows = l->a[0].nrows,
                               .truncation = truncation};
}

static double find(const host_csr *a, int64_t i, int32_t j)
{
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (a->col_ind[k] == j) { return a->val[k]; }
    }
    return 0.0;
}

/* Row i of p has the values of the whole row, with its sum. Returns by how much the worst value misses that, over the
   sum of magnitudes. */
static double worst_of_row(const host_csr *full, const host_csr *p, int64_t i)
{
    double all = 0.0, kept = 0.0, magnitude = 0.0, worst = 0.0;

    for (int64_t k = full->row_ptr[i]; k < full->row_ptr[i + 1]; k++) {
        all += full->val[k];
        magnitude += fabs(full->val[k]);
    }
    for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++) {
        kept += find(full, i, p->col_ind[k]);
    }
    for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++) {
        const double factor = kept > 0.0 ? all / kept : 1.0;

        worst = fmax(worst, fabs(p->val[k] - factor * find(full, i, p->col_ind[k])) / (factor * magnitude));
    }
    return worst;
}

static void check_interpolation(const oracle_csr *before, int truncation, bool planned)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr after = with_new_values(before, 7);
    split_level l = open_split(ctx, before, &after);
    const amg_interpolation old = interpolation_of(&l, 0, truncation), fresh = interpolation_of(&l, 1, truncation),
                            whole = interpolation_of(&l, 1, 0);
    amg_weight_plan plan = {0};
    host_csr p = {0}, full = {0}, same = {0};

    assert_ok(ctx, amg_interpolate(ctx, &old, &p));
    assert_ok(ctx, amg_interpolate(ctx, &old, &same));
    assert_ok(ctx, amg_interpolate(ctx, &whole, &full));
    for (int turn = 0; turn < 2; turn++) { /* the second with the plan of the first */
        assert_ok(ctx, amg_interpolate_again(ctx, &fresh, l.list, &plan, &p));
        assert_int_equal(plan.codes.code != NULL, planned);
        for (int64_t i = 0; i < p.nrows; i++) { /* weights of some hundred terms, and their sums */
            assert_at_most(worst_of_row(&full, &p, i), gamma_of(1000.0));
        }
        assert_memory_equal(p.col_ind, same.col_ind, (size_t)host_csr_nnz(&p) * sizeof *p.col_ind);
    }
    assert_ok(ctx, amg_interpolate_again(ctx, &old, l.list, &plan, &p));
    for (int64_t k = 0; k < host_csr_nnz(&p); k++) { /* the first values again */
        assert_at_most(fabs(p.val[k] - same.val[k]), gamma_of(1000.0) * fabs(same.val[k]));
    }
    amg_weight_plan_release(ctx, &plan);
    host_csr_release(ctx, &p);
    host_csr_release(ctx, &full);
    host_csr_release(ctx, &same);
    close_split(ctx, &l);
    oracle_free(&after);
    tess_context_destroy(ctx);
}

static void new_weights_are_those_of_the_whole_row(void **state)
{
    oracle_csr a = generate_problem("laplace3d 12", 1), b = generate_problem("randomdiffusion2d 30 2", 1);

    (void)state;
    for (int truncation = 0; truncation <= 4; truncation += 2) {
        check_interpolation(&a, truncation, true);
        check_interpolation(&b, truncation, true);
    }
    oracle_free(&a);
    oracle_free(&b);
}

static void long_rows_need_no_plan(void **state)
{
    oracle_csr a = with_a_long_row();

    (void)state;
    check_interpolation(&a, 4, false);
    oracle_free(&a);
}

/* ---- truncated products ---- */

static void new_products_are_those_of_whole_products(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr random = oracle_random(600, 600, 3, 5);
    const host_csr b = {
        .nrows = 600, .ncols = 600, .row_ptr = random.row_ptr, .col_ind = random.col_ind, .val = random.val};
    host_csr p = {0}, full = {0};
    amg_product_plan plan = {0};

    (void)state;
    for (int64_t k = 0; k < random.nnz; k++) { /* positive: no sum turns its sign */
        random.val[k] = fabs(random.val[k]);
    }
    assert_ok(ctx, amg_multiply_truncated(ctx, 8, &b, &b, &p));
    for (int64_t k = 0; k < random.nnz; k++) {
        random.val[k] *= 1.0 + 0.25 * (double)(k % 3);
    }
    assert_ok(ctx, host_csr_multiply(ctx, &b, &b, true, &full));
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(ctx, amg_multiply_truncated_again(ctx, &b, &b, &plan, &p));
        assert_non_null(plan.codes.code);
        for (int64_t i = 0; i < p.nrows; i++) {
            assert_at_most(worst_of_row(&full, &p, i), gamma_of(200.0));
        }
    }
    amg_product_plan_release(ctx, &plan);
    host_csr_release(ctx, &p);
    host_csr_release(ctx, &full);
    oracle_free(&random);
    tess_context_destroy(ctx);
}

/* ---- levels ---- */

static host_csr copy_pattern(tess_context *ctx, const host_csr *a)
{
    host_csr out;

    assert_ok(ctx, host_csr_allocate_rows(ctx, a->nrows, a->ncols, &out));
    memcpy(out.row_ptr, a->row_ptr, (size_t)(a->nrows + 1) * sizeof *a->row_ptr);
    assert_ok(ctx, host_csr_allocate_entries(ctx, &out));
    memcpy(out.col_ind, a->col_ind, (size_t)host_csr_nnz(a) * sizeof *a->col_ind);
    return out;
}

static void assert_same_pattern(const host_csr *a, const host_csr *b)
{
    assert_int_equal(a->nrows, b->nrows);
    assert_memory_equal(a->row_ptr, b->row_ptr, (size_t)(a->nrows + 1) * sizeof *a->row_ptr);
    assert_memory_equal(a->col_ind, b->col_ind, (size_t)host_csr_nnz(a) * sizeof *a->col_ind);
}

/* The coarse matrices are those of the new fine ones and the new P: rounding of some hundred terms. */
static void check_products(tess_context *ctx, const amg_hierarchy *h)
{
    for (int l = 0; l + 1 < h->count; l++) {
        const amg_level *fine = &h->level[l];
        host_csr expected = {0};

        assert_ok(ctx, host_csr_multiply_triple(ctx, &fine->r, &fine->a, &fine->p, &expected));
        assert_int_equal(host_csr_nnz(&expected), host_csr_nnz(&h->level[l + 1].a));
        for (int64_t i = 0; i < expected.nrows; i++) {
            double magnitude = 0.0;

            for (int64_t k = expected.row_ptr[i]; k < expected.row_ptr[i + 1]; k++) {
                magnitude += fabs(expected.val[k]);
            }
            for (int64_t k = expected.row_ptr[i]; k < expected.row_ptr[i + 1]; k++) {
                assert_at_most(fabs(h->level[l + 1].a.val[k] - expected.val[k]), gamma_of(2000.0) * magnitude);
            }
        }
        host_csr_release(ctx, &expected);
    }
}

static void renew_on(const char *problem, tess_amg_coarsening coarsening, int aggressive)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr before = generate_problem(problem, 1), after = with_new_values(&before, 9);
    tess_matrix *old = make_matrix(ctx, &before), *fresh = make_matrix(ctx, &after);
    tess_precond_options options;
    amg_hierarchy h = {.ctx = ctx};
    host_csr patterns[2] = {{0}, {0}};

    tess_precond_options_init(&options);
    options.amg.coarsening = coarsening;
    options.amg.aggressive = aggressive;
    options.amg.coarsest = 20;
    h.options = options.amg;
    assert_ok(ctx, amg_hierarchy_build(&h, old));
    assert_true(h.count >= 3);
    patterns[0] = copy_pattern(ctx, &h.level[0].p);
    patterns[1] = copy_pattern(ctx, &h.level[1].a);
    for (int turn = 0; turn < 3; turn++) {
        assert_ok(ctx, amg_hierarchy_renew(&h, turn == 2 ? old : fresh));
        assert_same_pattern(&patterns[0], &h.level[0].p);
        assert_same_pattern(&patterns[1], &h.level[1].a);
        check_products(ctx, &h);
    }
    for (int k = 0; k < 2; k++) {
        host_csr_release(ctx, &patterns[k]);
    }
    amg_hierarchy_close(&h);
    tess_matrix_destroy(old);
    tess_matrix_destroy(fresh);
    oracle_free(&before);
    oracle_free(&after);
    tess_context_destroy(ctx);
}

static void levels_keep_their_patterns(void **state)
{
    (void)state;
    renew_on("laplace3d 14", TESS_AMG_CLASSICAL, 1);
    renew_on("randomdiffusion2d 40 2", TESS_AMG_CLASSICAL, 0);
    renew_on("laplace3d 14", TESS_AMG_AGGREGATION, 0);
    renew_on("elasticity3d 5", TESS_AMG_AUTO, 0);
}

/* Couplings of the other sign: every third, the same for both directions, with a dominant diagonal. */
static oracle_csr with_other_signs(const oracle_csr *a)
{
    oracle_csr out = with_new_values(a, 9);

    for (int64_t i = 0; i < out.nrows; i++) {
        for (int64_t k = out.row_ptr[i]; k < out.row_ptr[i + 1]; k++) {
            if (out.col_ind[k] != i && (i + out.col_ind[k]) % 3 == 0) { out.val[k] = -out.val[k]; }
        }
    }
    return out;
}

static void assert_same_values(const host_csr *a, const host_csr *b)
{
    assert_same_pattern(a, b);
    for (int64_t i = 0; i < a->nrows; i++) {
        double largest = 0.0;

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            largest = fmax(largest, fabs(a->val[k]));
        }
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            assert_at_most(fabs(a->val[k] - b->val[k]), gamma_of(2000.0) * largest);
        }
    }
}

/* A renewal in between leaves no trace, though it is the first one and couplings turned their signs. */
static void old_values_come_back(void **state)
{
    static const char *const problems[] = {"laplace3d 12", "laplace2d 40", "randomdiffusion3d 10 1"};
    tess_context *ctx = open_cpu(2);
    tess_precond_options options;

    (void)state;
    tess_precond_options_init(&options);
    options.amg.coarsest = 20;
    for (int k = 0; k < 6; k++) {
        oracle_csr a = generate_problem(problems[k / 2], 1), turned = with_other_signs(&a);
        tess_matrix *old = make_matrix(ctx, &a), *between = make_matrix(ctx, &turned);
        amg_hierarchy h = {.ctx = ctx}, built = {.ctx = ctx};

        options.amg.aggressive = k % 2;
        h.options = built.options = options.amg;
        assert_ok(ctx, amg_hierarchy_build(&built, old));
        assert_ok(ctx, amg_hierarchy_build(&h, old));
        assert_ok(ctx, amg_hierarchy_renew(&h, between));
        assert_ok(ctx, amg_hierarchy_renew(&h, old));
        assert_int_equal(h.count, built.count);
        for (int l = 0; l + 1 < h.count; l++) {
            assert_same_values(&built.level[l].p, &h.level[l].p);
            assert_same_values(&built.level[l + 1].a, &h.level[l + 1].a);
        }
        amg_hierarchy_close(&h);
        amg_hierarchy_close(&built);
        tess_matrix_destroy(old);
        tess_matrix_destroy(between);
        oracle_free(&a);
        oracle_free(&turned);
    }
    tess_context_destroy(ctx);
}

/* ---- solves ---- */

static int64_t iterations_of(tess_context *ctx, tess_solver *solver, const oracle_csr *a,
                             const tess_solve_options *options)
{
    double *b = random_values(a->nrows, 5, -1.0, 1.0), *x = test_allocate(a->nrows, sizeof *x);
    tess_solve_result result;

    memset(x, 0, (size_t)a->nrows * sizeof *x);
    result = solve_with(solver, ctx, a->nrows, b, x);
    check_honest(a, b, x, options, &result);
    assert_true(result.converged);
    free(b);
    free(x);
    return result.iterations;
}

/* At most one iteration more than levels that are set up for the new values. */
static void renewed_levels_work_as_well(void **state)
{
    static const char *const problems[] = {"laplace3d 24", "randomdiffusion3d 16 1", "elasticity3d 6"};

    (void)state;
    for (int k = 0; k < 3; k++) {
        tess_context *ctx = open_cpu(2);
        oracle_csr before = generate_problem(problems[k], 1), after = with_new_values(&before, 11);
        tess_matrix *renewed = make_matrix(ctx, &before), *fresh = make_matrix(ctx, &after);
        tess_solve_options options = solve_options(TESS_SOLVER_CG);
        tess_solver *solvers[2] = {NULL};
        int64_t expected = 0;

        options.precond.kind = TESS_PRECOND_AMG;
        assert_ok(ctx, tess_solver_create(renewed, &options, &solvers[0]));
        assert_ok(ctx, tess_solver_create(fresh, &options, &solvers[1]));
        expected = iterations_of(ctx, solvers[1], &after, &options);
        for (int turn = 0; turn < 2; turn++) {
            assert_ok(ctx, tess_matrix_update_values(renewed, after.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
            assert_true(iterations_of(ctx, solvers[0], &after, &options) <= expected + 1);
        }
        tess_solver_destroy(solvers[0]);
        tess_solver_destroy(solvers[1]);
        tess_matrix_destroy(renewed);
        tess_matrix_destroy(fresh);
        oracle_free(&before);
        oracle_free(&after);
        tess_context_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(new_weights_are_those_of_the_whole_row),
                                       cmocka_unit_test(long_rows_need_no_plan),
                                       cmocka_unit_test(new_products_are_those_of_whole_products),
                                       cmocka_unit_test(levels_keep_their_patterns),
                                       cmocka_unit_test(old_values_come_back),
                                       cmocka_unit_test(renewed_levels_work_as_well)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
