/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host side of the rooflines. On x86-64 each loop is there twice: for the processors that the whole library is
 * built for, and for AVX2 with fused multiply-add, which is taken where the processor has it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include <tessera/accessor.h>

#include "papers/roofline.h"

enum {
    ROOFLINE_BLOCK = 64, /* values between two looks at the loop's counter; the part that enters sums comes first */
    ROOFLINE_CHAINS_FROM = 4,   /* exponent from which on there are eight chains */
    ROOFLINE_PERIOD = 63,       /* blocks after which the array's values repeat: what is expected is soon computed */
    ROOFLINE_FULL_EXPONENT = 5, /* above, each doubling of the operations halves the values */
    ROOFLINE_PEAK_BLOCKS = 16,  /* of the first-level cache */
    ROOFLINE_PEAK_PASSES = 2000
};
#define ROOFLINE_SEED(c) (0.5 + 0.0625 * (c))

/* ---- the loops ---- */

#if defined(__FP_FAST_FMA) && defined(__FP_FAST_FMAF)
#define ROOFLINE_BASE_FUSED true
#define ROOFLINE_FMA_base(a, b, c) __builtin_fma(a, b, c)
#define ROOFLINE_FMAF_base(a, b, c) __builtin_fmaf(a, b, c)
#else
#define ROOFLINE_BASE_FUSED false
#define ROOFLINE_FMA_base(a, b, c) ((a) * (b) + (c))
#define ROOFLINE_FMAF_base(a, b, c) ((a) * (b) + (c))
#endif

#define LOOPS_TARGET
#define LOOPS(name) name##_FP64_base
#define LOOPS_REAL double
#define LOOPS_BITS uint64_t
#define LOOPS_GET tess_range_get1
#define LOOPS_FMA ROOFLINE_FMA_base
#include "papers/roofline_loops.h"
#define LOOPS(name) name##_FP32_base
#define LOOPS_REAL float
#define LOOPS_BITS uint32_t
#define LOOPS_GET tess_range_getf1
#define LOOPS_FMA ROOFLINE_FMAF_base
#include "papers/roofline_loops.h"
#undef LOOPS_TARGET

#ifdef __x86_64__
#define ROOFLINE_AVX2 __attribute__((target("avx2,fma")))
#define LOOPS_TARGET ROOFLINE_AVX2
#define LOOPS(name) name##_FP64_avx2
#define LOOPS_REAL double
#define LOOPS_BITS uint64_t
#define LOOPS_GET tess_range_get1
#define LOOPS_FMA __builtin_fma
#include "papers/roofline_loops.h"
#define LOOPS(name) name##_FP32_avx2
#define LOOPS_REAL float
#define LOOPS_BITS uint32_t
#define LOOPS_GET tess_range_getf1
#define LOOPS_FMA __builtin_fmaf
#include "papers/roofline_loops.h"
#undef LOOPS_TARGET
#endif

typedef uint64_t (*roofline_loop)(void *data, int64_t n, int64_t first, int64_t last);

/* One function for each loop, under a name to be found in the object file; its range is made in it, so that the
   compiler knows precision, stride and the absence of a scale. */
#define ROOFLINE_LOOP(level, target, NAME, storage, arithmetic, accessor, tag, exponent)                          \
    static target __attribute__((noinline))                                                                       \
    uint64_t loop_##level##_##NAME##_##tag(void *data, int64_t n, int64_t first, int64_t last)                    \
    {                                                                                                             \
        return pass_##arithmetic##_##level(tess_range_vector(data, TESS_PRECISION_##storage, n), accessor, first, \
                                           last, exponent);                                                       \
    }
#define ROOFLINE_EXPONENTS(X, ...) \
    X(__VA_ARGS__, em2, -2)        \
    X(__VA_ARGS__, em1, -1)        \
    X(__VA_ARGS__, e0, 0)          \
    X(__VA_ARGS__, e1, 1)          \
    X(__VA_ARGS__, e2, 2)          \
    X(__VA_ARGS__, e3, 3)          \
    X(__VA_ARGS__, e4, 4)          \
    X(__VA_ARGS__, e5, 5)          \
    X(__VA_ARGS__, e6, 6)          \
    X(__VA_ARGS__, e7, 7)          \
    X(__VA_ARGS__, e8, 8)          \
    X(__VA_ARGS__, e9, 9)          \
    X(__VA_ARGS__, e10, 10)
#define ROOFLINE_ENTRY(level, NAME, tag, exponent) [(exponent)-BENCH_ROOFLINE_LOWEST] = loop_##level##_##NAME##_##tag,

enum { ROOFLINE_INTENSITIES = BENCH_ROOFLINE_HIGHEST - BENCH_ROOFLINE_LOWEST + 1 };

#define ROOFLINE_LOOPS(NAME, name, storage, arithmetic, accessor) \
    ROOFLINE_EXPONENTS(ROOFLINE_LOOP, base, , NAME, storage, arithmetic, accessor)
#define ROOFLINE_ROW(NAME, name, storage, arithmetic, accessor) {ROOFLINE_EXPONENTS(ROOFLINE_ENTRY, base, NAME)},
BENCH_ROOFLINE_LIST(ROOFLINE_LOOPS)
static const roofline_loop base_loops[BENCH_ROOFLINE_CONFIGS][ROOFLINE_INTENSITIES] = {
    BENCH_ROOFLINE_LIST(ROOFLINE_ROW)};
#undef ROOFLINE_LOOPS
#undef ROOFLINE_ROW

#ifdef __x86_64__
#define ROOFLINE_LOOPS(NAME, name, storage, arithmetic, accessor) \
    ROOFLINE_EXPONENTS(ROOFLINE_LOOP, avx2, ROOFLINE_AVX2, NAME, storage, arithmetic, accessor)
#define ROOFLINE_ROW(NAME, name, storage, arithmetic, accessor) {ROOFLINE_EXPONENTS(ROOFLINE_ENTRY, avx2, NAME)},
BENCH_ROOFLINE_LIST(ROOFLINE_LOOPS)
static const roofline_loop avx2_loops[BENCH_ROOFLINE_CONFIGS][ROOFLINE_INTENSITIES] = {
    BENCH_ROOFLINE_LIST(ROOFLINE_ROW)};
#undef ROOFLINE_LOOPS
#undef ROOFLINE_ROW
#endif

static bool has_avx2(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

static roofline_loop loop_of(bench_roofline_config config, int exponent)
{
#ifdef __x86_64__
    if (has_avx2()) { return avx2_loops[config][exponent - BENCH_ROOFLINE_LOWEST]; }
#endif
    return base_loops[config][exponent - BENCH_ROOFLINE_LOWEST];
}

const char *bench_roofline_host_instructions(void)
{
    return has_avx2() ? "avx2+fma" : "baseline";
}

/* ---- the array ---- */

struct bench_roofline_host {
    void *data;
    int64_t bytes;
    int threads;
    int stored; /* the precision that the array holds; -1: none yet */
};

bench_roofline_host *bench_roofline_host_create(int64_t bytes, int threads)
{
    bench_roofline_host *host = bench_allocate(1, sizeof *host);

    host->bytes = bytes;
    host->threads = threads > 0 ? threads : omp_get_max_threads();
    host->stored = -1;
    host->data = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    if (!host->data) { bench_die("no memory for an array of %lld bytes", (long long)bytes); }
    return host;
}

void bench_roofline_host_destroy(bench_roofline_host *host)
{
    if (!host) { return; }
    free(host->data);
    free(host);
}

void bench_roofline_host_fill(bench_roofline_host *host, tess_precision storage)
{
    const int64_t period = (int64_t)tess_precision_bytes(storage) * ROOFLINE_PERIOD * ROOFLINE_BLOCK;
    char *pattern = bench_allocate((size_t)period, 1);

    if (host->stored != (int)storage) {
        for (int64_t i = 0; i < ROOFLINE_PERIOD * ROOFLINE_BLOCK; i++) {
            tess_store(storage, pattern, i, bench_roofline_value(storage, (uint64_t)i), TESS_OVERFLOW_INFINITY);
        }
#pragma omp parallel for num_threads(host->threads) schedule(static)
        for (int64_t at = 0; at < host->bytes; at += period) {
            memcpy((char *)host->data + at, pattern, (size_t)(host->bytes - at < period ? host->bytes - at : period));
        }
        host->stored = (int)storage;
    }
    free(pattern);
}

/* An odd number of periods: in an exclusive or, an even number would leave nothing to check. */
int64_t bench_roofline_host_values(const bench_roofline_host *host, tess_precision storage, int exponent)
{
    const int64_t period = ROOFLINE_PERIOD * ROOFLINE_BLOCK;
    int64_t values = host->bytes / (int64_t)tess_precision_bytes(storage), periods;

    if (exponent > ROOFLINE_FULL_EXPONENT) { values >>= exponent - ROOFLINE_FULL_EXPONENT; }
    periods = values / period;
    return (periods % 2 == 1 ? periods : periods > 0 ? periods - 1 : 1) * period;
}

static uint32_t run(roofline_loop loop, void *data, int64_t n, int threads)
{
    const int64_t blocks = n / ROOFLINE_BLOCK;
    uint64_t bits = 0;

#pragma omp parallel for num_threads(threads) schedule(static) reduction(^ : bits)
    for (int t = 0; t < threads; t++) {
        bits ^= loop(data, n, blocks * t / threads, blocks * (t + 1) / threads);
    }
    return (uint32_t)(bits >> 32) ^ (uint32_t)bits;
}

tess_status bench_roofline_host_call(void *user, int k)
{
    bench_roofline_host_pass *pass = user;

    (void)k;
    pass->result = run(loop_of(pass->config, pass->exponent), pass->host->data, pass->values, pass->host->threads);
    return TESS_SUCCESS;
}

/* ---- what a pass must leave ---- */

static double steps(tess_arithmetic arithmetic, double chain, double value, int count)
{
    const bool fp32 = arithmetic == TESS_ARITHMETIC_FP32;

    if (has_avx2() || ROOFLINE_BASE_FUSED) { return bench_roofline_steps(arithmetic, chain, value, count); }
    for (int s = 0; s < count; s++) {
        chain = fp32 ? (double)((float)chain * (float)BENCH_ROOFLINE_FACTOR + (float)value)
                     : chain * BENCH_ROOFLINE_FACTOR + value;
    }
    return chain;
}

static uint32_t expected_of_value(tess_arithmetic arithmetic, double value, int exponent)
{
    uint32_t bits = 0;

    if (exponent < 1) {
        return bench_roofline_fold(arithmetic, bench_roofline_sum(arithmetic, ROOFLINE_SEED(0), value));
    }
    if (exponent < ROOFLINE_CHAINS_FROM) {
        return bench_roofline_fold(arithmetic, steps(arithmetic, ROOFLINE_SEED(0), value, 1 << (exponent - 1)));
    }
    for (int c = 0; c < 8; c++) {
        bits ^= bench_roofline_fold(arithmetic,
                                    steps(arithmetic, ROOFLINE_SEED(c), value, 1 << (exponent - ROOFLINE_CHAINS_FROM)));
    }
    return bits;
}

uint32_t bench_roofline_host_expected(const bench_roofline_host_pass *pass)
{
    const bench_roofline_info *info = &bench_roofline_infos[pass->config];
    const int summed = pass->exponent < 0 ? ROOFLINE_BLOCK >> -pass->exponent : ROOFLINE_BLOCK;
    uint32_t bits = 0;

    for (int i = 0; i < ROOFLINE_PERIOD * ROOFLINE_BLOCK; i++) {
        double value = bench_roofline_value(info->storage, (uint64_t)i);

        bits ^= i % ROOFLINE_BLOCK < summed ? expected_of_value(info->arithmetic, value, pass->exponent)
                                            : bench_roofline_fold(info->arithmetic, value);
    }
    return bits;
}

/* ---- the peak ---- */

double bench_roofline_host_peak(const bench_roofline_host *host, tess_arithmetic arithmetic)
{
    const bool fp32 = arithmetic == TESS_ARITHMETIC_FP32;
    const bench_roofline_config config = fp32 ? BENCH_ROOFLINE_PLAIN_FP32 : BENCH_ROOFLINE_PLAIN_FP64;
    const double operations =
        ldexp(ROOFLINE_PEAK_BLOCKS * ROOFLINE_BLOCK, BENCH_ROOFLINE_HIGHEST) * ROOFLINE_PEAK_PASSES * host->threads;
    roofline_loop loop = loop_of(config, BENCH_ROOFLINE_HIGHEST);
    double best = INFINITY, value[ROOFLINE_PEAK_BLOCKS * ROOFLINE_BLOCK] = {0.0};
    volatile uint64_t sink = 0;

    for (int sample = 0; sample < 15; sample++) {
        double from = bench_wall_seconds();
        uint64_t bits = 0;

#pragma omp parallel num_threads(host->threads) reduction(^ : bits)
        for (int pass = 0; pass < ROOFLINE_PEAK_PASSES; pass++) {
            bits ^= loop(value, ROOFLINE_PEAK_BLOCKS * ROOFLINE_BLOCK, 0, ROOFLINE_PEAK_BLOCKS);
        }
        best = fmin(best, bench_wall_seconds() - from);
        sink = sink ^ bits;
    }
    return operations / best;
}
