/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured for figures and tables of Yang et al. (2024). */
#include "papers/papers.h"
#include "solve/krylov.h"

#define PAPER "csr,csr-single,tiles-*,resident-*"
#define BASELINES ",cu-*"

static const krylov_row rows[] = {
    {.part = "papers", .set = "papers", .contestants = PAPER BASELINES, .what = KRYLOV_SOLVES | KRYLOV_HISTORIES},
    {.part = "fixed", .set = "papers", .contestants = PAPER BASELINES, .what = KRYLOV_FIXED},
    {.part = "fixed", .set = "spd", .solver = TESS_SOLVER_CG, .contestants = PAPER BASELINES, .what = KRYLOV_FIXED},
    {.part = "fixed",
     .set = "unsym",
     .solver = TESS_SOLVER_BICGSTAB,
     .contestants = PAPER BASELINES,
     .what = KRYLOV_FIXED},
    {.part = "ablation",
     .set = "papers",
     .contestants = "csr,csr-single,tiles-*,resident-*",
     .what = KRYLOV_TIMES | KRYLOV_SOLVES},
    {.part = "shares",
     .set = "papers",
     .contestants = "csr,csr-single,tiles-*,resident-*" BASELINES,
     .special = krylov_shares},
    {.part = "shares",
     .set = "spd",
     .solver = TESS_SOLVER_CG,
     .contestants = "csr" BASELINES,
     .special = krylov_shares},
    {.part = "shares",
     .set = "unsym",
     .solver = TESS_SOLVER_BICGSTAB,
     .contestants = "csr" BASELINES,
     .special = krylov_shares},
    {.part = "direction", .set = "papers", .solver = TESS_SOLVER_CG, .special = krylov_direction},
    {.part = "setup", .set = "papers", .contestants = PAPER, .special = krylov_setup},
    {.part = "setup", .set = "spd", .solver = TESS_SOLVER_CG, .contestants = PAPER, .special = krylov_setup},
    {.part = "setup", .set = "unsym", .solver = TESS_SOLVER_BICGSTAB, .contestants = PAPER, .special = krylov_setup},
    {.part = "memory", .set = "papers", .contestants = "csr,tiles-*,resident-*", .special = krylov_memory},
    {.part = "memory", .set = "large", .contestants = "csr,tiles-*,resident-*", .special = krylov_memory},
};

int study_krylov_papers(int argc, char **argv, const char *parts)
{
    return krylov_main(argc, argv, parts ? parts : "papers", rows, (int)(sizeof rows / sizeof *rows));
}
