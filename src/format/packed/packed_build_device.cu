/* SPDX-License-Identifier: Apache-2.0 */
/* Building packed records on the GPU, and decoding them: a thread for each row of a slice. */
#include "device/gpu/scan.cuh"
#include "format/decode_entries.cuh"
#include "format/packed/packed_lanes.cuh"

/* A row's next entry at the level that is walked, and the places that all rows have come to. */
struct row_walk {
    const packed_source &source;
    packed_range row;
    int64_t next;
    int level;

    __device__ inline row_walk(const packed_source &from, const packed_view &v, int64_t record, int lane)
        : source(from), row(packed_range_of(from.csr, &v, record, lane)), next(0), level(0)
    {
    }
    __device__ inline void open(int at)
    {
        level = at;
        next = row.begin;
    }
    /* The entry that this row has at the next place; -1: none. */
    __device__ inline int64_t take()
    {
        const int64_t entry = packed_next(&source, level, next, row.end);

        next = entry < row.end ? entry + 1 : entry;
        return entry < row.end ? entry : -1;
    }
};

/* The columns of a place. */
struct place_columns {
    int32_t base;
    int width;

    __device__ inline place_columns(const packed_lanes &by, const packed_source &source, int64_t entry)
    {
        const int32_t own = entry >= 0 ? source.csr->col_ind[entry] - by.lane : 0;

        base = by.least(entry >= 0 ? own : INT32_MAX);
        width = packed_width_of((uint32_t)by.most(entry >= 0 ? own : INT32_MIN) - (uint32_t)base);
    }
};

/* The words of a slice's sections, and the units of each; returns those of all. All its threads call it. */
__device__ static inline int64_t measure_slice(const packed_lanes &by, const packed_source &source,
                                               const packed_view &v, int64_t slice, packed_section *section)
{
    const bool has_long = by.ballot(packed_is_long(source.csr, &v, slice, by.lane)) != 0;
    row_walk walk(source, v, slice, by.lane);
    int64_t all = 0;

    for (int l = 0; l < v.nlevels; l++) {
        int places = 0, count = 0, width = 0, offsets = 0;

        walk.open(l);
        for (;;) {
            const int64_t entry = walk.take();
            const uint32_t lanes = by.ballot(entry >= 0);

            if (lanes == 0) { break; }
            const place_columns columns(by, source, entry);

            width = places == 0 || width == columns.width ? columns.width : (int)PACKED_WIDTHS_DIFFER;
            places += 1;
            count += __popc(lanes);
            offsets += packed_offset_bytes(__popc(lanes), columns.width);
        }
        const uint32_t word = packed_word(places, count, width, v.precision[l], has_long);

        if (by.lane == 0) { section[l] = {(uint32_t)all, word}; }
        if (places > 0) { all += packed_round(packed_offsets_at(word) + offsets, PACKED_UNIT) / PACKED_UNIT; }
    }
    return all;
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    measure_kernel(const csr_view csr, packed_source source, const packed_view v, packed_section *section,
                   uint32_t *units)
{
    const packed_lanes by;

    source.csr = &csr;
    for (int64_t r = by.first_slice(); r < v.nslices + v.nsegments; r += by.step()) {
        const int64_t own = measure_slice(by, source, v, r, section + r * v.nlevels);

        if (by.lane == 0) { units[r] = (uint32_t)own; }
    }
}

/* Runs of as many slices as a block has threads: the units of run b go to counts[b]; or with sections, the runs' first
   units are in `counts`, and the sections of slices get their places. */
__global__ static void __launch_bounds__(GPU_BLOCK)
    places_kernel(int64_t slices, int nlevels, const uint32_t *units, int64_t *counts, packed_section *section)
{
    const int64_t r = (int64_t)blockIdx.x * GPU_BLOCK + threadIdx.x;
    const int64_t own = r < slices ? units[r] : 0;
    int64_t all = 0, before = scan_block<GPU_BLOCK>(own, &all);

    if (!section) {
        if (threadIdx.x == 0) { counts[blockIdx.x] = all; }
        return;
    }
    before += counts[blockIdx.x];
    for (int l = 0; r < slices && l < nlevels; l++) {
        section[r * nlevels + l].start += (uint32_t)before;
    }
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    fill_kernel(const csr_view csr, packed_source source, const packed_view v, char *record)
{
    const packed_lanes by;

    source.csr = &csr;
    for (int64_t r = by.first_slice(); r < v.nslices + v.nsegments; r += by.step()) {
        row_walk walk(source, v, r, by.lane);

        for (int l = 0; l < v.nlevels; l++) {
            const packed_section section = v.section[r * v.nlevels + l];
            const uint32_t word = section.word;
            char *const at = record + (int64_t)section.start * PACKED_UNIT;
            char *offset = at + packed_offsets_at(word);
            int32_t *const base = (int32_t *)(void *)(at + packed_bases_at(word));
            int before = 0, own = 0;

            walk.open(l);
            for (int k = 0; k < packed_places(word); k++) {
                const int64_t entry = walk.take();
                const uint32_t lanes = by.ballot(entry >= 0);
                const place_columns columns(by, source, entry);
                const int rank = by.rank(lanes);

                if (by.lane == 0) {
                    base[k] = columns.base;
                    if (packed_width(word) == PACKED_WIDTHS_DIFFER) {
                        at[packed_widths_at(word) + k] = (char)columns.width;
                    }
                }
                if (entry >= 0) {
                    own += 1;
                    packed_offset_set(offset, columns.width, rank,
                                      (uint32_t)(csr.col_ind[entry] - by.lane) - (uint32_t)columns.base);
                    tess_store(v.precision[l], at + packed_values_at(word), before + rank,
                               ((const double *)csr.val)[entry], TESS_OVERFLOW_INFINITY);
                }
                before += __popc(lanes);
                offset += packed_offset_bytes(__popc(lanes), columns.width);
            }
            if (!packed_is_full(word)) { at[by.lane] = (char)own; }
        }
    }
}

__global__ static void __launch_bounds__(GPU_BLOCK)
    decode_kernel(const csr_view csr, packed_source source, const packed_view v, int32_t *col_ind, double *val)
{
    const packed_lanes by;

    source.csr = &csr;
    for (int64_t r = by.first_slice(); r < v.nslices + v.nsegments; r += by.step()) {
        row_walk walk(source, v, r, by.lane);

        packed_decode_left_out(&source, walk.row, col_ind, val);
        for (int l = 0; l < v.nlevels; l++) {
            const packed_section section = v.section[r * v.nlevels + l];
            const uint32_t word = section.word;
            const char *const at = v.record + (int64_t)section.start * PACKED_UNIT;
            const char *offset = at + packed_offsets_at(word);
            const int32_t *const base = (const int32_t *)(const void *)(at + packed_bases_at(word));
            int before = 0;

            walk.open(l);
            for (int k = 0; k < packed_places(word); k++) {
                const int64_t entry = walk.take();
                const uint32_t lanes = by.ballot(entry >= 0);
                const int rank = by.rank(lanes), width = packed_place_width(at, word, k);

                if (entry >= 0 && col_ind) {
                    col_ind[entry] = (int32_t)((uint32_t)(base[k] + by.lane) + packed_offset(offset, width, rank));
                }
                if (entry >= 0 && val) {
                    val[entry] = tess_load(v.precision[l], at + packed_values_at(word), before + rank);
                }
                before += __popc(lanes);
                offset += packed_offset_bytes(__popc(lanes), width);
            }
        }
    }
}

static unsigned grid_of(const tess_context *ctx, const packed_view *v)
{
    return gpu_grid(ctx, (v->nslices + v->nsegments) * PACKED_SLICE, 8);
}

extern "C" tess_status packed_gpu_measure(tess_context *ctx, const packed_source *source, const packed_view *v,
                                          packed_section *section, int64_t *units)
{
    gpu_scope scope(ctx);
    GPU(Stream_t) stream = gpu_stream_of(ctx);
    const int64_t slices = v->nslices + v->nsegments, nruns = (slices + GPU_BLOCK - 1) / GPU_BLOCK;
    const series_base base = {};
    double *workspace = NULL;
    int64_t *counts = NULL;
    uint32_t *own = NULL;
    tess_status status = TESS_SUCCESS;

    *units = 0;
    if (slices == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_device_allocate(ctx, slices, sizeof *own, (void **)&own));
    TESS_TRY(gpu_parts(ctx, nruns + 1, &workspace));
    counts = (int64_t *)(void *)workspace;
    measure_kernel<<<grid_of(ctx, v), GPU_BLOCK, 0, stream>>>(*source->csr, *source, *v, section, own);
    TESS_TRY(gpu_check_launch(ctx, "measuring packed slices"));
    places_kernel<<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(slices, v->nlevels, own, counts, NULL);
    TESS_TRY(gpu_check_launch(ctx, "adding packed slices"));
    scan_series_kernel<<<1, SCAN_BLOCK, 0, stream>>>(nruns, base, counts, counts + nruns);
    TESS_TRY(gpu_check_launch(ctx, "placing runs of packed slices"));
    places_kernel<<<(unsigned)nruns, GPU_BLOCK, 0, stream>>>(slices, v->nlevels, own, counts, section);
    TESS_TRY(gpu_check_launch(ctx, "placing packed slices"));
    status = ctx->backend->download(ctx, units, counts + nruns, sizeof *units);
cleanup:
    tess_device_release(ctx, own, slices, sizeof *own);
    return status;
}

extern "C" tess_status packed_gpu_fill(tess_context *ctx, const packed_source *source, const packed_view *v,
                                       char *record)
{
    gpu_scope scope(ctx);

    if (v->nslices == 0) { return TESS_SUCCESS; }
    fill_kernel<<<grid_of(ctx, v), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*source->csr, *source, *v, record);
    return gpu_check_launch(ctx, "storing packed slices");
}

extern "C" tess_status packed_gpu_decode(tess_context *ctx, const packed_source *source, const packed_view *v,
                                         int32_t *col_ind, double *val)
{
    gpu_scope scope(ctx);

    return gpu_decode_entries(ctx, v->nnz, col_ind, val, [&](int32_t *columns, double *values) {
        decode_kernel<<<grid_of(ctx, v), GPU_BLOCK, 0, gpu_stream_of(ctx)>>>(*source->csr, *source, *v, columns,
                                                                             values);
        return gpu_check_launch(ctx, "decoding packed slices");
    });
}
