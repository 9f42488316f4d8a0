/* SPDX-License-Identifier: Apache-2.0 */
/* The row-scaled residual in reports. */
#include "cli.h"

#include <math.h>

void cli_print_row_residual(const tess_row_residual *rows)
{
    if (isnan(rows->norm)) { return; } /* of an operator without rows, or after NaN */
    printf("%-17s %.6e relative, TRUE, rows scaled to one size; backward error %.1e", "", rows->relative,
           rows->backward_error);
    if (rows->backward_row >= 0) { printf(" (row %lld)", (long long)rows->backward_row + 1); }
    putchar('\n');
}

json_t *cli_row_residual_json(const tess_row_residual *rows)
{
    if (isnan(rows->norm)) { return json_null(); }
    return json_pack("{so so so so so so so sI sb}", "norm", cli_json_real(rows->norm), "relative",
                     cli_json_real(rows->relative), "bound", cli_json_real(rows->bound), "rhs_norm",
                     cli_json_real(rows->rhs_norm), "tolerance", cli_json_real(rows->tolerance), "backward_error",
                     cli_json_real(rows->backward_error), "backward_bound", cli_json_real(rows->backward_bound),
                     "backward_row", (json_int_t)(rows->backward_row + 1), "met", rows->met);
}
