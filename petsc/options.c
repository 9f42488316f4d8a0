/* SPDX-License-Identifier: Apache-2.0 */
/* -ksp_tessera_*, -pc_tessera_*, -mat_tessera_*: the library's list of options, read and refused in its words. */
#include "options.h"

#include <stdio.h>
#include <string.h>
#include <tessera/solver.h>
#include <tessera/status.h>
#include <tessera_petsc.h>

/* ---- names ---- */

/* Options that PETSc has under other names. */
static const struct {
    const char *name, *petsc;
} others[] = {{"rtol", "-ksp_rtol"},
              {"atol", "-ksp_atol"},
              {"divergence-tolerance", "-ksp_divtol"},
              {"max-iterations", "-ksp_max_it"},
              {"guard", "-ksp_tessera_verify"}};

/* PETSc's names of methods that have another one here. Its pipelined and flexible forms are the same method otherwise.
 */
static const struct {
    const char *petsc, *ours;
} methods[] = {{"bcgs", "bicgstab"}, {"fbcgs", "bicgstab"}, {"ibcgs", "bicgstab"},
               {"pipecg", "cg"},     {"groppcg", "cg"},     {"pgmres", "gmres"}};

/* The length of an option's name at the start of a text. */
static size_t length_of_name(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.");

    while (length > 0 && (text[length - 1] == '.' || text[length - 1] == '-')) {
        length--;
    }
    return length;
}

/* "-pc_tessera_type" of "precond"; false: there is no such option. */
static PetscBool petsc_name(const char *name, char *buffer, size_t size)
{
    const tess_option *const option = tess_option_find(name);

    if (!option) { return PETSC_FALSE; }
    (void)tess_option_petsc(option, buffer, size);
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        if (strcmp(option->name, others[k].name) == 0) { snprintf(buffer, size, "%s", others[k].petsc); }
    }
    return PETSC_TRUE;
}

const char *tp_spell(const char *message, char *buffer, size_t size)
{
    size_t used = 0;

    buffer[0] = '\0';
    while (*message && used < size) {
        const char *const dashes = strstr(message, "--");
        const size_t plain = dashes ? (size_t)(dashes - message) : strlen(message);
        const size_t length = dashes ? length_of_name(dashes + 2) : 0;
        char name[64], word[72];

        used += (size_t)snprintf(buffer + used, size - used, "%.*s", (int)plain, message);
        message += plain;
        if (!dashes || used >= size) { continue; }
        snprintf(name, sizeof name, "%.*s", (int)length, message + 2);
        if (!petsc_name(name, word, sizeof word)) { snprintf(word, sizeof word, "--%s", name); }
        used += (size_t)snprintf(buffer + used, size - used, "%s", word);
        message += 2 + length;
    }
    return buffer;
}

/* ---- reading ---- */

void tp_words_init(tp_words *words)
{
    tess_solve_options_init(&words->options);
    words->path[0] = words->wrong[0] = '\0';
}

/* What -help says: lines with semicolons between, in PETSc's spelling. */
static const char *help_of(const tess_option *option, char *buffer, size_t size)
{
    char text[TESS_OPTION_TEXT], lines[2 * TESS_OPTION_TEXT];
    size_t used = 0;

    (void)tess_option_help(option, text, sizeof text);
    for (const char *at = text; *at;) {
        const size_t length = strcspn(at, "\n");

        used += (size_t)snprintf(lines + used, sizeof lines - used, "%s%.*s", at == text ? "" : "; ", (int)length, at);
        at += length + (at[length] ? 1 : 0);
    }
    return tp_spell(lines, buffer, size);
}

/* A word as the library has it. */
static const char *our_word(const char *name, const char *text)
{
    for (size_t k = 0; strcmp(name, "solver") == 0 && k < sizeof methods / sizeof methods[0]; k++) {
        if (strcmp(methods[k].petsc, text) == 0) { return methods[k].ours; }
    }
    return text;
}

PetscErrorCode tp_option_read(tp_option_items PetscOptionsObject, const char *name, tp_words *words, PetscBool *set)
{
    static const char *const manuals[] = {"KSPTESSERA", "PCTESSERA", "MATTESSERA"};
    const tess_option *const option = tess_option_find(name);
    char petsc[72], help[2 * TESS_OPTION_TEXT], now[TESS_OPTION_TEXT], text[PETSC_MAX_PATH_LEN],
        message[TESS_OPTION_TEXT];
    PetscBool file, flag, given;

    PetscFunctionBegin;
    (void)petsc_name(name, petsc, sizeof petsc);
    (void)tess_options_get(&words->options, name, now, sizeof now);
    PetscCall(PetscOptionsString(petsc, help_of(option, help, sizeof help), manuals[option->scope], now, text,
                                 sizeof text, &given));
    if (set) { *set = given; }
    if (!given) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscStrcmp(option->type, "text", &file));
    if (file) { PetscCall(PetscStrncpy(words->path, text, sizeof words->path)); }
    PetscCall(PetscStrcmp(option->type, "flag", &flag));
    if (flag && !text[0]) { PetscCall(PetscStrncpy(text, "1", sizeof text)); } /* alone, as PETSc's */
    if (tess_options_set(&words->options, name, file ? words->path : our_word(name, text), message, sizeof message) !=
            TESS_SUCCESS &&
        !words->wrong[0]) {
        (void)tp_spell(message, words->wrong, sizeof words->wrong);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool is_in(const char *name, const char *const *list)
{
    for (; *list; list++) {
        if (strcmp(*list, name) == 0) { return PETSC_TRUE; }
    }
    return PETSC_FALSE;
}

PetscErrorCode tp_options_read(tp_option_items PetscOptionsObject, int scope, const char *const *left_out,
                               tp_words *words)
{
    const tess_option *option;

    PetscFunctionBegin;
    for (int i = 0; (option = tess_option_at(i)) != NULL; i++) {
        if ((int)option->scope != scope || option->section >= TESS_SECTION_PAPERS || is_in(option->name, left_out)) {
            continue;
        }
        PetscCall(tp_option_read(PetscOptionsObject, option->name, words, NULL));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- refusing ---- */

PetscErrorCode tp_words_require(const tp_words *words)
{
    PetscFunctionBegin;
    PetscCheck(!words->wrong[0], PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE, "%s", words->wrong);
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_words_require_fit(const tp_words *words)
{
    char message[TESS_OPTION_TEXT], spelled[2 * TESS_OPTION_TEXT];

    PetscFunctionBegin;
    PetscCall(tp_words_require(words));
    PetscCheck(tess_options_check(&words->options, message, sizeof message) == TESS_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_INCOMP, "%s", tp_spell(message, spelled, sizeof spelled));
    PetscFunctionReturn(PETSC_SUCCESS);
}
