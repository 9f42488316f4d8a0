/* SPDX-License-Identifier: Apache-2.0 */
/* The product of two assembled matrices, on a GPU where both are there. */
#include "base/options.h"
#include "matrix/device_csr.h"

/* op(A) on the host: A's own arrays where they serve. */
static tess_status take_factor(const tess_matrix *a, tess_operation operation, host_csr *out)
{
    host_csr plain = {0};
    tess_status status = host_csr_from_matrix(a, &plain);

    if (status != TESS_SUCCESS) { return status; }
    if (operation == TESS_OP_NONE) {
        *out = plain;
        return TESS_SUCCESS;
    }
    status = host_csr_transpose(a->ctx, &plain, out);
    host_csr_release(a->ctx, &plain);
    return status;
}

static int64_t rows_of(const tess_matrix *a, tess_operation operation)
{
    return operation == TESS_OP_NONE ? a->nrows : a->ncols;
}

static int64_t columns_of(const tess_matrix *a, tess_operation operation)
{
    return operation == TESS_OP_NONE ? a->ncols : a->nrows;
}

static tess_status check_factors(const tess_matrix *a, tess_operation op_a, const tess_matrix *b, tess_operation op_b)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(options_require_name(a->ctx, "tess_operation", "op_a", (int)op_a));
    TESS_TRY(options_require_name(a->ctx, "tess_operation", "op_b", (int)op_b));
    if (a->ctx != b->ctx) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "copy one of them by tess_matrix_copy_to",
                         "the matrices of a product belong to two contexts");
    }
    TESS_TRY(tess_matrix_require_assembled(a, "a product of matrices"));
    TESS_TRY(tess_matrix_require_assembled(b, "a product of matrices"));
    if (columns_of(a, op_a) == rows_of(b, op_b)) { return TESS_SUCCESS; }
    status = tess_fail(a->ctx, TESS_DIMENSION_MISMATCH, "pass matrices whose inner sizes agree, or transpose one",
                       "a %lld by %lld matrix cannot be multiplied by one of %lld by %lld", (long long)rows_of(a, op_a),
                       (long long)columns_of(a, op_a), (long long)rows_of(b, op_b), (long long)columns_of(b, op_b));
cleanup:
    return status;
}

/* op(A) on the GPU: A's own arrays where they serve. */
static tess_status take_device_factor(const tess_matrix *a, tess_operation operation, device_csr *out)
{
    device_csr plain = {0};

    device_csr_borrow(a, &plain);
    if (operation == TESS_OP_NONE) {
        *out = plain;
        return TESS_SUCCESS;
    }
    return device_csr_ops_of(a->ctx)->transpose(a->ctx, &plain, out, NULL);
}

static tess_status multiply_on_gpu(const tess_matrix *a, tess_operation op_a, const tess_matrix *b, tess_operation op_b,
                                   tess_matrix **out)
{
    tess_context *ctx = a->ctx;
    device_csr left = {0}, right = {0}, product = {0};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(take_device_factor(a, op_a, &left));
    TESS_TRY(take_device_factor(b, op_b, &right));
    TESS_TRY(device_csr_ops_of(ctx)->multiply(ctx, &left, &right, &product));
    status = device_csr_to_matrix(ctx, &product, out);
cleanup:
    device_csr_release(ctx, &left);
    device_csr_release(ctx, &right);
    return status;
}

/* Offsets of 64 bits are the host's. */
static bool gpu_multiplies(const tess_matrix *a, const tess_matrix *b)
{
    return device_csr_ops_of(a->ctx) && device_csr_takes(a) && device_csr_takes(b);
}

tess_status tess_matrix_multiply(const tess_matrix *a, tess_operation op_a, const tess_matrix *b, tess_operation op_b,
                                 tess_matrix **out)
{
    host_csr left = {0}, right = {0}, product = {0};
    tess_status status = TESS_SUCCESS;

    TESS_REQUIRE_OUT(a ? a->ctx : NULL, a, out);
    TESS_REQUIRE(a->ctx, b);
    TESS_TRY(check_factors(a, op_a, b, op_b));
    if (gpu_multiplies(a, b)) { return multiply_on_gpu(a, op_a, b, op_b, out); }
    TESS_TRY(take_factor(a, op_a, &left));
    TESS_TRY(take_factor(b, op_b, &right));
    TESS_TRY(host_csr_multiply(a->ctx, &left, &right, true, &product));
    status = host_csr_to_matrix(a->ctx, &product, out);
cleanup:
    host_csr_release(a->ctx, &left);
    host_csr_release(a->ctx, &right);
    host_csr_release(a->ctx, &product);
    return status;
}
