/* SPDX-License-Identifier: Apache-2.0 */
/* What other kinds of solvers may ask a solver of one method, and do to it. */
#ifndef TESS_SOLVER_METHOD_QUESTIONS_H
#define TESS_SOLVER_METHOD_QUESTIONS_H

#include "base/loop.h"
#include "matrix/null_parts.h"
#include "solver/krylov.h"

typedef struct method_facts {
    tess_solver_kind kind;
    const tess_precond *precond;   /* NULL: none */
    tess_reason setup_reason;      /* RUNNING, or the reason why no solve can work */
    const tess_error *setup_error; /* details */
    const tess_loop_state *loop;   /* of the last cycle; NULL: it is not in the host's memory */
    int64_t cycles;                /* that were started */
    bool iterated;                 /* the last solve left an iterate */
    double precond_seconds;        /* of its last set-up or renewal */
    const tess_matrix *stored;     /* the matrix of the iterations; NULL: the original */
} method_facts;

method_facts method_look(const method_solver *s);

/* Whether new values of the matrix leave the preconditioner as it is, until a cycle fails with it. */
void method_keep_precond(method_solver *s, bool keep);
/* Whether the preconditioner is of earlier values and may be renewed. */
bool method_has_old_precond(const method_solver *s);

/* Whether iterations multiply with the original in FP64 vectors, and may get another matrix. */
bool method_may_change_matrix(const method_solver *s);
/* The iterations go on with this matrix, which is the solver's from now on. */
void method_take_matrix(method_solver *s, tess_matrix *stored);
/* They have the original again. */
void method_drop_matrix(method_solver *s);
/* The parts of the matrix with a null vector, which the caller has found and keeps as long as the solver. */
void method_lend_parts(method_solver *s, const null_parts *parts);
/* Looks at the loops of later solves, where method_pauses says that they pause for it; NULL: none. */
void method_lend_watch(method_solver *s, tess_loop_watch *watch);
bool method_pauses(const method_solver *s);

/* What auto takes for a shell, of which the caller's marks are all that is known. */
tess_solver_kind method_of_marks(const tess_shell_operator *shell);

#endif
