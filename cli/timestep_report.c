/* SPDX-License-Identifier: Apache-2.0 */
/* What tessera timestep prints and writes after a run. */
#include "columns.h"
#include "timestep.h"

bool cli_was_stopped(const tess_timestep_result *r)
{
    return r->reason == TESS_REASON_TIME_LIMIT || r->reason == TESS_REASON_INTERRUPTED;
}

/* By the steps of this run, of which `before` came earlier. */
static double bytes_moved(const tess_timestep_result *r, int64_t before)
{
    double bytes = 0.0;
    for (int i = 0; i < r->schedule.count; i++) {
        const int64_t all = r->schedule.entry[i].iterations, earlier = before < all ? before : all;
        before -= earlier;
        bytes += (double)r->bytes_per_step[i] * (double)(all - earlier);
    }
    return bytes;
}

static double seconds_per_step(const tess_timestep_result *r, int64_t before)
{
    return r->count > before ? r->seconds / (double)(r->count - before) : 0.0;
}

static void print_nonzeros(const tess_timestep_result *r)
{
    const char *separator = "";
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        if (r->nonzeros_per_precision[p] == 0) { continue; }
        printf("%s %lld in %s", separator, (long long)r->nonzeros_per_precision[p],
               tess_precision_name((tess_precision)p));
        separator = ",";
    }
    printf("%s\n", separator[0] == '\0' ? " 0" : "");
}

static void print_timestep(const timestep_objects *o)
{
    char buffer[64], schedule[CLI_SCHEDULE_TEXT], bytes[32], format[32];
    const tess_timestep_result *r = &o->result;
    bool mixed = cli_takes_policy(r->format);
    cli_print_matrix(&o->matrix);
    cli_print_device(o->ctx);
    printf("%-17s %s, %s; nonzeros", "storage",
           cli_format_text(r->format, o->options->storage.chosen, format, sizeof format),
           cli_bytes_text((double)r->matrix_bytes, bytes, sizeof bytes));
    print_nonzeros(r);
    if (mixed && cli_has_mixed(&r->schedule)) {
        cli_print_untouched(&o->options->steps.storage.policy, r->nonzeros_per_precision);
    }
    printf("%-17s %s; x0 = %s\n", "diagonal", mixed ? "apart, in fp64" : "in the matrix",
           cli_shown(cli_vector_describe(&o->options->initial, buffer, sizeof buffer)));
    printf("%-17s %lld (%s)%s%s\n", "time steps", (long long)r->count,
           cli_schedule_text(&r->schedule, schedule, sizeof schedule), r->finite ? "" : ": NaN OR INF in x",
           cli_was_stopped(r) ? ": STOPPED EARLY" : "");
    if (o->session.before > 0) {
        printf("%-17s after %s, from %s\n", "resumed", tess_count(o->session.before, "time step").text,
               o->options->stop.resume);
    }
    printf("%-17s %s set-up,", "time", cli_seconds_text(r->setup_seconds, buffer, sizeof buffer));
    printf(" %s steps", cli_seconds_text(r->seconds, buffer, sizeof buffer));
    printf(" (%s each)\n", cli_seconds_text(seconds_per_step(r, o->session.before), buffer, sizeof buffer));
    printf("%-17s %s by model, %.2f GB/s\n", "moved",
           cli_bytes_text(bytes_moved(r, o->session.before), bytes, sizeof bytes),
           r->seconds > 0.0 ? 1e-9 * bytes_moved(r, o->session.before) / r->seconds : 0.0);
    if (o->snapshots > 0) {
        printf("%-17s %lld, %s*.mtx\n", "snapshots", (long long)o->snapshots, o->options->snapshots);
    }
    if (o->reference == NULL) { return; }
    printf("%-17s %s steps,", "fp64 csr", cli_seconds_text(o->fp64.seconds, buffer, sizeof buffer));
    printf(" speed-up %.3f; x differs by %.3e relative\n", o->fp64.seconds / r->seconds, o->difference);
}

static json_t *schedule_json(const tess_timestep_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->schedule.count; i++) {
        json_array_append_new(list, json_pack("{ss sI sI}", "what", tess_schedule_entry_name(r->schedule.entry[i].what),
                                              "count", (json_int_t)r->schedule.entry[i].iterations, "bytes_per_step",
                                              (json_int_t)r->bytes_per_step[i]));
    }
    return list;
}

static void add_comparison(json_t *root, const timestep_objects *o)
{
    bool compared = o->reference != NULL;
    json_object_set_new(root, "relative_difference", compared ? cli_json_real(o->difference) : json_null());
    json_object_set_new(root, "fp64_seconds", compared ? cli_json_real(o->fp64.seconds) : json_null());
    json_object_set_new(root, "speedup", compared ? cli_json_real(o->fp64.seconds / o->result.seconds) : json_null());
}

static json_t *timestep_json(const timestep_objects *o)
{
    char buffer[64];
    const tess_timestep_result *r = &o->result;
    json_t *root =
        json_pack("{ss ss so sI sI ss so si ss so sI sb sI sI so}", "command", "timestep", "version", tess_version(),
                  "matrix", cli_json_text(o->matrix.name), "n", (json_int_t)tess_matrix_nrows(o->matrix.a), "nnz",
                  (json_int_t)tess_matrix_nnz(o->matrix.a), "device", cli_device_name(o->ctx), "device_name",
                  cli_json_text(tess_context_device_name(o->ctx)), "threads", tess_context_threads(o->ctx), "format",
                  tess_format_name(r->format), "initial",
                  cli_json_text(cli_vector_describe(&o->options->initial, buffer, sizeof buffer)), "count",
                  (json_int_t)r->count, "finite", r->finite, "matrix_bytes", (json_int_t)r->matrix_bytes, "snapshots",
                  (json_int_t)o->snapshots, "steps", schedule_json(r));
    if (root == NULL) { return NULL; }
    json_t *counts = json_object();
    for (int p = 0; p < TESS_PRECISION_COUNT; p++) {
        json_object_set_new(counts, tess_precision_name((tess_precision)p), json_integer(r->nonzeros_per_precision[p]));
    }
    json_object_set_new(root, "nonzeros_per_precision", counts);
    json_object_set_new(root, "read_seconds", cli_json_real(o->matrix.seconds));
    json_object_set_new(root, "setup_seconds", cli_json_real(r->setup_seconds));
    json_object_set_new(root, "seconds", cli_json_real(r->seconds));
    json_object_set_new(root, "seconds_per_step", cli_json_real(seconds_per_step(r, o->session.before)));
    json_object_set_new(root, "bytes_moved", cli_json_real(bytes_moved(r, o->session.before)));
    add_comparison(root, o);
    json_object_set_new(root, "reason",
                        r->reason == TESS_REASON_RUNNING ? json_null() : json_string(tess_reason_name(r->reason)));
    cli_session_add_json(root, &o->session);
    tess_storage_options settled = o->options->steps.storage;
    cli_note_format(r->format, &settled);
    json_object_set_new(root, "options", cli_storage_json(&settled, o->options->storage.chosen));
    return root;
}

int cli_report_timestep(const timestep_objects *o)
{
    const timestep_options *options = o->options;
    if (options->output != NULL) {
        if (cli_check_reader(options->output) != 0) { return CLI_INPUT; }
        tess_status status = cli_write_vector(o->matrix.a, o->x, options->output);
        if (status != TESS_SUCCESS) { return cli_report_failure(o->ctx, status); }
    }
    if (cli_text_wanted(options->host.json)) { print_timestep(o); }
    int code = options->host.json == NULL ? CLI_CONVERGED : cli_write_json(options->host.json, timestep_json(o));
    if (code == CLI_CONVERGED) { code = o->session.failed; }
    if (code == CLI_CONVERGED && !o->result.finite) { code = CLI_BREAKDOWN; }
    if (cli_was_stopped(&o->result)) {
        cli_error("stopped after %lld of %s: %s", (long long)o->result.count,
                  tess_count(options->count, "time step").text, tess_reason_text(o->result.reason));
    }
    return code == CLI_CONVERGED && cli_was_stopped(&o->result) ? CLI_NOT_CONVERGED : code;
}
