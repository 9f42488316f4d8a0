/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the baselines as CUDA graphs, and the time of one. */
#ifndef TESS_BENCH_PEERS_GRAPH_CUH
#define TESS_BENCH_PEERS_GRAPH_CUH

#include "harness/cuda_check.h"

/* `count` times what `enqueue` puts on the stream, ready to be launched; NULL where it returns false or cannot be
 * captured. Run it once before: a capture must not load kernels. */
template <typename F>
cudaGraphExec_t bench_record(cudaStream_t stream, int count, F enqueue)
{
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t out = nullptr;
    bool good = true;

    BENCH_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < count && good; i++) {
        good = enqueue();
    }
    good = cudaStreamEndCapture(stream, &graph) == cudaSuccess && good;
    good = good && cudaGraphInstantiate(&out, graph, 0) == cudaSuccess;
    good = good && cudaGraphUpload(out, stream) == cudaSuccess;
    if (graph) { cudaGraphDestroy(graph); }
    if (!good && out) { cudaGraphExecDestroy(out); }
    if (!good) { static_cast<void>(cudaGetLastError()); } /* a capture that failed leaves one */
    return good ? out : nullptr;
}

/* Seconds of one launch, the median of several; destroys the graph. */
inline double bench_time_graph(cudaStream_t stream, cudaGraphExec_t graph)
{
    constexpr int count = 9;
    double samples[count];
    cudaEvent_t marks[2];

    for (cudaEvent_t &mark : marks) {
        BENCH_CUDA_CHECK(cudaEventCreate(&mark));
    }
    for (int k = -1; k < count; k++) { /* -1: warm-up */
        float milliseconds = 0.0f;

        BENCH_CUDA_CHECK(cudaEventRecord(marks[0], stream));
        BENCH_CUDA_CHECK(cudaGraphLaunch(graph, stream));
        BENCH_CUDA_CHECK(cudaEventRecord(marks[1], stream));
        BENCH_CUDA_CHECK(cudaEventSynchronize(marks[1]));
        BENCH_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, marks[0], marks[1]));
        samples[k < 0 ? 0 : k] = 1e-3 * static_cast<double>(milliseconds);
    }
    for (cudaEvent_t mark : marks) {
        cudaEventDestroy(mark);
    }
    cudaGraphExecDestroy(graph);
    return bench_time_of_samples(samples, count, 1).median;
}

#endif
