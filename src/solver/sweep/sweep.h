/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sweeps: a vector that is renewed again and again by a product with a fixed matrix, x := update(R x), in precisions that
 * change from step to step (Tezcan et al. 2022, Algorithms 1 and 2). Jacobi and time stepping are made of them.
 *
 * Vectors are in the row order of the matrix, in FP64 and, where a step multiplies in FP32, in FP32 too; each stands twice, for
 * the iterate and its successor.
 */
#ifndef TESS_SOLVER_SWEEP_SWEEP_H
#define TESS_SOLVER_SWEEP_SWEEP_H

#include "solver/sweep/steps.h"

typedef struct tess_sweep_request {
    tess_storage_options storage; /* as the user gave it; sweep_resolve has its meaning */
    tess_step_list steps;
    tess_update_kind kind; /* NONE: x := A x, the matrix as it is in FP64 */
    double omega;          /* JACOBI */
    double factor;         /* of the mean range that policy none stands for */
    bool launches_apart;   /* engine plain: iterations are not recorded */
} tess_sweep_request;

/* How a step multiplies. */
typedef struct sweep_way {
    int copy;                    /* as in tess_spmv_args */
    bool reads_fp64, reads_fp32; /* which of the vectors */
    tess_precision precision;    /* the lowest that values are in */
} sweep_way;

typedef struct tess_sweep {
    tess_context *ctx;
    const tess_matrix *original; /* borrowed */
    tess_matrix *stored;         /* what is multiplied; NULL: the original */
    tess_sweep_request request;  /* resolved */
    int64_t n;
    int64_t *row_at, *position_of; /* on the device: of each position and of each row; NULL: the orders agree */
    double *scale;                 /* D, or for JACOBI D^-1 */
    double *rhs;                   /* JACOBI */
    int largest_exponent;          /* JACOBI: 2^this is about the largest entry of |D^-1| */
    double *x[2];
    float *low[2];           /* NULL where no step reads them */
    uint64_t values_version; /* that scale, and what was recorded, are of */
    bool renewed;            /* without an error */
    int now;                 /* which of the two is the iterate */
    bool has, has_low;       /* whether x[now] and low[now] hold it */
    void *graphs[TESS_PRECISION_COUNT + 1];
} tess_sweep;

/* Whether the format has its rows and columns in the order of their precisions, and updates x in place of y: TESS_UPDATE_JACOBI and
   TESS_UPDATE_STEP, with shadows. */
bool sweep_takes_parts(tess_format format);
/* The format that auto stands for: parts where something is mixed, each stored once if nothing else is asked for; else csr. */
tess_format sweep_choose_format(const tess_storage_options *storage, const tess_step_list *steps);
/* Spells out steps and storage: format composite (split where asked), symmetric order, no diagonal, the levels that the
   steps need, arithmetic. Errors: UNSUPPORTED, INVALID_ARGUMENT. */
tess_status sweep_resolve(tess_context *ctx, tess_sweep_request *request);
/* A sweep over the assembled matrix, which is borrowed. Not resolved requests are. sweep_renew has yet to be called. */
tess_status sweep_create(const tess_matrix *a, const tess_sweep_request *request, tess_sweep **out);
/* Takes the values of the matrix as they are now, unless it has. JACOBI: SINGULAR where a diagonal entry cannot be inverted. */
tess_status sweep_renew(tess_sweep *w);
void sweep_destroy(tess_sweep *w);
/* Bytes on the device beside the stored matrix. */
int64_t sweep_bytes(const tess_sweep *w);
sweep_way sweep_way_of(const tess_sweep *w, int what);
/* Whether all of the matrix is there in a precision. */
bool sweep_has_copy(const tess_sweep *w, tess_precision precision);

/* Vectors of the original order, on the device: the iterate (NULL: zero) in, the right-hand side in, the iterate out. */
tess_status sweep_load(tess_sweep *w, const double *x);
tess_status sweep_load_rhs(tess_sweep *w, const double *b);
tess_status sweep_store(tess_sweep *w, double *x);

/* `count` iterations. */
tess_status sweep_run(tess_sweep *w, int what, int64_t count);
/* One iteration of JACOBI; *norm = ||b - A x|| of the iterate before it, over the matrix as the step sees it. Waits. */
tess_status sweep_measure(tess_sweep *w, int what, double *norm);
/* Bytes that an iteration moves: matrix as multiplied, vectors read (x once) and written. */
int64_t sweep_iteration_bytes(const tess_sweep *w, int what);

#endif
