/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file accessor_element.cuh  How accessor.cuh stores one element: as it is, rounded, or scaled and rounded.
 *
 * An element class holds the pointers; it does not know strides. at(offset, index) is the result of an index operator.
 * load and store take K neighbours. advance makes another element the first.
 */
#ifndef TESSERA_ACCESSOR_ELEMENT_CUH
#define TESSERA_ACCESSOR_ELEMENT_CUH

#include <cassert>
#include <cstdint>
#include <type_traits>

#include <tessera/storage.cuh>

namespace tess {

/** Lengths or strides, one per dimension. Made by tess::shape(rows, columns). */
template <int N>
struct extents {
    int64_t value[N > 0 ? N : 1];

    template <typename... Numbers,
              typename = std::enable_if_t<sizeof...(Numbers) == N && (std::is_convertible_v<Numbers, int64_t> && ...)>>
    TESS_ATTRIBUTES constexpr explicit extents(Numbers... numbers) : value{static_cast<int64_t>(numbers)...}
    {
    }
    TESS_ATTRIBUTES constexpr int64_t operator[](int dimension) const
    {
        return value[dimension];
    }
};

/** A function, so that `tess::range<..> x(tess::shape(n), p);` defines a range: with a type, C++ reads a declaration.
 */
template <typename... Numbers>
TESS_ATTRIBUTES constexpr extents<static_cast<int>(sizeof...(Numbers))> shape(Numbers... numbers)
{
    return extents<static_cast<int>(sizeof...(Numbers))>(numbers...);
}

/** K numbers: the result of load, the argument of store. */
template <typename T, int K>
struct values {
    T value[K];

    TESS_ATTRIBUTES T &operator[](int k)
    {
        return value[k];
    }
    TESS_ATTRIBUTES const T &operator[](int k) const
    {
        return value[k];
    }
};

namespace detail {

/* Values per packed access: 16 bytes of them, or all K if they are fewer. */
template <typename Storage, int K>
constexpr int pack_width = K *static_cast<int>(sizeof(Storage)) <= 16 ? K : 16 / static_cast<int>(sizeof(Storage));

template <typename Storage, int K>
TESS_ATTRIBUTES inline void check_pack(const Storage *data)
{
    constexpr int width = pack_width<Storage, K>;

    static_assert((K & (K - 1)) == 0 && K > 0, "packed access takes 1, 2, 4, 8, 16, ... values");
    assert(reinterpret_cast<uintptr_t>(data) % (width * sizeof(Storage)) == 0 && "packed access out of alignment");
    (void)data;
    (void)width;
}

template <int K, typename Arithmetic, typename Storage>
TESS_ATTRIBUTES inline values<Arithmetic, K> load_values(const Storage *data)
{
    constexpr int width = pack_width<Storage, K>;
    values<Arithmetic, K> to;

    check_pack<Storage, K>(data);
    TESS_UNROLL
    for (int part = 0; part < K; part += width) {
        Arithmetic some[width];

        decode_pack(load_pack<width>(data + part), some);
        TESS_UNROLL
        for (int k = 0; k < width; k++) {
            to.value[part + k] = some[k];
        }
    }
    return to;
}

template <tess_overflow Overflow, int K, typename Arithmetic, typename Storage>
TESS_ATTRIBUTES inline void store_values(Storage *data, const values<Arithmetic, K> &from)
{
    constexpr int width = pack_width<Storage, K>;

    check_pack<Storage, K>(data);
    TESS_UNROLL
    for (int part = 0; part < K; part += width) {
        Arithmetic some[width];

        TESS_UNROLL
        for (int k = 0; k < width; k++) {
            some[k] = from.value[part + k];
        }
        store_pack(data + part, encode_pack<Storage>(some, Overflow));
    }
}

/*
 * Stands for a number in memory that is converted at each access (paper, listing 3). Place has read() and write(). It
 * cannot be copied, so that passing it on passes a number.
 */
template <typename Place>
class reference {
  public:
    using number = typename Place::arithmetic_type;

    TESS_ATTRIBUTES constexpr explicit reference(Place place) : place_(place)
    {
    }
    reference(const reference &) = delete;

    TESS_ATTRIBUTES operator number() const
    {
        return place_.read();
    }
    /* Each returns the value that is stored now, as assignments of numbers do. */
    TESS_ATTRIBUTES number operator=(number value) const
    {
        place_.write(value);
        return place_.read();
    }
    TESS_ATTRIBUTES number operator=(const reference &other) const
    {
        return *this = other.place_.read();
    }
    TESS_ATTRIBUTES number operator+=(number value) const
    {
        return *this = place_.read() + value;
    }
    TESS_ATTRIBUTES number operator-=(number value) const
    {
        return *this = place_.read() - value;
    }
    TESS_ATTRIBUTES number operator*=(number value) const
    {
        return *this = place_.read() * value;
    }
    TESS_ATTRIBUTES number operator/=(number value) const
    {
        return *this = place_.read() / value;
    }
    TESS_ATTRIBUTES number operator-() const
    {
        return -place_.read();
    }

  private:
    Place place_;
};

/* Memory that holds a value rounded to Storage. */
template <typename Arithmetic, typename Storage, tess_overflow Overflow>
struct reduced_place {
    using arithmetic_type = Arithmetic;
    Storage *data;

    TESS_ATTRIBUTES Arithmetic read() const
    {
        return decode<Arithmetic, std::remove_const_t<Storage>>(*data);
    }
    TESS_ATTRIBUTES void write(Arithmetic value) const
    {
        static_assert(!std::is_const_v<Storage>, "the storage of this range is const");
        *data = encode<std::remove_const_t<Storage>>(value, Overflow);
    }
};

/* Memory that holds a value divided by a scale and rounded. */
template <typename Arithmetic, typename Storage, tess_overflow Overflow>
struct scaled_place {
    using arithmetic_type = Arithmetic;
    reduced_place<Arithmetic, Storage, Overflow> quotient;
    const Arithmetic *scale;

    TESS_ATTRIBUTES Arithmetic read() const
    {
        return quotient.read() * *scale;
    }
    TESS_ATTRIBUTES void write(Arithmetic value) const
    {
        quotient.write(value / *scale);
    }
};

/* A value stored as it is. */
template <typename T>
struct plain {
    using arithmetic_type = std::remove_const_t<T>;
    using storage_type = T;
    T *data;

    template <int N>
    TESS_ATTRIBUTES constexpr plain(const extents<N> &, T *first) : data(first)
    {
    }
    template <int N>
    TESS_ATTRIBUTES constexpr T &at(int64_t offset, const int64_t (&)[N]) const
    {
        return data[offset];
    }
    template <int N>
    TESS_ATTRIBUTES constexpr void advance(int64_t offset, const int64_t (&)[N])
    {
        data += offset;
    }
    template <int K, int N>
    TESS_ATTRIBUTES values<arithmetic_type, K> load(int64_t offset, const int64_t (&)[N]) const
    {
        return load_values<K, arithmetic_type, arithmetic_type>(data + offset);
    }
    template <int K, int N>
    TESS_ATTRIBUTES void store(int64_t offset, const int64_t (&)[N], const values<arithmetic_type, K> &from) const
    {
        store_values<TESS_OVERFLOW_INFINITY, K>(data + offset, from);
    }
};

/* A value rounded to Storage. */
template <typename Arithmetic, typename Storage, tess_overflow Overflow>
struct reduced {
    using arithmetic_type = Arithmetic;
    using storage_type = Storage;
    using place = reduced_place<Arithmetic, Storage, Overflow>;
    using bare = std::remove_const_t<Storage>;
    Storage *data;

    template <int N>
    TESS_ATTRIBUTES constexpr reduced(const extents<N> &, Storage *first) : data(first)
    {
    }
    template <int N>
    TESS_ATTRIBUTES constexpr reference<place> at(int64_t offset, const int64_t (&)[N]) const
    {
        return reference<place>(place{data + offset});
    }
    template <int N>
    TESS_ATTRIBUTES constexpr void advance(int64_t offset, const int64_t (&)[N])
    {
        data += offset;
    }
    template <int K, int N>
    TESS_ATTRIBUTES values<Arithmetic, K> load(int64_t offset, const int64_t (&)[N]) const
    {
        return load_values<K, Arithmetic, bare>(data + offset);
    }
    template <int K, int N>
    TESS_ATTRIBUTES void store(int64_t offset, const int64_t (&)[N], const values<Arithmetic, K> &from) const
    {
        store_values<Overflow, K, Arithmetic, Storage>(data + offset, from);
    }
};

/* A value divided by a scale, rounded to Storage. The scales are an array over the dimensions in Mask, row-major. */
template <int N, typename Arithmetic, typename Storage, unsigned Mask, tess_overflow Overflow>
struct scaled {
    static_assert(Mask < (1U << N), "the scale varies along dimensions that the range has");
    using arithmetic_type = Arithmetic;
    using storage_type = Storage;
    using place = scaled_place<Arithmetic, Storage, Overflow>;
    using bare = std::remove_const_t<Storage>;
    Storage *data;
    const Arithmetic *scale;
    int64_t scale_stride[N];

    TESS_ATTRIBUTES constexpr scaled(const extents<N> &length, Storage *first, const Arithmetic *scales)
        : data(first), scale(scales), scale_stride{}
    {
        int64_t count = 1;

        for (int d = N - 1; d >= 0; d--) {
            scale_stride[d] = Mask >> d & 1U ? count : 0;
            count *= Mask >> d & 1U ? length[d] : 1;
        }
    }
    TESS_ATTRIBUTES constexpr const Arithmetic *scale_at(const int64_t (&index)[N]) const
    {
        int64_t offset = 0;

        TESS_UNROLL
        for (int d = 0; d < N; d++) {
            if (Mask >> d & 1U) { offset += index[d] * scale_stride[d]; }
        }
        return scale + offset;
    }
    TESS_ATTRIBUTES constexpr reference<place> at(int64_t offset, const int64_t (&index)[N]) const
    {
        return reference<place>(place{{data + offset}, scale_at(index)});
    }
    TESS_ATTRIBUTES constexpr void advance(int64_t offset, const int64_t (&index)[N])
    {
        data += offset;
        scale = scale_at(index);
    }
    /* The scale of the k-th of K neighbours. */
    TESS_ATTRIBUTES Arithmetic neighbour_scale(const Arithmetic *first, int k) const
    {
        return Mask >> (N - 1) & 1U ? first[k * scale_stride[N - 1]] : *first;
    }
    template <int K>
    TESS_ATTRIBUTES values<Arithmetic, K> load(int64_t offset, const int64_t (&index)[N]) const
    {
        const Arithmetic *first = scale_at(index);
        values<Arithmetic, K> to = load_values<K, Arithmetic, bare>(data + offset);

        TESS_UNROLL
        for (int k = 0; k < K; k++) {
            to.value[k] *= neighbour_scale(first, k);
        }
        return to;
    }
    template <int K>
    TESS_ATTRIBUTES void store(int64_t offset, const int64_t (&index)[N], const values<Arithmetic, K> &from) const
    {
        const Arithmetic *first = scale_at(index);
        values<Arithmetic, K> quotient;

        TESS_UNROLL
        for (int k = 0; k < K; k++) {
            quotient.value[k] = from.value[k] / neighbour_scale(first, k);
        }
        store_values<Overflow, K, Arithmetic, Storage>(data + offset, quotient);
    }
};

} // namespace detail
} // namespace tess

#endif
