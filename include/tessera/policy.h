/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file policy.h  Which part of a matrix is stored in which precision: granularity, policy, assignment.
 *
 * A *granularity* cuts the stored entries into granules (the matrix, its rows, its entries, its blocks). A *policy* decides,
 * from the statistics of a granule and of the matrix, which of a few *levels* (precisions, high to low) the granule is stored
 * in. The *assignment* is the outcome, a value of its own: builders of formats take it, `tessera info --policy` prints it.
 */
#ifndef TESSERA_POLICY_H
#define TESSERA_POLICY_H

#include <stdint.h>

#include <tessera/context.h>
#include <tessera/precision.h>

TESS_BEGIN_DECLS

struct tess_matrix;

/** What a granule is. */
typedef enum tess_granularity {
    TESS_GRANULARITY_MATRIX = 0, /**< the whole matrix */
    TESS_GRANULARITY_ROW = 1,    /**< a row */
    TESS_GRANULARITY_ENTRY = 2,  /**< a stored entry */
    TESS_GRANULARITY_BLOCK = 3   /**< a block of a grid */
} tess_granularity;

/** What decides a granule's precision; tess_policy_options has the rules. */
typedef enum tess_policy {
    TESS_POLICY_NONE = 0,        /**< all at the highest level */
    TESS_POLICY_FIXED_RANGE = 1, /**< low within (-R, R) */
    TESS_POLICY_MEAN_RANGE = 2,  /**< low within F times the mean magnitude */
    TESS_POLICY_MEAN_3STD = 3,   /**< low within F times the mean and three standard deviations */
    TESS_POLICY_LOSSLESS = 4     /**< the lowest that keeps every bit, or loses up to a share E of each value */
} tess_policy;

/** Most levels that a policy may assign. */
enum { TESS_MOST_LEVELS = 4 };

/** One level. A scaled level stores a granule's values over a power of two of its own, where any granule needs it. */
typedef struct tess_level {
    tess_precision precision;
    int scaled; /**< only with granularity `row` or `block` */
} tess_level;

/**
 * How precisions are chosen; mirrors --granularity, --policy, --share, --levels and --block. Zero stands for a field's default.
 *
 * A value is *inside* when it lies strictly in (-r, r), with r = R (fixed-range), r = F mean|a| (mean-range) or
 * r = F (mean|a| + 3 std|a|) (mean-3std): the mean and the population standard deviation over stored entries that are finite
 * and not zero. NaN and Inf are never inside. A row is low when
 * 100 * (number of its values inside) >= share * (number of its entries), counted in integers (exact for a whole number of
 * percent; share * entries is rounded once for another), and all its values fit: finite, no magnitude above the precision's
 * largest, none that is not zero below its smallest normal number. An entry is low when it is inside and fits. A block is low
 * when all its values are inside and fit: shares are for rows, and not read. With three
 * or four levels those below level 1 have ranges of their own, r times the ratio of the unit roundoffs (fp32 over fp16: 2^-13), so
 * that the absolute rounding error of what is inside is the same at all. A granule is at the lowest level whose rule it meets, and
 * at level 0 where it meets none. Policy none puts everything at level 0. Granularity matrix takes the policies none and lossless.
 *
 * At a scaled level a row whose values would not all fit is stored over a power of two: its largest magnitude lands in the
 * upper part of the precision's range (fp16: in [2^14, 2^15); fp32 and bf16: in [2^62, 2^63)), and it fits when its smallest
 * one is a normal number there. Rows that fit as they are have no scale. Blocks likewise: one power of two for each.
 *
 * Policy lossless has no range: a row, entry, block or the matrix is at the lowest level that stores all its values exactly, subnormal numbers
 * and zeros of either sign included, or, with a parameter E, with |a - stored(a)| <= E |a| for each. What holds NaN or Inf is at
 * level 0, which is fp64. Shares and allow_underflow are not read. At a scaled level what is not lossless as it is has the power of
 * two of above, if that makes it so. With choose_fp8 the lowest level is e4m3 or e5m2 for the whole matrix: the one at which
 * more entries are stored, e4m3 of equals; the assignment is made for both to find that.
 *
 * Blocks are those of a grid whose lines are at multiples of block_rows and block_cols; the last ones may be cut off by the
 * matrix. A block with entries, explicit zeros too, is a granule; other places of the grid are none.
 *
 * With choose_parameter F is the largest of 2^-1, 2^-2, ..., 2^-24 with which products are accurate, or DBL_MIN, with
 * which zeros alone are low, where none is. Accurate: for each of some vectors x more than 95 % of the rows have
 * |E x| < 5 * 10^-7 |A x|, with E what storage, and with fp32 arithmetic the rounding of x and of products, does to the entries:
 * 7 significant digits (tessera/digits.h). The vectors are random with fixed seeds, 2 R in (0, 1) and 2 R in (-1, 1), where
 * R = 32768 / rows, at least 1, at most 16. An x of another kind may lose more.
 * Source: Tezcan et al. 2022, section III-A (row rule, matrix-specific range), II-B (entry rule, fixed range); Zhao et al. 2024,
 * section 3.1.1 (blocks), 3.1.2, equation (5) (mean-3std), 4.2, equation (9) (the ratio of 95 %; that F is chosen is ours); Yang
 * et al. 2024, sections II-A, III-B (lossless; E = 1e-15 there, which is read as relative).
 */
typedef struct tess_policy_options {
    tess_granularity
        granularity; /**< default `row` for the format composite, and for split unless another is given; tiles have `block` */
    tess_policy policy;
    double parameter; /**< R (default 1.0), F of mean-range (default 0.1) or of mean-3std (default 0.5), E of lossless
                               (default 0: bit-exact; below 1) */
    int choose_parameter; /**< nonzero, mean-3std only: F is chosen for the matrix, as below; `parameter` is not read */
    /** Of the products that F is chosen for, fp64 by default. Formats made with an arithmetic of their own go by that one. */
    tess_arithmetic arithmetic;
    double share;    /**< percent of a row's values that must be inside: above 0, at most 100; default 99 */
    int at_most_one; /**< nonzero: in place of the share, rows of up to 100 entries may have one value outside, longer
                                ones 1 percent (the authors' published code) */
    int allow_underflow; /**< nonzero: values too small for a level may become subnormal or zero there */
    int without_diagonal; /**< nonzero: the main diagonal is left out, of statistics and of what is built; not with blocks */
    int nlevels;          /**< 1 to TESS_MOST_LEVELS; 0: fp64, fp32, for lossless fp64, fp32, fp16 and choose_fp8 */
    tess_level level[TESS_MOST_LEVELS]; /**< from high to low */
    int choose_fp8; /**< nonzero, lossless only: the lowest level, in e4m3 or e5m2, is what suits the matrix, as above */
    int block_rows, block_cols; /**< granularity block: sides of a block, 16 (default) or 32 each */
    int64_t reserved[4];        /**< zeros */
} tess_policy_options;

/** Zeros, then granularity row, policy none, the defaults above spelled out, but for levels, which go by the policy. */
TESS_EXPORT void tess_policy_options_init(tess_policy_options *options);

/** Spells the levels out where nlevels is 0, as conversions do: those of the policy. */
TESS_EXPORT void tess_policy_default_levels(tess_policy_options *options);

/** What an assignment amounts to. */
typedef struct tess_assignment_summary {
    tess_policy_options
        options;      /**< as resolved: no field stands for a default; with F and the kind of fp8 that were chosen */
    int64_t granules; /**< rows, entries, blocks that hold entries, or 1 */
    int64_t empty;    /**< granularity row: rows without entries; they have no level */
    double mean_magnitude; /**< mean |a| over entries that are finite and not zero; 0 where no policy asked for it */
    /** Population standard deviation of the same magnitudes; 0 where the policy is not mean-3std. One below 2^-40 of their
     * root mean square counts as 0. With u = 2^-53 and d = 40 + nnz / 2^20 it is within
     * 8 u std + 4 d^2 u^2 (mean^2 + std^2) / std of the exact one. Inf where the mean is. */
    double std_magnitude;
    double range
        [TESS_MOST_LEVELS]; /**< r of each level; Inf for the highest and for lossless, 0 where nothing is assigned */
    int64_t granules_at[TESS_MOST_LEVELS], nonzeros_at[TESS_MOST_LEVELS];
    /** max |a - stored(a)| / |a| over entries that are finite and not zero (Inf: one overflows); -1 until
        tess_assignment_measure_error has found it */
    double largest_relative_error;
    /** Whether some row needs a scale at that level. At the lowest scaled level rows of unscaled ones count too: composites keep
     * copies of their values there. */
    int scaled[TESS_MOST_LEVELS];
} tess_assignment_summary;

typedef struct tess_assignment tess_assignment;

/**
 * Gathers statistics and applies the policy of @p options to the assembled matrix @p a, on the matrix's device. The
 * assignment is independent of @p a afterwards. The same on every device and for any number of threads.
 * Cost: one pass over the values (two for mean-range and mean-3std), plus the columns where the diagonal is left out and for
 * blocks. These need 8 bytes an entry of device memory in addition meanwhile, and 7 (with scales 9) a block for good. Where F is
 * chosen all that once for each F that is tried, and R passes over values and columns, until one is accurate: usually the first.
 * With choose_fp8 all that twice, unless everything is stored in e4m3. Granularity matrix with policy lossless: a pass more for each
 * level from the highest that a row needs up to the one that is taken, where rows are at different ones.
 * NULL options stand for the defaults. Errors: UNSUPPORTED (not an assembled matrix, scaled entries, blocks without the
 * diagonal), INVALID_ARGUMENT (share, parameter, choose_parameter or choose_fp8 with another policy, arithmetic, levels
 * that do not descend or, for lossless, do not begin with fp64, a block's sides), memory.
 * tests/unit/test_policy.c, tests/unit/test_blocks.c, tests/unit/test_choice.c, tests/unit/test_lossless.c
 */
TESS_EXPORT tess_status tess_assignment_create(const struct tess_matrix *a, const tess_policy_options *options,
                                               tess_assignment **out);
TESS_EXPORT void tess_assignment_destroy(tess_assignment *assignment);
TESS_EXPORT void tess_assignment_get_summary(const tess_assignment *assignment, tess_assignment_summary *out);
/**
 * Finds the largest relative error of storing @p a, the matrix that the assignment was made for, as assigned, for the summary:
 * a pass over the values that set-up does not need. Errors: INVALID_ARGUMENT (another matrix), memory.
 */
TESS_EXPORT tess_status tess_assignment_measure_error(tess_assignment *assignment, const struct tess_matrix *a);
/** The level of each granule, in the matrix's order, to a host array; empty rows and left-out entries: 255. Blocks are in the
 * order of tess_assignment_get_blocks. */
TESS_EXPORT tess_status tess_assignment_get_levels(const tess_assignment *assignment, uint8_t *levels);
/**
 * The blocks of granularity block to host arrays, row by row of the grid and with ascending columns; any array may be NULL.
 * Block row i has blocks first[i] to first[i + 1] - 1: @p first holds ceil(nrows / block_rows) + 1 numbers. Block b begins at
 * column block_cols * column[b] and has count[b] entries: @p column and @p count hold as many as there are granules.
 * Errors: INVALID_ARGUMENT (another granularity), DEVICE. tests/unit/test_blocks.c
 */
TESS_EXPORT tess_status tess_assignment_get_blocks(const tess_assignment *assignment, int64_t *first, int32_t *column,
                                                   uint16_t *count);

TESS_EXPORT const char *tess_granularity_name(tess_granularity granularity);
TESS_EXPORT tess_status tess_granularity_parse(const char *name, tess_granularity *out);
TESS_EXPORT const char *tess_policy_name(tess_policy policy);
TESS_EXPORT tess_status tess_policy_parse(const char *name, tess_policy *out);
/** Parses `none`, `fixed-range[:R]`, `mean-range[:F]`, `mean-3std[:F]`, `mean-3std:auto` or `lossless[:E]` into policy, parameter
 * and choose_parameter. */
TESS_EXPORT tess_status tess_policy_options_parse(const char *text, tess_policy_options *out);
/** Parses a list of precisions, `fp64,fp32` or `fp64,fp16:scaled`, into nlevels, level and choose_fp8: fp8, which may come last. */
TESS_EXPORT tess_status tess_levels_parse(const char *text, tess_policy_options *out);

TESS_END_DECLS

#endif
