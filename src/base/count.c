/* SPDX-License-Identifier: Apache-2.0 */
/* Counts in messages. */
#include <stdio.h>
#include <string.h>

#include <tessera/names.h>

/* What the plural adds to a noun, after `*length` of its letters. */
static const char *plural_end(const char *noun, int *length)
{
    const char before = *length > 1 ? noun[*length - 2] : 'a', last = *length > 0 ? noun[*length - 1] : 'a';

    if (last == 'y' && !strchr("aeiou", before)) {
        *length -= 1;
        return "ies";
    }
    return last == 's' || last == 'x' ? "es" : "s";
}

tess_counted tess_count(int64_t count, const char *noun)
{
    tess_counted out;
    const char *const other = noun ? strchr(noun, '|') : NULL, *end = "";
    const long long number = count;
    int length = !noun ? 0 : other ? (int)(other - noun) : (int)strlen(noun);

    if (!noun) {
        (void)snprintf(out.text, sizeof out.text, "%lld", number);
    } else if (other && count != 1) {
        (void)snprintf(out.text, sizeof out.text, "%lld %s", number, other + 1);
    } else {
        if (count != 1) { end = plural_end(noun, &length); }
        (void)snprintf(out.text, sizeof out.text, "%lld %.*s%s", number, length, noun, end);
    }
    return out;
}
