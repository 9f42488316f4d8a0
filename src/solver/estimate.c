/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a solve by part, from sizes and options alone; and the refusal of one that cannot fit. */
#include "solver/estimate.h"

#include <math.h>
#include <string.h>

#include "base/options.h"
#include "base/spare_memory.h"
#include "precond/direct/direct.h"
#include "solver/estimate_fill.h"
#include "solver/gmres/gmres.h"
#include "solver/many.h"

/* b, x, d, r and the candidate; methods with residuals in low precision keep the best x too. */
enum { COMMON_VECTORS = 5 };
/* Incomplete factors: entries of the triangles, and the pattern, with fill a matrix, that renewals need. */
enum { FACTOR_ENTRY_BYTES = 12, PATTERN_ENTRY_BYTES = 12 };
/* Entries of the levels of multigrid as a multiple of the matrix's. */
enum { TYPICAL_LEVELS = 3 };
/* Entries of ilut and ict with their default thresholds as a multiple of the matrix's: 3.6 on bcsstk25, 5.7 on utm5940,
   7 on powerlaw:2000, 10 on laplace3d:30. */
#define TYPICAL_FILL 6.0
/* While a pattern with fill is found, it takes so much of what the factors keep beside these. */
#define FILL_SHARE 0.5
/* Blocks of IDR(s), and sides of LSQR and LSMR beside the common vectors. */
enum { INNER_BASIS = 10 }; /* 21 columns in FP32 */
enum { IDR_BLOCKS = 3, LEAST_SQUARES_VECTORS = 4 };
/* Below this a solve is not looked at: asking the system takes longer. */
static const int64_t ALWAYS_FITS = INT64_C(100000000);

void tess_solve_estimate_init_sized(tess_solve_estimate *estimate, size_t size)
{
    result_init(estimate, size);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- parts ---- */

/* Where the library still chooses, what no automatic solve falls below: CG with the diagonal. Each of its attempts is
   looked at by itself when it is set up. */
static void settle(const tess_matrix *a, tess_solve_options *o)
{
    const bool open = o->precond.kind == TESS_PRECOND_AUTO;

    if (o->solver == TESS_SOLVER_AUTO && a->nrows != a->ncols) { o->solver = TESS_SOLVER_LSMR; }
    if (open) { o->precond.kind = o->solver == TESS_SOLVER_AUTO ? TESS_PRECOND_JACOBI : TESS_PRECOND_NONE; }
    if (o->solver == TESS_SOLVER_AUTO) { o->solver = TESS_SOLVER_CG; }
}

static int64_t stored_bytes(const tess_matrix *a, const tess_storage_options *s)
{
    const tess_format_capabilities *can = tess_format_can(s->format);
    const bool plain = s->format == TESS_FORMAT_CSR && s->policy.policy == TESS_POLICY_NONE;
    int64_t each = 4 + (int64_t)tess_precision_bytes(s->precision);

    if (plain && s->precision == TESS_PRECISION_FP64) { return 0; }
    if (s->policy.policy != TESS_POLICY_NONE) { each = 4 + 8; } /* a policy may leave all in fp64 */
    if (can->copies_levels) { each += 4; }
    return a->nnz * each + 8 * a->nrows;
}

static int64_t basis_bytes(const tess_matrix *a, const tess_solve_options *o)
{
    const int64_t columns = smaller(o->gmres.restart, a->nrows) + 1;

    return columns * a->nrows * (int64_t)tess_precision_bytes(gmres_basis_precision(o));
}

/* The copy, the inner vectors, and both bases, of which an inner one is small. */
static int64_t nested_bytes(const tess_matrix *a, const tess_solve_options *o)
{
    const int64_t columns = smaller(o->gmres.restart, a->nrows) + 1,
                  outer = 2 * columns * a->nrows * (int64_t)sizeof(double);
    const int64_t storage = o->gmres.inner.given ? (int64_t)tess_precision_bytes(o->gmres.inner.storage) : 2;

    return outer + a->nnz * (4 + storage) + (COMMON_VECTORS + INNER_BASIS) * a->nrows * (int64_t)sizeof(double);
}

static int64_t vector_bytes(const tess_matrix *a, const tess_solve_options *o)
{
    const tess_method *method = tess_find_method(o->solver);
    const bool apart = o->precond.kind != TESS_PRECOND_NONE && o->precond.kind != TESS_PRECOND_JACOBI;
    const int64_t n = a->nrows, own = method && method->vectors ? method->vectors(NULL) + (apart ? 1 : 0) : 0;
    int64_t bytes = (COMMON_VECTORS + own) * n * (int64_t)sizeof(double);

    switch (o->solver) {
    case TESS_SOLVER_FGMRES: bytes += 2 * basis_bytes(a, o); break;
    case TESS_SOLVER_GMRES:
    case TESS_SOLVER_GMRES_IR:
    case TESS_SOLVER_GMRES_FD: bytes += basis_bytes(a, o); break;
    case TESS_SOLVER_NESTED: bytes += nested_bytes(a, o); break;
    case TESS_SOLVER_IDR: bytes += IDR_BLOCKS * smaller(o->idr.s, n) * n * (int64_t)sizeof(double); break;
    case TESS_SOLVER_LSQR:
    case TESS_SOLVER_LSMR:
        bytes += LEAST_SQUARES_VECTORS * (n + a->ncols) * (int64_t)sizeof(double) + 12 * a->nnz; /* and A^T */
        break;
    default: break;
    }
    if (o->scale != TESS_SCALING_NONE || o->reorder != TESS_REORDERING_NONE) {
        bytes += COMMON_VECTORS * n * (int64_t)sizeof(double) + 12 * a->nnz + 40 * n; /* the other system, two maps */
    }
    return bytes;
}

/* ---- approximate inverses ---- */

/* Bytes of an entry with its value, and of a column alone. */
enum { ENTRY_BYTES = 12, COLUMN_BYTES = 4 };
/* Tables of an adaptive pattern on a GPU, terms of a product there, and what a slice of it takes beside itself. */
static const int64_t GPU_TABLES = INT64_C(1) << 28, GPU_TERMS = INT64_C(1) << 28;
#define GPU_SLICE_FACTOR 2.12

/* Entries of chunks of rows that a thread computes at a time (host_csr_from_rows). */
enum { ENTRIES_AT_A_TIME = 1 << 18 };

/* What is kept, and the peak of the set-up beside it. */
typedef struct two_sizes {
    int64_t kept, more;
} two_sizes;

/* Entries of a row of A^power: those of a grid in three dimensions whose rows have the mean length. */
static double grown_row(const tess_matrix *a, int power)
{
    const double n = a->nrows > 0 ? (double)a->nrows : 1.0, side = cbrt((double)a->nnz / n);
    const double row = pow((fmax(side, 1.0) - 1.0) * power + 1.0, 3.0);

    return fmin(row, n);
}

/* Entries of the inverse before it is filtered. */
static int64_t inverse_entries(const tess_matrix *a, bool symmetric, const tess_inverse_options *o)
{
    const bool adaptive = o->power == TESS_INVERSE_ADAPTIVE;
    const double row = adaptive ? 1.0 + (double)o->steps * o->step_size : grown_row(a, o->power);
    const double own = symmetric && !adaptive ? 0.5 * (row + 1.0) : row;

    return (int64_t)(fmin(own, (double)o->row) * (double)a->nrows);
}

/* Terms of A A. */
static double square_terms(const tess_matrix *a)
{
    return a->nrows > 0 ? (double)a->nnz * (double)a->nnz / (double)a->nrows : 0.0;
}

/* While a power of `terms` terms and `entries` entries is found: rows that are computed, on a
   GPU a slice of the product before it is cut. */
static double product_bytes(const tess_matrix *a, double terms, double entries)
{
    const double at_once = (double)ENTRIES_AT_A_TIME * a->ctx->threads;

    if (a->ctx->device == TESS_DEVICE_CPU) { return ENTRY_BYTES * fmin(terms, at_once); }
    return GPU_SLICE_FACTOR * ENTRY_BYTES * entries * fmin(1.0, (double)GPU_TERMS / fmax(terms, 1.0));
}

/* While the pattern of a power is found: A's large entries, the powers before the last, the rows. */
static int64_t power_bytes(const tess_matrix *a, int64_t entries, const tess_inverse_options *o)
{
    const double most = 2.0 * o->row, n = (double)a->nrows, nnz = (double)a->nnz;
    const double base = o->power > 1 ? fmin(nnz, most * n) : 0.0;
    const double middle = o->power > 2 ? n * fmin(most, grown_row(a, o->power - 1)) : 0.0;
    const double product = o->power > 1 ? product_bytes(a, square_terms(a), n * grown_row(a, o->power))
                                        : fmin(nnz + n, (double)ENTRIES_AT_A_TIME * a->ctx->threads) * ENTRY_BYTES;

    return (int64_t)(ENTRY_BYTES * (base + middle + (double)entries) + product);
}

/* While adaptive rows grow: columns of each thread, or tables of 16 bytes a place, up to four for each column seen. */
static int64_t growth_bytes(const tess_matrix *a, int64_t entries)
{
    const int64_t threads = a->ctx->threads, at_once = smaller(threads * ENTRIES_AT_A_TIME, entries);

    if (a->ctx->device == TESS_DEVICE_GPU) {
        return smaller(GPU_TABLES, 4 * 16 * entries * (a->nnz / (a->nrows + 1) + 1)) +
               (ENTRY_BYTES + COLUMN_BYTES) * entries;
    }
    return ENTRY_BYTES * (entries + at_once) + threads * 16 * a->nrows;
}

/* The pattern, G and its transpose, or M. To store them, copies in FP64 are made. */
static two_sizes inverse_bytes(const tess_matrix *a, const tess_precond_options *p, int64_t storage)
{
    const tess_inverse_options *o = &p->inverse;
    const bool symmetric = p->kind == TESS_PRECOND_FSAI;
    const int64_t n = a->nrows, entries = inverse_entries(a, symmetric, o), products = symmetric ? 2 : 1;
    const int64_t kept = entries * (COLUMN_BYTES + products * (COLUMN_BYTES + storage)) + 5 * 8 * n;
    const int64_t stored = entries * ENTRY_BYTES * 2 * products;
    const int64_t pattern = o->power == TESS_INVERSE_ADAPTIVE ? growth_bytes(a, entries) : power_bytes(a, entries, o);
    const int64_t peak = pattern > stored ? pattern : stored;

    return (two_sizes){kept, peak > kept ? peak - kept : 0};
}

/* The inverses of levels, fsai:2 mostly: coarse ones have a third of the finest's entries. Its scaled copy and the
   transpose of that are there while it is set up. */
static two_sizes smoother_bytes(const tess_matrix *a)
{
    tess_precond_options own;
    two_sizes sizes;

    tess_precond_options_init(&own);
    own.kind = TESS_PRECOND_FSAI;
    sizes = inverse_bytes(a, &own, (int64_t)sizeof(float));
    return (two_sizes){sizes.kept / 3 * 4, sizes.more + 2 * ENTRY_BYTES * a->nnz};
}

/* ---- fill ---- */

static bool has_fill(tess_precond_kind kind)
{
    return kind == TESS_PRECOND_ILUT || kind == TESS_PRECOND_ICT || kind == TESS_PRECOND_ILUK;
}

/* Of the factors; a dense matrix is the most. Where memory is short for a look at rows, as of ilut. */
static double fill_entries(const tess_matrix *a, const tess_precond_options *p)
{
    const double entries = (double)a->nnz, n = (double)a->nrows, typical = fmin(TYPICAL_FILL * entries, n * n);
    double found = typical;

    if (p->kind != TESS_PRECOND_ILUK) { return fmin(typical, fmax(p->threshold.fill, 1.0) * entries); }
    return a->ops && estimate_fill(a, p->threshold.level, &found) == TESS_SUCCESS ? found : typical;
}

/* ---- all parts ---- */

/* Without complete factors, whose size only an analysis tells, and inverses. */
static int64_t plain_bytes(const tess_matrix *a, const tess_precond_options *p)
{
    const int64_t n = a->nrows, entries = a->nnz;
    const int64_t storage = p->role.given ? (int64_t)tess_precision_bytes(p->role.storage) : (int64_t)sizeof(double);

    switch (p->kind) {
    case TESS_PRECOND_JACOBI: return 8 * n;
    case TESS_PRECOND_BLOCK_JACOBI: return p->block_jacobi.block_size * n * storage;
    case TESS_PRECOND_POLYNOMIAL: return entries * (4 + storage) + 4 * 8 * n;
    case TESS_PRECOND_ILU0:
    case TESS_PRECOND_IC0: return entries * (FACTOR_ENTRY_BYTES + PATTERN_ENTRY_BYTES) + 16 * n;
    case TESS_PRECOND_ILUT:
    case TESS_PRECOND_ICT:
    case TESS_PRECOND_ILUK: return (int64_t)(fill_entries(a, p) * (FACTOR_ENTRY_BYTES + PATTERN_ENTRY_BYTES)) + 16 * n;
    case TESS_PRECOND_JACOBI_SWEEPS: return entries * (4 + 8 + 4) + 8 * 8 * n; /* both precisions, and vectors */
    case TESS_PRECOND_AMG:
    case TESS_PRECOND_SADDLE:                                          /* most entries are those of A */
        return TYPICAL_LEVELS * entries * FACTOR_ENTRY_BYTES + 64 * n; /* levels, and their interpolation */
    default: return 0;
    }
}

static two_sizes precond_bytes(const tess_matrix *a, const tess_precond_options *p)
{
    const int64_t storage = p->role.given ? (int64_t)tess_precision_bytes(p->role.storage) : (int64_t)sizeof(double);
    two_sizes sizes = {plain_bytes(a, p), 0};

    if (p->kind == TESS_PRECOND_FSAI || p->kind == TESS_PRECOND_ISAI) { return inverse_bytes(a, p, storage); }
    if (has_fill(p->kind)) { sizes.more = (int64_t)(FILL_SHARE * (double)sizes.kept); }
    if (p->kind == TESS_PRECOND_AMG && p->amg.smoother == TESS_AMG_FSAI) {
        const two_sizes own = smoother_bytes(a);

        sizes = (two_sizes){sizes.kept + own.kept, own.more};
    }
    return sizes;
}

/* Residuals that a history keeps: of x0, and of each iteration. */
static int64_t history_length(const tess_solve_options *o)
{
    const int64_t most = INT64_MAX / 64; /* no memory has so many */
    const int64_t length = o->history_capacity > o->max_iterations ? o->max_iterations + 1 : o->history_capacity;

    return smaller(length, most);
}

static void estimate(const tess_matrix *a, tess_solve_options o, tess_solve_estimate *out)
{
    two_sizes precond;

    tess_solve_estimate_init(out);
    settle(a, &o);
    precond = precond_bytes(a, &o.precond);
    out->solver = o.solver;
    out->precond_kind = o.precond.kind;
    out->matrix = a->ops ? a->ops->bytes(a) : 0;
    out->stored = a->ops ? stored_bytes(a, &o.storage) : 0;
    out->vectors = vector_bytes(a, &o);
    out->precond = precond.kept;
    out->setup = precond.more;
    out->history = 2 * (int64_t)sizeof(double) * history_length(&o);
    out->total = out->stored + out->vectors + out->precond + out->setup + out->history;
    out->spare = INT64_MAX;
}

/* ---- questions ---- */

static tess_status add_factors(const tess_matrix *a, const tess_precond_options *p, tess_solve_estimate *out)
{
    const tess_precision precision = p->role.given ? p->role.storage : TESS_PRECISION_FP32;
    direct_prediction prediction = {.possible = false};
    tess_status status = TESS_SUCCESS;

    if (!a->ops || (p->kind != TESS_PRECOND_LU && p->kind != TESS_PRECOND_CHOLESKY)) { return TESS_SUCCESS; }
    status = direct_predict(a, p->kind == TESS_PRECOND_CHOLESKY, precision, INT64_MAX, &prediction);
    out->precond += prediction.bytes;
    out->total += prediction.bytes;
    return status;
}

/* Of several columns; the rest of the estimate is complete. */
static void add_columns(const tess_matrix *a, tess_solve_options o, int64_t columns, tess_solve_estimate *out)
{
    const int64_t kept = history_length(&o) * columns;
    many_need need;

    settle(a, &o);
    o.history_capacity = history_length(&o);
    out->arrays = (int64_t)sizeof(double) * (a->nrows + a->ncols) * columns;
    out->total += out->arrays;
    out->together = many_expected(a, &o, columns, out->spare > out->total ? out->spare - out->total : 0, &need);
    out->loop = many_loop_bytes(&need, (int)out->together) + (int64_t)sizeof(double) * kept;
    out->total += out->loop;
}

tess_status solver_estimate_memory(const tess_matrix *a, const tess_solve_options *options, int64_t columns,
                                   tess_solve_estimate *out)
{
    tess_status status = TESS_SUCCESS;

    estimate(a, *options, out);
    TESS_TRY(add_factors(a, &options->precond, out));
    out->spare = tess_spare_memory();
    if (columns > 1) { add_columns(a, *options, columns, out); }
cleanup:
    return status;
}

tess_status solver_require_memory(const tess_matrix *a, const tess_solve_options *o)
{
    tess_solve_estimate e;
    int64_t spare = 0;

    if (a->ctx->device != TESS_DEVICE_CPU) { return TESS_SUCCESS; }
    estimate(a, *o, &e);
    if (e.total < ALWAYS_FITS) { return TESS_SUCCESS; }
    spare = tess_spare_memory();
    if (e.total <= spare) { return TESS_SUCCESS; }
    return tess_fail(
        a->ctx, TESS_OUT_OF_MEMORY,
        "lower --restart, take another --solver or --precond, a lower precision, or a machine with more "
        "memory; 'tessera info --solve' shows the parts",
        "the solve takes about %.3g GB more, but only %.3g GB are left: %.3g GB for vectors, %.3g GB for the "
        "preconditioner, %.3g GB more to set it up, %.3g GB for the stored matrix, %.3g GB for the history",
        1e-9 * (double)e.total, 1e-9 * (double)spare, 1e-9 * (double)e.vectors, 1e-9 * (double)e.precond,
        1e-9 * (double)e.setup, 1e-9 * (double)e.stored, 1e-9 * (double)e.history);
}
