/* SPDX-License-Identifier: Apache-2.0 */
/* cuSPARSE SpGEMM with its default algorithm, in FP64. */
#include <cusparse.h>

#include "base/context.h"
#include "harness/cuda_check.h"
#include "matrix/assembled.h"
#include "peers/cusparse_spgemm.h"

struct bench_spgemm {
    tess_context *ctx = nullptr;
    cusparseHandle_t handle = nullptr;
    cusparseSpMatDescr_t a = nullptr, b = nullptr;
    int64_t nrows = 0, ncols = 0, nnz = 0;
};

namespace {

const double one = 1.0, zero = 0.0;

cusparseSpMatDescr_t describe(const tess_matrix *m)
{
    const csr_view *v = &csr_of(m)->view;
    cusparseSpMatDescr_t out = nullptr;

    BENCH_CUSPARSE_CHECK(cusparseCreateCsr(
        &out, v->nrows, v->ncols, v->nnz, const_cast<void *>(v->row_ptr), const_cast<int32_t *>(v->col_ind),
        const_cast<void *>(v->val), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    return out;
}

/* What a product holds while it is computed. */
struct product {
    cusparseSpMatDescr_t c = nullptr;
    cusparseSpGEMMDescr_t state = nullptr;
    void *work[2] = {nullptr, nullptr};
    size_t bytes[2] = {0, 0};
    int32_t *row_ptr = nullptr, *col_ind = nullptr;
    double *val = nullptr;
    int64_t nnz = 0;
};

cusparseStatus_t run_stage(bench_spgemm *s, product *p, int stage, void *work)
{
    const auto call = stage == 0 ? cusparseSpGEMM_workEstimation : cusparseSpGEMM_compute;

    return call(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, s->a, s->b, &zero,
                p->c, CUDA_R_64F, CUSPARSE_SPGEMM_DEFAULT, p->state, &p->bytes[stage], work);
}

tess_status compute(bench_spgemm *s, product *p)
{
    tess_status status = TESS_SUCCESS;
    int64_t nrows = 0, ncols = 0;

    for (int stage = 0; stage < 2; stage++) {
        if (run_stage(s, p, stage, nullptr) != CUSPARSE_STATUS_SUCCESS) { return TESS_OUT_OF_DEVICE_MEMORY; }
        TESS_TRY(tess_device_allocate(s->ctx, static_cast<int64_t>(p->bytes[stage]), 1, &p->work[stage]));
        if (run_stage(s, p, stage, p->work[stage]) != CUSPARSE_STATUS_SUCCESS) { return TESS_OUT_OF_DEVICE_MEMORY; }
    }
    BENCH_CUSPARSE_CHECK(cusparseSpMatGetSize(p->c, &nrows, &ncols, &p->nnz));
    TESS_TRY(tess_device_allocate(s->ctx, p->nnz, sizeof *p->col_ind, reinterpret_cast<void **>(&p->col_ind)));
    TESS_TRY(tess_device_allocate(s->ctx, p->nnz, sizeof *p->val, reinterpret_cast<void **>(&p->val)));
    BENCH_CUSPARSE_CHECK(cusparseCsrSetPointers(p->c, p->row_ptr, p->col_ind, p->val));
    BENCH_CUSPARSE_CHECK(cusparseSpGEMM_copy(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                             CUSPARSE_OPERATION_NON_TRANSPOSE, &one, s->a, s->b, &zero, p->c,
                                             CUDA_R_64F, CUSPARSE_SPGEMM_DEFAULT, p->state));
    s->nnz = p->nnz;
cleanup:
    return status;
}

} // namespace

extern "C" bench_spgemm *bench_spgemm_open(const tess_matrix *a, const tess_matrix *b)
{
    bench_spgemm *s = new bench_spgemm;

    s->ctx = tess_matrix_context(a);
    s->nrows = tess_matrix_nrows(a);
    s->ncols = tess_matrix_ncols(b);
    BENCH_CUSPARSE_CHECK(cusparseCreate(&s->handle));
    BENCH_CUSPARSE_CHECK(cusparseSetStream(s->handle, static_cast<cudaStream_t>(tess_context_stream(s->ctx))));
    s->a = describe(a);
    s->b = describe(b);
    return s;
}

extern "C" tess_status bench_spgemm_call(void *user, int k)
{
    bench_spgemm *s = static_cast<bench_spgemm *>(user);
    product p;
    tess_status status = TESS_SUCCESS;

    (void)k;
    TESS_TRY(tess_device_allocate(s->ctx, s->nrows + 1, sizeof *p.row_ptr, reinterpret_cast<void **>(&p.row_ptr)));
    BENCH_CUSPARSE_CHECK(cusparseCreateCsr(&p.c, s->nrows, s->ncols, 0, p.row_ptr, nullptr, nullptr, CUSPARSE_INDEX_32I,
                                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    BENCH_CUSPARSE_CHECK(cusparseSpGEMM_createDescr(&p.state));
    status = compute(s, &p);
cleanup:
    if (p.state) { BENCH_CUSPARSE_CHECK(cusparseSpGEMM_destroyDescr(p.state)); }
    if (p.c) { BENCH_CUSPARSE_CHECK(cusparseDestroySpMat(p.c)); }
    tess_device_release(s->ctx, p.val, p.nnz, sizeof *p.val);
    tess_device_release(s->ctx, p.col_ind, p.nnz, sizeof *p.col_ind);
    for (int stage = 0; stage < 2; stage++) {
        tess_device_release(s->ctx, p.work[stage], static_cast<int64_t>(p.bytes[stage]), 1);
    }
    tess_device_release(s->ctx, p.row_ptr, s->nrows + 1, sizeof *p.row_ptr);
    return status;
}

extern "C" int64_t bench_spgemm_nnz(const bench_spgemm *s)
{
    return s->nnz;
}

extern "C" void bench_spgemm_close(bench_spgemm *s)
{
    if (!s) { return; }
    BENCH_CUSPARSE_CHECK(cusparseDestroySpMat(s->a));
    BENCH_CUSPARSE_CHECK(cusparseDestroySpMat(s->b));
    BENCH_CUSPARSE_CHECK(cusparseDestroy(s->handle));
    delete s;
}
