/* SPDX-License-Identifier: Apache-2.0 */
/* Options that contradict --precision fp64, which forbids lower precisions. */
#include "registry/option_entry.h"

static bool is_lower(tess_precision precision)
{
    return precision != TESS_PRECISION_FP64;
}

/* The default levels have a lower one. */
static bool has_low_level(const tess_storage_options *o)
{
    bool lower = o->policy.nlevels == 0;

    for (int i = 0; i < o->policy.nlevels && i < TESS_MAX_LEVELS; i++) {
        lower |= is_lower(o->policy.level[i].precision);
    }
    return o->policy.policy != TESS_POLICY_NONE && lower;
}

static bool lowers_matrix(const tess_solve_options *o)
{
    return is_lower(o->storage.precision);
}

static bool lowers_policy(const tess_solve_options *o)
{
    return has_low_level(&o->storage);
}

static bool lowers_products(const tess_solve_options *o)
{
    return o->storage.arithmetic != TESS_ARITHMETIC_FP64;
}

static bool has_kind(const tess_solve_options *o)
{
    return o->precond.kind != TESS_PRECOND_AUTO && o->precond.kind != TESS_PRECOND_NONE;
}

static bool lowers_precond(const tess_solve_options *o)
{
    const tess_role_precision *role = &o->precond.role;
    const bool lower = role->given && (is_lower(role->storage) || role->arithmetic != TESS_ARITHMETIC_FP64);

    return has_kind(o) && (lower || o->precond.block_jacobi.adaptive);
}

static const tess_storage_options *precond_storage(const tess_solve_options *o)
{
    const bool sweeps = o->precond.kind == TESS_PRECOND_JACOBI_SWEEPS;

    return sweeps ? &o->precond.jacobi_sweeps.storage : &o->precond.incomplete.squares;
}

/* Sweeps in split are mixed; the format of squares may bring a precision along, from C. */
static bool lowers_precond_format(const tess_solve_options *o)
{
    const tess_storage_options *storage = precond_storage(o);
    const bool mixed = o->precond.kind == TESS_PRECOND_JACOBI_SWEEPS && storage->format == TESS_FORMAT_SPLIT;

    return has_kind(o) && (mixed || is_lower(storage->precision) || storage->arithmetic != TESS_ARITHMETIC_FP64);
}

static bool lowers_precond_policy(const tess_solve_options *o)
{
    return has_kind(o) && has_low_level(precond_storage(o));
}

static bool lowers_sweeps(const tess_solve_options *o)
{
    const tess_precision_schedule *steps = &o->precond.jacobi_sweeps.schedule;
    bool lower = false;

    for (int i = 0; i < steps->count && i < TESS_MAX_SCHEDULE; i++) {
        lower |= steps->entry[i].what != (int)TESS_PRECISION_FP64;
    }
    return o->precond.kind == TESS_PRECOND_JACOBI_SWEEPS && lower;
}

static bool is_low_level(int precision)
{
    return precision != TESS_AMG_PRECISION_AUTO && precision != TESS_AMG_PRECISION_FP64;
}

static bool lowers_multigrid(const tess_solve_options *o)
{
    bool lower = is_low_level((int)o->precond.amg.precision);

    for (int i = 0; i < TESS_AMG_LEVEL_PRECISIONS; i++) {
        lower |= is_low_level(o->precond.amg.level_precision[i]);
    }
    return o->precond.kind == TESS_PRECOND_AMG && lower;
}

bool option_check_fp64_only(const tess_solve_options *o, const option_message *message)
{
    static const struct {
        bool (*lowers)(const tess_solve_options *o);
        const char *option;
    } parts[] = {{lowers_matrix, "matrix-precision"},       {lowers_policy, "policy"},
                 {lowers_products, "arithmetic"},           {lowers_precond, "precond-precision"},
                 {lowers_precond_format, "precond-format"}, {lowers_precond_policy, "precond-policy"},
                 {lowers_sweeps, "precond-steps"},          {lowers_multigrid, "amg-precision"}};

    if (o->solver != TESS_SOLVER_AUTO || !o->automatic.fp64_only) { return true; }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char value[TESS_OPTION_TEXT] = "";

        if (!parts[i].lowers(o)) { continue; }
        (void)tess_options_get(o, parts[i].option, value, sizeof value);
        return option_refuse(message, "--precision fp64 forbids lower precisions; leave it out, or --%s %s",
                             parts[i].option, value);
    }
    return true;
}
