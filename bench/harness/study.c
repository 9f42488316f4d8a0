/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a program: which study, and the rest for the study's own options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/study.h"

/* Takes --study NAME, or --study=NAME, out of the arguments; NULL: it is not among them. */
static const char *take_study(int *argc, char **argv)
{
    static const char option[] = "--study";
    const size_t length = sizeof option - 1;
    const char *name = NULL;
    int kept = 1;

    for (int i = 1; i < *argc; i++) {
        const bool is_option = strncmp(argv[i], option, length) == 0;

        if (is_option && argv[i][length] == '=') {
            name = argv[i] + length + 1;
        } else if (is_option && argv[i][length] == '\0') {
            if (i + 1 == *argc) { bench_die("--study needs a name"); }
            name = argv[++i];
        } else {
            argv[kept++] = argv[i];
        }
    }
    argv[kept] = NULL;
    *argc = kept;
    return name;
}

static void print_studies(FILE *out, const bench_study *studies, int count)
{
    for (int i = 0; i < count; i++) {
        fprintf(out, "  %-12s %s%s\n", studies[i].name, studies[i].summary, i == 0 ? " (default)" : "");
        if (studies[i].parts) { fprintf(out, "  %-12s   parts: %s\n", "", studies[i].parts); }
    }
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-?") == 0) { return true; }
    }
    return false;
}

static void print_help(const char *program, const char *summary, const bench_study *studies, int count)
{
    const char *name = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;

    printf("Usage: %s [--study NAME] [OPTION...]\n%s\n\nStudies:\n", name, summary);
    print_studies(stdout, studies, count);
    printf("\nParts of a study: --study NAME:PART[,PART..]. Options of a study: %s --study NAME --help\n", name);
}

/* Ends the program at a part that the study does not have. */
static void check_parts(const bench_study *study, const char *parts)
{
    char text[512], *rest = NULL;

    snprintf(text, sizeof text, "%s", parts);
    for (char *part = strtok_r(text, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        if (!study->parts || !bench_is_named(study->parts, part)) {
            bench_die("study '%s' has no part '%s'; it has %s", study->name, part,
                      study->parts ? study->parts : "no parts");
        }
    }
}

static int run_study(const bench_study *study, int argc, char **argv, const char *parts)
{
    if (parts) { check_parts(study, parts); }
    return study->run(argc, argv, parts);
}

int bench_main(int argc, char **argv, const char *summary, const bench_study *studies, int count)
{
    const char *name = take_study(&argc, argv);
    size_t length = 0;

    if (!name && wants_help(argc, argv)) {
        print_help(argv[0], summary, studies, count);
        return 0;
    }
    if (!name) { return run_study(&studies[0], argc, argv, NULL); }
    length = strcspn(name, ":");
    for (int i = 0; i < count; i++) {
        if (strlen(studies[i].name) == length && strncmp(studies[i].name, name, length) == 0) {
            return run_study(&studies[i], argc, argv, name[length] == ':' ? name + length + 1 : NULL);
        }
    }
    fprintf(stderr, "bench: there is no study '%s'. There are:\n", name);
    print_studies(stderr, studies, count);
    return 2;
}
