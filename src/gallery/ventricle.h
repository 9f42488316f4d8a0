/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A left ventricle as a mesh of tetrahedra: a thick-walled, truncated half ellipsoid with fibres that turn through the
 * wall. Lengths in mm, times in ms.
 *
 * A grid of hexahedra, counts[0] through the wall, counts[1] around, counts[2] from apex to base, is cut into six
 * tetrahedra each (Freudenthal, Kuhn): one for each order in which the three axes lead from a hexahedron's lowest
 * corner to its highest. Faces of neighbours match, around the axis too. Cell 6 h + p is path p of hexahedron h,
 * numbered wall fastest, then around.
 */
#ifndef TESS_GALLERY_VENTRICLE_H
#define TESS_GALLERY_VENTRICLE_H

#include "gallery/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ventricle {
    int64_t counts[3]; /* of hexahedra; counts[1] >= 3, so that two cells share one face at most */
    int64_t nodes, cells;
    double *node;     /* coordinates, 3 per node */
    double *volume;   /* per cell, negative where it is inside out */
    double *fibre;    /* unit vector, 3 per cell */
    int32_t *cell_of; /* the cell of each row; NULL: row i is cell i */
    int32_t *row_of;  /* its inverse */
} ventricle;

typedef enum ventricle_order {
    VENTRICLE_NATURAL,
    VENTRICLE_RANDOM,
    VENTRICLE_RCM /* reverse Cuthill-McKee of the random one */
} ventricle_order;

typedef struct ventricle_options {
    int64_t cells; /* about as many as there will be, from VENTRICLE_CELLS_MIN to VENTRICLE_CELLS_MAX */
    ventricle_order order;
    int64_t seed; /* of the nodes' displacements and of the random order */
} ventricle_options;

enum { VENTRICLE_CELLS_MIN = 1000, VENTRICLE_CELLS_MAX = 2000000000 };

/* Nodes, volumes, fibres and numbering. Errors: memory; *v can be released after a failure too. */
tess_status ventricle_create(tess_context *ctx, const ventricle_options *options, ventricle *v);
void ventricle_release(tess_context *ctx, ventricle *v);

/* The cell across the face opposite to corner `face` (0 to 3), or -1 where the face is on the boundary. */
int64_t ventricle_neighbour(const ventricle *v, int64_t cell, int face);
/* The nodes of a cell along its path. */
void ventricle_corners(const ventricle *v, int64_t cell, int64_t *corner);
/* The area vector of a face: normal to it, of the length of its area; the same bits from both of its cells. */
void ventricle_face_area(const ventricle *v, int64_t cell, int face, double *area);

static inline int64_t ventricle_cell_of(const ventricle *v, int64_t row)
{
    return v->cell_of ? v->cell_of[row] : row;
}

static inline int64_t ventricle_row_of(const ventricle *v, int64_t cell)
{
    return v->row_of ? v->row_of[cell] : cell;
}

#ifdef __cplusplus
}
#endif

#endif
