/* SPDX-License-Identifier: Apache-2.0 */
#include <tessera/batch.h>
#include <tessera/findings.h>
#include <tessera/gallery.h>
#include <tessera/many.h>
#include <tessera/sequence.h>
#include <tessera/timestep.h>
#include <tessera/verify.h>

#include "support/papers.h"
#include "support/solve_scenarios.h"

#include "precond/direct/mumps.h"
#include "support/solve.h"

/* A solve has succeeded; or nobody knows the error that was asked for, since there was no memory to find it. */
static void check_reason(const tess_solve_options *options, const tess_solve_result *result)
{
    const bool unknown = options->accuracy.forward > 0.0 && result->accuracy.source == TESS_CONDITION_UNKNOWN;

    assert_int_equal(result->reason, unknown ? TESS_REASON_STAGNATION : TESS_REASON_RTOL);
}

/* With a matrix of its own. */
static tess_status solve_fresh(scene *s, const oracle_csr *a, const tess_solve_options *options)
{
    tess_csr_arrays arrays = csr_arrays_of(a);
    tess_matrix *fresh = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    if (status == TESS_SUCCESS) { status = tess_solver_create(fresh, options, &solver); }
    if (status == TESS_SUCCESS) { status = tess_vector_fill(s->x, 0.0); }
    tess_solve_result_init(&result);
    if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, s->b, s->x, &result); }
    if (status == TESS_SUCCESS) { check_reason(options, &result); }
    tess_solver_destroy(solver);
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status solve(scene *s, tess_solver_kind kind, tess_precision precision, tess_precond_kind preconditioner)
{
    tess_solve_options options = solve_options(kind);

    options.storage.precision = precision;
    options.precond.kind = preconditioner;
    options.history_capacity = 100;
    return solve_fresh(s, kind == TESS_SOLVER_CG ? &s->a : &s->unsymmetric, &options);
}

static tess_status solve_cg(scene *s)
{
    return solve(s, TESS_SOLVER_CG, TESS_PRECISION_FP64, TESS_PRECOND_NONE);
}

static tess_status solve_cg_fp32(scene *s)
{
    return solve(s, TESS_SOLVER_CG, TESS_PRECISION_FP32, TESS_PRECOND_BLOCK_JACOBI);
}

static tess_status solve_bicgstab(scene *s)
{
    return solve(s, TESS_SOLVER_BICGSTAB, TESS_PRECISION_FP64, TESS_PRECOND_JACOBI);
}

/* A complex system of 16 unknowns, whose diagonal is not real; twice, with other values. */
static tess_status solve_complex(scene *s, tess_solver_kind kind, tess_precond_kind precond)
{
    static const char *const size[] = {"4"};
    tess_solve_options options = solve_options(kind);
    tess_matrix *a = NULL;
    tess_vector *b = NULL, *x = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;
    tess_status status = TESS_SUCCESS;

    options.precond.kind = precond;
    if (kind != TESS_SOLVER_BICGSTAB) { options.gmres.restart = 4; }
    options.rtol = 1e-3;
    tess_solve_result_init(&result);
    status = tess_gallery_create(s->ctx, "accircuit", 1, size, &a);
    if (status == TESS_SUCCESS) { status = tess_vector_create(s->ctx, 32, TESS_PRECISION_FP64, &b); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(s->ctx, 32, TESS_PRECISION_FP64, &x); }
    if (status == TESS_SUCCESS) { status = tess_vector_fill(b, 1.0); }
    if (status == TESS_SUCCESS) { status = tess_solver_create(a, &options, &solver); }
    for (int turn = 0; turn < 2 && status == TESS_SUCCESS; turn++) {
        double values[2 * 64];

        for (int k = 0; k < 128; k++) {
            values[k] = 1.0 + (double)(k % 7);
        }
        status = turn == 0 ? TESS_SUCCESS : tess_matrix_update_values(a, values, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
        if (status == TESS_SUCCESS) { status = tess_vector_fill(x, 0.0); }
        if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, b, x, &result); }
    }
    tess_solver_destroy(solver);
    tess_vector_destroy(b);
    tess_vector_destroy(x);
    tess_matrix_destroy(a);
    return status;
}

static tess_status solve_complex_bicgstab(scene *s)
{
    return solve_complex(s, TESS_SOLVER_BICGSTAB, TESS_PRECOND_JACOBI);
}

static tess_status solve_complex_gmres(scene *s)
{
    return solve_complex(s, TESS_SOLVER_GMRES, TESS_PRECOND_ILU0);
}

static tess_status solve_complex_fgmres(scene *s)
{
    return solve_complex(s, TESS_SOLVER_FGMRES, TESS_PRECOND_NONE);
}

static tess_status solve_complex_ir(scene *s)
{
    return solve_complex(s, TESS_SOLVER_GMRES_IR, TESS_PRECOND_JACOBI);
}

static tess_status solve_minres(scene *s)
{
    tess_solve_options options = solve_options(TESS_SOLVER_MINRES);

    options.storage.precision = TESS_PRECISION_FP32;
    options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
    options.history_capacity = 100;
    return solve_fresh(s, &s->a, &options);
}

/* Several columns, which end one after another, and their products. */
static tess_status solve_columns_by(scene *s, tess_solver_kind solver_kind, tess_precond_kind precond)
{
    enum { COLUMNS = 4 };
    double b[COLUMNS * SCENE_N] = {0.0}, x[COLUMNS * SCENE_N] = {0.0};
    const tess_columns vb = tess_columns_by_row(SCENE_N, COLUMNS, b, TESS_MEMORY_HOST);
    const tess_columns vx = tess_columns_by_column(SCENE_N, COLUMNS, x, TESS_MEMORY_HOST);
    tess_solve_options options = solve_options(solver_kind);
    tess_solve_result results[COLUMNS];
    tess_solver *solver = NULL;
    tess_status status = TESS_SUCCESS;

    options.precond.kind = precond;
    options.history_capacity = 100;
    for (int i = 0; i < COLUMNS * SCENE_N; i++) {
        b[i] = i % COLUMNS == 0 ? 1.0 : (double)((i * 37) % 11); /* of the first, a symmetry halves the iterations */
    }
    for (int c = 0; c < COLUMNS; c++) {
        tess_solve_result_init(&results[c]);
    }
    status = tess_solver_create(s->m, &options, &solver);
    if (status == TESS_SUCCESS) { status = tess_solver_solve_many(solver, &vb, &vx, results); }
    for (int c = 0; c < COLUMNS && status == TESS_SUCCESS; c++) {
        assert_int_equal(results[c].reason, TESS_REASON_RTOL);
    }
    if (status == TESS_SUCCESS) { status = tess_matrix_spmm(s->m, 1.0, &vx, -1.0, &vb); }
    tess_solver_destroy(solver);
    return status;
}

/* Two systems of one pattern. */
static tess_status solve_batch_by(scene *s, const tess_solve_options *options)
{
    double *val = test_allocate(2 * s->a.nnz, sizeof *val), b[2 * SCENE_N], x[2 * SCENE_N] = {0.0};
    tess_batch batch = {.size = sizeof batch,
                        .systems = 2,
                        .n = SCENE_N,
                        .nnz = s->a.nnz,
                        .row_ptr = s->a.row_ptr,
                        .row_ptr_bits = 64,
                        .col_ind = s->a.col_ind,
                        .col_ind_bits = 32,
                        .val = val,
                        .b = b,
                        .x = x};
    tess_batch_result results[2];
    tess_status status = TESS_SUCCESS;

    for (int64_t k = 0; k < 2 * s->a.nnz; k++) {
        val[k] = s->a.val[k % s->a.nnz];
    }
    for (int i = 0; i < 2 * SCENE_N; i++) {
        b[i] = s->values[i % SCENE_N];
    }
    status = tess_batch_solve(s->ctx, &batch, options, results);
    if (status == TESS_SUCCESS) { assert_true(results[0].verified && results[1].verified); }
    free(val);
    return status;
}

static tess_status solve_batch(scene *s)
{
    return solve_batch_by(s, NULL);
}

static tess_status solve_batch_by_factors(scene *s)
{
    tess_solve_options options = solve_options(TESS_SOLVER_GMRES);

    options.precond.kind = TESS_PRECOND_ILU0;
    return solve_batch_by(s, &options);
}

/* Steps with new values, and with those of the step before. */
static tess_status solve_sequence(scene *s)
{
    enum { STEPS = 4 };
    tess_solve_options options = solve_options(TESS_SOLVER_CG);
    const tess_sequence_values values = tess_sequence_values_of(s->a.nnz, s->a.val, TESS_MEMORY_HOST);
    tess_sequence *sequence = NULL;
    tess_solve_result result;
    tess_status status = TESS_SUCCESS;

    options.history_capacity = 100;
    options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
    status = tess_sequence_create(s->m, &options, NULL, &sequence);
    if (status == TESS_SUCCESS) { status = tess_vector_fill(s->x, 0.0); }
    for (int k = 0; k < STEPS && status == TESS_SUCCESS; k++) {
        tess_solve_result_init(&result);
        status = tess_sequence_solve(sequence, k % 2 ? &values : NULL, s->b, s->x, &result);
        if (status == TESS_SUCCESS) { assert_int_equal(result.reason, TESS_REASON_RTOL); }
    }
    tess_sequence_destroy(sequence);
    return status;
}

static tess_status solve_many(scene *s)
{
    return solve_columns_by(s, TESS_SOLVER_CG, TESS_PRECOND_NONE);
}

/* Applied to all columns at once, and to one after another. */
static tess_status solve_many_preconditioned(scene *s)
{
    tess_status status = solve_columns_by(s, TESS_SOLVER_CG, TESS_PRECOND_POLYNOMIAL);

    return status == TESS_SUCCESS ? solve_columns_by(s, TESS_SOLVER_MINRES, TESS_PRECOND_IC0) : status;
}

static tess_status solve_block_cg(scene *s)
{
    return solve_columns_by(s, TESS_SOLVER_BLOCK_CG, TESS_PRECOND_IC0);
}

/* Without MUMPS there are none. */
static tess_status solve_many_by_factors(scene *s)
{
    return solve_columns_by(s, TESS_SOLVER_FGMRES, mumps_is_here() ? TESS_PRECOND_LU : TESS_PRECOND_JACOBI);
}

/* The inner matrix goes up from FP16, and new values renew it. */
static tess_status solve_nested(scene *s)
{
    tess_solve_options options = solve_options(TESS_SOLVER_NESTED);

    options.precond.kind = TESS_PRECOND_ILU0;
    options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_E5M2, TESS_ARITHMETIC_FP32};
    return solve_fresh(s, &s->a, &options);
}

static tess_status solve_idr(scene *s)
{
    return solve(s, TESS_SOLVER_IDR, TESS_PRECISION_FP32, TESS_PRECOND_JACOBI);
}

static tess_status solve_narrowed(scene *s)
{
    tess_solve_options options = solve_options(TESS_SOLVER_CG);

    options.storage = (tess_storage_options){.size = sizeof(tess_storage_options),
                                             .format = TESS_FORMAT_TILES,
                                             .papers = &papers_resident,
                                             .policy = {.granularity = TESS_GRANULARITY_BLOCK}};
    options.papers = papers_narrowing(TESS_NARROWING_SAFE);
    options.history_capacity = 100;
    options.precond.kind = TESS_PRECOND_JACOBI;
    return solve_fresh(s, &s->a, &options);
}

static tess_status solve_auto(scene *s)
{
    return solve(s, TESS_SOLVER_AUTO, TESS_PRECISION_FP64, TESS_PRECOND_BLOCK_JACOBI);
}

/* The second difference applied twice: CG with jacobi is left, and incomplete and complete factors follow. Then again,
   by the method that won. */
static tess_status solve_automatically(scene *s)
{
    static const double values[] = {1.0, -4.0, 6.0, -4.0, 1.0};
    oracle_csr a = oracle_open(SCENE_N, SCENE_N);
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0; i < SCENE_N; i++) {
        for (int64_t j = i - 2; j <= i + 2; j++) {
            if (j >= 0 && j < SCENE_N) { oracle_push(&a, j, values[j - i + 2]); }
        }
        oracle_end_row(&a, i);
    }
    options.rtol = 1e-8;
    options.history_capacity = 100;
    status = solve_fresh(s, &a, &options);
    oracle_free(&a);
    return status;
}

/* An unsymmetric matrix with max-product scaling and ILUT among its attempts. */
static tess_status solve_general_automatically(scene *s)
{
    tess_solve_options options = solve_options(TESS_SOLVER_AUTO);

    options.history_capacity = 100;
    return solve_fresh(s, &s->unsymmetric, &options);
}

static tess_status solve_to_accuracy(scene *s)
{
    tess_solve_options options = solve_options_to(TESS_SOLVER_CG, 1e-6);

    options.history_capacity = 100;
    return solve_fresh(s, &s->a, &options);
}

static tess_status solve_to_accuracy_by_factors(scene *s)
{
    tess_solve_options options = solve_options_to(TESS_SOLVER_GMRES, 1e-6);

    options.precond.kind = mumps_is_here() ? TESS_PRECOND_LU : TESS_PRECOND_JACOBI;
    options.history_capacity = 100;
    return solve_fresh(s, &s->unsymmetric, &options);
}

/* Twice with one handle, and once more after a failure: that solve has all it needs. */
static tess_status solve_repeatedly(scene *s, const oracle_csr *a, const tess_solve_options *options)
{
    tess_csr_arrays arrays = csr_arrays_of(a);
    tess_matrix *fresh = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;
    tess_status last = TESS_SUCCESS, status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    if (status == TESS_SUCCESS) { status = tess_solver_create(fresh, options, &solver); }
    for (int k = 0; solver && (k < 2 || (k == 2 && last != TESS_SUCCESS)); k++) {
        last = tess_vector_fill(s->x, 0.0);
        tess_solve_result_init(&result);
        if (last == TESS_SUCCESS) { last = tess_solver_solve(solver, s->b, s->x, &result); }
        if (last == TESS_SUCCESS) {
            assert_int_equal(result.reason, TESS_REASON_RTOL);
            assert_int_equal(result.timed, options->timings);
        }
        status = status == TESS_SUCCESS ? last : status;
    }
    assert_int_equal(last, TESS_SUCCESS); /* one allocation fails in all */
    tess_solver_destroy(solver);
    tess_matrix_destroy(fresh);
    return status;
}

static tess_solve_options gmres_options(tess_solver_kind kind)
{
    tess_solve_options options = solve_options(kind);

    options.gmres.restart = 20;
    options.history_capacity = 100;
    options.timings = 1;
    return options;
}

static tess_status solve_gmres(scene *s)
{
    tess_solve_options options = gmres_options(TESS_SOLVER_GMRES);

    return solve_repeatedly(s, &s->unsymmetric, &options);
}

static tess_status solve_gmres_ir(scene *s)
{
    tess_solve_options options = gmres_options(TESS_SOLVER_GMRES_IR);

    options.gmres.basis = (tess_role_precision){.given = 1, .storage = TESS_PRECISION_FP16};
    options.gmres.orthogonalization = TESS_ORTHOGONALIZATION_CGS2;
    options.timings = 0;
    return solve_repeatedly(s, &s->unsymmetric, &options);
}

static tess_status solve_gmres_fd(scene *s)
{
    tess_solve_options options = gmres_options(TESS_SOLVER_GMRES_FD);

    options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
    options.precond.block_jacobi.adaptive = 1;
    return solve_repeatedly(s, &s->unsymmetric, &options);
}

/* The guard raises the vectors, and the preconditioned ones with them. */
static tess_status solve_fgmres(scene *s)
{
    tess_solve_options options = gmres_options(TESS_SOLVER_FGMRES);

    options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_E5M2, TESS_ARITHMETIC_FP32};
    options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
    options.precond.role = (tess_role_precision){1, TESS_PRECISION_FP32, TESS_ARITHMETIC_FP32};
    return solve_repeatedly(s, &s->unsymmetric, &options);
}

static tess_status solve_gmres_polynomial(scene *s)
{
    tess_solve_options options = gmres_options(TESS_SOLVER_GMRES_IR);

    options.precond.kind = TESS_PRECOND_POLYNOMIAL;
    options.precond.polynomial.degree = 4;
    return solve_repeatedly(s, &s->unsymmetric, &options);
}

static tess_status solve_lsqr(scene *s)
{
    tess_solve_options options = solve_options(TESS_SOLVER_LSQR);

    options.precond.kind = TESS_PRECOND_JACOBI;
    return solve_repeatedly(s, &s->unsymmetric, &options);
}

static tess_status solve_lsmr(scene *s)
{
    tess_solve_options options = solve_options(TESS_SOLVER_LSMR);

    options.storage.precision = TESS_PRECISION_FP32;
    return solve_repeatedly(s, &s->unsymmetric, &options);
}

/* Values that overflow in fp16: cycles go up, the preconditioner with them, and down again for the next solve. */
static tess_status solve_gmres_escalated(scene *s)
{
    tess_solve_options options = gmres_options(TESS_SOLVER_GMRES_IR);
    oracle_csr large = oracle_copy(&s->unsymmetric);
    tess_status status = TESS_SUCCESS;

    for (int64_t k = 0; k < large.nnz; k++) {
        large.val[k] *= 1e6;
    }
    options.gmres.inner = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32};
    options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
    status = solve_repeatedly(s, &large, &options);
    oracle_free(&large);
    return status;
}

/* The same of a reordered system. */
static tess_status solve_gmres_transformed(scene *s)
{
    tess_solve_options options = gmres_options(TESS_SOLVER_GMRES_IR);

    options.scale = TESS_SCALING_MAX_PRODUCT;
    options.reorder = TESS_REORDERING_RCM;
    return solve_repeatedly(s, &s->unsymmetric, &options);
}

static tess_status solve_transformed_by(scene *s, tess_scaling scale, tess_reordering reorder)
{
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    options.scale = scale;
    options.reorder = reorder;
    options.history_capacity = 100;
    if (status == TESS_SUCCESS) { status = tess_solver_create(fresh, &options, &solver); }
    for (int k = 0; k < 2 && status == TESS_SUCCESS; k++) { /* and once more with values that are new */
        status = tess_vector_fill(s->x, 0.0);
        tess_solve_result_init(&result);
        if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, s->b, s->x, &result); }
        if (status == TESS_SUCCESS) { assert_int_equal(result.reason, TESS_REASON_RTOL); }
        if (status == TESS_SUCCESS) {
            status = tess_matrix_update_values(fresh, s->unsymmetric.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
        }
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status solve_transformed(scene *s)
{
    return solve_transformed_by(s, TESS_SCALING_MAX_PRODUCT, TESS_REORDERING_RCM);
}

static tess_status solve_in_clusters(scene *s)
{
    return solve_transformed_by(s, TESS_SCALING_NONE, TESS_REORDERING_CLUSTERS);
}

/* A^T x = b twice, the second time with values that are new. */
static tess_status solve_transposed(scene *s)
{
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    options.history_capacity = 100;
    if (status == TESS_SUCCESS) { status = tess_solver_create(fresh, &options, &solver); }
    for (int k = 0; k < 2 && status == TESS_SUCCESS; k++) {
        status = tess_vector_fill(s->x, 0.0);
        tess_solve_result_init(&result);
        if (status == TESS_SUCCESS) { status = tess_solver_solve_transpose(solver, s->b, s->x, &result); }
        if (status == TESS_SUCCESS) { assert_int_equal(result.reason, TESS_REASON_RTOL); }
        if (status == TESS_SUCCESS) {
            status = tess_matrix_update_values(fresh, s->unsymmetric.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
        }
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status share_matrix(scene *s)
{
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL, *shared = NULL;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    if (status == TESS_SUCCESS && tess_context_device(s->ctx) == TESS_DEVICE_CPU) {
        status = tess_matrix_share(fresh, s->ctx, &shared);
    }
    tess_matrix_destroy(fresh);
    tess_matrix_destroy(shared);
    return status;
}

static tess_status solve_by_schedule(scene *s, tess_format format)
{
    tess_solve_options options = solve_options(TESS_SOLVER_JACOBI);

    options.storage.format = format;
    options.storage.policy.policy = TESS_POLICY_FIXED_RANGE;
    options.storage.policy.parameter = 100.0; /* all of it is low */
    options.max_iterations = 20000;
    options.history_capacity = 100;
    return solve_fresh(s, &s->unsymmetric, &options);
}

static tess_status solve_jacobi(scene *s)
{
    return solve_by_schedule(s, TESS_FORMAT_COMPOSITE);
}

static tess_status solve_jacobi_split(scene *s)
{
    return solve_by_schedule(s, TESS_FORMAT_SPLIT);
}

static tess_status make_time_steps(scene *s)
{
    tess_timestep *ts = NULL;
    tess_timestep_result result;
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    if (status == TESS_SUCCESS) { status = tess_timestep_create(fresh, NULL, &ts); }
    if (status == TESS_SUCCESS) { status = tess_vector_fill(s->x, 1.0); }
    tess_timestep_result_init(&result);
    if (status == TESS_SUCCESS) { status = tess_timestep_run(ts, s->x, 5, NULL, NULL, 2, &result); }
    if (status == TESS_SUCCESS) { assert_int_equal(result.count, 5); }
    tess_timestep_destroy(ts);
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status find_problems(scene *s)
{
    tess_findings findings;

    tess_findings_init(&findings);
    return tess_find_problems(s->m, s->b, s->x, &findings);
}

static tess_status verify(scene *s)
{
    double norm = 0.0, bound = 0.0;

    return tess_verify_residual(s->m, s->b, s->x, NULL, &norm, &bound);
}

static tess_status verify_answer(scene *s)
{
    tess_verify_options options;
    tess_verification found;
    tess_verify_row rows[3];
    int64_t count = 0;
    tess_status status = TESS_SUCCESS;

    tess_verify_options_init(&options);
    options.forward_error = 1;
    tess_verification_init(&found);
    status = tess_verify(s->m, s->b, s->x, &options, &found);
    return status == TESS_SUCCESS ? tess_verify_rows(s->m, s->b, s->x, 3, rows, &count) : status;
}

const named_scenario solve_scenarios[] = {
    {"solve_cg", solve_cg, false},
    {"solve_cg_fp32", solve_cg_fp32, false},
    {"solve_bicgstab", solve_bicgstab, false},
    {"solve_complex_bicgstab", solve_complex_bicgstab, false},
    {"solve_complex_gmres", solve_complex_gmres, false},
    {"solve_complex_fgmres", solve_complex_fgmres, false},
    {"solve_complex_ir", solve_complex_ir, false},
    {"solve_minres", solve_minres, false},
    {"solve_many", solve_many, false},
    {"solve_many_preconditioned", solve_many_preconditioned, false},
    {"solve_batch", solve_batch, false},
    {"solve_batch_by_factors", solve_batch_by_factors, false},
    {"solve_sequence", solve_sequence, false},
    {"solve_block_cg", solve_block_cg, false},
    {"solve_many_by_factors", solve_many_by_factors, false},
    {"solve_nested", solve_nested, false},
    {"solve_idr", solve_idr, false},
    {"solve_narrowed", solve_narrowed, false},
    {"solve_auto", solve_auto, false},
    {"solve_automatically", solve_automatically, false},
    {"solve_general_automatically", solve_general_automatically, false},
    {"solve_to_accuracy", solve_to_accuracy, false},
    {"solve_to_accuracy_by_factors", solve_to_accuracy_by_factors, false},
    {"solve_transformed", solve_transformed, false},
    {"solve_in_clusters", solve_in_clusters, false},
    {"solve_transposed", solve_transposed, false},
    {"share_matrix", share_matrix, false},
    {"solve_gmres", solve_gmres, false},
    {"solve_gmres_ir", solve_gmres_ir, false},
    {"solve_gmres_fd", solve_gmres_fd, false},
    {"solve_fgmres", solve_fgmres, false},
    {"solve_gmres_polynomial", solve_gmres_polynomial, false},
    {"solve_lsqr", solve_lsqr, false},
    {"solve_lsmr", solve_lsmr, false},
    {"solve_gmres_escalated", solve_gmres_escalated, false},
    {"solve_gmres_transformed", solve_gmres_transformed, false},
    {"solve_jacobi", solve_jacobi, false},
    {"solve_jacobi_split", solve_jacobi_split, false},
    {"make_time_steps", make_time_steps, false},
    {"find_problems", find_problems, false},
    {"verify", verify, true},
    {"verify_answer", verify_answer, true},
    {NULL, NULL, false},
};
