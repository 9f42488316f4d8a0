/* SPDX-License-Identifier: Apache-2.0 */
/* Building split and composite storage on the host. Every row or entry has one place, so the result does not depend on
   the order of threads. */
#include <string.h>

#include "base/offsets.h"
#include "device/host/host.h"
#include "format/split/split.h"
#include "format/split/split_rows.h"

/* Rows of a run, which are counted together. */
enum { RUN = 4096 };

static int64_t runs_of(int64_t count)
{
    return (count + RUN - 1) / RUN;
}

static int64_t run_end(int64_t run, int64_t count)
{
    return (run + 1) * RUN < count ? (run + 1) * RUN : count;
}

/* ---- order ---- */

/* Rows of each part in a run. */
static void count_run(const split_source *source, int nlevels, int64_t run, int64_t nrows, int64_t *count)
{
    memset(count, 0, SPLIT_MAX_PARTS * sizeof *count);
    for (int64_t i = run * RUN; i < run_end(run, nrows); i++) {
        count[split_part_of(source->level[i], nlevels)] += 1;
    }
}

static void place_run(const split_source *source, int nlevels, int64_t run, const split_order *order,
                      const int64_t *first)
{
    int64_t place[SPLIT_MAX_PARTS];

    memcpy(place, first, sizeof place);
    for (int64_t i = run * RUN; i < run_end(run, order->nrows); i++) {
        int64_t position = place[split_part_of(source->level[i], nlevels)]++;

        order->row_of[position] = (int32_t)i;
        if (order->position_of) { order->position_of[i] = (int32_t)position; }
    }
}

static tess_status order_rows(tess_context *ctx, const split_source *source, int nlevels, const split_order *order)
{
    int64_t nruns = runs_of(order->nrows), next[SPLIT_MAX_PARTS];
    int64_t(*first)[SPLIT_MAX_PARTS] = NULL;
    tess_status status = tess_host_allocate(ctx, nruns, sizeof *first, (void **)&first);

    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nruns > 4)
    for (int64_t r = 0; r < nruns; r++) {
        count_run(source, nlevels, r, order->nrows, first[r]);
    }
    memcpy(next, order->begin, sizeof next);
    for (int64_t r = 0; r < nruns; r++) {
        for (int p = 0; p < SPLIT_MAX_PARTS; p++) {
            int64_t count = first[r][p];

            first[r][p] = next[p];
            next[p] += count;
        }
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nruns > 4)
    for (int64_t r = 0; r < nruns; r++) {
        place_run(source, nlevels, r, order, first[r]);
    }
    tess_host_release(ctx, first, nruns, sizeof *first);
    return TESS_SUCCESS;
}

/* ---- levels of entries, from those of blocks ---- */

static void spread_row(const csr_view *csr, const block_grid *grid, const uint8_t *of_block, int64_t row,
                       uint8_t *level)
{
    const int64_t block_row = row / grid->rows, end = grid->first[block_row + 1];
    const int shift = block_grid_shift(grid->cols);
    int64_t b = grid->first[block_row];

    for (int64_t k = tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row);
         k < tess_row_offset(csr->row_ptr, csr->row_ptr_bits, row + 1); k++) {
        const int32_t column = csr->col_ind[k] >> shift;

        while (b < end && grid->column[b] < column) {
            b++;
        }
        level[k] = b < end && grid->column[b] == column ? of_block[b] : (uint8_t)TESS_LEVEL_NONE;
    }
}

static tess_status spread(tess_context *ctx, const csr_view *csr, const block_grid *grid, const uint8_t *of_block,
                          uint8_t *level)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (csr->nnz > HOST_SERIAL_WORK)
    for (int64_t row = 0; row < csr->nrows; row++) {
        spread_row(csr, grid, of_block, row, level);
    }
    return TESS_SUCCESS;
}

/* ---- entries ---- */

static int64_t count_entries(const split_source *source, const split_rows *rows, int64_t i)
{
    split_span span = split_span_of(source, rows, i);
    int64_t count = 0;

    if (split_keeps_all(source, rows)) { return span.end - span.begin; }
    for (int64_t k = span.begin; k < span.end; k++) {
        count += split_keeps(source, rows, span.row, k);
    }
    return count;
}

static tess_status offsets(tess_context *ctx, const split_source *source, const split_rows *rows, int row_ptr_bits,
                           void *row_ptr, int64_t *nnz)
{
    int64_t total = 0;

    tess_row_offset_set(row_ptr, row_ptr_bits, 0, 0);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (source->csr->nnz > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < rows->count; i++) {
        tess_row_offset_set(row_ptr, row_ptr_bits, i + 1, count_entries(source, rows, i));
    }
    for (int64_t i = 0; i < rows->count; i++) {
        total += tess_row_offset(row_ptr, row_ptr_bits, i + 1);
        tess_row_offset_set(row_ptr, row_ptr_bits, i + 1, total);
    }
    if (nnz) { *nnz = total; }
    return TESS_SUCCESS;
}

static void copy_row(const split_source *source, const split_rows *rows, int64_t i, const csr_view *to,
                     const split_target *target)
{
    const split_span span = split_span_of(source, rows, i);
    const double *val = source->csr->val;
    int64_t place = tess_row_offset(to->row_ptr, to->row_ptr_bits, i);
    double inverse = target->scaled ? tess_power_of_two(-source->exponent[span.row]) : 1.0;

    for (int64_t k = span.begin; k < span.end; k++) {
        if (!split_keeps(source, rows, span.row, k)) { continue; }
        if (target->col_ind) {
            int32_t column = source->csr->col_ind[k];

            target->col_ind[place] = target->position_of ? target->position_of[column] : column;
        }
        if (target->val) { tess_store(to->precision, target->val, place, val[k] * inverse, TESS_OVERFLOW_INFINITY); }
        place += 1;
    }
}

static tess_status copy_entries(tess_context *ctx, const split_source *source, const split_rows *rows,
                                const csr_view *to, const split_target *target)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (to->nnz > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < rows->count; i++) {
        copy_row(source, rows, i, to, target);
    }
    return TESS_SUCCESS;
}

static tess_status count_layers(tess_context *ctx, const split_source *source, int nlevels, int64_t *nnz)
{
    int64_t count[TESS_LEVEL_NONE + 1] = {0};

    (void)ctx;
    for (int64_t k = 0; k < source->csr->nnz; k++) {
        count[source->level[k]] += 1;
    }
    memcpy(nnz, count, (size_t)nlevels * sizeof *nnz);
    return TESS_SUCCESS;
}

static tess_status copy_layers(tess_context *ctx, const split_source *source, int nlevels, const csr_view *to,
                               const split_target *target, bool with_offsets)
{
    for (int l = 0; l < nlevels; l++) {
        const split_rows rows = {NULL, source->csr->nrows, l};

        if (with_offsets) { (void)offsets(ctx, source, &rows, to[l].row_ptr_bits, target[l].row_ptr, NULL); }
        (void)copy_entries(ctx, source, &rows, &to[l], &target[l]);
    }
    return TESS_SUCCESS;
}

static tess_status exponents(tess_context *ctx, const split_source *source, const split_rows *rows, int16_t *exponent)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (rows->count > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < rows->count; i++) {
        exponent[i] = source->exponent[split_row(rows, i)];
    }
    return TESS_SUCCESS;
}

const split_ops split_host_ops = {.spread = spread,
                                  .order = order_rows,
                                  .offsets = offsets,
                                  .copy = copy_entries,
                                  .count_layers = count_layers,
                                  .copy_layers = copy_layers,
                                  .exponents = exponents,
                                  .spmv_layers = split_host_spmv_layers};
