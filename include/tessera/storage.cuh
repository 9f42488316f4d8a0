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

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

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

/* A type for each line of TESS_PRECISION_LIST, by the type that holds its values: tess::fp64, tess::fp32, ... */
#define TESS_TYPE_double(name) typedef double name;
#define TESS_TYPE_float(name) typedef float name;
#define TESS_TYPE_uint16_t(name) \
    struct name {                \
        uint16_t bits;           \
    };
#define TESS_TYPE_uint8_t(name) \
    struct name {               \
        uint8_t bits;           \
    };
#define TESS_STORAGE_TYPE(NAME, value, name, type, ...) TESS_TYPE_##type(name)
TESS_PRECISION_LIST(TESS_STORAGE_TYPE)
#undef TESS_STORAGE_TYPE
#undef TESS_TYPE_double
#undef TESS_TYPE_float
#undef TESS_TYPE_uint16_t
#undef TESS_TYPE_uint8_t

namespace detail {

/* What the codecs of codec.h take. */
TESS_ATTRIBUTES inline double code_of(double stored)
{
    return stored;
}
TESS_ATTRIBUTES inline float code_of(float stored)
{
    return stored;
}
template <typename Storage>
TESS_ATTRIBUTES inline auto code_of(Storage stored)
{
    return stored.bits;
}

} // namespace detail

/* The precision of a storage type, its decoding and its encoding. */
template <typename Storage>
struct storage_traits;

#define TESS_STORAGE_TRAITS(NAME, value, name, ...)                        \
    template <>                                                            \
    struct storage_traits<name> {                                          \
        static constexpr tess_precision precision = TESS_PRECISION_##NAME; \
        TESS_ATTRIBUTES static double to_double(name s)                    \
        {                                                                  \
            return tess_##name##_to_double(detail::code_of(s));            \
        }                                                                  \
        TESS_ATTRIBUTES static float to_float(name s)                      \
        {                                                                  \
            return tess_##name##_to_float(detail::code_of(s));             \
        }                                                                  \
        TESS_ATTRIBUTES static name from(double v, tess_overflow o)        \
        {                                                                  \
            return name{tess_##name##_from_double(v, o)};                  \
        }                                                                  \
        TESS_ATTRIBUTES static name from(float v, tess_overflow o)         \
        {                                                                  \
            return name{tess_##name##_from_float(v, o)};                   \
        }                                                                  \
    };
TESS_PRECISION_LIST(TESS_STORAGE_TRAITS)
#undef TESS_STORAGE_TRAITS

namespace detail {

/* The double beside or at v whose last bit is set unless it is v: rounding it again to fewer than 52 bits gives what
   rounding v once would (rounding to odd). Host only. */
inline double jammed(long double v)
{
    const double near = static_cast<double>(v);
    uint64_t bits = 0;

    std::memcpy(&bits, &near, sizeof bits);
    if (static_cast<long double>(near) == v || v != v || (bits & 1U) != 0) { return near; }
    return std::nextafter(near, v > static_cast<long double>(near) ? HUGE_VAL : -HUGE_VAL);
}

} // namespace detail

/** The value of @p stored in Arithmetic (double, float or, on the host, long double). Exact, except FP64 storage read
   as float. */
template <typename Arithmetic, typename Storage>
TESS_ATTRIBUTES inline Arithmetic decode(Storage stored)
{
    static_assert(std::is_floating_point_v<Arithmetic>, "arithmetic is double, float or long double");
    if constexpr (std::is_same_v<Arithmetic, float>) {
        return storage_traits<Storage>::to_float(stored);
    } else {
        return static_cast<Arithmetic>(storage_traits<Storage>::to_double(stored));
    }
}

/** Rounds @p value to nearest even in Storage, once. */
template <typename Storage, typename Arithmetic>
TESS_ATTRIBUTES inline Storage encode(Arithmetic value, tess_overflow overflow = TESS_OVERFLOW_INFINITY)
{
    if constexpr (sizeof(Arithmetic) <= sizeof(double)) { // a device knows no long double, not even by name
        return storage_traits<Storage>::from(value, overflow);
    } else if constexpr (std::is_same_v<Storage, double>) {
        return storage_traits<Storage>::from(static_cast<double>(value), overflow);
    } else {
        return storage_traits<Storage>::from(detail::jammed(value), overflow);
    }
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

#if TESS_HARDWARE_FP8
namespace detail {

/* Storage types of which the hardware decodes two values at once to two of fp16. */
template <typename Storage>
struct two_at_once {
    static constexpr bool are = false;
};
template <>
struct two_at_once<e4m3> {
    static constexpr bool are = true;
    TESS_ATTRIBUTES static uint32_t to_halves(uint16_t two)
    {
        return tess_e4m3_to_halves(two);
    }
};
template <>
struct two_at_once<e5m2> {
    static constexpr bool are = true;
    TESS_ATTRIBUTES static uint32_t to_halves(uint16_t two)
    {
        return tess_e5m2_to_halves(two);
    }
};

} // namespace detail
#endif

/**
 * Decodes a pack, to the same values as decode. Device code decodes 8-bit values in pairs to fp16, and these to double:
 * 1.5 conversion instructions a value, of which a multiprocessor completes 16 a clock.
 */
template <typename Arithmetic, typename Storage, int N>
TESS_ATTRIBUTES inline void decode_pack(const pack<Storage, N> &from, Arithmetic (&to)[N])
{
#if TESS_HARDWARE_FP8
    if constexpr (detail::two_at_once<Storage>::are && N % 2 == 0) {
        uint16_t two[N / 2];

        memcpy(two, &from, sizeof two);
        TESS_UNROLL
        for (int i = 0; i < N / 2; i++) {
            uint32_t halves = detail::two_at_once<Storage>::to_halves(two[i]);

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
