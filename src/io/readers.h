/* SPDX-License-Identifier: Apache-2.0 */
/* The table of readers: what a kind of file is called, how it is known, and what reads it. */
#ifndef TESS_IO_READERS_H
#define TESS_IO_READERS_H

#include "io/binary.h"

/* The first bytes of the contents, and the file's name. */
typedef struct file_head {
    const unsigned char *bytes;
    int64_t count;
    const char *name;
} file_head;

typedef struct file_reader {
    const char *text; /* what a person calls it */
    bool (*knows)(const file_head *head);
    tess_status (*matrix)(const blob *b, file_csr *out); /* NULL: no matrix in such a file */
    tess_status (*array)(const blob *b, file_array *out);
    file_kind kind;
    bool has_members; /* variables with names, of which NAME:VARIABLE takes one */
} file_reader;

/* The reader of a file; that of Matrix Market, which reads windows of text instead of a blob, where no other knows it.
 */
const file_reader *tess_find_reader(const text_source *source);

/* Fails for a file that no reader knows, where it can be named: UNSUPPORTED, with a way out. SUCCESS otherwise. */
tess_status tess_name_unknown(const text_source *source);

/* Whether the first bytes are those of a kind that is named there. */
bool tess_is_stranger(const file_head *head);

/* ---- readers of text ---- */

bool harwell_boeing_knows(const file_head *head);
tess_status harwell_boeing_read_matrix(const blob *b, file_csr *out);
tess_status harwell_boeing_read_array(const blob *b, file_array *out);

bool hypre_knows(const file_head *head);
tess_status hypre_read_matrix(const blob *b, file_csr *out);
tess_status hypre_read_array(const blob *b, file_array *out);

/* Columns of numbers, in files with such names: .txt, .dat, .csv, .tsv, .coo, .ijv */
bool plain_knows(const file_head *head);
tess_status plain_read_matrix(const blob *b, file_csr *out);
tess_status plain_read_array(const blob *b, file_array *out);

bool amgx_knows(const file_head *head);
tess_status amgx_read_matrix(const blob *b, file_csr *out);
tess_status amgx_read_array(const blob *b, file_array *out);

bool octave_text_knows(const file_head *head);
tess_status octave_text_read_matrix(const blob *b, file_csr *out);
tess_status octave_text_read_array(const blob *b, file_array *out);

/* ---- readers of binary files ---- */

bool mat4_knows(const file_head *head);
tess_status mat4_read_matrix(const blob *b, file_csr *out);
tess_status mat4_read_array(const blob *b, file_array *out);

tess_status mat5_read_matrix(const blob *b, file_csr *out);
tess_status mat5_read_array(const blob *b, file_array *out);

bool hdf5_knows(const file_head *head);
tess_status hdf5_read_matrix(const blob *b, file_csr *out);
tess_status hdf5_read_array(const blob *b, file_array *out);

#endif
