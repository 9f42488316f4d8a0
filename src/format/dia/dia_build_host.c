/* SPDX-License-Identifier: Apache-2.0 */
/* Building DIA on the host, and decoding it: a thread takes a run of rows, and goes through the diagonals with all of
   them. */
#include "device/host/host.h"
#include "format/dia/dia_rows.h"

/* Rows of a run: whole words of bitmaps, so that no two threads write the same word. */
enum { RUN = 512 };

typedef struct row_run {
    int64_t first;
    int count;
    dia_cursor at[RUN];
} row_run;

static row_run open_run(const csr_view *csr, int64_t rows, int64_t first)
{
    row_run run;

    run.first = first;
    run.count = rows - first < RUN ? (int)(rows - first) : RUN;
    for (int i = 0; i < run.count; i++) {
        run.at[i] = dia_open_row(csr, first + i);
    }
    return run;
}

/* ---- which diagonals there are ---- */

tess_status dia_host_mark(tess_context *ctx, const csr_view *csr, uint32_t *marks)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (csr->nnz > HOST_SERIAL_WORK)
    for (int64_t i = 0; i < csr->nrows; i++) {
        dia_cursor c = dia_open_row(csr, i);

        for (int64_t k = c.next; k < c.end; k++) {
            int64_t mark = dia_mark_of(csr->nrows, csr->col_ind[k] - i);
            uint32_t *word = &marks[mark / DIA_WORD], bit = 1U << (mark % DIA_WORD), seen;

#pragma omp atomic read
            seen = *word;
            if (seen & bit) { continue; } /* the usual case: a row has the diagonals of the previous row */
#pragma omp atomic update
            *word |= bit;
        }
    }
    return TESS_SUCCESS;
}

tess_status dia_host_count_marks(tess_context *ctx, int64_t words, const uint32_t *marks, int64_t *count)
{
    int64_t sum = 0;

    (void)ctx;
    for (int64_t w = 0; w < words; w++) {
        sum += __builtin_popcount(marks[w]);
    }
    *count = sum;
    return TESS_SUCCESS;
}

tess_status dia_host_list_marks(tess_context *ctx, int64_t words, const uint32_t *marks, const dia_view *v)
{
    int64_t d = 0;

    (void)ctx;
    for (int64_t w = 0; w < words; w++) {
        for (uint32_t left = marks[w]; left != 0; left &= left - 1) {
            v->diagonal[d].offset = dia_offset_of(v->nrows, w * DIA_WORD + __builtin_ctz(left));
            v->diagonal[d].bitmap = -1;
            d += 1;
        }
    }
    return TESS_SUCCESS;
}

/* ---- entries and holes ---- */

tess_status dia_host_count_entries(tess_context *ctx, const csr_view *csr, const dia_view *v, uint32_t *entries)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (csr->nnz > HOST_SERIAL_WORK)
    for (int64_t first = 0; first < v->nrows; first += RUN) {
        row_run run = open_run(csr, v->nrows, first);

        for (int64_t d = 0; d < v->ndiagonals; d++) {
            uint32_t found = 0;

            for (int i = 0; i < run.count; i++) {
                found += dia_take(csr, first + i, v->diagonal[d].offset, &run.at[i]) ? 1U : 0U;
            }
#pragma omp atomic update
            entries[d] += found;
        }
    }
    return TESS_SUCCESS;
}

tess_status dia_host_fill_bitmaps(tess_context *ctx, const csr_view *csr, const dia_view *v)
{
    if (v->nbitmaps == 0) { return TESS_SUCCESS; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (csr->nnz > HOST_SERIAL_WORK)
    for (int64_t first = 0; first < v->nrows; first += RUN) {
        row_run run = open_run(csr, v->nrows, first);

        for (int64_t d = 0; d < v->ndiagonals; d++) {
            uint32_t word = 0;

            for (int i = 0; i < run.count; i++) {
                bool found = dia_take(csr, first + i, v->diagonal[d].offset, &run.at[i]);

                word |= (found ? 1U : 0U) << (i % DIA_WORD);
                if (i % DIA_WORD < DIA_WORD - 1 && i < run.count - 1) { continue; }
                if (v->diagonal[d].bitmap >= 0) { v->bitmap[dia_word(v, v->diagonal[d], first + i)] = word; }
                word = 0;
            }
        }
    }
    return TESS_SUCCESS;
}

/* ---- values ---- */

tess_status dia_host_fill_values(tess_context *ctx, const csr_view *csr, const dia_view *v)
{
    const double *val = csr->val;

#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (csr->nnz > HOST_SERIAL_WORK)
    for (int64_t first = 0; first < v->stride; first += RUN) {
        row_run run = open_run(csr, v->stride, first);

        for (int64_t d = 0; d < v->ndiagonals; d++) {
            double value[RUN];

            for (int i = 0; i < run.count; i++) {
                int64_t k = run.at[i].next;

                value[i] = dia_take(csr, first + i, v->diagonal[d].offset, &run.at[i]) ? val[k] : 0.0;
            }
            host_write_fp64(v->precision, v->val, dia_place(v, d, first), run.count, value);
        }
    }
    return TESS_SUCCESS;
}

tess_status dia_host_decode(tess_context *ctx, const csr_view *csr, const dia_view *v, int32_t *col_ind, double *val)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (csr->nnz > HOST_SERIAL_WORK)
    for (int64_t first = 0; first < v->nrows; first += RUN) {
        row_run run = open_run(csr, v->nrows, first);

        for (int64_t d = 0; d < v->ndiagonals; d++) {
            for (int i = 0; i < run.count; i++) {
                int64_t row = first + i, k = run.at[i].next;

                if (!dia_has_entry(v, v->diagonal[d], row)) { continue; }
                if (col_ind) { col_ind[k] = (int32_t)(row + v->diagonal[d].offset); }
                if (val) { val[k] = tess_load(v->precision, v->val, dia_place(v, d, row)); }
                run.at[i].next += 1;
            }
        }
    }
    return TESS_SUCCESS;
}
