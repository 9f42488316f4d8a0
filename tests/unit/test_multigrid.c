/* SPDX-License-Identifier: Apache-2.0 */
/* Classical multigrid's parts: splits, interpolation, products of plain matrices. Solves: test_multigrid_solves.c. */
#include "precond/multigrid/classical/interpolation.h"
#include "precond/multigrid/classical/split.h"
#include "precond/multigrid/classical/truncate.h"
#include "precond/multigrid/cycle/cycle.h"
#include "support/gallery.h"
#include "support/test.h"

/* ---- splits ---- */

/* A level: its matrix, strong couplings, split, and the numbers of the coarse unknowns. */
typedef struct level {
    tess_matrix *matrix;
    host_csr a;
    uint8_t *strong, *split;
    int32_t *number;
    int64_t ncoarse;
} level;

static level make_level(tess_context *ctx, tess_matrix *matrix)
{
    level l = {.matrix = matrix};

    assert_ok(ctx, host_csr_from_matrix(matrix, &l.a));
    l.strong = test_allocate(host_csr_nnz(&l.a), 1);
    l.split = test_allocate(l.a.nrows, 1);
    l.number = test_allocate(l.a.nrows, sizeof *l.number);
    amg_find_strong(ctx, &l.a, 0.25, 1.0, l.strong);
    assert_ok(
        ctx,
        amg_split(ctx, &(amg_graph){.n = l.a.nrows, .row_ptr = l.a.row_ptr, .col_ind = l.a.col_ind, .strong = l.strong},
                  1, l.split));
    l.ncoarse = amg_number_coarse(l.a.nrows, l.split, l.number);
    return l;
}

static level open_level(tess_context *ctx, const char *problem)
{
    tess_matrix *matrix = NULL;

    assert_ok(ctx, create_problem(ctx, problem, &matrix));
    return make_level(ctx, matrix);
}

static void close_level(tess_context *ctx, level *l)
{
    free(l->strong);
    free(l->split);
    free(l->number);
    host_csr_release(ctx, &l->a);
    tess_matrix_destroy(l->matrix);
}

static amg_interpolation all_rows(const level *l, int truncation)
{
    return (amg_interpolation){.a = &l->a,
                               .strong = l->strong,
                               .split = l->split,
                               .number = l->number,
                               .ncoarse = l->ncoarse,
                               .nrows = l->a.nrows,
                               .truncation = truncation};
}

/* Large enough for several threads to work. */
static void splits_do_not_depend_on_threads(void **state)
{
    (void)state;
    for (int run = 0; run < 4; run++) {
        tess_context *one = open_cpu(1), *many = open_cpu(run + 1);
        level a = open_level(one, "laplace3d 20"), b = open_level(many, "laplace3d 20");
        host_csr p = {0}, q = {0};

        assert_memory_equal(a.split, b.split, (size_t)a.a.nrows);
        const amg_interpolation by_one = all_rows(&a, 4), by_many = all_rows(&b, 4);

        assert_ok(one, amg_interpolate(one, &by_one, &p));
        assert_ok(many, amg_interpolate(many, &by_many, &q));
        assert_int_equal(host_csr_nnz(&p), host_csr_nnz(&q));
        assert_memory_equal(p.col_ind, q.col_ind, (size_t)host_csr_nnz(&p) * sizeof *p.col_ind);
        assert_true(same_bits(p.val, q.val, host_csr_nnz(&p)));
        host_csr_release(one, &p);
        host_csr_release(many, &q);
        close_level(one, &a);
        close_level(many, &b);
        tess_context_destroy(one);
        tess_context_destroy(many);
    }
}

/* No two coarse unknowns are strongly coupled, and each fine one has a strong coarse neighbour: a maximal independent
   set. */
static void splits_are_maximal_independent_sets(void **state)
{
    tess_context *ctx = open_cpu(2);
    level l = open_level(ctx, "laplace3d 15");

    (void)state;
    for (int64_t i = 0; i < l.a.nrows; i++) {
        int coarse = 0;

        for (int64_t k = l.a.row_ptr[i]; k < l.a.row_ptr[i + 1]; k++) {
            coarse += l.strong[k] && l.split[l.a.col_ind[k]] == AMG_COARSE;
        }
        assert_true(l.split[i] == AMG_COARSE ? coarse == 0 : coarse > 0);
    }
    assert_in_range(l.ncoarse, l.a.nrows / 8, l.a.nrows / 2);
    close_level(ctx, &l);
    tess_context_destroy(ctx);
}

/* Row 1 of a matrix of 4: the signs that the diagonal decides, and the threshold. */
static void strength_follows_the_sign_rule(void **state)
{
    const double rows[2][4] = {{-4.0, 1.0, 0.24, -4.0}, {4.0, -1.0, 4.0, -0.26}};
    const uint8_t expected[2][4] = {{0, 1, 0, 0}, {0, 1, 0, 1}};
    tess_context *ctx = open_cpu(1);

    (void)state;
    for (int c = 0; c < 2; c++) {
        double val[4] = {rows[c][0], rows[c][1], rows[c][2], rows[c][3]};
        int64_t row_ptr[2] = {0, 4};
        int32_t columns[4] = {0, 1, 2, 3};
        uint8_t strong[4];
        const host_csr a = {.nrows = 1, .ncols = 4, .row_ptr = row_ptr, .col_ind = columns, .val = val};

        amg_find_strong(ctx, &a, 0.25, 1.0, strong);
        assert_memory_equal(strong, expected[c], 4);
    }
    tess_context_destroy(ctx);
}

/* ---- interpolation ---- */

/* A Laplacian whose rows sum to zero: no boundary holds it. */
static tess_matrix *make_neumann(tess_context *ctx, int64_t k)
{
    oracle_csr a = oracle_laplace2d(k);
    tess_matrix *m = NULL;

    for (int64_t i = 0; i < a.nrows; i++) {
        double sum = 0.0;
        int64_t diagonal = -1;

        for (int64_t p = a.row_ptr[i]; p < a.row_ptr[i + 1]; p++) {
            if (a.col_ind[p] == i) {
                diagonal = p;
            } else {
                sum += a.val[p];
            }
        }
        a.val[diagonal] = -sum;
    }
    m = make_matrix(ctx, &a);
    oracle_free(&a);
    return m;
}

static void interpolation_reproduces_constants(void **state)
{
    tess_context *ctx = open_cpu(2);
    level l = make_level(ctx, make_neumann(ctx, 40));

    (void)state;
    for (int truncation = 0; truncation <= 4; truncation += 2) {
        const amg_interpolation to = all_rows(&l, truncation);
        host_csr p = {0};

        assert_ok(ctx, amg_interpolate(ctx, &to, &p));
        for (int64_t i = 0; i < p.nrows; i++) {
            const int64_t count = p.row_ptr[i + 1] - p.row_ptr[i];
            double sum = 0.0;

            for (int64_t k = p.row_ptr[i]; k < p.row_ptr[i + 1]; k++) {
                sum += p.val[k];
                assert_true(k == p.row_ptr[i] || p.col_ind[k] > p.col_ind[k - 1]);
            }
            assert_true(count > 0 && (truncation == 0 || count <= truncation));
            assert_at_most(fabs(sum - 1.0), 64.0 * gamma_of(8)); /* sums of some ten terms, scaled once */
        }
        host_csr_release(ctx, &p);
    }
    close_level(ctx, &l);
    tess_context_destroy(ctx);
}

/* One unknown between two coarse ones, and a fine neighbour that hangs on a third: eq. (4.10) by hand. A = the row of a
   chain 0 - 1 - 2 - 3 with couplings -1, diagonal 2; 0 and 3 are coarse. */
static void weights_are_those_of_the_paper(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr chain = oracle_tridiagonal(4, -1.0, 2.0, -1.0);
    level l = make_level(ctx, make_matrix(ctx, &chain));
    const uint8_t split[4] = {AMG_COARSE, AMG_FINE, AMG_FINE, AMG_COARSE};
    amg_interpolation to;
    host_csr p = {0};

    (void)state;
    memcpy(l.split, split, sizeof split);
    l.ncoarse = amg_number_coarse(4, l.split, l.number);
    to = all_rows(&l, 0);
    assert_ok(ctx, amg_interpolate(ctx, &to, &p));
    /* Row 1: k = 2 is its fine neighbour, with a_21 = a_23 = -1 and sum -2: a~_11 = 2 - 1/2, w_13 = 1/2 / (3/2). */
    assert_int_equal(p.row_ptr[2] - p.row_ptr[1], 2);
    assert_true(fabs(p.val[p.row_ptr[1]] - 2.0 / 3.0) <= gamma_of(4));
    assert_true(fabs(p.val[p.row_ptr[1] + 1] - 1.0 / 3.0) <= gamma_of(4));
    host_csr_release(ctx, &p);
    close_level(ctx, &l);
    oracle_free(&chain);
    tess_context_destroy(ctx);
}

static void truncation_keeps_the_sum(void **state)
{
    int32_t column[] = {9, 4, 7, 1, 3, 2};
    double weight[] = {0.1, 0.4, 0.3, 0.05, -0.3, 0.25}, sum = 0.0;
    int64_t count = 0;

    (void)state;
    for (int k = 0; k < 6; k++) {
        sum += weight[k];
    }
    count = amg_truncate_row(3, 6, column, weight);
    assert_int_equal(count, 3);
    assert_true(column[0] == 3 && column[1] == 4 && column[2] == 7); /* sorted; of 0.3 and -0.3 both */
    assert_true(weight[0] < 0.0 && weight[1] > weight[2]);
    assert_true(fabs(weight[0] + weight[1] + weight[2] - sum) <= gamma_of(12));
}

/* ---- products ---- */

static host_csr copy_oracle(tess_context *ctx, const oracle_csr *a)
{
    host_csr out;

    assert_ok(ctx, host_csr_allocate_rows(ctx, a->nrows, a->ncols, &out));
    memcpy(out.row_ptr, a->row_ptr, (size_t)(a->nrows + 1) * sizeof *out.row_ptr);
    assert_ok(ctx, host_csr_allocate_entries(ctx, &out));
    memcpy(out.col_ind, a->col_ind, (size_t)a->nnz * sizeof *out.col_ind);
    memcpy(out.val, a->val, (size_t)a->nnz * sizeof *out.val);
    return out;
}

static double *densify(const host_csr *a, bool absolute)
{
    double *out = test_allocate(a->nrows * a->ncols, sizeof *out);

    for (int64_t i = 0; i < a->nrows * a->ncols; i++) {
        out[i] = 0.0;
    }
    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            out[i * a->ncols + a->col_ind[k]] += absolute ? fabs(a->val[k]) : a->val[k];
        }
    }
    return out;
}

/* a b, m by k and k by n */
static double *multiply_dense(const double *a, const double *b, int64_t m, int64_t k, int64_t n)
{
    double *c = test_allocate(m * n, sizeof *c);

    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            c[i * n + j] = 0.0;
            for (int64_t t = 0; t < k; t++) {
                c[i * n + j] += a[i * k + t] * b[t * n + j];
            }
        }
    }
    return c;
}

static void products_match_dense_ones(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        tess_context *ctx = open_cpu(threads);
        oracle_csr left = oracle_random(211, 150, 9, 3), right = oracle_power_law(150, 4);
        host_csr a = copy_oracle(ctx, &left), b = copy_oracle(ctx, &right), c = {0}, t = {0};
        double *da = densify(&a, false), *db = densify(&b, false), *dc = NULL, *expected = NULL, *bound = NULL;
        double *aa = densify(&a, true), *ab = densify(&b, true), *before = NULL;

        assert_ok(ctx, host_csr_multiply(ctx, &a, &b, true, &c));
        dc = densify(&c, false);
        expected = multiply_dense(da, db, 211, 150, 150);
        bound = multiply_dense(aa, ab, 211, 150, 150);
        for (int64_t k = 0; k < 211 * 150; k++) {
            assert_at_most(fabs(dc[k] - expected[k]), 2.0 * gamma_of(150) * bound[k]);
        }
        before = test_allocate(host_csr_nnz(&c), sizeof *before);
        memcpy(before, c.val, (size_t)host_csr_nnz(&c) * sizeof *before);
        memset(c.val, 0xff, (size_t)host_csr_nnz(&c) * sizeof *c.val);
        assert_ok(ctx, host_csr_multiply_again(ctx, &a, &b, &c));
        assert_true(same_bits(before, c.val, host_csr_nnz(&c)));
        assert_ok(ctx, host_csr_transpose(ctx, &a, &t));
        for (int64_t i = 0; i < t.nrows; i++) {
            for (int64_t k = t.row_ptr[i]; k < t.row_ptr[i + 1]; k++) {
                assert_true(k == t.row_ptr[i] || t.col_ind[k] > t.col_ind[k - 1]);
                assert_true(t.val[k] == da[t.col_ind[k] * 150 + i]);
            }
        }
        assert_int_equal(host_csr_nnz(&t), host_csr_nnz(&a));
        free(da);
        free(db);
        free(dc);
        free(aa);
        free(ab);
        free(expected);
        free(bound);
        free(before);
        host_csr_release(ctx, &a);
        host_csr_release(ctx, &b);
        host_csr_release(ctx, &c);
        host_csr_release(ctx, &t);
        oracle_free(&left);
        oracle_free(&right);
        tess_context_destroy(ctx);
    }
}

/* R A P, compared with (R A) P in dense arithmetic: rows of any length, and with more threads than rows. */
static void galerkin_products_match_dense_ones(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        tess_context *ctx = open_cpu(threads);
        oracle_csr left = oracle_random(120, 211, 9, 3), middle = oracle_power_law(211, 4);
        oracle_csr right = oracle_random(211, 300, 5, 6);
        host_csr r = copy_oracle(ctx, &left), a = copy_oracle(ctx, &middle), p = copy_oracle(ctx, &right), c = {0},
                 ap = {0};
        double *dr = densify(&r, false), *da = densify(&a, false), *dp = densify(&p, false), *dc = NULL;
        double *ra = multiply_dense(dr, da, 120, 211, 211), *expected = multiply_dense(ra, dp, 120, 211, 300);
        double *before = NULL;

        assert_ok(ctx, host_csr_multiply_triple(ctx, &r, &a, &p, &c));
        dc = densify(&c, false);
        for (int64_t k = 0; k < 120 * 300; k++) { /* magnitudes below 1, at most 18 * 211 * 10 terms */
            assert_at_most(fabs(dc[k] - expected[k]), gamma_of(1000.0) * 18.0 * 211.0);
        }
        for (int64_t i = 0; i < c.nrows; i++) {
            for (int64_t k = c.row_ptr[i] + 1; k < c.row_ptr[i + 1]; k++) {
                assert_true(c.col_ind[k] > c.col_ind[k - 1]);
            }
        }
        before = test_allocate(host_csr_nnz(&c), sizeof *before);
        memcpy(before, c.val, (size_t)host_csr_nnz(&c) * sizeof *before);
        for (int turn = 0; turn < 2; turn++) { /* the first finds the pattern of A P, the second has it */
            memset(c.val, 0xff, (size_t)host_csr_nnz(&c) * sizeof *c.val);
            assert_ok(ctx, host_csr_multiply_triple_again(ctx, &r, &a, &p, &ap, &c));
            assert_true(same_bits(before, c.val, host_csr_nnz(&c)));
        }
        host_csr_release(ctx, &ap);
        free(dr);
        free(da);
        free(dp);
        free(dc);
        free(ra);
        free(expected);
        free(before);
        host_csr_release(ctx, &r);
        host_csr_release(ctx, &a);
        host_csr_release(ctx, &p);
        host_csr_release(ctx, &c);
        oracle_free(&left);
        oracle_free(&middle);
        oracle_free(&right);
        tess_context_destroy(ctx);
    }
}

/* ---- K cycles ---- */

static double dot_of(const double *x, const double *y, int64_t n)
{
    return (double)oracle_dot(x, y, n);
}

/* Two steps of flexible CG minimize over what both gave: the residual is orthogonal to the first one, and to x. */
static void k_cycles_minimize(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = NULL;
    tess_precond_options options;
    amg_hierarchy h = {.ctx = ctx, .coarsening = &amg_classical};
    amg_cycle c = {.ctx = ctx, .ratio = 4.0};
    const amg_cycle_level *l = NULL;
    double *b = NULL, *r = NULL;

    (void)state;
    tess_precond_options_init(&options);
    options.amg.cycle = TESS_AMG_K;
    options.amg.degree = 1; /* a weak smoother, so that the second step is needed */
    options.amg.aggressive = 2;
    options.amg.coarsest = 10;
    h.options = options.amg;
    c.options = options.amg;
    assert_ok(ctx, create_problem(ctx, "anisotropic2d 60 1e-2", &matrix));
    assert_ok(ctx, amg_hierarchy_build(&h, matrix));
    assert_ok(ctx, amg_cycle_open(&c, &h, TESS_AMG_PRECISION_FP64, false));
    assert_true(c.count >= 3);
    l = &c.level[1];
    b = random_values(l->n, 3, -1.0, 1.0);
    r = test_allocate(l->n, sizeof *r);
    memcpy(l->residual, b, (size_t)l->n * sizeof *b);
    memset(l->product, 0, (size_t)l->n * sizeof *b);
    assert_ok(ctx, amg_run_flexible(&c, 1));
    assert_true(dot_of(l->product, l->product, l->n) > 0.0); /* there was a second step */
    assert_ok(ctx, l->a->ops->spmv(l->a, &(tess_spmv_args){.x = l->x, .y = r, .residual = b}));
    assert_at_most(fabs(dot_of(r, l->first, l->n)),
                   1e6 * U64 * sqrt(dot_of(b, b, l->n) * dot_of(l->first, l->first, l->n)));
    assert_at_most(fabs(dot_of(r, l->x, l->n)), 1e6 * U64 * sqrt(dot_of(b, b, l->n) * dot_of(l->x, l->x, l->n)));
    free(b);
    free(r);
    amg_cycle_close(&c);
    amg_hierarchy_close(&h);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

/* Weights that differ by rounding count as equal: the first column stays, as on every device. */
static void truncation_ignores_rounding(void **state)
{
    int32_t column[] = {5, 1, 3};
    double weight[] = {0.25 * (1.0 + 0x1p-50), 0.25, 0.5};

    (void)state;
    assert_int_equal(amg_truncate_row(2, 3, column, weight), 2);
    assert_int_equal(column[0], 1);
    assert_int_equal(column[1], 3);
}

/* Parts of the coarsening's time, of the last set-up alone. */
static void stages_are_timed(void **state)
{
    tess_context *ctx = open_cpu(2);
    tess_precond_options options;
    tess_matrix *matrix = NULL;
    amg_hierarchy h;

    (void)state;
    tess_precond_options_init(&options);
    h = (amg_hierarchy){.ctx = ctx, .options = options.amg};
    assert_ok(ctx, create_problem(ctx, "laplace3d 16", &matrix));
    assert_ok(ctx, amg_hierarchy_build(&h, matrix));
    for (int again = 0; again < 2; again++) {
        const double *s = h.stage_seconds;

        assert_null(h.device);
        assert_true(s[AMG_STAGE_INTERPOLATION] > 0.0 && s[AMG_STAGE_PRODUCT] == h.product_seconds);
        assert_true(again ? s[AMG_STAGE_SPLIT] == 0.0 && s[AMG_STAGE_STRENGTH] == 0.0
                          : s[AMG_STAGE_SPLIT] > 0.0 && s[AMG_STAGE_STRENGTH] > 0.0);
        assert_at_most(s[AMG_STAGE_STRENGTH] + s[AMG_STAGE_SPLIT] + s[AMG_STAGE_INTERPOLATION], h.coarsening_seconds);
        assert_ok(ctx, amg_hierarchy_renew(&h, matrix));
    }
    amg_hierarchy_close(&h);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(splits_do_not_depend_on_threads),
                                       cmocka_unit_test(splits_are_maximal_independent_sets),
                                       cmocka_unit_test(strength_follows_the_sign_rule),
                                       cmocka_unit_test(interpolation_reproduces_constants),
                                       cmocka_unit_test(weights_are_those_of_the_paper),
                                       cmocka_unit_test(truncation_keeps_the_sum),
                                       cmocka_unit_test(products_match_dense_ones),
                                       cmocka_unit_test(galerkin_products_match_dense_ones),
                                       cmocka_unit_test(truncation_ignores_rounding),
                                       cmocka_unit_test(stages_are_timed),
                                       cmocka_unit_test(k_cycles_minimize)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
