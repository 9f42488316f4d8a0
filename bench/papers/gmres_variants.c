/* SPDX-License-Identifier: Apache-2.0 */
/* Contestants of the study gmres by their names. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "papers/gmres.h"

/* What `all` and patterns choose from; other combinations are run by their names. */
static const char *const known[] = {"cu-fp64",
                                    "cu-ir",
                                    "cu-fp64-delayed",
                                    "cu-ir-delayed",
                                    "fp64",
                                    "fp64-cgs2",
                                    "fp64-basis-fp32",
                                    "fp64-basis-bf16",
                                    "fp64-basis-fp16",
                                    "ir",
                                    "ir-cgs2",
                                    "ir-basis-bf16",
                                    "ir-basis-fp16",
                                    "ir-inner-bf16",
                                    "ir-inner-fp16",
                                    "auto",
                                    "fd-500",
                                    "fp64-precond-fp32",
                                    "fp64-precond-fp16",
                                    "ir-precond-bf16",
                                    "ir-precond-fp16",
                                    "fp32",
                                    "cu-fp32"};

static bool parse_base(const char *word, gmres_variant *v)
{
    static const struct {
        const char *name;
        tess_solver_kind solver;
        bench_gmres_kind kind;
    } bases[] = {{"fp64", TESS_SOLVER_GMRES, BENCH_GMRES_FP64},
                 {"ir", TESS_SOLVER_GMRES_IR, BENCH_GMRES_IR},
                 {"auto", TESS_SOLVER_GMRES, BENCH_GMRES_FP64},
                 {"fd", TESS_SOLVER_GMRES_FD, BENCH_GMRES_FP64},
                 {"fp32", TESS_SOLVER_GMRES_FD, BENCH_GMRES_FP32}};

    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        if (strcmp(word, bases[i].name) == 0 &&
            !(v->theirs && (strcmp(word, "fd") == 0 || strcmp(word, "auto") == 0))) {
            v->solver = bases[i].solver;
            v->kind = bases[i].kind;
            v->chooses = strcmp(word, "auto") == 0;
            v->switch_at = strcmp(word, "fp32") == 0 ? INT64_MAX / 4 : -1;
            return true;
        }
    }
    return false;
}

/* Storage below fp64 is computed with in FP32, but for the basis of an FP64 solver. */
static bool parse_role(const char *role, const char *precision, gmres_variant *v)
{
    tess_role_precision p = {.given = 1};
    const bool wide_solver = v->solver == TESS_SOLVER_GMRES;

    if (!precision || tess_precision_parse(precision, &p.storage) != TESS_SUCCESS) { return false; }
    p.arithmetic = p.storage == TESS_PRECISION_FP64 || (strcmp(role, "basis") == 0 && wide_solver)
                       ? TESS_ARITHMETIC_FP64
                       : TESS_ARITHMETIC_FP32;
    if (strcmp(role, "inner") == 0) { v->inner = p; }
    if (strcmp(role, "basis") == 0) { v->basis = p; }
    if (strcmp(role, "precond") == 0) { v->precond = p; }
    return strcmp(role, "inner") == 0 || strcmp(role, "basis") == 0 || strcmp(role, "precond") == 0;
}

static bool parse_words(char *text, gmres_variant *v)
{
    char *rest = NULL, *word = strtok_r(text, "-", &rest);

    v->theirs = word && strcmp(word, "cu") == 0;
    if (v->theirs) {
        v->orthogonalization = TESS_ORTHOGONALIZATION_CGS2;
        word = strtok_r(NULL, "-", &rest);
    }
    if (!word || !parse_base(word, v)) { return false; }
    while ((word = strtok_r(NULL, "-", &rest)) != NULL) {
        if (v->theirs) {
            if (strcmp(word, "delayed") != 0) { return false; }
            v->orthogonalization = TESS_ORTHOGONALIZATION_CGS2_DELAYED;
        } else if (strcmp(word, "cgs2") == 0) {
            v->orthogonalization = TESS_ORTHOGONALIZATION_CGS2;
        } else if (isdigit((unsigned char)word[0]) && v->solver == TESS_SOLVER_GMRES_FD) {
            v->switch_at = strtoll(word, NULL, 10);
        } else if (!parse_role(word, strtok_r(NULL, "-", &rest), v)) {
            return false;
        }
    }
    return true;
}

static bool add_one(gmres_variants *list, const char *name)
{
    gmres_variant v = {.switch_at = -1, .orthogonalization = TESS_ORTHOGONALIZATION_CGS2_DELAYED};
    char text[GMRES_NAME];

    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) { return true; }
    }
    if (list->count == GMRES_MAX_VARIANTS || strlen(name) >= sizeof text) { return false; }
    snprintf(v.name, sizeof v.name, "%s", name);
    snprintf(text, sizeof text, "%s", name);
    if (!parse_words(text, &v)) { return false; }
    list->items[list->count++] = v;
    return true;
}

static bool add_matching(gmres_variants *list, const char *pattern)
{
    bool found = false;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(pattern, "all") != 0 && fnmatch(pattern, known[i], 0) != 0) { continue; }
        found = add_one(list, known[i]) || found;
    }
    return found;
}

bool gmres_variants_add(gmres_variants *list, const char *names, char *wrong, size_t wrong_size)
{
    char text[1024], *rest = NULL;

    snprintf(text, sizeof text, "%s", names);
    for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        const bool pattern = strcmp(name, "all") == 0 || strpbrk(name, "*?[") != NULL;

        if (pattern ? !add_matching(list, name) : !add_one(list, name)) {
            snprintf(wrong, wrong_size, "%s", name);
            return false;
        }
    }
    return true;
}

void gmres_variants_add_switches(gmres_variants *list, int64_t from, int64_t to, int64_t step)
{
    char name[GMRES_NAME];

    for (int64_t at = from; step > 0 && at <= to; at += step) {
        snprintf(name, sizeof name, "fd-%lld", (long long)at);
        if (!add_one(list, name)) { return; }
    }
}
