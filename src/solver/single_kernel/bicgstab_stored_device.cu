/* SPDX-License-Identifier: Apache-2.0 */
/* BiCGSTAB in one kernel on CSR rows of one precision. Compiled separately for each precision. */
#include "device/gpu/gpu.h"

#if GPU_HAS_COOPERATIVE_GRIDS

#include "solver/single_kernel/bicgstab_kernel.cuh"

template <typename STORED>
single_function single_bicgstab_rows(bool cluster)
{
    if constexpr (single_storage::has<STORED>) {
        return bicgstab_of<csr_rows<STORED>>(cluster);
    } else {
        return NULL;
    }
}

#define ROWS(STORED) template single_function single_bicgstab_rows<STORED>(bool);
STORED_TYPES(ROWS)
#undef ROWS

#endif
