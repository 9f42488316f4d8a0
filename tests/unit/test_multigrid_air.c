/* SPDX-License-Identifier: Apache-2.0 */
/* Restriction, splits and smoothers that the matrix asks for: convection, and anisotropy at an angle to the grid. */
#include "precond/multigrid/by_matrix.h"
#include "precond/multigrid/classical/restriction.h"
#include "precond/multigrid/classical/split.h"
#include "support/gallery.h"
#include "support/multigrid.h"

/* ---- a level ---- */

/* A matrix, its split in turn, and the numbers of its coarse unknowns. */
typedef struct split_matrix {
    tess_context *ctx;
    tess_matrix *matrix;
    host_csr a;
    uint8_t *strong, *split;
    int32_t *number, *list;
    int64_t ncoarse;
} split_matrix;

static split_matrix open_level(const oracle_csr *a, bool second)
{
    split_matrix m = {.ctx = open_cpu(2)};
    amg_graph graph;

    m.matrix = make_matrix(m.ctx, a);
    assert_ok(m.ctx, host_csr_from_matrix(m.matrix, &m.a));
    m.strong = test_allocate(host_csr_nnz(&m.a), sizeof *m.strong);
    m.split = test_allocate(a->nrows, sizeof *m.split);
    m.number = test_allocate(a->nrows, sizeof *m.number);
    m.list = test_allocate(a->nrows, sizeof *m.list);
    amg_find_strong(m.ctx, &m.a, 0.25, 1.0, m.strong);
    graph = (amg_graph){.n = a->nrows, .row_ptr = m.a.row_ptr, .col_ind = m.a.col_ind, .strong = m.strong};
    assert_ok(m.ctx, amg_split_in_turn(m.ctx, &graph, second, m.split));
    m.ncoarse = amg_number_coarse(a->nrows, m.split, m.number);
    for (int64_t i = 0; i < a->nrows; i++) {
        if (m.number[i] >= 0) { m.list[m.number[i]] = (int32_t)i; }
    }
    return m;
}

static void close_level(split_matrix *m)
{
    host_csr_release(m->ctx, &m->a);
    tess_matrix_destroy(m->matrix);
    tess_context_destroy(m->ctx);
    free(m->strong);
    free(m->split);
    free(m->number);
    free(m->list);
}

static double find(const host_csr *a, int64_t i, int64_t j)
{
    for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
        if (a->col_ind[k] == j) { return a->val[k]; }
    }
    return 0.0;
}

static bool is_strong(const split_matrix *m, int64_t i, int64_t j)
{
    for (int64_t k = m->a.row_ptr[i]; k < m->a.row_ptr[i + 1]; k++) {
        if (m->a.col_ind[k] == j) { return m->strong[k]; }
    }
    return false;
}

/* ---- splits ---- */

static bool share_a_coarse_unknown(const split_matrix *m, int64_t i, int64_t j)
{
    for (int64_t k = m->a.row_ptr[i]; k < m->a.row_ptr[i + 1]; k++) {
        const int32_t c = m->a.col_ind[k];

        if (m->strong[k] && m->split[c] == AMG_COARSE && is_strong(m, j, c)) { return true; }
    }
    return false;
}

/* After the second pass fine unknowns that depend on one another share a coarse one, by its definition. The first alone
   leaves some that do not. */
static void fine_unknowns_share_coarse_ones(void **state)
{
    oracle_csr a = generate_problem("unstructured2d 3000", 1);
    int64_t alone[2] = {0, 0};

    (void)state;
    for (int second = 0; second < 2; second++) {
        split_matrix m = open_level(&a, second);

        for (int64_t i = 0; i < a.nrows; i++) {
            for (int64_t k = m.a.row_ptr[i]; k < m.a.row_ptr[i + 1] && m.split[i] == AMG_FINE; k++) {
                const int32_t j = m.a.col_ind[k];

                alone[second] += m.strong[k] && m.split[j] == AMG_FINE && !share_a_coarse_unknown(&m, i, j);
            }
        }
        close_level(&m);
    }
    assert_true(alone[0] > 0);
    assert_int_equal(alone[1], 0);
    oracle_free(&a);
}

/* On five points each coarse unknown makes its four neighbours fine, and the next has most of these beside it: a
   checkerboard, of one half. An independent set such as that of PMIS has less. */
static void five_points_make_a_checkerboard(void **state)
{
    const int64_t side = 40;
    oracle_csr a = oracle_laplace2d(side);
    split_matrix m = open_level(&a, false);
    int64_t inner = 0, differ = 0;

    (void)state;
    for (int64_t i = side + 1; i < a.nrows - side - 1; i++) {
        if (i % side == 0 || i % side == side - 1) { continue; }
        inner++;
        differ += m.split[i] != m.split[i + 1];
    }
    assert_at_most(fabs((double)m.ncoarse / (double)a.nrows - 0.5), 0.02);
    assert_true((double)differ >= 0.9 * (double)inner);
    close_level(&m);
    oracle_free(&a);
}

/* ---- restriction ---- */

/* sum_k r_k a_kj and the sum of magnitudes, for row i of R. */
static double product_entry(const split_matrix *m, const host_csr *r, int64_t i, int64_t j, double *magnitude)
{
    double sum = 0.0;

    *magnitude = 0.0;
    for (int64_t k = r->row_ptr[i]; k < r->row_ptr[i + 1]; k++) {
        const double term = r->val[k] * find(&m->a, r->col_ind[k], j);

        sum += term;
        *magnitude += fabs(term);
    }
    return sum;
}

static void check_row(const split_matrix *m, const host_csr *r, int64_t i)
{
    for (int64_t k = r->row_ptr[i]; k < r->row_ptr[i + 1]; k++) {
        const int32_t j = r->col_ind[k];
        double magnitude = 0.0, product = 0.0;

        if (k > r->row_ptr[i]) { assert_true(j > r->col_ind[k - 1]); }
        if (j == m->list[i]) {
            assert_true(r->val[k] == 1.0);
            continue;
        }
        assert_int_equal(m->split[j], AMG_FINE);
        assert_true(r->val[k] != 0.0);
        product = product_entry(m, r, i, j, &magnitude);
        assert_at_most(fabs(product), gamma_of(4096.0) * magnitude); /* up to 48 unknowns: elimination, then the sum */
    }
}

/* By its definition, R A is zero at the fine unknowns of a row's pattern. New values on the pattern give the same bits
   for the same matrix. */
static void restriction_does_not_see_near_errors(void **state)
{
    const char *const problems[] = {"recirc2d 24 1 0.0005", "bentpipe2d 24 1 1e-5", "uniflow2d 24 1 0.01 0.7"};

    (void)state;
    for (int p = 0; p < 3; p++) {
        oracle_csr a = generate_problem(problems[p], 1);
        split_matrix m = open_level(&a, true);
        const amg_interpolation to = {.a = &m.a, .split = m.split, .nrows = a.nrows, .ncoarse = m.ncoarse};
        host_csr r = {0};
        double *before = NULL;

        assert_ok(m.ctx, amg_restrict_locally(m.ctx, &to, m.list, &r));
        assert_int_equal(r.nrows, m.ncoarse);
        assert_true(host_csr_nnz(&r) > 2 * m.ncoarse);
        for (int64_t i = 0; i < r.nrows; i++) {
            check_row(&m, &r, i);
        }
        before = test_allocate(host_csr_nnz(&r), sizeof *before);
        memcpy(before, r.val, (size_t)host_csr_nnz(&r) * sizeof *before);
        assert_ok(m.ctx, amg_restrict_again(m.ctx, &to, m.list, &r));
        assert_true(same_bits(before, r.val, host_csr_nnz(&r)));
        free(before);
        host_csr_release(m.ctx, &r);
        close_level(&m);
        oracle_free(&a);
    }
}

/* Flow along lines without diffusion: each line is a bidiagonal matrix, whose ideal restriction is local. A cycle is
   then cyclic reduction, which leaves rounding alone. */
static void flow_along_lines_is_solved_at_once(void **state)
{
    tess_solve_options options = amg_solve(TESS_SOLVER_BICGSTAB);
    tess_solve_result result;

    (void)state;
    options.precond.amg.restriction = TESS_AMG_RESTRICTION_AIR;
    options.precond.amg.precision = TESS_AMG_PRECISION_FP64;
    options.precond.amg.coarsest = 20;
    options.rtol = 1e-10;
    result = solve_problem("uniflow2d 40 1 0", &options);
    assert_true(result.converged);
    assert_in_range(result.iterations, 1, 1);
}

/* ---- facts of matrices ---- */

static amg_matrix_facts facts_of(const oracle_csr *a)
{
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = make_matrix(ctx, a);
    amg_matrix_facts facts;

    assert_ok(ctx, amg_find_matrix_facts(matrix, 1, &facts));
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
    return facts;
}

/* uniflow2d has -d and -(d + c) along the flow and -d twice across it, with d = DIFF (n + 1)^2 and c = CONV (n + 1):
   differences of 2 c over sums of 2 (2 d + c) + 4 d. Rows times factors change neither that nor a symmetric matrix. */
static void unsymmetry_is_that_of_the_flow(void **state)
{
    const double n = 40.0, diffusion = 0.01, d = diffusion * (n + 1.0) * (n + 1.0), c = n + 1.0;
    oracle_csr flow = generate_problem("uniflow2d 40 1 0.01", 1), upwind = generate_problem("uniflow2d 40 1 0", 1);
    oracle_csr laplace = oracle_laplace2d(40);
    amg_matrix_facts facts = facts_of(&flow);

    (void)state;
    assert_at_most(fabs(facts.unsymmetry - c / (4.0 * d + c)), gamma_of(20000.0));
    assert_int_equal(amg_kind_of(&facts), AMG_MATRIX_CONVECTION);
    facts = facts_of(&upwind);
    assert_true(facts.unsymmetry == 1.0);
    assert_int_equal(amg_kind_of(&facts), AMG_MATRIX_STRONG_CONVECTION);
    facts = facts_of(&laplace);
    assert_true(facts.unsymmetry == 0.0 && facts.other_sign == 0.0);
    assert_int_equal(amg_kind_of(&facts), AMG_MATRIX_PLAIN);
    for (int64_t i = 0; i < laplace.nrows; i++) {
        for (int64_t k = laplace.row_ptr[i]; k < laplace.row_ptr[i + 1]; k++) {
            laplace.val[k] *= ldexp(1.0, (int)(i % 20)); /* exact */
        }
    }
    facts = facts_of(&laplace);
    assert_true(facts.unsymmetry == 0.0);
    oracle_free(&flow);
    oracle_free(&upwind);
    oracle_free(&laplace);
}

/* At an angle the stencil has corners of xy / 2 twice with the diagonal's sign, beside xx, yy and xy / 2 twice. */
static void anisotropy_at_an_angle_shows(void **state)
{
    const double pi = acos(-1.0), eps = 1e-3, co = cos(pi / 6.0), si = sin(pi / 6.0);
    const double xx = co * co + eps * si * si, yy = si * si + eps * co * co, xy = (1.0 - eps) * co * si;
    oracle_csr turned = generate_problem("anisotropic2d 60 1e-3 30", 1);
    oracle_csr straight = generate_problem("anisotropic2d 60 1e-3", 1);
    amg_matrix_facts facts = facts_of(&turned);

    (void)state;
    assert_at_most(fabs(facts.other_sign - xy / (2.0 * (xx + yy + xy))), 0.01); /* rows at the boundary: 2 / 60 */
    assert_int_equal(amg_kind_of(&facts), AMG_MATRIX_ANISOTROPIC);
    facts = facts_of(&straight);
    assert_int_equal(amg_kind_of(&facts), AMG_MATRIX_PLAIN);
    oracle_free(&turned);
    oracle_free(&straight);
}

/* ---- by default ---- */

typedef struct by_default {
    const char *problem;
    tess_solver_kind solver;
    tess_amg_smoother smoother;
    tess_amg_restriction restriction;
    double most; /* iterations */
} by_default;

static tess_amg_levels default_levels(const char *problem)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = generate_problem(problem, 2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options options;
    tess_amg_levels levels;
    tess_precond *m = NULL;

    tess_amg_levels_init(&levels);
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_AMG;
    assert_ok(ctx, tess_precond_create(matrix, &options, &m));
    assert_ok(ctx, tess_precond_get_levels(m, &levels));
    tess_precond_destroy(m);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
    return levels;
}

/* The goal for convection is 6 iterations, with up to 90,000 unknowns. For anisotropy: 19 and 14 iterations with 40,000
   unknowns (docs/results/multigrid.md), less with fewer. A polynomial takes more in each. */
static void the_matrix_chooses(void **state)
{
    static const by_default cases[] = {
        {"uniflow2d 100 1 1e-5 0.5", TESS_SOLVER_BICGSTAB, TESS_AMG_FC_JACOBI, TESS_AMG_RESTRICTION_AIR, 6},
        {"bentpipe2d 100 1 1e-5", TESS_SOLVER_BICGSTAB, TESS_AMG_FC_JACOBI, TESS_AMG_RESTRICTION_AIR, 6},
        {"recirc2d 100 1 1e-5", TESS_SOLVER_BICGSTAB, TESS_AMG_FC_JACOBI, TESS_AMG_RESTRICTION_AIR, 6},
        {"recirc2d 100 1 0.001", TESS_SOLVER_BICGSTAB, TESS_AMG_ILU0, TESS_AMG_RESTRICTION_TRANSPOSE, 6},
        {"uniflow2d 100 1 0.005", TESS_SOLVER_BICGSTAB, TESS_AMG_ILU0, TESS_AMG_RESTRICTION_TRANSPOSE, 6},
        {"anisotropic2d 100 1e-3 30", TESS_SOLVER_CG, TESS_AMG_ILU0, TESS_AMG_RESTRICTION_TRANSPOSE, 19},
        {"stretched2d 100 0.1", TESS_SOLVER_CG, TESS_AMG_ILU0, TESS_AMG_RESTRICTION_TRANSPOSE, 14}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const by_default *c = &cases[k];
        const tess_amg_levels levels = default_levels(c->problem);
        tess_solve_options options = solve_options(c->solver);
        tess_solve_result chosen, polynomial;

        assert_int_equal(levels.coarsening, TESS_AMG_CLASSICAL);
        assert_int_equal(levels.smoother, c->smoother);
        assert_int_equal(levels.restriction, c->restriction);
        assert_int_equal(levels.split, TESS_AMG_SPLIT_RUGE_STUEBEN);
        options.rtol = 1e-8;
        options.precond.kind = TESS_PRECOND_AMG;
        chosen = solve_problem(c->problem, &options);
        assert_true(chosen.converged && !chosen.escalated);
        assert_at_most((double)chosen.iterations, c->most);
        options.precond.amg.smoother = TESS_AMG_CHEBYSHEV;
        polynomial = solve_problem(c->problem, &options);
        assert_true(polynomial.iterations > chosen.iterations);
    }
}

/* Long rows, symmetric matrices without couplings of the other sign, and any named part keep the plain choice. */
static void other_matrices_keep_polynomials(void **state)
{
    static const char *const problems[] = {"laplace3d 12", "anisotropic2d 40 1e-3", "laplace3d27 10",
                                           "randomdiffusion2d 40 2"};

    (void)state;
    for (int k = 0; k < 4; k++) {
        const tess_amg_levels levels = default_levels(problems[k]);

        assert_int_equal(levels.smoother, TESS_AMG_CHEBYSHEV);
        assert_int_equal(levels.split, TESS_AMG_SPLIT_PMIS);
        assert_int_equal(levels.restriction, TESS_AMG_RESTRICTION_TRANSPOSE);
    }
}

/* ---- options ---- */

static void expect_refused(tess_context *ctx, const tess_matrix *a, const tess_precond_options *o, const char *word)
{
    tess_precond *m = NULL;

    assert_int_equal(tess_precond_create(a, o, &m), TESS_INVALID_ARGUMENT);
    assert_non_null(strstr(tess_context_last_error(ctx)->message, word));
    assert_null(m);
}

static void what_does_not_fit_is_refused(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_laplace2d(10);
    tess_matrix *matrix = make_matrix(ctx, &a);
    tess_precond_options options;

    (void)state;
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_AMG;
    options.amg.coarsening = TESS_AMG_AGGREGATION;
    options.amg.restriction = TESS_AMG_RESTRICTION_AIR;
    expect_refused(ctx, matrix, &options, "--amg-restriction is for classical");
    options.amg.restriction = TESS_AMG_RESTRICTION_AUTO;
    options.amg.split = TESS_AMG_SPLIT_RUGE_STUEBEN;
    expect_refused(ctx, matrix, &options, "--amg-split is for classical");
    options.amg.split = TESS_AMG_SPLIT_AUTO;
    options.amg.smoother = TESS_AMG_FC_JACOBI;
    expect_refused(ctx, matrix, &options, "fc-jacobi");
    options.amg.coarsening = TESS_AMG_AUTO;
    options.amg.restriction = TESS_AMG_RESTRICTION_TRANSPOSE;
    expect_refused(ctx, matrix, &options, "fc-jacobi");
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    tess_context_destroy(ctx);
}

/* ---- new values ---- */

/* A wind of other strength on the pattern: splits, P and the pattern of R stay. The first values again give the first
   bits. */
static void new_values_keep_patterns(void **state)
{
    tess_context *ctx = open_cpu(2);
    oracle_csr a = generate_problem("recirc2d 60 1 1e-5", 2), other = generate_problem("recirc2d 60 1 5e-5", 2);
    tess_matrix *matrix = make_matrix(ctx, &a);
    double *b = random_values(a.nrows, 5, -1.0, 1.0), *x[3];
    const oracle_csr *values[3] = {&a, &other, &a};
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    tess_solver *solver = NULL;

    (void)state;
    assert_int_equal(other.row_ptr[a.nrows], a.row_ptr[a.nrows]);
    options.rtol = 1e-8;
    options.precond.kind = TESS_PRECOND_AMG;
    options.precond.amg.coarsest = 50;
    assert_ok(ctx, tess_solver_create(matrix, &options, &solver));
    for (int k = 0; k < 3; k++) {
        tess_vector *rhs = make_vector(ctx, a.nrows, b), *solution = NULL;
        tess_solve_result result;

        tess_solve_result_init(&result);
        x[k] = test_allocate(a.nrows, sizeof *x[k]);
        memset(x[k], 0, (size_t)a.nrows * sizeof *x[k]);
        solution = make_vector(ctx, a.nrows, x[k]);
        if (k > 0) {
            assert_ok(ctx, tess_matrix_update_values(matrix, values[k]->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        }
        assert_ok(ctx, tess_solver_solve(solver, rhs, solution, &result));
        assert_true(result.converged);
        assert_at_most((double)result.iterations, 8.0); /* two more than with a pattern of its own */
        assert_ok(ctx, tess_vector_get(solution, x[k], TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        tess_vector_destroy(rhs);
        tess_vector_destroy(solution);
    }
    assert_true(same_bits(x[0], x[2], a.nrows));
    assert_false(same_bits(x[0], x[1], a.nrows));
    for (int k = 0; k < 3; k++) {
        free(x[k]);
    }
    free(b);
    tess_solver_destroy(solver);
    tess_matrix_destroy(matrix);
    oracle_free(&a);
    oracle_free(&other);
    tess_context_destroy(ctx);
}

/* A set-up ends after the level with which the entries pass the limit, and can be closed. */
static void levels_that_grow_end_a_setup(void **state)
{
    const double limits[] = {1.5, 12.0}; /* the levels have 3 times the entries of the matrix */
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = NULL;

    (void)state;
    assert_ok(ctx, create_problem(ctx, "recirc2d 60 1 1e-5", &matrix));
    for (int k = 0; k < 2; k++) {
        amg_hierarchy h = {.ctx = ctx, .most_entries = limits[k]};
        amg_matrix_kind kind = AMG_MATRIX_PLAIN;
        tess_precond_options options;

        tess_precond_options_init(&options);
        h.options = options.amg;
        assert_ok(ctx, amg_choose_by_matrix(matrix, &h.options, &kind));
        assert_int_equal(kind, AMG_MATRIX_STRONG_CONVECTION);
        assert_int_equal(amg_hierarchy_build(&h, matrix), k == 0 ? TESS_OUT_OF_RANGE : TESS_SUCCESS);
        assert_int_equal(h.too_large, k == 0);
        assert_true(k == 0 ? h.count == 2 : h.count > 2);
        amg_hierarchy_close(&h);
    }
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

/* An unsymmetric matrix has no vectors to be found: it chooses as without the wish for them. */
static void a_wish_for_vectors_keeps_the_choice(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_matrix *matrix = NULL;
    amg_matrix_kind kind = AMG_MATRIX_PLAIN;
    tess_precond_options options;

    (void)state;
    assert_ok(ctx, create_problem(ctx, "recirc2d 60 1 1e-5", &matrix));
    tess_precond_options_init(&options);
    options.amg.modes = 3;
    assert_ok(ctx, amg_choose_by_matrix(matrix, &options.amg, &kind));
    assert_int_equal(kind, AMG_MATRIX_STRONG_CONVECTION);
    assert_int_equal(options.amg.modes, 0);
    assert_int_equal(options.amg.restriction, TESS_AMG_RESTRICTION_AIR);
    tess_matrix_destroy(matrix);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(levels_that_grow_end_a_setup),
                                       cmocka_unit_test(a_wish_for_vectors_keeps_the_choice),
                                       cmocka_unit_test(fine_unknowns_share_coarse_ones),
                                       cmocka_unit_test(five_points_make_a_checkerboard),
                                       cmocka_unit_test(restriction_does_not_see_near_errors),
                                       cmocka_unit_test(flow_along_lines_is_solved_at_once),
                                       cmocka_unit_test(unsymmetry_is_that_of_the_flow),
                                       cmocka_unit_test(anisotropy_at_an_angle_shows),
                                       cmocka_unit_test(the_matrix_chooses),
                                       cmocka_unit_test(other_matrices_keep_polynomials),
                                       cmocka_unit_test(what_does_not_fit_is_refused),
                                       cmocka_unit_test(new_values_keep_patterns)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
