/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file storage.cuh  The storage precisions as C++ types, for C++17, CUDA and HIP; header only.
 *
 * double and float are themselves; tess::bf16, tess::fp16, tess::e4m3 and tess::e5m2 hold one bit pattern each.
 * tess::decode and tess::encode convert (codec.h has the rules); a tess::pack is several neighbouring values that are
 * loaded at once, as narrow storage needs to reach a memory's bandwidth.
 */
#ifndef TESSERA_STORAGE_CUH
#define TESSERA_STORAGE_CUH

#include <tessera/codec.h>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define TESS_ATTRIBUTES __host__ __device__
#else
#define TESS_ATTRIBUTES
#endif
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define TESS_DEVICE_CODE 1
#define TESS_UNROLL _Pragma("unroll")
#else
#define TESS_DEVICE_CODE 0
#define TESS_UNROLL
#endif

namespace tess {

struct bf16 {
    uint16_t bits;
};
struct fp16 {
    uint16_t bits;
};
struct e4m3 {
    uint8_t bits;
};
struct e5m2 {
    uint8_t bits;
};

/* What belongs to each storage type: its precision, decoding and encoding. */
template <typename Storage>
struct storage_traits;

template <>
struct storage_traits<double> {
    static constexpr tess_precision precision = TESS_PRECISION_FP64;
    TESS_ATTRIBUTES static double to_double(double s)
    {
        return s;
    }
    TESS_ATTRIBUTES static float to_float(double s)
    {
        return static_cast<float>(s);
    }
    TESS_ATTRIBUTES static double from(double v, tess_overflow)
    {
        return v;
    }
    TESS_ATTRIBUTES static double from(float v, tess_overflow)
    {
        return static_cast<double>(v);
    }
};

template <>
struct storage_traits<float> {
    static constexpr tess_precision precision = TESS_PRECISION_FP32;
    TESS_ATTRIBUTES static double to_double(float s)
    {
        return static_cast<double>(s);
    }
    TESS_ATTRIBUTES static float to_float(float s)
    {
        return s;
    }
    TESS_ATTRIBUTES static float from(double v, tess_overflow o)
    {
        return tess_fp32_from_double(v, o);
    }
    TESS_ATTRIBUTES static float from(float v, tess_overflow)
    {
        return v;
    }
};

#define TESS_STORAGE_TRAITS(type, PRECISION)                                    \
    template <>                                                                 \
    struct storage_traits<type> {                                               \
        static constexpr tess_precision precision = TESS_PRECISION_##PRECISION; \
        TESS_ATTRIBUTES static double to_double(type s)                         \
        {                                                                       \
            return static_cast<double>(tess_##type##_to_float(s.bits));         \
        }                                                                       \
        TESS_ATTRIBUTES static float to_float(type s)                           \
        {                                                                       \
            return tess_##type##_to_float(s.bits);                              \
        }                                                                       \
        TESS_ATTRIBUTES static type from(double v, tess_overflow o)             \
        {                                                                       \
            return type{tess_##type##_from_double(v, o)};                       \
        }                                                                       \
        TESS_ATTRIBUTES static type from(float v, tess_overflow o)              \
        {                                                                       \
            return type{tess_##type##_from_float(v, o)};                        \
        }                                                                       \
    };
TESS_STORAGE_TRAITS(bf16, BF16)
TESS_STORAGE_TRAITS(fp16, FP16)
TESS_STORAGE_TRAITS(e4m3, E4M3)
TESS_STORAGE_TRAITS(e5m2, E5M2)
#undef TESS_STORAGE_TRAITS

/** The value that @p stored holds, in arithmetic precision: exact, but for FP64 storage read as float. */
template <typename Arithmetic, typename Storage>
TESS_ATTRIBUTES inline Arithmetic decode(Storage stored)
{
    static_assert(sizeof(Arithmetic) == 8 || sizeof(Arithmetic) == 4, "arithmetic is double or float");
    if constexpr (sizeof(Arithmetic) == 8) {
        return storage_traits<Storage>::to_double(stored);
    } else {
        return storage_traits<Storage>::to_float(stored);
    }
}

/** @p value rounded to nearest even in Storage. */
template <typename Storage, typename Arithmetic>
TESS_ATTRIBUTES inline Storage encode(Arithmetic value, tess_overflow overflow = TESS_OVERFLOW_INFINITY)
{
    return storage_traits<Storage>::from(value, overflow);
}

/** N neighbouring values, aligned so that one instruction can load them (N * sizeof(Storage) up to 16). */
template <typename Storage, int N>
struct alignas(sizeof(Storage) * N) pack {
    static constexpr int count = N;
    Storage value[N];
};

/** As many values as 16 bytes hold. */
template <typename Storage>
using full_pack = pack<Storage, 16 / static_cast<int>(sizeof(Storage))>;

namespace detail {

/* A pack's bytes as words: what memory instructions move. Left to itself nvcc loads 8- and 16-bit members one by one. */
template <int Bytes>
struct __attribute__((may_alias, aligned(Bytes))) words {
    uint32_t word[Bytes / 4];
};
template <>
struct __attribute__((may_alias)) words<2> {
    uint16_t word[1];
};
template <>
struct __attribute__((may_alias)) words<1> {
    uint8_t word[1];
};

} // namespace detail

/** The N values from @p data on, which is aligned to sizeof(pack<Storage, N>): one load. */
template <int N, typename Storage>
TESS_ATTRIBUTES inline pack<Storage, N> load_pack(const Storage *data)
{
    constexpr int bytes = N * static_cast<int>(sizeof(Storage));
    detail::words<bytes> words;
    pack<Storage, N> to;

    words = *reinterpret_cast<const detail::words<bytes> *>(data);
    memcpy(&to, &words, bytes);
    return to;
}

/** Writes @p from to @p data on, which is aligned to sizeof(pack<Storage, N>): one store. */
template <int N, typename Storage>
TESS_ATTRIBUTES inline void store_pack(Storage *data, const pack<Storage, N> &from)
{
    constexpr int bytes = N * static_cast<int>(sizeof(Storage));
    detail::words<bytes> words;

    memcpy(&words, &from, bytes);
    *reinterpret_cast<detail::words<bytes> *>(data) = words;
}

namespace detail {

/* The 8- and 16-bit types by their fields; codes at and above `special` (without the sign) are Inf or NaN. */
template <int ExponentBits, int MantissaBits, uint32_t Special>
struct bit_fields {
    static constexpr bool known = true;
    static constexpr int bits = 1 + ExponentBits + MantissaBits;
    /* A code at the top of a 32-bit word goes here in the upper word of a double: exponent's end above mantissa's top. */
    static constexpr int shift = 11 - ExponentBits;
    static constexpr uint32_t mask = 0x80000000U | ((1U << (ExponentBits + MantissaBits)) - 1U) << (20 - MantissaBits);
    /* What the biases differ by, as a power of two; the product makes subnormals normal by the way. Exact. */
    static constexpr uint64_t power = static_cast<uint64_t>(2046 - ((1 << (ExponentBits - 1)) - 1)) << 52;
    /* In all codes of a word at once: (word & special) + step carries into the sign of those that are Inf or NaN. */
    static constexpr uint32_t every = bits == 8 ? 0x01010101U : 0x00010001U;
    static constexpr uint32_t special = Special * every;
    static constexpr uint32_t step = ((1U << (ExponentBits + MantissaBits)) - Special) * every;
    static constexpr uint32_t signs = (1U << (bits - 1)) * every;
};

template <typename Storage>
struct fields_of {
    static constexpr bool known = false;
};
template <>
struct fields_of<bf16> : bit_fields<8, 7, 0x7f80> {
};
template <>
struct fields_of<fp16> : bit_fields<5, 10, 0x7c00> {
};
template <>
struct fields_of<e4m3> : bit_fields<4, 3, 0x7f> {
};
template <>
struct fields_of<e5m2> : bit_fields<5, 2, 0x7c> {
};

/* The code at the top of @p word, which is neither Inf nor NaN: two integer operations and one product. */
template <typename Storage>
TESS_ATTRIBUTES inline double decode_bits(uint32_t word)
{
    using fields = fields_of<Storage>;
    uint32_t high = static_cast<uint32_t>(static_cast<int32_t>(word) >> fields::shift) & fields::mask;

    return tess_double_of_bits(static_cast<uint64_t>(high) << 32) * tess_double_of_bits(fields::power);
}

/* The two 8-bit codes in the lower half of @p word as two fp16 codes: all of both types are fp16 values. */
template <typename Storage>
TESS_ATTRIBUTES inline uint32_t widen_two(uint32_t word)
{
    uint32_t halves;

#if TESS_HARDWARE_FP8
    if constexpr (storage_traits<Storage>::precision == TESS_PRECISION_E4M3) {
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<uint16_t>(word)));
    } else {
        halves = __byte_perm(word, 0, 0x1404);
    }
#else
    Storage low{static_cast<uint8_t>(word)}, high{static_cast<uint8_t>(word >> 8)};

    halves = tess_fp16_from_float(decode<float>(low), TESS_OVERFLOW_INFINITY) |
             static_cast<uint32_t>(tess_fp16_from_float(decode<float>(high), TESS_OVERFLOW_INFINITY)) << 16;
#endif
    return halves;
}

/* Two codes, in the lower half of @p word (8-bit types) or all of it (16-bit types), by conversion instructions. */
template <typename Arithmetic, typename Storage>
TESS_ATTRIBUTES inline void decode_two(uint32_t word, Arithmetic *to)
{
    if constexpr (sizeof(Storage) == 1) {
        decode_two<Arithmetic, fp16>(widen_two<Storage>(word), to);
    } else {
        to[0] = decode<Arithmetic>(Storage{static_cast<uint16_t>(word)});
        to[1] = decode<Arithmetic>(Storage{static_cast<uint16_t>(word >> 16)});
    }
}

/* Two codes as above, neither Inf nor NaN, to double. */
template <typename Storage>
TESS_ATTRIBUTES inline void decode_two_finite(uint32_t word, double *to)
{
    if constexpr (sizeof(Storage) == 1) {
        decode_two_finite<fp16>(widen_two<Storage>(word), to);
    } else {
        to[0] = decode_bits<Storage>(word << 16);
        to[1] = decode_bits<Storage>(word);
    }
}

template <typename Storage, int Words>
TESS_ATTRIBUTES inline bool any_special(const uint32_t (&word)[Words])
{
    using fields = fields_of<Storage>;
    uint32_t found = 0;

    TESS_UNROLL
    for (int i = 0; i < Words; i++) {
        found |= (word[i] & fields::special) + fields::step;
    }
    return (found & fields::signs) != 0;
}

template <typename Arithmetic, typename Storage, int N>
TESS_ATTRIBUTES inline void decode_one_by_one(const pack<Storage, N> &from, Arithmetic (&to)[N])
{
    TESS_UNROLL
    for (int i = 0; i < N; i++) {
        to[i] = decode<Arithmetic>(from.value[i]);
    }
}

/*
 * A conversion instruction takes 16 values per multiprocessor and clock, where memory may deliver 17 values of 8 bits. So
 * only 8 bits go to fp16 by conversion, two at once; from there integer operations and a product give doubles.
 */
template <typename Arithmetic, typename Storage, int N>
TESS_ATTRIBUTES inline void decode_by_words(const pack<Storage, N> &from, Arithmetic (&to)[N])
{
    constexpr int words = (static_cast<int>(sizeof from) + 3) / 4, codes = 4 / static_cast<int>(sizeof(Storage));
    uint32_t word[words] = {};

    memcpy(word, &from, sizeof from);
    TESS_UNROLL
    for (int i = 0; i < N; i += 2) {
        uint32_t two = word[i / codes] >> (i % codes * fields_of<Storage>::bits);

        if constexpr (sizeof(Arithmetic) == 4) {
            decode_two<Arithmetic, Storage>(two, to + i);
        } else {
            decode_two_finite<Storage>(two, to + i);
        }
    }
    if constexpr (sizeof(Arithmetic) == 8) {
        if (any_special<Storage>(word)) { decode_one_by_one(from, to); }
    }
}

} // namespace detail

/** Decodes a pack: the same values as decode gives one by one, in device code by ways that are faster for several. */
template <typename Arithmetic, typename Storage, int N>
TESS_ATTRIBUTES inline void decode_pack(const pack<Storage, N> &from, Arithmetic (&to)[N])
{
#if TESS_DEVICE_CODE
    if constexpr (detail::fields_of<Storage>::known && N % 2 == 0) {
        detail::decode_by_words<Arithmetic>(from, to);
        return;
    }
#endif
    detail::decode_one_by_one(from, to);
}

template <typename Storage, typename Arithmetic, int N>
TESS_ATTRIBUTES inline pack<Storage, N> encode_pack(const Arithmetic (&from)[N],
                                                    tess_overflow overflow = TESS_OVERFLOW_INFINITY)
{
    pack<Storage, N> to;

    TESS_UNROLL
    for (int i = 0; i < N; i++) {
        to.value[i] = encode<Storage>(from[i], overflow);
    }
    return to;
}

} // namespace tess

#endif
