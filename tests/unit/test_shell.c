/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices that are functions of the user's. */
#include "support/product.h"

typedef struct shell_record {
    int calls, fail_with;
    bool transpose_seen;
} shell_record;

/* y_i = (i + 1) x_i for 4 values; the transpose is not there */
static int scale_by_index(void *user, tess_operation operation, const double *x, double *y)
{
    shell_record *r = user;

    r->calls += 1;
    if (operation == TESS_OP_TRANSPOSE) {
        r->transpose_seen = true;
        return 9;
    }
    for (int i = 0; i < 4; i++) {
        y[i] = (i + 1) * x[i];
    }
    return r->fail_with;
}

static void shells_multiply_and_report_failures(void **state)
{
    shell_record record = {0, 0, false};
    const tess_shell_operator shell = {.apply = scale_by_index, .user = &record}, none = {.apply = NULL};
    const tess_storage_options plain = {
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_CSR, .precision = TESS_PRECISION_FP64};
    const double x[4] = {1.0, 1.0, 2.0, 2.0}, y[4] = {1.0, 1.0, 1.0, 1.0};
    double out[4];
    tess_context *ctx = open_cpu(1);
    tess_matrix *m = NULL, *refused = NULL;

    (void)state;
    assert_ok(ctx, tess_matrix_create_shell(ctx, 4, 4, &shell, &m));
    multiply(m, TESS_OP_NONE, 1.0, x, 0.0, y, out);
    assert_true(out[0] == 1.0 && out[1] == 2.0 && out[2] == 6.0 && out[3] == 8.0);
    multiply(m, TESS_OP_NONE, 2.0, x, -1.0, y, out);
    assert_true(out[0] == 1.0 && out[1] == 3.0 && out[2] == 11.0 && out[3] == 15.0);
    assert_int_equal(record.calls, 2);
    tess_vector *vx = make_vector(ctx, 4, x), *vy = make_vector(ctx, 4, y);
    assert_fails(ctx, TESS_CALLBACK, tess_matrix_spmv(m, TESS_OP_TRANSPOSE, 1.0, vx, 0.0, vy));
    assert_true(record.transpose_seen);
    record.fail_with = 5;
    assert_fails(ctx, TESS_CALLBACK, tess_matrix_spmv(m, TESS_OP_NONE, 1.0, vx, 1.0, vy));
    assert_non_null(strstr(tess_context_last_error(ctx)->message, "5"));
    read_vector(vy, out);
    assert_true(same_bits(out, y, 4)); /* with beta the product goes aside first */
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_diagonal(m, vy));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_convert(m, &plain, &refused));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_get_csr(m, NULL, NULL, out));
    assert_fails(ctx, TESS_UNSUPPORTED, tess_matrix_update_values(m, x, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_create_shell(ctx, 4, 4, &none, &refused));
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_create_shell(ctx, -4, 4, &shell, &refused));
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_create_shell(ctx, 4, -4, &shell, &refused));
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_create_shell(ctx, INT64_C(1) << 31, 4, &shell, &refused));
    assert_fails(ctx, TESS_OUT_OF_RANGE, tess_matrix_create_shell(ctx, 4, INT64_C(1) << 31, &shell, &refused));
    assert_fails(ctx, TESS_INVALID_ARGUMENT, tess_matrix_create_shell(ctx, 4, 4, NULL, &refused));
    assert_null(refused);
    assert_int_equal(tess_matrix_nnz(m), 0);
    assert_int_equal(tess_matrix_format(m), TESS_FORMAT_SHELL);
    tess_vector_destroy(vx);
    tess_vector_destroy(vy);
    tess_matrix_destroy(m);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shells_multiply_and_report_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
