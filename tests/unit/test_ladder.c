/* SPDX-License-Identifier: Apache-2.0 */
/* The order of attempts by device, from facts alone; and what an iteration and a set-up cost beside what was measured.
 */
#include "auto/auto.h"
#include "auto/ladder.h"
#include "support/test.h"

enum { MOST = 5 };

typedef struct order_case {
    const char *name;
    rates_kind device;
    matrix_facts facts;
    tess_precond_kind expected[MOST]; /* of the first steps; 0 (none): no more are looked at */
} order_case;

#define SPD(rows, entries, depth)                                                                               \
    {                                                                                                           \
        .n = (rows), .nnz = (entries), .symmetric = true, .finite = true, .positive = (rows), .levels = (depth) \
    }
#define GENERAL(rows, entries, depth)                                                                                 \
    {                                                                                                                 \
        .n = (rows), .nnz = (entries), .finite = true, .positive = (rows), .levels = (depth), .above = (entries) / 2, \
        .below = (entries) / 2                                                                                        \
    }
#define JACOBI TESS_PRECOND_JACOBI
#define IC0 TESS_PRECOND_IC0
#define ILU0 TESS_PRECOND_ILU0
#define FSAI TESS_PRECOND_FSAI
#define AMG TESS_PRECOND_AMG
#define CHOLESKY TESS_PRECOND_CHOLESKY
#define LU TESS_PRECOND_LU
#define ICT TESS_PRECOND_ICT

static const order_case cases[] = {
    /* A host takes the lists as they are: multigrid first where triangles are large. */
    {"small, host", RATES_HOST, SPD(1000, 5000, 60), {JACOBI, IC0, CHOLESKY, LU, ICT}},
    {"large, host", RATES_HOST, SPD(1000000, 7000000, 300), {JACOBI, AMG, IC0, CHOLESKY, LU}},
    {"chain, host", RATES_HOST, SPD(100000, 300000, 100000), {JACOBI, IC0, AMG, CHOLESKY, LU}},
    /* Small systems: an approximate inverse is set up first. The host's factors take less than the set-up of IC(0);
       those of cuDSS do not. */
    {"small, gpu", RATES_GPU, SPD(1000, 5000, 60), {JACOBI, FSAI, CHOLESKY, LU, IC0}},
    {"small, cuDSS", RATES_GPU_CUDSS, SPD(1000, 5000, 60), {JACOBI, FSAI, IC0, CHOLESKY, LU}},
    {"bcsstk18, gpu", RATES_GPU, SPD(9000, 149090, 1000), {JACOBI, FSAI, CHOLESKY, LU, IC0}},
    /* Where multigrid suits the matrix, the inverse comes behind it. */
    {"wathen120, gpu", RATES_GPU, SPD(36441, 565761, 400), {JACOBI, AMG, FSAI, IC0, CHOLESKY}},
    {"wathen120, cuDSS", RATES_GPU_CUDSS, SPD(36441, 565761, 400), {JACOBI, AMG, FSAI, IC0, CHOLESKY}},
    {"laplace3d:100, cuDSS", RATES_GPU_CUDSS, SPD(1000000, 6940000, 298), {JACOBI, AMG, FSAI, IC0, CHOLESKY}},
    /* Triangles of few rows may go before multigrid, and the inverse before them. */
    {"laplace2d:120, cuDSS", RATES_GPU_CUDSS, SPD(14400, 71520, 60), {JACOBI, FSAI, IC0, AMG, CHOLESKY}},
    /* As many levels as rows: triangles would wait for each, so that they follow factors. */
    {"chain, gpu", RATES_GPU, SPD(1000000, 3000000, 1000000), {JACOBI, AMG, FSAI, CHOLESKY, LU}},
    {"chain, cuDSS", RATES_GPU_CUDSS, SPD(1000000, 3000000, 1000000), {JACOBI, AMG, FSAI, CHOLESKY, LU}},
    {"unsymmetric, host", RATES_HOST, GENERAL(50000, 300000, 200), {JACOBI, AMG, ILU0, LU, LU}},
    {"one way, host",
     RATES_HOST,
     {.n = 500000,
      .nnz = 2500000,
      .finite = true,
      .positive = 500000,
      .levels = 1400,
      .above = 1000000,
      .below = 1000000,
      .one_way = 0.97},
     {JACOBI, ILU0, AMG, LU, LU}},
    {"unsymmetric, gpu", RATES_GPU, GENERAL(50000, 300000, 200), {JACOBI, AMG, ILU0, LU, LU}},
    {"unsymmetric chain, gpu", RATES_GPU, GENERAL(50000, 300000, 50000), {JACOBI, AMG, LU, LU, ILU0}},
};

static tess_solve_options automatic(void)
{
    tess_solve_options options;

    tess_solve_options_init(&options);
    return options;
}

static void attempts_are_in_this_order(void **state)
{
    const tess_solve_options options = automatic();

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const order_case *t = &cases[c];
        ladder l;

        make_ladder(rates_of_kind(t->device), family_of(&t->facts), &t->facts, &options, &l);
        for (int i = 0; i < MOST && t->expected[i]; i++) {
            if (i < l.count && l.step[i].precond == t->expected[i]) { continue; }
            for (int k = 0; k < l.count; k++) {
                print_error("  %d %s %s, cost %g\n", k, tess_solver_kind_name(l.step[k].solver),
                            tess_precond_kind_name(l.step[k].precond),
                            step_cost(rates_of_kind(t->device), &t->facts, &l.step[k]));
            }
            fail_msg("%s: step %d is not %s", t->name, i, tess_precond_kind_name(t->expected[i]));
        }
        assert_int_equal(l.step[l.count - 1].limit, LIMIT_NONE);
    }
}

/* Factors in FP64 come after those in FP32, and nothing is lost or doubled by sorting. */
static void sorting_keeps_all_steps(void **state)
{
    const tess_solve_options options = automatic();

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const matrix_facts *f = &cases[c].facts;
        ladder listed, sorted;
        int low = -1, high = -1;

        make_ladder(rates_of_kind(RATES_HOST), family_of(f), f, &options, &listed);
        make_ladder(rates_of_kind(RATES_GPU_CUDSS), family_of(f), f, &options, &sorted);
        for (int i = 0; i < sorted.count; i++) { /* which a host does not have */
            if (!has_inverse(&sorted.step[i])) { continue; }
            memmove(&sorted.step[i], &sorted.step[i + 1], (size_t)(sorted.count - i - 1) * sizeof sorted.step[0]);
            sorted.count--;
        }
        assert_int_equal(listed.count, sorted.count);
        for (int i = 0; i < listed.count; i++) {
            int found = 0;

            for (int k = 0; k < sorted.count; k++) {
                found += memcmp(&listed.step[i], &sorted.step[k], sizeof listed.step[i]) == 0;
            }
            assert_int_equal(found, 1);
            if (sorted.step[i].limit != LIMIT_DIRECT) { continue; }
            if (sorted.step[i].factors == TESS_PRECISION_FP32) { low = i; }
            if (sorted.step[i].factors == TESS_PRECISION_FP64) { high = i; }
        }
        assert_true(low >= 0 && low < high);
    }
}

/* A preconditioner that the caller named leaves nothing to sort. */
static void a_named_preconditioner_stays(void **state)
{
    const matrix_facts f = SPD(1000, 5000, 60);
    tess_solve_options options = automatic();
    ladder l;

    (void)state;
    options.precond.kind = TESS_PRECOND_ICT;
    make_ladder(rates_of_kind(RATES_GPU), family_of(&f), &f, &options, &l);
    assert_int_equal(l.count, 2);
    assert_int_equal(l.step[0].solver, TESS_SOLVER_CG);
    assert_int_equal(l.step[1].solver, TESS_SOLVER_GMRES);
}

/* CG and MINRES need a symmetric M. */
static void an_unsymmetric_preconditioner_has_its_methods(void **state)
{
    const matrix_facts f = SPD(1000, 5000, 60);
    const tess_precond_kind kinds[] = {TESS_PRECOND_ILUT, TESS_PRECOND_ISAI, TESS_PRECOND_AMG, TESS_PRECOND_SADDLE};
    ladder l;

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tess_solve_options options = automatic();

        options.precond.kind = kinds[k];
        options.precond.amg.restriction = TESS_AMG_RESTRICTION_AIR;
        make_ladder(rates_of_kind(RATES_GPU), family_of(&f), &f, &options, &l);
        assert_int_equal(l.count, 2);
        assert_int_equal(l.step[0].solver, TESS_SOLVER_BICGSTAB);
        assert_int_equal(l.step[1].solver, TESS_SOLVER_GMRES);
    }
}

/* K cycles are no linear preconditioner. */
static void a_varying_preconditioner_has_a_flexible_method(void **state)
{
    const matrix_facts f = SPD(1000, 5000, 60);
    const tess_precond_kind kinds[] = {TESS_PRECOND_AMG, TESS_PRECOND_SADDLE};
    ladder l;

    (void)state;
    for (int k = 0; k < 2; k++) {
        tess_solve_options options = automatic();

        options.precond.kind = kinds[k];
        options.precond.amg.cycle = TESS_AMG_K;
        make_ladder(rates_of_kind(RATES_GPU), family_of(&f), &f, &options, &l);
        assert_int_equal(l.count, 1);
        assert_int_equal(l.step[0].solver, TESS_SOLVER_FGMRES);
    }
}

/* Within a factor of 2 of what rates.c cites. */
/* Whatever the library of a step with factors reports, a step follows; a fault of the steps without one ends the solve.
 */
static void a_failed_library_is_passed_over(void **state)
{
    static const tess_status reports[] = {TESS_UNSUPPORTED, TESS_SINGULAR, TESS_OUT_OF_MEMORY, TESS_INTERNAL,
                                          TESS_TIMED_OUT};
    const ladder_step direct = {.precond = TESS_PRECOND_LU, .limit = LIMIT_DIRECT},
                      inverse = {.precond = FSAI, .limit = LIMIT_BUDGET},
                      plain = {.precond = TESS_PRECOND_JACOBI, .limit = LIMIT_BUDGET};

    (void)state;
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        assert_true(may_skip(&direct, reports[i]));
    }
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        assert_true(may_skip(&inverse, reports[i]));
    }
    assert_false(may_skip(&direct, TESS_CALLBACK));
    assert_false(may_skip(&plain, TESS_INTERNAL));
    assert_false(may_skip(&plain, TESS_OUT_OF_MEMORY));
}

/* Multigrid takes the matrix as it is, and CG with Jacobi scales rows itself, up to 1 over the unit roundoff. */
static void check_scales(double ratio, bool jacobi_scales)
{
    tess_solve_options options = automatic();
    matrix_facts f = SPD(50000, 300000, 200);
    int scaled = 0;
    ladder l;

    f.least_row = 1.0;
    f.greatest_row = ratio;
    options.stop_norm = TESS_STOP_NORM_BOTH;
    make_ladder(rates_of_kind(RATES_GPU), FAMILY_POSITIVE, &f, &options, &l);
    for (int k = 0; k < l.count; k++) {
        const bool jacobi = l.step[k].precond == JACOBI, last = l.step[k].limit == LIMIT_NONE;
        const bool itself = l.step[k].precond == AMG || (jacobi && (jacobi_scales || last));

        assert_int_equal(l.step[k].scale, itself ? TESS_SCALING_NONE : TESS_SCALING_SYMMETRIC);
        scaled += !itself;
    }
    assert_true(scaled > 2 && scaled < l.count);
}

static void rows_apart_are_scaled_once(void **state)
{
    (void)state;
    check_scales(0x1p30, true);
    check_scales(0x1p52, true);
    check_scales(0x1p53, false);
}

static void check_measured(double estimate, double measured)
{
    assert_true(estimate < 2.0 * measured && measured < 2.0 * estimate);
}

static void estimates_meet_measurements(void **state)
{
    const cost_rates *gpu = rates_of_kind(RATES_GPU), *host = rates_of_kind(RATES_HOST);
    const matrix_facts cube = SPD(3375000, 23490000, 448), larger = SPD(16777216, 117047296, 766),
                       dense = SPD(2097152, 55742968, 510), elastic = SPD(202800, 8705406, 400),
                       road = SPD(32580, 155598, 100), poisson = SPD(4096, 20224, 127);
    const ladder_step minres = {TESS_SOLVER_MINRES, TESS_PRECOND_NONE,    TESS_PRECISION_FP64,
                                TESS_SCALING_NONE,  TESS_REORDERING_NONE, LIMIT_BUDGET};
    const ladder_step cg = {TESS_SOLVER_CG,       JACOBI,      TESS_PRECISION_FP64, TESS_SCALING_NONE,
                            TESS_REORDERING_NONE, LIMIT_BUDGET};
    const ladder_step ic0 = {TESS_SOLVER_CG,       IC0,         TESS_PRECISION_FP32, TESS_SCALING_NONE,
                             TESS_REORDERING_NONE, LIMIT_BUDGET};
    const ladder_step amg = {TESS_SOLVER_CG,       AMG,         TESS_PRECISION_FP32, TESS_SCALING_NONE,
                             TESS_REORDERING_NONE, LIMIT_BUDGET};

    const matrix_facts inclusions = SPD(345744, 26869950, 100);
    const matrix_facts circuit = SPD(2101356, 10173748, 100), plates = SPD(263376, 10287600, 100);
    const ladder_step fsai = {TESS_SOLVER_CG,       FSAI,        TESS_PRECISION_FP16, TESS_SCALING_NONE,
                              TESS_REORDERING_NONE, LIMIT_BUDGET};

    (void)state;
    check_measured(iteration_cost(gpu, &cube, &fsai), 249e-6);
    check_measured(iteration_cost(gpu, &dense, &fsai), 313e-6);
    check_measured(iteration_cost(gpu, &circuit, &fsai), 154e-6);
    check_measured(iteration_cost(gpu, &plates, &fsai), 84e-6);
    check_measured(trial_cost(gpu, &poisson, &fsai), 1.3e-3 + 20 * 18e-6);
    check_measured(iteration_cost(gpu, &cube, &cg), 148e-6);
    check_measured(iteration_cost(gpu, &larger, &cg), 651e-6);
    check_measured(iteration_cost(gpu, &dense, &cg), 202e-6);
    check_measured(iteration_cost(gpu, &elastic, &cg), 47e-6);
    check_measured(iteration_cost(gpu, &cube, &amg), 0.95e-3);
    check_measured(iteration_cost(gpu, &larger, &amg), 3.3e-3);
    check_measured(iteration_cost(gpu, &dense, &amg), 1.15e-3);
    check_measured(iteration_cost(gpu, &elastic, &amg), 0.56e-3);
    check_measured(iteration_cost(gpu, &inclusions, &amg), 0.65e-3);
    check_measured(multigrid_cost(gpu, &cube), 33e-3 + 20 * 0.95e-3);
    check_measured(multigrid_cost(gpu, &larger), 122e-3 + 20 * 3.3e-3);
    check_measured(multigrid_cost(gpu, &dense), 35e-3 + 20 * 1.15e-3);
    check_measured(multigrid_cost(gpu, &elastic), 20e-3 + 20 * 0.56e-3);
    check_measured(trial_cost(gpu, &inclusions, &fsai), 88e-3 + 20 * 166e-6);
    check_measured(least_direct_cost(rates_of_kind(RATES_GPU_CUDSS), &inclusions), 1.16);
    check_measured(iteration_cost(gpu, &road, &minres), 20e-6);
    /* merged levels take a third of what the table says, others twice that */
    assert_true(iteration_cost(gpu, &poisson, &ic0) > 76e-6 && iteration_cost(gpu, &poisson, &ic0) < 6 * 76e-6);
    assert_true(iteration_cost(host, &poisson, &ic0) < iteration_cost(gpu, &poisson, &ic0));
}

/* Which Laplacians a diagonal cannot solve before multigrid does. Measured with random b to 1e-8: 518 iterations of CG
   for laplace3d:150, 844 for :256, 248 for laplace3d27:128, 221 for laplace3d:60, and 1,188 for laplace2d:400. */
static void distance_forbids_a_diagonal(void **state)
{
    static const struct {
        rates_kind device;
        tess_solver_kind solver;
        int64_t n, nnz, null_rows, bandwidth;
        double far_share, measured; /* iterations; 0: not measured */
        bool hopeless;
        int modes;
    } grids[] = {
        {RATES_GPU, TESS_SOLVER_CG, 16777216, 117047296, 16387064, 65536, 1.0 / 3, 844, true, 0}, /* laplace3d:256 */
        {RATES_GPU, TESS_SOLVER_CG, 3375000, 23490000, 3241792, 22500, 1.0 / 3, 518, true, 0},    /* laplace3d:150 */
        {RATES_GPU, TESS_SOLVER_CG, 1000000, 6940000, 941192, 10000, 1.0 / 3, 0, false, 0},       /* laplace3d:100 */
        {RATES_GPU, TESS_SOLVER_CG, 2097152, 55742968, 2000376, 16513, 18.0 / 26, 248, false, 0}, /* laplace3d27:128 */
        {RATES_GPU, TESS_SOLVER_CG, 2250000, 20232004, 2244004, 1501, 0.0, 0, true, 0},           /* stretched2d:1500 */
        {RATES_GPU, TESS_SOLVER_BICGSTAB, 6250000, 31240000, 6240004, 2500, 0.5, 0, true, 0},     /* uniflow2d:2500 */
        {RATES_HOST, TESS_SOLVER_CG, 250000, 1248000, 248004, 500, 0.5, 0, true, 0},              /* laplace2d:500 */
        {RATES_HOST, TESS_SOLVER_CG, 160000, 798400, 158404, 400, 0.5, 1188, true, 0},            /* laplace2d:400 */
        {RATES_HOST, TESS_SOLVER_CG, 216000, 1490400, 195112, 3600, 1.0 / 3, 221, false, 0},      /* laplace3d:60 */
        {RATES_HOST, TESS_SOLVER_CG, 250000, 1248000, 100000, 500, 0.5, 0, false, 0}, /* most rows have a sum */
        {RATES_HOST, TESS_SOLVER_CG, 250000, 1248000, 248004, 249999, 1e-5, 0, false,
         0}, /* an entry couples both ends */
        /* elastic bodies: elasticity3d:48 and :24, and two that were assembled */
        {RATES_GPU, TESS_SOLVER_CG, 345744, 26869950, 338541, 7355, 0.61, 0, true, 6},
        {RATES_GPU, TESS_SOLVER_CG, 345744, 26869950, 338541, 7355, 0.61, 0, false, 0},
        {RATES_GPU, TESS_SOLVER_CG, 45000, 3357270, 43125, 1955, 0.607, 1367, false, 6},
        {RATES_HOST, TESS_SOLVER_CG, 37800, 1565262, 37125, 2570, 0.417, 915, false, 6},
        {RATES_HOST, TESS_SOLVER_CG, 91200, 3858222, 90002, 4625, 0.4175, 1239, false, 6},
    };

    (void)state;
    for (size_t k = 0; k < sizeof grids / sizeof *grids; k++) {
        matrix_facts f = SPD(grids[k].n, grids[k].nnz, 1);
        ladder_step s = {.solver = grids[k].solver, .precond = JACOBI, .limit = LIMIT_BUDGET};
        const cost_rates *rates = rates_of_kind(grids[k].device);

        f.null_rows = grids[k].null_rows;
        f.bandwidth = grids[k].bandwidth;
        f.far_share = grids[k].far_share;
        f.symmetric = grids[k].solver == TESS_SOLVER_CG;
        const double least = least_iterations(&f, &s, 1e-8, grids[k].modes);

        assert_int_equal(least * iteration_cost(rates, &f, &s) > multigrid_cost(rates, &f), grids[k].hopeless);
        if (grids[k].measured > 0.0) {
            assert_true(least > 0.5 * grids[k].measured && least < 1.15 * grids[k].measured);
        }
        s.precond = AMG;
        assert_true(least_iterations(&f, &s, 1e-8, grids[k].modes) == 0.0);
    }
}

/* Precisions of the steps with LU, in order: 64, 32, 3264, ... */
static int lu_precisions(const matrix_facts *f)
{
    const tess_solve_options options = automatic();
    ladder l;
    int digits = 0;

    make_ladder(rates_of_kind(RATES_HOST), family_of(f), f, &options, &l);
    for (int i = 0; i < l.count; i++) {
        if (l.step[i].precond == LU) { digits = 100 * digits + (l.step[i].factors == TESS_PRECISION_FP64 ? 64 : 32); }
    }
    return digits;
}

/* The facts are those of the real form: factors of a complex matrix have half the rows and a quarter of the entries,
   and its products complex scalars, but where it is Hermitian. */
static void complex_matrices_have_costs_of_their_own(void **state)
{
    static const matrix_facts real = GENERAL(8000, 80000, 100), definite = SPD(8000, 80000, 100);
    static const ladder_step bicgstab = {.solver = TESS_SOLVER_BICGSTAB, .precond = JACOBI},
                             cg = {.solver = TESS_SOLVER_CG, .precond = JACOBI};
    const cost_rates *host = rates_of_kind(RATES_HOST);
    matrix_facts as_complex = real, hermitian = definite, half = real;

    (void)state;
    as_complex.is_complex = hermitian.is_complex = true;
    half.n /= 2;
    half.nnz /= 4;
    assert_true(least_direct_cost(host, &as_complex) == least_direct_cost(host, &half));
    assert_true(least_direct_cost(host, &hermitian) == least_direct_cost(host, &definite)); /* Cholesky's */
    assert_true(iteration_cost(host, &as_complex, &bicgstab) > 2.0 * iteration_cost(host, &real, &bicgstab));
    assert_true(iteration_cost(host, &hermitian, &cg) == iteration_cost(host, &definite, &cg));
    assert_int_equal(lu_precisions(&real), 3264);
    assert_int_equal(lu_precisions(&as_complex), 64);
    as_complex.n = 100000;
    assert_int_equal(lu_precisions(&as_complex), 3264);
}

/* Costs that MUMPS predicts with OpenBLAS: seconds, of real matrices, and of the faster of the two. */
static void factors_come_before_multigrid(void **state)
{
    static const struct {
        int64_t rows, entries, near_null;
        double direct;
        bool expected;
    } cases[] = {{15439, 252241, 1390, 0.06, true},     /* bcsstk25: 0.08 and 9.8 */
                 {50000, 349968, 0, 0.27, true},        /* cvxbqp1: 0.20 and 6.9 */
                 {17361, 340431, 0, 0.05, true},        /* gyro_m: 0.05 and 0.21 */
                 {150102, 726674, 147100, 0.50, false}, /* G2_circuit: 0.48 and 0.32 */
                 {1000000, 7000000, 0, 1000.0, false}}; /* too expensive to come first */
    const cost_rates *host = rates_of_kind(RATES_HOST);

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        matrix_facts f = SPD(cases[k].rows, cases[k].entries, 300);

        f.near_null_rows = cases[k].near_null;
        assert_int_equal(suits_factors(host, &f, cases[k].direct), cases[k].expected);
        f.near_null_rows = f.n;
        assert_false(suits_factors(host, &f, cases[k].direct));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(attempts_are_in_this_order),
                                       cmocka_unit_test(sorting_keeps_all_steps),
                                       cmocka_unit_test(a_named_preconditioner_stays),
                                       cmocka_unit_test(an_unsymmetric_preconditioner_has_its_methods),
                                       cmocka_unit_test(a_varying_preconditioner_has_a_flexible_method),
                                       cmocka_unit_test(a_failed_library_is_passed_over),
                                       cmocka_unit_test(complex_matrices_have_costs_of_their_own),
                                       cmocka_unit_test(rows_apart_are_scaled_once),
                                       cmocka_unit_test(estimates_meet_measurements),
                                       cmocka_unit_test(distance_forbids_a_diagonal),
                                       cmocka_unit_test(factors_come_before_multigrid)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
