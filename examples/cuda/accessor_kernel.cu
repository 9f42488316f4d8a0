/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of one's own over a matrix in any precision: y = A x, A stored in 8 to 1 bytes per value, computed with in
 * FP64. Only headers are used: nvcc -std=c++17 -O3 -DNDEBUG -arch=sm_90 -I include examples/cuda/accessor_kernel.cu
 * Shows: one template for all precisions, packed access, a scale for each row. Exits with 77 where there is no GPU.
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>
#include <tessera/accessor.cuh>

static const int m = 4096, n = 1024;

// The user's kernel: one thread per row, eight values at once. It does not know how A is stored.
template <typename Matrix>
__global__ void multiply(Matrix a, const double *x, double *y)
{
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.length(0)) { return; }
    double sum = 0.0;
    for (int64_t j = 0; j < a.length(1); j += 8) {
        auto eight = a.template load<8>(i, j);
        for (int k = 0; k < 8; k++) {
            sum += eight[k] * x[j + k];
        }
    }
    y[i] = sum;
}

// Rows of very different magnitudes, from 1e-6 to 1e6.
static double entry(int i, int j)
{
    return std::pow(10.0, i % 13 - 6) * (0.5 + 0.5 * std::sin(i + 3.0 * j));
}

template <typename T>
struct Buffer {
    T *data = nullptr;
    bool ok;
    explicit Buffer(size_t count) : ok(cudaMalloc(&data, count * sizeof(T)) == cudaSuccess)
    {
    }
    Buffer(const Buffer &) = delete;
    ~Buffer()
    {
        cudaFree(data);
    }
    void put(const std::vector<T> &from)
    {
        ok = ok && cudaMemcpy(data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess;
    }
    void get(std::vector<T> &to)
    {
        ok = ok && cudaMemcpy(to.data(), data, to.size() * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess;
    }
};

// Stores A with one scale per row, multiplies on the device; largest |y_i - exact_i| / sum_j |a_ij x_j|, or infinity.
template <typename Storage>
static double error_with_storage(const std::vector<double> &x)
{
    // bit 0 of the mask: the scale varies along dimension 0, the rows
    using Filled = tess::range<tess::scaled_reduced_row_major<2, double, Storage, 1>>;
    using Read = tess::range<tess::scaled_reduced_row_major<2, double, const Storage, 1>>;
    std::vector<Storage> memory(static_cast<size_t>(m) * n);
    std::vector<double> scale(m, 1.0), y(m);
    for (int i = 0; i < m; i++) {
        scale[static_cast<size_t>(i)] =
            tess_scale_for(tess::storage_traits<Storage>::precision, std::pow(10.0, i % 13 - 6));
    }
    Filled a(tess::shape(m, n), memory.data(), scale.data());
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            a(i, j) = entry(i, j);
        }
    }

    Buffer<Storage> device_a(memory.size());
    Buffer<double> device_scale(m), device_x(n), device_y(m);
    device_a.put(memory);
    device_scale.put(scale);
    device_x.put(x);
    if (!device_a.ok || !device_scale.ok || !device_x.ok || !device_y.ok) { return INFINITY; }
    multiply<<<(m + 127) / 128, 128>>>(Read(tess::shape(m, n), static_cast<const Storage *>(device_a.data),
                                            static_cast<const double *>(device_scale.data)),
                                       device_x.data, device_y.data);
    device_y.get(y);
    if (!device_y.ok || cudaGetLastError() != cudaSuccess) { return INFINITY; }

    double worst = 0.0;
    for (int i = 0; i < m; i++) {
        double exact = 0.0, magnitude = 0.0;
        for (int j = 0; j < n; j++) {
            exact += entry(i, j) * x[j];
            magnitude += std::fabs(entry(i, j) * x[j]);
        }
        worst = std::fmax(worst, std::fabs(y[i] - exact) / magnitude);
    }
    return worst;
}

// unit: largest relative error of storing a normal number; the smallest values of a row may be subnormal
static bool report(const char *name, size_t bytes, double unit, double error)
{
    std::printf("%s: %9zu bytes, error %.1e\n", name, bytes * m * n, error);
    return error <= unit + 2.0 * n * 0x1p-53; // storing: unit; summing, there and here: n roundings of FP64 each
}

int main()
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("no GPU on this machine\n");
        return 77;
    }
    std::vector<double> x(n);
    for (int j = 0; j < n; j++) {
        x[j] = std::cos(1.0 * j);
    }
    bool ok = report("fp64", sizeof(double), 0x1p-53, error_with_storage<double>(x));
    ok &= report("fp32", sizeof(float), 0x1p-24, error_with_storage<float>(x));
    ok &= report("fp16", sizeof(tess::fp16), 0x1p-11, error_with_storage<tess::fp16>(x));
    ok &= report("bf16", sizeof(tess::bf16), 0x1p-8, error_with_storage<tess::bf16>(x));
    ok &= report("e4m3", sizeof(tess::e4m3), 0x1p-4, error_with_storage<tess::e4m3>(x));
    ok &= report("e5m2", sizeof(tess::e5m2), 0x1p-3, error_with_storage<tess::e5m2>(x));
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
