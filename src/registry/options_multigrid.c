/* SPDX-License-Identifier: Apache-2.0 */
/* Which options of multigrid go together, within a saddle point too. */
#include <string.h>

#include "precond/multigrid/by_matrix.h"
#include "registry/option_entry.h"

static bool is_saddle(const tess_solve_options *o)
{
    return o->precond.kind == TESS_PRECOND_SADDLE;
}

static bool may_be_multigrid(tess_precond_kind kind)
{
    return kind == TESS_PRECOND_AUTO || kind == TESS_PRECOND_AMG;
}

/* With both blocks in other hands nothing reads what is of multigrid. */
static bool check_saddle(const tess_solve_options *o, const option_message *message)
{
    const tess_saddle_options *saddle = &o->precond.saddle;
    tess_solve_options defaults;

    if (!is_saddle(o) || may_be_multigrid(saddle->a_precond) || may_be_multigrid(saddle->schur_precond)) {
        return true;
    }
    tess_solve_options_init(&defaults);
    if (memcmp(&o->precond.amg, &defaults.precond.amg, sizeof defaults.precond.amg) == 0) { return true; }
    for (int i = 0; i < option_entry_count; i++) {
        if (option_entries[i].need == NEED_AMG && option_is_set(&option_entries[i], o)) {
            return option_refuse(message, "--%s is for --saddle-a-precond amg or --schur-precond amg",
                                 option_entries[i].shown.name);
        }
    }
    return true;
}

bool option_check_multigrid(const tess_solve_options *o, const option_message *message)
{
    const tess_amg_options *amg = &o->precond.amg;
    const char *by = NULL, *unread = NULL;
    tess_amg_coarsening kind = TESS_AMG_AUTO;

    if (o->precond.kind != TESS_PRECOND_AMG && !is_saddle(o)) { return true; }
    if (!check_saddle(o, message)) { return false; }
    kind = amg_settled_coarsening(amg, &by);
    unread = kind == TESS_AMG_AUTO ? NULL : amg_find_unread(amg, kind);
    if (!unread) { return true; }
    return option_refuse(message, "%s is for %s, which %s excludes", unread,
                         kind == TESS_AMG_CLASSICAL ? "aggregation" : "classical coarsening", by);
}

bool option_check_cycle(const tess_solve_options *o, const option_message *message)
{
    const bool varies = (o->precond.kind == TESS_PRECOND_AMG || is_saddle(o)) && o->precond.amg.cycle == TESS_AMG_K;

    if (!varies || o->solver == TESS_SOLVER_FGMRES || o->solver == TESS_SOLVER_AUTO) { return true; }
    return option_refuse(message, "--amg-cycle k needs --solver fgmres: it is another operator in each iteration");
}

bool option_check_definite(const tess_solve_options *o, const option_message *message)
{
    const tess_saddle_factorization kind = o->precond.saddle.factorization;
    const char *name = tess_solver_kind_name(o->solver);

    if (o->solver != TESS_SOLVER_CG && o->solver != TESS_SOLVER_MINRES) { return true; }
    if ((o->precond.kind == TESS_PRECOND_AMG || is_saddle(o)) && amg_loses_symmetry(&o->precond.amg)) {
        return option_refuse(message, "%s is not for air and fc-jacobi: their cycle is not symmetric", name);
    }
    if (is_saddle(o) && kind != TESS_SADDLE_AUTO && kind != TESS_SADDLE_DIAG) {
        return option_refuse(message, "%s needs --schur-fact-type diag, which is definite", name);
    }
    return true;
}
