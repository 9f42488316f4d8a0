/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarted GMRES in FP64, with iterative refinement, with bases and preconditioners in low precision, and GMRES-FD:
 * time to a verified tolerance against cuSPARSE+cuBLAS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "papers/gmres.h"
#include "papers/papers.h"

enum { SHORT_SAMPLES = 5 };

typedef struct gmres_options {
    const char *contestants, *preconds, *restarts; /* lists; NULL: by the part, then the default */
    const char *histories;
    double rtol, seconds;
    int64_t max_iterations, scale_down;
    gmres_rhs rhs;
    tess_guard guard;
    tess_reordering reorder;
    bool reorder_given, profile;
} gmres_options;

/* What is being run. */
typedef struct session {
    bench_run run;
    const bench_options *options;
    const gmres_options *own;
    const char *parts;     /* NULL: what --set and --matrix name alone */
    int64_t claims, wrong; /* of ours: that are made, and that the independent residual denies */
    FILE *histories;
} session;

static const char *choose(const char *given, const char *of_part, const char *otherwise)
{
    return given ? given : of_part ? of_part : otherwise;
}

/* ---- one problem ---- */

/* Preconditioners' precisions without a preconditioner, and baselines without a GPU, would only repeat other rows. */
static bool is_wanted(const session *s, const gmres_variant *v, const gmres_settings *settings)
{
    const bool without = settings->precond_options.kind == TESS_PRECOND_NONE;

    return !(v->theirs && !s->run.gpu) && !(v->precond.given && without);
}

/* A slow contestant, and one that does not get there, has one sample; a short solve has more. */
static bool wants_sample(const session *s, const gmres_outcome *o, int round)
{
    const double short_solve = 0.02;
    int wanted = s->options->repeat;

    if (round == 0) { return true; }
    if (o->solve[0] < short_solve) { wanted *= SHORT_SAMPLES; }
    return o->verified && !o->refused && round < wanted && round < GMRES_MAX_SAMPLES && o->spent < s->own->seconds;
}

static void count_claim(session *s, const gmres_outcome *o)
{
    if (o->variant->theirs || o->refused) { return; }
    s->claims += o->claimed;
    s->wrong += o->claimed && !o->verified;
}

/* Samples of all contestants in turn. */
static void run_contestants(session *s, const gmres_problem *p, const gmres_row *row, const gmres_settings *settings,
                            const gmres_variants *variants)
{
    gmres_outcome *all = bench_allocate((size_t)variants->count, sizeof *all);
    int count = 0;
    bool again = true;

    for (int i = 0; i < variants->count; i++) {
        if (is_wanted(s, &variants->items[i], settings)) { all[count++].variant = &variants->items[i]; }
    }
    for (int round = 0; again; round++) {
        again = false;
        for (int i = 0; i < count; i++) {
            if (!wants_sample(s, &all[i], round)) { continue; }
            gmres_run_once(p, settings, &all[i]);
            again = true;
        }
    }
    for (int i = 0; i < count; i++) {
        gmres_outcome_finish(p, settings, &all[i]);
    }
    for (int i = 0; i < count; i++) {
        gmres_report(p, settings, row->part, &all[i]);
        count_claim(s, &all[i]);
        if (s->histories) { gmres_write_history(s->histories, p, settings, row->part, &all[i]); }
        gmres_outcome_free(&all[i]);
    }
    free(all);
}

static void run_restarts(session *s, const gmres_problem *p, const gmres_row *row, gmres_settings *settings,
                         const gmres_variants *variants)
{
    char text[256], *rest = NULL;

    snprintf(text, sizeof text, "%s", choose(s->own->restarts, row->restarts, "50"));
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        settings->restart = atoi(word);
        run_contestants(s, p, row, settings, variants);
    }
}

static void run_problem(session *s, const gmres_problem *p, const gmres_row *row, const gmres_variants *variants)
{
    const gmres_options *o = s->own;
    char text[512], *rest = NULL;
    gmres_settings settings = {.rtol = o->rtol,
                               .guard = o->guard,
                               .reorder = o->reorder_given ? o->reorder : row->reorder,
                               .history = s->histories != NULL,
                               .profile = row->profile || o->profile};

    settings.max_iterations = o->max_iterations > 0     ? o->max_iterations
                              : row->max_iterations > 0 ? row->max_iterations
                                                        : 40000;
    snprintf(text, sizeof text, "%s", choose(o->preconds, row->preconds, "none"));
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        settings.precond = word;
        if (!gmres_parse_precond(word, &settings.precond_options)) { bench_die("no preconditioner '%s'", word); }
        run_restarts(s, p, row, &settings, variants);
    }
}

/* ---- a row of a part ---- */

static void run_case(session *s, const bench_case *which, const gmres_row *row, const gmres_variants *variants)
{
    gmres_problem p = {0};
    tess_matrix *a = NULL;
    char reason[640];
    bool baseline = false;
    tess_status status = bench_case_load(s->run.ctx, s->options, which, &a, reason, sizeof reason);

    if (status != TESS_SUCCESS || tess_matrix_nrows(a) != tess_matrix_ncols(a)) {
        bench_skip(&s->run, which->name, status != TESS_SUCCESS ? reason : "not square");
        tess_matrix_destroy(a);
        return;
    }
    for (int i = 0; i < variants->count; i++) {
        baseline = baseline || variants->items[i].theirs;
    }
    status = gmres_problem_make(&s->run, a, which, row->set, s->own->rhs, baseline, &p);
    if (status == TESS_SUCCESS) {
        run_problem(s, &p, row, variants);
    } else {
        bench_fault(&s->run, which->name, "matrix and vectors", status);
    }
    gmres_problem_free(&p);
    tess_matrix_destroy(a);
}

static bench_cases cases_of(const session *s, const gmres_row *row)
{
    bench_options options = *s->options;
    char source[512];
    bench_cases cases;

    snprintf(source, sizeof source, "%s", row->matrix ? row->matrix : "");
    gmres_scale_down(s->own->scale_down, source, sizeof source);
    options.listing = false;
    options.nsets = row->set ? 1 : 0;
    options.sets[0] = row->set;
    options.nmatrices = row->matrix ? 1 : 0;
    options.matrices[0] = source;
    cases = bench_cases_select(&options, NULL);
    for (size_t i = 0; i < cases.count && row->set && s->own->scale_down > 1; i++) {
        gmres_scale_down(s->own->scale_down, cases.items[i].source, sizeof cases.items[i].source);
        cases.items[i].slow = false; /* binary caches hold full sizes */
    }
    return cases;
}

static void make_variants(const session *s, const gmres_row *row, gmres_variants *out)
{
    const char *names = choose(s->own->contestants, row->contestants, "all");
    char wrong[128];

    *out = (gmres_variants){0};
    if (!gmres_variants_add(out, names, wrong, sizeof wrong)) { bench_die("no contestant '%s', or too many", wrong); }
    if (!s->own->contestants) {
        const int64_t factor = s->own->scale_down > 1 ? s->own->scale_down : 1;
        const int64_t step = row->switch_step / factor;

        gmres_variants_add_switches(out, step, row->switch_to / factor, step);
    }
}

static void run_row(session *s, const gmres_row *row)
{
    gmres_variants variants;
    bench_cases cases = cases_of(s, row);

    make_variants(s, row, &variants);
    for (size_t i = 0; i < cases.count; i++) {
        if (s->options->listing) {
            printf("%s\t%s\t%s\n", row->part, cases.items[i].name, cases.items[i].source);
        } else {
            run_case(s, &cases.items[i], row, &variants);
        }
    }
    bench_cases_free(&cases);
}

/* Rows of the parts that are named, then what --set and --matrix name. */
static void run_rows(session *s)
{
    const bench_options *o = s->options;

    for (int i = 0; i < gmres_row_count && s->parts; i++) {
        char text[128], *rest = NULL;
        bool named = false;

        snprintf(text, sizeof text, "%s", gmres_rows[i].part);
        for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
            named = named || bench_is_named(s->parts, word);
        }
        if (named) { run_row(s, &gmres_rows[i]); }
    }
    for (int i = 0; i < o->nsets; i++) {
        run_row(s, &(gmres_row){.part = "", .set = o->sets[i]});
    }
    for (int i = 0; i < o->nmatrices; i++) {
        run_row(s, &(gmres_row){.part = "", .matrix = o->matrices[i]});
    }
}

/* ---- options ---- */

enum {
    KEY_CONTESTANT = 800,
    KEY_PRECOND,
    KEY_RESTART,
    KEY_HISTORIES,
    KEY_RTOL,
    KEY_MAX_ITERATIONS,
    KEY_RHS,
    KEY_GUARD,
    KEY_REORDER,
    KEY_SCALE_DOWN,
    KEY_SECONDS,
    KEY_PROFILE
};

static const struct argp_option table[] = {
    {"contestant", KEY_CONTESTANT, "LIST", 0, "names and patterns (default: by the part, else all)", 0},
    {"precond", KEY_PRECOND, "LIST", 0, "none, jacobi, block-jacobi:K, polynomial:D", 0},
    {"restart", KEY_RESTART, "LIST", 0, "restart lengths (default: by the part, else 50)", 0},
    {"rtol", KEY_RTOL, "R", 0, "default 1e-10", 0},
    {"max-iterations", KEY_MAX_ITERATIONS, "N", 0, "default: by the part, else 40000", 0},
    {"rhs", KEY_RHS, "ones|a-times-ones", 0, "b = 1 (default, the paper's) or b = A 1", 0},
    {"guard", KEY_GUARD, "repair|report", 0, "default repair", 0},
    {"reorder", KEY_REORDER, "none|rcm", 0, "default: by the part, else none", 0},
    {"profile", KEY_PROFILE, NULL, 0, "the time by kernels, and one product alone", 0},
    {"histories", KEY_HISTORIES, "FILE", 0, "write the residual of each iteration as CSV", 0},
    {"seconds", KEY_SECONDS, "S", 0, "a contestant that has taken this long gets no further sample (default 20)", 0},
    {"scale-down", KEY_SCALE_DOWN, "N", 0, "sizes of gallery problems over N: a trial", 0},
    {0}};

static double read_real(struct argp_state *state, const char *option, const char *text)
{
    char *end = NULL;
    const double value = strtod(text, &end);

    if (*end != '\0' || !(value > 0.0)) { argp_error(state, "--%s: '%s' is not a number above 0", option, text); }
    return value;
}

static int read_word(struct argp_state *state, const char *option, const char *text, const char *first,
                     const char *second)
{
    if (strcmp(text, first) != 0 && strcmp(text, second) != 0) {
        argp_error(state, "--%s: '%s' is neither %s nor %s", option, text, first, second);
    }
    return strcmp(text, second) == 0;
}

static void check_restarts(struct argp_state *state, const char *list)
{
    char text[256];
    int64_t sizes[33];

    snprintf(text, sizeof text, "%s", list);
    bench_read_sizes(state, text, 32, sizes);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    gmres_options *o = state->input;

    switch (key) {
    case KEY_CONTESTANT: o->contestants = arg; return 0;
    case KEY_PRECOND: o->preconds = arg; return 0;
    case KEY_RESTART:
        check_restarts(state, arg);
        o->restarts = arg;
        return 0;
    case KEY_RTOL: o->rtol = read_real(state, "rtol", arg); return 0;
    case KEY_MAX_ITERATIONS: o->max_iterations = (int64_t)read_real(state, "max-iterations", arg); return 0;
    case KEY_RHS: o->rhs = (gmres_rhs)read_word(state, "rhs", arg, "ones", "a-times-ones"); return 0;
    case KEY_GUARD: o->guard = (tess_guard)read_word(state, "guard", arg, "repair", "report"); return 0;
    case KEY_REORDER:
        if (tess_reordering_parse(arg, &o->reorder) != TESS_SUCCESS) { argp_error(state, "--reorder: '%s'", arg); }
        o->reorder_given = true;
        return 0;
    case KEY_PROFILE: o->profile = true; return 0;
    case KEY_HISTORIES: o->histories = arg; return 0;
    case KEY_SECONDS: o->seconds = read_real(state, "seconds", arg); return 0;
    case KEY_SCALE_DOWN: o->scale_down = (int64_t)read_real(state, "scale-down", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Times GMRES to a verified tolerance.\v"
    "Contestants: cu-fp64, cu-ir, cu-fp32 (cuSPARSE and cuBLAS), with -delayed for one reduction; fp64, ir, fd, fp32 "
    "(ours; fp32 is fd that never "
    "switches), "
    "then any of -basis-P, -inner-P, -precond-P with P a precision, -delayed, and after fd the iteration of the "
    "switch: ir-basis-fp16-delayed, fd-200.\n"
    "A time is the median of --repeat solves (default 3; five times as many of less than 20 ms) by a wall clock, all "
    "contestants in turn, each after a new "
    "set-up "
    "and a short solve; set-up is apart; ours hold the final verification. Verified: an independent residual in "
    "quadruple "
    "precision met the tolerance; FALSE: the contestant claimed it and it did not. GB/s are bytes by a model of the "
    "iterations over the time. Exit code 1 after a false "
    "convergence or a failure.";

static void run_all(session *s)
{
    const gmres_options *o = s->own;

    bench_begin(&s->run, s->options, "gmres", true);
    json_object_set_new(s->run.root, "rtol", json_real(o->rtol));
    json_object_set_new(s->run.root, "rhs", json_string(o->rhs == GMRES_RHS_ONES ? "ones" : "a-times-ones"));
    json_object_set_new(s->run.root, "guard", json_string(o->guard == TESS_GUARD_REPAIR ? "repair" : "report"));
    json_object_set_new(s->run.root, "scale_down", json_integer(o->scale_down > 1 ? o->scale_down : 1));
    if (o->histories) {
        s->histories = fopen(o->histories, "w");
        if (!s->histories) { bench_die("cannot write %s", o->histories); }
        fprintf(s->histories, "study,matrix,precond,restart,contestant,iteration,relative_residual\n");
    }
    if (o->scale_down > 1) { printf("sizes over %lld: a trial, not a result\n", (long long)o->scale_down); }
    run_rows(s);
    if (s->histories && fclose(s->histories) != 0) { bench_die("cannot write %s", o->histories); }
    printf("false convergences: %lld of %lld claims\n", (long long)s->wrong, (long long)s->claims);
    json_object_set_new(s->run.root, "claims", json_integer(s->claims));
    json_object_set_new(s->run.root, "false_convergences", json_integer(s->wrong));
}

int study_gmres(int argc, char **argv, const char *parts)
{
    static const struct argp program = {.options = table, .parser = parse, .doc = doc};
    bench_options options;
    gmres_options own = {.rtol = 1e-10, .seconds = 20.0};
    session s = {.options = &options, .own = &own, .parts = parts};

    bench_options_init(&options);
    options.repeat = 3;
    bench_parse(argc, argv, &program, &options, &own);
    if (!parts && options.nsets + options.nmatrices == 0) { s.parts = "goals"; }
    if (options.listing) {
        run_rows(&s);
        return 0;
    }
    run_all(&s);
    return bench_end(&s.run) != 0 || s.wrong > 0 ? 1 : 0;
}
