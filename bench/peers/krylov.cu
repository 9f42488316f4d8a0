/* SPDX-License-Identifier: Apache-2.0 */
/* CG and BiCGSTAB on cuSPARSE and cuBLAS, scalars on the device: call by call, and as recorded graphs. */
#include <cublas_v2.h>
#include <cusparse.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "harness/cuda_check.h"
#include "peers/cusparse_products.h"
#include "peers/graph.cuh"
#include "peers/krylov.h"

namespace {

constexpr size_t blas_workspace_bytes = size_t(32) << 20; /* what cuBLAS recommends for Hopper */
constexpr int64_t column = 512; /* of vectors as matrices for geam; vectors begin at multiples of it */

/* Scalars on the device, by place in one array; neighbours are the coefficients or the results of one GEMV. */
enum scalar {
    ONE,
    MINUS_BETA_OMEGA,
    OMEGA,
    ALPHA,
    TS,
    TT,
    RR,
    RHO_NEW,
    RHO,
    MINUS_ALPHA,
    BETA,
    MINUS_OMEGA,
    PQ,
    SCALARS
};

/*
 * Vectors, in one array: CG uses R, P and Q (= A p); BiCGSTAB also T and SHADOW, with s = r - alpha v in the place of
 * r. With a preconditioner Z is M^-1 r in CG and M^-1 p in BiCGSTAB, Y is M^-1 s.
 */
enum vector_place { R, P, Q, T, SHADOW, Y, Z, VECTORS };

/* How cuBLAS updates vectors: a call each (dot, axpy, scal); or several in a geam or a GEMV of two columns; or dot
 * products too, in a transposed one. */
enum updates { SEPARATE, FUSED, FUSED_DOTS, UPDATES };
const char *const names_of_updates[UPDATES] = {"separate", "fused", "fused, with dots"};

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
    s[MINUS_BETA_OMEGA] = -s[BETA] * s[OMEGA];
    s[RHO] = s[RHO_NEW];
}

} // namespace

struct bench_krylov_handles {
    cusparseHandle_t sparse = nullptr;
    cublasHandle_t blas = nullptr;
    cudaStream_t stream = nullptr;
    cudaMemPool_t pool = nullptr;
    void *workspace = nullptr;
    double *on_host = nullptr; /* r.r, pinned */
    int64_t n = 0;
    bench_cusparse *product = nullptr;
    double choice_seconds = 0.0;
    updates way[2] = {SEPARATE, SEPARATE}; /* of CG, BiCGSTAB */
};

struct bench_krylov {
    bench_krylov_handles *h = nullptr;
    tess_solver_kind solver = TESS_SOLVER_CG;
    updates way = SEPARATE;
    bench_krylov_precond precond = {};
    int stride = 1; /* iterations in the graph, and between looks at the residual */
    int64_t n = 0, ld = 0;
    double *vectors = nullptr, *x = nullptr, *own_x = nullptr; /* graphs work on own_x: its addresses are fixed */
    double *scalars = nullptr;
    cudaGraphExec_t graph = nullptr;

    bool cg() const
    {
        return solver == TESS_SOLVER_CG;
    }
    double *at(vector_place place) const
    {
        return vectors + place * ld;
    }
    /* The scalar that becomes CG's rho. */
    scalar rho() const
    {
        return precond.apply && cg() ? RHO_NEW : RR;
    }
};

/* ---- building blocks ---- */

static void multiply(bench_krylov *s, vector_place from, vector_place to)
{
    if (bench_cusparse_multiply(s->h->product, 1.0, s->at(from), 0.0, s->at(to)) != TESS_SUCCESS) {
        bench_die("the baseline's product failed");
    }
}

static void dot(bench_krylov *s, vector_place a, vector_place b, scalar result)
{
    BENCH_CUBLAS_CHECK(cublasDdot_64(s->h->blas, s->n, s->at(a), 1, s->at(b), 1, s->scalars + result));
}

static void axpy(bench_krylov *s, scalar alpha, const double *a, double *b)
{
    BENCH_CUBLAS_CHECK(cublasDaxpy_64(s->h->blas, s->n, s->scalars + alpha, a, 1, b, 1));
}

static void scale(bench_krylov *s, scalar alpha, vector_place a)
{
    BENCH_CUBLAS_CHECK(cublasDscal_64(s->h->blas, s->n, s->scalars + alpha, s->at(a), 1));
}

/* results, a pair of scalars := (first, second)^T x */
static void dot_pair(bench_krylov *s, vector_place first, vector_place second, vector_place x, scalar results)
{
    const double *c = s->scalars;

    if (s->way != FUSED_DOTS) {
        dot(s, first, x, results);
        dot(s, second, x, static_cast<scalar>(results + 1));
        return;
    }
    /* beta is 0, for which GEMV does not read its result: no NaN of an earlier one stays */
    BENCH_CUBLAS_CHECK(cublasDgemv_64(s->h->blas, CUBLAS_OP_T, s->n, 2, c + ONE, s->at(first), (second - first) * s->ld,
                                      s->at(x), 1, c + SCALARS, s->scalars + results, 1));
}

/* y := (first, second) coefficients + beta y, where the coefficients are a pair of scalars */
static void add_pair(bench_krylov *s, vector_place first, vector_place second, scalar coefficients, scalar beta,
                     double *y)
{
    const double *c = s->scalars;

    BENCH_CUBLAS_CHECK(cublasDgemv_64(s->h->blas, CUBLAS_OP_N, s->n, 2, c + ONE, s->at(first), (second - first) * s->ld,
                                      c + coefficients, 1, c + beta, y, 1));
}

/* p := z + beta p */
static void turn(bench_krylov *s, vector_place z)
{
    const double *c = s->scalars;

    if (s->way == SEPARATE) {
        scale(s, BETA, P);
        axpy(s, ONE, s->at(z), s->at(P));
        return;
    }
    BENCH_CUBLAS_CHECK(cublasDgeam_64(s->h->blas, CUBLAS_OP_N, CUBLAS_OP_N, column, s->ld / column, c + ONE, s->at(z),
                                      column, c + BETA, s->at(P), column, s->at(P), column));
}

/* Where M^-1 times a vector is: in `to`, without a preconditioner where it was. */
static vector_place precondition(bench_krylov *s, vector_place from, vector_place to)
{
    if (!s->precond.apply) { return from; }
    s->precond.apply(s->precond.user, s->at(from), s->at(to));
    return to;
}

/* ---- one iteration ---- */

static void iterate_cg(bench_krylov *s)
{
    vector_place z = R;

    multiply(s, P, Q);
    dot(s, P, Q, PQ);
    update_alpha<<<1, 1, 0, s->h->stream>>>(s->scalars);
    axpy(s, ALPHA, s->at(P), s->x);
    axpy(s, MINUS_ALPHA, s->at(Q), s->at(R));
    z = precondition(s, R, Z);
    if (z == R) {
        dot(s, R, R, RR);
    } else {
        dot_pair(s, R, Z, R, RR);
    }
    cg_update_beta<<<1, 1, 0, s->h->stream>>>(s->scalars, s->rho());
    turn(s, z);
}

/* x := x + alpha y + omega z; p := r + beta (p - omega v), before which r loses omega t */
static void update_bicgstab(bench_krylov *s, vector_place y, vector_place z)
{
    if (s->way == SEPARATE) {
        axpy(s, ALPHA, s->at(y), s->x);
        axpy(s, OMEGA, s->at(z), s->x);
    } else {
        add_pair(s, z, y, OMEGA, ONE, s->x); /* omega and alpha are neighbours */
    }
    axpy(s, MINUS_OMEGA, s->at(T), s->at(R));
    dot_pair(s, R, SHADOW, R, RR);
    bicgstab_update_beta<<<1, 1, 0, s->h->stream>>>(s->scalars);
    if (s->way == SEPARATE) {
        axpy(s, MINUS_OMEGA, s->at(Q), s->at(P));
        turn(s, R);
    } else {
        add_pair(s, R, Q, ONE, BETA, s->at(P)); /* 1 and -beta omega are neighbours */
    }
}

static void iterate_bicgstab(bench_krylov *s)
{
    const vector_place y = precondition(s, P, Z);
    vector_place z = R;

    multiply(s, y, Q);
    dot(s, SHADOW, Q, PQ);
    update_alpha<<<1, 1, 0, s->h->stream>>>(s->scalars);
    axpy(s, MINUS_ALPHA, s->at(Q), s->at(R));
    z = precondition(s, R, Y);
    multiply(s, z, T);
    dot_pair(s, R, T, T, TS);
    update_omega<<<1, 1, 0, s->h->stream>>>(s->scalars);
    update_bicgstab(s, y, z);
}

static void iterate(bench_krylov *s)
{
    s->cg() ? iterate_cg(s) : iterate_bicgstab(s);
}

/* ---- set-up ---- */

static cudaGraphExec_t record(bench_krylov *s, int count)
{
    cudaGraphExec_t graph = nullptr;

    s->x = s->own_x;
    iterate(s); /* loads the kernels, which a capture must not do; what it leaves is no number */
    BENCH_CUDA_CHECK(cudaMemsetAsync(s->scalars, 0, (SCALARS + 1) * sizeof(double), s->h->stream));
    BENCH_CUDA_CHECK(cudaStreamSynchronize(s->h->stream));
    graph = bench_record(s->h->stream, count, [&] {
        iterate(s);
        return true;
    });
    if (!graph) { bench_die("the baseline's iteration cannot be recorded"); }
    return graph;
}

static void allocate(bench_krylov *s, bool with_x)
{
    const size_t each = static_cast<size_t>(s->ld) * sizeof(double);
    const size_t count = s->precond.apply ? VECTORS : s->cg() ? Q + 1 : SHADOW + 1;

    /* zeros: vectors are read up to a multiple of `column`, and one scalar more stays 0 */
    s->vectors = static_cast<double *>(bench_krylov_allocate(s->h, count * each));
    s->scalars = static_cast<double *>(bench_krylov_allocate(s->h, (SCALARS + 1) * sizeof(double)));
    BENCH_CUDA_CHECK(cudaMemsetAsync(s->vectors, 0, count * each, s->h->stream));
    BENCH_CUDA_CHECK(cudaMemsetAsync(s->scalars, 0, (SCALARS + 1) * sizeof(double), s->h->stream));
    if (with_x) { s->own_x = static_cast<double *>(bench_krylov_allocate(s->h, each)); }
}

static bench_krylov *create(bench_krylov_handles *h, tess_solver_kind solver, updates way, bench_krylov_variant variant,
                            bench_krylov_precond precond)
{
    bench_krylov *s = new bench_krylov;

    s->h = h;
    s->solver = solver;
    s->way = way;
    s->precond = precond;
    s->n = h->n;
    s->ld = (h->n + column - 1) / column * column;
    s->stride = variant == BENCH_CUDA_GRAPH ? BENCH_KRYLOV_STRIDE : 1;
    allocate(s, variant != BENCH_PLAIN_CALLS);
    if (variant != BENCH_PLAIN_CALLS) { s->graph = record(s, s->stride); }
    return s;
}

extern "C" bench_krylov *bench_krylov_create(bench_krylov_handles *h, tess_solver_kind solver,
                                             bench_krylov_variant variant, bench_krylov_precond precond)
{
    return create(h, solver, h->way[solver == TESS_SOLVER_CG ? 0 : 1], variant, precond);
}

extern "C" void bench_krylov_destroy(bench_krylov *s)
{
    if (!s) { return; }
    if (s->graph) { cudaGraphExecDestroy(s->graph); }
    bench_krylov_release(s->h, s->vectors);
    bench_krylov_release(s->h, s->scalars);
    bench_krylov_release(s->h, s->own_x);
    delete s;
}

/* ---- handles ---- */

/* Memory that is freed stays at hand, as in our context. */
static void open_pool(bench_krylov_handles *h)
{
    uint64_t threshold = UINT64_MAX;
    int device = 0;

    BENCH_CUDA_CHECK(cudaGetDevice(&device));
    BENCH_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&h->pool, device));
    BENCH_CUDA_CHECK(cudaMemPoolSetAttribute(h->pool, cudaMemPoolAttrReleaseThreshold, &threshold));
}

/* The fastest way to update vectors, by the time of a graph of iterations; what they compute with does not matter. */
static updates choose_updates(bench_krylov_handles *h, tess_solver_kind solver)
{
    double least = INFINITY;
    updates best = SEPARATE;

    for (int way = SEPARATE; way < UPDATES; way++) {
        bench_krylov *s = create(h, solver, static_cast<updates>(way), BENCH_CUDA_GRAPH, bench_krylov_precond{});
        const double seconds = bench_time_graph(h->stream, s->graph);

        s->graph = nullptr; /* its time destroyed it */
        if (seconds < least) { best = s->way; }
        least = std::min(least, seconds);
        bench_krylov_destroy(s);
    }
    return best;
}

static void choose(bench_krylov_handles *h, const tess_matrix *a, const bench_csr *host, int kinds)
{
    const double start = bench_wall_seconds();
    char reason[160];
    double seconds = 0.0;

    h->product = bench_cusparse_choose(a, host, TESS_PRECISION_FP64, kinds, &seconds, reason, sizeof reason);
    if (!h->product) { bench_die("the cuSPARSE baseline has no product: %s", reason); }
    h->way[0] = choose_updates(h, TESS_SOLVER_CG);
    h->way[1] = choose_updates(h, TESS_SOLVER_BICGSTAB);
    BENCH_CUDA_CHECK(cudaStreamSynchronize(h->stream));
    h->choice_seconds = bench_wall_seconds() - start;
}

static bench_krylov_handles *open_handles(const tess_matrix *a, const bench_csr *host, int kinds)
{
    bench_krylov_handles *h = new bench_krylov_handles;

    h->stream = static_cast<cudaStream_t>(tess_context_stream(tess_matrix_context(a)));
    h->n = tess_matrix_nrows(a);
    BENCH_CUSPARSE_CHECK(cusparseCreate(&h->sparse));
    BENCH_CUSPARSE_CHECK(cusparseSetStream(h->sparse, h->stream));
    BENCH_CUBLAS_CHECK(cublasCreate(&h->blas));
    BENCH_CUBLAS_CHECK(cublasSetStream(h->blas, h->stream));
    BENCH_CUDA_CHECK(cudaMalloc(&h->workspace, blas_workspace_bytes));
    BENCH_CUBLAS_CHECK(cublasSetWorkspace(h->blas, h->workspace, blas_workspace_bytes));
    BENCH_CUBLAS_CHECK(cublasSetPointerMode(h->blas, CUBLAS_POINTER_MODE_DEVICE));
    BENCH_CUDA_CHECK(cudaMallocHost(&h->on_host, sizeof *h->on_host));
    open_pool(h);
    choose(h, a, host, kinds);
    return h;
}

extern "C" bench_krylov_handles *bench_krylov_open(const tess_matrix *a, const bench_csr *host)
{
    return open_handles(a, host, BENCH_CUSPARSE_KINDS);
}

extern "C" bench_krylov_handles *bench_krylov_open_renewed(const tess_matrix *a, const bench_csr *host)
{
    return open_handles(a, host, BENCH_CUSPARSE_CSR_KINDS);
}

extern "C" void bench_krylov_close(bench_krylov_handles *h)
{
    if (!h) { return; }
    bench_cusparse_destroy(h->product);
    cusparseDestroy(h->sparse);
    cublasDestroy(h->blas);
    cudaFree(h->workspace);
    cudaFreeHost(h->on_host);
    cudaStreamSynchronize(h->stream);
    cudaMemPoolTrimTo(h->pool, 0);
    delete h;
}

extern "C" void *bench_krylov_sparse(bench_krylov_handles *h)
{
    return h->sparse;
}

extern "C" void bench_krylov_apply_jacobi(void *user, const double *r, double *z)
{
    const bench_krylov_jacobi *m = static_cast<const bench_krylov_jacobi *>(user);
    const int64_t n = m->handles->n;

    BENCH_CUBLAS_CHECK(cublasDdgmm_64(m->handles->blas, CUBLAS_SIDE_LEFT, n, 1, r, n, m->inverse, 1, z, n));
}

extern "C" void *bench_krylov_allocate(bench_krylov_handles *h, size_t bytes)
{
    void *memory = nullptr;

    BENCH_CUDA_CHECK(cudaMallocAsync(&memory, std::max<size_t>(bytes, 16), h->stream));
    return memory;
}

extern "C" void bench_krylov_release(bench_krylov_handles *h, void *memory)
{
    if (memory) { BENCH_CUDA_CHECK(cudaFreeAsync(memory, h->stream)); }
}

extern "C" void bench_krylov_describe(const bench_krylov_handles *h, tess_solver_kind solver, json_t *row)
{
    const updates way = h->way[solver == TESS_SOLVER_CG ? 0 : 1];

    bench_set(row, "{s:s, s:s, s:f}", "product", bench_cusparse_name(bench_cusparse_kind_of(h->product)), "updates",
              names_of_updates[way], "choice_seconds", h->choice_seconds);
}

/* ---- solving ---- */

/* x = 0, r = p = b, rho = r.r; CG with a preconditioner: p = M^-1 r, rho = r.p */
static void start(bench_krylov *s, const double *b)
{
    const size_t bytes = static_cast<size_t>(s->n) * sizeof(double);

    BENCH_CUDA_CHECK(cudaMemsetAsync(s->x, 0, bytes, s->h->stream));
    for (vector_place place : {R, P, SHADOW}) {
        if (place == SHADOW && s->cg()) { continue; }
        BENCH_CUDA_CHECK(cudaMemcpyAsync(s->at(place), b, bytes, cudaMemcpyDeviceToDevice, s->h->stream));
    }
    dot(s, R, R, RR);
    if (s->rho() == RHO_NEW) {
        precondition(s, R, P);
        dot(s, R, P, RHO_NEW);
    }
    update_start<<<1, 1, 0, s->h->stream>>>(s->scalars, s->rho());
}

static double residual_norm(bench_krylov *s)
{
    BENCH_CUDA_CHECK(
        cudaMemcpyAsync(s->h->on_host, s->scalars + RR, sizeof(double), cudaMemcpyDeviceToHost, s->h->stream));
    BENCH_CUDA_CHECK(cudaStreamSynchronize(s->h->stream));
    return std::sqrt(*s->h->on_host);
}

extern "C" int64_t bench_krylov_solve(bench_krylov *s, const double *b, double *x, double tolerance,
                                      int64_t max_iterations)
{
    const size_t bytes = static_cast<size_t>(s->n) * sizeof(double);
    int64_t done = 0;

    s->x = s->graph ? s->own_x : x;
    start(s, b);
    while (done < max_iterations) {
        if (s->graph) {
            BENCH_CUDA_CHECK(cudaGraphLaunch(s->graph, s->h->stream));
        } else {
            iterate(s);
        }
        done += s->stride;
        if (tolerance > 0.0) {
            const double norm = residual_norm(s);

            if (norm <= tolerance || std::isnan(norm)) { break; }
        }
    }
    if (s->graph) { BENCH_CUDA_CHECK(cudaMemcpyAsync(x, s->own_x, bytes, cudaMemcpyDeviceToDevice, s->h->stream)); }
    BENCH_CUDA_CHECK(cudaStreamSynchronize(s->h->stream));
    return done;
}

#include "papers/krylov_parts.cuh"
