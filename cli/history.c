/* SPDX-License-Identifier: Apache-2.0 */
/* The residuals of a solve as CSV or as a picture. */
#include "chart.h"

static int write_history(FILE *file, const void *user)
{
    const tess_solve_result *r = user;
    double scale = r->rhs_norm > 0.0 ? r->rhs_norm : 1.0;
    fprintf(file, "iteration,residual_norm,relative_residual\n");
    for (int64_t i = 0; i < r->history_length; i++) {
        if (r->history[i] != r->history[i]) { continue; } /* not measured */
        fprintf(file, "%lld,%.17g,%.17g\n", (long long)i, r->history[i], r->history[i] / scale);
    }
    return ferror(file);
}

static int write_history_picture(FILE *file, const void *user, bool png)
{
    cli_history_chart *made = malloc(sizeof *made);
    if (made == NULL) { return 1; }
    cli_chart_history(user, made);
    int failed = 0;
    if (png) {
        failed = cli_write_chart_png(file, &made->chart);
    } else {
        cli_write_svg(file, &made->chart, true);
    }
    free(made);
    return failed != 0 || ferror(file);
}

static int write_history_png(FILE *file, const void *user)
{
    return write_history_picture(file, user, true);
}

static int write_history_svg(FILE *file, const void *user)
{
    return write_history_picture(file, user, false);
}

int cli_write_history(const char *path, const tess_solve_result *result)
{
    if (cli_ends_with(path, ".png")) { return cli_write_file(path, write_history_png, result); }
    if (cli_ends_with(path, ".svg")) { return cli_write_file(path, write_history_svg, result); }
    return cli_write_file(path, write_history, result);
}
