/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of powers of A on the GPU. A product is computed in slices of rows, so that rows which are not cut yet take
 * little memory; its weights only where a row has to be cut by them, or for the next product.
 */
#include "base/deadline.h"
#include "matrix/assembled.h"
#include "precond/inverse/inverse_pattern_device.cuh"

namespace {

/* Terms of a product that is computed at once. */
const int64_t most_terms = INT64_C(1) << 28;

/* A product power := power base, in slices of rows: slice s is that from first[s] to first[s + 1]. */
struct raise_task {
    tess_context *ctx;
    const inverse_request *q;
    device_csr base, power;
    bool last; /* the product is the power that is wanted */
    int64_t nslices, groups;
    int64_t *first;
    device_csr *part; /* of each slice */
};

/* Terms of the product in each group of GPU_BLOCK rows. */
__global__ void __launch_bounds__(GPU_BLOCK)
    count_terms_kernel(const device_csr power, const device_csr base, unsigned long long *terms)
{
    __shared__ unsigned long long of_block;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x;
    unsigned long long own = 0;

    if (threadIdx.x == 0) { of_block = 0; }
    __syncthreads();
    for (int32_t k = i < power.nrows ? power.row_ptr[i] : 0; i < power.nrows && k < power.row_ptr[i + 1]; k++) {
        const int32_t row = power.col_ind[k];

        own += static_cast<unsigned long long>(base.row_ptr[row + 1] - base.row_ptr[row]);
    }
    atomicAdd(&of_block, own);
    __syncthreads();
    if (threadIdx.x == 0) { terms[blockIdx.x] = of_block; }
}

/* Groups go to one slice until it has terms enough. */
void cut_slices(raise_task *t, const unsigned long long *terms)
{
    const int64_t wanted = t->q->slice_terms > 0 ? t->q->slice_terms : most_terms;
    unsigned long long sum = 0;

    t->nslices = 0;
    t->first[0] = 0;
    for (int64_t g = 0; g < t->groups; g++) {
        if (sum > 0 && sum + terms[g] > static_cast<unsigned long long>(wanted)) {
            t->first[++t->nslices] = g * GPU_BLOCK;
            sum = 0;
        }
        sum += terms[g];
    }
    t->first[++t->nslices] = t->power.nrows;
}

tess_status find_slices(raise_task *t)
{
    tess_context *ctx = t->ctx;
    unsigned long long *terms = nullptr, *on_device = nullptr;
    tess_status status = TESS_SUCCESS;

    t->groups = (t->power.nrows + GPU_BLOCK - 1) / GPU_BLOCK;
    TESS_TRY(tess_host_allocate(ctx, t->groups + 2, sizeof *t->first, reinterpret_cast<void **>(&t->first)));
    TESS_TRY(tess_host_allocate(ctx, t->groups, sizeof *terms, reinterpret_cast<void **>(&terms)));
    TESS_TRY(tess_device_allocate(ctx, t->groups, sizeof *terms, reinterpret_cast<void **>(&on_device)));
    if (t->groups > 0) {
        count_terms_kernel<<<static_cast<unsigned>(t->groups), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(t->power, t->base,
                                                                                                   on_device);
        TESS_TRY(gpu_check_launch(ctx, "counting the terms of a power"));
    }
    TESS_TRY(ctx->backend->download(ctx, terms, on_device, static_cast<size_t>(t->groups) * sizeof *terms));
    cut_slices(t, terms);
    TESS_TRY(tess_host_allocate(ctx, t->nslices, sizeof *t->part, reinterpret_cast<void **>(&t->part)));
    for (int64_t s = 0; s < t->nslices; s++) {
        t->part[s] = {};
    }
cleanup:
    tess_device_release(ctx, on_device, t->groups, sizeof *terms);
    tess_host_release(ctx, terms, t->groups, sizeof *terms);
    return status;
}

void free_slices(raise_task *t)
{
    for (int64_t s = 0; t->part && s < t->nslices; s++) {
        device_csr_release(t->ctx, &t->part[s]);
    }
    tess_host_release(t->ctx, t->part, t->nslices, sizeof *t->part);
    tess_host_release(t->ctx, t->first, t->groups + 2, sizeof *t->first);
}

device_csr slice_of(const raise_task *t, int64_t s)
{
    device_csr slice = t->power;

    slice.row_ptr += t->first[s];
    slice.nrows = t->first[s + 1] - t->first[s];
    slice.borrowed = true;
    return slice;
}

pattern_task rows_of_power(const raise_task *t, int64_t s, const device_csr &product)
{
    pattern_task task = {};

    task.from = inverse_view_of(product);
    task.first_row = t->first[s];
    task.rule = TAKE_WEIGHTS;
    return task;
}

/* product := itself, with rows of at most `most` entries and weights, of the weights that it has. */
tess_status cut_product(const raise_task *t, int64_t s, int most, device_csr *product)
{
    pattern_task task = rows_of_power(t, s, *product);
    device_csr kept = {};
    tess_status status = TESS_SUCCESS;

    task.most = most;
    TESS_TRY(inverse_keep_rows(t->ctx, task, true, &kept));
    device_csr_release(t->ctx, product);
    *product = kept;
cleanup:
    return status;
}

/* The rows of the inverse. *out stays empty if weights are needed. */
tess_status close_product(const raise_task *t, int64_t s, const device_csr &product, device_csr *out)
{
    pattern_task task = rows_of_power(t, s, product);

    task.most = t->q->entries.row;
    task.lower = t->q->symmetric;
    return inverse_keep_rows(t->ctx, task, false, out);
}

/* A slice of the product. Weights are computed where a row has to be cut by them, or for the next product. */
tess_status raise_slice(const raise_task *t, int64_t s)
{
    const device_csr_ops *ops = device_csr_ops_of(t->ctx);
    const int most = 2 * t->q->entries.row;
    const device_csr slice = slice_of(t, s);
    device_csr rows = slice, base = t->base, product = {};
    csr_view view = {};
    int longest = 0;
    tess_status status = TESS_SUCCESS;

    rows.val = base.val = nullptr;
    TESS_TRY(tess_deadline_check(t->ctx, "the pattern of an approximate inverse"));
    TESS_TRY(ops->multiply(t->ctx, &rows, &base, &product));
    view = inverse_view_of(product);
    TESS_TRY(inverse_longest_row(t->ctx, &view, &longest));
    if (!t->last || longest > most) {
        TESS_TRY(ops->multiply_again(t->ctx, &slice, &t->base, &product));
        TESS_TRY(cut_product(t, s, most, &product));
    }
    if (!t->last) {
        t->part[s] = product;
        return TESS_SUCCESS;
    }
    TESS_TRY(close_product(t, s, product, &t->part[s]));
    if (!t->part[s].row_ptr) {
        TESS_TRY(ops->multiply_again(t->ctx, &slice, &t->base, &product));
        status = close_product(t, s, product, &t->part[s]);
    }
cleanup:
    device_csr_release(t->ctx, &product);
    return status;
}

__global__ void __launch_bounds__(GPU_BLOCK)
    place_offsets_kernel(int64_t nrows, const int32_t *of_part, int32_t before, int32_t *row_ptr)
{
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * GPU_BLOCK + threadIdx.x; i <= nrows;
         i += static_cast<int64_t>(gridDim.x) * GPU_BLOCK) {
        row_ptr[i] = before + of_part[i];
    }
}

/* Copies a part to its place, after `before` entries. */
tess_status place_part(tess_context *ctx, const device_csr &part, int64_t first, int64_t before, device_csr *out)
{
    const size_t nnz = static_cast<size_t>(part.nnz);
    tess_status status = TESS_SUCCESS;

    place_offsets_kernel<<<gpu_grid(ctx, part.nrows + 1, PATTERN_BLOCKS), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(
        part.nrows, part.row_ptr, static_cast<int32_t>(before), out->row_ptr + first);
    TESS_TRY(gpu_check_launch(ctx, "offsets of a power"));
    TESS_TRY(ctx->backend->copy(ctx, out->col_ind + before, part.col_ind, nnz * sizeof *out->col_ind));
    if (out->val) { status = ctx->backend->copy(ctx, out->val + before, part.val, nnz * sizeof *out->val); }
cleanup:
    return status;
}

/* The slices as one matrix; each is freed. */
tess_status join_slices(raise_task *t, device_csr *out)
{
    tess_context *ctx = t->ctx;
    int64_t nnz = 0, before = 0;
    tess_status status = TESS_SUCCESS;

    if (t->nslices == 1) {
        *out = t->part[0];
        t->part[0] = {};
        return TESS_SUCCESS;
    }
    for (int64_t s = 0; s < t->nslices; s++) {
        nnz += t->part[s].nnz;
    }
    TESS_TRY(inverse_require_offsets(ctx, nnz));
    TESS_TRY(device_csr_allocate_rows(ctx, t->power.nrows, t->power.ncols, out));
    TESS_TRY(device_csr_allocate_entries(ctx, nnz, t->part[0].val != nullptr, out));
    for (int64_t s = 0; s < t->nslices; s++) {
        TESS_TRY(place_part(ctx, t->part[s], t->first[s], before, out));
        before += t->part[s].nnz;
        device_csr_release(ctx, &t->part[s]);
    }
cleanup:
    if (status != TESS_SUCCESS) { device_csr_release(ctx, out); }
    return status;
}

/* *out := power base, with rows cut; the last one is the inverse's pattern. */
tess_status raise_power(const inverse_request *q, const device_csr &power, const device_csr &base, bool last,
                        device_csr *out)
{
    raise_task t = {};
    tess_status status = TESS_SUCCESS;

    t.ctx = q->a->ctx;
    t.q = q;
    t.base = base;
    t.power = power;
    t.last = last;
    TESS_TRY(find_slices(&t));
    for (int64_t s = 0; s < t.nslices; s++) {
        TESS_TRY(raise_slice(&t, s));
    }
    status = join_slices(&t, out);
cleanup:
    free_slices(&t);
    return status;
}

} // namespace

tess_status inverse_power_on_device(const inverse_request *q, device_csr *out)
{
    tess_context *ctx = q->a->ctx;
    device_csr base = {}, power = {}, next = {};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(inverse_keep_rows(ctx, inverse_large_entries(q, false, 2 * q->entries.row), true, &base));
    for (int k = 1; k < q->entries.power; k++) {
        const bool last = k + 1 == q->entries.power;

        TESS_TRY(raise_power(q, k == 1 ? base : power, base, last, last ? out : &next));
        device_csr_release(ctx, &power);
        power = next;
        next = {};
    }
cleanup:
    device_csr_release(ctx, &power);
    device_csr_release(ctx, &base);
    return status;
}
