/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How threads wait. Between two parallel loops OpenMP's runtimes let idle threads spin, gcc's for about 300,000 turns.
 * On a loaded machine, or a virtual one whose spinning is slow, this takes the time that the other threads need: CG on
 * bcsstk18 took 4 s on two such cores, and 0.1 s on one. The runtimes read their settings when they are loaded, before
 * main(); so the tool sets them and starts itself once more. Whoever sets one of the variables keeps their choice.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* About as long as the shortest loops: the number that gcc's runtime takes itself when threads exceed processors. */
#define SPIN_TURNS "1000"
/* Milliseconds, of LLVM's runtime. */
#define SPIN_TIME "0"

void cli_limit_spinning(char **argv)
{
    static const char *const settings[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (getenv(settings[i]) != NULL) { return; }
    }
    const char *threads = getenv("OMP_NUM_THREADS");
    bool one = threads != NULL && strcmp(threads, "1") == 0;
    if (one || setenv("GOMP_SPINCOUNT", SPIN_TURNS, 1) != 0 || setenv("KMP_BLOCKTIME", SPIN_TIME, 1) != 0) { return; }
    execv("/proc/self/exe", argv); /* if that fails, threads spin as usual */
}
