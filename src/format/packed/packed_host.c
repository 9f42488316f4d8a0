/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of packed matrices on the host: a place of a slice at a time, so that loops over its 32 rows vectorise. Each
 * row adds its entries level after level, place after place, for any number of threads.
 */
#include <string.h>

#include "device/host/host.h"
#include "format/packed/packed_slices.h"
#include "format/store_host.h"

/* Slices of a chunk: its dot products are one partial sum. Values of a level at most. */
enum { CHUNK = 32, CHUNK_ROWS = CHUNK * PACKED_SLICE, MOST_VALUES = PACKED_SLICE * PACKED_MOST_PLACES };

/* A section. */
typedef struct level_run {
    int places, count;
    uint32_t word;
    const char *at;
} level_run;

/* A place in which each row has an entry. */
#define ADD_FULL(OFFSET)                                                  \
    for (int lane = 0; lane < PACKED_SLICE; lane++) {                     \
        sum[lane] += (double)value[lane] * (double)from[lane + (OFFSET)]; \
    }

/* Adds the entries of a section to the sums of its rows. */
#define ADD_LEVEL(NAME, VALUE, VECTOR)                                                                              \
    HOST_CLONES static void NAME(const level_run *run, const VALUE *value, const VECTOR *x, double *restrict sum)   \
    {                                                                                                               \
        const bool full = packed_is_full(run->word);                                                                \
        const int32_t *base = (const int32_t *)(const void *)(run->at + packed_bases_at(run->word));                \
        const uint8_t *length = (const uint8_t *)run->at;                                                           \
        const char *offset = run->at + packed_offsets_at(run->word);                                                \
                                                                                                                    \
        for (int k = 0; k < run->places; k++) {                                                                     \
            const int width = packed_place_width(run->at, run->word, k);                                            \
            const VECTOR *const from = full ? x + base[k] : x;                                                      \
            const uint8_t *const narrow = (const uint8_t *)offset;                                                  \
            const uint16_t *const middle = (const uint16_t *)(const void *)offset;                                  \
            const uint32_t *const wide = (const uint32_t *)(const void *)offset;                                    \
            int count = PACKED_SLICE;                                                                               \
                                                                                                                    \
            if (full) {                                                                                             \
                switch (width) {                                                                                    \
                case 0: ADD_FULL(0) break;                                                                          \
                case 1: ADD_FULL(narrow[lane]) break;                                                               \
                case 2: ADD_FULL(middle[lane]) break;                                                               \
                default: ADD_FULL((int64_t)wide[lane]) break;                                                       \
                }                                                                                                   \
            } else {                                                                                                \
                count = 0;                                                                                          \
                for (int lane = 0; lane < PACKED_SLICE; lane++) {                                                   \
                    if (length[lane] <= k) { continue; }                                                            \
                    sum[lane] += (double)value[count] *                                                             \
                                 (double)x[(int64_t)base[k] + lane + (int64_t)packed_offset(offset, width, count)]; \
                    count += 1;                                                                                     \
                }                                                                                                   \
            }                                                                                                       \
            value += count;                                                                                         \
            offset += packed_offset_bytes(count, width);                                                            \
        }                                                                                                           \
    }
ADD_LEVEL(add_fp64, double, double)
ADD_LEVEL(add_fp32, float, double)
ADD_LEVEL(add_fp64_by_fp32, double, float)
ADD_LEVEL(add_fp32_by_fp32, float, float)
#undef ADD_LEVEL
#undef ADD_FULL

/* The sums of the rows of a slice, or of the pieces of a segment. Values in less than FP32 are decoded to it. */
static void sum_slice(const packed_view *v, int64_t slice, const void *x, bool fp32, double *sum)
{
    float decoded[MOST_VALUES];

    memset(sum, 0, PACKED_SLICE * sizeof *sum);
    for (int l = 0; l < v->nlevels; l++) {
        const packed_section section = v->section[slice * v->nlevels + l];
        const char *at = v->record + (int64_t)section.start * PACKED_UNIT;
        const void *values = at + packed_values_at(section.word);
        const level_run run = {packed_places(section.word), packed_count(section.word), section.word, at};

        if (run.places == 0) { continue; }
        if (v->precision[l] == TESS_PRECISION_FP64) {
            if (fp32) {
                add_fp64_by_fp32(&run, values, x, sum);
            } else {
                add_fp64(&run, values, x, sum);
            }
        } else {
            const float *from = host_read_fp32((tess_operand){values, v->precision[l]}, 0, run.count, decoded);

            if (fp32) {
                add_fp32_by_fp32(&run, from, x, sum);
            } else {
                add_fp32(&run, from, x, sum);
            }
        }
    }
}

/* Puts the sums of long rows among those of a chunk, which begins at row `first`. */
static void place_long(const packed_view *v, int64_t first, int64_t end, double *sum)
{
    for (int64_t j = tess_last_up_to(v->long_row, v->nlong, first); j < v->nlong && v->long_row[j] < end; j++) {
        double all = 0.0;

        if (v->long_row[j] < first) { continue; }
        for (int64_t s = v->long_segment[j]; s < v->long_segment[j + 1]; s++) {
            all += v->segment_sum[s];
        }
        sum[v->long_row[j] - first] = all;
    }
}

static void multiply_chunk(const packed_view *v, const tess_spmv_args *args, int64_t chunk, double *dots)
{
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;
    const void *x = fp32 ? (const void *)args->x_fp32 : args->x;
    const int64_t begin = chunk * CHUNK, first = begin * PACKED_SLICE;
    const int64_t slices = v->nslices - begin < CHUNK ? v->nslices - begin : CHUNK;
    const int64_t rows = v->nrows - first < CHUNK_ROWS ? v->nrows - first : CHUNK_ROWS;
    double sum[CHUNK_ROWS];

    for (int64_t s = 0; s < slices; s++) {
        sum_slice(v, begin + s, x, fp32, sum + s * PACKED_SLICE);
    }
    if (v->nlong > 0) { place_long(v, first, first + rows, sum); }
    host_store_rows(args, v->arithmetic, first, (int)rows, sum, dots);
}

/* The pieces of a segment are added in their order. */
static void sum_segment(const packed_view *v, const tess_spmv_args *args, int64_t segment)
{
    const bool fp32 = args->vectors == TESS_PRECISION_FP32;
    double sum[PACKED_SLICE], all = 0.0;

    sum_slice(v, v->nslices + segment, fp32 ? (const void *)args->x_fp32 : args->x, fp32, sum);
    for (int lane = 0; lane < PACKED_SLICE; lane++) {
        all += sum[lane];
    }
    v->segment_sum[segment] = all;
}

static int64_t chunks_of(const packed_view *v)
{
    return (v->nslices + CHUNK - 1) / CHUNK;
}

static tess_status prepare(tess_context *ctx, const packed_view *v)
{
    double *partials = NULL;

    return host_partials(ctx, 2 * chunks_of(v), &partials);
}

static tess_status spmv(tess_context *ctx, const packed_view *v, const tess_spmv_args *args)
{
    const tess_reduction *reduction = &args->reduction;
    const int64_t nchunks = chunks_of(v);
    double *partials = NULL;
    tess_status status = TESS_SUCCESS;

    if (!host_enter(reduction->state, false, true)) { return TESS_SUCCESS; }
    status = host_partials(ctx, 2 * nchunks, &partials);
    if (status != TESS_SUCCESS) { return status; }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t s = 0; s < v->nsegments; s++) {
        sum_segment(v, args, s);
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t c = 0; c < nchunks; c++) {
        double dots[2] = {0.0, 0.0};

        multiply_chunk(v, args, c, dots);
        partials[c] = dots[0];
        partials[nchunks + c] = dots[1];
    }
    if (reduction->ndots > 0) {
        host_finish_reduction(partials, nchunks, reduction->ndots, reduction->scalar, reduction->state);
    }
    return TESS_SUCCESS;
}

const packed_ops packed_host_ops = {.measure = packed_host_measure,
                                    .fill = packed_host_fill,
                                    .decode = packed_host_decode,
                                    .prepare = prepare,
                                    .spmv = spmv};
