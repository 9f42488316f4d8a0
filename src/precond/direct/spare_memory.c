/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "precond/direct/direct.h"

int64_t direct_spare_memory(void)
{
    static const char name[] = "MemAvailable:"; /* then kB */
    FILE *file = fopen("/proc/meminfo", "r");
    char line[256];
    int64_t kilobytes = -1;

    if (!file) { return INT64_MAX; }
    while (kilobytes < 0 && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, sizeof name - 1) == 0) { kilobytes = strtoll(line + sizeof name - 1, NULL, 10); }
    }
    fclose(file);
    return kilobytes < 0 ? INT64_MAX : kilobytes * 1024;
}
