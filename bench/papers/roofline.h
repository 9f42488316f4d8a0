/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Experimental rooflines: one loop over an array with an adjustable number of operations per value, through plain loads
 * or through the memory accessor (Gruetzmacher, Anzt, Quintana-Orti, Softw. Pract. Exper. 53 (2023), section 3).
 *
 * Every value is loaded and decoded. From two operations on, each is half as many steps chain = chain * factor + value;
 * one operation is chain + value. Below that every second or fourth value enters a sum and the bits of the others enter
 * an exclusive or, so that they are decoded without a floating-point operation.
 */
#ifndef TESS_BENCH_PAPERS_ROOFLINE_H
#define TESS_BENCH_PAPERS_ROOFLINE_H

#include <tessera/export.h>

#include "harness/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, name, storage, arithmetic, accessor) */
#define BENCH_ROOFLINE_LIST(X)                                     \
    X(PLAIN_FP64, "fp64", FP64, FP64, false)                       \
    X(ACCESSOR_FP64, "accessor<fp64,fp64>", FP64, FP64, true)      \
    X(PLAIN_FP32, "fp32", FP32, FP32, false)                       \
    X(ACCESSOR_FP32, "accessor<fp32,fp32>", FP32, FP32, true)      \
    X(ACCESSOR_FP64_FP32, "accessor<fp64,fp32>", FP32, FP64, true) \
    X(ACCESSOR_FP64_FP16, "accessor<fp64,fp16>", FP16, FP64, true) \
    X(ACCESSOR_FP64_BF16, "accessor<fp64,bf16>", BF16, FP64, true) \
    X(ACCESSOR_FP64_E4M3, "accessor<fp64,e4m3>", E4M3, FP64, true) \
    X(ACCESSOR_FP64_E5M2, "accessor<fp64,e5m2>", E5M2, FP64, true)

typedef enum bench_roofline_config {
#define BENCH_ROOFLINE_ENUM(NAME, name, storage, arithmetic, accessor) BENCH_ROOFLINE_##NAME,
    BENCH_ROOFLINE_LIST(BENCH_ROOFLINE_ENUM)
#undef BENCH_ROOFLINE_ENUM
        BENCH_ROOFLINE_CONFIGS
} bench_roofline_config;

typedef struct bench_roofline_info {
    const char *name;
    tess_precision storage;
    tess_arithmetic arithmetic;
    bool accessor;
} bench_roofline_info;

extern const bench_roofline_info bench_roofline_infos[BENCH_ROOFLINE_CONFIGS];

/* Intensities are 2^-2, 2^-1, ..., 2^10 operations per value; an intensity is named by its exponent. */
enum { BENCH_ROOFLINE_LOWEST = -2, BENCH_ROOFLINE_HIGHEST = 10 };

/* What a step multiplies by: chains neither grow nor settle within a measurement. */
#define BENCH_ROOFLINE_FACTOR (-1.0 + 0x1p-10)
/* Values are uniform in (-1, 1), rounded to storage; value i depends on i alone. */
enum { BENCH_ROOFLINE_SEED = 20 };

/* ---- the host's arithmetic (roofline_expected.c) ---- */

/* chain after `steps` fused steps with `value`, in arithmetic precision, as a kernel computes it. */
double bench_roofline_steps(tess_arithmetic arithmetic, double chain, double value, int64_t steps);
double bench_roofline_sum(tess_arithmetic arithmetic, double chain, double value);
/* The bits of a value that enter the exclusive or: both halves of an FP64 number, the word of an FP32 number. */
uint32_t bench_roofline_fold(tess_arithmetic arithmetic, double value);
/* Value i as decoded from storage. */
double bench_roofline_value(tess_precision storage, uint64_t i);

/* ---- on a GPU (roofline_gpu.cu) ---- */

/* What kernels and their expected results agree on. */
enum {
    BENCH_ROOFLINE_LOADS = 8,  /* of 16 bytes, in flight per thread */
    BENCH_ROOFLINE_CHAINS = 8, /* of dependent steps per thread; value w of those taken together enters chain w % 8 */
    BENCH_ROOFLINE_DECODE_ROUNDS =
        511, /* of BENCH_ROOFLINE_PATTERNS decoded packs each; odd: the exclusive or remains */
    BENCH_ROOFLINE_PATTERNS = 4,
    BENCH_ROOFLINE_PEAK_STEPS = 8192 /* per chain */
};

typedef struct bench_roofline_gpu bench_roofline_gpu;

typedef struct bench_roofline_shape {
    int64_t bytes;   /* of the array, a multiple of what one round of the grid reads */
    int64_t threads; /* of the grid */
} bench_roofline_shape;

/* An array of about `bytes`, read by `blocks` blocks per multiprocessor (0: a default). */
bench_roofline_gpu *bench_roofline_gpu_create(void *stream, int64_t bytes, int blocks);
void bench_roofline_gpu_destroy(bench_roofline_gpu *gpu);
bench_roofline_shape bench_roofline_gpu_shape(const bench_roofline_gpu *gpu);
/* Fills the array with values in this storage precision, unless they are there already. */
void bench_roofline_gpu_fill(bench_roofline_gpu *gpu, tess_precision storage);

/* What a launch does. */
typedef enum bench_roofline_work {
    BENCH_ROOFLINE_PASS,       /* the loop of a configuration at an intensity */
    BENCH_ROOFLINE_RAW,        /* the same loads, bits only: the pattern's own bandwidth */
    BENCH_ROOFLINE_DECODE_XOR, /* decoding of words in registers, into an exclusive or */
    BENCH_ROOFLINE_DECODE_FMA, /* the same, each value into one fused step */
    BENCH_ROOFLINE_PEAK        /* fused steps in registers only */
} bench_roofline_work;

typedef struct bench_roofline_launch {
    bench_roofline_gpu *gpu;
    bench_roofline_work work;
    bench_roofline_config config; /* PEAK: its arithmetic counts; RAW: none does */
    int exponent;                 /* of the intensity; PASS only */
} bench_roofline_launch;

/* A bench_call: user is a bench_roofline_launch. */
tess_status bench_roofline_gpu_call(void *user, int k);
/* Values (RAW: bytes; PEAK: operations) of one call. */
double bench_roofline_gpu_amount(const bench_roofline_launch *launch);
/*
 * The launch once more, every thread writing its result: of the threads compared with what the host computes, how many
 * are wrong. *compared: how many those are.
 */
int bench_roofline_gpu_check(const bench_roofline_launch *launch, int *compared);
/* What thread number `thread` must leave, in the host's arithmetic (roofline_expected.c). */
uint32_t bench_roofline_expected(const bench_roofline_launch *launch, const bench_roofline_shape *shape,
                                 int64_t thread);
/* The changes of a word that is decoded in registers: none sets the top bit of an exponent, so that no Inf or NaN
 * comes. */
uint32_t bench_roofline_pattern(tess_precision storage, int k);
uint32_t bench_roofline_pattern_mask(tess_precision storage);

/* Word w of a thread at the start, and what it adds to chain j to reach the peak. */
TESS_HD uint32_t bench_roofline_start(uint32_t thread, int w)
{
    return (thread * 4U + (uint32_t)w + 1U) * 0x9e3779b1U;
}

TESS_HD double bench_roofline_peak_value(uint32_t thread, int j)
{
    return (double)(1U + (thread & 1023U) + 1024U * (uint32_t)j) * 0x1p-14;
}

/* Rates by the device's properties, 0 where they say nothing: bytes and operations per second. */
void bench_roofline_gpu_theory(double *bandwidth, double *fp64, double *fp32);

/* ---- on the host (roofline_host.c) ---- */

typedef struct bench_roofline_host bench_roofline_host;

bench_roofline_host *bench_roofline_host_create(int64_t bytes, int threads);
void bench_roofline_host_destroy(bench_roofline_host *host);
void bench_roofline_host_fill(bench_roofline_host *host, tess_precision storage);
/* The instructions that the loops use: "avx2+fma" or "baseline". */
const char *bench_roofline_host_instructions(void);

typedef struct bench_roofline_host_pass {
    bench_roofline_host *host;
    bench_roofline_config config;
    int exponent;
    int64_t values;  /* how many of the array's: from bench_roofline_host_values */
    uint32_t result; /* of the last call */
} bench_roofline_host_pass;

/* The values that one intensity runs over: at many operations per value fewer than all. */
int64_t bench_roofline_host_values(const bench_roofline_host *host, tess_precision storage, int exponent);
/* A bench_call: user is a bench_roofline_host_pass. */
tess_status bench_roofline_host_call(void *user, int k);
/* What a right pass leaves in `result`. */
uint32_t bench_roofline_host_expected(const bench_roofline_host_pass *pass);
/* Operations per second of fused (or separate) multiplications and additions in registers, all threads. */
double bench_roofline_host_peak(const bench_roofline_host *host, tess_arithmetic arithmetic);

#ifdef __cplusplus
}
#endif

#endif
