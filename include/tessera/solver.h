/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file solver.h  Iterative solvers with a verified result.
 *
 * Whatever precision a solve works in, it ends with the true residual b - A x of the original FP64 matrix, accumulated
 * in two words (compensated). That number plus its rounding bound decides `converged`, nothing else does.
 */
#ifndef TESSERA_SOLVER_H
#define TESSERA_SOLVER_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/matrix.h>
#include <tessera/order.h>
#include <tessera/precond.h>
#include <tessera/steps.h>

TESS_BEGIN_DECLS

typedef struct tess_solver tess_solver;

/** The methods. Values are part of the ABI: append, never renumber. */
typedef enum tess_solver_kind {
    TESS_SOLVER_AUTO = 0,     /**< CG for a symmetric matrix with positive diagonal, else BiCGSTAB */
    TESS_SOLVER_CG = 1,       /**< conjugate gradients */
    TESS_SOLVER_BICGSTAB = 2, /**< stabilised bi-conjugate gradients */
    TESS_SOLVER_JACOBI = 3,   /**< Jacobi, in steps of rising precision */
    TESS_SOLVER_GMRES = 4,    /**< restarted GMRES */
    TESS_SOLVER_GMRES_IR = 5, /**< the same with cycles in low precision: iterative refinement */
    TESS_SOLVER_GMRES_FD = 6  /**< all in low precision first, then all in FP64 */
} tess_solver_kind;

/** How iterations are launched. */
typedef enum tess_engine {
    /** single-kernel where matrix and vectors fit into the shared memory of its blocks, or all but a few entries of CSR;
        else graph on a GPU where operator and preconditioner allow; else plain */
    TESS_ENGINE_AUTO = 0,
    TESS_ENGINE_PLAIN = 1, /**< one kernel after another */
    TESS_ENGINE_GRAPH = 2, /**< a recorded loop, on a GPU */
    /** one launch for all iterations, on a GPU: CG and BiCGSTAB, without preconditioner or with jacobi, on csr of 16 bits
        or more or tiles of layout resident */
    TESS_ENGINE_SINGLE_KERNEL = 3
} tess_engine;

/** How CG goes on from one iteration to the next. */
typedef enum tess_recurrence {
    TESS_RECURRENCE_AUTO = 0,          /**< predict-and-recompute in a single kernel, else standard */
    TESS_RECURRENCE_STANDARD = 1,      /**< two reductions, one after the other (Hestenes and Stiefel 1952) */
    TESS_RECURRENCE_ONE_REDUCTION = 2, /**< in results alone: asked for by tess_papers_solve (papers.h) */
    /**
     * All inner products at once too, but A p is a product in each iteration, and beta follows from a prediction of the
     * next (r, M^-1 r), which is computed anew with the next iteration's (Chen and Carson, SIAM J. Sci. Comput. 42
     * (2020), PR-CG): about as many iterations as standard. In the engines plain and graph, which gain nothing by it, M
     * is applied twice an iteration.
     */
    TESS_RECURRENCE_PREDICT_AND_RECOMPUTE = 3
} tess_recurrence;

/**
 * How GMRES makes its basis orthogonal: two passes of classical Gram-Schmidt, at once or the second one later. At once,
 * an iteration sweeps over the basis three times; delayed, twice, with one reduction, and a cycle of m vectors has one
 * product more than vectors.
 */
typedef enum tess_orthogonalization {
    TESS_ORTHOGONALIZATION_CGS2 = 0,        /**< both passes in one iteration */
    TESS_ORTHOGONALIZATION_CGS2_DELAYED = 1 /**< the second pass goes with the first of the next iteration */
} tess_orthogonalization;

/** What happens when the estimate and the true residual disagree, or the iteration breaks down. */
typedef enum tess_guard {
    TESS_GUARD_REPAIR = 0, /**< replace the residual by the true one and go on (default) */
    TESS_GUARD_REPORT = 1  /**< verify and report; change nothing */
} tess_guard;

/** Why a solve ended. Numbers and names are PETSc's where it has one; those from -100 on are ours. Append, never renumber. */
typedef enum tess_reason {
    TESS_REASON_RUNNING = 0,              /**< the solve has not ended */
    TESS_REASON_RTOL = 2,                 /**< converged: relative tolerance met */
    TESS_REASON_ATOL = 3,                 /**< converged: absolute tolerance met */
    TESS_REASON_HAPPY_BREAKDOWN = 7,      /**< converged: exact solution found at a breakdown */
    TESS_REASON_ITERATIONS = -3,          /**< iteration limit reached */
    TESS_REASON_DIVERGENCE = -4,          /**< the residual grew beyond the divergence limit */
    TESS_REASON_BREAKDOWN = -5,           /**< the recurrence broke down */
    TESS_REASON_NONSYMMETRIC = -7,        /**< the method needs a symmetric matrix */
    TESS_REASON_INDEFINITE_PRECOND = -8,  /**< the preconditioner is not positive definite */
    TESS_REASON_NAN_OR_INF = -9,          /**< NaN or Inf appeared */
    TESS_REASON_INDEFINITE_MATRIX = -10,  /**< the matrix is not positive definite */
    TESS_REASON_PRECOND_SETUP = -11,      /**< the preconditioner could not be set up */
    TESS_REASON_FALSE_CONVERGENCE = -100, /**< the estimate met the tolerance, the true residual does not */
    TESS_REASON_STAGNATION = -101,        /**< no further progress in the working precision */
    TESS_REASON_CANCELLED = -102,         /**< cancelled by the monitor */
    TESS_REASON_OVERFLOW = -103           /**< overflow in a low precision */
} tess_reason;

/**
 * What the time of a solve goes into. A fused pass counts where most of its bytes belong: norms go with the pass that they
 * are made in, and of GMRES' middle pass, which subtracts and projects, all is gemv_n.
 */
typedef enum tess_phase {
    TESS_PHASE_OTHER = 0,     /**< vector updates, small problems, launches */
    TESS_PHASE_SPMV = 1,      /**< products with the matrix */
    TESS_PHASE_GEMV_T = 2,    /**< GMRES: inner products with the basis */
    TESS_PHASE_GEMV_N = 3,    /**< GMRES: combinations of the basis */
    TESS_PHASE_NORM = 4,      /**< norms and other reductions */
    TESS_PHASE_PRECOND = 5,   /**< the preconditioner */
    TESS_PHASE_REFINEMENT = 6 /**< between cycles, the true residual above all */
} tess_phase;

/** How many there are, and the room for more that results have. */
enum { TESS_PHASE_COUNT = 7, TESS_MOST_PHASES = 16 };

typedef struct tess_progress {
    int64_t iteration;
    double residual_norm;   /**< the solver's estimate of ||b - A x||_2 */
    double tolerance;       /**< the solve stops below this */
    double elapsed_seconds; /**< since tess_solver_solve began */
} tess_progress;

/**
 * Called as the solve advances: every iteration on the CPU, at intervals of the engine's own on a GPU (it costs no
 * synchronisation there). A nonzero return cancels the solve: reason CANCELLED, x is the current iterate.
 */
typedef int (*tess_monitor)(void *user, const tess_progress *progress);

/** CG */
typedef struct tess_cg_options {
    tess_recurrence recurrence; /**< --recurrence (auto); for other methods auto or standard */
    int64_t reserved[4];        /**< zeros */
} tess_cg_options;

/** GMRES, GMRES-IR and GMRES-FD */
typedef struct tess_gmres_options {
    int restart; /**< --restart, from 1 (50): vectors of a cycle; no more than the matrix has rows */
    /**
     * --inner-precision auto: 1: `inner`, where not given, is fp64/fp64 if matrix and basis in FP64 take 48 MiB or less, else
     * fp32/fp32: below, launches and not bytes take the time, and lower precision can only cost iterations.
     */
    int inner_auto;
    /**
     * --inner-precision STORAGE[/ARITHMETIC]: ARITHMETIC is what the vectors of a cycle are in, STORAGE
     * what the matrix (csr where `storage` leaves it in fp64), the basis and the preconditioner (where not set) are
     * stored in. Default: fp64/fp64 for gmres, fp32/fp32 for gmres-ir and for the first iterations of gmres-fd.
     * fp64/fp32 is refused.
     */
    tess_role_precision inner;
    /**
     * --basis-precision: what the Krylov basis is stored in (that of `inner`); its arithmetic is that of
     * `inner`, whatever is set here. fp64 is refused where that is fp32.
     */
    tess_role_precision basis;
    tess_orthogonalization orthogonalization; /**< --orthogonalization (cgs2-delayed) */
    /** --switch-at: gmres-fd: in FP64 from the first restart at or after this iteration on; 0: once FP32 gets no further */
    int64_t switch_at;
    int64_t reserved[4]; /**< zeros */
} tess_gmres_options;

/** Jacobi */
typedef struct tess_jacobi_options {
    /**
     * --steps. Default: fp32, mixed, fp64 for the format composite; mixed for split, which has no other; for
     * csr and ellr the precision of `storage`. Where a step names its iterations, or rtol and atol are 0, the run is fixed:
     * steps without a number share max_iterations equally (the remainder goes to the last of them), and no residual is looked
     * at in between. Otherwise a step ends where its residual stops falling or is as low as its precision can make it.
     */
    tess_step_list steps;
    double omega;        /**< --omega, above 0 (1): x := x + omega (D^-1 (b - R x) - x) */
    int64_t reserved[4]; /**< zeros */
} tess_jacobi_options;

/** What the papers' studies of solvers take (papers.h). */
struct tess_papers_solve;

/**
 * Options of a solve: what every one has, then a member for each method, the preconditioner and the storage of the matrix
 * that is iterated with. They mirror the command line one to one. Set by tess_solve_options_init.
 */
typedef struct tess_solve_options {
    size_t size;                 /**< sizeof(tess_solve_options) */
    tess_solver_kind solver;     /**< --solver (auto) */
    tess_engine engine;          /**< --engine (auto) */
    tess_guard guard;            /**< --guard (repair) */
    double rtol;                 /**< --rtol (1e-5): stop at ||b - A x|| <= max(rtol ||b||, atol); 0 is allowed */
    double atol;                 /**< --atol (0) */
    double divergence_tolerance; /**< --divergence-tolerance (1e10): give up above this times max(||b||, ||r0||) */
    int64_t max_iterations;      /**< --max-iterations (10000) */
    int64_t history_capacity;    /**< residual norms kept; default 1,048,576; 0: none */
    tess_monitor monitor;        /**< may be NULL */
    void *monitor_user;          /**< handed to the monitor */
    int timings; /**< --timings: 1: phase_seconds of the result are measured, by the device's clock on a GPU (0) */
    /**
     * --scale and --reorder: the solver works on B = P_r D_r A D_c P_c^T instead of A. max-product permutes rows so that the
     * matching of tess_order_max_product is the diagonal, and scales with its factors; rcm then reorders rows and columns of
     * the result alike. Everything else in these options applies to B: solver AUTO judges B, the preconditioner is that of B.
     */
    tess_scaling scale;
    tess_reordering reorder;
    tess_cg_options cg;
    tess_gmres_options gmres;
    tess_jacobi_options jacobi;
    tess_precond_options precond;           /**< --precond */
    tess_storage_options storage;           /**< --format, --matrix-precision of the matrix that is iterated with */
    const struct tess_papers_solve *papers; /**< what a paper has; NULL (default): nothing. Copied */
} tess_solve_options;

/** What CG did. */
typedef struct tess_cg_result {
    tess_recurrence recurrence; /**< resolved; AUTO for other methods than CG and BiCGSTAB */
    int64_t reserved[4];
} tess_cg_result;

/** What GMRES' cycles began in; not given for other solvers. */
typedef struct tess_gmres_result {
    tess_role_precision inner, basis;
    int64_t reserved[4];
} tess_gmres_result;

/** What Jacobi did. */
typedef struct tess_jacobi_result {
    tess_step_list steps; /**< with the iterations that each ran; a repair may have added one */
    int64_t reserved[4];
} tess_jacobi_result;

/** The preconditioner; numbers are of ilu0 and ic0, else 0. */
typedef struct tess_precond_result {
    tess_precond_kind kind;
    tess_factorization factorization; /**< HOST or DEVICE, which computed the factors; else AUTO */
    double shift;                     /**< of the diagonal that the factors needed, over its magnitudes */
    int64_t triangle_levels[2];       /**< levels of the lower and the upper triangle */
    int64_t triangle_steps[2];        /**< the same, or the groups that they were merged into */
    int64_t reserved[4];
} tess_precond_result;

/** The matrix that was iterated with. */
typedef struct tess_storage_result {
    tess_format format;
    tess_precision precision; /**< the widest used: a repair may have gone up to fp64 */
    int exact;                /**< 1 when it holds every value as it is (tess_matrix_is_exact) */
    int64_t matrix_bytes;     /**< what it takes */
    int64_t fp64_csr_bytes;   /**< what FP64 CSR would take */
    int64_t nonzeros_per_precision[TESS_MOST_PRECISIONS];
    int64_t reserved[4];
} tess_storage_result;

/**
 * What a solve did. Set `size` by tess_solve_result_init before tess_solver_solve, which fills as much. The history belongs
 * to the solver and is valid until its next solve.
 */
typedef struct tess_solve_result {
    size_t size;   /**< sizeof(tess_solve_result) */
    int converged; /**< 1 only when verified */
    tess_reason reason;
    int64_t iterations; /**< in all, repairs included */
    /** Residual replacements by the guard, rounds after the first where transformed; full cycles of GMRES do not count. */
    int64_t refinements;
    int escalated;            /**< 1 when the guard went on in a higher precision; the switch of gmres-fd is none */
    tess_solver_kind solver;  /**< resolved, never AUTO */
    tess_engine engine;       /**< resolved, never AUTO */
    tess_scaling scale;       /**< as asked for */
    tess_reordering reorder;  /**< as asked for */
    double rhs_norm;          /**< ||b||_2 */
    double tolerance;         /**< max(rtol ||b||, atol) */
    double residual_norm;     /**< true ||b - A x||_2, compensated */
    double relative_residual; /**< the same over ||b|| (over 1 when b = 0) */
    double residual_bound;    /**< bound on the rounding error in residual_norm; NaN for a shell matrix */
    double estimated_residual_norm; /**< the solver's own last value; of a transformed system times ||b|| / ||its b|| */
    double estimated_relative_residual;
    const double *history;     /**< estimated residual norm at iteration 0, 1, ...; NaN where it was not measured */
    int64_t history_length;    /**< may be less than iterations + 1 when the capacity was reached */
    double setup_seconds;      /**< of the solver, preconditioner included */
    double solve_seconds;      /**< verification included */
    int64_t resident_bytes;    /**< matrix, original where apart, preconditioner, vectors */
    int64_t peak_device_bytes; /**< of the context, ever */
    int timed;                 /**< 1: phase_seconds were measured: CG, BiCGSTAB and GMRES with `timings` */
    double phase_seconds[TESS_MOST_PHASES]; /**< they add up to solve_seconds */
    tess_cg_result cg;
    tess_gmres_result gmres;
    tess_jacobi_result jacobi;
    tess_precond_result precond;
    tess_storage_result storage;
} tess_solve_result;

/** The defaults above in parentheses. Sets `size`, that of the members too. */
TESS_EXPORT void tess_solve_options_init(tess_solve_options *options);
/** Zeros, and `size`. */
TESS_EXPORT void tess_solve_result_init(tess_solve_result *result);

/**
 * Sets up a solver for the square matrix @p a (assembled; but for Jacobi also a shell), which is borrowed. One set-up
 * serves many right-hand sides and survives tess_matrix_update_values (values are renewed at the next solve).
 * A preconditioner that cannot be set up is not an error here: the next solve reports reason PRECOND_SETUP, and
 * tess_context_last_error says why. Errors: DIMENSION_MISMATCH (not square), INVALID_ARGUMENT, UNSUPPORTED, memory; with
 * options->scale or reorder also those of tess_order_max_product, and UNSUPPORTED for a shell matrix; but for
 * Jacobi UNSUPPORTED too where options->storage.split.row_order of split or composite is not original. INVALID_ARGUMENT too for
 * structs of a `size` that is 0 or above this library's (tests/unit/test_options.c).
 *
 * Jacobi splits A = D + R and multiplies with R, in composite storage with rows and columns permuted alike: one copy of its
 * values for each precision that a step names, and for `mixed` those of the policy's levels (policy none stands for
 * mean-range with F = 0.1; where no step is mixed, the policy is not asked). The formats csr and ellr name the base of the
 * parts; split serves a list of `mixed` alone, by rows or by entries. Values below fp64 are multiplied in FP32 with an FP32 copy of x and summed up in FP64; D^-1 and, where
 * a step reads it, x are FP64. It takes no preconditioner. A diagonal entry that is zero or missing is reported by the solve
 * as PRECOND_SETUP. Source: Tezcan et al. 2022, section III-D, Algorithm 1. tests/unit/test_jacobi.c
 *
 * GMRES restarts after m = min(options->gmres.restart, n) vectors, preconditioned from the right: A M^-1 u = r, d = M^-1 u. A
 * cycle begins with the true residual of the FP64 matrix, and ends when its basis is full, by the guard's goal, or at a
 * breakdown; x and its corrections are FP64. gmres-ir is gmres with options->gmres.inner in fp32/fp32 (iterative refinement:
 * one round is one cycle). The vectors of a cycle, two and with a preconditioner three, are FP64 where ARITHMETIC of
 * options->gmres.inner is fp64. Where it is fp32 they are FP32, and sums over a row of the matrix stay FP64, if the format
 * allows:
 * - csr, ellr, sell, dia: always. csr whose options->storage.precision is fp64 is stored in options->gmres.inner.storage, and so is what
 *   format auto stands for without a policy; ellr, sell and dia stay in the precision that options->storage says.
 * - split: where none of its rows is at the first level; else vectors are FP64. By entries FP32 vectors cannot be
 *   multiplied, and where no entry is at the first level the solve fails with UNSUPPORTED: set options->gmres.inner to
 *   fp32/fp64.
 * - composite: always where one of its levels is options->gmres.inner.storage; all rows are then multiplied in that copy.
 *   Else as split.
 * - a shell matrix: never. Its options->precond must be none, jacobi, or polynomial with the role fp64/fp64.
 * A shell preconditioner needs FP64 vectors, or the solve fails with UNSUPPORTED. Errors also: INVALID_ARGUMENT for a
 * restart below 1 and for fp64/fp32 in options->gmres.inner or options->gmres.basis (fp64 with the arithmetic of inner). Memory beside the vectors: (n rounded up to 256) (m + 1) values of options->gmres.basis, and about
 * m^2 + 20 m doubles.
 *
 * gmres-fd computes all its first cycles in options->gmres.inner: x is rounded to the vectors' precision at each restart, and
 * the residual that the next cycle begins with is computed in it, from the stored matrix. These residuals decide
 * nothing: the true one is found after each cycle too, and ends the solve. From options->gmres.switch_at on, or, where that
 * is 0, after a cycle without progress, it is gmres in FP64 from the x so far.
 *
 * Where the product adds nothing to the space the cycle ends with the exact least-squares solution in it (a happy
 * breakdown where the true residual agrees); where A M^-1 is singular on the space, with BREAKDOWN. With the guard on
 * repair a cycle in which anything is below FP64 asks for a reduction by 2^-17 at most (8 unit roundoffs of the lowest
 * precision where these are more, 1/4 at most). After a cycle without progress a basis goes up to the precision of the
 * vectors, and if it is there, all goes up to FP64: matrix, vectors, basis, and the preconditioner made here. A cycle
 * with a full basis has made progress where the residual fell by more than a share of 2^-20, any other where it fell by
 * half of what the cycle was asked for. In FP64 three cycles without progress end the solve; a full basis then has the reason STAGNATION. With the
 * guard on report the tolerance itself is the goal of every cycle, so that one whose estimate meets it and whose true
 * residual does not ends the solve (FALSE_CONVERGENCE), and one full cycle without progress is STAGNATION. After a
 * solve that went up the next begins as this one did.
 * Sources: Saad, Schultz, SIAM J. Sci. Stat. Comput. 7 (1986); Loe et al. 2021, Algorithms 1 and 2, section III-C;
 * delayed passes: Bielich et al., Parallel Computing 112 (2022); bases in low precision: Aliaga et al., IJHPCA 37
 * (2023).
 * tests/unit/test_gmres.c, tests/unit/test_gmres_precisions.c, tests/gpu/test_gmres.c
 */
TESS_EXPORT tess_status tess_solver_create(const tess_matrix *a, const tess_solve_options *options, tess_solver **out);

/**
 * As tess_solver_create with a preconditioner of the caller's (borrowed), which overrides options->precond and stays as
 * it is where the guard goes up in precision. UNSUPPORTED together with options->scale or reorder.
 */
TESS_EXPORT tess_status tess_solver_create_with_precond(const tess_matrix *a, const tess_precond *m,
                                                        const tess_solve_options *options, tess_solver **out);

/**
 * Changes tolerances, limits, guard and monitor for later solves without a new set-up. The room for the history stays what
 * it was at creation: min(history_capacity, max_iterations + 1) of then.
 */
TESS_EXPORT tess_status tess_solver_set_limits(tess_solver *solver, const tess_solve_options *options);

/**
 * Solves A x = b. @p x holds the initial guess on entry and the solution on return; when not converged, the last iterate,
 * or after a breakdown or divergence the better of that and the one before the cycle that broke down. Both are FP64
 * vectors of n values. Blocks until done.
 * Range: b may lie anywhere in FP64's; BiCGSTAB forms squares of A's entries times its vectors, so that entries beyond
 * about 1e+-150 break it down (honestly: it never reports a convergence that is not there).
 * With options->scale or reorder, B y = P_r D_r (b - A x) is solved to the relative reduction that the original's residual
 * needs, and x is corrected by D_c P_c^T y. The true residual of the original system decides; where it has not met its
 * tolerance although B's has, further such rounds follow (up to ten in all, none with the guard on report) as long as one
 * of the two residuals falls by half, else the reason is STAGNATION (at the rounding of x) or FALSE_CONVERGENCE. Iterations, their limit, the monitor and the
 * history run through all rounds; estimates are those of B's system, multiplied by ||b|| / ||P_r D_r b||. After
 * tess_matrix_update_values the order and the scaling are found anew, with the errors of the set-up.
 * Not converging is not an error: see result->reason. b = 0 gives x = 0 at once; a good x0 returns after 0 iterations.
 */
TESS_EXPORT tess_status tess_solver_solve(tess_solver *solver, const tess_vector *b, tess_vector *x,
                                          tess_solve_result *result);

TESS_EXPORT void tess_solver_destroy(tess_solver *solver);

/**
 * The true residual norm of the original matrix: *norm = ||b - A x||_2 with products and sums in two words, and *bound
 * >= |*norm - exact| (NaN for a shell matrix, whose rounding is unknown). @p residual (may be NULL) receives b - A x.
 * Source: Ogita, Rump, Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005), Algorithm 5.3 (Dot2).
 */
TESS_EXPORT tess_status tess_verify_residual(const tess_matrix *a, const tess_vector *b, const tess_vector *x,
                                             tess_vector *residual, double *norm, double *bound);

/** One-line description; "?" for a value outside the list. */
TESS_EXPORT const char *tess_reason_text(tess_reason reason);

/** Names of the enums above, and the reverse: INVALID_ARGUMENT leaves *out alone. */
TESS_EXPORT const char *tess_reason_name(tess_reason reason);
TESS_EXPORT tess_status tess_reason_parse(const char *name, tess_reason *out);
TESS_EXPORT const char *tess_phase_name(tess_phase phase);
TESS_EXPORT tess_status tess_phase_parse(const char *name, tess_phase *out);
TESS_EXPORT const char *tess_solver_kind_name(tess_solver_kind kind);
TESS_EXPORT tess_status tess_solver_kind_parse(const char *name, tess_solver_kind *out);
TESS_EXPORT const char *tess_engine_name(tess_engine engine);
TESS_EXPORT tess_status tess_engine_parse(const char *name, tess_engine *out);
TESS_EXPORT const char *tess_guard_name(tess_guard guard);
TESS_EXPORT tess_status tess_guard_parse(const char *name, tess_guard *out);
TESS_EXPORT const char *tess_recurrence_name(tess_recurrence recurrence);
TESS_EXPORT tess_status tess_recurrence_parse(const char *name, tess_recurrence *out);
TESS_EXPORT const char *tess_orthogonalization_name(tess_orthogonalization orthogonalization);
TESS_EXPORT tess_status tess_orthogonalization_parse(const char *name, tess_orthogonalization *out);

TESS_END_DECLS

#endif
