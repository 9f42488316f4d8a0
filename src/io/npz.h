/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of SciPy's archives. */
#ifndef TESS_IO_NPZ_H
#define TESS_IO_NPZ_H

#include <stdio.h>

#include "io/binary.h"

#ifdef TESS_LIBZIP
#include <zip.h>
#endif

/* An array of an archive. */
typedef struct npz_member {
    blob b;
    npy_array a;
    char label[256]; /* "A.npz(data.npy)" */
} npz_member;

/* CSR from the arrays of each format, in the order of the table in npz.c; nrows and ncols of *out are given. Errors
   PARSE, OUT_OF_RANGE, memory; nothing is held after a failure. */
tess_status npz_build_csr(const blob *b, const npz_member parts[3], file_csr *out);
tess_status npz_build_csc(const blob *b, const npz_member parts[3], file_csr *out);
tess_status npz_build_coo(const blob *b, const npz_member parts[3], file_csr *out);
/* The first two parts: `coords`, both rows of indices. */
tess_status npz_build_coords(const blob *b, const npz_member parts[3], file_csr *out);
tess_status npz_build_bsr(const blob *b, const npz_member parts[3], file_csr *out);
tess_status npz_build_dia(const blob *b, const npz_member parts[3], file_csr *out);

#endif
