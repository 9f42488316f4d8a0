/* SPDX-License-Identifier: Apache-2.0 */
/* The number of host threads: affinity, quotas of control groups, and what the system lets a process start. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/threads.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <omp.h>

#include "base/control_group.h"

enum { PROBE_LIMIT = 4096 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* ---- quotas of control groups ---- */

/* quota / period, rounded up: threads beyond a whole processor still use the rest of it. */
static int processors_of(double quota, double period)
{
    const double whole = ceil(quota / period);

    if (!(quota > 0.0) || !(period > 0.0)) { return INT_MAX; }
    return whole < 1.0 ? 1 : whole < (double)INT_MAX ? (int)whole : INT_MAX;
}

static int quota_of_folder(const char *folder)
{
    char quota[32], period[32];

    if (control_group_read(folder, "cpu.max", quota, period)) {
        return processors_of(strtod(quota, NULL), strtod(period, NULL));
    }
    if (control_group_read(folder, "cpu.cfs_quota_us", quota, NULL) &&
        control_group_read(folder, "cpu.cfs_period_us", period, NULL)) {
        return processors_of(strtod(quota, NULL), strtod(period, NULL)); /* a quota of -1 is none */
    }
    return INT_MAX;
}

static void note_folder(const char *folder, void *least)
{
    *(int *)least = smaller(*(const int *)least, quota_of_folder(folder));
}

int threads_of_quota(const char *membership, const char *root)
{
    int least = INT_MAX;

    control_group_visit(membership, root, "cpu", note_folder, &least);
    return least;
}

/* ---- the default ---- */

static int processors_allowed(void)
{
#ifdef __linux__
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0) { return CPU_COUNT(&set); }
#endif
    return INT_MAX; /* also with more processors than a cpu_set_t has: OpenMP's number counts */
}

int threads_by_default(void)
{
    const int usual = omp_get_max_threads();
    const char *asked = getenv("OMP_NUM_THREADS");
    int most = usual;

    if (asked && *asked) { return usual; }
    most = smaller(most, processors_allowed());
    most = smaller(most, threads_of_quota("/proc/self/cgroup", "/sys/fs/cgroup"));
    return most < 1 ? 1 : most;
}

/* ---- what the system lets a process start ---- */

typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool open;
} gate;

static void *wait_at_gate(void *user)
{
    gate *g = user;

    pthread_mutex_lock(&g->lock);
    while (!g->open) {
        pthread_cond_wait(&g->opened, &g->lock);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* Starts so many threads, which exist all at once, and ends them. Returns how many there were. */
static int start_and_join(int count)
{
    gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    pthread_t thread[PROBE_LIMIT];
    int started = 0;

    while (started < count && pthread_create(&thread[started], NULL, wait_at_gate, &g) == 0) {
        started += 1;
    }
    pthread_mutex_lock(&g.lock);
    g.open = true;
    pthread_cond_broadcast(&g.opened);
    pthread_mutex_unlock(&g.lock);
    for (int i = 0; i < started; i++) {
        pthread_join(thread[i], NULL);
    }
    return started;
}

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = -2; /* . and .. */

    if (!tasks) { return 1; }
    while (readdir(tasks)) {
        count += 1;
    }
    closedir(tasks);
    return count;
}

/* Threads that are joined may still count against a limit for a moment: waits until the process has `count`, at most
   0.1 s. */
static void wait_for_threads(int count)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    for (int tries = 0; tries < 100 && count_threads() > count; tries++) {
        nanosleep(&moment, NULL);
    }
}

int threads_that_start(int wanted)
{
    const int others = smaller(wanted, PROBE_LIMIT + 1) - 1;
    struct rlimit space = {.rlim_cur = RLIM_INFINITY};
    int before = 0, started = 0;

    if (others < 1) { return wanted; }
    before = count_threads();
    started = start_and_join(others);
    if (started < others) {
        wanted = (started + 2) / 2;
        wait_for_threads(before);
    }
    /* Where address space is short, later allocations could leave none for the stacks: OpenMP starts its threads now.
     */
    getrlimit(RLIMIT_AS, &space);
    if (wanted > 1 && (started < others || space.rlim_cur != RLIM_INFINITY)) {
#pragma omp parallel num_threads(wanted)
        {
        }
    }
    return wanted;
}
