/* SPDX-License-Identifier: Apache-2.0 */
/* PETSc's names of options and of their values. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct synonym {
    const char *petsc, *ours; /* ours NULL: accepted without effect, because the report has the answer anyway */
    bool takes_value;
} synonym;

static const synonym synonyms[] = {
    {"-ksp_type", "--solver", true},
    {"-pc_type", "--precond", true},
    {"-ksp_rtol", "--rtol", true},
    {"-ksp_norm_type", "--stop-norm", true},
    {"-ksp_atol", "--atol", true},
    {"-ksp_divtol", "--divergence-tolerance", true},
    {"-ksp_max_it", "--max-iterations", true},
    {"-ksp_gmres_restart", "--restart", true},
    {"-ksp_monitor", "--monitor", false},
    {"-ksp_monitor_true_residual", "--monitor", false},
    {"-ksp_view", NULL, false},
    {"-ksp_converged_reason", NULL, false},
    {"-log_view", "--timings", false},
    {"-options_left", NULL, false}, /* an option that nothing reads is refused anyway */
};
enum { SYNONYM_COUNT = (int)(sizeof synonyms / sizeof synonyms[0]) };

/* Values with another name in PETSc. */
static const char *const value_synonyms[][3] = {
    {"-ksp_type", "bcgs", "bicgstab"}, {"-pc_type", "bjacobi", "block-jacobi"},
    {"-pc_type", "ilu", "ilu0"},       {"-pc_type", "icc", "ic0"},
    {"-pc_type", "gamg", "amg"},       {"-ksp_norm_type", "unpreconditioned", "given"},
};

static bool was_used[SYNONYM_COUNT]; /* for messages about values */

/* Its index; -1: none. A value may stand behind '='. */
static int find_synonym(const char *argument)
{
    const size_t length = strcspn(argument, "=");
    for (int i = 0; i < SYNONYM_COUNT; i++) {
        if (strlen(synonyms[i].petsc) == length && strncmp(synonyms[i].petsc, argument, length) == 0) { return i; }
    }
    return -1;
}

bool cli_is_petsc(const char *argument, const char **ours)
{
    int index = find_synonym(argument);
    *ours = index < 0 ? NULL : synonyms[index].ours;
    return index >= 0;
}

const char *cli_nearest_petsc(const char *argument)
{
    const char *names[SYNONYM_COUNT];
    for (int i = 0; i < SYNONYM_COUNT; i++) {
        names[i] = synonyms[i].petsc;
    }
    return tess_nearest_word(argument, names, SYNONYM_COUNT);
}

/* An option's name in `text`, of so many characters, as the caller wrote it; NULL: as it is. */
static const char *written_as(const char *text, size_t length)
{
    for (int i = 0; i < SYNONYM_COUNT; i++) {
        if (was_used[i] && strlen(synonyms[i].ours) == length && strncmp(synonyms[i].ours, text, length) == 0) {
            return synonyms[i].petsc;
        }
    }
    return NULL;
}

const char *cli_spelled(const char *text, char *buffer, size_t size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    FILE *to = fmemopen(buffer, size, "w");
    if (to == NULL) { return text; }
    while (*text != '\0') {
        const size_t length = strncmp(text, "--", 2) == 0 ? strspn(text, letters) : 1;
        const char *other = length > 1 ? written_as(text, length) : NULL;
        fprintf(to, "%.*s", (int)(other != NULL ? strlen(other) : length), other != NULL ? other : text);
        text += length;
    }
    fclose(to);
    buffer[size - 1] = '\0';
    return buffer;
}

static const char *translate_value(const char *petsc, const char *value)
{
    for (size_t i = 0; i < sizeof value_synonyms / sizeof value_synonyms[0]; i++) {
        if (strcmp(value_synonyms[i][0], petsc) == 0 && strcmp(value_synonyms[i][1], value) == 0) {
            return value_synonyms[i][2];
        }
    }
    return value;
}

/* For an option without a value here: PETSc's words for false turn it off, anything else turns it on. */
static int take_switch(const synonym *s, const char *value, char **translated)
{
    static const char *const off[] = {"0", "no", "false", "off"};
    for (size_t i = 0; value != NULL && i < sizeof off / sizeof off[0]; i++) {
        if (strcmp(value, off[i]) == 0) { return 0; }
    }
    if (s->ours == NULL) { return 0; }
    *translated = strdup(s->ours);
    return *translated == NULL ? CLI_DEVICE : 0;
}

int cli_translate_petsc(int argc, char **argv, int *i, char **translated)
{
    const int index = find_synonym(argv[*i]);
    const synonym *s = &synonyms[index];
    const char *equals = strchr(argv[*i], '=');
    if (!s->takes_value) { return take_switch(s, equals == NULL ? NULL : equals + 1, translated); }
    if (equals == NULL && *i + 1 >= argc) {
        cli_error("option '%s' requires an argument", s->petsc);
        return CLI_USAGE;
    }
    if (equals == NULL) { *i += 1; }
    was_used[index] = true;
    const char *value = equals == NULL ? argv[*i] : equals + 1;
    return asprintf(translated, "%s=%s", s->ours, translate_value(s->petsc, value)) < 0 ? CLI_DEVICE : 0;
}
