/* SPDX-License-Identifier: Apache-2.0 */
/* Which options go together: what each is for, and rules of several. No rule needs a matrix. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "format/fit.h"
#include "precond/precond_options.h"
#include "registry/option_entry.h"
#include "solver/solve_options.h"

/* ---- what an option is for ---- */

static bool always(const tess_solve_options *o)
{
    (void)o;
    return true;
}

static bool is_automatic(const tess_solve_options *o)
{
    return o->solver == TESS_SOLVER_AUTO;
}

static bool is_gmres(const tess_solve_options *o)
{
    return o->solver == TESS_SOLVER_GMRES || o->solver == TESS_SOLVER_GMRES_IR || o->solver == TESS_SOLVER_GMRES_FD ||
           o->solver == TESS_SOLVER_FGMRES || o->solver == TESS_SOLVER_NESTED;
}

static bool is_gmres_fd(const tess_solve_options *o)
{
    return o->solver == TESS_SOLVER_GMRES_FD;
}

static bool is_nested(const tess_solve_options *o)
{
    return o->solver == TESS_SOLVER_NESTED;
}

/* An automatic solve may take one of them. */
static bool is_cg(const tess_solve_options *o)
{
    return o->solver == TESS_SOLVER_CG || o->solver == TESS_SOLVER_BICGSTAB || is_automatic(o);
}

static bool is_jacobi(const tess_solve_options *o)
{
    return o->solver == TESS_SOLVER_JACOBI;
}

static bool has_precond(const tess_solve_options *o)
{
    return o->precond.kind != TESS_PRECOND_NONE && o->precond.kind != TESS_PRECOND_AUTO;
}

static bool is_polynomial(const tess_solve_options *o)
{
    return o->precond.kind == TESS_PRECOND_POLYNOMIAL;
}

static bool is_incomplete(const tess_solve_options *o)
{
    return o->precond.kind == TESS_PRECOND_ILU0 || o->precond.kind == TESS_PRECOND_IC0 ||
           o->precond.kind == TESS_PRECOND_ILUT || o->precond.kind == TESS_PRECOND_ICT ||
           o->precond.kind == TESS_PRECOND_ILUK;
}

static bool has_sweeps(const tess_solve_options *o)
{
    return o->precond.kind == TESS_PRECOND_JACOBI_SWEEPS;
}

static bool is_incomplete_or_sweeps(const tess_solve_options *o)
{
    return is_incomplete(o) || has_sweeps(o);
}

static bool is_direct(const tess_solve_options *o)
{
    return o->precond.kind == TESS_PRECOND_LU || o->precond.kind == TESS_PRECOND_CHOLESKY;
}

/* An automatic solve may take complete factors, and one to an accuracy asks them for the error. */
static bool may_be_direct(const tess_solve_options *o)
{
    return is_direct(o) || (is_automatic(o) && o->precond.kind == TESS_PRECOND_AUTO) || wants_accuracy(o);
}

static bool is_saddle(const tess_solve_options *o)
{
    return o->precond.kind == TESS_PRECOND_SADDLE;
}

/* Multigrid solves with the blocks of a saddle point, too. */
static bool has_multigrid(const tess_solve_options *o)
{
    return o->precond.kind == TESS_PRECOND_AMG || is_saddle(o);
}

static bool is_inverse(const tess_solve_options *o)
{
    return o->precond.kind == TESS_PRECOND_FSAI || o->precond.kind == TESS_PRECOND_ISAI;
}

static bool is_adaptive_inverse(const tess_solve_options *o)
{
    return o->precond.kind == TESS_PRECOND_FSAI && o->precond.inverse.power == TESS_INVERSE_ADAPTIVE;
}

static bool has_power(const tess_solve_options *o)
{
    return is_inverse(o) && !is_adaptive_inverse(o);
}

static bool has_paper_kernel(const tess_solve_options *o)
{
    return o->storage.papers && o->storage.papers->kernel == TESS_KERNEL_PAPER;
}

static bool narrows(const tess_solve_options *o)
{
    return o->papers && o->papers->narrowing != TESS_NARROWING_OFF;
}

static const struct {
    bool (*met)(const tess_solve_options *o);
    bool requires; /* the option "needs" the text, rather than "is for" it */
} needs[NEED_COUNT] = {
    [NEED_ALWAYS] = {always, false},
    [NEED_AUTO] = {is_automatic, false},
    [NEED_GMRES] = {is_gmres, false},
    [NEED_GMRES_FD] = {is_gmres_fd, false},
    [NEED_NESTED] = {is_nested, false},
    [NEED_CG] = {is_cg, false},
    [NEED_JACOBI] = {is_jacobi, false},
    [NEED_SOME_PRECOND] = {has_precond, true},
    [NEED_POLYNOMIAL] = {is_polynomial, false},
    [NEED_INCOMPLETE] = {is_incomplete, false},
    [NEED_INCOMPLETE_OR_SWEEPS] = {is_incomplete_or_sweeps, false},
    [NEED_SWEEPS] = {has_sweeps, false},
    [NEED_DIRECT] = {may_be_direct, false},
    [NEED_AMG] = {has_multigrid, false},
    [NEED_SADDLE] = {is_saddle, false},
    [NEED_INVERSE] = {is_inverse, false},
    [NEED_POWER] = {has_power, false},
    [NEED_ADAPTIVE] = {is_adaptive_inverse, false},
    [NEED_PAPER_KERNEL] = {has_paper_kernel, true},
    [NEED_NARROWING] = {narrows, true},
};

/* Whether a field has its first value, which needs no text. False: nobody knows. */
static bool is_untouched(const option_entry *entry, const tess_solve_options *o, const tess_solve_options *defaults)
{
    const void *place = option_place(entry, o), *first = option_place(entry, defaults);

    return place && first && !entry->type->whole && !entry->spreads && memcmp(place, first, entry->bytes) == 0;
}

static bool check_needs(const tess_solve_options *o, bool (*looked_at)(const option_entry *entry),
                        const option_message *message)
{
    tess_solve_options defaults;

    tess_solve_options_init(&defaults);
    for (int i = 0; i < option_entry_count; i++) {
        const option_entry *entry = &option_entries[i];
        const option_need need = entry->need;

        if (need == NEED_ALWAYS || needs[need].met(o) || !looked_at(entry) || is_untouched(entry, o, &defaults)) {
            continue;
        }
        if (!option_is_set(entry, o)) { continue; }
        return option_refuse(message, "--%s %s %s", entry->shown.name, needs[need].requires ? "needs" : "is for",
                             entry->shown.needs);
    }
    return true;
}

/* ---- the preconditioner ---- */

static bool check_adaptive(const tess_solve_options *o, const option_message *message)
{
    if (!o->precond.block_jacobi.adaptive || o->precond.kind == TESS_PRECOND_BLOCK_JACOBI) { return true; }
    return option_refuse(message, "--precond-precision adaptive is for --precond block-jacobi");
}

/* The precisions that factors are kept in. */
static bool check_role(const tess_solve_options *o, const option_message *message)
{
    const tess_role_precision *role = &o->precond.role;
    const bool fp64 = role->arithmetic == TESS_ARITHMETIC_FP64;
    const bool one = role->storage == (fp64 ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32);
    const char *name = tess_precond_kind_name(o->precond.kind);

    if (!role->given) { return true; }
    if (is_direct(o) && !one) {
        return option_refuse(message, "--precond-precision of --precond %s is fp32 or fp64, not %s/%s", name,
                             tess_precision_name(role->storage), tess_arithmetic_name(role->arithmetic));
    }
    if ((is_incomplete(o) || is_inverse(o)) && (!fp64 || tess_precision_bytes(role->storage) < 2)) {
        return option_refuse(
            message, "--precond-precision of --precond %s is fp64, fp32/fp64, bf16/fp64 or fp16/fp64, not %s/%s", name,
            tess_precision_name(role->storage), tess_arithmetic_name(role->arithmetic));
    }
    if (is_saddle(o) && !(fp64 && one)) {
        return option_refuse(message, "--precond-precision is not for --precond saddle; name the precision of its "
                                      "multigrid, such as --amg-precision fp64");
    }
    if (o->precond.kind == TESS_PRECOND_AMG && role->storage != TESS_PRECISION_FP64 && !one) {
        return option_refuse(message, "amg takes --amg-precision for its levels, not --precond-precision");
    }
    if (has_sweeps(o) && !(fp64 && one)) {
        return option_refuse(message, "--precond-precision is not for --precond jacobi-sweeps; name the precisions of "
                                      "its sweeps, such as --precond-steps fp32,mixed");
    }
    return true;
}

/* Which formats take a policy: "split, composite, tiles or packed". */
static const char *formats_of_parts(char *buffer, size_t size)
{
    size_t used = 0;
    int count = 0, written = 0;

    for (int i = 0; i < tess_format_count(); i++) {
        count += tess_format_can(tess_format_at(i))->takes_parts != 0;
    }
    for (int i = 0; i < tess_format_count() && used < size; i++) {
        if (!tess_format_can(tess_format_at(i))->takes_parts) { continue; }
        written++;
        used += (size_t)snprintf(buffer + used, size - used, "%s%s",
                                 written == 1       ? ""
                                 : written == count ? " or "
                                                    : ", ",
                                 tess_format_name(tess_format_at(i)));
    }
    return buffer;
}

/* csr stands for a format by blocks then. */
static bool check_squares_policy(const tess_solve_options *o, const option_message *message)
{
    const tess_storage_options *squares = &o->precond.incomplete.squares;
    const tess_format_capabilities *can = tess_format_can(squares->format);
    char formats[128];

    if (squares->policy.policy == TESS_POLICY_NONE || squares->format == TESS_FORMAT_AUTO ||
        squares->format == TESS_FORMAT_CSR || (can && can->takes_parts)) {
        return true;
    }
    return option_refuse(message, "--precond-policy needs --precond-format auto, %s, not %s",
                         formats_of_parts(formats, sizeof formats), tess_format_name(squares->format));
}

/* Squares of triangles have a storage of their own only in recursive blocks, and the triangles of sweeps. */
static bool check_triangles(const tess_solve_options *o, const option_message *message)
{
    const tess_incomplete_options *f = &o->precond.incomplete;
    const bool whole = f->triangular == TESS_TRIANGULAR_LEVELS || f->triangular == TESS_TRIANGULAR_MERGED ||
                       f->triangular == TESS_TRIANGULAR_COLORS;
    static const char *const squares[] = {"precond-format", "precond-policy", "precond-levels"};

    if (!is_incomplete(o)) { return true; }
    if (!check_squares_policy(o, message)) { return false; }
    if (tess_options_is_set(o, "precond-levels") && !tess_options_is_set(o, "precond-policy")) {
        return option_refuse(message, "--precond-levels needs --precond-policy");
    }
    for (int i = 0; i < 3 && whole; i++) {
        if (tess_options_is_set(o, squares[i])) {
            return option_refuse(message, "--%s needs --triangular blocks, sweeps or auto", squares[i]);
        }
    }
    const bool cut = f->squares.format != TESS_FORMAT_CSR || f->squares.precision != TESS_PRECISION_FP64 ||
                     f->squares.policy.policy != TESS_POLICY_NONE;
    const bool blocks = f->triangular == TESS_TRIANGULAR_BLOCKS || (f->triangular == TESS_TRIANGULAR_AUTO && cut);
    if (!blocks && tess_options_is_set(o, "leaf")) {
        return option_refuse(message, "--leaf is for --triangular blocks");
    }
    return true;
}

/* In the words of the set-up: what the storage of sweeps contradicts. */
static bool check_sweeps(const tess_solve_options *o, const option_message *message)
{
    tess_context host = tess_storage_judge();

    if (!has_sweeps(o) || sweeps_require_fit(&host, &o->precond.jacobi_sweeps) == TESS_SUCCESS) { return true; }
    return option_refuse(message, "%s", host.error.message);
}

static bool is_of_precond(const option_entry *entry)
{
    return entry->home == HOME_PRECOND;
}

/* A kind with its numbers, and nothing else: what most solves name. False: nobody knows. */
static bool is_kind_alone(const tess_precond_options *o)
{
    tess_precond_options plain;

    tess_precond_options_init(&plain);
    plain.kind = o->kind;
    plain.block_jacobi.block_size = o->block_jacobi.block_size;
    plain.polynomial.degree = o->polynomial.degree;
    plain.threshold = o->threshold;
    plain.jacobi_sweeps.count = o->jacobi_sweeps.count;
    plain.inverse.power = o->inverse.power;
    return memcmp(&plain, o, sizeof plain) == 0;
}

static bool check_precond(const tess_solve_options *o, const option_message *message)
{
    if (is_kind_alone(&o->precond)) { return true; }
    return check_adaptive(o, message) && check_needs(o, is_of_precond, message) && check_role(o, message) &&
           check_triangles(o, message) && check_sweeps(o, message) && option_check_multigrid(o, message);
}

/* ---- the method ---- */

static bool is_of_method(const option_entry *entry)
{
    return entry->home != HOME_PRECOND;
}

static bool is_least_squares(const tess_solve_options *o)
{
    return o->solver == TESS_SOLVER_LSQR || o->solver == TESS_SOLVER_LSMR;
}

static bool check_jacobi(const tess_solve_options *o, const option_message *message)
{
    const tess_format_capabilities *can = tess_format_can(o->storage.format);

    if (!is_jacobi(o)) { return true; }
    if (has_precond(o)) {
        return option_refuse(message, "--solver jacobi takes no preconditioner; leave out --precond");
    }
    if (tess_policy_judges_values(o->storage.policy.policy) && can && !can->takes_parts) {
        return option_refuse(message, "--solver jacobi takes --policy %s only with --format split, composite or auto",
                             tess_policy_name(o->storage.policy.policy));
    }
    return true;
}

static bool check_least_squares(const tess_solve_options *o, const option_message *message)
{
    const char *name = tess_solver_kind_name(o->solver);

    if (!is_least_squares(o)) { return true; }
    if (has_precond(o) && o->precond.kind != TESS_PRECOND_JACOBI) {
        return option_refuse(message, "--solver %s takes no preconditioner but jacobi, which scales columns", name);
    }
    if (o->scale != TESS_SCALING_NONE || o->reorder != TESS_REORDERING_NONE) {
        return option_refuse(message, "--solver %s solves the system as it is; leave out --scale and --reorder", name);
    }
    if (o->engine == TESS_ENGINE_GRAPH || o->engine == TESS_ENGINE_SINGLE_KERNEL) {
        return option_refuse(message, "--solver %s does not run in --engine %s; use plain or auto", name,
                             tess_engine_name(o->engine));
    }
    return true;
}

/* Vectors of all methods but Jacobi are in the order of the matrix, and Jacobi permutes by itself. */
static bool check_row_order(const tess_solve_options *o, const option_message *message)
{
    if (is_jacobi(o) || o->storage.split.row_order == TESS_ROW_ORDER_ORIGINAL) { return true; }
    return option_refuse(message, "--row-order is for products and --solver jacobi: other solves keep the rows of A");
}

static bool check_tolerances(const tess_solve_options *o, const option_message *message)
{
    if (!wants_accuracy(o)) { return true; }
    if (tess_options_is_set(o, "rtol") || tess_options_is_set(o, "atol")) {
        return option_refuse(message, "--accuracy sets the tolerance by itself; leave out --rtol and --atol");
    }
    if (is_least_squares(o)) {
        return option_refuse(message, "--solver %s does not know the error of x; leave out --accuracy",
                             tess_solver_kind_name(o->solver));
    }
    return true;
}

/* None may be given with any method. */
static bool check_choices(const tess_solve_options *o, const option_message *message)
{
    const char *choices = o->automatic.choices;

    if (is_automatic(o) || !choices || choices[0] == '\0' || strcmp(choices, "none") == 0) { return true; }
    return option_refuse(message, "--choices is for %s", NEED_TEXT_AUTO);
}

static bool check_stop_norm(const tess_solve_options *o, const option_message *message)
{
    const bool transformed = o->scale != TESS_SCALING_NONE || o->reorder != TESS_REORDERING_NONE;
    const bool preconditioned = o->stop_norm == TESS_STOP_NORM_PRECONDITIONED;
    const bool chosen = is_automatic(o) && o->precond.kind == TESS_PRECOND_AUTO;

    if (o->stop_norm == TESS_STOP_NORM_AUTO || o->stop_norm == TESS_STOP_NORM_GIVEN) { return true; }
    if (is_least_squares(o)) {
        return option_refuse(message, "--solver %s stops by the norm as given; leave out --stop-norm",
                             tess_solver_kind_name(o->solver));
    }
    if (preconditioned && wants_accuracy(o)) {
        return option_refuse(message,
                             "--accuracy goes with --stop-norm given, rows or both, and not with preconditioned");
    }
    if (preconditioned && ((!has_precond(o) && !chosen) || transformed)) {
        return option_refuse(message, "--stop-norm preconditioned needs --precond, without --scale and --reorder");
    }
    return true;
}

/* ---- what contradicts --precision fp64 ---- */

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
    return has_multigrid(o) && lower;
}

static bool check_fp64_only(const tess_solve_options *o, const option_message *message)
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

/* ---- all ---- */

static bool check_method(const tess_solve_options *o, const option_message *message)
{
    return check_needs(o, is_of_method, message) && check_jacobi(o, message) && check_least_squares(o, message) &&
           check_row_order(o, message) && check_tolerances(o, message) && check_stop_norm(o, message) &&
           check_choices(o, message) && option_check_basis(o, message) && option_check_cycle(o, message) &&
           option_check_definite(o, message);
}

/* In the words of tess_solver_create: what the storage contradicts on every device. */
static bool check_storage(const tess_solve_options *o, const option_message *message)
{
    tess_context host = tess_storage_judge();

    if (solve_options_check_storage(&host, -1, -1, o) == TESS_SUCCESS) { return true; }
    return option_refuse(message, "%s", host.error.message);
}

tess_status tess_options_check(const tess_solve_options *options, char *text, size_t size)
{
    const option_message message = {text, size};

    tess_solve_options full;

    if (text && size > 0) { text[0] = '\0'; }
    if (!options_complete(options, &full)) { return TESS_INVALID_ARGUMENT; }
    return check_method(&full, &message) && check_precond(&full, &message) && check_fp64_only(&full, &message) &&
                   check_storage(&full, &message)
               ? TESS_SUCCESS
               : TESS_INVALID_ARGUMENT;
}

/* Members of a method or a preconditioner that is not taken. */
static void prune_precond(tess_solve_options *o, const tess_precond_options *plain)
{
    tess_precond_options *m = &o->precond;

    if (!has_precond(o)) { m->role = plain->role; }
    if (m->kind != TESS_PRECOND_BLOCK_JACOBI) { m->block_jacobi = plain->block_jacobi; }
    if (!is_polynomial(o)) { m->polynomial = plain->polynomial; }
    if (!is_incomplete(o)) { m->incomplete = plain->incomplete; }
    if (!has_sweeps(o)) { m->jacobi_sweeps = plain->jacobi_sweeps; }
    if (!is_inverse(o)) { m->inverse = plain->inverse; }
    if (!may_be_direct(o)) { m->direct = plain->direct; }
    if (!is_saddle(o)) { m->saddle = plain->saddle; }
    if (!has_multigrid(o)) {
        const tess_amg_options given = m->amg;

        m->amg = plain->amg;
        if (is_automatic(o)) { /* which may take multigrid, with the caller's vectors */
            m->amg.near_nullspace = given.near_nullspace;
            m->amg.near_nullspace_columns = given.near_nullspace_columns;
        }
    }
}

static void prune(tess_solve_options *options)
{
    tess_solve_options plain;

    tess_solve_options_init(&plain);
    if (!is_gmres(options)) { options->gmres = plain.gmres; }
    if (!is_nested(options)) { options->nested = plain.nested; }
    if (!is_gmres_fd(options)) { options->gmres.switch_at = plain.gmres.switch_at; }
    if (!is_cg(options)) { options->cg = plain.cg; }
    if (!is_jacobi(options)) { options->jacobi = plain.jacobi; }
    if (!is_automatic(options)) {
        options->automatic.fp64_only = plain.automatic.fp64_only;
        options->automatic.choices = plain.automatic.choices;
    }
    if (wants_accuracy(options)) {
        options->rtol = plain.rtol;
        options->atol = plain.atol;
    }
    prune_precond(options, &plain.precond);
}

void tess_options_prune(tess_solve_options *options)
{
    tess_solve_options full;
    size_t known = 0;

    if (!options_complete(options, &full)) { return; }
    known = options->size;
    prune(&full);
    memcpy((char *)options + sizeof known, (const char *)&full + sizeof known, known - sizeof known);
}

tess_status tess_precond_options_check(const tess_precond_options *options, char *text, size_t size)
{
    const option_message message = {text, size};
    tess_solve_options solve;

    if (text && size > 0) { text[0] = '\0'; }
    if (!options || options->size < sizeof options->size || options->size > sizeof *options) {
        return TESS_INVALID_ARGUMENT;
    }
    tess_solve_options_init(&solve);
    memcpy(&solve.precond, options, options->size);
    solve.precond.size = sizeof solve.precond;
    return check_precond(&solve, &message) ? TESS_SUCCESS : TESS_INVALID_ARGUMENT;
}

tess_status precond_options_require_fit(tess_context *ctx, const tess_precond_options *taken)
{
    char message[TESS_OPTION_TEXT];

    if (tess_precond_options_check(taken, message, sizeof message) == TESS_SUCCESS) { return TESS_SUCCESS; }
    return tess_fail(ctx, TESS_INVALID_ARGUMENT, TESS_OPTIONS_HINT, "%s", message);
}
