/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured of CG and BiCGSTAB: what goals are about, set-up and memory. */
#include "solve/krylov.h"

#define LAPLACIANS \
    "gallery:laplace2d:32,gallery:laplace2d:64,gallery:laplace2d:128,gallery:laplace2d:181,gallery:laplace2d:256"
#define OURS "csr,auto,csr-single*,tiles-1e-15,resident-1e-15*,resident-narrowing,resident-narrowing-single"
#define EVERY "csr,auto,csr-single*,tiles-*,resident-*"
#define BASELINES ",cu-*"

const krylov_row krylov_rows[] = {
    {.part = "models",
     .set = "models",
     .matrices = LAPLACIANS ",gallery:laplace3d:150",
     .contestants = "csr,auto" BASELINES,
     .what = KRYLOV_TIMES | KRYLOV_SOLVES},
    {.part = "goals",
     .set = "laplace2d",
     .matrices = LAPLACIANS,
     .solver = TESS_SOLVER_CG,
     .contestants = OURS BASELINES,
     .what = KRYLOV_TIMES | KRYLOV_SOLVES},
    {.part = "goals",
     .set = "spd",
     .solver = TESS_SOLVER_CG,
     .contestants = OURS BASELINES,
     .what = KRYLOV_TIMES | KRYLOV_SOLVES | KRYLOV_PRODUCT},
    {.part = "goals",
     .set = "unsym",
     .solver = TESS_SOLVER_BICGSTAB,
     .contestants = OURS BASELINES,
     .what = KRYLOV_TIMES | KRYLOV_SOLVES | KRYLOV_PRODUCT,
     .five_sides = true},
    {.part = "goals,large",
     .set = "large-symmetric",
     .solver = TESS_SOLVER_CG,
     .contestants = "csr,auto,auto-lossless,sell,sell-lossless,dia,dia-lossless,tiles-1e-15,resident-1e-15,"
                    "resident-narrowing" BASELINES,
     .what = KRYLOV_TIMES | KRYLOV_SOLVES | KRYLOV_PRODUCT | KRYLOV_EVERYWHERE},
    {.part = "goals,endurance",
     .set = "laplace2d",
     .matrices = "gallery:laplace2d:32,gallery:laplace2d:144", /* in a cluster, and over the whole device */
     .solver = TESS_SOLVER_CG,
     .contestants = "csr-single",
     .special = krylov_endurance},
    {.part = "iterations",
     .set = "spd",
     .solver = TESS_SOLVER_CG,
     .contestants = EVERY,
     .what = KRYLOV_SOLVES | KRYLOV_ITERATIONS},
    {.part = "iterations",
     .set = "unsym",
     .solver = TESS_SOLVER_BICGSTAB,
     .contestants = EVERY,
     .what = KRYLOV_SOLVES | KRYLOV_ITERATIONS},
};
const int krylov_row_count = (int)(sizeof krylov_rows / sizeof *krylov_rows);
