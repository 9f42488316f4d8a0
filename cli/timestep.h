/* SPDX-License-Identifier: Apache-2.0 */
/* tessera timestep: what its command and its report share. */
#ifndef TESS_CLI_TIMESTEP_H
#define TESS_CLI_TIMESTEP_H

#include "cli.h"

typedef struct timestep_options {
    cli_host_options host;
    cli_stop_options stop;
    tess_device device;
    tess_timestep_options steps;
    cli_storage_choice storage;
    cli_vector_choice initial;
    cli_seed seed;
    int64_t count, every;
    const char *matrix, *output, *snapshots;
    bool compare;
} timestep_options;

typedef struct timestep_objects {
    const timestep_options *options;
    tess_context *ctx;
    cli_matrix matrix;
    cli_session session;
    tess_vector *x, *reference; /* reference: NULL without --compare */
    tess_timestep_result result, fp64;
    int64_t snapshots;
    int snapshot_code;
    double difference; /* ||x - x64|| / ||x64|| */
} timestep_objects;

/* By the time limit or a signal. */
bool cli_was_stopped(const tess_timestep_result *result);
/* Writes x, the report and JSON; returns the exit code of the command. */
int cli_report_timestep(const timestep_objects *o);

#endif
