/* SPDX-License-Identifier: Apache-2.0 */
/* How many unknowns a node has, by the pattern alone. levels_device.cu has the same for a GPU. */
#include <string.h>

#include "precond/multigrid/aggregation/aggregation.h"
#include "precond/multigrid/hierarchy.h"

/* Whether the columns of a row are whole groups of `size`. */
static bool has_whole_groups(const host_csr *a, int64_t row, int size)
{
    const int64_t begin = a->row_ptr[row], end = a->row_ptr[row + 1];

    if ((end - begin) % size != 0) { return false; }
    for (int64_t k = begin; k < end; k += size) {
        if (a->col_ind[k] % size != 0 || a->col_ind[k + size - 1] != a->col_ind[k] + size - 1) { return false; }
    }
    return true;
}

static bool have_one_pattern(const host_csr *a, int64_t first, int size)
{
    const int64_t begin = a->row_ptr[first], length = a->row_ptr[first + 1] - begin;

    for (int64_t r = first + 1; r < first + size; r++) {
        if (a->row_ptr[r + 1] - a->row_ptr[r] != length) { return false; }
        if (memcmp(a->col_ind + a->row_ptr[r], a->col_ind + begin, (size_t)length * sizeof *a->col_ind) != 0) {
            return false;
        }
    }
    return true;
}

static bool are_fixed(const host_csr *a, int64_t first, int size)
{
    for (int64_t r = first; r < first + size; r++) {
        if (a->row_ptr[r + 1] - a->row_ptr[r] != 1 || a->col_ind[a->row_ptr[r]] != r) { return false; }
    }
    return true;
}

static bool shows_blocks(const host_csr *a, int size)
{
    amg_groups groups = {.all = a->nrows / size};

    if (groups.all * size != a->nrows) { return false; }
    for (int64_t g = 0; g < groups.all; g++) {
        const bool fixed = are_fixed(a, g * size, size);

        groups.fixed += fixed;
        groups.broken += !fixed && (!have_one_pattern(a, g * size, size) || !has_whole_groups(a, g * size, size));
    }
    return amg_shows_blocks(&groups);
}

int find_block_size(const host_csr *a)
{
    for (int size = AGGREGATION_MOST_BLOCK; size > 1; size--) {
        if (a->nrows > size && shows_blocks(a, size)) { return size; }
    }
    return 1;
}

const amg_coarsening *amg_choose_coarsening(const tess_amg_options *options, const host_csr *a)
{
    if (options->coarsening == TESS_AMG_CLASSICAL) { return &amg_classical; }
    if (options->coarsening == TESS_AMG_PLAIN) { return &amg_plain; }
    if (options->coarsening == TESS_AMG_AGGREGATION || options->near_nullspace || options->modes > 0) {
        return &amg_aggregation;
    }
    if (options->block_size > 0) { return options->block_size > 1 ? &amg_aggregation : &amg_classical; }
    return find_block_size(a) > 1 ? &amg_aggregation : &amg_classical;
}
