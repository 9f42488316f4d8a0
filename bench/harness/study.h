/* SPDX-License-Identifier: Apache-2.0 */
/* A benchmark program is a table of studies; each study has options of its own beside those of every benchmark. */
#ifndef TESS_BENCH_HARNESS_STUDY_H
#define TESS_BENCH_HARNESS_STUDY_H

#include "harness/harness.h"

typedef struct bench_study {
    const char *name;    /* --study NAME, or --study NAME:PART[,PART..] */
    const char *parts;   /* that may be named, with commas; NULL: none */
    const char *summary; /* for --help */
    /* Gets what is left of the command line, and the parts that are named (NULL: none). Returns the exit code. */
    int (*run)(int argc, char **argv, const char *parts);
} bench_study;

/* Runs the study that --study names, or the first one. */
int bench_main(int argc, char **argv, const char *summary, const bench_study *studies, int count);

#endif
