/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file matrix.h  Sparse matrices: assembled (FP64 CSR), stored in a format of Tessera's, or the user's own function.
 *
 * An *assembled* matrix holds rows in ascending column order without duplicates, in FP64. It is what residuals are
 * verified against. tess_matrix_convert makes a *stored* matrix from it, in a format and precision of choice.
 */
#ifndef TESSERA_MATRIX_H
#define TESSERA_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/context.h>
#include <tessera/policy.h>
#include <tessera/precision.h>
#include <tessera/vector.h>

TESS_BEGIN_DECLS

typedef struct tess_matrix tess_matrix;

/** Largest number of rows or columns: column indices are int32_t inside. */
#define TESS_MAX_ROWS INT64_C(2147483647)

/**
 * The formats of a stored matrix. Values are part of the ABI: append, never renumber. From 100 to 999 are formats that have a
 * name alone (tess_format_parse), and no enumerator.
 */
typedef enum tess_format {
    TESS_FORMAT_CSR = 0,       /**< rows one after another; what assembled matrices are in */
    TESS_FORMAT_ELLR = 1,      /**< ELLPACK-R: all rows padded to the longest */
    TESS_FORMAT_SELL = 2,      /**< SELL-C-sigma: slices of 64 rows, each padded to its longest */
    TESS_FORMAT_SPLIT = 3,     /**< parts by precision, each in a format of its own */
    TESS_FORMAT_COMPOSITE = 4, /**< one index structure with values in several precisions */
    TESS_FORMAT_DIA = 5,       /**< diagonals */
    TESS_FORMAT_TILES = 6,     /**< square blocks, each in a precision of its own */
    TESS_FORMAT_SHELL = 1000,  /**< the user's own operator: no format to convert to */
    TESS_FORMAT_AUTO = 1001    /**< no format: has the library choose; as a base, too */
} tess_format;

/** What is multiplied with. */
typedef enum tess_operation {
    TESS_OP_NONE = 0,     /**< the matrix itself */
    TESS_OP_TRANSPOSE = 1 /**< its transpose */
} tess_operation;

/**
 * CSR arrays of the caller: row_ptr[nrows + 1] (base 0), col_ind[nnz], val[nnz] in FP64. Index arrays are int32_t or
 * int64_t by @c row_ptr_bits and @c col_ind_bits (32 or 64).
 */
typedef struct tess_csr_arrays {
    int64_t nrows, ncols, nnz;
    const void *row_ptr;
    const void *col_ind;
    const double *val;
    int row_ptr_bits, col_ind_bits;
    tess_memory where;
    /**
     * BORROW reads the arrays in place for the life of the matrix; it needs them in the memory of the context's device,
     * 32-bit column indices, and rows sorted without duplicates (checked). COPY takes any valid arrays; unsorted rows
     * are sorted and duplicates summed.
     */
    tess_ownership ownership;
} tess_csr_arrays;

/** COO triplets of the caller, base 0, in any order; duplicates are summed. Always copied. */
typedef struct tess_coo_arrays {
    int64_t nrows, ncols, nnz;
    const void *row_ind;
    const void *col_ind;
    const double *val;
    int index_bits; /**< 32 or 64 */
    tess_memory where;
} tess_coo_arrays;

/**
 * An operator given by functions. @c apply computes y := A x (or A^T x; may fail for the transpose) for arrays of
 * FP64 on the context's device, enqueued on the context's stream; 0 means success. @c diagonal (optional, needed by
 * Jacobi) writes the nrows diagonal entries.
 */
typedef struct tess_shell_operator {
    int (*apply)(void *user, tess_operation operation, const double *x, double *y);
    int (*diagonal)(void *user, double *diagonal);
    void *user;
} tess_shell_operator;

/** Which order the rows of y (and the entries of x) of a split or composite matrix are in. */
typedef enum tess_row_order {
    TESS_ROW_ORDER_ORIGINAL = 0, /**< x and y as in the assembled matrix (default): y is scattered, 4 bytes a row */
    TESS_ROW_ORDER_PERMUTED = 1, /**< y in the format's row order */
    TESS_ROW_ORDER_SYMMETRIC = 2 /**< x and y in the format's row order: rows and columns are permuted alike */
} tess_row_order;

/** ellr, sell, dia: how rows are padded. */
typedef struct tess_slices_options {
    /**
     * ellr, sell, dia: the most entries, padding included, that may be stored per nonzero (default 3.0). Rows that fill up the
     * last slice do not count; a diagonal of dia counts as many entries as there are rows.
     */
    double max_padding;
    /**
     * sell: rows are sorted by length within windows of this many rows (default 256, at most 4,096, rounded up to whole
     * slices of 64); 1: the order stays.
     */
    int64_t window;
    int64_t reserved[4]; /**< zeros */
} tess_slices_options;

/** split, composite: what the parts are in, and in which order their rows are. */
typedef struct tess_split_options {
    /**
     * The format of the parts, csr (default), ellr, sell, or by entries and blocks dia. In layers (by entries and
     * blocks) slices of sell keep the order of rows: window is for parts by rows. max_padding holds for each part by itself; of a
     * layer in sell with less than an equal share of the nonzeros, for that share.
     * TESS_FORMAT_AUTO: a layer is in dia where that takes fewer bytes than its values, columns of 16 bits and a byte for each row;
     * other parts are in sell; all are in csr where that takes no more bytes, or sell needs more padding than max_padding allows.
     * What is chosen from is built to know, and released again where it is not taken.
     */
    tess_format base;
    /**
     * The format of the parts below the highest level; csr (0): as base. ellr, sell and dia may differ from each other; csr and
     * TESS_FORMAT_AUTO are for all parts, and UNSUPPORTED beside another base.
     */
    tess_format low_base;
    tess_row_order row_order;
    int64_t reserved[4]; /**< zeros */
} tess_split_options;

/** What the papers' studies of tiles take (papers.h). */
struct tess_papers_storage;

/**
 * How a matrix is stored: what every format has first, then a member for each family. Set by tess_storage_options_init;
 * zero stands for a field's default in all but `size`.
 */
typedef struct tess_storage_options {
    size_t size;              /**< sizeof(tess_storage_options) */
    tess_format format;       /**< TESS_FORMAT_AUTO: chosen for the matrix, see tess_matrix_convert */
    tess_precision precision; /**< of all values, where no policy decides */
    /**
     * What products and sums are computed in (default fp64). csr: fp64 alone, but FP32 vectors are multiplied in FP32
     * by values below fp64 (see tess_matrix_spmv). fp32 for ellr, sell and dia: with FP32 vectors. fp32 for split and
     * composite: values below fp64 are multiplied in FP32 by x rounded to FP32 (its shadow where it has one), and the
     * products are summed in FP64 (Tezcan et al. 2022, section IV).
     */
    tess_arithmetic arithmetic;
    /**
     * split, composite, tiles: what decides the precisions (`precision` is not read). csr, ellr, sell, dia: policy lossless, with granularity
     * matrix (or row, the default), chooses the one precision, the lowest level that holds every value (again `precision` is not read);
     * new values are stored in the same. Other policies are not read there.
     */
    tess_policy_options policy;
    tess_slices_options slices;               /**< ellr, sell, dia */
    tess_split_options split;                 /**< split, composite */
    const struct tess_papers_storage *papers; /**< tiles, as a paper has them; NULL (default): the library's. Copied */
    int64_t reserved[4];                      /**< zeros */
} tess_storage_options;

/** What a format can do. Sets are bits, 1 << enumerator. */
typedef struct tess_format_capabilities {
    const char *description;      /**< a few words for a list of formats */
    const char *shorthand;        /**< what the command line calls it by blocks with policy mean-3std; NULL: nothing */
    unsigned precisions;          /**< set of tess_precision that values may be stored in on the host */
    unsigned gpu_precisions;      /**< the same on a GPU; 0: the format is for the host alone */
    unsigned policies;            /**< set of tess_policy that may decide precisions */
    unsigned granularities;       /**< set of tess_granularity that these may decide by */
    tess_granularity granularity; /**< that of options which leave it open */
    unsigned scales;              /**< set of tess_granularity by which a level may be scaled */
    unsigned arithmetics;         /**< set of tess_arithmetic */
    unsigned row_orders;          /**< set of tess_row_order */
    unsigned as_base;    /**< set of tess_granularity by which another format's parts may be in this one; 0: none */
    int takes_parts;     /**< a policy decides the precisions of parts; 0: the matrix has one precision */
    int takes_bases;     /**< split.base and split.low_base are read */
    int one_base;        /**< as a base it is for all parts */
    int copies_levels;   /**< holds every value at every level: tess_matrix_spmv_level */
    int omits_diagonal;  /**< policy.without_diagonal is read */
    int pads;            /**< slices.max_padding is read, and a matrix that pads more is refused */
    int sorts_rows;      /**< slices.window is read */
    int rounds_products; /**< FP32 arithmetic is for products of low values; 0: for products with FP32 vectors */
    int takes_papers;    /**< papers is read (papers.h) */
} tess_format_capabilities;

/** How many formats there are to convert to. */
TESS_EXPORT int tess_format_count(void);
/** The number of each, for 0 <= index < tess_format_count(), in ascending order. */
TESS_EXPORT tess_format tess_format_at(int index);
/** What a format can do: the library's, valid for ever; all zero for what is no format (AUTO, SHELL). */
TESS_EXPORT const tess_format_capabilities *tess_format_can(tess_format format);
/**
 * Whether @p options fit a format for a matrix of @p nrows by @p ncols (-1: not known yet) on the context's device. Says more
 * than a conversion, which passes over what the format does not read: options that are not at their default must be read.
 * TESS_FORMAT_AUTO fits where some format takes what is asked. What the values alone can tell, as padding, is not looked at.
 * Errors: UNSUPPORTED, INVALID_ARGUMENT; the context's error says what does not fit, and what would.
 * tests/unit/test_storage_options.c
 */
TESS_EXPORT tess_status tess_storage_options_check(tess_context *ctx, int64_t nrows, int64_t ncols,
                                                   const tess_storage_options *options);

/**
 * Assembled matrix from CSR arrays. Cost: one pass over the arrays, and a sort of unsorted rows.
 * Errors: OUT_OF_RANGE (sizes, row_ptr not ascending, a column outside), INVALID_ARGUMENT, OUT_OF_MEMORY,
 * OUT_OF_DEVICE_MEMORY. Host arrays that are copied may be freed when the call returns.
 */
TESS_EXPORT tess_status tess_matrix_create_csr(tess_context *ctx, const tess_csr_arrays *arrays, tess_matrix **out);

/** Assembled matrix from COO triplets; errors as for CSR. */
TESS_EXPORT tess_status tess_matrix_create_coo(tess_context *ctx, const tess_coo_arrays *arrays, tess_matrix **out);

/** A matrix that is the user's function. @p shell is copied; its @c user pointer is borrowed. */
TESS_EXPORT tess_status tess_matrix_create_shell(tess_context *ctx, int64_t nrows, int64_t ncols,
                                                 const tess_shell_operator *shell, tess_matrix **out);

/** Copies an assembled matrix into another context (host to device and back). */
TESS_EXPORT tess_status tess_matrix_copy_to(const tess_matrix *a, tess_context *ctx, tess_matrix **out);

/** Frees the matrix; NULL is allowed. */
TESS_EXPORT void tess_matrix_destroy(tess_matrix *a);

/**
 * New values on the same pattern, in the order of the assembled matrix's nonzeros (the caller's order when its arrays
 * were sorted and without duplicates; otherwise UNSUPPORTED is returned, because the order is gone). For a borrowed
 * matrix @p val replaces the borrowed pointer when it lies on the device of the context. Stored matrices and solvers
 * made from @p a notice at their next use and renew values, not structure.
 */
TESS_EXPORT tess_status tess_matrix_update_values(tess_matrix *a, const double *val, tess_memory where);

/**
 * A stored matrix in the format and precision of @p options. @p a is borrowed and must outlive *out. Values round to
 * nearest; those too large for the precision become Inf (NaN in e4m3). Errors: UNSUPPORTED (no such format, precision or
 * arithmetic here; more padding than allowed, the message says how much), INVALID_ARGUMENT, OUT_OF_RANGE, memory.
 *
 * ellr is ELLPACK-R (Vazquez, Fernandez, Garzon, Concurrency Computat. 23, 2011), sell is SELL-C-sigma with C = 64 (Kreutzer
 * et al., SIAM J. Sci. Comput. 36, 2014). tests/unit/test_ellr.c
 * dia is the diagonal format (Zhao et al. 2024, section 2.1); src/format/dia/README.md has the layout. tests/unit/test_dia.c
 * split and composite: Tezcan et al. 2022, sections III-A and III-B; src/format/split/README.md has the layouts; split by
 * blocks: Zhao et al. 2024, section 3.2.1. INVALID_ARGUMENT also for a composite by entries or blocks and a symmetric row order of a
 * rectangular matrix, UNSUPPORTED for split by blocks with a scaled level. tests/unit/test_split.c, tests/unit/test_split_blocks.c
 * tiles: Zhao et al. 2024, section 3.2.2; blocks of 16 or 32 rows and columns, each in the precision that the policy gives it; rows in
 * their order, FP64 arithmetic, FP64 or FP32 vectors; src/format/tiles/README.md has the layouts. With kernel paper each block is in
 * COO, CSR, ELL or HYB, and products on a GPU add up by atomics in no fixed order; INVALID_ARGUMENT for thresholds that are negative,
 * not numbers, or low above high; UNSUPPORTED for kernel paper of other formats. tests/unit/test_tiles.c, tests/unit/test_tcki.c
 * tiles with layout resident: Yang et al. 2024, section III-B; UNSUPPORTED for other blocks than 16x16, with kernel paper and of other
 * formats. tests/unit/test_resident.c
 *
 * TESS_FORMAT_AUTO stands for a format that takes what the other options ask, none of which it changes; tess_matrix_format tells
 * which:
 * - With policy lossless, granularity matrix (not given) and nothing asked for that dia does not take, on a GPU, dia in the lowest
 *   precision that holds every value, where it stores at most 1.15 values per nonzero, and at most max_padding.
 * - With another policy than none, or where that is not so, on a GPU, tiles, where the granularity is block, or matrix (not given), the matrix has at least
 *   4 nonzeros for each block that holds any, of the shape asked for, and nothing is asked for that split alone takes: a share,
 *   a base, a row order, FP32 arithmetic. Else split, with granularity row where none is given. What split refuses and tiles take
 *   (scaled levels by blocks, kernel paper, layout resident, a precision) is for tiles whatever the blocks hold, on the host too.
 * - Without a policy, with FP32 arithmetic, sell.
 * - Without a policy, on a GPU, dia where it stores at most 1.15 values per nonzero, and at most max_padding; else sell, likewise.
 * - Else csr.
 * Jacobi and time steps with something mixed take split, or composite where a step is a precision; Jacobi without, csr.
 * Cost beside that of the format: where tiles may be, an assignment by policy none, which counts the blocks; diagonals
 * that are declined, a pass over the columns, and slices, one over the row lengths. The rules are ours, from measurements (docs/howto/choose-formats.md).
 * tests/unit/test_format_auto.c, tests/gpu/test_format_auto.c
 */
TESS_EXPORT tess_status tess_matrix_convert(const tess_matrix *a, const tess_storage_options *options,
                                            tess_matrix **out);
/**
 * As tess_matrix_convert to split, composite, tiles or what TESS_FORMAT_AUTO stands for, with the precisions of @p assignment, which
 * was made from @p a (its options stand for options->policy) and is borrowed until *out is destroyed. Errors also:
 * DIMENSION_MISMATCH (another matrix's).
 */
TESS_EXPORT tess_status tess_matrix_convert_assigned(const tess_matrix *a, const tess_storage_options *options,
                                                     const tess_assignment *assignment, tess_matrix **out);
/** What a matrix stored as split, composite or tiles was assigned, a parameter that was chosen included (policy.h). Errors:
 * UNSUPPORTED (other formats). tests/unit/test_choice.c */
TESS_EXPORT tess_status tess_matrix_get_assignment(const tess_matrix *a, tess_assignment_summary *out);
/** Defaults: CSR, fp64, padding up to 3.0, windows of 256 rows, FP64 arithmetic. Sets `size`. */
TESS_EXPORT void tess_storage_options_init(tess_storage_options *options);

/**
 * y := alpha op(A) x + beta y. Vectors are of matching size, x and y distinct, both FP64 or, without a transpose, both
 * FP32: for csr, ellr, sell, dia and tiles, and with beta = 0 for split and composite by rows where no row that is multiplied is in
 * fp64. With beta = 0 y is not read. Sums are FP64 whatever is stored, and so are their terms, but with FP32 vectors
 * csr, split and composite round the terms of values below fp64 to FP32; an ellr, sell or dia matrix converted with FP32
 * arithmetic takes FP32 vectors and computes in FP32. Deterministic: the same bits on every run and any number of
 * threads.
 * Error: |computed - exact| <= gamma(longest row + 2) |alpha| |A| |x| + 2u |beta y| componentwise on the stored values,
 * u and gamma those of the arithmetic; FP32 vectors add the rounding of y, and in csr, split and composite
 * 2^-24 |alpha| |A_low| |x|; split and composite with FP32 arithmetic and FP64 vectors stay with the u of FP64 and add
 * 2^-23 (1 + 2^-25) |alpha| |A_low| |x|. A_low is what is stored below fp64, where neither x nor a product leaves the
 * normal range of FP32. Errors: UNSUPPORTED for other combinations (a transpose needs FP64 values and vectors, and rows
 * in their order), INVALID_ARGUMENT, DIMENSION_MISMATCH, memory.
 * tests/unit/test_spmv.c, tests/unit/test_split_products.c, tests/conformance/test_formats.c
 */
TESS_EXPORT tess_status tess_matrix_spmv(const tess_matrix *a, tess_operation operation, double alpha,
                                         const tess_vector *x, double beta, tess_vector *y);

/**
 * y := alpha A x + beta y from one of the copies of a composite matrix: all rows in the precision of level @p level (0: the
 * highest). Otherwise as tess_matrix_spmv, which multiplies each row in the precision assigned to it. A row that does not fit
 * a level overflows in its copy. Errors also: UNSUPPORTED (other formats), OUT_OF_RANGE (level). tests/unit/test_split.c
 */
TESS_EXPORT tess_status tess_matrix_spmv_level(const tess_matrix *a, int level, double alpha, const tess_vector *x,
                                               double beta, tess_vector *y);

/**
 * The row order of a split or composite matrix: perm[position] = row of the assembled matrix, nrows entries in a host array,
 * rows of low precision first, empty rows last. Errors: UNSUPPORTED (other formats), memory.
 */
TESS_EXPORT tess_status tess_matrix_row_permutation(const tess_matrix *a, int32_t *perm);

TESS_EXPORT int64_t tess_matrix_nrows(const tess_matrix *a);
TESS_EXPORT int64_t tess_matrix_ncols(const tess_matrix *a);
/** Stored entries, explicit zeros included; 0 for a shell. */
TESS_EXPORT int64_t tess_matrix_nnz(const tess_matrix *a);
TESS_EXPORT tess_context *tess_matrix_context(const tess_matrix *a);
TESS_EXPORT tess_format tess_matrix_format(const tess_matrix *a);
/** Of formats in parts that of the highest level. */
TESS_EXPORT tess_precision tess_matrix_precision(const tess_matrix *a);
/** Nonzero where every value is stored as it is: what is solved with the matrix is the assembled system, whatever the precision. New
 * values (tess_matrix_update_values) are looked at by the next product: in csr, ellr, sell and dia by a pass over them, as in conversions
 * below fp64; split, composite and tiles with anything below fp64 are no longer known to be exact, nor are those of a
 * caller's assignment. tests/unit/test_exact.c */
TESS_EXPORT int tess_matrix_is_exact(const tess_matrix *a);
/** The format of the parts of split and composite, one that was chosen too, at the highest level; of any other matrix its own format.
 * tests/unit/test_split_bases.c */
TESS_EXPORT tess_format tess_matrix_base(const tess_matrix *a);
/** The same at the levels below: where the library chooses, of the second. */
TESS_EXPORT tess_format tess_matrix_low_base(const tess_matrix *a);
/** Bytes of the stored matrix (values, indices, offsets), without work space. */
TESS_EXPORT int64_t tess_matrix_bytes(const tess_matrix *a);
/** Names of the enums above, and the reverse: INVALID_ARGUMENT leaves *out alone. */
TESS_EXPORT const char *tess_format_name(tess_format format);
TESS_EXPORT tess_status tess_format_parse(const char *name, tess_format *out);
TESS_EXPORT const char *tess_operation_name(tess_operation operation);
TESS_EXPORT tess_status tess_operation_parse(const char *name, tess_operation *out);
TESS_EXPORT const char *tess_row_order_name(tess_row_order order);
TESS_EXPORT tess_status tess_row_order_parse(const char *name, tess_row_order *out);

/**
 * Copies the nonzeros back to host arrays of the caller: row_ptr[nrows + 1], col_ind[nnz], val[nnz]; any may be NULL.
 * For a stored matrix the values are those that the format holds (decoded to FP64).
 */
TESS_EXPORT tess_status tess_matrix_get_csr(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val);

/**
 * Host arrays of an assembled matrix of a CPU context, without a copy; NULL pointers for any other matrix. row_ptr has
 * int64_t entries when *row_ptr_bits is 64, else int32_t.
 */
typedef struct tess_csr_view {
    int64_t nrows, ncols, nnz;
    const void *row_ptr;
    const int32_t *col_ind;
    const double *val;
    int row_ptr_bits;
} tess_csr_view;
TESS_EXPORT tess_csr_view tess_matrix_csr_view(const tess_matrix *a);

/** Writes the main diagonal (min(nrows, ncols) entries; missing ones are 0) to @p diagonal, an FP64 vector. */
TESS_EXPORT tess_status tess_matrix_diagonal(const tess_matrix *a, tess_vector *diagonal);

/** Facts about an assembled matrix, as `tessera info` prints them. */
typedef struct tess_matrix_analysis {
    int64_t nrows, ncols, nnz;
    int64_t explicit_zeros;
    int64_t not_finite;        /**< NaN or Inf entries */
    int pattern_symmetric;     /**< 1 yes, 0 no, -1 not square */
    int numerically_symmetric; /**< a_ij == a_ji in every bit, +0 == -0: 1 yes, 0 no, -1 not square */
    int skew_symmetric;        /**< a_ij == -a_ji: 1, 0 or -1 */
    int64_t diagonal_missing;  /**< structurally absent */
    int64_t diagonal_zero;     /**< present and zero */
    int64_t diagonal_negative, diagonal_positive;
    int64_t diagonally_dominant_rows;                         /**< |a_ii| >= sum of the others' magnitudes */
    int64_t empty_rows, row_nnz_min, row_nnz_max, dense_rows; /**< dense: longer than 10 % of ncols and than 1,000 */
    double row_nnz_mean, row_nnz_stddev;
    int64_t bandwidth;
    double value_abs_min, value_abs_max;      /**< over nonzeros that are not zero */
    double exact_share[TESS_MOST_PRECISIONS]; /**< share of the nonzeros that a precision stores exactly */
} tess_matrix_analysis;

/**
 * Analyses an assembled matrix on the host. Each entry is compared with its mirror image, found by bisection of the other
 * row: O(nnz log row) time and no memory beside the matrix (of a GPU context: a host copy). For the numerical symmetries
 * an entry that is absent counts as 0, so an explicit zero without a mirror entry breaks pattern_symmetric only.
 * The same result for any number of threads. Errors: UNSUPPORTED (shell or stored matrix), INVALID_ARGUMENT, memory.
 */
TESS_EXPORT tess_status tess_matrix_analyze(const tess_matrix *a, tess_matrix_analysis *out);

TESS_END_DECLS

#endif
