/* SPDX-License-Identifier: Apache-2.0 */
/* Which variable of a file is meant; see variables.h. */
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

#include "io/variables.h"

enum { LISTED_BYTES = 200 };

file_variable *file_add_variable(file_variables *all, const char *in, const char *name, size_t length)
{
    if (all->count == MOST_VARIABLES) {
        all->more = true;
        return NULL;
    }
    file_variable *v = &all->list[all->count++];
    *v = (file_variable){.place = 0};
    snprintf(v->name, sizeof v->name, "%.64s%s%.*s", in ? in : "", in ? "." : "", length < 64 ? (int)length : 64, name);
    return v;
}

static const file_variable *find_name(const file_variables *all, const char *name)
{
    for (int i = 0; i < all->count; i++) {
        if (strcmp(all->list[i].name, name) == 0) { return &all->list[i]; }
    }
    return NULL;
}

/* How well a variable that has no telling name fits: 0 not at all. */
static int fitness(const file_variable *v, source_role role)
{
    const bool square = v->nrows == v->ncols;

    if (role == SOURCE_MATRIX) { return v->sparse ? (square ? 4 : 3) : square && v->nrows > 1 ? 2 : 1; }
    return v->nrows == 1 || v->ncols == 1 ? (v->nrows == v->ncols ? 1 : 3) : !square ? 2 : 1;
}

/* The one that fits better than all others. */
static const file_variable *find_fitting(const file_variables *all, source_role role)
{
    const file_variable *best = NULL;
    bool alone = false;

    for (int i = 0; i < all->count; i++) {
        const file_variable *v = &all->list[i];

        if (!best || fitness(v, role) > fitness(best, role)) {
            best = v;
            alone = true;
        } else if (fitness(v, role) == fitness(best, role)) {
            alone = false;
        }
    }
    return alone ? best : NULL;
}

static void list_names(const file_variables *all, char listed[LISTED_BYTES])
{
    listed[0] = '\0';
    for (int i = 0; i < all->count; i++) {
        const size_t used = strlen(listed), left = LISTED_BYTES - used;

        if (strlen(all->list[i].name) + 6 >= left) {
            snprintf(listed + used, left, ", ...");
            return;
        }
        snprintf(listed + used, left, "%s%s", i > 0 ? ", " : "", all->list[i].name);
    }
}

tess_status file_choose_variable(const blob *b, const file_variables *all, source_role role,
                                 const file_variable **chosen)
{
    static const char *const names[2][5] = {{"A", "Problem.A", "a", "K", NULL}, {"b", "rhs", "Problem.b", "B", NULL}};
    char listed[LISTED_BYTES];

    *chosen = b->member ? find_name(all, b->member) : NULL;
    for (int i = 0; !b->member && !*chosen && names[role][i]; i++) {
        *chosen = find_name(all, names[role][i]);
    }
    if (!b->member && !*chosen) { *chosen = find_fitting(all, role); }
    if (*chosen) { return TESS_SUCCESS; }
    list_names(all, listed);
    if (b->member) {
        return tess_fail_at(b->ctx, TESS_NOT_FOUND, b->name, 0, NULL,
                            "the file has no variable of numbers with the name '%.60s': %s", b->member,
                            all->count > 0 ? listed : "it has none");
    }
    return tess_fail_at(b->ctx, TESS_NOT_FOUND, b->name, 0,
                        all->count > 0 ? "name it behind a colon: A.mat:NAME" : "save the matrix as a variable",
                        "the file has %s of numbers, and none stands out as the %s: %s",
                        tess_count(all->count, "variable").text, role == SOURCE_MATRIX ? "matrix" : "right-hand side",
                        listed);
}
