/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies an x of any origin: its true residual, as for a solve's own x, judged by a tolerance. */
#include <math.h>
#include <string.h>

#include <tessera/verify.h>

#include "base/options.h"
#include "matrix/assembled.h"
#include "matrix/complex_form.h"
#include "solver/verify_answer.h"
#include "solver/verify_error.h"

#define DEFAULT_RTOL 1e-5

void tess_verify_options_init_sized(tess_verify_options *options, size_t size)
{
    const tess_verify_options defaults = {.size = sizeof defaults, .rtol = DEFAULT_RTOL};

    options_init(options, size, &defaults, sizeof defaults);
}

void tess_verification_init_sized(tess_verification *verification, size_t size)
{
    result_init(verification, size);
}

tess_status verify_take_options(tess_context *ctx, const tess_verify_options *given, tess_verify_options *o)
{
    tess_status status = TESS_SUCCESS;

    tess_verify_options_init(o);
    TESS_TRY(options_take(ctx, "tess_verify_options", given, o, sizeof *o));
    TESS_TRY(options_require_reserved(ctx, "tess_verify_options", o->reserved));
    TESS_TRY(options_require_name(ctx, "tess_stop_norm", "tess_verify_options.stop_norm", (int)o->stop_norm));
    if (!(o->rtol >= 0.0) || !(o->atol >= 0.0)) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use 0 or more",
                         "the tolerances rtol %g and atol %g are not both 0 "
                         "or more",
                         o->rtol, o->atol);
    }
    if (o->stop_norm == TESS_STOP_NORM_PRECONDITIONED) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "use given, rows or both",
                         "an answer is not verified in the preconditioned norm, which depends on a preconditioner");
    }
    if (o->stop_norm == TESS_STOP_NORM_AUTO) { o->stop_norm = TESS_STOP_NORM_BOTH; }
cleanup:
    return status;
}

static bool is_nonfinite(double v)
{
    static const uint64_t exponent = (uint64_t)0x7ff << 52;
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return (bits & exponent) == exponent;
}

/* The first element that is NaN or Inf; -1: none. */
static int64_t first_nonfinite(int64_t n, const double *v)
{
    enum { BLOCK = 1024 };

    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        const int64_t end = begin + BLOCK < n ? begin + BLOCK : n;
        int64_t found = 0;

        for (int64_t i = begin; i < end; i++) {
            found += is_nonfinite(v[i]);
        }
        for (int64_t i = begin; i < end && found > 0; i++) {
            if (is_nonfinite(v[i])) { return i; }
        }
    }
    return -1;
}

/* The same of a vector; of a complex one the number of its complex element. */
static tess_status find_nonfinite(const tess_matrix *a, const tess_vector *v, int64_t *index)
{
    double *values = NULL;
    tess_status status = TESS_SUCCESS;

    *index = -1;
    if (v->ctx->device == TESS_DEVICE_CPU) {
        *index = tess_complex_row(a, first_nonfinite(v->n, v->data));
        return TESS_SUCCESS;
    }
    TESS_TRY(tess_host_allocate(v->ctx, v->n, sizeof *values, (void **)&values));
    TESS_TRY(v->ctx->backend->download(v->ctx, values, v->data, (size_t)v->n * sizeof *values));
    *index = tess_complex_row(a, first_nonfinite(v->n, values));
cleanup:
    tess_host_release(v->ctx, values, v->n, sizeof *values);
    return status;
}

/* A row of b that is not finite leaves a residual that is none. */
tess_status verify_find_nonfinite_rhs(const tess_matrix *a, const tess_vector *b, const true_residual *now,
                                      tess_verification *out)
{
    out->nonfinite_rhs = -1;
    return isfinite(now->norm) ? TESS_SUCCESS : find_nonfinite(a, b, &out->nonfinite_rhs);
}

/* Kept with the matrix for these values. */
static tess_status matrix_norm(const tess_matrix *a, double *norm)
{
    tess_matrix *const known = (tess_matrix *)(uintptr_t)a;
    tess_host_matrix host = {0};
    tess_status status = TESS_SUCCESS;

    *norm = NAN;
    if (!a->ops) { return TESS_SUCCESS; }
    if (a->norm_version != a->values_version) {
        TESS_TRY(tess_matrix_on_host(a, &host));
        known->norm = norm2_of(host.matrix->nnz, csr_of(host.matrix)->view.val);
        if (a->is_complex) { known->norm *= sqrt(0.5); } /* each number stands twice in the real form */
        known->norm_version = a->values_version;
    }
    *norm = a->norm;
cleanup:
    tess_host_matrix_release(&host);
    return status;
}

/* The tolerances are those of a solve that stops by the norm of the options. */
static void judge(const tess_verify_options *o, const true_residual *now, tess_verification *out)
{
    const tess_solve_options asked = {.rtol = o->rtol, .atol = o->atol, .stop_norm = o->stop_norm};
    const bool finite = out->nonfinite_solution < 0 && out->nonfinite_rhs < 0;
    tess_solve_result r = {.size = sizeof r};

    verify_set_tolerances(&asked, now, &r);
    verify_report_rows(now, &r);
    out->rhs_norm = r.rhs_norm;
    out->tolerance = r.tolerance;
    out->residual_norm = now->norm;
    out->relative_residual = now->norm / (r.rhs_norm > 0.0 ? r.rhs_norm : 1.0);
    out->residual_bound = now->bounded ? now->bound : NAN;
    out->rows = r.rows;
    out->rows.met = finite && r.rows.met;
    out->given_met = finite && now->bounded && meets_given(&r, now);
    out->met = (o->stop_norm == TESS_STOP_NORM_ROWS || out->given_met) &&
               (o->stop_norm == TESS_STOP_NORM_GIVEN || out->rows.met);
}

/* All that the norms of the residual tell, and what x does. out->nonfinite_rhs is known. */
tess_status verify_finish(const tess_matrix *a, const tess_vector *x, const tess_verify_options *o,
                          const true_residual *now, tess_verification *out)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(find_nonfinite(a, x, &out->nonfinite_solution));
    TESS_TRY(tess_vector_norm2(x, TESS_ARITHMETIC_FP64, &out->solution_norm));
    TESS_TRY(matrix_norm(a, &out->matrix_norm));
    judge(o, now, out);
    out->backward_error = now->norm == 0.0 ? 0.0 : now->norm / (out->matrix_norm * out->solution_norm + now->rhs_norm);
    out->forward_error = NAN;
cleanup:
    return status;
}

tess_status verify_answer(const tess_matrix *a, const tess_vector *b, const tess_vector *x,
                          const tess_verify_options *o, tess_verification *out)
{
    true_residual now;
    double *residual = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_device_allocate(a->ctx, a->nrows, sizeof *residual, (void **)&residual));
    TESS_TRY(verify_residual(a, b->data, x->data, residual, &now));
    TESS_TRY(verify_find_nonfinite_rhs(a, b, &now, out));
    TESS_TRY(verify_finish(a, x, o, &now, out));
    if (o->forward_error && a->ops && isfinite(now.norm) && out->nonfinite_solution < 0) {
        status = verify_forward_error(a, b, x, &out->forward_error);
    }
cleanup:
    tess_device_release(a->ctx, residual, a->nrows, sizeof *residual);
    return status;
}

tess_status tess_verify(const tess_matrix *a, const tess_vector *b, const tess_vector *x,
                        const tess_verify_options *options, tess_verification *out)
{
    TESS_REQUIRE(NULL, a);
    TESS_REQUIRE(a->ctx, out);
    const tess_matrix *original = a->original ? a->original : a;
    tess_verify_options o;
    tess_verification found;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(result_require_size(a->ctx, "tess_verification", out->size, sizeof found));
    TESS_TRY(verify_take_options(a->ctx, options, &o));
    TESS_TRY(tess_vector_require(a->ctx, b, a->nrows, "b"));
    TESS_TRY(tess_vector_require(a->ctx, x, a->ncols, "x"));
    tess_verification_init(&found);
    busy_adapt(a->ctx);
    TESS_TRY(verify_answer(original, b, x, &o, &found));
    result_return(&found, out);
cleanup:
    return status;
}
