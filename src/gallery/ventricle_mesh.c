/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes, cells, neighbours and numbering of the ventricle.
 *
 * The ellipsoid is that of Land et al., Proc. R. Soc. A 471 (2015) 20150641, problem 2: half axes 7, 7, 17 mm inside
 * and 10, 10, 20 mm outside, cut off by the plane z = 5 mm. The grid leaves an opening at the apex, where hexahedra
 * would collapse to wedges. Fibres turn from +60 degrees inside to -60 outside against the circumference (Streeter et
 * al., Circ. Res. 24 (1969)), in the plane of the layer.
 */
#include <string.h>

#include "gallery/ventricle.h"
#include "order/order.h"

#define PI 3.141592653589793
static const double inner_radius = 7.0, inner_length = 17.0, thickness = 3.0, base_height = 5.0; /* mm */
static const double opening = 0.3;                /* radians between the axis and the rim at the apex */
static const double inner_fibre = PI / 3.0;       /* radians; the outer one is minus that */
static const double greatest_displacement = 0.15; /* of a node, in cells of the grid: below 1/6 none is turned over */

/* Axes from a hexahedron's lowest corner to its highest, even permutations first. */
static const int paths[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}};

/*
 * Path (a, b, c) has the corners w0, w1 = w0 + a, w2 = w1 + b, w3 = w2 + c. Opposite to w0 begins the path (b, c, a) of
 * the hexahedron one further along a, opposite to w3 ends the path (c, a, b) of the one before along c; opposite to w1
 * and w2 lie (b, a, c) and (a, c, b) of the same.
 */
static const int paths_across[4][6] = {{1, 2, 0, 5, 3, 4}, {4, 5, 3, 2, 0, 1}, {3, 4, 5, 0, 1, 2}, {2, 0, 1, 4, 5, 3}};

/* ---- the grid ---- */

/* Hexahedra are about as long as wide as thick at 1 : 8 : 16 through the wall, from apex to base, around. */
static void choose_counts(int64_t cells, int64_t *counts)
{
    double hexahedra = (double)cells / 6.0;

    counts[0] = (int64_t)fmax(1.0, round(cbrt(hexahedra / 128.0)));
    counts[2] = (int64_t)round(sqrt(hexahedra / (2.0 * (double)counts[0])));
    counts[1] = (int64_t)round(hexahedra / (double)(counts[0] * counts[2]));
}

static void locate_hexahedron(const ventricle *v, int64_t cell, int64_t *at)
{
    int64_t hexahedron = cell / 6;

    at[0] = hexahedron % v->counts[0];
    at[1] = hexahedron / v->counts[0] % v->counts[1];
    at[2] = hexahedron / v->counts[0] / v->counts[1];
}

/* Node of a grid point; at[1] = counts[1] is at[1] = 0. */
static int64_t node_at(const ventricle *v, const int64_t *at)
{
    int64_t around = at[1] < v->counts[1] ? at[1] : at[1] - v->counts[1];

    return at[0] + (v->counts[0] + 1) * (around + v->counts[1] * at[2]);
}

void ventricle_corners(const ventricle *v, int64_t cell, int64_t *corner)
{
    int64_t at[3];

    locate_hexahedron(v, cell, at);
    corner[0] = node_at(v, at);
    for (int i = 0; i < 3; i++) {
        at[paths[cell % 6][i]]++;
        corner[i + 1] = node_at(v, at);
    }
}

int64_t ventricle_neighbour(const ventricle *v, int64_t cell, int face)
{
    int path = (int)(cell % 6), axis = face == 0 ? paths[path][0] : paths[path][2];
    int64_t at[3];

    locate_hexahedron(v, cell, at);
    if (face == 0) { at[axis]++; }
    if (face == 3) { at[axis]--; }
    at[1] = (at[1] + v->counts[1]) % v->counts[1];
    if (at[axis] < 0 || at[axis] == v->counts[axis]) { return -1; }
    return 6 * (at[0] + v->counts[0] * (at[1] + v->counts[1] * at[2])) + paths_across[face][path];
}

/* ---- geometry ---- */

/* A place in the wall: 0 inside to 1 outside, the angle around, and the one from the apex on the ellipsoid. */
typedef struct wall_place {
    double depth, around, polar, radius, length;
} wall_place;

/* Grid coordinates, not all whole, as a place in the wall. */
static wall_place place_of(const ventricle *v, const double *grid)
{
    wall_place p = {.depth = grid[0] / (double)v->counts[0], .around = 2.0 * PI * grid[1] / (double)v->counts[1]};

    p.radius = inner_radius + p.depth * thickness;
    p.length = inner_length + p.depth * thickness;
    p.polar = opening + (acos(-base_height / p.length) - opening) * grid[2] / (double)v->counts[2];
    return p;
}

/* Displaced along the three axes of the grid, but never off the boundary. */
static void place_node(const ventricle *v, uint64_t stream, int64_t node, double *x)
{
    int64_t at[3] = {node % (v->counts[0] + 1), node / (v->counts[0] + 1) % v->counts[1],
                     node / (v->counts[0] + 1) / v->counts[1]};
    double grid[3];
    wall_place p;

    for (int axis = 0; axis < 3; axis++) {
        bool fixed = axis != 1 && (at[axis] == 0 || at[axis] == v->counts[axis]);
        double u = tess_random_uniform(stream, 3 * (uint64_t)node + (uint64_t)axis);

        grid[axis] = (double)at[axis] + (fixed ? 0.0 : greatest_displacement * (2.0 * u - 1.0));
    }
    p = place_of(v, grid);
    x[0] = p.radius * sin(p.polar) * cos(p.around);
    x[1] = p.radius * sin(p.polar) * sin(p.around);
    x[2] = -p.length * cos(p.polar);
}

static void subtract(const double *a, const double *b, double *difference)
{
    for (int d = 0; d < 3; d++) {
        difference[d] = a[d] - b[d];
    }
}

static void cross(const double *a, const double *b, double *product)
{
    product[0] = a[1] * b[2] - a[2] * b[1];
    product[1] = a[2] * b[0] - a[0] * b[2];
    product[2] = a[0] * b[1] - a[1] * b[0];
}

static double cell_volume(const ventricle *v, int64_t cell)
{
    int64_t corner[4];
    double edge[3][3], normal[3];

    ventricle_corners(v, cell, corner);
    for (int i = 0; i < 3; i++) {
        subtract(v->node + 3 * corner[i + 1], v->node + 3 * corner[0], edge[i]);
    }
    cross(edge[1], edge[2], normal);
    return (cell % 6 < 3 ? 1.0 : -1.0) * (edge[0][0] * normal[0] + edge[0][1] * normal[1] + edge[0][2] * normal[2]) /
           6.0;
}

/* Corners in the order of their numbers, so that rounding does not depend on the side. */
void ventricle_face_area(const ventricle *v, int64_t cell, int face, double *area)
{
    int64_t corner[4], of_face[3];
    double first[3], second[3];
    int count = 0;

    ventricle_corners(v, cell, corner);
    for (int i = 0; i < 4; i++) {
        int k = count;

        if (i == face) { continue; }
        for (; k > 0 && of_face[k - 1] > corner[i]; k--) {
            of_face[k] = of_face[k - 1];
        }
        of_face[k] = corner[i];
        count++;
    }
    subtract(v->node + 3 * of_face[1], v->node + 3 * of_face[0], first);
    subtract(v->node + 3 * of_face[2], v->node + 3 * of_face[0], second);
    cross(first, second, area);
    for (int d = 0; d < 3; d++) {
        area[d] *= 0.5;
    }
}

/* At the centre of the cell before its nodes were displaced. */
static void cell_fibre(const ventricle *v, int64_t cell, double *fibre)
{
    int64_t at[3];
    double grid[3], circumference[3], meridian[3], angle, length;
    wall_place p;

    locate_hexahedron(v, cell, at);
    for (int i = 0; i < 3; i++) {
        int axis = paths[cell % 6][i];

        grid[axis] = (double)at[axis] + 0.25 * (3 - i);
    }
    p = place_of(v, grid);
    angle = inner_fibre * (1.0 - 2.0 * p.depth);
    circumference[0] = -sin(p.around);
    circumference[1] = cos(p.around);
    circumference[2] = 0.0;
    meridian[0] = p.radius * cos(p.polar) * cos(p.around);
    meridian[1] = p.radius * cos(p.polar) * sin(p.around);
    meridian[2] = p.length * sin(p.polar);
    length = sqrt(meridian[0] * meridian[0] + meridian[1] * meridian[1] + meridian[2] * meridian[2]);
    for (int d = 0; d < 3; d++) {
        fibre[d] = cos(angle) * circumference[d] + sin(angle) * meridian[d] / length;
    }
}

/* ---- numbering ---- */

static void invert_numbering(int threads, ventricle *v)
{
#pragma omp parallel for num_threads(threads)
    for (int64_t row = 0; row < v->cells; row++) {
        v->row_of[v->cell_of[row]] = (int32_t)row;
    }
}

/* Columns of a row in ascending order, the diagonal among them; returns how many. */
static int64_t list_columns(const ventricle *v, int64_t row, int32_t *col)
{
    int64_t cell = ventricle_cell_of(v, row), count = 1;

    col[0] = (int32_t)row;
    for (int face = 0; face < 4; face++) {
        int64_t other = ventricle_neighbour(v, cell, face), k = count;

        if (other < 0) { continue; }
        other = ventricle_row_of(v, other);
        for (; k > 0 && col[k - 1] > other; k--) {
            col[k] = col[k - 1];
        }
        col[k] = (int32_t)other;
        count++;
    }
    return count;
}

/* Renumbers by reverse Cuthill-McKee of the present numbering. */
static tess_status order_by_rcm(tess_context *ctx, ventricle *v)
{
    int64_t *row_ptr = NULL;
    int32_t *col = NULL, *perm = NULL;
    tess_csr_view pattern = {.nrows = v->cells, .ncols = v->cells, .row_ptr_bits = 64};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, v->cells + 1, sizeof *row_ptr, (void **)&row_ptr));
    TESS_TRY(tess_host_allocate(ctx, 5 * v->cells, sizeof *col, (void **)&col));
    TESS_TRY(tess_host_allocate(ctx, v->cells, sizeof *perm, (void **)&perm));
    row_ptr[0] = 0;
    for (int64_t i = 0; i < v->cells; i++) {
        row_ptr[i + 1] = row_ptr[i] + list_columns(v, i, col + row_ptr[i]);
    }
    pattern.nnz = row_ptr[v->cells];
    pattern.row_ptr = row_ptr;
    pattern.col_ind = col;
    TESS_TRY(order_rcm_of_pattern(ctx, &pattern, perm));
    for (int64_t i = 0; i < v->cells; i++) {
        perm[i] = v->cell_of[perm[i]];
    }
    memcpy(v->cell_of, perm, (size_t)v->cells * sizeof *perm);
    invert_numbering(ctx->threads, v);
cleanup:
    tess_host_release(ctx, row_ptr, v->cells + 1, sizeof *row_ptr);
    tess_host_release(ctx, col, 5 * v->cells, sizeof *col);
    tess_host_release(ctx, perm, v->cells, sizeof *perm);
    return status;
}

static tess_status number_rows(tess_context *ctx, const ventricle_options *options, ventricle *v)
{
    tess_status status = TESS_SUCCESS;

    if (options->order == VENTRICLE_NATURAL) { return TESS_SUCCESS; }
    TESS_TRY(tess_host_allocate(ctx, v->cells, sizeof *v->cell_of, (void **)&v->cell_of));
    TESS_TRY(tess_host_allocate(ctx, v->cells, sizeof *v->row_of, (void **)&v->row_of));
    gallery_shuffle(gallery_stream(options->seed, 1), v->cells, v->cell_of);
    invert_numbering(ctx->threads, v);
    if (options->order == VENTRICLE_RCM) { status = order_by_rcm(ctx, v); }
cleanup:
    return status;
}

/* ---- life ---- */

tess_status ventricle_create(tess_context *ctx, const ventricle_options *options, ventricle *v)
{
    uint64_t stream = gallery_stream(options->seed, 0);
    tess_status status = TESS_SUCCESS;

    *v = (ventricle){.nodes = 0};
    choose_counts(options->cells, v->counts);
    v->nodes = (v->counts[0] + 1) * v->counts[1] * (v->counts[2] + 1);
    v->cells = 6 * v->counts[0] * v->counts[1] * v->counts[2];
    TESS_TRY(tess_host_allocate(ctx, v->nodes, 3 * sizeof *v->node, (void **)&v->node));
    TESS_TRY(tess_host_allocate(ctx, v->cells, sizeof *v->volume, (void **)&v->volume));
    TESS_TRY(tess_host_allocate(ctx, v->cells, 3 * sizeof *v->fibre, (void **)&v->fibre));
#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t i = 0; i < v->nodes; i++) {
        place_node(v, stream, i, v->node + 3 * i);
    }
#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t cell = 0; cell < v->cells; cell++) {
        v->volume[cell] = cell_volume(v, cell);
        cell_fibre(v, cell, v->fibre + 3 * cell);
    }
    status = number_rows(ctx, options, v);
cleanup:
    return status;
}

void ventricle_release(tess_context *ctx, ventricle *v)
{
    tess_host_release(ctx, v->node, v->nodes, 3 * sizeof *v->node);
    tess_host_release(ctx, v->volume, v->cells, sizeof *v->volume);
    tess_host_release(ctx, v->fibre, v->cells, 3 * sizeof *v->fibre);
    tess_host_release(ctx, v->cell_of, v->cells, sizeof *v->cell_of);
    tess_host_release(ctx, v->row_of, v->cells, sizeof *v->row_of);
}
