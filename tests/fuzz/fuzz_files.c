/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target of the readers of other programs' files, as matrices and as vectors, under the names that some of
 * them are known by. What is accepted is sound; what is refused comes with a message; memory is bounded by the file.
 *
 *   bash scripts/fuzz.sh fuzz_files
 *   bash scripts/fuzz.sh fuzz_files:mat5     # every input goes to this reader, whatever its first bytes are
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/tessera.h>

#include "io/readers.h"
#include "matrix/complex_form.h"

/* One reader gets less at once: empty rows by the million say nothing and take their time. */
enum { MOST_AT_ONCE = 1 << 25, MOST_OF_ONE = 1 << 20, MOST_ALWAYS = 1 << 26, MOST_PER_BYTE = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t live, most, at_once = MOST_AT_ONCE;

static void *allocate(void *user, size_t bytes)
{
    (void)user;
    if (bytes > at_once) { return NULL; }
    live += bytes;
    most = live > most ? live : most;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void release(void *user, void *pointer, size_t bytes)
{
    (void)user;
    if (pointer) { live -= bytes; }
    free(pointer);
}

static void require(int condition)
{
    if (!condition) { abort(); }
}

static void check_refusal(const tess_context *ctx)
{
    require(tess_context_last_error(ctx)->message[0] != '\0');
}

static void read_as_matrix(tess_context *ctx, const char *name, const uint8_t *data, size_t size)
{
    tess_mtx_info info = {.size = sizeof info};
    tess_matrix *m = NULL;
    const tess_status status = tess_matrix_read_memory(ctx, name, data, size, &m, &info);

    require((status == TESS_SUCCESS) == (m != NULL));
    if (!m) {
        check_refusal(ctx);
        return;
    }
    const int64_t parts = tess_matrix_is_complex(m) ? 2 : 1;
    require(info.is_complex == (parts == 2) && info.kind[0] != '\0');
    require(tess_matrix_nrows(m) == parts * info.nrows && tess_matrix_ncols(m) == parts * info.ncols);
    require(tess_matrix_nnz(m) == parts * parts * info.nonzeros && info.nonzeros <= 2 * info.entries);
    tess_matrix_destroy(m);
}

static void read_as_array(tess_context *ctx, const char *name, const uint8_t *data, size_t size)
{
    text_source source;
    blob b = {.ctx = ctx};
    file_array a = {.nrows = 0};

    if (text_source_open_memory(ctx, name, data, size, &source) != TESS_SUCCESS) { return; }
    const file_reader *reader = tess_find_reader(&source);
    if (reader->array && blob_read(&source, &b) == TESS_SUCCESS) {
        if (reader->array(&b, &a) == TESS_SUCCESS) {
            require(a.nrows >= 0 && a.ncols >= 0);
        } else {
            check_refusal(ctx);
        }
        file_array_release(ctx, &a);
        blob_release(&b);
    }
    text_source_close(&source);
}

/* ---- one reader ---- */

/* A reader as FUZZ_READER names it, and the name of a file that it would read. */
typedef struct choice {
    const char *word, *name;
    tess_status (*matrix)(const blob *b, file_csr *out);
    tess_status (*array)(const blob *b, file_array *out);
} choice;

static const choice choices[] = {
    {"amgx", "input", amgx_read_matrix, amgx_read_array},
    {"harwell-boeing", "input", harwell_boeing_read_matrix, harwell_boeing_read_array},
    {"hdf5", "input", hdf5_read_matrix, hdf5_read_array},
    {"hypre", "A.00000", hypre_read_matrix, hypre_read_array},
    {"mat4", "input", mat4_read_matrix, mat4_read_array},
    {"mat5", "input", mat5_read_matrix, mat5_read_array},
    {"npy", "input", npy_read_matrix, npy_read_array},
    {"npz", "input", npz_read_matrix, NULL},
    {"octave-text", "input", octave_text_read_matrix, octave_text_read_array},
    {"petsc", "A.sbaij.petsc", petsc_read_matrix, petsc_read_vectors},
    {"plain", "A.txt", plain_read_matrix, plain_read_array},
};

static const choice *chosen_reader(void)
{
    const char *word = getenv("FUZZ_READER");

    if (!word) { return NULL; }
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        if (strcmp(word, choices[i].word) == 0) { return &choices[i]; }
    }
    fprintf(stderr, "fuzz_files: no reader '%s'\n", word);
    exit(2);
}

static void matrix_by(const choice *c, const blob *b)
{
    file_csr a = {.nrows = 0};
    tess_assembled made = {.nrows = 0};

    if (c->matrix(b, &a) != TESS_SUCCESS) {
        check_refusal(b->ctx);
        return;
    }
    require(a.nrows >= 0 && a.ncols >= 0 && a.nnz == a.row_ptr[a.nrows] && a.kind[0] != '\0');
    const tess_status status =
        a.is_complex ? tess_assemble_complex_csr(b->ctx, a.nrows, a.nnz, a.row_ptr, a.col_ind, a.val, &made)
                     : tess_assemble_csr(b->ctx, a.nrows, a.nnz, a.row_ptr, a.col_ind, a.val, &made); /* takes them */
    if (status == TESS_SUCCESS) {
        require(made.nrows == (a.is_complex ? 2 : 1) * a.nrows);
        tess_assembled_release(b->ctx, &made);
    }
}

static void read_by(tess_context *ctx, const choice *c, const uint8_t *data, size_t size)
{
    text_source source;
    blob b = {.ctx = ctx};
    file_array array = {.nrows = 0};

    if (text_source_open_plain(ctx, c->name, data, size, &source) != TESS_SUCCESS) { return; }
    if (blob_read(&source, &b) == TESS_SUCCESS) {
        matrix_by(c, &b);
        if (c->array) {
            if (c->array(&b, &array) != TESS_SUCCESS) { check_refusal(ctx); }
            file_array_release(ctx, &array);
        }
        blob_release(&b);
    }
    text_source_close(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"input", "A.txt", "A.00000", "A.sbaij.petsc"};
    const choice *one = chosen_reader();
    tess_context_options options;
    tess_context *ctx = NULL;

    live = most = 0;
    at_once = one ? MOST_OF_ONE : MOST_AT_ONCE;
    tess_context_options_init(&options);
    options.device = TESS_DEVICE_CPU;
    options.threads = 1;
    options.host_allocator = (tess_allocator){allocate, release, NULL};
    require(tess_context_create(&options, &ctx) == TESS_SUCCESS);
    if (one) { read_by(ctx, one, data, size); }
    for (int i = 0; i < 4 && !one; i++) {
        read_as_matrix(ctx, names[i], data, size);
        read_as_array(ctx, names[i], data, size);
        if (i == 0 && size > 1 && memcmp(data, "PK", 2) == 0) { break; } /* the name does not matter */
    }
    require(most <= MOST_ALWAYS + MOST_PER_BYTE * size);
    tess_context_destroy(ctx);
    require(live == 0);
    return 0;
}
