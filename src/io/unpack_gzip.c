/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of gzip files, member after member. Intel's ISA-L inflates two to three times as fast as zlib, and like zlib
 * piece by piece, so that one thread inflates the next window while others read this one, and memory does not grow with
 * the file.
 */
#include <limits.h>
#include <string.h>
#include <zlib.h>

#include "io/unpack.h"

#ifdef TESS_ISAL
#include <isa-l/igzip_lib.h>
typedef struct inflate_state inflater;
#else
typedef z_stream inflater;
#endif

typedef struct gzip_state {
    unsigned char *input;
    bool opened;
    bool between; /* at the end of one gzip member */
    inflater stream;
} gzip_state;

/* What a step of either library says. */
typedef struct step {
    bool ended, failed, memory;
    const char *why;
} step;

#ifdef TESS_ISAL

static bool begin(inflater *stream)
{
    isal_inflate_init(stream);
    stream->crc_flag = ISAL_GZIP;
    return true;
}

static void begin_again(inflater *stream)
{
    isal_inflate_reset(stream);
    stream->crc_flag = ISAL_GZIP;
}

static void finish(inflater *stream)
{
    (void)stream;
}

static const char *reason(int code)
{
    switch (code) {
    case ISAL_INVALID_WRAPPER: return "incorrect header check";
    case ISAL_INCORRECT_CHECKSUM: return "incorrect data check";
    case ISAL_UNSUPPORTED_METHOD: return "unknown compression method";
    case ISAL_INVALID_LOOKBACK: return "invalid distance too far back";
    default: return "invalid code";
    }
}

static step advance(inflater *stream)
{
    const int code = isal_inflate(stream);

    return (step){.ended = code >= 0 && stream->block_state == ISAL_BLOCK_FINISH,
                  .failed = code < 0,
                  .why = code < 0 ? reason(code) : NULL};
}

#else

static bool begin(inflater *stream)
{
    *stream = (z_stream){0};
    return inflateInit2(stream, 15 + 16) == Z_OK;
}

static void begin_again(inflater *stream)
{
    inflateReset(stream);
}

static void finish(inflater *stream)
{
    inflateEnd(stream);
}

static step advance(inflater *stream)
{
    const int code = inflate(stream, Z_NO_FLUSH);

    return (step){.ended = code == Z_STREAM_END,
                  .failed = code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR,
                  .memory = code == Z_MEM_ERROR,
                  .why = stream->msg};
}

#endif

static tess_status open_gzip(tess_context *ctx, const unpack_wish *wish, packing kind, stored_bytes *s, unpacker *u)
{
    gzip_state *g = NULL;
    tess_status status = tess_host_allocate(ctx, 1, sizeof *g, (void **)&g);

    (void)kind, (void)s;
    if (status != TESS_SUCCESS) { return status; }
    memset(g, 0, sizeof *g);
    u->state = g;
    status = tess_host_allocate(ctx, UNPACK_INPUT_BYTES, 1, (void **)&g->input);
    if (status != TESS_SUCCESS) { return status; }
    g->opened = begin(&g->stream);
    return g->opened ? TESS_SUCCESS
                     : tess_fail_at(ctx, TESS_OUT_OF_MEMORY, wish->archive, 0, "decompress the file first",
                                    "there is no memory to decompress the file");
}

static void close_gzip(unpacker *u)
{
    gzip_state *g = u->state;

    if (g->opened) { finish(&g->stream); }
    tess_host_release(u->ctx, g->input, UNPACK_INPUT_BYTES, 1);
    tess_host_release(u->ctx, g, 1, sizeof *g);
}

/* More compressed bytes: how many; 0 at the end of the file, -1 after a problem. */
static int64_t refill(unpacker *u, gzip_state *g)
{
    const int64_t got = stored_read(u->s, g->input, UNPACK_INPUT_BYTES);

    if (got < 0) { u->problem = u->s->problem; }
    g->stream.next_in = g->input;
    g->stream.avail_in = got > 0 ? (unsigned)got : 0;
    return got;
}

/* Files of several gzip members are one text. A library may have taken all bytes in and not given all out: it is asked
   once more at the end of the file. */
static int64_t read_gzip(unpacker *u, void *to, int64_t bytes)
{
    gzip_state *g = u->state;

    g->stream.next_out = to;
    g->stream.avail_out = (unsigned)(bytes < INT_MAX ? bytes : INT_MAX);
    for (;;) {
        const int64_t more = g->stream.avail_in > 0 ? 1 : refill(u, g);

        if (more < 0) { return -1; }
        if (g->between) {
            /* data after the last member, such as zero padding, is not text */
            if (more == 0 || *g->stream.next_in != 0x1f) { return 0; }
            begin_again(&g->stream);
        }
        const step done = advance(&g->stream);
        g->between = done.ended;
        if (done.failed) {
            io_problem_note(&u->problem, done.memory ? TESS_OUT_OF_MEMORY : TESS_CORRUPT,
                            "the compressed data is damaged", done.why);
            return -1;
        }
        if (g->stream.next_out != (unsigned char *)to) {
            return (unsigned char *)g->stream.next_out - (unsigned char *)to;
        }
        if (more == 0 && !done.ended) {
            io_problem_note(&u->problem, TESS_CORRUPT, "the compressed data ends too early; the file may be incomplete",
                            NULL);
            return -1;
        }
    }
}

const unpack_ops unpack_gzip_ops = {open_gzip, read_gzip, close_gzip};

int unpack_gzip_look(const unsigned char *head, int count, unsigned char *to, int most)
{
    z_stream stream = {0};
    union {
        const unsigned char *given;
        unsigned char *taken;
    } in = {.given = head};

    if (inflateInit2(&stream, 15 + 16) != Z_OK) { return 0; }
    stream.next_in = in.taken;
    stream.avail_in = (uInt)count;
    stream.next_out = to;
    stream.avail_out = (uInt)most;
    (void)inflate(&stream, Z_SYNC_FLUSH);
    inflateEnd(&stream);
    return most - (int)stream.avail_out;
}
