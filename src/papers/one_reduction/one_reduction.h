/* SPDX-License-Identifier: Apache-2.0 */
/* What both forms of CG with one reduction share: in passes, and in one kernel. */
#ifndef TESS_PAPERS_ONE_REDUCTION_ONE_REDUCTION_H
#define TESS_PAPERS_ONE_REDUCTION_ONE_REDUCTION_H

/* Iterations between two replacements of r by b - A x and of s by A p. */
enum { ONE_REDUCTION_REPLACE_EVERY = 50 };

#endif
