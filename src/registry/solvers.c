/* SPDX-License-Identifier: Apache-2.0 */
/* The solvers of this build, and what takes part in solves: solvers.def, recurrences.def and papers.def have the lists.
 */
#include "auto/auto.h"
#include "solver/extension.h"
#include "solver/single_kernel/single_kernel.h"

#define SOLVER(name) extern const tess_method tess_method_##name;
#define RECURRENCE(name) extern const tess_method tess_recurrence_##name;
#define SINGLE_ROWS(name) extern const single_rows single_rows_##name;
#define EXTENSION(name) extern const tess_solver_extension tess_extension_##name;
#include "registry/recurrences.def"
#include "registry/solvers.def"

#include "registry/papers.def" /* it undefines its macros */
#undef SOLVER

#define SOLVER(name) &tess_method_##name,
static const tess_method *const methods[] = {
#include "registry/solvers.def"
    NULL};
#undef SOLVER

#define RECURRENCE(name) &tess_recurrence_##name,
static const tess_method *const recurrences[] = {
#include "registry/recurrences.def"

#include "registry/papers.def"
    NULL};

#define SINGLE_ROWS(name) &single_rows_##name,
static const single_rows *const rows_of_single_kernels[] = {
#include "registry/papers.def"
    NULL};

#define EXTENSION(name) &tess_extension_##name,
static const tess_solver_extension *const extensions[] = {
#include "registry/papers.def"
    NULL};

const tess_method *tess_find_method(tess_solver_kind kind)
{
    for (const tess_method *const *m = methods; *m; m++) {
        if ((*m)->kind == kind) { return *m; }
    }
    return NULL;
}

const tess_method *tess_find_recurrence(tess_solver_kind kind, tess_recurrence recurrence)
{
    for (const tess_method *const *m = recurrences; *m; m++) {
        if ((*m)->kind == kind && (*m)->recurrence == recurrence) { return *m; }
    }
    return NULL;
}

const tess_solver_extension *tess_find_extension(const tess_solve_options *options)
{
    for (const tess_solver_extension *const *e = extensions; *e; e++) {
        if ((*e)->is_asked_for(options)) { return *e; }
    }
    return NULL;
}

const single_rows *single_rows_of(const tess_matrix *m)
{
    for (const single_rows *const *r = rows_of_single_kernels; *r; r++) {
        if ((*r)->reads(m)) { return *r; }
    }
    return NULL;
}

const tess_solver_ops *tess_find_solver(const tess_matrix *a, const tess_precond *given,
                                        const tess_solve_options *options)
{
    static const tess_solver_ops *const kinds[] = {&solver_accuracy, &solver_automatic, &solver_transformed,
                                                   &solver_least_squares, &solver_of_method};
    const tess_solver_ops *const *k = kinds;

    while (!(*k)->takes(a, given, options)) { /* the last one takes all */
        k++;
    }
    return *k;
}
