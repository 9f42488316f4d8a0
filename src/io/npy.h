/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy arrays, versions 1 to 3: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#ifndef TESS_IO_NPY_H
#define TESS_IO_NPY_H

#include "io/blob.h"

enum { NPY_MOST_DIMENSIONS = 3, NPY_TYPE_LENGTH = 24 };

typedef struct npy_array {
    char type; /* f, i, u, b, c; S and U: text */
    int item_bytes;
    bool swapped, fortran;
    int dimensions; /* 0: a single value */
    int64_t shape[NPY_MOST_DIMENSIONS];
    int64_t count; /* of all values */
    const unsigned char *data;
} npy_array;

/* Header and extent of an array. Errors PARSE (with the byte), UNSUPPORTED (objects, structures). */
tess_status npy_parse(const blob *b, npy_array *out);
/* The k-th value in the file's order. Numbers alone; of complex ones the real part. */
double npy_real(const npy_array *a, int64_t k);
/* The same of complex values, type c: the imaginary part. */
double npy_imaginary(const npy_array *a, int64_t k);
/* One number, or two of a complex value. */
void npy_value(const npy_array *a, int64_t k, double *to);
bool npy_is_zero(const npy_array *a, int64_t k);
/* The same of integers; of others 0. */
int64_t npy_integer(const npy_array *a, int64_t k);
/* Place in the file of (row, col) of an array of two dimensions; of one: of `row`. */
int64_t npy_place(const npy_array *a, int64_t row, int64_t col);
/* An array of one or two dimensions with numbers, as `rows` by `cols`; one dimension is a column. Error PARSE. */
tess_status npy_as_table(const blob *b, const npy_array *a, int64_t *rows, int64_t *cols);

/* The header of an array as this machine stores it: `type` is f8, c16, i4 or i8. The length is a multiple of 64.
   Returns it; `header` has NPY_HEADER_BYTES. */
enum { NPY_HEADER_BYTES = 256 };
int npy_header(char *header, const char *type, bool fortran, int dimensions, const int64_t *shape);
/* An array of text, of no dimension: as SciPy writes the name of a format. */
int npy_text_header(char *header, int length);

#endif
