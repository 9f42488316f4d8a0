/* SPDX-License-Identifier: Apache-2.0 */
/* Options of storage: policies, formats, and the storage of a preconditioner. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <tessera/names.h>

#include "registry/option_entry.h"

enum { MOST_FORMATS = 40 };

/* ---- policies ---- */

/* E has no default. */
static bool check_bound(const option_entry *e, const tess_policy_options *policy, const option_message *message)
{
    if (policy->policy != TESS_POLICY_ERROR_BOUND || (policy->parameter > 0.0 && policy->parameter < 1.0)) {
        return true;
    }
    return option_refuse(message, "--%s: give error-bound a bound above 0 and below 1, such as error-bound:1e-7",
                         e->shown.name);
}

static bool parse_policy(const option_entry *e, const char *text, void *place, const option_message *message)
{
    static const char *const available[] = {"none",
                                            "fixed-range",
                                            "fixed-range:R",
                                            "mean-range",
                                            "mean-range:F",
                                            "mean-3std",
                                            "mean-3std:F",
                                            "mean-3std:auto",
                                            "lossless",
                                            "lossless:E",
                                            "error-bound:E",
                                            "error-bound:E:matrix",
                                            "error-bound:E:componentwise"};
    const char *colon = strchr(text, ':');
    char name[32];
    tess_policy policy = TESS_POLICY_NONE;

    if (tess_policy_options_parse(text, place) == TESS_SUCCESS) { return check_bound(e, place, message); }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    if (colon && tess_policy_parse(name, &policy) == TESS_SUCCESS) {
        if (policy == TESS_POLICY_NONE) {
            return option_refuse(message, "--%s: the policy none takes no parameter", e->shown.name);
        }
        return option_refuse(message, "--%s: '%s' is not a number above 0%s", e->shown.name, colon + 1,
                             policy == TESS_POLICY_MEAN_3STD     ? " or auto"
                             : policy == TESS_POLICY_ERROR_BOUND ? ", perhaps with :matrix or :componentwise"
                                                                 : "");
    }
    return option_refuse_word(e, name, available, (int)(sizeof available / sizeof *available), message);
}

static void print_policy(const option_entry *e, const void *place, char *buffer, size_t size)
{
    const tess_policy_options *o = place;
    char number[32];

    (void)e;
    option_print_real(o->parameter, number, sizeof number);
    snprintf(buffer, size, "%s%s%s%s", tess_policy_name(o->policy),
             o->choose_parameter || o->parameter != 0.0 ? ":" : "",
             o->choose_parameter   ? "auto"
             : o->parameter != 0.0 ? number
                                   : "",
             o->matrix_norm     ? ":matrix"
             : o->componentwise ? ":componentwise"
                                : "");
}

const option_type option_policy = {"policy", false, parse_policy, print_policy};

/* A granularity that was named is the caller's, the default too. */
static bool parse_granularity(const option_entry *e, const char *text, void *place, const option_message *message)
{
    tess_policy_options *policy = OWNER(tess_policy_options, granularity, place);
    int granularity = 0;

    if (!option_read_name(e, e->enumeration, text, &granularity, message)) { return false; }
    policy->granularity = (tess_granularity)granularity;
    policy->granularity_given = 1;
    return true;
}

static void print_granularity(const option_entry *e, const void *place, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s", option_name_of(e->enumeration, *(const int *)place));
}

const option_type option_granularity = {"name", false, parse_granularity, print_granularity};

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
    if (meant != TESS_FORMAT_AUTO && o->storage.policy.granularity_given &&
        o->storage.policy.granularity != TESS_GRANULARITY_BLOCK) {
        return option_refuse(message, "--granularity %s does not fit --format %s, which is %s by blocks",
                             tess_granularity_name(o->storage.policy.granularity), text, tess_format_name(format));
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
