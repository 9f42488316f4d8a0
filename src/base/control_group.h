/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups that a process is in (Linux), of version 1 and 2. */
#ifndef TESS_BASE_CONTROL_GROUP_H
#define TESS_BASE_CONTROL_GROUP_H

#include <stdbool.h>

/*
 * Calls `visit` with the folder of the process' group and of each group above it, down to the root. Where a container
 * sees its own group as the root, the folders below may be missing, and the root's files count. `membership` is a file
 * like /proc/self/cgroup, `root` where the hierarchies are mounted (/sys/fs/cgroup), `controller` a name of version 1
 * (cpu, memory).
 */
void control_group_visit(const char *membership, const char *root, const char *controller,
                         void (*visit)(const char *folder, void *user), void *user);

/* The first word and, if `second` is not NULL, the second of a file of one line. */
bool control_group_read(const char *folder, const char *name, char first[32], char second[32]);

#endif
