/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file matrix.h  Sparse matrices: assembled (FP64 CSR), stored in a format of choice, or the user's function.
 *
 *     tess_matrix_create_csr(ctx, &arrays, &a);                  an assembled matrix
 *     options.format = TESS_FORMAT_SELL;
 *     tess_matrix_convert(a, &options, &stored);                 a stored matrix; it keeps a
 *     tess_matrix_spmv(stored, TESS_OP_NONE, 1.0, x, 0.0, y);    y := A x
 *
 * An *assembled* matrix is CSR in FP64, with rows in ascending column order and without duplicates. Residuals are
 * verified against it. A *stored* matrix has a format and precisions of choice. Formats: docs/concepts/formats.md, and
 * exactly docs/reference/formats.md. Words such as level, base and shell: docs/glossary.md.
 */
#ifndef TESSERA_MATRIX_H
#define TESSERA_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/context.h>
#include <tessera/export.h>
#include <tessera/policy.h>
#include <tessera/precision.h>
#include <tessera/vector.h>

TESS_BEGIN_DECLS

typedef struct tess_matrix tess_matrix;

/** Largest number of rows or columns. Column indices are int32_t internally. */
#define TESS_MAX_ROWS INT64_C(2147483647)

/**
 * The formats of a stored matrix. Values are part of the ABI: append, never renumber. Formats from 100 to 999 have a
 * name (tess_format_parse) and no enumerator.
 */
typedef enum tess_format {
    TESS_FORMAT_CSR = 0,       /**< rows one after another; the format of assembled matrices */
    TESS_FORMAT_ELLR = 1,      /**< ELLPACK-R: all rows padded to the longest */
    TESS_FORMAT_SELL = 2,      /**< SELL-C-sigma: slices of 64 rows, each padded to its longest row */
    TESS_FORMAT_SPLIT = 3,     /**< one part for each precision level, each in a format of its own */
    TESS_FORMAT_COMPOSITE = 4, /**< one index structure, with the values in every precision level */
    TESS_FORMAT_DIA = 5,       /**< diagonals */
    TESS_FORMAT_TILES = 6,     /**< blocks of 16 or 32 rows and columns, each in a precision of its own */
    TESS_FORMAT_BSR = 7,       /**< blocks of 2 to 6 rows and columns, or complex numbers, with an index each */
    TESS_FORMAT_PACKED = 8,    /**< slices of rows with shared columns, each entry in a precision of its own */
    TESS_FORMAT_SHELL = 1000,  /**< the user's function; no format to convert to */
    TESS_FORMAT_AUTO = 1001    /**< the library chooses, also for a base */
} tess_format;

/** Whether a product uses the matrix or its transpose. */
typedef enum tess_operation {
    TESS_OP_NONE = 0,     /**< the matrix itself */
    TESS_OP_TRANSPOSE = 1 /**< its transpose */
} tess_operation;

/** CSR arrays of the caller, base 0: row_ptr[nrows + 1], col_ind[nnz], and val[nnz] in any storage precision. */
typedef struct tess_csr_arrays {
    size_t size; /**< sizeof(tess_csr_arrays) */
    int64_t nrows, ncols, nnz;
    const void *row_ptr;
    const void *col_ind;
    const void *val;
    tess_precision val_precision;   /**< fp64 (0): double; fp32: float; ...: converted to FP64, which is exact */
    int row_ptr_bits, col_ind_bits; /**< 32: int32_t; 64: int64_t */
    tess_memory where;              /**< of all three arrays */
    /** COPY takes any valid arrays, sorts rows and sums duplicates. BORROW reads the arrays in place while the matrix
        exists: in the memory of the context's device, with FP64 values, 32-bit column indices, and rows sorted without
        duplicates (checked). */
    tess_ownership ownership;
    int is_complex; /**< 1: val has 2 nnz numbers, re and im of each entry (tess_matrix_is_complex); COPY alone */
} tess_csr_arrays;

/** COO triplets of the caller, base 0, in any order. They are copied, and duplicates summed. */
typedef struct tess_coo_arrays {
    size_t size; /**< sizeof(tess_coo_arrays) */
    int64_t nrows, ncols, nnz;
    const void *row_ind;
    const void *col_ind;
    const void *val;
    tess_precision val_precision; /**< as in tess_csr_arrays */
    int index_bits;               /**< of both index arrays: 32 or 64 */
    tess_memory where;            /**< of all three arrays */
    int is_complex;               /**< as in tess_csr_arrays */
} tess_coo_arrays;

/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_csr_arrays_init_sized(tess_csr_arrays *arrays, size_t size);
static inline void tess_csr_arrays_init(tess_csr_arrays *arrays)
{
    tess_csr_arrays_init_sized(arrays, sizeof *arrays);
}
/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_coo_arrays_init_sized(tess_coo_arrays *arrays, size_t size);
static inline void tess_coo_arrays_init(tess_coo_arrays *arrays)
{
    tess_coo_arrays_init_sized(arrays, sizeof *arrays);
}

/**
 * An operator given by functions (a *shell*, as in PETSc), which return 0 for success. @c apply computes y := A x or
 * A^T x for FP64 arrays on the context's device, queued on the context's stream. For an operator without transpose it
 * returns an error for that; only LSQR and LSMR need it. They also take nrows != ncols.
 * @c diagonal writes the nrows diagonal entries; it may be NULL, unless the preconditioner is Jacobi.
 * @c error_bound writes a bound on ||y - A x||_2 to *bound (on the host), where y is what @c apply computes from this x
 * and A is the exact operator. Without it (NULL) a solve can converge, but its result is not verified.
 * The marks tell solver auto what it cannot see. With a wrong one a solve may fail; the true residual decides, so that
 * it claims nothing false.
 * Tests: tests/unit/test_shell.c, test_shell_marks.c, test_least_squares_shell.c
 */
typedef struct tess_shell_operator {
    int (*apply)(void *user, tess_operation operation, const double *x, double *y);
    int (*diagonal)(void *user, double *diagonal);
    void *user;
    int (*error_bound)(void *user, const double *x, double *bound);
    int symmetric;         /**< 1: A = A^T, so that auto takes MINRES; 0 (default): unknown, and it takes BiCGSTAB */
    int positive_definite; /**< 1: symmetric as well, so that auto takes CG; 0 (default): unknown */
    int64_t is_complex;    /**< 1: it is the real form of a complex operator (tess_matrix_is_complex); 0 (default) */
    int64_t reserved[2];   /**< zeros */
} tess_shell_operator;

/** The order of the rows of y and of the elements of x, for a split or composite matrix. */
typedef enum tess_row_order {
    TESS_ROW_ORDER_ORIGINAL = 0, /**< x and y as in the assembled matrix (default); scattering y costs 4 bytes a row */
    TESS_ROW_ORDER_PERMUTED = 1, /**< y in the format's row order */
    TESS_ROW_ORDER_SYMMETRIC = 2 /**< x and y in the format's row order: rows and columns are permuted alike */
} tess_row_order;

/** Options of ellr, sell, dia and bsr, and of split and composite with such a base: padding. */
typedef struct tess_slices_options {
    /** The most entries, with padding, that may be stored per nonzero (default 3.0). Rows that fill up the last slice
        do not count. A diagonal counts as many entries as the matrix has rows. */
    double max_padding;
    /** sell: rows are sorted by length within windows of this many rows, at most 4,096, rounded up to slices of 64
        (default 256). 1: rows keep their order. */
    int64_t window;
    /** bsr: rows and columns of a block, 2 to 6. 0 (default): the library finds the size of fewest bytes. */
    int64_t bsr_block_size;
    int64_t reserved[3]; /**< zeros */
} tess_slices_options;

/** Options of split and composite: the format of the parts, and the order of their rows. */
typedef struct tess_split_options {
    /** Format of the parts: csr (default), ellr, sell; in layers (by entries or blocks) also dia. TESS_FORMAT_AUTO: the
        library chooses by bytes. docs/reference/formats.md, "Bases". */
    tess_format base;
    /** Format of the parts below the highest level; csr (0): that of base. ellr, sell and dia may be combined. csr and
        TESS_FORMAT_AUTO hold for all parts; beside another base they are UNSUPPORTED. */
    tess_format low_base;
    tess_row_order row_order;
    int64_t reserved[4]; /**< zeros */
} tess_split_options;

/** Options for studies of the papers (papers.h). */
struct tess_papers_storage;

/**
 * How a matrix is stored: first the options of every format, then a member for each family. tess_storage_options_init
 * sets the defaults. Zero stands for a field's default, except for `size`.
 */
typedef struct tess_storage_options {
    size_t size;              /**< sizeof(tess_storage_options) */
    tess_format format;       /**< TESS_FORMAT_AUTO: the library chooses (tess_matrix_convert) */
    tess_precision precision; /**< of all values, if no policy decides */
    /**
     * Arithmetic of products and sums (fp64). fp32: ellr, sell, dia, bsr take FP32 vectors; split, composite multiply
     * values below fp64 in FP32 and sum in FP64; other formats refuse it. docs/reference/formats.md, "Arithmetic".
     */
    tess_arithmetic arithmetic;
    /** split, composite, tiles, packed: decides all precisions. csr, ellr, sell, dia, bsr: only lossless is read, with
       granularity matrix (or row, the default); it chooses the one precision, and new values are stored in the same. In
       both cases `precision` is not read. */
    tess_policy_options policy;
    tess_slices_options slices;               /**< ellr, sell, dia, bsr, and parts in these */
    tess_split_options split;                 /**< split, composite */
    const struct tess_papers_storage *papers; /**< options for studies of the papers; NULL (default): none. Copied */
    int64_t reserved[4];                      /**< zeros */
} tess_storage_options;

/** What a format can do. A set has the bit 1 << enumerator for each of its members. */
typedef struct tess_format_capabilities {
    const char *description;      /**< a few words, for a list of formats */
    const char *shorthand;        /**< the command line's word for it by blocks with policy mean-3std, or NULL */
    unsigned precisions;          /**< set of tess_precision: what values are stored in on the host */
    unsigned gpu_precisions;      /**< the same on a GPU; 0: the format is only for the host */
    unsigned policies;            /**< set of tess_policy that may decide the precisions */
    unsigned granularities;       /**< set of tess_granularity by which they may decide */
    tess_granularity granularity; /**< the default one */
    unsigned scales;              /**< set of tess_granularity by which a level may have a scale */
    unsigned arithmetics;         /**< set of tess_arithmetic */
    unsigned row_orders;          /**< set of tess_row_order */
    unsigned as_base;             /**< set of tess_granularity by which it may be the base of other formats' parts */
    int takes_parts;     /**< 1: a policy decides the precision of each part; 0: the matrix has one precision */
    int takes_bases;     /**< the format reads split.base and split.low_base */
    int one_base;        /**< as a base, it is the base of all parts */
    int copies_levels;   /**< it holds every value at every level: tess_matrix_spmv_level */
    int omits_diagonal;  /**< it reads policy.without_diagonal */
    int pads;            /**< it reads slices.max_padding, and refuses a matrix that needs more */
    int sorts_rows;      /**< it reads slices.window */
    int rounds_products; /**< FP32 arithmetic rounds products of low values; 0: it needs FP32 vectors */
    int takes_papers;    /**< it reads papers (papers.h) */
} tess_format_capabilities;

/** The number of formats to convert to. */
TESS_EXPORT int tess_format_count(void);
/** The format of each index from 0 to tess_format_count() - 1, in ascending order; AUTO for any other index. */
TESS_EXPORT tess_format tess_format_at(int index);
/** What a format can do. The library owns the result, which stays valid. AUTO, SHELL and unknown numbers have none. */
TESS_EXPORT const tess_format_capabilities *tess_format_can(tess_format format);
/**
 * Tells whether options fit their format, for a matrix of @p nrows by @p ncols (-1: unknown) on the context's device.
 * A conversion ignores options that the format does not read. This function refuses them unless they are at their
 * default.
 * TESS_FORMAT_AUTO fits if some format takes what is asked. Padding depends on the matrix, and is not looked at.
 * Errors: INVALID_ARGUMENT (what contradicts itself on every device), UNSUPPORTED (what this device does not have). The
 * context's error says what does not fit, and what would.
 * Test: tests/unit/test_storage_options.c.
 */
TESS_EXPORT tess_status tess_storage_options_check(tess_context *ctx, int64_t nrows, int64_t ncols,
                                                   const tess_storage_options *options);

/**
 * Makes an assembled matrix from CSR arrays (examples/c/solve.c). Copied host arrays may be freed after the call.
 * Cost: one pass over the arrays, and a sort of unsorted rows.
 * Errors: OUT_OF_RANGE (sizes, row_ptr not ascending, a column outside), INVALID_ARGUMENT, OUT_OF_MEMORY,
 * OUT_OF_DEVICE_MEMORY.
 */
TESS_EXPORT tess_status tess_matrix_create_csr(tess_context *ctx, const tess_csr_arrays *arrays, tess_matrix **out);

/** Makes an assembled matrix from COO triplets. Errors: those of tess_matrix_create_csr. */
TESS_EXPORT tess_status tess_matrix_create_coo(tess_context *ctx, const tess_coo_arrays *arrays, tess_matrix **out);

/** Makes a matrix that is the user's function. @p shell is copied; its @c user pointer is borrowed. */
TESS_EXPORT tess_status tess_matrix_create_shell(tess_context *ctx, int64_t nrows, int64_t ncols,
                                                 const tess_shell_operator *shell, tess_matrix **out);

/** Copies an assembled matrix into another context, for example from a CPU context to a GPU context. */
TESS_EXPORT tess_status tess_matrix_copy_to(const tess_matrix *a, tess_context *ctx, tess_matrix **out);

/**
 * Makes a second matrix of the same values for another context, so that two threads solve with it at once, each with
 * a context of its own. The two share the arrays of @p a and count their holders atomically: either may be destroyed
 * first, from any thread.
 * @param a    assembled, of a CPU context. The call belongs to the thread that uses @p a
 * @param ctx  another CPU context, which no other thread uses during the call; or that of @p a, for a second matrix in
 *             the same thread with plans of its own
 * While both exist, tess_matrix_update_values refuses either; later it still refuses the second, unless the arrays are
 * the caller's. A host allocator of the caller must work in any thread.
 * Cost: no copy; what an object makes for itself, such as A^T, is made once for each context.
 * Errors: UNSUPPORTED (a shell or stored matrix, a GPU: use tess_matrix_copy_to), memory. On failure *out is NULL.
 * Test: tests/unit/test_share.c
 */
TESS_EXPORT tess_status tess_matrix_share(const tess_matrix *a, tess_context *ctx, tess_matrix **out);

/** Frees the matrix, when the last object that was made from it is destroyed too; NULL is allowed. */
TESS_EXPORT void tess_matrix_destroy(tess_matrix *a);

/**
 * Sets new values on the same pattern. Stored matrices and solvers made from @p a renew their values, not their
 * structure, at their next use. A matrix with entries that are left out (policy error-bound) is stored anew then.
 * @param val        nnz values in the order of the assembled matrix's nonzeros. This is the order of the caller's
 *                   arrays if these were sorted and without duplicates. A borrowed matrix borrows @p val if it is FP64
 *                   and in the memory of the context's device. Of a complex matrix: re and im of each complex entry.
 * @param precision  of the values
 * Errors: UNSUPPORTED (the arrays were sorted or had duplicates, so that their order is lost; a matrix that is shared),
 * INVALID_ARGUMENT, memory.
 */
TESS_EXPORT tess_status tess_matrix_update_values(tess_matrix *a, const void *val, tess_precision precision,
                                                  tess_memory where);

/**
 * Makes a stored matrix. Formats, the rules of TESS_FORMAT_AUTO, sources and tests: docs/reference/formats.md.
 * @param a        assembled; *out keeps it if the caller destroys it first
 * @param options  format, precision or policy. With TESS_FORMAT_AUTO, tess_matrix_format returns the chosen format.
 * Values are rounded to nearest. Those too large for the precision become Inf (NaN in e4m3).
 * Errors: UNSUPPORTED (a format, precision or arithmetic that this combination or device does not have; more padding
 * than max_padding, the message has the ratio), INVALID_ARGUMENT, OUT_OF_RANGE, memory.
 */
TESS_EXPORT tess_status tess_matrix_convert(const tess_matrix *a, const tess_storage_options *options,
                                            tess_matrix **out);
/**
 * As tess_matrix_convert, to split, composite, tiles, packed or TESS_FORMAT_AUTO, by the levels of an assignment.
 * @param assignment  made from @p a; *out keeps it. Its options replace options->policy.
 * Errors also: DIMENSION_MISMATCH (the assignment of another matrix).
 */
TESS_EXPORT tess_status tess_matrix_convert_assigned(const tess_matrix *a, const tess_storage_options *options,
                                                     const tess_assignment *assignment, tess_matrix **out);
/**
 * The assignment of a split, composite, tiles or packed matrix, with a parameter that the library chose (policy.h).
 * Errors: UNSUPPORTED (other formats), INVALID_ARGUMENT (`size`). tests/unit/test_choice.c
 */
TESS_EXPORT tess_status tess_matrix_get_assignment(const tess_matrix *a, tess_assignment_summary *out);
/** Sets `size` and the defaults: csr, fp64, padding up to 3.0, windows of 256 rows, FP64 arithmetic. */
TESS_EXPORT void tess_storage_options_init_sized(tess_storage_options *options, size_t size);
static inline void tess_storage_options_init(tess_storage_options *options)
{
    tess_storage_options_init_sized(options, sizeof *options);
}

/**
 * y := alpha op(A) x + beta y. The result has the same bits on every run and for any number of threads.
 * @param x, y  distinct, of matching sizes, both FP64. Both may be FP32 without a transpose: for csr, ellr, sell, dia,
 *              bsr and tiles; for split and composite by rows with beta = 0 if no row that is multiplied is in fp64.
 * @param beta  0: y is not read
 * Accuracy with FP64 arithmetic and vectors, componentwise on the stored values:
 * |computed - exact| <= gamma(longest row + 2) |alpha| |A| |x| + 2u |beta y|. FP32 vectors or arithmetic add terms:
 * docs/reference/formats.md, "Accuracy of products".
 * Errors: UNSUPPORTED (other combinations; a transpose needs FP64 values and vectors, and rows in their original
 * order), INVALID_ARGUMENT, DIMENSION_MISMATCH, memory.
 * Tests: tests/unit/test_spmv.c, tests/unit/test_split_products.c, tests/conformance/test_formats.c
 */
TESS_EXPORT tess_status tess_matrix_spmv(const tess_matrix *a, tess_operation operation, double alpha,
                                         const tess_vector *x, double beta, tess_vector *y);

/**
 * y := alpha A x + beta y with one copy of a composite matrix: all rows in the precision of @p level (0: the highest).
 * tess_matrix_spmv multiplies each row in the precision assigned to it. A row that does not fit a level overflows in
 * its copy. Errors: those of tess_matrix_spmv, UNSUPPORTED (other formats), OUT_OF_RANGE (level).
 * tests/unit/test_split.c
 */
TESS_EXPORT tess_status tess_matrix_spmv_level(const tess_matrix *a, int level, double alpha, const tess_vector *x,
                                               double beta, tess_vector *y);

/**
 * C := op(A) op(B), an assembled matrix of their context, which computes it. With 2^31 nonzeros or more in a factor,
 * the host computes it for a GPU context.
 * @param a, b  assembled, of one context, with matching inner sizes; may be the same matrix
 * The pattern is that of the rows: an entry that cancels stays, as an explicit zero. Each entry is a sum in the order
 * of the columns of op(A), with the same bits for any number of threads:
 * |computed - exact| <= gamma(longest row of op(A)) |op(A)| |op(B)|.
 * Cost: two passes over the products of entries; besides C, a hash table for each thread, and the transposes.
 * Errors: UNSUPPORTED (a stored matrix, a shell), DIMENSION_MISMATCH, INVALID_ARGUMENT (two contexts), OUT_OF_RANGE (on
 * a GPU, C would have 2^31 nonzeros or more), memory.
 * Tests: tests/unit/test_matrix_multiply.c, tests/gpu/test_matrix_multiply.c
 */
TESS_EXPORT tess_status tess_matrix_multiply(const tess_matrix *a, tess_operation op_a, const tess_matrix *b,
                                             tess_operation op_b, tess_matrix **out);

/**
 * Copies the row order of a split or composite matrix to a host array of nrows numbers: perm[position] = row of the
 * assembled matrix. Rows of low precision are first, empty rows last. Errors: UNSUPPORTED (other formats), memory.
 */
TESS_EXPORT tess_status tess_matrix_row_permutation(const tess_matrix *a, int32_t *perm);

/**
 * Nonzero for a complex matrix. The library holds it in its *real form*, of twice the rows, the columns and four times
 * the entries: re + i im becomes the block [[re, -im], [im, re]]. tess_matrix_nrows, ncols and nnz count those.
 * A complex vector is an array of 2 n numbers, re and im in turn, as C, Fortran and NumPy hold it. So every product,
 * solve, norm and residual of the real form is that of the complex matrix, and A is Hermitian where the form is
 * symmetric. Products with TESS_OP_TRANSPOSE are by the conjugate transpose. Rows in results and findings count the
 * complex matrix's; tess_matrix_analyze looks at the real form.
 * Test: tests/unit/test_complex.c
 */
TESS_EXPORT int tess_matrix_is_complex(const tess_matrix *a);

TESS_EXPORT int64_t tess_matrix_nrows(const tess_matrix *a);
TESS_EXPORT int64_t tess_matrix_ncols(const tess_matrix *a);
/** Stored entries, explicit zeros included; 0 for a shell. */
TESS_EXPORT int64_t tess_matrix_nnz(const tess_matrix *a);
TESS_EXPORT tess_context *tess_matrix_context(const tess_matrix *a);
TESS_EXPORT tess_format tess_matrix_format(const tess_matrix *a);
/** The precision of the values; for a format in parts that of the highest level. */
TESS_EXPORT tess_precision tess_matrix_precision(const tess_matrix *a);
/**
 * Nonzero if every value is stored exactly, so that a solve with the matrix solves the assembled system.
 * After tess_matrix_update_values the next product of csr, ellr, sell, dia and bsr checks the new values, by one pass.
 * A split, composite, tiles or packed matrix with values below fp64, or of a caller's assignment, then is inexact.
 * tests/unit/test_exact.c
 */
TESS_EXPORT int tess_matrix_is_exact(const tess_matrix *a);
/** Format of the parts of split and composite at the highest level, also if chosen; else the matrix's own format. */
TESS_EXPORT tess_format tess_matrix_base(const tess_matrix *a);
/** The format of the parts at lower levels; if the library chose, that of the second level. */
TESS_EXPORT tess_format tess_matrix_low_base(const tess_matrix *a);
/** Rows and columns of a block of a bsr matrix, 2 to 6; 0 for other formats. tests/unit/test_bsr.c */
TESS_EXPORT int tess_matrix_block_size(const tess_matrix *a);
/** Bytes of the stored matrix: values, indices, offsets; no workspace. */
TESS_EXPORT int64_t tess_matrix_bytes(const tess_matrix *a);
/** Names of the enums above. Parsers return INVALID_ARGUMENT for an unknown name and leave *out unchanged. */
TESS_EXPORT const char *tess_format_name(tess_format format);
TESS_EXPORT tess_status tess_format_parse(const char *name, tess_format *out);
TESS_EXPORT const char *tess_operation_name(tess_operation operation);
TESS_EXPORT tess_status tess_operation_parse(const char *name, tess_operation *out);
TESS_EXPORT const char *tess_row_order_name(tess_row_order order);
TESS_EXPORT tess_status tess_row_order_parse(const char *name, tess_row_order *out);

/**
 * Copies the nonzeros to host arrays: row_ptr[nrows + 1], col_ind[nnz], val[nnz]; each may be NULL. For a stored matrix
 * the values are the stored ones, decoded to FP64; entries that are left out are 0.
 */
TESS_EXPORT tess_status tess_matrix_get_csr(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val);

/**
 * The host arrays of an assembled matrix of a CPU context, without a copy; NULL pointers for any other matrix. row_ptr
 * is an array of int64_t if row_ptr_bits is 64, else of int32_t.
 */
typedef struct tess_csr_view {
    int64_t nrows, ncols, nnz;
    const void *row_ptr;
    const int32_t *col_ind;
    const double *val;
    int row_ptr_bits;
} tess_csr_view;
TESS_EXPORT tess_csr_view tess_matrix_csr_view(const tess_matrix *a);

/** Writes the main diagonal to an FP64 vector of min(nrows, ncols) values. Missing entries are 0. */
TESS_EXPORT tess_status tess_matrix_diagonal(const tess_matrix *a, tess_vector *diagonal);

/** Facts about an assembled matrix: those of `tessera info`. */
typedef struct tess_matrix_analysis {
    size_t size; /**< sizeof(tess_matrix_analysis) */
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
    double value_abs_min, value_abs_max;     /**< over nonzeros that are not zero */
    double exact_share[TESS_MAX_PRECISIONS]; /**< share of the nonzeros that a precision stores exactly */
} tess_matrix_analysis;

/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_matrix_analysis_init_sized(tess_matrix_analysis *analysis, size_t size);
static inline void tess_matrix_analysis_init(tess_matrix_analysis *analysis)
{
    tess_matrix_analysis_init_sized(analysis, sizeof *analysis);
}

/**
 * Analyses an assembled matrix on the host. The result is the same for any number of threads.
 * Symmetry: each entry is compared with its mirror entry, which is found by bisection. For the numerical symmetries an
 * absent entry counts as 0: an explicit zero without a mirror entry breaks only pattern_symmetric.
 * Cost: O(nnz log row) time, and no memory (for a GPU context a host copy of the matrix).
 * Errors: UNSUPPORTED (shell or stored matrix), INVALID_ARGUMENT (also `size`), memory.
 */
TESS_EXPORT tess_status tess_matrix_analyze(const tess_matrix *a, tess_matrix_analysis *out);

TESS_END_DECLS

#endif
