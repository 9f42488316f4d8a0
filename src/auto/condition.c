/* SPDX-License-Identifier: Apache-2.0 */
#include "auto/condition.h"

#include <math.h>

#include "auto/condition_factors.h"
#include "precond/precond.h"

tess_status estimate_error(const method_solver *s, const tess_precond *m, const lanczos_record *record,
                           const error_of_x *e, tess_accuracy_result *out)
{
    const method_facts f = s ? method_look(s) : (method_facts){0};

    error_forget(out);
    if (e->residual_norm == 0.0 && e->x_norm == 0.0) { /* b = 0 */
        out->forward_error = 0.0;
        return TESS_SUCCESS;
    }
    if (!(e->x_norm > 0.0) || !isfinite(e->residual_norm)) { return TESS_SUCCESS; }
    if (m && m->ops->solve_on_host && (!s || m != f.precond || f.setup_reason == TESS_REASON_RUNNING)) {
        return error_by_factors(m, e, out);
    }
    if (record->count > 0 && s && lanczos_fits(&f)) { return error_by_lanczos(f.precond, record, e, out); }
    return TESS_SUCCESS;
}
