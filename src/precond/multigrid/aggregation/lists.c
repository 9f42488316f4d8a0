/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns by nodes: lists of aggregates, and their products. */
#include <string.h>

#include "matrix/assemble.h"
#include "precond/multigrid/aggregation/lists.h"

void node_lists_release(tess_context *ctx, node_lists *l)
{
    tess_host_release(ctx, l->number, l->first ? l->first[l->count] : 0, sizeof *l->number);
    tess_host_release(ctx, l->first, l->count + 1, sizeof *l->first);
    *l = (node_lists){0};
}

static tess_status open_lists(tess_context *ctx, int64_t count, node_lists *out)
{
    tess_status status = TESS_SUCCESS;

    *out = (node_lists){.count = count};
    status = tess_host_allocate(ctx, count + 1, sizeof *out->first, (void **)&out->first);
    if (status == TESS_SUCCESS) { memset(out->first, 0, (size_t)(count + 1) * sizeof *out->first); }
    return status;
}

/* first[i + 1] has the length of list i: makes offsets of them, and room for the lists. */
static tess_status make_room(tess_context *ctx, node_lists *l)
{
    for (int64_t i = 0; i < l->count; i++) {
        l->first[i + 1] += l->first[i];
    }
    return tess_host_allocate(ctx, l->first[l->count], sizeof *l->number, (void **)&l->number);
}

static void visit_columns(const host_csr *p, const node_rows *rows, const node_rows *coarse, node_lists *out)
{
    for (int64_t i = 0; i < rows->count; i++) {
        const int64_t row = rows->first[i];
        int64_t place = out->number ? out->first[i] : 0;

        for (int64_t k = p->row_ptr[row]; row < rows->first[i + 1] && k < p->row_ptr[row + 1]; place++) {
            const int32_t g = coarse->node_of[p->col_ind[k]];

            if (out->number) { out->number[place] = g; }
            k += coarse->first[g + 1] - coarse->first[g];
        }
        if (!out->number) { out->first[i + 1] = place; }
    }
}

tess_status list_columns(tess_context *ctx, const host_csr *p, const node_rows *rows, const node_rows *coarse,
                         node_lists *out)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(open_lists(ctx, rows->count, out));
    visit_columns(p, rows, coarse, out);
    TESS_TRY(make_room(ctx, out));
    visit_columns(p, rows, coarse, out);
cleanup:
    return status;
}

tess_status transpose_lists(tess_context *ctx, const node_lists *l, int64_t count, node_lists *out)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(open_lists(ctx, count, out));
    for (int64_t k = 0; k < l->first[l->count]; k++) {
        out->first[l->number[k] + 1] += 1;
    }
    TESS_TRY(make_room(ctx, out));
    for (int64_t i = 0; i < l->count; i++) {
        for (int64_t k = l->first[i]; k < l->first[i + 1]; k++) {
            out->number[out->first[l->number[k]]++] = (int32_t)i;
        }
    }
    /* first[g] has moved to the end of g, which is the first of g + 1 */
    memmove(out->first + 1, out->first, (size_t)count * sizeof *out->first);
    out->first[0] = 0;
cleanup:
    return status;
}

/* Adds what is not yet seen of a list to `found`. */
static int64_t merge_list(const node_lists *second, int32_t node, int64_t row, int64_t *seen, int32_t *found,
                          int64_t count)
{
    for (int64_t k = second->first[node]; k < second->first[node + 1]; k++) {
        if (seen[second->number[k]] == row) { continue; }
        seen[second->number[k]] = row;
        found[count++] = second->number[k];
    }
    return count;
}

static void sort_numbers(int32_t *number, int64_t count)
{
    for (int64_t gap = count / 2; gap > 0; gap /= 2) {
        for (int64_t k = gap; k < count; k++) {
            const int32_t moved = number[k];
            int64_t place = k;

            for (; place >= gap && number[place - gap] > moved; place -= gap) {
                number[place] = number[place - gap];
            }
            number[place] = moved;
        }
    }
}

static int64_t merge_row(const first_factor *f, const node_lists *second, int64_t row, int64_t *seen, int32_t *found)
{
    int64_t count = 0, begin = 0, end = 0;

    if (!f->a) {
        for (int64_t k = f->lists->first[row]; k < f->lists->first[row + 1]; k++) {
            count = merge_list(second, f->lists->number[k], row, seen, found, count);
        }
        return count;
    }
    begin = f->a->row_ptr[f->rows->first[row]];
    end = f->a->row_ptr[f->rows->first[row + 1]];
    for (int64_t k = begin; k < end; k++) {
        const int32_t node = f->rows->node_of[f->a->col_ind[k]];

        if (k > begin && f->rows->node_of[f->a->col_ind[k - 1]] == node) { continue; }
        count = merge_list(second, node, row, seen, found, count);
    }
    return count;
}

/* The lengths of the lists, or the lists where there is room for them. */
static void visit_products(const first_factor *f, const node_lists *second, int64_t numbers, int threads, int64_t *seen,
                           int32_t *found, node_lists *out)
{
    memset(seen, 0xff, (size_t)(threads * numbers) * sizeof *seen);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int thread = 0; thread < threads; thread++) {
        for (int64_t i = f->count * thread / threads; i < f->count * (thread + 1) / threads; i++) {
            int32_t *list = out->number ? out->number + out->first[i] : found + thread * numbers;
            const int64_t count = merge_row(f, second, i, seen + thread * numbers, list);

            if (out->number) {
                sort_numbers(list, count);
            } else {
                out->first[i + 1] = count;
            }
        }
    }
}

tess_status multiply_lists(tess_context *ctx, const first_factor *f, const node_lists *second, int64_t numbers,
                           node_lists *out)
{
    const int threads = tess_io_threads(ctx, 16 * f->count);
    int64_t *seen = NULL;
    int32_t *found = NULL;
    tess_status status = TESS_SUCCESS;

    TESS_TRY(open_lists(ctx, f->count, out));
    TESS_TRY(tess_host_allocate(ctx, threads * numbers, sizeof *seen, (void **)&seen));
    TESS_TRY(tess_host_allocate(ctx, threads * numbers, sizeof *found, (void **)&found));
    visit_products(f, second, numbers, threads, seen, found, out);
    TESS_TRY(make_room(ctx, out));
    visit_products(f, second, numbers, threads, seen, found, out);
cleanup:
    tess_host_release(ctx, seen, threads * numbers, sizeof *seen);
    tess_host_release(ctx, found, threads * numbers, sizeof *found);
    return status;
}
