/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/history.h"

void history_append(tess_solver *s, const tess_solve_result *one, tess_solve_result *all)
{
    const int64_t before = all->iterations, refinements = all->refinements;
    int64_t length = all->history_length;

    for (int64_t i = 0; i < one->history_length && before + i < s->history_capacity; i++) {
        if (before > 0 && i == 0) { continue; } /* x is the same as at the end of the solve before */
        s->host_history[before + i] = one->history[i];
        length = before + i + 1 > length ? before + i + 1 : length;
    }
    *all = *one;
    all->iterations += before;
    all->refinements += refinements;
    all->history_length = length;
    all->history = s->host_history;
}
