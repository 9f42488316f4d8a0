/* SPDX-License-Identifier: Apache-2.0 */
/** @file precond.h  Preconditioners: z := M^-1 r. */
#ifndef TESSERA_PRECOND_H
#define TESSERA_PRECOND_H

#include <tessera/matrix.h>

TESS_BEGIN_DECLS

typedef struct tess_precond tess_precond;

/** Largest block of block Jacobi. */
#define TESS_MAX_BLOCK_SIZE 64
/** Highest degree of a polynomial. */
#define TESS_MAX_POLYNOMIAL_DEGREE 200

/** The preconditioners. Values are part of the ABI: append, never renumber. */
typedef enum tess_precond_kind {
    TESS_PRECOND_NONE = 0,         /**< none */
    TESS_PRECOND_JACOBI = 1,       /**< the diagonal */
    TESS_PRECOND_BLOCK_JACOBI = 2, /**< inverted diagonal blocks */
    TESS_PRECOND_POLYNOMIAL = 3,   /**< a polynomial of the matrix, that of GMRES */
    TESS_PRECOND_ILU0 = 4,         /**< incomplete factors on the pattern of the matrix */
    TESS_PRECOND_IC0 = 5,          /**< the same of its lower triangle, for symmetric ones */
    TESS_PRECOND_SHELL = 1000      /**< the user's own function: tess_precond_create_shell */
} tess_precond_kind;

/** How a polynomial of the matrix is evaluated. */
typedef enum tess_polynomial_form {
    TESS_POLYNOMIAL_ROOTS = 0, /**< over its residual polynomial's roots, in modified Leja order (default) */
    TESS_POLYNOMIAL_POWERS = 1 /**< by its coefficients: for low degrees alone, as they overflow and cancel */
} tess_polynomial_form;

/** How the triangles of ilu0 and ic0 are solved. */
typedef enum tess_triangular {
    TESS_TRIANGULAR_AUTO = 0,   /**< the library chooses (default) */
    TESS_TRIANGULAR_LEVELS = 1, /**< level by level */
    TESS_TRIANGULAR_BLOCKS = 2, /**< in recursive blocks: small triangles and squares */
    TESS_TRIANGULAR_MERGED = 3  /**< by groups of merged levels */
} tess_triangular;

/** Where the numbers of ilu0 and ic0 are computed. */
typedef enum tess_factorization {
    TESS_FACTORIZATION_AUTO = 0,  /**< the library chooses (default) */
    TESS_FACTORIZATION_HOST = 1,  /**< by one thread of the host */
    TESS_FACTORIZATION_DEVICE = 2 /**< by the context's device */
} tess_factorization;

/** block-jacobi */
typedef struct tess_block_jacobi_options {
    int block_size;      /**< rows per diagonal block, 1 to 64 (default 8) */
    int adaptive;        /**< 1: each block in the lowest precision that its condition allows, down to role.storage */
    int64_t reserved[4]; /**< zeros */
} tess_block_jacobi_options;

/** polynomial */
typedef struct tess_polynomial_options {
    int degree;                /**< products with the matrix, 1 to 200 (default 10) */
    tess_polynomial_form form; /**< how it is evaluated (roots) */
    uint64_t seed;             /**< of the random vector that its Krylov space begins with (default 1) */
    int64_t reserved[4];       /**< zeros */
} tess_polynomial_options;

/** ilu0, ic0 */
typedef struct tess_incomplete_options {
    /** By levels, in recursive blocks, or by merged levels; auto (default): blocks where `squares` is set, else merged on a
        GPU and levels on the host */
    tess_triangular triangular;
    /** By one thread of the host, several shifts by as many; or by the device of the context (of a CPU context its threads,
        level by level). auto (default): by the device, but on a GPU by the host where that takes less time: rows are few, or in many
        levels. Solves with the factors are the device's all the same */
    tess_factorization factorization;
    int64_t leaf; /**< most rows of a triangle that is not cut into blocks, from 1 (default 4096) */
    /**
     * How square blocks are stored: any format (TESS_FORMAT_AUTO, too), precision or policy. precision fp64 stands
     * for role.storage, format csr with a policy for tiles; a block that ellr, sell or dia would pad too much is csr. Set: not as it
     * was initialized (csr, fp64, policy none).
     */
    tess_storage_options squares;
    int64_t reserved[4]; /**< zeros */
} tess_incomplete_options;

/** What every preconditioner has, then a member for each kind. Set by tess_precond_options_init. */
typedef struct tess_precond_options {
    size_t size;            /**< sizeof(tess_precond_options) */
    tess_precond_kind kind; /**< none (default) */
    /**
     * What it is stored and applied in. Not set: with GMRES that of its `inner` (fp16 with
     * `adaptive`; for ilu0 and ic0 fp32/fp64 where that is below fp64), else fp64/fp64. fp64/fp32 is for callers in C: FP64
     * storage applied to r rounded to FP32.
     */
    tess_role_precision role;
    tess_block_jacobi_options block_jacobi;
    tess_polynomial_options polynomial;
    tess_incomplete_options incomplete;
    int64_t reserved[4]; /**< zeros */
} tess_precond_options;

/** The user's preconditioner: z := M^-1 r of FP64 arrays on the context's device and stream; 0 means success. */
typedef struct tess_shell_precond {
    int (*apply)(void *user, const double *r, double *z);
    void *user;
} tess_shell_precond;

TESS_EXPORT void tess_precond_options_init(tess_precond_options *options);

/**
 * Sets up a preconditioner for the square matrix @p a (assembled, or a shell with a diagonal for Jacobi); @p a is
 * borrowed. Block Jacobi inverts each diagonal block B in FP64 with partial pivoting and stores the inverse in
 * options->role.storage, below fp64 over a power of two of the block's own, so that blocks of any magnitude keep its
 * unit roundoff u: its error in the 1-norm is at most about u ||B^-1||_1. Then z is a pass of products in
 * role.arithmetic; with FP32 arithmetic r must be within FP32's range (below about 1e31). Jacobi is block Jacobi with
 * blocks of one row. n block_size values are stored, the last block padded, and below fp64 (or with FP32 arithmetic) an
 * exponent for each block.
 *
 * options->block_jacobi.adaptive: a block may have a precision of unit roundoff u where ||B||_1 ||B^-1||_1 u < 1/10, and gets the lowest of
 * role.storage (not set: fp16), fp16, fp32; fp64 where none may be had. bf16 goes up to fp32 at once. Every block is inverted
 * twice. Source: Anzt, Dongarra, Flegar, Higham, Quintana-Orti, Concurrency Computat. Pract. Exper. 31 (2019), e4460.
 * Tests: tests/unit/test_precond.c, tests/unit/test_precond_precisions.c, tests/gpu/test_precond.c.
 *
 * Polynomial: M^-1 = p(A) of options->polynomial.degree d, where 1 - z p(z) is the residual polynomial of GMRES after d + 1 steps from a random
 * vector. It costs d products; a few more where roots with a steep product are repeated for stability (form roots), fewer
 * where the Krylov space of that vector is smaller. role.storage is what the matrix is copied to for it (fp64: no copy, A
 * itself is multiplied): in slices (sell) where these hold at most 1.15 entries per nonzero, else as csr. role.arithmetic is
 * what its vectors are in, in the set-up too. Sums of products are FP64, but those in slices with FP32 vectors, which are
 * FP32. FP32 vectors limit r to FP32's range. The set-up takes d + 1 products and, for its time, d + 2 vectors. A shell
 * matrix: fp64/fp64 alone.
 * Source: Loe, Thornquist, Boman, Polynomial preconditioned GMRES in Trilinos, SIAM PP 2020; Embree, Loe, Morgan, SIAM J. Sci.
 * Comput. 43 (2021), for the order of the roots and the repeated ones. tests/unit/test_polynomial.c
 *
 * ILU(0) and IC(0): M = L D U on the pattern of A, L and U with ones on their diagonals; IC(0) reads the lower triangle alone and
 * has U = L^T and D > 0. The factors are computed in FP64; L and U are stored in role.storage (fp64 to fp16), D^-1 in FP64, and
 * vectors and arithmetic are FP64: role.arithmetic fp32 is refused. A pivot breaks down where it is at most 2^-45 times the
 * sum of the magnitudes of A's row (IC: times the diagonal entry, and where it is negative), or not finite. Then A + s E is
 * factored in place of A, with s = 1e-3, 2e-3, 4e-3, ..., at most 24 of them, until none does; E is diag(A) (IC: diag(|A|)), with
 * the sum of magnitudes in rows whose diagonal entry is zero beside it. tess_precond_get_factors tells s.
 * One application solves with both triangles. By levels: rows of a level do not need each other; on a GPU rows wait for
 * one another, each for those it needs, in one kernel. Merged: neighbouring levels become a group, whose rows are
 * rewritten by substitution until they need none of their own group, so that a group is one step; rows grow in entries
 * and may grow in magnitude, up to 1,000 times (8 times below fp32), and are rounded to role.storage as rewritten.
 * Where there are up to 16 levels, or wide ones, more rows than the shared memory of a cluster holds (about 200,000), or rows of
 * several hundred entries, levels are taken in its place. In blocks: a triangle of more than `leaf` rows and 16 levels
 * is halved (at multiples of 64 rows) into two triangles and a square block, which is multiplied as the matrix of the
 * library that `squares` makes of it: by a policy in mixed precision. A policy sees the values of the first set-up, and
 * each block has its own statistics. Deterministic, the same bits for any number of threads, unless `squares` has
 * kernel paper on a GPU.
 * The set-up analyses the pattern on the host, and rewrites merged rows there; tess_precond_update renews numbers
 * alone, and keeps groups unless their rows would grow too much.
 * Error: (L + E_L) y = r, (U + E_U) z = D^-1 y with |E_L| <= gamma(longest row + 1) (|L| + I) componentwise, E_U
 * likewise, on the stored values; merged: in the largest magnitude, times that growth. Sources: Saad, Iterative Methods
 * for Sparse Linear Systems, 2nd ed., SIAM (2003), Algorithm 10.4 (ILU(0)), section 11.6.1 (levels); Meijerink, van der
 * Vorst, Math. Comput. 31 (1977) (IC(0)); Manteuffel, Math. Comput. 34 (1980) (shifts); Lu, Niu, Liu, ICPP 2020, and
 * Yang et al. 2024, section III-C (blocks); Alvarado, Schreiber, SIAM J. Sci. Comput. 14 (1993), and Higham, Pothen,
 * SIAM J. Sci. Comput. 15 (1994) (merged). tests/unit/test_incomplete.c, tests/unit/test_triangular.c,
 * tests/unit/test_merged.c, tests/unit/test_incomplete_solves.c, tests/gpu/test_incomplete.c,
 * tests/gpu/test_incomplete_kernels.c
 *
 * Errors: SINGULAR (a zero, missing or non-finite diagonal entry or a singular block; the message names the row; a polynomial of a
 * matrix that is zero or not finite; incomplete factors: a missing diagonal entry, a pivot that no shift mends), OUT_OF_RANGE
 * (coefficients that overflow, form powers; incomplete factors that overflow role.storage), INVALID_ARGUMENT (block size,
 * degree, form, precision, triangular, factorization, leaf), UNSUPPORTED, memory.
 */
TESS_EXPORT tess_status tess_precond_create(const tess_matrix *a, const tess_precond_options *options,
                                            tess_precond **out);
TESS_EXPORT tess_status tess_precond_create_shell(tess_context *ctx, int64_t n, const tess_shell_precond *shell,
                                                  tess_precond **out);
/** Renews the numbers after tess_matrix_update_values; the structure is kept. Errors as for tess_precond_create. */
TESS_EXPORT tess_status tess_precond_update(tess_precond *m);
/**
 * z := M^-1 r; FP64 vectors of n values, z and r distinct. A preconditioner with FP32 arithmetic rounds r to FP32
 * first; with GMRES in FP32 vectors it is applied to these as they are. Errors: DIMENSION_MISMATCH, INVALID_ARGUMENT,
 * SINGULAR (a polynomial or incomplete factors whose renewal failed), CALLBACK (a shell's function).
 */
TESS_EXPORT tess_status tess_precond_apply(const tess_precond *m, const tess_vector *r, tess_vector *z);
/** Bytes on the device that are its own: inverses with their exponents and what finds them where their lengths differ; of a
    polynomial the copied values and its vectors; of incomplete factors all that is kept, for renewals too. */
TESS_EXPORT int64_t tess_precond_bytes(const tess_precond *m);
/** Blocks of block Jacobi (rows of Jacobi) stored in each precision; zeros for other preconditioners. */
TESS_EXPORT void tess_precond_blocks_per_precision(const tess_precond *m, int64_t counts[TESS_MOST_PRECISIONS]);
/** Facts about incomplete factors. */
typedef struct tess_precond_factors {
    double shift;                       /**< s of the present factors; 0: none was needed */
    int64_t lower_levels, upper_levels; /**< one after another, of all leaves: what a row waits for */
    int64_t lower_steps, upper_steps;   /**< the same; merged: groups of levels */
    int64_t leaves, squares;            /**< of both triangles; by levels and merged 2 leaves */
    int64_t nonzeros;                   /**< beside the diagonals, of both triangles */
    int64_t entries;         /**< that an application multiplies: nonzeros; merged: of the rewritten rows, too */
    int64_t square_nonzeros; /**< of these in square blocks */
    tess_factorization factorization; /**< HOST or DEVICE: which computes them */
} tess_precond_factors;
/** Errors: UNSUPPORTED (not ilu0 or ic0). tests/unit/test_incomplete.c */
TESS_EXPORT tess_status tess_precond_get_factors(const tess_precond *m, tess_precond_factors *out);
TESS_EXPORT const char *tess_triangular_name(tess_triangular triangular);
/** INVALID_ARGUMENT leaves *out alone. */
TESS_EXPORT tess_status tess_triangular_parse(const char *name, tess_triangular *out);
TESS_EXPORT const char *tess_factorization_name(tess_factorization factorization);
/** INVALID_ARGUMENT leaves *out alone. */
TESS_EXPORT tess_status tess_factorization_parse(const char *name, tess_factorization *out);
TESS_EXPORT const char *tess_precond_kind_name(tess_precond_kind kind);
TESS_EXPORT tess_status tess_precond_kind_parse(const char *name, tess_precond_kind *out);
/** Parses `none`, `jacobi`, `block-jacobi`, `block-jacobi:K`, `polynomial`, `polynomial:D`, `ilu0` or `ic0`. */
TESS_EXPORT tess_status tess_precond_options_parse(const char *text, tess_precond_options *out);
TESS_EXPORT const char *tess_polynomial_form_name(tess_polynomial_form form);
/** INVALID_ARGUMENT leaves *out alone. */
TESS_EXPORT tess_status tess_polynomial_form_parse(const char *name, tess_polynomial_form *out);
TESS_EXPORT void tess_precond_destroy(tess_precond *m);

TESS_END_DECLS

#endif
