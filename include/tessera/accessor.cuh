/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file accessor.cuh  Arrays stored in one precision and computed with in another, for C++17, CUDA and HIP.
 *
 *     tess::range<tess::reduced_row_major<2, double, tess::fp16>> x(tess::shape(nrows, ncols), memory);
 *     x(i, j) = 0.1;                        rounds to fp16
 *     sum += x(i, j);                       a double
 *     x(tess::span{a, b}, j)                a part of column j
 *
 *     accessor                                                      memory
 *     row_major<T, N>                                               values of T, last dimension contiguous
 *     block_column_major<T, N>                                      last two dimensions column-major
 *     reduced_row_major<N, Arithmetic, Storage>                     each value rounded to Storage
 *     scaled_reduced_row_major<N, Arithmetic, Storage, ScaleMask>   value / scale rounded to Storage
 *
 * N is 1 to 4. Arithmetic is double, float or, on the host, long double. Storage is double, float, tess::bf16,
 * tess::fp16, tess::e4m3 or tess::e5m2; a range of const Storage is read-only. Header only: programs need not link the
 * library. accessor.h is for C.
 * - A range holds pointers and owns nothing. It is copied by value, into kernels too.
 * - Indices have 64 bits; assert checks them, unless NDEBUG is defined. An access costs a load and a conversion.
 * - Reading is exact, except FP64 storage read as float. Writing rounds once to nearest even; the parameter Overflow
 *   says what happens to values that are too large (codec.h). A scale that is no power of two adds a rounding, in
 *   Arithmetic, of the quotient when writing and of the product when reading.
 * - x(i) of a reduced range is a reference object. It converts to Arithmetic in expressions, also in comparisons and
 *   sums. `auto v = x(i);` copies the reference, which reads when it is used: write `double v = x(i);`.
 *
 * Source: Gruetzmacher, Anzt, Quintana-Orti, Softw. Pract. Exper. 53 (2023), section 2 (listings 1 to 3).
 * Tests: tests/unit/test_accessor_cpp.cpp, tests/gpu/test_accessor.cu.
 */
#ifndef TESSERA_ACCESSOR_CUH
#define TESSERA_ACCESSOR_CUH

#include <cassert>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <tessera/accessor_element.cuh>

namespace tess {

/** Indices begin to end - 1 of one dimension. */
struct span {
    int64_t begin, end;
};

/** The interface of all accessors. Accessor defines layout and conversion (paper, listing 1). */
template <typename Accessor>
class range {
  public:
    using accessor = Accessor;
    using arithmetic_type = typename Accessor::arithmetic_type;
    using storage_type = typename Accessor::storage_type;
    static constexpr int dimensionality = Accessor::dimensionality;

    /** The accessor's constructor: (lengths, data), then strides and scale if there are any. */
    template <typename... Parameters, typename = std::enable_if_t<(sizeof...(Parameters) > 1)>>
    TESS_ATTRIBUTES constexpr explicit range(Parameters &&...parameters)
        : accessor_(std::forward<Parameters>(parameters)...)
    {
    }
    TESS_ATTRIBUTES constexpr explicit range(const Accessor &other) : accessor_(other)
    {
    }

    /** One index per dimension gives the element. With a span among them it is a range of that part, in N dimensions.
     */
    template <typename... Indices>
    TESS_ATTRIBUTES constexpr decltype(auto) operator()(Indices &&...indices) const
    {
        static_assert(sizeof...(Indices) == dimensionality, "one index or span per dimension");
        return accessor_(std::forward<Indices>(indices)...);
    }

    TESS_ATTRIBUTES constexpr int64_t length(int dimension) const
    {
        return accessor_.length(dimension);
    }

    /** Reads K neighbours, from the element with these indices on, by packed loads. Conditions: strided::load. */
    template <int K, typename... Indices>
    TESS_ATTRIBUTES values<arithmetic_type, K> load(Indices... indices) const
    {
        return accessor_.template load<K>(indices...);
    }

    /** Writes K neighbours, from the element with these indices on, by packed stores. Conditions: strided::load. */
    template <int K, typename... Indices>
    TESS_ATTRIBUTES void store(const values<arithmetic_type, K> &from, Indices... indices) const
    {
        accessor_.store(from, indices...);
    }

    TESS_ATTRIBUTES constexpr const Accessor *operator->() const
    {
        return &accessor_;
    }
    TESS_ATTRIBUTES constexpr const Accessor &get_accessor() const
    {
        return accessor_;
    }

  private:
    Accessor accessor_;
};

namespace detail {

TESS_ATTRIBUTES constexpr span as_span(span s)
{
    return s;
}
TESS_ATTRIBUTES constexpr span as_span(int64_t index)
{
    return span{index, index + 1};
}

/* Every accessor: strides for all dimensions except Unit, which is contiguous, and an Element that stores values. */
template <int N, int Unit, typename Element>
class strided {
    static_assert(N >= 1 && N <= 4, "one to four dimensions");
    static_assert(Unit >= 0, "columns need two dimensions");

  public:
    using arithmetic_type = typename Element::arithmetic_type;
    using storage_type = typename Element::storage_type;
    static constexpr int dimensionality = N;

    /** Without gaps. Only a scaled accessor takes `scale`: const Arithmetic *. */
    template <typename... Scale>
    TESS_ATTRIBUTES constexpr strided(extents<N> length, storage_type *data, Scale... scale)
        : element_(length, data, scale...), length_(length), stride_(length)
    {
        int64_t count = length[Unit];

        stride_.value[Unit] = 1;
        for (int d = N - 1; d >= 0; d--) {
            if (d == Unit) { continue; }
            stride_.value[d] = count;
            count *= length[d];
        }
    }
    /** With strides, in elements, of all dimensions except Unit, whose stride is 1. */
    template <typename... Scale>
    TESS_ATTRIBUTES constexpr strided(extents<N> length, storage_type *data, extents<N - 1> stride, Scale... scale)
        : element_(length, data, scale...), length_(length), stride_(length)
    {
        int from = 0;

        for (int d = 0; d < N; d++) {
            stride_.value[d] = d == Unit ? 1 : stride[from++];
        }
    }

    TESS_ATTRIBUTES constexpr int64_t length(int dimension) const
    {
        assert(dimension >= 0 && dimension < N);
        return length_[dimension];
    }
    TESS_ATTRIBUTES constexpr int64_t stride(int dimension) const
    {
        assert(dimension >= 0 && dimension < N);
        return stride_[dimension];
    }
    TESS_ATTRIBUTES constexpr storage_type *data() const
    {
        return element_.data;
    }

    template <typename... Indices>
    TESS_ATTRIBUTES constexpr decltype(auto) operator()(Indices... indices) const
    {
        if constexpr ((!std::is_same_v<Indices, span> && ...)) {
            static_assert((!std::is_floating_point_v<Indices> && ...), "an index is an integer");
            const int64_t index[N] = {static_cast<int64_t>(indices)...};

            return element_.at(offset_of(index, 1), index);
        } else {
            const span part[N] = {as_span(indices)...};

            return range<strided>(part_of(part));
        }
    }

    /** Reads elements (..., j) to (..., j + K - 1), which must exist, by loads of 16 bytes, or of all K if these have
        fewer bytes. Only for row-major accessors and K a power of two. The address of the first must be a multiple of
        16 bytes, or of K elements if these have fewer bytes. */
    template <int K, typename... Indices>
    TESS_ATTRIBUTES values<arithmetic_type, K> load(Indices... indices) const
    {
        const int64_t index[N] = {static_cast<int64_t>(indices)...};

        static_assert(Unit == N - 1, "packed access goes along the last dimension of a row-major range");
        return element_.template load<K>(offset_of(index, K), index);
    }
    /** Writes K neighbours, under the conditions of load. */
    template <int K, typename... Indices>
    TESS_ATTRIBUTES void store(const values<arithmetic_type, K> &from, Indices... indices) const
    {
        const int64_t index[N] = {static_cast<int64_t>(indices)...};

        static_assert(Unit == N - 1, "packed access goes along the last dimension of a row-major range");
        element_.template store<K>(offset_of(index, K), index, from);
    }

  private:
    /* Offset of the first of `count` elements along the last dimension. */
    TESS_ATTRIBUTES constexpr int64_t offset_of(const int64_t (&index)[N], int count) const
    {
        int64_t offset = 0;

        assert(index[N - 1] + count <= length_[N - 1] && "index out of bounds");
        TESS_UNROLL
        for (int d = 0; d < N; d++) {
            assert(index[d] >= 0 && index[d] < length_[d] && "index out of bounds");
            offset += d == Unit ? index[d] : index[d] * stride_[d];
        }
        (void)count;
        return offset;
    }
    TESS_ATTRIBUTES constexpr strided part_of(const span (&part)[N]) const
    {
        strided sub = *this;
        int64_t begin[N] = {}, offset = 0;

        TESS_UNROLL
        for (int d = 0; d < N; d++) {
            assert(0 <= part[d].begin && part[d].begin <= part[d].end && part[d].end <= length_[d] &&
                   "span out of bounds");
            begin[d] = part[d].begin;
            offset += d == Unit ? begin[d] : begin[d] * stride_[d];
            sub.length_.value[d] = part[d].end - part[d].begin;
        }
        sub.element_.advance(offset, begin);
        return sub;
    }

    Element element_;
    extents<N> length_, stride_;
};

} // namespace detail

/** Values of T, last dimension contiguous. Made from (extents length, T *data, [extents<N - 1> strides but the last]).
 */
template <typename T, int N>
using row_major = detail::strided<N, N - 1, detail::plain<T>>;

/**
 * The last two dimensions (row, column) are column-major, those before them row-major: blocks of a blocked CSR.
 * Made from (extents length, T *data, [extents<N - 1> strides but the second to last]).
 */
template <typename T, int N>
using block_column_major = detail::strided<N, N - 2, detail::plain<T>>;

/** As row_major, with each value rounded to Storage. */
template <int N, typename Arithmetic, typename Storage, tess_overflow Overflow = TESS_OVERFLOW_INFINITY>
using reduced_row_major = detail::strided<N, N - 1, detail::reduced<Arithmetic, Storage, Overflow>>;

/**
 * As row_major. Writing divides a value by a scale and rounds it to Storage; reading multiplies by the scale. A power
 * of two is exact. ScaleMask 0: one scale for all; 1: one per row of a matrix; 2: one per column. In general, bit d
 * says that the scale varies along dimension d. The scales are row-major over these dimensions, without gaps, and are
 * read at each access. Made from (extents length, Storage *data, [extents<N - 1> strides], const Arithmetic *scale).
 */
template <int N, typename Arithmetic, typename Storage, unsigned ScaleMask = 0,
          tess_overflow Overflow = TESS_OVERFLOW_INFINITY>
using scaled_reduced_row_major = detail::strided<N, N - 1, detail::scaled<N, Arithmetic, Storage, ScaleMask, Overflow>>;

} // namespace tess

#endif
