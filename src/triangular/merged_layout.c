/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of merged groups: lanes of rows, blocks of slices, records of blocks. */
#include "triangular/merged_layout.h"

#include <omp.h>
#include <string.h>

#include "base/by_precision.h"
#include "device/host/host.h"

/* Slices that a block processes at a time, and cycles: of 32 entries if all of these are busy, of one entry if few are,
   and of halving a sum. They decide how many lanes rows have. */
enum { SLICES_AT_ONCE = 16, BUSY_CYCLES = 8, IDLE_CYCLES = 12, SUM_CYCLES = 24, MAX_SHIFT = 5 };
enum { LONGEST_RECORD = 32768 };
/* Blocks' shares of groups that a thread writes at a time. */
enum { CELLS_AT_ONCE = 8 };
/* Entries of rewritten rows per original entry, about: more threads pay from the usual amount of work on. */
enum { USUAL_FILL = 4 };

static int64_t round_up(int64_t bytes, int64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

int64_t merged_shared_bytes(int64_t local, int64_t slot_bytes)
{
    return round_up(2 * local * (int64_t)sizeof(double), MERGED_LINE) + MERGED_SLOTS * slot_bytes;
}

/* Bytes of a slot, if vectors leave that much; 0: none. */
static int64_t slot_capacity(int64_t shared_bytes, int64_t local)
{
    const int64_t capacity = (shared_bytes - merged_shared_bytes(local, 0)) / MERGED_SLOTS / MERGED_LINE * MERGED_LINE;

    return capacity < 0 ? 0 : capacity < LONGEST_RECORD ? capacity : LONGEST_RECORD;
}

static int64_t entry_bytes(tess_precision precision, bool wide)
{
    return (int64_t)(tess_precision_bytes(precision) + (wide ? sizeof(uint32_t) : sizeof(uint16_t)));
}

static int64_t offset_bytes(int64_t slices)
{
    return round_up((slices + 1) * (int64_t)sizeof(uint16_t), MERGED_UNIT);
}

/* Bytes of a record with so many slices that have so many entries per lane together. */
static int64_t bytes_of_record(const merged_layout *l, int64_t slices, int64_t lengths)
{
    return round_up((int64_t)sizeof(merged_record) + offset_bytes(slices) +
                        lengths * MERGED_LANES * entry_bytes(l->precision, l->wide),
                    MERGED_LINE);
}

int64_t merged_longest_row(const merged_limits *limits, int64_t local, tess_precision precision, bool wide)
{
    const int64_t capacity =
        slot_capacity(limits->shared_bytes, local) - (int64_t)sizeof(merged_record) - offset_bytes(1);

    return capacity <= 0 ? 0 : capacity / entry_bytes(precision, wide) / MERGED_LANES * MERGED_LANES;
}

void merged_layout_release(tess_context *ctx, merged_layout *l)
{
    const int64_t groups = l->groups, n = l->rows ? l->rows->n : 0;

    tess_host_release(ctx, l->group, groups, sizeof *l->group);
    tess_host_release(ctx, l->position, n, sizeof *l->position);
    tess_host_release(ctx, l->place, n, sizeof *l->place);
    tess_host_release(ctx, l->begin, groups * l->blocks, sizeof *l->begin);
    tess_host_release(ctx, l->row, l->blocks * l->local, sizeof *l->row);
    tess_host_release(ctx, l->streams, l->blocks, sizeof *l->streams);
    merged_layout_release_records(ctx, l);
    *l = (merged_layout){0};
}

void merged_layout_release_records(tess_context *ctx, merged_layout *l)
{
    tess_host_release(ctx, l->records, l->record_bytes, 1);
    l->records = NULL;
}

/* ---- slices ---- */

static int64_t group_rows(const merged_layout *l, int64_t g)
{
    return l->rows->begin[g + 1] - l->rows->begin[g];
}

static int64_t slices_of(int64_t rows, int shift)
{
    return ((rows << shift) + MERGED_LANES - 1) / MERGED_LANES;
}

/* Entries of each lane in slice s of a group: the number that its first row, the longest, needs. */
static int64_t slice_length(const merged_layout *l, int64_t g, int64_t s, int shift)
{
    const int64_t first = l->rows->begin[g] + s * (MERGED_LANES >> shift);

    return (l->rows->length[l->position[first]] + (1 << shift) - 1) >> shift;
}

/* The cost of a group with 2^shift lanes per row. */
static int64_t cost_of_shift(const merged_layout *l, int64_t g, int shift)
{
    const int64_t slices = slices_of(group_rows(l, g), shift);
    const int64_t rounds = (slices + l->blocks * SLICES_AT_ONCE - 1) / (l->blocks * SLICES_AT_ONCE);
    int64_t lengths = 0;

    for (int64_t s = 0; s < slices; s++) {
        lengths += slice_length(l, g, s, shift);
    }
    return BUSY_CYCLES * lengths / l->blocks +
           rounds * (SUM_CYCLES * shift + IDLE_CYCLES * slice_length(l, g, 0, shift));
}

static int best_shift(const merged_layout *l, int64_t g)
{
    int64_t least = cost_of_shift(l, g, 0);
    int best = 0;

    for (int shift = 1; shift <= MAX_SHIFT; shift++) {
        const int64_t cost = cost_of_shift(l, g, shift);

        if (cost < least) {
            least = cost;
            best = shift;
        }
    }
    return best;
}

/* Positions of a group by falling length; positions of equal length keep their order. `count` has a place for each
   length and one more. */
static void sort_rows(merged_layout *l, int64_t g, int64_t longest, int64_t *count)
{
    const merged_rows *m = l->rows;

    memset(count, 0, (size_t)(longest + 2) * sizeof *count);
    for (int64_t p = m->begin[g]; p < m->begin[g + 1]; p++) {
        count[longest - m->length[p] + 1] += 1;
    }
    for (int64_t k = 0; k < longest; k++) {
        count[k + 1] += count[k];
    }
    for (int64_t p = m->begin[g]; p < m->begin[g + 1]; p++) {
        l->position[m->begin[g] + count[longest - m->length[p]]++] = (int32_t)p;
    }
}

/* Gives each row its block and its number there; `taken` counts the rows of each block. Slices are dealt to the blocks
   in turn. */
static void place_rows(merged_layout *l, int64_t g, int64_t *taken)
{
    const int64_t per_slice = MERGED_LANES >> l->group[g].shift, end = l->rows->begin[g + 1];
    int block = l->group[g].first_block;

    for (int64_t first = l->rows->begin[g]; first < end; first += per_slice) {
        const uint32_t base = l->blocks > 1 ? (uint32_t)block << 16 : 0U;

        for (int64_t i = first; i < first + per_slice && i < end; i++) {
            l->place[l->rows->row[l->position[i]]] = base + (uint32_t)taken[block]++;
        }
        block = block + 1 < l->blocks ? block + 1 : 0;
    }
}

/* Orders the rows of all groups and chooses their lanes; `count`: workspace of each thread, longest + 2 places. */
static void sort_groups(merged_layout *l, int64_t longest, int64_t *count, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1)
    for (int64_t g = 0; g < l->rows->groups; g++) {
        sort_rows(l, g, longest, count + omp_get_thread_num() * (longest + 2));
        l->group[g].shift = best_shift(l, g);
    }
}

static tess_status slice_rows(tess_context *ctx, merged_layout *l)
{
    const merged_rows *m = l->rows;
    const int threads = host_threads_for(ctx, m->entries / USUAL_FILL);
    int64_t taken[MERGED_MAX_BLOCKS] = {0}, longest = 0, slices = 0;
    int64_t *count = NULL;
    tess_status status = TESS_SUCCESS;

    for (int64_t p = 0; p < m->n; p++) {
        if (m->length[p] > longest) { longest = m->length[p]; }
    }
    TESS_TRY(tess_host_allocate(ctx, threads * (longest + 2), sizeof *count, (void **)&count));
    sort_groups(l, longest, count, threads);
    for (int64_t g = 0; g < m->groups; g++) {
        l->group[g].first_block = (int)(slices % l->blocks);
        slices += slices_of(group_rows(l, g), l->group[g].shift);
        place_rows(l, g, taken);
    }
    for (int b = 0; b < l->blocks; b++) {
        if (taken[b] > l->local) { l->local = taken[b]; }
        l->streams[b].rows = (uint32_t)taken[b];
    }
cleanup:
    tess_host_release(ctx, count, threads * (longest + 2), sizeof *count);
    return status;
}

/* ---- records ---- */

/* Part of a block's slices of a group: those in one record. */
typedef struct layout_piece {
    int64_t group;
    int block;
    int64_t slice, end; /* every blocks-th slice; end: the first one after it */
    int64_t slices, lengths;
} layout_piece;

static layout_piece open_pieces(const merged_layout *l, int64_t g, int block)
{
    const int64_t first = (block - l->group[g].first_block + l->blocks) % l->blocks;

    return (layout_piece){.group = g, .block = block, .slice = first, .end = first};
}

/* The next piece, as long as a record may be. */
static void next_piece(const merged_layout *l, layout_piece *p)
{
    const int shift = l->group[p->group].shift;
    const int64_t slices = slices_of(group_rows(l, p->group), shift);

    p->slice = p->end;
    p->slices = 0;
    p->lengths = 0;
    while (p->end < slices) {
        const int64_t length = slice_length(l, p->group, p->end, shift);

        if (bytes_of_record(l, p->slices + 1, p->lengths + length) > l->slot_bytes) { break; }
        p->slices += 1;
        p->lengths += length;
        p->end += l->blocks;
    }
}

static bool is_last(const merged_layout *l, const layout_piece *p)
{
    return p->end >= slices_of(group_rows(l, p->group), l->group[p->group].shift);
}

/* Sizes of all records. A slice that is too long for any record does not fit. */
static void measure_records(merged_layout *l)
{
    for (int b = 0; b < l->blocks; b++) {
        merged_stream *stream = &l->streams[b];

        stream->begin = l->record_bytes;
        for (int64_t g = 0; g < l->rows->groups; g++) {
            layout_piece piece = open_pieces(l, g, b);

            l->begin[g * l->blocks + b] = l->record_bytes;
            do {
                next_piece(l, &piece);
                if (piece.slices == 0 && !is_last(l, &piece)) {
                    l->fits = false;
                    return;
                }
                l->record_bytes += bytes_of_record(l, piece.slices, piece.lengths);
                stream->records += 1;
            } while (!is_last(l, &piece));
        }
    }
}

/* The entries of a record while it is written. */
typedef struct record_writer {
    const merged_layout *l;
    char *val, *index;
} record_writer;

/* A lane of a slice: its entries are next, next + 2^shift, .. below `last`. `own` is the index for missing entries: 0
   times b of the lane's row, or of the slice's first row if the lane has none. */
typedef struct layout_lane {
    int64_t next, last;
    uint32_t own;
} layout_lane;

static uint32_t index_of(const merged_layout *l, int32_t index)
{
    const int32_t n = (int32_t)l->rows->n;

    return index < n ? l->place[index] : l->place[index - n] + (uint32_t)l->local;
}

static layout_lane open_lane(const merged_layout *l, const layout_piece *piece, int64_t s, int lane)
{
    const merged_rows *m = l->rows;
    const int shift = l->group[piece->group].shift;
    const int64_t first = m->begin[piece->group] + s * (MERGED_LANES >> shift), i = first + (lane >> shift);
    const bool inside = i < m->begin[piece->group + 1];
    const int64_t p = l->position[inside ? i : first], start = m->start[p];

    return (layout_lane){.next = start + (lane & ((1 << shift) - 1)),
                         .last = inside ? start + m->length[p] : 0,
                         .own = index_of(l, (int32_t)m->n + m->row[p])};
}

static void write_index(const record_writer *w, int64_t at, uint32_t index)
{
    if (w->l->wide) {
        ((uint32_t *)w->index)[at] = index;
    } else {
        ((uint16_t *)w->index)[at] = (uint16_t)index;
    }
}

/* Slice s of a group, from entry `at` of each lane on. */
TESS_INLINE void write_slice(tess_precision precision, const record_writer *w, const layout_piece *piece, int64_t s,
                             int64_t at, int64_t length)
{
    const merged_rows *m = w->l->rows;
    const int64_t step = INT64_C(1) << w->l->group[piece->group].shift;
    layout_lane lanes[MERGED_LANES];

    for (int lane = 0; lane < MERGED_LANES; lane++) {
        lanes[lane] = open_lane(w->l, piece, s, lane);
    }
    for (int64_t k = at; k < at + length; k++) {
        for (int lane = 0; lane < MERGED_LANES; lane++) {
            const int64_t e = lanes[lane].next, to = k * MERGED_LANES + lane;
            const bool there = e < lanes[lane].last;

            tess_store(precision, w->val, to, there ? m->val[e] : 0.0, TESS_OVERFLOW_INFINITY);
            write_index(w, to, there ? index_of(w->l, m->index[e]) : lanes[lane].own);
            lanes[lane].next = e + step;
        }
    }
}

static void write_slice_as(const record_writer *w, const layout_piece *piece, int64_t s, int64_t at, int64_t length)
{
    CALL_BY_PRECISION(w->l->precision, write_slice, w, piece, s, at, length);
}

/* Numbers of a piece's rows among the block's rows. */
static void count_rows(const merged_layout *l, const layout_piece *piece, merged_record *head)
{
    const int64_t per_slice = MERGED_LANES >> l->group[piece->group].shift, rows = group_rows(l, piece->group);
    const int64_t begin = l->rows->begin[piece->group] + piece->slice * per_slice;
    const int64_t last = piece->end - l->blocks; /* slice */

    if (piece->slices == 0) { return; }
    head->first = l->place[l->rows->row[l->position[begin]]];
    if (l->blocks > 1) { head->first &= 0xFFFFU; }
    head->rows = (uint32_t)(piece->slices * per_slice);
    if ((last + 1) * per_slice > rows) { head->rows -= (uint32_t)((last + 1) * per_slice - rows); }
}

static int64_t write_record(const merged_layout *l, const layout_piece *piece, char *record)
{
    merged_record head = {
        .slices = (uint16_t)piece->slices, .shift = (uint8_t)l->group[piece->group].shift, .last = is_last(l, piece)};
    uint16_t *offset = (uint16_t *)(record + sizeof head);
    record_writer writer = {.l = l};
    int64_t at = 0;

    head.bytes = (uint32_t)bytes_of_record(l, piece->slices, piece->lengths);
    head.val_at = (uint32_t)((int64_t)sizeof head + offset_bytes(piece->slices));
    head.index_at =
        head.val_at + (uint32_t)(piece->lengths * MERGED_LANES * (int64_t)tess_precision_bytes(l->precision));
    count_rows(l, piece, &head);
    memset(record, 0, head.val_at);
    memcpy(record, &head, sizeof head);
    writer.val = record + head.val_at;
    writer.index = record + head.index_at;
    for (int64_t k = 0; k < piece->slices; k++) {
        const int64_t s = piece->slice + k * l->blocks, length = slice_length(l, piece->group, s, head.shift);

        offset[k] = (uint16_t)at;
        write_slice_as(&writer, piece, s, at, length);
        at += length;
    }
    offset[piece->slices] = (uint16_t)at;
    return head.bytes;
}

/* A block's records of a group. */
static void write_cell(const merged_layout *l, int64_t g, int block)
{
    layout_piece piece = open_pieces(l, g, block);
    char *record = l->records + l->begin[g * l->blocks + block];

    do {
        next_piece(l, &piece);
        record += write_record(l, &piece, record);
    } while (!is_last(l, &piece));
}

/* Writes into each record the length of the record MERGED_SLOTS later, and into streams the lengths of the first ones.
 */
static void look_ahead(const merged_layout *l, merged_stream *stream)
{
    char *before[MERGED_SLOTS] = {NULL}, *record = l->records + stream->begin;

    for (uint32_t q = 0; q < stream->records; q++) {
        merged_record *head = (merged_record *)record;
        merged_record *earlier = (merged_record *)before[q % MERGED_SLOTS];

        if (earlier) {
            earlier->ahead = head->bytes;
        } else {
            stream->bytes[q] = head->bytes;
        }
        before[q % MERGED_SLOTS] = record;
        record += head->bytes;
    }
}

tess_status merged_layout_fill(tess_context *ctx, merged_layout *l)
{
    const int threads = host_threads_for(ctx, l->rows->entries / USUAL_FILL);
    tess_status status = TESS_SUCCESS;

    if (!l->records) { TESS_TRY(tess_host_allocate(ctx, l->record_bytes, 1, (void **)&l->records)); }
#pragma omp parallel for num_threads(threads) schedule(dynamic, CELLS_AT_ONCE) if (threads > 1)
    for (int64_t cell = 0; cell < l->rows->groups * l->blocks; cell++) {
        write_cell(l, cell / l->blocks, (int)(cell % l->blocks));
    }
    for (int b = 0; b < l->blocks; b++) {
        look_ahead(l, &l->streams[b]);
    }
cleanup:
    return status;
}

/* ---- all of it ---- */

static void list_rows(merged_layout *l)
{
    memset(l->row, 0, (size_t)(l->blocks * l->local) * sizeof *l->row);
    for (int64_t row = 0; row < l->rows->n; row++) {
        const uint32_t place = l->place[row];

        if (l->blocks > 1) {
            l->row[(int64_t)(place >> 16) * l->local + (place & 0xFFFFU)] = (int32_t)row;
        } else {
            l->row[place] = (int32_t)row;
        }
    }
}

tess_status merged_layout_make(tess_context *ctx, const merged_rows *rows, const merged_limits *limits, int blocks,
                               tess_precision precision, merged_layout *out)
{
    const int64_t n = rows->n, cells = rows->groups * blocks;
    tess_status status = TESS_SUCCESS;

    *out = (merged_layout){.rows = rows, .groups = rows->groups, .blocks = blocks, .precision = precision};
    TESS_TRY(tess_host_allocate(ctx, rows->groups, sizeof *out->group, (void **)&out->group));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *out->position, (void **)&out->position));
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *out->place, (void **)&out->place));
    TESS_TRY(tess_host_allocate(ctx, cells, sizeof *out->begin, (void **)&out->begin));
    TESS_TRY(tess_host_allocate(ctx, blocks, sizeof *out->streams, (void **)&out->streams));
    memset(out->streams, 0, (size_t)blocks * sizeof *out->streams);
    TESS_TRY(slice_rows(ctx, out));
    out->wide = blocks > 1 || 2 * out->local > UINT16_MAX;
    out->slot_bytes = slot_capacity(limits->shared_bytes, out->local);
    out->fits = blocks == 1 || 2 * out->local <= UINT16_MAX;
    if (out->fits) { measure_records(out); }
    if (!out->fits) { goto cleanup; }
    TESS_TRY(tess_host_allocate(ctx, blocks * out->local, sizeof *out->row, (void **)&out->row));
    list_rows(out);
    status = merged_layout_fill(ctx, out);
cleanup:
    return status;
}
