/* SPDX-License-Identifier: Apache-2.0 */
/* Named sets of matrices, from the manifest of the real ones and from the gallery. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/harness.h"

enum { MAX_ARGUMENTS = 8, SMALLEST_ORDER = 100 };

/* What the published tables name; those that the directory holds are taken, whatever their size. */
static const char *const paper_names[] = {"minsurfo",  "jnlbrng1",       "shallow_water1", "CAG_mat72", "arc130",
                                          "fs_541_1",  "poli",           "Hamrle1",        "pores_1",   "Trec4",
                                          "b1_ss",     "rgg010",         "jgl011",         "t2dal_bci", "G2_circuit",
                                          "wiki-Vote", "wiki-Vote_7115", "coAuthorsDBLP",  "cage10",    "cage11",
                                          "gridgena",  "cvxbqp1",        "obstclae",       "torsion1"};

/* What solves with incomplete factors are held to: matrices with known times of the baseline. */
static const char *const factor_names[] = {"wathen120", "bcsstk17", "G2_circuit", "raefsky1"};

typedef struct large_entry {
    const char *name, *source; /* of the gallery; or a file, of which `copies` are put on the diagonal */
    int copies;
    bool slow, symmetric;
} large_entry;

static const large_entry large_set[] = {
    {"laplace3d-150", "gallery:laplace3d:150", 0, false, true},
    {"laplace3d27-128", "gallery:laplace3d27:128", 0, false, true},
    {"uniflow2d-2500", "gallery:uniflow2d:2500", 0, false, false},
    {"bentpipe2d-1500", "gallery:bentpipe2d:1500", 0, false, false},
    {"stretched2d-1500", "gallery:stretched2d:1500", 0, false, true},
    {"elasticity3d-48", "gallery:elasticity3d:48", 0, true, true},
    {"unstructured2d", "gallery:unstructured2d:2000000", 0, true, true},
    {"unstructured2d-rcm", "gallery:unstructured2d-rcm:2000000", 0, true, true},
    {"rowscale-10", "gallery:rowscale:150:10", 0, false, false},
    {"rowscale-25", "gallery:rowscale:150:25", 0, false, false},
    {"rowscale-50", "gallery:rowscale:150:50", 0, false, false},
    {"rowscale-75", "gallery:rowscale:150:75", 0, false, false},
    {"rowscale-100", "gallery:rowscale:150:100", 0, false, false},
    {"powerlaw", "gallery:powerlaw:1000000:9500000", 0, true, true},
    {"bcsstk17-x24", "bcsstk17.mtx.gz", 24, true, true},
    {"G2_circuit-x14", "G2_circuit.mtx.gz", 14, true, true},
    {"raefsky1-x34", "raefsky1.mtx.gz", 34, true, false},
    {"memplus-x80", "memplus.mtx.gz", 80, true, false},
    {"cage11-x18", "cage11.mtx.gz", 18, true, false},
};

/* ---- building the list ---- */

static bench_case *append(bench_cases *cases, const char *name)
{
    bench_case *grown = NULL;

    for (size_t i = 0; i < cases->count; i++) {
        if (strcmp(cases->items[i].name, name) == 0) { return NULL; }
    }
    grown = realloc(cases->items, (cases->count + 1) * sizeof *grown);
    if (!grown) { bench_die("out of memory"); }
    cases->items = grown;
    grown += cases->count++;
    memset(grown, 0, sizeof *grown);
    snprintf(grown->name, sizeof grown->name, "%s", name);
    return grown;
}

static void add_large(bench_cases *cases, const bench_options *options, bool symmetric)
{
    const char *directory = options->directory ? options->directory : ".";

    for (size_t i = 0; i < sizeof large_set / sizeof *large_set; i++) {
        const large_entry *e = &large_set[i];
        bench_case *c = symmetric && !e->symmetric ? NULL : append(cases, e->name);

        if (!c) { continue; }
        c->slow = e->slow;
        if (e->copies > 0) {
            snprintf(c->needs, sizeof c->needs, "%s", e->source);
            snprintf(c->source, sizeof c->source, "gallery:replicate:%s/%s:%d", directory, e->source, e->copies);
        } else {
            snprintf(c->source, sizeof c->source, "%s", e->source);
        }
    }
}

typedef struct manifest_row {
    char name[80], class_name[32];
    long long nrows, ncols, nnz;
} manifest_row;

static bool is_among(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) { return true; }
    }
    return false;
}

#define IS_AMONG(NAMES, NAME) is_among(NAMES, sizeof(NAMES) / sizeof *(NAMES), NAME)

static bool belongs(const manifest_row *row, const char *set)
{
    if (strcmp(set, "all") == 0) { return true; }
    if (strcmp(set, "papers") == 0) { return IS_AMONG(paper_names, row->name); }
    if (strcmp(set, "factors") == 0) { return IS_AMONG(factor_names, row->name); }
    return strcmp(set, row->class_name) == 0 && row->nrows >= SMALLEST_ORDER;
}

static void add_from_manifest(bench_cases *cases, const bench_options *options, const char *set)
{
    char path[512], line[1024];
    FILE *file = NULL;

    if (!options->directory) {
        fprintf(stderr, "set %s: skipped: needs a directory of matrices (--matrices or TESSERA_MATRICES)\n", set);
        return;
    }
    snprintf(path, sizeof path, "%s/MANIFEST.tsv", options->directory);
    file = fopen(path, "r");
    if (!file) { bench_die("cannot open %s", path); }
    while (fgets(line, sizeof line, file)) {
        manifest_row row = {0};
        bench_case *c = NULL;

        if (sscanf(line, "%79s %lld %lld %lld %31s", row.name, &row.nrows, &row.ncols, &row.nnz, row.class_name) != 5 ||
            !belongs(&row, set)) {
            continue;
        }
        c = append(cases, row.name);
        if (!c) { continue; }
        snprintf(c->class_name, sizeof c->class_name, "%s", row.class_name);
        c->nrows = row.nrows;
        c->nnz = row.nnz;
        snprintf(c->needs, sizeof c->needs, "%.70s.mtx.gz", row.name);
        snprintf(c->source, sizeof c->source, "%s/%s", options->directory, c->needs);
    }
    fclose(file);
}

static void add_set(bench_cases *cases, const bench_options *options, const char *set)
{
    static const char *const known[] = {"spd", "unsym", "papers", "factors", "all"};

    if (strcmp(set, "large") == 0 || strcmp(set, "large-symmetric") == 0) {
        add_large(cases, options, strcmp(set, "large") != 0);
        return;
    }
    if (IS_AMONG(known, set)) {
        add_from_manifest(cases, options, set);
        return;
    }
    bench_die("no matrix set '%s'; there are spd, unsym, papers, factors, all, large and large-symmetric", set);
}

/* A name for the tables: the file's without directory and suffix, or the gallery call with dashes. */
static void add_single(bench_cases *cases, const char *source)
{
    char name[80];
    const char *start = strncmp(source, "gallery:", 8) == 0 ? source + 8 : source;
    bench_case *c = NULL;

    if (start == source && strrchr(source, '/')) { start = strrchr(source, '/') + 1; }
    snprintf(name, sizeof name, "%s", start);
    for (char *s = name; *s; s++) {
        if (*s == ':' || *s == '/') { *s = '-'; }
    }
    if (start != source + 8 && strstr(name, ".mtx")) { *strstr(name, ".mtx") = '\0'; }
    c = append(cases, name);
    if (c) { snprintf(c->source, sizeof c->source, "%s", source); }
}

bench_cases bench_cases_select(const bench_options *options, const char *fallback)
{
    bench_cases cases = {0};

    for (int i = 0; i < options->nsets; i++) {
        add_set(&cases, options, options->sets[i]);
    }
    for (int i = 0; i < options->nmatrices; i++) {
        add_single(&cases, options->matrices[i]);
    }
    if (options->nsets + options->nmatrices == 0 && fallback) { add_set(&cases, options, fallback); }
    if (options->listing) {
        for (size_t i = 0; i < cases.count; i++) {
            printf("%s\t%s\n", cases.items[i].name, cases.items[i].source);
        }
        exit(0);
    }
    return cases;
}

void bench_cases_free(bench_cases *cases)
{
    free(cases->items);
    *cases = (bench_cases){0};
}

/* ---- loading ---- */

static tess_status generate(tess_context *ctx, const char *source, tess_matrix **out)
{
    char text[512];
    const char *arguments[MAX_ARGUMENTS];
    char *rest = NULL, *name = NULL;
    int count = 0;

    snprintf(text, sizeof text, "%s", source + strlen("gallery:"));
    name = strtok_r(text, ":", &rest);
    if (!name) { bench_die("'%s' names no gallery problem", source); }
    for (char *word = strtok_r(NULL, ":", &rest); word; word = strtok_r(NULL, ":", &rest)) {
        if (count == MAX_ARGUMENTS) { bench_die("'%s' has too many arguments", source); }
        arguments[count++] = word;
    }
    return tess_gallery_create(ctx, name, count, arguments, out);
}

/* What is kept between runs is found by name: the cache directory belongs to one version of the generators. */
static tess_status generate_cached(tess_context *ctx, const bench_options *options, const bench_case *which,
                                   tess_matrix **out)
{
    char path[512];
    tess_status status = TESS_SUCCESS;

    snprintf(path, sizeof path, "%s/%s.tessera", options->cache, which->name);
    if (access(path, R_OK) == 0) { return tess_matrix_read(ctx, path, out, NULL); }
    status = generate(ctx, which->source, out);
    if (status != TESS_SUCCESS) { return status; }
    mkdir(options->cache, 0777);
    if (tess_matrix_write_cache(*out, path) != TESS_SUCCESS) {
        fprintf(stderr, "cannot write %s: %s\n", path, tess_context_last_error(ctx)->message);
    }
    return TESS_SUCCESS;
}

tess_status bench_case_load(tess_context *ctx, const bench_options *options, const bench_case *which, tess_matrix **out,
                            char *reason, size_t reason_size)
{
    bool gallery = strncmp(which->source, "gallery:", 8) == 0;
    tess_status status = TESS_SUCCESS;
    char path[512];

    *out = NULL;
    if (bench_is_ending()) {
        snprintf(reason, reason_size, "ended by a signal before it");
        return TESS_NOT_FOUND;
    }
    if (which->needs[0] != '\0') {
        snprintf(path, sizeof path, "%s/%s", options->directory ? options->directory : ".", which->needs);
        if (access(path, R_OK) != 0) {
            snprintf(reason, reason_size, "needs %s", which->needs);
            return TESS_NOT_FOUND;
        }
    }
    if (!gallery) {
        status = tess_matrix_read(ctx, which->source, out, NULL);
    } else if (which->slow && options->cache) {
        status = generate_cached(ctx, options, which, out);
    } else {
        status = generate(ctx, which->source, out);
    }
    if (status != TESS_SUCCESS) {
        snprintf(reason, reason_size, "%s: %s", tess_status_text(status), tess_context_last_error(ctx)->message);
    }
    return status;
}
