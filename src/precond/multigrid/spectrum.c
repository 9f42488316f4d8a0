/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/multigrid/spectrum.h"

#include <math.h>
#include <stdlib.h>

/* The part of the spectrum that Chebyshev smoothing leaves to the coarser level ends at bound / ratio. */
static double ratio(void)
{
    const char *t = getenv("AMG_RATIO");
    return t ? atof(t) : 4.0;
}

tess_status amg_find_bound(const amg_cycle *c, amg_cycle_level *l)
{
    (void)c;
    l->bound = 1.0;
    return TESS_SUCCESS;
}

void amg_set_steps(const tess_amg_options *options, amg_cycle_level *l)
{
    const double high = l->bound, low = high / ratio(), pi = acos(-1.0);

    for (int i = 0; i < options->degree; i++) {
        const double root =
            0.5 * (high + low) + 0.5 * (high - low) * cos(pi * (2.0 * i + 1.0) / (2.0 * options->degree));

        l->omega[i] = options->smoother == TESS_AMG_CHEBYSHEV ? 1.0 / root : 1.0 / high;
        if (options->smoother == TESS_AMG_JACOBI) { l->omega[i] *= 4.0 / 3.0; }
    }
}
