/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of the tool, and what is said of all of them. */
#include "help.h"

#include <string.h>

/* As help lists them. */
const cli_command_entry cli_commands[] = {
    {&cli_command_solve, "solve A x = b and prove the answer by its true residual"},
    {&cli_command_verify, "judge an answer x of A x = b, whoever computed it"},
    {&cli_command_info, "describe a matrix: size, symmetry, memory in each precision, a solver to try"},
    {&cli_command_spmv, "compute y = A x, time it and check it"},
    {&cli_command_compare, "compare solvers, preconditioners and precisions by time, and products y = A x"},
    {&cli_command_timestep, "compute x := A x again and again, in a schedule of precisions"},
    {&cli_command_generate, "write a model problem to a file"},
    {&cli_command_convert, "convert files of Matrix Market, NumPy, SciPy, PETSc and the binary cache"},
    {NULL, NULL},
};

const char cli_overview[] = "Solves large sparse linear systems and proves the answer with a true residual in FP64.\n";
const char cli_overview_notes[] =
    "A matrix is a file (.mtx, .mtx.gz, .tess, .npz, .npy, .petsc), - for standard input, or a\n"
    "model problem, gallery:NAME[:ARG...].\n"
    "Results go to standard output, log and progress to standard error.\n"
    "TESSERA_LOG=warn, info or debug sets how much is logged (default warn).\n\n"
    "Exit status: 0 done (solve: converged and verified; verify: met), 1 not, 2 usage,\n"
    "3 input or format, 4 device or memory, 5 breakdown.\n\n"
    "Example: solve a model problem with 90000 unknowns by CG.\n"
    "  tessera solve gallery:laplace2d:300 --solver cg\n";

const cli_command_entry *cli_find_command(const char *name)
{
    for (const cli_command_entry *c = cli_commands; c->command != NULL; c++) {
        if (strcmp(c->command->name, name) == 0) { return c; }
    }
    return NULL;
}
