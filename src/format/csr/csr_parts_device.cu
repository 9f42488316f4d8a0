/* SPDX-License-Identifier: Apache-2.0 */
/* Products on the GPU of CSR matrices in parts of several precisions (src/format/split): one launch for all parts. */
#include "format/csr/csr_product.cuh"

/* A part, with what its rows need beyond a matrix of its own. */
struct part_argument {
    matrix_argument m;
    tess_precision precision;
    const int32_t *row_of;
    int64_t row_shift;
    const int16_t *exponent;
};

/* The precisions that parts may have; the value type is chosen where a block knows its chunk. */
#define PART_TYPES(X)   \
    X(double, FP64)     \
    X(float, FP32)      \
    X(tess::bf16, BF16) \
    X(tess::fp16, FP16)

struct many_parts {
    static constexpr int STREAM_BLOCKS = 4; /* more would leave too few registers for several value types */
    part_argument parts[TESS_MOST_LEVELS + 1];

    __device__ inline const matrix_argument &part(const csr_chunk &chunk) const
    {
        return parts[chunk.part].m;
    }

    __device__ inline int value_bytes(const csr_chunk &chunk) const
    {
        switch (parts[chunk.part].precision) {
        case TESS_PRECISION_FP64: return 8;
        case TESS_PRECISION_FP32: return 4;
        default: return 2;
        }
    }

    __device__ inline bool is_empty(const csr_chunk &chunk) const
    {
        return !parts[chunk.part].m.row_ptr;
    }

    template <int NDOTS>
    __device__ inline void finish(const part_argument &p, const tess_spmv_args &args, int64_t row, double sum,
                                  double *dots) const
    {
        int64_t target = p.row_of ? p.row_of[row] : p.row_shift + row;
        double scaled = p.exponent ? sum * part_row_scale(p.exponent, row) : sum;

        spmv_add_row_dots(&args, NDOTS, target, spmv_finish_row(&args, target, scaled), dots);
    }

    /* Calls use(value type, x): x in FP64, or, with FP32 arithmetic below fp64, its shadow. */
    template <typename USE>
    __device__ inline bool with_types(const part_argument &p, const tess_spmv_args &args, USE use) const
    {
        bool low = args.low_arithmetic == TESS_ARITHMETIC_FP32;

        switch (p.precision) {
        case TESS_PRECISION_FP32: return low ? use(float(), args.x_shadow) : use(float(), args.x);
        case TESS_PRECISION_BF16: return low ? use(tess::bf16(), args.x_shadow) : use(tess::bf16(), args.x);
        case TESS_PRECISION_FP16: return low ? use(tess::fp16(), args.x_shadow) : use(tess::fp16(), args.x);
        default: return use(double(), args.x);
        }
    }

    template <int NDOTS>
    __device__ inline void finish_empty_rows(const csr_chunk &chunk, const tess_spmv_args &args, double *dots) const
    {
        for (int r = (int)threadIdx.x; r < chunk.rows; r += GPU_BLOCK) {
            finish<NDOTS>(parts[chunk.part], args, (int64_t)chunk.first_row + r, 0.0, dots);
        }
    }

    template <typename OFFSET, int NDOTS>
    __device__ inline void work_on(const char *stage, const stage_layout &layout, const csr_chunk &chunk,
                                   const tess_spmv_args &args, double *dots) const
    {
        const part_argument &p = parts[chunk.part];

        if (!p.m.row_ptr) {
            finish_empty_rows<NDOTS>(chunk, args, dots);
            return;
        }
        (void)with_types(p, args, [&](auto value, const auto *x) {
            sum_by_rows<decltype(value), OFFSET>(stage, layout, chunk, p.m, x, [&](int r, double sum) {
                finish<NDOTS>(p, args, (int64_t)chunk.first_row + r, sum, dots);
            });
            return true;
        });
    }

    template <typename OFFSET, int NDOTS, typename ENTER>
    __device__ inline bool stream(const csr_chunk &chunk, const tess_spmv_args &args, double *products, ENTER enter,
                                  double *dots) const
    {
        const part_argument &p = parts[chunk.part];

        if (!p.m.row_ptr) {
            if (!enter()) { return false; }
            finish_empty_rows<NDOTS>(chunk, args, dots);
            return true;
        }
        return with_types(p, args, [&](auto value, const auto *x) {
            return stream_chunk<decltype(value), OFFSET>(chunk, p.m, x, products, enter, [&](int r, double sum) {
                finish<NDOTS>(p, args, (int64_t)chunk.first_row + r, sum, dots);
            });
        });
    }
};

/* ---- launching ---- */

template <typename VALUE, typename OFFSET>
static tess_status sum_segments(tess_context *ctx, const matrix_argument &m, const csr_plan *p,
                                const tess_spmv_args *args, const loop_gate &gate)
{
    if (sizeof(VALUE) < sizeof(double) && args->low_arithmetic == TESS_ARITHMETIC_FP32) {
        return gpu_launch(ctx, "summing split rows", segment_kernel<VALUE, OFFSET, float>, (unsigned)p->nsegments, 0, m,
                          args->x_shadow, gate, p->segment_sum);
    }
    return gpu_launch(ctx, "summing split rows", segment_kernel<VALUE, OFFSET, double>, (unsigned)p->nsegments, 0, m,
                      args->x, gate, p->segment_sum);
}

template <typename OFFSET>
static tess_status sum_part_segments(tess_context *ctx, const csr_part *part, const matrix_argument &m,
                                     const tess_spmv_args *args, const loop_gate &gate)
{
    if (part->plan->nsplit == 0) { return TESS_SUCCESS; }
    switch (part->view.precision) {
#define SUM_SEGMENTS(VALUE, NAME) \
    case TESS_PRECISION_##NAME: return sum_segments<VALUE, OFFSET>(ctx, m, part->plan, args, gate);
        PART_TYPES(SUM_SEGMENTS)
#undef SUM_SEGMENTS
    default: return TESS_UNSUPPORTED;
    }
}

template <typename OFFSET>
static tess_status launch_parts(tess_context *ctx, int count, const csr_part *parts, const tess_spmv_args *args)
{
    const csr_plan *first = parts[0].plan;
    many_parts matrix = {};
    chunks_argument chunks = {first->merged, first->nmerged, {}};
    int places = 0, most_rows = 0;
    size_t value_bytes = 0;
    bool by_rows = true;
    loop_gate gate;
    tess_status status = TESS_SUCCESS;

    if (first->nmerged == 0) { return TESS_SUCCESS; }
    TESS_TRY(open_settled_gate(ctx, args->reduction.state, &gate));
    for (int p = 0; p < count; p++) {
        const csr_view *v = &parts[p].view;
        const csr_plan *plan = parts[p].plan;
        size_t bytes = tess_precision_bytes(v->precision);

        matrix.parts[p] = {make_matrix_argument(v, plan), v->precision, v->row_of, v->row_shift, v->exponent};
        if (!v->row_ptr) { continue; }
        places = plan->places > places ? plan->places : places;
        most_rows = plan->most_rows > most_rows ? plan->most_rows : most_rows;
        value_bytes = bytes > value_bytes ? bytes : value_bytes;
        by_rows = by_rows && plan->by_rows;
        TESS_TRY(sum_part_segments<OFFSET>(ctx, &parts[p], matrix.parts[p].m, args, gate));
    }
    chunks.layout = make_layout(by_rows, places, most_rows, sizeof(OFFSET), value_bytes);
    switch (args->reduction.ndots) {
    case 0: return launch_chunks<many_parts, OFFSET, 0>(ctx, matrix, chunks, by_rows, args, gate);
    case 1: return launch_chunks<many_parts, OFFSET, 1>(ctx, matrix, chunks, by_rows, args, gate);
    default: return launch_chunks<many_parts, OFFSET, 2>(ctx, matrix, chunks, by_rows, args, gate);
    }
cleanup:
    return status;
}

tess_status csr_spmv_parts(tess_context *ctx, int count, const csr_part *parts, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    for (int p = 0; p < count; p++) {
        if (tess_precision_bytes(parts[p].view.precision) < 2) {
            return tess_fail(ctx, TESS_UNSUPPORTED, "fp64, fp32, bf16 or fp16", "parts stored in %s on a GPU",
                             tess_precision_name(parts[p].view.precision));
        }
    }
    return parts[0].view.row_ptr_bits == 64 ? launch_parts<int64_t>(ctx, count, parts, args)
                                            : launch_parts<int32_t>(ctx, count, parts, args);
}
