/* SPDX-License-Identifier: Apache-2.0 */
/* Residuals in reports: their numbers, and that of scaled rows. */
#include "cli.h"

#include <math.h>

const char *cli_real_text(double value, int digits, char *buffer, size_t size)
{
    if (isfinite(value)) {
        snprintf(buffer, size, "%.*e", digits, value);
    } else {
        snprintf(buffer, size, "not finite"); /* the sign of a NaN says nothing */
    }
    return buffer;
}

const char *cli_norm_text(double norm, char *buffer, size_t size)
{
    snprintf(buffer, size, isfinite(norm) ? "%.6g" : "not finite", norm);
    return buffer;
}

void cli_print_relative(const char *label, double relative, const char *what)
{
    char text[CLI_REAL_TEXT];
    printf("%-17s %s%s, %s", label, cli_real_text(relative, 6, text, sizeof text),
           isfinite(relative) ? " relative" : "", what);
}

void cli_print_true_residual(const char *label, double relative, double norm, double bound)
{
    char text[2][CLI_REAL_TEXT];
    cli_print_relative(label, relative, "TRUE; ");
    printf("norm %s, rounding bound %s\n", cli_real_text(norm, 6, text[0], sizeof text[0]),
           cli_real_text(bound, 1, text[1], sizeof text[1]));
}

void cli_print_row_residual(const tess_row_residual *rows)
{
    char text[CLI_REAL_TEXT];
    if (isnan(rows->norm)) { return; } /* of an operator without rows, or after NaN */
    cli_print_relative("", rows->relative, "TRUE, rows scaled to one size; backward error ");
    fputs(cli_real_text(rows->backward_error, 1, text, sizeof text), stdout);
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
