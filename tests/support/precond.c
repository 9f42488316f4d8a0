/* SPDX-License-Identifier: Apache-2.0 */
#include "support/precond.h"

void apply_precond(const tess_precond *m, int64_t n, const double *r, double *z)
{
    tess_vector *vr = make_vector(m->ctx, n, r), *vz = make_zeros(m->ctx, n);

    assert_ok(m->ctx, tess_precond_apply(m, vr, vz));
    read_vector(vz, z);
    tess_vector_destroy(vr);
    tess_vector_destroy(vz);
}
