/* SPDX-License-Identifier: Apache-2.0 */
/* Searches in ascending lists, on hosts and devices. */
#ifndef TESS_BASE_SEARCH_H
#define TESS_BASE_SEARCH_H

#include <stdint.h>

#include <tessera/export.h>

/* The place of the last number of an ascending list that is at most `number`; 0 if all are more. */
TESS_HD int64_t tess_last_up_to(const int32_t *list, int64_t count, int64_t number)
{
    int64_t low = 0, high = count - 1;

    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;

        if (list[middle] <= number) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

#endif
