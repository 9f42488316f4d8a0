/* SPDX-License-Identifier: Apache-2.0 */
/* Building packed records on the host, and decoding them: a slice at a time. */
#include <string.h>

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

/* The head of a slice; returns the units of its record. */
static int64_t measure_slice(const packed_source *source, const packed_view *v, int64_t slice, packed_head *head)
{
    slice_walk w;
    slice_place p;
    int offsets = 0;

    open_slice(source, v, slice, &w);
    memset(head, 0, sizeof *head);
    for (int l = 0; l < v->nlevels; l++) {
        int places = 0, count = 0, width = 0;

        open_level(&w, l);
        while (take_place(&w, &p)) {
            width = places == 0 || width == p.width ? p.width : PACKED_WIDTHS_DIFFER;
            places += 1;
            count += p.count;
            offsets += packed_offset_bytes(p.count, p.width);
        }
        head->word[l] = packed_word(places, count, width);
    }
    for (int lane = 0; lane < PACKED_SLICE; lane++) {
        if (packed_is_long(source->csr, v, slice, lane)) { head->word[0] |= PACKED_HAS_LONG; }
    }
    return packed_round(packed_place_parts(v, head) + offsets, PACKED_UNIT) / PACKED_UNIT;
}

tess_status packed_host_measure(tess_context *ctx, const packed_source *source, const packed_view *v, uint32_t *start,
                                int64_t *units)
{
    const int64_t records = v->nslices + v->nsegments;
    int64_t before = 0;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t r = 0; r < records; r++) {
        packed_head head;

        start[r] = (uint32_t)measure_slice(source, v, r, &head);
    }
    for (int64_t r = 0; r <= records; r++) {
        const uint32_t own = r < records ? start[r] : 0;

        start[r] = (uint32_t)before;
        before += own;
    }
    *units = before;
    return TESS_SUCCESS;
}

static void fill_slice(const packed_source *source, const packed_view *v, int64_t slice, char *record)
{
    const double *val = source->csr->val;
    packed_head *head = (packed_head *)(void *)record;
    char *at_level = record + sizeof *head, *offset = NULL;
    slice_walk w;
    slice_place p;

    (void)measure_slice(source, v, slice, head);
    offset = record + (ptrdiff_t)head->offsets * PACKED_UNIT;
    open_slice(source, v, slice, &w);
    for (int l = 0; l < v->nlevels; l++) {
        const int places = packed_places(head->word[l]);
        void *values = record + (ptrdiff_t)head->values[l] * PACKED_UNIT;
        uint8_t *length = (uint8_t *)at_level;
        int32_t *base = (int32_t *)(void *)(length + PACKED_SLICE);
        uint8_t *width = (uint8_t *)(base + places);
        int at = 0;

        if (places == 0) { continue; }
        at_level += packed_level_head(places);
        memset(length, 0, PACKED_SLICE);
        open_level(&w, l);
        for (int k = 0; take_place(&w, &p); k++) {
            base[k] = p.base;
            width[k] = (uint8_t)p.width;
            for (int i = 0; i < p.count; i++) {
                const int32_t column = source->csr->col_ind[p.entry[i]];

                length[p.lane[i]] += 1;
                packed_offset_set(offset, p.width, i, (uint32_t)(column - p.lane[i]) - (uint32_t)p.base);
                tess_store(v->precision[l], values, at + i, val[p.entry[i]], TESS_OVERFLOW_INFINITY);
            }
            at += p.count;
            offset += packed_offset_bytes(p.count, p.width);
        }
    }
}

tess_status packed_host_fill(tess_context *ctx, const packed_source *source, const packed_view *v, char *record)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (v->nnz > HOST_SERIAL_WORK)
    for (int64_t r = 0; r < v->nslices + v->nsegments; r++) {
        fill_slice(source, v, r, record + (int64_t)v->start[r] * PACKED_UNIT);
    }
    return TESS_SUCCESS;
}

static void decode_slice(const packed_source *source, const packed_view *v, int64_t slice, int32_t *col_ind,
                         double *val)
{
    const char *record = v->record + (int64_t)v->start[slice] * PACKED_UNIT;
    const packed_head *head = (const packed_head *)(const void *)record;
    const char *at_level = record + sizeof *head, *offset = record + (ptrdiff_t)head->offsets * PACKED_UNIT;
    slice_walk w;
    slice_place p;

    open_slice(source, v, slice, &w);
    for (int l = 0; l < v->nlevels; l++) {
        const int places = packed_places(head->word[l]);
        const int32_t *base = (const int32_t *)(const void *)(at_level + PACKED_SLICE);
        const uint8_t *width = (const uint8_t *)(base + places);
        const void *values = record + (ptrdiff_t)head->values[l] * PACKED_UNIT;
        int at = 0;

        at_level += packed_level_head(places);
        open_level(&w, l);
        for (int k = 0; k < places && take_place(&w, &p); k++) {
            for (int i = 0; i < p.count; i++) {
                if (col_ind) {
                    col_ind[p.entry[i]] =
                        (int32_t)((uint32_t)(base[k] + p.lane[i]) + packed_offset(offset, width[k], i));
                }
                if (val) { val[p.entry[i]] = tess_load(v->precision[l], values, at + i); }
            }
            at += p.count;
            offset += packed_offset_bytes(p.count, width[k]);
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
