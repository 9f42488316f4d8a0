/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of names in messages about storage options, and what formats can do. */
#ifndef TESS_FORMAT_FIT_WORDS_H
#define TESS_FORMAT_FIT_WORDS_H

#include "matrix/format.h"

enum { FIT_MAX_WORDS = 32, FIT_TEXT = 192 };

typedef struct fit_words {
    const char *word[FIT_MAX_WORDS];
    int count;
    const char *lead; /* begins the text; may be NULL */
    char text[FIT_TEXT];
} fit_words;

typedef bool (*fit_capability)(const tess_format_capabilities *can);

void fit_add_word(fit_words *list, const char *word);
/* "row, entry or block" */
const char *fit_join(fit_words *list, const char *last);
/* Of a set. */
const char *fit_granularities(unsigned set, fit_words *list);
/* The names of the formats with a capability, added to the list and joined. */
const char *fit_list_formats(fit_capability has, const char *last, fit_words *list);
const char *fit_formats(fit_capability has, fit_words *list);
/* As hints: "choose csr or ellr", "choose fp64 or fp32". */
const char *fit_choose_format(fit_capability has, fit_words *list);
const char *fit_choose_precision(unsigned set, fit_words *list);

bool fit_takes_parts(const tess_format_capabilities *can);
bool fit_takes_papers(const tess_format_capabilities *can);
/* Tiles; and split, whose parts are multiplied as Tezcan et al. 2022 do. */
bool fit_has_paper_kernel(const tess_format_capabilities *can);
bool fit_permutes(const tess_format_capabilities *can);

/* Whether policy lossless or error-bound chooses the precision of the whole matrix. */
bool fit_chooses_whole(const tess_format_capabilities *can, const tess_storage_options *o);

#endif
