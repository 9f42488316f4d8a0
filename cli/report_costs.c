/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a solve's report: narrowing, time and memory. */
#include "cli.h"

int64_t cli_tile_products(const tess_papers_result *r)
{
    int64_t products = r->tile_products_bypassed;
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        products += r->tile_products[p];
    }
    return products;
}

/* Bounds of 0 narrow nothing. */
static bool has_bounds(const tess_solve_options *o)
{
    return o->papers->narrowing_epsilon > 0.0 || o->rtol > 0.0 ||
           (o->papers->narrowing == TESS_NARROWING_PAPER && o->atol > 0.0);
}

void cli_print_narrowing(const cli_solve_run *run)
{
    const tess_papers_result *r = run->papers;
    const int64_t products = cli_tile_products(r);
    if (r->narrowing == TESS_NARROWING_OFF) { return; }
    if (!has_bounds(run->options)) {
        printf("%-17s %s: nothing, because the tolerance is 0; give --narrowing-epsilon\n", "narrowing",
               tess_narrowing_name(r->narrowing));
        return;
    }
    printf("%-17s %s: of %lld products of tiles %.3g %% were skipped", "narrowing", tess_narrowing_name(r->narrowing),
           (long long)products, products > 0 ? 100.0 * (double)r->tile_products_bypassed / (double)products : 0.0);
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        if (r->tile_products[p] == 0) { continue; }
        printf(", %s %.3g %%", tess_precision_name((tess_precision)p),
               100.0 * (double)r->tile_products[p] / (double)products);
    }
    printf("%s\n",
           r->narrowing_misled ? "; the residual estimate became wrong, and tiles were then used as stored" : "");
}

void cli_print_cost(const cli_solve_run *run)
{
    char a[32], b[32], c[32], d[32];
    const tess_solve_result *r = run->result;
    double each = r->iterations > 0 ? r->solve_seconds / (double)r->iterations : 0.0;
    printf("%-17s %s set-up, %s solve (%s per iteration)\n", "time", cli_seconds_text(r->setup_seconds, a, sizeof a),
           cli_seconds_text(r->solve_seconds, b, sizeof b), cli_seconds_text(each, c, sizeof c));
    printf("%-17s matrix %s (as FP64 CSR %s), resident %s, peak %s\n", "memory",
           cli_bytes_text((double)r->storage.matrix_bytes, a, sizeof a),
           cli_bytes_text((double)r->storage.fp64_csr_bytes, b, sizeof b),
           cli_bytes_text((double)r->resident_bytes, c, sizeof c),
           cli_bytes_text((double)r->peak_device_bytes, d, sizeof d));
}

void cli_print_timings(const cli_solve_run *run)
{
    const tess_solve_result *r = run->result;
    const struct {
        const char *name;
        double seconds;
    } parts[] = {{run->matrix->from_file ? "read" : "generate", run->matrix->seconds},
                 {"set-up", r->setup_seconds},
                 {"solve", r->solve_seconds},
                 {"write", run->output_seconds}};
    double rest = run->total_seconds;
    printf("%-17s", "timings");
    for (int i = 0; i < 4; i++) {
        printf(" %s %.6f s,", parts[i].name, parts[i].seconds);
        rest -= parts[i].seconds;
    }
    printf(" other %.6f s, total %.6f s\n", rest, run->total_seconds);
    if (!r->timed) { return; }
    printf("%-17s", "solve");
    for (int p = TESS_PHASE_SPMV; p <= TESS_PHASE_COUNT; p++) { /* other comes last */
        tess_phase phase = (tess_phase)(p % TESS_PHASE_COUNT);
        double share = r->solve_seconds > 0.0 ? 100.0 * r->phase_seconds[phase] / r->solve_seconds : 0.0;
        printf(" %s %.6f s (%.0f %%)%s", tess_phase_name(phase), r->phase_seconds[phase], share,
               phase == TESS_PHASE_OTHER ? "" : ",");
    }
    printf(", by the %s clock\n", strcmp(cli_device_name(run->ctx), "cpu") == 0 ? "host's" : "device's");
}
