/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explicit time steps x := A x of the monodomain equation in a ventricle, in FP64, split by entries, and in rising
 * precisions: Figure 16 of Tezcan et al. (2022), for meshes of several sizes in three numberings.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "papers/papers.h"
#include "papers/schedule.h"

enum { QUICK_COUNT = 200, FULL_COUNT = 8000, MAX_SIZES = 16, MAX_ARGUMENTS = 8 };

enum { FP64 = 0, VARIANTS = 7 };
static const bench_schedule_variant variants[VARIANTS] = {
    {"fp64", NULL, false, NULL, FP64},
    {"entry-wise", "mixed", true, NULL, FP64},
    {"1-step", "mixed", false, NULL, FP64},
    {"2-step", "mixed,fp64", false, NULL, FP64},
    {"3-step", "fp32,mixed,fp64", false, NULL, FP64},
    {"fp32", "fp32", false, NULL, FP64},
    {"1-step, fp16:scaled", "mixed", false, "fp64,fp16:scaled", FP64},
};

static const char *const orders[] = {"natural", "random", "rcm"};

typedef struct timestep_options {
    int64_t count; /* 0: by --quick */
    int64_t cells[MAX_SIZES + 1];
    const char *order; /* list; NULL: all */
    bench_schedule_policies policies;
} timestep_options;

typedef struct record {
    char name[80];
    bool in_cache;
    bench_schedule_result of[VARIANTS];
} record;

typedef struct problem {
    bench_run *run;
    const timestep_options *options;
    tess_matrix *a;
    bench_csr host;
    tess_vector *start, *x;
    double *y64, *y; /* the last x of FP64, and of another */
    record *record;
} problem;

/* ---- the problem ---- */

/* The initial potential of a ventricle; for other matrices values in (-1, 1). */
static tess_status make_start(problem *p, const char *source)
{
    static const char prefix[] = "gallery:ventricle:";
    const char *arguments[MAX_ARGUMENTS];
    char text[512], *rest = NULL;
    int count = 0;
    tess_status status = TESS_SUCCESS;

    if (strncmp(source, prefix, strlen(prefix)) != 0) {
        status = tess_vector_create(p->run->ctx, p->host.nrows, TESS_PRECISION_FP64, &p->start);
        return status == TESS_SUCCESS ? tess_vector_set_random(p->start, 1, -1.0, 1.0) : status;
    }
    snprintf(text, sizeof text, "%s", source + strlen(prefix));
    for (char *word = strtok_r(text, ":", &rest); word && count < MAX_ARGUMENTS; word = strtok_r(NULL, ":", &rest)) {
        arguments[count++] = word;
    }
    return tess_gallery_ventricle_potential(p->run->ctx, count, arguments, &p->start);
}

static void close_problem(problem *p)
{
    tess_vector_destroy(p->start);
    tess_vector_destroy(p->x);
    free(p->y64);
    free(p->y);
    bench_csr_free(&p->host);
    tess_matrix_destroy(p->a);
}

static bool open_problem(problem *p, const bench_case *which)
{
    char reason[640];
    tess_status status = bench_case_load(p->run->ctx, p->run->options, which, &p->a, reason, sizeof reason);

    if (status != TESS_SUCCESS || tess_matrix_nrows(p->a) != tess_matrix_ncols(p->a)) {
        bench_skip(p->run, which->name, status != TESS_SUCCESS ? reason : "is not square");
        close_problem(p);
        return false;
    }
    status = bench_csr_get(p->a, &p->host);
    if (status == TESS_SUCCESS) { status = make_start(p, which->source); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(p->run->ctx, p->host.nrows, TESS_PRECISION_FP64, &p->x); }
    p->y64 = bench_allocate((size_t)p->host.nrows, sizeof *p->y64);
    p->y = bench_allocate((size_t)p->host.nrows, sizeof *p->y);
    if (status == TESS_SUCCESS) { return true; }
    bench_fault(p->run, which->name, "matrix and vectors", status);
    close_problem(p);
    return false;
}

/* ---- one variant ---- */

typedef struct step_call {
    problem *p;
    tess_timestep *steps;
    tess_timestep_result result;
} step_call;

static tess_status call_steps(void *user, double *seconds)
{
    step_call *c = user;
    tess_status status = tess_vector_copy(c->p->start, c->p->x);

    if (status == TESS_SUCCESS) {
        tess_timestep_result_init(&c->result);
        status = tess_timestep_run(c->steps, c->p->x, c->p->options->count, NULL, NULL, 0, &c->result);
    }
    *seconds = c->result.seconds;
    return status;
}

static tess_status make_options(const problem *p, const bench_schedule_variant *v, tess_timestep_options *o)
{
    tess_timestep_options_init(o);
    if (!bench_schedule_storage(v, &p->options->policies, &o->storage)) { return TESS_INVALID_ARGUMENT; }
    return v->schedule ? tess_schedule_parse(v->schedule, &o->schedule) : TESS_SUCCESS;
}

/* ||y - y64|| / ||y64|| */
static double difference_of(int64_t n, double *y, const double *y64)
{
    const double norm = sqrt((double)bench_exact_dot(n, y64, y64, NULL));

    for (int64_t i = 0; i < n; i++) {
        y[i] -= y64[i];
    }
    return sqrt((double)bench_exact_dot(n, y, y, NULL)) / norm;
}

static tess_status take_result(problem *p, const step_call *c, const tess_timestep_options *o, int index)
{
    const tess_timestep_result *s = &c->result;
    bench_schedule_result *r = &p->record->of[index];
    double *y = index == FP64 ? p->y64 : p->y;
    tess_status status = tess_vector_get(p->x, y, TESS_PRECISION_FP64, TESS_MEMORY_HOST);

    if (status != TESS_SUCCESS) { return status; }
    r->error = index == FP64 ? 0.0 : difference_of(p->host.nrows, y, p->y64);
    r->schedule = s->schedule;
    r->iterations = s->count;
    r->setup_seconds = s->setup_seconds;
    for (int i = 0; i < s->schedule.count; i++) {
        r->bytes += (double)s->schedule.entry[i].iterations * (double)s->bytes_per_step[i];
    }
    bench_schedule_note(&o->storage.policy, s->nonzeros_per_precision, r);
    r->ran = s->count == p->options->count && s->finite;
    if (!r->ran) { bench_fault(p->run, p->record->name, "x is not finite, or steps are missing", TESS_SUCCESS); }
    return TESS_SUCCESS;
}

static tess_status run_variant(problem *p, int index)
{
    bench_schedule_result *r = &p->record->of[index];
    step_call c = {.p = p};
    tess_timestep_options o;
    tess_status status = make_options(p, &variants[index], &o);

    if (status == TESS_SUCCESS) { status = tess_timestep_create(p->a, &o, &c.steps); }
    if (status == TESS_SUCCESS) { status = bench_schedule_time(p->run, call_steps, &c, &r->time); }
    if (status == TESS_SUCCESS) { status = take_result(p, &c, &o, index); }
    tess_timestep_destroy(c.steps);
    if (status == TESS_SUCCESS && r->ran) {
        bench_schedule_report(p->run, p->record->name, &p->host, p->record->in_cache, variants, index, r,
                              "relative_difference");
    }
    return status;
}

static void run_case(bench_run *run, const bench_case *which, const timestep_options *options, record *out)
{
    problem p = {.run = run, .options = options, .record = out};
    tess_status status = TESS_SUCCESS;

    snprintf(out->name, sizeof out->name, "%s", which->name);
    if (!open_problem(&p, which)) { return; }
    out->in_cache = bench_spmv_bytes(p.host.nrows, p.host.ncols, p.host.nnz, 8) <= run->cache_bytes;
    for (int i = 0; i < VARIANTS && status == TESS_SUCCESS && (i == FP64 || out->of[FP64].ran); i++) {
        status = run_variant(&p, i);
    }
    if (status != TESS_SUCCESS) { bench_fault(run, which->name, "time steps", status); }
    close_problem(&p);
}

/* ---- options ---- */

enum { KEY_CELLS = 700, KEY_ORDER, KEY_COUNT };

static const struct argp_option table[] = {
    {"cells", KEY_CELLS, "N[,N..]", 0, "sizes of the meshes (default 200000,1000000,4000000; --quick 20000)", 0},
    {"order", KEY_ORDER, "NAME[,NAME..]", 0, "numberings: natural, random, rcm (default all)", 0},
    {"count", KEY_COUNT, "N", 0, "time steps (default 8000, --quick 200)", 0},
    BENCH_SCHEDULE_OPTIONS("mean-range:2", "mean-range:1"),
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    timestep_options *o = state->input;
    char *end = NULL;

    switch (key) {
    case KEY_CELLS: bench_read_sizes(state, arg, MAX_SIZES, o->cells); return 0;
    case KEY_ORDER: o->order = arg; return 0;
    case KEY_COUNT:
        o->count = strtoll(arg, &end, 10);
        if (*end != '\0' || o->count < 1) { argp_error(state, "--count: '%s' is no number of steps", arg); }
        return 0;
    default: return bench_schedule_parse(key, arg, state, &o->policies);
    }
}

static void options_init(timestep_options *o)
{
    *o = (timestep_options){.count = 0};
    /* The paper's range of the baseline, 1e-5, is close to the mean of its matrices; here each has its own mean. */
    bench_schedule_init("mean-range:2", "mean-range:1", &o->policies);
}

/* Unless matrices are named: every size in every numbering. The texts last until the program ends. */
static void add_meshes(const timestep_options *o, bench_options *options)
{
    static const int64_t full[] = {200000, 1000000, 4000000, 0}, quick[] = {20000, 0};
    static char text[BENCH_MAX_NAMES][64];
    const int64_t *cells = o->cells[0] > 0 ? o->cells : options->quick ? quick : full;

    if (options->nsets + options->nmatrices > 0) { return; }
    for (; *cells > 0; cells++) {
        for (size_t k = 0; k < sizeof orders / sizeof orders[0]; k++) {
            if (!bench_is_named(o->order, orders[k]) || options->nmatrices == BENCH_MAX_NAMES) { continue; }
            snprintf(text[options->nmatrices], sizeof text[0], "gallery:ventricle:%lld:%s", (long long)*cells,
                     orders[k]);
            options->matrices[options->nmatrices] = text[options->nmatrices];
            options->nmatrices += 1;
        }
    }
}

int study_timestep(int argc, char **argv, const char *parts)
{
    static const struct argp program = {
        .options = table,
        .parser = parse,
        .doc =
            "Time steps x := A x in a ventricle, in steps of rising precision, against FP64 with its diagonal in the "
            "matrix.\vDefault: the gallery's ventricle in three sizes and three numberings; --set and --matrix take "
            "other matrices, from a random x. Times are medians of three runs, set-up apart."};
    bench_options options;
    timestep_options timestep;
    bench_run run;
    bench_cases cases;

    (void)parts;
    bench_options_init(&options);
    options_init(&timestep);
    bench_parse(argc, argv, &program, &options, &timestep);
    if (timestep.count == 0) { timestep.count = options.quick ? QUICK_COUNT : FULL_COUNT; }
    add_meshes(&timestep, &options);
    cases = bench_cases_select(&options, NULL);
    bench_begin(&run, &options, "timestep", true);
    json_object_set_new(run.root, "steps", json_integer(timestep.count));
    for (size_t i = 0; i < cases.count; i++) {
        record out = {.in_cache = false};

        run_case(&run, &cases.items[i], &timestep, &out);
    }
    bench_cases_free(&cases);
    return bench_end(&run);
}
