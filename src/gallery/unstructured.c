/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P1 elements for -div(k grad u) on an irregular triangulation, k = exp(normal) per triangle, Dirichlet boundary left
 * out; unknowns numbered at random, or by reverse Cuthill-McKee after that.
 */
#include <string.h>

#include <tessera/order.h>

#include "gallery/problem.h"
#include "gallery/triangulation.h"

typedef struct unstructured {
    triangulation mesh; /* `unknown` renumbered */
    int64_t *first;     /* unknowns + 1: into `triangle` */
    int32_t *triangle;  /* those around each unknown, ascending */
    int32_t *number;    /* random number of each unknown */
    int64_t incidences;
    uint64_t stream; /* of the coefficients */
} unstructured;

/* ---- triangles around each unknown ---- */

static void renumber(unstructured *p, uint64_t stream)
{
    triangulation *mesh = &p->mesh;

    gallery_shuffle(stream, mesh->unknowns, p->number);
    for (int64_t v = 0; v < mesh->points; v++) {
        if (mesh->unknown[v] >= 0) { mesh->unknown[v] = p->number[mesh->unknown[v]]; }
    }
}

/* Counting sort of (unknown, triangle) by unknown. */
static void collect_triangles(unstructured *p)
{
    const triangulation *mesh = &p->mesh;

    memset(p->first, 0, (size_t)(mesh->unknowns + 1) * sizeof *p->first);
    for (int64_t k = 0; k < 3 * mesh->triangles; k++) {
        int32_t i = mesh->unknown[mesh->corner[k]];

        if (i >= 0) { p->first[i + 1]++; }
    }
    for (int64_t i = 0; i < mesh->unknowns; i++) {
        p->first[i + 1] += p->first[i];
    }
    for (int64_t k = 0; k < 3 * mesh->triangles; k++) {
        int32_t i = mesh->unknown[mesh->corner[k]];

        if (i >= 0) { p->triangle[p->first[i]++] = (int32_t)(k / 3); }
    }
    for (int64_t i = mesh->unknowns; i > 0; i--) {
        p->first[i] = p->first[i - 1];
    }
    p->first[0] = 0;
}

/* ---- rows ---- */

/* Every neighbour of an inner point is in two of the triangles around it. */
static int64_t unstructured_length(const void *problem, int64_t row)
{
    const unstructured *p = problem;
    int64_t seen = 0;

    for (int64_t k = p->first[row]; k < p->first[row + 1]; k++) {
        const int32_t *corner = p->mesh.corner + 3 * (int64_t)p->triangle[k];

        for (int i = 0; i < 3; i++) {
            int32_t j = p->mesh.unknown[corner[i]];

            seen += j >= 0 && j != row;
        }
    }
    return 1 + seen / 2;
}

/* Adds to column j of a row that holds `length` sorted entries. */
static void add_entry(int32_t *col, double *val, int64_t *length, int32_t j, double value)
{
    int64_t k = *length;

    while (k > 0 && col[k - 1] > j) {
        k--;
    }
    if (k > 0 && col[k - 1] == j) {
        val[k - 1] += value;
        return;
    }
    memmove(col + k + 1, col + k, (size_t)(*length - k) * sizeof *col);
    memmove(val + k + 1, val + k, (size_t)(*length - k) * sizeof *val);
    col[k] = j;
    val[k] = value;
    (*length)++;
}

/* The row of corner a in the stiffness of triangle t: k (b_a b_j + c_a c_j) / (4 area), symmetric to the last bit. */
static void triangle_row(const unstructured *p, int64_t t, int a, double *value)
{
    const triangulation *mesh = &p->mesh;
    const int32_t *corner = mesh->corner + 3 * t;
    double k = exp(gallery_normal(p->stream, (uint64_t)t)), scale = k / (2.0 * triangle_area2(mesh, t));
    double b[3], c[3];

    for (int i = 0; i < 3; i++) {
        int32_t next = corner[(i + 1) % 3], last = corner[(i + 2) % 3];

        b[i] = mesh->y[next] - mesh->y[last];
        c[i] = mesh->x[last] - mesh->x[next];
    }
    for (int j = 0; j < 3; j++) {
        value[j] = scale * (b[a] * b[j] + c[a] * c[j]);
    }
}

static void unstructured_fill(const void *problem, int64_t row, int32_t *col, double *val)
{
    const unstructured *p = problem;
    int64_t length = 0;

    for (int64_t k = p->first[row]; k < p->first[row + 1]; k++) {
        int64_t t = p->triangle[k];
        const int32_t *corner = p->mesh.corner + 3 * t;
        double value[3];
        int a = 0;

        while (p->mesh.unknown[corner[a]] != row) {
            a++;
        }
        triangle_row(p, t, a, value);
        for (int j = 0; j < 3; j++) {
            int32_t unknown = p->mesh.unknown[corner[j]];

            if (unknown >= 0) { add_entry(col, val, &length, unknown, value[j]); }
        }
    }
}

/* ---- the two problems ---- */

static tess_status make_unstructured(const gallery_request *request, tess_matrix **out)
{
    tess_context *ctx = request->ctx;
    unstructured p = {.incidences = 0};
    int64_t n = 1, seed = 1;
    tess_status status = TESS_SUCCESS;

    /* Corners of triangles, about six per unknown, are counted in 32 bits. */
    TESS_TRY(gallery_integer(request, 0, "N", 1, INT64_C(300000000), &n));
    TESS_TRY(gallery_integer(request, 1, "SEED", 0, GALLERY_SEED_MAX, &seed));
    TESS_TRY(triangulate(ctx, n, seed, &p.mesh));
    p.incidences = 3 * p.mesh.triangles;
    p.stream = gallery_stream(seed, 2);
    TESS_TRY(tess_host_allocate(ctx, n, sizeof *p.number, (void **)&p.number));
    TESS_TRY(tess_host_allocate(ctx, n + 1, sizeof *p.first, (void **)&p.first));
    TESS_TRY(tess_host_allocate(ctx, p.incidences, sizeof *p.triangle, (void **)&p.triangle));
    renumber(&p, gallery_stream(seed, 3));
    collect_triangles(&p);
    status = gallery_build(ctx, &(gallery_rows){n, n, unstructured_length, unstructured_fill, &p}, out);
cleanup:
    tess_host_release(ctx, p.number, n, sizeof *p.number);
    tess_host_release(ctx, p.first, n + 1, sizeof *p.first);
    tess_host_release(ctx, p.triangle, p.incidences, sizeof *p.triangle);
    release_triangulation(ctx, &p.mesh);
    return status;
}

tess_status gallery_unstructured2d(const gallery_request *request, tess_matrix **out)
{
    return make_unstructured(request, out);
}

static tess_status reorder(tess_context *ctx, const tess_matrix *random, tess_matrix **out)
{
    int32_t *perm = NULL;
    int64_t n = tess_matrix_nrows(random);
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, n, sizeof *perm, (void **)&perm));
    TESS_TRY(tess_order_rcm(random, perm));
    status = tess_matrix_reorder_symmetric(random, perm, out);
cleanup:
    tess_host_release(ctx, perm, n, sizeof *perm);
    return status;
}

tess_status gallery_unstructured2d_rcm(const gallery_request *request, tess_matrix **out)
{
    tess_matrix *random = NULL;
    tess_status status = make_unstructured(request, &random);

    if (status == TESS_SUCCESS) { status = reorder(request->ctx, random, out); }
    tess_matrix_destroy(random);
    return status;
}
