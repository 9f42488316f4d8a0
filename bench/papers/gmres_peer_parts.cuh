/* SPDX-License-Identifier: Apache-2.0 */
/* What the baseline in gmres_peer.cu is made of: failures, memory, both libraries in two precisions, rotations. */
#ifndef TESS_BENCH_PAPERS_GMRES_PEER_PARTS_CUH
#define TESS_BENCH_PAPERS_GMRES_PEER_PARTS_CUH

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusparse.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "format/csr/csr.h"
#include "papers/gmres_peer.h"
#include "peers/cusparse_products.h"

namespace {

constexpr int kernel_threads = 256;

/* ---- failures: thrown here, a reason at the interface ---- */

struct failure {
    std::string text;
};

void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) { return; }
    static_cast<void>(cudaGetLastError()); /* an allocation that failed leaves the device usable */
    throw failure{std::string(what) + ": " + cudaGetErrorString(error)};
}

void check(cublasStatus_t status, const char *what)
{
    if (status != CUBLAS_STATUS_SUCCESS) { throw failure{std::string(what) + ": " + cublasGetStatusString(status)}; }
}

void check(cusparseStatus_t status, const char *what)
{
    if (status != CUSPARSE_STATUS_SUCCESS) { throw failure{std::string(what) + ": " + cusparseGetErrorString(status)}; }
}

#define TRY(call) check((call), name_of_call(#call).c_str())

/* The function's name alone. */
std::string name_of_call(const char *call)
{
    const std::string text(call);

    return text.substr(0, text.find('('));
}

template <typename Work>
bool guarded(char *reason, size_t size, Work work)
{
    try {
        work();
        return true;
    } catch (const failure &f) {
        snprintf(reason, size, "%s", f.text.c_str());
    } catch (const std::bad_alloc &) {
        snprintf(reason, size, "out of host memory");
    }
    return false;
}

/* ---- memory and events ---- */

template <typename T>
class device_array {
  public:
    device_array() = default;
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;
    ~device_array()
    {
        cudaFree(data_);
    }
    void allocate(size_t count, int64_t *held)
    {
        TRY(cudaMalloc(&data_, std::max<size_t>(count, 1) * sizeof(T)));
        *held += static_cast<int64_t>(count * sizeof(T));
    }
    T *get() const
    {
        return data_;
    }

  private:
    T *data_ = nullptr;
};

template <typename T>
class pinned_array {
  public:
    pinned_array() = default;
    pinned_array(const pinned_array &) = delete;
    pinned_array &operator=(const pinned_array &) = delete;
    ~pinned_array()
    {
        cudaFreeHost(data_);
    }
    void allocate(size_t count)
    {
        TRY(cudaMallocHost(&data_, count * sizeof(T)));
    }
    T *get() const
    {
        return data_;
    }

  private:
    T *data_ = nullptr;
};

class event {
  public:
    event() = default;
    event(const event &) = delete;
    event &operator=(const event &) = delete;
    ~event()
    {
        if (event_) { cudaEventDestroy(event_); }
    }
    void create(unsigned flags)
    {
        TRY(cudaEventCreateWithFlags(&event_, flags));
    }
    cudaEvent_t get() const
    {
        return event_;
    }

  private:
    cudaEvent_t event_ = nullptr;
};

/* ---- kernels: what neither library has ---- */

template <typename From, typename To>
__global__ void scale_into_kernel(int64_t n, double factor, const From *from, To *to)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;

    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        to[i] = static_cast<To>(factor * static_cast<double>(from[i]));
    }
}

template <typename From, typename To>
__global__ void add_kernel(int64_t n, const From *from, To *to)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;

    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        to[i] += static_cast<To>(from[i]);
    }
}

template <typename T>
__global__ void invert_kernel(const T *value, T *inverse)
{
    *inverse = T(1) / *value;
}

/*
 * Of the delayed second pass, with coefficients s, w.w and t, w.u of w and u = A w over a basis of `count` vectors:
 * out[0] = 1 / alpha, out[1] = (w.u - s.t) / alpha, where alpha^2 = w.w - s.s. alpha 0 ends the cycle.
 */
template <typename T>
__global__ void delay_kernel(int count, const T *first, T *out)
{
    const T *second = first + count + 1;
    double ss = 0.0, st = 0.0;

    for (int k = static_cast<int>(threadIdx.x); k < count; k += warpSize) {
        ss += static_cast<double>(first[k]) * static_cast<double>(first[k]);
        st += static_cast<double>(first[k]) * static_cast<double>(second[k]);
    }
    for (int step = warpSize / 2; step > 0; step /= 2) {
        ss += __shfl_xor_sync(0xffffffffu, ss, step);
        st += __shfl_xor_sync(0xffffffffu, st, step);
    }
    if (threadIdx.x == 0) {
        const double square = static_cast<double>(first[count]) - ss, inverse = square > 0.0 ? rsqrt(square) : 0.0;

        out[0] = static_cast<T>(inverse);
        out[1] = static_cast<T>((static_cast<double>(second[count]) - st) * inverse);
    }
}

/* q = w / alpha in place of w, u := (u - c q) / alpha */
template <typename T>
__global__ void finish_pair_kernel(int64_t n, const T *scalars, T *w, T *u)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    const T inverse = scalars[0], c = scalars[1];

    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        const T q = inverse * w[i];

        w[i] = q;
        u[i] = inverse * (u[i] - c * q);
    }
}

unsigned blocks_for(int64_t n)
{
    return static_cast<unsigned>(std::min<int64_t>((n + kernel_threads - 1) / kernel_threads, 8192));
}

/* to := (To)(factor from) */
template <typename From, typename To>
void scale_into(cudaStream_t stream, int64_t n, double factor, const From *from, To *to)
{
    scale_into_kernel<<<blocks_for(n), kernel_threads, 0, stream>>>(n, factor, from, to);
    TRY(cudaGetLastError());
}

/* ---- cuBLAS in both precisions ---- */

void gemv(cublasHandle_t h, cublasOperation_t op, int64_t n, int64_t columns, double alpha, const double *a, int64_t ld,
          const double *x, double beta, double *y)
{
    TRY(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST));
    TRY(cublasDgemv_64(h, op, n, columns, &alpha, a, ld, x, 1, &beta, y, 1));
}

void gemv(cublasHandle_t h, cublasOperation_t op, int64_t n, int64_t columns, double alpha, const float *a, int64_t ld,
          const float *x, double beta, float *y)
{
    const float first = static_cast<float>(alpha), second = static_cast<float>(beta);

    TRY(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST));
    TRY(cublasSgemv_64(h, op, n, columns, &first, a, ld, x, 1, &second, y, 1));
}

void norm_into(cublasHandle_t h, int64_t n, const double *x, double *on_device)
{
    TRY(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE));
    TRY(cublasDnrm2_64(h, n, x, 1, on_device));
}

void norm_into(cublasHandle_t h, int64_t n, const float *x, float *on_device)
{
    TRY(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE));
    TRY(cublasSnrm2_64(h, n, x, 1, on_device));
}

void scale_by(cublasHandle_t h, int64_t n, const double *on_device, double *x)
{
    TRY(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE));
    TRY(cublasDscal_64(h, n, on_device, x, 1));
}

void scale_by(cublasHandle_t h, int64_t n, const float *on_device, float *x)
{
    TRY(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE));
    TRY(cublasSscal_64(h, n, on_device, x, 1));
}

void gemm(cublasHandle_t h, cublasOperation_t op, int64_t rows, int64_t inner, double alpha, const double *a,
          int64_t ld, const double *b, int64_t ldb, double beta, double *c, int64_t ldc)
{
    TRY(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST));
    TRY(cublasDgemm_64(h, op, CUBLAS_OP_N, rows, 2, inner, &alpha, a, ld, b, ldb, &beta, c, ldc));
}

void gemm(cublasHandle_t h, cublasOperation_t op, int64_t rows, int64_t inner, double alpha, const float *a, int64_t ld,
          const float *b, int64_t ldb, double beta, float *c, int64_t ldc)
{
    const float first = static_cast<float>(alpha), second = static_cast<float>(beta);

    TRY(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST));
    TRY(cublasSgemm_64(h, op, CUBLAS_OP_N, rows, 2, inner, &first, a, ld, b, ldb, &second, c, ldc));
}

/* ---- cuSPARSE ---- */

/* y := alpha A x + beta y in the product's precision */
void multiply(bench_cusparse *product, double alpha, const void *x, double beta, void *y)
{
    if (bench_cusparse_multiply(product, alpha, x, beta, y) != TESS_SUCCESS) { throw failure{"cusparseSpMV failed"}; }
}

/* ---- the small least-squares problem, on the host in FP64 ---- */

class rotations {
  public:
    void start(int most, double norm)
    {
        cosine_.assign(static_cast<size_t>(most), 0.0);
        sine_ = cosine_;
        g_.assign(static_cast<size_t>(most) + 1, 0.0);
        g_[0] = norm;
        columns_.clear();
    }

    /* Column j: h of j + 1 coefficients and the new vector's norm. Returns the residual's estimate. */
    double close(std::vector<double> h, double norm)
    {
        const size_t j = columns_.size();
        double length = 0.0;

        for (size_t k = 0; k < j; k++) {
            const double upper = h[k], lower = h[k + 1];

            h[k] = cosine_[k] * upper + sine_[k] * lower;
            h[k + 1] = cosine_[k] * lower - sine_[k] * upper;
        }
        length = std::hypot(h[j], norm);
        cosine_[j] = length > 0.0 ? h[j] / length : 1.0;
        sine_[j] = length > 0.0 ? norm / length : 0.0;
        h[j] = length;
        g_[j + 1] = -sine_[j] * g_[j];
        g_[j] *= cosine_[j];
        columns_.push_back(std::move(h));
        return std::fabs(g_[j + 1]);
    }

    /* y of the least residual over the columns so far */
    std::vector<double> solution() const
    {
        std::vector<double> y(g_.begin(), g_.begin() + static_cast<std::ptrdiff_t>(columns_.size()));

        for (size_t i = columns_.size(); i-- > 0;) {
            y[i] = columns_[i][i] != 0.0 ? y[i] / columns_[i][i] : 0.0;
            for (size_t k = 0; k < i; k++) {
                y[k] -= columns_[i][k] * y[i];
            }
        }
        return y;
    }

  private:
    std::vector<double> cosine_, sine_, g_;
    std::vector<std::vector<double>> columns_;
};

/*
 * H of a cycle whose second pass is delayed: column j - 1 is known once w, its unnormalised last vector, has been held
 * against the basis before it (s = Q^T w). The column of q_j = (w - Q s) / alpha then follows from t = Q^T u, u = A w,
 * since A Q = (Q, q_j) H: no product of q_j itself.
 */
class delayed_columns {
  public:
    void start()
    {
        columns_.clear();
        pending_.clear();
    }

    /* s, w.w and, unless `last`, t, w.u. False: there is no column yet; else it and alpha, its last entry. */
    template <typename T>
    bool step(const T *first, bool last, std::vector<double> *column, double *alpha)
    {
        const size_t j = pending_.size();
        const T *second = first + j + 1;
        double square = static_cast<double>(first[j]), c = last ? 0.0 : static_cast<double>(second[j]);

        for (size_t k = 0; k < j; k++) {
            square -= static_cast<double>(first[k]) * static_cast<double>(first[k]);
            if (!last) { c -= static_cast<double>(first[k]) * static_cast<double>(second[k]); }
        }
        *alpha = square > 0.0 || std::isnan(square) ? std::sqrt(square) : 0.0;
        for (size_t k = 0; k < j; k++) {
            pending_[k] += static_cast<double>(first[k]);
        }
        *column = pending_;
        if (j > 0) { columns_.push_back(pending_), columns_.back().push_back(*alpha); }
        if (!last) { begin_next(first, second, c, *alpha); }
        return j > 0;
    }

  private:
    /* (t - H s) / alpha, then c / alpha^2 - s_{j-1} */
    template <typename T>
    void begin_next(const T *s, const T *t, double c, double alpha)
    {
        const size_t j = columns_.size();
        const double inverse = alpha > 0.0 ? 1.0 / alpha : 0.0;

        pending_.assign(t, t + j);
        for (size_t k = 0; k < j; k++) {
            for (size_t i = 0; i < std::min(j, k + 2); i++) {
                pending_[i] -= columns_[k][i] * static_cast<double>(s[k]);
            }
        }
        for (double &entry : pending_) {
            entry *= inverse;
        }
        pending_.push_back(c * inverse * inverse - (j > 0 ? static_cast<double>(s[j - 1]) : 0.0));
    }

    std::vector<std::vector<double>> columns_; /* of H, with the entry below the diagonal */
    std::vector<double> pending_;              /* the column that awaits its second pass */
};

} // namespace

#endif
