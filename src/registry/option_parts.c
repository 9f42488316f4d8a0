/* SPDX-License-Identifier: Apache-2.0 */
/* Options whose text sets several fields, or one of several by another option. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <tessera/names.h>

#include "registry/option_entry.h"

/* The struct that holds the field at `place`. */
#define OWNER(type, member, place) ((type *)(void *)((char *)(place)-offsetof(type, member)))
#define CONST_OWNER(type, member, place) ((const type *)(const void *)((const char *)(place)-offsetof(type, member)))

enum { MOST_FORMATS = 40 };

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
                          {"iluk:", "a level of fill (1 to 1000)"}};

static bool refuse_precond(const option_entry *e, const char *text, const option_message *message)
{
    static const char *const available[] = {"none",          "jacobi",          "block-jacobi", "block-jacobi:K",
                                            "polynomial",    "polynomial:D",    "ilu0",         "ic0",
                                            "ilut",          "ilut:T:F",        "ict",          "ict:T:F",
                                            "iluk",          "iluk:K",          "lu",           "cholesky",
                                            "jacobi-sweeps", "jacobi-sweeps:K", "amg",          "auto"};

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

/* ---- policies ---- */

static bool parse_policy(const option_entry *e, const char *text, void *place, const option_message *message)
{
    static const char *const available[] = {"none",      "fixed-range", "fixed-range:R",  "mean-range", "mean-range:F",
                                            "mean-3std", "mean-3std:F", "mean-3std:auto", "lossless",   "lossless:E"};
    const char *colon = strchr(text, ':');
    char name[32];
    tess_policy policy = TESS_POLICY_NONE;

    if (tess_policy_options_parse(text, place) == TESS_SUCCESS) { return true; }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    if (colon && tess_policy_parse(name, &policy) == TESS_SUCCESS) {
        if (policy == TESS_POLICY_NONE) {
            return option_refuse(message, "--%s: the policy none takes no parameter", e->shown.name);
        }
        return option_refuse(message, "--%s: '%s' is not a number above 0%s", e->shown.name, colon + 1,
                             policy == TESS_POLICY_MEAN_3STD ? " or auto" : "");
    }
    return option_refuse_word(e, name, available, (int)(sizeof available / sizeof *available), message);
}

static void print_policy(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_policy_options *o = place;
    char number[32];

    (void)e;
    option_print_real(o->parameter, number, sizeof number);
    snprintf(buffer, size, "%s%s%s", tess_policy_name(o->policy), o->choose_parameter || o->parameter != 0.0 ? ":" : "",
             o->choose_parameter   ? "auto"
             : o->parameter != 0.0 ? number
                                   : "");
}

const option_type option_policy = {"policy", false, parse_policy, print_policy};

static bool read_levels(const option_entry *e, const char *text, tess_policy_options *policy,
                        const option_message *message)
{
    tess_policy_options parsed = *policy;

    if (tess_precision_levels_parse(text, &parsed) != TESS_SUCCESS) {
        return option_refuse(message,
                             "--%s: '%s' is not a list of up to %d precisions from high to low, such as fp64,fp32 or "
                             "fp64,fp16:scaled (fp8 comes last)",
                             e->shown.name, text, (int)TESS_MAX_LEVELS);
    }
    for (int l = 1; l < parsed.nlevels; l++) {
        if (tess_precision_unit_roundoff(parsed.level[l].precision) <=
            tess_precision_unit_roundoff(parsed.level[l - 1].precision)) {
            return option_refuse(message, "--%s: '%s' does not go from high to low, as fp64,fp32 does", e->shown.name,
                                 text);
        }
    }
    *policy = parsed;
    return true;
}

static void write_levels(const tess_policy_options *o, char *buffer, size_t size)
{
    size_t used = 0;

    buffer[0] = '\0';
    for (int l = 0; l < o->nlevels && used < size; l++) {
        const bool either = o->choose_fp8 && l == o->nlevels - 1;

        used += (size_t)snprintf(buffer + used, size - used, "%s%s%s", l > 0 ? "," : "",
                                 either ? "fp8" : tess_precision_name(o->level[l].precision),
                                 o->level[l].scaled ? ":scaled" : "");
    }
}

static bool parse_levels(const option_entry *e, const char *text, void *place, const option_message *message)
{
    return read_levels(e, text, OWNER(tess_policy_options, level, place), message);
}

static void print_levels(const option_entry *e, const void *place, char *buffer, size_t size)
{
    (void)e;
    write_levels(CONST_OWNER(tess_policy_options, level, place), buffer, size);
}

const option_type option_levels = {"levels", false, parse_levels, print_levels};

/* A percentage, or at-most-one. */
static bool parse_share(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_policy_options *policy = OWNER(tess_policy_options, share, place);
    double share = policy->share;
    const bool one = strcasecmp(text, "at-most-one") == 0;

    if (!one && !option_read_real(e, text, &share, message)) { return false; }
    if (!one && share == 0.0) {
        return option_refuse(message, "--%s: give a percentage above 0 and at most 100", e->shown.name);
    }
    policy->share = share;
    policy->at_most_one = one;
    return true;
}

static void print_share(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_policy_options *policy = CONST_OWNER(tess_policy_options, share, place);

    if (policy->at_most_one) {
        snprintf(buffer, size, "at-most-one");
    } else if (policy->share == 0.0) { /* stands for the default */
        snprintf(buffer, size, "%s", e->shown.standard);
    } else {
        option_print_real(policy->share, buffer, size);
    }
}

const option_type option_share = {"share", false, parse_share, print_share};

static bool parse_block(const option_entry *e, const char *text, void *place, const option_message *message)
{
    static const char *const shapes[] = {"16x16", "16x32", "32x16", "32x32"};
    tess_policy_options *policy = OWNER(tess_policy_options, block_rows, place);

    for (int i = 0; i < 4; i++) {
        if (strcasecmp(shapes[i], text) != 0) { continue; }
        policy->block_rows = i < 2 ? 16 : 32;
        policy->block_cols = i % 2 == 0 ? 16 : 32;
        return true;
    }
    return option_refuse_word(e, text, shapes, 4, message);
}

static void print_block(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_policy_options *policy = CONST_OWNER(tess_policy_options, block_rows, place);
    const int rows = policy->block_rows ? policy->block_rows : 16, cols = policy->block_cols ? policy->block_cols : 16;

    (void)e;
    snprintf(buffer, size, "%dx%d", rows, cols);
}

const option_type option_block = {"words", false, parse_block, print_block};

/* ---- formats ---- */

/* The format by blocks of a shorthand such as pbp; AUTO: it is none. */
static tess_format find_shorthand(const char *text)
{
    for (int i = 0; i < tess_format_count(); i++) {
        const char *shorthand = tess_format_can(tess_format_at(i))->shorthand;

        if (shorthand && strcasecmp(shorthand, text) == 0) { return tess_format_at(i); }
    }
    return TESS_FORMAT_AUTO;
}

static bool refuse_format(const option_entry *e, const char *text, const option_message *message)
{
    const char *words[MOST_FORMATS];
    int count = 0;

    for (const tess_named_value *name = tess_enum_names("tess_format"); name->name && count < MOST_FORMATS; name++) {
        if (strcmp(name->name, "shell") != 0) { words[count++] = name->name; }
    }
    for (int i = 0; i < tess_format_count() && count < MOST_FORMATS; i++) {
        const char *shorthand = tess_format_can(tess_format_at(i))->shorthand;

        if (shorthand) { words[count++] = shorthand; }
    }
    return option_refuse_word(e, text, words, count, message);
}

/* A shorthand means a format by blocks with the policy of its paper, unless a policy is given. */
static bool parse_format(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_solve_options *o = place;
    const tess_format meant = find_shorthand(text);
    tess_format format = meant;

    if (meant == TESS_FORMAT_AUTO &&
        (tess_format_parse(text, &format) != TESS_SUCCESS || format == TESS_FORMAT_SHELL)) {
        return refuse_format(e, text, message);
    }
    o->storage.format = format;
    o->automatic.format_given = format != TESS_FORMAT_AUTO; /* csr too is the caller's choice then */
    if (meant == TESS_FORMAT_AUTO) { return true; }
    o->storage.policy.granularity = TESS_GRANULARITY_BLOCK;
    if (o->storage.policy.policy == TESS_POLICY_NONE) {
        (void)tess_policy_options_parse("mean-3std", &o->storage.policy);
    }
    return true;
}

static void print_format(const option_entry *e, const void *place, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s",
             option_name_of(e->enumeration, (int)((const tess_solve_options *)place)->storage.format));
}

const option_type option_format = {"name", true, parse_format, print_format};

/* Two formats of parts that differ may each differ from the other. */
static bool check_combination(const option_entry *e, const char *text, const tess_format base[2],
                              const option_message *message)
{
    char formats[64] = "";
    size_t used = 0;
    int last = -1;

    for (int i = 0; i < tess_format_count(); i++) {
        const tess_format_capabilities *can = tess_format_can(tess_format_at(i));

        if (can->as_base != 0 && !can->one_base) { last = i; }
    }
    for (int i = 0; i <= last && used < sizeof formats; i++) {
        const tess_format_capabilities *can = tess_format_can(tess_format_at(i));

        if (can->as_base == 0 || can->one_base) { continue; }
        used += (size_t)snprintf(formats + used, sizeof formats - used, "%s%s",
                                 used == 0   ? ""
                                 : i == last ? " and "
                                             : ", ",
                                 tess_format_name(tess_format_at(i)));
    }
    for (int k = 0; k < 2 && base[0] != base[1]; k++) {
        const tess_format_capabilities *can = tess_format_can(base[k]);

        if (!can || can->as_base == 0 || can->one_base) {
            return option_refuse(message, "--%s: '%s' combines %s with another format, but only %s can be combined",
                                 e->shown.name, text, tess_format_name(base[k]), formats);
        }
    }
    return true;
}

/* HIGH or HIGH,LOW: formats that may be bases, or auto. */
static bool parse_base(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_split_options *split = OWNER(tess_split_options, base, place);
    const char *words[MOST_FORMATS], *comma = strchr(text, ',');
    char high[32];
    int count = 0;
    tess_format base[2] = {TESS_FORMAT_AUTO, TESS_FORMAT_AUTO};

    for (int i = 0; i < tess_format_count() && count < MOST_FORMATS - 1; i++) {
        const tess_format format = tess_format_at(i);

        if (tess_format_can(format)->as_base != 0) { words[count++] = tess_format_name(format); }
    }
    words[count++] = tess_format_name(TESS_FORMAT_AUTO);
    snprintf(high, sizeof high, "%.*s", (int)strcspn(text, ","), text);
    const char *const word[2] = {high, comma ? comma + 1 : high};
    for (int k = 0; k < 2; k++) {
        bool known = false;

        for (int i = 0; i < count; i++) {
            known = known || strcasecmp(words[i], word[k]) == 0;
        }
        if (!known) { return option_refuse_word(e, word[k], words, count, message); }
        (void)tess_format_parse(word[k], &base[k]);
    }
    if (!check_combination(e, text, base, message)) { return false; }
    split->base = base[0];
    split->low_base = base[1];
    return true;
}

static void print_base(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_split_options *split = CONST_OWNER(tess_split_options, base, place);
    const bool one = split->low_base == TESS_FORMAT_CSR || split->low_base == split->base;

    snprintf(buffer, size, "%s%s%s", option_name_of(e->enumeration, (int)split->base), one ? "" : ",",
             one ? "" : option_name_of(e->enumeration, (int)split->low_base));
}

const option_type option_base = {"base", false, parse_base, print_base};

/* D,TL,TU. 0 would mean the default. */
static bool parse_thresholds(const option_entry *e, const char *text, void *place, const option_message *message)
{
    double value[3];
    const char *at = text;

    for (int k = 0; k < 3; k++) {
        char *end = NULL;

        value[k] = strtod(at, &end);
        if (end == at || *end != (k < 2 ? ',' : '\0') || !(value[k] > 0.0) || !isfinite(value[k])) {
            return option_refuse(message, "--%s: '%s' is not three numbers above 0, such as 0.02,0.2,0.9",
                                 e->shown.name, text);
        }
        at = end + 1;
    }
    if (value[1] > value[2]) {
        return option_refuse(message, "--%s: in '%s' the second number is above the third", e->shown.name, text);
    }
    *(tess_tcki_thresholds *)place = (tess_tcki_thresholds){value[0], value[1], value[2]};
    return true;
}

static void print_thresholds(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_tcki_thresholds *t = place;
    char text[3][32];

    (void)e;
    buffer[0] = '\0';
    if (t->density == 0.0 && t->low == 0.0 && t->high == 0.0) { return; }
    option_print_real(t->density, text[0], sizeof text[0]);
    option_print_real(t->low, text[1], sizeof text[1]);
    option_print_real(t->high, text[2], sizeof text[2]);
    snprintf(buffer, size, "%s,%s,%s", text[0], text[1], text[2]);
}

const option_type option_thresholds = {"thresholds", false, parse_thresholds, print_thresholds};

/* ---- the storage of a preconditioner: of squares of triangles, or of the matrix of jacobi-sweeps ---- */

static bool has_sweeps(const tess_solve_options *o)
{
    return o->precond.kind == TESS_PRECOND_JACOBI_SWEEPS;
}

/* Both are set, since the kind may be named later; print and check look at the one that the kind reads. */
static bool parse_precond_format(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_precond_options *o = &((tess_solve_options *)place)->precond;
    int format = 0;

    if (!option_read_name(e, e->enumeration, text, &format, message)) { return false; }
    o->incomplete.squares.format = o->jacobi_sweeps.storage.format = (tess_format)format;
    return true;
}

static void print_precond_format(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_solve_options *o = place;
    tess_precond_options defaults;

    tess_precond_options_init(&defaults);
    if (has_sweeps(o) && o->precond.jacobi_sweeps.storage.format == defaults.jacobi_sweeps.storage.format) {
        snprintf(buffer, size, "%s", e->shown.standard);
    } else {
        snprintf(buffer, size, "%s",
                 option_name_of(e->enumeration, (int)(has_sweeps(o) ? o->precond.jacobi_sweeps.storage.format
                                                                    : o->precond.incomplete.squares.format)));
    }
}

const option_type option_precond_format = {"name", true, parse_precond_format, print_precond_format};

static bool parse_precond_policy(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_precond_options *o = &((tess_solve_options *)place)->precond;

    return parse_policy(e, text, &o->incomplete.squares.policy, message) &&
           parse_policy(e, text, &o->jacobi_sweeps.storage.policy, message);
}

static const tess_policy_options *precond_policy_of(const tess_solve_options *o)
{
    return has_sweeps(o) ? &o->precond.jacobi_sweeps.storage.policy : &o->precond.incomplete.squares.policy;
}

static void print_precond_policy(const option_entry *e, const void *place, char *buffer, size_t size)
{
    print_policy(e, precond_policy_of(place), buffer, size);
}

const option_type option_precond_policy = {"policy", true, parse_precond_policy, print_precond_policy};

static bool parse_precond_levels(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_precond_options *o = &((tess_solve_options *)place)->precond;

    return read_levels(e, text, &o->incomplete.squares.policy, message) &&
           read_levels(e, text, &o->jacobi_sweeps.storage.policy, message);
}

static void print_precond_levels(const option_entry *e, const void *place, char *buffer, size_t size)
{
    (void)e;
    write_levels(precond_policy_of(place), buffer, size);
}

const option_type option_precond_levels = {"levels", true, parse_precond_levels, print_precond_levels};
