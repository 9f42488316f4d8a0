/* SPDX-License-Identifier: Apache-2.0 */
/* Contestants of the study factors by their names. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solve/factors.h"

/* What `all` and patterns choose from; other combinations are run by their names. */
#define KNOWN(SOLVER, FACTORS)                                                                                 \
    SOLVER "-jacobi", SOLVER "-" FACTORS, SOLVER "-" FACTORS "-fp32", SOLVER "-" FACTORS "-fp16",              \
        SOLVER "-" FACTORS "-blocks", SOLVER "-" FACTORS "-fp32-blocks", SOLVER "-" FACTORS "-merged",         \
        SOLVER "-" FACTORS "-fp32-merged", SOLVER "-" FACTORS "-fp16-merged", SOLVER "-" FACTORS "-host",      \
        SOLVER "-" FACTORS "-device", SOLVER "-" FACTORS "-colors", SOLVER "-" FACTORS "-sweeps3",             \
        SOLVER "-" FACTORS "-fp16-sweeps3", SOLVER "-" FACTORS "-fp16-sweeps3-factor5", SOLVER "-cu-" FACTORS, \
        SOLVER "-cu-" FACTORS "-graph", SOLVER "-cu-" FACTORS "-short"
static const char *const known[] = {KNOWN("cg", "ic0"), KNOWN("bicgstab", "ilu0")};

/* leafN: rows of the largest leaf of recursive blocks. */
static bool parse_leaf(const char *word, int64_t *leaf)
{
    char *end = NULL;

    if (strncmp(word, "leaf", 4) != 0) { return false; }
    *leaf = strtoll(word + 4, &end, 10);
    return *end == '\0' && *leaf > 0;
}

/* sweepsK: of each triangle; factorN: of the factorization. */
static bool parse_sweeps(const char *word, tess_incomplete_options *o)
{
    const bool factors = strncmp(word, "factor", 6) == 0, solves = strncmp(word, "sweeps", 6) == 0;
    char *end = NULL;
    const long sweeps = factors || solves ? strtol(word + 6, &end, 10) : 0;

    if (sweeps < 1 || sweeps > TESS_MAX_TRIANGLE_SWEEPS || *end != '\0') { return false; }
    if (factors) {
        o->factorization = TESS_FACTORIZATION_SWEEPS;
        o->factorization_sweeps = (int)sweeps;
    } else {
        o->triangular = TESS_TRIANGULAR_SWEEPS;
        o->sweeps = (int)sweeps;
    }
    return true;
}

/* stepsN, sizeN, filterP: of an adaptive pattern the steps and their entries; the filter in percent. */
static bool parse_growth(const char *word, tess_inverse_options *o)
{
    static const char *const names[] = {"steps", "size", "filter"};
    int found = 0;
    char *end = NULL;

    while (found < 3 && strncmp(word, names[found], strlen(names[found])) != 0) {
        found++;
    }
    if (found == 3) { return false; }
    const long number = strtol(word + strlen(names[found]), &end, 10);
    if (end == word + strlen(names[found]) || *end != '\0' || number < 0 || number > 99) { return false; }
    if (found == 0) { o->steps = (int)number; }
    if (found == 1) { o->step_size = (int)number; }
    if (found == 2) { o->filter = 0.01 * (double)number; }
    return true;
}

static bool parse_detail(const char *word, factors_variant *v)
{
    if (v->theirs) {
        v->which = strcmp(word, "graph") == 0 ? BENCH_THEIRS_GRAPH : BENCH_THEIRS_SHORT_GRAPH;
        return strcmp(word, "graph") == 0 || strcmp(word, "short") == 0;
    }
    if (tess_precision_parse(word, &v->precond.role.storage) == TESS_SUCCESS) {
        v->precond.role.given = 1;
        v->precond.role.arithmetic = TESS_ARITHMETIC_FP64;
        return true;
    }
    if (v->precond.kind == TESS_PRECOND_FSAI) { return parse_growth(word, &v->precond.inverse); }
    return v->precond.kind != TESS_PRECOND_JACOBI && v->precond.kind != TESS_PRECOND_ISAI &&
           (tess_triangular_parse(word, &v->precond.incomplete.triangular) == TESS_SUCCESS ||
            parse_leaf(word, &v->precond.incomplete.leaf) || parse_sweeps(word, &v->precond.incomplete) ||
            tess_factorization_parse(word, &v->precond.incomplete.factorization) == TESS_SUCCESS);
}

/* The baseline has the two kinds of factors alone. */
static bool is_known_kind(const factors_variant *v)
{
    const tess_precond_kind kind = v->precond.kind;

    if (kind == TESS_PRECOND_ILU0 || kind == TESS_PRECOND_IC0) { return true; }
    return !v->theirs && (kind == TESS_PRECOND_JACOBI || kind == TESS_PRECOND_FSAI || kind == TESS_PRECOND_ISAI ||
                          kind == TESS_PRECOND_ILUT || kind == TESS_PRECOND_ICT || kind == TESS_PRECOND_ILUK);
}

static bool parse_words(char *text, tess_triangular triangular, factors_variant *v)
{
    char *rest = NULL, *word = strtok_r(text, "-", &rest);

    if (!word || tess_solver_kind_parse(word, &v->solver) != TESS_SUCCESS) { return false; }
    if (v->solver != TESS_SOLVER_CG && v->solver != TESS_SOLVER_BICGSTAB) { return false; }
    word = strtok_r(NULL, "-", &rest);
    v->theirs = word && strcmp(word, "cu") == 0;
    v->which = v->theirs ? BENCH_THEIRS_PLAIN : BENCH_OURS_GRAPH;
    if (v->theirs) { word = strtok_r(NULL, "-", &rest); }
    if (!word || tess_precond_options_parse(word, &v->precond) != TESS_SUCCESS) { return false; }
    if (!is_known_kind(v)) { return false; }
    v->precond.incomplete.triangular = triangular; /* the kind began the options anew */
    while ((word = strtok_r(NULL, "-", &rest)) != NULL) {
        if (!parse_detail(word, v)) { return false; }
    }
    return true;
}

static bool add_one(factors_variants *list, const char *name, tess_triangular triangular)
{
    factors_variant v = {.theirs = false};
    char text[FACTORS_NAME];

    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) { return true; }
    }
    if (list->count == FACTORS_MAX_VARIANTS || strlen(name) >= sizeof text) { return false; }
    snprintf(v.name, sizeof v.name, "%s", name);
    snprintf(text, sizeof text, "%s", name);
    tess_precond_options_init(&v.precond);
    if (!parse_words(text, triangular, &v)) { return false; }
    list->items[list->count++] = v;
    return true;
}

/* A name, or a pattern of known ones. */
static bool add_named(factors_variants *list, const char *name, tess_triangular triangular)
{
    bool found = false;

    if (strcmp(name, "all") == 0) { name = "*"; }
    if (!strpbrk(name, "*?[")) { return add_one(list, name, triangular); }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (fnmatch(name, known[i], 0) == 0) { found = add_one(list, known[i], triangular) || found; }
    }
    return found;
}

bool factors_variants_add(factors_variants *list, const char *names, tess_triangular triangular, char *wrong,
                          size_t wrong_size)
{
    const char *at = names;

    while (*at != '\0') {
        const size_t length = strcspn(at, ",");

        snprintf(wrong, wrong_size, "%.*s", (int)length, at);
        if (!add_named(list, wrong, triangular)) { return false; }
        at += length + (at[length] == ',');
    }
    return true;
}
