/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended+i interpolation on the GPU, as interpolation.c has it: a thread takes a row, with its set in shared memory.
 * Rows whose sets do not fit are listed, and found again with sets in global memory.
 */
#include "precond/multigrid/row_set_device.cuh"
#include "precond/multigrid/split.h"

namespace {

/* Bytes that sets in global memory take together at most, and their threads on a multiprocessor. */
const int64_t most_set_bytes = INT64_C(1) << 28;
enum { LARGE_SET_BLOCKS = 4 };

/* Coarse neighbours of fine rows whose coupling has not the sign of the row's diagonal: a-_kl of eq. (4.10). On a known
   pattern also the others, with 0, so that sets do not depend on the signs of new values. */
struct neighbours {
    int32_t *first;  /* per row, and the end */
    int32_t *column; /* of a strong coupling; of others its complement */
    double *value;
    uint8_t *negative; /* per row: the sign of the diagonal */
    int64_t count;
};

struct interpolation_task {
    amg_device_interpolation to;
    neighbours near;
    row_output out;
    int32_t *overflow; /* rows of p whose sets are large, in any order */
    int *overflows;    /* how many; then the largest bound of their sets */
};

/* ---- coarse neighbours ---- */

__device__ inline bool is_negative(const device_csr &a, int64_t i)
{
    for (int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
        if (a.col_ind[k] == i) { return a.val[k] < 0.0; }
    }
    return false;
}

/* Writes a row's coarse neighbours from place `at` on, or counts them if `at` is negative. */
__device__ inline int32_t list_row(const interpolation_task &t, int64_t i, bool negative, int32_t at)
{
    const device_csr &a = t.to.a;
    int32_t count = 0;

    if (t.to.split[i] == AMG_COARSE) { return 0; }
    for (int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
        const int32_t j = a.col_ind[k];
        const bool has_own_sign = (a.val[k] < 0.0) == negative;

        if (t.to.split[j] != AMG_COARSE || (has_own_sign && !t.out.known)) { continue; }
        if (at >= 0) {
            t.near.column[at + count] = t.to.strong[k] ? j : ~j;
            t.near.value[at + count] = has_own_sign ? 0.0 : a.val[k];
        }
        count++;
    }
    return count;
}

__global__ void __launch_bounds__(GPU_BLOCK) count_neighbours_kernel(const interpolation_task t)
{
    for (int64_t i = first_thread(); i < t.to.a.nrows; i += all_threads()) {
        const bool negative = is_negative(t.to.a, i);

        t.near.negative[i] = negative;
        t.near.first[i + 1] = list_row(t, i, negative, -1);
    }
}

__global__ void __launch_bounds__(GPU_BLOCK) list_neighbours_kernel(const interpolation_task t)
{
    for (int64_t i = first_thread(); i < t.to.a.nrows; i += all_threads()) {
        (void)list_row(t, i, t.near.negative[i] != 0, t.near.first[i]);
    }
}

/* ---- a row ---- */

template <typename SET>
__device__ inline bool add_strong(const interpolation_task &t, int64_t row, SET &set)
{
    for (int32_t m = t.near.first[row]; m < t.near.first[row + 1]; m++) {
        if (t.near.column[m] >= 0 && !set.add(t.near.column[m])) { return false; }
    }
    return true;
}

/* C^_i: strong coarse neighbours of i and of its strong fine neighbours; eq. (4.9). false: the set has no space. */
template <typename SET>
__device__ inline bool find_set(const interpolation_task &t, int64_t i, SET &set)
{
    const device_csr &a = t.to.a;
    bool fits = add_strong(t, i, set);

    for (int32_t k = a.row_ptr[i]; fits && k < a.row_ptr[i + 1]; k++) {
        if (t.to.strong[k]) { fits = add_strong(t, a.col_ind[k], set); } /* coarse rows have no list */
    }
    return fits;
}

/* a_ki, or 0 */
__device__ inline double find_entry(const device_csr &a, int64_t k, int64_t i)
{
    int32_t low = a.row_ptr[k], high = a.row_ptr[k + 1], end = high;

    while (low < high) {
        const int32_t middle = low + (high - low) / 2;

        if (a.col_ind[middle] >= i) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low < end && a.col_ind[low] == i ? a.val[low] : 0.0;
}

__device__ inline int32_t column_of(const interpolation_task &t, int32_t m)
{
    const int32_t column = t.near.column[m];

    return column >= 0 ? column : ~column;
}

/* The coupling a_ik goes by way of k to the set and to i itself: the sums of eq. (4.10) and (4.11). Returns what a~_ii
   gains. */
template <typename SET>
__device__ inline double distribute(const interpolation_task &t, int64_t i, int32_t k, double coupling, SET &set)
{
    const int32_t begin = t.near.first[k], end = t.near.first[k + 1];
    double own = find_entry(t.to.a, k, i), sum;

    if ((own < 0.0) == (t.near.negative[k] != 0)) { own = 0.0; } /* a-_ki is 0 where its sign is the diagonal's */
    sum = own;
    for (int32_t m = begin; m < end; m++) {
        if (set.find(column_of(t, m)) >= 0) { sum += t.near.value[m]; }
    }
    if (sum == 0.0) { return coupling; }
    for (int32_t m = begin; m < end; m++) {
        const int place = set.find(column_of(t, m));

        if (place >= 0) { set.weight(place) += coupling * t.near.value[m] / sum; }
    }
    return coupling * own / sum;
}

/* Weights of row i to its set; eq. (4.10). Columns become those of p. */
template <typename SET>
__device__ inline void find_weights(const interpolation_task &t, int64_t i, SET &set)
{
    const device_csr &a = t.to.a;
    double diagonal = 0.0;

    for (int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
        const int32_t j = a.col_ind[k];
        const bool coarse = t.to.split[j] == AMG_COARSE;
        const int place = coarse ? set.find(j) : -1;

        if (place >= 0) {
            set.weight(place) += a.val[k];
        } else if (!coarse && t.to.strong[k]) {
            diagonal += distribute(t, i, j, a.val[k], set);
        } else { /* the diagonal and weak couplings; eq. (4.11) */
            diagonal += a.val[k];
        }
    }
    for (int s = 0; s < set.count; s++) {
        set.weight(s) = diagonal != 0.0 ? -set.weight(s) / diagonal : 0.0;
        set.column(s) = t.to.number[set.column(s)];
    }
}

__device__ inline int64_t row_of(const interpolation_task &t, int64_t r)
{
    return t.to.rows ? t.to.rows[r] : r;
}

/* An empty set becomes row r of p. false: it has no space. */
template <typename SET>
__device__ inline bool interpolate_row(const interpolation_task &t, int64_t r, SET &set)
{
    const int64_t i = row_of(t, r);

    if (t.to.split[i] == AMG_COARSE) {
        (void)set.add(t.to.number[i]);
        set.weight(0) = 1.0;
    } else {
        if (!find_set(t, i, set)) { return false; }
        find_weights(t, i, set);
    }
    write_set(t.out, set, r);
    return true;
}

__global__ void __launch_bounds__(ROW_THREADS) interpolate_kernel(const interpolation_task t)
{
    __shared__ double weights[SMALL_SET][ROW_THREADS];
    __shared__ int32_t columns[SMALL_SET][ROW_THREADS];
    const int64_t step = static_cast<int64_t>(gridDim.x) * ROW_THREADS;

    for (int64_t r = static_cast<int64_t>(blockIdx.x) * ROW_THREADS + threadIdx.x; r < t.to.nrows; r += step) {
        small_set set = {&columns[0][threadIdx.x], &weights[0][threadIdx.x], 0};

        if (!interpolate_row(t, r, set)) { t.overflow[atomicAdd(&t.overflows[0], 1)] = static_cast<int32_t>(r); }
    }
}

/* ---- large sets ---- */

/* At least the number of coarse neighbours at a distance of one or two. */
__device__ inline int64_t bound_set(const interpolation_task &t, int64_t i)
{
    const device_csr &a = t.to.a;
    int64_t bound = t.near.first[i + 1] - t.near.first[i];

    for (int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; k++) {
        if (t.to.strong[k]) { bound += t.near.first[a.col_ind[k] + 1] - t.near.first[a.col_ind[k]]; }
    }
    return min(bound, t.to.ncoarse);
}

__global__ void __launch_bounds__(GPU_BLOCK) bound_sets_kernel(const interpolation_task t, int64_t rows)
{
    for (int64_t r = first_thread(); r < rows; r += all_threads()) {
        atomicMax(&t.overflows[1], static_cast<int>(bound_set(t, row_of(t, t.overflow[r]))));
    }
}

/* Memory of `threads` threads: tables of `size` places and sets of `most` columns. */
struct set_memory {
    int64_t threads, size, most;
    int32_t *key, *place, *columns;
    double *weights;
};

__global__ void __launch_bounds__(ROW_THREADS)
    interpolate_large_kernel(const interpolation_task t, int64_t rows, const set_memory memory)
{
    const int64_t thread = static_cast<int64_t>(blockIdx.x) * ROW_THREADS + threadIdx.x;
    large_set set = {memory.columns + thread * memory.most,
                     memory.key + thread * memory.size,
                     memory.place + thread * memory.size,
                     memory.weights + thread * memory.most,
                     0,
                     0};

    for (int64_t r = thread; r < rows; r += memory.threads) {
        set.clear(bound_set(t, row_of(t, t.overflow[r])));
        (void)interpolate_row(t, t.overflow[r], set);
    }
}

tess_status make_memory(tess_context *ctx, int64_t rows, int64_t most, set_memory *out)
{
    const int64_t resident = static_cast<int64_t>(gpu_state_of(ctx)->multiprocessors) * LARGE_SET_BLOCKS;
    int64_t blocks = (rows + ROW_THREADS - 1) / ROW_THREADS, fitting = 0;
    tess_status status = TESS_SUCCESS;

    out->size = 16;
    while (out->size < 2 * most) {
        out->size *= 2;
    }
    out->most = most;
    fitting = most_set_bytes / (ROW_THREADS * (out->size * 8 + most * 12)); /* as large_set has them */
    blocks = blocks < resident ? blocks : resident;
    blocks = blocks < fitting ? blocks : fitting;
    out->threads = (blocks < 1 ? 1 : blocks) * ROW_THREADS;
    TESS_TRY(
        tess_device_allocate(ctx, out->threads * out->size, sizeof *out->key, reinterpret_cast<void **>(&out->key)));
    TESS_TRY(tess_device_allocate(ctx, out->threads * out->size, sizeof *out->place,
                                  reinterpret_cast<void **>(&out->place)));
    TESS_TRY(
        tess_device_allocate(ctx, out->threads * most, sizeof *out->columns, reinterpret_cast<void **>(&out->columns)));
    status =
        tess_device_allocate(ctx, out->threads * most, sizeof *out->weights, reinterpret_cast<void **>(&out->weights));
cleanup:
    return status;
}

void free_memory(tess_context *ctx, set_memory *m)
{
    tess_device_release(ctx, m->key, m->threads * m->size, sizeof *m->key);
    tess_device_release(ctx, m->place, m->threads * m->size, sizeof *m->place);
    tess_device_release(ctx, m->columns, m->threads * m->most, sizeof *m->columns);
    tess_device_release(ctx, m->weights, m->threads * m->most, sizeof *m->weights);
}

/* The rows that interpolate_kernel listed. */
tess_status interpolate_large(tess_context *ctx, const interpolation_task &t)
{
    int counts[2] = {0, 0};
    set_memory memory = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(ctx->backend->download(ctx, counts, t.overflows, sizeof counts));
    if (counts[0] == 0) { return TESS_SUCCESS; }
    bound_sets_kernel<<<gpu_grid(ctx, counts[0], PASS_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t, counts[0]);
    TESS_TRY(gpu_check_launch(ctx, "bounding rows of the interpolation"));
    TESS_TRY(ctx->backend->download(ctx, counts, t.overflows, sizeof counts));
    TESS_TRY(make_memory(ctx, counts[0], counts[1], &memory));
    interpolate_large_kernel<<<static_cast<unsigned>(memory.threads / ROW_THREADS), ROW_THREADS, 0,
                               gpu_stream_of(ctx)>>>(t, counts[0], memory);
    status = gpu_check_launch(ctx, "long rows of the interpolation");
cleanup:
    free_memory(ctx, &memory);
    return status;
}

/* ---- all rows ---- */

tess_status list_neighbours(tess_context *ctx, interpolation_task *t)
{
    const int64_t n = t->to.a.nrows;
    const unsigned grid = gpu_grid(ctx, n, PASS_BLOCKS);
    neighbours *near = &t->near;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(ctx, n + 1, sizeof *near->first, reinterpret_cast<void **>(&near->first)));
    TESS_TRY(tess_device_allocate(ctx, n, sizeof *near->negative, reinterpret_cast<void **>(&near->negative)));
    count_neighbours_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*t);
    TESS_TRY(gpu_sum_lengths(ctx, n, near->first, &near->count));
    TESS_TRY(tess_device_allocate(ctx, near->count, sizeof *near->column, reinterpret_cast<void **>(&near->column)));
    TESS_TRY(tess_device_allocate(ctx, near->count, sizeof *near->value, reinterpret_cast<void **>(&near->value)));
    list_neighbours_kernel<<<grid, GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*t);
    status = gpu_check_launch(ctx, "coarse neighbours");
cleanup:
    return status;
}

void free_task(tess_context *ctx, const interpolation_task *t)
{
    const neighbours *near = &t->near;
    const int64_t n = t->to.a.nrows;

    tess_device_release(ctx, near->first, n + 1, sizeof *near->first);
    tess_device_release(ctx, near->negative, n, sizeof *near->negative);
    tess_device_release(ctx, near->column, near->count, sizeof *near->column);
    tess_device_release(ctx, near->value, near->count, sizeof *near->value);
    tess_device_release(ctx, t->overflow, t->to.nrows, sizeof *t->overflow);
    tess_device_release(ctx, t->overflows, 2, sizeof *t->overflows);
    row_output_close(ctx, t->to.nrows, &t->out);
}

} // namespace

tess_status amg_device_interpolate(tess_context *ctx, const amg_device_interpolation *to, bool known, device_csr *p)
{
    gpu_scope scope(ctx);
    interpolation_task t = {};
    tess_status status = TESS_SUCCESS;

    t.to = *to;
    t.out.known = known;
    t.out.truncation = to->truncation;
    TESS_TRY(row_output_open(ctx, to->nrows, to->ncoarse, p, &t.out));
    TESS_TRY(tess_device_allocate(ctx, to->nrows, sizeof *t.overflow, reinterpret_cast<void **>(&t.overflow)));
    TESS_TRY(tess_device_allocate(ctx, 2, sizeof *t.overflows, reinterpret_cast<void **>(&t.overflows)));
    TESS_TRY(ctx->backend->zero(ctx, t.overflows, 2 * sizeof *t.overflows));
    TESS_TRY(list_neighbours(ctx, &t));
    interpolate_kernel<<<row_output_grid(ctx, to->nrows), ROW_THREADS, 0, gpu_stream_of(ctx)>>>(t);
    TESS_TRY(gpu_check_launch(ctx, "the interpolation"));
    TESS_TRY(interpolate_large(ctx, t));
    status = row_output_take(ctx, &t.out, p);
cleanup:
    free_task(ctx, &t);
    if (status != TESS_SUCCESS && !known) { device_csr_release(ctx, p); }
    return status;
}
