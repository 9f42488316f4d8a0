/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of HDF5 files. MATLAB's version 7.3: a sparse matrix is a group with data, ir and jc and an attribute with
 * its rows, an array a data set of reversed dimensions, a structure a group. Octave's save -hdf5: each variable is a
 * group with `type` and `value`; the value of a sparse one has nr, nc, data, ridx and cidx. Data sets of others, such
 * as h5py's, are arrays in the order of C.
 */
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "io/hdf5_file.h"
#include "io/hdf5_parts.h"
#include "io/lines.h"
#include "io/readers.h"
#include "io/variables.h"

/* A variable: an array, or the parts of a sparse matrix. */
typedef struct h5_variable {
    bool numbers, sparse;
    bool reversed; /* columns come first, as MATLAB and Octave write */
    int64_t nrows, ncols;
    h5_object data, rows, starts; /* of an array: data alone */
} h5_variable;

bool hdf5_knows(const file_head *head)
{
    return (head->count >= 10 && memcmp(head->bytes, "MATLAB 7.3", 10) == 0) ||
           h5_find_superblock(head->bytes, head->count) >= 0;
}

/* ---- what a variable is ---- */

static bool is_array(const h5_object *o)
{
    return !o->group && o->type.bytes > 0 && !o->type.text && o->rank >= 0 && o->rank <= 2;
}

static void describe_array(const h5_object *o, bool reversed, h5_variable *v)
{
    v->numbers = is_array(o);
    v->reversed = reversed;
    v->data = *o;
    v->nrows = o->rank == 0 ? 1 : o->dims[reversed && o->rank == 2 ? 1 : 0];
    v->ncols = o->rank < 2 ? 1 : o->dims[reversed ? 0 : 1];
}

/* The one number of a data set. */
static tess_status read_number(h5_file *f, const h5_object *o, int64_t *value)
{
    unsigned char *bytes = NULL;

    if (h5_items(o) != 1 || o->type.text || o->type.parts != 1) { return h5_fail(f, "a size is no number"); }
    const tess_status status = h5_read(f, o, &bytes);
    if (status != TESS_SUCCESS) { return status; }
    const double number = h5_value(&o->type, bytes, 0, 0);
    tess_host_release(f->b->ctx, bytes, o->type.bytes, 1);
    if (!(number >= 0.0 && number <= (double)TESS_MAX_ROWS)) { return h5_fail(f, "a size is out of range"); }
    *value = (int64_t)number;
    return TESS_SUCCESS;
}

/* The members of a sparse matrix; *whole false: not all are there. A matrix without entries has no `data`. */
static tess_status find_parts(h5_file *f, const h5_object *group, const char *rows, const char *starts, h5_variable *v,
                              bool *whole)
{
    bool data = false, ir = false;
    tess_status status = h5_find(f, group, starts, &v->starts, whole);

    if (status != TESS_SUCCESS || !*whole) { return status; }
    status = h5_find(f, group, "data", &v->data, &data);
    if (status == TESS_SUCCESS) { status = h5_find(f, group, rows, &v->rows, &ir); }
    if (!data || !ir) { v->rows.rank = v->data.rank = -1; }
    *whole = status == TESS_SUCCESS;
    return status;
}

static tess_status describe_octave(h5_file *f, const h5_object *value, h5_variable *v)
{
    h5_object nr, nc;
    bool found = false;

    if (!value->group) {
        describe_array(value, true, v);
        return TESS_SUCCESS;
    }
    tess_status status = find_parts(f, value, "ridx", "cidx", v, &v->sparse);
    if (status == TESS_SUCCESS && v->sparse) { status = h5_find(f, value, "nr", &nr, &found); }
    v->sparse = v->sparse && found;
    if (status == TESS_SUCCESS && v->sparse) { status = h5_find(f, value, "nc", &nc, &found); }
    v->sparse = v->sparse && found;
    if (status != TESS_SUCCESS || !v->sparse) { return status; }
    v->numbers = true;
    status = read_number(f, &nr, &v->nrows);
    return status == TESS_SUCCESS ? read_number(f, &nc, &v->ncols) : status;
}

static tess_status describe_object(h5_file *f, const h5_object *o, h5_variable *v)
{
    double rows = 0.0;
    h5_object value;
    bool found = false;
    tess_status status = TESS_SUCCESS;

    *v = (h5_variable){.numbers = false};
    if (!o->group) {
        status = h5_attribute(f, o, "MATLAB_empty", &rows, &found);
        if (status == TESS_SUCCESS && !found) {
            describe_array(o, f->base != 0, v);
        } /* MATLAB: behind a block of its own */
        return status;
    }
    status = h5_attribute(f, o, "MATLAB_sparse", &rows, &found);
    if (status == TESS_SUCCESS && found && rows >= 0.0 && rows <= (double)TESS_MAX_ROWS) {
        status = find_parts(f, o, "ir", "jc", v, &v->sparse);
        v->numbers = v->sparse;
        v->nrows = (int64_t)rows;
        v->ncols = v->sparse ? h5_items(&v->starts) - 1 : 0;
        return status;
    }
    if (status == TESS_SUCCESS) { status = h5_find(f, o, "value", &value, &found); }
    return status == TESS_SUCCESS && found ? describe_octave(f, &value, v) : status;
}

/* ---- which one ---- */

typedef struct h5_listing {
    file_variables *all;
    const char *in; /* the structure; NULL in the root */
} h5_listing;

static tess_status list_link(void *user, h5_file *f, const char *name, size_t length, uint64_t address)
{
    const h5_listing *l = user;
    h5_object o;
    h5_variable v;

    if (length == 0 || *name == '#') { return TESS_SUCCESS; } /* MATLAB's own */
    tess_status status = h5_object_at(f, address, &o);
    if (status == TESS_SUCCESS) { status = describe_object(f, &o, &v); }
    if (status != TESS_SUCCESS) { return status; }
    if (v.numbers) {
        file_variable *added = file_add_variable(l->all, l->in, name, length);

        if (added) {
            added->sparse = v.sparse;
            added->nrows = v.nrows;
            added->ncols = v.ncols;
            added->place = (int64_t)address;
        }
    } else if (o.group && !l->in) {
        char in[VARIABLE_NAME_BYTES];
        h5_listing inner = {l->all, in};

        snprintf(in, sizeof in, "%.*s", length < 64 ? (int)length : 64, name);
        return h5_each_link(f, &o, list_link, &inner);
    }
    return TESS_SUCCESS;
}

static tess_status find_variable(const blob *b, source_role role, h5_file *f, h5_variable *v)
{
    file_variables *all = NULL;
    const file_variable *chosen = NULL;
    h5_object root, o;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(b->ctx, 1, sizeof *all, (void **)&all));
    *all = (file_variables){.count = 0};
    TESS_TRY(h5_open(b, f));
    TESS_TRY(h5_object_at(f, f->root, &root));
    h5_listing l = {all, NULL};
    TESS_TRY(h5_each_link(f, &root, list_link, &l));
    if (all->count == 0) {
        TESS_TRY(tess_fail_at(b->ctx, TESS_UNSUPPORTED, b->name, 0,
                              "in Python: h5py.File('A.h5').visititems(print) lists what is in it; "
                              "scipy.sparse.save_npz writes what is read",
                              "the HDF5 file has no matrix as MATLAB or Octave write it, and no table of numbers"));
    }
    TESS_TRY(file_choose_variable(b, all, role, &chosen));
    TESS_TRY(h5_object_at(f, (uint64_t)chosen->place, &o));
    TESS_TRY(describe_object(f, &o, v));
    TESS_TRY(file_check_sizes(b, 0, v->nrows, v->ncols));
cleanup:
    tess_host_release(b->ctx, all, 1, sizeof *all);
    return status;
}

/* ---- its values ---- */

static void copy_value(const h5_object *o, const unsigned char *bytes, int64_t k, double *to)
{
    for (int part = 0; part < o->type.parts; part++) {
        to[part] = h5_value(&o->type, bytes, k, part);
    }
}

static tess_status read_dense(h5_file *f, const h5_variable *v, file_array *out)
{
    const h5_object *o = &v->data;
    unsigned char *bytes = NULL;
    const int64_t items = h5_items(o);
    const int64_t rows = v->nrows > 0 ? v->nrows : 1, columns = v->ncols > 0 ? v->ncols : 1; /* without: no items */
    const int parts = o->type.parts;
    tess_status status = h5_read(f, o, &bytes);

    *out = (file_array){.nrows = v->nrows, .ncols = v->ncols, .is_complex = parts == 2};
    if (status == TESS_SUCCESS) { status = file_array_allocate(f->b->ctx, out); }
    for (int64_t k = 0; k < items && status == TESS_SUCCESS; k++) {
        const int64_t row = v->reversed ? k % rows : k / columns, col = v->reversed ? k / rows : k % columns;

        copy_value(o, bytes, k, out->val + parts * (row + col * v->nrows));
    }
    if (bytes) { tess_host_release(f->b->ctx, bytes, items * o->type.bytes, 1); }
    return status;
}

/* The bytes of a part of a sparse matrix. */
typedef struct h5_part {
    const h5_object *o;
    unsigned char *bytes;
    int64_t items;
} h5_part;

static tess_status read_part(h5_file *f, const h5_object *o, bool values, h5_part *part)
{
    *part = (h5_part){.o = o, .items = o->rank < 0 ? 0 : h5_items(o)};
    if (o->rank < 0) { return TESS_SUCCESS; } /* a matrix without entries */
    if (o->group || o->type.text || (!values && o->type.parts != 1)) {
        return h5_fail(f, "a part of a sparse matrix has no numbers");
    }
    return h5_read(f, o, &part->bytes);
}

static void release_part(const h5_file *f, h5_part *part)
{
    if (part->bytes) { tess_host_release(f->b->ctx, part->bytes, part->items * part->o->type.bytes, 1); }
}

static tess_status fill_entries(const h5_file *f, const h5_variable *v, const h5_part *parts, text_entries *e)
{
    const h5_part *rows = &parts[0], *starts = &parts[1], *data = &parts[2];
    const int64_t most = rows->items < data->items ? rows->items : data->items;
    tess_status status = TESS_SUCCESS;

    for (int64_t j = 0, k = 0; j < v->ncols && status == TESS_SUCCESS; j++) {
        const double end = h5_value(&starts->o->type, starts->bytes, j + 1, 0);

        if (!(end >= (double)k && end <= (double)most)) { return h5_fail(f, "columns out of order"); }
        for (; k < (int64_t)end && status == TESS_SUCCESS; k++) {
            const double row = h5_value(&rows->o->type, rows->bytes, k, 0);
            double value[2] = {0.0, 0.0};

            if (!(row >= 0.0 && row < (double)v->nrows)) {
                return tess_fail_at(f->b->ctx, TESS_OUT_OF_RANGE, f->b->name, 0, NULL,
                                    "row %g of column %lld is outside of the matrix; 0 to %lld were expected", row,
                                    (long long)j, (long long)v->nrows - 1);
            }
            copy_value(data->o, data->bytes, k, value);
            status = text_add_entry(e, (int64_t)row, j, value);
        }
    }
    return status;
}

/* The entries of a sparse matrix; *all points into *e. */
static tess_status read_sparse(h5_file *f, const h5_variable *v, text_entries *e, tess_entries *all)
{
    h5_part parts[3] = {{.o = NULL}};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(read_part(f, &v->rows, false, &parts[0]));
    TESS_TRY(read_part(f, &v->starts, false, &parts[1]));
    TESS_TRY(read_part(f, &v->data, true, &parts[2]));
    if (parts[1].items != v->ncols + 1) { TESS_TRY(h5_fail(f, "the columns of a sparse matrix are incomplete")); }
    e->parts = v->data.rank < 0 ? 1 : v->data.type.parts;
    TESS_TRY(fill_entries(f, v, parts, e));
    *all = (tess_entries){.nrows = v->nrows,
                          .ncols = v->ncols,
                          .count = e->count,
                          .row = e->row,
                          .col = e->col,
                          .val = e->val,
                          .is_complex = e->parts == 2};
cleanup:
    for (int i = 0; i < 3; i++) {
        release_part(f, &parts[i]);
    }
    return status;
}

tess_status hdf5_read_matrix(const blob *b, file_csr *out)
{
    h5_file f;
    h5_variable v;
    text_entries e = {.ctx = b->ctx, .parts = 1};
    tess_entries all;
    file_array table = {.nrows = 0};
    tess_status status = TESS_SUCCESS;

    *out = (file_csr){.nrows = 0};
    TESS_TRY(find_variable(b, SOURCE_MATRIX, &f, &v));
    if (v.sparse) {
        TESS_TRY(file_check_rows(b, v.nrows));
        TESS_TRY(read_sparse(&f, &v, &e, &all));
        TESS_TRY(file_csr_from_entries(b->ctx, &all, out));
    } else {
        if (v.ncols == 0) { TESS_TRY(file_check_rows(b, v.nrows)); }
        TESS_TRY(read_dense(&f, &v, &table));
        TESS_TRY(file_csr_from_array(b->ctx, &table, out));
    }
    (void)snprintf(out->kind, sizeof out->kind, "HDF5 of %s, %s",
                   v.reversed || v.sparse ? "MATLAB or Octave" : "another program", v.sparse ? "sparse" : "dense");
cleanup:
    text_release_entries(&e);
    file_array_release(b->ctx, &table);
    return status;
}

tess_status hdf5_read_array(const blob *b, file_array *out)
{
    h5_file f;
    h5_variable v;
    text_entries e = {.ctx = b->ctx, .parts = 1};
    tess_entries all;
    tess_status status = TESS_SUCCESS;

    *out = (file_array){.nrows = 0};
    TESS_TRY(find_variable(b, SOURCE_VECTOR, &f, &v));
    if (v.sparse) {
        TESS_TRY(read_sparse(&f, &v, &e, &all));
        TESS_TRY(file_array_from_entries(b, &all, out));
    } else {
        TESS_TRY(read_dense(&f, &v, out));
    }
    file_turn_row(out);
cleanup:
    text_release_entries(&e);
    return status;
}
