/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter-based random numbers: value i of stream `seed` depends only on these two, so that every device and every
 * number of threads gives the same values. The mixing function is that of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
 */
#ifndef TESS_BASE_RANDOM_H
#define TESS_BASE_RANDOM_H

#include <math.h>
#include <stdint.h>

#include <tessera/export.h>

TESS_HD uint64_t random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

TESS_HD uint64_t tess_random_bits(uint64_t seed, uint64_t index)
{
    return random_mix(random_mix(seed + UINT64_C(0x9e3779b97f4a7c15)) + (index + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* In (0, 1), on a grid of 2^-52 moved by half a step: never 0, never 1. */
TESS_HD double tess_random_uniform(uint64_t seed, uint64_t index)
{
    return ((double)(tess_random_bits(seed, index) >> 12) + 0.5) * 0x1p-52;
}

/* In (low, high). No product is added to a sum, so that a compiler has nothing to contract. */
TESS_HD double tess_random_in(uint64_t seed, uint64_t index, double low, double high)
{
    double u = tess_random_uniform(seed, index);

    return fma(u, high - low, low);
}

#endif
