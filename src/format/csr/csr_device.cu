/* SPDX-License-Identifier: Apache-2.0 */
/* CSR on the GPU: products of a matrix of one precision (csr_product.cuh has the kernel), values, checks, and the tables. */
#include "format/csr/csr_product.cuh"

/* A matrix of one precision, as the kernel sees it. VECTOR: what x and y are in. */
template <typename VALUE, typename VECTOR>
struct one_matrix {
    typedef csr_chunk CHUNK;
    typedef staged_chunk STAGED;
    typedef const staged_chunk HELD;
    static constexpr bool TURNS = false, IS_FP32 = sizeof(VECTOR) == sizeof(float);
    static constexpr int STREAM_BLOCKS =
        6; /* by nonzeros: resident blocks per multiprocessor that registers must allow */
    matrix_argument m;
    bool stores; /* y is the sums, and nothing else is done with them */
    bool steps;  /* of a polynomial */

    __host__ __device__ static inline const VECTOR *x_of(const tess_spmv_args &args)
    {
        if constexpr (IS_FP32) {
            return args.x_fp32;
        } else {
            return args.x;
        }
    }

    __device__ inline const matrix_argument &part(const csr_chunk &) const
    {
        return m;
    }

    __device__ inline int value_bytes(const csr_chunk &) const
    {
        return (int)sizeof(VALUE);
    }

    __device__ inline const int32_t *map_of(const csr_chunk &) const
    {
        return NULL;
    }

    template <int NDOTS>
    __device__ inline void finish(const tess_spmv_args &args, int64_t row, double sum, double *dots) const
    {
        if (NDOTS == 0 && stores) {
            if constexpr (IS_FP32) {
                args.y_fp32[row] = (float)sum;
            } else {
                args.y[row] = sum;
            }
        } else if (NDOTS == 0 && (IS_FP32 || steps)) {
            spmv_finish_step(&args, IS_FP32, row, sum);
        } else {
            finish_row<NDOTS>(args, row, sum, dots);
        }
    }

    template <typename OFFSET, int NDOTS>
    __device__ inline void work_on(const char *stage, const staged_chunk &chunk, const tess_spmv_args &args,
                                   double *dots) const
    {
        sum_by_rows<VALUE, OFFSET>(stage, chunk, x_of(args), [&](int r, double sum) {
            finish<NDOTS>(args, (int64_t)chunk.first_row + r, sum, dots);
        });
    }

    template <typename OFFSET, int NDOTS, typename ENTER>
    __device__ inline bool stream(const csr_chunk &chunk, const tess_spmv_args &args, double *products, ENTER enter,
                                  double *dots) const
    {
        return stream_chunk<VALUE, OFFSET>(chunk, m, x_of(args), products, enter, [&](int r, double sum) {
            finish<NDOTS>(args, (int64_t)chunk.first_row + r, sum, dots);
        });
    }
};

template <typename VALUE, typename VECTOR, typename OFFSET, int NDOTS>
static tess_status launch_product(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    const one_matrix<VALUE, VECTOR> matrix = {make_matrix_argument(v, p), only_stores(args),
                                              args->update.kind == TESS_UPDATE_POLYNOMIAL};
    const chunks_argument<csr_chunk> chunks = {
        p->chunk, p->nchunks, make_layout(p->by_rows, p->places, p->most_rows, sizeof(OFFSET), sizeof(VALUE), false), 0,
        false};
    loop_gate gate;
    tess_status status = TESS_SUCCESS;

    if (p->nchunks == 0) { return TESS_SUCCESS; }
    TESS_TRY(open_settled_gate(ctx, args->reduction.state, &gate));
    if (p->nsplit > 0) {
        TESS_TRY(gpu_launch(ctx, "summing split rows", segment_kernel<VALUE, OFFSET, VECTOR>, (unsigned)p->nsegments, 0,
                            matrix.m, matrix.x_of(*args), gate, p->segment_sum));
    }
    status = launch_chunks<one_matrix<VALUE, VECTOR>, OFFSET, NDOTS>(ctx, matrix, chunks, p->by_rows, args, gate);
cleanup:
    return status;
}

template <typename VALUE, typename OFFSET>
static tess_status select_dots(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    if (args->vectors == TESS_PRECISION_FP32) { return launch_product<VALUE, float, OFFSET, 0>(ctx, v, p, args); }
    switch (args->reduction.ndots) {
    case 0: return launch_product<VALUE, double, OFFSET, 0>(ctx, v, p, args);
    case 1: return launch_product<VALUE, double, OFFSET, 1>(ctx, v, p, args);
    default: return launch_product<VALUE, double, OFFSET, 2>(ctx, v, p, args);
    }
}

static tess_status spmv(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    switch (v->precision) {
#define SELECT_VALUE(VALUE, NAME)                                                   \
    case TESS_PRECISION_##NAME:                                                     \
        return v->row_ptr_bits == 32 ? select_dots<VALUE, int32_t>(ctx, v, p, args) \
                                     : select_dots<VALUE, int64_t>(ctx, v, p, args);
        STORAGE_TYPES(SELECT_VALUE)
#undef SELECT_VALUE
    }
    return tess_fail(ctx, TESS_INTERNAL, NULL, "values in precision %d", (int)v->precision);
}

/* ---- values ---- */

__global__ static void gather_kernel(int64_t n, const double *source, const int64_t *from, double *values)
{
    for (int64_t k = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x; k < n; k += (int64_t)gridDim.x * GPU_BLOCK) {
        values[k] = source[from[k]];
    }
}

static tess_status gather(tess_context *ctx, int64_t n, const double *source, const int64_t *from, double *values)
{
    gpu_scope scope(ctx);

    gather_kernel<<<gpu_grid(ctx, n, 8), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(n, source, from, values);
    return gpu_check_launch(ctx, "copying matrix values");
}

/* Behind functions: a table that is visible outside would be emitted for the device as well by HIP. */
extern "C" const csr_ops *csr_gpu_ops(void)
{
    static const csr_ops table = {csr_make_plans,    csr_free_plan,   spmv,
                                  csr_prepare_parts, csr_spmv_parts,  csr_make_layers,
                                  csr_free_layers,   csr_spmv_layers, gather};

    return &table;
}
