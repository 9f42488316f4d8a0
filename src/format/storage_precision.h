/* SPDX-License-Identifier: Apache-2.0 */
/* The precision and the arithmetic of a stored matrix. */
#ifndef TESS_FORMAT_STORAGE_PRECISION_H
#define TESS_FORMAT_STORAGE_PRECISION_H

#include "matrix/matrix.h"

/* The error of what has only FP64 arithmetic, or also pairs of FP32 numbers. */
tess_status tess_storage_require_wide_arithmetic(tess_context *ctx, const tess_storage_options *options,
                                                 const char *purpose);
tess_status tess_storage_require_fp64_arithmetic(tess_context *ctx, const tess_storage_options *options,
                                                 const char *purpose);
/* Whether a policy decides the precisions of the format's parts; otherwise the matrix has one, which a policy
   may choose. */
bool tess_format_takes_parts(tess_format format);
/* The precision of a format with one, by options->precision or policy lossless, and its loss, as in tess_matrix. */
tess_status tess_matrix_choose_precision(const tess_matrix *a, const tess_storage_options *options,
                                         tess_precision *precision, double *loss);
/* The loss of a precision for the values of an assembled matrix: 0 or the accepted loss if they keep to it, else Inf.
 */
tess_status tess_matrix_find_loss(const tess_matrix *a, tess_precision precision, double accepted, double *loss);

#endif
