/* SPDX-License-Identifier: Apache-2.0 */
/* What hdf5_file.c and hdf5_data.c share: bytes with bounds, types of data. */
#ifndef TESS_IO_HDF5_PARTS_H
#define TESS_IO_HDF5_PARTS_H

#include "io/hdf5_file.h"

/* Bytes that are taken from the front; `bad` once more was asked for than there is. */
typedef struct h5_span {
    const unsigned char *p;
    int64_t left;
    bool bad;
} h5_span;

/* An integer, low byte first, of up to 8 bytes. */
uint64_t h5_integer(const unsigned char *p, int bytes);
uint64_t h5_take(h5_span *s, int bytes);
const unsigned char *h5_pass(h5_span *s, int64_t bytes);

/* `count` bytes of the file; NULL outside of it. */
const unsigned char *h5_bytes(const h5_file *f, uint64_t address, uint64_t count);
int64_t h5_find_superblock(const unsigned char *bytes, int64_t count);
/* One step of those that a file of this length may take: parts that lead back to each other end in an error. */
tess_status h5_step(h5_file *f);
tess_status h5_fail(const h5_file *f, const char *what);

/* The message of a data type. Others than numbers and compounds of two get 0 bytes. */
void h5_parse_type(h5_span *s, h5_type *type);

#endif
