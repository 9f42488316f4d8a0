/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse matrices as scipy.sparse.save_npz writes them: a zip archive with an array `format` (csr, csc, coo, bsr or
 * dia) and the arrays of that format. The archive is libzip's; without it the file is refused.
 */
#include <stdlib.h>
#include <string.h>

#include <tessera/names.h>

#include "io/binary.h"
#include "io/npz.h"

#ifdef TESS_LIBZIP

/* ---- members ---- */

enum { MOST_RATIO = 1032 }; /* deflate cannot do better */

typedef struct archive {
    const blob *b;
    zip_t *zip;
} archive;

static tess_status open_archive(const blob *b, archive *out)
{
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(b->bytes, (zip_uint64_t)b->count, 0, &error);

    *out = (archive){.b = b, .zip = source ? zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error) : NULL};
    tess_status status = TESS_SUCCESS;
    if (!out->zip) {
        if (source) { zip_source_free(source); }
        status = tess_fail_at(b->ctx, TESS_CORRUPT, b->name, 0, "the file may be incomplete",
                              "the zip archive cannot be used: %s", zip_error_strerror(&error));
    }
    zip_error_fini(&error);
    return status;
}

/* Fills the bytes of a member, whose size the archive says. */
static tess_status unpack(const archive *a, const char *name, npz_member *out)
{
    zip_file_t *file = zip_fopen(a->zip, name, 0);
    zip_error_t why;
    char none;
    const bool whole = file && zip_fread(file, out->b.own, (zip_uint64_t)out->b.count) == out->b.count &&
                       zip_fread(file, &none, 1) == 0;
    int code = zip_error_code_zip(file ? zip_file_get_error(file) : zip_get_error(a->zip));
    const int closed = file ? zip_fclose(file) : 0; /* it knows of a wrong checksum */

    if (code == ZIP_ER_OK) { code = closed; }
    if (whole && code == ZIP_ER_OK) { return TESS_SUCCESS; }
    zip_error_init_with_code(&why, code);
    tess_status status =
        tess_fail_at(a->b->ctx, TESS_CORRUPT, out->label, 0, "the file may be incomplete", "the archive is damaged: %s",
                     code == ZIP_ER_OK ? "its data are shorter or longer than it says" : zip_error_strerror(&why));
    zip_error_fini(&why);
    return status;
}

/* The bytes of a member. *found false: there is none of that name. */
static tess_status read_member(const archive *a, const char *name, npz_member *out, bool *found)
{
    zip_stat_t facts;
    tess_context *ctx = a->b->ctx;

    *out = (npz_member){.b = {.ctx = ctx, .name = out->label}};
    snprintf(out->label, sizeof out->label, "%s(%s)", a->b->name, name);
    *found = zip_stat(a->zip, name, 0, &facts) == 0;
    if (!*found) { return TESS_SUCCESS; }
    if ((facts.valid & ZIP_STAT_SIZE) == 0 || facts.size / MOST_RATIO > (zip_uint64_t)a->b->count) {
        return tess_fail_at(ctx, TESS_CORRUPT, out->label, 0, NULL, "the archive says a size that it cannot hold");
    }
    const int64_t size = (int64_t)facts.size;
    tess_status status = tess_host_allocate(ctx, size, 1, (void **)&out->b.own);
    if (status != TESS_SUCCESS) { return status; }
    out->b.bytes = out->b.own;
    out->b.count = out->b.capacity = size;
    status = unpack(a, name, out);
    if (status != TESS_SUCCESS) { blob_release(&out->b); }
    return status;
}

/* An array that must be there, with `dimensions`, of numbers, or with `integers` of integers. */
static tess_status read_array(const archive *a, const char *name, int dimensions, bool integers, npz_member *out)
{
    bool found = false;
    char file[32];
    snprintf(file, sizeof file, "%s.npy", name);
    tess_status status = read_member(a, file, out, &found);

    if (status != TESS_SUCCESS) { return status; }
    if (!found) {
        return tess_fail_at(a->b->ctx, TESS_PARSE, a->b->name, 0, "write it by scipy.sparse.save_npz",
                            "the archive has no array '%s', which a sparse matrix of SciPy has", name);
    }
    status = npy_parse(&out->b, &out->a);
    if (status != TESS_SUCCESS) { return status; }
    const bool text = out->a.type == 'S' || out->a.type == 'U', real = out->a.type == 'f' || out->a.type == 'c';
    if (out->a.dimensions == dimensions && !text && !(integers && real)) { return TESS_SUCCESS; }
    return tess_fail_at(a->b->ctx, TESS_PARSE, out->label, 0, NULL,
                        "the array has type %c%d and %s; %s of %s were expected", out->a.type, out->a.item_bytes,
                        tess_count(out->a.dimensions, "dimension").text, tess_count(dimensions, "dimension").text,
                        integers ? "integers" : "numbers");
}

/* The letters of `format`: ASCII, or UCS-4 of which the low byte is one. */
static tess_status read_format(const archive *a, char format[8])
{
    npz_member member;
    bool found = false;
    tess_status status = read_member(a, "format.npy", &member, &found);

    memset(format, 0, 8);
    if (status == TESS_SUCCESS && found) { status = npy_parse(&member.b, &member.a); }
    if (status == TESS_SUCCESS && found && member.a.count > 0 && (member.a.type == 'S' || member.a.type == 'U')) {
        const int step = member.a.type == 'U' ? 4 : 1, low = step == 4 && member.a.swapped == blob_host_is_little();
        for (int i = 0; i < 7 && i * step < member.a.item_bytes; i++) {
            format[i] = (char)member.a.data[i * step + (low ? 3 : 0)];
        }
    }
    blob_release(&member.b);
    if (status != TESS_SUCCESS || found) { return status; }
    if (zip_name_locate(a->zip, "coords.npy", 0) >= 0) { /* of PyData's sparse before it named formats */
        memcpy(format, "coo", 4);
        return TESS_SUCCESS;
    }
    return tess_fail_at(a->b->ctx, TESS_PARSE, a->b->name, 0,
                        "a sparse matrix: scipy.sparse.save_npz(file, A); an array: numpy.save(file, x)",
                        "the archive has no array 'format', so it is no sparse matrix of SciPy");
}

/* The rows or the columns of PyData's gcxs are compressed: csr or csc. */
static tess_status name_compressed(const archive *a, char format[8])
{
    npz_member axes;
    tess_status status = read_array(a, "compressed_axes", 1, true, &axes);

    if (status == TESS_SUCCESS && (axes.a.count != 1 || npy_integer(&axes.a, 0) < 0 || npy_integer(&axes.a, 0) > 1)) {
        status = tess_fail_at(a->b->ctx, TESS_PARSE, axes.label, 0, "in Python: A.change_compressed_axes((0,))",
                              "a matrix in format gcxs has one compressed axis, 0 or 1");
    }
    if (status == TESS_SUCCESS) { snprintf(format, 8, npy_integer(&axes.a, 0) == 0 ? "csr" : "csc"); }
    blob_release(&axes.b);
    return status;
}

/* PyData's sparse calls a format coo as well. What is between the entries must be 0. */
static tess_status check_pydata(const archive *a, char format[8], bool *is_pydata)
{
    npz_member fill;
    bool found = false;
    tess_status status = TESS_SUCCESS;
    const bool coords = strcmp(format, "coo") == 0 && zip_name_locate(a->zip, "coords.npy", 0) >= 0;

    *is_pydata = coords || strcmp(format, "gcxs") == 0;
    if (!*is_pydata) { return TESS_SUCCESS; }
    if (coords) {
        snprintf(format, 8, "coords");
    } else {
        status = name_compressed(a, format);
    }
    if (status != TESS_SUCCESS) { return status; }
    status = read_member(a, "fill_value.npy", &fill, &found);
    if (status == TESS_SUCCESS && found) { status = npy_parse(&fill.b, &fill.a); }
    if (status == TESS_SUCCESS && found &&
        (fill.a.count != 1 || strchr("SU", fill.a.type) || !npy_is_zero(&fill.a, 0))) {
        status = tess_fail_at(a->b->ctx, TESS_UNSUPPORTED, fill.label, 0, "in Python: A - A.fill_value, or A.todense()",
                              "the array has another fill value than 0, so it is no sparse matrix");
    }
    blob_release(&fill.b);
    return status;
}

static tess_status read_shape(const archive *a, file_csr *out)
{
    npz_member shape;
    tess_status status = read_array(a, "shape", 1, true, &shape);

    if (status == TESS_SUCCESS && shape.a.count != 2) {
        status = tess_fail_at(a->b->ctx, TESS_PARSE, shape.label, 0, NULL, "the shape has %s; two were expected",
                              tess_count(shape.a.count, "number").text);
    }
    if (status == TESS_SUCCESS) {
        out->nrows = npy_integer(&shape.a, 0);
        out->ncols = npy_integer(&shape.a, 1);
        status = file_check_sizes(&shape.b, shape.a.data - shape.b.bytes, out->nrows, out->ncols);
    }
    blob_release(&shape.b);
    return status;
}

/* ---- the matrix ---- */

tess_status npz_read_matrix(const blob *b, file_csr *out)
{
    static const struct {
        const char *format, *names[3];
        int dimensions[3];
        tess_status (*build)(const blob *b, const npz_member parts[3], file_csr *out);
    } formats[] = {{"csr", {"indptr", "indices", "data"}, {1, 1, 1}, npz_build_csr},
                   {"csc", {"indptr", "indices", "data"}, {1, 1, 1}, npz_build_csc},
                   {"coo", {"row", "col", "data"}, {1, 1, 1}, npz_build_coo},
                   {"coords", {"coords", "coords", "data"}, {2, 2, 1}, npz_build_coords},
                   {"bsr", {"indptr", "indices", "data"}, {1, 1, 3}, npz_build_bsr},
                   {"dia", {"offsets", "offsets", "data"}, {1, 1, 2}, npz_build_dia}};
    enum { FORMATS = (int)(sizeof formats / sizeof formats[0]) };
    archive a = {.zip = NULL};
    char format[8];
    bool is_pydata = false;
    int f = 0;
    npz_member *parts = calloc(3, sizeof *parts);
    tess_status status = TESS_SUCCESS;

    *out = (file_csr){.nrows = 0};
    if (!parts) { return tess_fail(b->ctx, TESS_OUT_OF_MEMORY, NULL, "there is no memory to read the archive"); }
    TESS_TRY(open_archive(b, &a));
    TESS_TRY(read_format(&a, format));
    TESS_TRY(check_pydata(&a, format, &is_pydata));
    while (f < FORMATS && strcmp(format, formats[f].format) != 0) {
        f++;
    }
    if (f == FORMATS) {
        TESS_TRY(tess_fail_at(b->ctx, TESS_UNSUPPORTED, b->name, 0, "scipy.sparse.save_npz(file, A.tocsr())",
                              "the archive has a sparse matrix in format '%s'; csr, csc, coo, bsr and dia are read",
                              format));
    }
    TESS_TRY(read_shape(&a, out));
    for (int i = 0; i < 3; i++) {
        TESS_TRY(read_array(&a, formats[f].names[i], formats[f].dimensions[i], i < 2, &parts[i]));
    }
    TESS_TRY(formats[f].build(b, parts, out));
    snprintf(out->kind, sizeof out->kind, "%s archive, %s", is_pydata ? "PyData sparse" : "SciPy",
             strcmp(format, "coords") == 0 ? "coo" : format);
cleanup:
    for (int i = 0; i < 3; i++) {
        if (parts[i].b.own) { blob_release(&parts[i].b); }
    }
    free(parts);
    if (a.zip) { zip_discard(a.zip); }
    return status;
}

#else

tess_status npz_read_matrix(const blob *b, file_csr *out)
{
    *out = (file_csr){.nrows = 0};
    return tess_fail_at(b->ctx, TESS_UNSUPPORTED, b->name, 0,
                        "build with libzip (Debian: libzip-dev), or save the matrix by scipy.io.mmwrite",
                        "this build of the library has no libzip, so it reads no .npz archives");
}

#endif
