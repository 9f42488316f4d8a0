/* SPDX-License-Identifier: Apache-2.0 */
/* What an assignment says of itself: its summary, its blocks. */
#include "base/options.h"
#include "policy/choice.h"

void tess_assignment_summary_init_sized(tess_assignment_summary *summary, size_t size)
{
    result_init(summary, size);
}

tess_status tess_assignment_get_summary(const tess_assignment *assignment, tess_assignment_summary *out)
{
    TESS_REQUIRE(NULL, assignment);
    TESS_REQUIRE(assignment->ctx, out);
    const tess_status status =
        result_require_size(assignment->ctx, "tess_assignment_summary", out->size, sizeof assignment->summary);

    if (status == TESS_SUCCESS) { result_return(&assignment->summary, out); }
    return status;
}

tess_status tess_assignment_get_blocks(const tess_assignment *assignment, int64_t *first, int32_t *column,
                                       uint16_t *count)
{
    TESS_REQUIRE(NULL, assignment);
    tess_context *ctx = assignment->ctx;
    const block_grid *grid = &assignment->grid;
    const size_t nblocks = (size_t)grid->nblocks;
    tess_status status = TESS_SUCCESS;

    if (grid->rows == 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "make the assignment with granularity block",
                         "an assignment with granularity %s has no blocks",
                         tess_granularity_name(assignment->summary.options.granularity));
    }
    if (first) {
        TESS_TRY(ctx->backend->download(ctx, first, grid->first, (size_t)(grid->nblock_rows + 1) * sizeof *first));
    }
    if (column) { TESS_TRY(ctx->backend->download(ctx, column, grid->column, nblocks * sizeof *column)); }
    if (count) { TESS_TRY(ctx->backend->download(ctx, count, grid->count, nblocks * sizeof *count)); }
cleanup:
    return status;
}
