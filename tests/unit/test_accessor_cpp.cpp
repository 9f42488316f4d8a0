// SPDX-License-Identifier: Apache-2.0
// The accessor for C++ against plain arrays and against the one for C. Nothing of the library is linked.
#undef NDEBUG // the checks are tested too
#include <cfloat>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <cmocka.h>
}

#include <tessera/accessor.cuh>
#include <tessera/accessor.h>

using tess::shape;
using tess::span;

static std::vector<double> numbers(int count)
{
    std::vector<double> v(static_cast<size_t>(count));
    for (int i = 0; i < count; i++) {
        v[static_cast<size_t>(i)] = i;
    }
    return v;
}

// Element (i, j, k, l) is where the C accessor has it.
static void layouts_are_those_of_c(void **)
{
    std::vector<double> data = numbers(2 * 3 * 4 * 5);
    double *p = data.data();
    const int64_t length[4] = {2, 3, 4, 5};
    tess::range<tess::row_major<double, 1>> r1(shape(2), p);
    tess::range<tess::row_major<double, 2>> r2(shape(2, 3), p);
    tess::range<tess::row_major<double, 3>> r3(shape(2, 3, 4), p);
    tess::range<tess::row_major<double, 4>> r4(shape(2, 3, 4, 5), p);
    tess::range<tess::block_column_major<double, 2>> c2(shape(2, 3), p);
    tess::range<tess::block_column_major<double, 3>> c3(shape(2, 3, 4), p);
    tess::range<tess::block_column_major<double, 4>> c4(shape(2, 3, 4, 5), p);
    auto row = [&](int rank) { return tess_range_row_major(p, TESS_PRECISION_FP64, rank, length, nullptr); };
    auto column = [&](int rank) {
        return tess_range_block_column_major(p, TESS_PRECISION_FP64, rank, length, nullptr);
    };

    static_assert(decltype(r4)::dimensionality == 4);
    for (int i = 0; i < 2; i++) {
        assert_true(r1(i) == tess_range_get1(row(1), i));
        for (int j = 0; j < 3; j++) {
            assert_true(r2(i, j) == tess_range_get2(row(2), i, j));
            assert_true(c2(i, j) == tess_range_get2(column(2), i, j));
            for (int k = 0; k < 4; k++) {
                assert_true(r3(i, j, k) == tess_range_get3(row(3), i, j, k));
                assert_true(c3(i, j, k) == tess_range_get3(column(3), i, j, k));
                for (int l = 0; l < 5; l++) {
                    assert_true(r4(i, j, k, l) == tess_range_get4(row(4), i, j, k, l));
                    assert_true(c4(i, j, k, l) == tess_range_get4(column(4), i, j, k, l));
                }
            }
        }
    }
    assert_int_equal(r4.length(2), 4);
    assert_int_equal(r4->stride(0), 60);
    assert_int_equal(c4.get_accessor().stride(3), 4);
}

static void strides_leave_gaps(void **)
{
    std::vector<double> data = numbers(400);
    double *p = data.data();
    tess::range<tess::row_major<double, 3>> r(shape(2, 3, 4), p, shape(100, 10));
    tess::range<tess::block_column_major<double, 3>> c(shape(2, 3, 4), p, shape(100, 7));
    tess::range<tess::row_major<const double, 2>> readable(shape(2, 3), static_cast<const double *>(p), shape(9));

    assert_true(r(1, 2, 3) == 123.0);
    assert_true(c(1, 2, 3) == 123.0);
    assert_true(readable(1, 2) == 11.0);
    r(1, 2, 3) = -1.0;
    assert_true(data[123] == -1.0);
}

template <typename Arithmetic, typename Storage>
static void check_reference()
{
    Storage memory[6] = {};
    tess::range<tess::reduced_row_major<2, Arithmetic, Storage>> a(shape(2, 3), memory);
    tess::range<tess::reduced_row_major<2, Arithmetic, const Storage>> readable(shape(2, 3),
                                                                                static_cast<const Storage *>(memory));

    Arithmetic given = (a(0, 1) = Arithmetic(1.2)); // the stored value, as for numbers
    assert_true(given == tess::decode<Arithmetic>(tess::encode<Storage>(Arithmetic(1.2))));
    assert_true(readable(0, 1) == given);
    a(1, 2) = 2;
    a(0, 0) = a(1, 2);
    assert_true(a(0, 0) == 2);
    a(0, 0) += 1;
    a(0, 0) *= a(1, 2);
    a(0, 0) -= 4;
    a(0, 0) /= 4;
    assert_true(a(0, 0) == Arithmetic(0.5));
    a(0, 2) = a(1, 0) = -a(1, 2);
    assert_true(a(0, 2) == -2 && a(1, 0) == -2);
    assert_true(a(0, 2) < a(1, 2) && a(1, 2) >= 2 && a(1, 2) != 3 && 1 < a(1, 2));
    assert_true(a(1, 2) * a(0, 2) + 1 == -3 && -a(0, 2) == 2);
}

static void references_behave_as_numbers(void **)
{
    check_reference<double, double>();
    check_reference<double, float>();
    check_reference<double, tess::bf16>();
    check_reference<double, tess::fp16>();
    check_reference<double, tess::e4m3>();
    check_reference<double, tess::e5m2>();
    check_reference<long double, double>();
    check_reference<long double, float>();
    check_reference<long double, tess::bf16>();
    check_reference<long double, tess::fp16>();
    check_reference<long double, tess::e4m3>();
    check_reference<long double, tess::e5m2>();
    check_reference<float, float>();
    check_reference<float, tess::bf16>();
    check_reference<float, tess::fp16>();
    check_reference<float, tess::e4m3>();
    check_reference<float, tess::e5m2>();
}

/* Lengths in variables: a type in the place of the function shape would make this a declaration. */
static void lengths_are_variables(void **)
{
    float memory[12] = {};
    float *p = memory;
    int64_t n = 12;
    int rows = 3;

    tess::range<tess::reduced_row_major<1, double, float>> x(tess::shape(n), p);
    tess::range<tess::reduced_row_major<2, double, float>> y(tess::shape(rows, n / rows), p);
    x(7) = 2.0;
    assert_true(y(1, 3) == 2.0);
}

/* A value just above the middle of two floats: by way of double it would become the middle, and then the even one. */
static void wide_arithmetic_rounds_once(void **)
{
#if LDBL_MANT_DIG >= 64
    const long double tiny = ldexpl(1.0L, -62), one = 1.0L;
    float memory[2] = {};
    int n = 2;
    tess::range<tess::reduced_row_major<1, long double, float>> x(tess::shape(n), memory);

    x(0) = one + ldexpl(1.0L, -24) + tiny;
    x(1) = -(one + 3 * ldexpl(1.0L, -24) - tiny);
    assert_true(x(0) == one + ldexpl(1.0L, -23));
    assert_true(x(1) == -(one + ldexpl(1.0L, -23)));
    x(0) = 1.0L / 3;
    assert_true(x(0) == static_cast<long double>(static_cast<float>(1.0L / 3)));
    x(0) = HUGE_VALL;
    assert_true(x(0) == HUGE_VALL);
#endif
}

/* Narrow storage, sums wider than FP64: 1 and 2^-60 many times. */
static void sums_may_be_wider_than_fp64(void **)
{
#if LDBL_MANT_DIG >= 64
    double memory[1025];
    int n = 1025;
    tess::range<tess::reduced_row_major<1, long double, double>> wide(tess::shape(n), memory);
    tess::range<tess::reduced_row_major<1, double, double>> usual(tess::shape(n), memory);
    long double sum = 0.0L;
    double narrow = 0.0;

    for (int i = 0; i < n; i++) {
        wide(i) = i == 0 ? 1.0L : ldexpl(1.0L, -60);
    }
    for (int i = 0; i < n; i++) {
        sum += wide(i);
        narrow += usual(i);
    }
    assert_true(narrow == 1.0 && sum == 1.0L + ldexpl(1.0L, -50));
#endif
}

static void overflow_is_chosen_by_the_type(void **)
{
    tess::e4m3 memory[2];
    tess::range<tess::reduced_row_major<1, double, tess::e4m3>> shows(shape(2), memory);
    tess::range<tess::reduced_row_major<1, double, tess::e4m3, TESS_OVERFLOW_SATURATE>> saturates(shape(2), memory);

    shows(0) = 1e6;
    saturates(1) = 1e6;
    assert_true(std::isnan(static_cast<double>(shows(0))));
    assert_true(shows(1) == 448.0);
}

template <unsigned Mask>
static void check_scales()
{
    const double scale[12] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048};
    tess::e5m2 memory[12];
    tess::range<tess::scaled_reduced_row_major<2, double, tess::e5m2, Mask>> a(shape(3, 4), memory, scale);
    tess_range c = tess_range_scaled(tess_range_matrix(memory, TESS_PRECISION_E5M2, 3, 4, 4), scale, Mask);

    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 4; j++) {
            a(i, j) = 3.0 * (1 << i);
            assert_true(a(i, j) == 3.0 * (1 << i)); // the scales are powers of two
            assert_true(tess_range_get2(c, i, j) == a(i, j));
            a(i, j) += 1000.0;
            tess_range_add2(c, i, j, 1000.0);
            assert_true(tess_range_get2(c, i, j) == a(i, j));
            auto part = a(span{i, 3}, span{j, 4});
            assert_true(part(0, 0) == a(i, j) && part.length(1) == 4 - j);
        }
    }
    for (int i = 0; i < 3; i++) {
        tess::values<double, 4> four = a.template load<4>(i, 0);
        for (int j = 0; j < 4; j++) {
            assert_true(four[j] == a(i, j));
            four[j] = 2.0 * j;
        }
        a.store(four, i, 0);
        for (int j = 0; j < 4; j++) {
            assert_true(a(i, j) == 2.0 * j);
        }
    }
}

static void scales_vary_as_the_mask_says(void **)
{
    check_scales<0>();
    check_scales<1>();
    check_scales<2>();
    check_scales<3>();
}

/* The helper's scales as float: no magnitude makes them 0 or Inf, and values come back to the storage's accuracy. */
template <typename Storage>
static void check_float_scales()
{
    const tess_precision precision = tess::storage_traits<Storage>::precision;
#define ROUNDOFF(NAME, value, name, type, bits, ...) std::ldexp(1.0, -(bits)),
    const double roundoffs[] = {TESS_PRECISION_LIST(ROUNDOFF)};
#undef ROUNDOFF
    const double bound = 2.0 * roundoffs[precision] + 0x1p-23;

    for (double largest : {1e-37, 1e-10, 1.0, 3e4, 1e38}) {
        const float scale = tess_scale_for_float(precision, largest);
        Storage memory[2];
        tess::range<tess::scaled_reduced_row_major<1, float, Storage>> a(shape(2), memory, &scale);

        assert_true(scale > 0.0F && std::isfinite(scale));
        a(0) = static_cast<float>(largest);
        a(1) = static_cast<float>(-0.7 * largest);
        assert_true(std::fabs(a(0) / largest - 1.0) <= bound);
        assert_true(std::fabs(a(1) / (-0.7 * largest) - 1.0) <= bound);
    }
}

static void scales_for_float_arithmetic_stay_in_range(void **)
{
    check_float_scales<double>();
    check_float_scales<float>();
    check_float_scales<tess::bf16>();
    check_float_scales<tess::fp16>();
    check_float_scales<tess::e4m3>();
    check_float_scales<tess::e5m2>();
}

static void spans_give_parts(void **)
{
    std::vector<double> data = numbers(60);
    tess::range<tess::row_major<double, 3>> a(shape(3, 4, 5), data.data());
    auto part = a(span{1, 3}, 2, span{3, 5}); // an index keeps its dimension, of length 1
    auto nested = part(1, span{0, 1}, span{1, 2});
    tess::range<tess::block_column_major<double, 3>> b(shape(3, 4, 5), data.data());
    auto block = b(2, span{1, 4}, span{2, 5});

    assert_int_equal(part.length(0), 2);
    assert_int_equal(part.length(1), 1);
    assert_int_equal(part.length(2), 2);
    assert_true(part(1, 0, 1) == a(2, 2, 4));
    assert_true(nested(0, 0, 0) == a(2, 2, 4));
    assert_true(block(0, 2, 1) == b(2, 3, 3));
    part(0, 0, 0) = -5.0;
    assert_true(data[20 + 10 + 3] == -5.0);
}

// K neighbours at once are K elements one by one.
template <typename Arithmetic, typename Storage, int K>
static void check_packs()
{
    alignas(16) Storage memory[3 * 32];
    tess::range<tess::reduced_row_major<2, Arithmetic, Storage>> a(shape(3, 32), memory);
    tess::values<Arithmetic, K> v;

    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 32; j++) {
            a(i, j) = Arithmetic(i - 1) * Arithmetic(j) / 4;
        }
    }
    for (int j = 0; j + K <= 32; j += K) {
        v = a.template load<K>(2, j);
        for (int k = 0; k < K; k++) {
            assert_true(v[k] == a(2, j + k));
            v[k] = Arithmetic(k) * 3;
        }
        a.store(v, 1, j);
        for (int k = 0; k < K; k++) {
            assert_true(a(1, j + k) == tess::decode<Arithmetic>(tess::encode<Storage>(v[k])));
        }
    }
    assert_true(a(0, 31) == Arithmetic(tess::decode<Arithmetic>(tess::encode<Storage>(Arithmetic(-7.75)))));
}

template <typename Storage>
static void check_all_packs()
{
    check_packs<double, Storage, 1>();
    check_packs<double, Storage, 2>();
    check_packs<double, Storage, 4>();
    check_packs<double, Storage, 16>();
    check_packs<double, Storage, 32>();
    check_packs<float, Storage, 8>();
}

static void packed_access_is_element_access(void **)
{
    check_all_packs<double>();
    check_all_packs<float>();
    check_all_packs<tess::bf16>();
    check_all_packs<tess::fp16>();
    check_all_packs<tess::e4m3>();
    check_all_packs<tess::e5m2>();
}

// Whether `act` ends the program by assert.
template <typename Act>
static bool is_refused(Act act)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        std::fclose(stderr);
        signal(SIGABRT, SIG_DFL);
        act();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void bounds_are_checked(void **)
{
    alignas(16) float data[20] = {};
    tess::range<tess::reduced_row_major<2, double, float>> a(shape(3, 4), data, shape(5));
    volatile double sink = 0.0;

    assert_false(is_refused([&] { sink = a(2, 3); }));
    assert_true(is_refused([&] { sink = a(3, 0); }));
    assert_true(is_refused([&] { sink = a(0, 4); }));
    assert_true(is_refused([&] { sink = a(0, -1); }));
    assert_true(is_refused([&] { a(span{0, 4}, 0); }));
    assert_true(is_refused([&] { sink = a.load<4>(0, 1)[0]; }));
    assert_true(is_refused([&] { sink = a.load<4>(1, 0)[0]; })); // element 5: not a multiple of 16 bytes
    (void)sink;
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_those_of_c),
        cmocka_unit_test(strides_leave_gaps),
        cmocka_unit_test(references_behave_as_numbers),
        cmocka_unit_test(lengths_are_variables),
        cmocka_unit_test(wide_arithmetic_rounds_once),
        cmocka_unit_test(sums_may_be_wider_than_fp64),
        cmocka_unit_test(overflow_is_chosen_by_the_type),
        cmocka_unit_test(scales_vary_as_the_mask_says),
        cmocka_unit_test(scales_for_float_arithmetic_stay_in_range),
        cmocka_unit_test(spans_give_parts),
        cmocka_unit_test(packed_access_is_element_access),
        cmocka_unit_test(bounds_are_checked),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
