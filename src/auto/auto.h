/* SPDX-License-Identifier: Apache-2.0 */
/* The automatic solve: the state of a solver whose method and preconditioner are auto. */
#ifndef TESS_AUTO_AUTO_H
#define TESS_AUTO_AUTO_H

#include "auto/budget.h"
#include "auto/ladder.h"
#include "solver/solver.h"

enum { MAX_ATTEMPTS = 2 * MAX_STEPS, WHY_LENGTH = 2048, FAILURE_LENGTH = 192 };

/* What an attempt leaves beside the public record: what the budget expected when it was left, and why there was no
   attempt. */
typedef struct attempt_note {
    double remaining;
    char failure[FAILURE_LENGTH];
} attempt_note;

/* Whether iterations multiply with the matrix in a lower precision that holds every value (storage.c). */
typedef enum storage_choice {
    STORAGE_OPEN, /* not tried yet */
    STORAGE_FP64, /* it does not pay, or may not be */
    STORAGE_LOWER
} storage_choice;

/* Solves with the same values, one after another (repeated.c). */
typedef struct repeated_solves {
    int64_t solves; /* without factors, */
    double seconds; /* and what they took */
    double cost;    /* expected seconds of complete factors; 0: not asked yet; INFINITY: they do not pay */
    bool factors;   /* the solver has them for that reason */
    int applications;
    double least_seconds; /* of a solve with them */
} repeated_solves;

typedef struct auto_solve {
    matrix_facts facts;
    uint64_t values_version; /* of which the facts are; 0: none */
    direct_prediction prediction;
    bool predicted;  /* for these values */
    bool unanalysed; /* no analysis is made: steps that it might leave out stay */
    ladder ladder;
    matrix_family found; /* the family when the facts were found */
    int next;            /* the step that the next attempt takes */
    tess_solver *solver; /* of the last attempt; NULL: there is none */
    ladder_step step;    /* its step */
    bool reused;         /* the solver is the one of the last solve */
    repeated_solves repeated;
    bool remembered;                  /* the first step came from the file of choices */
    storage_choice stored;            /* for these values */
    bool tried;                       /* a trial was made, */
    bool exact;                       /* and found that storage_precision, below FP64, holds every value */
    bool diagonals;                   /* iterations without factors ask for a matrix by diagonals */
    tess_precision storage_precision; /* with `exact` */
    int64_t stored_bytes, fp64_bytes;
    int nattempts;
    tess_attempt attempt[MAX_ATTEMPTS];
    attempt_note note[MAX_ATTEMPTS];
    attempt_budget budget;
    null_parts null;
    null_part torn; /* with `unreachable`: the worst part */
    double
        unreachable; /* up to rounding no x has a smaller relative residual, and it is above the tolerance; 0: none */
    double proved;   /* likewise without rounding: a proof */
    double backward; /* a row-wise backward error that ends the attempts, whatever the residual; 0: none */
    double setup_seconds; /* of the solvers made in this solve */
    tess_error error;     /* of the last attempt that could not be set up */
    char why[WHY_LENGTH];
} auto_solve;

extern const tess_solver_ops solver_automatic;
/* Solves to an accuracy, by any method (accuracy.c). It takes its requests before the other. */
extern const tess_solver_ops solver_accuracy;
/* Where `s` is an automatic solver: a row-wise backward error that is proved to be at most this ends its attempts. */
void auto_set_backward(tess_solver *s, double backward);

/* ---- steps.c ---- */

/* A step's choices: method, preconditioner with its precision where `out` names none, scaling and order. */
void step_request(const ladder_step *step, tess_solve_options *out);
/* The options of an attempt: the caller's, with the step's choices. */
void step_options(const tess_solver *s, const ladder_step *step, tess_solve_options *out);
/* Makes state->solver for state->step, with the matrix in CSR if it has too many diagonals or too little memory. */
tess_status step_create_solver(const tess_solver *s, auto_solve *state);
/* Whether a set-up that failed so lets the next step follow. */
bool may_skip(const ladder_step *step, tess_status status);
/* TIMED_OUT, and the solver is destroyed, if its factors were refused for the limit of time and a step follows. */
tess_status refuse_for_time(const tess_solver *s, auto_solve *state);
/* UNSUPPORTED, and the solver is destroyed, if multigrid has one level or too many entries and a step follows. */
tess_status refuse_levels(const tess_solver *s, auto_solve *state);

/* ---- repeated.c ---- */

/* For new values. */
void repeated_forget(auto_solve *state);
/* Where iterations have taken as long as complete factors would: state->solver has these. */
tess_status repeated_take_factors(const tess_solver *s, auto_solve *state);
/* Counts a solve. False: factors turn out to take longer than iterations do, and their solver should go. */
bool repeated_note(auto_solve *state, const tess_solve_result *all);

/* ---- advise.c: which attempts there are, for a solve and for who asks for advice ---- */

/* Lists the steps for the facts that are there; the file of choices may move one to the front. */
void advise_list(tess_solver *s, auto_solve *state);
/* Goes to the next step that pays: state->step, in the order that pays. False in *found: there is none. */
tess_status advise_next(tess_solver *s, auto_solve *state, bool *found);

/* ---- costs.c ---- */

/* The budget of the attempt that begins after so many iterations of a solve that began then. */
void begin_budget(tess_solver *s, int64_t before, double start);
/* Whether a step is worth an attempt, given what the steps after it cost. */
bool step_pays(tess_solver *s, const ladder_step *step);

/* ---- storage.c ---- */

/* Where the caller leaves it to the library how the matrix is stored: what a step asks for. */
void storage_request(const tess_solver *s, const ladder_step *step, tess_storage_options *out);
/* Within an attempt of `owner`, an automatic solver: tries the lower precision, once; the running iterations go on
   with it if it pays. An error leaves FP64. */
void storage_try_lower(void *owner, int64_t iteration, double remaining);
/* The running iterations go on with this matrix, which is theirs from now on. */
void storage_take(auto_solve *state, tess_matrix *lower);
/* Options for the matrix in that precision, as the caller may give them. */
void storage_request_lower(tess_precision precision, tess_storage_options *out);
/* For new values: nothing is tried, and a solver that is kept has FP64 again. */
void storage_forget(auto_solve *state, const tess_solver *s);

/* ---- band.c ---- */

/* Whether reverse Cuthill-McKee makes the profile of A much smaller. Errors: memory. */
tess_status band_pays(const tess_matrix *a, bool *pays);

/* ---- inconsistent.c ---- */

/* Finds the parts, once for each version of the values. Errors: memory, those of a copy to the host. */
tess_status find_parts(const tess_solver *s, auto_solve *state);
void drop_parts(const tess_solver *s, auto_solve *state);
/* Sets state->unreachable for this right-hand side. Errors: memory. */
tess_status find_unreachable(const tess_solver *s, auto_solve *state, const tess_vector *b);

/* ---- explain.c ---- */

/* Writes what was found of the matrix. */
void explain_facts(auto_solve *state);
/* Writes why the solve did what it did; after a failure also whether the matrix is structurally singular. */
void explain(const tess_solver *s, auto_solve *state, const tess_solve_result *result);

/* ---- remember.c ---- */

/* Moves the step that solved this system before to the front, as options->automatic.choices has it. */
void recall_choice(tess_solver *s, auto_solve *state);
/* Writes it there. A file that cannot be written is not an error. */
void store_choice(const tess_solver *s, const auto_solve *state);

#endif
