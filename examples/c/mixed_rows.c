/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix stored by rows in FP64 and FP32, all rows in both (format composite): products in FP32 alone, with each row
 * in the precision that a policy assigned to it, and in FP64 alone. Shows: policy, assignment and its summary,
 * conversion, products at each level.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

/* Prints why `call` failed. Every function of the library returns a status; the context holds the detail. */
static int check(const tess_context *ctx, tess_status status, const char *call)
{
    if (status == TESS_SUCCESS) { return 1; }
    fprintf(stderr, "%s: %s", call, tess_status_text(status));
    if (ctx) { fprintf(stderr, ": %s", tess_context_last_error(ctx)->message); }
    fprintf(stderr, "\n");
    return 0;
}

#define TRY(call)                                         \
    do {                                                  \
        if (!check(ctx, (call), #call)) { goto cleanup; } \
    } while (0)

static void print_summary(const tess_assignment_summary *s)
{
    printf("mean magnitude %.3g\n", s->mean_magnitude);
    for (int l = 0; l < s->options.nlevels; l++) {
        printf("%s: range %.3g, %lld of %lld rows, %lld nonzeros\n", tess_precision_name(s->options.level[l].precision),
               s->range[l], (long long)s->items_at[l], (long long)s->items, (long long)s->nonzeros_at[l]);
    }
    printf("largest relative error of a stored value %.2e\n", s->largest_relative_error);
}

/* ||y - exact|| / ||exact|| */
static double difference(int64_t n, const double *y, const double *exact)
{
    double above = 0.0, below = 0.0;

    for (int64_t i = 0; i < n; i++) {
        above += (y[i] - exact[i]) * (y[i] - exact[i]);
        below += exact[i] * exact[i];
    }
    return sqrt(above / below);
}

/* y := A x of each kind, and how far it is from the FP64 matrix's. False: a call failed, or a product is too far off.
 */
static int multiply(tess_context *ctx, const tess_matrix *a, const tess_matrix *stored)
{
    /* of storing in FP32; of sums of five products */
    const double unit[] = {0x1p-24, 0x1p-24, 0x1p-50};
    const char *names[] = {"fp32", "mixed", "fp64"};
    const int64_t n = tess_matrix_nrows(a);
    double *exact = malloc(sizeof(double) * (size_t)n), *answer = malloc(sizeof(double) * (size_t)n), error;
    tess_vector *x = NULL, *y = NULL;
    int ok = 0, near = 1;

    if (!exact || !answer) { goto cleanup; }
    TRY(tess_vector_create(ctx, n, TESS_PRECISION_FP64, &x));
    TRY(tess_vector_create(ctx, n, TESS_PRECISION_FP64, &y));
    TRY(tess_vector_set_random(x, 1, 0.5, 1.5));
    TRY(tess_matrix_spmv(a, TESS_OP_NONE, 1.0, x, 0.0, y));
    TRY(tess_vector_get(y, exact, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    for (int k = 0; k < 3; k++) {
        if (k == 1) {
            TRY(tess_matrix_spmv(stored, TESS_OP_NONE, 1.0, x, 0.0, y)); /* each row as assigned */
        } else {
            TRY(tess_matrix_spmv_level(stored, k == 0 ? 1 : 0, 1.0, x, 0.0, y)); /* all rows at one level */
        }
        TRY(tess_vector_get(y, answer, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
        error = difference(n, answer, exact);
        printf("%-5s differs by %.2e\n", names[k], error);
        near = near && error <= 16.0 * unit[k]; /* 16: above || |A| |x| || / ||A x|| here */
    }
    ok = near;
cleanup:
    tess_vector_destroy(x);
    tess_vector_destroy(y);
    free(answer);
    free(exact);
    return ok;
}

int main(void)
{
    const char *const arguments[] = {"60", "3"};
    tess_context *ctx = NULL;
    tess_matrix *a = NULL, *stored = NULL;
    tess_assignment *assignment = NULL;
    tess_assignment_summary summary = {.size = sizeof summary};
    tess_policy_options policy;
    tess_storage_options storage;
    int ok = 0;

    TRY(tess_context_create(NULL, &ctx)); /* NULL: the GPU when there is one, otherwise the CPU */
    printf("Tessera %s on %s\n", tess_version(), tess_context_device_name(ctx));
    TRY(tess_gallery_create(ctx, "randomdiffusion2d", 2, arguments,
                            &a)); /* coefficients from cell to cell: exp(3 normal) */

    /* A row may be FP32 where 99 % of its values are below a tenth of the mean magnitude. */
    tess_policy_options_init(&policy);
    TRY(tess_policy_options_parse("mean-range:0.1", &policy));
    TRY(tess_precision_levels_parse("fp64,fp32", &policy));
    TRY(tess_assignment_create(a, &policy, &assignment));
    TRY(tess_assignment_measure_error(assignment, a));
    tess_assignment_get_summary(assignment, &summary);
    print_summary(&summary);

    tess_storage_options_init(&storage);
    storage.format = TESS_FORMAT_COMPOSITE;
    TRY(tess_matrix_convert_assigned(a, &storage, assignment, &stored));
    ok = multiply(ctx, a, stored) && summary.nonzeros_at[1] > 0;
cleanup:
    tess_matrix_destroy(stored); /* before the assignment that it borrows */
    tess_assignment_destroy(assignment);
    tess_matrix_destroy(a);
    tess_context_destroy(ctx);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
