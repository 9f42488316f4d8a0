/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors as preconditioners: their options and tables. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/names.h>

#include "format/storage_precision.h"
#include "precond/incomplete/incomplete.h"
#include "precond/precond.h"

/* ---- options ---- */

bool incomplete_has_squares(const tess_storage_options *o)
{
    return o->format != TESS_FORMAT_CSR || o->precision != TESS_PRECISION_FP64 || o->policy.policy != TESS_POLICY_NONE;
}

static tess_status check_threshold(tess_context *ctx, const tess_precond_options *o)
{
    const tess_threshold_options *t = &o->threshold;

    if (!(t->drop >= 0.0 && t->drop <= DBL_MAX && t->fill > 0.0 && t->fill <= DBL_MAX)) {
        return tess_fail(
            ctx, TESS_INVALID_ARGUMENT, "give a drop tolerance from 0 and a fill above 0, such as 1e-3 and 10",
            "a threshold factorization cannot have the drop tolerance %g and the fill %g", t->drop, t->fill);
    }
    if (t->level < 0 || t->level > TESS_MAX_FILL_LEVEL) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give 0 to 1000; the default is 1",
                         "ILU(k) cannot have the level %d", t->level);
    }
    return TESS_SUCCESS;
}

static tess_status check_squares(tess_context *ctx, const tess_precond_options *o)
{
    const tess_triangular way = o->incomplete.triangular;

    if ((way == TESS_TRIANGULAR_LEVELS || way == TESS_TRIANGULAR_MERGED || way == TESS_TRIANGULAR_COLORS) &&
        incomplete_has_squares(&o->incomplete.squares)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use --triangular blocks, sweeps or auto",
                         "only triangles in recursive blocks and those of sweeps have a storage of their own");
    }
    if (o->incomplete.squares.split.row_order != TESS_ROW_ORDER_ORIGINAL) {
        return tess_fail(ctx, TESS_UNSUPPORTED, "leave the row order of the squares original",
                         "the squares of triangles cannot have their rows in another order");
    }
    return tess_storage_require_fp64_arithmetic(ctx, &o->incomplete.squares, "square blocks of a triangle");
}

static tess_status check_sweeps(tess_context *ctx, const tess_incomplete_options *o)
{
    const bool solves = o->triangular == TESS_TRIANGULAR_SWEEPS;
    const bool factors =
        o->factorization == TESS_FACTORIZATION_SWEEPS || (o->factorization == TESS_FACTORIZATION_AUTO && solves);

    if (solves && (o->sweeps < 1 || o->sweeps > TESS_MAX_TRIANGLE_SWEEPS)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give 1 to 100; the default is 3",
                         "a triangle cannot be solved by %s", tess_count(o->sweeps, "sweep").text);
    }
    if (factors && (o->factorization_sweeps < 1 || o->factorization_sweeps > TESS_MAX_TRIANGLE_SWEEPS)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "give 1 to 100; the default is 5",
                         "incomplete factors cannot be computed by %s",
                         tess_count(o->factorization_sweeps, "sweep").text);
    }
    return TESS_SUCCESS;
}

tess_status incomplete_check(const tess_matrix *a, const tess_precond_options *o)
{
    tess_status status = TESS_SUCCESS;

    if (!a->ops) {
        return tess_fail(a->ctx, TESS_UNSUPPORTED, "use jacobi with a diagonal function, or a shell preconditioner",
                         "incomplete factors need the entries of the matrix, but a shell matrix has none");
    }
    if (strcmp(tess_triangular_name(o->incomplete.triangular), "?") == 0) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "use auto, levels, blocks, merged, sweeps or colors",
                         "unknown way %d to solve triangles", (int)o->incomplete.triangular);
    }
    if (strcmp(tess_factorization_name(o->incomplete.factorization), "?") == 0) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "use auto, host, device or sweeps",
                         "unknown place %d to compute factors", (int)o->incomplete.factorization);
    }
    if (o->incomplete.leaf < 1) {
        return tess_fail(a->ctx, TESS_INVALID_ARGUMENT, "give 1 or more; the default is 4096",
                         "a triangle of --leaf cannot have %s", tess_count(o->incomplete.leaf, "row").text);
    }
    TESS_TRY(check_threshold(a->ctx, o));
    TESS_TRY(check_sweeps(a->ctx, &o->incomplete));
    status = check_squares(a->ctx, o);
cleanup:
    return status;
}

/* ---- the preconditioner ---- */

/* T[:F] */
static bool parse_threshold(const char *text, tess_precond_options *out)
{
    char *end = NULL;

    out->threshold.drop = strtod(text, &end);
    if (end == text || !(out->threshold.drop >= 0.0 && out->threshold.drop <= DBL_MAX)) { return false; }
    if (*end == '\0') { return true; }
    if (*end != ':') { return false; }
    text = end + 1;
    out->threshold.fill = strtod(text, &end);
    return end != text && *end == '\0' && out->threshold.fill > 0.0 && out->threshold.fill <= DBL_MAX;
}

static int *level_of(tess_precond_options *options, int *most)
{
    *most = TESS_MAX_FILL_LEVEL;
    return &options->threshold.level;
}

static tess_role_precision default_role(tess_role_precision inner)
{
    const bool fp64 = inner.storage == TESS_PRECISION_FP64;

    return (tess_role_precision){1, fp64 ? TESS_PRECISION_FP64 : TESS_PRECISION_FP32, TESS_ARITHMETIC_FP64};
}

static tess_status create(tess_precond *m, const tess_precond_options *options)
{
    return incomplete_create(m->matrix, options, (tess_incomplete **)&m->own);
}

static tess_status renew(tess_precond *m)
{
    return incomplete_renew(m->own);
}

static tess_status apply(const tess_precond *m, tess_precision vectors, const void *r, void *z,
                         const tess_reduction *reduction)
{
    return incomplete_apply(m->own, vectors, r, z, reduction->state);
}

static bool takes_columns(const tess_precond *m)
{
    return m->own && incomplete_takes_columns(m->own);
}

static tess_status prepare_columns(const tess_precond *m, int columns)
{
    return incomplete_prepare_columns(m->own, columns);
}

static tess_status apply_columns(const tess_precond *m, int columns, const double *r, double *z)
{
    return incomplete_apply_columns(m->own, columns, r, z);
}

static uint64_t revision(const tess_precond *m)
{
    return incomplete_revision(m->own);
}

static int64_t bytes(const tess_precond *m)
{
    return incomplete_bytes(m->own);
}

static void describe(const tess_precond *m, tess_precond_factors *out)
{
    incomplete_describe(m->own, out);
}

static void destroy(tess_precond *m)
{
    incomplete_destroy(m->own);
}

#define INCOMPLETE(KIND, ...)                                                                                          \
    {                                                                                                                  \
        .kind = (KIND), .default_role = default_role, .check = incomplete_check, .create = create, .renew = renew,     \
        .apply = apply, .takes_columns = takes_columns, .prepare_columns = prepare_columns,                            \
        .apply_columns = apply_columns, .revision = revision, .bytes = bytes, .factors = describe, .destroy = destroy, \
        __VA_ARGS__                                                                                                    \
    }
const tess_precond_ops precond_ilu0 = INCOMPLETE(TESS_PRECOND_ILU0, .number = NULL);
const tess_precond_ops precond_ic0 = INCOMPLETE(TESS_PRECOND_IC0, .number = NULL);
const tess_precond_ops precond_ilut = INCOMPLETE(TESS_PRECOND_ILUT, .parse = parse_threshold);
const tess_precond_ops precond_ict = INCOMPLETE(TESS_PRECOND_ICT, .parse = parse_threshold);
const tess_precond_ops precond_iluk = INCOMPLETE(TESS_PRECOND_ILUK, .number = level_of);
#undef INCOMPLETE
