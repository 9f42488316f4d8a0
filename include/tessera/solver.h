/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file solver.h  Iterative solvers whose results are verified.
 *
 *     tess_solver_create(a, NULL, &solver);            NULL: the default options
 *     tess_solve_result_init(&result);
 *     tess_solver_solve(solver, b, x, &result);        result.converged, result.reason, result.residual_norm
 *     tess_solver_destroy(solver);
 *
 * A solve may work in any precision. It always ends with the true residual b - A x of the original FP64 matrix, summed
 * in two words (compensated). The norm of that residual plus its rounding bound decides `converged`; nothing else does.
 * The methods: docs/reference/solvers.md. The verification and its proof: docs/concepts/verification.md. Words such as
 * cycle, guard and shell: docs/glossary.md. A program: examples/c/solve.c.
 */
#ifndef TESSERA_SOLVER_H
#define TESSERA_SOLVER_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/accuracy.h>
#include <tessera/matrix.h>
#include <tessera/order.h>
#include <tessera/phase.h>
#include <tessera/precond.h>
#include <tessera/reason.h>
#include <tessera/schedule.h>

TESS_BEGIN_DECLS

typedef struct tess_solver tess_solver;

/** The methods. Values are part of the ABI: append, never renumber. */
typedef enum tess_solver_kind {
    TESS_SOLVER_AUTO = 0,      /**< the library chooses, tries and explains: automatic.h */
    TESS_SOLVER_CG = 1,        /**< conjugate gradients */
    TESS_SOLVER_BICGSTAB = 2,  /**< stabilised bi-conjugate gradients */
    TESS_SOLVER_JACOBI = 3,    /**< Jacobi, in steps of rising precision */
    TESS_SOLVER_GMRES = 4,     /**< restarted GMRES */
    TESS_SOLVER_GMRES_IR = 5,  /**< GMRES with cycles in low precision: iterative refinement */
    TESS_SOLVER_GMRES_FD = 6,  /**< GMRES in low precision first, then in FP64 */
    TESS_SOLVER_MINRES = 7,    /**< MINRES, for symmetric matrices that need not be definite */
    TESS_SOLVER_FGMRES = 8,    /**< GMRES with a preconditioner that may vary */
    TESS_SOLVER_IDR = 9,       /**< IDR(s): short recurrences for any matrix */
    TESS_SOLVER_LSQR = 10,     /**< least squares, for matrices of any shape: LSQR */
    TESS_SOLVER_LSMR = 11,     /**< the same by LSMR */
    TESS_SOLVER_BLOCK_CG = 12, /**< CG for several right-hand sides in one Krylov space; for one it is CG */
    TESS_SOLVER_NESTED = 13    /**< flexible CG or GMRES, preconditioned by CG or GMRES on a low-precision copy of A */
} tess_solver_kind;

/** How iterations are launched. */
typedef enum tess_engine {
    /** The library chooses, in this order: single-kernel if matrix and vectors (of csr all but a few entries) fit into
        shared memory; graph on a GPU if operator and preconditioner allow it; plain. */
    TESS_ENGINE_AUTO = 0,
    TESS_ENGINE_PLAIN = 1, /**< one kernel after another */
    TESS_ENGINE_GRAPH = 2, /**< a recorded loop, on a GPU */
    /** One launch for all iterations, on a GPU. Only CG and BiCGSTAB, with preconditioner none or jacobi, on csr with
        values of 16 bits or more, or on tiles of layout resident. */
    TESS_ENGINE_SINGLE_KERNEL = 3
} tess_engine;

/** Which form of CG is used. docs/reference/solvers.md */
typedef enum tess_recurrence {
    TESS_RECURRENCE_AUTO = 0,          /**< predict-and-recompute in a single kernel, else standard */
    TESS_RECURRENCE_STANDARD = 1,      /**< two reductions, one after the other (Hestenes and Stiefel 1952) */
    TESS_RECURRENCE_ONE_REDUCTION = 2, /**< only in results; request it by tess_papers_solve (papers.h) */
    /** One reduction an iteration: PR-CG of Chen and Carson, SIAM J. Sci. Comput. 42 (2020). It takes about as many
        iterations as standard. The engines plain and graph gain nothing by it: they apply the preconditioner twice an
        iteration. */
    TESS_RECURRENCE_PREDICT_AND_RECOMPUTE = 3
} tess_recurrence;

/**
 * How GMRES makes its basis orthogonal. Both ways apply classical Gram-Schmidt twice.
 * cgs2 reads the basis three times an iteration. cgs2-delayed reads it twice, with one reduction, and a cycle of m
 * vectors takes m + 1 products with the matrix.
 */
typedef enum tess_orthogonalization {
    TESS_ORTHOGONALIZATION_CGS2 = 0,        /**< both passes in one iteration */
    TESS_ORTHOGONALIZATION_CGS2_DELAYED = 1 /**< the second pass is fused with the first pass of the next iteration */
} tess_orthogonalization;

/** What the solver does when the estimate and the true residual disagree, or the iteration breaks down. */
typedef enum tess_guard {
    TESS_GUARD_REPAIR = 0, /**< replace the residual by the true one and continue (default) */
    TESS_GUARD_REPORT = 1  /**< verify and report; change nothing, also not x for a better iterate */
} tess_guard;

/**
 * The norm of the residual r = b - A x in which a solve must meet its tolerance. In `rows` each row i of r and of b is
 * divided by the largest |a_ij| of that row, so that rows of very different size weigh alike: a penalty of 1e30 in some
 * rows hides all others in the norm of r as given. docs/concepts/verification.md
 */
typedef enum tess_stop_norm {
    TESS_STOP_NORM_AUTO = 0,          /**< both with solver auto, given with a named one */
    TESS_STOP_NORM_GIVEN = 1,         /**< ||r|| <= max(rtol ||b||, atol) */
    TESS_STOP_NORM_ROWS = 2,          /**< the same of row-scaled r and b; of a shell, whose rows are unknown, given */
    TESS_STOP_NORM_BOTH = 3,          /**< given and rows */
    TESS_STOP_NORM_PRECONDITIONED = 4 /**< ||M^-1 r|| <= max(rtol ||M^-1 b||, atol), never verified by itself */
} tess_stop_norm;

/** What a monitor sees. */
typedef struct tess_progress {
    int64_t iteration;
    double residual_norm;   /**< the solver's estimate of ||b - A x||_2 */
    double tolerance;       /**< the solve stops below this */
    double elapsed_seconds; /**< since tess_solver_solve began */
} tess_progress;

/**
 * The solver calls the monitor at every iteration on the CPU, and at intervals that the engine chooses on a GPU, where
 * the call costs no synchronisation. A nonzero return value ends the solve, and x is the current iterate, or the one
 * before this cycle if that is better. The reason is CANCELLED, or the one that is returned if that is
 * TESS_REASON_INTERRUPTED or TESS_REASON_TIME_LIMIT.
 */
typedef int (*tess_monitor)(void *user, const tess_progress *progress);

/** Options of CG. */
typedef struct tess_cg_options {
    tess_recurrence recurrence; /**< --recurrence (auto); other methods take only auto and standard */
    int64_t reserved[4];        /**< zeros */
} tess_cg_options;

/** Options of GMRES, GMRES-IR, GMRES-FD and FGMRES. */
typedef struct tess_gmres_options {
    int restart; /**< --restart (50): vectors of a cycle, from 1; cut to the number of rows */
    /** --inner-precision auto: 1 makes the default of `inner` depend on size. It is fp64/fp64 if matrix and basis take
        at most 48 MiB in FP64, where launches take the time and not bytes; else fp32/fp32. */
    int inner_auto;
    /** --inner-precision STORAGE[/ARITHMETIC]. ARITHMETIC: vectors of a cycle. STORAGE: basis, csr matrix left in fp64,
        preconditioner without a role. Default fp64/fp64; gmres-ir and the first iterations of gmres-fd fp32/fp32.
        The solver refuses fp64/fp32. */
    tess_role_precision inner;
    /** --basis-precision: storage of the Krylov basis (default: that of `inner`). The arithmetic is always that of
        `inner`; if it is fp32, the solver refuses an fp64 basis. */
    tess_role_precision basis;
    tess_orthogonalization orthogonalization; /**< --orthogonalization (cgs2-delayed); FGMRES takes cgs2 */
    /** --switch-at, gmres-fd only: FP64 begins at the first restart at or after this iteration. 0 (default): it begins
        after a cycle without progress. */
    int64_t switch_at;
    int64_t reserved[4]; /**< zeros */
} tess_gmres_options;

/** Options of Jacobi. */
typedef struct tess_jacobi_options {
    /** --steps, the precision schedule. Default for composite: fp32, mixed, fp64; for split, which takes no other:
        mixed; for csr and ellr: the precision of `storage`. docs/reference/solvers.md says when an entry ends. */
    tess_precision_schedule schedule;
    double omega;        /**< --omega (1), above 0: x := x + omega (D^-1 (b - R x) - x) */
    int64_t reserved[4]; /**< zeros */
} tess_jacobi_options;

/** Options of a solve whose solver is auto. */
typedef struct tess_automatic_options {
    int fp64_only; /**< --precision fp64: 1 forbids factors and other parts in lower precisions */
    /** 1: storage.format is the caller's, csr too (--format NAME). 0 (default): csr stands for auto if the rest of
        `storage` is as initialised. docs/concepts/automatic.md, "How the matrix is stored" */
    int format_given;
    /** --choices: the file that keeps which method solved a pattern, on which device; NULL (default): none. Borrowed
        for the solver's life. */
    const char *choices;
    int64_t reserved[4]; /**< zeros */
} tess_automatic_options;

/** Options of IDR(s). */
typedef struct tess_idr_options {
    int s;               /**< --solver idr:S (4): dimension of the shadow space, 1 to 64; cut to the number of rows */
    int64_t reserved[4]; /**< zeros */
} tess_idr_options;

/**
 * Options of the nested solver. Its precisions are those of tess_gmres_options: `inner` (fp16/fp32) of the copy of A
 * and the inner vectors, `basis` (fp32) of an inner GMRES.
 */
typedef struct tess_nested_options {
    int64_t iterations;  /**< --inner-iterations (auto, 0: cg 50, gmres 20): most of an outer one, 1 to 1000 */
    double reduction;    /**< --inner-reduction (0.1): they end below this share of their residual; 0: never before */
    int64_t reserved[4]; /**< zeros */
} tess_nested_options;

/** Options for studies of the papers (papers.h). */
struct tess_papers_solve;

/**
 * Options of a solve: first those of every solve, then a member for each method, for the preconditioner and for the
 * storage of the iteration matrix. Each names its command-line option, with the default in parentheses.
 * tess_solve_options_init sets the defaults.
 */
typedef struct tess_solve_options {
    size_t size;                 /**< sizeof(tess_solve_options) */
    tess_solver_kind solver;     /**< --solver (auto) */
    tess_engine engine;          /**< --engine (auto) */
    tess_guard guard;            /**< --guard (repair) */
    double rtol;                 /**< --rtol (1e-5): stop at ||b - A x|| <= max(rtol ||b||, atol); 0 is allowed */
    double atol;                 /**< --atol (0) */
    double divergence_tolerance; /**< --divergence-tolerance (1e10): stop above this times max(||b||, ||r0||) */
    int64_t max_iterations;      /**< --max-iterations (10000) */
    int64_t history_capacity;    /**< residual norms to keep (1,048,576); 0: none */
    tess_monitor monitor;        /**< may be NULL */
    void *monitor_user;          /**< passed to the monitor */
    int timings; /**< --timings (0): 1 measures phase_seconds of the result, on a GPU by the device's clock */
    /** --scale (none), --reorder (auto): the solver works on B = P_r D_r A D_c P_c^T, and all other options apply to B.
        docs/reference/verification.md, "Scaled and reordered systems". */
    tess_scaling scale;
    tess_reordering reorder;
    tess_cg_options cg;
    tess_gmres_options gmres;
    tess_jacobi_options jacobi;
    tess_idr_options idr;
    tess_precond_options precond;           /**< --precond (auto with solver auto, else none) */
    tess_storage_options storage;           /**< --format, --matrix-precision, ...: the matrix of the iterations */
    const struct tess_papers_solve *papers; /**< options for studies of the papers; NULL (default): none. Copied */
    tess_automatic_options automatic;       /**< --precision, --choices */
    tess_accuracy_options accuracy;         /**< --accuracy: sets the tolerance, in place of rtol and atol */
    /** --time-limit (0: none): seconds of a solve, all attempts together, and as many of tess_solver_create. A solve
       ends at the next iteration after them, with reason TIME_LIMIT. So it does, without an iteration, where they are
       too short for the preconditioner's set-up: factors by MUMPS are not begun if they should take longer. */
    double time_limit;
    /** --stop-norm (auto): the norm that must meet the tolerance. Preconditioned takes cg, bicgstab, minres, idr and
        gmres in FP64 with a preconditioner of the options or the caller's, without scale and reorder. */
    tess_stop_norm stop_norm;
    /** --iterate (best): 1, `last`, x is the last iterate of a solve that does not converge, whatever its residual;
        2, likewise, but only where max_iterations ended it. 0, `best`: the one with the least residual. */
    int return_last;
    /** --reorder none: 1 forbids that the solver orders the system itself. 0 (default): it does so where format or
        solver is auto, `scale` and `reorder` are none, and a product fetches x badly. docs/howto/reorder-and-scale.md
     */
    int keep_order;
    tess_nested_options nested;
} tess_solve_options;

/** What CG did. */
typedef struct tess_cg_result {
    tess_recurrence recurrence; /**< the one used; AUTO for methods other than CG and BiCGSTAB */
    int64_t reserved[4];
} tess_cg_result;

/** The precisions of GMRES' first cycles; `given` is 0 for other solvers. */
typedef struct tess_gmres_result {
    tess_role_precision inner, basis;
    int64_t reserved[4];
} tess_gmres_result;

/** What the inner iterations of the nested solver did; 0 for other solvers. */
typedef struct tess_nested_result {
    tess_solver_kind solver;          /**< CG, or GMRES */
    tess_role_precision inner, basis; /**< at the end: of the copy and the vectors; storage of GMRES' basis */
    int64_t most_iterations;          /**< of an inner solve */
    int64_t solves;                   /**< inner solves */
    int64_t iterations;               /**< of all of them, each a product with the copy */
    int64_t iterations_per_precision[TESS_MAX_PRECISIONS]; /**< the same by the precision of the copy */
    int64_t matrix_bytes;                                  /**< of the copy */
    int64_t reserved[4];
} tess_nested_result;

/** What Jacobi did. */
typedef struct tess_jacobi_result {
    tess_precision_schedule schedule; /**< the schedule with the iterations run; a repair may have added an entry */
    int64_t reserved[4];
} tess_jacobi_result;

/** The preconditioner. The numbers are 0 where it has no factors. */
typedef struct tess_precond_result {
    tess_precond_kind kind;
    tess_factorization factorization; /**< HOST or DEVICE: where the factors were computed; AUTO for other kinds */
    double shift;                     /**< relative shift of the diagonal that the factors needed */
    int64_t triangle_level_sets[2];   /**< level sets of the lower and the upper triangle */
    int64_t triangle_groups[2];       /**< groups of merged level sets; without merging the level sets */
    int64_t factor_nonzeros;          /**< tess_precond_factors.nonzeros */
    int64_t reserved[4];
} tess_precond_result;

/** The matrix of the iterations. */
typedef struct tess_storage_result {
    tess_format format;
    tess_precision precision; /**< the widest used; fp64 after a repair that went up to it */
    int exact;                /**< 1 if it stores every value exactly (tess_matrix_is_exact) */
    int64_t matrix_bytes;     /**< bytes of this matrix */
    int64_t fp64_csr_bytes;   /**< bytes of the same matrix as FP64 CSR */
    int64_t nonzeros_per_precision[TESS_MAX_PRECISIONS];
    int64_t reserved[4];
} tess_storage_result;

/**
 * The residual r = b - A x by rows. Norms divide row i by its largest |a_ij| (a row of zeros by 1). NaN for a shell.
 * Source of the backward error: Oettli, Prager, Numer. Math. 6 (1964).
 */
typedef struct tess_row_residual {
    double rhs_norm;       /**< of b, scaled so */
    double tolerance;      /**< max(rtol, atol / ||b||) rhs_norm, rounded down */
    double norm;           /**< of r, scaled so */
    double relative;       /**< norm / rhs_norm; norm itself if b = 0 */
    double bound;          /**< bound on the rounding error of norm */
    double backward_error; /**< the largest |r_i| / (|A| |x| + |b|)_i, from 0 to 1 */
    double backward_bound; /**< the exact one is at most backward_error + backward_bound */
    int64_t backward_row;  /**< the first row that has it, from 0; -1: r = 0, or unknown */
    int met;               /**< 1 if norm + bound <= tolerance */
    int64_t reserved[4];
} tess_row_residual;

/**
 * What a solve did. Call tess_solve_result_init before tess_solver_solve: it sets `size`, and the solve fills that many
 * bytes. The solver owns the history, which is valid until its next solve.
 */
typedef struct tess_solve_result {
    size_t size; /**< sizeof(tess_solve_result) */
    /** 1 if the norm that options.stop_norm names meets its tolerance. As given: residual_norm + residual_bound <=
       tolerance; shell without a bound: if residual_norm is. lsqr and lsmr: also with reason LEAST_SQUARES, which for a
       shell is never verified. */
    int converged;
    /** 1 if that is proved in both norms: converged, the bound is known, residual_norm meets its tolerance, and so does
        rows.norm. Where stop_norm asks for the norm as given alone, rows.norm may be up to TESS_ROWS_SLACK times its
        tolerance. */
    int verified;
    tess_reason reason;
    int64_t iterations; /**< total, repairs included */
    /** Residual replacements by the guard, plus rounds after the first of a scaled or reordered system. Restarts of
        GMRES with a full basis do not count. */
    int64_t refinements;
    int escalated;                  /**< 1 if the guard raised a precision; the switch of gmres-fd does not count */
    tess_solver_kind solver;        /**< the method used, never AUTO */
    tess_engine engine;             /**< the engine used, never AUTO */
    tess_scaling scale;             /**< as in the options */
    tess_reordering reorder;        /**< as in the options; clusters where the solver ordered the system itself */
    double rhs_norm;                /**< ||b||_2 */
    double tolerance;               /**< max(rtol ||b||, atol), rounded down */
    double residual_norm;           /**< true ||b - A x||_2, compensated */
    double relative_residual;       /**< residual_norm / ||b||; residual_norm itself if b = 0 */
    double residual_bound;          /**< bound on the rounding error of residual_norm; NaN: unknown (shell) */
    double estimated_residual_norm; /**< the method's own last value; with scale, times ||b|| / ||P_r D_r b|| */
    double estimated_relative_residual;
    const double *history;                 /**< estimated residual norms at iterations 0, 1, ...; NaN if not measured */
    int64_t history_length;                /**< less than iterations + 1 if the capacity was reached */
    double setup_seconds;                  /**< set-up of the solver, preconditioner included */
    double solve_seconds;                  /**< the solve, verification included */
    int64_t resident_bytes;                /**< iteration matrix, original if separate, preconditioner, vectors */
    int64_t peak_device_bytes;             /**< most that the context ever held */
    int timed;                             /**< 1 if phase_seconds were measured: with `timings`, not for Jacobi */
    double phase_seconds[TESS_MAX_PHASES]; /**< their sum is solve_seconds */
    tess_cg_result cg;
    tess_gmres_result gmres;
    tess_jacobi_result jacobi;
    tess_precond_result precond;
    tess_storage_result storage;
    /** ||A^T (b - A x)||_2, a bound on its error, and the Frobenius norm of A; 0 except for lsqr and lsmr. Reason
        LEAST_SQUARES: the first two together are at most rtol ||A||_F ||b - A x||. Of a shell: the norm as it computes
        it, NaN, and an estimate of ||A||_F (NaN after 0 iterations); the reason is judged by these alone. */
    double normal_residual_norm, normal_residual_bound, matrix_norm;
    tess_accuracy_result accuracy; /**< of a solve with options.accuracy */
    tess_stop_norm stop_norm;      /**< the norm that decided, never AUTO */
    tess_row_residual rows;
    tess_nested_result nested;
} tess_solve_result;

/** A solve that asks for the norm as given alone is not verified beyond so many times the row-scaled tolerance. */
#define TESS_ROWS_SLACK 100.0

/** Sets the defaults (above, in parentheses) and every `size`, also of members. */
TESS_EXPORT void tess_solve_options_init_sized(tess_solve_options *options, size_t size);
static inline void tess_solve_options_init(tess_solve_options *options)
{
    tess_solve_options_init_sized(options, sizeof *options);
}
/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_solve_result_init_sized(tess_solve_result *result, size_t size);
static inline void tess_solve_result_init(tess_solve_result *result)
{
    tess_solve_result_init_sized(result, sizeof *result);
}

/**
 * Sets up a solver for a square matrix; LSQR and LSMR take any shape. Methods, precisions, memory and sources:
 * docs/reference/solvers.md.
 * @param a        assembled, or a shell (not for Jacobi; LSQR and LSMR try its transpose once). The solver keeps it.
 * @param options  NULL: the defaults. Copied.
 * One set-up serves many right-hand sides. After tess_matrix_update_values the next solve renews the values.
 * If the preconditioner cannot be set up, this call still succeeds: the next solve reports reason PRECOND_SETUP, and
 * tess_context_last_error has the detail.
 * Errors: DIMENSION_MISMATCH (not square, and neither LSQR nor LSMR); UNSUPPORTED (a stored matrix, an engine, format
 * or precision that the method does not take, split.row_order other than original except for Jacobi, a shell matrix
 * with scale or reorder); INVALID_ARGUMENT (a `size` that is 0 or above this library's, negative tolerances or limits,
 * restart below 1, fp64/fp32 in gmres.inner or gmres.basis); with scale or reorder also those of
 * tess_order_max_product; memory. Tests: tests/unit/test_options.c, test_gmres.c, test_gmres_precisions.c,
 * test_jacobi.c; tests/gpu/test_gmres.c
 */
TESS_EXPORT tess_status tess_solver_create(const tess_matrix *a, const tess_solve_options *options, tess_solver **out);

/**
 * As tess_solver_create, with the caller's preconditioner @p m, which it keeps, in place of options->precond. The guard
 * does not change @p m when it raises a precision. Errors also: UNSUPPORTED (options->scale or reorder),
 * DIMENSION_MISMATCH.
 */
TESS_EXPORT tess_status tess_solver_create_with_precond(const tess_matrix *a, const tess_precond *m,
                                                        const tess_solve_options *options, tess_solver **out);

/**
 * Changes tolerances, limits, guard, return_last and monitor for later solves, without a new set-up. The history
 * keeps its capacity,
 * min(history_capacity, max_iterations + 1) of the options given at creation.
 */
TESS_EXPORT tess_status tess_solver_set_limits(tess_solver *solver, const tess_solve_options *options);

/**
 * Solves A x = b and verifies the result. Returns when all is done.
 * @param b       right-hand side, an FP64 vector of nrows values
 * @param x       FP64 vector of ncols values, not the array of b. In: the initial guess. Out: the solution.
 * @param result  initialised by tess_solve_result_init
 * A solve that does not converge is no error: result->reason says why it ended. x is then the best iterate
 * known: of the ends of cycles and the initial guess the one with the smallest true residual. It is never worse than
 * the initial guess. With options->return_last x is the last iterate, if its residual is finite. With guard REPORT, and
 * after a Jacobi run of fixed length, it is the last too, except after a breakdown or divergence.
 * If b = 0, x = 0 is returned at once. An initial guess that meets the tolerance is returned after 0 iterations.
 * Range: b may be anywhere in FP64's range. BiCGSTAB and GMRES square entries of A: above about 1e+150 the squares
 * overflow, and the reason is nan_or_inf.
 * With options->scale or reorder the true residual of the original system decides (docs/reference/verification.md).
 * Errors: INVALID_ARGUMENT, also for a solver that is solving, from its own monitor; DIMENSION_MISMATCH, CALLBACK (the
 * user's operator or preconditioner failed), memory; with scale or reorder also those of the set-up.
 */
TESS_EXPORT tess_status tess_solver_solve(tess_solver *solver, const tess_vector *b, tess_vector *x,
                                          tess_solve_result *result);

/**
 * Solves A^T x = b and verifies the result by the true residual b - A^T x, as tess_solver_solve does for A.
 * @param b, x  FP64 vectors of ncols and of nrows values
 * The first call makes A^T, of an assembled matrix, and a solver for it with the same options: memory and set-up count
 * a second time. Both are kept, and renewed after tess_matrix_update_values. A shell computes A^T x by its `apply`, has
 * no bound for it, and its result is not verified. Facts such as tess_solver_why stay those of tess_solver_solve.
 * Errors: those of tess_solver_create and tess_solver_solve, UNSUPPORTED (a preconditioner of the caller, which is one
 * of A alone). Test: tests/unit/test_solve_transpose.c
 */
TESS_EXPORT tess_status tess_solver_solve_transpose(tess_solver *solver, const tess_vector *b, tess_vector *x,
                                                    tess_solve_result *result);

/**
 * Copies the last iterate of the last solve to x, for a solve that goes on from it. After a solve that was stopped it
 * may be another one than the best, which tess_solver_solve returns: the residual of CG may grow while the error falls.
 * Where there was no iteration, or the method keeps none, x stays as it is. tests/unit/test_stop.c
 */
TESS_EXPORT tess_status tess_solver_last_iterate(const tess_solver *solver, tess_vector *x);

/** The preconditioner that the solver uses now, for its facts; NULL: none, or the solver has not chosen one yet. */
TESS_EXPORT const tess_precond *tess_solver_precond(const tess_solver *solver);

/**
 * Copies the current x to a host array of ncols values. Only for a monitor, while it is called, on a CPU: x is then the
 * iterate whose residual norm the monitor sees.
 * Errors: UNSUPPORTED (not within a monitor; a GPU; GMRES, whose x is not known before the end of a cycle; Jacobi,
 * lsqr, lsmr; solver auto, scale, reorder, accuracy). tests/unit/test_iterate.c
 */
TESS_EXPORT tess_status tess_solver_get_iterate(const tess_solver *solver, double *x);

/** Frees the solver; NULL is allowed. From the solver's own monitor it does so when the solve ends. */
TESS_EXPORT void tess_solver_destroy(tess_solver *solver);

/**
 * Computes the true residual norm, *norm = ||b - A x||_2, with products and sums in two words.
 * @param residual  receives b - A x; may be NULL; not the array of b or x
 * @param bound     *bound >= |*norm - exact value|; NaN for a shell matrix without error_bound
 * Errors: INVALID_ARGUMENT, DIMENSION_MISMATCH, memory.
 * Source: Ogita, Rump, Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005), Algorithm 5.3 (Dot2).
 * docs/reference/verification.md
 */
TESS_EXPORT tess_status tess_verify_residual(const tess_matrix *a, const tess_vector *b, const tess_vector *x,
                                             tess_vector *residual, double *norm, double *bound);

/** Names of the enums above. Parsers return INVALID_ARGUMENT for an unknown name and leave *out unchanged. */
TESS_EXPORT const char *tess_solver_kind_name(tess_solver_kind kind);
TESS_EXPORT tess_status tess_solver_kind_parse(const char *name, tess_solver_kind *out);
TESS_EXPORT const char *tess_engine_name(tess_engine engine);
TESS_EXPORT tess_status tess_engine_parse(const char *name, tess_engine *out);
TESS_EXPORT const char *tess_guard_name(tess_guard guard);
TESS_EXPORT tess_status tess_guard_parse(const char *name, tess_guard *out);
TESS_EXPORT const char *tess_recurrence_name(tess_recurrence recurrence);
TESS_EXPORT tess_status tess_recurrence_parse(const char *name, tess_recurrence *out);
TESS_EXPORT const char *tess_stop_norm_name(tess_stop_norm norm);
TESS_EXPORT tess_status tess_stop_norm_parse(const char *name, tess_stop_norm *out);
TESS_EXPORT const char *tess_orthogonalization_name(tess_orthogonalization orthogonalization);
TESS_EXPORT tess_status tess_orthogonalization_parse(const char *name, tess_orthogonalization *out);

TESS_END_DECLS

#endif
