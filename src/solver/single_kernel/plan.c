/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of single-kernel solves: blocks of rows, the columns that each needs, and where shared memory has what. */
#include "solver/single_kernel/plan.h"

#include <string.h>

#include "core/internal.h"

/* 132 multiprocessors' shared memory holds no more by far; the arrays of a plan are 32 bits. */
enum { MOST_ROWS = 1 << 20, MOST_ENTRIES = 1 << 22 };
/* A cluster's block is best kept to as many rows as it has threads, and an entry or sixteen for each. */
enum { CLUSTER_ROWS = 4096, BUSY_ROWS = SINGLE_THREADS, BUSY_ENTRIES = 16 * SINGLE_THREADS };
/* A block of a grid with fewer rows costs the barrier more than it saves. */
enum { LEAST_ROWS = 16 };
/* What a row costs, in entries: its sums and vectors. */
enum { ROW_WEIGHT = 2 };
enum { WORD = 64 };

/* Vectors of each method: copies at all columns, and those at own rows (the diagonal of the preconditioner is one). */
static const struct {
    int copies, vectors;
} method_vectors[] = {[SINGLE_CG] = {1, 4}, [SINGLE_CG_ONE_REDUCTION] = {2, 6}, [SINGLE_BICGSTAB] = {3, 6}};

bool single_plan_can_hold(int64_t n, int64_t nnz)
{
    return n > 0 && n <= MOST_ROWS && nnz <= MOST_ENTRIES;
}

bool single_may_be_resident(const single_limits *limits, int64_t n, int64_t nnz, single_method method, int value_bytes)
{
    const int64_t vectors = method_vectors[method].copies + method_vectors[method].vectors;
    const int64_t row = vectors * (int64_t)sizeof(double) + 2 * (int64_t)sizeof(int32_t);
    const int64_t entry = value_bytes + (int64_t)sizeof(uint16_t);

    return n * row + nnz * entry <= limits->blocks * limits->shared_bytes;
}

int single_cluster_blocks(const single_limits *limits, int64_t n, int64_t nnz)
{
    int blocks = 1;

    if (n > CLUSTER_ROWS) { return 0; }
    while (n > (int64_t)blocks * BUSY_ROWS || nnz > (int64_t)blocks * BUSY_ENTRIES) {
        blocks *= 2;
    }
    return blocks <= limits->cluster_blocks ? blocks : 0;
}

int single_grid_blocks(const single_limits *limits, int64_t n)
{
    const int64_t busy = (n + LEAST_ROWS - 1) / LEAST_ROWS;

    return busy < limits->blocks ? (int)busy : limits->blocks;
}

/* ---- rows ---- */

/* Block b begins at the first row where the rows before it have their share of the weight. */
static void divide_rows(single_plan *p)
{
    const int64_t total = (int64_t)p->nnz + (int64_t)ROW_WEIGHT * p->n;
    int32_t row = 0;

    for (int b = 0; b < p->blocks; b++) {
        const int64_t share = total * b / p->blocks;

        while (row < p->n && p->row_ptr[row] + (int64_t)ROW_WEIGHT * row < share) {
            row += 1;
        }
        p->row_begin[b] = row;
    }
    p->row_begin[p->blocks] = p->n;
}

/* As many threads for a row as it has entries on the average, as long as there are threads for all rows. */
static int choose_lanes(const single_plan *p)
{
    int lanes = 1;

    while (lanes < 32 && lanes * (int64_t)p->n < p->nnz && 2 * lanes * p->most_rows <= SINGLE_THREADS) {
        lanes *= 2;
    }
    return lanes;
}

/* ---- columns ---- */

typedef struct column_marks {
    uint64_t *bits; /* a bit for each column */
    int32_t *place; /* of a column in the present block */
} column_marks;

static void mark(uint64_t *bits, int32_t column)
{
    bits[column / WORD] |= UINT64_C(1) << (column % WORD);
}

/* Lists the marked columns, ascending, and clears the marks. Returns how many there are. */
static int32_t list_columns(column_marks *marks, int32_t n, int32_t *column)
{
    int32_t count = 0;

    for (int32_t w = 0; w <= (n - 1) / WORD; w++) {
        for (uint64_t left = marks->bits[w]; left != 0; left &= left - 1) {
            const int32_t c = w * WORD + __builtin_ctzll(left);

            marks->place[c] = count;
            column[count++] = c;
        }
        marks->bits[w] = 0;
    }
    return count;
}

/* False: the block has more columns than a place can say. */
static bool place_block(single_plan *p, const int32_t *col_ind, column_marks *marks, int b)
{
    const int32_t first = p->row_begin[b], end = p->row_begin[b + 1];
    const int32_t entry = p->row_ptr[first], entry_end = p->row_ptr[end];
    int32_t count = 0;

    for (int32_t i = first; i < end; i++) {
        mark(marks->bits, i);
    }
    for (int32_t k = entry; k < entry_end; k++) {
        mark(marks->bits, col_ind[k]);
    }
    count = list_columns(marks, p->n, p->column + p->column_begin[b]);
    if (count > UINT16_MAX) { return false; }
    for (int32_t k = entry; k < entry_end; k++) {
        p->place[k] = (uint16_t)marks->place[col_ind[k]];
    }
    p->own[b] = end > first ? marks->place[first] : 0;
    p->column_begin[b + 1] = p->column_begin[b] + count;
    p->most_rows = end - first > p->most_rows ? end - first : p->most_rows;
    p->most_columns = count > p->most_columns ? count : p->most_columns;
    p->most_entries = entry_end - entry > p->most_entries ? entry_end - entry : p->most_entries;
    return true;
}

static tess_status place_columns(tess_context *ctx, const int32_t *col_ind, single_plan *p)
{
    const int64_t words = (p->n - 1) / WORD + 1;
    column_marks marks = {NULL, NULL};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(tess_host_allocate(ctx, words, sizeof *marks.bits, (void **)&marks.bits));
    TESS_TRY(tess_host_allocate(ctx, p->n, sizeof *marks.place, (void **)&marks.place));
    memset(marks.bits, 0, (size_t)words * sizeof *marks.bits);
    p->column_begin[0] = 0;
    for (int b = 0; b < p->blocks; b++) {
        if (place_block(p, col_ind, &marks, b)) { continue; }
        status = tess_fail(ctx, TESS_UNSUPPORTED, "use --engine graph", "a block of a single kernel with %d columns",
                           (int)UINT16_MAX + 1);
        goto cleanup;
    }
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

tess_status single_plan_make(tess_context *ctx, int64_t n, const int64_t *row_ptr, const int32_t *col_ind, int blocks,
                             bool cluster, single_plan *plan)
{
    single_plan p = {.cluster = cluster,
                     .blocks = blocks,
                     .n = (int32_t)n,
                     .nnz = (int32_t)row_ptr[n],
                     .column_capacity = row_ptr[n] + n};
    tess_status status = TESS_SUCCESS;

    TESS_TRY(allocate_plan(ctx, &p));
    for (int64_t i = 0; i <= n; i++) {
        p.row_ptr[i] = (int32_t)row_ptr[i];
    }
    divide_rows(&p);
    TESS_TRY(place_columns(ctx, col_ind, &p));
    p.lanes = choose_lanes(&p);
cleanup:
    if (status != TESS_SUCCESS) { single_plan_free(ctx, &p); }
    *plan = p;
    return status;
}

/* ---- shared memory ---- */

static int64_t take(int64_t *bytes, int64_t count, int64_t size)
{
    const int64_t begin = *bytes;

    *bytes = (begin + count * size + 15) / 16 * 16; /* so that all begin at multiples of 16 */
    return begin;
}

single_layout single_shared_layout(const single_plan *p, single_method method, int value_bytes, bool resident)
{
    const int64_t real = (int64_t)sizeof(double), entries = resident ? p->most_entries : 0;
    const int64_t slots = 2 * SINGLE_MOST_CLUSTER * SINGLE_SLOT;
    const int64_t sums = p->cluster ? slots : (int64_t)SINGLE_MOST_SUMS * p->blocks;
    single_layout l = {.bytes = 0};

    l.copies = take(&l.bytes, (int64_t)method_vectors[method].copies * p->most_columns, real);
    l.vectors = take(&l.bytes, (int64_t)method_vectors[method].vectors * p->most_rows, real);
    l.windows = take(&l.bytes, p->cluster ? SINGLE_WINDOWS * (int64_t)p->most_rows : 0, real);
    l.sums = take(&l.bytes, sums, real);
    l.values = take(&l.bytes, entries, value_bytes);
    l.columns = take(&l.bytes, p->most_columns, (int64_t)sizeof(int32_t));
    l.offsets = take(&l.bytes, (int64_t)p->most_rows + 1, (int64_t)sizeof(int32_t));
    l.places = take(&l.bytes, entries, (int64_t)sizeof(uint16_t));
    return l;
}
