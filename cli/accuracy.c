/* SPDX-License-Identifier: Apache-2.0 */
/* --accuracy: the option, and the report of what was reached. */
#include "cli.h"

#include <math.h>
#include <string.h>

void cli_parse_accuracy(struct argp_state *state, const char *text, tess_accuracy_options *out)
{
    static const char backward[] = "backward:", forward[] = "forward:";
    const bool is_backward = strncmp(text, backward, sizeof backward - 1) == 0;
    const bool is_forward = strncmp(text, forward, sizeof forward - 1) == 0;
    const char *number = text + (is_backward ? sizeof backward - 1 : is_forward ? sizeof forward - 1 : 0);
    const double wanted = cli_parse_real(state, "accuracy", number, 0.0, 1.0);
    if (!(wanted > 0.0 && wanted < 1.0)) {
        argp_error(state,
                   "--accuracy: '%s' is not a relative error above 0 and below 1, such as 1e-8 or backward:1e-12",
                   text);
    }
    memset(out, 0, sizeof *out);
    *(is_backward ? &out->backward : &out->forward) = wanted;
}

const char *cli_accuracy_text(const tess_accuracy_options *o, char *buffer, size_t size)
{
    if (o->backward > 0.0) {
        snprintf(buffer, size, "backward:%g", o->backward);
    } else {
        snprintf(buffer, size, "%g", o->forward);
    }
    return buffer;
}

/* "by complete factors" */
static const char *source_text(const tess_accuracy_result *r, tess_precond_kind precond)
{
    if (r->source == TESS_CONDITION_FACTORS) { return "of A, by complete factors"; }
    return precond == TESS_PRECOND_JACOBI ? "of A with its diagonal scaled to 1, by CG" : "of A, by CG";
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
        char error[32] = "not known";
        if (isfinite(r->forward_error)) { snprintf(error, sizeof error, "about %.1e", r->forward_error); }
        printf("%-17s forward error %s; condition about %.1e %s\n", "", error, r->condition,
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
    return object;
}

bool cli_accuracy_missed(const cli_solve_run *run)
{
    const tess_accuracy_result *r = &run->result->accuracy;
    return r->wanted > 0.0 && !r->reached;
}
