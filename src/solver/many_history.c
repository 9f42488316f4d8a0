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

tess_status many_keep_history(tess_solver *s, tess_solve_result *result)
{
    const int64_t count = result->history_length + (int64_t)(sizeof(column_history) / sizeof(double));
    column_history *kept = NULL;
    tess_status status = TESS_SUCCESS;

    if (result->history_length == 0) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(s->ctx, count, sizeof(double), (void **)&kept));
    kept->next = s->column_histories;
    kept->count = count;
    memcpy(kept->values, result->history, (size_t)result->history_length * sizeof(double));
    s->column_histories = kept;
    result->history = kept->values;
cleanup:
    return status;
}
