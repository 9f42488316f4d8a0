/* SPDX-License-Identifier: Apache-2.0 */
/* Precision schedules: as text, checked, and with the iterations shared out. */
#include "sweep/schedule.h"

#include <string.h>
#include <strings.h>

#include <tessera/names.h>

const char *tess_schedule_entry_name(int what)
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
static bool parse_entry(const char *text, size_t length, tess_schedule_entry *out)
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

tess_status tess_schedule_parse(const char *text, tess_precision_schedule *out)
{
    if (!text || !out) { return TESS_INVALID_ARGUMENT; }
    tess_precision_schedule schedule = {.count = 0};

    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");

        if (schedule.count == TESS_MAX_SCHEDULE || !parse_entry(at, length, &schedule.entry[schedule.count])) {
            return TESS_INVALID_ARGUMENT;
        }
        schedule.count += 1;
        at += length;
        if (*at == '\0') { break; }
    }
    *out = schedule;
    return TESS_SUCCESS;
}

tess_status schedule_check(tess_context *ctx, const tess_precision_schedule *schedule)
{
    if (schedule->count < 1 || schedule->count > TESS_MAX_SCHEDULE) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give fewer entries",
                         "the schedule (--steps) has %s, but 1 to %d are possible",
                         tess_count(schedule->count, "entry").text, (int)TESS_MAX_SCHEDULE);
    }
    for (int i = 0; i < schedule->count; i++) {
        if (!is_what(schedule->entry[i].what) || schedule->entry[i].iterations < 0) {
            return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use a precision or TESS_MIXED, with 0 or more iterations",
                             "entry %d of the schedule is the unknown precision %d or has a negative count, %lld",
                             i + 1, schedule->entry[i].what, (long long)schedule->entry[i].iterations);
        }
    }
    return TESS_SUCCESS;
}

bool schedule_is_counted(const tess_precision_schedule *schedule)
{
    for (int i = 0; i < schedule->count; i++) {
        if (schedule->entry[i].iterations > 0) { return true; }
    }
    return false;
}

bool schedule_has(const tess_precision_schedule *schedule, int what)
{
    for (int i = 0; i < schedule->count; i++) {
        if (schedule->entry[i].what == what) { return true; }
    }
    return false;
}

void schedule_share(const tess_precision_schedule *schedule, int64_t total, int64_t counts[TESS_MAX_SCHEDULE])
{
    int64_t left = total, share = 0;
    int open = 0;

    for (int i = 0; i < schedule->count; i++) {
        int64_t named = schedule->entry[i].iterations;

        counts[i] = named < left ? named : left;
        left -= counts[i];
        open += named == 0;
    }
    if (open == 0) { return; }
    share = left / open;
    for (int i = 0; i < schedule->count; i++) {
        if (schedule->entry[i].iterations > 0) { continue; }
        open -= 1;
        counts[i] = open == 0 ? left : share;
        left -= counts[i];
    }
}

void schedule_append(tess_precision_schedule *schedule, int what, int64_t iterations)
{
    if (schedule->count > 0 &&
        (schedule->entry[schedule->count - 1].what == what || schedule->count > TESS_MAX_SCHEDULE)) {
        schedule->entry[schedule->count - 1].iterations += iterations;
        return;
    }
    schedule->entry[schedule->count++] = (tess_schedule_entry){what, iterations};
}

void schedule_add(tess_precision_schedule *to, const tess_precision_schedule *more)
{
    for (int i = 0; i < more->count; i++) {
        if (i < to->count) {
            to->entry[i].iterations += more->entry[i].iterations;
        } else if (to->count <= TESS_MAX_SCHEDULE) {
            to->entry[to->count++] = more->entry[i];
        }
    }
}
