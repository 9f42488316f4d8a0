/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's roofline loop. Included once for each arithmetic and instruction set, with LOOPS(name), which makes a name
 * unique, LOOPS_REAL, LOOPS_BITS (an unsigned integer as wide), LOOPS_GET (of a tess_range), LOOPS_TARGET (an attribute
 * or nothing) and LOOPS_FMA(a, b, c), fused or not.
 *
 * Loops are written as a user would write them: one value after another, in scalar C; vectorising is the compiler's
 * work, and bench/check_vectorised.sh looks at what came of it.
 */
#ifndef LOOPS_INLINE
#define LOOPS_INLINE TESS_INLINE
#endif

LOOPS_INLINE LOOPS_TARGET LOOPS_BITS LOOPS(bits_of)(LOOPS_REAL value)
{
    LOOPS_BITS bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The operations on one value: one chain up to eight operations, eight independent ones above. */
LOOPS_INLINE LOOPS_TARGET LOOPS_BITS LOOPS(use)(LOOPS_REAL value, int exponent)
{
    const LOOPS_REAL factor = (LOOPS_REAL)BENCH_ROOFLINE_FACTOR;
    LOOPS_REAL c0 = (LOOPS_REAL)ROOFLINE_SEED(0), c1 = (LOOPS_REAL)ROOFLINE_SEED(1);
    LOOPS_REAL c2 = (LOOPS_REAL)ROOFLINE_SEED(2), c3 = (LOOPS_REAL)ROOFLINE_SEED(3);
    LOOPS_REAL c4 = (LOOPS_REAL)ROOFLINE_SEED(4), c5 = (LOOPS_REAL)ROOFLINE_SEED(5);
    LOOPS_REAL c6 = (LOOPS_REAL)ROOFLINE_SEED(6), c7 = (LOOPS_REAL)ROOFLINE_SEED(7);

    if (exponent < 1) { return LOOPS(bits_of)(c0 + value); }
    if (exponent < ROOFLINE_CHAINS_FROM) {
#pragma GCC unroll 4
        for (int s = 0; s < 1 << (exponent - 1); s++) {
            c0 = LOOPS_FMA(c0, factor, value);
        }
        return LOOPS(bits_of)(c0);
    }
#pragma GCC unroll 64
    for (int s = 0; s < 1 << (exponent - ROOFLINE_CHAINS_FROM); s++) {
        c0 = LOOPS_FMA(c0, factor, value);
        c1 = LOOPS_FMA(c1, factor, value);
        c2 = LOOPS_FMA(c2, factor, value);
        c3 = LOOPS_FMA(c3, factor, value);
        c4 = LOOPS_FMA(c4, factor, value);
        c5 = LOOPS_FMA(c5, factor, value);
        c6 = LOOPS_FMA(c6, factor, value);
        c7 = LOOPS_FMA(c7, factor, value);
    }
    return LOOPS(bits_of)(c0) ^ LOOPS(bits_of)(c1) ^ LOOPS(bits_of)(c2) ^ LOOPS(bits_of)(c3) ^ LOOPS(bits_of)(c4) ^
           LOOPS(bits_of)(c5) ^ LOOPS(bits_of)(c6) ^ LOOPS(bits_of)(c7);
}

/* What the two kinds of loop differ in. Precision and accessor are constants here. */
LOOPS_INLINE LOOPS_TARGET LOOPS_REAL LOOPS(get)(tess_range x, bool accessor, int64_t i)
{
    return accessor ? (LOOPS_REAL)LOOPS_GET(x, i) : ((const LOOPS_REAL *)x.data)[i];
}

/*
 * Blocks first to last - 1. With eight chains on narrow storage a block is decoded first: a compiler takes as many
 * values at once as fill a register with the narrow type, and their chains would not fit in the registers.
 */
LOOPS_INLINE LOOPS_TARGET LOOPS_BITS LOOPS(pass)(tess_range x, bool accessor, int64_t first, int64_t last, int exponent)
{
    const int summed = exponent < 0 ? ROOFLINE_BLOCK >> -exponent : ROOFLINE_BLOCK;
    const bool decode_first = exponent >= ROOFLINE_CHAINS_FROM && tess_storage_bytes(x.precision) < sizeof(LOOPS_REAL);
    LOOPS_BITS bits = 0;

    for (int64_t block = first; block < last; block++) {
        const int64_t at = block * ROOFLINE_BLOCK;

        if (decode_first) {
            LOOPS_REAL value[ROOFLINE_BLOCK];

#pragma GCC unroll 1
            for (int i = 0; i < ROOFLINE_BLOCK; i++) {
                value[i] = LOOPS(get)(x, accessor, at + i);
            }
#pragma GCC unroll 1
            for (int i = 0; i < ROOFLINE_BLOCK; i++) {
                bits ^= LOOPS(use)(value[i], exponent);
            }
            continue;
        }
#pragma GCC unroll 1
        for (int i = 0; i < summed; i++) {
            bits ^= LOOPS(use)(LOOPS(get)(x, accessor, at + i), exponent);
        }
#pragma GCC unroll 1
        for (int i = summed; i < ROOFLINE_BLOCK; i++) {
            bits ^= LOOPS(bits_of)(LOOPS(get)(x, accessor, at + i));
        }
    }
    return bits;
}

#undef LOOPS
#undef LOOPS_REAL
#undef LOOPS_BITS
#undef LOOPS_GET
#undef LOOPS_FMA
