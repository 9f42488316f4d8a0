/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of the library in options, help and messages. No format is named here: the code asks for capabilities. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

bool cli_in_set(unsigned set, int value)
{
    return value >= 0 && value < 32 && (set >> value & 1U) != 0;
}

/* ---- capabilities ---- */

static bool is_any(const tess_format_capabilities *can)
{
    return can->precisions != 0;
}

static bool is_whole(const tess_format_capabilities *can)
{
    return is_any(can) && !can->takes_parts;
}

bool cli_takes_parts(const tess_format_capabilities *can)
{
    return can->takes_parts != 0;
}

bool cli_copies_levels(const tess_format_capabilities *can)
{
    return can->copies_levels != 0;
}

bool cli_is_by_blocks(const tess_format_capabilities *can)
{
    return can->takes_parts && can->granularity == TESS_GRANULARITY_BLOCK;
}

bool cli_rounds_products(const tess_format_capabilities *can)
{
    return can->rounds_products != 0;
}

bool cli_takes_papers(const tess_format_capabilities *can)
{
    return can->takes_papers != 0;
}

static bool permutes(const tess_format_capabilities *can)
{
    return cli_in_set(can->row_orders, TESS_ROW_ORDER_PERMUTED);
}

tess_format cli_find_format(cli_capability has)
{
    for (int i = 0; i < tess_format_count(); i++) {
        if (has(tess_format_can(tess_format_at(i)))) { return tess_format_at(i); }
    }
    return TESS_FORMAT_AUTO;
}

/* ---- lists ---- */

/* "a, b or c" */
static const char *join(const char *const *words, int count, const char *last, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < count && length < size; i++) {
        const char *before = i == 0 ? "" : i == count - 1 ? last : ", ";
        length += (size_t)snprintf(text + length, size - length, "%s%s", before, words[i]);
    }
    return text;
}

static int list_formats(cli_capability has, const char **words)
{
    int count = 0;
    for (int i = 0; i < tess_format_count() && count < CLI_MAX_NAMES - 1; i++) {
        if (has(tess_format_can(tess_format_at(i)))) { words[count++] = tess_format_name(tess_format_at(i)); }
    }
    words[count] = NULL;
    return count;
}

const char *cli_formats_text(cli_capability has, const char *last, char *buffer, size_t size)
{
    const char *words[CLI_MAX_NAMES];
    return join(words, list_formats(has, words), last, buffer, size);
}

/* ---- what options amount to ---- */

bool cli_takes_policy(tess_format format)
{
    return cli_takes_parts(tess_format_can(format));
}

bool cli_is_mixed(const tess_storage_options *options)
{
    return options->format == TESS_FORMAT_AUTO ? options->policy.policy != TESS_POLICY_NONE
                                               : cli_takes_policy(options->format);
}

bool cli_chooses_whole(const tess_storage_options *options)
{
    return is_whole(tess_format_can(options->format)) &&
           (options->policy.policy == TESS_POLICY_LOSSLESS || options->policy.policy == TESS_POLICY_ERROR_BOUND);
}

void cli_settle_granularity(tess_storage_options *options)
{
    const tess_format_capabilities *can = tess_format_can(options->format);
    const bool read = can->takes_parts || cli_chooses_whole(options);
    if (options->policy.granularity == TESS_GRANULARITY_ROW && read &&
        !cli_in_set(can->granularities, TESS_GRANULARITY_ROW)) {
        options->policy.granularity = can->granularity;
    }
}

bool cli_storage_is_possible(const tess_storage_options *options)
{
    return cli_in_set(tess_format_can(options->format)->granularities, (int)options->policy.granularity);
}

tess_row_order cli_row_order(const tess_storage_options *options)
{
    return permutes(tess_format_can(options->format)) ? options->split.row_order : TESS_ROW_ORDER_ORIGINAL;
}

void cli_note_format(tess_format format, tess_storage_options *options)
{
    const tess_format_capabilities *can = tess_format_can(format);
    if (options->format != TESS_FORMAT_AUTO) { return; }
    options->format = format;
    if (options->policy.granularity == TESS_GRANULARITY_MATRIX) {
        options->policy.granularity = can->takes_parts ? can->granularity : TESS_GRANULARITY_ROW;
    }
}

void cli_complete_sweeps(const tess_precision_schedule *schedule, double range, tess_storage_options *storage)
{
    tess_policy_options *policy = &storage->policy;
    const bool mixed = schedule->count == 0 ? cli_is_mixed(storage) : cli_has_mixed(schedule);
    if (mixed && policy->policy == TESS_POLICY_NONE) {
        policy->policy = TESS_POLICY_MEAN_RANGE;
        policy->parameter = range;
    }
    if (mixed && !cli_is_mixed(storage)) {
        storage->split.base = storage->format;
        storage->format = cli_find_format(cli_copies_levels);
        policy->granularity = TESS_GRANULARITY_ROW;
    }
    const bool named = storage->format != TESS_FORMAT_AUTO;
    if (!cli_is_mixed(storage) || (named && !permutes(tess_format_can(storage->format)))) { return; }
    storage->split.row_order = TESS_ROW_ORDER_SYMMETRIC;
    if (storage->arithmetic != TESS_ARITHMETIC_FP32X2) { storage->arithmetic = TESS_ARITHMETIC_FP32; }
    policy->without_diagonal = 1;
}

void cli_note_choices(const tess_matrix *stored, tess_storage_options *options)
{
    tess_assignment_summary summary = {.size = sizeof summary};
    cli_note_format(tess_matrix_format(stored), options);
    if (options->split.base == TESS_FORMAT_AUTO) {
        options->split.base = tess_matrix_base(stored);
        options->split.low_base = tess_matrix_low_base(stored);
    }
    if (cli_chooses_whole(options)) { options->precision = tess_matrix_precision(stored); }
    if (tess_matrix_get_assignment(stored, &summary) != TESS_SUCCESS) { return; }
    if (options->policy.choose_parameter) { options->policy.parameter = summary.options.parameter; }
    if (summary.options.choose_fp8) {
        memcpy(options->policy.level, summary.options.level, sizeof options->policy.level);
        options->policy.nlevels = summary.options.nlevels;
        options->policy.choose_fp8 = 0; /* it has been chosen */
    }
}

const char *cli_format_text(tess_format format, bool chosen, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s%s", tess_format_name(format), chosen ? " (chosen)" : "");
    return buffer;
}
