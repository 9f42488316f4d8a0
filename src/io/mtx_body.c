/* SPDX-License-Identifier: Apache-2.0 */
/* All entries of a Matrix Market body: window by window, each cut at line ends into chunks for the threads. */
#include <math.h>
#include <string.h>

#include <tessera/names.h>

#include "io/mtx.h"

enum { CHUNK_BYTES = 1 << 17, FIRST_GUESS_BYTES = 4 /* compressed bytes per entry, to start with */ };

typedef struct chunk_list {
    mtx_chunk *chunks;
    int64_t count;
} chunk_list;

typedef struct body_reader {
    text_source *source;
    const mtx_header *header;
    mtx_entries *entries;
    chunk_list now, next; /* of the current window, and of the one that is being fetched */
    int64_t chunk_capacity;
    int64_t upper;
} body_reader;

/* ---- space for entries ---- */

/* Space for `wanted` entries; those already there are kept. */
static tess_status reserve(tess_context *ctx, const mtx_header *header, mtx_entries *entries, int64_t wanted)
{
    const int parts = header->is_complex ? 2 : 1;
    mtx_entries larger = {.count = entries->count, .capacity = wanted, .parts = parts};
    tess_status status = TESS_SUCCESS;

    if (header->coordinate) {
        TESS_TRY(tess_host_allocate(ctx, wanted, sizeof *larger.row, (void **)&larger.row));
        TESS_TRY(tess_host_allocate(ctx, wanted, sizeof *larger.col, (void **)&larger.col));
    }
    if (!header->pattern) {
        TESS_TRY(tess_host_allocate(ctx, wanted * parts, sizeof *larger.val, (void **)&larger.val));
    }
    if (entries->count > 0 && larger.row) {
        memcpy(larger.row, entries->row, (size_t)entries->count * sizeof *larger.row);
        memcpy(larger.col, entries->col, (size_t)entries->count * sizeof *larger.col);
    }
    if (entries->count > 0 && larger.val) {
        memcpy(larger.val, entries->val, (size_t)entries->count * (size_t)parts * sizeof *larger.val);
    }
    mtx_entries_release(ctx, entries);
    *entries = larger;
    return TESS_SUCCESS;
cleanup:
    mtx_entries_release(ctx, &larger);
    return status;
}

void mtx_entries_release(tess_context *ctx, mtx_entries *entries)
{
    tess_host_release(ctx, entries->row, entries->capacity, sizeof *entries->row);
    tess_host_release(ctx, entries->col, entries->capacity, sizeof *entries->col);
    tess_host_release(ctx, entries->val, entries->capacity * entries->parts, sizeof *entries->val);
    *entries = (mtx_entries){0};
}

/* All at once if the size of the text confirms the header, else a first guess that grows. */
static int64_t first_capacity(const text_source *source, const mtx_header *header)
{
    int64_t guess = source->stored_bytes < 0 ? 1 << 20 : source->stored_bytes / FIRST_GUESS_BYTES + 1;

    if (header->entries <= source->text_bytes / mtx_smallest_line(header) + 1) { return header->entries; }
    return header->entries < guess ? header->entries : guess;
}

static tess_status make_workspace(body_reader *reader, int64_t lines)
{
    mtx_entries *entries = reader->entries;
    int64_t wanted = entries->count + lines, doubled = 2 * entries->capacity;

    if (wanted <= entries->capacity) { return TESS_SUCCESS; }
    doubled = doubled < reader->header->entries ? doubled : reader->header->entries;
    return reserve(reader->source->ctx, reader->header, entries, doubled > wanted ? doubled : wanted);
}

/* ---- one window ---- */

/* Sixteen counters, none beyond 255, one for each byte of a vector: the comparison is 0 or -1. */
static int64_t count_newlines(const char *p, const char *end)
{
    typedef uint8_t counters __attribute__((vector_size(16)));
    const counters newline = (counters){0} + '\n';
    int64_t count = 0;

    while (end - p >= 16) {
        const char *stop = end - p > 255 * 16 ? p + 255 * 16 : p + (end - p) / 16 * 16;
        counters sums = {0};

        for (; p < stop; p += 16) {
            counters text;

            memcpy(&text, p, sizeof text);
            sums -= (counters)(text == newline);
        }
        for (int i = 0; i < 16; i++) {
            count += sums[i];
        }
    }
    for (; p < end; p++) {
        count += *p == '\n';
    }
    return count;
}

/* Cuts a window after the newline that follows each CHUNK_BYTES, and counts lines. */
static void cut_chunks(const char *text, const char *text_end, chunk_list *list)
{
    list->count = 0;
    for (const char *p = text; p < text_end;) {
        const char *end = text_end;

        if (end - p > CHUNK_BYTES) {
            end = p + CHUNK_BYTES;
            end = (const char *)memchr(end, '\n', (size_t)(text_end - end)) + 1;
        }
        list->chunks[list->count++] = (mtx_chunk){.text = p, .end = end, .lines = count_newlines(p, end)};
        p = end;
    }
}

/* From the lines of each chunk follow the place of its entries and the number of its first line. Returns the lines of
   the window. */
static int64_t place_chunks(body_reader *reader)
{
    int64_t first_line = reader->source->line, at = reader->entries->count;

    for (int64_t i = 0; i < reader->now.count; i++) {
        mtx_chunk *chunk = &reader->now.chunks[i];

        chunk->first_line = first_line;
        chunk->at = at;
        first_line += chunk->lines;
        at += chunk->lines;
    }
    return at - reader->entries->count;
}

static void fetch_window(body_reader *reader)
{
    text_source_fetch(reader->source);
    cut_chunks(reader->source->fetched_text, reader->source->fetched_end, &reader->next);
}

/* The threads share the chunks; one of them first prepares the next window. */
static void parse_chunks(body_reader *reader)
{
    int threads = reader->source->ctx->threads;

    threads = reader->now.count < threads ? (int)reader->now.count : threads;
#pragma omp parallel num_threads(threads)
    {
#pragma omp single nowait
        fetch_window(reader);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < reader->now.count; i++) {
            mtx_parse_chunk(reader->header, &reader->now.chunks[i], reader->entries);
        }
    }
}

/* Blank lines leave gaps between the chunks' entries: later entries move up. */
static void close_gap(mtx_entries *entries, const mtx_chunk *chunk)
{
    size_t count = (size_t)chunk->count;

    if (entries->row) {
        memmove(entries->row + entries->count, entries->row + chunk->at, count * sizeof *entries->row);
        memmove(entries->col + entries->count, entries->col + chunk->at, count * sizeof *entries->col);
    }
    if (entries->val) {
        memmove(entries->val + entries->parts * entries->count, entries->val + entries->parts * chunk->at,
                count * (size_t)entries->parts * sizeof *entries->val);
    }
}

/* The line of the first entry beyond the announced number. */
static tess_status fail_surplus(const body_reader *reader, const mtx_chunk *chunk, int64_t skip)
{
    int64_t line = chunk->first_line;
    char quoted[MTX_QUOTE_BYTES];
    const char *p = chunk->text;

    for (;; line++) {
        p += strspn(p, " \t");
        if (*p != '\n' && *p != '\r' && skip-- == 0) { break; }
        p = (const char *)memchr(p, '\n', (size_t)(chunk->end - p)) + 1;
    }
    return tess_fail_at(reader->source->ctx, TESS_PARSE, reader->source->name, line,
                        "correct the number of entries, or remove the surplus lines",
                        "'%s' follows the last entry, but line %lld announces %s", mtx_quote(p, chunk->end, quoted),
                        (long long)reader->header->size_line, tess_count(reader->header->entries, "entry").text);
}

static tess_status gather_chunks(body_reader *reader)
{
    mtx_entries *entries = reader->entries;

    for (int64_t i = 0; i < reader->now.count; i++) {
        const mtx_chunk *chunk = &reader->now.chunks[i];

        if (entries->count + chunk->count > reader->header->entries) {
            return fail_surplus(reader, chunk, reader->header->entries - entries->count);
        }
        if (chunk->problem != MTX_FINE) { return mtx_fail_chunk(reader->source, reader->header, chunk); }
        if (chunk->at != entries->count) { close_gap(entries, chunk); }
        entries->count += chunk->count;
        reader->upper += chunk->upper;
    }
    return TESS_SUCCESS;
}

/* Parses the current window and makes the next one current. */
static tess_status read_window(body_reader *reader)
{
    text_source *source = reader->source;
    chunk_list done = reader->now;
    int64_t lines = place_chunks(reader);
    tess_status status = make_workspace(reader, lines);

    if (status != TESS_SUCCESS) { return status; }
    parse_chunks(reader);
    status = gather_chunks(reader);
    if (status != TESS_SUCCESS) { return status; }
    source->line += lines;
    reader->now = reader->next;
    reader->next = done;
    return text_source_advance(source);
}

/* ---- the body ---- */

/* Lists for the chunks of a full window. The first current window is what the header left of the first one. */
static tess_status begin_body(body_reader *reader)
{
    text_source *source = reader->source;
    size_t size = sizeof *reader->now.chunks;
    tess_status status = TESS_SUCCESS;

    reader->chunk_capacity = source->capacity / CHUNK_BYTES + 2;
    TESS_TRY(tess_host_allocate(source->ctx, reader->chunk_capacity, size, (void **)&reader->now.chunks));
    TESS_TRY(tess_host_allocate(source->ctx, reader->chunk_capacity, size, (void **)&reader->next.chunks));
    TESS_TRY(reserve(source->ctx, reader->header, reader->entries, first_capacity(source, reader->header)));
    if (source->text == source->end) { TESS_TRY(text_source_advance(source)); }
    cut_chunks(source->text, source->end, &reader->now);
cleanup:
    return status;
}

tess_status mtx_read_body(text_source *source, const mtx_header *header, mtx_entries *entries, int64_t *upper)
{
    body_reader reader = {.source = source, .header = header, .entries = entries};
    tess_status status = TESS_SUCCESS;

    *entries = (mtx_entries){0};
    TESS_TRY(begin_body(&reader));
    while (reader.now.count > 0) {
        TESS_TRY(read_window(&reader));
    }
    if (entries->count < header->entries) {
        status = tess_fail_at(source->ctx, TESS_PARSE, source->name, source->line - 1, "the file may be incomplete",
                              "the file ends after %lld of the %s that line %lld announces", (long long)entries->count,
                              tess_count(header->entries, "entry").text, (long long)header->size_line);
    }
cleanup:
    *upper = reader.upper;
    tess_host_release(source->ctx, reader.now.chunks, reader.chunk_capacity, sizeof *reader.now.chunks);
    tess_host_release(source->ctx, reader.next.chunks, reader.chunk_capacity, sizeof *reader.next.chunks);
    if (status != TESS_SUCCESS) { mtx_entries_release(source->ctx, entries); }
    return status;
}

/* ---- arrays ---- */

/* First value of column j in a triangle of n columns that has `first` entries in its longest column. */
static int64_t column_start(int64_t j, int64_t first)
{
    return j * first - j * (j - 1) / 2;
}

/* The column of the k-th value: from the quadratic's root, then one step up or down for its rounding. */
static int64_t triangle_column(int64_t k, int64_t first)
{
    double b = (double)first + 0.5;
    double root = b - sqrt(fmax(b * b - 2.0 * (double)k, 0.0));
    int64_t j = (int64_t)root;

    while (j > 0 && column_start(j, first) > k) {
        j--;
    }
    while (column_start(j + 1, first) <= k) {
        j++;
    }
    return j;
}

void mtx_array_position(const mtx_header *header, int64_t k, int64_t *row, int64_t *col)
{
    int64_t n = header->nrows, skip = header->symmetry == TESS_SYMMETRY_SKEW;

    if (header->symmetry == TESS_SYMMETRY_GENERAL) {
        *row = k % n;
        *col = k / n;
        return;
    }
    *col = triangle_column(k, n - skip);
    *row = *col + skip + (k - column_start(*col, n - skip));
}
