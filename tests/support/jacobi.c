/* SPDX-License-Identifier: Apache-2.0 */
#include "support/jacobi.h"

#include "support/solve.h"
#include "support/sweep.h"

tess_solve_options jacobi_options(tess_format format, const char *schedule)
{
    tess_solve_options options = solve_options(TESS_SOLVER_JACOBI);

    options.storage.format = format;
    if (schedule) { options.jacobi.schedule = schedule_of(schedule); }
    return options;
}

oracle_csr uneven_matrix(void)
{
    return dominant_matrix(JACOBI_ROWS, JACOBI_ROW, 1.25, 2, 11);
}
