/* SPDX-License-Identifier: Apache-2.0 */
/* Names and defaults of granularities and policies. */
#include <string.h>

#include "granule/assignment.h"

void tess_policy_options_init(tess_policy_options *o)
{
    memset(o, 0, sizeof *o);
    o->granularity = TESS_GRANULARITY_ROW;
    o->policy = TESS_POLICY_NONE;
    o->share = 99.0;
    o->nlevels = 2;
    o->level[0].precision = TESS_PRECISION_FP64;
    o->level[1].precision = TESS_PRECISION_FP32;
}
