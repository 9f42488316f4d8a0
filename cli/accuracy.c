/* SPDX-License-Identifier: Apache-2.0 */
/* --accuracy: the report of what was reached. */
#include "request.h"

#include <math.h>
#include <string.h>

/* " (8.5e+01 with its rows scaled to one size)", where that is far less. */
static void write_row_condition(const tess_accuracy_result *r, char *buffer, size_t size)
{
    buffer[0] = '\0';
    if (r->row_condition < r->condition / 10.0) {
        snprintf(buffer, size, " (%.1e with its rows scaled to one size)", r->row_condition);
    }
}

/* ", by complete factors" */
static const char *source_text(const tess_accuracy_result *r, tess_precond_kind precond)
{
    if (r->source == TESS_CONDITION_FACTORS) { return ", by complete factors"; }
    return precond == TESS_PRECOND_JACOBI ? " with its diagonal scaled to 1, by CG" : ", by CG";
}

void cli_print_accuracy(const cli_solve_run *run)
{
    const tess_accuracy_result *r = &run->result->accuracy;
    const bool backward = run->asked->accuracy.backward > 0.0;
    if (r->wanted == 0.0) { return; }
    printf("%-17s %s error %.1e wanted, %s\n", "accuracy", backward ? "backward" : "forward", r->wanted,
           r->reached                                 ? "reached"
           : backward || r->forward_error > r->wanted ? "NOT REACHED"
           : r->source == TESS_CONDITION_UNKNOWN      ? "NOT KNOWN: this method tells nothing about the inverse"
           : r->source == TESS_CONDITION_LANCZOS      ? "NOT KNOWN: CG may have missed the least eigenvalue"
                                                      : "NOT KNOWN: A is too nearly singular for factors in fp64");
    if (r->source != TESS_CONDITION_UNKNOWN) {
        char error[32] = "not known", rows[64];
        if (isfinite(r->forward_error)) { snprintf(error, sizeof error, "about %.1e", r->forward_error); }
        write_row_condition(r, rows, sizeof rows);
        printf("%-17s forward error %s; condition about %.1e of A%s%s\n", "", error, r->condition, rows,
               source_text(r, run->result->precond.kind));
    }
    printf("%-17s backward error %.1e\n", "", r->backward_error);
}

json_t *cli_accuracy_json(const cli_solve_run *run)
{
    const tess_accuracy_result *r = &run->result->accuracy;
    if (r->wanted == 0.0) { return json_null(); }
    json_t *object = json_pack("{ss sb ss}", "error", run->asked->accuracy.backward > 0.0 ? "backward" : "forward",
                               "reached", r->reached, "condition_source", tess_condition_source_name(r->source));
    if (object == NULL) { return NULL; }
    json_object_set_new(object, "wanted", cli_json_real(r->wanted));
    json_object_set_new(object, "forward_error", cli_json_real(r->forward_error));
    json_object_set_new(object, "backward_error", cli_json_real(r->backward_error));
    json_object_set_new(object, "condition", cli_json_real(r->condition));
    json_object_set_new(object, "row_condition", cli_json_real(r->row_condition));
    return object;
}

/* The rows differ in size, and the system that was solved is not a scaled one. */
static bool may_be_scaled(const cli_solve_run *run)
{
    const tess_accuracy_result *r = &run->result->accuracy;
    const bool scaled = run->asked->scale != TESS_SCALING_NONE || run->result->scale != TESS_SCALING_NONE;
    return !scaled && r->row_condition < r->condition / 1000.0;
}

const char *cli_accuracy_advice(const cli_solve_run *run)
{
    const tess_accuracy_result *r = &run->result->accuracy;
    const tess_attempt *attempts = NULL;
    const bool unknown = run->asked->accuracy.forward > 0.0 && !(r->forward_error > r->wanted);
    const bool automatic = run->solver != NULL && tess_solver_attempts(run->solver, &attempts) > 0;
    if (unknown && r->source == TESS_CONDITION_FACTORS) {
        return "FP64 is too little to tell the error of x; --accuracy backward:E asks for one that is always known";
    }
    if (unknown) {
        return "the residual is small, but not known is the error of x; complete factors in FP64 tell it (--precond lu "
               "--precond-precision fp64)";
    }
    if (automatic) { return "FP64 gives no smaller error here; ask for less (--accuracy)"; }
    if (may_be_scaled(run)) { return "rows differ in size; scale the system (--scale), or take --solver auto"; }
    return "FP64 gives no smaller error here; ask for less (--accuracy), or scale the system (--scale)";
}

bool cli_accuracy_missed(const cli_solve_run *run)
{
    const tess_accuracy_result *r = &run->result->accuracy;
    return r->wanted > 0.0 && !r->reached;
}
