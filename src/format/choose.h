/* SPDX-License-Identifier: Apache-2.0 */
/* What format auto stands for, matrix by matrix. */
#ifndef TESS_FORMAT_CHOOSE_H
#define TESS_FORMAT_CHOOSE_H

#include "matrix/matrix.h"

/* tess_matrix_convert for options of format auto. */
tess_status tess_matrix_convert_chosen(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out);

/* The format that options of format auto stand for whatever the matrix is: the one that takes what is asked. */
tess_format tess_format_that_takes(const tess_context *ctx, const tess_storage_options *options);

/* The format that options of format auto stand for with an assignment. */
tess_format tess_format_of_assignment(const tess_matrix *a, const tess_storage_options *options,
                                      const tess_assignment *assignment);

/* Whether blocks of the policy's shape hold enough nonzeros for tiles, on average over those that hold any. */
tess_status tess_blocks_are_full(const tess_matrix *a, const tess_policy_options *policy, bool *full);

/* Slices (sell) of the matrix, whatever options->format says, where they are worth it; else *out is NULL: more padding than
   pays or than max_padding allows, too many entries, or a precision or an arithmetic that slices do not take here. */
tess_status tess_matrix_try_slices(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out);

#endif
