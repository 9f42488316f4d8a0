/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that make, renew and apply preconditioners; each may fail at any allocation. */
#ifndef TESS_TESTS_SUPPORT_PRECOND_SCENARIOS_H
#define TESS_TESTS_SUPPORT_PRECOND_SCENARIOS_H

#include "support/scenarios.h"

/* Ended by an entry without a name. */
extern const named_scenario precond_scenarios[];

#endif
