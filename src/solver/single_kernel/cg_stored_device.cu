/* SPDX-License-Identifier: Apache-2.0 */
/* Conjugate gradients in one kernel on CSR rows of one precision. Compiled separately for each precision. */
#include "device/gpu/gpu.h"

#if GPU_HAS_COOPERATIVE_GRIDS

#include "solver/single_kernel/cg_kernel.cuh"

template <typename STORED>
single_function single_cg_rows(single_method method, bool cluster)
{
    if constexpr (single_storage::has<STORED>) {
        return cg_of<csr_rows<STORED>>(method, cluster);
    } else {
        return NULL;
    }
}

#define ROWS(STORED) template single_function single_cg_rows<STORED>(single_method, bool);
STORED_TYPES(ROWS)
#undef ROWS

#endif
