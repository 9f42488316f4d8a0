/* SPDX-License-Identifier: Apache-2.0 */
/* The names of everything that can be asked for by name. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <tessera/tessera.h>

/* A list of names with their values; ended by NULL. */
typedef struct named_value {
    const char *name;
    int value;
} named_value;

#define NAMED(NAME, value, name, ...) {name, value},

static const named_value format_names[] = {
    TESS_FORMAT_LIST(NAMED){"shell", TESS_FORMAT_SHELL}, {"auto", TESS_FORMAT_AUTO}, {NULL, 0}};
static const named_value layout_names[] = {TESS_LAYOUT_LIST(NAMED){NULL, 0}};
static const named_value solver_names[] = {TESS_SOLVER_LIST(NAMED){NULL, 0}};
static const named_value engine_names[] = {TESS_ENGINE_LIST(NAMED){NULL, 0}};
static const named_value recurrence_names[] = {TESS_RECURRENCE_LIST(NAMED){NULL, 0}};
static const named_value narrowing_names[] = {TESS_NARROWING_LIST(NAMED){NULL, 0}};
static const named_value orthogonalization_names[] = {
    {"cgs2", TESS_ORTHOGONALIZATION_CGS2}, {"cgs2-delayed", TESS_ORTHOGONALIZATION_CGS2_DELAYED}, {NULL, 0}};
static const named_value phase_names[] = {TESS_PHASE_LIST(NAMED){NULL, 0}};
static const named_value scaling_names[] = {TESS_SCALING_LIST(NAMED){NULL, 0}};
static const named_value reordering_names[] = {TESS_REORDERING_LIST(NAMED){NULL, 0}};
static const named_value precond_names[] = {TESS_PRECOND_LIST(NAMED){"shell", TESS_PRECOND_SHELL}, {NULL, 0}};
static const named_value triangular_names[] = {TESS_TRIANGULAR_LIST(NAMED){NULL, 0}};
static const named_value factorization_names[] = {TESS_FACTORIZATION_LIST(NAMED){NULL, 0}};
static const named_value form_names[] = {TESS_POLYNOMIAL_FORM_LIST(NAMED){NULL, 0}};

static const char *name_of(const named_value *list, int value)
{
    for (; list->name; list++) {
        if (list->value == value) { return list->name; }
    }
    return "?";
}

static bool value_of(const named_value *list, const char *name, int *value)
{
    for (; list->name; list++) {
        if (strcasecmp(list->name, name) == 0 && strcmp(list->name, "shell") != 0) {
            *value = list->value;
            return true;
        }
    }
    return false;
}

const char *tess_format_name(tess_format format)
{
    return name_of(format_names, (int)format);
}

tess_status tess_format_parse(const char *name, tess_format *out)
{
    int value = 0;

    if (!value_of(format_names, name, &value)) { return TESS_INVALID_ARGUMENT; }
    *out = (tess_format)value;
    return TESS_SUCCESS;
}

const char *tess_solver_name(tess_solver_kind solver)
{
    return name_of(solver_names, (int)solver);
}

tess_status tess_solver_parse(const char *name, tess_solver_kind *out)
{
    int value = 0;

    if (!value_of(solver_names, name, &value)) { return TESS_INVALID_ARGUMENT; }
    *out = (tess_solver_kind)value;
    return TESS_SUCCESS;
}

const char *tess_engine_name(tess_engine engine)
{
    return name_of(engine_names, (int)engine);
}

tess_status tess_engine_parse(const char *name, tess_engine *out)
{
    int value = 0;

    if (!value_of(engine_names, name, &value)) { return TESS_INVALID_ARGUMENT; }
    *out = (tess_engine)value;
    return TESS_SUCCESS;
}

const char *tess_layout_name(tess_layout layout)
{
    return name_of(layout_names, (int)layout);
}

tess_status tess_layout_parse(const char *name, tess_layout *out)
{
    int value = 0;

    if (!value_of(layout_names, name, &value)) { return TESS_INVALID_ARGUMENT; }
    *out = (tess_layout)value;
    return TESS_SUCCESS;
}

const char *tess_recurrence_name(tess_recurrence recurrence)
{
    return name_of(recurrence_names, (int)recurrence);
}

tess_status tess_recurrence_parse(const char *name, tess_recurrence *out)
{
    int value = 0;

    if (!value_of(recurrence_names, name, &value)) { return TESS_INVALID_ARGUMENT; }
    *out = (tess_recurrence)value;
    return TESS_SUCCESS;
}

const char *tess_narrowing_name(tess_narrowing narrowing)
{
    return name_of(narrowing_names, (int)narrowing);
}

tess_status tess_narrowing_parse(const char *name, tess_narrowing *out)
{
    int value = 0;

    if (!value_of(narrowing_names, name, &value)) { return TESS_INVALID_ARGUMENT; }
    *out = (tess_narrowing)value;
    return TESS_SUCCESS;
}

const char *tess_orthogonalization_name(tess_orthogonalization orthogonalization)
{
    return name_of(orthogonalization_names, (int)orthogonalization);
}

tess_status tess_orthogonalization_parse(const char *name, tess_orthogonalization *out)
{
    int value = 0;

    if (!value_of(orthogonalization_names, name, &value)) { return TESS_INVALID_ARGUMENT; }
    *out = (tess_orthogonalization)value;
    return TESS_SUCCESS;
}

const char *tess_phase_name(tess_phase phase)
{
    return name_of(phase_names, (int)phase);
}

const char *tess_scaling_name(tess_scaling scaling)
{
    return name_of(scaling_names, (int)scaling);
}

tess_status tess_scaling_parse(const char *name, tess_scaling *out)
{
    int value = 0;

    if (!value_of(scaling_names, name, &value)) { return TESS_INVALID_ARGUMENT; }
    *out = (tess_scaling)value;
    return TESS_SUCCESS;
}

const char *tess_reordering_name(tess_reordering reordering)
{
    return name_of(reordering_names, (int)reordering);
}

tess_status tess_reordering_parse(const char *name, tess_reordering *out)
{
    int value = 0;

    if (!value_of(reordering_names, name, &value)) { return TESS_INVALID_ARGUMENT; }
    *out = (tess_reordering)value;
    return TESS_SUCCESS;
}

const char *tess_precond_kind_name(tess_precond_kind kind)
{
    return name_of(precond_names, (int)kind);
}

const char *tess_triangular_name(tess_triangular triangular)
{
    return name_of(triangular_names, (int)triangular);
}

const char *tess_factorization_name(tess_factorization factorization)
{
    return name_of(factorization_names, (int)factorization);
}

tess_status tess_factorization_parse(const char *name, tess_factorization *out)
{
    int value = 0;

    if (!value_of(factorization_names, name, &value)) { return TESS_INVALID_ARGUMENT; }
    *out = (tess_factorization)value;
    return TESS_SUCCESS;
}

tess_status tess_triangular_parse(const char *name, tess_triangular *out)
{
    int value = 0;

    if (!value_of(triangular_names, name, &value)) { return TESS_INVALID_ARGUMENT; }
    *out = (tess_triangular)value;
    return TESS_SUCCESS;
}

const char *tess_polynomial_form_name(tess_polynomial_form form)
{
    return name_of(form_names, (int)form);
}

tess_status tess_polynomial_form_parse(const char *name, tess_polynomial_form *out)
{
    int value = 0;

    if (!value_of(form_names, name, &value)) { return TESS_INVALID_ARGUMENT; }
    *out = (tess_polynomial_form)value;
    return TESS_SUCCESS;
}

/* The number after the colon: rows of a block, or a degree. */
static tess_status parse_precond_number(const char *text, tess_precond_options *out)
{
    const bool blocks = out->kind == TESS_PRECOND_BLOCK_JACOBI;
    const long most = blocks ? TESS_MAX_BLOCK_SIZE : TESS_MAX_POLYNOMIAL_DEGREE;
    char *end = NULL;
    const long number = strtol(text, &end, 10);

    if (!blocks && out->kind != TESS_PRECOND_POLYNOMIAL) { return TESS_INVALID_ARGUMENT; }
    if (end == text || *end || number < 1 || number > most) { return TESS_INVALID_ARGUMENT; }
    *(blocks ? &out->block_size : &out->degree) = (int)number;
    return TESS_SUCCESS;
}

tess_status tess_precond_parse(const char *text, tess_precond_options *out)
{
    size_t length = strcspn(text, ":");
    char name[32];
    int value = 0;

    if (length >= sizeof name) { return TESS_INVALID_ARGUMENT; }
    memcpy(name, text, length);
    name[length] = '\0';
    if (!value_of(precond_names, name, &value)) { return TESS_INVALID_ARGUMENT; }
    tess_precond_options_init(out);
    out->kind = (tess_precond_kind)value;
    return text[length] == ':' ? parse_precond_number(text + length + 1, out) : TESS_SUCCESS;
}

const char *tess_reason_name(tess_reason reason)
{
    switch (reason) {
#define TESS_REASON_CASE(NAME, code, name, text) \
    case TESS_REASON_##NAME: return name;
        TESS_REASON_LIST(TESS_REASON_CASE)
#undef TESS_REASON_CASE
    }
    return "?";
}

const char *tess_reason_text(tess_reason reason)
{
    switch (reason) {
#define TESS_REASON_CASE(NAME, code, name, text) \
    case TESS_REASON_##NAME: return text;
        TESS_REASON_LIST(TESS_REASON_CASE)
#undef TESS_REASON_CASE
    }
    return "?";
}
