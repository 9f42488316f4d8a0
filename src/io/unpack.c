/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is packed in; see unpack.h. */
#include <string.h>

#include "io/unpack.h"

enum {
    DEFLATE_RATIO = 1032 /* deflate cannot do better: 258 bytes from two bits */,
    TAR_MAGIC_AT = 257,
    TAR_BLOCK = 512
};

static bool is_tar(const unsigned char *bytes, int count)
{
    return count >= TAR_MAGIC_AT + 5 && memcmp(bytes + TAR_MAGIC_AT, "ustar", 5) == 0;
}

/* An archive of NumPy, which has its own reader: its first member is an array. */
static bool is_npz(const unsigned char *p, int count)
{
    const int length = count > 30 ? p[26] + 256 * p[27] : 0;

    return (count >= 4 && memcmp(p, "PK\5\6", 4) == 0) ||
           (length > 4 && 30 + length <= count && memcmp(p + 30 + length - 4, ".npy", 4) == 0);
}

packing unpack_kind(const stored_bytes *s, const char **other)
{
    static const struct {
        const char *bytes;
        int length;
        const char *name;
    } kinds[] = {{"BZh", 3, "bzip2"},
                 {"\xfd"
                  "7zXZ",
                  6, "xz"},
                 {"\x28\xb5\x2f\xfd", 4, "zstd"},
                 {"\x04\x22\x4d\x18", 4, "lz4"},
                 {"\x1f\x9d", 2, "compress"}};
    unsigned char inside[TAR_BLOCK];

    *other = NULL;
    if (s->head_bytes >= 2 && s->head[0] == 0x1f && s->head[1] == 0x8b) {
        *other = "gzip";
        if (!is_tar(inside, unpack_gzip_look(s->head, s->head_bytes, inside, TAR_BLOCK))) { return PACKING_GZIP; }
        *other = "tar";
        return PACKING_ARCHIVE;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (s->head_bytes >= kinds[i].length && memcmp(s->head, kinds[i].bytes, (size_t)kinds[i].length) == 0) {
            *other = kinds[i].name;
            return PACKING_OTHER;
        }
    }
    if (is_tar(s->head, s->head_bytes)) {
        *other = "tar";
        return PACKING_ARCHIVE;
    }
    if (s->head_bytes >= 4 && memcmp(s->head, "PK\3\4", 4) == 0 && !is_npz(s->head, s->head_bytes)) {
        *other = "zip";
        return PACKING_ARCHIVE;
    }
    return PACKING_NONE;
}

tess_status unpack_open(tess_context *ctx, const unpack_wish *wish, packing kind, stored_bytes *s, unpacker **out)
{
    unpacker *u = NULL;
    tess_status status = tess_host_allocate(ctx, 1, sizeof *u, (void **)&u);

    *out = NULL;
    if (status != TESS_SUCCESS) { return status; }
    *u = (unpacker){.ctx = ctx, .s = s, .ops = kind == PACKING_GZIP ? &unpack_gzip_ops : &unpack_archive_ops};
    status = u->ops->open(ctx, wish, kind, s, u);
    if (status != TESS_SUCCESS) {
        unpack_close(u);
        return status;
    }
    *out = u;
    return TESS_SUCCESS;
}

void unpack_close(unpacker *u)
{
    if (!u) { return; }
    if (u->state) { u->ops->close(u); }
    tess_host_release(u->ctx, u, 1, sizeof *u);
}

int64_t unpack_read(unpacker *u, void *to, int64_t bytes)
{
    return u->problem.status == TESS_SUCCESS ? u->ops->read(u, to, bytes) : -1;
}

const io_problem *unpack_problem(const unpacker *u)
{
    return &u->problem;
}

const char *unpack_member(const unpacker *u)
{
    return u->member[0] ? u->member : NULL;
}

int64_t unpack_most(int64_t stored)
{
    return stored < INT64_MAX / DEFLATE_RATIO ? stored * DEFLATE_RATIO : INT64_MAX;
}

int64_t unpack_claim(packing kind, const stored_bytes *s)
{
    unsigned char size[4];

    if (kind != PACKING_GZIP || !stored_peek_end(s, size, sizeof size)) { return -1; }
    const int64_t claim = size[0] | (int64_t)size[1] << 8 | (int64_t)size[2] << 16 | (int64_t)size[3] << 24;
    return claim <= unpack_most(s->size) ? claim : -1;
}
