/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose arrays are on the GPU already: a kernel makes the matrix, the library borrows the arrays (nothing is
 * copied), works on the program's own stream, and leaves x on the device. Exits with 77 where there is no GPU.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>
#include <tessera/tessera.h>

static const int n = 200000;
static const int nnz = 3 * n - 2;

// Row i of A: -1, 2.01, -1; b := A * ones.
__global__ void make_system(int size, int32_t *row_ptr, int32_t *col_ind, double *val, double *b)
{
    int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i > size) { return; }
    int start = i == 0 ? 0 : (i == size ? 3 * size - 2 : 3 * i - 1);
    row_ptr[i] = start;
    if (i == size) { return; }
    double sum = 0.0;
    for (int j = i - 1; j <= i + 1; j++) {
        if (j < 0 || j >= size) { continue; }
        col_ind[start] = j;
        val[start] = i == j ? 2.01 : -1.0;
        sum += val[start++];
    }
    b[i] = sum;
}

struct Arrays {
    int32_t *row_ptr, *col_ind;
    double *val, *b, *x;
};

static bool allocate(Arrays *d)
{
    return cudaMalloc(&d->row_ptr, (n + 1) * sizeof(int32_t)) == cudaSuccess &&
           cudaMalloc(&d->col_ind, nnz * sizeof(int32_t)) == cudaSuccess &&
           cudaMalloc(&d->val, nnz * sizeof(double)) == cudaSuccess &&
           cudaMalloc(&d->b, n * sizeof(double)) == cudaSuccess &&
           cudaMalloc(&d->x, n * sizeof(double)) == cudaSuccess &&
           cudaMemset(d->x, 0, n * sizeof(double)) == cudaSuccess;
}

static void release(Arrays *d)
{
    cudaFree(d->row_ptr);
    cudaFree(d->col_ind);
    cudaFree(d->val);
    cudaFree(d->b);
    cudaFree(d->x);
}

struct Handles {
    tess_context *ctx;
    tess_matrix *a;
    tess_vector *b, *x;
    tess_solver *solver;
};

static tess_status solve(const Arrays *d, cudaStream_t stream, Handles *h, tess_solve_result *result)
{
    tess_context_options context_options;
    tess_context_options_init(&context_options);
    context_options.device = TESS_DEVICE_GPU;
    context_options.stream = stream;
    tess_csr_arrays arrays;
    tess_csr_arrays_init(&arrays);
    arrays.nrows = arrays.ncols = n;
    arrays.nnz = nnz;
    arrays.row_ptr = d->row_ptr;
    arrays.col_ind = d->col_ind;
    arrays.val = d->val;
    arrays.row_ptr_bits = arrays.col_ind_bits = 32;
    arrays.where = TESS_MEMORY_DEVICE;
    arrays.ownership = TESS_BORROW;
    tess_solve_options options;
    tess_solve_options_init(&options);
    options.solver = TESS_SOLVER_CG;
    options.rtol = 1e-12;

    tess_status status = tess_context_create(&context_options, &h->ctx);
    if (!status) { status = tess_matrix_create_csr(h->ctx, &arrays, &h->a); }
    if (!status) { status = tess_vector_wrap(h->ctx, n, TESS_PRECISION_FP64, d->b, &h->b); }
    if (!status) { status = tess_vector_wrap(h->ctx, n, TESS_PRECISION_FP64, d->x, &h->x); }
    if (!status) { status = tess_solver_create(h->a, &options, &h->solver); }
    tess_solve_result_init(result);
    if (!status) { status = tess_solver_solve(h->solver, h->b, h->x, result); }
    return status;
}

// Largest |x_i - 1|.
static double largest_error(const double *device_x)
{
    std::vector<double> x(n);
    if (cudaMemcpy(x.data(), device_x, n * sizeof(double), cudaMemcpyDeviceToHost) != cudaSuccess) { return 1e300; }
    double worst = 0.0;
    for (double value : x) {
        worst = value > 1.0 ? (value - 1.0 > worst ? value - 1.0 : worst) : (1.0 - value > worst ? 1.0 - value : worst);
    }
    return worst;
}

int main()
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("no GPU on this machine\n");
        return 77;
    }
    Arrays d{};
    Handles h{};
    tess_solve_result result{};
    cudaStream_t stream = nullptr;
    bool ok = allocate(&d) && cudaStreamCreate(&stream) == cudaSuccess;
    if (ok) {
        make_system<<<(n + 256) / 256, 256, 0, stream>>>(n, d.row_ptr, d.col_ind, d.val, d.b);
        tess_status status = solve(&d, stream, &h, &result);
        if (status) {
            std::fprintf(stderr, "%s: %s\n", tess_status_text(status),
                         h.ctx ? tess_context_last_error(h.ctx)->message : "");
        }
        ok = !status && result.converged;
    }
    if (ok) {
        double worst = largest_error(d.x);
        std::printf("%s: %s after %lld iterations, true relative residual %.2e, largest error %.2e\n",
                    tess_context_device_name(h.ctx), tess_reason_text(result.reason),
                    static_cast<long long>(result.iterations), result.relative_residual, worst);
        // |x - 1| <= ||b - A x|| / 0.01, and ||b|| < 5
        ok = worst < 5e-10;
    }
    tess_solver_destroy(h.solver);
    tess_vector_destroy(h.b);
    tess_vector_destroy(h.x);
    tess_matrix_destroy(h.a);
    tess_context_destroy(h.ctx);
    release(&d);
    if (stream) { cudaStreamDestroy(stream); }
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
