/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in MATLAB's files, by the type codes of version 5 (MathWorks, "MAT-file format"). */
#ifndef TESS_IO_MAT_NUMBERS_H
#define TESS_IO_MAT_NUMBERS_H

#include "io/blob.h"

enum { MAT_UINT8 = 2, MAT_INT16 = 3, MAT_UINT16 = 4, MAT_INT32 = 5, MAT_FP32 = 7, MAT_FP64 = 9 };

/* Bytes of an item of a type; 0 of those that are no numbers. */
int mat_item_bytes(uint32_t type);

/* Item k of those at `data`. */
double mat_number_at(const unsigned char *data, uint32_t type, bool swapped, int64_t k);

#endif
