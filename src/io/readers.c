/* SPDX-License-Identifier: Apache-2.0 */
/* The table of readers; see readers.h. */
#include <string.h>

#include "io/cache.h"
#include "io/readers.h"

static bool begins(const file_head *head, const void *bytes, int64_t count)
{
    return head->count >= count && memcmp(head->bytes, bytes, (size_t)count) == 0;
}

static bool cache_knows(const file_head *head)
{
    return begins(head, tess_cache_magic, CACHE_MAGIC_BYTES);
}

static bool npy_knows(const file_head *head)
{
    return begins(head, "\x93NUMPY", 6);
}

static bool npz_knows(const file_head *head)
{
    return begins(head, "PK\3\4", 4) || begins(head, "PK\5\6", 4); /* the second: an archive without members */
}

/* PETSc begins with its class, big-endian, in 4 or (64-bit indices) 8 bytes. */
static bool petsc_knows(const file_head *head)
{
    static const unsigned char zeros[4] = {0};
    const file_head rest = {head->bytes + 4, head->count - 4, head->name};
    const file_head *h = begins(head, zeros, 4) ? &rest : head;

    return begins(h, "\x00\x12\x7b\x50", 4) || begins(h, "\x00\x12\x7b\x4e", 4);
}

static bool mat5_knows(const file_head *head)
{
    return begins(head, "MATLAB 5.0", 10);
}

static bool no_file(const file_head *head)
{
    (void)head;
    return false;
}

static const file_reader readers[] = {
    {"binary cache", cache_knows, NULL, NULL, FILE_CACHE, false},
    {"NumPy array", npy_knows, npy_read_matrix, npy_read_array, FILE_NPY, false},
    {"NumPy archive", npz_knows, npz_read_matrix, NULL, FILE_NPZ, false},
    {"PETSc binary file", petsc_knows, petsc_read_matrix, petsc_read_vectors, FILE_PETSC, false},
    {"MATLAB file", mat5_knows, mat5_read_matrix, mat5_read_array, FILE_MATLAB, true},
    {"MATLAB file of version 4", mat4_knows, mat4_read_matrix, mat4_read_array, FILE_MATLAB4, true},
    {"text file of Octave", octave_text_knows, octave_text_read_matrix, octave_text_read_array, FILE_OCTAVE, true},
    {"HDF5 file", hdf5_knows, hdf5_read_matrix, hdf5_read_array, FILE_HDF5, true},
    {"Matrix Market file of AmgX", amgx_knows, amgx_read_matrix, amgx_read_array, FILE_AMGX, false},
    {"Harwell-Boeing file", harwell_boeing_knows, harwell_boeing_read_matrix, harwell_boeing_read_array,
     FILE_HARWELL_BOEING, false},
    {"hypre IJ file", hypre_knows, hypre_read_matrix, hypre_read_array, FILE_HYPRE, false},
    {"text file", plain_knows, plain_read_matrix, plain_read_array, FILE_PLAIN, false},
    {"Matrix Market", no_file, NULL, NULL, FILE_TEXT, false},
};

enum { READERS = (int)(sizeof readers / sizeof readers[0]) };

const file_reader *tess_find_reader(const text_source *source)
{
    const file_head head = {source->peeked, source->peeked_bytes, source->name};
    int k = 0;

    while (k + 1 < READERS && !readers[k].knows(&head)) {
        k++;
    }
    return &readers[k];
}

file_kind tess_file_kind_of_name(const char *name)
{
    static const struct {
        const char *end;
        file_kind kind;
    } ends[] = {{".npy", FILE_NPY},    {".npz", FILE_NPZ},   {".petsc", FILE_PETSC}, {".tess", FILE_CACHE},
                {".mat", FILE_MATLAB}, {".txt", FILE_PLAIN}, {".csv", FILE_PLAIN}};
    const size_t length = strlen(name);

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const size_t n = strlen(ends[i].end);

        if (length >= n && strcmp(name + length - n, ends[i].end) == 0) { return ends[i].kind; }
    }
    return FILE_TEXT;
}
