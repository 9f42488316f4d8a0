/* SPDX-License-Identifier: Apache-2.0 */
/* Structs as programs with other headers have them: shorter, longer, and with a `size` that no headers give. Programs
   with earlier headers: tests/abi. */
#include <tessera/io.h>
#include <tessera/solver.h>

#include "support/precond_of.h"
#include "support/test.h"

enum { N = 4, GUARD = 0x5a };

/* The bytes from `first` on are the guard's. */
static void check_untouched(const void *memory, size_t first, size_t end)
{
    const unsigned char *bytes = memory;

    for (size_t i = first; i < end; i++) {
        assert_int_equal(bytes[i], GUARD);
    }
}

static void a_shorter_struct_is_all_that_is_written(void **state)
{
    tess_solve_options options, full;
    tess_policy_options policy;
    const size_t known = offsetof(tess_solve_options, rtol);

    (void)state;
    tess_solve_options_init(&full);
    memset(&options, GUARD, sizeof options);
    tess_solve_options_init_sized(&options, known);
    check_untouched(&options, known, sizeof options);
    assert_int_equal(options.size, known);
    options.size = full.size;
    assert_memory_equal(&options, &full, known);
    memset(&policy, GUARD, sizeof policy);
    tess_policy_options_init_sized(&policy, sizeof policy.granularity);
    check_untouched(&policy, sizeof policy.granularity, sizeof policy);
    assert_int_equal(policy.granularity, TESS_GRANULARITY_ROW);
}

/* Without room for `size` there is nothing to write. */
static void a_length_without_a_size_is_left_alone(void **state)
{
    tess_solve_result result;

    (void)state;
    memset(&result, GUARD, sizeof result);
    tess_solve_result_init_sized(&result, sizeof result.size - 1);
    check_untouched(&result, 0, sizeof result);
}

/* What the library does not know is zero; a call that gets the struct refuses it. */
static void a_longer_struct_is_zero_beyond(void **state)
{
    struct {
        tess_context_options options;
        int64_t later[3];
    } newer;
    tess_context *ctx = NULL;

    (void)state;
    memset(&newer, GUARD, sizeof newer);
    tess_context_options_init_sized(&newer.options, sizeof newer);
    assert_int_equal(newer.options.size, sizeof newer);
    assert_int_equal(newer.options.device_index, -1);
    assert_true(newer.later[0] == 0 && newer.later[1] == 0 && newer.later[2] == 0);
    assert_int_equal(tess_context_create(&newer.options, &ctx), TESS_INVALID_ARGUMENT);
    newer.options.size = 0;
    assert_int_equal(tess_context_create(&newer.options, &ctx), TESS_INVALID_ARGUMENT);
    assert_null(ctx);
}

/* An older context has the defaults of what it does not name. */
static void a_shorter_context_has_defaults(void **state)
{
    tess_context_options options;
    tess_context *ctx = NULL;

    (void)state;
    tess_context_options_init_sized(&options, offsetof(tess_context_options, threads));
    options.device = TESS_DEVICE_CPU;
    options.threads = -7; /* beyond its size */
    assert_int_equal(tess_context_create(&options, &ctx), TESS_SUCCESS);
    tess_context_destroy(ctx);
}

static void shorter_results_are_filled_as_far_as_they_go(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_tridiagonal(N, -1.0, 2.0, -1.0);
    tess_matrix *m = make_matrix(ctx, &a);
    const size_t known = offsetof(tess_matrix_analysis, explicit_zeros);
    tess_matrix_analysis facts;

    (void)state;
    memset(&facts, GUARD, sizeof facts);
    tess_matrix_analysis_init_sized(&facts, known);
    assert_ok(ctx, tess_matrix_analyze(m, &facts));
    assert_true(facts.size == known && facts.nrows == N && facts.nnz == 3 * N - 2);
    check_untouched(&facts, known, sizeof facts);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

/* Each call refuses the sizes that no headers of this version give, and says which struct it is. */
#define CHECK_SIZES(struct, field, call)                                                     \
    do {                                                                                     \
        const size_t wrong[] = {0, sizeof(struct) + 1};                                      \
        for (int k = 0; k < 2; k++) {                                                        \
            (field) = wrong[k];                                                              \
            assert_fails(ctx, TESS_INVALID_ARGUMENT, call);                                  \
            assert_non_null(strstr(tess_context_last_error(ctx)->message, #struct ".size")); \
        }                                                                                    \
    } while (0)

static void sizes_of_other_headers_are_refused(void **state)
{
    tess_context *ctx = open_cpu(1);
    oracle_csr a = oracle_tridiagonal(N, -1.0, 2.0, -1.0);
    tess_matrix *m = make_matrix(ctx, &a), *made = NULL;
    const tess_precond_options ilu = precond_of(TESS_PRECOND_ILU0, 0);
    tess_csr_arrays csr = csr_arrays_of(&a);
    tess_coo_arrays coo;
    tess_matrix_analysis facts;
    tess_precond_factors factors;
    tess_assignment_summary summary;
    tess_mtx_info info;
    tess_precond *precond = NULL;
    tess_assignment *assignment = NULL;
    const char text[] = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n";

    (void)state;
    tess_coo_arrays_init(&coo);
    assert_ok(ctx, tess_precond_create(m, &ilu, &precond));
    assert_ok(ctx, tess_assignment_create(m, NULL, &assignment));
    CHECK_SIZES(tess_csr_arrays, csr.size, tess_matrix_create_csr(ctx, &csr, &made));
    CHECK_SIZES(tess_coo_arrays, coo.size, tess_matrix_create_coo(ctx, &coo, &made));
    CHECK_SIZES(tess_matrix_analysis, facts.size, tess_matrix_analyze(m, &facts));
    CHECK_SIZES(tess_precond_factors, factors.size, tess_precond_get_factors(precond, &factors));
    CHECK_SIZES(tess_assignment_summary, summary.size, tess_assignment_get_summary(assignment, &summary));
    CHECK_SIZES(tess_mtx_info, info.size, tess_matrix_read(ctx, "none.mtx", &made, &info));
    CHECK_SIZES(tess_mtx_info, info.size, tess_matrix_read_memory(ctx, "text", text, strlen(text), &made, &info));
    assert_null(made);
    tess_assignment_destroy(assignment);
    tess_precond_destroy(precond);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
    oracle_free(&a);
}

static int copy(void *user, const double *r, double *z)
{
    (void)user;
    memcpy(z, r, N * sizeof *z);
    return 0;
}

static void reserved_words_of_a_preconditioner_are_zeros(void **state)
{
    tess_context *ctx = open_cpu(1);
    tess_shell_precond shell = {.apply = copy, .reserved = {1}};
    tess_precond *m = NULL;

    (void)state;
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_precond_create_shell(ctx, N, &shell, &m));
    assert_null(m);
    shell.reserved[0] = 0;
    assert_ok(ctx, tess_precond_create_shell(ctx, N, &shell, &m));
    tess_precond_destroy(m);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shorter_struct_is_all_that_is_written),
        cmocka_unit_test(a_length_without_a_size_is_left_alone),
        cmocka_unit_test(a_longer_struct_is_zero_beyond),
        cmocka_unit_test(a_shorter_context_has_defaults),
        cmocka_unit_test(shorter_results_are_filled_as_far_as_they_go),
        cmocka_unit_test(sizes_of_other_headers_are_refused),
        cmocka_unit_test(reserved_words_of_a_preconditioner_are_zeros),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
