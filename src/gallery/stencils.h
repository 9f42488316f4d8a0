/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stencils on a grid of nx * ny * nz points, numbered x fastest, points outside left out. Host and device builders
 * share the row bodies below. Both give the same bits: a coefficient never adds to a rounded product, so that a
 * compiler that contracts a * b + c has nothing to contract (products by powers of two are exact).
 */
#ifndef TESS_GALLERY_STENCILS_H
#define TESS_GALLERY_STENCILS_H

#include <stdint.h>

#include "matrix/matrix.h"
#include <tessera/export.h>

enum { TESS_STENCIL_POINTS = 27 };

typedef enum tess_wind { TESS_WIND_NONE, TESS_WIND_BENT_PIPE, TESS_WIND_RECIRCULATING } tess_wind;

typedef struct tess_stencil {
    int64_t nx, ny, nz;
    int points; /* in ascending order of (dz, dy, dx), hence of columns */
    signed char dx[TESS_STENCIL_POINTS], dy[TESS_STENCIL_POINTS], dz[TESS_STENCIL_POINTS];
    double coefficient[TESS_STENCIL_POINTS]; /* under a wind: those of diffusion alone */
    tess_wind wind;                          /* varies from point to point; five points in two dimensions */
    double convection;
    double high_scale;   /* factor of high rows, a power of two */
    uint64_t high_below; /* rows whose position in the Weyl sequence lies below are high; 0: none */
} tess_stencil;

/* The five points in column order. */
enum { TESS_POINT_LOWER, TESS_POINT_LEFT, TESS_POINT_CENTRE, TESS_POINT_RIGHT, TESS_POINT_UPPER };

typedef struct stencil_place {
    int64_t x, y, z;
} stencil_place;

TESS_HD stencil_place stencil_locate(const tess_stencil *s, int64_t row)
{
    stencil_place place;
    int64_t plane = row / s->nx;

    place.x = row - plane * s->nx;
    place.z = plane / s->ny;
    place.y = plane - place.z * s->ny;
    return place;
}

TESS_HD int stencil_inside(const tess_stencil *s, stencil_place at, int k)
{
    int64_t x = at.x + s->dx[k], y = at.y + s->dy[k], z = at.z + s->dz[k];

    return x >= 0 && x < s->nx && y >= 0 && y < s->ny && z >= 0 && z < s->nz;
}

TESS_HD int stencil_row_length(const tess_stencil *s, int64_t row)
{
    stencil_place at = stencil_locate(s, row);
    int length = 0;

    for (int k = 0; k < s->points; k++) {
        length += stencil_inside(s, at, k);
    }
    return length;
}

/* How many of 0 .. c - 1 stay inside 0 .. n - 1 after a move by `step`, -1, 0 or 1. */
TESS_HD int64_t stencil_kept(int64_t c, int step, int64_t n)
{
    int64_t last = step > 0 && c > n - 1 ? n - 1 : c;

    return step < 0 && last > 0 ? last - 1 : last;
}

/* Nonzeros of the rows before `row` (which may be one past the last), in closed form: the device needs no scan. Whole
   planes, then whole lines of the plane, then points of the line. */
TESS_HD int64_t stencil_row_offset(const tess_stencil *s, int64_t row)
{
    stencil_place at = stencil_locate(s, row);
    int64_t offset = 0;

    for (int k = 0; k < s->points; k++) {
        int64_t y = at.y + s->dy[k], z = at.z + s->dz[k], line = stencil_kept(s->nx, s->dx[k], s->nx);
        int64_t plane = line * stencil_kept(s->ny, s->dy[k], s->ny);
        int in_plane = z >= 0 && z < s->nz, in_line = in_plane && y >= 0 && y < s->ny;

        offset += plane * stencil_kept(at.z, s->dz[k], s->nz);
        offset += in_plane ? line * stencil_kept(at.y, s->dy[k], s->ny) : 0;
        offset += in_line ? stencil_kept(at.x, s->dx[k], s->nx) : 0;
    }
    return offset;
}

/* First-order upwinding of the wind (cx, cy), already divided by the mesh widths: adds to the five coefficients. */
TESS_HD void stencil_upwind(double cx, double cy, double *coefficient)
{
    double x = cx < 0 ? -cx : cx, y = cy < 0 ? -cy : cy;

    coefficient[cx < 0 ? TESS_POINT_RIGHT : TESS_POINT_LEFT] -= x;
    coefficient[TESS_POINT_CENTRE] += x;
    coefficient[cy < 0 ? TESS_POINT_UPPER : TESS_POINT_LOWER] -= y;
    coefficient[TESS_POINT_CENTRE] += y;
}

/* The five coefficients at a point of a wind. Coordinates are quotients, (i + 1) / (n + 1), for the reason above. */
TESS_HD void stencil_wind_coefficients(const tess_stencil *s, stencil_place at, double *coefficient)
{
    double x = (double)(at.x + 1) / (double)(s->nx + 1), y = (double)(at.y + 1) / (double)(s->ny + 1);
    double wind_x, wind_y;

    if (s->wind == TESS_WIND_BENT_PIPE) {
        wind_x = 2.0 * s->convection * x * (0.5 * x - 1.0) * (1.0 - 2.0 * y);
        wind_y = -4.0 * s->convection * y * (y - 1.0) * (1.0 - x);
    } else {
        wind_x = 4.0 * s->convection * x * (x - 1.0) * (1.0 - 2.0 * y);
        wind_y = -4.0 * s->convection * y * (y - 1.0) * (1.0 - 2.0 * x);
    }
    for (int k = 0; k < 5; k++) {
        coefficient[k] = s->coefficient[k];
    }
    stencil_upwind(wind_x / (1.0 / (double)(s->nx + 1)), wind_y / (1.0 / (double)(s->ny + 1)), coefficient);
}

/* High rows are spread by the Weyl sequence of the golden ratio: evenly to within a few rows, without a period. */
TESS_HD double stencil_row_scale(const tess_stencil *s, int64_t row)
{
    return (uint64_t)row * UINT64_C(0x9e3779b97f4a7c15) < s->high_below ? s->high_scale : 1.0;
}

TESS_HD void stencil_row_fill(const tess_stencil *s, int64_t row, int32_t *col, double *val)
{
    stencil_place at = stencil_locate(s, row);
    double wind[5], scale = stencil_row_scale(s, row);
    const double *coefficient = s->coefficient;
    int length = 0;

    if (s->wind != TESS_WIND_NONE) {
        stencil_wind_coefficients(s, at, wind);
        coefficient = wind;
    }
    for (int k = 0; k < s->points; k++) {
        if (stencil_inside(s, at, k)) {
            col[length] = (int32_t)(row + s->dx[k] + s->nx * (s->dy[k] + s->ny * s->dz[k]));
            val[length] = coefficient[k] * scale;
            length++;
        }
    }
}

#ifdef __cplusplus
extern "C" {
#endif

/* What a device supplies. */
typedef struct stencil_ops {
    /* The matrix, made on the device. */
    tess_status (*build)(tess_context *ctx, const tess_stencil *stencil, tess_matrix **out);
} stencil_ops;

extern const stencil_ops stencil_host_ops;
const stencil_ops *stencil_gpu_ops(void);
const stencil_ops *stencil_ops_of(const tess_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
