/* SPDX-License-Identifier: Apache-2.0 */
/* A x = b: time per iteration and to a verified tolerance, against the same methods on cuSPARSE and cuBLAS. */
#include "harness/study.h"
#include "papers/papers.h" /* GMRES: most of its code is that of a paper's studies */
#include "solve/solve.h"

int main(int argc, char **argv)
{
    static const bench_study studies[] = {
        {"krylov", "models,goals,large,endurance,iterations",
         "CG and BiCGSTAB without preconditioner, against cuSPARSE and cuBLAS", study_krylov},
        {"factors", "goals,spd,unsym,grids", "CG with IC(0) and BiCGSTAB with ILU(0), against cuSPARSE and cuBLAS",
         study_factors},
        {"gmres", "goals,degrees,large,unsym", "GMRES in several precisions, against cuSPARSE and cuBLAS", study_gmres},
        {"multigrid", "set-up,stages,products,solve",
         "algebraic multigrid: set-up by stages, solves, products of matrices against cuSPARSE", study_multigrid},
        {"facts", "times,stages", "what an automatic solve looks at before it chooses", study_facts},
        {"many", "cg-jacobi,block-cg-jacobi,minres-jacobi,bicgstab-jacobi,gmres-jacobi,cg-ic0,cg-amg,cg-cholesky,auto",
         "several right-hand sides together, against one after another", study_many},
        {"batch", NULL, "many small systems of one pattern in one call, against one after another", study_batch},
        {"sequences", NULL, "steps of a heat equation as a sequence, against single solves", study_sequences},
        {"verify", NULL, "false convergences over the real matrices", study_verify},
        {"first-use", NULL, "what a fresh process waits for", study_first_use},
    };

    return bench_main(argc, argv, "Solves of linear systems.", studies, (int)(sizeof studies / sizeof *studies));
}
