/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stokes flow in a closed box of N^2 or N^3 unit cells, by finite volumes on a staggered grid (Harlow, Welch, Physics
 * of Fluids 8 (1965)): velocities across the faces between cells, pressures in cells, no slip at the walls,
 * viscosity 1. The last cell's pressure is left out: pressure has no level. [A B^T; B 0] is symmetric; first the
 * velocities of each direction, then the pressures.
 */
#include "gallery/problem.h"

enum { MOST_DIMENSIONS = 3, MOST_SIDE_2D = 26754, MOST_SIDE_3D = 812 }; /* n below 2^31 */

typedef struct stokes {
    int dimensions;
    int64_t side, faces, cells; /* of a side, of a direction, of the box */
} stokes;

/* Cells, or faces across direction `across`, along direction d. */
static int64_t extent(const stokes *s, int across, int d)
{
    return s->side - (d == across);
}

/* The place of a number among the faces of a direction; across = dimensions: among the cells. */
static void locate(const stokes *s, int across, int64_t number, int64_t *at)
{
    for (int d = 0; d < s->dimensions; d++) {
        at[d] = number % extent(s, across, d);
        number /= extent(s, across, d);
    }
}

static int64_t number_of(const stokes *s, int across, const int64_t *at)
{
    int64_t number = 0;

    for (int d = s->dimensions - 1; d >= 0; d--) {
        number = number * extent(s, across, d) + at[d];
    }
    return number;
}

/* An entry; col NULL: it only counts. */
static void push(int64_t *count, int64_t column, double value, int32_t *col, double *val)
{
    if (col) {
        col[*count] = (int32_t)column;
        val[*count] = value;
    }
    ++*count;
}

/* The neighbour one step away, where there is one. */
static void push_neighbour(const stokes *s, int across, int64_t *at, int d, int step, int64_t *count, int32_t *col,
                           double *val)
{
    at[d] += step;
    if (at[d] >= 0 && at[d] < extent(s, across, d)) {
        push(count, across * s->faces + number_of(s, across, at), -1.0, col, val);
    }
    at[d] -= step;
}

/* A wall half a cell away counts twice. */
static double diagonal_of(const stokes *s, int across, const int64_t *at)
{
    double sum = 2.0 * s->dimensions;

    for (int d = 0; d < s->dimensions; d++) {
        if (d != across) { sum += (at[d] == 0) + (at[d] == s->side - 1); }
    }
    return sum;
}

static int64_t push_velocity(const stokes *s, int64_t row, int32_t *col, double *val)
{
    const int across = (int)(row / s->faces);
    int64_t at[MOST_DIMENSIONS], count = 0, cell = 0;

    locate(s, across, row % s->faces, at);
    for (int d = s->dimensions - 1; d >= 0; d--) {
        push_neighbour(s, across, at, d, -1, &count, col, val);
    }
    push(&count, row, diagonal_of(s, across, at), col, val);
    for (int d = 0; d < s->dimensions; d++) {
        push_neighbour(s, across, at, d, 1, &count, col, val);
    }
    for (int side = 0; side < 2; side++) {
        at[across] += side;
        cell = number_of(s, s->dimensions, at);
        if (cell < s->cells - 1) { push(&count, s->dimensions * s->faces + cell, side ? 1.0 : -1.0, col, val); }
    }
    return count;
}

static int64_t push_pressure(const stokes *s, int64_t cell, int32_t *col, double *val)
{
    int64_t at[MOST_DIMENSIONS], count = 0;

    locate(s, s->dimensions, cell, at);
    for (int across = 0; across < s->dimensions; across++) {
        for (int side = 1; side >= 0; side--) { /* the face before the cell, then the one behind */
            at[across] -= side;
            if (at[across] >= 0 && at[across] < s->side - 1) {
                push(&count, across * s->faces + number_of(s, across, at), side ? 1.0 : -1.0, col, val);
            }
            at[across] += side;
        }
    }
    return count;
}

static int64_t push_row(const stokes *s, int64_t row, int32_t *col, double *val)
{
    const int64_t velocities = s->dimensions * s->faces;

    return row < velocities ? push_velocity(s, row, col, val) : push_pressure(s, row - velocities, col, val);
}

static int64_t stokes_length(const void *problem, int64_t row)
{
    return push_row(problem, row, NULL, NULL);
}

static void stokes_fill(const void *problem, int64_t row, int32_t *col, double *val)
{
    (void)push_row(problem, row, col, val);
}

static tess_status make_stokes(const gallery_request *request, int dimensions, int64_t most, tess_matrix **out)
{
    stokes s = {.dimensions = dimensions, .side = 2, .cells = 1};
    int64_t rows = 0;
    const tess_status status = gallery_integer(request, 0, "N", 2, most, &s.side);

    if (status != TESS_SUCCESS) { return status; }
    for (int d = 0; d < dimensions; d++) {
        s.cells *= s.side;
    }
    s.faces = s.cells / s.side * (s.side - 1);
    rows = dimensions * s.faces + s.cells - 1;
    return gallery_build(request->ctx, &(gallery_rows){rows, rows, stokes_length, stokes_fill, &s}, out);
}

tess_status gallery_stokes2d(const gallery_request *request, tess_matrix **out)
{
    return make_stokes(request, 2, MOST_SIDE_2D, out);
}

tess_status gallery_stokes3d(const gallery_request *request, tess_matrix **out)
{
    return make_stokes(request, 3, MOST_SIDE_3D, out);
}
