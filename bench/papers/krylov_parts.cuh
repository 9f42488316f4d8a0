/* SPDX-License-Identifier: Apache-2.0 */
/* Times of the kinds of calls in the baseline's iterations; the end of peers/krylov.cu. */
#ifndef TESS_BENCH_PAPERS_KRYLOV_PARTS_CUH
#define TESS_BENCH_PAPERS_KRYLOV_PARTS_CUH

#include "papers/krylov_parts.h"

/* The calls of one kind, as iterations make them, with factors that hardly change a value, but none that a call could
   skip. */
static void enqueue_part(bench_krylov *s, bench_krylov_part part)
{
    switch (part) {
    case BENCH_KRYLOV_SPMV:
        multiply(s, P, Q);
        if (!s->cg()) { multiply(s, R, T); }
        break;
    case BENCH_KRYLOV_DOT:
        dot(s, P, Q, PQ);
        dot(s, R, R, RR);
        if (s->cg()) { break; }
        dot(s, T, R, TS);
        dot(s, T, T, TT);
        dot(s, SHADOW, R, RHO_NEW);
        break;
    default:
        axpy(s, ALPHA, s->at(P), s->own_x);
        axpy(s, ALPHA, s->at(Q), s->at(R));
        scale(s, BETA, P);
        axpy(s, ALPHA, s->at(R), s->at(P));
        if (s->cg()) { break; }
        axpy(s, ALPHA, s->at(R), s->own_x);
        axpy(s, ALPHA, s->at(T), s->at(R));
        axpy(s, ALPHA, s->at(Q), s->at(P));
        break;
    }
}

extern "C" void bench_krylov_time_parts(bench_krylov_handles *h, tess_solver_kind solver, const double *b,
                                        double seconds[BENCH_KRYLOV_PARTS])
{
    bench_krylov *s = create(h, solver, SEPARATE, BENCH_CUDA_GRAPH, bench_krylov_precond{});
    const double small = 0x1p-60, below_one = 1.0 - 0x1p-53;

    s->x = s->own_x;
    start(s, b);
    multiply(s, P, Q);
    if (!s->cg()) { multiply(s, R, T); }
    BENCH_CUDA_CHECK(cudaStreamSynchronize(h->stream));
    BENCH_CUDA_CHECK(cudaMemcpy(s->scalars + ALPHA, &small, sizeof small, cudaMemcpyHostToDevice));
    BENCH_CUDA_CHECK(cudaMemcpy(s->scalars + BETA, &below_one, sizeof below_one, cudaMemcpyHostToDevice));
    for (int part = 0; part < BENCH_KRYLOV_PARTS; part++) {
        cudaGraphExec_t graph = bench_record(h->stream, BENCH_KRYLOV_STRIDE, [&] {
            enqueue_part(s, static_cast<bench_krylov_part>(part));
            return true;
        });

        if (!graph) { bench_die("the baseline's calls cannot be recorded"); }
        seconds[part] = bench_time_graph(h->stream, graph) / BENCH_KRYLOV_STRIDE;
    }
    bench_krylov_destroy(s);
}

#endif
