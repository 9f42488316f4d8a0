/* SPDX-License-Identifier: Apache-2.0 */
/* Block Jacobi on the GPU: a thread builds and inverts a block, a thread applies a row. */
#include <limits.h>

#include "backend/gpu/reduce.cuh"
#include "format/csr/csr.h"
#include "precond/invert_block.h"

template <typename OFFSET>
__device__ static void extract_block(int64_t nrows, const OFFSET *row_ptr, const int32_t *col_ind, const double *val,
                                     int64_t first, int k, double *a)
{
    for (int i = 0; i < k * k; i++) {
        a[i] = 0.0;
    }
    for (int i = 0; i < k; i++) {
        if (first + i >= nrows) { /* rows past the end are those of the identity */
            a[i + k * i] = 1.0;
            continue;
        }
        for (OFFSET e = row_ptr[first + i]; e < row_ptr[first + i + 1]; e++) {
            int64_t j = col_ind[e] - first;

            if (j >= 0 && j < k) { a[i + k * j] = val[e]; }
        }
    }
}

template <typename OFFSET>
__global__ static void build_kernel(int64_t nrows, const OFFSET *row_ptr, const int32_t *col_ind, const double *val,
                                    int k, int64_t nblocks, double *inverse, unsigned long long *first_bad)
{
    for (int64_t b = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; b < nblocks; b += (int64_t)gridDim.x * GPU_BLOCK) {
        double *a = inverse + b * k * k;
        int bad;

        extract_block(nrows, row_ptr, col_ind, val, b * k, k, a);
        bad = invert_block(a, k);
        if (bad >= 0) { atomicMin(first_bad, (unsigned long long)(b * k + bad)); }
    }
}

extern "C" tess_status gpu_block_jacobi_build(const tess_matrix *assembled, tess_block_diagonal *m,
                                              int64_t *singular_row)
{
    tess_context *ctx = assembled->ctx;
    gpu_scope scope(ctx);
    const csr_view *v = &csr_of(assembled)->view;
    const double *val = (const double *)v->val;
    int64_t nblocks = (m->n + m->block_size - 1) / m->block_size;
    unsigned grid = gpu_grid(ctx, nblocks, 8);
    unsigned long long first = ULLONG_MAX, *device_first = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, 1, sizeof first, (void **)&device_first));
    TESS_TRY(ctx->backend->upload(ctx, device_first, &first, sizeof first));
    if (v->row_ptr_bits == 32) {
        build_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, (const int32_t *)v->row_ptr, v->col_ind, val,
                                                                 m->block_size, nblocks, m->inverse, device_first);
    } else {
        build_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(v->nrows, (const int64_t *)v->row_ptr, v->col_ind, val,
                                                                 m->block_size, nblocks, m->inverse, device_first);
    }
    TESS_TRY(gpu_check_launch(ctx, "inverting diagonal blocks"));
    TESS_TRY(ctx->backend->download(ctx, &first, device_first, sizeof first));
    *singular_row = first == ULLONG_MAX ? -1 : (int64_t)first;
cleanup:
    tess_device_release(ctx, device_first, 1, sizeof first);
    return status;
}

template <int NDOTS>
__global__ static void __launch_bounds__(GPU_BLOCK)
    apply_kernel(const tess_block_diagonal m, const double *r, double *z, const tess_reduction reduction,
                 const loop_gate gate, const reduce_target target)
{
    int k = m.block_size;
    tess_scalars scalars;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};

    if (!loop_enter<false>(gate, NDOTS > 0, &scalars)) { return; }
    for (int64_t i = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; i < m.n; i += (int64_t)gridDim.x * GPU_BLOCK) {
        int64_t block = i / k, first = block * k;
        int row = (int)(i - first), columns = m.n - first < k ? (int)(m.n - first) : k;
        const double *a = m.inverse + block * k * k + row;
        double sum = 0.0;

        for (int j = 0; j < columns; j++) {
            sum += a[k * j] * r[first + j];
        }
        z[i] = sum;
        for (int d = 0; d < NDOTS; d++) {
            dots[d] += sum * (reduction.with[d] == z ? sum : reduction.with[d][i]);
        }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

extern "C" tess_status gpu_block_jacobi_apply(tess_context *ctx, const tess_block_diagonal *m, tess_precision vectors,
                                              const void *vr, void *vz, const tess_reduction *reduction)
{
    const double *r = (const double *)vr;
    double *z = (double *)vz;

    (void)vectors;
    gpu_scope scope(ctx);
    unsigned grid = gpu_grid(ctx, m->n, 8);
    loop_gate gate = open_gate(ctx, reduction->state, false);
    reduce_target target;
    tess_status status = prepare_reduction(ctx, grid, reduction->ndots, reduction->step, reduction->state, &target);

    if (status != TESS_SUCCESS) { return status; }
    switch (reduction->ndots) {
    case 0: return gpu_launch(ctx, "block Jacobi", apply_kernel<0>, grid, 0, *m, r, z, *reduction, gate, target);
    case 1: return gpu_launch(ctx, "block Jacobi", apply_kernel<1>, grid, 0, *m, r, z, *reduction, gate, target);
    default: return gpu_launch(ctx, "block Jacobi", apply_kernel<2>, grid, 0, *m, r, z, *reduction, gate, target);
    }
}
