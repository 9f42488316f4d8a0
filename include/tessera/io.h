/* SPDX-License-Identifier: Apache-2.0 */
/** @file io.h  Matrix Market files and the binary cache. */
#ifndef TESSERA_IO_H
#define TESSERA_IO_H

#include <stdint.h>

#include <tessera/matrix.h>
#include <tessera/vector.h>

TESS_BEGIN_DECLS

/** What a Matrix Market header and its body said. */
typedef struct tess_mtx_info {
    int coordinate; /**< 1 coordinate, 0 array */
    int pattern;    /**< 1 when the file has no values (they become 1) */
    int integer;    /**< 1 for field integer */
    int symmetry;   /**< 0 general, 1 symmetric, 2 skew-symmetric */
    int compressed; /**< 1 when the file is gzip */
    int cache;      /**< 1 when the file is a binary cache; the facts above are then not known (coordinate is 1) */
    int64_t nrows, ncols;
    int64_t entries;        /**< as the size line says */
    int64_t nonzeros;       /**< of the assembled matrix */
    int64_t duplicates;     /**< entries summed into another */
    int64_t explicit_zeros; /**< entries that are zero; they are kept */
} tess_mtx_info;

/**
 * Reads a Matrix Market file (plain or gzip; coordinate or array; real, integer, pattern; general, symmetric,
 * skew-symmetric) or a binary cache file (recognised by its first bytes) into an assembled matrix. Rows come out sorted,
 * duplicates summed in file order, explicit zeros kept. Parallel over the context's threads; the result does not depend
 * on their number. @p info may be NULL.
 * Errors: NOT_FOUND, IO, PARSE (file, line, the offending text and what was expected in the last error), OUT_OF_RANGE,
 * UNSUPPORTED (complex), CORRUPT (damaged cache or gzip), memory.
 */
TESS_EXPORT tess_status tess_matrix_read(tess_context *ctx, const char *path, tess_matrix **out, tess_mtx_info *info);

/** Reads from memory; @p name stands for the file name in errors. */
TESS_EXPORT tess_status tess_matrix_read_memory(tess_context *ctx, const char *name, const void *text, size_t bytes,
                                                tess_matrix **out, tess_mtx_info *info);

/**
 * Writes Matrix Market coordinate real general with 17 significant digits (read back bit for bit); gzip when the name
 * ends in .gz. With @p symmetric nonzero and a numerically symmetric matrix, the lower triangle as `symmetric`;
 * INVALID_ARGUMENT when the matrix is not symmetric. The file appears whole or not at all (written aside and renamed).
 */
TESS_EXPORT tess_status tess_matrix_write(const tess_matrix *a, const char *path, int symmetric);

/** Writes the binary cache: versioned header, checksum; loads at disk speed through tess_matrix_read. */
TESS_EXPORT tess_status tess_matrix_write_cache(const tess_matrix *a, const char *path);

/** Reads a Matrix Market array (n by 1) or coordinate (n by 1) vector; FP64. */
TESS_EXPORT tess_status tess_vector_read(tess_context *ctx, const char *path, tess_vector **out);
/** Writes a Matrix Market array with 17 significant digits. */
TESS_EXPORT tess_status tess_vector_write(const tess_vector *v, const char *path);

/**
 * Writes @p nrows by @p ncols host values, column after column, in the same way: points, several vectors.
 * Errors: INVALID_ARGUMENT (negative sizes), IO, memory.
 */
TESS_EXPORT tess_status tess_array_write(tess_context *ctx, const double *values, int64_t nrows, int64_t ncols,
                                         const char *path);

TESS_END_DECLS

#endif
