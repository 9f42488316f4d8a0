/* SPDX-License-Identifier: Apache-2.0 */
#include "support/single_kernel.h"

#include "support/papers.h"
#include "support/tiles.h"

const solve_way solve_ways[WAYS] = {{"bicgstab", TESS_SOLVER_BICGSTAB, TESS_RECURRENCE_AUTO},
                                    {"cg", TESS_SOLVER_CG, TESS_RECURRENCE_STANDARD},
                                    {"cg, one reduction", TESS_SOLVER_CG, TESS_RECURRENCE_ONE_REDUCTION},
                                    {"cg, predicting", TESS_SOLVER_CG, TESS_RECURRENCE_PREDICT_AND_RECOMPUTE}};

int64_t beyond_clusters(void)
{
    return on_gpu_or_emulated(132, 66);
}

tess_storage_options stored_as(int which)
{
    static const tess_precision_level fp16 = {.precision = TESS_PRECISION_FP16, .scaled = 1};
    static const tess_precision_level fp8 = {.precision = TESS_PRECISION_E4M3, .scaled = 1};
    tess_storage_options options;

    tess_storage_options_init(&options);
    if (which == 1) { options = resident_lossless("fp64,fp32,fp16,e4m3"); }
    if (which > 1) { options = tiles_of(16, 16, 2.0, TESS_PRECISION_FP64, which == 2 ? fp16 : fp8); }
    if (which > 1) { options.papers = &papers_resident; }
    return options;
}
