/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cycle. Level l has the matrix S A S with S = D^-1/2, where D holds the rows' l1 norms (smoothers jacobi,
 * and block-jacobi without nodes: the diagonal), and the transfers S_l^-1 P S_l+1 and its transpose. A polynomial of S
 * A S is then a polynomial smoother of D^-1 A, and a step of it is one product with an epilogue: no vector passes of
 * their own, and entries of about 1, which FP16 holds.
 */
#ifndef TESS_PRECOND_MULTIGRID_CYCLE_CYCLE_H
#define TESS_PRECOND_MULTIGRID_CYCLE_CYCLE_H

#include "precond/multigrid/hierarchy.h"

struct amg_scaled;
struct amg_range;

/* A coarsest level of more rows is smoothed instead of inverted. */
enum { AMG_MAX_DEGREE = 4, AMG_MOST_DENSE_ROWS = 2000 };

typedef struct amg_cycle_level {
    int64_t n, nnz;
    tess_precision precision; /* of a, p, r */
    tess_matrix *a, *p, *r;   /* p and r: NULL on the coarsest */
    tess_matrix *inverse;     /* of the coarsest: dense; NULL: smoothed only */
    tess_precond *factors;    /* ILU(0) of S A S, with the smoother ilu0; its inverse, with fsai */
    double damping;           /* of a step with them */
    tess_matrix *blocks;      /* S^-1 D^-1 S^-1 with the block diagonal D of A; with the smoother block-jacobi */
    tess_matrix *relax[2];    /* diagonal: Jacobi on fine and on coarse unknowns; with the smoother fc-jacobi */
    double bound;             /* of the spectrum of S A S, or with blocks of D^-1 A */
    double omega[AMG_MAX_DEGREE];
    void *residual, *x, *other;    /* n values each of the vectors' precision */
    void *rhs, *first;             /* with W and K cycles, below the finest level */
    void *first_product, *product; /* with K cycles */
} amg_cycle_level;

typedef struct amg_cycle {
    tess_context *ctx;
    tess_amg_options options;
    tess_precision vectors;
    bool negative;          /* A has a negative trace: the smoothers are those of -A, with steps of the other sign */
    bool l1;                /* S is of the rows' l1 norms */
    bool has_blocks;        /* levels that are not inverted have blocks */
    bool estimates;         /* spectra are estimated */
    bool has_bounds;        /* the device has found those of all levels */
    double ratio;           /* Chebyshev polynomials smooth the spectrum above 1 / ratio of its end */
    int columns;            /* of all vectors, by rows; 0 or 1: one (cycle/columns.h) */
    double *factor_work[2]; /* for columns of FP32 vectors and factors: r and z in FP64 */
    int64_t n;
    int count;
    amg_cycle_level *level; /* options.max_levels of them */
    int64_t rank;           /* of the coarsest matrix; its rows if it is regular */
    double *scale;          /* S of the finest level, n values on the device */
    double storing_seconds;
    double *wide; /* n values for callers with FP32 vectors; NULL: there are none */
} amg_cycle;

/* Stores the levels of a hierarchy. c->ctx and options are set. precision: of each level's matrices; AUTO: by the
   rule. Close it also after a failure. */
tess_status amg_cycle_open(amg_cycle *c, const amg_hierarchy *h, tess_amg_precision precision, bool for_fp32);
/* New values of a cycle of a CPU that has stored these levels before: patterns and vectors stay. */
tess_status amg_cycle_renew(amg_cycle *c, const amg_hierarchy *h, tess_amg_precision precision);
/* For ways to store levels: the vectors and the smoother of level l, whose matrices are there; the dense inverse of the
   coarsest level, given as a scaled matrix, unless it has too many rows. */
tess_status amg_cycle_finish_level(amg_cycle *c, int l);
/* The smoother of level l for new values of its matrices. */
tess_status amg_cycle_renew_level(amg_cycle *c, int l);
tess_status amg_cycle_store_inverse(amg_cycle *c, const struct amg_scaled *a, amg_cycle_level *out);
/* The error for a row of the finest level. */
tess_status amg_fail_not_finite(tess_context *ctx, int64_t row);
void amg_cycle_close(amg_cycle *c);
int64_t amg_cycle_bytes(const amg_cycle *c);
int64_t amg_level_bytes(const amg_cycle_level *l); /* of the matrices and factors */
/* z := M^-1 r for vectors of the given precision: one cycle. */
tess_status amg_cycle_apply(const amg_cycle *c, tess_precision vectors, const void *r, void *z, tess_loop_state *state);

/* x := M residual on a level by one cycle, and by a K-cycle; outside of loops. */
tess_status amg_run_cycle(const amg_cycle *c, int level);
tess_status amg_run_flexible(const amg_cycle *c, int level);

#endif
