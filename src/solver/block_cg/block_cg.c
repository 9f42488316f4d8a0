/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block CG: right-hand sides share one Krylov space (O'Leary, Linear Algebra Appl. 29 (1980)), in the form of Dubrulle
 * that keeps residuals as R = Q C, where the columns of Q are orthonormal in the inner product of M^-1 (Electron.
 * Trans. Numer. Anal. 12 (2001), Algorithm BCGrQ). Q stays well conditioned, however alike the residuals are:
 *
 *     alpha = (P^T A P)^-1;  D += P alpha C;  W = Q - A P alpha
 *     W = Q' zeta;  C := zeta C;  P := M^-1 Q' + P zeta^T
 *
 * A direction of W that is nothing but rounding leaves Q and P: right-hand sides that depend on one another, and ranges
 * that are exhausted. One right-hand side alone is solved by CG.
 */
#include "solver/block_cg/block_cg.h"

#include <math.h>
#include <string.h>

#include "device/iteration_end.h"
#include "solver/cg/cg.h"

/* What is left of a column of this length relative to the whole is rounding, and leaves the block. */
#define NEGLIGIBLE 0x1p-46
/* Columns closer to the others than this sine are made orthogonal once more: with it, they are to 1e-16 / 1e-2^2. */
#define SMALL_SINE 1e-2
/* Passes at most, each of which leaves 1e-4 of a column (small.c): four reach rounding. */
enum { PASSES = 5 };

/* ---- the ends of columns ---- */

static bool runs(const block_cg *b, int place)
{
    return b->state[place].phase == TESS_LOOP_RUNNING;
}

static int count_running(const block_cg *b)
{
    int running = 0;

    for (int place = 0; place < b->count; place++) {
        running += runs(b, place);
    }
    return running;
}

/* The column's correction stays as it is; the others go on in the common space. */
static tess_status leave(block_cg *b, int place)
{
    for (int i = 0; i < SMALL_MOST; i++) {
        b->c[i][place] = 0.0;
    }
    b->m->column[b->slot[place]].end = b->state[place];
    return block_keep_correction(b, place);
}

/* All that run stop: the guard goes on with each alone. */
static tess_status stop_all(block_cg *b, tess_reason reason)
{
    tess_status status = TESS_SUCCESS;

    for (int place = 0; place < b->count; place++) {
        if (!runs(b, place)) { continue; }
        loop_stop(&b->state[place], TESS_LOOP_STOPPED, reason);
        TESS_TRY(leave(b, place));
    }
cleanup:
    return status;
}

/* The norms of W C, where W has the Gram matrix `residuals`. */
static tess_status end_iteration(block_cg *b)
{
    small_matrix product;
    tess_status status = TESS_SUCCESS;

    for (int i = 0; i < b->rank; i++) { /* the upper triangle was computed */
        for (int j = 0; j < i; j++) {
            b->residuals[i][j] = b->residuals[j][i];
        }
    }
    small_multiply(b->rank, b->rank, b->count, b->residuals, b->c, product);
    for (int place = 0; place < b->count; place++) {
        double square = 0.0;

        if (!runs(b, place)) { continue; }
        for (int i = 0; i < b->rank; i++) {
            square += b->c[i][place] * product[i][place];
        }
        b->state[place].residual_norm = square < 0.0 ? 0.0 : sqrt(square);
        loop_end_iteration(&b->state[place], TESS_LOOP_STOPPED);
        loop_end_if_stalled(&b->state[place], TESS_LOOP_STOPPED);
        if (!runs(b, place)) { TESS_TRY(leave(b, place)); }
    }
cleanup:
    return status;
}

/* ---- bases ---- */

/* Q^T Q and Q^T M^-1 Q, behind combinations of a pass. */
static tess_status measure(block_cg *b, block_pass *pass)
{
    const double *q = b->block[Q], *scale = tess_precond_scale(b->k.precond);
    const bool apart = krylov_precond_is_apart(b->k.precond);
    tess_status status = TESS_SUCCESS;

    pass->products = scale ? 2 : 1;
    pass->multiply[0] = (block_product){.x = q, .y = q};
    pass->multiply[1] = (block_product){.x = q, .y = q, .scale = scale};
    TESS_TRY(block_run(b, pass, &b->residuals, &b->gram));
    if (apart) {
        block_pass other = {.products = 1, .multiply = {{.x = q, .y = b->block[Z]}}};

        TESS_TRY(block_precondition(b));
        status = block_run(b, &other, &b->gram, NULL);
    } else if (!scale) {
        memcpy(b->gram, b->residuals, sizeof b->gram);
    }
cleanup:
    return status;
}

/* Q := Q F and Z := Z F; with zeta also P := Z + P zeta^T. */
static tess_status change_basis(block_cg *b, small_matrix f, small_matrix *zeta)
{
    const double *scale = tess_precond_scale(b->k.precond);
    double *q = b->block[Q], *z = b->block[Z], *p = b->block[P];
    block_pass pass = {.combinations = 1, .combine = {{.to = q, .from = q, .factor = block_factor(b, 0)}}};
    small_matrix transposed;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(block_upload(b, 0, f));
    if (z) {
        pass.combine[pass.combinations++] = (block_combination){.to = z, .from = z, .factor = block_factor(b, 0)};
    }
    if (zeta) {
        for (int i = 0; i < SMALL_MOST; i++) {
            for (int j = 0; j < SMALL_MOST; j++) {
                transposed[i][j] = (*zeta)[j][i];
            }
        }
        TESS_TRY(block_upload(b, 1, transposed));
        pass.combine[pass.combinations++] = (block_combination){.to = p,
                                                                .from = p,
                                                                .factor = block_factor(b, 1),
                                                                .base = z ? z : q,
                                                                .scale = scale,
                                                                .sign = b->precond_sign};
    }
    status = block_run(b, &pass, NULL, NULL);
cleanup:
    return status;
}

/* Of the Gram matrix: the sign that makes it positive, and zeros for columns of which nothing but rounding is left.
   Returns how many are left. whole: lengths to compare with, by column of W. */
static int prepare_gram(block_cg *b, int order, small_matrix zeta, const double *whole)
{
    double trace = 0.0;
    int left = 0;

    for (int j = 0; j < order; j++) {
        trace += b->gram[j][j];
    }
    if (b->precond_sign == 0.0) { b->precond_sign = trace < 0.0 ? -1.0 : 1.0; }
    for (int j = 0; j < order; j++) {
        const double length = sqrt(fabs(b->gram[j][j]));
        bool negligible = true;

        for (int i = 0; i < order; i++) {
            b->gram[j][i] *= b->precond_sign;
            negligible = negligible && length * fabs(zeta[j][i]) <= NEGLIGIBLE * whole[i];
        }
        left += !negligible;
        for (int i = 0; negligible && i < order; i++) {
            b->gram[i][j] = 0.0;
            b->gram[j][i] = 0.0;
        }
    }
    return left;
}

static void set_identity(small_matrix a)
{
    memset(a, 0, sizeof(small_matrix));
    for (int i = 0; i < SMALL_MOST; i++) {
        a[i][i] = 1.0;
    }
}

/* Columns from `rank` on, of F, and rows of zeta and C, become 0. */
static void cut(block_cg *b, int rank, small_matrix f, small_matrix zeta)
{
    for (int i = 0; i < SMALL_MOST; i++) {
        for (int j = rank; j < SMALL_MOST; j++) {
            f[i][j] = 0.0;
            zeta[j][i] = 0.0;
            b->c[j][i] = 0.0;
        }
    }
    b->rank = rank;
}

/* W, which Q holds and of which the Gram matrices are known, becomes Q' zeta; then C and P follow. whole: as above. */
static tess_status renew_basis(block_cg *b, const double *whole, tess_reason *obstacle)
{
    const int order = b->rank;
    small_basis basis;
    small_matrix zeta, product;
    tess_status status = TESS_SUCCESS;

    set_identity(zeta);
    for (int pass = 1;; pass++) {
        const int left = prepare_gram(b, order, zeta, whole);
        const small_verdict verdict = small_orthonormalise(order, b->gram, &basis);
        block_pass again = {.combinations = 0};

        if (verdict != SMALL_DEFINITE) {
            *obstacle = verdict == SMALL_NOT_FINITE ? TESS_REASON_NAN_OR_INF : TESS_REASON_INDEFINITE_PRECOND;
            return TESS_SUCCESS;
        }
        small_multiply(order, order, order, basis.b, zeta, product);
        memcpy(zeta, product, sizeof zeta);
        if ((basis.rank == left && basis.least >= SMALL_SINE) || pass == PASSES) { break; }
        TESS_TRY(change_basis(b, basis.f, NULL));
        TESS_TRY(measure(b, &again));
    }
    if (basis.rank == 0) {
        *obstacle = TESS_REASON_BREAKDOWN;
        return TESS_SUCCESS;
    }
    small_multiply(order, order, b->count, zeta, b->c, product);
    memcpy(b->c, product, sizeof product);
    cut(b, basis.rank, basis.f, zeta);
    status = change_basis(b, basis.f, &zeta);
cleanup:
    return status;
}

/* ---- iterations ---- */

/* Residuals divided by their norms become the first basis: columns that depend on others are found. */
static tess_status start(block_cg *b, tess_reason *obstacle)
{
    double whole[SMALL_MOST] = {0.0};
    block_pass pass = {.combinations = 0};
    small_matrix f;
    tess_status status = TESS_SUCCESS;

    memset(f, 0, sizeof f);
    memset(b->c, 0, sizeof b->c);
    for (int place = 0; place < b->count; place++) {
        b->c[place][place] = b->state[place].residual_norm;
        f[place][place] = 1.0 / b->state[place].residual_norm;
    }
    b->rank = b->count;
    TESS_TRY(change_basis(b, f, NULL));
    TESS_TRY(measure(b, &pass));
    for (int j = 0; j < b->count; j++) {
        whole[j] = sqrt(fabs(b->gram[j][j]));
    }
    status = renew_basis(b, whole, obstacle);
cleanup:
    return status;
}

/* alpha and alpha C; RUNNING, or why there is none. A may be negative definite, M positive or of the sign of A. */
static tess_reason find_steps(block_cg *b, small_matrix k, small_matrix alpha, small_matrix steps)
{
    small_matrix identity;
    small_verdict verdict;
    double trace = 0.0;

    for (int i = 0; i < b->rank; i++) {
        trace += k[i][i];
    }
    if (b->matrix_sign == 0.0) { b->matrix_sign = trace < 0.0 ? -1.0 : 1.0; }
    for (int i = 0; i < b->rank; i++) {
        for (int j = 0; j < b->rank; j++) {
            k[i][j] *= b->matrix_sign;
        }
    }
    set_identity(identity);
    memset(alpha, 0, sizeof(small_matrix));
    memset(steps, 0, sizeof(small_matrix));
    verdict = small_solve(b->rank, k, b->rank, identity, alpha);
    switch (verdict) {
    case SMALL_NOT_FINITE: return TESS_REASON_NAN_OR_INF;
    case SMALL_SINGULAR: return TESS_REASON_BREAKDOWN;
    case SMALL_INDEFINITE: return TESS_REASON_INDEFINITE_MATRIX;
    default: break;
    }
    if (b->matrix_sign > 0.0 && b->precond_sign < 0.0) { return TESS_REASON_INDEFINITE_PRECOND; }
    (void)small_solve(b->rank, k, b->count, b->c, steps);
    for (int i = 0; i < b->rank; i++) {
        for (int j = 0; j < SMALL_MOST; j++) {
            alpha[i][j] *= -b->matrix_sign;
            steps[i][j] *= b->matrix_sign;
        }
    }
    return TESS_REASON_RUNNING;
}

/* D += P steps, W = Q + A P alpha (whose sign is in alpha) in place of Q. */
static tess_status advance(block_cg *b, small_matrix alpha, small_matrix steps)
{
    double *d = b->block[D], *q = b->block[Q];
    block_pass pass = {
        .combinations = 2,
        .combine = {{.to = d, .base = d, .from = b->block[P], .factor = block_factor(b, 0), .sign = 1.0},
                    {.to = q, .base = q, .from = b->block[PRODUCT], .factor = block_factor(b, 1), .sign = 1.0}}};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(block_upload(b, 0, steps));
    TESS_TRY(block_upload(b, 1, alpha));
    status = measure(b, &pass);
cleanup:
    return status;
}

static tess_status iterate(block_cg *b, tess_reason *obstacle)
{
    block_pass curvature = {.products = 1, .multiply = {{.x = b->block[P], .y = b->block[PRODUCT]}}};
    double whole[SMALL_MOST];
    small_matrix k, alpha, steps;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(block_multiply(b));
    TESS_TRY(block_run(b, &curvature, &k, NULL));
    *obstacle = find_steps(b, k, alpha, steps);
    if (*obstacle != TESS_REASON_RUNNING) { return TESS_SUCCESS; }
    TESS_TRY(advance(b, alpha, steps));
    TESS_TRY(end_iteration(b));
    if (count_running(b) == 0) { return TESS_SUCCESS; }
    for (int i = 0; i < SMALL_MOST; i++) {
        whole[i] = 1.0;
    }
    status = renew_basis(b, whole, obstacle);
cleanup:
    return status;
}

/* The monitor sees the running column that is farthest from its tolerance. */
static void report(block_cg *b)
{
    const tess_solve_options *o = b->m->s->options;
    const tess_loop_state *worst = NULL;
    tess_progress progress;

    for (int place = 0; place < b->count; place++) {
        const tess_loop_state *s = &b->state[place];

        if (!worst || s->iteration > worst->iteration ||
            (s->iteration == worst->iteration &&
             s->residual_norm * worst->tolerance > worst->residual_norm * s->tolerance)) {
            worst = s;
        }
    }
    progress = (tess_progress){worst->iteration, worst->scale * worst->residual_norm, worst->scale * worst->tolerance,
                               tess_wall_seconds() - b->m->start};
    if (o->monitor(o->monitor_user, &progress) == 0) { return; }
    for (int place = 0; place < b->count; place++) {
        b->state[place].cancel = 1;
    }
}

static tess_status run_columns(many_columns *m)
{
    block_cg *b = NULL;
    tess_reason obstacle = TESS_REASON_RUNNING;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(m->s->ctx, 1, sizeof *b, (void **)&b));
    memset(b, 0, sizeof *b);
    b->m = m;
    b->ctx = m->s->ctx;
    TESS_TRY(block_open(b));
    TESS_TRY(start(b, &obstacle));
    while (obstacle == TESS_REASON_RUNNING && count_running(b) > 0) {
        TESS_TRY(iterate(b, &obstacle));
        if (m->s->options->monitor) { report(b); }
    }
    TESS_TRY(stop_all(b, obstacle));
    status = block_keep_histories(b);
cleanup:
    if (b) { block_close(b); }
    tess_host_release(m->s->ctx, b, 1, sizeof *b);
    return status;
}

const tess_method tess_method_block_cg = {.kind = TESS_SOLVER_BLOCK_CG,
                                          .needs_symmetry = true,
                                          .vectors = cg_vectors,
                                          .start = cg_start,
                                          .iterate = cg_iterate,
                                          .run_columns = run_columns};
