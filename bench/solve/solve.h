/* SPDX-License-Identifier: Apache-2.0 */
/* The studies of bench_solve. */
#ifndef TESS_BENCH_SOLVE_SOLVE_H
#define TESS_BENCH_SOLVE_SOLVE_H

int study_krylov(int argc, char **argv, const char *parts);
int study_factors(int argc, char **argv, const char *parts);
int study_multigrid(int argc, char **argv, const char *parts);
int study_verify(int argc, char **argv, const char *parts);
int study_facts(int argc, char **argv, const char *parts);
int study_batch(int argc, char **argv, const char *parts);
int study_many(int argc, char **argv, const char *parts);
int study_sequences(int argc, char **argv, const char *parts);
int study_first_use(int argc, char **argv, const char *parts);

#endif
