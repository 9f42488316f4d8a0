/* SPDX-License-Identifier: Apache-2.0 */
/* What host functions over CSR share. */
#ifndef TESS_FORMAT_CSR_CSR_HOST_H
#define TESS_FORMAT_CSR_CSR_HOST_H

#include "core/offsets.h"
#include "format/csr/csr.h"

static inline int64_t csr_offset(const csr_view *v, int64_t i)
{
    return tess_row_offset(v->row_ptr, v->row_ptr_bits, i);
}

#endif
