/* SPDX-License-Identifier: Apache-2.0 */
/* An irregular Delaunay triangulation of a rectangle with a given number of inner points. */
#ifndef TESS_GALLERY_TRIANGULATION_H
#define TESS_GALLERY_TRIANGULATION_H

#include "matrix/matrix.h"

typedef struct triangulation {
    int64_t unknowns; /* inner points */
    int64_t points, point_capacity;
    int64_t triangles, triangle_capacity;
    double *x, *y;      /* point_capacity; neighbours are about 1 apart */
    int32_t *unknown;   /* point_capacity: from 0 for inner points, -1 on the boundary */
    int32_t *corner;    /* 3 * triangle_capacity: counter-clockwise */
    int32_t *neighbour; /* 3 * triangle_capacity: across from each corner, -1 outside */
} triangulation;

/*
 * A grid of rows with differing numbers of points, moved at random; three points in ten are set into random triangles
 * instead; then edges are flipped until the triangulation is Delaunay (up to rounding). Degrees vary from 3 to above
 * 10. The same `seed` gives the same triangulation. To be released also after a failure.
 */
tess_status triangulate(tess_context *ctx, int64_t unknowns, int64_t seed, triangulation *mesh);
void release_triangulation(tess_context *ctx, triangulation *mesh);

/* Twice the area, positive for counter-clockwise corners. */
double triangle_area2(const triangulation *mesh, int64_t triangle);

#endif
