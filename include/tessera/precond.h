/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file precond.h  Preconditioners: z := M^-1 r.
 *
 *     tess_precond_options_parse("ilu0", &options);      none, jacobi, block-jacobi:8, polynomial:10, ilu0,
 *                                                       ic0, ilut:1e-3:10, ict, iluk:1, lu, cholesky,
 *                                                       jacobi-sweeps:3, amg, saddle, fsai:2, fsai:adaptive,
 *                                                       isai:2; of a solve also auto
 *     tess_precond_create(a, &options, &m);
 *     tess_precond_apply(m, r, z);
 *
 * A solver makes its own from tess_solve_options.precond. The kinds: docs/reference/preconditioners.md.
 */
#ifndef TESSERA_PRECOND_H
#define TESSERA_PRECOND_H

#include <tessera/columns.h>
#include <tessera/matrix.h>
#include <tessera/schedule.h>

TESS_BEGIN_DECLS

typedef struct tess_precond tess_precond;

/** Largest block of block Jacobi. */
#define TESS_MAX_BLOCK_SIZE 64
/** Highest degree of a polynomial. */
#define TESS_MAX_POLYNOMIAL_DEGREE 200
/** Most sweeps of jacobi-sweeps. */
#define TESS_MAX_JACOBI_SWEEPS 1000
/** Highest level of fill of iluk. */
#define TESS_MAX_FILL_LEVEL 1000
/** Most sweeps with a triangle, and of a factorization. */
#define TESS_MAX_TRIANGLE_SWEEPS 100
/** Highest power of the matrix whose pattern fsai and isai take. */
#define TESS_MAX_INVERSE_POWER 8
/** In place of a power, of fsai: the pattern grows, row by row. */
#define TESS_INVERSE_ADAPTIVE 0
/** Longest row of fsai and isai. */
#define TESS_MAX_INVERSE_ROW 64
/** Most levels of algebraic multigrid. */
#define TESS_MAX_AMG_LEVELS 32
/** Most unknowns of a point in algebraic multigrid. */
#define TESS_MAX_AMG_BLOCK 6
/** Levels of amg that can have a precision of their own. */
#define TESS_AMG_LEVEL_PRECISIONS 16
/** Most near-nullspace vectors of amg. */
#define TESS_MAX_NEAR_NULLSPACE 16

/** The preconditioners. Values are part of the ABI: append, never renumber. */
typedef enum tess_precond_kind {
    TESS_PRECOND_NONE = 0,           /**< none */
    TESS_PRECOND_JACOBI = 1,         /**< the diagonal */
    TESS_PRECOND_BLOCK_JACOBI = 2,   /**< inverted diagonal blocks */
    TESS_PRECOND_POLYNOMIAL = 3,     /**< the GMRES polynomial of the matrix */
    TESS_PRECOND_ILU0 = 4,           /**< incomplete LU factors on the pattern of the matrix */
    TESS_PRECOND_IC0 = 5,            /**< incomplete Cholesky factors, from the lower triangle */
    TESS_PRECOND_ILUT = 6,           /**< incomplete LU factors, their fill by a threshold */
    TESS_PRECOND_ICT = 7,            /**< incomplete Cholesky factors, their fill by a threshold */
    TESS_PRECOND_ILUK = 8,           /**< incomplete LU factors with a level of fill */
    TESS_PRECOND_LU = 9,             /**< complete LU factors; L D L^T of a symmetric matrix */
    TESS_PRECOND_CHOLESKY = 10,      /**< complete Cholesky factors, from the lower triangle */
    TESS_PRECOND_JACOBI_SWEEPS = 11, /**< Jacobi iterations from zero, in steps of rising precision */
    TESS_PRECOND_AMG = 12,           /**< algebraic multigrid: a cycle */
    TESS_PRECOND_FSAI = 13,          /**< a factorized sparse approximate inverse, from the lower triangle */
    TESS_PRECOND_ISAI = 14,          /**< a sparse approximate inverse on the pattern of a power of the matrix */
    TESS_PRECOND_SADDLE = 15,        /**< the blocks of a saddle point, and an approximate Schur complement */
    TESS_PRECOND_AUTO = 999,         /**< in options of a solve: chosen with solver auto, else none (automatic.h) */
    TESS_PRECOND_SHELL = 1000        /**< the user's own function: tess_precond_create_shell */
} tess_precond_kind;

/** How a polynomial of the matrix is evaluated. */
typedef enum tess_polynomial_form {
    TESS_POLYNOMIAL_ROOTS = 0, /**< by the roots of the residual polynomial, in modified Leja order (default) */
    TESS_POLYNOMIAL_POWERS = 1 /**< by its coefficients, only for low degrees: they overflow and cancel */
} tess_polynomial_form;

/** How to solve with the triangles of incomplete factors. */
typedef enum tess_triangular {
    TESS_TRIANGULAR_AUTO = 0,   /**< blocks if `squares` is set; else levels, on a GPU merged or measured (default) */
    TESS_TRIANGULAR_LEVELS = 1, /**< level set by level set */
    TESS_TRIANGULAR_BLOCKS = 2, /**< in recursive blocks: small triangles and squares */
    TESS_TRIANGULAR_MERGED = 3, /**< by groups of merged level sets */
    TESS_TRIANGULAR_SWEEPS = 4, /**< approximately, by `sweeps` Jacobi iterations: each one product with the triangle */
    TESS_TRIANGULAR_COLORS = 5  /**< level set by level set, of A in an order by colors: few, wide level sets */
} tess_triangular;

/** Where incomplete factors are computed; those with fill always by the host. The device always solves with them. */
typedef enum tess_factorization {
    TESS_FACTORIZATION_AUTO = 0,   /**< where it should take less time; GPU, triangular sweeps: sweeps (default) */
    TESS_FACTORIZATION_HOST = 1,   /**< by one thread of the host, several shifts by as many threads */
    TESS_FACTORIZATION_DEVICE = 2, /**< by the context's device, level set by level set */
    TESS_FACTORIZATION_SWEEPS = 3  /**< ilu0, ic0: approximately, by `factorization_sweeps` iterations of the device */
} tess_factorization;

/** Options of block-jacobi. */
typedef struct tess_block_jacobi_options {
    int block_size;      /**< rows per diagonal block, 1 to 64 (default 8) */
    int adaptive;        /**< 1: each block in the lowest precision that its condition number allows (0) */
    int64_t reserved[4]; /**< zeros */
} tess_block_jacobi_options;

/** Options of polynomial. */
typedef struct tess_polynomial_options {
    int degree;                /**< degree, 1 to 200 (default 10): products with the matrix per application */
    tess_polynomial_form form; /**< how it is evaluated (default roots) */
    uint64_t seed;             /**< seed of the random start vector of its Krylov space (default 1) */
    int64_t reserved[4];       /**< zeros */
} tess_polynomial_options;

/** Options of ilu0, ic0, ilut, ict and iluk. */
typedef struct tess_incomplete_options {
    tess_triangular triangular; /**< how to solve with the triangles (default auto) */
    /** Where the factors are computed. auto (default): by the device, but on a GPU by the host if that should take less
        time: few rows, or many level sets. */
    tess_factorization factorization;
    int64_t leaf; /**< triangular blocks: most rows of a triangle that is not cut, from 1 (default 4096) */
    /** Storage of square blocks, or of the triangles of sweeps: any format (also TESS_FORMAT_AUTO), precision or
       policy. It counts as set if it differs from its initial csr, fp64, policy none.
       docs/reference/preconditioners.md, "Recursive blocks". */
    tess_storage_options squares;
    int sweeps;               /**< triangular sweeps: 1 to 100 (default 3) with each triangle */
    int factorization_sweeps; /**< factorization sweeps: 1 to 100 (default 5); rounds of the fill of ilut and ict */
    int64_t reserved[3];      /**< zeros */
} tess_incomplete_options;

/** Options of ilut, ict and iluk: which entries beside those of the matrix the factors have. */
typedef struct tess_threshold_options {
    double drop;         /**< ilut, ict: entries below this times the row's norm are dropped; from 0 (default 1e-3) */
    double fill;         /**< ilut, ict: most entries of a row, as a multiple of the matrix's (default 10) */
    int level;           /**< iluk: the level of fill, from 0 (default 1) */
    int64_t reserved[4]; /**< zeros */
} tess_threshold_options;

/** Options of lu and cholesky. */
typedef struct tess_direct_options {
    /** --factor-memory: most bytes of a factorization, by the analysis. 0 (default): half of what the machine has free;
        with cuDSS nine tenths of the device's. */
    int64_t memory_limit;
    int64_t reserved[4]; /**< zeros */
} tess_direct_options;

/** How algebraic multigrid finds a coarser level. */
typedef enum tess_amg_coarsening {
    TESS_AMG_AUTO = 0,        /**< aggregation for blocks and near-nullspace vectors, else classical (default) */
    TESS_AMG_CLASSICAL = 1,   /**< a subset of the unknowns: PMIS, extended+i interpolation */
    TESS_AMG_AGGREGATION = 2, /**< groups of unknowns: smoothed aggregation */
    TESS_AMG_PLAIN = 3        /**< groups of unknowns without smoothing, for strong convection */
} tess_amg_coarsening;

/** In which precision the levels are stored. They are built in FP64. */
typedef enum tess_amg_precision {
    TESS_AMG_PRECISION_AUTO = 0, /**< on a GPU as fp16, on a CPU as fp32 (default) */
    TESS_AMG_PRECISION_FP64 = 1, /**< matrices and vectors of the cycle in FP64 */
    TESS_AMG_PRECISION_FP32 = 2, /**< both in FP32 */
    TESS_AMG_PRECISION_FP16 = 3, /**< levels in FP16 where their entries allow, else in FP32; vectors in FP32 */
    TESS_AMG_PRECISION_BF16 = 4, /**< levels in bfloat16; vectors in FP32 */
    TESS_AMG_PRECISION_FP8 = 5   /**< levels in E4M3 or E5M2 where their entries allow, else in FP32; vectors in FP32 */
} tess_amg_precision;

/** How the levels are visited. */
typedef enum tess_amg_cycle {
    TESS_AMG_V = 0, /**< each level once (default) */
    TESS_AMG_W = 1, /**< coarser levels twice each */
    TESS_AMG_K = 2  /**< each coarser level by two steps of flexible CG; needs a flexible method, such as fgmres */
} tess_amg_cycle;

/** What smooths a level's error. */
typedef enum tess_amg_smoother {
    TESS_AMG_CHEBYSHEV = 0,     /**< a Chebyshev polynomial of the matrix scaled by its rows' l1 norms (default) */
    TESS_AMG_L1_JACOBI = 1,     /**< `degree` steps with the rows' l1 norms as diagonal */
    TESS_AMG_JACOBI = 2,        /**< `degree` steps of Jacobi, damped by 4/3 over the largest eigenvalue */
    TESS_AMG_ILU0 = 3,          /**< a step with ILU(0), or IC(0), of each level in FP64; the host sets it up */
    TESS_AMG_BLOCK_JACOBI = 4,  /**< a polynomial of the matrix scaled by the inverses of its nodes' diagonal blocks */
    TESS_AMG_SMOOTHER_AUTO = 5, /**< by the matrix: docs/reference/preconditioners.md (default) */
    TESS_AMG_FC_JACOBI = 6,     /**< Jacobi on fine unknowns twice, then on coarse ones; only after the coarse level */
    TESS_AMG_FSAI = 7           /**< a step with the approximate inverse of each level: fsai:2, or isai:2 */
} tess_amg_smoother;

/** How classical coarsening finds the unknowns of a coarser level. */
typedef enum tess_amg_split {
    TESS_AMG_SPLIT_AUTO = 0,        /**< by the matrix: docs/reference/preconditioners.md (default) */
    TESS_AMG_SPLIT_PMIS = 1,        /**< independent sets, in parallel: few entries on coarse levels */
    TESS_AMG_SPLIT_RUGE_STUEBEN = 2 /**< one unknown after another, by the host: no fine unknowns without common ones */
} tess_amg_split;

/** How classical coarsening takes residuals to a coarser level. */
typedef enum tess_amg_restriction {
    TESS_AMG_RESTRICTION_AUTO = 0,      /**< by the matrix: docs/reference/preconditioners.md (default) */
    TESS_AMG_RESTRICTION_TRANSPOSE = 1, /**< by the transpose of the interpolation */
    TESS_AMG_RESTRICTION_AIR = 2        /**< by the local approximate ideal restriction, for convection; by the host */
} tess_amg_restriction;

/** How levels of nodes, of aggregation, are stored. */
typedef enum tess_amg_format {
    TESS_AMG_FORMAT_AUTO = 0,  /**< by blocks, one index each, where all nodes have 2 to 6 unknowns or a multiple and
                                  that  takes fewer bytes (default) */
    TESS_AMG_FORMAT_SCALAR = 1 /**< by entries, as other levels: csr, on a GPU also sell and dia */
} tess_amg_format;

/** Options of amg. */
typedef struct tess_amg_options {
    tess_amg_coarsening coarsening; /**< --amg-coarsening (auto) */
    tess_amg_precision precision;   /**< --amg-precision (auto): of levels that level_precision leaves open */
    tess_amg_cycle cycle;           /**< --amg-cycle (v) */
    tess_amg_smoother smoother;     /**< --amg-smoother (auto) */
    int degree;                     /**< products of a smoothing with the matrix, 1 to 4 (default 2) */
    int max_levels;                 /**< 1 to 32 (default 25) */
    int aggressive;                 /**< --amg-aggressive: first levels coarsened twice at once; -1 (default): auto */
    int truncation;                 /**< most entries of a row of the interpolation (default 5); 0: all */
    double strength;                /**< --amg-strength: a coupling counts from this times the row's strongest; negative
                                         (default): 0.25 for classical, the coarsening's own for aggregation */
    double max_row_sum;             /**< rows whose sum is above this times the diagonal have no strong couplings; 1
                                         (default): none has */
    int64_t coarsest;               /**< rows of a level that is solved directly (default 200) */
    uint64_t seed;                  /**< of the random numbers of coarsening (default 1) */
    int block_size;                 /**< unknowns of a node, 1 to 6; 0 (default): as the pattern shows */
    int near_nullspace_columns;     /**< 0 (default): the constant of each unknown of a node; at most 16 */
    const double *near_nullspace;   /**< nrows by columns, column after column, on the host; copied */
    uint8_t level_precision[TESS_AMG_LEVEL_PRECISIONS]; /**< a tess_amg_precision for each of the first levels, from the
                                                             finest; 0 (default): `precision` */
    int64_t modes; /**< --amg-modes: most near-null vectors that aggregation finds by trial cycles and adds to those
                        above, 0 (default) to 15; in all there are at most 16 */
    tess_amg_split split;             /**< --amg-split (auto) */
    tess_amg_restriction restriction; /**< --amg-restriction (auto) */
    tess_amg_format format;           /**< --amg-format (auto) */
    int64_t reserved[1];              /**< zeros */
} tess_amg_options;

/**
 * Options of jacobi-sweeps: x := x + omega D^-1 (r - A x), `count` times from zero. Source: Tezcan et al. 2022, III-D.
 */
typedef struct tess_jacobi_sweeps_options {
    int count; /**< sweeps, 1 to 1000 (default 3); the first needs no product */
    /** Weight; 0 (default): min(1, 2 / g), with g a bound on the eigenvalues of D^-1 A. Then M is positive definite if
        A is, for any count, which CG needs. docs/reference/preconditioners.md */
    double omega;
    /** The steps, as of the solver jacobi. Default: fp32,mixed,fp64 for composite, mixed for split. Entries without a
        number share the count equally; the last of them gets the remainder. */
    tess_precision_schedule schedule;
    /** Storage of A without its diagonal: composite (default) or split, policy mean-range:0.1; csr or ellr as the base
        of a composite. Neither papers nor precision is read. */
    tess_storage_options storage;
    int64_t reserved[4]; /**< zeros */
} tess_jacobi_sweeps_options;

/** Options of fsai and isai: which entries the approximate inverse has. Entries of A count by their magnitude in
    D^-1/2 |A| D^-1/2, with the diagonal D of A, those of the inverse with their columns times D^1/2. */
typedef struct tess_inverse_options {
    int power;           /**< it has the pattern of A to this power, 1 to 8 (default 2); of fsai also
                              TESS_INVERSE_ADAPTIVE: each row takes the entries that reduce Kaporin's number most */
    int row;             /**< most entries of a row, 1 to 64 (default 64): those of largest magnitude */
    double threshold;    /**< entries of A below this times the largest of their row, off the diagonal, do not count for
                              the pattern; from 0 to below 1 (default 0.1) */
    double filter;       /**< entries of the inverse below this times that of the diagonal are left out, and the others
                              computed anew; from 0 to below 1 (default 0.05) */
    int steps;           /**< adaptive: steps of a row, 1 to 63 (default 5), */
    int step_size;       /**< each of so many entries at most, 1 to 63 (default 3) */
    double tolerance;    /**< adaptive: a step that reduces the row's factor of Kaporin's number by less than this times
                              itself ends the row; from 0 to below 1 (default 1e-3) */
    int64_t reserved[2]; /**< zeros */
} tess_inverse_options;

/** How saddle combines A, the first block, and S, the Schur complement C - B A^-1 F of [A F; B C]. */
typedef enum tess_saddle_factorization {
    TESS_SADDLE_AUTO = 0,  /**< diag in minres, else upper (default) */
    TESS_SADDLE_DIAG = 1,  /**< [A 0; 0 -S]: positive definite where A is */
    TESS_SADDLE_LOWER = 2, /**< [A 0; B S] */
    TESS_SADDLE_UPPER = 3, /**< [A F; 0 S] */
    TESS_SADDLE_FULL = 4   /**< [A 0; B S] [I A^-1 F; 0 I]: two solves with A */
} tess_saddle_factorization;

/** What saddle takes for the Schur complement. */
typedef enum tess_saddle_schur {
    TESS_SCHUR_AUTO = 0,  /**< by the rows of A: docs/howto/saddle-points.md (default) */
    TESS_SCHUR_LOCAL = 1, /**< a diagonal: of each constraint, with A of the unknowns that it couples */
    TESS_SCHUR_SELFP = 2, /**< C - B diag(A)^-1 F, as SIMPLE has it */
    TESS_SCHUR_LSC = 3,   /**< BFBt: two solves with B diag(A)^-1 F around a product with A */
    TESS_SCHUR_USER = 4   /**< schur_matrix */
} tess_saddle_schur;

/** Options of saddle. docs/reference/preconditioners.md */
typedef struct tess_saddle_options {
    tess_saddle_factorization factorization; /**< --schur-fact-type (auto) */
    tess_saddle_schur schur;                 /**< --schur-precondition (auto) */
    /** --saddle-a-precond, --schur-precond: what solves with A, and with the matrix for S: jacobi, ilu0, ic0,
        amg, lu, cholesky or auto (default): by the matrix. */
    tess_precond_kind a_precond, schur_precond;
    int64_t index_count;  /**< rows of the second block; 0 (default): rows without a diagonal, or with a small one */
    const int64_t *index; /**< their numbers from 0, on the host; the caller keeps them as long as the solver */
    /** Of schur user: index_count rows, in their ascending order, such as the mass matrix of pressure; of either sign.
        Assembled, of the same context; held. */
    const tess_matrix *schur_matrix;
    int64_t reserved[4]; /**< zeros */
} tess_saddle_options;

/** Options: those of every preconditioner, then a member for each kind. tess_precond_options_init sets the defaults. */
typedef struct tess_precond_options {
    size_t size;            /**< sizeof(tess_precond_options) */
    tess_precond_kind kind; /**< none (default) */
    /** Storage and arithmetic. Default: fp64/fp64, of lu and cholesky fp32/fp32; in GMRES that of gmres.inner
       (adaptive: fp16 storage; incomplete factors, fsai, isai: fp32/fp64 if gmres.inner is below fp64; lu and cholesky:
       fp32/fp32). fp64/fp32, only from C, applies FP64 storage to r rounded to FP32. */
    tess_role_precision role;
    tess_block_jacobi_options block_jacobi;
    tess_polynomial_options polynomial;
    tess_incomplete_options incomplete;
    tess_threshold_options threshold;
    tess_direct_options direct;
    tess_amg_options amg;
    tess_jacobi_sweeps_options jacobi_sweeps;
    tess_inverse_options inverse;
    tess_saddle_options saddle;
    int64_t reserved[4]; /**< zeros */
} tess_precond_options;

/** The user's preconditioner: z := M^-1 r for FP64 arrays on the context's device and stream. Returns 0 for success. */
typedef struct tess_shell_precond {
    int (*apply)(void *user, const double *r, double *z);
    void *user;
    int64_t reserved[4]; /**< zeros */
} tess_shell_precond;

/** Sets the defaults: kind none. */
TESS_EXPORT void tess_precond_options_init_sized(tess_precond_options *options, size_t size);
static inline void tess_precond_options_init(tess_precond_options *options)
{
    tess_precond_options_init_sized(options, sizeof *options);
}

/**
 * Sets up a preconditioner. docs/reference/preconditioners.md has each kind: method, storage, cost, error, sources.
 * @param a        square; assembled, or a shell: for jacobi with a diagonal, for polynomial with role fp64/fp64.
 *                 *out keeps it.
 * @param options  NULL: the defaults
 * Errors: SINGULAR (the message names the row, if it is known): values without this preconditioner, see the page.
 * OUT_OF_RANGE: coefficients that overflow (form powers); incomplete factors that overflow role.storage.
 * INVALID_ARGUMENT: a value of an option. UNSUPPORTED: a stored matrix, a combination that the kind does not take; lu
 * and cholesky without MUMPS and cuDSS. OUT_OF_MEMORY: memory; a factorization beyond direct.memory_limit.
 * Tests: tests/unit/test_precond.c, test_precond_precisions.c, test_polynomial.c, test_incomplete.c, test_triangular.c,
 * test_merged.c, test_swept.c, test_incomplete_solves.c, test_incomplete_swept.c, test_incomplete_colors.c,
 * test_fill.c, test_direct.c, test_saddle.c; tests/gpu/test_precond.c, test_incomplete.c, test_incomplete_kernels.c; of
 * fsai and isai tests/unit/test_inverse*.c, tests/gpu/test_inverse*.c
 */
TESS_EXPORT tess_status tess_precond_create(const tess_matrix *a, const tess_precond_options *options,
                                            tess_precond **out);
/** A preconditioner that is the user's function, for n rows. @p shell is copied; its @c user pointer is borrowed. */
TESS_EXPORT tess_status tess_precond_create_shell(tess_context *ctx, int64_t n, const tess_shell_precond *shell,
                                                  tess_precond **out);
/** Computes new numbers after tess_matrix_update_values; keeps the structure. Errors: those of tess_precond_create. */
TESS_EXPORT tess_status tess_precond_update(tess_precond *m);
/**
 * z := M^-1 r, for distinct FP64 vectors of n values. A preconditioner with FP32 arithmetic first rounds r to FP32;
 * GMRES applies it directly to its FP32 vectors. Errors: DIMENSION_MISMATCH, INVALID_ARGUMENT, SINGULAR (the last
 * tess_precond_update of a polynomial or of factors failed), CALLBACK (a shell's function failed).
 */
TESS_EXPORT tess_status tess_precond_apply(const tess_precond *m, const tess_vector *r, tess_vector *z);
/**
 * The same for each column of distinct arrays of n rows and as many columns; waits for the device. Kinds that take
 * several columns (docs/howto/several-right-hand-sides.md) read the preconditioner once for up to 8 on a host, 32 on a
 * GPU and with complete factors; sums may be in another order than alone. Errors: as above, memory.
 * Test: tests/unit/test_precond.c, test_precond_columns.c
 */
TESS_EXPORT tess_status tess_precond_apply_columns(const tess_precond *m, const tess_columns *r, const tess_columns *z);
/**
 * Bytes on the device that the preconditioner owns. Block Jacobi: inverses, exponents, and offsets if lengths differ.
 * Polynomial: the copy of the matrix and the vectors. Incomplete factors, fsai, isai: all that is kept, also for
 * updates. lu,
 * cholesky: factors and vectors; 0 on a GPU, because the host has them.
 */
TESS_EXPORT int64_t tess_precond_bytes(const tess_precond *m);
/** Blocks of block Jacobi (rows of Jacobi) stored in each precision; zeros for other preconditioners. */
TESS_EXPORT void tess_precond_blocks_per_precision(const tess_precond *m, int64_t counts[TESS_MAX_PRECISIONS]);
/** Facts about factors. Complete ones have only `nonzeros`, `entries` and `factorization`; fsai and isai
    also `shift`, the largest of a row, and all entries of the inverse are `nonzeros`. */
typedef struct tess_precond_factors {
    size_t size;                                /**< sizeof(tess_precond_factors) */
    double shift;                               /**< shift s of the present factors; 0: none was needed */
    int64_t lower_level_sets, upper_level_sets; /**< level sets solved one after another, summed over leaves */
    int64_t lower_groups, upper_groups;         /**< groups of merged level sets; without merging the level sets */
    int64_t leaves, squares;                    /**< blocks of both triangles; levels and merged have 2 leaves */
    int64_t nonzeros;                           /**< off-diagonal nonzeros of both triangles; complete: all stored */
    int64_t entries;                            /**< entries that an application multiplies; merged rows have more */
    int64_t square_nonzeros;                    /**< nonzeros in square blocks */
    tess_factorization factorization;           /**< HOST, DEVICE or SWEEPS: how they are computed */
    tess_precision precision;                   /**< in which they are stored; with a policy in blocks the highest */
} tess_precond_factors;
/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_precond_factors_init_sized(tess_precond_factors *factors, size_t size);
static inline void tess_precond_factors_init(tess_precond_factors *factors)
{
    tess_precond_factors_init_sized(factors, sizeof *factors);
}
/** Fills *out for incomplete and complete factors, fsai and isai. Errors: UNSUPPORTED (another kind), INVALID_ARGUMENT
   (size). tests/unit/test_incomplete.c */
TESS_EXPORT tess_status tess_precond_get_factors(const tess_precond *m, tess_precond_factors *out);
/** A level of algebraic multigrid. The finest comes first. */
typedef struct tess_amg_level {
    int64_t rows, nonzeros;   /**< of its matrix */
    int64_t transfer;         /**< nonzeros of the interpolation from the next level; 0: it is the coarsest */
    tess_precision precision; /**< in which its matrices are stored */
    tess_format format;       /**< of its matrix */
    int64_t bytes;            /**< of its matrices: operator, interpolation, restriction, inverse */
} tess_amg_level;
/** The levels of algebraic multigrid. */
typedef struct tess_amg_levels {
    size_t size;                    /**< sizeof(tess_amg_levels), set by the caller */
    int count;                      /**< how many levels there are */
    tess_amg_coarsening coarsening; /**< CLASSICAL, AGGREGATION or PLAIN */
    tess_amg_coarsening given_up;   /**< AUTO: none; else auto tried it too, and did not take it */
    double given_up_complexity;     /**< its operator complexity */
    double given_up_factor;         /**< its convergence factor in a few cycles; 0: not measured */
    tess_precision vectors;         /**< precision of the cycle's vectors */
    int raised;                     /**< how often a failure raised the precision */
    double operator_complexity;     /**< nonzeros of all levels over those of the finest */
    double grid_complexity;         /**< rows of all levels over those of the finest */
    int64_t coarsest_rank;          /**< below the rows of the coarsest level: its matrix is singular */
    double coarsening_seconds;      /**< of the last set-up: splits or groups, and interpolation, */
    double product_seconds;         /**< matrices of coarser levels, */
    double storing_seconds;         /**< storing the levels, spectra, and the coarsest inverse */
    tess_amg_level level[TESS_MAX_AMG_LEVELS];
    tess_device setup_device;         /**< CPU or GPU: where the levels are built */
    double strength_seconds;          /**< parts of coarsening_seconds, of classical coarsening: strong couplings, */
    double split_seconds;             /**< splits, */
    double interpolation_seconds;     /**< interpolation */
    int modes;                        /**< near-null vectors that the set-up has found */
    tess_amg_smoother smoother;       /**< what smooths the levels; never AUTO, as the next two */
    tess_amg_split split;             /**< how their unknowns were found; of classical coarsening */
    tess_amg_restriction restriction; /**< how residuals go to coarser levels; of classical coarsening */
    int degree;                       /**< products of a smoothing with the matrix */
} tess_amg_levels;
/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_amg_levels_init_sized(tess_amg_levels *levels, size_t size);
static inline void tess_amg_levels_init(tess_amg_levels *levels)
{
    tess_amg_levels_init_sized(levels, sizeof *levels);
}
/** Fills *out for amg. Errors: UNSUPPORTED (another kind), INVALID_ARGUMENT (size). tests/unit/test_multigrid.c */
TESS_EXPORT tess_status tess_precond_get_levels(const tess_precond *m, tess_amg_levels *out);
/** What saddle found and chose. */
typedef struct tess_saddle_parts {
    size_t size;         /**< sizeof(tess_saddle_parts), set by the caller */
    int64_t unknowns;    /**< rows of the first block, A */
    int64_t constraints; /**< rows of the second block */
    int64_t index_given; /**< 1: by an index of the caller; 0: found by their diagonal entries, which are */
    int64_t zero_diagonals, small_diagonals; /**< missing or 0; small in their row, */
    int64_t opposite_diagonals;              /**< of the rarer sign */
    tess_saddle_factorization factorization; /**< never AUTO, as the next */
    tess_saddle_schur schur;
    const tess_precond *a_precond, *schur_precond; /**< of m: what solves with A, and with the matrix for S; until m is
                                                        updated or destroyed */
} tess_saddle_parts;
/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_saddle_parts_init_sized(tess_saddle_parts *parts, size_t size);
static inline void tess_saddle_parts_init(tess_saddle_parts *parts)
{
    tess_saddle_parts_init_sized(parts, sizeof *parts);
}
/** Fills *out for saddle. Errors: UNSUPPORTED (another kind), INVALID_ARGUMENT (size). tests/unit/test_saddle.c */
TESS_EXPORT tess_status tess_precond_get_saddle(const tess_precond *m, tess_saddle_parts *out);
/** Which kind a preconditioner is of; none for NULL. */
TESS_EXPORT tess_precond_kind tess_precond_get_kind(const tess_precond *m);
/** What sweeps do in an application. */
typedef struct tess_precond_sweeps {
    size_t size;                                         /**< sizeof(tess_precond_sweeps), set by the caller */
    int count;                                           /**< how many there are */
    double omega;                                        /**< their weight */
    tess_precision_schedule schedule;                    /**< with the number of each step */
    int64_t nonzeros_per_precision[TESS_MAX_PRECISIONS]; /**< as assigned, without the diagonal */
    int raised;                                          /**< 1: a failure left FP64 sweeps alone */
} tess_precond_sweeps;
/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_precond_sweeps_init_sized(tess_precond_sweeps *sweeps, size_t size);
static inline void tess_precond_sweeps_init(tess_precond_sweeps *sweeps)
{
    tess_precond_sweeps_init_sized(sweeps, sizeof *sweeps);
}
/** Fills *out for jacobi-sweeps. Errors: UNSUPPORTED (another kind), INVALID_ARGUMENT (size). tests/unit/test_sweeps.c
 */
TESS_EXPORT tess_status tess_precond_get_sweeps(const tess_precond *m, tess_precond_sweeps *out);
/** Names of the enums above. Parsers return INVALID_ARGUMENT for an unknown name and leave *out unchanged. */
TESS_EXPORT const char *tess_triangular_name(tess_triangular triangular);
TESS_EXPORT tess_status tess_triangular_parse(const char *name, tess_triangular *out);
TESS_EXPORT const char *tess_factorization_name(tess_factorization factorization);
TESS_EXPORT tess_status tess_factorization_parse(const char *name, tess_factorization *out);
TESS_EXPORT const char *tess_amg_coarsening_name(tess_amg_coarsening coarsening);
TESS_EXPORT tess_status tess_amg_coarsening_parse(const char *name, tess_amg_coarsening *out);
TESS_EXPORT const char *tess_amg_precision_name(tess_amg_precision precision);
TESS_EXPORT tess_status tess_amg_precision_parse(const char *name, tess_amg_precision *out);
TESS_EXPORT const char *tess_amg_cycle_name(tess_amg_cycle cycle);
TESS_EXPORT tess_status tess_amg_cycle_parse(const char *name, tess_amg_cycle *out);
TESS_EXPORT const char *tess_amg_smoother_name(tess_amg_smoother smoother);
TESS_EXPORT tess_status tess_amg_smoother_parse(const char *name, tess_amg_smoother *out);
TESS_EXPORT const char *tess_amg_split_name(tess_amg_split split);
TESS_EXPORT tess_status tess_amg_split_parse(const char *name, tess_amg_split *out);
TESS_EXPORT const char *tess_amg_restriction_name(tess_amg_restriction restriction);
TESS_EXPORT tess_status tess_amg_restriction_parse(const char *name, tess_amg_restriction *out);
TESS_EXPORT const char *tess_amg_format_name(tess_amg_format format);
TESS_EXPORT tess_status tess_amg_format_parse(const char *name, tess_amg_format *out);
TESS_EXPORT const char *tess_saddle_factorization_name(tess_saddle_factorization factorization);
TESS_EXPORT tess_status tess_saddle_factorization_parse(const char *name, tess_saddle_factorization *out);
TESS_EXPORT const char *tess_saddle_schur_name(tess_saddle_schur schur);
TESS_EXPORT tess_status tess_saddle_schur_parse(const char *name, tess_saddle_schur *out);
TESS_EXPORT const char *tess_precond_kind_name(tess_precond_kind kind);
TESS_EXPORT tess_status tess_precond_kind_parse(const char *name, tess_precond_kind *out);
/**
 * Parses `none`, `jacobi`, `block-jacobi[:K]`, `polynomial[:D]`, `ilu0`, `ic0`, `ilut[:T[:F]]`, `ict[:T[:F]]`,
 * `iluk[:K]`, `lu`, `cholesky`, `jacobi-sweeps[:N]`, `amg`, `fsai[:K]`, `isai[:K]`, `saddle` or `auto`, and sets all
 * other options to their defaults.
 * Errors: INVALID_ARGUMENT.
 */
TESS_EXPORT tess_status tess_precond_options_parse(const char *text, tess_precond_options *out);
TESS_EXPORT const char *tess_polynomial_form_name(tess_polynomial_form form);
TESS_EXPORT tess_status tess_polynomial_form_parse(const char *name, tess_polynomial_form *out);
/**
 * Rigid-body modes of an elastic body: the translations and rotations, which cost no energy, for amg.near_nullspace.
 * @param dimensions   2 or 3; a node has as many adjacent unknowns, its displacements along the axes
 * @param coordinates  nodes by dimensions, column after column, on the host
 * @param modes        nodes * dimensions by 3 (in 2 dimensions) or by 6, column after column: orthonormal; a mode that
 *                     depends on the others, as of nodes in a line, is zero
 * Errors: INVALID_ARGUMENT (dimensions), OUT_OF_RANGE (NaN, Inf, or all nodes at one point).
 * Test: tests/unit/test_aggregation.c
 */
TESS_EXPORT tess_status tess_rigid_body_modes(tess_context *ctx, int64_t nodes, int dimensions,
                                              const double *coordinates, double *modes);
/** Frees the preconditioner, when the last solver made with it is destroyed too; NULL is allowed. */
TESS_EXPORT void tess_precond_destroy(tess_precond *m);

TESS_END_DECLS

#endif
