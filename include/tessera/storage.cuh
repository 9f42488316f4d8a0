/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file storage.cuh  The storage precisions as C++ types, for C++17, CUDA and HIP; header only.
 *
 *     tess::fp16 h = tess::encode<tess::fp16>(0.1);
 *     double v = tess::decode<double>(h);
 *
 * double and float stand for themselves; tess::bf16, tess::fp16, tess::e4m3 and tess::e5m2 hold one bit pattern each.
 * codec.h has the rules of conversion. A tess::pack is several neighbouring values that one instruction loads: narrow
 * storage needs this to reach the bandwidth of memory.
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

/* The precision of a storage type, its decoding and its encoding. */
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
            return tess_##type##_to_double(s.bits);                             \
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

/** The value of @p stored in Arithmetic (double or float). Exact, except FP64 storage read as float. */
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

/** Rounds @p value to nearest even in Storage. */
template <typename Storage, typename Arithmetic>
TESS_ATTRIBUTES inline Storage encode(Arithmetic value, tess_overflow overflow = TESS_OVERFLOW_INFINITY)
{
    return storage_traits<Storage>::from(value, overflow);
}

/** N neighbouring values, aligned so that one instruction can load them. N * sizeof(Storage) is at most 16 bytes. */
template <typename Storage, int N>
struct alignas(sizeof(Storage) * N) pack {
    static constexpr int count = N;
    Storage value[N];
};

/** As many values as fit into 16 bytes. */
template <typename Storage>
using full_pack = pack<Storage, 16 / static_cast<int>(sizeof(Storage))>;

namespace detail {

/* The bytes of a pack as words, which one memory instruction moves: nvcc loads 8- and 16-bit members one by one. */
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

/** Reads N values by one load. @p data is aligned to sizeof(pack<Storage, N>). */
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

/** Writes N values by one store. @p data is aligned to sizeof(pack<Storage, N>). */
template <int N, typename Storage>
TESS_ATTRIBUTES inline void store_pack(Storage *data, const pack<Storage, N> &from)
{
    constexpr int bytes = N * static_cast<int>(sizeof(Storage));
    detail::words<bytes> words;

    memcpy(&words, &from, bytes);
    *reinterpret_cast<detail::words<bytes> *>(data) = words;
}

/**
 * Decodes a pack, to the same values as decode. Device code decodes 8-bit values in pairs to fp16, and these to double:
 * 1.5 conversion instructions a value, of which a multiprocessor completes 16 a clock.
 */
template <typename Arithmetic, typename Storage, int N>
TESS_ATTRIBUTES inline void decode_pack(const pack<Storage, N> &from, Arithmetic (&to)[N])
{
#if TESS_HARDWARE_FP8
    if constexpr (sizeof(Storage) == 1 && N % 2 == 0) {
        constexpr bool is_e4m3 = storage_traits<Storage>::precision == TESS_PRECISION_E4M3;
        uint16_t two[N / 2];

        memcpy(two, &from, sizeof two);
        TESS_UNROLL
        for (int i = 0; i < N / 2; i++) {
            uint32_t halves = is_e4m3 ? tess_e4m3_to_halves(two[i]) : tess_e5m2_to_halves(two[i]);

            to[2 * i] = decode<Arithmetic>(fp16{static_cast<uint16_t>(halves)});
            to[2 * i + 1] = decode<Arithmetic>(fp16{static_cast<uint16_t>(halves >> 16)});
        }
    } else
#endif
    {
        TESS_UNROLL
        for (int i = 0; i < N; i++) {
            to[i] = decode<Arithmetic>(from.value[i]);
        }
    }
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
