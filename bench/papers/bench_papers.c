/* SPDX-License-Identifier: Apache-2.0 */
/* The papers' own studies: figures and tables that no user chooses by. */
#include "harness/study.h"
#include "papers/papers.h"

int main(int argc, char **argv)
{
    static const bench_study studies[] = {
        {"split", NULL, "y = A x with a precision for each row or entry (Tezcan et al. 2022)", study_split},
        {"block", "goals,factor,shape,thresholds,setup", "y = A x with a precision for each block (Zhao et al. 2024)",
         study_block},
        {"jacobi", NULL, "Jacobi iterations in steps of rising precision (Tezcan et al. 2022)", study_jacobi},
        {"timestep", NULL, "time steps in a ventricle in steps of rising precision (Tezcan et al. 2022)",
         study_timestep},
        {"krylov", "papers,fixed,ablation,shares,direction,setup,memory", "CG and BiCGSTAB (Yang et al. 2024)",
         study_krylov_papers},
        {"gmres", "fig1,fig2,fig3,fig4,fig5,fig6,fig7,fig8,table1,table2,table3,cache", "GMRES (Loe et al. 2021)",
         study_gmres},
        {"accuracy", NULL, "errors of dense operations and products over seeds (Gruetzmacher et al. 2023)",
         study_accuracy},
        {"roofline", NULL, "loops from 1/4 to 1024 operations per value (Gruetzmacher et al. 2023)", study_roofline},
    };

    return bench_main(argc, argv, "Figures and tables of the papers.", studies,
                      (int)(sizeof studies / sizeof *studies));
}
