/* SPDX-License-Identifier: Apache-2.0 */
/* The two ways to an element, and what becomes of it; the same for host and device. */
#ifndef TESS_BENCH_PAPERS_ROOFLINE_REFERENCE_CUH
#define TESS_BENCH_PAPERS_ROOFLINE_REFERENCE_CUH

#include <cstring>

#include <tessera/accessor.cuh>

#include "papers/roofline_reference.h"

namespace {

/* A pointer, and conversions written by hand. */
template <typename Arithmetic, typename Storage>
struct by_hand {
    using arithmetic = Arithmetic;
    Storage *data;

    TESS_ATTRIBUTES by_hand(void *from, int64_t) : data(static_cast<Storage *>(from))
    {
    }
    TESS_ATTRIBUTES Arithmetic get(int64_t i) const
    {
        return tess::decode<Arithmetic>(data[i]);
    }
    TESS_ATTRIBUTES void update(int64_t i, Arithmetic factor, Arithmetic add) const
    {
        data[i] = tess::encode<Storage>(factor * tess::decode<Arithmetic>(data[i]) + add);
    }
};

/* The accessor as its users write it. */
template <typename Arithmetic, typename Storage>
struct by_reference {
    using arithmetic = Arithmetic;
    tess::range<tess::reduced_row_major<1, Arithmetic, Storage>> x;

    TESS_ATTRIBUTES by_reference(void *from, int64_t n) : x(tess::shape(n), static_cast<Storage *>(from))
    {
    }
    TESS_ATTRIBUTES Arithmetic get(int64_t i) const
    {
        return x(i);
    }
    TESS_ATTRIBUTES void update(int64_t i, Arithmetic factor, Arithmetic add) const
    {
        x(i) = factor * x(i) + add;
    }
};

template <typename T>
TESS_ATTRIBUTES inline uint64_t reference_bits(T value)
{
    using word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    word bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

template <int STEPS, typename T>
TESS_ATTRIBUTES inline uint64_t reference_use(T value)
{
    [[maybe_unused]] constexpr T factor = static_cast<T>(-1.0 + 0x1p-10);
    T chain = static_cast<T>(0.5);

    if constexpr (STEPS == 0) {
        chain += value;
    } else {
        for (int s = 0; s < STEPS; s++) {
            chain = chain * factor + value;
        }
    }
    return reference_bits(chain);
}

enum { REFERENCE_PERIOD = 1021 };

template <typename Storage>
TESS_ATTRIBUTES inline Storage reference_value(int64_t i)
{
    return tess::encode<Storage>(static_cast<double>(i % REFERENCE_PERIOD) / 1024.0);
}

template <tess_precision PRECISION>
struct reference_storage;
template <>
struct reference_storage<TESS_PRECISION_FP64> {
    using type = double;
};
template <>
struct reference_storage<TESS_PRECISION_FP32> {
    using type = float;
};
template <>
struct reference_storage<TESS_PRECISION_FP16> {
    using type = tess::fp16;
};
template <>
struct reference_storage<TESS_PRECISION_BF16> {
    using type = tess::bf16;
};
template <>
struct reference_storage<TESS_PRECISION_E4M3> {
    using type = tess::e4m3;
};
template <>
struct reference_storage<TESS_PRECISION_E5M2> {
    using type = tess::e5m2;
};

/* run(Arithmetic(), Storage()) of a pair. */
template <typename Run>
void with_pair(bench_reference_pair pair, Run run)
{
    switch (pair) {
#define REFERENCE_CASE(NAME, name, storage, arithmetic)                      \
    case BENCH_REFERENCE_##NAME:                                             \
        run(typename reference_storage<TESS_PRECISION_##arithmetic>::type(), \
            typename reference_storage<TESS_PRECISION_##storage>::type());   \
        break;
        BENCH_REFERENCE_LIST(REFERENCE_CASE)
#undef REFERENCE_CASE
    default: break;
    }
}

} // namespace

#endif
