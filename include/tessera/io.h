/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file io.h  Files of matrices and vectors: Matrix Market, the binary cache, and those of other programs.
 *
 *     tess_matrix_read(ctx, "A.mtx", &a, NULL);          or A.npz, A.npy, A.petsc
 *     tess_matrix_write_cache(a, "A.cache");             tess_matrix_read loads it faster
 *     tess_array_read(ctx, "b.npy", &b, &n, &k);         k right-hand sides, column after column
 *
 * docs/howto/matrix-files.md describes the files.
 */
#ifndef TESSERA_IO_H
#define TESSERA_IO_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/matrix.h>
#include <tessera/vector.h>

TESS_BEGIN_DECLS

/** Facts about a file of a matrix; `pattern`, `integer` and `symmetry` are of Matrix Market alone. */
typedef struct tess_mtx_info {
    size_t size;    /**< sizeof(tess_mtx_info) */
    int coordinate; /**< 1 coordinate, 0 array */
    int pattern;    /**< 1 if the file has no values; all become 1 */
    int integer;    /**< 1 for field integer */
    int symmetry;   /**< 0 general, 1 symmetric, 2 skew-symmetric, 3 Hermitian */
    int compressed; /**< 1 if the file is gzip */
    int cache;      /**< 1 if the file is a binary cache; the facts above are then unknown (coordinate is 1) */
    int64_t nrows, ncols;
    int64_t entries;        /**< entries according to the size line */
    int64_t nonzeros;       /**< entries of the assembled matrix */
    int64_t duplicates;     /**< entries that were added to another */
    int64_t explicit_zeros; /**< entries with the value zero; they are kept */
    char kind[64];          /**< what the file is, for people: "Matrix Market", "SciPy archive, csr", ... */
    int is_complex;         /**< 1 if the values are complex; all counts above are those of complex entries */
} tess_mtx_info;

/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_mtx_info_init_sized(tess_mtx_info *info, size_t size);
static inline void tess_mtx_info_init(tess_mtx_info *info)
{
    tess_mtx_info_init_sized(info, sizeof *info);
}

/**
 * Reads a matrix: Matrix Market, the binary cache, files of SciPy, NumPy, PETSc, MATLAB, Octave, AmgX, hypre,
 * Harwell-Boeing, and more, also compressed or in an archive (docs/howto/matrix-files.md). The first bytes identify
 * the file, and of a few kinds its name.
 * @param path  a file; behind a colon it may have the name of a member of an archive or of a variable: "A.mat:K"
 * @param out   an assembled matrix: rows sorted, duplicates summed in file order, explicit zeros kept. Of complex
 * values the real form (tess_matrix_is_complex)
 * @param info  facts about the file, initialised by tess_mtx_info_init; may be NULL
 * Reads with the context's threads; the result does not depend on their number.
 * Errors: NOT_FOUND (also of a part), IO, PARSE (the last error has file, line, the offending text and what was
 * expected; of binary files the byte), OUT_OF_RANGE, UNSUPPORTED (a kind that is not read, with a way to convert it; a
 * library that this build lacks), CORRUPT (damaged cache, compressed data or archive), memory.
 * Test: tests/unit/test_io_others.c, test_io_text_kinds.c, test_io_read.c
 */
TESS_EXPORT tess_status tess_matrix_read(tess_context *ctx, const char *path, tess_matrix **out, tess_mtx_info *info);

/** As tess_matrix_read, from @p bytes bytes of memory. @p name is the file name in errors. */
TESS_EXPORT tess_status tess_matrix_read_memory(tess_context *ctx, const char *name, const void *text, size_t bytes,
                                                tess_matrix **out, tess_mtx_info *info);

/**
 * Writes Matrix Market coordinate general with 17 significant digits, which read back bit for bit; or what the end of
 * the name says: .npz (SciPy's csr, needs libzip), .petsc (32-bit indices), .mat (a variable A). A complex matrix is
 * written as one.
 * @param path       a name that ends in .gz is compressed by gzip
 * @param symmetric  nonzero: writes the lower triangle as `symmetric`, or of a Hermitian matrix as `hermitian`
 * The file appears complete or not at all: it is written under another name and renamed.
 * Errors: INVALID_ARGUMENT (@p symmetric, and the matrix is not numerically symmetric), IO, memory.
 */
TESS_EXPORT tess_status tess_matrix_write(const tess_matrix *a, const char *path, int symmetric);

/** Writes the binary cache, with a version and a checksum. tess_matrix_read loads it at the speed of the disk. */
TESS_EXPORT tess_status tess_matrix_write_cache(const tess_matrix *a, const char *path);

/** Reads a file of tess_array_read with one column into an FP64 vector. Errors: those of tess_matrix_read. */
TESS_EXPORT tess_status tess_vector_read(tess_context *ctx, const char *path, tess_vector **out);
/** Writes a vector as tess_array_write does. Errors: IO, memory. */
TESS_EXPORT tess_status tess_vector_write(const tess_vector *v, const char *path);

/**
 * Reads a table of numbers: a file of vectors, or the right-hand sides in a file of a matrix. Kinds: those of
 * tess_matrix_read, but archives of SciPy and the cache; of a tar or zip the member A_b.
 * @param values  *nrows by *ncols values, column after column; free them by tess_array_free. Of n complex numbers
 *                *nrows is 2 n: re and im in turn
 * Errors: those of tess_matrix_read; NOT_FOUND: no right-hand side. Test: tests/unit/test_io_others.c, test_io_npy.c
 */
TESS_EXPORT tess_status tess_array_read(tess_context *ctx, const char *path, double **values, int64_t *nrows,
                                        int64_t *ncols);
/** The same, and says in *is_complex whether the numbers are complex, and the rows twice the file's. */
TESS_EXPORT tess_status tess_array_read_complex(tess_context *ctx, const char *path, double **values, int64_t *nrows,
                                                int64_t *ncols, int *is_complex);
/** Frees what tess_array_read made, with the sizes that it gave. NULL is allowed. */
TESS_EXPORT void tess_array_free(tess_context *ctx, double *values, int64_t nrows, int64_t ncols);

/**
 * Writes @p nrows by @p ncols host values, column after column: points, or several vectors. The end of the name says
 * how: .npy (f8, one dimension if ncols is 1), .petsc (vectors one after another), .mat (a variable x), .txt and .csv
 * (a row a line), else a Matrix Market array with 17 significant digits.
 * Errors: INVALID_ARGUMENT (negative sizes), IO, memory.
 */
TESS_EXPORT tess_status tess_array_write(tess_context *ctx, const double *values, int64_t nrows, int64_t ncols,
                                         const char *path);
/**
 * The same for complex vectors: @p nrows counts re and im, so it is twice the rows of the file. A .petsc file is one of
 * a PETSc with complex numbers; another PETSc does not read it.
 * Errors: INVALID_ARGUMENT (@p nrows is odd), and those of tess_array_write. Test: tests/unit/test_io_complex.c
 */
TESS_EXPORT tess_status tess_array_write_complex(tess_context *ctx, const double *values, int64_t nrows, int64_t ncols,
                                                 const char *path);

TESS_END_DECLS

#endif
