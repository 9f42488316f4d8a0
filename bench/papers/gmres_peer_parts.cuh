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

/* ---- cuSPARSE ---- */

template <typename T>
constexpr cudaDataType data_type()
{
    return sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
}

/* y := alpha A x + beta y with A's values in T; the indices are those of the view. */
template <typename T>
class product {
  public:
    product() = default;
    product(const product &) = delete;
    product &operator=(const product &) = delete;
    ~product()
    {
        if (from_) { cusparseDestroyDnVec(from_); }
        if (to_) { cusparseDestroyDnVec(to_); }
        if (matrix_) { cusparseDestroySpMat(matrix_); }
    }

    /* x and y: vectors of the right size, for the descriptors only */
    void create(cusparseHandle_t sparse, const csr_view &v, const T *values, T *x, T *y, int64_t *held)
    {
        size_t bytes = 0;

        sparse_ = sparse;
        TRY(cusparseCreateDnVec(&from_, v.ncols, x, data_type<T>()));
        TRY(cusparseCreateDnVec(&to_, v.nrows, y, data_type<T>()));
        TRY(cusparseCreateCsr(&matrix_, v.nrows, v.ncols, v.nnz, const_cast<void *>(v.row_ptr),
                              const_cast<int32_t *>(v.col_ind), const_cast<T *>(values), CUSPARSE_INDEX_32I,
                              CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, data_type<T>()));
        TRY(cusparseSpMV_bufferSize(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, from_, &zero_, to_,
                                    data_type<T>(), CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
        buffer_.allocate(bytes, held);
        TRY(cusparseSpMV_preprocess(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, from_, &zero_, to_,
                                    data_type<T>(), CUSPARSE_SPMV_ALG_DEFAULT, buffer_.get()));
    }

    void run(T alpha, const T *x, T beta, T *y)
    {
        TRY(cusparseDnVecSetValues(from_, const_cast<T *>(x)));
        TRY(cusparseDnVecSetValues(to_, y));
        TRY(cusparseSpMV(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, matrix_, from_, &beta, to_, data_type<T>(),
                         CUSPARSE_SPMV_ALG_DEFAULT, buffer_.get()));
    }

  private:
    cusparseHandle_t sparse_ = nullptr;
    cusparseSpMatDescr_t matrix_ = nullptr;
    cusparseDnVecDescr_t from_ = nullptr, to_ = nullptr;
    device_array<char> buffer_;
    T one_ = T(1), zero_ = T(0);
};

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

} // namespace

#endif
