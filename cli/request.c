/* SPDX-License-Identifier: Apache-2.0 */
/* What a printed command asks for: the system, the norm and the tolerance, as the caller wanted them. */
#include "request.h"

#include "solve.h"

#include <math.h>
#include <stdlib.h>

/* Smaller tolerances are out of reach of the normal equations of many matrices. */
#define LEAST_SQUARES_RTOL 1e-12

/* ---- the request ---- */

bool cli_wants_accuracy(const tess_solve_options *options)
{
    return options->accuracy.forward > 0.0 || options->accuracy.backward > 0.0;
}

static tess_stop_norm norm_of_solver(tess_solver_kind solver)
{
    return solver == TESS_SOLVER_AUTO ? TESS_STOP_NORM_BOTH : TESS_STOP_NORM_GIVEN;
}

tess_stop_norm cli_request_norm(const cli_solve_run *run)
{
    const tess_stop_norm asked = run->asked->stop_norm;
    return asked != TESS_STOP_NORM_AUTO ? asked : norm_of_solver(run->asked->solver);
}

/* A norm that was not asked for is repeated where that of the other solver would be weaker. */
static tess_stop_norm norm_for(const cli_solve_run *run, tess_solver_kind solver)
{
    const bool weaker = cli_request_norm(run) == TESS_STOP_NORM_BOTH && norm_of_solver(solver) != TESS_STOP_NORM_BOTH;
    return weaker ? TESS_STOP_NORM_BOTH : run->asked->stop_norm;
}

cli_request cli_request_for(const cli_solve_run *run, tess_solver_kind solver)
{
    const tess_solve_options *o = run->asked;
    tess_solve_options defaults;
    tess_solve_options_init(&defaults);
    cli_request request = {.solver = solver,
                           .scale = o->scale,
                           .reorder = o->reorder,
                           .stop_norm = norm_for(run, solver),
                           .rtol = o->rtol,
                           .atol = o->atol,
                           .divergence_tolerance = o->divergence_tolerance,
                           .accuracy = o->accuracy,
                           .max_iterations = defaults.max_iterations};
    if (o->max_iterations > request.max_iterations) { request.max_iterations = o->max_iterations; }
    if (!cli_is_least_squares(solver)) { return request; }
    request.rtol =
        fmax(cli_wants_accuracy(o) ? fmax(o->accuracy.forward, o->accuracy.backward) : o->rtol, LEAST_SQUARES_RTOL);
    request.accuracy = (tess_accuracy_options){.forward = 0.0};
    request.stop_norm = TESS_STOP_NORM_AUTO;
    if (!run->transformed) { /* else the system is the transformed one */
        request.scale = TESS_SCALING_NONE;
        request.reorder = TESS_REORDERING_NONE;
    }
    return request;
}

/* ---- text ---- */

const char *cli_real_text(double value, char *buffer, size_t size)
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(buffer, size, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) { break; }
    }
    return buffer;
}

static bool has_factors(tess_precond_kind kind)
{
    return kind != TESS_PRECOND_NONE && kind != TESS_PRECOND_JACOBI && kind != TESS_PRECOND_AUTO;
}

static void write_factors(FILE *to, const tess_precond_options *o)
{
    tess_precond_options d;
    tess_precond_options_init(&d);
    if (o->incomplete.triangular != d.incomplete.triangular) {
        fprintf(to, " --triangular %s", tess_triangular_name(o->incomplete.triangular));
    }
    if (o->incomplete.factorization != d.incomplete.factorization) {
        fprintf(to, " --factorization %s", tess_factorization_name(o->incomplete.factorization));
    }
    if (o->incomplete.leaf != d.incomplete.leaf) { fprintf(to, " --leaf %lld", (long long)o->incomplete.leaf); }
    if (o->direct.memory_limit != d.direct.memory_limit) {
        fprintf(to, " --factor-memory %lld", (long long)o->direct.memory_limit);
    }
}

static void write_polynomials(FILE *to, const tess_precond_options *o)
{
    char text[CLI_SCHEDULE_TEXT];
    tess_precond_options d;
    tess_precond_options_init(&d);
    if (o->kind == TESS_PRECOND_POLYNOMIAL && o->polynomial.form != d.polynomial.form) {
        fprintf(to, " --polynomial-form %s", tess_polynomial_form_name(o->polynomial.form));
    }
    if (o->kind != TESS_PRECOND_JACOBI_SWEEPS) { return; }
    if (o->jacobi_sweeps.omega != d.jacobi_sweeps.omega) {
        fprintf(to, " --precond-omega %s", cli_real_text(o->jacobi_sweeps.omega, text, sizeof text));
    }
    if (o->jacobi_sweeps.schedule.count > 0) {
        fprintf(to, " --precond-steps %s", cli_schedule_text(&o->jacobi_sweeps.schedule, text, sizeof text));
    }
}

void cli_write_precond(FILE *to, const tess_precond_options *o)
{
    char text[256];
    if (o->kind == TESS_PRECOND_AUTO) { return; }
    fprintf(to, " --precond %s", cli_precond_text(o, text, sizeof text));
    if (o->block_jacobi.adaptive) {
        fputs(" --precond-precision adaptive", to);
    } else if (has_factors(o->kind) && o->role.given) {
        fprintf(to, " --precond-precision %s", cli_role_text(&o->role, text, sizeof text));
    }
    if (has_factors(o->kind)) { write_factors(to, o); }
    write_polynomials(to, o);
    if (o->kind == TESS_PRECOND_AMG) { fputs(cli_amg_options_text(&o->amg, text, sizeof text), to); }
}

void cli_write_transform(FILE *to, const cli_request *r, bool transformed)
{
    if (r->scale != TESS_SCALING_NONE) { fprintf(to, " --scale %s", tess_scaling_name(r->scale)); }
    if (r->reorder != TESS_REORDERING_NONE) { fprintf(to, " --reorder %s", tess_reordering_name(r->reorder)); }
    if (transformed) { fputs(" --system transformed", to); }
}

static void write_tolerance(FILE *to, const cli_request *r, bool rtol_too)
{
    char text[48];
    tess_solve_options defaults;
    tess_solve_options_init(&defaults);
    if (r->accuracy.forward > 0.0 || r->accuracy.backward > 0.0) {
        fprintf(to, " --accuracy %s", cli_accuracy_text(&r->accuracy, text, sizeof text));
        return;
    }
    if (rtol_too || r->rtol != defaults.rtol) { fprintf(to, " --rtol %s", cli_real_text(r->rtol, text, sizeof text)); }
    if (r->atol > 0.0) { fprintf(to, " --atol %s", cli_real_text(r->atol, text, sizeof text)); }
}

void cli_write_goal(FILE *to, const cli_request *r, const cli_vector_choice *rhs, bool rtol_too)
{
    char text[48], words[CLI_QUOTED_LENGTH];
    tess_solve_options defaults;
    tess_solve_options_init(&defaults);
    if (r->stop_norm != TESS_STOP_NORM_AUTO && r->stop_norm != norm_of_solver(r->solver) &&
        !cli_is_least_squares(r->solver)) {
        fprintf(to, " --stop-norm %s", tess_stop_norm_name(r->stop_norm));
    }
    write_tolerance(to, r, rtol_too);
    if (r->divergence_tolerance > 0.0 && r->divergence_tolerance != defaults.divergence_tolerance) {
        fprintf(to, " --divergence-tolerance %s", cli_real_text(r->divergence_tolerance, text, sizeof text));
    }
    fputs(cli_rhs_option(rhs, words, sizeof words), to);
    if (r->max_iterations != defaults.max_iterations) {
        fprintf(to, " --max-iterations %lld", (long long)r->max_iterations);
    }
}
