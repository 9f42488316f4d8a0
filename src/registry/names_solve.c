/* SPDX-License-Identifier: Apache-2.0 */
/* Names of solvers, preconditioners and what they report. */
#include <tessera/papers.h>
#include <tessera/tessera.h>

#include "registry/names.h"

const char *tess_precond_kind_name(tess_precond_kind kind)
{
    return tess_name_of("tess_precond_kind", (int)kind);
}

tess_status tess_precond_kind_parse(const char *name, tess_precond_kind *out)
{
    return tess_value_of("tess_precond_kind", name, out);
}

const char *tess_polynomial_form_name(tess_polynomial_form form)
{
    return tess_name_of("tess_polynomial_form", (int)form);
}

tess_status tess_polynomial_form_parse(const char *name, tess_polynomial_form *out)
{
    return tess_value_of("tess_polynomial_form", name, out);
}

const char *tess_triangular_name(tess_triangular triangular)
{
    return tess_name_of("tess_triangular", (int)triangular);
}

tess_status tess_triangular_parse(const char *name, tess_triangular *out)
{
    return tess_value_of("tess_triangular", name, out);
}

const char *tess_amg_coarsening_name(tess_amg_coarsening coarsening)
{
    return tess_name_of("tess_amg_coarsening", (int)coarsening);
}

tess_status tess_amg_coarsening_parse(const char *name, tess_amg_coarsening *out)
{
    return tess_value_of("tess_amg_coarsening", name, out);
}

const char *tess_amg_precision_name(tess_amg_precision precision)
{
    return tess_name_of("tess_amg_precision", (int)precision);
}

tess_status tess_amg_precision_parse(const char *name, tess_amg_precision *out)
{
    return tess_value_of("tess_amg_precision", name, out);
}

const char *tess_amg_cycle_name(tess_amg_cycle cycle)
{
    return tess_name_of("tess_amg_cycle", (int)cycle);
}

tess_status tess_amg_cycle_parse(const char *name, tess_amg_cycle *out)
{
    return tess_value_of("tess_amg_cycle", name, out);
}

const char *tess_amg_smoother_name(tess_amg_smoother smoother)
{
    return tess_name_of("tess_amg_smoother", (int)smoother);
}

tess_status tess_amg_smoother_parse(const char *name, tess_amg_smoother *out)
{
    return tess_value_of("tess_amg_smoother", name, out);
}

const char *tess_factorization_name(tess_factorization factorization)
{
    return tess_name_of("tess_factorization", (int)factorization);
}

tess_status tess_factorization_parse(const char *name, tess_factorization *out)
{
    return tess_value_of("tess_factorization", name, out);
}

const char *tess_solver_kind_name(tess_solver_kind kind)
{
    return tess_name_of("tess_solver_kind", (int)kind);
}

tess_status tess_solver_kind_parse(const char *name, tess_solver_kind *out)
{
    return tess_value_of("tess_solver_kind", name, out);
}

const char *tess_engine_name(tess_engine engine)
{
    return tess_name_of("tess_engine", (int)engine);
}

tess_status tess_engine_parse(const char *name, tess_engine *out)
{
    return tess_value_of("tess_engine", name, out);
}

const char *tess_condition_source_name(tess_condition_source source)
{
    return tess_name_of("tess_condition_source", (int)source);
}

tess_status tess_condition_source_parse(const char *name, tess_condition_source *out)
{
    return tess_value_of("tess_condition_source", name, out);
}

const char *tess_recurrence_name(tess_recurrence recurrence)
{
    return tess_name_of("tess_recurrence", (int)recurrence);
}

tess_status tess_recurrence_parse(const char *name, tess_recurrence *out)
{
    return tess_value_of("tess_recurrence", name, out);
}

const char *tess_stop_norm_name(tess_stop_norm norm)
{
    return tess_name_of("tess_stop_norm", (int)norm);
}

tess_status tess_stop_norm_parse(const char *name, tess_stop_norm *out)
{
    return tess_value_of("tess_stop_norm", name, out);
}

const char *tess_orthogonalization_name(tess_orthogonalization orthogonalization)
{
    return tess_name_of("tess_orthogonalization", (int)orthogonalization);
}

tess_status tess_orthogonalization_parse(const char *name, tess_orthogonalization *out)
{
    return tess_value_of("tess_orthogonalization", name, out);
}

const char *tess_guard_name(tess_guard guard)
{
    return tess_name_of("tess_guard", (int)guard);
}

tess_status tess_guard_parse(const char *name, tess_guard *out)
{
    return tess_value_of("tess_guard", name, out);
}

const char *tess_reason_name(tess_reason reason)
{
    return tess_name_of("tess_reason", (int)reason);
}

tess_status tess_reason_parse(const char *name, tess_reason *out)
{
    return tess_value_of("tess_reason", name, out);
}

const char *tess_phase_name(tess_phase phase)
{
    return tess_name_of("tess_phase", (int)phase);
}

tess_status tess_phase_parse(const char *name, tess_phase *out)
{
    return tess_value_of("tess_phase", name, out);
}
