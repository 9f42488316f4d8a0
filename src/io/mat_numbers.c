/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in MATLAB's files; see mat_numbers.h. */
#include "io/mat_numbers.h"

int mat_item_bytes(uint32_t type)
{
    static const int bytes[] = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8};

    return type < sizeof bytes / sizeof bytes[0] ? bytes[type] : 0;
}

double mat_number_at(const unsigned char *data, uint32_t type, bool swapped, int64_t k)
{
    const unsigned char *p = data + k * mat_item_bytes(type);

    switch (type) {
    case 1: return (int8_t)*p;
    case MAT_UINT8: return *p;
    case MAT_INT16: return (int16_t)blob_u16(p, swapped);
    case MAT_UINT16: return blob_u16(p, swapped);
    case MAT_INT32: return (int32_t)blob_u32(p, swapped);
    case 6: return blob_u32(p, swapped);
    case MAT_FP32: return (double)blob_f32(p, swapped);
    case MAT_FP64: return blob_f64(p, swapped);
    case 12: return (double)(int64_t)blob_u64(p, swapped);
    default: return (double)blob_u64(p, swapped);
    }
}
