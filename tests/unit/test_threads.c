/* SPDX-License-Identifier: Apache-2.0 */
/* The number of host threads, and memory for factors: quotas of control groups from made-up files, and what the system
 * starts. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <limits.h>
#include <omp.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/spare_memory.h"
#include "base/threads.h"
#include "support/test.h"

static char root[] = "/tmp/tess_threads_XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[256];
    FILE *file = NULL;

    snprintf(path, sizeof path, "%s/%s", root, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_folder(const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static int quota(const char *membership)
{
    char path[256];

    write_file("membership", membership);
    snprintf(path, sizeof path, "%s/membership", root);
    return threads_of_quota(path, root);
}

static int make_groups(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(root));
    make_folder("a");
    make_folder("a/b");
    make_folder("cpu");
    make_folder("cpu/job");
    make_folder("memory");
    make_folder("memory/job");
    return 0;
}

static int remove_groups(void **state)
{
    static const char *const names[] = {"a/b/cpu.max",
                                        "a/cpu.max",
                                        "a/b",
                                        "a",
                                        "cpu/job/cpu.cfs_quota_us",
                                        "cpu/job/cpu.cfs_period_us",
                                        "cpu/cpu.cfs_quota_us",
                                        "cpu/cpu.cfs_period_us",
                                        "cpu/job",
                                        "cpu",
                                        "a/b/memory.max",
                                        "a/b/memory.current",
                                        "a/b/memory.stat",
                                        "a/memory.max",
                                        "a/memory.current",
                                        "memory/job/memory.limit_in_bytes",
                                        "memory/job/memory.usage_in_bytes",
                                        "memory/job/memory.stat",
                                        "memory/job",
                                        "memory",
                                        "membership",
                                        "cpu.max",
                                        ""};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];

        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        (void)remove(path);
    }
    return 0;
}

/* Version 2: the least quota of the group and of those above it, rounded up to whole processors. */
static void quotas_of_groups_above_count(void **state)
{
    (void)state;
    assert_int_equal(quota("0::/a/b\n"), INT_MAX);
    write_file("a/b/cpu.max", "max 100000\n");
    assert_int_equal(quota("0::/a/b\n"), INT_MAX);
    write_file("a/cpu.max", "350000 100000\n");
    assert_int_equal(quota("0::/a/b\n"), 4);
    write_file("a/b/cpu.max", "50000 100000\n");
    assert_int_equal(quota("0::/a/b\n"), 1);
    assert_int_equal(quota("0::/a\n"), 4);
    assert_int_equal(quota("0::/\n"), INT_MAX);
    write_file("cpu.max", "200000 100000\n"); /* a container's own group is its root, and the path leads nowhere */
    assert_int_equal(quota("0::/elsewhere/c\n"), 2);
    assert_int_equal(quota("0::/\n"), 2);
    assert_int_equal(quota("0::/a\n"), 2);
    write_file("cpu.max", "no number\n");
    assert_int_equal(quota("0::/\n"), INT_MAX);
    write_file("cpu.max", "max 100000\n");
}

static void version_1_has_two_files(void **state)
{
    (void)state;
    assert_int_equal(quota("4:cpu,cpuacct:/job\n"), INT_MAX);
    write_file("cpu/job/cpu.cfs_quota_us", "-1\n");
    write_file("cpu/job/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota("4:cpu,cpuacct:/job\n"), INT_MAX);
    write_file("cpu/job/cpu.cfs_quota_us", "300000\n");
    assert_int_equal(quota("9:memory:/job\n4:cpuacct,cpu:/job\n"), 3);
    assert_int_equal(quota("4:cpu:/job"), 3);
    assert_int_equal(quota("4:cpuset:/job\n4:cpuacct:/job\n"), INT_MAX);
    write_file("cpu/cpu.cfs_quota_us", "10000\n");
    write_file("cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota("4:cpu:/job\n"), 1);
    assert_int_equal(quota("4:cpu:/\n"), 1);
}

/* Complete factors take what the groups' limits leave: files that the cache may drop do not count. */
static int64_t spare(const char *membership)
{
    char path[256];

    write_file("membership", membership);
    snprintf(path, sizeof path, "%s/membership", root);
    return tess_group_memory(path, root);
}

static void memory_limits_count(void **state)
{
    (void)state;
    assert_true(spare("0::/a/b\n") == INT64_MAX);
    write_file("a/b/memory.max", "max\n");
    write_file("a/b/memory.current", "1000\n");
    assert_true(spare("0::/a/b\n") == INT64_MAX);
    write_file("a/b/memory.max", "5000000000\n");
    assert_true(spare("0::/a/b\n") == 4999999000);
    write_file("a/b/memory.stat", "anon 7\ninactive_file 400\nactive_file 9\n");
    assert_true(spare("0::/a/b\n") == 4999999400);
    write_file("a/memory.max", "3000\n");
    write_file("a/memory.current", "2500\n");
    assert_true(spare("0::/a/b\n") == 500);
    write_file("a/memory.current", "3500\n");
    assert_true(spare("0::/a/b\n") == 0);
    assert_true(spare("0::/\n") == INT64_MAX);
    write_file("memory/job/memory.limit_in_bytes", "8000\n");
    write_file("memory/job/memory.usage_in_bytes", "6000\n");
    write_file("memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 2000\n");
    assert_true(spare("4:cpu:/job\n") == INT64_MAX);
    assert_true(spare("4:memory:/job\n3:cpu:/\n") == 4000);
    write_file("memory/job/memory.limit_in_bytes", "no number\n");
    assert_true(spare("4:memory:/job\n") == INT64_MAX);
    assert_true(tess_group_memory("/nowhere/at/all", root) == INT64_MAX);
    assert_true(tess_spare_memory() > 0);
}

static void unreadable_groups_are_no_quota(void **state)
{
    (void)state;
    assert_int_equal(threads_of_quota("/nowhere/at/all", root), INT_MAX);
    assert_int_equal(quota("no colons here\n\n4:cpu\n"), INT_MAX);
}

/* On one processor a context takes one thread, unless OMP_NUM_THREADS says otherwise. */
static void affinity_counts(void **state)
{
    cpu_set_t all, one;
    tess_context *ctx = NULL;

    (void)state;
    unsetenv("OMP_NUM_THREADS");
    assert_true(threads_by_default() >= 1 && threads_by_default() <= omp_get_max_threads());
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &all)) { CPU_SET(i, &one); }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(threads_by_default(), 1);
    ctx = open_cpu(0);
    assert_int_equal(tess_context_threads(ctx), 1);
    tess_context_destroy(ctx);
    setenv("OMP_NUM_THREADS", "many", 1); /* what OpenMP makes of it counts */
    assert_int_equal(threads_by_default(), omp_get_max_threads());
    unsetenv("OMP_NUM_THREADS");
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static void threads_start(void **state)
{
    (void)state;
    for (int wanted = 1; wanted <= 17; wanted += 4) {
        assert_int_equal(threads_that_start(wanted), wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quotas_of_groups_above_count),
                                       cmocka_unit_test(version_1_has_two_files),
                                       cmocka_unit_test(memory_limits_count),
                                       cmocka_unit_test(unreadable_groups_are_no_quota),
                                       cmocka_unit_test(affinity_counts),
                                       cmocka_unit_test(threads_start)};

    return cmocka_run_group_tests(tests, make_groups, remove_groups);
}
