/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product of a matrix in parts on the GPU, each part with slices of its own precision: one launch. A block takes
 * BLOCK * ROWS positions of one part, which it finds by its place (the parts' blocks alternate, so that parts of x are
 * read by all at about the same time), and switches over the part's precision: all its threads take the same branch.
 * ellr_product.cuh has the method; the shape is that of a part in FP64, which needs the most registers. The additional
 * data of a part needs registers too: without dot products, where there are many blocks, fewer entries are in flight
 * than for one view.
 */
#include "format/ellr/ellr_parts.cuh"

/* The parts as a kernel argument. */
struct part_arguments {
    ellr_view view[ELLR_MAX_PARTS];
    ellr_turns turns;
    int passes; /* over the positions of all parts */
};

template <int NDOTS>
struct parts_shape : shape<NDOTS, double, double> {
    static constexpr int ROWS = tuning<double, double>::ROWS;
    static constexpr int BATCH = NDOTS == 0 ? 6 : 8; /* at most */
};

/* Rows of a part: first as in its slices, then as rows of y. */
template <int ROWS>
struct part_rows : thread_rows<any_value, ROWS> {
    int exponent[ROWS]; /* of the scale */

    /* A part without slices has empty rows only. */
    __device__ inline void find_in(const ellr_view &v, int64_t position)
    {
        if (v.nslices > 0) {
            this->find(v, position);
        } else {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                this->length[r] = 0;
                this->row[r] = (int)ellr_rank_at(position + r);
            }
            this->width = 0;
            this->wide = false;
            this->val = NULL;
            this->col = NULL;
        }
        map(v);
    }

    /* Rows that do not exist get a negative length; columns can be relative to their number. */
    __device__ inline void map(const ellr_view &v)
    {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            int i = this->row[r], last = (int)v.nrows - 1;

            if (i > last) { this->length[r] = -1; }
            exponent[r] = v.exponent ? gpu_load_once(v.exponent + min(i, last)) : 0;
            this->row[r] = v.row_of ? gpu_load_once(v.row_of + min(i, last)) : (int)v.row_shift + i;
        }
    }
};

template <int NDOTS, bool LOW>
__global__ static void GPU_LAUNCH_BOUNDS(parts_shape<NDOTS>::BLOCK, parts_shape<NDOTS>::BLOCKS)
    parts_kernel(const part_arguments parts, const tess_spmv_args args, const loop_predicate predicate,
                 const reduce_target target)
{
    constexpr int ROWS = parts_shape<NDOTS>::ROWS, PASS = parts_shape<NDOTS>::PASS;
    double dots[NDOTS > 0 ? NDOTS : 1] = {};
    bool entered = false;

    /* A block's threads stay together: all evaluate the predicate, and all reach the reduction. */
    for (int pass = (int)blockIdx.x; pass < parts.passes; pass += (int)gridDim.x) {
        const ellr_turn turn = ellr_turn_of(&parts.turns, pass);
        const ellr_view &v = parts.view[turn.part];
        int64_t position = (int64_t)turn.index * PASS + (int64_t)threadIdx.x * ROWS;
        bool inside = position < (v.nrows + ELLR_SLICE - 1) / ELLR_SLICE * ELLR_SLICE;
        part_rows<ROWS> rows;
        double sum[ROWS] = {};
        tess_scalars scalars;

        if (inside) { rows.find_in(v, position); }
        /* No kernel of a loop writes the data loaded so far; x comes from the previous kernel. */
        if (!entered && !loop_enter<true>(predicate, NDOTS > 0, &scalars)) { return; }
        entered = true;
        if (!inside) { continue; }
        sum_part_rows<LOW, parts_shape<NDOTS>::BATCH>(v.precision, rows, args, sum);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (rows.length[r] >= 0) {
                double value = spmv_finish_row(&args, rows.row[r], sum[r] * tess_power_of_two(rows.exponent[r]));

                spmv_add_row_dots(&args, NDOTS, rows.row[r], value, dots);
            }
        }
        if (parts_shape<NDOTS>::ONE_PASS) { break; }
    }
    if (NDOTS > 0) { grid_reduce(dots, target); }
}

/* ---- launching ---- */

template <int NDOTS, bool LOW>
static tess_status launch(tess_context *ctx, int count, const ellr_view *views, const tess_spmv_args *args)
{
    typedef parts_shape<NDOTS> blocks;
    int64_t needed = 0, resident = (int64_t)blocks::BLOCKS * gpu_state_of(ctx)->multiprocessors;
    part_arguments parts = {};
    int passes[ELLR_MAX_PARTS] = {};
    unsigned grid;
    loop_predicate predicate;
    reduce_target target;
    tess_status status = TESS_SUCCESS;

    for (int p = 0; p < count; p++) {
        parts.view[p] = views[p];
        passes[p] = (int)((views[p].nrows + blocks::PASS - 1) / blocks::PASS);
        needed += passes[p];
    }
    parts.turns = ellr_make_turns(passes);
    parts.passes = (int)needed;
    if (needed == 0) { return TESS_SUCCESS; }
    grid = (unsigned)(blocks::ONE_PASS || needed < resident ? needed : resident);
    TESS_TRY(make_settled_predicate(ctx, args->reduction.state, &predicate));
    TESS_TRY(
        prepare_reduction(ctx, grid, args->reduction.ndots, args->reduction.scalar, args->reduction.state, &target));
    status = gpu_launch_blocks(ctx, "a product by parts in slices", parts_kernel<NDOTS, LOW>, grid, blocks::BLOCK, 0,
                               parts, *args, predicate, target);
    status = end_reduction(ctx, status, target);
cleanup:
    return status;
}

/* Kernels for two dot products also serve one: they are long, and another sum costs little. */
template <bool LOW>
static tess_status select_kernel(tess_context *ctx, int count, const ellr_view *views, const tess_spmv_args *args)
{
    return args->reduction.ndots == 0 ? launch<0, LOW>(ctx, count, views, args)
                                      : launch<2, LOW>(ctx, count, views, args);
}

/* Whether there is one part that is a plain matrix, with a plain product. */
static bool is_plain(int count, const ellr_view *views, const tess_spmv_args *args)
{
    const ellr_view *v = &views[0];

    return count == 1 && v->nslices > 0 && !v->row_of && v->row_shift == 0 && !v->exponent && !args->y_shadow &&
           args->y && args->update.kind == TESS_UPDATE_NONE &&
           (args->low_arithmetic == TESS_ARITHMETIC_FP64 || v->precision == TESS_PRECISION_FP64);
}

extern "C" tess_status ellr_gpu_spmv_parts(tess_context *ctx, int count, const ellr_view *views,
                                           const tess_spmv_args *args)
{
    gpu_scope scope(ctx);
    tess_status status = ellr_check_parts(ctx, count, views, args);

    if (status != TESS_SUCCESS) { return status; }
    if (is_plain(count, views, args)) { return ellr_gpu_ops()->spmv(ctx, &views[0], args); }
    return args->low_arithmetic == TESS_ARITHMETIC_FP32 ? select_kernel<true>(ctx, count, views, args)
                                                        : select_kernel<false>(ctx, count, views, args);
}
