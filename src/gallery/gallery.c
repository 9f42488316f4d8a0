/* SPDX-License-Identifier: Apache-2.0 */
/* The list of model problems, and the function for each name. */
#include <string.h>

#include <tessera/names.h>

#include "gallery/problem.h"
#include "gallery/stencils.h"

static const tess_gallery_entry gallery_entries[] = {
#define TESS_GALLERY(name, maker, least, most, arguments, description) {name, arguments, description},
#include "gallery/gallery.def"
#undef TESS_GALLERY
};

typedef struct gallery_problem {
    gallery_maker make;
    int least, most; /* numbers of arguments */
} gallery_problem;

static const gallery_problem gallery_problems[] = {
#define TESS_GALLERY(name, maker, least, most, arguments, description) {maker, least, most},
#include "gallery/gallery.def"
#undef TESS_GALLERY
};

enum { PROBLEM_COUNT = sizeof gallery_entries / sizeof gallery_entries[0], NAME_LENGTH = 64 };

const tess_gallery_entry *tess_gallery_list(size_t *count)
{
    if (count) { *count = PROBLEM_COUNT; }
    return gallery_entries;
}

/* Levenshtein distance; of names longer than NAME_LENGTH only the first part counts. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[NAME_LENGTH + 1], n = strnlen(a, NAME_LENGTH), m = strnlen(b, NAME_LENGTH);

    for (size_t j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            size_t moved = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

            diagonal = row[j];
            row[j] = replaced < moved ? replaced : moved;
        }
    }
    return row[m];
}

static tess_status fail_unknown(tess_context *ctx, const char *name)
{
    char hint[128];
    size_t nearest = 0, least = SIZE_MAX;

    for (size_t i = 0; i < PROBLEM_COUNT; i++) {
        size_t distance = edit_distance(name, gallery_entries[i].name);

        if (distance < least) {
            least = distance;
            nearest = i;
        }
    }
    if (least > 2 && 3 * least > strlen(name)) {
        snprintf(hint, sizeof hint, "'tessera generate --list' names them");
    } else {
        snprintf(hint, sizeof hint, "the nearest name is %s", gallery_entries[nearest].name);
    }
    return tess_fail(ctx, TESS_NOT_FOUND, hint, "no model problem is called '%s'", name);
}

/* Index of the problem that the list calls `name`; PROBLEM_COUNT if none. */
static size_t find_problem(const char *name)
{
    size_t i = 0;

    while (i < PROBLEM_COUNT && strcmp(name, gallery_entries[i].name) != 0) {
        i++;
    }
    return i;
}

tess_status gallery_request_create(tess_context *ctx, const char *name, int nargs, const char *const *args,
                                   gallery_request *out)
{
    size_t i = find_problem(name);

    if (i == PROBLEM_COUNT) { return fail_unknown(ctx, name); }
    if (nargs < gallery_problems[i].least || nargs > gallery_problems[i].most) {
        char hint[160];

        snprintf(hint, sizeof hint, "expected: %s%s%s", name, gallery_entries[i].arguments[0] ? " " : "",
                 gallery_entries[i].arguments);
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, hint, "the model problem %s got %s, which does not fit it", name,
                         tess_count(nargs, "argument").text);
    }
    for (int k = 0; k < nargs; k++) {
        if (args && args[k]) { continue; }
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass as many texts as nargs says",
                         "argument %d of the model problem %s is NULL", k + 1, name);
    }
    *out = (gallery_request){ctx, name, gallery_entries[i].arguments, nargs, args};
    return TESS_SUCCESS;
}

tess_status tess_gallery_create(tess_context *ctx, const char *name, int nargs, const char *const *args,
                                tess_matrix **out)
{
    TESS_REQUIRE_OUT(ctx, ctx, out);
    TESS_REQUIRE(ctx, name);
    gallery_request request;
    tess_status status;

    status = gallery_request_create(ctx, name, nargs, args, &request);
    if (status != TESS_SUCCESS) { return status; }
    return gallery_problems[find_problem(name)].make(&request, out);
}
