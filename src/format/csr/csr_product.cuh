/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSR products on the GPU, for csr_stored_device.cu (a matrix of one precision) and csr_parts_device.cu (parts of
 * several).
 *
 * Rows are cut into chunks of about equal work (rows + nonzeros). A block takes a chunk; its columns and values are
 * copied to shared memory while the block works on the previous chunk. The chunk is then processed by rows or by
 * nonzeros. By rows: groups of threads, wider if the chunk has fewer rows, gather x and sum one row each. Neighbouring
 * threads have neighbouring rows; if these have neighbouring columns, as in stencils and bands, a wave loads contiguous
 * parts of x. By nonzeros, for all other matrices: threads gather x for neighbouring nonzeros, whatever the lengths of
 * rows, and store the products in shared memory, where groups and waves sum the rows. A row of more than TAIL_ROW
 * nonzeros at a chunk's end is summed by the block from memory; if it is longer than a segment, several blocks sum it
 * beforehand. Every sum has a fixed order.
 *
 * Staging runs of rows in shared memory is the idea of CSR-Stream (Greathouse and Daga, SC 2014). Cutting by rows +
 * nonzeros is that of merge-based CSR (Merrill and Garland, SC 2016), here without rows shared between blocks. Groups
 * of 1 to 32 threads for a row are those of CSR-Vector (Bell and Garland, SC 2009).
 */
#ifndef TESS_FORMAT_CSR_CSR_PRODUCT_CUH
#define TESS_FORMAT_CSR_CSR_PRODUCT_CUH

#include "format/csr/csr_chunk_sums.cuh"

/* Whether the product is a plain y = A x. */
static inline bool only_stores(const tess_spmv_args *args)
{
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;

    return (fp32 ? args->y_fp32 != NULL : args->y != NULL) && !args->y_shadow && !args->residual &&
           args->alpha == 1.0 && args->beta == 0.0 && args->update.kind == TESS_UPDATE_NONE;
}

/* The chunks of a product, as a kernel argument. */
template <typename CHUNK>
struct chunks_argument {
    const CHUNK *chunk;
    int nchunks;
    stage_layout layout;
    int turning; /* of block_chunks */
    bool beside; /* by nonzeros: launched beside another part's product */
};

/* The layout for chunks of at most that many nonzeros and rows. */
static inline stage_layout make_layout(bool by_rows, int places, int most_rows, size_t offset_bytes, size_t value_bytes,
                                       bool has_map)
{
    stage_layout products = {};

    if (by_rows) { return make_stage_layout(places, most_rows, offset_bytes, value_bytes, has_map); }
    products.all = (int)((skewed((unsigned)places + GPU_WAVE) + 1) * sizeof(double));
    return products;
}

/* Whether this thread requests chunks: one thread of a block if the device copies asynchronously, else all. */
__device__ static inline bool asks_for_chunks(void)
{
    return !GPU_HAS_BULK_COPY || threadIdx.x == 0;
}

/* Whether there is a copy to wait for. */
__device__ static inline bool is_staged(const staged_chunk &chunk)
{
    return chunk.offsets >= 0;
}

/* Called by the threads that request chunks: fills *header, and requests the chunk. MATRIX knows its arrays. */
template <typename MATRIX>
__device__ static inline void request_chunk(const MATRIX &matrix, const stage_layout &layout, const csr_chunk &chunk,
                                            char *stage, staged_chunk *header, gpu_arrival *arrival)
{
    const matrix_argument &m = matrix.part(chunk);
    const char *offsets = offsets_from(m, chunk.first_row);
    const int32_t *columns = m.col_ind + chunk.begin, *map = matrix.map_of(chunk);
    int value_bytes = matrix.value_bytes(chunk);
    const char *values = (const char *)m.val + chunk.begin * value_bytes;
    staged_chunk h = {chunk.begin, chunk.first_row, chunk.rows, chunk.part, chunk.group_log, -1, 0, 0, -1};

    if (m.row_ptr) {
        h.offsets = (int32_t)line_excess(offsets);
        h.columns = layout.offsets + (int32_t)line_excess(columns);
        h.values = layout.offsets + layout.columns + (int32_t)line_excess(values);
        if (map) { h.map = layout.map + (int32_t)line_excess(map); }
        request_stage(stage, layout, arrival,
                      stage_stretch(offsets, (chunk.rows + 1) * (int64_t)offset_bytes(m.offset_shift)),
                      stage_stretch(columns, chunk.staged * (int64_t)sizeof(int32_t)),
                      stage_stretch(values, (int64_t)chunk.staged * value_bytes),
                      stage_stretch(map, map ? chunk.rows * (int64_t)sizeof *map : 0));
    }
    if (threadIdx.x == 0) { *header = h; }
}

/*
 * The chunks of a block: one of each round, which has as many chunks as there are blocks. TURNS: chunks of several
 * parts alternate. So a block's place in the round moves on each time, among `turning` neighbours, and the next
 * `turning` blocks, which share multiprocessors with these, are one place ahead. Then no block has all chunks of the
 * slowest part, and no multiprocessor has them at one time. turning = 0: places stay.
 */
template <bool TURNS>
class block_chunks {
  public:
    __device__ inline explicit block_chunks(int turning) : begin_(0), place_((int)blockIdx.x), turning_(turning)
    {
        if (TURNS && turning > 0) {
            begin_ = place_ / turning * turning;
            place_ = (place_ - begin_ + begin_ / turning) % turning;
        }
    }

    __device__ inline int next()
    {
        int chunk = begin_ + place_;

        begin_ += (int)gridDim.x;
        if (TURNS && turning_ > 0) { place_ = place_ + 1 < turning_ ? place_ + 1 : 0; }
        return chunk;
    }

  private:
    int begin_, place_, turning_;
};

/* By rows. MATRIX: one_matrix, the parts of csr_parts_device.cu, or the layers of csr_layers_device.cu. Each kind of
   matrix defines its chunks (CHUNK), what a block knows of a staged chunk (STAGED), and how it holds that while it
   works (HELD). */
template <typename MATRIX, int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, CHUNK_BLOCKS)
    rows_kernel(const MATRIX matrix, const chunks_argument<typename MATRIX::CHUNK> chunks, const tess_spmv_args args,
                const loop_predicate predicate, const reduce_target target)
{
    extern __shared__ __align__(
        128) char stages[]; /* bulk copies are slow unless both ends have the same place in a line */
    __shared__ gpu_arrival arrivals[STAGES];
    __shared__ typename MATRIX::STAGED headers[STAGES];
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    tess_scalars scalars;
    uint32_t stage = 0, parities = 0; /* bit s: parity of the next arrival at stage s */
    block_chunks<MATRIX::TURNS> own(chunks.turning);
    int coming[STAGES] = {own.next(), own.next()};
    bool runs;

    static_assert(STAGES == 2, "one chunk is worked on, the next is on its way");
    create_arrivals(arrivals);
    if (asks_for_chunks()) {
        for (int s = 0; s < STAGES && coming[s] < chunks.nchunks; s++) {
            request_chunk<MATRIX>(matrix, chunks.layout, chunks.chunk[coming[s]], stages + s * chunks.layout.stage,
                                  &headers[s], &arrivals[s]);
        }
    }
    __syncthreads();
    /* No kernel of a loop writes the data that was requested so far; x comes from the previous kernel. */
    runs = loop_enter<true>(predicate, NDOTS > 0, &scalars);
    for (bool first = true; coming[0] < chunks.nchunks; first = false) {
        typename MATRIX::HELD chunk = headers[stage];
        char *const at = stages + stage * chunks.layout.stage;
        const int after = own.next();
        const bool asks = asks_for_chunks() && after < chunks.nchunks;
        typename MATRIX::CHUNK next = {};

        if (asks) { next = chunks.chunk[after]; } /* computed here, so that no thread waits for it later */
        if (is_staged(chunk)) {
            await_stage(&arrivals[stage], parities >> stage & 1U);
            parities ^= 1U << stage;
        }
        if (runs) {
            matrix.template work_on<NDOTS>(at, chunk, args, dots);
            __syncthreads();
            if (asks) { request_chunk<MATRIX>(matrix, chunks.layout, next, at, &headers[stage], &arrivals[stage]); }
        } else if (!first) { /* the requested chunk has arrived */
            return;
        }
        stage ^= 1U;
        coming[0] = coming[1];
        coming[1] = after;
    }
    if (NDOTS > 0 && runs) { grid_reduce(dots, target); }
}

/* The same by nonzeros. */
template <typename MATRIX, typename OFFSET, int NDOTS>
__global__ static void GPU_LAUNCH_BOUNDS(GPU_BLOCK, MATRIX::STREAM_BLOCKS)
    nonzeros_kernel(const MATRIX matrix, const chunks_argument<typename MATRIX::CHUNK> chunks,
                    const tess_spmv_args args, const loop_predicate predicate, const reduce_target target)
{
    extern __shared__ double products[];
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    bool entered = false, runs = true;
    auto enter = [&]() {
        tess_scalars scalars;

        entered = entered || loop_enter<true>(predicate, NDOTS > 0, &scalars, chunks.beside);
        return entered;
    };

    block_chunks<MATRIX::TURNS> own(chunks.turning);

    for (int c; runs && (c = own.next()) < chunks.nchunks;) {
        runs = matrix.template stream<OFFSET, NDOTS>(chunks.chunk[c], args, products, enter, dots);
    }
    if (chunks.beside) { GPU_WAIT_FOR_PREVIOUS(); }
    if (NDOTS > 0 && runs) { grid_reduce(dots, target); }
}

template <typename VALUE, typename FACTOR>
__global__ static void __launch_bounds__(GPU_BLOCK)
    segment_kernel(const matrix_argument m, const FACTOR *x, const loop_predicate predicate, double *segment_sum)
{
    const split_rows_argument &split = m.split;
    int low = 0, high = split.nsplit - 1, segment = (int)blockIdx.x;
    double sum;
    int64_t begin, end;
    tess_scalars scalars;

    if (!loop_enter<true>(predicate, false, &scalars)) { return; }
    while (low < high) { /* the row of this segment */
        int middle = (low + high + 1) / 2;

        if (split.split_segment[middle] <= segment) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    begin = offset_of(m, split.split_row[low]) + (int64_t)(segment - split.split_segment[low]) * SEGMENT;
    end = offset_of(m, split.split_row[low] + 1);
    sum = block_row_sum<VALUE>(m, x, begin, end - begin > SEGMENT ? begin + SEGMENT : end);
    if (threadIdx.x == 0) { segment_sum[segment] = sum; }
}

/* Launches a product over `chunks` with at most `most` blocks on a multiprocessor. */
template <typename MATRIX>
static tess_status launch_kernel(tess_context *ctx,
                                 void (*kernel)(const MATRIX, const chunks_argument<typename MATRIX::CHUNK>,
                                                const tess_spmv_args, const loop_predicate, const reduce_target),
                                 int64_t most, const MATRIX &matrix, chunks_argument<typename MATRIX::CHUNK> chunks,
                                 int most_dots, const tess_spmv_args *args, const loop_predicate &predicate)
{
    enum { RESERVED_SHARED = 1280 }; /* additional bytes of each block */
    const gpu_state *state = gpu_state_of(ctx);
    size_t shared = (size_t)chunks.layout.all;
    int64_t resident = state->shared_bytes / ((int64_t)shared + RESERVED_SHARED);
    reduce_target target;
    unsigned grid;
    tess_status status = TESS_SUCCESS;

    resident = resident < 1 ? 1 : resident < most ? resident : most;
    resident *= state->multiprocessors;
    grid = (unsigned)(chunks.nchunks < resident ? chunks.nchunks : resident);
    chunks.turning = MATRIX::TURNS && grid % (unsigned)state->multiprocessors == 0 ? state->multiprocessors : 0;
    TESS_TRY(prepare_reduction(ctx, grid, most_dots > 0 ? args->reduction.ndots : 0, args->reduction.scalar,
                               args->reduction.state, &target));
    if (chunks.beside) {
        status =
            gpu_launch_beside(ctx, "a sparse product", kernel, grid, shared, matrix, chunks, *args, predicate, target);
    } else {
        status = gpu_launch(ctx, "a sparse product", kernel, grid, shared, matrix, chunks, *args, predicate, target);
    }
    status = end_reduction(ctx, status, target);
cleanup:
    return status;
}

/* By rows; the caller has evaluated the predicate. */
template <typename MATRIX, int NDOTS>
static tess_status launch_rows(tess_context *ctx, const MATRIX &matrix,
                               const chunks_argument<typename MATRIX::CHUNK> &chunks, const tess_spmv_args *args,
                               const loop_predicate &predicate)
{
    tess_status status = gpu_allow_shared(ctx, (const void *)rows_kernel<MATRIX, NDOTS>);

    if (status != TESS_SUCCESS) { return status; }
    return launch_kernel(ctx, rows_kernel<MATRIX, NDOTS>, CHUNK_BLOCKS, matrix, chunks, NDOTS, args, predicate);
}

/* By nonzeros; the caller has evaluated the predicate, and segments are summed. */
template <typename MATRIX, typename OFFSET, int NDOTS>
static tess_status launch_nonzeros(tess_context *ctx, const MATRIX &matrix,
                                   const chunks_argument<typename MATRIX::CHUNK> &chunks, const tess_spmv_args *args,
                                   const loop_predicate &predicate)
{
    return launch_kernel(ctx, nonzeros_kernel<MATRIX, OFFSET, NDOTS>, MATRIX::STREAM_BLOCKS, matrix, chunks, NDOTS,
                         args, predicate);
}

/* offset_bits: of the matrix, 32 or 64. */
template <typename MATRIX, int NDOTS>
static tess_status launch_chunks(tess_context *ctx, const MATRIX &matrix,
                                 const chunks_argument<typename MATRIX::CHUNK> &chunks, bool by_rows, int offset_bits,
                                 const tess_spmv_args *args, const loop_predicate &predicate)
{
    if (by_rows) { return launch_rows<MATRIX, NDOTS>(ctx, matrix, chunks, args, predicate); }
    return offset_bits == 32 ? launch_nonzeros<MATRIX, int32_t, NDOTS>(ctx, matrix, chunks, args, predicate)
                             : launch_nonzeros<MATRIX, int64_t, NDOTS>(ctx, matrix, chunks, args, predicate);
}

#endif
