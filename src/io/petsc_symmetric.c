/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PETSc's MATSBAIJ: the blocks on the diagonal, whole, and those above it. MatView writes them as it writes a matrix
 * that has no more, and says nowhere which it is. What is found here is the size of blocks in which the file may be
 * such a half. Blocks of two and more that are symmetric on all of the diagonal leave no doubt; of single entries
 * there is, and the name of the file must say it.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "io/binary.h"

enum { MOST_BLOCK = 64 };

/* The widest lower part of a row: blocks must be as large. -1: an entry is further below than any block reaches. */
static int64_t widest_below(const file_csr *a)
{
    int64_t widest = 0;

    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            const int64_t below = i - a->col_ind[k];

            if (below >= MOST_BLOCK) { return -1; }
            widest = below > widest ? below : widest;
        }
    }
    return widest;
}

/* The diagonal blocks of this size are there as a whole, and nothing is left of them; some entry is right of them. */
static bool is_upper_half(const file_csr *a, int64_t size)
{
    bool beyond = false;

    for (int64_t i = 0; i < a->nrows; i++) {
        const int64_t first = i / size * size;
        int64_t inside = 0;

        for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
            if (a->col_ind[k] < first) { return false; }
            inside += a->col_ind[k] < first + size;
            beyond = beyond || a->col_ind[k] >= first + size;
        }
        if (inside != size) { return false; }
    }
    return beyond;
}

/* The entry of a row's block on the diagonal. */
static const double *block_entry(const file_csr *a, int64_t row, int64_t col)
{
    for (int64_t k = a->row_ptr[row]; k < a->row_ptr[row + 1]; k++) {
        if (a->col_ind[k] == col) { return a->val + (a->is_complex ? 2 : 1) * k; }
    }
    return NULL;
}

static bool diagonal_blocks_are_symmetric(const file_csr *a, int64_t size)
{
    const size_t bytes = (a->is_complex ? 2 : 1) * sizeof *a->val;

    for (int64_t i = 0; i < a->nrows; i++) {
        for (int64_t j = i / size * size; j < i; j++) {
            const double *lower = block_entry(a, i, j), *upper = block_entry(a, j, i);

            if (!lower || !upper || memcmp(lower, upper, bytes) != 0) { return false; }
        }
    }
    return true;
}

/* The part of the name behind the last '/' has this word: neither a letter nor a digit is beside it. */
static bool is_named(const char *path, const char *word)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t length = strlen(word);

    for (const char *p = strstr(name, word); p; p = strstr(p + 1, word)) {
        if ((p == name || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[length])) { return true; }
    }
    return false;
}

/* Entry k of a, of row i, where it is and, beyond the blocks on the diagonal, where its image is: counts it in the
   lengths of rows, or puts it where row_ptr says that these go on. */
static void place(const file_csr *a, int64_t i, int64_t k, int64_t size, bool count, file_csr *whole)
{
    const int64_t j = a->col_ind[k], parts = a->is_complex ? 2 : 1;
    const int64_t rows[] = {i, j}, cols[] = {j, i};

    for (int copy = 0; copy < (j >= i / size * size + size ? 2 : 1); copy++) {
        if (count) {
            whole->row_ptr[rows[copy] + 1]++;
            continue;
        }
        const int64_t at = whole->row_ptr[rows[copy]]++;
        whole->col_ind[at] = (int32_t)cols[copy];
        memcpy(whole->val + parts * at, a->val + parts * k, (size_t)parts * sizeof *a->val);
    }
}

/* Adds the mirror image of what is beyond the blocks on the diagonal. */
static tess_status mirror(tess_context *ctx, file_csr *a, int64_t size)
{
    file_csr whole = {
        .nrows = a->nrows, .ncols = a->ncols, .nnz = 2 * a->nnz - a->nrows * size, .is_complex = a->is_complex};
    tess_status status = file_csr_allocate(ctx, &whole);

    if (status != TESS_SUCCESS) { return status; }
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < a->nrows; i++) {
            for (int64_t k = a->row_ptr[i]; k < a->row_ptr[i + 1]; k++) {
                place(a, i, k, size, pass == 0, &whole);
            }
        }
        if (pass == 0) { file_csr_sum_lengths(&whole); }
    }
    memmove(whole.row_ptr + 1, whole.row_ptr, (size_t)whole.nrows * sizeof *whole.row_ptr);
    whole.row_ptr[0] = 0;
    file_csr_release(ctx, a);
    *a = whole;
    return TESS_SUCCESS;
}

/* The size of the blocks in which the matrix may be an upper half; 0: in none. */
static int64_t half_in_blocks(const file_csr *a)
{
    const int64_t widest = a->nrows == a->ncols ? widest_below(a) : -1;

    if (widest < 0) { return 0; }
    for (int64_t size = widest + 1; size <= MOST_BLOCK; size++) {
        if (a->nrows % size == 0 && is_upper_half(a, size)) { return size; }
        if (widest == 0) { break; } /* blocks of several entries have some below the diagonal */
    }
    return 0;
}

tess_status petsc_spell_symmetric(const blob *b, file_csr *a)
{
    const int64_t size = half_in_blocks(a);
    const bool asked = is_named(b->name, "sbaij");

    if (asked && size == 0) {
        return tess_fail_at(b->ctx, TESS_PARSE, b->name, 0, "name it without 'sbaij'",
                            "the name says MATSBAIJ, but the file is not the upper half of a symmetric matrix");
    }
    if (size == 0 || is_named(b->name, "aij")) { return TESS_SUCCESS; }
    if (!asked && !(size > 1 && diagonal_blocks_are_symmetric(a, size))) {
        if (size > 1) { return TESS_SUCCESS; } /* a symmetric matrix has symmetric blocks */
        return tess_fail_at(b->ctx, TESS_UNSUPPORTED, b->name, 0,
                            "a symmetric A: name the file A.sbaij.petsc; a triangular A: A.aij.petsc",
                            "the file has an upper triangle alone: PETSc's symmetric matrices (MATSBAIJ) and "
                            "triangular ones look alike in it");
    }
    const tess_status status = mirror(b->ctx, a, size);
    if (status == TESS_SUCCESS && size > 1) {
        (void)snprintf(a->kind, sizeof a->kind, ", SBAIJ, blocks of %d", (int)size);
    } else if (status == TESS_SUCCESS) {
        (void)snprintf(a->kind, sizeof a->kind, ", SBAIJ");
    }
    return status;
}
