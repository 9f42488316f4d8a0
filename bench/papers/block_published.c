/* SPDX-License-Identifier: Apache-2.0 */
/* The published products of papers/published_products.cu as contestants. */
#include "papers/block.h"
#include "papers/published_products.h"

tess_status bench_block_run_published(bench_trial *t, const bench_contestant *c, double *y, bench_outcome *o)
{
#ifdef BENCH_CUDA
    const bench_arrays a = bench_trial_arrays(t, &t->fp64);
    bench_peer *p = NULL;
    tess_status status =
        bench_peer_create(t->a, (bench_peer_kind)c->kind, t->rotation.pairs, a.x, a.y, &p, &o->setup_seconds);

    if (status != TESS_SUCCESS) {
        bench_trial_skip(t, c, "more than 2^31 nonzeros");
        return TESS_SUCCESS;
    }
    o->bytes = bench_peer_bytes(p);
    status = bench_trial_measure_theirs(t, &t->fp64, bench_peer_call, p, y, o);
    bench_peer_destroy(p);
    return status;
#else
    (void)t, (void)c, (void)y, (void)o;
    return TESS_UNSUPPORTED;
#endif
}
