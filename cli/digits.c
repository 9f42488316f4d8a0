/* SPDX-License-Identifier: Apache-2.0 */
/* Significant digits of products: Zhao et al. 2024, sections 2.2 and 4.2, as a table in the manner of Tables 3 and 4.
 */
#include "cli.h"

#include <stdlib.h>

enum { KEY_DIGITS = 700, KEY_REFERENCE };

static const char *const reference_names[] = {"fp64", "extended", "both", NULL};
static const char *const reference_texts[] = {"FP64 product of CSR on the host", "product in extended precision"};

static error_t parse_digits(int key, char *arg, struct argp_state *state)
{
    cli_digits_options *options = state->input;
    int word;
    switch (key) {
    case KEY_DIGITS: options->wanted = true; return 0;
    case KEY_REFERENCE:
        word = cli_parse_word(state, "reference", arg, reference_names);
        options->reference_given = true;
        options->leave_out[CLI_EXACT_FP64] = word == CLI_EXACT_EXTENDED;
        options->leave_out[CLI_EXACT_EXTENDED] = word == CLI_EXACT_FP64;
        return 0;
    case ARGP_KEY_END:
        if (options->reference_given && !options->wanted) { argp_error(state, "--reference needs --digits"); }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option digits_options[] = {
    {"digits", KEY_DIGITS, NULL, 0,
     "count how many significant digits the elements of y have; "
     "adds a row with matrix, x, y and products in fp32",
     TESS_SECTION_MAIN + 1},
    {"reference", KEY_REFERENCE, "NAME", 0,
     "digits are counted against: fp64, extended or both (default fp64)\n"
     "fp64: the product in FP64; extended: the product in extended precision",
     TESS_SECTION_MAIN + 1},
    {0}};
const struct argp cli_digits_argp = {.options = digits_options, .parser = parse_digits};

static tess_status set_extended(const cli_reference *reference, tess_vector *y)
{
    double *rounded = malloc(((size_t)reference->nrows + 1) * sizeof *rounded);
    if (rounded == NULL) { return TESS_OUT_OF_MEMORY; }
    for (int64_t i = 0; i < reference->nrows; i++) {
        rounded[i] = (double)reference->y[i];
    }
    tess_status status = tess_vector_set(y, rounded, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
    free(rounded);
    return status;
}

int cli_exact_create(const tess_matrix *a, const tess_vector *x, const cli_reference *reference,
                     const cli_digits_options *options, cli_exact *out)
{
    tess_context *ctx = tess_matrix_context(a);
    tess_status status = TESS_SUCCESS;
    for (int k = 0; k < CLI_EXACT_COUNT && options->wanted && status == TESS_SUCCESS; k++) {
        if (options->leave_out[k]) { continue; }
        status = tess_vector_create(ctx, tess_matrix_nrows(a), TESS_PRECISION_FP64, &out->y[k]);
        if (status != TESS_SUCCESS) { break; }
        status = k == CLI_EXACT_FP64 ? tess_matrix_spmv(a, TESS_OP_NONE, 1.0, x, 0.0, out->y[k])
                                     : set_extended(reference, out->y[k]);
    }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
}

void cli_exact_free(cli_exact *exact)
{
    for (int k = 0; k < CLI_EXACT_COUNT; k++) {
        tess_vector_destroy(exact->y[k]);
    }
    *exact = (cli_exact){.y = {NULL}};
}

int cli_count_digits(const cli_exact *exact, const tess_vector *y, cli_digits *out)
{
    tess_status status = TESS_SUCCESS;
    for (int k = 0; k < CLI_EXACT_COUNT && status == TESS_SUCCESS; k++) {
        if (exact->y[k] != NULL) { status = tess_vector_count_digits(exact->y[k], y, &out->counts[k]); }
    }
    return status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(tess_vector_context(y), status);
}

void cli_print_digits_head(int reference)
{
    printf("\nsignificant digits of y, against the %s\n%-6s %-10s %-9s", reference_texts[reference], "device", "format",
           "precision");
    for (int n = 0; n < TESS_MAX_DIGITS; n++) {
        printf(" %8d", n);
    }
    printf(" %7s%d %8s  %s\n", "ge", TESS_MAX_DIGITS, "ratio", "verdict");
}

void cli_print_digits(const tess_digit_counts *counts)
{
    for (int n = 0; n <= TESS_MAX_DIGITS; n++) {
        printf(" %8lld", (long long)counts->elements[n]);
    }
    printf(" %6.2f %%  %s", 100.0 * tess_digits_accuracy_ratio(counts),
           tess_digits_accurate(counts) ? "accurate" : "not accurate");
    if (counts->not_finite > 0) { printf(", %lld not finite", (long long)counts->not_finite); }
    putchar('\n');
}

static json_t *counts_json(const tess_digit_counts *counts)
{
    json_t *list = json_array();
    for (int n = 0; n <= TESS_MAX_DIGITS; n++) {
        json_array_append_new(list, json_integer(counts->elements[n]));
    }
    return json_pack("{so sI so sb}", "elements", list, "not_finite", (json_int_t)counts->not_finite, "accuracy_ratio",
                     cli_json_real(tess_digits_accuracy_ratio(counts)), "accurate", tess_digits_accurate(counts));
}

json_t *cli_digits_json(const cli_exact *exact, const cli_digits *digits)
{
    json_t *object = json_object();
    bool any = false;
    for (int k = 0; k < CLI_EXACT_COUNT; k++) {
        if (exact->y[k] == NULL) { continue; }
        json_object_set_new(object, reference_names[k], counts_json(&digits->counts[k]));
        any = true;
    }
    if (any) { return object; }
    json_decref(object);
    return json_null();
}
