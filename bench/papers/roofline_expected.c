/* SPDX-License-Identifier: Apache-2.0 */
/* What the rooflines' kernels must leave, recomputed one value after another. */
#include <math.h>
#include <string.h>

#include <tessera/codec.h>

#include "base/random.h"
#include "papers/roofline.h"

enum { CHAINS = BENCH_ROOFLINE_CHAINS };

const bench_roofline_info bench_roofline_infos[BENCH_ROOFLINE_CONFIGS] = {
#define INFO(NAME, name, storage, arithmetic, accessor) \
    {name, TESS_PRECISION_##storage, TESS_ARITHMETIC_##arithmetic, accessor},
    BENCH_ROOFLINE_LIST(INFO)
#undef INFO
};

double bench_roofline_steps(tess_arithmetic arithmetic, double chain, double value, int64_t steps)
{
    float narrow = (float)chain;

    if (arithmetic == TESS_ARITHMETIC_FP32) {
        for (int64_t s = 0; s < steps; s++) {
            narrow = fmaf(narrow, (float)BENCH_ROOFLINE_FACTOR, (float)value);
        }
        return (double)narrow;
    }
    for (int64_t s = 0; s < steps; s++) {
        chain = fma(chain, BENCH_ROOFLINE_FACTOR, value);
    }
    return chain;
}

double bench_roofline_sum(tess_arithmetic arithmetic, double chain, double value)
{
    return arithmetic == TESS_ARITHMETIC_FP32 ? (double)((float)chain + (float)value) : chain + value;
}

uint32_t bench_roofline_fold(tess_arithmetic arithmetic, double value)
{
    uint64_t bits;

    if (arithmetic == TESS_ARITHMETIC_FP32) { return tess_float_bits((float)value); }
    memcpy(&bits, &value, sizeof bits);
    return (uint32_t)(bits >> 32) ^ (uint32_t)bits;
}

double bench_roofline_value(tess_precision storage, uint64_t i)
{
    double value = tess_random_in(BENCH_ROOFLINE_SEED, i, -1.0, 1.0), code = 0.0;

    tess_store(storage, &code, 0, value, TESS_OVERFLOW_INFINITY);
    return tess_load(storage, &code, 0);
}

uint32_t bench_roofline_pattern_mask(tess_precision storage)
{
    size_t bytes = tess_precision_bytes(storage);

    return bytes == 4 ? 0xbfffffffU : bytes == 2 ? 0xbfffbfffU : 0xbfbfbfbfU;
}

uint32_t bench_roofline_pattern(tess_precision storage, int k)
{
    static const uint32_t pattern[BENCH_ROOFLINE_PATTERNS] = {0x9e3779b9U, 0x7f4a7c15U, 0xbf58476dU, 0x94d049bbU};

    return pattern[k] & bench_roofline_pattern_mask(storage);
}

/* ---- a thread of the GPU ---- */

typedef struct thread_state {
    tess_arithmetic arithmetic;
    double chain[CHAINS];
    uint32_t bits;
} thread_state;

static uint32_t leave(const thread_state *t)
{
    uint32_t bits = t->bits;

    for (int j = 0; j < CHAINS; j++) {
        bits ^= bench_roofline_fold(t->arithmetic, t->chain[j]);
    }
    return bits;
}

/* Value w of those taken together. */
static void use(thread_state *t, int w, int exponent, double value)
{
    int period = exponent < 0 ? 1 << -exponent : 1, j = exponent < 0 ? w / period % CHAINS : w % CHAINS;

    if (exponent > 0) {
        t->chain[j] = bench_roofline_steps(t->arithmetic, t->chain[j], value, (INT64_C(1) << exponent) / 2);
    } else if (w % period == 0) {
        t->chain[j] = bench_roofline_sum(t->arithmetic, t->chain[j], value);
    } else {
        t->bits ^= bench_roofline_fold(t->arithmetic, value);
    }
}

static uint32_t expected_of_pass(const bench_roofline_launch *l, const bench_roofline_shape *shape, int64_t thread)
{
    const bench_roofline_info *info = &bench_roofline_infos[l->config];
    int width = 16 / (int)tess_precision_bytes(info->storage), together = width < CHAINS ? CHAINS / width : 1;
    thread_state t = {.arithmetic = info->arithmetic};

    for (int64_t i = thread; i < shape->bytes / 16; i += together * shape->threads) {
        for (int w = 0; w < together * width; w++) {
            int64_t index = (i + w / width * shape->threads) * width + w % width;

            use(&t, w, l->exponent, bench_roofline_value(info->storage, (uint64_t)index));
        }
    }
    return leave(&t);
}

/* The array holds values in the configuration's storage precision; its words are what encoding gives. */
static uint32_t expected_of_raw(const bench_roofline_launch *l, const bench_roofline_shape *shape, int64_t thread)
{
    tess_precision storage = bench_roofline_infos[l->config].storage;
    int width = 16 / (int)tess_precision_bytes(storage);
    uint32_t bits = 0;

    for (int64_t i = thread; i < shape->bytes / 16; i += shape->threads) {
        uint32_t word[4] = {0};

        for (int k = 0; k < width; k++) {
            tess_store(storage, word, k, bench_roofline_value(storage, (uint64_t)(i * width + k)),
                       TESS_OVERFLOW_INFINITY);
        }
        bits ^= word[0] ^ word[1] ^ word[2] ^ word[3];
    }
    return bits;
}

static uint32_t expected_of_decode(const bench_roofline_launch *l, int64_t thread)
{
    tess_precision storage = bench_roofline_infos[l->config].storage;
    int width = 16 / (int)tess_precision_bytes(storage);
    thread_state t = {.arithmetic = TESS_ARITHMETIC_FP64};
    uint32_t word[4] = {0};

    for (int w = 0; w < 4; w++) {
        word[w] = bench_roofline_start((uint32_t)thread, w) & bench_roofline_pattern_mask(storage);
    }
    for (int p = 0; p < BENCH_ROOFLINE_DECODE_ROUNDS * BENCH_ROOFLINE_PATTERNS; p++) {
        for (int w = 0; w < 4; w++) {
            word[w] ^= bench_roofline_pattern(storage, p % BENCH_ROOFLINE_PATTERNS);
        }
        for (int k = 0; k < width; k++) {
            double value = tess_load(storage, word, k);

            if (l->work == BENCH_ROOFLINE_DECODE_FMA) {
                use(&t, k, 1, value);
            } else {
                t.bits ^= bench_roofline_fold(t.arithmetic, value);
            }
        }
    }
    return leave(&t);
}

static uint32_t expected_of_peak(const bench_roofline_launch *l, int64_t thread)
{
    thread_state t = {.arithmetic = bench_roofline_infos[l->config].arithmetic};

    for (int j = 0; j < CHAINS; j++) {
        t.chain[j] = bench_roofline_steps(t.arithmetic, 0.0, bench_roofline_peak_value((uint32_t)thread, j),
                                          BENCH_ROOFLINE_PEAK_STEPS);
    }
    return leave(&t);
}

uint32_t bench_roofline_expected(const bench_roofline_launch *l, const bench_roofline_shape *shape, int64_t thread)
{
    switch (l->work) {
    case BENCH_ROOFLINE_PASS: return expected_of_pass(l, shape, thread);
    case BENCH_ROOFLINE_RAW: return expected_of_raw(l, shape, thread);
    case BENCH_ROOFLINE_DECODE_XOR:
    case BENCH_ROOFLINE_DECODE_FMA: return expected_of_decode(l, thread);
    case BENCH_ROOFLINE_PEAK: return expected_of_peak(l, thread);
    }
    return 0U;
}
