/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the library, each of which a test may let fail at any allocation. */
#ifndef TESS_TESTS_SUPPORT_SCENARIOS_H
#define TESS_TESTS_SUPPORT_SCENARIOS_H

#include "support/test.h"

enum { SCENE_K = 6, SCENE_N = SCENE_K * SCENE_K }; /* a square grid, and the rows of its matrices */

/* Objects that every scenario starts from, made without failures. */
typedef struct scene {
    tess_context *ctx;
    oracle_csr a, unsymmetric;
    tess_matrix *m, *other; /* of a and of unsymmetric */
    tess_vector *b, *x;
    double values[SCENE_N];
    char path[64];
} scene;

scene scene_open(tess_context *ctx);
void scene_close(scene *s);
/* The context works as before. */
void scene_assert_usable(scene *s);

/* A call under test. If it succeeds, it undoes its effects. */
typedef tess_status (*scenario)(scene *s);

typedef struct named_scenario {
    const char *name;
    scenario run;
    bool may_do_without; /* allocations */
} named_scenario;

/* All of them, in the order to run them: each group is ended by an entry without a name, the groups by NULL. */
extern const named_scenario *const scenario_groups[];

#endif
