/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse of a level's block diagonal D. */
#include <math.h>
#include <string.h>

#include "matrix/assemble.h"
#include "precond/block_jacobi/invert_block.h"
#include "precond/multigrid/aggregation/aggregation.h"

/* The diagonal block of a node, row-major. */
static void gather_block(const host_csr *a, const node_rows *rows, int64_t node, double *block)
{
    const int64_t first = rows->first[node], height = rows->first[node + 1] - first;

    memset(block, 0, (size_t)(height * height) * sizeof *block);
    for (int64_t r = 0; r < height; r++) {
        for (int64_t k = a->row_ptr[first + r]; k < a->row_ptr[first + r + 1]; k++) {
            const int64_t column = a->col_ind[k] - first;

            if (column >= 0 && column < height) { block[r * height + column] = a->val[k]; }
        }
    }
}

/* The unknowns of a node with a singular block are scaled one by one; a zero counts as 1. */
static void invert_diagonal(const double *block, int64_t height, double *inverse)
{
    memset(inverse, 0, (size_t)(height * height) * sizeof *inverse);
    for (int64_t r = 0; r < height * height; r += height + 1) {
        inverse[r] = fabs(block[r]) > 0.0 ? 1.0 / block[r] : 1.0;
    }
}

void invert_blocks(tess_context *ctx, const host_csr *a, const aggregation_level *level, double *inverse)
{
    const int threads = tess_io_threads(ctx, host_csr_nnz(a));
    const node_rows *rows = &level->rows;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < rows->count; i++) {
        const int64_t height = rows->first[i + 1] - rows->first[i];
        double block[AGGREGATION_MOST_VECTORS * AGGREGATION_MOST_VECTORS];
        double *own = inverse + rows->first[i] * level->most_height;

        gather_block(a, rows, i, block);
        memcpy(own, block, (size_t)(height * height) * sizeof *own);
        if (invert_block(own, (int)height) >= 0) { invert_diagonal(block, height, own); }
    }
}
