/* SPDX-License-Identifier: Apache-2.0 */
#include "support/papers.h"

#include <stdbool.h>

const tess_papers_storage papers_kernel = {.size = sizeof papers_kernel, .kernel = TESS_KERNEL_PAPER};
const tess_papers_storage papers_resident = {.size = sizeof papers_resident, .layout = TESS_LAYOUT_RESIDENT};
const tess_papers_solve papers_one_reduction = {.size = sizeof papers_one_reduction, .one_reduction = 1};

const tess_papers_storage *papers_tiles(tess_kernel kernel, tess_layout layout)
{
    static const tess_papers_storage both = {
        .size = sizeof both, .kernel = TESS_KERNEL_PAPER, .layout = TESS_LAYOUT_RESIDENT};

    if (kernel == TESS_KERNEL_PAPER) { return layout == TESS_LAYOUT_RESIDENT ? &both : &papers_kernel; }
    return layout == TESS_LAYOUT_RESIDENT ? &papers_resident : NULL;
}

const tess_papers_solve *papers_narrowing(tess_narrowing mode)
{
    static const tess_papers_solve modes[] = {
        {.size = sizeof modes[0], .narrowing = TESS_NARROWING_OFF},
        {.size = sizeof modes[0], .narrowing = TESS_NARROWING_PAPER},
        {.size = sizeof modes[0], .narrowing = TESS_NARROWING_SAFE},
    };

    return &modes[mode];
}

void ask_recurrence(tess_solve_options *options, tess_recurrence recurrence)
{
    const bool one = recurrence == TESS_RECURRENCE_ONE_REDUCTION;

    options->papers = one ? &papers_one_reduction : NULL;
    options->cg.recurrence = one ? TESS_RECURRENCE_AUTO : recurrence;
}
