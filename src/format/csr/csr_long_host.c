/* SPDX-License-Identifier: Apache-2.0 */
/* Rows longer than a segment on the host, summed segment by segment. */
#include "base/by_precision.h"
#include "device/host/host.h"
#include "format/csr/csr.h"
#include "format/csr/csr_host.h"
#include "format/csr/csr_sums.h"

bool csr_host_is_low(const csr_view *v, const tess_spmv_args *args)
{
    return args->vectors == TESS_PRECISION_FP32 ||
           (args->low_arithmetic == TESS_ARITHMETIC_FP32 && v->precision != TESS_PRECISION_FP64);
}

static inline const float *low_x(const tess_spmv_args *args)
{
    return args->vectors == TESS_PRECISION_FP32 ? args->x_fp32 : args->x_shadow;
}

TESS_INLINE void sum_stored_range(tess_precision precision, const csr_view *v, const tess_spmv_args *args,
                                  int64_t begin, int64_t end, double *sum)
{
    const csr_entries e = {v->val, v->col_ind, args->x, NULL, false};
    const csr_entries low = {v->val, v->col_ind, NULL, low_x(args), true};

    *sum = csr_host_is_low(v, args) ? sum_range(low, precision, begin, end) : sum_range(e, precision, begin, end);
}

static double sum_segment(const csr_view *v, const tess_spmv_args *args, int64_t begin, int64_t end)
{
    double sum = 0.0;

    end = begin + CSR_SEGMENT < end ? begin + CSR_SEGMENT : end;
    CALL_BY_PRECISION(v->precision, sum_stored_range, v, args, begin, end, &sum);
    return sum;
}

/* The last r < count with first[r] <= value. */
static int64_t find_last(const int64_t *first, int64_t count, int64_t value)
{
    int64_t low = 0;

    while (count > 1) {
        int64_t half = count / 2;

        if (first[low + half] <= value) { low += half; }
        count -= half;
    }
    return low;
}

void csr_host_sum_long_rows(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args)
{
    int64_t segments = csr_plan_segments(p);

    if (segments == 0) { return; }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t s = 0; s < segments; s++) {
        int64_t r = find_last(p->first_segment, p->nlong, s), row = p->long_row[r];

        p->segment_sum[s] =
            sum_segment(v, args, csr_offset(v, row) + (s - p->first_segment[r]) * CSR_SEGMENT, csr_offset(v, row + 1));
    }
    for (int64_t r = 0; r < p->nlong; r++) {
        double sum = 0.0;

        for (int64_t s = p->first_segment[r]; s < p->first_segment[r + 1]; s++) {
            sum += p->segment_sum[s];
        }
        p->long_sum[r] = sum;
    }
}

double csr_host_long_row_sum(const csr_view *v, const csr_plan *p, const tess_spmv_args *args, int64_t row)
{
    int64_t low = 0, high = p->nlong;
    double sum = 0.0;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (p->long_row[middle] < row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < p->nlong && p->long_row[low] == row) { return p->long_sum[low]; }
    for (int64_t k = csr_offset(v, row); k < csr_offset(v, row + 1); k += CSR_SEGMENT) {
        sum += sum_segment(v, args, k, csr_offset(v, row + 1));
    }
    return sum;
}
