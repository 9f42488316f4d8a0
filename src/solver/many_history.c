/* SPDX-License-Identifier: Apache-2.0 */
/* The histories of several columns, which the solver keeps until its next solve of columns. */
#include <string.h>

#include "solver/many.h"

struct column_history {
    struct column_history *next;
    int64_t count; /* of allocated values, this head included */
    double values[];
};

void solver_forget_histories(tess_solver *s)
{
    while (s->column_histories) {
        column_history *const first = s->column_histories;

        s->column_histories = first->next;
        tess_host_release(s->ctx, first, first->count, sizeof(double));
    }
}

tess_status many_keep_history(tess_solver *s, const tess_solve_result *earlier, tess_solve_result *result)
{
    const int64_t known = earlier ? earlier->history_length : 0;
    const bool whole = !earlier || known == earlier->iterations + 1;
    /* the first value is the last of the earlier solve */
    const int64_t first = earlier && result->history_length > 0 ? 1 : 0, given = result->history_length - first;
    const int64_t room = whole ? s->history_capacity - known : 0, added = given < room ? given : room;
    const int64_t count = known + added + (int64_t)(sizeof(column_history) / sizeof(double));
    column_history *kept = NULL;
    tess_status status = TESS_SUCCESS;

    if (known + added == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(s->ctx, count, sizeof(double), (void **)&kept));
    kept->next = s->column_histories;
    kept->count = count;
    if (known > 0) { memcpy(kept->values, earlier->history, (size_t)known * sizeof(double)); }
    if (added > 0) { memcpy(kept->values + known, result->history + first, (size_t)added * sizeof(double)); }
    s->column_histories = kept;
    result->history = kept->values;
    result->history_length = known + added;
cleanup:
    return status;
}
