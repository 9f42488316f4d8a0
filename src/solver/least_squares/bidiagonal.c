/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One cycle of LSQR or LSMR for min ||r - A D y||: the bidiagonalization of Golub and Kahan (lower form, Paige and
 * Saunders 1982, Bidiag 1), and the recurrences of either method. The names are the papers'.
 */
#include <math.h>

#include "solver/least_squares/least_squares.h"

tess_status least_squares_scale(const tess_solver *s, const tess_vector *x, tess_vector *y)
{
    const least_squares *own = s->state;
    const tess_fused op = {.op = TESS_FUSED_CG_START, /* out = scale in; its sums are not used */
                           .n = y->n,
                           .in = {x->data},
                           .out = {y->data},
                           .scale = own->scale,
                           .scalar = TESS_SCALAR_NONE,
                           .state = s->ctx->scratch_state};

    if (!own->scale) { return x == y ? TESS_SUCCESS : tess_vector_copy(x, y); }
    return s->ctx->backend->fused(s->ctx, &op);
}

/* x := x / ||x||, *norm := ||x||; 0 leaves x. */
static tess_status normalize(tess_vector *x, double *norm)
{
    tess_status status = tess_vector_norm2(x, TESS_ARITHMETIC_FP64, norm);

    if (status != TESS_SUCCESS || !(*norm > 0.0)) { return status; }
    return tess_vector_scale(1.0 / *norm, x, TESS_ARITHMETIC_FP64);
}

/* beta u := A D v - alpha u */
static tess_status next_u(const tess_solver *s, bidiagonal *k)
{
    const least_squares *own = s->state;
    const tess_vector *v = own->scale ? own->product : own->v;
    tess_status status = TESS_SUCCESS;

    if (own->scale) { TESS_TRY(least_squares_scale(s, own->v, own->product)); }
    TESS_TRY(tess_matrix_spmv(own->a, TESS_OP_NONE, 1.0, v, -k->alpha, own->u));
    status = normalize(own->u, &k->beta);
cleanup:
    return status;
}

/* alpha v := D A^T u - beta v */
static tess_status next_v(const tess_solver *s, bidiagonal *k)
{
    const least_squares *own = s->state;
    tess_status status = TESS_SUCCESS;

    if (own->scale) {
        TESS_TRY(tess_matrix_spmv(own->at, own->of_at, 1.0, own->u, 0.0, own->product));
        TESS_TRY(least_squares_scale(s, own->product, own->product));
        TESS_TRY(tess_vector_axpby(1.0, own->product, -k->beta, own->v, TESS_ARITHMETIC_FP64));
    } else {
        TESS_TRY(tess_matrix_spmv(own->at, own->of_at, 1.0, own->u, -k->beta, own->v));
    }
    status = normalize(own->v, &k->alpha);
cleanup:
    return status;
}

/* c, s and the length of (a, b). */
static double rotate(double a, double b, double *c, double *s)
{
    const double length = hypot(a, b);

    *c = length > 0.0 ? a / length : 1.0;
    *s = length > 0.0 ? b / length : 0.0;
    return length;
}

/* ---- LSQR ---- */

/* Steps 4 and 5 of section 4: the rotation, y += (phi / rho) w, w := v - (theta / rho) w. */
static bidiagonal_step advance_lsqr(bidiagonal *k)
{
    double c = 0.0, s = 0.0;
    const double rho = rotate(k->rho_bar, k->beta, &c, &s), theta = s * k->alpha, phi = c * k->phi_bar;

    k->rho_bar = -c * k->alpha;
    k->phi_bar *= s;
    k->residual = fabs(k->phi_bar);
    k->normal = k->residual * k->alpha * fabs(c); /* section 5.1 */
    /* rho = 0: A D v = 0 with v in the range of (A D)^T, only by rounding */
    return rho > 0.0 ? (bidiagonal_step){.moves = true, .step = phi / rho, .next = -theta / rho} : (bidiagonal_step){0};
}

/* ---- LSMR ---- */

/* Section 5.1 without damping: ||r|| from the QR factors. `before` has the values of the last iteration. */
static void estimate_residual(bidiagonal *k, double c, double s, double theta_bar, double zeta_before)
{
    double c_tilde = 0.0, s_tilde = 0.0;
    const double beta_hat = c * k->beta_dd, theta_tilde_before = k->theta_tilde;
    const double rho_tilde = rotate(k->rho_d_before, theta_bar, &c_tilde, &s_tilde);
    double tau_d = 0.0, tau_tilde = 0.0;

    k->beta_dd *= -s;
    k->theta_tilde = s_tilde * k->rho_bar;
    k->rho_d_before = c_tilde * k->rho_bar;
    k->beta_d = -s_tilde * k->beta_d + c_tilde * beta_hat;
    tau_tilde = (zeta_before - theta_tilde_before * k->tau_tilde_before) / rho_tilde;
    tau_d = (k->zeta - k->theta_tilde * tau_tilde) / k->rho_d_before;
    k->tau_tilde_before = tau_tilde;
    k->residual = hypot(k->beta_d - tau_d, k->beta_dd);
}

/* Table 3.1: two rotations, h_bar := h - ... h_bar, y += (zeta / (rho rho_bar)) h_bar, h := v - (theta / rho) h. */
static bidiagonal_step advance_lsmr(bidiagonal *k)
{
    const double rho_before = k->rho, rho_bar_before = k->rho_bar, zeta_before = k->zeta;
    bidiagonal_step step = {.moves = false};
    double c = 0.0, s = 0.0;

    k->rho = rotate(k->alpha_bar, k->beta, &c, &s);
    const double theta = s * k->alpha, theta_bar = k->s_bar * k->rho, short_rho = k->c_bar * k->rho;

    k->alpha_bar = c * k->alpha;
    k->rho_bar = rotate(short_rho, theta, &k->c_bar, &k->s_bar);
    k->zeta = k->c_bar * k->zeta_bar;
    k->zeta_bar *= -k->s_bar;
    k->normal = fabs(k->zeta_bar); /* (3.8) */
    if (!(k->rho > 0.0) || !(k->rho_bar > 0.0)) { return step; }
    step = (bidiagonal_step){.moves = true,
                             .before = -theta_bar * k->rho / (rho_before * rho_bar_before),
                             .step = k->zeta / (k->rho * k->rho_bar),
                             .next = -theta / k->rho};
    estimate_residual(k, c, s, theta_bar, zeta_before);
    return step;
}

/* ---- either ---- */

void bidiagonal_begin(tess_solver_kind kind, double norm, bidiagonal *k)
{
    k->residual = norm;
    k->normal = k->alpha * k->beta;
    k->phi_bar = k->beta_dd = k->beta;
    k->rho_bar = kind == TESS_SOLVER_LSQR ? k->alpha : 1.0;
    k->alpha_bar = k->alpha;
    k->zeta_bar = k->alpha * k->beta;
    k->rho = k->c_bar = k->rho_d_before = 1.0;
}

bidiagonal_step bidiagonal_advance(tess_solver_kind kind, bidiagonal *k)
{
    return kind == TESS_SOLVER_LSQR ? advance_lsqr(k) : advance_lsmr(k);
}

tess_reason bidiagonal_reason(const tess_solver *s, const bidiagonal *k, const least_cycle *cycle)
{
    const least_squares *own = s->state;

    if (!isfinite(k->residual) || !isfinite(k->normal)) { return TESS_REASON_NAN_OR_INF; }
    if (k->residual <= cycle->goal) { return TESS_REASON_RTOL; }
    if (k->normal <= cycle->normal_goal * own->scaled_norm * k->residual) { return TESS_REASON_LEAST_SQUARES; }
    if (k->alpha == 0.0 || k->beta == 0.0) { return TESS_REASON_LEAST_SQUARES; } /* the process is complete */
    return k->residual > cycle->divergence ? TESS_REASON_DIVERGENCE : TESS_REASON_RUNNING;
}

static tess_status move(const tess_solver *s, const bidiagonal_step *step)
{
    const least_squares *own = s->state;
    tess_vector *direction = own->w;
    tess_status status = TESS_SUCCESS;

    if (!step->moves) { return TESS_SUCCESS; }
    if (s->options.solver != TESS_SOLVER_LSQR) {
        TESS_TRY(tess_vector_axpby(1.0, own->w, step->before, own->extra, TESS_ARITHMETIC_FP64));
        direction = own->extra;
    }
    TESS_TRY(tess_vector_axpby(step->step, direction, 1.0, own->step, TESS_ARITHMETIC_FP64));
    status = tess_vector_axpby(1.0, own->v, step->next, own->w, TESS_ARITHMETIC_FP64);
cleanup:
    return status;
}

/* ---- the cycle ---- */

/* beta u = r, alpha v = (A D)^T u; the first direction is v. */
static tess_status start(tess_solver *s, double norm, bidiagonal *k)
{
    const least_squares *own = s->state;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_vector_copy(own->residual, own->u));
    TESS_TRY(normalize(own->u, &k->beta));
    TESS_TRY(tess_vector_fill(own->v, 0.0));
    TESS_TRY(next_v(s, k));
    TESS_TRY(tess_vector_copy(own->v, own->w));
    TESS_TRY(tess_vector_fill(own->extra, 0.0));
    TESS_TRY(tess_vector_fill(own->step, 0.0));
    bidiagonal_begin(s->options.solver, norm, k);
cleanup:
    return status;
}

/*
 * ||A||_F of a user's operator is estimated by ||B||_F of the lower bidiagonal B, whose column k is (alpha_k,
 * beta_k+1), as Paige and Saunders do (section 5.3). B has as many columns as A's rank at most; later ones come from
 * rounding.
 */
static void note_norm(const tess_solver *s, const least_cycle *cycle, bidiagonal *k)
{
    least_squares *own = s->state;
    const int64_t m = s->original->nrows, n = s->original->ncols;

    if (!least_squares_of_shell(s) || cycle->iterations >= (m < n ? m : n)) { return; }
    k->norm = hypot(k->norm, hypot(k->alpha, k->beta));
    own->norm = own->scaled_norm = fmax(own->norm, k->norm);
}

static tess_status iterate(tess_solver *s, const least_cycle *cycle, bidiagonal *k)
{
    bidiagonal_step step;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(next_u(s, k));
    note_norm(s, cycle, k);
    TESS_TRY(next_v(s, k));
    step = bidiagonal_advance(s->options.solver, k);
    status = move(s, &step);
cleanup:
    return status;
}

/* Records the iteration and calls the monitor. */
static bool is_cancelled(const tess_solver *s, const least_cycle *cycle)
{
    const int64_t i = cycle->first + cycle->iterations;
    const tess_progress progress = {i, cycle->residual_norm, cycle->goal, tess_wall_seconds() - cycle->start};

    if (i < s->history_capacity) { s->host_history[i] = cycle->residual_norm; }
    return s->options.monitor && s->options.monitor(s->options.monitor_user, &progress) != 0;
}

tess_status least_squares_run(tess_solver *s, double norm, least_cycle *cycle)
{
    bidiagonal k = {.alpha = 0.0};
    bool cancelled = false;
    tess_status status = TESS_SUCCESS;

    cycle->iterations = 0;
    TESS_TRY(start(s, norm, &k));
    cycle->residual_norm = norm;
    cycle->reason = bidiagonal_reason(s, &k, cycle);
    while (cycle->reason == TESS_REASON_RUNNING) {
        TESS_TRY(iterate(s, cycle, &k));
        cycle->iterations += 1;
        cycle->residual_norm = k.residual;
        cancelled = is_cancelled(s, cycle);
        cycle->reason = bidiagonal_reason(s, &k, cycle);
        if (cancelled) { cycle->reason = TESS_REASON_CANCELLED; }
        if (cycle->reason == TESS_REASON_RUNNING && cycle->first + cycle->iterations >= s->options.max_iterations) {
            cycle->reason = TESS_REASON_ITERATIONS;
        }
    }
cleanup:
    return status;
}
