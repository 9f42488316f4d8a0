/* SPDX-License-Identifier: Apache-2.0 */
/* The reference class in loops of the host: for any processor, and for AVX2 with FMA where there is it. */
#include "papers/roofline_reference.cuh"

namespace {

template <int STEPS, typename Access>
__attribute__((always_inline)) inline uint64_t run_stretch(const Access &x, int64_t first, int64_t last, bool updates)
{
    using T = typename Access::arithmetic;
    uint64_t bits = 0;

    if (updates) {
        for (int64_t i = first; i < last; i++) {
            x.update(i, static_cast<T>(0.5), static_cast<T>(0.25));
        }
        return 0;
    }
    for (int64_t i = first; i < last; i++) {
        bits ^= reference_use<STEPS>(x.get(i));
    }
    return bits;
}

template <int STEPS, typename Access>
uint64_t run_base(const Access &x, int64_t first, int64_t last, bool updates)
{
    return run_stretch<STEPS>(x, first, last, updates);
}

#ifdef __x86_64__
template <int STEPS, typename Access>
__attribute__((target("avx2,fma"))) uint64_t run_avx2(const Access &x, int64_t first, int64_t last, bool updates)
{
    return run_stretch<STEPS>(x, first, last, updates);
}
#endif

template <int STEPS, typename Access>
uint64_t run_any(const Access &x, int64_t first, int64_t last, bool updates)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return run_avx2<STEPS>(x, first, last, updates);
    }
#endif
    return run_base<STEPS>(x, first, last, updates);
}

template <typename Access>
void run_loop(bench_reference_loop *loop)
{
    const Access x(loop->data, loop->n);
    const int64_t n = loop->n, threads = loop->threads;
    const bool updates = loop->work == BENCH_REFERENCE_UPDATE;
    uint64_t bits = 0;

#pragma omp parallel for num_threads(loop->threads) schedule(static) reduction(^ : bits)
    for (int64_t t = 0; t < threads; t++) {
        const int64_t first = n * t / threads, last = n * (t + 1) / threads;

        bits ^= loop->work == BENCH_REFERENCE_STEPS ? run_any<16>(x, first, last, false)
                                                    : run_any<0>(x, first, last, updates);
    }
    loop->result = bits;
}

} // namespace

extern "C" tess_status bench_reference_on_host(void *user, int)
{
    bench_reference_loop *loop = static_cast<bench_reference_loop *>(user);

    with_pair(loop->pair, [&](auto arithmetic, auto storage) {
        using A = decltype(arithmetic);
        using S = decltype(storage);

        loop->by_reference ? run_loop<by_reference<A, S>>(loop) : run_loop<by_hand<A, S>>(loop);
    });
    return TESS_SUCCESS;
}

extern "C" void bench_reference_fill_host(const bench_reference_loop *loop)
{
    with_pair(loop->pair, [&](auto, auto storage) {
        using S = decltype(storage);
        S *const data = static_cast<S *>(loop->data);

#pragma omp parallel for num_threads(loop->threads) schedule(static)
        for (int64_t i = 0; i < loop->n; i++) {
            data[i] = reference_value<S>(i);
        }
    });
}
