/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of papers.h, for options to point to. */
#ifndef TESS_TESTS_SUPPORT_PAPERS_H
#define TESS_TESTS_SUPPORT_PAPERS_H

#include <tessera/papers.h>
#include <tessera/solver.h>

/* Tiles with kernel paper, and of layout resident. */
extern const tess_papers_storage papers_kernel, papers_resident;
/* Of both kinds. */
const tess_papers_storage *papers_tiles(tess_kernel kernel, tess_layout layout);

extern const tess_papers_solve papers_one_reduction;
const tess_papers_solve *papers_narrowing(tess_narrowing mode);
/* Requests a recurrence in the place where its option is. */
void ask_recurrence(tess_solve_options *options, tess_recurrence recurrence);

#endif
