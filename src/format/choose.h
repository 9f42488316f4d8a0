/* SPDX-License-Identifier: Apache-2.0 */
/* The format that auto stands for, matrix by matrix. */
#ifndef TESS_FORMAT_CHOOSE_H
#define TESS_FORMAT_CHOOSE_H

#include "matrix/matrix.h"

/* tess_matrix_convert with format auto. */
tess_status tess_matrix_convert_chosen(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out);

/* The format that auto stands for, whatever the matrix is: the one that takes all options. */
tess_format tess_format_that_takes(const tess_context *ctx, const tess_storage_options *options);

/* The format that auto stands for with an assignment. */
tess_format tess_format_of_assignment(const tess_matrix *a, const tess_storage_options *options,
                                      const tess_assignment *assignment);

/* Whether blocks of the policy's shape hold enough nonzeros for tiles, on average over the blocks that hold any. */
tess_status tess_blocks_are_full(const tess_matrix *a, const tess_policy_options *policy, bool *full);

/* The matrix in slices (sell), whatever options->format says, if slices pay; else *out is NULL. They do not pay with
   too much padding, with more than max_padding or with too many entries; nor if they do not take the precision or
   arithmetic. */
tess_status tess_matrix_try_slices(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out);

/* By diagonals, if the matrix is square and they pay; else *out is NULL. As tess_matrix_try_padded. */
tess_status tess_matrix_try_diagonals(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out);
/* By diagonals if `diagonals`, the matrix is square and they pay, else in slices if these pay; else *out is NULL. The
   precision of the options is taken as it is: no loss is looked for, and values beyond it become infinite. */
tess_status tess_matrix_try_padded(const tess_matrix *a, const tess_storage_options *options, bool diagonals,
                                   tess_matrix **out);
/* tess_matrix_convert in the format and the precision that the options name, likewise. */
tess_status tess_matrix_convert_unjudged(const tess_matrix *a, const tess_storage_options *options, tess_matrix **out);

/* For policy lossless without a loss, on a host: the matrix in csr (complex: bsr) at a lower level that holds every
   value, if its products take less time than those of `a` (measured: measured.c); else *out is NULL. Results have the
   same bits. *level: the precision that holds every value, FP64 if only that does. */
tess_status tess_matrix_try_lower(const tess_matrix *a, const tess_policy_options *policy, tess_precision *level,
                                  tess_matrix **out);

#endif
