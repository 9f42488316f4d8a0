/* SPDX-License-Identifier: Apache-2.0 */
/* tessera compare: products in every storage, against the FP64 product. */
#include "compare.h"

#include <stdlib.h>

static int measure(const tess_matrix *a, const tess_vector *x, tess_vector *y, const tess_storage_options *storage,
                   cli_products *all)
{
    tess_matrix *stored = NULL;
    cli_product_row *row = &all->rows[all->count];
    const tess_context *ctx = tess_matrix_context(a);
    tess_status status = tess_matrix_convert(a, storage, &stored);
    bool chosen =
        (int)all->options->storage.format != CLI_NOT_GIVEN &&
        ((int)all->options->storage.precision != CLI_NOT_GIVEN || cli_is_mixed(storage) || cli_chooses_whole(storage));
    if (status == TESS_UNSUPPORTED && !chosen) { return CLI_CONVERGED; } /* this device does not have it */
    if (status != TESS_SUCCESS) { return cli_report_failure(ctx, status); }
    *row = (cli_product_row){.device = cli_device_name(ctx),
                             .storage = *storage,
                             .vectors = tess_vector_precision(x),
                             .matrix_bytes = tess_matrix_bytes(stored)};
    cli_note_choices(stored, &row->storage);
    (void)cli_count_precisions(stored, row->nonzeros);
    int code = cli_time_product(stored, cli_row_order(&row->storage), x, y, all->options->repeats, &row->timing);
    if (code == CLI_CONVERGED) { code = cli_reference_error(&all->reference, y, &row->error); }
    if (code == CLI_CONVERGED) { code = cli_count_digits(&all->exact, y, &row->digits); }
    if (code == CLI_CONVERGED) { all->count++; }
    tess_matrix_destroy(stored);
    return code;
}

/* A policy chooses the precisions: one row, or none without a policy. */
static int measure_mixed(const tess_matrix *a, const tess_vector *x, tess_vector *y, tess_format format,
                         cli_products *all)
{
    tess_storage_options storage = all->options->storage;
    bool wanted = (int)storage.format == (int)format;
    bool fits = storage.policy.policy != TESS_POLICY_NONE && (int)storage.precision == CLI_NOT_GIVEN;
    storage.format = format;
    storage.precision = TESS_PRECISION_FP64;
    cli_settle_granularity(&storage);
    if (!wanted && !(fits && cli_storage_is_possible(&storage))) { return CLI_CONVERGED; }
    return measure(a, x, y, &storage, all);
}

static int measure_precisions(const tess_matrix *a, const tess_vector *x, tess_vector *y, tess_format format,
                              cli_products *all)
{
    int code = CLI_CONVERGED;
    int wanted = (int)all->options->storage.precision;
    tess_storage_options storage = all->options->storage;
    storage.format = format;
    if (cli_is_mixed(&storage)) { return measure_mixed(a, x, y, format, all); }
    if (cli_chooses_whole(&all->options->storage)) {
        storage.precision = TESS_PRECISION_FP64;
        return measure(a, x, y, &storage, all);
    }
    storage.policy.policy = TESS_POLICY_NONE; /* without --format, the policy is only for formats in parts */
    for (int p = 0; p < TESS_PRECISION_COUNT && code == CLI_CONVERGED; p++) {
        storage.precision = (tess_precision)p;
        if (wanted == CLI_NOT_GIVEN || wanted == p) { code = measure(a, x, y, &storage, all); }
    }
    return code;
}

/* The reference for digits (Zhao et al. 2024, Table 3): matrix, x, y and products all in FP32. */
static int measure_single(const tess_matrix *a, const tess_vector *x, cli_products *all)
{
    tess_context *ctx = tess_matrix_context(a);
    tess_vector *x_single = NULL, *y_single = NULL;
    tess_storage_options storage;
    tess_storage_options_init(&storage);
    storage.precision = TESS_PRECISION_FP32;
    tess_status status = tess_vector_create(ctx, tess_matrix_ncols(a), TESS_PRECISION_FP32, &x_single);
    if (status == TESS_SUCCESS) { status = tess_vector_copy(x, x_single); }
    if (status == TESS_SUCCESS) {
        status = tess_vector_create(ctx, tess_matrix_nrows(a), TESS_PRECISION_FP32, &y_single);
    }
    int code = status == TESS_SUCCESS ? measure(a, x_single, y_single, &storage, all) : cli_report_failure(ctx, status);
    tess_vector_destroy(x_single);
    tess_vector_destroy(y_single);
    return code;
}

/* A vector with the same values on another context. */
static tess_status copy_vector(const tess_vector *x, tess_context *ctx, tess_vector **out)
{
    tess_status status = tess_vector_create(ctx, tess_vector_size(x), TESS_PRECISION_FP64, out);
    if (status != TESS_SUCCESS) { return status; }
    return tess_vector_set(*out, tess_vector_data_const(x), TESS_PRECISION_FP64, TESS_MEMORY_HOST);
}

int cli_products_measure(const tess_matrix *a, cli_products *all)
{
    tess_vector *x = NULL, *y = NULL;
    tess_context *ctx = tess_matrix_context(a);
    tess_status status = tess_vector_create(ctx, tess_matrix_nrows(a), TESS_PRECISION_FP64, &y);
    if (status == TESS_SUCCESS) { status = copy_vector(all->x, ctx, &x); }
    int code = status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
    int wanted = (int)all->options->storage.format;
    if (wanted == (int)TESS_FORMAT_AUTO && code == CLI_CONVERGED) {
        code = measure_precisions(a, x, y, TESS_FORMAT_AUTO, all);
    }
    for (int i = 0; i < tess_format_count() && code == CLI_CONVERGED; i++) {
        const tess_format format = tess_format_at(i);
        if (wanted == CLI_NOT_GIVEN || wanted == (int)format) { code = measure_precisions(a, x, y, format, all); }
    }
    tess_vector_destroy(y);
    if (code == CLI_CONVERGED && all->options->digits.wanted) { code = measure_single(a, x, all); }
    tess_vector_destroy(x);
    return code;
}

static bool make_rows(cli_products *all)
{
    const size_t each = (size_t)tess_format_count() * TESS_PRECISION_COUNT + 1; /* and all in FP32 */
    all->rows = calloc(2 * each, sizeof *all->rows);
    return all->rows != NULL;
}

int cli_products_start(const tess_matrix *a, cli_products *all)
{
    tess_context *ctx = tess_matrix_context(a);
    const cli_products_options *options = all->options;
    if (!make_rows(all)) { return cli_report_failure(NULL, TESS_OUT_OF_MEMORY); }
    int code = cli_load_vector(ctx, &options->x, "x", tess_matrix_ncols(a), a, &all->x);
    if (code == CLI_CONVERGED && options->x_magnitude != 1.0) {
        tess_status status = tess_vector_scale(options->x_magnitude, all->x, TESS_ARITHMETIC_FP64);
        code = status == TESS_SUCCESS ? CLI_CONVERGED : cli_report_failure(ctx, status);
    }
    if (code == CLI_CONVERGED) { code = cli_reference_create(a, all->x, &all->reference); }
    if (code == CLI_CONVERGED) { code = cli_exact_create(a, all->x, &all->reference, &options->digits, &all->exact); }
    return code;
}

void cli_products_free(cli_products *all)
{
    free(all->rows);
    cli_exact_free(&all->exact);
    cli_reference_free(&all->reference);
    tess_vector_destroy(all->x);
}

/* ---- text and JSON ---- */

/* "fp32/fp32" if vectors and products are in FP32 too. */
static const char *precisions_text(const cli_product_row *row, char *buffer, size_t size)
{
    const char *name = tess_precision_name(row->storage.precision);
    if (cli_takes_policy(row->storage.format)) { return cli_levels_text(&row->storage.policy, buffer, size); }
    if (row->vectors == TESS_PRECISION_FP64) { return name; }
    snprintf(buffer, size, "%s/%s", name, tess_precision_name(row->vectors));
    return buffer;
}

static void print_digits(const cli_products *all)
{
    for (int k = 0; k < CLI_EXACT_COUNT; k++) {
        if (all->exact.y[k] == NULL) { continue; }
        cli_print_digits_head(k);
        for (int i = 0; i < all->count; i++) {
            char levels[64];
            const cli_product_row *row = &all->rows[i];
            printf("%-6s %-10s %-9s", row->device, tess_format_name(row->storage.format),
                   precisions_text(row, levels, sizeof levels));
            cli_print_digits(&row->digits.counts[k]);
        }
    }
}

void cli_products_print(const cli_products *all)
{
    char buffer[64];
    if (all->options->storage.arithmetic == TESS_ARITHMETIC_FP32) {
        printf("%-17s products of low values in fp32, sums in fp64\n", "arithmetic");
    }
    if (all->options->choice.chosen) { printf("%-17s chosen for the matrix\n", "format"); }
    printf("%-17s %s", "x", cli_shown(cli_vector_describe(&all->options->x, buffer, sizeof buffer)));
    if (all->options->x_magnitude != 1.0) { printf(" times %g", all->options->x_magnitude); }
    printf("; %s each, median, wall clock\n\n", tess_count(all->options->repeats, "product").text);
    printf("%-6s %-10s %-9s %10s %10s %8s %15s %15s\n", "device", "format", "precision", "bytes", "time", "GB/s",
           "componentwise", "norm error");
    for (int i = 0; i < all->count; i++) {
        char bytes[32], time[32], levels[64];
        const cli_product_row *row = &all->rows[i];
        printf("%-6s %-10s %-9s %10s %10s %8.2f %15.2e %15.2e\n", row->device, tess_format_name(row->storage.format),
               precisions_text(row, levels, sizeof levels),
               cli_bytes_text((double)row->matrix_bytes, bytes, sizeof bytes),
               cli_seconds_text(row->timing.median, time, sizeof time), 1e-9 * row->timing.bytes / row->timing.median,
               row->error.componentwise, row->error.relative);
    }
    for (int i = 0; i < all->count; i++) {
        cli_print_parameter(&all->rows[i].storage);
        if (cli_takes_policy(all->rows[i].storage.format)) {
            cli_print_untouched(&all->rows[i].storage.policy, all->rows[i].nonzeros);
        }
    }
    print_digits(all);
}

static json_t *row_json(const cli_product_row *row, const cli_exact *exact)
{
    json_t *item = json_pack("{ss ss ss sI}", "device", row->device, "format", tess_format_name(row->storage.format),
                             "matrix_precision", tess_precision_name(row->storage.precision), "matrix_bytes",
                             (json_int_t)row->matrix_bytes);
    if (item == NULL) { return NULL; }
    bool mixed = cli_takes_policy(row->storage.format);
    json_object_set_new(item, "policy", json_string(mixed ? tess_policy_name(row->storage.policy.policy) : "none"));
    json_object_set_new(item, "policy_parameter",
                        mixed && row->storage.policy.parameter > 0.0 ? cli_json_real(row->storage.policy.parameter)
                                                                     : json_null());
    json_object_set_new(item, "seconds_median", cli_json_real(row->timing.median));
    json_object_set_new(item, "seconds_fastest", cli_json_real(row->timing.fastest));
    json_object_set_new(item, "bytes_moved", cli_json_real(row->timing.bytes));
    json_object_set_new(item, "gigabytes_per_second", cli_json_real(1e-9 * row->timing.bytes / row->timing.median));
    json_object_set_new(item, "fp64_componentwise_error", cli_json_real(row->error.componentwise));
    json_object_set_new(item, "fp64_relative_error", cli_json_real(row->error.relative));
    json_object_set_new(item, "arithmetic", json_string(tess_arithmetic_name(row->storage.arithmetic)));
    json_object_set_new(item, "vector_precision", json_string(tess_precision_name(row->vectors)));
    json_object_set_new(item, "digits", cli_digits_json(exact, &row->digits));
    return item;
}

json_t *cli_products_json(const cli_products *all)
{
    json_t *list = json_array();
    for (int i = 0; i < all->count; i++) {
        json_array_append_new(list, row_json(&all->rows[i], &all->exact));
    }
    return list;
}
