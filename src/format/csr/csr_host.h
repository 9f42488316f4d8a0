/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by host functions over CSR. */
#ifndef TESS_FORMAT_CSR_CSR_HOST_H
#define TESS_FORMAT_CSR_CSR_HOST_H

#include "base/offsets.h"
#include "device/host/host.h"
#include "format/csr/csr.h"

/* Rows and nonzeros of a chunk; nonzeros of a segment. */
enum { CSR_CHUNK = HOST_SERIAL_WORK, CSR_SEGMENT = 16384 };

struct csr_plan {
    int64_t nchunks;
    int32_t *chunk_row;     /* nchunks + 1 */
    double *partials;       /* 2 * nchunks */
    int64_t nlong;          /* rows longer than CSR_SEGMENT that are summed first */
    int32_t *long_row;      /* ascending */
    int64_t *first_segment; /* nlong + 1: of each long row */
    double *segment_sum;    /* first_segment[nlong] */
    double *long_sum;
};

static inline int64_t csr_plan_segments(const csr_plan *p)
{
    return p->first_segment ? p->first_segment[p->nlong] : 0;
}

tess_status csr_host_make_plans(tess_context *ctx, int count, const csr_view *const *views, csr_plan **out);
void csr_host_free_plan(tess_context *ctx, csr_plan *p);
tess_status csr_host_make_layers(tess_context *ctx, int count, const csr_view *layers, csr_layers **out);
void csr_host_free_layers(tess_context *ctx, csr_layers *plan);
tess_status csr_host_spmv_layers(tess_context *ctx, int count, const csr_view *layers, const csr_layers *plan,
                                 const tess_spmv_args *args);

tess_status csr_host_multiply_pairs(tess_context *ctx, const csr_view *v, const tess_spmv_args *args);
tess_status csr_host_multiply_columns(tess_context *ctx, const csr_view *v, const csr_plan *p,
                                      const tess_spmv_args *args);

/* Whether x is read in FP32: if all vectors are FP32, or the products of a part are. */
bool csr_host_is_low(const csr_view *v, const tess_spmv_args *args);
/* Sums the plan's long rows, with all threads. */
void csr_host_sum_long_rows(tess_context *ctx, const csr_view *v, const csr_plan *p, const tess_spmv_args *args);
/* The sum of a row of any length, by segments: computed earlier, or now. */
double csr_host_long_row_sum(const csr_view *v, const csr_plan *p, const tess_spmv_args *args, int64_t row);

#endif
