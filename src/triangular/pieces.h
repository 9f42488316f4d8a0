/* SPDX-License-Identifier: Apache-2.0 */
/* What a sparse triangle is made of, if it is not merged: leaves and squares, in the order of the solution; for sweeps
   one square. */
#ifndef TESS_TRIANGULAR_PIECES_H
#define TESS_TRIANGULAR_PIECES_H

#include "matrix/storage_options.h"
#include "triangular/leveled.h"
#include "triangular/merged_triangle.h"
#include "triangular/triangular.h"

/* Rows first .. of x minus the square times x from column `column` on. */
typedef struct triangle_square {
    int64_t row, column;
    tess_matrix *assembled, *stored; /* stored: NULL before the first values, and if assembled is used */
    int64_t *source;                 /* on the device */
} triangle_square;

/* One of the two. assembled is NULL for a leaf. */
typedef struct triangle_piece {
    triangle_leaf leaf;
    triangle_square square;
} triangle_piece;

struct sparse_triangle {
    tess_context *ctx;
    int64_t n;
    bool blocks;
    int sweeps; /* > 0: solved by as many (swept.h) */
    int64_t leaf;
    tess_precision precision;
    storage_request squares;
    triangle_piece *pieces; /* in the order of the solution */
    int64_t npieces, capacity;
    int32_t *order;       /* on the device: the row of a position, if pieces are of a reordered triangle, or NULL */
    double *work;         /* n, on the device, if there is an order; of sweeps 2 n */
    double *columns_work; /* the same of `columns` columns; NULL before they are prepared */
    int columns;
    merged_triangle *merged; /* NULL: the pieces are used */
    bool weighs;             /* merged level sets are to be timed against level sets at the first values */
    uint64_t moves;          /* number of moves before it became pieces; of sweeps, of sets of values */
};

/* The matrix that is multiplied. */
static inline const tess_matrix *triangle_square_matrix(const triangle_square *s)
{
    return s->stored ? s->stored : s->assembled;
}
/* Vectors of n values for each column in `work`. */
static inline int64_t triangle_work_vectors(const sparse_triangle *t)
{
    return t->sweeps > 0 ? 2 : 1;
}

/* Cuts the triangle into pieces; recursive blocks first order its rows by level sets. */
tess_status triangle_cut(sparse_triangle *t, const triangle_pattern *p);
/* All of the triangle as one leaf, which takes its rows by level sets, their sources, and the level sets. */
tess_status triangle_take_leaf(sparse_triangle *t, device_csr *pattern, int64_t **source, leveled_rows *rows);
/* For sweeps: all of the triangle as one square, which takes the pattern, its space for values, and the sources; what
   it does not take stays the caller's. */
tess_status triangle_take_square(sparse_triangle *t, device_csr *pattern, int64_t **source);
void triangle_release_pieces(sparse_triangle *t);

#endif
