/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a backend is: memory, fused vector operations, loops, and one table per kind of plug-in (formats,
 * preconditioners). Each backend fills one const tess_backend; a host-only build has no GPU one.
 */
#ifndef TESS_BACKEND_BACKEND_H
#define TESS_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/matrix.h>
#include <tessera/precond.h>
#include <tessera/solver.h>

#include "base/fused.h"
#include "dense/gemv.h"
#include "dense/trsv.h"
#include "solver/gmres/arnoldi.h"
#include "triangular/leaf.h"
#include "triangular/merged.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tess_format_ops tess_format_ops;
typedef struct tess_backend tess_backend;
typedef struct single_limits single_limits;
typedef struct single_plan single_plan;
typedef struct single_shape single_shape;
typedef struct narrowing_ops narrowing_ops;

/* What becomes of a row's sum in place of alpha, beta and residual: an iteration that writes the next vector at once. */
typedef enum tess_update_kind {
    TESS_UPDATE_NONE = 0,
    TESS_UPDATE_JACOBI,    /* y_i = x_i + omega ((rhs_i - sum) scale_i - x_i); omega = 1: (rhs_i - sum) scale_i */
    TESS_UPDATE_STEP,      /* y_i = sum + scale_i x_i */
    TESS_UPDATE_POLYNOMIAL /* y_i = alpha sum + beta base_i; total_i = total_i + gamma y_i. CSR alone */
} tess_update_kind;

typedef struct tess_update {
    tess_update_kind kind;
    const double *rhs, *scale;
    double omega;
    /* JACOBI with a reduction of one dot product: with[0] is not read, dots[0] adds ((y_i - x_i) / (omega scale_i))^2, the square
       of the residual of x at row i. */
    /* POLYNOMIAL: base and total have the precision of the vectors; base may be x or y, y may be absent. wide_total (with FP32
       vectors): the new total goes there in FP64 instead. Nothing is reduced. */
    const void *base;
    void *total;
    double *wide_total;
    double gamma;
} tess_update;

/* Which of a composite matrix's copies are multiplied: those assigned to the rows, or level k - 1 throughout. */
enum { TESS_COPY_ASSIGNED = 0, TESS_COPY_LEVEL = 1 };

/* A matrix-vector product with its epilogue, for arrays on the backend's device. */
typedef struct tess_spmv_args {
    tess_operation operation;
    const double *x;
    const float *x_shadow; /* NULL unless the format asks for one */
    double *y;
    tess_precision vectors; /* FP32: x_fp32 and y_fp32 stand for x and y, with neither residual nor reduction */
    const float *x_fp32;
    float *y_fp32;
    double alpha, beta;       /* y = alpha A x + beta y; beta = 0: y is not read */
    const double *residual;   /* non-NULL: y = residual - A x instead */
    tess_reduction reduction; /* dot products with the new y, then a scalar step */
    tess_update update; /* x is the vector before, at the rows of y; but for POLYNOMIAL split and composite alone */
    const uint8_t *
        segments; /* tiles of layout resident: how each block column is used (policy/narrowing_rules.h); NULL: as stored */
    /* The rest: split and composite formats alone. */
    float *y_shadow; /* non-NULL: y is written here too, rounded; y may be NULL then */
    /* FP32: rows stored below fp64 multiply with x_shadow in FP32 and sum up in FP64 */
    tess_arithmetic low_arithmetic;
    int copy; /* TESS_COPY_ASSIGNED, or TESS_COPY_LEVEL + level */
} tess_spmv_args;

/* What the true-residual pass returns: ||b - A x||^2 in two words and the sum of squared row error bounds. */
typedef struct tess_residual_norm {
    double high, low; /* sum of the squares of 2^-exponent (b - A x)_i */
    double bound;     /* sum of the squares of the rows' error bounds, scaled likewise */
    int exponent;     /* in: the scale to use */
    double magnitude; /* sum of the squares of the rows' |b_i| + sum |a_ij x_j|, scaled likewise; 0: unknown */
    double rhs;       /* sum of the squares of b_i, scaled likewise */
} tess_residual_norm;

/* One storage format on one backend. `storage` is the format's own object. */
struct tess_format_ops {
    tess_format format;
    /* Builds from an assembled matrix (CSR, same context). */
    tess_status (*build)(const tess_matrix *assembled, const tess_storage_options *options, void **storage);
    /* New values from the assembled matrix into an existing storage. */
    tess_status (*refresh)(const tess_matrix *assembled, void *storage);
    void (*destroy)(tess_context *ctx, void *storage);
    /* Whatever products need beyond build, so that none allocates; may be called again. */
    tess_status (*prepare)(const tess_matrix *a);
    tess_status (*spmv)(const tess_matrix *a, const tess_spmv_args *args);
    /* Host arrays of the stored nonzeros in CSR order, decoded to FP64; any may be NULL. */
    tess_status (*decode)(const tess_matrix *a, int64_t *row_ptr, int32_t *col_ind, double *val);
    int64_t (*bytes)(const tess_matrix *a);
    /* Bits of the precisions that build accepts (1 << tess_precision). */
    unsigned precisions;
};

/* Diagonal blocks of a block Jacobi preconditioner: their inverses, one after another, column-major. precond/block_storage.h
   reads it. */
typedef struct tess_block_diagonal {
    int64_t n;
    int block_size;             /* the last block may be smaller; it is filled up with zeros */
    tess_precision storage;     /* of all blocks; adaptive: the lowest that one may have */
    tess_arithmetic arithmetic; /* of the products */
    void *inverse;
    int64_t bytes;       /* of inverse */
    int16_t *exponents;  /* a block is stored over 2^exponent; NULL: as it is */
    uint8_t *precisions; /* adaptive: of each block; else NULL */
    char **
        places; /* adaptive: where each block begins, a multiple of 8 bytes, and where the last ends; else NULL. Recorded
                            loops read them from here, so that `inverse` may move. */
    int64_t counts[TESS_PRECISION_COUNT]; /* blocks in each precision */
} tess_block_diagonal;

/* What a pass over the blocks does with their inverses: choose the precisions by their condition, or store them. */
typedef enum tess_block_stage { TESS_BLOCKS_JUDGE, TESS_BLOCKS_STORE } tess_block_stage;

enum { TESS_MOST_ATTEMPTS = 8 };

/* An incomplete factorization on the pattern of the matrix; arrays are where it is computed, `runs` on the host. */
typedef struct tess_incomplete_job {
    int64_t n;
    bool cholesky;           /* IC(0): entries right of the diagonal are neither read nor written */
    double shift;            /* of the diagonal, over its magnitudes */
    int attempts;            /* at once, with that shift, twice that, ...: 1 to TESS_MOST_ATTEMPTS */
    bool hasty;              /* other attempts follow: what a bad row leaves behind does not matter */
    const int64_t *diagonal; /* n: places of the diagonal entries among the matrix's */
    const int32_t *order;    /* n: rows, those that a row needs before it; NULL, on the host: as they lie */
    const level_run *runs;   /* of the host */
    int64_t nruns;
    double *lu;      /* of each attempt the matrix's entries: those of L and U beside the ones on their diagonals */
    double *inverse; /* of each n: D^-1 */
} tess_incomplete_job;

/* Of the first attempt without a bad row, or else of the last. */
typedef struct tess_incomplete_outcome {
    int64_t bad_row; /* the first that is not finite, or else without a usable pivot; -1: none */
    double largest;  /* magnitude in lu, where no row is bad */
    int attempt;
    bool finite; /* whether the matrix is, where that was looked at */
} tess_incomplete_outcome;

/* A loop of a Krylov method: `body` enqueues one iteration through the backend. */
typedef struct tess_loop {
    tess_status (*body)(void *solver);
    void *solver;
    tess_engine engine;     /* never AUTO; SINGLE_KERNEL: of the solver's krylov.single, and body is not called */
    tess_loop_state *state; /* on the backend's device */
    double *history;        /* on the backend's device; history_capacity values */
    double *host_history;   /* copied out as the loop ends */
    int64_t history_capacity;
    tess_monitor monitor;
    void *monitor_user;
    double start_seconds;   /* wall clock at the start of the solve */
    void **graph_slot;      /* where the backend keeps the recorded loop between solves; NULL: none is kept */
    tess_loop_state result; /* out: the state at the end */
} tess_loop;

/* How long a block of threads waits for another at most: far above any wait of blocks that run, far below what a user takes for a
   hang. */
#define TESS_PATIENCE_NANOSECONDS INT64_C(4000000000)

struct tess_backend {
    const char *name; /* "cpu", "cuda", "hip" */
    /* context */
    tess_status (*open)(tess_context *ctx, const tess_context_options *options);
    void (*close)(tess_context *ctx);
    tess_status (*synchronize)(tess_context *ctx);
    tess_status (*trim)(tess_context *ctx); /* frees what is kept for later use */
    void *(*stream)(const tess_context *ctx);
    /* memory; sizes in bytes. upload and download are complete on return. */
    void *(*allocate)(tess_context *ctx, size_t bytes);
    void (*release)(tess_context *ctx, void *pointer, size_t bytes);
    tess_status (*upload)(tess_context *ctx, void *device, const void *host, size_t bytes);
    tess_status (*download)(tess_context *ctx, void *host, const void *device, size_t bytes);
    tess_status (*copy)(tess_context *ctx, void *destination, const void *source, size_t bytes);
    tess_status (*zero)(tess_context *ctx, void *pointer, size_t bytes);
    /* vectors */
    tess_status (*fused)(tess_context *ctx, const tess_fused *op);
    tess_status (*gemv)(tess_context *ctx, const tess_gemv_args *args);
    tess_status (*trsv)(tess_context *ctx, const tess_trsv_args *args);
    tess_status (*convert)(tess_context *ctx, int64_t n, tess_precision from, const void *source, tess_precision to,
                           void *destination);
    tess_status (*fill)(tess_context *ctx, int64_t n, double value, double *destination);
    tess_status (*random)(tess_context *ctx, int64_t n, uint64_t seed, double low, double high, double *destination);
    /* solvers */
    tess_status (*arnoldi)(tess_context *ctx, const tess_arnoldi *a, tess_arnoldi_stage stage);
    tess_status (*run_loop)(tess_context *ctx, tess_loop *loop);
    /* `count` times body(user), which enqueues the same operations each time and neither waits nor reduces. A backend may record
       it once, for this and later calls that pass the same slot (NULL at first, freed by release_graph). */
    tess_status (*repeat)(tess_context *ctx, tess_status (*body)(void *user), void *user, int64_t count,
                          void **graph_slot);
    void (*release_graph)(tess_context *ctx, void *graph);
    /* What there is for kernels that run a whole solve; NULL: nothing. */
    tess_status (*single_limits)(tess_context *ctx, single_limits *limits);
    /* As single_plan_make, on the device, in an order that single_plan_can_hold; NULL where there are no limits. */
    tess_status (*single_plan)(const tess_matrix *assembled, const single_shape *shape, single_plan *plan);
    const narrowing_ops *narrowing; /* partial convergence */
    /* The first row without a usable pivot, or -1, goes to singular_row. */
    tess_status (*block_jacobi_build)(const tess_matrix *assembled, const tess_block_diagonal *blocks,
                                      tess_block_stage stage, int64_t *singular_row);
    /* r and z have the precision `vectors`, FP64 or FP32; a reduction goes with FP64. */
    tess_status (*block_jacobi_apply)(tess_context *ctx, const tess_block_diagonal *blocks, tess_precision vectors,
                                      const void *r, void *z, const tess_reduction *reduction);
    tess_status (*incomplete_factor)(const tess_matrix *assembled, const tess_incomplete_job *job,
                                     tess_incomplete_outcome *out);
    /* What solves need beyond the leaf's arrays, once these are made. */
    tess_status (*triangle_prepare)(tess_context *ctx, triangle_leaf *leaf);
    tess_status (*triangle_solve)(tess_context *ctx, const triangle_leaf *leaf, const triangle_args *args);
    /* What there is for triangles with merged levels; and their solution, args as for a leaf. */
    tess_status (*merged_limits)(tess_context *ctx, merged_limits *limits);
    tess_status (*merged_solve)(tess_context *ctx, const merged_view *v, const triangle_args *args);
    tess_status (*csr_diagonal)(const tess_matrix *assembled, double *diagonal);
    /* r = b - A x in two words from assembled CSR; residual may be NULL */
    tess_status (*csr_true_residual)(const tess_matrix *assembled, const double *b, const double *x, double *residual,
                                     tess_residual_norm *norm);
    /* formats, ended by NULL */
    const tess_format_ops *const *formats;
};

extern const tess_backend tess_host_backend;
/* The GPU backend of this build, or NULL. */
const tess_backend *tess_gpu_backend_table(void);
/* The plan look-up: NULL when this backend does not have the format. */
const tess_format_ops *tess_find_format(const tess_backend *backend, tess_format format);

#ifdef __cplusplus
}
#endif

#endif
