/* SPDX-License-Identifier: Apache-2.0 */
#include "precond/precond_options.h"

#include <stdlib.h>
#include <string.h>

#include "precond/precond.h"

enum { DEFAULT_BLOCK_SIZE = 8, DEFAULT_DEGREE = 10, DEFAULT_LEAF = 4096, DEFAULT_LEVEL = 1 };
enum { DEFAULT_SMOOTHING = 2, DEFAULT_LEVELS = 25, DEFAULT_TRUNCATION = 5, DEFAULT_COARSEST = 200 };
enum { DEFAULT_TRIANGLE_SWEEPS = 3, DEFAULT_FACTORIZATION_SWEEPS = 5 };
enum { DEFAULT_SWEEPS = 3, DEFAULT_POWER = 2, DEFAULT_ROW = TESS_MAX_INVERSE_ROW };
#define DEFAULT_DROP 1e-3
#define DEFAULT_FILL 10.0
#define DEFAULT_THRESHOLD 0.1
#define DEFAULT_FILTER 0.05
enum { DEFAULT_STEPS = 5, DEFAULT_STEP_SIZE = 3 };
#define DEFAULT_TOLERANCE 1e-3

static void set_amg(tess_amg_options *amg)
{
    amg->smoother = TESS_AMG_SMOOTHER_AUTO;
    amg->degree = DEFAULT_SMOOTHING;
    amg->max_levels = DEFAULT_LEVELS;
    amg->aggressive = -1;
    amg->truncation = DEFAULT_TRUNCATION;
    amg->strength = -1.0;
    amg->max_row_sum = 1.0;
    amg->coarsest = DEFAULT_COARSEST;
    amg->seed = 1;
}

void tess_precond_options_init_sized(tess_precond_options *options, size_t size)
{
    tess_precond_options defaults;

    memset(&defaults, 0, sizeof defaults);
    defaults.size = sizeof defaults;
    defaults.block_jacobi.block_size = DEFAULT_BLOCK_SIZE;
    defaults.polynomial.degree = DEFAULT_DEGREE;
    defaults.polynomial.seed = 1;
    defaults.incomplete.leaf = DEFAULT_LEAF;
    defaults.incomplete.sweeps = DEFAULT_TRIANGLE_SWEEPS;
    defaults.incomplete.factorization_sweeps = DEFAULT_FACTORIZATION_SWEEPS;
    tess_storage_options_init(&defaults.incomplete.squares);
    defaults.threshold.drop = DEFAULT_DROP;
    defaults.threshold.fill = DEFAULT_FILL;
    defaults.threshold.level = DEFAULT_LEVEL;
    set_amg(&defaults.amg);
    defaults.jacobi_sweeps.count = DEFAULT_SWEEPS;
    tess_storage_options_init(&defaults.jacobi_sweeps.storage);
    defaults.jacobi_sweeps.storage.format = tess_format_in_role(TESS_ROLE_COPIES);
    defaults.saddle.a_precond = TESS_PRECOND_AUTO;
    defaults.saddle.schur_precond = TESS_PRECOND_AUTO;
    defaults.inverse.power = DEFAULT_POWER;
    defaults.inverse.row = DEFAULT_ROW;
    defaults.inverse.threshold = DEFAULT_THRESHOLD;
    defaults.inverse.filter = DEFAULT_FILTER;
    defaults.inverse.steps = DEFAULT_STEPS;
    defaults.inverse.step_size = DEFAULT_STEP_SIZE;
    defaults.inverse.tolerance = DEFAULT_TOLERANCE;
    options_init(options, size, &defaults, sizeof defaults);
}

static tess_status take_amg(tess_context *ctx, const tess_amg_options *options)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(options_require_reserved(ctx, "tess_amg_options", options->reserved));
    TESS_TRY(options_require_name(ctx, "tess_amg_coarsening", "tess_amg_options.coarsening", (int)options->coarsening));
    TESS_TRY(options_require_name(ctx, "tess_amg_precision", "tess_amg_options.precision", (int)options->precision));
    for (int l = 0; l < TESS_AMG_LEVEL_PRECISIONS; l++) {
        TESS_TRY(options_require_name(ctx, "tess_amg_precision", "tess_amg_options.level_precision",
                                      (int)options->level_precision[l]));
    }
    TESS_TRY(options_require_name(ctx, "tess_amg_cycle", "tess_amg_options.cycle", (int)options->cycle));
    TESS_TRY(options_require_name(ctx, "tess_amg_smoother", "tess_amg_options.smoother", (int)options->smoother));
    TESS_TRY(options_require_name(ctx, "tess_amg_split", "tess_amg_options.split", (int)options->split));
    TESS_TRY(
        options_require_name(ctx, "tess_amg_restriction", "tess_amg_options.restriction", (int)options->restriction));
    status = options_require_name(ctx, "tess_amg_format", "tess_amg_options.format", (int)options->format);
cleanup:
    return status;
}

static tess_status take_saddle(tess_context *ctx, const tess_saddle_options *options)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(options_require_reserved(ctx, "tess_saddle_options", options->reserved));
    TESS_TRY(options_require_name(ctx, "tess_saddle_factorization", "tess_saddle_options.factorization",
                                  (int)options->factorization));
    TESS_TRY(options_require_name(ctx, "tess_saddle_schur", "tess_saddle_options.schur", (int)options->schur));
    TESS_TRY(options_require_name(ctx, "tess_precond_kind", "tess_saddle_options.a_precond", (int)options->a_precond));
    status = options_require_name(ctx, "tess_precond_kind", "tess_saddle_options.schur_precond",
                                  (int)options->schur_precond);
cleanup:
    return status;
}

tess_status precond_options_take_member(tess_context *ctx, tess_precond_options *options, tess_papers_storage *papers)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(options_require_member(ctx, "tess_precond_options", options->size, sizeof *options));
    TESS_TRY(options_require_reserved(ctx, "tess_precond_options", options->reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_block_jacobi_options", options->block_jacobi.reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_polynomial_options", options->polynomial.reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_incomplete_options", options->incomplete.reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_threshold_options", options->threshold.reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_direct_options", options->direct.reserved));
    TESS_TRY(options_require_name(ctx, "tess_precond_kind", "tess_precond_options.kind", (int)options->kind));
    TESS_TRY(options_require_role(ctx, "tess_precond_options.role", &options->role));
    TESS_TRY(options_require_name(ctx, "tess_polynomial_form", "tess_polynomial_options.form",
                                  (int)options->polynomial.form));
    TESS_TRY(options_require_name(ctx, "tess_triangular", "tess_incomplete_options.triangular",
                                  (int)options->incomplete.triangular));
    TESS_TRY(options_require_name(ctx, "tess_factorization", "tess_incomplete_options.factorization",
                                  (int)options->incomplete.factorization));
    TESS_TRY(take_amg(ctx, &options->amg));
    TESS_TRY(take_saddle(ctx, &options->saddle));
    TESS_TRY(options_require_reserved(ctx, "tess_inverse_options", options->inverse.reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_jacobi_sweeps_options", options->jacobi_sweeps.reserved));
    options->jacobi_sweeps.storage.papers = NULL; /* sweeps take none of the papers' tiles */
    TESS_TRY(storage_options_take_member(ctx, &options->jacobi_sweeps.storage, papers));
    status = storage_options_take_member(ctx, &options->incomplete.squares, papers);
cleanup:
    return status;
}

tess_status precond_options_take(tess_context *ctx, const tess_precond_options *given, tess_precond_options *out,
                                 tess_papers_storage *papers)
{
    tess_status status = TESS_SUCCESS;

    tess_precond_options_init(out);
    TESS_TRY(options_take(ctx, "tess_precond_options", given, out, sizeof *out));
    status = precond_options_take_member(ctx, out, papers);
cleanup:
    return status;
}

/* ---- as text ---- */

/* What stands after the colon: rows of a block, a degree, thresholds. */
static tess_status parse_parameters(const char *text, tess_precond_options *out)
{
    const tess_precond_ops *ops = tess_find_precond(out->kind);
    int most = 0, *place = ops && ops->number ? ops->number(out, &most) : NULL;
    char *end = NULL;
    const long number = strtol(text, &end, 10);

    if (ops && ops->parse && ops->parse(text, out)) { return TESS_SUCCESS; }
    if (!place || end == text || *end || number < 1 || number > most) { return TESS_INVALID_ARGUMENT; }
    *place = (int)number;
    return TESS_SUCCESS;
}

tess_status tess_precond_options_parse(const char *text, tess_precond_options *out)
{
    if (!text || !out) { return TESS_INVALID_ARGUMENT; }
    size_t length = strcspn(text, ":");
    char name[32];
    tess_precond_kind kind = TESS_PRECOND_NONE;

    if (length >= sizeof name) { return TESS_INVALID_ARGUMENT; }
    memcpy(name, text, length);
    name[length] = '\0';
    if (tess_precond_kind_parse(name, &kind) != TESS_SUCCESS ||
        (!tess_find_precond(kind) && kind != TESS_PRECOND_AUTO)) {
        return TESS_INVALID_ARGUMENT;
    }
    tess_precond_options_init(out);
    out->kind = kind;
    return text[length] == ':' ? parse_parameters(text + length + 1, out) : TESS_SUCCESS;
}

bool tess_precond_needs_order(const tess_precond_options *options)
{
    const bool placed = options->saddle.index_count > 0 || options->saddle.schur_matrix;

    return (options->kind == TESS_PRECOND_AMG && (options->amg.near_nullspace || options->amg.block_size > 1)) ||
           (options->kind == TESS_PRECOND_SADDLE && placed);
}
