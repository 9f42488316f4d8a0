/* SPDX-License-Identifier: Apache-2.0 */
/* Products of DIA in pairs of FP32 numbers on the host: the bits of the GPU (dia_pairs_device.cu). */
#include "format/dia/dia_host.h"
#include "format/pairs.h"

/* For processors with FMA, too. */
HOST_CLONES void dia_host_sum_pairs(const dia_view *v, const tess_spmv_args *args, int64_t first, int count,
                                    double *out)
{
    for (int64_t row = first; row < first + count; row++) {
        float_pair sum = {0.0F, 0.0F};

        for (int64_t d = 0; d < v->ndiagonals; d++) {
            const dia_diagonal diagonal = v->diagonal[d];

            if (dia_has_entry(v, diagonal, row)) {
                sum = float_pair_plus(sum, float_pair_times(pairs_value(v->precision, v->val, dia_place(v, d, row)),
                                                            pairs_factor(args, row + diagonal.offset)));
            }
        }
        out[row - first] = float_pair_value(sum);
    }
}
