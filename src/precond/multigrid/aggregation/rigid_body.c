/* SPDX-License-Identifier: Apache-2.0 */
/* Rigid-body modes: the motions of an elastic body that cost no energy, from the coordinates of its nodes. */
#include <float.h>
#include <math.h>
#include <string.h>

#include <tessera/names.h>
#include <tessera/precond.h>

#include "base/context.h"

enum { MOST_DIMENSIONS = 3 };

/* Of a mode, what rounding leaves where it depends on the others: all nodes in a line. */
#define DEPENDENT (4096.0 * DBL_EPSILON)

typedef struct body {
    int64_t nodes;
    int dimensions;
    double centre[MOST_DIMENSIONS];
    const double *coordinates; /* nodes x dimensions, column after column */
} body;

static double coordinate(const body *b, int64_t node, int d)
{
    return b->coordinates[d * b->nodes + node] - b->centre[d];
}

static void find_centre(body *b)
{
    for (int d = 0; d < b->dimensions; d++) {
        double sum = 0.0;

        for (int64_t i = 0; i < b->nodes; i++) {
            sum += b->coordinates[d * b->nodes + i];
        }
        b->centre[d] = b->nodes > 0 ? sum / (double)b->nodes : 0.0;
    }
}

/* Mode: a translation along an axis, or the rotation in the plane of two axes: u_p = -x_q, u_q = x_p. */
static void write_mode(const body *b, int mode, double *column)
{
    static const int plane[MOST_DIMENSIONS][2] = {{0, 1}, {1, 2}, {2, 0}};
    const int rotation = mode - b->dimensions;

    memset(column, 0, (size_t)(b->nodes * b->dimensions) * sizeof *column);
    for (int64_t i = 0; i < b->nodes; i++) {
        double *u = column + i * b->dimensions;

        if (rotation < 0) {
            u[mode] = 1.0;
        } else {
            u[plane[rotation][0]] = -coordinate(b, i, plane[rotation][1]);
            u[plane[rotation][1]] = coordinate(b, i, plane[rotation][0]);
        }
    }
}

static double dot(int64_t n, const double *x, const double *y)
{
    double sum = 0.0;

    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* Gram-Schmidt twice against the modes before it, then norm 1; or zero if it depends on them. */
static void orthonormalize(int64_t n, int mode, double *modes)
{
    double *x = modes + mode * n;
    const double before = sqrt(dot(n, x, x));
    double after = 0.0;

    for (int q = 0; q < 2 * mode; q++) {
        const double *other = modes + q % mode * n;
        const double along = dot(n, other, x);

        for (int64_t i = 0; i < n; i++) {
            x[i] -= along * other[i];
        }
    }
    after = sqrt(dot(n, x, x));
    for (int64_t i = 0; i < n; i++) {
        x[i] = after > DEPENDENT * before ? x[i] / after : 0.0;
    }
}

/* Whether all nodes are at the first one's place, as in an array that nobody filled. */
static bool is_point(int64_t nodes, int dimensions, const double *coordinates)
{
    for (int64_t k = 0; k < nodes * dimensions; k++) {
        if (coordinates[k] != coordinates[k / nodes * nodes]) { return false; }
    }
    return nodes > 1;
}

tess_status tess_rigid_body_modes(tess_context *ctx, int64_t nodes, int dimensions, const double *coordinates,
                                  double *modes)
{
    body b = {.nodes = nodes, .dimensions = dimensions, .coordinates = coordinates};

    TESS_REQUIRE(NULL, ctx);
    TESS_REQUIRE(ctx, coordinates);
    TESS_REQUIRE(ctx, modes);
    if (nodes < 0) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass the number of nodes, from 0",
                         "tess_rigid_body_modes: nodes is %lld", (long long)nodes);
    }
    if (dimensions != 2 && dimensions != 3) {
        return tess_fail(ctx, TESS_INVALID_ARGUMENT, "pass one column for each axis",
                         "tess_rigid_body_modes: dimensions is %d, but only bodies in 2 or 3 dimensions have modes",
                         dimensions);
    }
    for (int64_t k = 0; k < nodes * dimensions; k++) {
        if (isfinite(coordinates[k])) { continue; }
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "give each node finite coordinates",
                         "the coordinates of node %lld have NaN or Inf", tess_number(ctx, k % nodes));
    }
    if (is_point(nodes, dimensions, coordinates)) {
        return tess_fail(ctx, TESS_OUT_OF_RANGE, "see whether the coordinates were filled in",
                         "the coordinates put all %s at one point", tess_count(nodes, "node").text);
    }
    find_centre(&b);
    for (int mode = 0; mode < (dimensions == 3 ? 6 : 3); mode++) {
        write_mode(&b, mode, modes + mode * nodes * dimensions);
        orthonormalize(nodes * dimensions, mode, modes);
    }
    return TESS_SUCCESS;
}
