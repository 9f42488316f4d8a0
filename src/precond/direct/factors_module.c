/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtessera_factors.so, a library of its own: the sequential MUMPS brings a stand-in for MPI, which must not take the
 * place of an MPI that the program has. The library loads this file with symbols of its own.
 */
#include "precond/direct/factors_module.h"

#ifdef TESS_METIS
#include <metis.h>

enum { SEED = 1 };

static int dissect(int32_t n, int32_t *start, int32_t *neighbour, int32_t *order, int32_t *place)
{
    idx_t options[METIS_NOPTIONS];

    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = SEED;
    options[METIS_OPTION_NUMBERING] = 0;
    return METIS_NodeND(&n, start, neighbour, 0, options, order, place) == METIS_OK ? 0 : 1;
}
#else
#define dissect 0
#endif

extern const factors_module tess_factors_module __attribute__((visibility("default")));
const factors_module tess_factors_module = {FACTORS_MODULE_VERSION, smumps_c, dmumps_c, cmumps_c, zmumps_c, dissect};
