/* SPDX-License-Identifier: Apache-2.0 */
#include <tessera/precond.h>

#include "support/elastic.h"

double *elastic_coordinates(int64_t k)
{
    const int64_t side = k + 1, nodes = k * side * side;
    double *x = test_allocate(3 * nodes, sizeof *x);

    for (int64_t i = 0; i < nodes; i++) {
        x[i] = (double)(i % side);
        x[nodes + i] = (double)(i / side % side);
        x[2 * nodes + i] = (double)(i / side / side + 1); /* the layer 0 is clamped */
    }
    return x;
}

double *elastic_modes(tess_context *ctx, int64_t k)
{
    const int64_t nodes = k * (k + 1) * (k + 1);
    double *x = elastic_coordinates(k), *modes = test_allocate(18 * nodes, sizeof *modes);

    assert_ok(ctx, tess_rigid_body_modes(ctx, nodes, 3, x, modes));
    free(x);
    return modes;
}
