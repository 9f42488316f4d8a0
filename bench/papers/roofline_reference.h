/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The accessor's reference class at each access, x(i), beside a pointer with conversions written by hand: reads with
 * one operation and with 32 for each value, and updates, which write (Gruetzmacher, Anzt, Quintana-Orti, Softw. Pract.
 * Exper. 53 (2023), listings 2, 3). One value after another, where the loops of roofline.h load packs of 16 bytes.
 */
#ifndef TESS_BENCH_PAPERS_ROOFLINE_REFERENCE_H
#define TESS_BENCH_PAPERS_ROOFLINE_REFERENCE_H

#include "harness/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, name, storage, arithmetic) */
#define BENCH_REFERENCE_LIST(X)        \
    X(FP64, "fp64,fp64", FP64, FP64)   \
    X(FP32, "fp32,fp32", FP32, FP32)   \
    X(SINGLE, "fp64,fp32", FP32, FP64) \
    X(HALF, "fp64,fp16", FP16, FP64)   \
    X(BRAIN, "fp64,bf16", BF16, FP64)  \
    X(E4M3, "fp64,e4m3", E4M3, FP64)   \
    X(E5M2, "fp64,e5m2", E5M2, FP64)

typedef enum bench_reference_pair {
#define BENCH_REFERENCE_ENUM(NAME, name, storage, arithmetic) BENCH_REFERENCE_##NAME,
    BENCH_REFERENCE_LIST(BENCH_REFERENCE_ENUM)
#undef BENCH_REFERENCE_ENUM
        BENCH_REFERENCE_PAIRS
} bench_reference_pair;

typedef enum bench_reference_work {
    BENCH_REFERENCE_SUM,    /* one operation a value */
    BENCH_REFERENCE_STEPS,  /* 16 steps of a multiplication and an addition */
    BENCH_REFERENCE_UPDATE, /* x(i) = x(i) / 2 + 1 / 4 */
    BENCH_REFERENCE_WORKS
} bench_reference_work;

typedef struct bench_reference_loop {
    bench_reference_pair pair;
    bench_reference_work work;
    bool by_reference;
    void *data;
    int64_t n;              /* on a device a multiple of what its grid reads at once */
    int threads;            /* of the host */
    void *stream;           /* of a device */
    uint64_t *bits, result; /* on a device a word for each thread; exclusive or of all */
} bench_reference_loop;

/* Each is a bench_call: user is the loop. On the host `result` is of the last call. */
tess_status bench_reference_on_host(void *user, int k);
tess_status bench_reference_on_gpu(void *user, int k);
/* Value i is (i mod 1021) / 1024, as stored. */
void bench_reference_fill_host(const bench_reference_loop *loop);
void bench_reference_fill_gpu(const bench_reference_loop *loop);
/* The exclusive or of all words of a device's array, or of what its threads left. */
uint64_t bench_reference_fold_gpu(const bench_reference_loop *loop);
/* An array of about `bytes`, and a word for each thread. */
void bench_reference_open_gpu(bench_reference_loop *loop, int64_t *bytes);
void bench_reference_close_gpu(bench_reference_loop *loop);

/* All loops on the run's device, an array of `bytes`; a result that differs is a fault. */
void bench_reference_measure(bench_run *run, int64_t bytes, int threads);

#ifdef __cplusplus
}
#endif

#endif
