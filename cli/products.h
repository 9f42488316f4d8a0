/* SPDX-License-Identifier: Apache-2.0 */
/* Products y = A x, their errors and their time. */
#ifndef TESS_CLI_PRODUCTS_H
#define TESS_CLI_PRODUCTS_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include <tessera/tessera.h>

/* ---- product.c: products against an extended-precision reference ---- */

typedef struct cli_reference {
    int64_t nrows, longest_row;
    long double *y;         /* A x */
    long double *magnitude; /* |A| |x| */
} cli_reference;
typedef struct cli_error_norms {
    double componentwise; /* max |y - reference| / (|A| |x|) */
    double relative;      /* ||y - reference||_2 / ||reference||_2 */
} cli_error_norms;
int cli_reference_create(const tess_matrix *a, const tess_vector *x, cli_reference *out);
void cli_reference_free(cli_reference *reference);
int cli_reference_error(const cli_reference *reference, const tess_vector *y, cli_error_norms *out);
/* The backward error of what is stored, of the kind that policy error-bound of the options bounds. */
int cli_measure_storage(const tess_matrix *a, const tess_matrix *stored, const tess_policy_options *policy,
                        double *backward_error);

typedef struct cli_timing {
    int repeats;
    double median, fastest; /* seconds of one product */
    double bytes;           /* moved, by model */
} cli_timing;
/* y := A x with x and y in the order of the matrix. They are permuted to the order of the storage, and back, outside
   the measured time. */
int cli_time_product(const tess_matrix *a, tess_row_order order, const tess_vector *x, tess_vector *y, int repeats,
                     cli_timing *out);

/* ---- digits.c: significant digits of products ---- */

enum { CLI_EXACT_FP64, CLI_EXACT_EXTENDED, CLI_EXACT_COUNT };

typedef struct cli_digits_options {
    bool wanted, reference_given, leave_out[CLI_EXACT_COUNT];
} cli_digits_options;                     /* initially: only against the FP64 product */
extern const struct argp cli_digits_argp; /* --digits --reference; input: cli_digits_options */

/* The exact products that digits are counted against, on the host; NULL: not requested. */
typedef struct cli_exact {
    tess_vector *y[CLI_EXACT_COUNT];
} cli_exact;
typedef struct cli_digits {
    tess_digit_counts counts[CLI_EXACT_COUNT];
} cli_digits;
/* `reference` is that of a and x; it is rounded to FP64. Creates only what was requested. Free it after a failure too.
 */
int cli_exact_create(const tess_matrix *a, const tess_vector *x, const cli_reference *reference,
                     const cli_digits_options *options, cli_exact *out);
void cli_exact_free(cli_exact *exact);
int cli_count_digits(const cli_exact *exact, const tess_vector *y, cli_digits *out);
void cli_print_digits_head(int reference);
void cli_print_digits(const tess_digit_counts *counts);                    /* the rest of a line */
json_t *cli_digits_json(const cli_exact *exact, const cli_digits *digits); /* null where there is no reference */

#endif
