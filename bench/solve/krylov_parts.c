/* SPDX-License-Identifier: Apache-2.0 */
/* Runs parts of the study of CG and BiCGSTAB: matrices by rows of the table, and their problems. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solve/krylov.h"
#include "solver/symmetry.h"

enum { QUICK_STEP = 6 }; /* --quick: every so many matrices of a set */

/* ---- one matrix ---- */

/* The method of a row on this matrix; AUTO where it has none. */
static tess_status choose_solver(const krylov_row *row, const tess_matrix *a, const char *class_name,
                                 tess_solver_kind *out)
{
    bool symmetric = strcmp(class_name, "spd") == 0;
    tess_status status = TESS_SUCCESS;

    *out = row->solver;
    if (row->solver == TESS_SOLVER_BICGSTAB) { return TESS_SUCCESS; }
    /* what the manifest knows is not definite is for BiCGSTAB */
    if (!symmetric && class_name[0] == '\0') { status = probe_symmetry(a, &symmetric); }
    if (row->solver == TESS_SOLVER_AUTO) {
        *out = symmetric ? TESS_SOLVER_CG : TESS_SOLVER_BICGSTAB;
    } else if (!symmetric) {
        *out = TESS_SOLVER_AUTO;
    }
    return status;
}

static void run_problem(krylov_session *s)
{
    if (bench_problem_set_rhs(s->problem, s->row->five_sides ? 1 : 0) != TESS_SUCCESS) {
        bench_fault(&s->run, s->matrix, "right-hand side", TESS_DEVICE);
    } else if (s->row->special) {
        s->row->special(s);
    } else {
        krylov_measure(s);
    }
}

static void run_matrix(krylov_session *s, const bench_case *which)
{
    bench_problem p = {0};
    tess_matrix *a = bench_problem_load(&s->run, which);
    tess_status status = TESS_SUCCESS;

    s->matrix = which->name;
    if (!a) { return; }
    status = choose_solver(s->row, a, which->class_name, &s->solver);
    if (status == TESS_SUCCESS && s->solver == TESS_SOLVER_AUTO) {
        bench_skip(&s->run, which->name, "cg: nonsymmetric");
        tess_matrix_destroy(a);
        return;
    }
    if (status == TESS_SUCCESS) { status = bench_problem_make(&s->run, a, &p); }
    s->problem = &p;
    if (status == TESS_SUCCESS) {
        run_problem(s);
    } else {
        bench_fault(&s->run, which->name, "vectors", status);
    }
    bench_problem_free(&p);
    tess_matrix_destroy(a);
}

/* ---- one row ---- */

static bool is_named_by_user(const bench_options *options)
{
    return options->nsets + options->nmatrices > 0;
}

/* Whether a row before this one has the same to do with the matrices that the user named. */
static bool is_repeated(const krylov_session *s, const krylov_row *row)
{
    for (const krylov_row *r = s->rows; r < row; r++) {
        const bool covers = r->solver == TESS_SOLVER_AUTO || r->solver == row->solver;

        if (bench_is_named(r->part, s->part) && covers && r->special == row->special) { return true; }
    }
    return false;
}

static bool is_named_set(const bench_options *options, const char *set)
{
    for (int i = 0; i < options->nsets; i++) {
        if (strcmp(options->sets[i], set) == 0) { return true; }
    }
    return false;
}

/* Sets that rows of the study have choose among its rows; anything else takes the place of their matrices. */
static bool choose_rows(const krylov_session *s, const bench_options *options)
{
    bool found = false;

    for (int i = 0; i < s->row_count && options->nmatrices == 0; i++) {
        found = found || (bench_is_named(s->rows[i].part, s->part) && is_named_set(options, s->rows[i].set));
    }
    return found;
}

/* The matrices of a row; `text` keeps their names. */
static bench_cases select_cases(const krylov_row *row, const bench_options *options, char *text, size_t size)
{
    bench_options chosen = *options;
    char *rest = NULL;

    chosen.listing = false;
    if (!is_named_by_user(options) && row->matrices) {
        snprintf(text, size, "%s", row->matrices);
        for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
            chosen.matrices[chosen.nmatrices++] = word;
        }
    }
    return bench_cases_select(&chosen, row->matrices ? NULL : row->set);
}

static void run_row(krylov_session *s, const krylov_row *row, const bench_options *options)
{
    const bool thinned = options->quick && !is_named_by_user(options) && !row->matrices;
    char text[640];
    bench_cases cases = select_cases(row, options, text, sizeof text);

    s->row = row;
    s->begun = false;
    for (size_t i = 0; i < cases.count; i += thinned ? QUICK_STEP : 1) {
        if (options->listing) {
            printf("%s\t%s\t%s\n", row->part, cases.items[i].name, cases.items[i].source);
        } else {
            run_matrix(s, &cases.items[i]);
        }
    }
    bench_cases_free(&cases);
}

/* ---- all ---- */

static void run_part(krylov_session *s, const char *part, const bench_options *options)
{
    bench_options own = *options;
    bool chosen = false;

    s->part = part;
    chosen = choose_rows(s, options);
    if (chosen) { own.nsets = 0; }
    for (int i = 0; i < s->row_count; i++) {
        const krylov_row *row = &s->rows[i];

        if (!bench_is_named(row->part, part) || (chosen && !is_named_set(options, row->set))) { continue; }
        if (is_named_by_user(&own) && is_repeated(s, row)) { continue; }
        run_row(s, row, &own);
    }
}

static int finish(krylov_session *s)
{
    bench_set(s->run.root, "{s:I, s:I}", "claims", (json_int_t)s->claims, "false_convergences",
              (json_int_t)s->false_claims);
    if (s->false_claims > 0) { printf("*** %lld FALSE CONVERGENCES ***\n", (long long)s->false_claims); }
    return bench_end(&s->run);
}

int krylov_run(krylov_session *s, const char *parts, const bench_options *options)
{
    char *text = strdup(parts), *rest = NULL;
    int code = 0;

    if (!text) { bench_die("out of memory"); }
    if (!options->listing) {
        bench_begin(&s->run, options, "krylov", true);
        bench_set(s->run.root, "{s:s, s:f, s:I}", "parts", parts, "rtol", s->rtol, "max_iterations",
                  (json_int_t)s->max_iterations);
    }
    for (char *part = strtok_r(text, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        run_part(s, part, options);
    }
    if (!options->listing) { code = finish(s); }
    free(text);
    return code;
}
