/* SPDX-License-Identifier: Apache-2.0 */
/* What libtessera_factors.so offers to the library: MUMPS and METIS, which it is linked with. */
#ifndef TESS_PRECOND_DIRECT_FACTORS_MODULE_H
#define TESS_PRECOND_DIRECT_FACTORS_MODULE_H

#include <cmumps_c.h>
#include <dmumps_c.h>
#include <smumps_c.h>
#include <stdint.h>
#include <zmumps_c.h>

enum { FACTORS_MODULE_VERSION = 2 };
#define FACTORS_MODULE_FILE "libtessera_factors.so"
#define FACTORS_MODULE_SYMBOL "tess_factors_module"

typedef struct factors_module {
    int version;
    void (*fp32)(SMUMPS_STRUC_C *);
    void (*fp64)(DMUMPS_STRUC_C *);
    void (*complex_fp32)(CMUMPS_STRUC_C *);
    void (*complex_fp64)(ZMUMPS_STRUC_C *);
    /* Nested dissection of a graph with n nodes: place[i] is that of node i in the order, from 0; `order` is work space
       for n values. 0: done. NULL: there is no METIS. */
    int (*dissect)(int32_t n, int32_t *start, int32_t *neighbour, int32_t *order, int32_t *place);
} factors_module;

#endif
