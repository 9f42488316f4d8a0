/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular solves by merged level sets: the groups, the rewritten rows, blocks and records, storage, new values,
   triangles that do not fit. */
#include "support/gallery.h"
#include "support/incomplete.h"
#include "triangular/merged_layout.h"

/* An application of the preconditioner, merged, on a context with so many threads; of one that has taken the same
 * values again. */
static void apply_renewed(const oracle_csr *a, tess_precond_options options, int threads, bool renewed, const double *r,
                          double *z, tess_precond_factors *facts)
{
    tess_context *ctx = open_device(threads);
    tess_matrix *matrix = make_matrix(ctx, a);
    tess_precond *m = NULL;

    options.incomplete.triangular = TESS_TRIANGULAR_MERGED;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    if (renewed) {
        assert_ok(ctx, tess_matrix_update_values(matrix, a->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        assert_ok(ctx, tess_precond_update(m));
    }
    apply_precond(m, a->nrows, r, z);
    assert_ok(ctx, tess_precond_get_factors(m, facts));
    assert_true(tess_precond_bytes(m) > facts->entries * (int64_t)tess_precision_bytes(options.role.storage));
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

static void apply_merged(const oracle_csr *a, tess_precond_options options, int threads, const double *r, double *z,
                         tess_precond_factors *facts)
{
    apply_renewed(a, options, threads, false, r, z, facts);
}

static void check_merged(const oracle_csr *a, tess_precond_options options, double relative,
                         tess_precond_factors *facts)
{
    const int64_t n = a->nrows;
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(n, sizeof *z);
    test_factors f = factors_of(a, options.kind);

    apply_merged(a, options, 2, r, z, facts);
    check_merged_solution(&f, r, z, relative);
    assert_int_equal(facts->nonzeros, f.lower.nnz + f.upper.nnz);
    free_factors(&f);
    free(r);
    free(z);
}

/* ---- groups ---- */

/* Small problems are one block's, those of 50,000 entries and more a cluster's: the last two. */
static void merged_level_sets_solve_the_same_system(void **state)
{
    static const char *const requests[] = {"laplace1d 3000", "laplace2d 40",   "laplace3d27 9", "bentpipe2d 40",
                                           "laplace3d 12",   "laplace3d27 20", "laplace2d 170"};

    (void)state;
    for (size_t k = 0; k < 2 * (sizeof requests / sizeof *requests); k++) {
        const bool symmetric = k % 2 == 0;
        const tess_precond_options options = factor_options(symmetric ? TESS_PRECOND_IC0 : TESS_PRECOND_ILU0);
        oracle_csr a = generate_problem(requests[k / 2], 1);
        tess_precond_factors facts = {.size = sizeof facts};

        if (symmetric && k / 2 == 3) { /* unsymmetric */
            oracle_free(&a);
            continue;
        }
        check_merged(&a, options, 0.0, &facts);
        assert_true(facts.lower_groups < facts.lower_level_sets && facts.upper_groups < facts.upper_level_sets);
        assert_int_equal(facts.leaves, 2);
        assert_int_equal(facts.squares, 0);
        assert_true(facts.entries >= facts.nonzeros + 2 * a.nrows); /* with those of b */
        oracle_free(&a);
    }
}

/* Rows of all lengths, some with hundreds of entries, and rows that no other row needs. */
static void rows_of_all_lengths(void **state)
{
    oracle_csr random = random_dominant(700, 12, false, 3), tip = arrow(300, true), last = arrow(300, false);
    const oracle_csr *const problems[] = {&random, &tip, &last};
    tess_precond_factors facts = {.size = sizeof facts};

    (void)state;
    for (int c = 0; c < 3; c++) {
        check_merged(problems[c], factor_options(TESS_PRECOND_ILU0), 0.0, &facts);
    }
    oracle_free(&random);
    oracle_free(&tip);
    oracle_free(&last);
}

/* Level sets of 85 rows and less, which threads take in chunks of level sets, and of some hundred, whose rows threads
 * share, chunk by chunk. */
static void threads_do_not_change_a_bit(void **state)
{
    static const char *const requests[] = {"laplace2d 170", "laplace3d 44"};

    (void)state;
    for (size_t k = 0; k < sizeof requests / sizeof *requests; k++) {
        oracle_csr a = generate_problem(k == 1 && gpu_is_emulated() ? "laplace3d 30" : requests[k], 1);
        const int64_t n = a.nrows;
        double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(2 * n, sizeof *z);
        tess_precond_factors facts = {.size = sizeof facts}, others = {.size = sizeof others};

        apply_merged(&a, factor_options(TESS_PRECOND_ILU0), 1, r, z, &facts);
        assert_true(facts.lower_groups < facts.lower_level_sets);
        for (int threads = 2; threads <= on_gpu_or_emulated(5, 3); threads++) {
            apply_renewed(&a, factor_options(TESS_PRECOND_ILU0), threads, threads % 2 == 1, r, z + n, &others);
            assert_true(same_bits(z, z + n, n));
            assert_int_equal(facts.lower_groups, others.lower_groups);
            assert_int_equal(facts.entries, others.entries);
        }
        oracle_free(&a);
        free(r);
        free(z);
    }
}

/* ---- rewriting ---- */

/* The lower triangle with x_i + factor x_(i-1) in row i. */
typedef struct chain {
    triangle_pattern p;
    double *val;
} chain;

static chain make_chain(int64_t n, double factor)
{
    chain c = {.p = {.n = n}};

    c.p.row_ptr = test_allocate(n + 1, sizeof *c.p.row_ptr);
    c.p.col_ind = test_allocate(n, sizeof *c.p.col_ind);
    c.p.source = test_allocate(n, sizeof *c.p.source);
    c.val = test_allocate(n, sizeof *c.val);
    c.p.row_ptr[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        c.p.row_ptr[i + 1] = i;
        c.p.col_ind[i] = (int32_t)i;
        c.val[i] = factor;
    }
    return c;
}

static void free_chain(chain *c)
{
    free(c->p.row_ptr);
    free(c->p.col_ind);
    free(c->p.source);
    free(c->val);
}

/* Groups of K rows of a chain have K (K + 3) / 2 - 1 entries more or less; K steps of 2 K entries each cost as much:
 * K^2 / 2 = step. */
static void rule_balances_steps_and_entries(void **state)
{
    static const double steps[] = {0.0, 8.0, 50.0, 200.0};
    tess_context *ctx = open_device(1);
    chain c = make_chain(64 * 30, -0.5);

    (void)state;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        const merge_rule rule = {.step = steps[k], .growth = 1e3, .largest = 1e3, .longest = 1000};
        const double length = fmax(1.0, sqrt(2.0 * steps[k]));
        merged_rows m;

        assert_ok(ctx, merge_open(ctx, &c.p, NULL, &m));
        assert_ok(ctx, merge_rewrite(ctx, &c.p, c.val, &rule, false, &m));
        assert_int_equal(m.level_sets, c.p.n);
        if (steps[k] == 0.0) {
            assert_int_equal(m.groups, m.level_sets - 1);
        } /* the second row joins the first for nothing */
        assert_true((double)m.groups >= (double)c.p.n / (length + 2.0));
        assert_true((double)m.groups <= (double)c.p.n / fmax(1.0, length - 2.0) + 16.0); /* chunks end a group each */
        assert_true(merge_keeps(&m, &rule));
        merge_release(ctx, &m);
    }
    free_chain(&c);
    tess_context_destroy(ctx);
}

/* Row i of a group that begins with row f: x_i = sum_j q^(i-j) b_j + q^(i-f+1) x_(f-1), with q = -factor. */
static void rewritten_rows_are_powers(void **state)
{
    const merge_rule rule = {.step = 50.0, .growth = 1e6, .largest = 1e6, .longest = 1000};
    tess_context *ctx = open_device(1);
    chain c = make_chain(100, -2.0);
    merged_rows m;

    (void)state;
    assert_ok(ctx, merge_open(ctx, &c.p, NULL, &m));
    assert_ok(ctx, merge_rewrite(ctx, &c.p, c.val, &rule, false, &m));
    for (int64_t g = 0; g < m.groups; g++) {
        const int64_t first = m.begin[g];

        for (int64_t i = first; i < m.begin[g + 1]; i++) {
            assert_int_equal(m.row[i], i);
            assert_int_equal(m.length[i], i - first + 1 + (first > 0));
            for (int64_t k = m.start[i]; k < m.start[i] + m.length[i]; k++) {
                const int64_t j = m.index[k] >= m.n ? m.index[k] - m.n : m.index[k] + 1;

                assert_true(m.index[k] >= m.n ? j >= first && j <= i : j == first);
                assert_true(m.val[k] == ldexp(1.0, (int)(i - j + (m.index[k] < m.n)))); /* exact */
            }
        }
    }
    merge_release(ctx, &m);
    free_chain(&c);
    tess_context_destroy(ctx);
}

/* Magnitudes of rows of a group add up to 11, 111, 1111, ... where the rows had 11. */
static void growth_ends_groups(void **state)
{
    static const struct {
        double growth, largest;
        int64_t rows;
    } cases[] = {{1.0, 1e30, 1}, {11.0, 1e30, 2}, {1000.0, 1e30, 3}, {1e30, 12.0, 1}, {1e30, 132.0, 2}, {1e30, 2e4, 4}};
    tess_context *ctx = open_device(1);
    chain c = make_chain(60, 10.0);

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const merge_rule rule = {.step = 1e6, .growth = cases[k].growth, .largest = cases[k].largest, .longest = 1000};
        merge_rule stricter = rule;
        merged_rows m;

        assert_ok(ctx, merge_open(ctx, &c.p, NULL, &m));
        assert_ok(ctx, merge_rewrite(ctx, &c.p, c.val, &rule, false, &m));
        assert_int_equal(m.begin[2] - m.begin[1], cases[k].rows);
        assert_true(merge_keeps(&m, &rule));
        if (cases[k].rows > 1) {
            stricter.growth = 2.0;
            assert_false(merge_keeps(&m, &stricter));
        }
        merge_release(ctx, &m);
    }
    free_chain(&c);
    tess_context_destroy(ctx);
}

/* New values whose products overflow, and are multiplied by 0, in an early group: later groups do not make up for it.
 */
static void what_is_no_number_stays_the_most(void **state)
{
    const merge_rule rule = {.step = 50.0, .growth = 1e3, .largest = 1e3, .longest = 1000};
    tess_context *ctx = open_device(1);
    chain c = make_chain(60, -0.5);
    merged_rows m;

    (void)state;
    assert_ok(ctx, merge_open(ctx, &c.p, NULL, &m));
    assert_ok(ctx, merge_rewrite(ctx, &c.p, c.val, &rule, false, &m));
    assert_true(m.groups > 2 && m.begin[1] >= 5 && merge_keeps(&m, &rule));
    c.val[1] = 1e200;
    c.val[2] = 1e200;
    c.val[3] = 0.0;
    assert_ok(ctx, merge_rewrite(ctx, &c.p, c.val, &rule, true, &m));
    assert_false(merge_keeps(&m, &rule));
    merge_release(ctx, &m);
    free_chain(&c);
    tess_context_destroy(ctx);
}

/* ---- records ---- */

/* Entries of a record of one block: below `local` they are places of x, which the groups before must have written. */
static void check_places(const char *record, int64_t local, uint32_t written)
{
    const merged_record *head = (const merged_record *)(const void *)record;
    const uint16_t *offset = (const uint16_t *)(const void *)(record + sizeof *head);
    const uint16_t *index = (const uint16_t *)(const void *)(record + head->index_at);

    for (int64_t k = 0; k < (int64_t)offset[head->slices] * MERGED_LANES; k++) {
        assert_true(index[k] < written || index[k] >= local);
        assert_true(index[k] < 2 * local);
    }
}

/* Lanes without a row, and those whose row is shorter than others of their slice, included. */
static void nothing_reads_what_its_group_writes(void **state)
{
    const merge_rule rule = {.step = 200.0, .growth = 1e3, .largest = 1e3, .longest = 1000};
    const merged_limits limits = {.blocks = 1, .shared_bytes = 200000};
    tess_context *ctx = open_device(1);
    chain c = make_chain(500, -0.5);
    merged_rows m;
    merged_layout l;
    const char *record = NULL;
    uint32_t written = 0;

    (void)state;
    assert_ok(ctx, merge_open(ctx, &c.p, NULL, &m));
    assert_ok(ctx, merge_rewrite(ctx, &c.p, c.val, &rule, false, &m));
    assert_ok(ctx, merged_layout_make(ctx, &m, &limits, 1, TESS_PRECISION_FP64, &l));
    assert_true(l.fits && !l.wide && m.groups > 10);
    record = l.records;
    for (uint32_t q = 0; q < l.streams[0].records; q++) {
        const merged_record *head = (const merged_record *)(const void *)record;

        check_places(record, l.local, written);
        if (head->last) { written = head->first + head->rows; }
        record += head->bytes;
    }
    assert_int_equal(written, c.p.n);
    merged_layout_release(ctx, &l);
    merge_release(ctx, &m);
    free_chain(&c);
    tess_context_destroy(ctx);
}

/* ---- storage and values ---- */

static void records_round_their_values(void **state)
{
    static const tess_precision storage[] = {TESS_PRECISION_FP32, TESS_PRECISION_BF16, TESS_PRECISION_FP16};
    oracle_csr small = oracle_convection2d(25, 0.6), large = generate_problem("laplace2d 170", 1);
    const oracle_csr *const problems[] = {&small, &large};

    (void)state;
    for (int c = 0; c < 6; c++) {
        tess_precond_options options = factor_options(TESS_PRECOND_ILU0);
        tess_precond_factors facts = {.size = sizeof facts};
        /* entries that are too small for fp16's normal numbers: at most 200 in a row */
        const double relative =
            tess_precision_unit_roundoff(storage[c % 3]) + 100.0 * tess_precision_smallest(storage[c % 3]);
        double *r = random_values(problems[c / 3]->nrows, 7, -1.0, 1.0);
        double *z = test_allocate(2 * problems[c / 3]->nrows, sizeof *z);

        options.role = (tess_role_precision){1, storage[c % 3], TESS_ARITHMETIC_FP64};
        check_merged(problems[c / 3], options, relative, &facts);
        apply_merged(problems[c / 3], options, 1, r, z, &facts);
        options.role.given = 0;
        options.role.storage = TESS_PRECISION_FP64;
        apply_merged(problems[c / 3], options, 1, r, z + problems[c / 3]->nrows, &facts);
        assert_false(same_bits(z, z + problems[c / 3]->nrows, problems[c / 3]->nrows)); /* it was stored so */
        free(r);
        free(z);
    }
    oracle_free(&small);
    oracle_free(&large);
}

/* Solves with a preconditioner of a matrix after new values; facts and error are those of the new ones. */
static void check_update(tess_context *ctx, tess_matrix *matrix, tess_precond *m, const oracle_csr *a,
                         tess_precond_factors *facts)
{
    const int64_t n = a->nrows;
    double *r = random_values(n, 7, -1.0, 1.0), *z = test_allocate(n, sizeof *z);
    test_factors f = factors_of(a, TESS_PRECOND_ILU0);

    assert_ok(ctx, tess_matrix_update_values(matrix, a->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_ok(ctx, tess_precond_update(m));
    apply_precond(m, n, r, z);
    check_merged_solution(&f, r, z, 0.0);
    assert_ok(ctx, tess_precond_get_factors(m, facts));
    free_factors(&f);
    free(r);
    free(z);
}

/* Values whose rewritten rows would grow too much get groups of their own, which stay as other values come. */
static void groups_stay_while_they_serve(void **state)
{
    const int64_t n = 200;
    oracle_csr calm = oracle_tridiagonal(n, -1.0, 3.0, -1.0), steep = oracle_tridiagonal(n, -60.0, 1.0, -1e-9);
    tess_context *ctx = open_device(2);
    tess_matrix *matrix = make_matrix(ctx, &calm);
    tess_precond_options options = factor_options(TESS_PRECOND_ILU0);
    tess_precond_factors first = {.size = sizeof first}, second = {.size = sizeof second},
                         third = {.size = sizeof third};
    tess_precond *m = NULL;
    const int64_t held = ctx->held_bytes;

    (void)state;
    options.incomplete.triangular = TESS_TRIANGULAR_MERGED;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    assert_ok(ctx, tess_precond_get_factors(m, &first));
    for (int64_t k = 0; k < steep.nnz; k++) { /* five rows in twenty, so that the solution stays a number */
        if (k % 60 > 15) { steep.val[k] = calm.val[k]; }
    }
    check_update(ctx, matrix, m, &calm, &second);
    assert_int_equal(second.lower_groups, first.lower_groups);
    check_update(ctx, matrix, m, &steep, &second);
    assert_true(second.lower_groups > first.lower_groups);
    check_update(ctx, matrix, m, &calm, &third);
    assert_int_equal(third.lower_groups, second.lower_groups);
    tess_precond_destroy(m);
    /* host memory, which a GPU's context does not count, was released with the requested sizes */
    if (ctx->device == TESS_DEVICE_CPU) { assert_int_equal(ctx->held_bytes, held); }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    oracle_free(&calm);
    oracle_free(&steep);
}

/* ---- what is left to level sets ---- */

/* Few level sets; more rows than blocks have space for; rows too long for a record, found with the values. */
static void the_rest_is_solved_by_level_sets(void **state)
{
    const int64_t many = on_gpu_or_emulated(300000, 130000);
    oracle_csr few = red_black(41), large = oracle_tridiagonal(many, -1.0, 3.0, -1.0), dense = arrow(9000, false);
    const oracle_csr *const problems[] = {&few, &large, &dense};
    double *r = random_values(many, 7, -1.0, 1.0), *z = test_allocate(2 * many, sizeof *z);

    (void)state;
    for (int64_t i = 0; i + 1 < dense.nrows; i++) { /* a chain, so that level sets are many */
        assert_true(dense.row_ptr[i + 1] > dense.row_ptr[i]);
    }
    for (int c = 0; c < 3; c++) {
        const int64_t n = problems[c]->nrows;
        tess_precond_options options = factor_options(TESS_PRECOND_ILU0);
        tess_precond_factors facts = {.size = sizeof facts};
        tess_context *ctx = open_device(2);
        tess_matrix *matrix = make_matrix(ctx, problems[c]);
        tess_precond *m = NULL;

        apply_merged(problems[c], options, 2, r, z, &facts);
        assert_int_equal(facts.lower_groups, facts.lower_level_sets);
        assert_int_equal(facts.entries, facts.nonzeros);
        assert_ok(ctx, tess_precond_create(matrix, &options, &m));
        apply_precond(m, n, r, z + n);
        assert_true(same_bits(z, z + n, n));
        tess_precond_destroy(m);
        tess_matrix_destroy(matrix);
        tess_context_destroy(ctx);
    }
    oracle_free(&few);
    oracle_free(&large);
    oracle_free(&dense);
    free(r);
    free(z);
}

#define MERGED_TESTS                                                                                               \
    cmocka_unit_test(merged_level_sets_solve_the_same_system), cmocka_unit_test(rows_of_all_lengths),              \
        cmocka_unit_test(threads_do_not_change_a_bit), cmocka_unit_test(rule_balances_steps_and_entries),          \
        cmocka_unit_test(rewritten_rows_are_powers), cmocka_unit_test(growth_ends_groups),                         \
        cmocka_unit_test(what_is_no_number_stays_the_most), cmocka_unit_test(nothing_reads_what_its_group_writes), \
        cmocka_unit_test(records_round_their_values), cmocka_unit_test(groups_stay_while_they_serve),              \
        cmocka_unit_test(the_rest_is_solved_by_level_sets), BY_HOST(merged_level_sets_solve_the_same_system),      \
        BY_HOST(groups_stay_while_they_serve), BY_HOST(the_rest_is_solved_by_level_sets)

#ifndef TESTS_ON_GPU
int main(void)
{
    const struct CMUnitTest tests[] = {MERGED_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
