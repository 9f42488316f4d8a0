/* SPDX-License-Identifier: Apache-2.0 */
/* What of storage does not go together, and tiles for studies of the papers in reports. */
#include "cli.h"

const tess_papers_storage *cli_papers(const tess_storage_options *options)
{
    static const tess_papers_storage none = {.size = sizeof none};
    return options->papers == NULL ? &none : options->papers;
}

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

int cli_check_storage(tess_context *ctx, const tess_storage_options *options)
{
    tess_storage_options asked = *options;
    if ((int)asked.precision < 0) { asked.precision = TESS_PRECISION_FP64; } /* compare: no precision was given */
    if (cli_check_papers(ctx, options) != 0) { return CLI_USAGE; }
    const tess_status status = tess_storage_options_check(ctx, -1, -1, &asked);
    if (status == TESS_SUCCESS) { return 0; }
    (void)cli_report_failure(ctx, status);
    return CLI_USAGE;
}

/* ---- reports ---- */

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
