/* SPDX-License-Identifier: Apache-2.0 */
/* One matrix with its vectors, and products with it that are timed and checked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "product/trial.h"
#ifdef BENCH_CUDA
#include "peers/cusparse_products.h"
#endif

/* ---- set-up of a matrix ---- */

static tess_status make_pairs(bench_trial *t, tess_precision precision, bench_pairs *v)
{
    int64_t nrows = tess_matrix_nrows(t->a), ncols = tess_matrix_ncols(t->a);
    tess_status status = TESS_SUCCESS;

    v->precision = precision;
    for (int k = 0; k < t->rotation.pairs && status == TESS_SUCCESS; k++) {
        status = tess_vector_create(t->run->ctx, ncols, precision, &v->x[k]);
        if (status == TESS_SUCCESS) { status = tess_vector_create(t->run->ctx, nrows, precision, &v->y[k]); }
        /* the same values in every pair: one exact product serves them all */
        if (status == TESS_SUCCESS) {
            status = tess_vector_set_random(v->x[k], 1, -t->options.reach, t->options.reach);
        }
    }
    if (status != TESS_SUCCESS) { return status; }
    v->host_x = bench_allocate((size_t)ncols, sizeof *v->host_x);
    return tess_vector_get(v->x[0], v->host_x, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
}

static tess_status make_vectors(bench_trial *t)
{
    int64_t nrows = tess_matrix_nrows(t->a), ncols = tess_matrix_ncols(t->a);
    int64_t matrix_bytes = bench_spmv_bytes(nrows, ncols, tess_matrix_nnz(t->a), 8) - 8 * (nrows + ncols);
    tess_status status = TESS_SUCCESS;

    t->rotation = bench_rotate(t->run, matrix_bytes, 8 * (nrows + ncols));
    status = make_pairs(t, TESS_PRECISION_FP64, &t->fp64);
    if (status == TESS_SUCCESS && t->options.fp32) { status = make_pairs(t, TESS_PRECISION_FP32, &t->fp32); }
    return status;
}

static void release_pairs(bench_pairs *v)
{
    for (int k = 0; k < BENCH_MAX_PAIRS; k++) {
        tess_vector_destroy(v->x[k]);
        tess_vector_destroy(v->y[k]);
    }
    free(v->host_x);
}

void bench_trial_close(bench_trial *t)
{
    release_pairs(&t->fp64);
    release_pairs(&t->fp32);
    bench_csr_free(&t->host);
    tess_matrix_destroy(t->a);
}

bool bench_trial_open(bench_run *run, const bench_case *which, const bench_trial_options *options, bench_trial *out)
{
    char reason[640];
    tess_status status = TESS_SUCCESS;

    *out = (bench_trial){.run = run, .which = which, .options = *options};
    status = bench_case_load(run->ctx, run->options, which, &out->a, reason, sizeof reason);
    if (status != TESS_SUCCESS) {
        bench_skip(run, which->name, reason);
        return false;
    }
    if (tess_matrix_nnz(out->a) == 0) {
        bench_skip(run, which->name, "has no nonzeros");
        tess_matrix_destroy(out->a);
        return false;
    }
    status = bench_csr_get(out->a, &out->host);
    if (status == TESS_SUCCESS) { status = make_vectors(out); }
    if (status == TESS_SUCCESS) { return true; }
    bench_fault(run, which->name, "matrix and vectors", status);
    bench_trial_close(out);
    return false;
}

/* ---- measuring ---- */

bench_pairs *bench_trial_pairs(bench_trial *t, const bench_contestant *c)
{
    return c->vectors == TESS_PRECISION_FP32 ? &t->fp32 : &t->fp64;
}

void bench_trial_exact(const bench_csr *held, const bench_pairs *v, tess_arithmetic arithmetic, bench_product *out)
{
    if (arithmetic == TESS_ARITHMETIC_FP32X2) {
        bench_product_make_pairs(held, v->host_x, out);
    } else if (v->precision == TESS_PRECISION_FP64) {
        bench_product_make(held, v->host_x, out);
    } else {
        bench_product_make_fp32(held, v->host_x, arithmetic, out);
    }
}

/* Entries to the order of the matrix's rows. */
static void unpermute(int64_t n, const int32_t *row_of, double *y)
{
    double *moved = bench_allocate((size_t)n, sizeof *moved);

    for (int64_t i = 0; i < n; i++) {
        moved[row_of[i]] = y[i];
    }
    memcpy(y, moved, (size_t)n * sizeof *y);
    free(moved);
}

static tess_status check_results(bench_trial *t, bench_pairs *v, const bench_expectation *expected, double *error)
{
    const bench_product *exact = expected->exact;
    double *y = bench_allocate((size_t)exact->nrows, sizeof *y);
    tess_status status = TESS_SUCCESS;

    *error = 0.0;
    for (int k = 0; k < t->rotation.pairs && status == TESS_SUCCESS; k++) {
        status = tess_vector_get(v->y[k], y, TESS_PRECISION_FP64, TESS_MEMORY_HOST);
        if (status != TESS_SUCCESS) { break; }
        if (expected->row_of) { unpermute(exact->nrows, expected->row_of, y); }
        *error = fmax(*error, bench_product_compare(exact, y));
        if (k == 0 && expected->y) { memcpy(expected->y, y, (size_t)exact->nrows * sizeof *y); }
    }
    free(y);
    return status;
}

/* What is overwritten begins as NaN: a row that a kernel forgets shows. */
static tess_status reset_results(bench_trial *t, bench_pairs *v)
{
    tess_status status = TESS_SUCCESS;

    for (int k = 0; k < t->rotation.pairs && status == TESS_SUCCESS; k++) {
        status = tess_vector_fill(v->y[k], t->options.adds ? 0.0 : NAN);
    }
    return status;
}

tess_status bench_trial_measure(bench_trial *t, bench_pairs *v, bench_call call, void *user,
                                const bench_expectation *expected, bench_outcome *o)
{
    tess_status status = reset_results(t, v);

    if (status == TESS_SUCCESS) { status = bench_measure(t->run, call, user, &o->time); }
    if (status == TESS_SUCCESS) { status = reset_results(t, v); }
    for (int k = 0; k < t->rotation.pairs && status == TESS_SUCCESS; k++) {
        status = call(user, k);
    }
    if (status == TESS_SUCCESS) { status = check_results(t, v, expected, &o->error); }
    o->ran = status == TESS_SUCCESS;
    if (o->ran && !(o->error <= 1.0)) {
        char text[96];

        snprintf(text, sizeof text, "wrong result: %.3g times the rounding bound", o->error);
        bench_fault(t->run, t->which->name, text, TESS_SUCCESS);
        o->ran = false;
    }
    return status;
}

/* ---- ours ---- */

tess_status bench_product_run(void *user, int k)
{
    const bench_product_call *c = user;
    int pair = k % c->pairs;

    return tess_matrix_spmv(c->stored, TESS_OP_NONE, 1.0, c->v->x[pair], c->beta, c->v->y[pair]);
}

void bench_trial_skip(bench_trial *t, const bench_contestant *c, const char *reason)
{
    char text[640];

    snprintf(text, sizeof text, "%s: %s", c->name, reason);
    bench_skip(t->run, t->which->name, text);
}

tess_storage_options bench_contestant_storage(const bench_contestant *c)
{
    tess_storage_options storage = c->storage;

    storage.size = sizeof storage;
    if (c->papers.size > 0) { storage.papers = &c->papers; }
    return storage;
}

tess_status bench_trial_convert(bench_trial *t, const bench_contestant *c, bench_outcome *o, tess_matrix **stored)
{
    const tess_storage_options storage = bench_contestant_storage(c);
    double start = bench_wall_seconds();
    tess_status status = tess_matrix_convert(t->a, &storage, stored);

    if (status == TESS_SUCCESS) { status = tess_context_synchronize(t->run->ctx); }
    o->setup_seconds = bench_wall_seconds() - start;
    if (status == TESS_UNSUPPORTED) { bench_trial_skip(t, c, tess_context_last_error(t->run->ctx)->message); }
    return status;
}

void bench_load_kernels(bench_run *run, const bench_contestant *contestants, int count)
{
    static const char *const order[] = {"64"};
    tess_matrix *a = NULL;

    if (tess_gallery_create(run->ctx, "laplace2d", 1, order, &a) != TESS_SUCCESS) {
        bench_die("cannot make a small matrix: %s", tess_context_last_error(run->ctx)->message);
    }
    for (int i = 0; i < count; i++) {
        const tess_storage_options storage = bench_contestant_storage(&contestants[i]);
        tess_matrix *stored = NULL;

        if (contestants[i].ours) { (void)tess_matrix_convert(a, &storage, &stored); }
        tess_matrix_destroy(stored);
    }
    tess_matrix_destroy(a);
}

/* ---- others ---- */

tess_status bench_trial_measure_theirs(bench_trial *t, bench_pairs *v, bench_call call, void *user, double *y,
                                       bench_outcome *o)
{
    bench_product exact = {0};
    bench_csr held = t->host;
    const bench_expectation expected = {&exact, NULL, y};
    tess_status status = TESS_SUCCESS;

    if (v->precision == TESS_PRECISION_FP32) { /* their values are held in it too */
        held.val = bench_allocate((size_t)held.nnz, sizeof *held.val);
        for (int64_t k = 0; k < held.nnz; k++) {
            held.val[k] = (double)(float)t->host.val[k];
        }
    }
    bench_trial_exact(&held, v, TESS_ARITHMETIC_FP32, &exact);
    status = bench_trial_measure(t, v, call, user, &expected, o);
    bench_product_free(&exact);
    if (held.val != t->host.val) { free(held.val); }
    return status;
}

bench_arrays bench_trial_arrays(const bench_trial *t, const bench_pairs *v)
{
    bench_arrays a = {{NULL}, {NULL}};

    for (int k = 0; k < t->rotation.pairs; k++) {
        a.x[k] = tess_vector_data(v->x[k]);
        a.y[k] = tess_vector_data(v->y[k]);
    }
    return a;
}

#ifdef BENCH_CUDA
static tess_status run_cusparse(bench_trial *t, const bench_contestant *c, double *y, bench_outcome *o)
{
    bench_pairs *v = bench_trial_pairs(t, c);
    const bench_arrays a = bench_trial_arrays(t, v);
    bench_cusparse *s = NULL;
    char reason[160];
    tess_status status =
        bench_cusparse_create(t->a, &t->host, (bench_cusparse_kind)c->kind, v->precision, t->rotation.pairs, a.x, a.y,
                              &s, &o->setup_seconds, reason, sizeof reason);

    if (status != TESS_SUCCESS) {
        bench_trial_skip(t, c, reason);
        return TESS_SUCCESS;
    }
    o->bytes = bench_cusparse_bytes(s);
    if (t->options.adds) {
        bench_cusparse_add(s);
        o->bytes += (int64_t)tess_precision_bytes(v->precision) * t->host.nrows;
    }
    status = bench_trial_measure_theirs(t, v, bench_cusparse_call, s, y, o);
    bench_cusparse_destroy(s);
    return status;
}
#endif

tess_status bench_trial_theirs(bench_trial *t, const bench_contestant *c, double *y, bench_outcome *o)
{
    if (!t->run->gpu) { return TESS_SUCCESS; }
    if (c->run) { return c->run(t, c, y, o); }
#ifdef BENCH_CUDA
    return run_cusparse(t, c, y, o);
#else
    return TESS_SUCCESS;
#endif
}
