/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a matrix as scipy.sparse.load_npz reads it: csr, compressed. */
#include <stdlib.h>
#include <string.h>

#include "io/npz.h"
#include "io/output_file.h"

#ifdef TESS_LIBZIP

enum { FASTEST = 1 }; /* level of compression: others gain a few percent and take several times as long */

/* One array: a header and the data, joined for libzip, which takes the memory: the analyzer does not know. */
/* NOLINTBEGIN(clang-analyzer-unix.Malloc) */
static bool add_array(zip_t *zip, const char *name, const char *header, int length, const void *data, size_t bytes)
{
    char *joined = malloc((size_t)length + bytes);

    if (!joined) { return false; }
    memcpy(joined, header, (size_t)length);
    if (bytes > 0) { memcpy(joined + length, data, bytes); }
    zip_source_t *source = zip_source_buffer(zip, joined, (size_t)length + bytes, 1);
    if (!source) {
        free(joined);
        return false;
    }
    const zip_int64_t index = zip_file_add(zip, name, source, ZIP_FL_OVERWRITE);
    if (index < 0) {
        zip_source_free(source);
        return false;
    }
    if (zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_DEFLATE, FASTEST) != 0) { return false; }
    return zip_file_set_mtime(zip, (zip_uint64_t)index, 315532800, 0) == 0; /* 1980: the same bits each time */
}
/* NOLINTEND(clang-analyzer-unix.Malloc) */

/* Offsets and indices in 32 bits where they fit, as SciPy has them. */
static bool add_offsets(zip_t *zip, const file_csr *a)
{
    char header[NPY_HEADER_BYTES];
    const int64_t count = a->nrows + 1;
    const bool narrow = a->nnz <= INT32_MAX;
    const int length = npy_header(header, narrow ? "i4" : "i8", false, 1, &count);

    if (!narrow) {
        return add_array(zip, "indptr.npy", header, length, a->row_ptr, (size_t)count * sizeof *a->row_ptr);
    }
    int32_t *offsets = malloc((size_t)count * sizeof *offsets);
    if (!offsets) { return false; }
    for (int64_t i = 0; i < count; i++) {
        offsets[i] = (int32_t)a->row_ptr[i];
    }
    const bool done = add_array(zip, "indptr.npy", header, length, offsets, (size_t)count * sizeof *offsets);
    free(offsets);
    return done;
}

static bool add_all(zip_t *zip, const file_csr *a)
{
    char header[NPY_HEADER_BYTES];
    const int64_t shape[] = {a->nrows, a->ncols}, two = 2;
    int length = npy_header(header, "i4", false, 1, &a->nnz);

    if (!add_array(zip, "indices.npy", header, length, a->col_ind, (size_t)a->nnz * sizeof *a->col_ind) ||
        !add_offsets(zip, a)) {
        return false;
    }
    length = npy_text_header(header, 3);
    if (!add_array(zip, "format.npy", header, length, "csr", 3)) { return false; }
    length = npy_header(header, "i8", false, 1, &two);
    if (!add_array(zip, "shape.npy", header, length, shape, sizeof shape)) { return false; }
    length = npy_header(header, a->is_complex ? "c16" : "f8", false, 1, &a->nnz);
    return add_array(zip, "data.npy", header, length, a->val,
                     (size_t)a->nnz * (a->is_complex ? 2 : 1) * sizeof *a->val);
}

/* The archive in memory: `kept` stays open until its bytes are written. */
static tess_status make_archive(tess_context *ctx, const file_csr *a, const char *path, zip_source_t **kept)
{
    zip_error_t error;
    zip_error_init(&error);
    *kept = zip_source_buffer_create(NULL, 0, 0, &error);
    if (*kept) { zip_source_keep(*kept); }
    zip_t *zip = *kept ? zip_open_from_source(*kept, ZIP_CREATE | ZIP_TRUNCATE, &error) : NULL;
    const bool added = zip && add_all(zip, a), closed = added && zip_close(zip) == 0;
    tess_status status = TESS_SUCCESS;

    if (!closed) {
        status = tess_fail_at(ctx, TESS_IO, path, 0, NULL, "the archive cannot be made: %s",
                              zip ? zip_strerror(zip) : zip_error_strerror(&error));
        if (zip) {
            zip_discard(zip);
        } else if (*kept) {
            zip_source_free(*kept);
        }
    }
    zip_error_fini(&error);
    return status;
}

static tess_status copy_archive(zip_source_t *source, output_file *file)
{
    char bytes[1 << 16];
    tess_status status = TESS_SUCCESS;

    if (zip_source_open(source) != 0) {
        return tess_fail_at(file->ctx, TESS_IO, file->name, 0, NULL, "the archive cannot be read back");
    }
    for (zip_int64_t got = 1; got > 0 && status == TESS_SUCCESS;) {
        got = zip_source_read(source, bytes, sizeof bytes);
        if (got < 0) {
            status = tess_fail_at(file->ctx, TESS_IO, file->name, 0, NULL, "the archive cannot be read back");
        }
        if (got > 0) { status = output_file_write(file, bytes, (size_t)got); }
    }
    zip_source_close(source);
    return status;
}

tess_status npz_write_matrix(tess_context *ctx, const file_csr *a, const char *path)
{
    zip_source_t *source = NULL;
    output_file file;
    tess_status status = output_file_open(ctx, path, false, &file);

    if (status != TESS_SUCCESS) { return status; }
    status = make_archive(ctx, a, path, &source);
    if (status == TESS_SUCCESS) { status = copy_archive(source, &file); }
    if (source) { zip_source_free(source); }
    return output_file_close(&file, status);
}

#else

tess_status npz_write_matrix(tess_context *ctx, const file_csr *a, const char *path)
{
    (void)a;
    return tess_fail_at(ctx, TESS_UNSUPPORTED, path, 0, "write .mtx, .petsc or .tess, or build with libzip-dev",
                        "this build of the library has no libzip, so it writes no .npz archives");
}

#endif
