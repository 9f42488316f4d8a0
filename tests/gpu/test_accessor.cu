/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The accessor in kernels: the same function over ranges runs once per row on the host and on the device, and must
 * leave the same bytes. Every storage type, gaps between rows, parts, scales, packed access of every width.
 */
#include <cmath>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

extern "C" {
#include "support/test.h"
}

#include <tessera/accessor.cuh>

#define assert_cuda(call) assert_int_equal(call, cudaSuccess)
#define BOTH __host__ __device__

using tess::shape;
using tess::span;

enum { ROWS = 37, COLUMNS = 96, LD = 112, SIZE = ROWS * LD, SCALES = ROWS * COLUMNS, OUT = 4 * SIZE };

template <typename Storage>
struct buffers {
    const Storage *from;
    Storage *to;
    const double *scale;
    double *out;
};

/* Products are of few bits, so that fused and separate operations agree. */
template <typename Storage>
struct elements {
    BOTH static void row(const buffers<Storage> &m, int64_t i)
    {
        tess::range<tess::reduced_row_major<2, double, const Storage>> a(shape(ROWS, COLUMNS), m.from, shape(LD));
        tess::range<tess::reduced_row_major<2, double, Storage>> b(shape(COLUMNS, ROWS), m.to);
        tess::range<tess::row_major<double, 2>> out(shape(ROWS, 4), m.out);
        double sum = 0.0;

        for (int64_t j = 0; j < a.length(1); j++) {
            b(j, i) = a(i, j);
            b(j, i) *= 3.0;
            b(j, i) += a(i, 0) < a(i, j) ? -a(i, j) : 1.0;
            sum += a(i, j) * 0.5;
        }
        out(i, 0) = sum;
        out(i, 1) = b(0, i) = -a(i, 1);
        out(i, 2) = b(1, i) - b(0, i);
        out(i, 3) = static_cast<double>(b.length(0));
    }
};

template <typename Storage>
struct in_float {
    BOTH static void row(const buffers<Storage> &m, int64_t i)
    {
        tess::range<tess::reduced_row_major<2, float, const Storage>> a(shape(ROWS, COLUMNS), m.from, shape(LD));
        tess::range<tess::reduced_row_major<2, float, Storage, TESS_OVERFLOW_SATURATE>> b(shape(ROWS, COLUMNS), m.to);

        for (int64_t j = 0; j < COLUMNS; j++) {
            b(i, j) = a(i, j) * (j % 3 == 0 ? 1e30F : 1.25F);
        }
    }
};

template <typename Storage>
struct parts {
    BOTH static void row(const buffers<Storage> &m, int64_t i)
    {
        tess::range<tess::reduced_row_major<2, double, const Storage>> a(shape(ROWS, COLUMNS), m.from, shape(LD));
        tess::range<tess::reduced_row_major<3, double, Storage>> b(shape(ROWS, 4, COLUMNS / 4), m.to);
        tess::range<tess::block_column_major<double, 4>> out(shape(ROWS, 2, 4, 5), m.out);
        auto right = a(i, span{COLUMNS / 2, COLUMNS});
        auto block = b(i, span{1, 3}, span{2, 12});
        auto corner = out(i, 1, span{1, 4}, span{2, 5});

        for (int64_t j = 0; j < block.length(2); j++) {
            block(0, 0, j) = right(0, j);
            block(0, 1, j) = right(0, right.length(1) - 1 - j);
        }
        for (int64_t r = 0; r < 3; r++) {
            for (int64_t c = 0; c < 3; c++) {
                corner(0, 0, r, c) = right(0, 3 * r + c);
            }
        }
    }
};

template <unsigned Mask>
struct scaled {
    template <typename Storage>
    struct work {
        BOTH static void row(const buffers<Storage> &m, int64_t i)
        {
            tess::range<tess::reduced_row_major<2, double, const Storage>> a(shape(ROWS, COLUMNS), m.from, shape(LD));
            tess::range<tess::scaled_reduced_row_major<2, double, Storage, Mask>> b(shape(ROWS, COLUMNS), m.to,
                                                                                    shape(LD), m.scale);
            tess::range<tess::row_major<double, 2>> out(shape(ROWS, COLUMNS), m.out);

            for (int64_t j = 0; j < COLUMNS / 2; j++) {
                b(i, j) = a(i, j) / 3.0;
            }
            for (int64_t j = COLUMNS / 2; j < COLUMNS; j += 8) {
                b.store(a.template load<8>(i, j), i, j);
            }
            for (int64_t j = 0; j < COLUMNS; j += 8) {
                out.store(b.template load<8>(i, j), i, j);
            }
        }
    };
};

template <int K>
struct packed {
    template <typename Storage>
    struct work {
        BOTH static void row(const buffers<Storage> &m, int64_t i)
        {
            tess::range<tess::reduced_row_major<2, double, const Storage>> a(shape(ROWS, COLUMNS), m.from, shape(LD));
            tess::range<tess::reduced_row_major<2, float, const Storage>> single(shape(ROWS, COLUMNS), m.from,
                                                                                 shape(LD));
            tess::range<tess::reduced_row_major<2, double, Storage>> b(shape(ROWS, COLUMNS), m.to, shape(LD));
            tess::range<tess::row_major<double, 2>> out(shape(ROWS, COLUMNS), m.out);

            for (int64_t j = 0; j < COLUMNS; j += K) {
                tess::values<double, K> v = a.template load<K>(i, j);
                tess::values<float, K> s = single.template load<K>(i, j);

                for (int k = 0; k < K; k++) {
                    v[k] *= 1.0 + static_cast<double>(s[k]);
                }
                b.store(v, i, j);
                out.store(v, i, j);
            }
        }
    };
};

template <typename Work, typename Storage>
__global__ void run_rows(buffers<Storage> m)
{
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;

    if (i < ROWS) { Work::row(m, i); }
}

template <typename T>
static T *to_device(const std::vector<T> &from)
{
    T *data = nullptr;

    assert_cuda(cudaMalloc(&data, from.size() * sizeof(T)));
    assert_cuda(cudaMemcpy(data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return data;
}

/* Copies back, frees, and compares all bytes. */
template <typename T>
static void assert_same(T *there, const std::vector<T> &here)
{
    std::vector<T> found(here.size());

    assert_cuda(cudaMemcpy(found.data(), there, here.size() * sizeof(T), cudaMemcpyDeviceToHost));
    assert_cuda(cudaFree(there));
    assert_memory_equal(found.data(), here.data(), here.size() * sizeof(T));
}

template <typename Work, typename Storage>
static void check()
{
    std::vector<Storage> from(SIZE), to(SIZE);
    std::vector<double> scale(SCALES), out(OUT, -1.0);

    for (int i = 0; i < SIZE; i++) { /* small numbers of few bits, exact in every precision */
        from[static_cast<size_t>(i)] = tess::encode<Storage>((i * 7 % 16 - 8) * 0.25);
        to[static_cast<size_t>(i)] = tess::encode<Storage>(1.0);
    }
    for (int i = 0; i < SCALES; i++) {
        scale[static_cast<size_t>(i)] = std::ldexp(1.0, i * 5 % 7 - 3);
    }
    buffers<Storage> device = {to_device(from), to_device(to), to_device(scale), to_device(out)};
    buffers<Storage> host = {from.data(), to.data(), scale.data(), out.data()};
    run_rows<Work><<<2, 32>>>(device);
    assert_cuda(cudaGetLastError());
    for (int64_t i = 0; i < ROWS; i++) {
        Work::row(host, i);
    }
    assert_same(device.to, to);
    assert_same(device.out, out);
    assert_same(const_cast<Storage *>(device.from), from);
    assert_same(const_cast<double *>(device.scale), scale);
}

template <template <typename> class Work>
static void check_storages()
{
#define CHECK(NAME, value, name, ...) check<Work<tess::name>, tess::name>();
    TESS_PRECISION_LIST(CHECK)
#undef CHECK
}

static void elements_are_read_and_written(void **)
{
    check_storages<elements>();
    check_storages<in_float>();
}

static void parts_are_views(void **)
{
    check_storages<parts>();
}

static void scales_vary_as_the_mask_says(void **)
{
    check_storages<scaled<0>::work>();
    check_storages<scaled<1>::work>();
    check_storages<scaled<2>::work>();
    check_storages<scaled<3>::work>();
}

static void packed_access_is_element_access(void **)
{
    check_storages<packed<1>::work>();
    check_storages<packed<2>::work>();
    check_storages<packed<4>::work>();
    check_storages<packed<8>::work>();
    check_storages<packed<16>::work>();
    check_storages<packed<32>::work>();
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_read_and_written),
        cmocka_unit_test(parts_are_views),
        cmocka_unit_test(scales_vary_as_the_mask_says),
        cmocka_unit_test(packed_access_is_element_access),
    };

    return run_gpu_tests(tests, nullptr);
}
