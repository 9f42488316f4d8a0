/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and words; see lines.h. */
#include <string.h>

#include "base/decimal.h"
#include "io/lines.h"

enum { LONGEST_NUMBER = 63, QUOTED = 40, FIRST_ENTRIES = 1024 };

text_lines text_lines_of(const blob *b)
{
    return (text_lines){.b = b, .next = (const char *)b->bytes, .end = (const char *)b->bytes + b->count};
}

bool text_next_line(text_lines *t)
{
    if (t->next == t->end) { return false; }
    const char *newline = memchr(t->next, '\n', (size_t)(t->end - t->next)), *stop = newline ? newline : t->end;

    t->line = (text_word){t->next, (size_t)(stop - t->next)};
    if (t->line.length > 0 && stop[-1] == '\r') { t->line.length--; }
    t->next = newline ? newline + 1 : t->end;
    t->number++;
    return true;
}

static bool is_in(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

bool text_next_word(text_word *rest, const char *separators, text_word *word)
{
    while (rest->length > 0 && is_in(*rest->text, separators)) {
        rest->text++;
        rest->length--;
    }
    *word = (text_word){rest->text, 0};
    while (word->length < rest->length && !is_in(word->text[word->length], separators)) {
        word->length++;
    }
    rest->text += word->length;
    rest->length -= word->length;
    return word->length > 0;
}

bool text_real(text_word word, double *value)
{
    char copy[LONGEST_NUMBER + 1 + TESS_DECIMAL_PADDING] = "";

    if (word.length == 0 || word.length > LONGEST_NUMBER) { return false; }
    memcpy(copy, word.text, word.length);
    return tess_decimal_parse(copy, value) == copy + word.length;
}

bool text_integer(text_word word, int64_t *value)
{
    const bool negative = word.length > 1 && *word.text == '-';
    size_t at = negative || (word.length > 1 && *word.text == '+') ? 1 : 0;
    int64_t sum = 0;

    if (word.length == 0 || word.length - at > 18) { return false; }
    for (; at < word.length; at++) {
        if (word.text[at] < '0' || word.text[at] > '9') { return false; }
        sum = 10 * sum + (word.text[at] - '0');
    }
    *value = negative ? -sum : sum;
    return true;
}

tess_status text_fail(const text_lines *t, text_word found, const char *expected)
{
    char quoted[QUOTED + 1];
    size_t used = 0;

    for (; used < found.length && used < QUOTED; used++) {
        quoted[used] = found.text[used] >= ' ' && found.text[used] <= '~' ? found.text[used] : '?';
    }
    quoted[used] = '\0';
    return tess_fail_at(t->b->ctx, TESS_PARSE, t->b->name, t->number, NULL, "found '%s', but %s was expected", quoted,
                        expected);
}

tess_status text_fail_end(const text_lines *t, const char *expected)
{
    return tess_fail_at(t->b->ctx, TESS_PARSE, t->b->name, t->number, "the file may be incomplete",
                        "the file ends, but %s was expected", expected);
}

static tess_status grow(text_entries *e)
{
    text_entries larger = {.ctx = e->ctx,
                           .count = e->count,
                           .parts = e->parts,
                           .capacity = e->capacity > 0 ? 2 * e->capacity : FIRST_ENTRIES};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(e->ctx, larger.capacity, sizeof *e->row, (void **)&larger.row));
    TESS_TRY(tess_host_allocate(e->ctx, larger.capacity, sizeof *e->col, (void **)&larger.col));
    TESS_TRY(tess_host_allocate(e->ctx, larger.capacity * e->parts, sizeof *e->val, (void **)&larger.val));
    if (e->count > 0) {
        memcpy(larger.row, e->row, (size_t)e->count * sizeof *e->row);
        memcpy(larger.col, e->col, (size_t)e->count * sizeof *e->col);
        memcpy(larger.val, e->val, (size_t)(e->count * e->parts) * sizeof *e->val);
    }
    text_release_entries(e);
    *e = larger;
    return TESS_SUCCESS;
cleanup:
    text_release_entries(&larger);
    return status;
}

tess_status text_add_entry(text_entries *e, int64_t row, int64_t col, const double *value)
{
    if (e->count == e->capacity) {
        const tess_status status = grow(e);

        if (status != TESS_SUCCESS) { return status; }
    }
    e->row[e->count] = (int32_t)row;
    e->col[e->count] = (int32_t)col;
    memcpy(e->val + e->parts * e->count, value, (size_t)e->parts * sizeof *value);
    e->count++;
    return TESS_SUCCESS;
}

void text_release_entries(text_entries *e)
{
    tess_host_release(e->ctx, e->row, e->capacity, sizeof *e->row);
    tess_host_release(e->ctx, e->col, e->capacity, sizeof *e->col);
    tess_host_release(e->ctx, e->val, e->capacity * e->parts, sizeof *e->val);
    e->row = e->col = NULL;
    e->val = NULL;
}
