/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of a format's layout share: its arrays on the host, what it holds, and sums in a known order. */
#ifndef TESS_TESTS_SUPPORT_LAYOUT_H
#define TESS_TESTS_SUPPORT_LAYOUT_H

#include "support/product.h"

/* Bytes of an array of a view, on the host. The caller frees them. */
void *fetch_bytes(const tess_matrix *m, const void *device, int64_t bytes);
/* The same bytes on two devices. */
void check_same_bytes(const tess_matrix *a, const void *of_a, const tess_matrix *b, const void *of_b, int64_t bytes);

/* The stored matrix holds exactly this one. */
void check_decoded(const tess_matrix *stored, const oracle_csr *a);

/* Whether the row has an entry in a column where x is not finite. */
bool meets_not_finite(const oracle_csr *a, int64_t row, const double *x);

/* One step of a sum: the host rounds the product and the sum, device code once where it is compiled for a device. */
static inline double add_product(double sum, double a, double x)
{
    const bool once = TEST_DEVICE == TESS_DEVICE_GPU && !gpu_is_emulated();

    return once ? fma(a, x, sum) : sum + a * x;
}

#endif
