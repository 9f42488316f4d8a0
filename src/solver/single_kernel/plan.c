/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of single-kernel solves: blocks of rows, the columns that each needs, and the layout of shared memory. */
#include "solver/single_kernel/plan.h"

#include <string.h>

#include "format/tiles/tiles.h"
#include "matrix/matrix.h"

/* The shared memory of 132 multiprocessors holds far less than this; the arrays of a plan have 32 bits. */
enum { MAX_ROWS = 1 << 20, MAX_ENTRIES = 1 << 22 };
/* A cluster's block is fastest with half as many rows as it has threads, and sixteen entries per thread. */
enum { BUSY_ROWS = SINGLE_THREADS / 2, BUSY_ENTRIES = 16 * SINGLE_THREADS };
/* In the largest cluster a block may have two rows per thread, and more entries for methods with many exchanges. */
enum {
    MAX_ROWS_EACH = 2 * SINGLE_THREADS,
    MAX_ENTRIES_CG = 20 * SINGLE_THREADS,
    MAX_ENTRIES_BICGSTAB = 32 * SINGLE_THREADS
};
/* With fewer rows in a block, a grid's barrier costs more than it saves. */
enum { MIN_ROWS = 16 };
enum { WORD = 64 };

/* Vectors of each method: copies at all columns, vectors at own rows (the diagonal of the preconditioner is one of
   either), and vectors that one exchange transfers. */
static const struct {
    int copies, vectors, exchanged;
} method_vectors[] = {[SINGLE_CG] = {1, 4, 1},
                      [SINGLE_CG_ONE_REDUCTION] = {2, 6, 2},
                      [SINGLE_CG_RECOMPUTING] = {2, 2, 1},
                      [SINGLE_CG_RECOMPUTING_JACOBI] = {3, 2, 1},
                      [SINGLE_BICGSTAB] = {3, 6, 1}};

int single_windows(single_method method)
{
    return 2 * method_vectors[method].exchanged;
}

/*
 * Rows and entries of a block, on average, up to which each method is expected to be faster than the engine graph. Not
 * measured yet: these are about the capacity of shared memory, so that residence alone decides.
 */
typedef struct gain_bounds {
    int64_t rows, entries;
} gain_bounds;

static const struct {
    gain_bounds grid, cluster;
} gains[] = {[SINGLE_CG] = {{4096, 20480}, {MAX_ROWS_EACH, MAX_ENTRIES_CG}},
             [SINGLE_CG_ONE_REDUCTION] = {{2560, 20480}, {MAX_ROWS_EACH, MAX_ENTRIES_CG}},
             [SINGLE_CG_RECOMPUTING] = {{4096, 20480}, {MAX_ROWS_EACH, MAX_ENTRIES_CG}},
             [SINGLE_CG_RECOMPUTING_JACOBI] = {{4096, 20480}, {MAX_ROWS_EACH, MAX_ENTRIES_CG}},
             [SINGLE_BICGSTAB] = {{2560, 20480}, {MAX_ROWS_EACH, MAX_ENTRIES_BICGSTAB}}};

bool single_may_gain(int64_t n, int64_t nnz, int blocks, bool cluster, single_method method)
{
    const gain_bounds *most = cluster ? &gains[method].cluster : &gains[method].grid;

    return n <= most->rows * blocks && nnz <= most->entries * blocks;
}

bool single_plan_can_hold(int64_t n, int64_t nnz)
{
    return n > 0 && n <= MAX_ROWS && nnz <= MAX_ENTRIES;
}

bool single_may_be_resident(const single_limits *limits, int64_t n, int64_t bytes, single_method method)
{
    const int64_t vectors = method_vectors[method].copies + method_vectors[method].vectors;
    const int64_t row = vectors * (int64_t)sizeof(double) + (int64_t)sizeof(int32_t);

    return n * row + bytes <= limits->blocks * limits->shared_bytes;
}

int single_cluster_blocks(const single_limits *limits, int64_t n, int64_t nnz, single_method method)
{
    int blocks = 1;

    while (2 * blocks <= limits->cluster_blocks &&
           (n > (int64_t)blocks * BUSY_ROWS || nnz > (int64_t)blocks * BUSY_ENTRIES)) {
        blocks *= 2;
    }
    return blocks <= limits->cluster_blocks && single_may_gain(n, nnz, blocks, true, method) ? blocks : 0;
}

int single_grid_blocks(const single_limits *limits, int64_t n)
{
    const int64_t busy = (n + MIN_ROWS - 1) / MIN_ROWS;

    return busy < limits->blocks ? (int)busy : limits->blocks;
}

/* ---- rows ---- */

/* The end of a block that begins with run u of rows. */
static single_cut cut_before(const single_plan *p, const single_shape *shape, int64_t u)
{
    const int32_t row = (int32_t)single_run_begin(p->n, p->run, u);
    single_cut cut = {.row = row, .entry = p->row_ptr[row]};

    if (shape->tiles) {
        cut.tiles = (int32_t)shape->tiles[u];
        cut.units = (int32_t)shape->start[u];
    }
    return cut;
}

static int64_t weight_before(const single_cut *cut)
{
    return single_weight(cut->row, cut->entry, cut->tiles);
}

/* Block b begins at the first run of rows for which the previous runs weigh as much as its share. */
static void divide_rows(const single_plan *p, const single_shape *shape, single_cut *cut)
{
    const int64_t runs = single_runs(p->n, p->run);
    const single_cut end = cut_before(p, shape, runs);
    int64_t u = 0;

    for (int b = 0; b <= p->blocks; b++) {
        const int64_t share = weight_before(&end) * b / p->blocks;

        for (cut[b] = cut_before(p, shape, u); u < runs && weight_before(&cut[b]) < share;) {
            cut[b] = cut_before(p, shape, ++u);
        }
    }
}

/* As many threads for a row as it has entries on average, if there are threads for all rows. For tiles, half a wave has
   the rows of a block row, and reads as many headers at a time; more lanes would not share them. */
static int choose_lanes(const single_plan *p)
{
    const int most = p->run > 1 ? SINGLE_TILE : 32;
    const int64_t rows = single_runs(p->most_rows, p->run) * p->run;
    int lanes = 1;

    while (lanes < most && lanes * (int64_t)p->n < p->nnz && 2 * lanes * rows <= SINGLE_THREADS) {
        lanes *= 2;
    }
    return lanes;
}

static void raise(int32_t *most, int32_t value)
{
    *most = value > *most ? value : *most;
}

bool single_plan_settle(single_plan *p, const single_cut *cut)
{
    for (int b = 0; b < p->blocks; b++) {
        raise(&p->most_rows, cut[b + 1].row - cut[b].row);
        raise(&p->most_entries, cut[b + 1].entry - cut[b].entry);
        raise(&p->most_units, cut[b + 1].units - cut[b].units);
        raise(&p->most_columns, cut[b].columns);
    }
    p->lanes = choose_lanes(p);
    return p->most_columns <= UINT16_MAX;
}

/* ---- columns ---- */

typedef struct column_marks {
    uint64_t *bits; /* a bit for each column */
    int32_t *place; /* of a column in the present block */
} column_marks;

/* Marks the run that the column is in. */
static void mark(uint64_t *bits, int32_t column, int run)
{
    const uint64_t together = (UINT64_C(1) << run) - 1U;

    bits[column / WORD] |= together << (column % WORD / run * run);
}

/* Lists the marked columns, ascending, and clears the marks. Returns how many there are. */
static int32_t list_columns(column_marks *marks, int32_t n, int32_t *column)
{
    int32_t count = 0;

    for (int32_t w = 0; w <= (n - 1) / WORD; w++) {
        for (uint64_t left = marks->bits[w]; left != 0; left &= left - 1) {
            const int32_t c = w * WORD + __builtin_ctzll(left);

            if (c >= n) { break; } /* the last run may be cut off */
            marks->place[c] = count;
            column[count++] = c;
        }
        marks->bits[w] = 0;
    }
    return count;
}

static void place_block(single_plan *p, const int32_t *col_ind, column_marks *marks, int b, single_cut *cut)
{
    for (int32_t i = cut->row; i < cut[1].row; i++) {
        mark(marks->bits, i, p->run);
    }
    for (int32_t k = cut->entry; k < cut[1].entry; k++) {
        mark(marks->bits, col_ind[k], p->run);
    }
    cut->columns = list_columns(marks, p->n, p->column + p->column_begin[b]);
    for (int32_t k = cut->entry; k < cut[1].entry; k++) {
        p->place[k] = (uint16_t)marks->place[col_ind[k]];
    }
    p->own[b] = cut[1].row > cut->row ? marks->place[cut->row] : 0;
    p->row_begin[b] = cut->row;
    p->column_begin[b + 1] = p->column_begin[b] + cut->columns;
}

static tess_status place_columns(tess_context *ctx, const int32_t *col_ind, single_plan *p, single_cut *cut)
{
    const int64_t words = (p->n - 1) / WORD + 1;
    column_marks marks = {NULL, NULL};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, words, sizeof *marks.bits, (void **)&marks.bits));
    TESS_TRY(tess_host_allocate(ctx, p->n, sizeof *marks.place, (void **)&marks.place));
    memset(marks.bits, 0, (size_t)words * sizeof *marks.bits);
    p->column_begin[0] = 0;
    for (int b = 0; b < p->blocks; b++) {
        place_block(p, col_ind, &marks, b, cut + b);
    }
    p->row_begin[p->blocks] = p->n;
cleanup:
    tess_host_release(ctx, marks.bits, words, sizeof *marks.bits);
    tess_host_release(ctx, marks.place, p->n, sizeof *marks.place);
    return status;
}

/* ---- the plan ---- */

void single_plan_free(tess_context *ctx, single_plan *p)
{
    tess_host_release(ctx, p->row_ptr, (int64_t)p->n + 1, sizeof *p->row_ptr);
    tess_host_release(ctx, p->row_begin, p->blocks + 1, sizeof *p->row_begin);
    tess_host_release(ctx, p->column_begin, p->blocks + 1, sizeof *p->column_begin);
    tess_host_release(ctx, p->own, p->blocks, sizeof *p->own);
    tess_host_release(ctx, p->column, p->column_capacity, sizeof *p->column);
    tess_host_release(ctx, p->place, p->nnz, sizeof *p->place);
    memset(p, 0, sizeof *p);
}

void single_plan_release(tess_context *ctx, single_plan *p)
{
    tess_device_release(ctx, p->memory, p->memory_bytes, 1);
    tess_device_release(ctx, p->column, p->column_capacity, sizeof *p->column);
    memset(p, 0, sizeof *p);
}

static tess_status allocate_plan(tess_context *ctx, single_plan *p)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, (int64_t)p->n + 1, sizeof *p->row_ptr, (void **)&p->row_ptr));
    TESS_TRY(tess_host_allocate(ctx, p->blocks + 1, sizeof *p->row_begin, (void **)&p->row_begin));
    TESS_TRY(tess_host_allocate(ctx, p->blocks + 1, sizeof *p->column_begin, (void **)&p->column_begin));
    TESS_TRY(tess_host_allocate(ctx, p->blocks, sizeof *p->own, (void **)&p->own));
    TESS_TRY(tess_host_allocate(ctx, p->column_capacity, sizeof *p->column, (void **)&p->column));
    TESS_TRY(tess_host_allocate(ctx, p->nnz, sizeof *p->place, (void **)&p->place));
cleanup:
    return status;
}

tess_status single_plan_make(tess_context *ctx, int64_t n, const int64_t *row_ptr, const int32_t *col_ind,
                             const single_shape *shape, single_plan *plan)
{
    const int run = shape->tiles ? SINGLE_TILE : 1;
    const single_cut all = {.row = (int32_t)n, .entry = (int32_t)row_ptr[n], .tiles = (int32_t)shape->ntiles};
    single_plan p = {.cluster = shape->cluster,
                     .blocks = shape->blocks,
                     .run = run,
                     .n = (int32_t)n,
                     .nnz = (int32_t)row_ptr[n],
                     .column_capacity = single_columns_before(&all, run)};
    single_cut cut[SINGLE_MAX_BLOCKS + 1];
    bool settled = false;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(allocate_plan(ctx, &p));
    for (int64_t i = 0; i <= n; i++) {
        p.row_ptr[i] = (int32_t)row_ptr[i];
    }
    divide_rows(&p, shape, cut);
    TESS_TRY(place_columns(ctx, col_ind, &p, cut));
    settled = single_plan_settle(&p, cut);
cleanup:
    if (!settled) { single_plan_free(ctx, &p); }
    *plan = p;
    return status;
}

/* ---- shared memory ---- */

int64_t single_take(int64_t *bytes, int64_t count, int64_t size)
{
    const int64_t begin = *bytes;

    *bytes = (begin + count * size + 15) / 16 * 16;
    return begin;
}

/* Bytes of the block's own entries, in CSR order or in tiles. */
static void place_rows(const single_plan *p, const single_contents *what, single_layout *l)
{
    const bool tiles = what->value_bytes == 0;
    const int64_t entries = what->resident ? p->most_entries : 0, units = what->resident ? p->most_units : 0;
    const int64_t segments = what->run_bytes > 0 ? single_runs(p->most_columns, SINGLE_TILE) : 0;
    const int64_t offset = (int64_t)sizeof(int32_t);

    l->values = tiles ? single_take(&l->bytes, units, TILES_UNIT) : single_take(&l->bytes, entries, what->value_bytes);
    l->columns = single_take(&l->bytes, p->most_columns, offset);
    l->offsets = single_take(&l->bytes, single_runs(p->most_rows, tiles ? SINGLE_TILE : 1) + 1, offset);
    l->places = single_take(&l->bytes, tiles ? 0 : entries, (int64_t)sizeof(uint16_t));
    l->parts = single_take(&l->bytes, SINGLE_THREADS / 2, (int64_t)sizeof(double));
    l->own = single_take(&l->bytes, 1, what->block_bytes);
    l->segments = single_take(&l->bytes, segments, what->run_bytes);
}

single_layout single_shared_layout(const single_plan *p, const single_contents *what)
{
    const int64_t real = (int64_t)sizeof(double), columns = p->most_columns, rows = p->most_rows;
    const int64_t slots = 2 * SINGLE_MAX_CLUSTER * SINGLE_SLOT;
    const int64_t sums = p->cluster ? slots : 2 * (int64_t)SINGLE_MAX_CLUSTER; /* a pair of each wave */
    single_layout l = {.bytes = 0};

    l.copies = single_take(&l.bytes, method_vectors[what->method].copies * columns, real);
    l.vectors = single_take(&l.bytes, method_vectors[what->method].vectors * rows, real);
    l.windows = single_take(&l.bytes, p->cluster ? single_windows(what->method) * rows : 0, real);
    l.sums = single_take(&l.bytes, sums, real);
    place_rows(p, what, &l);
    return l;
}

int32_t single_take_rest(single_layout *l, int64_t shared_bytes)
{
    const int64_t units = (shared_bytes - l->bytes) / TILES_UNIT;

    if (units <= 0) { return 0; }
    l->values = single_take(&l->bytes, units, TILES_UNIT);
    return (int32_t)units;
}
