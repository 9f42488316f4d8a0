/* SPDX-License-Identifier: Apache-2.0 */
/* Policies and assignments as text and JSON. */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text ---- */

const char *cli_precision_text(tess_precision precision, bool exact, char *buffer, size_t size)
{
    const bool shown = exact && precision != TESS_PRECISION_FP64;
    snprintf(buffer, size, "%s%s", tess_precision_name(precision), shown ? " (exact)" : "");
    return buffer;
}

/* `16x16`; NULL where there are no blocks. */
static const char *block_text(const tess_policy_options *o, char *buffer, size_t size)
{
    if (o->granularity != TESS_GRANULARITY_BLOCK) { return NULL; }
    snprintf(buffer, size, "%dx%d", o->block_rows, o->block_cols);
    return buffer;
}

static int64_t all_nonzeros(const tess_assignment_summary *s)
{
    int64_t all = s->left_out;
    for (int l = 0; l < TESS_MAX_LEVELS; l++) {
        all += s->nonzeros_at[l];
    }
    return all;
}

/* 0 where there are none. */
static double nonzeros_per_item(const tess_assignment_summary *s)
{
    return s->items > 0 ? (double)all_nonzeros(s) / (double)s->items : 0.0;
}

static bool has_range(const tess_policy_options *o)
{
    return o->policy != TESS_POLICY_NONE && o->policy != TESS_POLICY_LOSSLESS && o->policy != TESS_POLICY_ERROR_BOUND;
}

static bool has_mean(const tess_policy_options *o)
{
    return o->policy == TESS_POLICY_MEAN_RANGE || o->policy == TESS_POLICY_MEAN_3STD;
}

static void print_choice(const tess_assignment_summary *s)
{
    const tess_policy_options *o = &s->options;
    printf("%-17s by %s, policy %s", "assignment", tess_granularity_name(o->granularity), tess_policy_name(o->policy));
    if (o->parameter > 0.0) { printf(":%g%s", o->parameter, o->choose_parameter ? " (chosen)" : ""); }
    if (o->matrix_norm) { printf(":matrix"); }
    if (o->componentwise) { printf(":componentwise"); }
    if (has_range(o) && o->granularity == TESS_GRANULARITY_ROW) {
        if (o->at_most_one) {
            printf(", share at-most-one");
        } else {
            printf(", share %g %%", o->share);
        }
    }
    if (has_mean(o)) { printf("; mean magnitude %.4g", s->mean_magnitude); }
    if (o->policy == TESS_POLICY_MEAN_3STD) { printf(", standard deviation %.4g", s->std_magnitude); }
    if (o->policy == TESS_POLICY_MEAN_3STD && o->nlevels > 1) { printf(", lambda %.4g", s->range[1]); }
    if (o->allow_underflow) { printf("; underflow allowed"); }
    if (s->empty > 0) { printf("; %s", tess_count(s->empty, "empty row").text); }
    putchar('\n');
}

static void print_level(const tess_assignment_summary *s, int l)
{
    static const char *const items[] = {"matrix|matrix", "row", "entry", "block"};
    const tess_policy_options *o = &s->options;
    int64_t all = all_nonzeros(s);
    char label[32], range[32] = "all else";
    snprintf(label, sizeof label, "  %s%s", tess_precision_name(o->level[l].precision), s->scaled[l] ? ":scaled" : "");
    if (l > 0 && has_range(o)) { snprintf(range, sizeof range, "|a| < %.4g", s->range[l]); }
    if (l > 0 && o->policy == TESS_POLICY_LOSSLESS) {
        snprintf(range, sizeof range, "no loss");
        if (o->parameter > 0.0) { snprintf(range, sizeof range, "loss up to %g", o->parameter); }
    }
    if (l > 0 && o->policy == TESS_POLICY_ERROR_BOUND) { snprintf(range, sizeof range, "within the bound"); }
    printf("%-17s %s: %s, %s (%.4g %%)", label, range, tess_count(s->items_at[l], items[o->granularity]).text,
           tess_count(s->nonzeros_at[l], "nonzero").text,
           all > 0 ? 100.0 * (double)s->nonzeros_at[l] / (double)all : 0.0);
    if (s->largest_error_at[l] > 0.0) { printf(", error %.3g at most", s->largest_error_at[l]); }
    putchar('\n');
}

static void print_left_out(const tess_assignment_summary *s)
{
    if (s->left_out == 0) { return; }
    printf("%-17s within the bound: %s (%.4g %%), stored nowhere\n", "  left out",
           tess_count(s->left_out, "entry").text, 100.0 * (double)s->left_out / (double)all_nonzeros(s));
}

void cli_print_untouched(const tess_policy_options *o, const int64_t per_precision[TESS_MAX_PRECISIONS])
{
    int64_t low = 0;
    if (o->policy == TESS_POLICY_NONE) { return; }
    for (int p = 0; p < TESS_MAX_PRECISIONS; p++) {
        low += p == TESS_PRECISION_FP64 ? 0 : per_precision[p];
    }
    if (low > 0 || per_precision[TESS_PRECISION_FP64] == 0) { return; }
    printf("%-17s policy %s leaves nothing low: all %s in fp64\n", "NOTE", tess_policy_name(o->policy),
           tess_count(per_precision[TESS_PRECISION_FP64], "nonzero is|nonzeros are").text);
}

/* Of a matrix that was stored by a policy. */
static bool count_nonzeros(const tess_matrix *stored, tess_assignment_summary *s,
                           int64_t per_precision[TESS_MAX_PRECISIONS])
{
    for (int p = 0; p < TESS_MAX_PRECISIONS; p++) {
        per_precision[p] = 0;
    }
    if (tess_matrix_get_assignment(stored, s) != TESS_SUCCESS) { return false; }
    for (int l = 0; l < s->options.nlevels; l++) {
        per_precision[s->options.level[l].precision] += s->nonzeros_at[l];
    }
    return true;
}

void cli_print_untouched_matrix(const tess_matrix *stored)
{
    tess_assignment_summary s = {.size = sizeof s};
    int64_t per_precision[TESS_MAX_PRECISIONS];
    if (count_nonzeros(stored, &s, per_precision) && s.left_out == 0) {
        cli_print_untouched(&s.options, per_precision);
    }
}

bool cli_count_precisions(const tess_matrix *stored, int64_t per_precision[TESS_MAX_PRECISIONS])
{
    tess_assignment_summary s = {.size = sizeof s};
    return count_nonzeros(stored, &s, per_precision);
}

tess_status cli_measure_assignment(const tess_matrix *a, const tess_storage_options *options,
                                   tess_assignment_summary *out)
{
    tess_storage_options settled = *options;
    tess_assignment *made = NULL;
    cli_settle_granularity(&settled);
    tess_status status = tess_assignment_create(a, &settled.policy, &made);
    if (status == TESS_SUCCESS) { status = tess_assignment_measure_error(made, a); }
    if (status == TESS_SUCCESS) { tess_assignment_get_summary(made, out); }
    tess_assignment_destroy(made);
    return status;
}

void cli_print_backward_error(const tess_assignment_summary *s)
{
    if (s->options.policy != TESS_POLICY_ERROR_BOUND || s->backward_error < 0.0) { return; }
    printf("%-17s %.3g at most, by storage; bound %g, of %s\n", "backward error", s->backward_error,
           s->options.parameter,
           s->options.componentwise ? "each value"
           : s->options.matrix_norm ? "the norm of the matrix"
                                    : "the norm of each row");
}

void cli_print_precisions(const tess_assignment_summary *s)
{
    char block[16];
    print_choice(s);
    if (block_text(&s->options, block, sizeof block) != NULL) {
        printf("%-17s %lld of %s, %.4g nonzeros each on average\n", "blocks", (long long)s->items, block,
               nonzeros_per_item(s));
    }
    for (int l = 0; l < s->options.nlevels; l++) {
        print_level(s, l);
    }
    print_left_out(s);
    cli_print_backward_error(s);
}

/* ---- bytes by formula ---- */

typedef struct policy_bytes {
    double split, composite; /* row pointers over the rows that are not empty; composite < 0: there is none */
    double paper_split, paper_composite; /* Tezcan et al. 2022, Table I, for any number of levels */
    double permutation;                  /* 4 bytes a row, to scatter y to its original order */
} policy_bytes;

/*
 * With M rows (m not empty), V nonzeros, V_l of them at level l of L, b_l bytes a value and offsets of o bytes: split
 * is o (m + 1) + sum V_l (4 + b_l), composite o (m + 1) + V (4 + sum b_l); scales add 2 m. The paper's have a row
 * pointer per part, o (M + L), or one, o (M + 1), and 4 bytes for each separation. Split by entry or block: L row
 * pointers of M + 1 (Zhao et al. 2024, Table 2, without the vectors).
 */
static policy_bytes bytes_of(const tess_assignment_summary *s, int64_t nrows)
{
    double nnz = 0.0, values = 0.0, copies = 0.0, rows = (double)(nrows - s->empty), scales = 0.0;
    double levels = s->options.nlevels, all_rows = (double)nrows;
    for (int l = 0; l < s->options.nlevels; l++) {
        double bytes = (double)tess_precision_bytes(s->options.level[l].precision);
        nnz += (double)s->nonzeros_at[l];
        values += (double)s->nonzeros_at[l] * (4.0 + bytes);
        copies += bytes;
        if (s->scaled[l]) { scales = 2.0 * rows; }
    }
    double offset = nnz < 0x1p31 ? 4.0 : 8.0, separations = 4.0 * (levels - 1.0);
    if (s->options.granularity == TESS_GRANULARITY_ENTRY || s->options.granularity == TESS_GRANULARITY_BLOCK) {
        double split = levels * offset * (all_rows + 1.0) + values + (scales > 0.0 ? 2.0 * (double)s->items : 0.0);
        return (policy_bytes){split, -1.0, split, -1.0, 0.0};
    }
    return (policy_bytes){.split = offset * (rows + 1.0) + values + scales,
                          .composite = offset * (rows + 1.0) + nnz * (4.0 + copies) + scales,
                          .paper_split = offset * (all_rows + levels) + separations + values,
                          .paper_composite = offset * (all_rows + 1.0) + separations + nnz * (4.0 + copies),
                          .permutation = 4.0 * rows};
}

void cli_print_parameter(const tess_storage_options *options)
{
    const tess_policy_options *o = &options->policy;
    if (!o->choose_parameter || !cli_takes_policy(options->format)) { return; }
    printf("%-17s %s:%g by %s, chosen for %s\n", "policy", tess_policy_name(o->policy), o->parameter,
           tess_granularity_name(o->granularity), tess_format_name(options->format));
}

void cli_print_assignment(const tess_assignment_summary *s, int64_t nrows)
{
    char split[32], composite[32], permutation[32];
    policy_bytes bytes = bytes_of(s, nrows);
    cli_print_precisions(s);
    printf("%-17s %.3g relative at most\n", "storage error", s->largest_relative_error);
    int64_t per_precision[TESS_MAX_PRECISIONS] = {0};
    for (int l = 0; l < s->options.nlevels; l++) {
        per_precision[s->options.level[l].precision] += s->nonzeros_at[l];
    }
    if (s->left_out == 0) { cli_print_untouched(&s->options, per_precision); }
    printf("%-17s split %s", "mixed memory", cli_bytes_text(bytes.split, split, sizeof split));
    if (bytes.composite >= 0.0) {
        printf(", composite %s; y in its original order adds %s",
               cli_bytes_text(bytes.composite, composite, sizeof composite),
               cli_bytes_text(bytes.permutation, permutation, sizeof permutation));
    }
    putchar('\n');
}

/* ---- JSON ---- */

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static json_t *level_json(const tess_assignment_summary *s, int l)
{
    return json_pack("{ss sb so sI sI so}", "precision", tess_precision_name(s->options.level[l].precision), "scaled",
                     s->scaled[l], "range", cli_json_real(l == 0 ? (double)INFINITY : s->range[l]), "items",
                     (json_int_t)s->items_at[l], "nonzeros", (json_int_t)s->nonzeros_at[l], "largest_relative_error",
                     s->largest_error_at[l] < 0.0 ? json_null() : cli_json_real(s->largest_error_at[l]));
}

static json_t *bytes_json(double bytes)
{
    return bytes < 0.0 ? json_null() : json_integer((json_int_t)bytes);
}

json_t *cli_assignment_json(const tess_assignment_summary *s, int64_t nrows)
{
    policy_bytes bytes = bytes_of(s, nrows);
    const tess_policy_options *o = &s->options;
    char block[16];
    json_t *root = json_object(), *levels = json_array();
    for (int l = 0; l < o->nlevels; l++) {
        json_array_append_new(levels, level_json(s, l));
    }
    set(root, "granularity", json_string(tess_granularity_name(o->granularity)));
    set(root, "policy", json_string(tess_policy_name(o->policy)));
    set(root, "policy_parameter", o->policy == TESS_POLICY_NONE ? json_null() : cli_json_real(o->parameter));
    set(root, "parameter_chosen", json_boolean(o->choose_parameter));
    set(root, "share", o->at_most_one ? json_string("at-most-one") : cli_json_real(o->share));
    set(root, "fp8_chosen", json_boolean(o->choose_fp8));
    set(root, "allow_underflow", json_boolean(o->allow_underflow));
    set(root, "items", json_integer(s->items));
    set(root, "empty", json_integer(s->empty));
    set(root, "mean_magnitude", has_mean(o) ? cli_json_real(s->mean_magnitude) : json_null());
    set(root, "std_magnitude", o->policy == TESS_POLICY_MEAN_3STD ? cli_json_real(s->std_magnitude) : json_null());
    set(root, "block", json_pack("s?", block_text(o, block, sizeof block)));
    set(root, "nonzeros_per_block",
        o->granularity == TESS_GRANULARITY_BLOCK ? cli_json_real(nonzeros_per_item(s)) : json_null());
    set(root, "levels", levels);
    set(root, "largest_relative_error", cli_json_real(s->largest_relative_error));
    set(root, "left_out", json_integer(s->left_out));
    set(root, "matrix_norm", json_boolean(o->matrix_norm));
    set(root, "componentwise", json_boolean(o->componentwise));
    set(root, "backward_error", s->backward_error < 0.0 ? json_null() : cli_json_real(s->backward_error));
    set(root, "split_bytes", bytes_json(bytes.split));
    set(root, "composite_bytes", bytes_json(bytes.composite));
    set(root, "paper_split_bytes", bytes_json(bytes.paper_split));
    set(root, "paper_composite_bytes", bytes_json(bytes.paper_composite));
    set(root, "permutation_bytes", bytes_json(bytes.permutation));
    return root;
}
