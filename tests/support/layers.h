/* SPDX-License-Identifier: Apache-2.0 */
/* Split storage in layers under test: options, matrices with something at every level, products. */
#ifndef TESS_TESTS_SUPPORT_LAYERS_H
#define TESS_TESTS_SUPPORT_LAYERS_H

#include <tessera/matrix.h>

#include "support/test.h"

enum { LAYER_BASES = 4 };
extern const tess_format layer_bases[LAYER_BASES];
/* Rows and columns of blocks. */
extern const int layer_sides[4][2];

/* Split with space for any padding. */
tess_storage_options layer_options(tess_granularity granularity, const char *policy, const char *levels);
tess_matrix *convert_layers(const tess_matrix *a, const tess_storage_options *options);

/* Neighbouring rows have neighbouring columns; of two or three magnitudes, which a policy by blocks tells apart. */
oracle_csr make_layer_band(int64_t nrows, int64_t ncols, int magnitudes);
/* The same with columns anywhere. */
oracle_csr make_layer_scatter(int64_t nrows, int64_t ncols, int magnitudes);

/* y of `stored`, by a plain product. The caller frees it. */
double *layer_product(const tess_matrix *stored, const double *x);

#endif
