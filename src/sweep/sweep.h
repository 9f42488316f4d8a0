/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sweeps: a vector is renewed repeatedly by a product with a fixed matrix, x := update(R x), in precisions that change
 * along a schedule (Tezcan et al. 2022, Algorithms 1 and 2). Jacobi and time stepping are made of them.
 *
 * Vectors are in the row order of the matrix, in FP64 and, if an entry of the schedule multiplies in FP32, in FP32 too.
 * Each exists twice, for the iterate and its successor.
 */
#ifndef TESS_SWEEP_SWEEP_H
#define TESS_SWEEP_SWEEP_H

#include "sweep/schedule.h"

typedef struct tess_sweep_request {
    tess_storage_options storage; /* as the user gave it; sweep_resolve fills in what it means */
    tess_precision_schedule schedule;
    tess_update_kind kind; /* NONE: x := A x, the matrix as stored, in FP64 */
    double omega;          /* JACOBI */
    double factor;         /* of the mean range that replaces policy none */
    bool launches_apart;   /* engine plain: iterations are not recorded */
} tess_sweep_request;

/* How an entry of the schedule multiplies. */
typedef struct sweep_way {
    int copy;                    /* as in tess_spmv_args */
    bool reads_fp64, reads_fp32; /* which of the vectors */
    tess_precision precision;    /* the lowest precision of its values */
} sweep_way;

typedef struct tess_sweep {
    tess_context *ctx;
    const tess_matrix *original; /* borrowed */
    tess_matrix *stored;         /* the multiplied matrix; NULL: the original */
    tess_sweep_request request;  /* resolved */
    int64_t n;
    int64_t *row_at, *position_of; /* on the device: of each position and of each row; NULL: the orders agree */
    double *scale;                 /* D, or for JACOBI D^-1 */
    double *rhs;                   /* JACOBI */
    int largest_exponent;          /* JACOBI: 2^this is about the largest entry of |D^-1| */
    double *x[2];
    float *low[2];           /* NULL if no entry of the schedule reads them */
    uint64_t values_version; /* the values that the scale and the recordings are of */
    bool renewed;            /* without an error */
    int now;                 /* which of the two is the iterate */
    bool has, has_low;       /* whether x[now] and low[now] hold it */
    void *graphs[TESS_PRECISION_COUNT + 1];
} tess_sweep;

/* Whether the format can order its rows and columns by their precisions, and update x instead of y: TESS_UPDATE_JACOBI
   and TESS_UPDATE_TIME_STEP, with shadows. */
bool sweep_takes_parts(tess_format format);
/* The format that auto stands for: parts if an entry is mixed, each stored once unless the options say otherwise; else
   csr. */
tess_format sweep_choose_format(const tess_storage_options *storage, const tess_precision_schedule *schedule);
/* Writes out schedule and storage: format composite (split if requested), symmetric order, no diagonal, the levels that
   the schedule needs, arithmetic. Errors: UNSUPPORTED, INVALID_ARGUMENT. */
tess_status sweep_resolve(tess_context *ctx, tess_sweep_request *request);
/* A sweep over the assembled matrix, which is borrowed. Resolves the request if it is not resolved. Call sweep_renew
   next. */
tess_status sweep_create(const tess_matrix *a, const tess_sweep_request *request, tess_sweep **out);
/* Uses the present values of the matrix, unless it does already. JACOBI: SINGULAR if a diagonal entry cannot be
   inverted. */
tess_status sweep_renew(tess_sweep *w);
void sweep_destroy(tess_sweep *w);
/* Bytes on the device besides the stored matrix. */
int64_t sweep_bytes(const tess_sweep *w);
sweep_way sweep_way_of(const tess_sweep *w, int what);
/* Whether the whole matrix exists in a precision. */
bool sweep_has_copy(const tess_sweep *w, tess_precision precision);

/* Vectors in the original order, on the device: the iterate (NULL: zero) in, the right-hand side in, the iterate out.
 */
tess_status sweep_load(tess_sweep *w, const double *x);
tess_status sweep_load_rhs(tess_sweep *w, const double *b);
tess_status sweep_store(tess_sweep *w, double *x);

/* `count` iterations. */
tess_status sweep_run(tess_sweep *w, int what, int64_t count);
/* One iteration of JACOBI; *norm = ||b - A x|| of the previous iterate, with the matrix of the entry. Waits. */
tess_status sweep_measure(tess_sweep *w, int what, double *norm);
/* b is scaled by two to minus this on its way in, x by it on its way out, so that D^-1 b is in the range of FP32. */
int sweep_exponent(const tess_sweep *w);
/* z := M^-1 r: counts[i] iterations of entry i from zero, the first of all without a product. JACOBI with
   launches_apart; a device can record it. vectors: FP64 or FP32, of r and z, which are in the original order. */
tess_status sweep_apply(tess_sweep *w, const int64_t *counts, tess_precision vectors, const void *r, void *z);

/* Bytes that an iteration moves: the multiplied matrix, vectors read (x once) and written. */
int64_t sweep_iteration_bytes(const tess_sweep *w, int what);

#endif
