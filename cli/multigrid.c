/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of the levels of algebraic multigrid: solve, info. */
#include "cli.h"

#include <math.h>

/* Cycles whose last contraction counts, and the seed of what they begin with. */
enum { TRIAL_CYCLES = 12, TRIAL_SEED = 1 };
/* Of a smoother, by default; it is not reported. */
enum { PLAIN_DEGREE = 2 };

bool cli_find_levels(const tess_precond *m, tess_amg_levels *out)
{
    *out = (tess_amg_levels){.size = sizeof *out};
    return m != NULL && tess_precond_get_levels(m, out) == TESS_SUCCESS && out->count > 0;
}

double cli_convergence_factor(const tess_solve_result *result)
{
    if (result->iterations == 0 || !(result->relative_residual > 0.0)) { return NAN; }
    return pow(result->relative_residual, 1.0 / (double)result->iterations);
}

/* ---- text ---- */

static int64_t bytes_of(const tess_amg_levels *levels)
{
    int64_t bytes = 0;
    for (int l = 0; l < levels->count; l++) {
        bytes += levels->level[l].bytes;
    }
    return bytes;
}

void cli_print_levels(const tess_amg_levels *levels, double factor)
{
    char text[32];
    printf("%-17s %d by %s, operator complexity %.2f, grid complexity %.2f, %s; vectors %s\n", "levels", levels->count,
           tess_amg_coarsening_name(levels->coarsening), levels->operator_complexity, levels->grid_complexity,
           cli_bytes_text((double)bytes_of(levels), text, sizeof text), tess_precision_name(levels->vectors));
    if (levels->degree != PLAIN_DEGREE) {
        printf("%-17s smoothed by %s, degree %d\n", "", tess_amg_smoother_name(levels->smoother), levels->degree);
    } else if (levels->smoother != TESS_AMG_CHEBYSHEV) {
        printf("%-17s smoothed by %s\n", "", tess_amg_smoother_name(levels->smoother));
    }
    if (levels->coarsening == TESS_AMG_CLASSICAL && levels->split == TESS_AMG_SPLIT_RUGE_STUEBEN) {
        printf("%-17s split by %s%s\n", "", tess_amg_split_name(levels->split),
               levels->restriction == TESS_AMG_RESTRICTION_AIR ? ", restricted by air" : "");
    } else if (levels->restriction == TESS_AMG_RESTRICTION_AIR) {
        printf("%-17s restricted by air\n", "");
    }
    for (int l = 0; l < levels->count; l++) {
        const tess_amg_level *own = &levels->level[l];
        printf("%-17s %d: %s, %s, %s %s, %s\n", "", l + 1, tess_count(own->rows, "row").text,
               tess_count(own->nonzeros, "nonzero").text, tess_format_name(own->format),
               tess_precision_name(own->precision), cli_bytes_text((double)own->bytes, text, sizeof text));
    }
    if (levels->given_up != TESS_AMG_AUTO) {
        printf("%-17s tried %s too: operator complexity %.2f, convergence factor %.2f\n", "",
               tess_amg_coarsening_name(levels->given_up), levels->given_up_complexity, levels->given_up_factor);
    }
    if (levels->modes > 0) {
        printf("%-17s %s found by trial cycles\n", "", tess_count(levels->modes, "near-null vector").text);
    }
    if (levels->raised > 0) {
        printf("%-17s stored in a higher precision after a failure, %s\n", "", tess_count(levels->raised, "time").text);
    }
    if (levels->coarsest_rank < levels->level[levels->count - 1].rows) {
        printf("%-17s the coarsest is singular, of rank %lld\n", "", (long long)levels->coarsest_rank);
    }
    printf("%-17s %.3g s coarsening, %.3g s products, %.3g s storing\n", "", levels->coarsening_seconds,
           levels->product_seconds, levels->storing_seconds);
    if (levels->split_seconds > 0.0) {
        printf("%-17s coarsening by %s: %.3g s strong couplings, %.3g s splits, %.3g s interpolation\n", "",
               tess_device_name(levels->setup_device), levels->strength_seconds, levels->split_seconds,
               levels->interpolation_seconds);
    }
    if (isfinite(factor)) { printf("%-17s convergence factor %.3f\n", "", factor); }
}

/* ---- JSON ---- */

static json_t *level_json(const tess_amg_level *level)
{
    return json_pack("{sI sI sI ss ss sI}", "rows", (json_int_t)level->rows, "nonzeros", (json_int_t)level->nonzeros,
                     "interpolation_nonzeros", (json_int_t)level->transfer, "precision",
                     tess_precision_name(level->precision), "format", tess_format_name(level->format), "bytes",
                     (json_int_t)level->bytes);
}

/* What auto tried and did not take. */
static json_t *given_up_json(const tess_amg_levels *levels)
{
    if (levels->given_up == TESS_AMG_AUTO) { return json_null(); }
    return json_pack("{ss so so}", "coarsening", tess_amg_coarsening_name(levels->given_up), "operator_complexity",
                     cli_json_real(levels->given_up_complexity), "convergence_factor",
                     cli_json_real(levels->given_up_factor));
}

json_t *cli_levels_json(const tess_amg_levels *levels, double factor)
{
    json_t *list = json_array();
    for (int l = 0; l < levels->count; l++) {
        json_array_append_new(list, level_json(&levels->level[l]));
    }
    return json_pack(
        "{ss ss si ss ss ss so ss si si so so sI sI so so so so so so so so}", "coarsening",
        tess_amg_coarsening_name(levels->coarsening), "smoother", tess_amg_smoother_name(levels->smoother), "degree",
        levels->degree, "split", tess_amg_split_name(levels->split), "restriction",
        tess_amg_restriction_name(levels->restriction), "setup_device", tess_device_name(levels->setup_device),
        "given_up", given_up_json(levels), "vectors", tess_precision_name(levels->vectors), "raised", levels->raised,
        "modes", levels->modes, "operator_complexity", cli_json_real(levels->operator_complexity), "grid_complexity",
        cli_json_real(levels->grid_complexity), "bytes", (json_int_t)bytes_of(levels), "coarsest_rank",
        (json_int_t)levels->coarsest_rank, "coarsening_seconds", cli_json_real(levels->coarsening_seconds),
        "strength_seconds", cli_json_real(levels->strength_seconds), "split_seconds",
        cli_json_real(levels->split_seconds), "interpolation_seconds", cli_json_real(levels->interpolation_seconds),
        "product_seconds", cli_json_real(levels->product_seconds), "storing_seconds",
        cli_json_real(levels->storing_seconds), "convergence_factor", cli_json_real(factor), "levels", list);
}

/* ---- a trial ---- */

/* One cycle for A e = 0: e -= M A e. work: two vectors. */
static tess_status run_cycle(const tess_matrix *a, const tess_precond *m, tess_vector *e, tess_vector *const *work)
{
    tess_status status = tess_matrix_spmv(a, TESS_OP_NONE, 1.0, e, 0.0, work[0]);
    if (status == TESS_SUCCESS) { status = tess_precond_apply(m, work[0], work[1]); }
    if (status == TESS_SUCCESS) { status = tess_vector_axpby(-1.0, work[1], 1.0, e, TESS_ARITHMETIC_FP64); }
    return status;
}

tess_status cli_measure_factor(const tess_matrix *a, const tess_precond *m, double *factor)
{
    tess_context *ctx = tess_matrix_context(a);
    tess_vector *v[3] = {NULL};
    double before = 0.0, after = 0.0;
    tess_status status = TESS_SUCCESS;
    for (int i = 0; i < 3 && status == TESS_SUCCESS; i++) {
        status = tess_vector_create(ctx, tess_matrix_nrows(a), TESS_PRECISION_FP64, &v[i]);
    }
    if (status == TESS_SUCCESS) { status = tess_vector_set_random(v[0], TRIAL_SEED, -1.0, 1.0); }
    for (int k = 0; k < TRIAL_CYCLES && status == TESS_SUCCESS; k++) {
        before = after;
        status = run_cycle(a, m, v[0], v + 1);
        if (status == TESS_SUCCESS) { status = tess_vector_norm2(v[0], TESS_ARITHMETIC_FP64, &after); }
    }
    *factor = before > 0.0 ? after / before : NAN;
    for (int i = 0; i < 3; i++) {
        tess_vector_destroy(v[i]);
    }
    return status;
}
