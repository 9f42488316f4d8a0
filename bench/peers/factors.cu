/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete factors of cuSPARSE, and their triangular solves. */
#define DISABLE_CUSPARSE_DEPRECATED /* its incomplete factorizations are, and have no successor */
#include <cusparse.h>

#include <cstdio>

#include "format/csr/csr.h"
#include "harness/cuda_check.h"
#include "peers/factors.h"
#include "peers/graph.cuh"

namespace {

const double one = 1.0;

/* One triangle: a view of the factors, and what its analysis found. */
struct triangle {
    cusparseOperation_t operation = CUSPARSE_OPERATION_NON_TRANSPOSE;
    cusparseSpMatDescr_t matrix = nullptr;
    cusparseSpSVDescr_t analysis = nullptr;
    void *buffer = nullptr;
    size_t bytes = 0;
};

} // namespace

struct bench_cufactors {
    bench_krylov_handles *handles = nullptr; /* whose memory it takes */
    cusparseHandle_t sparse = nullptr;
    cudaStream_t stream = nullptr;
    bool cholesky = false;
    csr_view v = {};
    double *values = nullptr, *between = nullptr;
    cusparseDnVecDescr_t from = nullptr, middle = nullptr, to = nullptr;
    triangle lower, upper;

    int *rows() const
    {
        return static_cast<int *>(const_cast<void *>(v.row_ptr));
    }
    int *columns() const
    {
        return const_cast<int32_t *>(v.col_ind);
    }
};

/* ---- factors ---- */

#if CUSPARSE_VERSION < 13000

namespace {

/* One interface to csrilu02 and csric02, which differ in their names alone. */
struct ilu_calls {
    csrilu02Info_t info = nullptr;
    static constexpr auto create = cusparseCreateCsrilu02Info;
    static constexpr auto destroy = cusparseDestroyCsrilu02Info;
    static constexpr auto measure = cusparseDcsrilu02_bufferSize;
    static constexpr auto analyse = cusparseDcsrilu02_analysis;
    static constexpr auto factor = cusparseDcsrilu02;
    static constexpr auto pivot = cusparseXcsrilu02_zeroPivot;
};

struct ic_calls {
    csric02Info_t info = nullptr;
    static constexpr auto create = cusparseCreateCsric02Info;
    static constexpr auto destroy = cusparseDestroyCsric02Info;
    static constexpr auto measure = cusparseDcsric02_bufferSize;
    static constexpr auto analyse = cusparseDcsric02_analysis;
    static constexpr auto factor = cusparseDcsric02;
    static constexpr auto pivot = cusparseXcsric02_zeroPivot;
};

/* The row of the first zero pivot from 1 on, or 0. */
template <typename CALLS>
int factor(bench_cufactors *s)
{
    const int n = static_cast<int>(s->v.nrows), nnz = static_cast<int>(s->v.nnz);
    const cusparseSolvePolicy_t policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;
    CALLS calls;
    cusparseMatDescr_t general = nullptr;
    void *buffer = nullptr;
    int bytes = 0, row = -1;

    BENCH_CUSPARSE_CHECK(cusparseCreateMatDescr(&general));
    BENCH_CUSPARSE_CHECK(calls.create(&calls.info));
    BENCH_CUSPARSE_CHECK(
        calls.measure(s->sparse, n, nnz, general, s->values, s->rows(), s->columns(), calls.info, &bytes));
    buffer = bench_krylov_allocate(s->handles, static_cast<size_t>(bytes));
    BENCH_CUSPARSE_CHECK(
        calls.analyse(s->sparse, n, nnz, general, s->values, s->rows(), s->columns(), calls.info, policy, buffer));
    /* a missing diagonal entry is found by the analysis, a zero one by the factorization */
    if (calls.pivot(s->sparse, calls.info, &row) == CUSPARSE_STATUS_SUCCESS) {
        BENCH_CUSPARSE_CHECK(
            calls.factor(s->sparse, n, nnz, general, s->values, s->rows(), s->columns(), calls.info, policy, buffer));
        calls.pivot(s->sparse, calls.info, &row);
    }
    calls.destroy(calls.info);
    cusparseDestroyMatDescr(general);
    bench_krylov_release(s->handles, buffer);
    return row + 1;
}

int factor(bench_cufactors *s)
{
    return s->cholesky ? factor<ic_calls>(s) : factor<ilu_calls>(s);
}

} // namespace

extern "C" const char *bench_cufactors_source(void)
{
    return "cusparse";
}

#else

/* `values` are the factors already. */
static int factor(bench_cufactors *)
{
    return 0;
}

extern "C" const char *bench_cufactors_source(void)
{
    return "host";
}

#endif

/* ---- triangles ---- */

static void make_triangle(bench_cufactors *s, triangle *t, cusparseFillMode_t fill, cusparseDiagType_t diagonal,
                          cusparseDnVecDescr_t x, cusparseDnVecDescr_t y)
{
    BENCH_CUSPARSE_CHECK(cusparseCreateCsr(&t->matrix, s->v.nrows, s->v.ncols, s->v.nnz, s->rows(), s->columns(),
                                           s->values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                           CUDA_R_64F));
    BENCH_CUSPARSE_CHECK(cusparseSpMatSetAttribute(t->matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
    BENCH_CUSPARSE_CHECK(cusparseSpMatSetAttribute(t->matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
    BENCH_CUSPARSE_CHECK(cusparseSpSV_createDescr(&t->analysis));
    BENCH_CUSPARSE_CHECK(cusparseSpSV_bufferSize(s->sparse, t->operation, &one, t->matrix, x, y, CUDA_R_64F,
                                                 CUSPARSE_SPSV_ALG_DEFAULT, t->analysis, &t->bytes));
    t->buffer = bench_krylov_allocate(s->handles, t->bytes);
    BENCH_CUSPARSE_CHECK(cusparseSpSV_analysis(s->sparse, t->operation, &one, t->matrix, x, y, CUDA_R_64F,
                                               CUSPARSE_SPSV_ALG_DEFAULT, t->analysis, t->buffer));
}

/* M = L U with ones on the diagonal of L, or L L^T. */
static void make_triangles(bench_cufactors *s)
{
    if (s->cholesky) {
        s->upper.operation = CUSPARSE_OPERATION_TRANSPOSE;
        make_triangle(s, &s->lower, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_NON_UNIT, s->from, s->middle);
        make_triangle(s, &s->upper, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_NON_UNIT, s->middle, s->to);
    } else {
        make_triangle(s, &s->lower, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_UNIT, s->from, s->middle);
        make_triangle(s, &s->upper, CUSPARSE_FILL_MODE_UPPER, CUSPARSE_DIAG_TYPE_NON_UNIT, s->middle, s->to);
    }
}

static void free_triangle(bench_cufactors *s, triangle *t)
{
    if (t->analysis) { cusparseSpSV_destroyDescr(t->analysis); }
    if (t->matrix) { cusparseDestroySpMat(t->matrix); }
    bench_krylov_release(s->handles, t->buffer);
}

/* ---- set-up ---- */

/* `from` and `to` get the addresses of each call; until then the values, at least one in a row, stand for them. */
static void make_vectors(bench_cufactors *s)
{
    s->between =
        static_cast<double *>(bench_krylov_allocate(s->handles, static_cast<size_t>(s->v.nrows) * sizeof(double)));
    BENCH_CUSPARSE_CHECK(cusparseCreateDnVec(&s->middle, s->v.nrows, s->between, CUDA_R_64F));
    for (cusparseDnVecDescr_t *vector : {&s->from, &s->to}) {
        BENCH_CUSPARSE_CHECK(cusparseCreateDnVec(vector, s->v.nrows, s->values, CUDA_R_64F));
    }
}

extern "C" bench_cufactors *bench_cufactors_create(bench_krylov_handles *handles, const tess_matrix *a,
                                                   tess_precond_kind kind, const double *values, char *reason,
                                                   size_t reason_size)
{
    bench_cufactors *s = new bench_cufactors;
    const size_t bytes = static_cast<size_t>(tess_matrix_nnz(a)) * sizeof(double);
    int row = 0;

    s->handles = handles;
    s->sparse = static_cast<cusparseHandle_t>(bench_krylov_sparse(handles));
    s->stream = static_cast<cudaStream_t>(tess_context_stream(tess_matrix_context(a)));
    s->cholesky = kind == TESS_PRECOND_IC0;
    s->v = csr_of(a)->view;
    if (s->v.row_ptr_bits != 32) {
        std::snprintf(reason, reason_size, "more than 2^31 nonzeros");
        bench_cufactors_destroy(s);
        return nullptr;
    }
    s->values = static_cast<double *>(bench_krylov_allocate(handles, bytes));
    BENCH_CUDA_CHECK(cudaMemcpyAsync(s->values, values, bytes, cudaMemcpyDeviceToDevice, s->stream));
    row = factor(s);
    if (row > 0) {
        std::snprintf(reason, reason_size, "zero pivot in row %d", row);
        bench_cufactors_destroy(s);
        return nullptr;
    }
    make_vectors(s);
    make_triangles(s);
    BENCH_CUDA_CHECK(cudaStreamSynchronize(s->stream));
    return s;
}

extern "C" void bench_cufactors_destroy(bench_cufactors *s)
{
    if (!s) { return; }
    free_triangle(s, &s->lower);
    free_triangle(s, &s->upper);
    for (cusparseDnVecDescr_t vector : {s->from, s->middle, s->to}) {
        if (vector) { cusparseDestroyDnVec(vector); }
    }
    bench_krylov_release(s->handles, s->values);
    bench_krylov_release(s->handles, s->between);
    delete s;
}

extern "C" int64_t bench_cufactors_bytes(const bench_cufactors *s)
{
    return (s->v.nnz + s->v.nrows) * static_cast<int64_t>(sizeof(double)) +
           static_cast<int64_t>(s->lower.bytes + s->upper.bytes);
}

/* ---- application ---- */

static cusparseStatus_t solve(const bench_cufactors *s, const triangle &t, cusparseDnVecDescr_t x,
                              cusparseDnVecDescr_t y)
{
    return cusparseSpSV_solve(s->sparse, t.operation, &one, t.matrix, x, y, CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT,
                              t.analysis);
}

static cusparseStatus_t apply(bench_cufactors *s, const double *r, double *z)
{
    cusparseStatus_t status = CUSPARSE_STATUS_SUCCESS;

    BENCH_CUSPARSE_CHECK(cusparseDnVecSetValues(s->from, const_cast<double *>(r)));
    BENCH_CUSPARSE_CHECK(cusparseDnVecSetValues(s->to, z));
    status = solve(s, s->lower, s->from, s->middle);
    return status == CUSPARSE_STATUS_SUCCESS ? solve(s, s->upper, s->middle, s->to) : status;
}

extern "C" void bench_cufactors_apply(void *user, const double *r, double *z)
{
    BENCH_CUSPARSE_CHECK(apply(static_cast<bench_cufactors *>(user), r, z));
}

/* After an application outside of a capture: that one loads the kernels. */
static bool try_capture(bench_cufactors *s, const double *r, double *z)
{
    cudaGraphExec_t run = nullptr;

    bench_cufactors_apply(s, r, z);
    BENCH_CUDA_CHECK(cudaStreamSynchronize(s->stream));
    run = bench_record(s->stream, 1, [&] { return apply(s, r, z) == CUSPARSE_STATUS_SUCCESS; });
    if (run) { cudaGraphExecDestroy(run); }
    return run != nullptr;
}

/* A property of the library: one trial serves all. */
extern "C" bool bench_cufactors_recordable(bench_cufactors *s, const double *r, double *z)
{
    static const bool recordable = try_capture(s, r, z);

    return recordable;
}
