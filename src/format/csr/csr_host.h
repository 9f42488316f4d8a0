/* SPDX-License-Identifier: Apache-2.0 */
/* What host functions over CSR share. */
#ifndef TESS_FORMAT_CSR_CSR_HOST_H
#define TESS_FORMAT_CSR_CSR_HOST_H

#include "format/csr/csr.h"

static inline int64_t csr_offset(const csr_view *v, int64_t i)
{
    return v->row_ptr_bits == 64 ? ((const int64_t *)v->row_ptr)[i] : ((const int32_t *)v->row_ptr)[i];
}

#endif
