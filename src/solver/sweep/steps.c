/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of steps: as text, checked, and with the iterations shared out. */
#include "solver/sweep/steps.h"

#include <string.h>
#include <strings.h>

const char *tess_step_what_name(int what)
{
    return what == TESS_MIXED ? "mixed" : tess_precision_name((tess_precision)what);
}

static bool is_what(int what)
{
    return what == TESS_MIXED || (what >= 0 && tess_precision_bytes((tess_precision)what) > 0);
}

/* A decimal number of 1 to 18 digits that is not 0. */
static bool parse_count(const char *text, int64_t *out)
{
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 18 || text[digits] != '\0') { return false; }
    *out = 0;
    for (; *text != '\0'; text++) {
        *out = 10 * *out + (*text - '0');
    }
    return *out > 0;
}

/* The first `length` characters: `mixed` or a precision, perhaps with `:N`. */
static bool parse_entry(const char *text, size_t length, tess_step_entry *out)
{
    char word[48] = "", *count = NULL;
    tess_precision precision = TESS_PRECISION_FP64;

    if (length >= sizeof word) { return false; }
    memcpy(word, text, length);
    out->iterations = 0;
    count = strchr(word, ':');
    if (count) {
        *count++ = '\0';
        if (!parse_count(count, &out->iterations)) { return false; }
    }
    out->what = TESS_MIXED;
    if (strcasecmp(word, "mixed") == 0) { return true; }
    if (tess_precision_parse(word, &precision) != TESS_SUCCESS) { return false; }
    out->what = (int)precision;
    return true;
}

tess_status tess_step_list_parse(const char *text, tess_step_list *out)
{
    tess_step_list steps = {.count = 0};

    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");

        if (steps.count == TESS_MOST_STEPS || !parse_entry(at, length, &steps.entry[steps.count])) {
            return TESS_INVALID_ARGUMENT;
        }
        steps.count += 1;
        at += length;
        if (*at == '\0') { break; }
    }
    *out = steps;
    return TESS_SUCCESS;
}

tess_status steps_check(tess_context *ctx, const tess_step_list *steps)
{
    if (steps->count < 1 || steps->count > TESS_MOST_STEPS) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, NULL, "%d steps, and 1 to %d are taken", steps->count,
                         (int)TESS_MOST_STEPS);
    }
    for (int i = 0; i < steps->count; i++) {
        if (!is_what(steps->entry[i].what) || steps->entry[i].iterations < 0) {
            return tess_fail(ctx, TESS_INVALID_ARGUMENT, "a precision or TESS_MIXED, and a count that is not negative",
                             "step %d is number %d with %lld iterations", i + 1, steps->entry[i].what,
                             (long long)steps->entry[i].iterations);
        }
    }
    return TESS_SUCCESS;
}

bool steps_are_counted(const tess_step_list *steps)
{
    for (int i = 0; i < steps->count; i++) {
        if (steps->entry[i].iterations > 0) { return true; }
    }
    return false;
}

bool steps_have(const tess_step_list *steps, int what)
{
    for (int i = 0; i < steps->count; i++) {
        if (steps->entry[i].what == what) { return true; }
    }
    return false;
}

void steps_share(const tess_step_list *steps, int64_t total, int64_t counts[TESS_MOST_STEPS])
{
    int64_t left = total, share = 0;
    int open = 0;

    for (int i = 0; i < steps->count; i++) {
        int64_t named = steps->entry[i].iterations;

        counts[i] = named < left ? named : left;
        left -= counts[i];
        open += named == 0;
    }
    if (open == 0) { return; }
    share = left / open;
    for (int i = 0; i < steps->count; i++) {
        if (steps->entry[i].iterations > 0) { continue; }
        open -= 1;
        counts[i] = open == 0 ? left : share;
        left -= counts[i];
    }
}

void steps_append(tess_step_list *steps, int what, int64_t iterations)
{
    if (steps->count > 0 && (steps->entry[steps->count - 1].what == what || steps->count > TESS_MOST_STEPS)) {
        steps->entry[steps->count - 1].iterations += iterations;
        return;
    }
    steps->entry[steps->count++] = (tess_step_entry){what, iterations};
}

void steps_add(tess_step_list *to, const tess_step_list *more)
{
    for (int i = 0; i < more->count; i++) {
        if (i < to->count) {
            to->entry[i].iterations += more->entry[i].iterations;
        } else if (to->count <= TESS_MOST_STEPS) {
            to->entry[to->count++] = more->entry[i];
        }
    }
}
