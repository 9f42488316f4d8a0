/* SPDX-License-Identifier: Apache-2.0 */
#include "support/variants.h"

#define FP64                   \
    {                          \
        TESS_PRECISION_FP64, 0 \
    }
#define FP32                   \
    {                          \
        TESS_PRECISION_FP32, 0 \
    }
#define BF16                   \
    {                          \
        TESS_PRECISION_BF16, 0 \
    }
#define FP16_SCALED            \
    {                          \
        TESS_PRECISION_FP16, 1 \
    }
/* Ranges and shares that put rows of the test matrices at every level. */
#define POLICY(GRANULARITY, KIND, number, count, ...)                                                       \
    {                                                                                                       \
        .granularity = TESS_GRANULARITY_##GRANULARITY, .policy = TESS_POLICY_##KIND, .parameter = (number), \
        .share = 60.0, .nlevels = (count), .level = {                                                       \
            __VA_ARGS__                                                                                     \
        }                                                                                                   \
    }
#define STORAGE(FORMAT, BASE, ORDER, ...)                                                                \
    {                                                                                                    \
        .format = TESS_FORMAT_##FORMAT, .base = TESS_FORMAT_##BASE, .row_order = TESS_ROW_ORDER_##ORDER, \
        .policy = __VA_ARGS__                                                                            \
    }

const split_variant split_variants[SPLIT_VARIANTS] = {
    {"all fp64", STORAGE(SPLIT, CSR, ORIGINAL, {.policy = TESS_POLICY_NONE})},
    {"csr fp64,fp32", STORAGE(SPLIT, CSR, ORIGINAL, POLICY(ROW, FIXED_RANGE, 0.7, 2, FP64, FP32))},
    {"csr fp64,bf16 permuted", STORAGE(SPLIT, CSR, PERMUTED, POLICY(ROW, MEAN_RANGE, 1.0, 2, FP64, BF16))},
    {"csr fp64,fp16:scaled", STORAGE(SPLIT, CSR, ORIGINAL, POLICY(ROW, MEAN_RANGE, 1.2, 2, FP64, FP16_SCALED))},
    {"csr fp64,fp32,fp16:scaled symmetric",
     STORAGE(SPLIT, CSR, SYMMETRIC, POLICY(ROW, FIXED_RANGE, 300.0, 3, FP64, FP32, FP16_SCALED))},
    {"csr fp32,bf16", STORAGE(SPLIT, CSR, ORIGINAL, POLICY(ROW, FIXED_RANGE, 0.7, 2, FP32, BF16))},
    {"csr entries fp64,fp32", STORAGE(SPLIT, CSR, ORIGINAL, POLICY(ENTRY, FIXED_RANGE, 0.5, 2, FP64, FP32))},
    {"ellr entries fp64,fp32,bf16",
     STORAGE(SPLIT, ELLR, ORIGINAL, POLICY(ENTRY, FIXED_RANGE, 30.0, 3, FP64, FP32, BF16))},
    {"ellr fp64,fp32", STORAGE(SPLIT, ELLR, ORIGINAL, POLICY(ROW, FIXED_RANGE, 0.7, 2, FP64, FP32))},
    {"ellr fp64,fp32,fp16:scaled permuted",
     STORAGE(SPLIT, ELLR, PERMUTED, POLICY(ROW, FIXED_RANGE, 300.0, 3, FP64, FP32, FP16_SCALED))},
    {"csr fp64,fp32", STORAGE(COMPOSITE, CSR, ORIGINAL, POLICY(ROW, FIXED_RANGE, 0.7, 2, FP64, FP32))},
    {"csr fp64,fp32,fp16:scaled symmetric",
     STORAGE(COMPOSITE, CSR, SYMMETRIC, POLICY(ROW, FIXED_RANGE, 300.0, 3, FP64, FP32, FP16_SCALED))},
    {"ellr fp64,fp16:scaled", STORAGE(COMPOSITE, ELLR, ORIGINAL, POLICY(ROW, MEAN_RANGE, 1.2, 2, FP64, FP16_SCALED))},
    {"ellr fp64,fp32 symmetric", STORAGE(COMPOSITE, ELLR, SYMMETRIC, POLICY(ROW, FIXED_RANGE, 0.7, 2, FP64, FP32))},
};

tess_policy_options policy_of(const tess_storage_options *storage)
{
    tess_policy_options policy = storage->policy;

    if (policy.granularity == TESS_GRANULARITY_MATRIX) { policy.granularity = TESS_GRANULARITY_ROW; }
    if (policy.nlevels == 0) {
        policy.nlevels = 2;
        policy.level[0].precision = TESS_PRECISION_FP64;
        policy.level[1].precision = TESS_PRECISION_FP32;
    }
    return policy;
}

uint8_t *levels_of_entries(const tess_matrix *assembled, const oracle_csr *a, const tess_policy_options *policy)
{
    tess_assignment *assignment = NULL;
    bool by_entry = policy->granularity == TESS_GRANULARITY_ENTRY;
    uint8_t *level = test_allocate(a->nnz, 1), *row_level = test_allocate(a->nrows, 1);

    assert_ok(tess_matrix_context(assembled), tess_assignment_create(assembled, policy, &assignment));
    assert_ok(tess_matrix_context(assembled), tess_assignment_get_levels(assignment, by_entry ? level : row_level));
    for (int64_t i = 0; !by_entry && i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            level[k] = policy->without_diagonal && a->col_ind[k] == i ? 255 : row_level[i];
        }
    }
    tess_assignment_destroy(assignment);
    free(row_level);
    return level;
}

int32_t *permutation_of(const tess_matrix *stored)
{
    int32_t *perm = test_allocate(tess_matrix_nrows(stored), sizeof *perm);

    assert_ok(tess_matrix_context(stored), tess_matrix_row_permutation(stored, perm));
    return perm;
}

int32_t *inverse_permutation(int64_t n, const int32_t *perm)
{
    int32_t *inverse = test_allocate(n, sizeof *inverse);

    for (int64_t p = 0; p < n; p++) {
        inverse[p] = -1;
    }
    for (int64_t p = 0; p < n; p++) {
        assert_true(perm[p] >= 0 && perm[p] < n && inverse[perm[p]] == -1);
        inverse[perm[p]] = (int32_t)p;
    }
    return inverse;
}

oracle_csr reordered(const tess_matrix *stored, const oracle_csr *held, tess_row_order order)
{
    oracle_csr out = oracle_open(held->nrows, held->ncols);
    int32_t *perm = NULL, *inverse = NULL;

    if (order == TESS_ROW_ORDER_ORIGINAL) {
        oracle_free(&out);
        return oracle_copy(held);
    }
    perm = permutation_of(stored);
    inverse = inverse_permutation(held->nrows, perm);
    for (int64_t p = 0; p < held->nrows; p++) {
        for (int64_t k = held->row_ptr[perm[p]]; k < held->row_ptr[perm[p] + 1]; k++) {
            int32_t column = held->col_ind[k];

            oracle_push(&out, order == TESS_ROW_ORDER_SYMMETRIC ? inverse[column] : column, held->val[k]);
        }
        oracle_end_row(&out, p);
    }
    free(perm);
    free(inverse);
    return out;
}
