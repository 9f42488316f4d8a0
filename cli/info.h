/* SPDX-License-Identifier: Apache-2.0 */
/* What tessera info finds out, for its report as text and as JSON. */
#ifndef TESS_CLI_INFO_H
#define TESS_CLI_INFO_H

#include "cli.h"

/* The storage that was asked for. */
typedef struct storage_trial {
    tess_storage_options options; /* with the format that auto chose */
    bool chosen;
    int block_size;     /* of blocks of nodes; 0: there are none */
    int64_t bytes;      /* -1: refused */
    const char *reason; /* why */
    cli_block_formats formats;
} storage_trial;

/* The precisions that a policy assigns. */
typedef struct info_assignment {
    tess_assignment *assignment; /* NULL: no assignment */
    tess_assignment_summary summary;
    cli_plot plot; /* path NULL: none */
} info_assignment;

/* Levels of algebraic multigrid, or blocks of a saddle point. */
typedef struct info_levels {
    tess_precond *saddle; /* NULL: another preconditioner */
    bool known;
    tess_amg_levels levels;
    double factor;
} info_levels;

/* A solve looks for an order from so many lines of x for a nonzero and rows on (src/solver/order_choice.c). */
#define CLI_BADLY_FETCHED 0.3
enum { CLI_LARGE_ORDER = 1 << 18 };

/* Lines of x that 32 rows fetch, for a nonzero. */
typedef struct info_fetch {
    double given, ordered; /* as the rows stand, and by clusters; NAN: not looked for */
} info_fetch;

typedef struct info_report {
    const cli_matrix *matrix;
    const tess_matrix_analysis *facts;
    const storage_trial *trial;
    const info_assignment *made;
    const info_levels *levels;
    const tess_solve_options *asked; /* the solve that the advice is for */
    const tess_advice *advice;
    info_fetch fetch;
    const cli_nullspace *nullspace;
    const cli_saddle *saddle;
} info_report;

/* ---- info_report.c ---- */

void cli_info_print(const info_report *report);
json_t *cli_info_json(const info_report *report);

#endif
