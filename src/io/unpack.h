/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is packed in, and its contents as a stream: gzip by ISA-L or zlib, all else by libarchive. */
#ifndef TESS_IO_UNPACK_H
#define TESS_IO_UNPACK_H

#include "io/stored.h"

typedef enum packing {
    PACKING_NONE = 0,
    PACKING_GZIP,
    PACKING_OTHER,  /* one compressed file: bzip2, xz, zstd, lz4, compress */
    PACKING_ARCHIVE /* members: tar, also compressed, or zip */
} packing;

/* What is looked for in an archive. */
typedef enum source_role { SOURCE_MATRIX, SOURCE_VECTOR } source_role;

/* Which member of an archive is wanted. */
typedef struct unpack_wish {
    const char *archive; /* the file's name */
    const char *member;  /* NULL: the one that the archive is about */
    source_role role;
} unpack_wish;

typedef struct unpacker unpacker;

/* By the first bytes; `other` is what a person calls it. */
packing unpack_kind(const stored_bytes *s, const char **other);

/* Begins; `s` stays the caller's and is read by the unpacker. Errors CORRUPT, UNSUPPORTED, NOT_FOUND, PARSE (of several
   members none stands out), memory. */
tess_status unpack_open(tess_context *ctx, const unpack_wish *wish, packing kind, stored_bytes *s, unpacker **out);
void unpack_close(unpacker *u);

/* Up to `bytes` bytes of the contents; 0 at the end or -1 after a problem. */
int64_t unpack_read(unpacker *u, void *to, int64_t bytes);
const io_problem *unpack_problem(const unpacker *u);
/* The member of an archive that is read; NULL of others. */
const char *unpack_member(const unpacker *u);

/* No file of so many stored bytes has more contents: what deflate can do at best, and more is refused of others. */
int64_t unpack_most(int64_t stored);

/* What the end of a gzip file says of the size of its contents (RFC 1952: modulo 2^32, of the last member), where that
   can be; else -1. Nothing has checked it. */
int64_t unpack_claim(packing kind, const stored_bytes *s);

/* ---- the two ways ---- */

typedef struct unpack_ops {
    tess_status (*open)(tess_context *ctx, const unpack_wish *wish, packing kind, stored_bytes *s, unpacker *u);
    int64_t (*read)(unpacker *u, void *to, int64_t bytes);
    void (*close)(unpacker *u);
} unpack_ops;

struct unpacker {
    tess_context *ctx;
    const unpack_ops *ops;
    stored_bytes *s;
    void *state; /* of the way */
    io_problem problem;
    char member[200];
};

enum { UNPACK_INPUT_BYTES = 1 << 18 };
extern const unpack_ops unpack_gzip_ops, unpack_archive_ops;

/* The first bytes of what is in a gzip file, from its head; returns how many. */
int unpack_gzip_look(const unsigned char *head, int count, unsigned char *to, int most);

#endif
