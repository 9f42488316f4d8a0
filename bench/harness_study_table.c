/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured for the goals and for each figure and table of Yang et al. (2024). */
#include "harness_study.h"

#define LAPLACIANS \
    "gallery:laplace2d:32,gallery:laplace2d:64,gallery:laplace2d:128,gallery:laplace2d:181,gallery:laplace2d:256"
#define OURS "csr,auto,csr-single*,tiles-1e-15,resident-1e-15*,resident-narrowing,resident-narrowing-single"
#define EVERY "csr,auto,csr-single*,tiles-*,resident-*"
#define PAPER "csr,csr-single,tiles-*,resident-*"
#define BASELINES ",cu-host,cu-graph"

const study_row study_rows[] = {
    {.study = "goals",
     .set = "laplace2d",
     .matrices = LAPLACIANS,
     .solver = TESS_SOLVER_CG,
     .contestants = OURS BASELINES,
     .what = STUDY_TIMES | STUDY_SOLVES},
    {.study = "goals",
     .set = "spd",
     .solver = TESS_SOLVER_CG,
     .contestants = OURS BASELINES,
     .what = STUDY_TIMES | STUDY_SOLVES | STUDY_PRODUCT},
    {.study = "goals",
     .set = "unsym",
     .solver = TESS_SOLVER_BICGSTAB,
     .contestants = OURS BASELINES,
     .what = STUDY_TIMES | STUDY_SOLVES | STUDY_PRODUCT,
     .five_sides = true},
    {.study = "goals,large",
     .set = "large-symmetric",
     .solver = TESS_SOLVER_CG,
     .contestants = "csr,auto,auto-lossless,sell,sell-lossless,dia,dia-lossless,tiles-1e-15,resident-1e-15,"
                    "resident-narrowing,cu-graph",
     .what = STUDY_TIMES | STUDY_SOLVES | STUDY_PRODUCT | STUDY_EVERYWHERE},
    {.study = "goals,endurance",
     .set = "laplace2d",
     .matrices = "gallery:laplace2d:32,gallery:laplace2d:144", /* in a cluster, and over the whole device */
     .solver = TESS_SOLVER_CG,
     .contestants = "csr-single",
     .special = study_endurance},

    {.study = "papers", .set = "papers", .contestants = PAPER BASELINES, .what = STUDY_SOLVES | STUDY_HISTORIES},
    {.study = "fixed", .set = "papers", .contestants = PAPER BASELINES, .what = STUDY_FIXED},
    {.study = "fixed", .set = "spd", .solver = TESS_SOLVER_CG, .contestants = PAPER BASELINES, .what = STUDY_FIXED},
    {.study = "fixed",
     .set = "unsym",
     .solver = TESS_SOLVER_BICGSTAB,
     .contestants = PAPER BASELINES,
     .what = STUDY_FIXED},
    {.study = "ablation",
     .set = "papers",
     .contestants = "csr,csr-single,tiles-*,resident-*",
     .what = STUDY_TIMES | STUDY_SOLVES},
    {.study = "iterations",
     .set = "spd",
     .solver = TESS_SOLVER_CG,
     .contestants = EVERY,
     .what = STUDY_SOLVES | STUDY_ITERATIONS},
    {.study = "iterations",
     .set = "unsym",
     .solver = TESS_SOLVER_BICGSTAB,
     .contestants = EVERY,
     .what = STUDY_SOLVES | STUDY_ITERATIONS},

    {.study = "shares",
     .set = "papers",
     .contestants = "csr,csr-single,tiles-*,resident-*,cu-host,cu-graph",
     .special = study_shares},
    {.study = "shares",
     .set = "spd",
     .solver = TESS_SOLVER_CG,
     .contestants = "csr,cu-host,cu-graph",
     .special = study_shares},
    {.study = "shares",
     .set = "unsym",
     .solver = TESS_SOLVER_BICGSTAB,
     .contestants = "csr,cu-host,cu-graph",
     .special = study_shares},
    {.study = "direction", .set = "papers", .solver = TESS_SOLVER_CG, .special = study_direction},
    {.study = "setup", .set = "papers", .contestants = PAPER, .special = study_setup},
    {.study = "setup", .set = "spd", .solver = TESS_SOLVER_CG, .contestants = PAPER, .special = study_setup},
    {.study = "setup", .set = "unsym", .solver = TESS_SOLVER_BICGSTAB, .contestants = PAPER, .special = study_setup},
    {.study = "memory", .set = "papers", .contestants = "csr,tiles-*,resident-*", .special = study_memory},
    {.study = "memory", .set = "large", .contestants = "csr,tiles-*,resident-*", .special = study_memory},
};
const int study_row_count = (int)(sizeof study_rows / sizeof *study_rows);

bool study_is_known(const char *name)
{
    for (int i = 0; i < study_row_count; i++) {
        if (bench_is_named(study_rows[i].study, name)) { return true; }
    }
    return false;
}
