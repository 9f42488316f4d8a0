/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of HDF5 as files of MATLAB, Octave and h5py need: superblocks 0 to 3, groups with symbol tables or links in
 * their header, data in one piece or in chunks of a version 1 B-tree, deflated and shuffled. Files of unknown origin
 * are read with bounds: nothing is followed more often than the file is long. Source: The HDF Group, "HDF5 file format
 * specification", version 3.0.
 */
#ifndef TESS_IO_HDF5_FILE_H
#define TESS_IO_HDF5_FILE_H

#include "io/binary.h"

enum { H5_MOST_DIMENSIONS = 4, H5_MOST_FILTERS = 4 };

typedef struct h5_file {
    const blob *b;
    uint64_t base; /* of all addresses */
    int offset_bytes, length_bytes;
    uint64_t root;      /* address of the root group's header */
    int64_t steps;      /* that may still be taken */
    int64_t may_unpack; /* bytes that may still come out of filters */
} h5_file;

/* Numbers in a data set: each one real, or the two of a compound. */
typedef struct h5_number {
    int bytes, at; /* place within the item */
    bool real, is_signed, big;
} h5_number;

typedef struct h5_type {
    int64_t bytes; /* of an item; 0: a type that holds no numbers */
    int parts;     /* 1, or 2: real and imaginary */
    bool text;
    h5_number part[2];
} h5_type;

typedef struct h5_object {
    uint64_t address;
    bool group, links; /* links: in the header itself */
    uint64_t tree, heap;
    int rank;
    int64_t dims[H5_MOST_DIMENSIONS];
    h5_type type;
    int layout; /* 0 in the header, 1 in one piece, 2 in chunks; -1: no data */
    uint64_t data;
    int64_t data_bytes;
    int64_t chunk[H5_MOST_DIMENSIONS + 1];
    int filters, filter[H5_MOST_FILTERS];
} h5_object;

/* Errors PARSE, UNSUPPORTED (with what it is), memory. */
tess_status h5_open(const blob *b, h5_file *f);
tess_status h5_object_at(h5_file *f, uint64_t address, h5_object *out);

typedef tess_status (*h5_link_taker)(void *user, h5_file *f, const char *name, size_t length, uint64_t address);
tess_status h5_each_link(h5_file *f, const h5_object *group, h5_link_taker take, void *user);
/* A member of a group by its name. */
tess_status h5_find(h5_file *f, const h5_object *group, const char *name, h5_object *out, bool *found);
/* An attribute that is one number. */
tess_status h5_attribute(h5_file *f, const h5_object *o, const char *name, double *value, bool *found);

/* Items of a data set; -1: more than any memory holds. */
int64_t h5_items(const h5_object *o);
/* All items, one after another; from tess_host_allocate with h5_items * type.bytes bytes. */
tess_status h5_read(h5_file *f, const h5_object *o, unsigned char **bytes);
double h5_value(const h5_type *type, const unsigned char *bytes, int64_t k, int part);

#endif
