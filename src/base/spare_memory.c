/* SPDX-License-Identifier: Apache-2.0 */
/* What the system has to spare, and what the limits of control groups and of address space leave of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/spare_memory.h"

#include "base/control_group.h"

/* The number behind a word at the beginning of a line; -1: there is none. */
static int64_t find_number(const char *folder, const char *name, const char *word)
{
    char path[4096 + 64], line[256];
    const size_t length = strlen(word);
    int64_t number = -1;
    FILE *file = NULL;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "r");
    if (!file) { return -1; }
    while (number < 0 && fgets(line, sizeof line, file)) {
        if (strncmp(line, word, length) == 0) { number = strtoll(line + length, NULL, 10); }
    }
    fclose(file);
    return number;
}

/* A file of one number; -1: there is no such file, or no number ("max"). */
static int64_t read_number(const char *folder, const char *name)
{
    char word[32], *end = NULL;
    int64_t number = -1;

    if (!control_group_read(folder, name, word, NULL)) { return -1; }
    number = strtoll(word, &end, 10);
    return *end == '\0' ? number : -1;
}

/* The limit of a group less what it uses; files in the cache that nobody has touched lately give way. */
static void note_group(const char *folder, void *user)
{
    int64_t *least = user;
    int64_t limit = read_number(folder, "memory.max"), used = read_number(folder, "memory.current"), cached = 0;

    if (limit < 0) {
        limit = read_number(folder, "memory.limit_in_bytes");
        used = read_number(folder, "memory.usage_in_bytes");
    }
    if (limit < 0 || used < 0) { return; }
    cached = find_number(folder, "memory.stat", "total_inactive_file ");
    if (cached < 0) { cached = find_number(folder, "memory.stat", "inactive_file "); }
    if (cached > 0) { used -= cached < used ? cached : used; }
    limit = limit > used ? limit - used : 0;
    if (limit < *least) { *least = limit; }
}

int64_t tess_group_memory(const char *membership, const char *root)
{
    int64_t least = INT64_MAX;

    control_group_visit(membership, root, "memory", note_group, &least);
    return least;
}

/* What the limit of address space (ulimit -v) leaves. */
static int64_t address_space(void)
{
    const int64_t kilobytes = find_number("/proc/self", "status", "VmSize:");
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || kilobytes < 0) { return INT64_MAX; }
    return (int64_t)limit.rlim_cur > 1024 * kilobytes ? (int64_t)limit.rlim_cur - 1024 * kilobytes : 0;
}

int64_t tess_spare_memory(void)
{
    const int64_t kilobytes = find_number("/proc", "meminfo", "MemAvailable:");
    const int64_t parts[] = {kilobytes < 0 ? INT64_MAX : kilobytes * 1024,
                             tess_group_memory("/proc/self/cgroup", "/sys/fs/cgroup"), address_space()};
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        least = parts[i] < least ? parts[i] : least;
    }
    return least;
}
