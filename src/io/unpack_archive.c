/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives and compressed files by libarchive. An archive of the SuiteSparse collection has A/A.mtx beside files such
 * as A/A_b.mtx: the matrix is the member that has the name of its folder or of the archive, its right-hand side the one
 * with _b behind that name. Where there is one file, it is that one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "io/unpack.h"

#ifdef TESS_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>

enum { SLACK = 1 << 20, LISTED_BYTES = 120 };

typedef struct archive_state {
    struct archive *a;
    unsigned char *input;
    int64_t taken, given; /* bytes in and out */
    int64_t names;        /* files seen */
    char listed[LISTED_BYTES];
} archive_state;

/* ---- libarchive's way to the bytes ---- */

static la_ssize_t read_input(struct archive *a, void *user, const void **block)
{
    unpacker *u = user;
    archive_state *state = u->state;
    const int64_t got = stored_read(u->s, state->input, UNPACK_INPUT_BYTES);

    *block = state->input;
    if (got < 0) {
        archive_set_error(a, EIO, "%s", u->s->problem.text);
        return ARCHIVE_FATAL;
    }
    state->taken += got;
    return (la_ssize_t)got;
}

static la_int64_t seek_input(struct archive *a, void *user, la_int64_t offset, int whence)
{
    unpacker *u = user;
    const int64_t to = whence == SEEK_END ? u->s->size + offset : offset;

    if (whence == SEEK_CUR || !stored_seek(u->s, to)) {
        archive_set_error(a, EIO, "the file cannot be read out of order");
        return ARCHIVE_FATAL;
    }
    return to;
}

/* Formats that need no other program. */
static bool support(struct archive *a, packing kind)
{
    archive_read_support_filter_gzip(a);
    archive_read_support_filter_bzip2(a);
    archive_read_support_filter_xz(a);
    archive_read_support_filter_zstd(a);
    archive_read_support_filter_lz4(a);
    archive_read_support_filter_compress(a);
    if (archive_read_support_format_tar(a) < ARCHIVE_WARN) { return false; }
    if (kind == PACKING_ARCHIVE) { return archive_read_support_format_zip(a) >= ARCHIVE_WARN; }
    return archive_read_support_format_raw(a) >= ARCHIVE_WARN;
}

static tess_status fail_archive(const unpacker *u, const char *name)
{
    const archive_state *state = u->state;
    const char *why = state->a ? archive_error_string(state->a) : NULL;

    return tess_fail_at(u->ctx, TESS_CORRUPT, name, 0, "the file may be incomplete", "the archive cannot be read: %s",
                        why ? why : "there is no memory for it");
}

static tess_status start(unpacker *u, const unpack_wish *wish, packing kind)
{
    archive_state *state = u->state;

    state->a = archive_read_new();
    state->taken = state->given = 0;
    if (!state->a || !support(state->a, kind)) { return fail_archive(u, wish->archive); }
    archive_read_set_read_callback(state->a, read_input);
    if (u->s->size >= 0) { archive_read_set_seek_callback(state->a, seek_input); }
    archive_read_set_callback_data(state->a, u);
    return archive_read_open1(state->a) == ARCHIVE_OK ? TESS_SUCCESS : fail_archive(u, wish->archive);
}

/* ---- the member that is wanted ---- */

/* A part of a path. */
typedef struct part {
    const char *text;
    size_t length;
} part;

static bool part_is(part p, part other, const char *behind)
{
    return p.length == other.length + strlen(behind) && memcmp(p.text, other.text, other.length) == 0 &&
           memcmp(p.text + other.length, behind, strlen(behind)) == 0;
}

/* The name behind the last '/', up to its last dot, or with `first` its first dot. */
static part stem_of(const char *path, bool first)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = first ? strchr(name, '.') : strrchr(name, '.');

    return (part){name, dot && dot > name ? (size_t)(dot - name) : strlen(name)};
}

static part folder_of(const char *path)
{
    const char *end = strrchr(path, '/'), *begin = end;

    while (begin && begin > path && begin[-1] != '/') {
        begin--;
    }
    return (part){end ? begin : path, end ? (size_t)(end - begin) : 0};
}

static bool is_text_about(const char *path)
{
    static const char *const ends[] = {".txt", ".md", ".html", ".pdf", ".json", ".png", ".jpg"};
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < sizeof ends / sizeof ends[0]; i++) {
        if (strcmp(dot, ends[i]) == 0) { return true; }
    }
    return false;
}

static bool is_about(const unpack_wish *wish, const char *path)
{
    static const char *const vectors[] = {"_b", "_rhs", "_rhs1"};
    const part stem = stem_of(path, false), names[] = {folder_of(path), stem_of(wish->archive, true)};

    if (wish->member) { return strcmp(path, wish->member) == 0; }
    for (int i = 0; i < 2; i++) {
        if (names[i].length == 0) { continue; }
        if (wish->role == SOURCE_MATRIX && part_is(stem, names[i], "")) { return !is_text_about(path); }
        for (int k = 0; k < 3 && wish->role == SOURCE_VECTOR; k++) {
            if (part_is(stem, names[i], vectors[k])) { return true; }
        }
    }
    return false;
}

/* What the desktop of a Mac adds. */
static bool is_foreign(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    return strncmp(path, "__MACOSX/", 9) == 0 || strncmp(name, "._", 2) == 0;
}

static void list_name(archive_state *state, const char *path)
{
    const size_t used = strlen(state->listed), left = sizeof state->listed - used;

    state->names++;
    if (strlen(path) + 6 < left) {
        snprintf(state->listed + used, left, "%s%s", used > 0 ? ", " : "", path);
    } else if (left > 6 && (used < 3 || strcmp(state->listed + used - 3, "...") != 0)) {
        snprintf(state->listed + used, left, ", ...");
    }
}

static bool gives_too_much(const archive_state *state)
{
    return state->given > unpack_most(state->taken) + SLACK;
}

/* Passes over a member of a tar, which must be unpacked for that: not without an end. */
static tess_status skip_member(unpacker *u, const unpack_wish *wish)
{
    archive_state *state = u->state;
    int code = (archive_format(state->a) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_ZIP ? ARCHIVE_EOF : ARCHIVE_OK;

    while (code == ARCHIVE_OK && !gives_too_much(state)) {
        const void *block = NULL;
        size_t size = 0;
        la_int64_t offset = 0;

        code = archive_read_data_block(state->a, &block, &size, &offset);
        state->given += (int64_t)size;
    }
    if (code == ARCHIVE_EOF) { return TESS_SUCCESS; }
    if (code < ARCHIVE_WARN) { return fail_archive(u, wish->archive); }
    return tess_fail_at(u->ctx, TESS_CORRUPT, wish->archive, 0, NULL,
                        "the compressed data unpacks to more than 1032 times its size");
}

/* Stops at the first member that is wanted; with `any` at the first file. */
static tess_status find_member(unpacker *u, const unpack_wish *wish, bool any, bool *found)
{
    archive_state *state = u->state;

    *found = false;
    for (;;) {
        struct archive_entry *entry = NULL;
        const int code = archive_read_next_header(state->a, &entry);

        if (code == ARCHIVE_EOF) { return TESS_SUCCESS; }
        if (code < ARCHIVE_WARN) { return fail_archive(u, wish->archive); }
        const char *path = archive_entry_pathname(entry);
        if (archive_format(state->a) == ARCHIVE_FORMAT_RAW) {
            *found = true;
            return TESS_SUCCESS;
        }
        if (!path || archive_entry_filetype(entry) != AE_IFREG || is_foreign(path)) { path = ""; }
        if (strncmp(path, "./", 2) == 0) { path += 2; }
        if (path[0]) { list_name(state, path); }
        if (path[0] && (any || is_about(wish, path))) {
            snprintf(u->member, sizeof u->member, "%s", path);
            *found = true;
            return TESS_SUCCESS;
        }
        const tess_status status = skip_member(u, wish);
        if (status != TESS_SUCCESS) { return status; }
    }
}

static tess_status fail_choice(const unpacker *u, const unpack_wish *wish)
{
    const archive_state *state = u->state;

    if (wish->member) {
        return tess_fail_at(u->ctx, TESS_NOT_FOUND, wish->archive, 0, NULL, "the archive has no member '%.100s': %s",
                            wish->member, state->listed);
    }
    return tess_fail_at(u->ctx, state->names == 0 ? TESS_PARSE : TESS_NOT_FOUND, wish->archive, 0,
                        wish->role == SOURCE_MATRIX ? "name it behind a colon: A.tar.gz:A/A.mtx"
                                                    : "name it behind a colon: A.tar.gz:A/A_b.mtx",
                        "the archive has %s, and none is named as the %s is: %s", tess_count(state->names, "file").text,
                        wish->role == SOURCE_MATRIX ? "matrix" : "right-hand side", state->listed);
}

static void stop(archive_state *state)
{
    if (state->a) { archive_read_free(state->a); }
    state->a = NULL;
}

static tess_status open_archive(tess_context *ctx, const unpack_wish *wish, packing kind, stored_bytes *s, unpacker *u)
{
    archive_state *state = NULL;
    bool found = false;
    tess_status status = tess_host_allocate(ctx, 1, sizeof *state, (void **)&state);

    if (status != TESS_SUCCESS) { return status; }
    *state = (archive_state){.a = NULL};
    u->state = state;
    TESS_TRY(tess_host_allocate(ctx, UNPACK_INPUT_BYTES, 1, (void **)&state->input));
    TESS_TRY(start(u, wish, kind));
    TESS_TRY(find_member(u, wish, false, &found));
    if (!found && state->names == 1 && !wish->member && stored_seek(s, 0)) { /* the only one, whatever its name is */
        stop(state);
        TESS_TRY(start(u, wish, kind));
        TESS_TRY(find_member(u, wish, true, &found));
    }
    if (!found) { status = fail_choice(u, wish); }
cleanup:
    return status;
}

static void close_archive(unpacker *u)
{
    archive_state *state = u->state;

    stop(state);
    tess_host_release(u->ctx, state->input, UNPACK_INPUT_BYTES, 1);
    tess_host_release(u->ctx, state, 1, sizeof *state);
}

/* A few bytes can be made to unpack to a disk full: more than deflate could give is refused. */
static int64_t read_archive(unpacker *u, void *to, int64_t bytes)
{
    archive_state *state = u->state;
    const int64_t got = archive_read_data(state->a, to, (size_t)bytes);

    if (got < 0) {
        const char *why = archive_error_string(state->a);

        io_problem_note(&u->problem, TESS_CORRUPT, "the compressed data is damaged", why);
        return -1;
    }
    state->given += got;
    if (gives_too_much(state)) {
        io_problem_note(&u->problem, TESS_CORRUPT, "the compressed data unpacks to more than 1032 times its size",
                        NULL);
        return -1;
    }
    return got;
}

#else

static tess_status open_archive(tess_context *ctx, const unpack_wish *wish, packing kind, stored_bytes *s, unpacker *u)
{
    const char *name = NULL;

    (void)kind, (void)u;
    (void)unpack_kind(s, &name);
    return tess_fail_at(ctx, TESS_UNSUPPORTED, wish->archive, 0,
                        "build with libarchive (Debian: libarchive-dev), or unpack the file: tar xf A.tar.gz, unzip, "
                        "bunzip2, unxz, unzstd",
                        "this build of the library has no libarchive, so it reads no %s files", name);
}

static void close_archive(unpacker *u)
{
    (void)u;
}

static int64_t read_archive(unpacker *u, void *to, int64_t bytes)
{
    (void)u, (void)to, (void)bytes;
    return -1;
}

#endif

const unpack_ops unpack_archive_ops = {open_archive, read_archive, close_archive};
