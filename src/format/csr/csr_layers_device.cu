/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on the GPU of CSR matrices in layers (csr.h), in one launch. A chunk is a range of rows. All layers' parts
 * of it are staged, or multiplied by nonzeros, together; then a group of threads sums its row layer by layer, in their
 * order. Layers without entries in a chunk are skipped there.
 */
#include "format/csr/csr_parts.cuh"

/* What a block knows of a staged chunk, in shared memory. The last three are bytes from the stage's beginning. */
template <int MOST>
struct staged_layers {
    int64_t begin[MOST];
    int32_t first_row, rows, group_log;
    int32_t offsets[MOST]; /* < 0: the layer has no entries here */
    int32_t columns[MOST], values[MOST];
};

/* A layer as an argument. */
struct layer_argument {
    matrix_argument m;
    tess_precision precision;
    int value_bytes;
};

/* By nonzeros: where a block stores the products of a layer's rows of the chunk. */
template <typename OFFSET>
struct placed_layer {
    const OFFSET *offset; /* of the chunk's first row */
    OFFSET start;         /* the nonzero at the first place */
    const double *products;

    __device__ inline int from(int r) const
    {
        return (int)(offset[r] - start);
    }
};

template <int MOST, bool STORES>
struct row_layers {
    typedef layer_chunk<MOST> CHUNK;
    typedef staged_layers<MOST> STAGED;
    typedef const STAGED &HELD;
    static constexpr bool TURNS = false;
    static constexpr int STREAM_BLOCKS = 3; /* more would leave too few registers for several value types and layers */
    int count;
    layer_argument layer[MOST];

    template <int NDOTS>
    __device__ inline void finish(const tess_spmv_args &args, int64_t row, double sum, double *dots) const
    {
        if constexpr (STORES) {
            args.y[row] = sum;
        } else {
            spmv_add_row_dots(&args, NDOTS, row, spmv_finish_row(&args, row, sum), dots);
        }
    }

    /* ---- by rows ---- */

    /* A thread's sum of row r of a staged chunk. */
    template <int WIDTH>
    __device__ inline double add_row(const char *stage, const STAGED &chunk, const tess_spmv_args &args, int l, int r,
                                     int lane) const
    {
        const row_offsets offset(stage + chunk.offsets[l], layer[l].m.offset_shift, chunk.begin[l]);
        const int from = offset[r] + lane, to = offset[r + 1];
        const int32_t *column = (const int32_t *)(const void *)(stage + chunk.columns[l]) + from;

        if (from >= to) { return 0.0; }
        return with_part_types(layer[l].precision, args, [&](auto value, const auto *x) {
            typedef decltype(value) VALUE;
            const VALUE *values = (const VALUE *)(const void *)(stage + chunk.values[l]) + from;

            return sum_elements<WIDTH>(column, values, x, (to - from + WIDTH - 1) / WIDTH, to - from);
        });
    }

    template <int WIDTH, int NDOTS>
    __device__ inline void add_rows(const char *stage, const STAGED &chunk, const tess_spmv_args &args,
                                    double *dots) const
    {
        const int lane = (int)(threadIdx.x % WIDTH), group = (int)(threadIdx.x / WIDTH);

        for (int r0 = 0; r0 < chunk.rows; r0 += GPU_BLOCK / WIDTH) {
            int r = r0 + group;
            double sum = 0.0;

#pragma unroll 1
            for (int l = 0; l < count && r < chunk.rows; l++) {
                if (chunk.offsets[l] >= 0) { sum += add_row<WIDTH>(stage, chunk, args, l, r, lane); }
            }
            sum = lanes_sum_down(sum, WIDTH);
            if (r < chunk.rows && lane == 0) { finish<NDOTS>(args, (int64_t)chunk.first_row + r, sum, dots); }
        }
    }

    template <int NDOTS>
    __device__ inline void work_on(const char *stage, const STAGED &chunk, const tess_spmv_args &args,
                                   double *dots) const
    {
        switch (chunk.group_log) {
        case 0: add_rows<1, NDOTS>(stage, chunk, args, dots); break;
        case 1: add_rows<2, NDOTS>(stage, chunk, args, dots); break;
        case 2: add_rows<4, NDOTS>(stage, chunk, args, dots); break;
        case 3: add_rows<8, NDOTS>(stage, chunk, args, dots); break;
        case 4: add_rows<16, NDOTS>(stage, chunk, args, dots); break;
        default: add_rows<32, NDOTS>(stage, chunk, args, dots); break;
        }
    }

    /* ---- by nonzeros ---- */

    /* The sum of a thread of a group for row r; for a group of one thread, the whole sum. */
    template <typename OFFSET>
    __device__ inline double add_placed(const placed_layer<OFFSET> *placed, int r, int lane, int width) const
    {
        double sum = 0.0;

        for (int l = 0; l < count; l++) {
            sum += add_products(placed[l].products, placed[l].from(r), placed[l].from(r + 1), lane, width);
        }
        return sum;
    }

    template <typename OFFSET>
    __device__ inline int length_of(const placed_layer<OFFSET> *placed, int r) const
    {
        int length = 0;

        for (int l = 0; l < count; l++) {
            length += placed[l].from(r + 1) - placed[l].from(r);
        }
        return length;
    }

    /* Rows that are too long for a group are left for a wave. */
    template <typename OFFSET, int NDOTS>
    __device__ inline void add_uneven_rows(const CHUNK &chunk, const placed_layer<OFFSET> *placed,
                                           const tess_spmv_args &args, double *dots) const
    {
        const row_groups by(chunk.group_log);
        const int most = by.width == GPU_WAVE ? INT_MAX : GROUP_STEPS * by.width, rows = chunk.short_rows;
        const int lane = (int)threadIdx.x % GPU_WAVE;
        bool left_over = false;

        for (int r0 = 0; r0 < rows; r0 += by.groups) {
            int r = r0 + by.group;
            bool own = r < rows && length_of(placed, r) <= most;
            double sum = own ? add_placed(placed, r, by.lane, by.width) : 0.0;

            left_over = left_over || (r < rows && !own);
            sum = lanes_sum_down(sum, by.width);
            if (own && by.lane == 0) { finish<NDOTS>(args, (int64_t)chunk.first_row + r, sum, dots); }
        }
        if (!__syncthreads_or(left_over)) { return; }
        for (int r = (int)threadIdx.x / GPU_WAVE; r < rows; r += WAVES) {
            if (length_of(placed, r) > most) {
                double sum = lanes_sum_down(add_placed(placed, r, lane, GPU_WAVE), GPU_WAVE);

                if (lane == 0) { finish<NDOTS>(args, (int64_t)chunk.first_row + r, sum, dots); }
            }
        }
    }

    /* The row at the chunk's end that is too long for its products to have places. */
    template <typename OFFSET, int NDOTS>
    __device__ inline void add_long_row(int64_t row, const tess_spmv_args &args, double *dots) const
    {
        double sum = 0.0;

#pragma unroll 1
        for (int l = 0; l < count; l++) {
            sum += with_part_types(layer[l].precision, args, [&](auto value, const auto *x) {
                return long_row_sum<decltype(value), OFFSET>(layer[l].m, x, row);
            });
            __syncthreads(); /* the next layer's sum uses the same workspace */
        }
        if (threadIdx.x == 0) { finish<NDOTS>(args, row, sum, dots); }
    }

    template <typename OFFSET, int NDOTS, typename ENTER>
    __device__ inline bool stream(const CHUNK &chunk, const tess_spmv_args &args, double *products, ENTER enter,
                                  double *dots) const
    {
        __shared__ placed_layer<OFFSET> placed[MOST];
        int place = 0;

#pragma unroll 1
        for (int l = 0; l < count; l++) {
            double *const to = products + skewed((unsigned)place); /* a multiple of the wave: the next places follow it
                                                                    */

            if (!with_part_types(layer[l].precision, args, [&](auto value, const auto *x) {
                    return multiply_nonzeros<decltype(value)>(layer[l].m, chunk.begin[l], chunk.staged[l], x, to,
                                                              enter);
                })) {
                return false;
            }
            if (threadIdx.x == 0) {
                placed[l] = {(const OFFSET *)layer[l].m.row_ptr + chunk.first_row,
                             (OFFSET)(chunk.begin[l] / GPU_WAVE * GPU_WAVE), to};
            }
            place += layer_places(chunk.begin[l], chunk.staged[l]);
        }
        __syncthreads();
        add_uneven_rows<OFFSET, NDOTS>(chunk, placed, args, dots);
        if (chunk.short_rows < chunk.rows) {
            add_long_row<OFFSET, NDOTS>((int64_t)chunk.first_row + chunk.short_rows, args, dots);
        }
        __syncthreads();
        return true;
    }
};

/* An announced chunk arrives even if no layer has entries in it. */
template <int MOST>
__device__ static inline bool is_staged(const staged_layers<MOST> &)
{
    return true;
}

/* The parts of a layer's arrays for a chunk; empty if the layer has no entries there. */
struct layer_stretches {
    const char *offset;
    const int32_t *column;
    const char *value;
    stage_stretch offsets, columns, values;

    template <int MOST>
    __device__ inline layer_stretches(const layer_argument &a, const layer_chunk<MOST> &chunk, int64_t begin,
                                      int32_t staged)
        : offset(offsets_from(a.m, chunk.first_row)), column(a.m.col_ind + begin),
          value((const char *)a.m.val + begin * a.value_bytes),
          offsets(offset, staged > 0 ? (chunk.rows + 1) * (int64_t)offset_bytes(a.m.offset_shift) : 0),
          columns(column, staged * (int64_t)sizeof(int32_t)), values(value, (int64_t)staged * a.value_bytes)
    {
    }

    __device__ inline uint32_t bytes() const
    {
        return offsets.bytes + columns.bytes + values.bytes;
    }
};

/* As for chunks of one matrix (csr_product.cuh). Each layer's arrays follow those of the previous layer. */
template <typename MATRIX, int MOST>
__device__ static inline void request_chunk(const MATRIX &matrix, const stage_layout &, const layer_chunk<MOST> &chunk,
                                            char *stage, staged_layers<MOST> *header, gpu_arrival *arrival)
{
    uint32_t at = 0;

#if GPU_HAS_BULK_COPY
    uint32_t bytes = 0;

#pragma unroll
    for (int l = 0; l < MOST; l++) {
        if (l < matrix.count) {
            bytes += layer_stretches(matrix.layer[l], chunk, chunk.begin[l], chunk.staged[l]).bytes();
        }
    }
    gpu_arrival_expect(arrival, bytes);
#endif
#pragma unroll
    for (int l = 0; l < MOST; l++) {
        if (l >= matrix.count) { continue; }
        const layer_stretches s(matrix.layer[l], chunk, chunk.begin[l], chunk.staged[l]);
        const uint32_t columns = at + s.offsets.bytes, values = columns + s.columns.bytes;

        copy_stretch(stage + at, s.offsets, arrival);
        copy_stretch(stage + columns, s.columns, arrival);
        copy_stretch(stage + values, s.values, arrival);
        if (threadIdx.x == 0) {
            header->begin[l] = chunk.begin[l];
            header->offsets[l] = chunk.staged[l] > 0 ? (int32_t)(at + line_excess(s.offset)) : -1;
            header->columns[l] = (int32_t)(columns + line_excess(s.column));
            header->values[l] = (int32_t)(values + line_excess(s.value));
        }
        at = values + s.values.bytes;
    }
    if (threadIdx.x == 0) {
        header->first_row = chunk.first_row;
        header->rows = chunk.rows;
        header->group_log = chunk.group_log;
    }
}

/* ---- launching ---- */

template <int MOST, bool STORES>
static tess_status launch_layers(tess_context *ctx, int count, const csr_view *layers, const csr_layers *plan,
                                 const tess_spmv_args *args)
{
    typedef row_layers<MOST, STORES> MATRIX;
    MATRIX matrix = {};
    chunks_argument<layer_chunk<MOST>> chunks = {(const layer_chunk<MOST> *)plan->chunk, plan->nchunks, {}, 0, false};
    loop_predicate predicate;
    tess_status status = TESS_SUCCESS;

    if (plan->nchunks == 0) { return TESS_SUCCESS; }
    TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
    matrix.count = count;
    for (int l = 0; l < count; l++) {
        const csr_view *v = &layers[l];

        matrix.layer[l] = {make_matrix_argument(v, &plan->layer[l]), v->precision,
                           (int)tess_precision_bytes(v->precision)};
        TESS_TRY(sum_part_segments(ctx, v->precision, &plan->layer[l], matrix.layer[l].m, args, predicate));
    }
    if (plan->by_rows) {
        chunks.layout.stage = plan->stage_bytes;
        chunks.layout.all = STAGES * plan->stage_bytes;
    } else {
        chunks.layout = make_layout(false, plan->places, 0, 0, 0, false);
    }
    if (args->reduction.ndots == 0) {
        return launch_chunks<MATRIX, 0>(ctx, matrix, chunks, plan->by_rows, layers->row_ptr_bits, args, predicate);
    }
    if constexpr (!STORES) {
        /* also for one dot product: these kernels are long, and another sum costs little */
        return launch_chunks<MATRIX, 2>(ctx, matrix, chunks, plan->by_rows, layers->row_ptr_bits, args, predicate);
    }
cleanup:
    return status;
}

template <int MOST>
static tess_status select_kernel(tess_context *ctx, int count, const csr_view *layers, const csr_layers *plan,
                                 const tess_spmv_args *args)
{
    if (only_stores(args) && args->reduction.ndots == 0) {
        return launch_layers<MOST, true>(ctx, count, layers, plan, args);
    }
    return launch_layers<MOST, false>(ctx, count, layers, plan, args);
}

tess_status csr_spmv_layers(tess_context *ctx, int count, const csr_view *layers, const csr_layers *plan,
                            const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    for (int l = 0; l < count; l++) {
        tess_status status = csr_check_part(ctx, &layers[l]);

        if (status != TESS_SUCCESS) { return status; }
    }
    return count <= FEW_LAYERS ? select_kernel<FEW_LAYERS>(ctx, count, layers, plan, args)
                               : select_kernel<TESS_MAX_LEVELS>(ctx, count, layers, plan, args);
}
