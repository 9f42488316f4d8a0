/* SPDX-License-Identifier: Apache-2.0 */
/* Grid rows joined by strips of triangles, random points set in, edges flipped (Lawson 1977) until Delaunay. */
#include "gallery/triangulation.h"

#include <string.h>

#include "gallery/problem.h"

/*
 * Largest move of a grid point per direction. Before moving, no triangle has an altitude below sqrt(1/2) (rows are 1
 * apart, points of a row too, and the apex stands above the base or less than a spacing beside it), so moves up to
 * sqrt(1/2) / 2 / sqrt(2) = 1/4 turn none over.
 */
#define MOVE 0.2

/* A flip must gain more than rounding can cause (coordinates have a unit of 1), so that flipping ends. */
#define FLIP_GAIN 1e-9

/* ---- grid ---- */

typedef struct grid_plan {
    int64_t rows;  /* of inner points; rows 0 and rows + 1 are boundary */
    int64_t inner; /* points of the grid that are not boundary */
    double width;  /* of the rectangle; its height is rows + 1 */
} grid_plan;

static grid_plan plan_grid(int64_t unknowns)
{
    grid_plan plan = {1, unknowns - 3 * unknowns / 10, 0.0};

    while ((plan.rows + 1) * (plan.rows + 1) <= plan.inner) {
        plan.rows++;
    }
    plan.width = (double)plan.inner / (double)plan.rows + 1.0;
    return plan;
}

/* Inner points before row `row` (from 1). */
static int64_t points_before(const grid_plan *plan, int64_t row)
{
    return plan->inner / plan->rows * (row - 1) + plan->inner % plan->rows * (row - 1) / plan->rows;
}

/* Points of a row with its two ends. */
static int64_t row_points(const grid_plan *plan, int64_t row)
{
    if (row == 0 || row == plan->rows + 1) { return plan->inner / plan->rows + 2; }
    return points_before(plan, row + 1) - points_before(plan, row) + 2;
}

static void place_row(triangulation *mesh, const grid_plan *plan, int64_t row, uint64_t stream)
{
    int64_t count = row_points(plan, row);
    double spacing = plan->width / (double)(count - 1);

    for (int64_t i = 0; i < count; i++) {
        int64_t p = mesh->points++;
        bool inner = row > 0 && row <= plan->rows && i > 0 && i < count - 1;

        mesh->x[p] = (double)i * spacing;
        mesh->y[p] = (double)row;
        mesh->unknown[p] = -1;
        if (inner) {
            mesh->x[p] += MOVE * spacing * (2.0 * tess_random_uniform(stream, 2 * (uint64_t)p) - 1.0);
            mesh->y[p] += MOVE * (2.0 * tess_random_uniform(stream, 2 * (uint64_t)p + 1) - 1.0);
            mesh->unknown[p] = (int32_t)mesh->unknowns++;
        }
    }
}

static void set_triangle(triangulation *mesh, int64_t t, const int64_t *corner, const int64_t *neighbour)
{
    for (int i = 0; i < 3; i++) {
        mesh->corner[3 * t + i] = (int32_t)corner[i];
        mesh->neighbour[3 * t + i] = (int32_t)neighbour[i];
    }
}

/*
 * One strip: the row of `count[0]` points from `first[0]` below, that of count[1] points from first[1] above. below[i]
 * is the triangle under the edge from point i of the lower row, and becomes that under the upper row's.
 */
static void join_rows(triangulation *mesh, const int64_t *first, const int64_t *count, int32_t *below, int32_t *under)
{
    int64_t i = 0, k = 0, last = -1;

    while (i < count[0] - 1 || k < count[1] - 1) {
        int64_t t = mesh->triangles++, a = first[0] + i, b = first[1] + k;
        int64_t next = i + k + 1 < count[0] + count[1] - 2 ? t + 1 : -1;
        double place_a = (double)(i + 1) * (double)(count[1] - 1), place_b = (double)(k + 1) * (double)(count[0] - 1);

        if (i < count[0] - 1 && (k == count[1] - 1 || place_a <= place_b)) {
            set_triangle(mesh, t, (int64_t[]){a, a + 1, b}, (int64_t[]){next, last, below[i]});
            if (below[i] >= 0) { mesh->neighbour[3 * (int64_t)below[i]] = (int32_t)t; }
            i++;
        } else {
            set_triangle(mesh, t, (int64_t[]){a, b + 1, b}, (int64_t[]){-1, last, next});
            under[k] = (int32_t)t;
            k++;
        }
        last = t;
    }
    memcpy(below, under, (size_t)(count[1] - 1) * sizeof *below);
}

/* `work` holds two rows. */
static void build_grid(triangulation *mesh, const grid_plan *plan, uint64_t stream, int32_t *work, int64_t longest)
{
    int64_t first[2] = {0, 0}, count[2] = {0, 0};

    for (int64_t i = 0; i < longest; i++) {
        work[i] = -1;
    }
    for (int64_t row = 0; row <= plan->rows + 1; row++) {
        first[0] = first[1];
        count[0] = count[1];
        first[1] = mesh->points;
        count[1] = row_points(plan, row);
        place_row(mesh, plan, row, stream);
        if (row > 0) { join_rows(mesh, first, count, work, work + longest); }
    }
}

/* ---- points set into triangles ---- */

/* In the triangle that pointed at `from` across an edge, points at `to`. */
static void redirect(triangulation *mesh, int32_t triangle, int64_t from, int64_t to)
{
    if (triangle < 0) { return; }
    for (int i = 0; i < 3; i++) {
        if (mesh->neighbour[3 * (int64_t)triangle + i] == from) {
            mesh->neighbour[3 * (int64_t)triangle + i] = (int32_t)to;
            return;
        }
    }
}

/* Splits triangle t into three at a point with random weights between 1/5 and 1/2 of its corners. */
static void insert_point(triangulation *mesh, int64_t t, uint64_t stream, uint64_t index)
{
    int64_t p = mesh->points++, u = mesh->triangles, v = mesh->triangles + 1;
    int32_t c[3], n[3];
    double weight[3], sum = 0.0;

    memcpy(c, mesh->corner + 3 * t, sizeof c);
    memcpy(n, mesh->neighbour + 3 * t, sizeof n);
    mesh->x[p] = 0.0;
    mesh->y[p] = 0.0;
    for (int i = 0; i < 3; i++) {
        weight[i] = 0.5 + 0.5 * tess_random_uniform(stream, 3 * index + (uint64_t)i);
        sum += weight[i];
    }
    for (int i = 0; i < 3; i++) {
        mesh->x[p] += weight[i] / sum * mesh->x[c[i]];
        mesh->y[p] += weight[i] / sum * mesh->y[c[i]];
    }
    mesh->unknown[p] = (int32_t)mesh->unknowns++;
    mesh->triangles += 2;
    set_triangle(mesh, t, (int64_t[]){p, c[1], c[2]}, (int64_t[]){n[0], u, v});
    set_triangle(mesh, u, (int64_t[]){p, c[2], c[0]}, (int64_t[]){n[1], v, t});
    set_triangle(mesh, v, (int64_t[]){p, c[0], c[1]}, (int64_t[]){n[2], t, u});
    redirect(mesh, n[1], t, u);
    redirect(mesh, n[2], t, v);
}

/* One triangle out of each of `count` equal runs of triangles. */
static void insert_points(triangulation *mesh, int64_t count, uint64_t stream)
{
    int64_t triangles = mesh->triangles;

    for (int64_t k = 0; k < count; k++) {
        double place = (double)k + tess_random_uniform(stream, 4 * (uint64_t)k);
        int64_t t = (int64_t)(place * ((double)triangles / (double)count));

        insert_point(mesh, t < triangles ? t : triangles - 1, stream ^ 1, (uint64_t)k);
    }
}

/* ---- edge flips ---- */

double triangle_area2(const triangulation *mesh, int64_t triangle)
{
    const int32_t *c = mesh->corner + 3 * triangle;
    const double *x = mesh->x, *y = mesh->y;

    return (x[c[1]] - x[c[0]]) * (y[c[2]] - y[c[0]]) - (x[c[2]] - x[c[0]]) * (y[c[1]] - y[c[0]]);
}

/* Positive when d lies inside the circle through the corners of triangle t. */
static double circle_test(const triangulation *mesh, int64_t t, int32_t d)
{
    double x[3], y[3], square[3];

    for (int i = 0; i < 3; i++) {
        int32_t c = mesh->corner[3 * t + i];

        x[i] = mesh->x[c] - mesh->x[d];
        y[i] = mesh->y[c] - mesh->y[d];
        square[i] = x[i] * x[i] + y[i] * y[i];
    }
    return square[0] * (x[1] * y[2] - x[2] * y[1]) + square[1] * (x[2] * y[0] - x[0] * y[2]) +
           square[2] * (x[0] * y[1] - x[1] * y[0]);
}

/* Turns the edge across from corner i of triangle t, where that brings it nearer to Delaunay; returns the triangle
   beyond, or -1. Triangles (a, b, c) and (d, c, b) become (a, b, d) and (a, d, c). */
static int64_t flip_edge(triangulation *mesh, int64_t t, int i)
{
    int64_t u = mesh->neighbour[3 * t + i];
    const int32_t *ct = mesh->corner + 3 * t, *nt = mesh->neighbour + 3 * t, *cu, *nu;
    int32_t a, b, c, d, ab, ca, bd, dc;
    int j = 0;

    if (u < 0) { return -1; }
    cu = mesh->corner + 3 * u;
    nu = mesh->neighbour + 3 * u;
    while (nu[j] != t) {
        j++;
    }
    d = cu[j];
    if (circle_test(mesh, t, d) <= FLIP_GAIN) { return -1; }
    a = ct[i], b = ct[(i + 1) % 3], c = ct[(i + 2) % 3];
    ca = nt[(i + 1) % 3], ab = nt[(i + 2) % 3];
    bd = nu[(j + 1) % 3], dc = nu[(j + 2) % 3];
    set_triangle(mesh, t, (int64_t[]){a, b, d}, (int64_t[]){bd, u, ab});
    set_triangle(mesh, u, (int64_t[]){a, d, c}, (int64_t[]){dc, ca, t});
    redirect(mesh, bd, u, t);
    redirect(mesh, ca, t, u);
    return u;
}

/* Passes over the changed triangles, until none changes. */
static void flip_all(triangulation *mesh, unsigned char *changed)
{
    int64_t flips = 0;

    memset(changed, 1, (size_t)mesh->triangles);
    do {
        flips = 0;
        for (int64_t t = 0; t < mesh->triangles; t++) {
            if (!changed[t]) { continue; }
            changed[t] = 0;
            for (int i = 0; i < 3; i++) {
                int64_t u = flip_edge(mesh, t, i);

                if (u >= 0) {
                    changed[t] = changed[u] = 1;
                    flips++;
                }
            }
        }
    } while (flips > 0);
}

/* ---- all together ---- */

static tess_status allocate_mesh(tess_context *ctx, const grid_plan *plan, int64_t unknowns, triangulation *mesh)
{
    tess_status status = TESS_SUCCESS;

    /* Rows have at most inner / rows + 3 points with their ends; Euler bounds the triangles by twice the points. */
    mesh->point_capacity = unknowns + 2 * plan->rows + 2 * (plan->inner / plan->rows + 3);
    mesh->triangle_capacity = 2 * mesh->point_capacity;
    TESS_TRY(tess_host_allocate(ctx, mesh->point_capacity, sizeof *mesh->x, (void **)&mesh->x));
    TESS_TRY(tess_host_allocate(ctx, mesh->point_capacity, sizeof *mesh->y, (void **)&mesh->y));
    TESS_TRY(tess_host_allocate(ctx, mesh->point_capacity, sizeof *mesh->unknown, (void **)&mesh->unknown));
    TESS_TRY(tess_host_allocate(ctx, 3 * mesh->triangle_capacity, sizeof *mesh->corner, (void **)&mesh->corner));
    TESS_TRY(tess_host_allocate(ctx, 3 * mesh->triangle_capacity, sizeof *mesh->neighbour, (void **)&mesh->neighbour));
cleanup:
    return status;
}

tess_status triangulate(tess_context *ctx, int64_t unknowns, int64_t seed, triangulation *mesh)
{
    grid_plan plan = plan_grid(unknowns);
    int64_t longest = plan.inner / plan.rows + 3;
    int32_t *work = NULL;
    unsigned char *changed = NULL;
    tess_status status = TESS_SUCCESS;

    memset(mesh, 0, sizeof *mesh);
    TESS_TRY(allocate_mesh(ctx, &plan, unknowns, mesh));
    TESS_TRY(tess_host_allocate(ctx, 2 * longest, sizeof *work, (void **)&work));
    TESS_TRY(tess_host_allocate(ctx, mesh->triangle_capacity, 1, (void **)&changed));
    build_grid(mesh, &plan, gallery_stream(seed, 0), work, longest);
    insert_points(mesh, unknowns - plan.inner, gallery_stream(seed, 1));
    flip_all(mesh, changed);
cleanup:
    tess_host_release(ctx, work, 2 * longest, sizeof *work);
    tess_host_release(ctx, changed, mesh->triangle_capacity, 1);
    return status;
}

void release_triangulation(tess_context *ctx, triangulation *mesh)
{
    tess_host_release(ctx, mesh->x, mesh->point_capacity, sizeof *mesh->x);
    tess_host_release(ctx, mesh->y, mesh->point_capacity, sizeof *mesh->y);
    tess_host_release(ctx, mesh->unknown, mesh->point_capacity, sizeof *mesh->unknown);
    tess_host_release(ctx, mesh->corner, 3 * mesh->triangle_capacity, sizeof *mesh->corner);
    tess_host_release(ctx, mesh->neighbour, 3 * mesh->triangle_capacity, sizeof *mesh->neighbour);
    memset(mesh, 0, sizeof *mesh);
}
