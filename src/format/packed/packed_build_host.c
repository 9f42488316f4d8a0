/* SPDX-License-Identifier: Apache-2.0 */
/* Building packed records on the host, and decoding them: a slice at a time. */
#include "device/host/host.h"
#include "format/packed/packed_slices.h"

/* The rows of a slice, and the next entry of each at the level that is walked. */
typedef struct slice_walk {
    const packed_source *source;
    packed_range row[PACKED_SLICE];
    int64_t next[PACKED_SLICE];
    int level;
} slice_walk;

/* The entries of a place: those of `count` rows. */
typedef struct slice_place {
    int count;
    int lane[PACKED_SLICE];
    int64_t entry[PACKED_SLICE];
    int32_t base;
    int width;
} slice_place;

static void open_slice(const packed_source *source, const packed_view *v, int64_t slice, slice_walk *w)
{
    w->source = source;
    for (int lane = 0; lane < PACKED_SLICE; lane++) {
        w->row[lane] = packed_range_of(source->csr, v, slice, lane);
    }
}

static void open_level(slice_walk *w, int level)
{
    w->level = level;
    for (int lane = 0; lane < PACKED_SLICE; lane++) {
        w->next[lane] = w->row[lane].begin;
    }
}

/* The next place; false: there is none. */
static bool take_place(slice_walk *w, slice_place *p)
{
    const int32_t *column = w->source->csr->col_ind;
    int32_t least = INT32_MAX, most = INT32_MIN;

    p->count = 0;
    for (int lane = 0; lane < PACKED_SLICE; lane++) {
        const int64_t entry = packed_next(w->source, w->level, w->next[lane], w->row[lane].end);

        w->next[lane] = entry;
        if (entry == w->row[lane].end) { continue; }
        w->next[lane] += 1;
        least = column[entry] - lane < least ? column[entry] - lane : least;
        most = column[entry] - lane > most ? column[entry] - lane : most;
        p->lane[p->count] = lane;
        p->entry[p->count] = entry;
        p->count += 1;
    }
    p->base = least;
    p->width = p->count > 0 ? packed_width_of((uint32_t)most - (uint32_t)least) : 0;
    return p->count > 0;
}

/* The words of a slice's sections, and the units of each; returns those of all. */
static int64_t measure_slice(const packed_source *source, const packed_view *v, int64_t slice, packed_section *section)
{
    slice_walk w;
    slice_place p;
    bool has_long = false;
    int64_t all = 0;

    open_slice(source, v, slice, &w);
    for (int lane = 0; lane < PACKED_SLICE; lane++) {
        has_long = has_long || packed_is_long(source->csr, v, slice, lane);
    }
    for (int l = 0; l < v->nlevels; l++) {
        int places = 0, count = 0, width = 0, offsets = 0;
        uint32_t word = 0;

        open_level(&w, l);
        while (take_place(&w, &p)) {
            width = places == 0 || width == p.width ? p.width : PACKED_WIDTHS_DIFFER;
            places += 1;
            count += p.count;
            offsets += packed_offset_bytes(p.count, p.width);
        }
        word = packed_word(places, count, width, v->precision[l], has_long);
        section[l] = (packed_section){(uint32_t)all, word};
        if (places > 0) { all += packed_round(packed_offsets_at(word) + offsets, PACKED_UNIT) / PACKED_UNIT; }
    }
    return all;
}

tess_status packed_host_measure(tess_context *ctx, const packed_source *source, const packed_view *v,
                                packed_section *section, int64_t *units)
{
    const int64_t records = v->nslices + v->nsegments;
    int64_t *before = NULL, all = 0;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, records, sizeof *before, (void **)&before));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t r = 0; r < records; r++) {
        before[r] = measure_slice(source, v, r, section + r * v->nlevels);
    }
    for (int64_t r = 0; r < records; r++) {
        for (int l = 0; l < v->nlevels; l++) {
            section[r * v->nlevels + l].start += (uint32_t)all;
        }
        all += before[r];
    }
    *units = all;
cleanup:
    tess_host_release(ctx, before, records, sizeof *before);
    return status;
}

static void fill_slice(const packed_source *source, const packed_view *v, int64_t slice, char *record)
{
    const double *val = source->csr->val;
    slice_walk w;
    slice_place p;

    open_slice(source, v, slice, &w);
    for (int l = 0; l < v->nlevels; l++) {
        const packed_section section = v->section[slice * v->nlevels + l];
        const uint32_t word = section.word;
        char *at = record + (int64_t)section.start * PACKED_UNIT, *offset = at + packed_offsets_at(word);
        int32_t *base = (int32_t *)(void *)(at + packed_bases_at(word));
        int before = 0;

        if (packed_places(word) == 0) { continue; }
        open_level(&w, l);
        for (int k = 0; take_place(&w, &p); k++) {
            base[k] = p.base;
            if (packed_width(word) == PACKED_WIDTHS_DIFFER) { at[packed_widths_at(word) + k] = (char)p.width; }
            for (int i = 0; i < p.count; i++) {
                const int32_t column = source->csr->col_ind[p.entry[i]];

                if (!packed_is_full(word)) { at[p.lane[i]] = (char)(k + 1); }
                packed_offset_set(offset, p.width, i, (uint32_t)(column - p.lane[i]) - (uint32_t)p.base);
                tess_store(v->precision[l], at + packed_values_at(word), before + i, val[p.entry[i]],
                           TESS_OVERFLOW_INFINITY);
            }
            before += p.count;
            offset += packed_offset_bytes(p.count, p.width);
        }
    }
}

tess_status packed_host_fill(tess_context *ctx, const packed_source *source, const packed_view *v, char *record)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t r = 0; r < v->nslices + v->nsegments; r++) {
        fill_slice(source, v, r, record);
    }
    return TESS_SUCCESS;
}

static void decode_slice(const packed_source *source, const packed_view *v, int64_t slice, int32_t *col_ind,
                         double *val)
{
    slice_walk w;
    slice_place p;

    open_slice(source, v, slice, &w);
    for (int lane = 0; lane < PACKED_SLICE; lane++) {
        packed_decode_left_out(source, w.row[lane], col_ind, val);
    }
    for (int l = 0; l < v->nlevels; l++) {
        const packed_section section = v->section[slice * v->nlevels + l];
        const uint32_t word = section.word;
        const char *at = v->record + (int64_t)section.start * PACKED_UNIT, *offset = at + packed_offsets_at(word);
        const int32_t *base = (const int32_t *)(const void *)(at + packed_bases_at(word));
        int before = 0;

        open_level(&w, l);
        for (int k = 0; k < packed_places(word) && take_place(&w, &p); k++) {
            const int width = packed_place_width(at, word, k);

            for (int i = 0; i < p.count; i++) {
                if (col_ind) {
                    col_ind[p.entry[i]] = (int32_t)((uint32_t)(base[k] + p.lane[i]) + packed_offset(offset, width, i));
                }
                if (val) { val[p.entry[i]] = tess_load(v->precision[l], at + packed_values_at(word), before + i); }
            }
            before += p.count;
            offset += packed_offset_bytes(p.count, width);
        }
    }
}

tess_status packed_host_decode(tess_context *ctx, const packed_source *source, const packed_view *v, int32_t *col_ind,
                               double *val)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t r = 0; r < v->nslices + v->nsegments; r++) {
        decode_slice(source, v, r, col_ind, val);
    }
    return TESS_SUCCESS;
}
