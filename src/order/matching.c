/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assignment of least cost by shortest augmenting paths (Duff, Koster 2001, section 4). Costs are integers, so reduced
 * costs c - u - v are exact: never negative, zero on the matching.
 */
#include "order/order.h"

#define UNREACHED INT64_MAX
/* The state of a column that is not in the heap. SETTLED: its distance is final. */
enum { NOT_QUEUED = -1, SETTLED = -2 };

/* Dijkstra's search from an unmatched row. A path alternates between entries that are not matched and, at no cost, the
   matched entry of the column it came to. */
typedef struct search {
    order_matching *m;
    int64_t *distance;  /* n, by column */
    int32_t *came_from; /* n, by column: the row before it on its path */
    int32_t *place;     /* n, by column: its place in the heap, or NOT_QUEUED or SETTLED */
    int32_t *heap;      /* n columns, the nearest first */
    int32_t *settled;   /* n columns in the order of their distance; those from `next` on are still to be followed */
    int64_t heap_count, settled_count, next;
    int64_t shortest; /* distance of the nearest unmatched column found so far */
    int32_t sink;     /* that column */
    bool cut;         /* a value was beyond ORDER_MAX_DUAL */
} search;

/* ---- the heap ---- */

static void put(search *s, int64_t at, int32_t column)
{
    s->heap[at] = column;
    s->place[column] = (int32_t)at;
}

static void rise(search *s, int64_t at, int32_t column)
{
    while (at > 0 && s->distance[s->heap[(at - 1) / 2]] > s->distance[column]) {
        put(s, at, s->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(s, at, column);
}

static int32_t take_nearest(search *s)
{
    int32_t nearest = s->heap[0], last = s->heap[--s->heap_count];
    int64_t at = 0, child = 1;

    while (child < s->heap_count) {
        if (child + 1 < s->heap_count && s->distance[s->heap[child + 1]] < s->distance[s->heap[child]]) { child++; }
        if (s->distance[s->heap[child]] >= s->distance[last]) { break; }
        put(s, at, s->heap[child]);
        at = child;
        child = 2 * at + 1;
    }
    if (s->heap_count > 0) { put(s, at, last); }
    return nearest;
}

/* ---- the search ---- */

static void settle(search *s, int32_t column)
{
    s->place[column] = SETTLED;
    s->settled[s->settled_count++] = column;
}

/* A column at distance d from the source by way of `row`, which lies at distance `base`. */
static void reach(search *s, int32_t column, int32_t row, int64_t d, int64_t base)
{
    if (d >= s->shortest) { return; }
    if (s->m->row_of[column] < 0) {
        s->shortest = d;
        s->sink = column;
        s->came_from[column] = row;
        return;
    }
    if (d >= s->distance[column]) { return; }
    s->distance[column] = d;
    s->came_from[column] = row;
    if (s->place[column] != NOT_QUEUED) {
        rise(s, s->place[column], column);
    } else if (d == base) { /* no column can be nearer than the heap's first */
        settle(s, column);
    } else {
        rise(s, s->heap_count++, column);
    }
}

static void scan_row(search *s, int32_t row, int64_t base)
{
    const order_matching *m = s->m;

    for (int64_t k = m->first[row]; k < m->first[row + 1]; k++) {
        int32_t column = m->column[k];

        if (m->cost[k] == ORDER_NO_COST || s->place[column] == SETTLED) { continue; }
        int64_t d = base + (m->cost[k] - m->u[row] - m->v[column]);
        if (d > ORDER_MAX_DUAL) {
            s->cut = true;
        } else {
            reach(s, column, row, d, base);
        }
    }
}

/* Finds the nearest unmatched column; s->shortest stays UNREACHED if there is none. */
static void find_path(search *s, int32_t source)
{
    int32_t row = source;
    int64_t base = 0;

    s->shortest = UNREACHED;
    s->heap_count = s->settled_count = s->next = 0;
    for (;;) {
        scan_row(s, row, base);
        if (s->next == s->settled_count) {
            if (s->heap_count == 0 || s->distance[s->heap[0]] >= s->shortest) { return; }
            settle(s, take_nearest(s));
        }
        int32_t column = s->settled[s->next++];
        row = s->m->row_of[column];
        base = s->distance[column];
        if (base >= s->shortest) { return; }
    }
}

/* Duals such that reduced costs along the path become zero and none negative (Duff, Koster, equations 4.8 and 4.9). */
static bool update_duals(const search *s, int32_t source)
{
    order_matching *m = s->m;
    bool fits = m->u[source] <= ORDER_MAX_DUAL - s->shortest;

    if (fits) { m->u[source] += s->shortest; }
    for (int64_t k = 0; k < s->settled_count && fits; k++) {
        int32_t column = s->settled[k], row = m->row_of[column];
        int64_t change = s->shortest - s->distance[column];

        fits = m->u[row] <= ORDER_MAX_DUAL - change && m->v[column] >= change - ORDER_MAX_DUAL;
        if (!fits) { break; }
        m->u[row] += change;
        m->v[column] -= change;
    }
    return fits;
}

static void augment(const search *s, int32_t source)
{
    order_matching *m = s->m;
    int32_t column = s->sink, row = -1;

    while (row != source) {
        row = s->came_from[column];
        int32_t before = m->column_of[row];
        m->column_of[row] = column;
        m->row_of[column] = row;
        column = before;
    }
    m->count += 1;
}

static void forget(search *s)
{
    for (int64_t k = 0; k < s->settled_count; k++) {
        s->distance[s->settled[k]] = UNREACHED;
        s->place[s->settled[k]] = NOT_QUEUED;
    }
    for (int64_t k = 0; k < s->heap_count; k++) {
        s->distance[s->heap[k]] = UNREACHED;
        s->place[s->heap[k]] = NOT_QUEUED;
    }
}

/* A search that fails leaves its columns settled: no later path leads through them (Hungarian trees). A singular matrix
   then costs one more pass in all, not one per row. */
static tess_status match_rest(tess_context *ctx, search *s)
{
    for (int64_t i = 0; i < s->m->n; i++) {
        if (s->m->column_of[i] >= 0) { continue; }
        find_path(s, (int32_t)i);
        bool found = s->shortest != UNREACHED;
        if ((!found && s->cut) || (found && !update_duals(s, (int32_t)i))) {
            return tess_fail(ctx, TESS_OUT_OF_RANGE, "scale the rows and columns roughly first",
                             "the scale factors of max-product would exceed the range of FP64");
        }
        if (found) {
            augment(s, (int32_t)i);
            forget(s);
        }
    }
    return TESS_SUCCESS;
}

/* ---- the start: feasible duals and a matching along zero reduced costs ---- */

static void start_duals(order_matching *m)
{
    for (int64_t j = 0; j < m->n; j++) {
        m->v[j] = INT64_MAX;
    }
    for (int64_t i = 0; i < m->n; i++) { /* u_i = min_j c_ij */
        m->u[i] = INT64_MAX;
        for (int64_t k = m->first[i]; k < m->first[i + 1]; k++) {
            if (m->cost[k] < m->u[i]) { m->u[i] = m->cost[k]; }
        }
        if (m->u[i] == INT64_MAX) { m->u[i] = 0; } /* an empty row */
    }
    for (int64_t i = 0; i < m->n; i++) { /* v_j = min_i (c_ij - u_i) */
        for (int64_t k = m->first[i]; k < m->first[i + 1]; k++) {
            int64_t rest = m->cost[k] - m->u[i];

            if (m->cost[k] != ORDER_NO_COST && rest < m->v[m->column[k]]) { m->v[m->column[k]] = rest; }
        }
    }
    for (int64_t j = 0; j < m->n; j++) {
        if (m->v[j] == INT64_MAX) { m->v[j] = 0; }
    }
}

static void pair(order_matching *m, int64_t row, int32_t column)
{
    m->column_of[row] = column;
    m->row_of[column] = (int32_t)row;
}

static bool is_tight(const order_matching *m, int64_t row, int64_t k)
{
    return m->cost[k] != ORDER_NO_COST && m->cost[k] == m->u[row] + m->v[m->column[k]];
}

/* Pairs `row` with an unmatched column at reduced cost zero, from entry *probe on. Unmatched columns only become fewer.
 */
static bool pair_directly(order_matching *m, int64_t row, int64_t *probe)
{
    for (int64_t k = *probe; k < m->first[row + 1]; k++) {
        if (is_tight(m, row, k) && m->row_of[m->column[k]] < 0) {
            *probe = k;
            pair(m, row, m->column[k]);
            return true;
        }
    }
    *probe = m->first[row + 1];
    return false;
}

/* The same by moving the row that holds such a column to another one. */
static bool pair_by_one_move(order_matching *m, int64_t row, int64_t *probe)
{
    for (int64_t k = m->first[row]; k < m->first[row + 1]; k++) {
        int32_t column = m->column[k], holder = m->row_of[column];

        if (holder < 0 || !is_tight(m, row, k) || !pair_directly(m, holder, &probe[holder])) { continue; }
        pair(m, row, column);
        return true;
    }
    return false;
}

static void match_cheaply(order_matching *m, int64_t *probe)
{
    start_duals(m);
    for (int64_t i = 0; i < m->n; i++) {
        m->column_of[i] = m->row_of[i] = -1;
        probe[i] = m->first[i];
    }
    for (int64_t i = 0; i < m->n; i++) {
        m->count += pair_directly(m, i, &probe[i]);
    }
    for (int64_t i = 0; i < m->n; i++) {
        if (m->column_of[i] < 0) { m->count += pair_by_one_move(m, i, probe); }
    }
}

tess_status match_rows(tess_context *ctx, order_matching *m)
{
    search s = {.m = m};
    tess_status status = TESS_SUCCESS;

    m->count = 0;
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *s.distance, (void **)&s.distance));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *s.came_from, (void **)&s.came_from));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *s.place, (void **)&s.place));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *s.heap, (void **)&s.heap));
    TESS_TRY(tess_host_allocate(ctx, m->n, sizeof *s.settled, (void **)&s.settled));
    match_cheaply(m, s.distance); /* borrows s.distance */
    for (int64_t j = 0; j < m->n; j++) {
        s.distance[j] = UNREACHED;
        s.place[j] = NOT_QUEUED;
    }
    status = match_rest(ctx, &s);
cleanup:
    tess_host_release(ctx, s.distance, m->n, sizeof *s.distance);
    tess_host_release(ctx, s.came_from, m->n, sizeof *s.came_from);
    tess_host_release(ctx, s.place, m->n, sizeof *s.place);
    tess_host_release(ctx, s.heap, m->n, sizeof *s.heap);
    tess_host_release(ctx, s.settled, m->n, sizeof *s.settled);
    return status;
}
