/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file policy.h  Which part of a matrix is stored in which precision: granularity, policy, assignment.
 *
 *     tess_policy_options_parse("mean-range:0.1", &options);
 *     tess_precision_levels_parse("fp64,fp32", &options);
 *     tess_assignment_create(a, &options, &assignment);
 *
 * A *granularity* divides a matrix into items: the matrix, its rows, its entries or its blocks. A *policy* gives each
 * item a *precision level*, from the statistics of the item and of the matrix. Level 0 is the highest precision. The
 * *assignment* is the result: formats are built from it, `tessera info --policy` prints it. The rules:
 * docs/reference/policies.md.
 */
#ifndef TESSERA_POLICY_H
#define TESSERA_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/context.h>
#include <tessera/precision.h>

TESS_BEGIN_DECLS

struct tess_matrix;

/** What an item is. */
typedef enum tess_granularity {
    TESS_GRANULARITY_MATRIX = 0, /**< the whole matrix */
    TESS_GRANULARITY_ROW = 1,    /**< a row */
    TESS_GRANULARITY_ENTRY = 2,  /**< a stored entry */
    TESS_GRANULARITY_BLOCK = 3   /**< a block of a grid */
} tess_granularity;

/** What decides an item's precision level; r is a range, values in (-r, r) may be low. docs/reference/policies.md */
typedef enum tess_policy {
    TESS_POLICY_NONE = 0,        /**< all at the highest level */
    TESS_POLICY_FIXED_RANGE = 1, /**< r = R */
    TESS_POLICY_MEAN_RANGE = 2,  /**< r = F mean|a| */
    TESS_POLICY_MEAN_3STD = 3,   /**< r = F (mean|a| + 3 std|a|) */
    TESS_POLICY_LOSSLESS = 4,    /**< the lowest level that stores each value exactly, or within E |a| */
    TESS_POLICY_ERROR_BOUND = 5  /**< lowest levels with which each row's errors sum up to at most E ||row||_1 */
} tess_policy;

/** Most levels that a policy may assign. */
enum { TESS_MAX_LEVELS = 4 };

/** A precision level. A scaled level stores an item's values over a power of two of its own, if any item needs it. */
typedef struct tess_precision_level {
    tess_precision precision;
    int scaled; /**< only with granularity row or block */
} tess_precision_level;

/**
 * How precision levels are chosen. The fields are --granularity, --policy, --share, --levels and --block of the command
 * line. Zero stands for a field's default.
 *
 * Example: mean-range with F = 0.1 and share 99 stores a row in fp32 if 99 % of its values are inside (-r, r), with
 * r = 0.1 mean|a|, and all of them fit fp32. docs/reference/policies.md has the rules of all policies.
 * Sources: Tezcan et al. 2022, sections II-B, III-A; Zhao et al. 2024, sections 3.1.1, 3.1.2, 4.2; Yang et al. 2024,
 * sections II-A, III-B.
 */
typedef struct tess_policy_options {
    tess_granularity granularity; /**< default: row for composite and split, block for tiles */
    tess_policy policy;
    /** R (default 1.0), F of mean-range (default 0.1) or mean-3std (default 0.5), E of lossless (below 1; default 0:
        exact), or E of error-bound (above 0, below 1; no default). */
    double parameter;
    int choose_parameter;       /**< nonzero, only mean-3std: the library chooses F; `parameter` is not read */
    tess_arithmetic arithmetic; /**< of products, to choose F (fp64); a format with an arithmetic takes its own */
    double share;               /**< percent of a row's values that must be inside: above 0 to 100 (default 99) */
    /** Nonzero: replaces the share by the rule of the authors' published code. One value of a row may be outside; in
        rows of more than 100 entries 1 percent. */
    int at_most_one;
    int allow_underflow;  /**< nonzero: values too small for a level become subnormal or zero there */
    int without_diagonal; /**< nonzero: statistics and formats omit the main diagonal; not with blocks */
    /** 1 to TESS_MAX_LEVELS; 0: fp64, fp32; error-bound: fp64, fp32, fp16; lossless: fp64, fp32, fp16, fp8 */
    int nlevels;
    tess_precision_level level[TESS_MAX_LEVELS]; /**< from high to low */
    int choose_fp8; /**< nonzero, only lossless, error-bound: the library chooses e4m3 or e5m2 for the lowest level */
    int block_rows, block_cols; /**< granularity block: sides of a block, 16 (default) or 32 each */
    /** 1: granularity is the caller's (--granularity), so that a format that does not have it refuses it. 0 (default):
        row, and matrix beside a format in parts, stand for the format's default. */
    int granularity_given;
    int64_t matrix_norm;   /**< nonzero, only error-bound: E is of the largest ||row||_1, not of each row's own */
    int64_t componentwise; /**< nonzero, only error-bound: each value is within E of itself; not with matrix_norm */
    int64_t reserved[2];   /**< zeros */
} tess_policy_options;

/** Sets granularity row, policy none and the defaults above. nlevels is 0: the levels depend on the policy. */
TESS_EXPORT void tess_policy_options_init_sized(tess_policy_options *options, size_t size);
static inline void tess_policy_options_init(tess_policy_options *options)
{
    tess_policy_options_init_sized(options, sizeof *options);
}

/** If nlevels is 0, sets the policy's default levels, as conversions do. */
TESS_EXPORT void tess_policy_default_levels(tess_policy_options *options);

/** Summary of an assignment. */
typedef struct tess_assignment_summary {
    size_t size;                 /**< sizeof(tess_assignment_summary) */
    tess_policy_options options; /**< as used: no field stands for a default; with the chosen F and kind of fp8 */
    int64_t items;               /**< number of items: rows, entries, blocks that hold entries, or 1 */
    int64_t empty;               /**< granularity row: rows without entries, which have no level */
    double mean_magnitude;       /**< mean|a| over finite nonzero entries; 0 if the policy does not need it */
    double std_magnitude; /**< population standard deviation of these, only mean-3std; else 0. Error: policies.md */
    double range[TESS_MAX_LEVELS]; /**< r; Inf: the highest level, lossless, error-bound; 0 if nothing is assigned */
    int64_t items_at[TESS_MAX_LEVELS], nonzeros_at[TESS_MAX_LEVELS];
    /** max |a - stored(a)| / |a| over finite nonzero entries; Inf: an entry overflows; -1: call
        tess_assignment_measure_error first. */
    double largest_relative_error;
    /** 1 if some row needs a scale at the level. The lowest scaled level counts rows of unscaled levels too, because a
        composite copies their values there. */
    int scaled[TESS_MAX_LEVELS];
    double largest_error_at[TESS_MAX_LEVELS]; /**< largest_relative_error of each level; -1 likewise */
    /** Largest over rows of sum |a - stored(a)| / ||row||_1, or with matrix_norm / max ||row||_1; -1 likewise. Rows
       with NaN or Inf do not count. With componentwise: largest_relative_error. */
    double backward_error;
    int64_t left_out; /**< error-bound by entry: entries that are stored nowhere, because the bound allows 0 there */
} tess_assignment_summary;

/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_assignment_summary_init_sized(tess_assignment_summary *summary, size_t size);
static inline void tess_assignment_summary_init(tess_assignment_summary *summary)
{
    tess_assignment_summary_init_sized(summary, sizeof *summary);
}

typedef struct tess_assignment tess_assignment;

/**
 * Computes the statistics of an assembled matrix and applies a policy, on the matrix's device. The result is the same
 * on every device and for any number of threads, and does not depend on @p a afterwards.
 * @param options  NULL: the defaults
 * Cost: one pass over the values; two for mean-range and mean-3std. More for blocks, lossless, and where F or fp8 is
 * chosen: docs/reference/policies.md.
 * Errors: UNSUPPORTED (not an assembled matrix, scaled entries, blocks without the diagonal, error-bound with scaled
 * blocks), INVALID_ARGUMENT (share, parameter, choose_parameter, choose_fp8, matrix_norm or componentwise with another
 * policy, both of these, arithmetic, levels that do not descend or, for lossless and error-bound, do not begin with
 * fp64, a block's sides), memory. Tests: tests/unit/test_policy.c, test_blocks.c, test_choice.c, test_lossless.c,
 * test_error_bound.c
 */
TESS_EXPORT tess_status tess_assignment_create(const struct tess_matrix *a, const tess_policy_options *options,
                                               tess_assignment **out);
/** Frees the assignment; NULL is allowed. */
TESS_EXPORT void tess_assignment_destroy(tess_assignment *assignment);
/** Fills *out, initialised by tess_assignment_summary_init. Errors: INVALID_ARGUMENT (`size`). */
TESS_EXPORT tess_status tess_assignment_get_summary(const tess_assignment *assignment, tess_assignment_summary *out);
/**
 * Computes the errors of the summary: a pass over the values of @p a, the matrix that the assignment was made for, for
 * each level below fp64 that has values, and one for the backward error. Errors: INVALID_ARGUMENT (another matrix),
 * memory.
 */
TESS_EXPORT tess_status tess_assignment_measure_error(tess_assignment *assignment, const struct tess_matrix *a);
/**
 * Copies the level of each item, in the matrix's order, to a host array. Empty rows and entries that are stored nowhere
 * (the diagonal if it is omitted, `left_out`) have 255.
 * Blocks are in the order of tess_assignment_get_blocks.
 */
TESS_EXPORT tess_status tess_assignment_get_levels(const tess_assignment *assignment, uint8_t *levels);
/**
 * Copies the blocks of granularity block to host arrays, block row by block row, with ascending columns.
 * @param first   ceil(nrows / block_rows) + 1 numbers, or NULL: block row i has blocks first[i] to first[i + 1] - 1
 * @param column  one number per block, or NULL: block b begins at column block_cols * column[b]
 * @param count   one number per block, or NULL: entries of the block
 * Errors: INVALID_ARGUMENT (another granularity), DEVICE. tests/unit/test_blocks.c
 */
TESS_EXPORT tess_status tess_assignment_get_blocks(const tess_assignment *assignment, int64_t *first, int32_t *column,
                                                   uint16_t *count);

TESS_EXPORT const char *tess_granularity_name(tess_granularity granularity);
TESS_EXPORT tess_status tess_granularity_parse(const char *name, tess_granularity *out);
TESS_EXPORT const char *tess_policy_name(tess_policy policy);
TESS_EXPORT tess_status tess_policy_parse(const char *name, tess_policy *out);
/**
 * Parses `none`, `fixed-range[:R]`, `mean-range[:F]`, `mean-3std[:F]`, `mean-3std:auto`, `lossless[:E]`,
 * `error-bound:E`, `error-bound:E:matrix` or `error-bound:E:componentwise`, and sets policy, parameter,
 * choose_parameter, matrix_norm and componentwise.
 */
TESS_EXPORT tess_status tess_policy_options_parse(const char *text, tess_policy_options *out);
/**
 * Parses a list of precisions such as `fp64,fp32` or `fp64,fp16:scaled`, and sets nlevels and level. The last may be
 * `fp8`, which sets choose_fp8.
 */
TESS_EXPORT tess_status tess_precision_levels_parse(const char *text, tess_policy_options *out);

TESS_END_DECLS

#endif
