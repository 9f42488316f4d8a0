/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The problems that are stencils. Those of the Galeri package (M. Sala, D. Day, M. Heroux) follow its definitions of
 * Laplace, Star2D, Stretched2D, UniFlow2D, BentPipe2D and Recirc2D on the unit square, Dirichlet boundary left out.
 */
#include "gallery/problem.h"
#include "gallery/stencils.h"

/* ---- stencils ---- */

static void start_stencil(tess_stencil *s, const int64_t *counts)
{
    *s = (tess_stencil){.nx = counts[0], .ny = counts[1], .nz = counts[2], .high_scale = 1.0};
}

/* Points must come in ascending order of (dz, dy, dx). */
static void add_point(tess_stencil *s, int dx, int dy, int dz, double coefficient)
{
    s->dx[s->points] = (signed char)dx;
    s->dy[s->points] = (signed char)dy;
    s->dz[s->points] = (signed char)dz;
    s->coefficient[s->points] = coefficient;
    s->points++;
}

/* `by_distance[k]` is the coefficient of points with k nonzero offsets; zero leaves them out. */
static void fill_box(tess_stencil *s, int dimensions, const double *by_distance)
{
    int ry = dimensions > 1, rz = dimensions > 2;

    for (int dz = -rz; dz <= rz; dz++) {
        for (int dy = -ry; dy <= ry; dy++) {
            for (int dx = -1; dx <= 1; dx++) {
                double coefficient = by_distance[(dx != 0) + (dy != 0) + (dz != 0)];

                if (coefficient != 0.0) { add_point(s, dx, dy, dz, coefficient); }
            }
        }
    }
}

static tess_status make_box(const gallery_request *request, int dimensions, const double *by_distance,
                            tess_matrix **out)
{
    tess_stencil s;
    int64_t counts[3] = {1, 1, 1};
    tess_status status = gallery_grid(request, dimensions, 1, counts);

    if (status != TESS_SUCCESS) { return status; }
    start_stencil(&s, counts);
    fill_box(&s, dimensions, by_distance);
    return stencil_ops_of(request->ctx)->build(request->ctx, &s, out);
}

tess_status gallery_laplace1d(const gallery_request *request, tess_matrix **out)
{
    return make_box(request, 1, (const double[]){2.0, -1.0}, out);
}

tess_status gallery_laplace2d(const gallery_request *request, tess_matrix **out)
{
    return make_box(request, 2, (const double[]){4.0, -1.0, 0.0}, out);
}

tess_status gallery_star2d(const gallery_request *request, tess_matrix **out)
{
    return make_box(request, 2, (const double[]){8.0, -1.0, -1.0}, out);
}

tess_status gallery_laplace3d(const gallery_request *request, tess_matrix **out)
{
    return make_box(request, 3, (const double[]){6.0, -1.0, 0.0, 0.0}, out);
}

tess_status gallery_laplace3d27(const gallery_request *request, tess_matrix **out)
{
    return make_box(request, 3, (const double[]){26.0, -1.0, -1.0, -1.0}, out);
}

/* ---- square grids with parameters ---- */

/* N, then the grid N * N with no points yet. */
static tess_status start_square(const gallery_request *request, tess_stencil *s)
{
    int64_t counts[3] = {1, 1, 1};
    gallery_request size = *request;
    tess_status status;

    size.nargs = 1; /* the argument after N is not a size here */
    status = gallery_grid(&size, 2, 1, counts);
    if (status == TESS_SUCCESS) { start_stencil(s, counts); }
    return status;
}

static void add_five_points(tess_stencil *s, double centre, double beside, double above)
{
    add_point(s, 0, -1, 0, above);
    add_point(s, -1, 0, 0, beside);
    add_point(s, 0, 0, 0, centre);
    add_point(s, 1, 0, 0, beside);
    add_point(s, 0, 1, 0, above);
}

/* Centre, left and right, lower and upper; corners `rising` at lower left and upper right, `falling` at the others. */
static void add_nine_points(tess_stencil *s, double centre, double beside, double above, double rising, double falling)
{
    add_point(s, -1, -1, 0, rising);
    add_point(s, 0, -1, 0, above);
    add_point(s, 1, -1, 0, falling);
    add_point(s, -1, 0, 0, beside);
    add_point(s, 0, 0, 0, centre);
    add_point(s, 1, 0, 0, beside);
    add_point(s, -1, 1, 0, falling);
    add_point(s, 0, 1, 0, above);
    add_point(s, 1, 1, 0, rising);
}

tess_status gallery_stretched2d(const gallery_request *request, tess_matrix **out)
{
    tess_stencil s;
    double eps = 0.1;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(start_square(request, &s));
    TESS_TRY(gallery_real(request, 1, "EPS", 0.0, 1e6, &eps));
    add_nine_points(&s, 8.0, 2.0 - eps, -4.0 + eps, -1.0, -1.0);
    status = stencil_ops_of(request->ctx)->build(request->ctx, &s, out);
cleanup:
    return status;
}

/* Cosine and sine of an angle in degrees, exact at multiples of a right angle. */
static void direction(double degrees, double *c, double *s)
{
    static const double cosines[4] = {1.0, 0.0, -1.0, 0.0};
    double reduced = fmod(degrees, 360.0);

    if (fmod(reduced, 90.0) == 0.0) {
        int quarter = ((int)(reduced / 90.0) + 4) % 4;

        *c = cosines[quarter];
        *s = cosines[(quarter + 3) % 4];
        return;
    }
    *c = cos(reduced * 0.017453292519943295);
    *s = sin(reduced * 0.017453292519943295);
}

/*
 * -div(Q diag(1, eps) Q^T grad u) by central differences, times h^2; the mixed derivative on the four corners. Positive
 * definite: with xx, yy, xy the tensor's entries, xy^2 <= xx yy bounds the corners in the symbol.
 */
tess_status gallery_anisotropic2d(const gallery_request *request, tess_matrix **out)
{
    tess_stencil s;
    double eps = 1.0, degrees = 0.0, cosine, sine, xx, yy, xy;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(start_square(request, &s));
    TESS_TRY(gallery_real(request, 1, "EPS", 1e-300, 1e300, &eps));
    TESS_TRY(gallery_real(request, 2, "ANGLE", -360.0, 360.0, &degrees));
    direction(degrees, &cosine, &sine);
    xx = cosine * cosine + eps * sine * sine;
    yy = sine * sine + eps * cosine * cosine;
    xy = (1.0 - eps) * cosine * sine;
    if (xy == 0.0) {
        add_five_points(&s, 2.0 * xx + 2.0 * yy, -xx, -yy);
    } else {
        add_nine_points(&s, 2.0 * xx + 2.0 * yy, -xx, -yy, -0.5 * xy, 0.5 * xy);
    }
    status = stencil_ops_of(request->ctx)->build(request->ctx, &s, out);
cleanup:
    return status;
}

/* ---- convection and diffusion ---- */

/* N, CONV and DIFF; the five points hold diffusion. */
static tess_status start_convection(const gallery_request *request, tess_stencil *s)
{
    double diffusion = 1e-5, inverse;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(start_square(request, s));
    s->convection = 1.0;
    TESS_TRY(gallery_real(request, 1, "CONV", -1e100, 1e100, &s->convection));
    TESS_TRY(gallery_real(request, 2, "DIFF", 0.0, 1e100, &diffusion));
    inverse = (double)(s->nx + 1) * (double)(s->nx + 1);
    add_five_points(s, 4.0 * diffusion * inverse, -diffusion * inverse, -diffusion * inverse);
cleanup:
    return status;
}

tess_status gallery_uniflow2d(const gallery_request *request, tess_matrix **out)
{
    tess_stencil s;
    double alpha = 0.0, width;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(start_convection(request, &s));
    TESS_TRY(gallery_real(request, 3, "ALPHA", -7.0, 7.0, &alpha));
    width = 1.0 / (double)(s.nx + 1);
    stencil_upwind(s.convection * cos(alpha) / width, s.convection * sin(alpha) / width, s.coefficient);
    status = stencil_ops_of(request->ctx)->build(request->ctx, &s, out);
cleanup:
    return status;
}

static tess_status make_windy(const gallery_request *request, tess_wind wind, tess_matrix **out)
{
    tess_stencil s;
    tess_status status = start_convection(request, &s);

    if (status != TESS_SUCCESS) { return status; }
    s.wind = wind;
    return stencil_ops_of(request->ctx)->build(request->ctx, &s, out);
}

tess_status gallery_bentpipe2d(const gallery_request *request, tess_matrix **out)
{
    return make_windy(request, TESS_WIND_BENT_PIPE, out);
}

tess_status gallery_recirc2d(const gallery_request *request, tess_matrix **out)
{
    return make_windy(request, TESS_WIND_RECIRCULATING, out);
}

/* ---- scaled rows ---- */

/* The smallest share of rows that stays high: without high rows, every value would be below a tenth of their own mean.
 */
#define MIN_HIGH_SHARE 0x1p-13

/*
 * Row rule: a row is low when all its values lie strictly inside (-r, r), r = 0.1 mean|a|. Unscaled rows have values up
 * to 6, so the mean must exceed 60: the high share h of rows, times at least 12/7 per nonzero, times the factor. The
 * factor is the smallest power of two with h * factor >= 128, which leaves a margin of 3 for an uneven share. High rows
 * then have their smallest value, the factor, above r.
 */
static void scale_rows(tess_stencil *s, double percent)
{
    double rows = (double)s->nx * (double)s->ny * (double)s->nz, high = 1.0 - percent / 100.0;

    if (high < MIN_HIGH_SHARE) { high = MIN_HIGH_SHARE; }
    if (high < 1.0 / rows) { high = 1.0 / rows; }
    if (high >= 1.0) { return; }
    s->high_below = (uint64_t)ldexp(high, 64);
    s->high_scale = 1.0;
    while (high * s->high_scale < 128.0) {
        s->high_scale *= 2.0;
    }
}

tess_status gallery_rowscale(const gallery_request *request, tess_matrix **out)
{
    tess_stencil s;
    int64_t counts[3] = {1, 1, 1};
    double percent = 0.0;
    gallery_request size = *request;
    tess_status status = TESS_SUCCESS;

    size.nargs = 1;
    TESS_TRY(gallery_grid(&size, 3, 1, counts));
    TESS_TRY(gallery_real(request, 1, "PERCENT", 0.0, 100.0, &percent));
    start_stencil(&s, counts);
    fill_box(&s, 3, (const double[]){6.0, -1.0, 0.0, 0.0});
    scale_rows(&s, percent);
    status = stencil_ops_of(request->ctx)->build(request->ctx, &s, out);
cleanup:
    return status;
}

/* ---- host builder ---- */

static int64_t stencil_length(const void *problem, int64_t row)
{
    return stencil_row_length(problem, row);
}

static void stencil_fill(const void *problem, int64_t row, int32_t *col, double *val)
{
    stencil_row_fill(problem, row, col, val);
}

static tess_status build(tess_context *ctx, const tess_stencil *stencil, tess_matrix **out)
{
    int64_t n = stencil->nx * stencil->ny * stencil->nz;

    return gallery_build(ctx, &(gallery_rows){n, n, stencil_length, stencil_fill, stencil}, out);
}

const stencil_ops stencil_host_ops = {build};
