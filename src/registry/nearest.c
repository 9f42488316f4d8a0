/* SPDX-License-Identifier: Apache-2.0 */
/* Which word of a list was meant. */
#include <stdbool.h>
#include <string.h>

#include <tessera/options.h>

enum { LENGTH = 64 };

/* Edit distance in which a swap of neighbours counts once (optimal string alignment). */
static int edit_distance(const char *a, const char *b)
{
    int rows[3][LENGTH + 1];
    const int la = (int)strnlen(a, LENGTH), lb = (int)strnlen(b, LENGTH);

    for (int j = 0; j <= lb; j++) {
        rows[0][j] = j;
    }
    for (int i = 1; i <= la; i++) {
        int *now = rows[i % 3];
        const int *up = rows[(i - 1) % 3], *up2 = rows[(i + 1) % 3];

        now[0] = i;
        for (int j = 1; j <= lb; j++) {
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            int best = up[j - 1] + (a[i - 1] != b[j - 1]);

            if (up[j] + 1 < best) { best = up[j] + 1; }
            if (now[j - 1] + 1 < best) { best = now[j - 1] + 1; }
            if (swapped && up2[j - 2] + 1 < best) { best = up2[j - 2] + 1; }
            now[j] = best;
        }
    }
    return rows[la % 3][lb];
}

const char *tess_nearest_word(const char *word, const char *const *words, int count)
{
    const char *nearest = NULL;
    const int limit = word ? (int)strnlen(word, LENGTH) / 3 : 0;
    int best = (limit < 2 ? 2 : limit) + 1;

    for (int i = 0; word && words && i < count; i++) {
        const int distance = edit_distance(word, words[i]);

        if (distance < best && distance < (int)strlen(words[i])) { /* at least one character must agree */
            best = distance;
            nearest = words[i];
        }
    }
    return nearest;
}
