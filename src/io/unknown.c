/* SPDX-License-Identifier: Apache-2.0 */
/* Files that no reader knows, by their first bytes: what they are, and a command that makes one of them that is read.
 */
#include <string.h>

#include "io/readers.h"

typedef struct stranger {
    const char *bytes;
    int length, at;
    const char *what, *hint;
} stranger;

static const char pickle_hint[] = "in Python: A = pickle.load(open('A.pkl', 'rb')); scipy.sparse.save_npz('A.npz', "
                                  "scipy.sparse.csr_array(A)); unpickle files of yours alone";

static const stranger strangers[] = {
    {"PAR1", 4, 0, "a Parquet file", "in Python: pandas.read_parquet('A.parquet').to_csv('A.csv', index=False)"},
    {"ARROW1", 6, 0, "an Arrow file", "in Python: pandas.read_feather('A.feather').to_csv('A.csv', index=False)"},
    {"PK\3\4", 4, 0, "an archive", "unpack it: unzip A.zip"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, 0, "an Excel workbook", "save it as CSV in the program that wrote it"},
    {"7z\xbc\xaf\x27\x1c", 6, 0, "a 7z archive", "unpack it: 7z x A.7z"},
    {"Rar!\x1a\x07", 6, 0, "a RAR archive", "unpack it: unrar x A.rar"},
    {"RDX3\n", 5, 0, "a file of R (save)", "in R: load('A.RData'); Matrix::writeMM(A, 'A.mtx')"},
    {"RDX2\n", 5, 0, "a file of R (save)", "in R: load('A.RData'); Matrix::writeMM(A, 'A.mtx')"},
    {"X\n\0\0\0\2", 6, 0, "a file of R (saveRDS)", "in R: Matrix::writeMM(readRDS('A.rds'), 'A.mtx')"},
    {"X\n\0\0\0\3", 6, 0, "a file of R (saveRDS)", "in R: Matrix::writeMM(readRDS('A.rds'), 'A.mtx')"},
    {"\x80\2", 2, 0, "a pickle of Python, which could run any code", pickle_hint},
    {"\x80\3", 2, 0, "a pickle of Python, which could run any code", pickle_hint},
    {"\x80\4", 2, 0, "a pickle of Python, which could run any code", pickle_hint},
    {"\x80\5", 2, 0, "a pickle of Python, which could run any code", pickle_hint},
    {"SQLite format 3", 15, 0, "an SQLite database", NULL},
    {"CDF\1", 4, 0, "a netCDF file of version 3", "nccopy -k nc4 A.nc A.h5"},
    {"CDF\2", 4, 0, "a netCDF file of version 3", "nccopy -k nc4 A.nc A.h5"},
    {"%PDF", 4, 0, "a PDF document", NULL},
    {"\x89PNG", 4, 0, "a picture", NULL},
    {"\x7f"
     "ELF",
     4, 0, "a program", NULL},
    {"<!DOCTYPE", 9, 0, "a web page",
     "the server may have answered with a page instead of the file: download it again"},
    {"<html", 5, 0, "a web page", "the server may have answered with a page instead of the file: download it again"},
    {"version https://git-lfs", 23, 0, "a pointer of Git LFS", "git lfs pull"},
    {"%%NVAMGBinary", 13, 0, "a binary file of AmgX", "in AmgX's configuration: matrix_writer=matrixmarket"},
    {"Octave-1-L", 10, 0, "a binary file of Octave", "in Octave: load A.bin; save('-v7', 'A.mat', 'A')"},
};

static bool is_stranger(const file_head *h, const stranger *s)
{
    return h->count >= s->at + s->length && memcmp(h->bytes + s->at, s->bytes, (size_t)s->length) == 0;
}

/* FreeFEM writes "#  HashMatrix Matrix (COO)" and the like, or before version 4 "# Sparse Matrix (Morse)". */
static bool is_freefem(const file_head *h)
{
    static const char *const words[] = {"HashMatrix", "Sparse Matrix (Morse)"};
    const int64_t most = h->count < 200 ? h->count : 200;

    for (size_t i = 0; i < 2; i++) {
        if (h->count > 1 && *h->bytes == '#' && memmem(h->bytes, (size_t)most, words[i], strlen(words[i]))) {
            return true;
        }
    }
    return false;
}

static const stranger *find_stranger(const file_head *head)
{
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        if (is_stranger(head, &strangers[i])) { return &strangers[i]; }
    }
    return NULL;
}

bool tess_is_stranger(const file_head *head)
{
    return find_stranger(head) || is_freefem(head);
}

static tess_status refuse(const text_source *source, const char *what, const char *hint)
{
    return tess_fail_at(source->ctx, TESS_UNSUPPORTED, source->name, 0, hint,
                        "the file is %s, which this library does not read", what);
}

tess_status tess_name_unknown(const text_source *source)
{
    const file_head head = {source->peeked, source->peeked_bytes, source->name};

    const stranger *found = find_stranger(&head);

    if (found) { return refuse(source, found->what, found->hint); }
    if (is_freefem(&head)) {
        return refuse(source, "a matrix of FreeFEM",
                      "awk '!/^#/ { if (!n++) half = NF == 7 ? $4 : $3; else { print; if (half && $1 != $2) print $2, "
                      "$1, $3 } }' A.txt > A.ijv");
    }
    if (head.count == 0 || !memchr(head.bytes, '\0', (size_t)head.count)) {
        return TESS_SUCCESS;
    } /* text has no zeros */
    return refuse(source, "binary, of no kind that is known here",
                  "Matrix Market, .npz, .npy, PETSc's, MATLAB's, HDF5 and Harwell-Boeing files are read");
}
