/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How small the vectors that CG multiplies become, over the iterations (Yang et al. 2024, section II-C, Figure 4): CG
 * as printed there (Algorithm 1) by the library's vectors and products, in FP64, with p looked at before each product.
 * No contestant: what narrowing could use.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solve/krylov.h"

enum { SEGMENT = 16, BOUNDS = 4, WAYS = 2 };

/* Intervals of section III-D, from below: bypass, FP8, FP16, FP32, and the tile's own precision. */
static const double bounds[BOUNDS] = {1e-3, 1e-2, 1e-1, 1.0};
static const char *const ways[WAYS] = {"absolute", "relative"}; /* to eps; to eps ||b|| / sqrt(n) */

/* Elements below each bound, and segments of SEGMENT that are below it as a whole. */
typedef struct smallness {
    int64_t elements[WAYS][BOUNDS], segments[WAYS][BOUNDS];
} smallness;

typedef struct conjugate {
    krylov_session *s;
    tess_vector *r, *p, *q;
    double *host_p;
    double unit[WAYS];
    int64_t n, count, capacity;
    smallness *seen;
    double *residual; /* relative, of the iteration before which p was looked at */
} conjugate;

/* ---- looking ---- */

static void count_segment(const double *p, int64_t length, double unit, int64_t *elements, int64_t *segments)
{
    double largest = 0.0;

    for (int64_t i = 0; i < length; i++) {
        const double magnitude = fabs(p[i]);

        largest = fmax(largest, magnitude);
        for (int k = 0; k < BOUNDS; k++) {
            elements[k] += magnitude < bounds[k] * unit;
        }
    }
    for (int k = 0; k < BOUNDS; k++) {
        segments[k] += largest < bounds[k] * unit;
    }
}

static tess_status look(conjugate *c, double residual)
{
    smallness *seen = &c->seen[c->count];
    const tess_status status = tess_vector_get(c->p, c->host_p, TESS_PRECISION_FP64, TESS_MEMORY_HOST);

    if (status != TESS_SUCCESS) { return status; }
    for (int w = 0; w < WAYS; w++) {
        for (int64_t i = 0; i < c->n; i += SEGMENT) {
            count_segment(&c->host_p[i], c->n - i < SEGMENT ? c->n - i : SEGMENT, c->unit[w], seen->elements[w],
                          seen->segments[w]);
        }
    }
    c->residual[c->count++] = residual;
    return TESS_SUCCESS;
}

/* ---- Algorithm 1 ---- */

static tess_status dot(const tess_vector *x, const tess_vector *y, double *result)
{
    return tess_vector_dot(x, y, TESS_ARITHMETIC_FP64, result);
}

static tess_status axpby(double alpha, const tess_vector *x, double beta, tess_vector *y)
{
    return tess_vector_axpby(alpha, x, beta, y, TESS_ARITHMETIC_FP64);
}

/* Lines 5 to 10; *rr := (r, r) */
static tess_status iterate(conjugate *c, double *rr)
{
    double pq = 0.0, before = *rr;
    tess_status status = tess_matrix_spmv(c->s->problem->a, TESS_OP_NONE, 1.0, c->p, 0.0, c->q);

    if (status == TESS_SUCCESS) { status = dot(c->p, c->q, &pq); }
    if (status == TESS_SUCCESS) { status = axpby(before / pq, c->p, 1.0, c->s->problem->x); }
    if (status == TESS_SUCCESS) { status = axpby(-before / pq, c->q, 1.0, c->r); }
    if (status == TESS_SUCCESS) { status = dot(c->r, c->r, rr); }
    if (status == TESS_SUCCESS) { status = axpby(1.0, c->r, *rr / before, c->p); }
    return status;
}

static tess_status run(conjugate *c)
{
    const bench_problem *p = c->s->problem;
    double rr = 0.0;
    tess_status status = tess_vector_copy(p->b, c->r);

    if (status == TESS_SUCCESS) { status = tess_vector_copy(p->b, c->p); }
    if (status == TESS_SUCCESS) { status = tess_vector_fill(p->x, 0.0); }
    if (status == TESS_SUCCESS) { status = dot(c->r, c->r, &rr); }
    while (status == TESS_SUCCESS && c->count < c->capacity && sqrt(rr) > c->s->rtol * p->rhs_norm && isfinite(rr)) {
        status = look(c, sqrt(rr) / p->rhs_norm);
        if (status == TESS_SUCCESS) { status = iterate(c, &rr); }
    }
    return status;
}

/* ---- report ---- */

static int64_t segments_of(const conjugate *c)
{
    return (c->n + SEGMENT - 1) / SEGMENT;
}

/* A list of BOUNDS lists, a number an iteration each. */
static json_t *counts_json(const conjugate *c, int way, bool of_segments)
{
    json_t *all = json_array();

    for (int b = 0; b < BOUNDS; b++) {
        json_t *list = json_array();

        for (int64_t k = 0; k < c->count; k++) {
            const smallness *seen = &c->seen[k];

            json_array_append_new(list, json_integer(of_segments ? seen->segments[way][b] : seen->elements[way][b]));
        }
        json_array_append_new(all, list);
    }
    return all;
}

static void report(conjugate *c)
{
    static const krylov_variant algorithm = {.name = "Algorithm 1"};
    bench_record record = krylov_record(c->s, &algorithm);
    json_t *row = NULL, *residuals = json_array();

    record.solved = true;
    record.iterations = c->count;
    record.true_residual = NAN;
    row = krylov_record_row(c->s, &record);
    for (int64_t k = 0; k < c->count; k++) {
        json_array_append_new(residuals, bench_real_or_null(c->residual[k]));
    }
    json_object_set_new(row, "segment", json_integer(SEGMENT));
    json_object_set_new(row, "segments", json_integer(segments_of(c)));
    json_object_set_new(row, "eps", json_real(c->s->rtol));
    json_object_set_new(row, "bounds", json_pack("[f, f, f, f]", bounds[0], bounds[1], bounds[2], bounds[3]));
    json_object_set_new(row, "relative_residuals", residuals);
    for (int w = 0; w < WAYS; w++) {
        json_object_set_new(row, ways[w],
                            json_pack("{s:f, s:o, s:o}", "unit", c->unit[w], "segments", counts_json(c, w, true),
                                      "elements", counts_json(c, w, false)));
    }
    bench_record_add(&c->s->run, &record, row, "p was looked at before each product");
}

/* ---- the part ---- */

static tess_status make(krylov_session *s, conjugate *c)
{
    tess_context *ctx = s->run.ctx;
    tess_status status = TESS_SUCCESS;

    *c = (conjugate){.s = s, .n = s->problem->host.nrows, .capacity = s->max_iterations};
    c->unit[0] = s->rtol;
    c->unit[1] = s->rtol * s->problem->rhs_norm / sqrt((double)c->n);
    c->host_p = bench_allocate((size_t)c->n, sizeof *c->host_p);
    c->seen = bench_allocate((size_t)c->capacity, sizeof *c->seen);
    c->residual = bench_allocate((size_t)c->capacity, sizeof *c->residual);
    status = tess_vector_create(ctx, c->n, TESS_PRECISION_FP64, &c->r);
    if (status == TESS_SUCCESS) { status = tess_vector_create(ctx, c->n, TESS_PRECISION_FP64, &c->p); }
    if (status == TESS_SUCCESS) { status = tess_vector_create(ctx, c->n, TESS_PRECISION_FP64, &c->q); }
    return status;
}

static void discard(conjugate *c)
{
    tess_vector_destroy(c->r);
    tess_vector_destroy(c->p);
    tess_vector_destroy(c->q);
    free(c->host_p);
    free(c->seen);
    free(c->residual);
}

void krylov_direction(krylov_session *s)
{
    conjugate c;
    tess_status status = make(s, &c);

    if (status == TESS_SUCCESS) { status = run(&c); }
    if (status == TESS_SUCCESS) {
        report(&c);
    } else {
        bench_fault(&s->run, s->matrix, "conjugate gradients", status);
    }
    discard(&c);
}
