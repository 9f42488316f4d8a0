/* SPDX-License-Identifier: Apache-2.0 */
#include "format/fit_words.h"

#include <stdio.h>

/* ---- lists ---- */

void fit_add_word(fit_words *list, const char *word)
{
    if (list->count < FIT_MAX_WORDS) { list->word[list->count++] = word; }
}

const char *fit_join(fit_words *list, const char *last)
{
    size_t length = (size_t)snprintf(list->text, sizeof list->text, "%s", list->lead ? list->lead : "");

    for (int i = 0; i < list->count && length < sizeof list->text; i++) {
        const char *before = i == 0 ? "" : i == list->count - 1 ? last : ", ";

        length += (size_t)snprintf(list->text + length, sizeof list->text - length, "%s%s", before, list->word[i]);
    }
    return list->text;
}

const char *fit_granularities(unsigned set, fit_words *list)
{
    for (int g = 0; g < 32; g++) {
        if (tess_in_set(set, g)) { fit_add_word(list, tess_granularity_name((tess_granularity)g)); }
    }
    return fit_join(list, " or ");
}

const char *fit_list_formats(fit_capability has, const char *last, fit_words *list)
{
    for (int i = 0; i < tess_format_count(); i++) {
        const tess_format format = tess_format_at(i);

        if (has(tess_format_can(format))) { fit_add_word(list, tess_format_name(format)); }
    }
    return fit_join(list, last);
}

const char *fit_formats(fit_capability has, fit_words *list)
{
    return fit_list_formats(has, " or ", list);
}

const char *fit_choose_format(fit_capability has, fit_words *list)
{
    list->lead = "choose ";
    return fit_formats(has, list);
}

const char *fit_choose_precision(unsigned set, fit_words *list)
{
    list->lead = "choose ";
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        if (tess_in_set(set, p)) { fit_add_word(list, tess_precision_name((tess_precision)p)); }
    }
    return fit_join(list, " or ");
}

/* ---- capabilities ---- */

bool fit_takes_parts(const tess_format_capabilities *can)
{
    return can->takes_parts != 0;
}

bool fit_takes_papers(const tess_format_capabilities *can)
{
    return can->takes_papers != 0;
}

bool fit_has_paper_kernel(const tess_format_capabilities *can)
{
    return can->takes_papers != 0 || (can->takes_bases != 0 && can->copies_levels == 0);
}

bool fit_permutes(const tess_format_capabilities *can)
{
    return tess_in_set(can->row_orders, TESS_ROW_ORDER_PERMUTED);
}

bool fit_chooses_whole(const tess_format_capabilities *can, const tess_storage_options *o)
{
    return !can->takes_parts && tess_policy_judges_values(o->policy.policy);
}
