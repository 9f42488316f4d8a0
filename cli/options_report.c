/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the library's list as JSON and in commands. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

const char *cli_value_text(const tess_solve_options *options, const char *name, char *buffer, size_t size)
{
    buffer[0] = '\0';
    (void)tess_options_get(options, name, buffer, size);
    return buffer;
}

const char *cli_precond_text(const tess_precond_options *precond, char *buffer, size_t size)
{
    buffer[0] = '\0';
    (void)tess_precond_options_get(precond, "precond", buffer, size);
    return buffer;
}

const char *cli_schedule_text(const tess_precision_schedule *schedule, char *buffer, size_t size)
{
    tess_solve_options o;
    tess_solve_options_init(&o);
    o.jacobi.schedule = *schedule;
    return cli_value_text(&o, "steps", buffer, size);
}

const char *cli_accuracy_text(const tess_accuracy_options *accuracy, char *buffer, size_t size)
{
    tess_solve_options o;
    tess_solve_options_init(&o);
    o.accuracy = *accuracy;
    return cli_value_text(&o, "accuracy", buffer, size);
}

const char *cli_levels_text(const tess_policy_options *policy, char *buffer, size_t size)
{
    tess_solve_options o;
    tess_solve_options_init(&o);
    o.storage.policy = *policy;
    tess_policy_default_levels(&o.storage.policy);
    return cli_value_text(&o, "levels", buffer, size);
}

/* ---- JSON ---- */

/* "precond_omega" */
static const char *key_of(const tess_option *option, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s", option->name);
    for (char *c = buffer; *c != '\0'; c++) {
        if (*c == '-') { *c = '_'; }
    }
    return buffer;
}

static bool is_type(const tess_option *option, const char *type)
{
    return strcmp(option->type, type) == 0;
}

/* "0.02,0.2,0.9" as three numbers */
static json_t *numbers_json(const char *text)
{
    json_t *list = json_array();
    for (char *end = NULL; *text != '\0'; text = end + (*end == ',')) {
        json_array_append_new(list, json_real(strtod(text, &end)));
    }
    return list;
}

static json_t *value_json(const tess_option *option, const char *text)
{
    const bool left_open = text[0] == '\0' || strcmp(text, "auto") == 0;
    if (is_type(option, "flag")) { return json_boolean(text[0] == '1'); }
    if (is_type(option, "bytes")) { return json_integer(left_open ? 0 : strtoll(text, NULL, 10)); }
    if (is_type(option, "integer")) { return left_open ? json_null() : json_integer(strtoll(text, NULL, 10)); }
    if (is_type(option, "real")) { return left_open ? json_null() : json_real(strtod(text, NULL)); }
    if (is_type(option, "share") && strchr("0123456789", text[0]) != NULL) { return json_real(strtod(text, NULL)); }
    if (is_type(option, "thresholds") && !left_open) { return numbers_json(text); }
    if (is_type(option, "policy")) { return json_stringn(text, strcspn(text, ":")); }
    return text[0] == '\0' ? json_null() : cli_json_text(text);
}

void cli_add_options_json(json_t *object, const tess_solve_options *options, int scope)
{
    char text[TESS_OPTION_TEXT], key[64];
    const tess_option *option = NULL;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        if ((int)option->scope != scope || option->section == TESS_SECTION_NONE) { continue; }
        cli_value_text(options, option->name, text, sizeof text);
        json_object_set_new(object, key_of(option, key, sizeof key), value_json(option, text));
    }
}

json_t *cli_storage_json(const tess_storage_options *storage, bool chosen)
{
    char text[64];
    json_t *object = json_object();
    tess_solve_options o;
    const tess_policy_options *policy = &storage->policy;
    const tess_format high = storage->split.base, low = storage->split.low_base;
    tess_solve_options_init(&o);
    o.storage = *storage;
    cli_add_options_json(object, &o, TESS_OPTION_OF_STORAGE);
    json_object_set_new(object, "format_chosen", json_boolean(chosen));
    json_object_set_new(object, "policy_parameter",
                        policy->parameter > 0.0 ? cli_json_real(policy->parameter) : json_null());
    json_object_set_new(object, "parameter_chosen", json_boolean(policy->choose_parameter));
    json_object_set_new(object, "matrix_norm", json_boolean(policy->matrix_norm));
    json_object_set_new(object, "componentwise", json_boolean(policy->componentwise));
    json_object_set_new(object, "levels", json_string(cli_levels_text(policy, text, sizeof text)));
    if (policy->granularity != TESS_GRANULARITY_BLOCK) { json_object_set_new(object, "block", json_null()); }
    json_object_set_new(object, "base", json_string(tess_format_name(high)));
    json_object_set_new(object, "low_base", json_string(tess_format_name(low == TESS_FORMAT_CSR ? high : low)));
    return object;
}

void cli_add_precond_json(json_t *object, const tess_precond_options *precond)
{
    char text[64];
    tess_solve_options o;
    const bool sweeps = precond->kind == TESS_PRECOND_JACOBI_SWEEPS;
    const tess_policy_options *policy =
        sweeps ? &precond->jacobi_sweeps.storage.policy : &precond->incomplete.squares.policy;
    tess_solve_options_init(&o);
    o.precond = *precond;
    cli_add_options_json(object, &o, TESS_OPTION_OF_PRECOND);
    json_object_set_new(object, "precond_levels", json_string(cli_levels_text(policy, text, sizeof text)));
    if (!sweeps) { json_object_set_new(object, "precond_share", json_null()); }
}

/* ---- commands ---- */

void cli_write_option(FILE *to, const tess_solve_options *options, const tess_option *option)
{
    char text[TESS_OPTION_TEXT], name[CLI_QUOTED_LENGTH];
    cli_value_text(options, option->name, text, sizeof text);
    fprintf(to, " --%s", option->name);
    if (option->argument == NULL) { return; }
    fprintf(to, " %s", is_type(option, "text") ? cli_quoted_file(text, name, sizeof name) : text);
}

void cli_write_options(FILE *to, const tess_solve_options *options, int scope)
{
    const tess_option *option = NULL;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        const bool ours = (int)option->scope == scope && option->section != TESS_SECTION_NONE;
        if (ours && tess_options_is_set(options, option->name)) { cli_write_option(to, options, option); }
    }
}
