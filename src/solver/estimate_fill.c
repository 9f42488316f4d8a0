/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/estimate_fill.h"

#include <math.h>
#include <string.h>

#include "matrix/assembled.h"
#include "matrix/host_csr.h"

/* Rows that are looked at, at most and at least, and entries that these may lead to. */
enum { MOST_ROWS = 512, LEAST_ROWS = 16, MOST_ENTRIES = 1 << 23 };

typedef struct search {
    csr_view v;
    int32_t *seen;   /* n: the number from 1 of the last row that came by; 0: none */
    int32_t *queue;  /* n */
    int64_t visited; /* entries */
} search;

/* Entries of the row behind the diagonal. Only numbers below the row's lead on. */
static int64_t count_row(search *s, int64_t row, int32_t number, int level)
{
    int64_t begin = 0, end = 1, next = 1, count = 0;

    s->queue[0] = (int32_t)row;
    s->seen[row] = number;
    for (int depth = 0; depth <= level && begin < end; depth++) {
        for (; begin < end; begin++) {
            const int64_t h = s->queue[begin], last = csr_offset(&s->v, h + 1);

            s->visited += last - csr_offset(&s->v, h);
            for (int64_t k = csr_offset(&s->v, h); k < last; k++) {
                const int32_t t = s->v.col_ind[k];

                if (s->seen[t] == number) { continue; }
                s->seen[t] = number;
                count += t > row;
                if (t < row) { s->queue[next++] = t; }
            }
        }
        end = next;
    }
    return count;
}

/* Multiples of it are evenly spread over a period, wherever they end. */
#define GOLDEN_SECTION 0.6180339887498949

static double count_rows(search *s, int level)
{
    const int64_t n = s->v.nrows, rows = n < MOST_ROWS ? n : MOST_ROWS;
    int64_t sum = 0, done = 0;

    while (done < rows && (done < LEAST_ROWS || s->visited <= MOST_ENTRIES)) {
        const int64_t spread = (int64_t)(fmod((double)done * GOLDEN_SECTION, 1.0) * (double)n);

        sum += count_row(s, rows == n ? done : spread, (int32_t)done + 1, level);
        done += 1;
    }
    return (double)n + 2.0 * (double)sum / (double)done * (double)n;
}

tess_status estimate_fill(const tess_matrix *a, int level, double *entries)
{
    const int64_t n = a->nrows;
    host_csr copy = {0};
    search s = {.v = {.nrows = n, .ncols = a->ncols, .row_ptr_bits = 64}};
    tess_status status = TESS_SUCCESS;

    *entries = (double)a->nnz;
    if (n == 0 || n != a->ncols) { return TESS_SUCCESS; }
    if (a->ctx->device == TESS_DEVICE_CPU) {
        s.v = csr_of(a)->view;
    } else {
        TESS_TRY(host_csr_from_matrix(a, &copy));
        s.v.row_ptr = copy.row_ptr;
        s.v.col_ind = copy.col_ind;
    }
    TESS_TRY(tess_host_allocate(a->ctx, n, sizeof *s.seen, (void **)&s.seen));
    TESS_TRY(tess_host_allocate(a->ctx, n, sizeof *s.queue, (void **)&s.queue));
    memset(s.seen, 0, (size_t)n * sizeof *s.seen);
    *entries = count_rows(&s, level);
cleanup:
    tess_host_release(a->ctx, s.queue, n, sizeof *s.queue);
    tess_host_release(a->ctx, s.seen, n, sizeof *s.seen);
    host_csr_release(a->ctx, &copy);
    return status;
}
