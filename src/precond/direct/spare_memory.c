/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "precond/direct/direct.h"

int64_t direct_spare_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[256];
    int64_t kilobytes = -1;

    if (!file) { return INT64_MAX; }
    while (kilobytes < 0 && fgets(line, sizeof line, file)) {
        if (sscanf(line, "MemAvailable: %" SCNd64 " kB", &kilobytes) != 1) { kilobytes = -1; }
    }
    fclose(file);
    return kilobytes < 0 ? INT64_MAX : kilobytes * 1024;
}
