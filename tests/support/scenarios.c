/* SPDX-License-Identifier: Apache-2.0 */
#include "support/scenarios.h"
#include "support/papers.h"

#include <unistd.h>

#include <tessera/digits.h>
#include <tessera/gallery.h>
#include <tessera/io.h>

#include "format/choose.h"
#include "support/precond_scenarios.h"
#include "support/solve_scenarios.h"

scene scene_open(tess_context *ctx)
{
    scene s = {.ctx = ctx, .a = oracle_laplace2d(SCENE_K), .unsymmetric = oracle_convection2d(SCENE_K, 1.0)};
    int file = -1;

    for (int i = 0; i < SCENE_N; i++) {
        s.values[i] = 1.0 + i % 5;
    }
    s.m = make_matrix(ctx, &s.a);
    s.other = make_matrix(ctx, &s.unsymmetric);
    s.b = make_vector(ctx, SCENE_N, s.values);
    s.x = make_zeros(ctx, SCENE_N);
    snprintf(s.path, sizeof s.path, "/tmp/tessera-fault-XXXXXX");
    file = mkstemp(s.path);
    assert_true(file >= 0);
    close(file);
    return s;
}

void scene_close(scene *s)
{
    unlink(s->path);
    tess_vector_destroy(s->b);
    tess_vector_destroy(s->x);
    tess_matrix_destroy(s->m);
    tess_matrix_destroy(s->other);
    oracle_free(&s->a);
    oracle_free(&s->unsymmetric);
}

void scene_assert_usable(scene *s)
{
    double dot = 0.0;

    assert_ok(s->ctx, tess_matrix_spmv(s->m, TESS_OP_NONE, 1.0, s->b, 0.0, s->x));
    assert_ok(s->ctx, tess_vector_dot(s->b, s->x, TESS_ARITHMETIC_FP64, &dot));
    assert_true(dot > 0.0);
}

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
    tess_csr_arrays arrays = {.size = sizeof(tess_csr_arrays),
                              .nrows = 2,
                              .ncols = 3,
                              .nnz = 5,
                              .row_ptr = row_ptr,
                              .col_ind = col_ind,
                              .val = val,
                              .val_precision = TESS_PRECISION_FP64,
                              .row_ptr_bits = 32,
                              .col_ind_bits = 32,
                              .where = TESS_MEMORY_HOST,
                              .ownership = TESS_COPY};
    tess_matrix *made = NULL;

    return keep_or_destroy_matrix(tess_matrix_create_csr(s->ctx, &arrays, &made), &made);
}

static tess_status create_coo(scene *s)
{
    static const int64_t row[] = {1, 0, 1, 1}, col[] = {2, 1, 0, 2};
    static const double val[] = {1.0, 2.0, 3.0, 4.0};
    tess_coo_arrays arrays = {.size = sizeof(tess_coo_arrays),
                              .nrows = 2,
                              .ncols = 3,
                              .nnz = 4,
                              .row_ind = row,
                              .col_ind = col,
                              .val = val,
                              .val_precision = TESS_PRECISION_FP64,
                              .index_bits = 64,
                              .where = TESS_MEMORY_HOST};
    tess_matrix *made = NULL;

    return keep_or_destroy_matrix(tess_matrix_create_coo(s->ctx, &arrays, &made), &made);
}

static tess_status convert_to(scene *s, tess_format format)
{
    const tess_storage_options narrow = {
        .size = sizeof(tess_storage_options), .format = format, .precision = TESS_PRECISION_FP32};
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

static tess_status convert_to_node_blocks(scene *s)
{
    return convert_to(s, TESS_FORMAT_BSR);
}

static tess_status assign_precisions(scene *s)
{
    tess_policy_options options;
    tess_assignment *made = NULL;
    tess_status status = TESS_SUCCESS;

    tess_policy_options_init(&options);
    options.policy = TESS_POLICY_MEAN_RANGE;
    options.level[1] = (tess_precision_level){TESS_PRECISION_FP16, 1};
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
    options.level[1] = (tess_precision_level){TESS_PRECISION_FP16, 1};
    status = tess_assignment_create(s->m, &options, &made);
    assert_true((status == TESS_SUCCESS) == (made != NULL));
    if (status == TESS_SUCCESS) { status = tess_assignment_measure_error(made, s->m); }
    tess_assignment_destroy(made);
    made = NULL;
    if (status != TESS_SUCCESS) { return status; }
    options.choose_parameter = 0;
    assert_int_equal(tess_policy_options_parse("error-bound:1e-6", &options), TESS_SUCCESS);
    status = tess_assignment_create(s->m, &options, &made);
    assert_true((status == TESS_SUCCESS) == (made != NULL));
    tess_assignment_destroy(made);
    return status;
}

/* Parts of two levels, the workspace of products, new values, and the values back. */
static tess_status split_matrix(scene *s, tess_storage_options options)
{
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL, *made = NULL;
    double *val = test_allocate(s->unsymmetric.nnz, sizeof *val);
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);

    if (tess_format_can(options.format)->omits_diagonal) { options.arithmetic = TESS_ARITHMETIC_FP32; }
    options.slices.max_padding = 100.0;
    if (options.policy.policy == TESS_POLICY_NONE) {
        options.policy.policy = TESS_POLICY_FIXED_RANGE;
        options.policy.parameter = 2.0;
        options.policy.share = 50.0;
        /* which blocks have no way to do */
        options.policy.without_diagonal =
            tess_format_can(options.format)->omits_diagonal && options.policy.granularity != TESS_GRANULARITY_BLOCK;
    }
    if (status == TESS_SUCCESS) {
        status = tess_matrix_convert(fresh, &options, &made);
        assert_true((status == TESS_SUCCESS) == (made != NULL));
    }
    if (status == TESS_SUCCESS) { status = tess_matrix_spmv(made, TESS_OP_NONE, 1.5, s->b, 0.5, s->x); }
    if (status == TESS_SUCCESS) {
        status = tess_matrix_update_values(fresh, s->unsymmetric.val, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
    }
    if (status == TESS_SUCCESS) { status = tess_matrix_get_csr(made, NULL, NULL, val); }
    tess_matrix_destroy(made);
    tess_matrix_destroy(fresh);
    free(val);
    return status;
}

static tess_status convert_to_split(scene *s)
{
    return split_matrix(s, (tess_storage_options){.size = sizeof(tess_storage_options),
                                                  .format = TESS_FORMAT_SPLIT,
                                                  .split.row_order = TESS_ROW_ORDER_SYMMETRIC});
}

static tess_status convert_to_split_entries(scene *s)
{
    return split_matrix(s, (tess_storage_options){.size = sizeof(tess_storage_options),
                                                  .format = TESS_FORMAT_SPLIT,
                                                  .policy = {.granularity = TESS_GRANULARITY_ENTRY}});
}

/* New values of entries that were left out: the storage is made anew. */
static tess_status convert_to_split_without_entries(scene *s)
{
    return split_matrix(
        s, (tess_storage_options){
               .size = sizeof(tess_storage_options),
               .format = TESS_FORMAT_SPLIT,
               .policy = {.granularity = TESS_GRANULARITY_ENTRY, .policy = TESS_POLICY_ERROR_BOUND, .parameter = 0.3}});
}

static tess_status convert_to_split_blocks(scene *s)
{
    return split_matrix(s, (tess_storage_options){.size = sizeof(tess_storage_options),
                                                  .format = TESS_FORMAT_SPLIT,
                                                  .policy = {.granularity = TESS_GRANULARITY_BLOCK}});
}

static tess_status convert_to_split_block_slices(scene *s)
{
    return split_matrix(s, (tess_storage_options){.size = sizeof(tess_storage_options),
                                                  .format = TESS_FORMAT_SPLIT,
                                                  .split.base = TESS_FORMAT_ELLR,
                                                  .policy = {.granularity = TESS_GRANULARITY_BLOCK}});
}

/* Diagonals beside slices. */
static tess_status convert_to_split_block_diagonals(scene *s)
{
    return split_matrix(s, (tess_storage_options){.size = sizeof(tess_storage_options),
                                                  .format = TESS_FORMAT_SPLIT,
                                                  .split.base = TESS_FORMAT_DIA,
                                                  .split.low_base = TESS_FORMAT_SELL,
                                                  .slices.max_padding = 1000.0,
                                                  .policy = {.granularity = TESS_GRANULARITY_BLOCK}});
}

static tess_status convert_to_split_of_chosen_base(scene *s)
{
    return split_matrix(s, (tess_storage_options){.size = sizeof(tess_storage_options),
                                                  .format = TESS_FORMAT_SPLIT,
                                                  .split.base = TESS_FORMAT_AUTO,
                                                  .policy = {.granularity = TESS_GRANULARITY_BLOCK}});
}

static tess_status convert_to_split_slices(scene *s)
{
    return split_matrix(s, (tess_storage_options){.size = sizeof(tess_storage_options),
                                                  .format = TESS_FORMAT_SPLIT,
                                                  .split.base = TESS_FORMAT_ELLR});
}

static tess_status convert_to_tiles(scene *s)
{
    return split_matrix(s, (tess_storage_options){.size = sizeof(tess_storage_options),
                                                  .format = TESS_FORMAT_TILES,
                                                  .policy = {.granularity = TESS_GRANULARITY_BLOCK}});
}

static tess_status convert_to_paper_tiles(scene *s)
{
    return split_matrix(s, (tess_storage_options){.size = sizeof(tess_storage_options),
                                                  .format = TESS_FORMAT_TILES,
                                                  .papers = &papers_kernel,
                                                  .policy = {.granularity = TESS_GRANULARITY_BLOCK}});
}

static tess_status convert_to_resident_tiles(scene *s)
{
    return split_matrix(s, (tess_storage_options){.size = sizeof(tess_storage_options),
                                                  .format = TESS_FORMAT_TILES,
                                                  .papers = &papers_resident,
                                                  .policy = {.granularity = TESS_GRANULARITY_BLOCK}});
}

static tess_status convert_to_packed(scene *s)
{
    return split_matrix(s, (tess_storage_options){.size = sizeof(tess_storage_options),
                                                  .format = TESS_FORMAT_PACKED,
                                                  .policy = {.granularity = TESS_GRANULARITY_ENTRY}});
}

/* A row of 70 entries is long: it has arrays of its own. */
static tess_status convert_to_packed_long(scene *s)
{
    const tess_storage_options options = {.size = sizeof options, .format = TESS_FORMAT_PACKED};
    oracle_csr a = oracle_open(SCENE_N, 70);
    tess_matrix *fresh = NULL, *made = NULL;
    tess_csr_arrays arrays;
    tess_status status = TESS_SUCCESS;

    for (int64_t i = 0; i < SCENE_N; i++) {
        for (int64_t j = i == 5 ? 0 : i; j < (i == 5 ? 70 : i + 1); j++) {
            oracle_push(&a, j, 1.0);
        }
        oracle_end_row(&a, i);
    }
    arrays = csr_arrays_of(&a);
    status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);
    if (status == TESS_SUCCESS) { status = keep_or_destroy_matrix(tess_matrix_convert(fresh, &options, &made), &made); }
    tess_matrix_destroy(fresh);
    oracle_free(&a);
    return status;
}

/* Without a policy, with one, and the choice between formats. */
static tess_status convert_to_chosen(scene *s)
{
    const tess_storage_options plain = {.size = sizeof(tess_storage_options),
                                        .format = TESS_FORMAT_AUTO,
                                        .policy = {.granularity = TESS_GRANULARITY_BLOCK}};
    tess_storage_options options = plain;
    tess_csr_arrays arrays = csr_arrays_of(&s->unsymmetric);
    tess_matrix *fresh = NULL, *made = NULL;
    tess_status status = tess_matrix_create_csr(s->ctx, &arrays, &fresh);
    bool full = false;

    for (int k = 0; k < 2 && status == TESS_SUCCESS; k++) {
        options.policy.policy = k == 0 ? TESS_POLICY_NONE : TESS_POLICY_MEAN_3STD;
        status = tess_matrix_convert(fresh, &options, &made);
        assert_true((status == TESS_SUCCESS) == (made != NULL));
        tess_matrix_destroy(made);
        made = NULL;
    }
    if (status == TESS_SUCCESS) { status = tess_blocks_are_full(fresh, &plain.policy, &full); }
    if (status == TESS_SUCCESS) { status = tess_matrix_try_slices(fresh, &plain, &made); }
    tess_matrix_destroy(made);
    tess_matrix_destroy(fresh);
    return status;
}

static tess_status convert_to_composite(scene *s)
{
    return split_matrix(s,
                        (tess_storage_options){.size = sizeof(tess_storage_options), .format = TESS_FORMAT_COMPOSITE});
}

static tess_status convert_to_composite_slices(scene *s)
{
    return split_matrix(s, (tess_storage_options){.size = sizeof(tess_storage_options),
                                                  .format = TESS_FORMAT_COMPOSITE,
                                                  .split.base = TESS_FORMAT_ELLR});
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

static tess_status analyze(scene *s)
{
    tess_matrix_analysis facts = {.size = sizeof facts};

    return tess_matrix_analyze(s->other, &facts);
}

static int apply_identity(void *user, tess_operation operation, const double *x, double *y)
{
    (void)user;
    (void)operation;
    (void)x;
    (void)y; /* arrays of the device: y keeps its contents */
    return 0;
}

static tess_status shell_product(scene *s)
{
    const tess_shell_operator shell = {.apply = apply_identity};
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

/* Files of other programs. */
static tess_status read_others(scene *s)
{
    static const char *const names[] = {"M.h5py.h5.gz", "M.matio73.mat.gz", "M.struct.mat",   "C.octave7.mat",
                                        "C.rbio.rb",    "M.scipy.rua",      "M.hypre2.00000", "M.tar.gz",
                                        "M.zip",        "M.gcxs.npz",       "S.baij.petsc",   "C.scipy.npz"};
    tess_status status = TESS_SUCCESS;

    for (size_t i = 0; i < sizeof names / sizeof *names && status == TESS_SUCCESS; i++) {
        char path[512];
        tess_matrix *made = NULL;

        (void)snprintf(path, sizeof path, "%s/files/others/%s", TESS_TEST_DIR, names[i]);
        status = keep_or_destroy_matrix(tess_matrix_read(s->ctx, path, &made, NULL), &made);
        if (status == TESS_UNSUPPORTED) { status = TESS_SUCCESS; } /* a build without its library */
    }
    return status;
}

/* A complex matrix and its vector in each kind of file that is written. */
static tess_status write_others(scene *s)
{
    static const char *const size[] = {"3"}, *const of_matrix[] = {".npz", ".mat", ".petsc", ".mtx"};
    static const char *const of_array[] = {".npy", ".mat", ".petsc", ".txt", ".csv"};
    char path[sizeof s->path + 8];
    tess_matrix *a = NULL;
    tess_status status = tess_gallery_create(s->ctx, "helmholtz2d", 1, size, &a);

    for (int i = 0; i < 4 && status == TESS_SUCCESS; i++) {
        (void)snprintf(path, sizeof path, "%s%s", s->path, of_matrix[i]);
        status = tess_matrix_write(a, path, 0);
        if (status == TESS_UNSUPPORTED || status == TESS_INVALID_ARGUMENT) { status = TESS_SUCCESS; }
        unlink(path);
    }
    for (int i = 0; i < 10 && status == TESS_SUCCESS; i++) {
        (void)snprintf(path, sizeof path, "%s%s", s->path, of_array[i % 5]);
        status = i < 5 ? tess_array_write_complex(s->ctx, s->values, 6, 2, path)
                       : tess_array_write(s->ctx, s->values, 6, 2, path);
        unlink(path);
    }
    tess_matrix_destroy(a);
    return status;
}

static tess_status gallery(scene *s)
{
    static const char *const size[] = {"6"};
    tess_matrix *made = NULL;

    return keep_or_destroy_matrix(tess_gallery_create(s->ctx, "laplace3d", 1, size, &made), &made);
}

static tess_status multiply_matrices(scene *s)
{
    tess_matrix *product = NULL;
    const tess_status status = tess_matrix_multiply(s->m, TESS_OP_TRANSPOSE, s->other, TESS_OP_NONE, &product);

    assert_int_equal(product != NULL, status == TESS_SUCCESS);
    tess_matrix_destroy(product);
    return status;
}

static const named_scenario matrix_scenarios[] = {
    {"product of matrices", multiply_matrices, false},
    {"create_csr", create_csr, false},
    {"create_unsorted_csr", create_unsorted_csr, false},
    {"create_coo", create_coo, false},
    {"convert", convert, false},
    {"convert to slices", convert_to_slices, false},
    {"convert to diagonals", convert_to_diagonals, false},
    {"convert to node blocks", convert_to_node_blocks, false},
    {"convert to split", convert_to_split, false},
    {"convert to split entries", convert_to_split_entries, false},
    {"convert to split without entries", convert_to_split_without_entries, false},
    {"convert to split blocks", convert_to_split_blocks, false},
    {"convert to split of a chosen base", convert_to_split_of_chosen_base, false},
    {"convert to split block slices", convert_to_split_block_slices, false},
    {"convert to split block diagonals", convert_to_split_block_diagonals, false},
    {"convert to split slices", convert_to_split_slices, false},
    {"convert to a chosen format", convert_to_chosen, false},
    {"convert to tiles", convert_to_tiles, false},
    {"convert to tiles of kernel paper", convert_to_paper_tiles, false},
    {"convert to tiles of layout resident", convert_to_resident_tiles, false},
    {"convert to packed", convert_to_packed, false},
    {"convert to packed with a long row", convert_to_packed_long, false},
    {"convert to composite", convert_to_composite, false},
    {"convert to composite slices", convert_to_composite_slices, false},
    {"assign precisions", assign_precisions, false},
    {"assign precisions of blocks", assign_block_precisions, false},
    {"plain_product", plain_product, false},
    {"transposed_product", transposed_product, false},
    {"vector_operations", vector_operations, false},
    {NULL, NULL, false},
};

static const named_scenario further_scenarios[] = {
    {"analyze", analyze, true},
    {"shell_product", shell_product, false},
    {"write_and_read", write_and_read, false},
    {"cache_and_read", cache_and_read, false},
    {"write_and_read_vector", write_and_read_vector, false},
    {"gallery", gallery, false},
    {"read_others", read_others, false},
    {"write_others", write_others, false},
    {NULL, NULL, false},
};

const named_scenario *const scenario_groups[] = {matrix_scenarios, precond_scenarios, solve_scenarios,
                                                 further_scenarios, NULL};
