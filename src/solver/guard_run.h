/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What guard.c, guard_cycle.c and guard_repair.c share: a solve under way. guard.c has the whole, guard_cycle.c runs
 * and judges a cycle, guard_repair.c decides what follows.
 */
#ifndef TESS_SOLVER_GUARD_RUN_H
#define TESS_SOLVER_GUARD_RUN_H

#include <math.h>

#include "solver/extension.h"
#include "solver/guard_limits.h"
#include "solver/method_solver.h"
#include "solver/verify.h"

typedef struct solve_run {
    method_solver *s;
    const double *b;
    double *x;
    tess_solve_result *result;
    double start;
    true_residual now; /* of x; the residual itself is in krylov.r */
    double norm;       /* norm of krylov.r: the same, except for low residuals */
    double goal;       /* the norm that the present cycle must reach */
    double floor;      /* no x has a residual norm below it, and it is above the tolerance; 0: none is known */
    bool low_residuals;
    int fruitless;
    bool unproved; /* the last cycle's residual was no larger as computed, which its bound does not prove */
    double kept;   /* deciding norm of x with the d that a pause of this cycle kept; INFINITY: there is none */
    true_residual first, best; /* of the initial guess; of s->best, if that keeps an x */
    uint64_t precond_changes;  /* of the solver's own preconditioner, as the present cycle began */
    bool may_stall;            /* stalls do not end cycles any more: one stalled with no product changed */
    bool low_precision, began_low;
    tess_guard guard; /* a fixed run is never repaired */
    int exponent;     /* the present cycle works on 2^-exponent times the residual */
    tess_loop_state begin;
    double refinement_seconds;
} solve_run;

static inline bool is_finite(double v)
{
    return isfinite(v) != 0;
}

/* Whether the matrix of the cycles may be singular though the solve's is not: entries are left out. */
static inline bool guard_leaves_out(const solve_run *run)
{
    const tess_assignment_summary *summary = run->low_precision ? tess_matrix_assigned_to(solver_matrix(run->s)) : NULL;

    return summary && summary->left_out > 0;
}

/* Whether something beside the method may have misled the present cycle. */
static inline bool guard_is_extended(const method_solver *s)
{
    return s->krylov.extension && s->krylov.extension->is_active(s);
}

/* ---- guard.c ---- */

/* The true residual of `x`, which is left in krylov.r. */
tess_status guard_verify(solve_run *run, const double *x, true_residual *out);
tess_status guard_keep_best(solve_run *run);
void guard_drop_graph(method_solver *s);
/* The precision of cycles until an escalation. */
tess_precision guard_working_precision(const method_solver *s);

/* A solve before its first cycle. *cycles: one is needed; else *reason is final. */
tess_status guard_open(solve_run *run, tess_reason *reason, bool *cycles);
/* What a first cycle needs besides: the matrix of the iterations, and what no x can reach. */
tess_status guard_prepare_cycles(solve_run *run);
/* Cycles to the end of the solve; first: where one that has been run elsewhere ended, with its d; NULL: none has. */
tess_status guard_run_cycles(solve_run *run, const tess_loop_state *first, tess_reason *reason);
/* Judges a cycle that has been run elsewhere, from its d in krylov.d; *done: the solve is. */
tess_status guard_judge(solve_run *run, const tess_loop_state *end, bool *progress, bool *done);
/* As guard_run_cycles, after guard_judge; krylov.r is the residual of x once more. */
tess_status guard_continue(solve_run *run, const tess_loop_state *judged, bool progress, tess_reason *reason);
/* Fills in the result. cycled: cycles were run. */
tess_status guard_close(solve_run *run, bool cycled, tess_reason reason);

/* ---- guard_direct.c ---- */

/* Between guard_open and the first cycle: steps with complete factors. *cycles stays true where cycles are needed; else
 *reason is final. */
tess_status guard_apply_factors(solve_run *run, tess_reason *reason, bool *cycles);

/* ---- least_residual.c ---- */

/* A solve ends this near to the least residual. */
#define NEAR_FLOOR 1.01
/* Sets run->floor. Errors: memory, those of a copy to the host. */
tess_status guard_find_floor(solve_run *run);
/* The residual norm, beside that of the least residual, at which a cycle ends. */
double guard_floor_goal(const solve_run *run);
/* Takes what no x changes from krylov.r: else x grows along the null vectors. */
tess_status guard_project(solve_run *run);

/* ---- guard_cycle.c ---- */

/* The goal and the scale of a cycle, run->begin, and krylov.r divided by that scale; then its start. */
tess_status guard_aim(solve_run *run);
tess_status guard_start_cycle(solve_run *run);
/* Tells the result how a loop ended. */
void guard_note_end(solve_run *run, const tess_loop_state *end);
tess_status guard_run_loop(solve_run *run, tess_loop_state *end);
/* x + d is judged before it replaces x. *progress: the cycle reduced the true residual enough. */
tess_status guard_judge_cycle(solve_run *run, tess_reason reason, bool *progress);

/* ---- guard_pause.c ---- */

/* Runs the loop to its end, with its pauses. */
tess_status guard_run_cycle(solve_run *run, tess_loop_state *end);
/* candidate := x + d */
tess_status guard_form_candidate(solve_run *run);
/* Where a loop has ended with a pause, from krylov.d: whether it goes on, then *end is running; else it has stagnated.
 */
tess_status guard_end_pause(solve_run *run, tess_loop_state *end, bool *resumes);
/* d := the one that a pause of this cycle kept, where the last one is worse. run->kept is INFINITY before the cycle. */
tess_status guard_take_kept(solve_run *run);

/* ---- guard_repair.c ---- */

/* After a cycle that has not met the tolerance: whether another follows; if not, *reason is final. */
tess_status guard_go_on(solve_run *run, const tess_loop_state *end, bool progress, tess_reason *reason, bool *goes_on);

#endif
