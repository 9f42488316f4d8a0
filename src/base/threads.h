/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads of the host a context takes. Nothing here changes a setting of OpenMP. */
#ifndef TESS_BASE_THREADS_H
#define TESS_BASE_THREADS_H

#ifdef __cplusplus
extern "C" {
#endif

/* The default: OMP_NUM_THREADS if it is set; else OpenMP's own number, but no more than the processors that the calling
   thread may run on and than the CPU quota of its control group. At least 1. */
int threads_by_default(void);

/*
 * The processors that a control group's CPU quota is worth, rounded up; INT_MAX: there is no quota. `membership` is a
 * file like /proc/self/cgroup, `root` where the hierarchies are mounted (/sys/fs/cgroup). Version 2: cpu.max of the
 * group and of all groups above it; version 1: cpu.cfs_quota_us and cpu.cfs_period_us.
 */
int threads_of_quota(const char *membership, const char *root);

/* `wanted`, if the system starts so many threads, the calling one included; else half of those that it starts, to leave
   room for memory and other programs. OpenMP's runtimes end the program if they cannot start a thread. */
int threads_that_start(int wanted);

#ifdef __cplusplus
}
#endif

#endif
