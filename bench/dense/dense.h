/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bench_dense and its operations share. An operation is one file dense/NAME.c with one or more dense_operation,
 * named in the table of operations.c; the driver makes its trials, times them and reports.
 */
#ifndef TESS_BENCH_DENSE_DENSE_H
#define TESS_BENCH_DENSE_DENSE_H

#include "harness/record.h"
#include "peers/cublas_dense.h"

enum { DENSE_MAX_SETS = 8 };

typedef struct dense_operation dense_operation;

/* One operation at one size, storage and arithmetic. */
typedef struct dense_trial {
    bench_run *run;
    bench_cublas *cublas; /* NULL on the host or without CUDA */
    const dense_operation *operation;
    int64_t n; /* length of the vectors, or order of the matrix */
    tess_precision storage;
    tess_arithmetic arithmetic;
    int sets; /* of operands, with the same values in each; call k works on set k % sets */
    bool in_cache;
    void *state; /* the operation's own */
} dense_trial;

typedef struct dense_baseline {
    const char *name;
    /* Whether it works on operands stored like the trial's, on its device and in this build. */
    bool (*fits)(const dense_trial *t);
    bench_call call; /* user: the dense_trial; UNSUPPORTED: it is left out */
} dense_baseline;

struct dense_operation {
    const char *name;
    const int64_t *device_sizes, *host_sizes;   /* ended by 0 */
    int64_t quick_most;                         /* with --quick, larger sizes are left out; 0: none is */
    int64_t (*footprint)(const dense_trial *t); /* bytes of one set of operands */
    int64_t (*bytes)(const dense_trial *t);     /* bytes that one call must move */
    tess_status (*prepare)(dense_trial *t);     /* makes t->state with t->sets sets */
    bench_call ours;                            /* user: the dense_trial */
    /* Restores the operands of set 0, makes one call on it and gives the largest error over the documented bound. */
    tess_status (*check)(dense_trial *t, bench_call call, double *error);
    void (*release)(dense_trial *t); /* also after a failed prepare */
    dense_baseline baselines[4];     /* up to the first without a name */
};

/* The study of bench_dense (operations.c). */
int study_operations(int argc, char **argv, const char *parts);

/* vector.c */
extern const dense_operation dense_dot, dense_nrm2, dense_axpy, dense_scal;

/* gemv.c; ended by NULL */
extern const dense_operation *const dense_gemv[];
/* trsv.c; ended by NULL */
extern const dense_operation *const dense_trsv[];

/* Fits where cuBLAS has the storage and there is a device: fp64, fp32, fp16, bf16. */
bool dense_cublas_fits(const dense_trial *t);
/* The same without the halves. */
bool dense_cublas_fits_full(const dense_trial *t);
/* Fills an array on the device with copies of a pattern of the host, the last one cut off: `count` elements of `size`
 * bytes, of which the pattern has `period`. */
tess_status dense_fill(tess_context *ctx, void *data, int64_t count, const void *pattern, int64_t period, int64_t size);
/* Unit roundoff of the trial's arithmetic. */
double dense_unit_roundoff(const dense_trial *t);
/* k u / (1 - k u) */
double dense_gamma(double u, double k);

#endif
