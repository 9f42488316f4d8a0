/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file many.h  Several right-hand sides: iterations that read the matrix once for many columns.
 *
 *     tess_columns b = tess_columns_by_column(n, 8, rhs, TESS_MEMORY_HOST);
 *     tess_columns x = tess_columns_by_column(n, 8, solutions, TESS_MEMORY_HOST);
 *     tess_solve_result results[8];                                         each by tess_solve_result_init
 *     tess_solver_solve_many(solver, &b, &x, results);
 */
#ifndef TESSERA_MANY_H
#define TESSERA_MANY_H

#include <tessera/columns.h>
#include <tessera/solver.h>

TESS_BEGIN_DECLS

/**
 * Solves A x = b for each column of @p b, and verifies each: as tess_solver_solve for one after another, but that
 * iterations of several columns read the matrix together.
 * @param x        in: initial guesses; out: solutions
 * @param results  one for each column, initialised; `iterations`, reason and norms are the column's own, seconds those
 *                 of all columns that were solved together
 * Together, up to 8 columns on a host, 32 on a GPU: CG, MINRES, BiCGSTAB, GMRES and FGMRES with any preconditioner,
 * also where solver auto chose them for the first; LSQR and LSMR; up to 32 with lu or cholesky, which IDR takes too;
 * block CG (16 on a GPU); all with guard `repair`. A converged column leaves; one that breaks down goes on alone.
 * Any other request solves one after another: docs/howto/several-right-hand-sides.md. options.time_limit is that of all
 * columns. Histories last until the next call of this function, or the solver's end.
 * Errors: those of tess_solver_solve, at the first column that has one.
 * Tests: tests/unit/test_solve_many.c, test_many_results.c, test_many_restarts.c, test_many_least_squares.c
 */
TESS_EXPORT tess_status tess_solver_solve_many(tess_solver *solver, const tess_columns *b, const tess_columns *x,
                                               tess_solve_result *results);

/**
 * How many of @p columns columns the first loop of tess_solver_solve_many would take now; 1: it solves one after
 * another. It counts what each method needs, such as the bases of GMRES, and the memory that is left. Solver auto says
 * 1 before its first solve. NULL: 1. Tests: tests/unit/test_many_results.c, test_many_restarts.c
 */
TESS_EXPORT int64_t tess_solver_columns_together(const tess_solver *solver, int64_t columns);

TESS_END_DECLS

#endif
