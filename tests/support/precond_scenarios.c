/* SPDX-License-Identifier: Apache-2.0 */
#include "support/precond_scenarios.h"

#include "precond/direct/mumps.h"
#include "precond/precond.h"

static tess_status precond(scene *s, tess_precond_kind kind, tess_role_precision role, int adaptive)
{
    tess_precond_options options;
    tess_precond *made = NULL;
    tess_status status = TESS_SUCCESS;

    tess_precond_options_init(&options);
    options.kind = kind;
    options.block_jacobi.block_size = 5;
    options.role = role;
    options.block_jacobi.adaptive = adaptive;
    status = tess_precond_create(s->m, &options, &made);

    assert_true((status == TESS_SUCCESS) == (made != NULL));
    if (status == TESS_SUCCESS) { status = tess_precond_apply(made, s->b, s->x); }
    tess_precond_destroy(made);
    return status;
}

static tess_status jacobi(scene *s)
{
    return precond(s, TESS_PRECOND_JACOBI, (tess_role_precision){0}, 0);
}

static tess_status block_jacobi(scene *s)
{
    return precond(s, TESS_PRECOND_BLOCK_JACOBI, (tess_role_precision){0}, 0);
}

static tess_status polynomial(scene *s)
{
    return precond(s, TESS_PRECOND_POLYNOMIAL, (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32}, 0);
}

/* Copies of a root, and coefficients. */
static tess_status outlying_polynomial(scene *s)
{
    double values[SCENE_N];
    oracle_csr a;
    tess_csr_arrays arrays;
    tess_precond_options options;
    tess_matrix *fresh = NULL;
    tess_precond *made = NULL;
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < SCENE_N; i++) {
        values[i] = i == 3 ? 3e4 : 1.0 + (double)i / SCENE_N;
    }
    a = oracle_diagonal(SCENE_N, values);
    arrays = csr_arrays_of(&a);
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_POLYNOMIAL;
    status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);
    for (int form = 0; form < 2 && status == TESS_SUCCESS; form++) {
        options.polynomial.form = (tess_polynomial_form)form;
        status = tess_precond_create(fresh, &options, &made);
        if (status == TESS_SUCCESS) { status = tess_precond_apply(made, s->b, s->x); }
        tess_precond_destroy(made);
        made = NULL;
    }
    tess_matrix_destroy(fresh);
    oracle_free(&a);
    return status;
}

static tess_status adaptive_block_jacobi(scene *s)
{
    return precond(s, TESS_PRECOND_BLOCK_JACOBI, (tess_role_precision){0}, 1);
}

/* Of a matrix that is long enough: leaves in fp32 and square blocks in tiles, swept triangles in tiles, or merged
   levels or those of colors in fp32. */
static tess_status incomplete(scene *s, tess_precond_kind kind, tess_triangular triangular,
                              tess_factorization factorization)
{
    const int64_t rows = (triangular == TESS_TRIANGULAR_MERGED ? 1 : 3) * SCENE_N; /* each is a level */
    const bool by_host = factorization == TESS_FACTORIZATION_HOST;                 /* which needs shifts here */
    oracle_csr a = oracle_tridiagonal(rows, -1.0, by_host ? 1.0 : 3.0, -1.0);
    const tess_csr_arrays arrays = csr_arrays_of(&a);
    tess_precond_options options;
    tess_matrix *fresh = NULL;
    tess_vector *r = NULL, *z = NULL;
    tess_precond *made = NULL;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    tess_precond_options_init(&options);
    options.kind = kind;
    options.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64};
    options.incomplete.triangular = triangular;
    options.incomplete.factorization = factorization;
    if (triangular != TESS_TRIANGULAR_MERGED && triangular != TESS_TRIANGULAR_COLORS) {
        options.incomplete.squares.policy.policy = TESS_POLICY_MEAN_3STD;
        if (triangular == TESS_TRIANGULAR_BLOCKS) { options.incomplete.leaf = SCENE_N; }
    }
    if (status == TESS_SUCCESS) { status = tess_vector_create(s->ctx, rows, TESS_PRECISION_FP64, &r); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(s->ctx, rows, TESS_PRECISION_FP64, &z); }
    if (status == TESS_SUCCESS) { status = tess_precond_create(fresh, &options, &made); }
    if (status == TESS_SUCCESS) { status = tess_precond_update(made); }
    if (status == TESS_SUCCESS) { status = tess_precond_apply(made, r, z); }
    tess_precond_destroy(made);
    tess_vector_destroy(r);
    tess_vector_destroy(z);
    tess_matrix_destroy(fresh);
    oracle_free(&a);
    return status;
}

static tess_status swept(scene *s)
{
    return incomplete(s, TESS_PRECOND_IC0, TESS_TRIANGULAR_SWEEPS, TESS_FACTORIZATION_DEVICE);
}

static tess_status swept_factors(scene *s)
{
    return incomplete(s, TESS_PRECOND_ILU0, TESS_TRIANGULAR_BLOCKS, TESS_FACTORIZATION_SWEEPS);
}

static tess_status colored(scene *s)
{
    return incomplete(s, TESS_PRECOND_IC0, TESS_TRIANGULAR_COLORS, TESS_FACTORIZATION_DEVICE);
}

static tess_status ilu0(scene *s)
{
    return incomplete(s, TESS_PRECOND_ILU0, TESS_TRIANGULAR_BLOCKS, TESS_FACTORIZATION_DEVICE);
}

static tess_status ic0(scene *s)
{
    return incomplete(s, TESS_PRECOND_IC0, TESS_TRIANGULAR_BLOCKS, TESS_FACTORIZATION_DEVICE);
}

static tess_status ic0_by_host(scene *s)
{
    return incomplete(s, TESS_PRECOND_IC0, TESS_TRIANGULAR_BLOCKS, TESS_FACTORIZATION_HOST);
}

static tess_status merged_by_host(scene *s)
{
    return incomplete(s, TESS_PRECOND_IC0, TESS_TRIANGULAR_MERGED, TESS_FACTORIZATION_HOST);
}

static tess_status merged(scene *s)
{
    return incomplete(s, TESS_PRECOND_ILU0, TESS_TRIANGULAR_MERGED, TESS_FACTORIZATION_DEVICE);
}

static tess_status ilut(scene *s)
{
    return incomplete(s, TESS_PRECOND_ILUT, TESS_TRIANGULAR_BLOCKS, TESS_FACTORIZATION_HOST);
}

static tess_status ict(scene *s)
{
    return incomplete(s, TESS_PRECOND_ICT, TESS_TRIANGULAR_MERGED, TESS_FACTORIZATION_HOST);
}

static tess_status iluk(scene *s)
{
    return incomplete(s, TESS_PRECOND_ILUK, TESS_TRIANGULAR_BLOCKS, TESS_FACTORIZATION_HOST);
}

/* The memory of MUMPS itself does not come from the context. */
static tess_status lu(scene *s)
{
    return precond(s, mumps_is_here() ? TESS_PRECOND_LU : TESS_PRECOND_JACOBI, (tess_role_precision){0}, 0);
}

static tess_status cholesky(scene *s)
{
    return precond(s, mumps_is_here() ? TESS_PRECOND_CHOLESKY : TESS_PRECOND_JACOBI,
                   (tess_role_precision){1, TESS_PRECISION_FP64, TESS_ARITHMETIC_FP64}, 0);
}

/* A preconditioner of a new matrix with these values: made, renewed, applied, and raised to a higher precision. */
static tess_status use_precond(scene *s, const oracle_csr *a, const tess_precond_options *options)
{
    const tess_csr_arrays arrays = csr_arrays_of(a);
    tess_matrix *fresh = NULL;
    tess_vector *r = NULL, *z = NULL;
    tess_precond *made = NULL;
    bool widened = false;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    if (status == TESS_SUCCESS) { status = tess_vector_create(s->ctx, a->nrows, TESS_PRECISION_FP64, &r); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(s->ctx, a->nrows, TESS_PRECISION_FP64, &z); }
    if (status == TESS_SUCCESS) { status = tess_precond_create(fresh, options, &made); }
    if (status == TESS_SUCCESS) {
        status = tess_matrix_update_values(fresh, a->val, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
    }
    if (status == TESS_SUCCESS) { status = tess_precond_update(made); }
    if (status == TESS_SUCCESS) { status = tess_precond_apply(made, r, z); }
    if (status == TESS_SUCCESS) { status = tess_precond_widen(made, &widened); }
    tess_precond_destroy(made);
    tess_vector_destroy(r);
    tess_vector_destroy(z);
    tess_matrix_destroy(fresh);
    return status;
}

/* Of a matrix that has levels, the first of them aggressive; renewed, applied, and raised to a higher precision. */
static tess_status amg_smoothed(scene *s, tess_amg_coarsening coarsening, tess_amg_cycle cycle,
                                tess_amg_smoother smoother)
{
    enum { K = 12 };
    oracle_csr a = oracle_laplace2d(K);
    tess_precond_options options;
    double near[2 * K * K];
    tess_status status = TESS_SUCCESS;

    tess_precond_options_init(&options);
    for (int i = 0; i < 2 * K * K; i++) {
        near[i] = i < K * K ? 1.0 : (double)(i % K);
    }
    if (coarsening == TESS_AMG_AGGREGATION) { /* the constant and a slope */
        options.amg.near_nullspace = near;
        options.amg.near_nullspace_columns = 2;
    }
    options.kind = TESS_PRECOND_AMG;
    options.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32};
    options.amg.coarsening = coarsening;
    options.amg.precision = TESS_AMG_PRECISION_FP16;
    options.amg.smoother = smoother;
    options.amg.cycle = cycle;
    options.amg.aggressive = coarsening == TESS_AMG_CLASSICAL ? 1 : 0;
    options.amg.coarsest = 10;
    status = use_precond(s, &a, &options);
    oracle_free(&a);
    return status;
}

/* Smoothers whose spectra are estimated. */
static tess_status amg_of(scene *s, tess_amg_coarsening coarsening, tess_amg_cycle cycle)
{
    return amg_smoothed(s, coarsening, cycle,
                        coarsening == TESS_AMG_AGGREGATION ? TESS_AMG_BLOCK_JACOBI : TESS_AMG_JACOBI);
}

/* Renewed, applied, and raised to FP64. */
static tess_status jacobi_sweeps(scene *s)
{
    oracle_csr a = oracle_laplace2d(16);
    tess_precond_options options;
    tess_status status = TESS_SUCCESS;

    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_JACOBI_SWEEPS;
    status = use_precond(s, &a, &options);
    oracle_free(&a);
    return status;
}

/* Chains of unknowns and a constraint on each; every kind of Schur complement. */
static tess_status saddle_of(scene *s, tess_saddle_schur schur, tess_precond_kind a_precond)
{
    enum { CHAINS = 6, LENGTH = 4, ROWS = CHAINS * (LENGTH + 1) };
    oracle_csr a = oracle_open(ROWS, ROWS);
    tess_precond_options options;
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < ROWS; i++) {
        const int chain = i / (LENGTH + 1) * (LENGTH + 1), place = i - chain;

        for (int j = 0; j <= LENGTH; j++) {
            const double beside = j == LENGTH || place == LENGTH ? 1.0 : abs(j - place) == 1 ? -1.0 : 0.0;

            if (j == place ? j < LENGTH : beside != 0.0) { oracle_push(&a, chain + j, j == place ? 2.5 : beside); }
        }
        oracle_end_row(&a, i);
    }
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_SADDLE;
    options.saddle.schur = schur;
    options.saddle.a_precond = a_precond;
    options.saddle.factorization = TESS_SADDLE_FULL;
    status = use_precond(s, &a, &options);
    oracle_free(&a);
    return status;
}

static tess_status saddle_local(scene *s)
{
    return saddle_of(s, TESS_SCHUR_LOCAL, TESS_PRECOND_AMG);
}

static tess_status saddle_lsc(scene *s)
{
    return saddle_of(s, TESS_SCHUR_LSC, TESS_PRECOND_ILU0);
}

/* With every step of the set-up: powers whose rows are cut, and a filter. */
static tess_status inverse_of(scene *s, tess_precond_kind kind)
{
    oracle_csr a = oracle_laplace2d(16);
    tess_precond_options options;
    tess_status status = TESS_SUCCESS;

    tess_precond_options_init(&options);
    options.kind = kind;
    options.role = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP64};
    options.inverse.power = 3;
    options.inverse.row = 6;
    status = use_precond(s, &a, &options);
    oracle_free(&a);
    return status;
}

static tess_status fsai(scene *s)
{
    return inverse_of(s, TESS_PRECOND_FSAI);
}

static tess_status isai(scene *s)
{
    return inverse_of(s, TESS_PRECOND_ISAI);
}

static tess_status amg(scene *s)
{
    return amg_of(s, TESS_AMG_CLASSICAL, TESS_AMG_V);
}

static tess_status amg_by_inverses(scene *s)
{
    return amg_smoothed(s, TESS_AMG_CLASSICAL, TESS_AMG_V, TESS_AMG_FSAI);
}

static tess_status amg_by_k_cycles(scene *s)
{
    return amg_of(s, TESS_AMG_CLASSICAL, TESS_AMG_K);
}

static tess_status amg_by_aggregation(scene *s)
{
    return amg_of(s, TESS_AMG_AGGREGATION, TESS_AMG_V);
}

/* Rows and columns have units of their own, so that cycles leave something. Without memory for vectors or their levels
   the levels of constants stay. */
static tess_status amg_with_modes(scene *s)
{
    oracle_csr a = oracle_laplace2d(20);
    tess_precond_options options;
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0; i < a.nrows; i++) {
        for (int64_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
            a.val[k] *= ldexp(1.0, oracle_power(i, 3) + oracle_power(a.col_ind[k], 3));
        }
    }
    tess_precond_options_init(&options);
    options.kind = TESS_PRECOND_AMG;
    options.amg.coarsening = TESS_AMG_AGGREGATION;
    options.amg.coarsest = 10;
    options.amg.modes = 1;
    status = use_precond(s, &a, &options);
    oracle_free(&a);
    return status;
}

const named_scenario precond_scenarios[] = {
    {"jacobi", jacobi, false},
    {"block_jacobi", block_jacobi, false},
    {"polynomial", polynomial, false},
    {"outlying_polynomial", outlying_polynomial, false},
    {"adaptive_block_jacobi", adaptive_block_jacobi, false},
    {"ilu0", ilu0, false},
    {"ic0", ic0, false},
    {"merged levels", merged, false},
    {"ic0 by the host, with shifts", ic0_by_host, false},
    {"merged levels of factors of the host", merged_by_host, false},
    {"factors whose triangles are swept", swept, false},
    {"factors by sweeps", swept_factors, false},
    {"factors by colors", colored, false},
    {"ilut", ilut, false},
    {"ict", ict, false},
    {"iluk", iluk, false},
    {"lu", lu, false},
    {"cholesky", cholesky, false},
    {"jacobi sweeps", jacobi_sweeps, false},
    {"fsai", fsai, false},
    {"isai", isai, false},
    {"amg", amg, false},
    {"amg by inverses", amg_by_inverses, false},
    {"amg by K cycles", amg_by_k_cycles, false},
    {"amg by aggregation", amg_by_aggregation, false},
    {"amg with modes", amg_with_modes, true},
    {"saddle", saddle_local, false},
    {"saddle by lsc", saddle_lsc, false},
    {NULL, NULL, false},
};
