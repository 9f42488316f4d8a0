/* SPDX-License-Identifier: Apache-2.0 */
/* Contestants of the studies of CG and BiCGSTAB. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "solve/krylov.h"

#define OURS(...)                              \
    {                                          \
        .which = BENCH_OURS_GRAPH, __VA_ARGS__ \
    }
#define GRAPH(...) OURS(.engine = TESS_ENGINE_GRAPH, __VA_ARGS__)
#define SINGLE(...) OURS(.engine = TESS_ENGINE_SINGLE_KERNEL, __VA_ARGS__)
#define RESIDENT .format = TESS_FORMAT_TILES, .layout = TESS_LAYOUT_RESIDENT

/* A new contestant is a line here, and a word in the table of studies where it matches none of its patterns. */
static const krylov_variant known[] = {
    GRAPH(.name = "csr"), /* FP64: what iterations are compared with */
    OURS(.name = "auto", .engine = TESS_ENGINE_AUTO, .format = TESS_FORMAT_AUTO),
    OURS(.name = "auto-lossless", .engine = TESS_ENGINE_AUTO, .format = TESS_FORMAT_AUTO, .policy = "lossless"),
    GRAPH(.name = "csr-lossless", .policy = "lossless"),
    GRAPH(.name = "sell", .format = TESS_FORMAT_SELL),
    GRAPH(.name = "sell-lossless", .format = TESS_FORMAT_SELL, .policy = "lossless"),
    GRAPH(.name = "dia", .format = TESS_FORMAT_DIA),
    GRAPH(.name = "dia-lossless", .format = TESS_FORMAT_DIA, .policy = "lossless"),
    SINGLE(.name = "csr-single"),
    SINGLE(.name = "csr-single-standard", .recurrence = TESS_RECURRENCE_STANDARD, .cg_only = true),
    SINGLE(.name = "csr-single-one-reduction", .recurrence = TESS_RECURRENCE_ONE_REDUCTION, .cg_only = true),
    SINGLE(.name = "csr-single-predict-and-recompute", .recurrence = TESS_RECURRENCE_PREDICT_AND_RECOMPUTE,
           .cg_only = true),
    GRAPH(.name = "tiles", .format = TESS_FORMAT_TILES),
    GRAPH(.name = "tiles-lossless", .format = TESS_FORMAT_TILES, .policy = "lossless"),
    GRAPH(.name = "tiles-1e-15", .format = TESS_FORMAT_TILES, .policy = "lossless:1e-15"),
    GRAPH(.name = "resident-fp64", RESIDENT),
    GRAPH(.name = "resident-lossless", RESIDENT, .policy = "lossless"),
    GRAPH(.name = "resident-1e-15", RESIDENT, .policy = "lossless:1e-15"),
    GRAPH(.name = "resident-narrowing", RESIDENT, .policy = "lossless:1e-15", .narrowing = TESS_NARROWING_SAFE),
    GRAPH(.name = "resident-narrowing-paper", RESIDENT, .policy = "lossless:1e-15", .narrowing = TESS_NARROWING_PAPER),
    SINGLE(.name = "resident-fp64-single", RESIDENT),
    SINGLE(.name = "resident-single", RESIDENT, .policy = "lossless"),
    SINGLE(.name = "resident-1e-15-single", RESIDENT, .policy = "lossless:1e-15"),
    SINGLE(.name = "resident-narrowing-single", RESIDENT, .policy = "lossless:1e-15", .narrowing = TESS_NARROWING_SAFE),
    SINGLE(.name = "resident-narrowing-paper-single", RESIDENT, .policy = "lossless:1e-15",
           .narrowing = TESS_NARROWING_PAPER),
    {.name = "cu-plain", .which = BENCH_THEIRS_PLAIN},
    {.name = "cu-graph", .which = BENCH_THEIRS_GRAPH},
    {.name = "cu-short-graph", .which = BENCH_THEIRS_SHORT_GRAPH},
};
enum { KNOWN = sizeof known / sizeof *known };

bool krylov_variants_choose(const char *names, krylov_variants *out, char *wrong, size_t wrong_size)
{
    bool taken[KNOWN] = {false};

    *out = (krylov_variants){.count = 0};
    for (const char *at = names; *at != '\0'; at += *at == ',') {
        const size_t length = strcspn(at, ",");
        bool found = false;

        snprintf(wrong, wrong_size, "%.*s", (int)length, at);
        for (int i = 0; i < KNOWN; i++) {
            if (fnmatch(wrong, known[i].name, 0) == 0) { found = taken[i] = true; }
        }
        if (!found) { return false; }
        at += length;
    }
    for (int i = 0; i < KNOWN; i++) {
        if (taken[i]) { out->items[out->count++] = &known[i]; }
    }
    return true;
}

bool krylov_variant_is_ours(const krylov_variant *v)
{
    return bench_contestant_is_ours(v->which);
}

bool krylov_variant_runs(const bench_run *run, const krylov_variant *v, tess_solver_kind solver)
{
    if (v->cg_only && solver != TESS_SOLVER_CG) { return false; }
    if (!krylov_variant_is_ours(v)) { return bench_contestant_runs(run, v->which); }
    return run->gpu || v->engine != TESS_ENGINE_SINGLE_KERNEL;
}

void krylov_variant_storage(const krylov_variant *v, tess_storage_options *out)
{
    static const tess_papers_storage resident = {.size = sizeof resident, .layout = TESS_LAYOUT_RESIDENT};

    tess_storage_options_init(out);
    out->format = v->format;
    if (v->layout == TESS_LAYOUT_RESIDENT) { out->papers = &resident; }
    if (!v->policy) { return; }
    out->policy.granularity = v->format == TESS_FORMAT_TILES ? TESS_GRANULARITY_BLOCK : TESS_GRANULARITY_MATRIX;
    if (tess_policy_options_parse(v->policy, &out->policy) != TESS_SUCCESS) { bench_die("no policy '%s'", v->policy); }
}

bench_contest krylov_variant_contest(const krylov_variant *v, bench_problem *p, tess_solver_kind solver,
                                     const tess_storage_options *storage)
{
    bench_contest c = {.problem = p,
                       .solver = solver,
                       .which = v->which,
                       .engine = v->engine,
                       .recurrence = v->recurrence,
                       .narrowing = v->narrowing,
                       .storage = storage};

    if (krylov_variant_is_ours(v) && !p->run->gpu) { c.which = BENCH_OURS_PLAIN; }
    return c;
}
