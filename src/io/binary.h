/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices and arrays in files of other programs: NumPy, SciPy, PETSc. */
#ifndef TESS_IO_BINARY_H
#define TESS_IO_BINARY_H

#include <stdbool.h>

#include "io/blob.h"
#include "io/npy.h"
#include "matrix/assemble.h"

/* CSR as read: rows in any order of columns, indices checked. The arrays come from tess_host_allocate. */
typedef struct file_csr {
    int64_t nrows, ncols, nnz;
    int64_t *row_ptr;
    int32_t *col_ind;
    double *val;
    bool is_complex; /* val has 2 nnz numbers: re and im of each entry */
    char kind[64];   /* what the file is, for people */
} file_csr;

/* An array of numbers, column after column; from tess_host_allocate. */
typedef struct file_array {
    int64_t nrows, ncols;
    double *val;
    bool is_complex;   /* val has 2 nrows ncols numbers: re and im of each value */
    int64_t size_line; /* of text: where it says its size; else 0 */
} file_array;

/* Space for rows and entries, zeroed row_ptr. On failure nothing is held. */
tess_status file_csr_allocate(tess_context *ctx, file_csr *a);
void file_csr_release(tess_context *ctx, file_csr *a);
/* From the lengths of rows in row_ptr[1...]: offsets. */
void file_csr_sum_lengths(file_csr *a);
/* Numbers in val. */
static inline int64_t file_array_numbers(const file_array *a)
{
    return (a->is_complex ? 2 : 1) * a->nrows * a->ncols;
}

/* CSR of entries, mirrored as their symmetry says. `e->val` has two numbers of a complex entry. Duplicates stay. */
tess_status file_csr_from_entries(tess_context *ctx, const tess_entries *e, file_csr *out);

/* The nonzeros of a table. */
tess_status file_csr_from_array(tess_context *ctx, const file_array *a, file_csr *out);

/* The same as a table, for what is given as a sparse matrix. Errors PARSE (too sparse to be meant), memory. */
tess_status file_array_from_entries(const blob *b, const tess_entries *e, file_array *out);

tess_status file_array_allocate(tess_context *ctx, file_array *a);
void file_array_release(tess_context *ctx, file_array *a);

/* Sizes of a matrix within the library's limits; `at` is where the file has them. */
tess_status file_check_sizes(const blob *b, int64_t at, int64_t nrows, int64_t ncols);

/* Refuses rows that a file of this length can hardly fill: a few bytes may say any number, and memory follows it. */
tess_status file_check_rows(const blob *b, int64_t nrows);

/* Each reads its kind of file. Errors PARSE, UNSUPPORTED, OUT_OF_RANGE, memory; nothing is held after a failure. */
tess_status petsc_read_matrix(const blob *b, file_csr *out);
/* Vectors of equal length, one after another in the file, behind matrices if it begins with one; else a dense matrix.
 */
tess_status petsc_read_vectors(const blob *b, file_array *out);
/* The other half of a matrix that PETSc stored as MATSBAIJ, and what it is, in a->kind. */
tess_status petsc_spell_symmetric(const blob *b, file_csr *a);
tess_status npy_read_array(const blob *b, file_array *out);
tess_status npy_read_matrix(const blob *b, file_csr *out); /* two dimensions; zeros are left out */
tess_status npz_read_matrix(const blob *b, file_csr *out); /* as scipy.sparse.save_npz writes it */

tess_status petsc_write_matrix(tess_context *ctx, const file_csr *a, const char *path);
tess_status petsc_write_vectors(tess_context *ctx, const file_array *a, const char *path);
tess_status npy_write_array(tess_context *ctx, const file_array *a, const char *path);
/* A variable `A` or `x` of MATLAB's version 5. Errors OUT_OF_RANGE (4 GB and more), IO, memory. */
tess_status mat5_write_matrix(tess_context *ctx, const file_csr *a, const char *path);
tess_status mat5_write_array(tess_context *ctx, const file_array *a, const char *path);
/* A row of numbers a line, between commas in .csv, else blanks; two numbers of a complex value. */
tess_status plain_write_array(tess_context *ctx, const file_array *a, const char *path);
tess_status npz_write_matrix(tess_context *ctx, const file_csr *a, const char *path);

#endif
