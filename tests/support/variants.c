/* SPDX-License-Identifier: Apache-2.0 */
#include "support/variants.h"
#include "support/papers.h"

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
#define FP16                   \
    {                          \
        TESS_PRECISION_FP16, 0 \
    }
#define E4M3                   \
    {                          \
        TESS_PRECISION_E4M3, 0 \
    }
#define E5M2                   \
    {                          \
        TESS_PRECISION_E5M2, 0 \
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
#define BLOCK32(KIND, number, count, ...)                                                           \
    {                                                                                               \
        .granularity = TESS_GRANULARITY_BLOCK, .policy = TESS_POLICY_##KIND, .parameter = (number), \
        .nlevels = (count), .block_rows = 32, .block_cols = 32, .level = {                          \
            __VA_ARGS__                                                                             \
        }                                                                                           \
    }
#define STORAGE(FORMAT, BASE, ORDER, ...)                                                                       \
    {                                                                                                           \
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_##FORMAT, .split.base = TESS_FORMAT_##BASE, \
        .split.row_order = TESS_ROW_ORDER_##ORDER, .policy = __VA_ARGS__                                        \
    }
#define PAPER(...)                                                                                   \
    {                                                                                                \
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_TILES, .papers = &papers_kernel, \
        .policy = __VA_ARGS__                                                                        \
    }

#define RESIDENT(...)                                                                                  \
    {                                                                                                  \
        .size = sizeof(tess_storage_options), .format = TESS_FORMAT_TILES, .papers = &papers_resident, \
        .policy = __VA_ARGS__                                                                          \
    }

const policy_variant policy_variants[POLICY_VARIANTS] = {
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
    {"csr blocks fp64,fp32", STORAGE(SPLIT, CSR, ORIGINAL, POLICY(BLOCK, FIXED_RANGE, 0.9, 2, FP64, FP32))},
    {"csr blocks fp64,fp32 mean-3std", STORAGE(SPLIT, CSR, ORIGINAL, POLICY(BLOCK, MEAN_3STD, 0.5, 2, FP64, FP32))},
    {"csr blocks 32x32 fp64,fp32,bf16",
     STORAGE(SPLIT, CSR, ORIGINAL, BLOCK32(FIXED_RANGE, 300.0, 3, FP64, FP32, BF16))},
    {"ellr blocks 32x32 fp32,bf16", STORAGE(SPLIT, ELLR, ORIGINAL, BLOCK32(FIXED_RANGE, 0.9, 2, FP32, BF16))},
    {"ellr blocks fp64,fp32,bf16",
     STORAGE(SPLIT, ELLR, ORIGINAL, POLICY(BLOCK, FIXED_RANGE, 300.0, 3, FP64, FP32, BF16))},
    {"sell fp64,fp32,fp16:scaled permuted",
     STORAGE(SPLIT, SELL, PERMUTED, POLICY(ROW, FIXED_RANGE, 300.0, 3, FP64, FP32, FP16_SCALED))},
    {"sell blocks fp64,fp32", STORAGE(SPLIT, SELL, ORIGINAL, POLICY(BLOCK, FIXED_RANGE, 0.9, 2, FP64, FP32))},
    {"dia blocks fp64,fp32,bf16",
     STORAGE(SPLIT, DIA, ORIGINAL, POLICY(BLOCK, FIXED_RANGE, 300.0, 3, FP64, FP32, BF16))},
    {"dia,sell entries fp64,fp32",
     {.size = sizeof(tess_storage_options),
      .format = TESS_FORMAT_SPLIT,
      .split.base = TESS_FORMAT_DIA,
      .split.low_base = TESS_FORMAT_SELL,
      .policy = POLICY(ENTRY, FIXED_RANGE, 0.5, 2, FP64, FP32)}},
    {"csr fp64,fp32", STORAGE(COMPOSITE, CSR, ORIGINAL, POLICY(ROW, FIXED_RANGE, 0.7, 2, FP64, FP32))},
    {"csr fp64,fp32,fp16:scaled symmetric",
     STORAGE(COMPOSITE, CSR, SYMMETRIC, POLICY(ROW, FIXED_RANGE, 300.0, 3, FP64, FP32, FP16_SCALED))},
    {"ellr fp64,fp16:scaled", STORAGE(COMPOSITE, ELLR, ORIGINAL, POLICY(ROW, MEAN_RANGE, 1.2, 2, FP64, FP16_SCALED))},
    {"sell fp64,fp16:scaled", STORAGE(COMPOSITE, SELL, ORIGINAL, POLICY(ROW, MEAN_RANGE, 1.2, 2, FP64, FP16_SCALED))},
    {"ellr fp64,fp32 symmetric", STORAGE(COMPOSITE, ELLR, SYMMETRIC, POLICY(ROW, FIXED_RANGE, 0.7, 2, FP64, FP32))},
    {"csr lossless fp64,fp32,fp16,bf16",
     STORAGE(SPLIT, CSR, ORIGINAL, POLICY(ROW, LOSSLESS, 0.0, 4, FP64, FP32, FP16, BF16))},
    {"csr entries lossless fp64,fp32,fp16,bf16",
     STORAGE(SPLIT, CSR, ORIGINAL, POLICY(ENTRY, LOSSLESS, 0.0, 4, FP64, FP32, FP16, BF16))},
    {"ellr entries lossless:1e-15 fp64,fp32,fp16,bf16",
     STORAGE(SPLIT, ELLR, ORIGINAL, POLICY(ENTRY, LOSSLESS, 1e-15, 4, FP64, FP32, FP16, BF16))},
    {"csr lossless fp64,fp32,fp16:scaled,bf16",
     STORAGE(COMPOSITE, CSR, ORIGINAL, POLICY(ROW, LOSSLESS, 0.0, 4, FP64, FP32, FP16_SCALED, BF16))},
    {"all fp64", STORAGE(TILES, CSR, ORIGINAL, {.policy = TESS_POLICY_NONE})},
    {"lossless fp64,fp32,fp16,e4m3",
     STORAGE(TILES, CSR, ORIGINAL, POLICY(BLOCK, LOSSLESS, 0.0, 4, FP64, FP32, FP16, E4M3))},
    {"32x32 lossless:1e-15 fp64,fp16:scaled,e4m3",
     STORAGE(TILES, CSR, ORIGINAL, BLOCK32(LOSSLESS, 1e-15, 3, FP64, FP16_SCALED, E4M3))},
    {"fp64,fp32", STORAGE(TILES, CSR, ORIGINAL, POLICY(BLOCK, MEAN_3STD, 0.5, 2, FP64, FP32))},
    {"fp64,fp16:scaled", STORAGE(TILES, CSR, ORIGINAL, POLICY(BLOCK, FIXED_RANGE, 0.9, 2, FP64, FP16_SCALED))},
    {"32x32 fp64,fp32,bf16", STORAGE(TILES, CSR, ORIGINAL, BLOCK32(FIXED_RANGE, 300.0, 3, FP64, FP32, BF16))},
    {"32x32 fp32,bf16", STORAGE(TILES, CSR, ORIGINAL, BLOCK32(FIXED_RANGE, 0.9, 2, FP32, BF16))},
    {"paper all fp64", PAPER({.policy = TESS_POLICY_NONE})},
    {"paper fp64,fp32", PAPER(POLICY(BLOCK, MEAN_3STD, 0.5, 2, FP64, FP32))},
    {"paper fp64,fp16:scaled", PAPER(POLICY(BLOCK, FIXED_RANGE, 0.9, 2, FP64, FP16_SCALED))},
    {"paper lossless fp64,fp32,fp16,e4m3", PAPER(POLICY(BLOCK, LOSSLESS, 0.0, 4, FP64, FP32, FP16, E4M3))},
    {"paper 32x32 fp64,fp32,bf16", PAPER(BLOCK32(FIXED_RANGE, 300.0, 3, FP64, FP32, BF16))},
    {"resident all fp64", RESIDENT({.policy = TESS_POLICY_NONE})},
    {"resident fp64,fp32,bf16", RESIDENT(POLICY(BLOCK, FIXED_RANGE, 300.0, 3, FP64, FP32, BF16))},
    {"resident fp64,fp16:scaled", RESIDENT(POLICY(BLOCK, FIXED_RANGE, 0.9, 2, FP64, FP16_SCALED))},
    {"resident lossless fp64,fp32,fp16,e4m3", RESIDENT(POLICY(BLOCK, LOSSLESS, 0.0, 4, FP64, FP32, FP16, E4M3))},
    {"resident lossless:1e-15 fp64,fp32,e5m2", RESIDENT(POLICY(BLOCK, LOSSLESS, 1e-15, 3, FP64, FP32, E5M2))},
    {"all fp64", STORAGE(PACKED, CSR, ORIGINAL, {.policy = TESS_POLICY_NONE})},
    {"all fp16", STORAGE(PACKED, CSR, ORIGINAL, POLICY(ENTRY, NONE, 0.0, 1, FP16))},
    {"fp64,fp32 mean-3std", STORAGE(PACKED, CSR, ORIGINAL, POLICY(ENTRY, MEAN_3STD, 0.5, 2, FP64, FP32))},
    {"fp64,bf16", STORAGE(PACKED, CSR, ORIGINAL, POLICY(ENTRY, FIXED_RANGE, 0.5, 2, FP64, BF16))},
    {"fp32,e4m3", STORAGE(PACKED, CSR, ORIGINAL, POLICY(ENTRY, FIXED_RANGE, 0.7, 2, FP32, E4M3))},
    {"fp64,fp32,fp16 error-bound",
     STORAGE(PACKED, CSR, ORIGINAL, POLICY(ENTRY, ERROR_BOUND, 1e-5, 3, FP64, FP32, FP16))},
    {"fp64,fp32,e5m2", STORAGE(PACKED, CSR, ORIGINAL, POLICY(ENTRY, FIXED_RANGE, 30.0, 3, FP64, FP32, E5M2))},
    {"lossless fp64,fp32,fp16,bf16",
     STORAGE(PACKED, CSR, ORIGINAL, POLICY(ENTRY, LOSSLESS, 0.0, 4, FP64, FP32, FP16, BF16))},
    {"lossless:1e-15 fp64,fp32,bf16,e4m3",
     STORAGE(PACKED, CSR, ORIGINAL, POLICY(ENTRY, LOSSLESS, 1e-15, 4, FP64, FP32, BF16, E4M3))},
};

tess_policy_options policy_of(const tess_storage_options *storage)
{
    tess_policy_options policy = storage->policy;

    if (policy.granularity == TESS_GRANULARITY_MATRIX) {
        policy.granularity = storage->format == TESS_FORMAT_TILES ? TESS_GRANULARITY_BLOCK : TESS_GRANULARITY_ROW;
    }
    if (policy.nlevels == 0) {
        policy.nlevels = 2;
        policy.level[0].precision = TESS_PRECISION_FP64;
        policy.level[1].precision = TESS_PRECISION_FP32;
    }
    return policy;
}

/* By block, in the order of the grid; to each block's entries. */
static void spread_blocks(const tess_assignment *assignment, const oracle_csr *a, uint8_t *level)
{
    tess_assignment_summary summary = {.size = sizeof summary};
    int64_t *first = NULL;
    int32_t *column = NULL;
    uint8_t *block_level = NULL;
    int rows, cols;

    tess_assignment_get_summary(assignment, &summary);
    rows = summary.options.block_rows;
    cols = summary.options.block_cols;
    first = test_allocate((a->nrows + rows - 1) / rows + 1, sizeof *first);
    column = test_allocate(summary.items + 1, sizeof *column);
    block_level = test_allocate(summary.items + 1, 1);
    assert_int_equal(tess_assignment_get_blocks(assignment, first, column, NULL), TESS_SUCCESS);
    assert_int_equal(tess_assignment_get_levels(assignment, block_level), TESS_SUCCESS);
    for (int64_t i = 0; i < a->nrows; i++) {
        int64_t b = first[i / rows];

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            while (column[b] < a->col_ind[k] / cols) {
                b++;
            }
            assert_true(b < first[i / rows + 1] && column[b] == a->col_ind[k] / cols);
            level[k] = block_level[b];
        }
    }
    free(first);
    free(column);
    free(block_level);
}

uint8_t *levels_of_entries(const tess_matrix *assembled, const oracle_csr *a, const tess_policy_options *policy)
{
    tess_assignment *assignment = NULL;
    bool by_entry = policy->granularity == TESS_GRANULARITY_ENTRY;
    uint8_t *level = test_allocate(a->nnz, 1), *row_level = test_allocate(a->nrows, 1);

    assert_ok(tess_matrix_context(assembled), tess_assignment_create(assembled, policy, &assignment));
    if (policy->granularity == TESS_GRANULARITY_BLOCK) {
        spread_blocks(assignment, a, level);
    } else {
        assert_ok(tess_matrix_context(assembled), tess_assignment_get_levels(assignment, by_entry ? level : row_level));
    }
    for (int64_t i = 0; policy->granularity == TESS_GRANULARITY_ROW && i < a->nrows; i++) {
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
