/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's polynomial preconditioner by cuSPARSE and cuBLAS: the same roots, hence the same steps (those of
 * polynomial.h), each a copy, an SpMV and an AXPY. Its set-up is the library's own and is not timed.
 */
#ifndef TESS_BENCH_PAPERS_GMRES_PEER_POLYNOMIAL_CUH
#define TESS_BENCH_PAPERS_GMRES_PEER_POLYNOMIAL_CUH

#include "papers/gmres_peer_parts.cuh"
#include "precond/polynomial/polynomial.h"

namespace {

/* to += alpha from */
void axpy(cublasHandle_t h, int64_t n, double alpha, const double *from, double *to)
{
    TRY(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST));
    TRY(cublasDaxpy_64(h, n, &alpha, from, 1, to, 1));
}

void axpy(cublasHandle_t h, int64_t n, double alpha, const float *from, float *to)
{
    const float factor = static_cast<float>(alpha);

    TRY(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST));
    TRY(cublasSaxpy_64(h, n, &factor, from, 1, to, 1));
}

template <typename T>
class peer_polynomial {
  public:
    /* p: of this precision, borrowed; NULL: no preconditioner */
    void open(const tess_polynomial *p, int64_t n, int64_t *held)
    {
        p_ = p;
        n_ = n;
        if (!p_) { return; }
        for (device_array<T> &work : work_) {
            work.allocate(static_cast<size_t>(n), held);
        }
    }

    bool is_there() const
    {
        return p_ != nullptr;
    }

    /* The place for what follows an application. */
    T *result() const
    {
        return work_[2].get();
    }

    /* result() = p(A) r */
    void apply(cublasHandle_t blas, cudaStream_t stream, bench_cusparse *product, const T *r)
    {
        const T *x = r, *before = r;

        scale_into(stream, n_, p_->steps.first, r, result());
        for (int k = 0; k < p_->steps.count; k++) {
            const polynomial_step &s = p_->steps.step[k];
            const T *base = s.closes_pair ? before : x;
            T *y = work_[x == work_[0].get() ? 1 : 0].get();

            if (s.beta != 0.0 && base != y) {
                TRY(cudaMemcpyAsync(y, base, static_cast<size_t>(n_) * sizeof(T), cudaMemcpyDeviceToDevice, stream));
            }
            multiply(product, s.alpha, x, s.beta, y);
            axpy(blas, n_, s.gamma, y, result());
            before = x;
            x = y;
        }
    }

  private:
    const tess_polynomial *p_ = nullptr;
    int64_t n_ = 0;
    device_array<T> work_[3];
};

} // namespace

#endif
