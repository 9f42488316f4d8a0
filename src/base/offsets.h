/* SPDX-License-Identifier: Apache-2.0 */
/* Row offsets have 32 bits if the number of nonzeros allows, else 64. */
#ifndef TESS_BASE_OFFSETS_H
#define TESS_BASE_OFFSETS_H

#include <stdint.h>

#include <tessera/export.h>

TESS_HD int64_t tess_row_offset(const void *row_ptr, int bits, int64_t i)
{
    return bits == 64 ? ((const int64_t *)row_ptr)[i] : ((const int32_t *)row_ptr)[i];
}

TESS_HD void tess_row_offset_set(void *row_ptr, int bits, int64_t i, int64_t value)
{
    if (bits == 64) {
        ((int64_t *)row_ptr)[i] = value;
    } else {
        ((int32_t *)row_ptr)[i] = (int32_t)value;
    }
}

#endif
