/* SPDX-License-Identifier: Apache-2.0 */
/* Products on the GPU of CSR matrices in parts of several precisions (src/format/split). By rows, one launch serves all
   parts; by nonzeros, each part has a launch, unless the product ends in dot products. */
#include "format/csr/csr_parts.cuh"

/* A part, with the data that its rows need in addition to those of a matrix. */
struct part_argument {
    matrix_argument m;
    tess_precision precision;
    int value_bytes;
    const int32_t *row_of;
    int64_t row_shift;
    const int16_t *exponent;
};

/* The rows of y for a part's rows from `first_row` on; NULL if rows are only shifted. */
__device__ static inline const int32_t *part_map(const part_argument &p, int32_t first_row)
{
    return p.row_of ? p.row_of + first_row : NULL;
}

/* Stores the sum of row first_row + r of a part; row_of: its map, for rows from first_row on. STORES: y is the plain
   sum, without further operations; such kernels need fewer registers. */
template <bool STORES, int NDOTS>
__device__ static inline void finish_part_row(const part_argument &p, const tess_spmv_args &args, int32_t first_row,
                                              int r, const int32_t *row_of, double sum, double *dots)
{
    int64_t row = (int64_t)first_row + r, target = row_of ? row_of[r] : p.row_shift + row;
    double scaled = p.exponent ? sum * part_row_scale(p.exponent, row) : sum;

    if constexpr (STORES) {
        args.y[target] = scaled;
    } else {
        spmv_add_row_dots(&args, NDOTS, target, spmv_finish_row(&args, target, scaled), dots);
    }
}

template <bool STORES, int NDOTS>
__device__ static inline void finish_empty_rows(const part_argument &p, int32_t first_row, int rows,
                                                const tess_spmv_args &args, double *dots)
{
    const int32_t *map = part_map(p, first_row);

    for (int r = (int)threadIdx.x; r < rows; r += GPU_BLOCK) {
        finish_part_row<STORES, NDOTS>(p, args, first_row, r, map, 0.0, dots);
    }
}

/* A chunk of a part by nonzeros, or of rows without any. */
template <typename VALUE, typename OFFSET, bool STORES, int NDOTS, typename FACTOR, typename ENTER>
__device__ static __forceinline__ bool stream_part(const part_argument &p, const csr_chunk &chunk,
                                                   const tess_spmv_args &args, const FACTOR *x, double *products,
                                                   ENTER enter, double *dots)
{
    const int32_t *map = part_map(p, chunk.first_row);

    if (!p.m.row_ptr) {
        if (!enter()) { return false; }
        finish_empty_rows<STORES, NDOTS>(p, chunk.first_row, chunk.rows, args, dots);
        return true;
    }
    return stream_chunk<VALUE, OFFSET>(chunk, p.m, x, products, enter, [&](int r, double sum) {
        finish_part_row<STORES, NDOTS>(p, args, chunk.first_row, r, map, sum, dots);
    });
}

/* A single part, by nonzeros: with known types, registers allow more blocks. */
template <typename VALUE, typename FACTOR, bool STORES>
struct one_part {
    typedef csr_chunk CHUNK;
    typedef staged_chunk STAGED;
    typedef const staged_chunk HELD;
    static constexpr bool TURNS = false;
    static constexpr int STREAM_BLOCKS = 5;
    part_argument p;

    template <typename OFFSET, int NDOTS, typename ENTER>
    __device__ inline bool stream(const csr_chunk &chunk, const tess_spmv_args &args, double *products, ENTER enter,
                                  double *dots) const
    {
        const FACTOR *x;

        if constexpr (sizeof(FACTOR) == sizeof(float)) {
            x = args.x_shadow;
        } else {
            x = args.x;
        }
        return stream_part<VALUE, OFFSET, STORES, NDOTS>(p, chunk, args, x, products, enter, dots);
    }
};

/* The parts together. LOW: FP32 arithmetic for values below fp64, known at compile time, since a kernel with both
   spills registers. */
template <bool STORES, bool LOW>
struct many_parts {
    typedef csr_chunk CHUNK;
    typedef staged_chunk STAGED;
    typedef const staged_chunk HELD;
    static constexpr bool TURNS = true;
    static constexpr int STREAM_BLOCKS = 4; /* more would leave too few registers for several value types */
    part_argument parts[TESS_MAX_LEVELS + 1];

    __device__ inline const matrix_argument &part(const csr_chunk &chunk) const
    {
        return parts[chunk.part].m;
    }

    __device__ inline int value_bytes(const csr_chunk &chunk) const
    {
        return parts[chunk.part].value_bytes;
    }

    __device__ inline const int32_t *map_of(const csr_chunk &chunk) const
    {
        return part_map(parts[chunk.part], chunk.first_row);
    }

    template <int NDOTS>
    __device__ inline void work_on(const char *stage, const staged_chunk &chunk, const tess_spmv_args &args,
                                   double *dots) const
    {
        const part_argument &p = parts[chunk.part];
        const int32_t *map = chunk.map < 0 ? NULL : (const int32_t *)(const void *)(stage + chunk.map);

        if (chunk.offsets < 0) {
            finish_empty_rows<STORES, NDOTS>(p, chunk.first_row, chunk.rows, args, dots);
            return;
        }
        (void)with_part_types<LOW>(p.precision, args, [&](auto value, const auto *x) {
            sum_by_rows<decltype(value)>(stage, chunk, p.m.offset_shift, x, [&](int r, double sum) {
                finish_part_row<STORES, NDOTS>(p, args, chunk.first_row, r, map, sum, dots);
            });
            return true;
        });
    }

    template <typename OFFSET, int NDOTS, typename ENTER>
    __device__ inline bool stream(const csr_chunk &chunk, const tess_spmv_args &args, double *products, ENTER enter,
                                  double *dots) const
    {
        const part_argument &p = parts[chunk.part];

        return with_part_types<LOW>(p.precision, args, [&](auto value, const auto *x) {
            return stream_part<decltype(value), OFFSET, STORES, NDOTS>(p, chunk, args, x, products, enter, dots);
        });
    }
};

/* ---- launching ---- */

/* Whether there is one part that is a plain matrix, with a plain product. */
static bool is_plain(int count, const csr_part *parts, const tess_spmv_args *args)
{
    const csr_view *v = &parts[0].view;

    return count == 1 && v->row_ptr && !v->row_of && v->row_shift == 0 && !v->exponent && !args->y_shadow && args->y &&
           args->update.kind == TESS_UPDATE_NONE &&
           (args->low_arithmetic == TESS_ARITHMETIC_FP64 || v->precision == TESS_PRECISION_FP64);
}

template <typename VALUE, typename FACTOR, typename OFFSET, bool STORES>
static tess_status launch_part(tess_context *ctx, const csr_plan *plan, bool beside, const part_argument &p,
                               const tess_spmv_args *args, const loop_predicate &predicate)
{
    const one_part<VALUE, FACTOR, STORES> matrix = {p};
    const chunks_argument<csr_chunk> chunks = {plan->chunk, plan->nchunks,
                                               make_layout(false, plan->places, 0, 0, 0, false), 0, beside};

    return launch_nonzeros<one_part<VALUE, FACTOR, STORES>, OFFSET, 0>(ctx, matrix, chunks, args, predicate);
}

/* One part by nonzeros, in a launch of its own, beside that of another part if there is one. */
template <typename OFFSET, bool STORES>
static tess_status launch_alone(tess_context *ctx, const csr_plan *plan, bool beside, const part_argument &p,
                                const tess_spmv_args *args, const loop_predicate &predicate)
{
    bool low = args->low_arithmetic == TESS_ARITHMETIC_FP32;

    return gpu_by_storage<part_storage>(ctx, p.precision, [&](auto stored) {
        typedef typename decltype(stored)::type VALUE;

        if constexpr (sizeof(VALUE) < sizeof(double)) {
            if (low) { return launch_part<VALUE, float, OFFSET, STORES>(ctx, plan, beside, p, args, predicate); }
        }
        return launch_part<VALUE, double, OFFSET, STORES>(ctx, plan, beside, p, args, predicate);
    });
}

template <bool STORES, bool LOW>
static tess_status launch_parts(tess_context *ctx, int count, const csr_part *parts, const tess_spmv_args *args)
{
    const csr_plan *first = parts[0].plan;
    const int offset_bits = parts[0].view.row_ptr_bits;
    many_parts<STORES, LOW> matrix = {};
    chunks_argument<csr_chunk> chunks = {first->merged, first->nmerged, {}, 0, false};
    int places = 0, most_rows = 0;
    int64_t nnz = 0, nnz_by_rows = 0;
    size_t value_bytes = 0;
    bool stages = true, has_map = false, by_rows, beside = false;
    loop_predicate predicate;
    tess_status status = TESS_SUCCESS;

    if (first->nmerged == 0) { return TESS_SUCCESS; }
    TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
    for (int p = 0; p < count; p++) {
        const csr_view *v = &parts[p].view;
        const csr_plan *plan = parts[p].plan;
        size_t bytes = tess_precision_bytes(v->precision);

        matrix.parts[p] = {
            make_matrix_argument(v, plan), v->precision, (int)bytes, v->row_of, v->row_shift, v->exponent};
        if (!v->row_ptr) { continue; }
        places = plan->places > places ? plan->places : places;
        most_rows = plan->most_rows > most_rows ? plan->most_rows : most_rows;
        value_bytes = bytes > value_bytes ? bytes : value_bytes;
        has_map = has_map || v->row_of;
        stages = stages && plan->stages;
        nnz += v->nnz;
        nnz_by_rows += plan->by_rows ? v->nnz : 0;
        TESS_TRY(sum_part_segments(ctx, v->precision, plan, matrix.parts[p].m, args, predicate));
    }
    by_rows = stages && 2 * nnz_by_rows >= nnz; /* all parts the same way: the one that suits most of them */
    if (!by_rows && args->reduction.ndots == 0) {
        for (int p = 0; p < count; p++) {
            if (parts[p].plan->nchunks == 0) { continue; }
            TESS_TRY(
                offset_bits == 32
                    ? (launch_alone<int32_t, STORES>(ctx, parts[p].plan, beside, matrix.parts[p], args, predicate))
                    : (launch_alone<int64_t, STORES>(ctx, parts[p].plan, beside, matrix.parts[p], args, predicate)));
            beside = true;
        }
        return TESS_SUCCESS;
    }
    chunks.layout = make_layout(by_rows, places, most_rows, (size_t)offset_bits / 8, value_bytes, has_map);
    if (args->reduction.ndots == 0) {
        return launch_rows<many_parts<STORES, LOW>, 0>(ctx, matrix, chunks, args, predicate);
    }
    if constexpr (!STORES) {
        /* also for one dot product: these kernels are long, and another sum costs little */
        return launch_chunks<many_parts<false, LOW>, 2>(ctx, matrix, chunks, by_rows, offset_bits, args, predicate);
    }
cleanup:
    return status;
}

template <bool LOW>
static tess_status launch_any(tess_context *ctx, int count, const csr_part *parts, const tess_spmv_args *args)
{
    const bool stores = only_stores(args) && args->reduction.ndots == 0;

    return stores ? launch_parts<true, LOW>(ctx, count, parts, args)
                  : launch_parts<false, LOW>(ctx, count, parts, args);
}

tess_status csr_spmv_parts(tess_context *ctx, int count, const csr_part *parts, const tess_spmv_args *args)
{
    gpu_scope scope(ctx);

    if (is_plain(count, parts, args)) { return csr_gpu_ops()->spmv(ctx, &parts[0].view, parts[0].plan, args); }
    for (int p = 0; p < count; p++) {
        tess_status status = csr_check_part(ctx, &parts[p].view);

        if (status != TESS_SUCCESS) { return status; }
    }
    if (args->low_arithmetic == TESS_ARITHMETIC_FP32) { return launch_any<true>(ctx, count, parts, args); }
    return launch_any<false>(ctx, count, parts, args);
}
