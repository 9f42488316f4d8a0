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

#include "harness_study.h"

enum { SEGMENT = 16, BOUNDS = 4, WAYS = 2, LINES = 10 };

/* Intervals of section III-D, from below: bypass, FP8, FP16, FP32, and the tile's own precision. */
static const double bounds[BOUNDS] = {1e-3, 1e-2, 1e-1, 1.0};
static const char *const ways[WAYS] = {"absolute", "relative"}; /* to eps; to eps ||b|| / sqrt(n) */

/* Elements below each bound, and segments of SEGMENT that are below it as a whole. */
typedef struct smallness {
    int64_t elements[WAYS][BOUNDS], segments[WAYS][BOUNDS];
} smallness;

typedef struct conjugate {
    study_session *s;
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

static double share(int64_t part, int64_t whole)
{
    return 100.0 * (double)part / (double)whole;
}

static int64_t segments_of(const conjugate *c)
{
    return (c->n + SEGMENT - 1) / SEGMENT;
}

static void print_head(study_session *s)
{
    if (!s->begun) {
        printf("\npercent of p's segments of %d below 1e-3, 1e-2, 1e-1 and 1 times eps (as printed), then times "
               "eps ||b|| / sqrt(n); of its elements below eps\n%-18s %6s %9s  %7s %7s %7s %7s  %7s %7s %7s %7s  %7s "
               "%7s\n",
               SEGMENT, "matrix", "iter", "residual", "1e-3", "1e-2", "1e-1", "1", "1e-3", "1e-2", "1e-1", "1", "abs.",
               "rel.");
    }
    s->begun = true;
}

static void print_line(const conjugate *c, int64_t k)
{
    const smallness *seen = &c->seen[k];

    printf("%-18s %6lld %9.2e", c->s->matrix, (long long)k, c->residual[k]);
    for (int w = 0; w < WAYS; w++) {
        printf(" ");
        for (int b = 0; b < BOUNDS; b++) {
            printf(" %7.2f", share(seen->segments[w][b], segments_of(c)));
        }
    }
    printf("  %7.2f %7.2f\n", share(seen->elements[0][BOUNDS - 1], c->n), share(seen->elements[1][BOUNDS - 1], c->n));
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
    const int64_t step = c->count > LINES ? (c->count + LINES - 1) / LINES : 1;
    json_t *row = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:i, s:f}", "study", "direction", "matrix", c->s->matrix,
                            "solver", "cg", "nrows", (json_int_t)c->n, "iterations", (json_int_t)c->count, "segments",
                            (json_int_t)segments_of(c), "segment", SEGMENT, "eps", c->s->rtol);
    json_t *residuals = json_array();

    print_head(c->s);
    for (int64_t k = 0; k < c->count; k++) {
        if (k % step == 0 || k == c->count - 1) { print_line(c, k); }
        json_array_append_new(residuals, study_number(c->residual[k]));
    }
    json_object_set_new(row, "bounds", json_pack("[f, f, f, f]", bounds[0], bounds[1], bounds[2], bounds[3]));
    json_object_set_new(row, "relative_residuals", residuals);
    for (int w = 0; w < WAYS; w++) {
        json_object_set_new(row, ways[w],
                            json_pack("{s:f, s:o, s:o}", "unit", c->unit[w], "segments", counts_json(c, w, true),
                                      "elements", counts_json(c, w, false)));
    }
    bench_add(&c->s->run, row);
}

/* ---- the study ---- */

static tess_status make(study_session *s, conjugate *c)
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

void study_direction(study_session *s)
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
