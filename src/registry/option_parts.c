/* SPDX-License-Identifier: Apache-2.0 */
/* Options of methods and preconditioners whose text sets several fields. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <tessera/names.h>

#include "registry/option_entry.h"

/* ---- the solver ---- */

/* A name, or idr:S. */
static bool parse_solver(const option_entry *e, const char *text, void *place, const option_message *message)
{
    static const char idr[] = "idr:";
    static const option_entry shadows = {.shown.name = "solver idr", .shown.low = 1, .shown.high = 64};
    tess_solve_options *o = place, defaults;
    const bool numbered = strncasecmp(text, idr, sizeof idr - 1) == 0;
    int kind = (int)TESS_SOLVER_IDR;
    int64_t s = 0;

    tess_solve_options_init(&defaults);
    s = defaults.idr.s;
    if (numbered && !option_read_integer(&shadows, text + sizeof idr - 1, &s, message)) { return false; }
    if (!numbered && !option_read_name(e, e->enumeration, text, &kind, message)) { return false; }
    o->solver = (tess_solver_kind)kind;
    o->idr.s = (int)s;
    return true;
}

static void print_solver(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_solve_options *o = place;
    tess_solve_options defaults;

    (void)e;
    tess_solve_options_init(&defaults);
    if (o->solver == TESS_SOLVER_IDR && o->idr.s != defaults.idr.s) {
        snprintf(buffer, size, "%s:%d", tess_solver_kind_name(o->solver), o->idr.s);
    } else {
        snprintf(buffer, size, "%s", tess_solver_kind_name(o->solver));
    }
}

const option_type option_solver = {"solver", true, parse_solver, print_solver};

/* none is the caller's word too: it forbids what auto allows. */
static bool parse_reorder(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_solve_options *o = place;
    int reordering = TESS_REORDERING_NONE;
    const bool open = strcasecmp(text, "auto") == 0;

    if (!open && !option_read_name(e, e->enumeration, text, &reordering, message)) { return false; }
    o->reorder = (tess_reordering)reordering;
    o->keep_order = !open && o->reorder == TESS_REORDERING_NONE;
    return true;
}

static void print_reorder(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_solve_options *o = place;
    const bool open = o->reorder == TESS_REORDERING_NONE && !o->keep_order;

    snprintf(buffer, size, "%s", open ? "auto" : option_name_of(e->enumeration, (int)o->reorder));
}

const option_type option_reorder = {"name", true, parse_reorder, print_reorder};

/* One of the recurrences is an option of the papers. */
static bool parse_recurrence(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_solve_options *o = place;
    tess_papers_solve *papers = (tess_papers_solve *)o->papers; /* the caller's, who sets an option in it */
    int recurrence = 0;

    if (!option_read_name(e, e->enumeration, text, &recurrence, message)) { return false; }
    const bool studied = recurrence == (int)TESS_RECURRENCE_ONE_REDUCTION;
    if (studied && !papers) {
        return option_refuse(message, "--%s %s is an option of papers.h: point options.papers to one", e->shown.name,
                             text);
    }
    if (papers) { papers->one_reduction = studied; }
    o->cg.recurrence = studied ? TESS_RECURRENCE_AUTO : (tess_recurrence)recurrence;
    return true;
}

static void print_recurrence(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_solve_options *o = place;
    const bool studied = o->papers && o->papers->one_reduction;

    (void)e;
    snprintf(buffer, size, "%s", tess_recurrence_name(studied ? TESS_RECURRENCE_ONE_REDUCTION : o->cg.recurrence));
}

const option_type option_recurrence = {"name", true, parse_recurrence, print_recurrence};

static bool parse_inner(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_gmres_options *gmres = OWNER(tess_gmres_options, inner, place);
    tess_role_precision role = {.given = 0};
    const bool chosen = strcasecmp(text, "auto") == 0;

    if (!chosen && !option_read_role(e, text, &role, message)) { return false; }
    gmres->inner_auto = chosen;
    gmres->inner = role;
    return true;
}

static void print_inner(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_gmres_options *gmres = CONST_OWNER(tess_gmres_options, inner, place);

    (void)e;
    option_print_role(&gmres->inner, buffer, size);
    if (gmres->inner_auto) { snprintf(buffer, size, "auto"); }
}

const option_type option_inner = {"role", false, parse_inner, print_inner};

static const char *after_prefix(const char *text, const char *prefix)
{
    const size_t length = strlen(prefix);

    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* E, forward:E or backward:E. */
static bool parse_accuracy(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_accuracy_options *out = place;
    const char *backward = after_prefix(text, "backward:"), *forward = after_prefix(text, "forward:");
    const char *number = backward ? backward : forward ? forward : text;
    const option_message nowhere = {NULL, 0};
    double wanted = 0.0;

    if (!option_read_real(e, number, &wanted, &nowhere) || !(wanted > 0.0 && wanted < 1.0)) {
        return option_refuse(message,
                             "--%s: '%s' is not a relative error above 0 and below 1, such as 1e-8 or backward:1e-12",
                             e->shown.name, text);
    }
    out->forward = backward ? 0.0 : wanted;
    out->backward = backward ? wanted : 0.0;
    return true;
}

static void print_accuracy(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_accuracy_options *o = place;
    char number[32];

    (void)e;
    buffer[0] = '\0';
    if (o->forward == 0.0 && o->backward == 0.0) { return; }
    option_print_real(o->backward > 0.0 ? o->backward : o->forward, number, sizeof number);
    snprintf(buffer, size, "%s%s", o->backward > 0.0 ? "backward:" : "", number);
}

const option_type option_accuracy = {"accuracy", false, parse_accuracy, print_accuracy};

/* ---- the preconditioner ---- */

/* What the parameters of a name may be. */
static const struct {
    const char *prefix, *what;
} precond_parameters[] = {{"block-jacobi:", "a block size (1 to 64)"},
                          {"polynomial:", "a degree (1 to 200)"},
                          {"ilut:", "a drop tolerance and a fill, such as 1e-3:10"},
                          {"ict:", "a drop tolerance and a fill, such as 1e-3:10"},
                          {"jacobi-sweeps:", "a number of sweeps (1 to 1000)"},
                          {"iluk:", "a level of fill (1 to 1000; level 0 is ilu0)"},
                          {"fsai:", "a power of the pattern (1 to 8), or adaptive"},
                          {"isai:", "a power of the pattern (1 to 8)"}};

static bool refuse_precond(const option_entry *e, const char *text, const option_message *message)
{
    static const char *const available[] = {
        "none",   "jacobi", "block-jacobi", "block-jacobi:K", "polynomial",    "polynomial:D",
        "ilu0",   "ic0",    "ilut",         "ilut:T:F",       "ict",           "ict:T:F",
        "iluk",   "iluk:K", "lu",           "cholesky",       "jacobi-sweeps", "jacobi-sweeps:K",
        "amg",    "fsai",   "fsai:K",       "fsai:adaptive",  "isai",          "isai:K",
        "saddle", "auto"};

    for (size_t i = 0; i < sizeof precond_parameters / sizeof *precond_parameters; i++) {
        const char *rest = after_prefix(text, precond_parameters[i].prefix);

        if (rest) {
            return option_refuse(message, "--%s: '%s' is not %s", e->shown.name, rest, precond_parameters[i].what);
        }
    }
    return option_refuse_word(e, text, available, (int)(sizeof available / sizeof *available), message);
}

/* The kind with its parameters; the other options of preconditioners stay as they are. */
static bool parse_precond(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_precond_options *out = &((tess_solve_options *)place)->precond, parsed;

    if (tess_precond_options_parse(text, &parsed) != TESS_SUCCESS) { return refuse_precond(e, text, message); }
    out->kind = parsed.kind;
    out->block_jacobi.block_size = parsed.block_jacobi.block_size;
    out->polynomial.degree = parsed.polynomial.degree;
    out->threshold = parsed.threshold;
    out->jacobi_sweeps.count = parsed.jacobi_sweeps.count;
    out->inverse.power = parsed.inverse.power;
    return true;
}

static void print_precond(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_precond_options *o = &((const tess_solve_options *)place)->precond;
    const char *name = option_name_of(e->enumeration, (int)o->kind);
    char drop[32], fill[32];

    switch (o->kind) {
    case TESS_PRECOND_BLOCK_JACOBI: snprintf(buffer, size, "%s:%d", name, o->block_jacobi.block_size); break;
    case TESS_PRECOND_POLYNOMIAL: snprintf(buffer, size, "%s:%d", name, o->polynomial.degree); break;
    case TESS_PRECOND_JACOBI_SWEEPS: snprintf(buffer, size, "%s:%d", name, o->jacobi_sweeps.count); break;
    case TESS_PRECOND_FSAI:
        if (o->inverse.power == TESS_INVERSE_ADAPTIVE) {
            snprintf(buffer, size, "%s:adaptive", name);
            break;
        } /* fall through */
    case TESS_PRECOND_ISAI: snprintf(buffer, size, "%s:%d", name, o->inverse.power); break;
    case TESS_PRECOND_ILUK: snprintf(buffer, size, "%s:%d", name, o->threshold.level); break;
    case TESS_PRECOND_ILUT:
    case TESS_PRECOND_ICT:
        option_print_real(o->threshold.drop, drop, sizeof drop);
        option_print_real(o->threshold.fill, fill, sizeof fill);
        snprintf(buffer, size, "%s:%s:%s", name, drop, fill);
        break;
    default: snprintf(buffer, size, "%s", name); break;
    }
}

const option_type option_preconditioner = {"precond", true, parse_precond, print_precond};

/* The number beside --triangular sweeps:K or --factorization sweeps:N. `place` is the enumerator. */
static int *sweeps_beside(const option_entry *e, const void *place)
{
    void *const field = (void *)(uintptr_t)place; /* print only reads what it points to */

    return strcmp(e->enumeration, "tess_triangular") == 0
               ? &OWNER(tess_incomplete_options, triangular, field)->sweeps
               : &OWNER(tess_incomplete_options, factorization, field)->factorization_sweeps;
}

/* The number that the options begin with. */
static int usual_sweeps(const option_entry *e)
{
    tess_precond_options defaults;

    tess_precond_options_init(&defaults);
    return strcmp(e->enumeration, "tess_triangular") == 0 ? defaults.incomplete.sweeps
                                                          : defaults.incomplete.factorization_sweeps;
}

/* A name, or sweeps:N. */
static bool parse_swept(const option_entry *e, const char *text, void *place, const option_message *message)
{
    const option_entry number = {.shown.name = e->shown.name, .shown.low = 1, .shown.high = TESS_MAX_TRIANGLE_SWEEPS};
    const char *rest = after_prefix(text, "sweeps:");
    int64_t sweeps = usual_sweeps(e);
    int value = 0;

    if (!option_read_name(e, e->enumeration, rest ? "sweeps" : text, &value, message)) { return false; }
    if (rest && !option_read_integer(&number, rest, &sweeps, message)) { return false; }
    memcpy(place, &value, sizeof value); /* an enum of either kind */
    *sweeps_beside(e, place) = (int)sweeps;
    return true;
}

static void print_swept(const option_entry *e, const void *place, char *buffer, size_t size)
{
    int value = 0;

    memcpy(&value, place, sizeof value);
    const char *name = option_name_of(e->enumeration, value);

    if (strcmp(name, "sweeps") == 0) {
        snprintf(buffer, size, "%s:%d", name, *sweeps_beside(e, place));
    } else {
        snprintf(buffer, size, "%s", name);
    }
}

const option_type option_swept = {"swept", false, parse_swept, print_swept};

/* A role, or adaptive. */
static bool parse_precond_role(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_precond_options *o = &((tess_solve_options *)place)->precond;
    tess_role_precision role = {.given = 0};
    const bool adaptive = strcasecmp(text, "adaptive") == 0;

    if (!adaptive && !option_read_role(e, text, &role, message)) { return false; }
    o->block_jacobi.adaptive = adaptive;
    o->role = role;
    return true;
}

static void print_precond_role(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_precond_options *o = &((const tess_solve_options *)place)->precond;

    (void)e;
    option_print_role(&o->role, buffer, size);
    if (o->block_jacobi.adaptive) { snprintf(buffer, size, "adaptive"); }
}

const option_type option_precond_role = {"role", true, parse_precond_role, print_precond_role};

/* A precision of all levels, or a list of those of the first ones, whose last goes on. */
static bool parse_amg_precisions(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_amg_options *amg = OWNER(tess_amg_options, precision, place);
    uint8_t level[TESS_AMG_LEVEL_PRECISIONS] = {0};
    int value = 0, count = 0;

    for (const char *rest = text; rest; count++) {
        char name[16];
        const size_t length = strcspn(rest, ",");

        if (length >= sizeof name || count == TESS_AMG_LEVEL_PRECISIONS) {
            return option_refuse(message, "--%s: '%s' is not a list of up to %d precisions such as fp32,fp16",
                                 e->shown.name, text, TESS_AMG_LEVEL_PRECISIONS);
        }
        snprintf(name, sizeof name, "%.*s", (int)length, rest);
        if (!option_read_name(e, e->enumeration, name, &value, message)) { return false; }
        level[count] = (uint8_t)value;
        rest = rest[length] == ',' ? rest + length + 1 : NULL;
    }
    if (count == 1) { level[0] = 0; }
    memcpy(amg->level_precision, level, sizeof level);
    amg->precision = (tess_amg_precision)value;
    return true;
}

static void print_amg_precisions(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_amg_options *amg = CONST_OWNER(tess_amg_options, precision, place);
    size_t used = 0;

    snprintf(buffer, size, "%s", option_name_of(e->enumeration, (int)amg->precision));
    for (int l = 0; l < TESS_AMG_LEVEL_PRECISIONS && amg->level_precision[l] != 0 && used < size; l++) {
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", l > 0 ? "," : "",
                                 option_name_of(e->enumeration, (int)amg->level_precision[l]));
    }
}

const option_type option_amg_precisions = {"precisions", false, parse_amg_precisions, print_amg_precisions};

/* ---- roles that go together ---- */

/* Where the size of the matrix decides, the set-up asks. */
bool option_check_basis(const tess_solve_options *o, const option_message *message)
{
    const tess_gmres_options *g = &o->gmres;
    const bool begins_low = o->solver == TESS_SOLVER_GMRES_IR || o->solver == TESS_SOLVER_GMRES_FD;
    const bool low = g->inner.given ? g->inner.arithmetic == TESS_ARITHMETIC_FP32 : begins_low && !g->inner_auto;

    if (!low || !g->basis.given || g->basis.storage != TESS_PRECISION_FP64) { return true; }
    return option_refuse(message, "--basis-precision fp64 would store what cycles compute in fp32; give fp32 or lower, "
                                  "or --inner-precision fp64/fp64");
}
