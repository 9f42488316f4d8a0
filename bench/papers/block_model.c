/* SPDX-License-Identifier: Apache-2.0 */
/* What storage by blocks must move, and what it may have altered. */
#include <math.h>
#include <string.h>

#include "format/split/split.h"
#include "format/tiles/tiles.h"
#include "papers/block.h"
#include "papers/split.h"

const tess_assignment_summary *bench_block_summary(const tess_matrix *stored)
{
    switch (tess_matrix_format(stored)) {
    case TESS_FORMAT_SPLIT: return &((const split_storage *)stored->storage)->summary;
    case TESS_FORMAT_TILES: return &((const tiles_storage *)stored->storage)->summary;
    default: return NULL;
    }
}

int64_t bench_block_bytes(const bench_contestant *c, const tess_matrix *stored)
{
    return bench_split_bytes(c, stored, false);
}

tess_status bench_block_nonzeros(const tess_matrix *a, double *per_block)
{
    tess_policy_options options;
    tess_assignment_summary summary = {.size = sizeof summary, .items = 0};
    tess_assignment *assignment = NULL;
    tess_status status = TESS_SUCCESS;

    tess_policy_options_init(&options);
    options.granularity = TESS_GRANULARITY_BLOCK;
    status = tess_assignment_create(a, &options, &assignment);
    if (status == TESS_SUCCESS) { tess_assignment_get_summary(assignment, &summary); }
    tess_assignment_destroy(assignment);
    *per_block = (double)tess_matrix_nnz(a) / (double)(summary.items > 0 ? summary.items : 1);
    return status;
}

bool bench_block_is_assigned(const bench_csr *a, const bench_csr *held, const tess_assignment_summary *summary)
{
    const int lowest = summary ? summary->options.nlevels - 1 : 0;
    const double u = summary ? tess_precision_unit_roundoff(summary->options.level[lowest].precision) : 0.0;
    const int64_t most = summary ? a->nnz - summary->nonzeros_at[0] : 0;
    int64_t altered = 0, wrong = 0;

    if (held->nnz != a->nnz || memcmp(held->row_ptr, a->row_ptr, ((size_t)a->nrows + 1) * sizeof *a->row_ptr) != 0) {
        return false;
    }
#pragma omp parallel for reduction(+ : altered, wrong)
    for (int64_t k = 0; k < a->nnz; k++) {
        const double v = a->val[k], h = held->val[k];

        wrong += held->col_ind[k] != a->col_ind[k];
        if (h == v || (isnan(h) && isnan(v))) { continue; }
        altered += 1;
        wrong += !(fabs(h - v) <= u * fabs(v));
    }
    return altered <= most && wrong == 0;
}
