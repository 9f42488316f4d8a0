/* SPDX-License-Identifier: Apache-2.0 */
/* The options of tiles for studies of the papers, and their part of reports. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>

enum { KEY_KERNEL = 800, KEY_TCKI, KEY_LAYOUT };

void cli_storage_choice_init(cli_storage_choice *choice, tess_storage_options *options)
{
    *choice = (cli_storage_choice){.options = options};
    tess_papers_storage_init(&choice->papers);
    options->papers = &choice->papers;
}

const tess_papers_storage *cli_papers(const tess_storage_options *options)
{
    static const tess_papers_storage none = {.size = sizeof none};
    return options->papers == NULL ? &none : options->papers;
}

/* ---- options ---- */

/* Parses D,TL,TU. Refuses 0, which would mean the default. */
static void parse_thresholds(struct argp_state *state, const char *text, tess_tcki_thresholds *out)
{
    double value[3];
    const char *at = text;
    for (int k = 0; k < 3; k++) {
        char *end = NULL;
        value[k] = strtod(at, &end);
        if (end == at || *end != (k < 2 ? ',' : '\0') || !(value[k] > 0.0) || !isfinite(value[k])) {
            argp_error(state, "--tcki-thresholds: '%s' is not three numbers above 0, such as 0.02,0.2,0.9", text);
        }
        at = end + 1;
    }
    if (value[1] > value[2]) {
        argp_error(state, "--tcki-thresholds: in '%s' the second number is above the third", text);
    }
    *out = (tess_tcki_thresholds){value[0], value[1], value[2]};
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    tess_papers_storage *papers = &((cli_storage_choice *)state->input)->papers;
    switch (key) {
    case KEY_KERNEL: papers->kernel = (tess_kernel)cli_parse_name(state, "kernel", arg, "tess_kernel"); return 0;
    case KEY_TCKI: parse_thresholds(state, arg, &papers->tcki_thresholds); return 0;
    case KEY_LAYOUT: papers->layout = (tess_layout)cli_parse_name(state, "layout", arg, "tess_layout"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option papers_options[] = {
    {"layout", KEY_LAYOUT, "NAME", 0,
     "tiles: {tess_layout} (default grouped)\n"
     "grouped: blocks of one precision together\n"
     "resident: 16x16 tiles, each by itself, which --narrowing needs",
     CLI_GROUP_PAPERS},
    {"kernel", KEY_KERNEL, "NAME", 0,
     "tiles, split: {tess_kernel} (default default)\n"
     "default: of this library; paper: tiles: TCKI as printed, with atomic additions; split: CSR-Vector on a GPU",
     CLI_GROUP_PAPERS},
    {"tcki-thresholds", KEY_TCKI, "D,TL,TU", 0,
     "kernel paper: formats of blocks (default 0.02,0.2,0.9)\n"
     "COO below density D, else ELL below the variation TL of row lengths, "
     "HYB above TU, CSR between",
     CLI_GROUP_PAPERS},
    {0}};
const struct argp cli_papers_argp = {.options = papers_options, .parser = parse_option};

/* ---- what does not go together ---- */

int cli_check_papers(tess_context *ctx, const tess_storage_options *options)
{
    const tess_papers_storage *papers = cli_papers(options);
    const tess_tcki_thresholds *t = &papers->tcki_thresholds;
    tess_storage_options asked; /* only what belongs to the papers */
    if (papers->kernel != TESS_KERNEL_PAPER && (t->density != 0.0 || t->low != 0.0 || t->high != 0.0)) {
        cli_error("--tcki-thresholds needs --kernel paper");
        return CLI_USAGE;
    }
    if (papers->kernel == TESS_KERNEL_DEFAULT && papers->layout == TESS_LAYOUT_GROUPED) { return 0; }
    tess_storage_options_init(&asked);
    asked.papers = options->papers;
    if ((int)options->format >= 0) { asked.format = options->format; } /* compare: no format was given */
    if (cli_is_mixed(options)) { asked.policy.policy = options->policy.policy; }
    asked.policy.granularity = TESS_GRANULARITY_MATRIX; /* open */
    asked.policy.block_rows = options->policy.block_rows;
    asked.policy.block_cols = options->policy.block_cols;
    const tess_status status = tess_storage_options_check(ctx, -1, -1, &asked);
    if (status == TESS_SUCCESS) { return 0; }
    (void)cli_report_failure(ctx, status);
    return CLI_USAGE;
}

/* ---- reports ---- */

void cli_add_papers_json(json_t *object, const tess_storage_options *options)
{
    const tess_papers_storage *papers = cli_papers(options);
    const tess_tcki_thresholds *t = &papers->tcki_thresholds;
    json_object_set_new(object, "kernel", json_string(tess_kernel_name(papers->kernel)));
    json_object_set_new(object, "layout", json_string(tess_layout_name(papers->layout)));
    json_object_set_new(object, "tcki_thresholds",
                        t->density > 0.0 ? json_pack("[f, f, f]", t->density, t->low, t->high) : json_null());
}

void cli_print_block_formats(const cli_block_formats *formats)
{
    if (!formats->known) { return; }
    printf("%-17s %lld COO, %lld CSR, %lld ELL, %lld HYB\n", "blocks stored as",
           (long long)formats->count[TESS_TCKI_COO], (long long)formats->count[TESS_TCKI_CSR],
           (long long)formats->count[TESS_TCKI_ELL], (long long)formats->count[TESS_TCKI_HYB]);
}

json_t *cli_block_formats_json(const cli_block_formats *formats)
{
    if (!formats->known) { return json_null(); }
    return json_pack("{sI sI sI sI}", "coo", (json_int_t)formats->count[TESS_TCKI_COO], "csr",
                     (json_int_t)formats->count[TESS_TCKI_CSR], "ell", (json_int_t)formats->count[TESS_TCKI_ELL], "hyb",
                     (json_int_t)formats->count[TESS_TCKI_HYB]);
}

cli_block_formats cli_find_block_formats(const tess_matrix *stored, const tess_storage_options *options)
{
    cli_block_formats formats = {.known = false};
    if (cli_papers(options)->kernel == TESS_KERNEL_PAPER) {
        formats.known = tess_matrix_tcki_counts(stored, formats.count) == TESS_SUCCESS;
    }
    return formats;
}
