/* SPDX-License-Identifier: Apache-2.0 */
#include "support/scenarios.h"

static tess_status keep_or_destroy_matrix(tess_status status, tess_matrix **made)
{
    assert_true((status == TESS_SUCCESS) == (*made != NULL));
    tess_matrix_destroy(*made);
    return status;
}

static tess_status create_csr(scene *s)
{
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *made = NULL;

    return keep_or_destroy_matrix(tess_matrix_create_csr(s->ctx, &arrays, &made), &made);
}

/* Rows in descending order of columns, so that sorting is needed. */
static tess_status create_unsorted_csr(scene *s)
{
    static const int32_t row_ptr[] = {0, 3, 5}, col_ind[] = {2, 1, 1, 2, 0};
    static const double val[] = {1.0, 2.0, 3.0, 4.0, 5.0};
    tess_csr_arrays arrays = {2, 3, 5, row_ptr, col_ind, val, 32, 32, TESS_MEMORY_HOST, TESS_COPY};
    tess_matrix *made = NULL;

    return keep_or_destroy_matrix(tess_matrix_create_csr(s->ctx, &arrays, &made), &made);
}

static tess_status create_coo(scene *s)
{
    static const int64_t row[] = {1, 0, 1, 1}, col[] = {2, 1, 0, 2};
    static const double val[] = {1.0, 2.0, 3.0, 4.0};
    tess_coo_arrays arrays = {2, 3, 4, row, col, val, 64, TESS_MEMORY_HOST};
    tess_matrix *made = NULL;

    return keep_or_destroy_matrix(tess_matrix_create_coo(s->ctx, &arrays, &made), &made);
}

static tess_status convert_to(scene *s, tess_format format)
{
    const tess_storage_options narrow = {.format = format, .precision = TESS_PRECISION_FP32};
    tess_matrix *fresh = NULL, *made = NULL;
    tess_csr_arrays arrays = csr_arrays_of(&s->a);
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    if (status == TESS_SUCCESS) { status = keep_or_destroy_matrix(tess_matrix_convert(fresh, &narrow, &made), &made); }
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status convert(scene *s)
{
    return convert_to(s, TESS_FORMAT_CSR);
}

static tess_status convert_to_slices(scene *s)
{
    return convert_to(s, TESS_FORMAT_SELL);
}

static tess_status convert_to_diagonals(scene *s)
{
    return convert_to(s, TESS_FORMAT_DIA);
}

static tess_status assign_precisions(scene *s)
{
    tess_policy_options options;
    tess_assignment *made = NULL;
    tess_status status = TESS_SUCCESS;

    tess_policy_options_init(&options);
    options.policy = TESS_POLICY_MEAN_RANGE;
    options.level[1] = (tess_level){TESS_PRECISION_FP16, 1};
    options.without_diagonal = 1;
    status = tess_assignment_create(s->m, &options, &made);
    assert_true((status == TESS_SUCCESS) == (made != NULL));
    if (status == TESS_SUCCESS) { status = tess_assignment_measure_error(made, s->m); }
    tess_assignment_destroy(made);
    return status;
}

static tess_status assign_block_precisions(scene *s)
{
    tess_policy_options options;
    tess_assignment *made = NULL;
    tess_status status = TESS_SUCCESS;

    tess_policy_options_init(&options);
    options.granularity = TESS_GRANULARITY_BLOCK;
    options.policy = TESS_POLICY_MEAN_3STD;
    options.choose_parameter = 1; /* several are tried */
    options.level[1] = (tess_level){TESS_PRECISION_FP16, 1};
    status = tess_assignment_create(s->m, &options, &made);
    assert_true((status == TESS_SUCCESS) == (made != NULL));
    if (status == TESS_SUCCESS) { status = tess_assignment_measure_error(made, s->m); }
    tess_assignment_destroy(made);
    return status;
}

/* Parts of two levels, the room of products, new values, and the values back. */
static tess_status split_matrix(scene *s, tess_storage_options options)
{
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL, *made = NULL;
    double *val = test_allocate(s->unsymmetric.nnz, sizeof *val);
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    options.arithmetic = options.format == TESS_FORMAT_TILES ? TESS_ARITHMETIC_FP64 : TESS_ARITHMETIC_FP32;
    options.max_padding = 100.0;
    options.policy.policy = TESS_POLICY_FIXED_RANGE;
    options.policy.parameter = 2.0;
    options.policy.share = 50.0;
    /* which blocks have no way to do */
    options.policy.without_diagonal = options.policy.granularity != TESS_GRANULARITY_BLOCK;
    if (status == TESS_SUCCESS) {
        status = tess_matrix_convert(fresh, &options, &made);
        assert_true((status == TESS_SUCCESS) == (made != NULL));
    }
    if (status == TESS_SUCCESS) { status = tess_matrix_spmv(made, TESS_OP_NONE, 1.5, s->b, 0.5, s->x); }
    if (status == TESS_SUCCESS) { status = tess_matrix_update_values(fresh, s->unsymmetric.val, TESS_MEMORY_HOST); }
    if (status == TESS_SUCCESS) { status = tess_matrix_get_csr(made, NULL, NULL, val); }
    tess_matrix_destroy(made);
    tess_matrix_destroy(fresh);
    free(val);
    return status;
}

static tess_status convert_to_split(scene *s)
{
    return split_matrix(s, (tess_storage_options){.format = TESS_FORMAT_SPLIT, .row_order = TESS_ROW_ORDER_SYMMETRIC});
}

static tess_status convert_to_split_entries(scene *s)
{
    return split_matrix(
        s, (tess_storage_options){.format = TESS_FORMAT_SPLIT, .policy = {.granularity = TESS_GRANULARITY_ENTRY}});
}

static tess_status convert_to_split_blocks(scene *s)
{
    return split_matrix(
        s, (tess_storage_options){.format = TESS_FORMAT_SPLIT, .policy = {.granularity = TESS_GRANULARITY_BLOCK}});
}

static tess_status convert_to_split_block_slices(scene *s)
{
    return split_matrix(s, (tess_storage_options){.format = TESS_FORMAT_SPLIT,
                                                  .base = TESS_FORMAT_ELLR,
                                                  .policy = {.granularity = TESS_GRANULARITY_BLOCK}});
}

static tess_status convert_to_split_of_chosen_base(scene *s)
{
    return split_matrix(s, (tess_storage_options){.format = TESS_FORMAT_SPLIT,
                                                  .base = TESS_FORMAT_AUTO,
                                                  .policy = {.granularity = TESS_GRANULARITY_BLOCK}});
}

static tess_status convert_to_split_slices(scene *s)
{
    return split_matrix(s, (tess_storage_options){.format = TESS_FORMAT_SPLIT, .base = TESS_FORMAT_ELLR});
}

static tess_status convert_to_tiles(scene *s)
{
    return split_matrix(
        s, (tess_storage_options){.format = TESS_FORMAT_TILES, .policy = {.granularity = TESS_GRANULARITY_BLOCK}});
}

static tess_status convert_to_paper_tiles(scene *s)
{
    return split_matrix(s, (tess_storage_options){.format = TESS_FORMAT_TILES,
                                                  .kernel = TESS_KERNEL_PAPER,
                                                  .policy = {.granularity = TESS_GRANULARITY_BLOCK}});
}

static tess_status convert_to_composite(scene *s)
{
    return split_matrix(s, (tess_storage_options){.format = TESS_FORMAT_COMPOSITE});
}

static tess_status convert_to_composite_slices(scene *s)
{
    return split_matrix(s, (tess_storage_options){.format = TESS_FORMAT_COMPOSITE, .base = TESS_FORMAT_ELLR});
}

/* A matrix of its own, since products keep plans and transposes with the matrix. */
static tess_status product(scene *s, tess_operation operation)
{
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    if (status == TESS_SUCCESS) { status = tess_matrix_spmv(fresh, operation, 1.5, s->b, 0.5, s->x); }
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status plain_product(scene *s)
{
    return product(s, TESS_OP_NONE);
}

static tess_status transposed_product(scene *s)
{
    return product(s, TESS_OP_TRANSPOSE);
}

static tess_status vector_operations(scene *s)
{
    tess_vector *v = NULL, *narrow = NULL;
    tess_digit_counts counts;
    double value = 0.0;
    tess_status status = tess_vector_create(s->ctx, 20000, TESS_PRECISION_FP64, &v);

    if (status == TESS_SUCCESS) { status = tess_vector_add_shadow(v, TESS_PRECISION_FP32); }
    if (status == TESS_SUCCESS) { status = tess_vector_dot(v, v, TESS_ARITHMETIC_FP64, &value); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(s->ctx, SCENE_N, TESS_PRECISION_FP32, &narrow); }
    if (status == TESS_SUCCESS) { status = tess_vector_set_random(narrow, 1, 0.0, 1.0); }
    if (status == TESS_SUCCESS) { status = tess_vector_fill(narrow, 1.0); }
    if (status == TESS_SUCCESS) { status = tess_vector_set(narrow, s->values, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    if (status == TESS_SUCCESS) { status = tess_vector_get(narrow, s->values, TESS_PRECISION_FP64, TESS_MEMORY_HOST); }
    if (status == TESS_SUCCESS) { status = tess_vector_count_digits(s->b, narrow, &counts); }
    tess_vector_destroy(v);
    tess_vector_destroy(narrow);
    return status;
}

static tess_status precond(scene *s, tess_precond_kind kind, tess_role_precision role, int adaptive)
{
    tess_precond_options options;
    tess_precond *made = NULL;
    tess_status status = TESS_SUCCESS;

    tess_precond_options_init(&options);
    options.kind = kind;
    options.block_size = 5;
    options.role = role;
    options.adaptive = adaptive;
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
        options.form = (tess_polynomial_form)form;
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
    if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, s->b, s->x, &result); }
    if (status == TESS_SUCCESS) { assert_int_equal(result.reason, TESS_REASON_RTOL); }
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

static tess_status solve_auto(scene *s)
{
    return solve(s, TESS_SOLVER_AUTO, TESS_PRECISION_FP64, TESS_PRECOND_BLOCK_JACOBI);
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

    options.restart = 20;
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

    options.basis = (tess_role_precision){.given = 1, .storage = TESS_PRECISION_FP16};
    options.orthogonalization = TESS_ORTHOGONALIZATION_CGS2;
    options.timings = 0;
    return solve_repeatedly(s, &s->unsymmetric, &options);
}

static tess_status solve_gmres_fd(scene *s)
{
    tess_solve_options options = gmres_options(TESS_SOLVER_GMRES_FD);

    options.precond.kind = TESS_PRECOND_BLOCK_JACOBI;
    options.precond.adaptive = 1;
    return solve_repeatedly(s, &s->unsymmetric, &options);
}

static tess_status solve_gmres_polynomial(scene *s)
{
    tess_solve_options options = gmres_options(TESS_SOLVER_GMRES_IR);

    options.precond.kind = TESS_PRECOND_POLYNOMIAL;
    options.precond.degree = 4;
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
    options.inner = (tess_role_precision){1, TESS_PRECISION_FP16, TESS_ARITHMETIC_FP32};
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

static tess_status solve_transformed(scene *s)
{
    tess_solve_options options = solve_options(TESS_SOLVER_BICGSTAB);
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL;
    tess_solver *solver = NULL;
    tess_solve_result result;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    options.scale = TESS_SCALING_MAX_PRODUCT;
    options.reorder = TESS_REORDERING_RCM;
    options.history_capacity = 100;
    if (status == TESS_SUCCESS) { status = tess_solver_create(fresh, &options, &solver); }
    for (int k = 0; k < 2 && status == TESS_SUCCESS; k++) { /* and once more with values that are new */
        status = tess_vector_fill(s->x, 0.0);
        if (status == TESS_SUCCESS) { status = tess_solver_solve(solver, s->b, s->x, &result); }
        if (status == TESS_SUCCESS) { assert_int_equal(result.reason, TESS_REASON_RTOL); }
        if (status == TESS_SUCCESS) { status = tess_matrix_update_values(fresh, s->unsymmetric.val, TESS_MEMORY_HOST); }
    }
    tess_solver_destroy(solver);
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status solve_by_steps(scene *s, tess_format format)
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
    return solve_by_steps(s, TESS_FORMAT_COMPOSITE);
}

static tess_status solve_jacobi_split(scene *s)
{
    return solve_by_steps(s, TESS_FORMAT_SPLIT);
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
    if (status == TESS_SUCCESS) { status = tess_timestep_run(ts, s->x, 5, NULL, NULL, 2, &result); }
    if (status == TESS_SUCCESS) { assert_int_equal(result.count, 5); }
    tess_timestep_destroy(ts);
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status verify(scene *s)
{
    double norm = 0.0, bound = 0.0;

    return tess_verify_residual(s->m, s->b, s->x, NULL, &norm, &bound);
}

static tess_status analyze(scene *s)
{
    tess_matrix_analysis facts;

    return tess_matrix_analyze(s->other, &facts);
}

static int apply_identity(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    (void)x;
    (void)y; /* arrays of the device: what is in y stays */
    return 0;
}

static tess_status shell_product(scene *s)
{
    const tess_shell_operator shell = {apply_identity, NULL, NULL};
    tess_matrix *made = NULL;
    tess_status status = tess_matrix_create_shell(s->ctx, SCENE_N, SCENE_N, &shell, &made);

    if (status == TESS_SUCCESS) { status = tess_matrix_spmv(made, TESS_OP_NONE, 2.0, s->b, 1.0, s->x); }
    tess_matrix_destroy(made);
    return status;
}

static tess_status write_and_read(scene *s)
{
    tess_matrix *made = NULL;
    tess_status status = tess_matrix_write(s->m, s->path, 1);

    if (status == TESS_SUCCESS) {
        status = keep_or_destroy_matrix(tess_matrix_read(s->ctx, s->path, &made, NULL), &made);
    }
    return status;
}

static tess_status cache_and_read(scene *s)
{
    tess_matrix *made = NULL;
    tess_status status = tess_matrix_write_cache(s->other, s->path);

    if (status == TESS_SUCCESS) {
        status = keep_or_destroy_matrix(tess_matrix_read(s->ctx, s->path, &made, NULL), &made);
    }
    return status;
}

static tess_status write_and_read_vector(scene *s)
{
    tess_vector *made = NULL;
    tess_status status = tess_vector_write(s->b, s->path);

    if (status == TESS_SUCCESS) {
        status = tess_vector_read(s->ctx, s->path, &made);
        assert_true((status == TESS_SUCCESS) == (made != NULL));
    }
    tess_vector_destroy(made);
    return status;
}

static tess_status gallery(scene *s)
{
    static const char *const size[] = {"6"};
    tess_matrix *made = NULL;

    return keep_or_destroy_matrix(tess_gallery_create(s->ctx, "laplace3d", 1, size, &made), &made);
}

const named_scenario scenarios[] = {
    {"create_csr", create_csr, false},
    {"create_unsorted_csr", create_unsorted_csr, false},
    {"create_coo", create_coo, false},
    {"convert", convert, false},
    {"convert to slices", convert_to_slices, false},
    {"convert to diagonals", convert_to_diagonals, false},
    {"convert to split", convert_to_split, false},
    {"convert to split entries", convert_to_split_entries, false},
    {"convert to split blocks", convert_to_split_blocks, false},
    {"convert to split of a chosen base", convert_to_split_of_chosen_base, false},
    {"convert to split block slices", convert_to_split_block_slices, false},
    {"convert to split slices", convert_to_split_slices, false},
    {"convert to tiles", convert_to_tiles, false},
    {"convert to tiles of kernel paper", convert_to_paper_tiles, false},
    {"convert to composite", convert_to_composite, false},
    {"convert to composite slices", convert_to_composite_slices, false},
    {"assign precisions", assign_precisions, false},
    {"assign precisions of blocks", assign_block_precisions, false},
    {"plain_product", plain_product, false},
    {"transposed_product", transposed_product, false},
    {"vector_operations", vector_operations, false},
    {"jacobi", jacobi, false},
    {"block_jacobi", block_jacobi, false},
    {"polynomial", polynomial, false},
    {"outlying_polynomial", outlying_polynomial, false},
    {"adaptive_block_jacobi", adaptive_block_jacobi, false},
    {"solve_cg", solve_cg, false},
    {"solve_cg_fp32", solve_cg_fp32, false},
    {"solve_bicgstab", solve_bicgstab, false},
    {"solve_auto", solve_auto, false},
    {"solve_transformed", solve_transformed, false},
    {"solve_gmres", solve_gmres, false},
    {"solve_gmres_ir", solve_gmres_ir, false},
    {"solve_gmres_fd", solve_gmres_fd, false},
    {"solve_gmres_polynomial", solve_gmres_polynomial, false},
    {"solve_gmres_escalated", solve_gmres_escalated, false},
    {"solve_gmres_transformed", solve_gmres_transformed, false},
    {"solve_jacobi", solve_jacobi, false},
    {"solve_jacobi_split", solve_jacobi_split, false},
    {"make_time_steps", make_time_steps, false},
    {"verify", verify, true},
    {"analyze", analyze, true},
    {"shell_product", shell_product, false},
    {"write_and_read", write_and_read, false},
    {"cache_and_read", cache_and_read, false},
    {"write_and_read_vector", write_and_read_vector, false},
    {"gallery", gallery, false},
    {NULL, NULL, false},
};
