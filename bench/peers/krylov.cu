/* SPDX-License-Identifier: Apache-2.0 */
/* CG and BiCGSTAB on cuSPARSE and cuBLAS: host scalars, device scalars, and a recorded graph. */
#include <cublas_v2.h>
#include <cusparse.h>

#include <algorithm>
#include <cmath>

#include "format/csr/csr.h"
#include "harness/cuda_check.h"
#include "peers/krylov.h"

namespace {

constexpr size_t blas_workspace_bytes = size_t(32) << 20; /* what cuBLAS recommends for Hopper */
const double one = 1.0, zero = 0.0;

/* Scalars on the device, by place in one array. */
enum scalar { ONE, RHO, RHO_NEW, ALPHA, MINUS_ALPHA, BETA, OMEGA, MINUS_OMEGA, PQ, TS, TT, RR, SCALARS };

/*
 * Vectors: CG uses R, P and Q (= A p); BiCGSTAB also T and SHADOW, with s = r - alpha v in the place of r. With a
 * preconditioner Z is M^-1 r in CG and M^-1 p in BiCGSTAB, Y is M^-1 s.
 */
enum vector_place { R, P, Q, T, SHADOW, Z, Y, VECTORS };

/* `numerator`: RHO_NEW (r.z) with a preconditioner, else RR. */
__global__ void update_start(double *s, scalar numerator)
{
    s[ONE] = 1.0;
    s[RHO] = s[numerator];
}

__global__ void update_alpha(double *s)
{
    s[ALPHA] = s[RHO] / s[PQ];
    s[MINUS_ALPHA] = -s[ALPHA];
}

__global__ void cg_update_beta(double *s, scalar numerator)
{
    s[BETA] = s[numerator] / s[RHO];
    s[RHO] = s[numerator];
}

__global__ void update_omega(double *s)
{
    s[OMEGA] = s[TS] / s[TT];
    s[MINUS_OMEGA] = -s[OMEGA];
}

__global__ void bicgstab_update_beta(double *s)
{
    s[BETA] = s[RHO_NEW] / s[RHO] * (s[ALPHA] / s[OMEGA]);
    s[RHO] = s[RHO_NEW];
}

} // namespace

struct bench_krylov_handles {
    cusparseHandle_t sparse = nullptr;
    cublasHandle_t blas = nullptr;
    cudaStream_t stream = nullptr;
    void *workspace = nullptr;
    bool loaded[2] = {}; /* kernels of CG, BiCGSTAB: loaded by running them once, which a capture must not do */
};

struct bench_krylov {
    bench_krylov_handles *h = nullptr;
    tess_solver_kind solver = TESS_SOLVER_CG;
    bench_krylov_variant variant = BENCH_HOST_SCALARS;
    bench_krylov_precond precond = {};
    int n = 0;
    cusparseSpMatDescr_t matrix = nullptr;
    cusparseDnVecDescr_t descriptor[VECTORS] = {};
    double *vector[VECTORS] = {};
    double *x = nullptr, *own_x = nullptr; /* the graph works on own_x: its addresses are fixed */
    double *scalars = nullptr;
    void *buffer = nullptr;
    cudaGraphExec_t graph = nullptr;
    double rho = 0.0, rr = 0.0; /* host scalars */
};

extern "C" bench_krylov_handles *bench_krylov_open(tess_context *ctx)
{
    bench_krylov_handles *h = new bench_krylov_handles;

    h->stream = static_cast<cudaStream_t>(tess_context_stream(ctx));
    BENCH_CUSPARSE_CHECK(cusparseCreate(&h->sparse));
    BENCH_CUSPARSE_CHECK(cusparseSetStream(h->sparse, h->stream));
    BENCH_CUBLAS_CHECK(cublasCreate(&h->blas));
    BENCH_CUBLAS_CHECK(cublasSetStream(h->blas, h->stream));
    BENCH_CUDA_CHECK(cudaMalloc(&h->workspace, blas_workspace_bytes));
    BENCH_CUBLAS_CHECK(cublasSetWorkspace(h->blas, h->workspace, blas_workspace_bytes));
    return h;
}

extern "C" void bench_krylov_close(bench_krylov_handles *h)
{
    if (!h) { return; }
    cusparseDestroy(h->sparse);
    cublasDestroy(h->blas);
    cudaFree(h->workspace);
    delete h;
}

extern "C" void *bench_krylov_sparse(bench_krylov_handles *h)
{
    return h->sparse;
}

/* ---- building blocks; scalars on the host or on the device by the handle's pointer mode ---- */

static void multiply(bench_krylov *s, vector_place from, vector_place to)
{
    BENCH_CUSPARSE_CHECK(cusparseSpMV(s->h->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, s->matrix,
                                      s->descriptor[from], &zero, s->descriptor[to], CUDA_R_64F,
                                      CUSPARSE_SPMV_ALG_DEFAULT, s->buffer));
}

static void dot(bench_krylov *s, vector_place a, vector_place b, double *result)
{
    BENCH_CUBLAS_CHECK(cublasDdot(s->h->blas, s->n, s->vector[a], 1, s->vector[b], 1, result));
}

static void axpy(bench_krylov *s, const double *alpha, const double *a, double *b)
{
    BENCH_CUBLAS_CHECK(cublasDaxpy(s->h->blas, s->n, alpha, a, 1, b, 1));
}

static void scale(bench_krylov *s, const double *alpha, double *a)
{
    BENCH_CUBLAS_CHECK(cublasDscal(s->h->blas, s->n, alpha, a, 1));
}

/* Where M^-1 times a vector is: in `to`, without a preconditioner where it was. */
static vector_place precondition(bench_krylov *s, vector_place from, vector_place to)
{
    if (!s->precond.apply) { return from; }
    s->precond.apply(s->precond.user, s->vector[from], s->vector[to]);
    return to;
}

/* The scalar that becomes CG's rho. */
static scalar rho_of(const bench_krylov *s)
{
    return s->precond.apply ? RHO_NEW : RR;
}

/* ---- one iteration ---- */

static void cg_on_host(bench_krylov *s)
{
    double pq = 0.0, rho = 0.0, alpha = 0.0, minus = 0.0, beta = 0.0;
    vector_place z = R;

    multiply(s, P, Q);
    dot(s, P, Q, &pq);
    alpha = s->rho / pq;
    minus = -alpha;
    axpy(s, &alpha, s->vector[P], s->x);
    axpy(s, &minus, s->vector[Q], s->vector[R]);
    dot(s, R, R, &s->rr);
    z = precondition(s, R, Z);
    rho = s->rr;
    if (z != R) { dot(s, R, z, &rho); }
    beta = rho / s->rho;
    s->rho = rho;
    scale(s, &beta, s->vector[P]);
    axpy(s, &one, s->vector[z], s->vector[P]);
}

static void cg_on_device(bench_krylov *s)
{
    double *c = s->scalars;
    vector_place z = R;

    multiply(s, P, Q);
    dot(s, P, Q, c + PQ);
    update_alpha<<<1, 1, 0, s->h->stream>>>(c);
    axpy(s, c + ALPHA, s->vector[P], s->x);
    axpy(s, c + MINUS_ALPHA, s->vector[Q], s->vector[R]);
    dot(s, R, R, c + RR);
    z = precondition(s, R, Z);
    if (z != R) { dot(s, R, z, c + RHO_NEW); }
    cg_update_beta<<<1, 1, 0, s->h->stream>>>(c, rho_of(s));
    scale(s, c + BETA, s->vector[P]);
    axpy(s, c + ONE, s->vector[z], s->vector[P]);
}

static void bicgstab_on_host(bench_krylov *s)
{
    double rv = 0.0, ts = 0.0, tt = 0.0, rho = 0.0, alpha = 0.0, omega = 0.0, beta = 0.0, minus = 0.0;
    const vector_place y = precondition(s, P, Z);
    vector_place z = R;

    multiply(s, y, Q);
    dot(s, SHADOW, Q, &rv);
    alpha = s->rho / rv;
    minus = -alpha;
    axpy(s, &minus, s->vector[Q], s->vector[R]);
    z = precondition(s, R, Y);
    multiply(s, z, T);
    dot(s, T, R, &ts);
    dot(s, T, T, &tt);
    omega = ts / tt;
    axpy(s, &alpha, s->vector[y], s->x);
    axpy(s, &omega, s->vector[z], s->x);
    minus = -omega;
    axpy(s, &minus, s->vector[T], s->vector[R]);
    dot(s, SHADOW, R, &rho);
    dot(s, R, R, &s->rr);
    beta = rho / s->rho * (alpha / omega);
    s->rho = rho;
    axpy(s, &minus, s->vector[Q], s->vector[P]);
    scale(s, &beta, s->vector[P]);
    axpy(s, &one, s->vector[R], s->vector[P]);
}

static void bicgstab_on_device(bench_krylov *s)
{
    double *c = s->scalars;
    const vector_place y = precondition(s, P, Z);
    vector_place z = R;

    multiply(s, y, Q);
    dot(s, SHADOW, Q, c + PQ);
    update_alpha<<<1, 1, 0, s->h->stream>>>(c);
    axpy(s, c + MINUS_ALPHA, s->vector[Q], s->vector[R]);
    z = precondition(s, R, Y);
    multiply(s, z, T);
    dot(s, T, R, c + TS);
    dot(s, T, T, c + TT);
    update_omega<<<1, 1, 0, s->h->stream>>>(c);
    axpy(s, c + ALPHA, s->vector[y], s->x);
    axpy(s, c + OMEGA, s->vector[z], s->x);
    axpy(s, c + MINUS_OMEGA, s->vector[T], s->vector[R]);
    dot(s, SHADOW, R, c + RHO_NEW);
    dot(s, R, R, c + RR);
    bicgstab_update_beta<<<1, 1, 0, s->h->stream>>>(c);
    axpy(s, c + MINUS_OMEGA, s->vector[Q], s->vector[P]);
    scale(s, c + BETA, s->vector[P]);
    axpy(s, c + ONE, s->vector[R], s->vector[P]);
}

static void iterate(bench_krylov *s)
{
    bool host = s->variant == BENCH_HOST_SCALARS;

    if (s->solver == TESS_SOLVER_CG) {
        host ? cg_on_host(s) : cg_on_device(s);
    } else {
        host ? bicgstab_on_host(s) : bicgstab_on_device(s);
    }
}

/* ---- set-up ---- */

/* BENCH_KRYLOV_STRIDE times what `enqueue` does, ready to be launched. */
template <typename F>
static cudaGraphExec_t record(bench_krylov *s, F enqueue)
{
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t out = nullptr;

    BENCH_CUDA_CHECK(cudaStreamBeginCapture(s->h->stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < BENCH_KRYLOV_STRIDE; i++) {
        enqueue();
    }
    BENCH_CUDA_CHECK(cudaStreamEndCapture(s->h->stream, &graph));
    BENCH_CUDA_CHECK(cudaGraphInstantiate(&out, graph, 0));
    BENCH_CUDA_CHECK(cudaGraphUpload(out, s->h->stream));
    BENCH_CUDA_CHECK(cudaGraphDestroy(graph));
    return out;
}

static void record_graph(bench_krylov *s)
{
    bool *loaded = &s->h->loaded[s->solver == TESS_SOLVER_CG ? 0 : 1];

    s->x = s->own_x;
    if (!*loaded || s->precond.apply) { /* what a preconditioner loads depends on its matrix */
        iterate(s);
        BENCH_CUDA_CHECK(cudaStreamSynchronize(s->h->stream));
        *loaded = true;
    }
    s->graph = record(s, [&] { iterate(s); });
}

static void make_matrix(bench_krylov *s, const tess_matrix *a)
{
    const csr_view &v = csr_of(a)->view;
    size_t bytes = 0;

    if (v.row_ptr_bits != 32) { bench_die("the cuSPARSE baseline takes fewer than 2^31 nonzeros"); }
    BENCH_CUSPARSE_CHECK(cusparseCreateCsr(
        &s->matrix, v.nrows, v.ncols, v.nnz, const_cast<void *>(v.row_ptr), const_cast<int32_t *>(v.col_ind),
        const_cast<void *>(v.val), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    BENCH_CUSPARSE_CHECK(cusparseSpMV_bufferSize(s->h->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, s->matrix,
                                                 s->descriptor[P], &zero, s->descriptor[Q], CUDA_R_64F,
                                                 CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
    BENCH_CUDA_CHECK(cudaMalloc(&s->buffer, std::max<size_t>(bytes, 16)));
    BENCH_CUSPARSE_CHECK(cusparseSpMV_preprocess(s->h->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, s->matrix,
                                                 s->descriptor[P], &zero, s->descriptor[Q], CUDA_R_64F,
                                                 CUSPARSE_SPMV_ALG_DEFAULT, s->buffer));
}

static bool needs_vector(const bench_krylov *s, int place)
{
    const bool cg = s->solver == TESS_SOLVER_CG;

    if (place == Z || place == Y) { return s->precond.apply && !(cg && place == Y); }
    return !cg || place <= Q;
}

extern "C" bench_krylov *bench_krylov_create(bench_krylov_handles *handles, const tess_matrix *a,
                                             tess_solver_kind solver, bench_krylov_variant variant,
                                             bench_krylov_precond precond)
{
    bench_krylov *s = new bench_krylov;
    size_t bytes = static_cast<size_t>(tess_matrix_nrows(a)) * sizeof(double);
    cublasPointerMode_t mode = variant == BENCH_HOST_SCALARS ? CUBLAS_POINTER_MODE_HOST : CUBLAS_POINTER_MODE_DEVICE;

    s->h = handles;
    s->solver = solver;
    s->variant = variant;
    s->precond = precond;
    s->n = static_cast<int>(tess_matrix_nrows(a));
    for (int i = 0; i < VECTORS; i++) {
        if (!needs_vector(s, i)) { continue; }
        BENCH_CUDA_CHECK(cudaMalloc(&s->vector[i], bytes));
        BENCH_CUSPARSE_CHECK(cusparseCreateDnVec(&s->descriptor[i], s->n, s->vector[i], CUDA_R_64F));
    }
    BENCH_CUDA_CHECK(cudaMalloc(&s->scalars, SCALARS * sizeof(double)));
    make_matrix(s, a);
    BENCH_CUBLAS_CHECK(cublasSetPointerMode(handles->blas, mode));
    if (variant == BENCH_CUDA_GRAPH) {
        BENCH_CUDA_CHECK(cudaMalloc(&s->own_x, bytes));
        record_graph(s);
    }
    return s;
}

extern "C" void bench_krylov_destroy(bench_krylov *s)
{
    if (!s) { return; }
    if (s->graph) { cudaGraphExecDestroy(s->graph); }
    for (int i = 0; i < VECTORS; i++) {
        if (s->descriptor[i]) { cusparseDestroyDnVec(s->descriptor[i]); }
        cudaFree(s->vector[i]);
    }
    cusparseDestroySpMat(s->matrix);
    cudaFree(s->buffer);
    cudaFree(s->scalars);
    cudaFree(s->own_x);
    delete s;
}

/* ---- solving ---- */

/* CG with a preconditioner: p = z = M^-1 r, rho = r.z */
static void start_preconditioned(bench_krylov *s, double *rho)
{
    precondition(s, R, P);
    dot(s, R, P, rho);
}

/* x = 0, r = p = b, rho = r.r */
static void start(bench_krylov *s, const double *b)
{
    size_t bytes = static_cast<size_t>(s->n) * sizeof(double);
    bool preconditioned = s->precond.apply && s->solver == TESS_SOLVER_CG;

    BENCH_CUDA_CHECK(cudaMemsetAsync(s->x, 0, bytes, s->h->stream));
    for (vector_place place : {R, P, SHADOW}) {
        if (s->vector[place]) {
            BENCH_CUDA_CHECK(cudaMemcpyAsync(s->vector[place], b, bytes, cudaMemcpyDeviceToDevice, s->h->stream));
        }
    }
    if (s->variant == BENCH_HOST_SCALARS) {
        dot(s, R, R, &s->rr);
        s->rho = s->rr;
        if (preconditioned) { start_preconditioned(s, &s->rho); }
    } else {
        dot(s, R, R, s->scalars + RR);
        if (preconditioned) { start_preconditioned(s, s->scalars + RHO_NEW); }
        update_start<<<1, 1, 0, s->h->stream>>>(s->scalars, preconditioned ? RHO_NEW : RR);
    }
}

static double residual_norm(bench_krylov *s)
{
    double rr = s->rr;

    if (s->variant != BENCH_HOST_SCALARS) {
        BENCH_CUDA_CHECK(cudaMemcpyAsync(&rr, s->scalars + RR, sizeof rr, cudaMemcpyDeviceToHost, s->h->stream));
        BENCH_CUDA_CHECK(cudaStreamSynchronize(s->h->stream));
    }
    return std::sqrt(rr);
}

extern "C" int64_t bench_krylov_solve(bench_krylov *s, const double *b, double *x, double tolerance,
                                      int64_t max_iterations)
{
    int stride = s->variant == BENCH_HOST_SCALARS ? 1 : BENCH_KRYLOV_STRIDE;
    size_t bytes = static_cast<size_t>(s->n) * sizeof(double);
    int64_t done = 0;

    /* the pointer mode is the handle's, which solvers share */
    BENCH_CUBLAS_CHECK(cublasSetPointerMode(s->h->blas, s->variant == BENCH_HOST_SCALARS ? CUBLAS_POINTER_MODE_HOST
                                                                                         : CUBLAS_POINTER_MODE_DEVICE));
    s->x = s->graph ? s->own_x : x;
    start(s, b);
    while (done < max_iterations) {
        if (s->graph) {
            BENCH_CUDA_CHECK(cudaGraphLaunch(s->graph, s->h->stream));
        } else {
            for (int i = 0; i < stride; i++) {
                iterate(s);
            }
        }
        done += stride;
        if (tolerance > 0.0) {
            double norm = residual_norm(s);

            if (norm <= tolerance || std::isnan(norm)) { break; }
        }
    }
    if (s->graph) { BENCH_CUDA_CHECK(cudaMemcpyAsync(x, s->own_x, bytes, cudaMemcpyDeviceToDevice, s->h->stream)); }
    BENCH_CUDA_CHECK(cudaStreamSynchronize(s->h->stream));
    return done;
}

/* ---- parts of an iteration ---- */

/* The calls of one kind, as cg_on_device and bicgstab_on_device make them, with factors that hardly change a value, but
   none that a call could skip. */
static void enqueue_part(bench_krylov *s, bench_krylov_part part)
{
    const bool cg = s->solver == TESS_SOLVER_CG;
    double *c = s->scalars;

    switch (part) {
    case BENCH_KRYLOV_SPMV:
        multiply(s, P, Q);
        if (!cg) { multiply(s, R, T); }
        break;
    case BENCH_KRYLOV_DOT:
        dot(s, P, Q, c + PQ);
        dot(s, R, R, c + RR);
        if (cg) { break; }
        dot(s, T, R, c + TS);
        dot(s, T, T, c + TT);
        dot(s, SHADOW, R, c + RHO_NEW);
        break;
    default:
        axpy(s, c + ALPHA, s->vector[P], s->own_x);
        axpy(s, c + ALPHA, s->vector[Q], s->vector[R]);
        scale(s, c + BETA, s->vector[P]);
        axpy(s, c + ALPHA, s->vector[R], s->vector[P]);
        if (cg) { break; }
        axpy(s, c + ALPHA, s->vector[R], s->own_x);
        axpy(s, c + ALPHA, s->vector[T], s->vector[R]);
        axpy(s, c + ALPHA, s->vector[Q], s->vector[P]);
        break;
    }
}

/* Seconds of one launch, the median of several. */
static double time_graph(bench_krylov *s, cudaGraphExec_t graph)
{
    constexpr int count = 9;
    double samples[count];
    cudaEvent_t marks[2];

    for (cudaEvent_t &mark : marks) {
        BENCH_CUDA_CHECK(cudaEventCreate(&mark));
    }
    for (int k = -1; k < count; k++) { /* -1: warm-up */
        float milliseconds = 0.0f;

        BENCH_CUDA_CHECK(cudaEventRecord(marks[0], s->h->stream));
        BENCH_CUDA_CHECK(cudaGraphLaunch(graph, s->h->stream));
        BENCH_CUDA_CHECK(cudaEventRecord(marks[1], s->h->stream));
        BENCH_CUDA_CHECK(cudaEventSynchronize(marks[1]));
        BENCH_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, marks[0], marks[1]));
        samples[k < 0 ? 0 : k] = 1e-3 * static_cast<double>(milliseconds);
    }
    for (cudaEvent_t mark : marks) {
        cudaEventDestroy(mark);
    }
    return bench_time_of_samples(samples, count, 1).median;
}

extern "C" void bench_krylov_time_parts(bench_krylov_handles *handles, const tess_matrix *a, tess_solver_kind solver,
                                        const double *b, double seconds[BENCH_KRYLOV_PARTS])
{
    bench_krylov *s = bench_krylov_create(handles, a, solver, BENCH_CUDA_GRAPH, bench_krylov_precond{});
    const double small = 0x1p-60, below_one = 1.0 - 0x1p-53;

    s->x = s->own_x;
    start(s, b);
    multiply(s, P, Q);
    if (solver != TESS_SOLVER_CG) { multiply(s, R, T); }
    BENCH_CUDA_CHECK(cudaMemcpy(s->scalars + ALPHA, &small, sizeof small, cudaMemcpyHostToDevice));
    BENCH_CUDA_CHECK(cudaMemcpy(s->scalars + BETA, &below_one, sizeof below_one, cudaMemcpyHostToDevice));
    for (int part = 0; part < BENCH_KRYLOV_PARTS; part++) {
        cudaGraphExec_t graph = record(s, [&] { enqueue_part(s, static_cast<bench_krylov_part>(part)); });

        seconds[part] = time_graph(s, graph) / BENCH_KRYLOV_STRIDE;
        cudaGraphExecDestroy(graph);
    }
    bench_krylov_destroy(s);
}
